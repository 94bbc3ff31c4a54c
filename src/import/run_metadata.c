/*
 * run_metadata.c - nodes that CPUs executed become events of threads of the host, named as TensorFlow's
 * profiler names them ("layer/mm:MatMul"), and what ran on a GPU becomes events of its streams.
 */
#include "import/run_metadata.h"

#include "wire/pb.h"

enum {
	METADATA_STEP_STATS = 1,	/* StepStats */
	STEP_DEVICES = 1,	/* repeated DeviceStepStats */
	DEVICE_NAME = 1,
	DEVICE_NODES = 2,	/* repeated NodeExecStats */
	NODE_NAME = 1,
	NODE_START_US = 2,
	NODE_END_REL_US = 5,
	NODE_LABEL = 8,		/* "layer/mm = MatMul(x, y)" */
	NODE_THREAD = 11,
	NODE_START_NS = 13,
	NODE_END_REL_NS = 16,
};

/* A device, by what stands behind the task in its name. */
struct device {
	struct ss_str name;	/* in full */
	struct ss_str gpu;	/* its number, of something that ran on its streams; else "" */
	struct ss_str stream;	/* "14" or "all" of such; "" of copies */
};

static struct ss_str inner_of(struct ss_str message)
{
	struct ss_pb c = ss_pb_lenient(message);
	struct ss_pb_field f;
	return ss_pb_next(&c, &f) && f.key == PB_LEN(1) ? f.bytes : (struct ss_str){ NULL, 0 };
}

bool ss_run_metadata_is(struct ss_str head)
{
	struct ss_str name = inner_of(inner_of(inner_of(head)));
	return ss_str_starts(name, SS_STR("/job:")) || ss_str_starts(name, SS_STR("/device:")) ||
	       ss_str_starts(name, SS_STR("/gpu:")) || ss_str_starts(name, SS_STR("/cpu:"));
}

/*
 * "/job:a/task:0/device:GPU:0/stream:14", "/gpu:0/memcpy": traced on the GPU. Without the last part: what the host
 * launched.
 */
static struct device device_of(struct ss_str name)
{
	struct device d = { .name = name, .gpu = SS_STR(""), .stream = SS_STR("") };
	size_t slash = ss_str_rchr(name, '/');
	struct ss_str last = ss_str_sub(name, slash == SS_NPOS ? 0 : slash + 1, name.n);
	bool stream = ss_str_starts(last, SS_STR("stream:"));
	if (slash == SS_NPOS || (!stream && !ss_str_is(last, "memcpy")))
		return d;
	size_t colon = ss_str_rchr(ss_str_sub(name, 0, slash), ':');
	d.gpu = ss_str_sub(name, colon == SS_NPOS ? slash : colon + 1, slash);
	d.stream = stream ? ss_str_sub(last, 7, last.n) : d.stream;
	return d;
}

static struct ss_str kept(struct ss_space_out *o, struct ss_str s)
{
	o->no_memory |= !s.p;
	return s.p ? s : SS_STR("");
}

static uint32_t plane_of(struct ss_space_out *o, const struct device *d)
{
	struct ss_str name = d->gpu.n ? kept(o, ss_arena_printf(&o->arena, "/device:GPU:" SS_FMT, SS_ARG(d->gpu))) :
					SS_STR("/host:CPU");
	uint32_t plane = ss_so_plane(o, name);
	if (plane != SS_NONE)
		o->planes.v[plane].name = name;
	return plane;
}

/* A line for each thread of the host, and for each stream of a GPU. */
static uint32_t line_of(struct ss_space_out *o, uint32_t plane, const struct device *d, uint64_t thread)
{
	struct ss_str name;
	if (d->gpu.n)
		name = d->stream.n ? ss_arena_printf(&o->arena, "Stream #" SS_FMT, SS_ARG(d->stream)) : SS_STR("Copies");
	else
		name = ss_arena_printf(&o->arena, "thread %llu of " SS_FMT, (unsigned long long)thread, SS_ARG(d->name));
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_so_line(o, plane, kept(o, name));
	if (line != SS_NONE && !o->planes.v[plane].lines.v[line].name.n) {
		o->planes.v[plane].lines.v[line].name = name;
		o->planes.v[plane].lines.v[line].id = (int64_t)line;
	}
	return line;
}

/* The type of a node: "MatMul" of "layer/mm = MatMul(x, y)". */
static struct ss_str type_of(struct ss_str label)
{
	size_t at = ss_str_find(label, SS_STR(" = "));
	struct ss_str type = ss_str_sub(label, at == SS_NPOS ? label.n : at + 3, label.n);
	size_t end = ss_str_chr(type, '(');
	return end == SS_NPOS ? SS_STR("") : ss_str_sub(type, 0, end);
}

struct node {
	struct ss_str name, label;
	uint64_t start_ns, end_rel_ns, thread;
};

static bool read_node(struct ss_str body, struct node *n)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t start_us = 0, end_rel_us = 0;
	*n = (struct node){ .name = SS_STR(""), .label = SS_STR("") };
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_LEN(NODE_NAME):
			n->name = f.bytes;
			break;
		case PB_LEN(NODE_LABEL):
			n->label = f.bytes;
			break;
		case PB_VAR(NODE_START_US):
			start_us = f.u;
			break;
		case PB_VAR(NODE_END_REL_US):
			end_rel_us = f.u;
			break;
		case PB_VAR(NODE_START_NS):
			n->start_ns = f.u;
			break;
		case PB_VAR(NODE_END_REL_NS):
			n->end_rel_ns = f.u;
			break;
		case PB_VAR(NODE_THREAD):
			n->thread = f.u;
			break;
		}
	}
	/* Older ones have microseconds alone. */
	if (!n->start_ns && start_us < INT64_MAX / 1000)
		n->start_ns = start_us * 1000;
	if (!n->end_rel_ns && end_rel_us < INT64_MAX / 1000)
		n->end_rel_ns = end_rel_us * 1000;
	return !c.bad && n->start_ns && n->start_ns < INT64_MAX && n->end_rel_ns < INT64_MAX / 1000;
}

static void take_node(struct ss_space_out *o, const struct device *d, struct ss_str body, struct ss_run_metadata_loss *loss)
{
	struct node n;
	if (!read_node(body, &n)) {
		loss->malformed++;
		return;
	}
	struct ss_str type = type_of(n.label), name = n.name;
	if (type.n && !d->gpu.n)
		name = kept(o, ss_arena_printf(&o->arena, SS_FMT ":" SS_FMT, SS_ARG(n.name), SS_ARG(type)));
	struct ss_so_arg args[2] = { { .name = SS_STR("tf_op"), .kind = SS_SO_STR, .s = name },
				     { .name = SS_STR("details"), .kind = SS_SO_STR, .s = n.label } };
	struct ss_so_event e = { .begin = { .ns = (int64_t)n.start_ns },
				 .dur_ps = n.end_rel_ns * 1000,
				 .name = name,
				 .args = args,
				 .nargs = n.label.n ? 2 : 1 };
	uint32_t plane = plane_of(o, d), line = line_of(o, plane, d, n.thread);
	if (line != SS_NONE)
		ss_so_add(o, plane, line, &e);
}

static struct ss_str name_of(struct ss_str device)
{
	struct ss_pb c = ss_pb_lenient(device);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(DEVICE_NAME))
			return f.bytes;
	return SS_STR("");
}

/* GPUs whose streams stand in the step, each as a device of its own: then "stream:all" repeats what they hold. */
static bool find_streams(struct ss_str step, struct ss_strmap *gpus)
{
	struct ss_pb c = ss_pb_lenient(step);
	struct ss_pb_field f;
	bool ok = true;
	while (ok && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(STEP_DEVICES))
			continue;
		struct device d = device_of(name_of(f.bytes));
		if (d.gpu.n && d.stream.n && !ss_str_is(d.stream, "all"))
			ok = ss_strmap_add(gpus, d.gpu) != SS_NONE;
	}
	return ok;
}

static void take_device(struct ss_space_out *o, const struct ss_strmap *gpus, struct ss_str body,
			struct ss_run_metadata_loss *loss)
{
	struct device d = device_of(name_of(body));
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	if (ss_str_is(d.stream, "all") && ss_strmap_get(gpus, d.gpu) != SS_NONE)
		return;
	while (!o->no_memory && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(DEVICE_NODES) && !c.cut)
			take_node(o, &d, f.bytes, loss);
	loss->cut |= c.bad || c.cut;
}

static void take_step(struct ss_space_out *o, struct ss_str step, struct ss_run_metadata_loss *loss, bool *any)
{
	struct ss_strmap gpus = { 0 };
	struct ss_pb c = ss_pb_lenient(step);
	struct ss_pb_field f;
	o->no_memory |= !find_streams(step, &gpus);
	while (!o->no_memory && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(STEP_DEVICES)) {
			*any = true;
			take_device(o, &gpus, f.bytes, loss);
		}
	loss->cut |= c.bad || c.cut;
	ss_strmap_free(&gpus);
}

bool ss_run_metadata_read(struct ss_str bytes, struct ss_space_out *o, struct ss_run_metadata_loss *loss, struct ss_err *err)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	bool any = false;
	*loss = (struct ss_run_metadata_loss){ 0 };
	while (!o->no_memory && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(METADATA_STEP_STATS))
			take_step(o, f.bytes, loss, &any);
	loss->cut |= c.bad || c.cut;
	if (!any && !o->no_memory)
		return ss_fail(err, SS_EFORMAT, "it holds no statistics of a device");
	return !o->no_memory || ss_fail_mem(err);
}
