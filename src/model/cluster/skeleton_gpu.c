/*
 * skeleton_gpu.c - what is taken of a GPU: kernels, copies and collectives of its streams; and of
 * programs that CPUs ran.
 */
#include "model/cluster/skeleton_read.h"

#include "model/host/forget.h"

#include <stdlib.h>

/* Words of the events of one plane. */
enum {
	G_CORRELATION, G_HLO_OP, G_HLO_MODULE, G_PROGRAM, G_CATEGORY, G_MEMCPY, G_COLLECTIVE, G_GROUP_NAME, G_GROUP_RANKS,
	G_GROUP_SIZE, G_SEQ, G_IN, G_OUT, G_DTYPE, G_COUNT
};

static const enum ss_stat wanted_stats[G_COUNT] = {
	SS_STAT_CORRELATION_ID, SS_STAT_HLO_OP, SS_STAT_HLO_MODULE, SS_STAT_PROGRAM_ID, SS_STAT_CATEGORY, SS_STAT_MEMCPY_DETAILS,
	SS_STAT_COLLECTIVE_NAME, SS_STAT_PROCESS_GROUP_NAME, SS_STAT_PROCESS_GROUP_RANKS, SS_STAT_GROUP_SIZE,
	SS_STAT_COLLECTIVE_SEQ, SS_STAT_IN_MSG_NELEMS, SS_STAT_OUT_MSG_NELEMS, SS_STAT_DTYPE,
};

struct gpu {
	struct ss_skel_reading *r;
	const struct ss_plane *p;
	struct ss_forget pages;
	struct ss_skel_device *d;
	struct ss_u64map steps;		/* by that of their markers: index into d->steps */
	struct ss_u64map instructions;	/* by program and name: index into `comms` */
	SS_VEC(struct ss_comm_op) comms;
	bool torch;			/* some event says so: rank and group are PyTorch's */
};

static bool is_stream(struct ss_str name)
{
	return ss_str_istarts(name, SS_STR("stream "));
}

/* Between host and device; what stays on the device is no transfer to it. */
static bool is_host_copy(struct ss_str name)
{
	static const char *const words[] = { "HtoD", "DtoH", "H2D", "D2H", "HtoH", "Host" };
	bool any = false;
	if (!ss_str_istarts(name, SS_STR("memcpy")) && !ss_str_istarts(name, SS_STR("copy")))
		return false;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		any |= ss_str_contains(name, ss_str_from(words[i]));
	return any;
}

static bool extend_step(struct gpu *g, const struct ss_skel_marker *m, int64_t begin, int64_t end)
{
	if (!m)
		return true;
	uint32_t k = ss_u64map_add(&g->steps, m->step, (uint32_t)g->d->steps.n);
	if (k == SS_NONE)
		return false;
	if (k == g->d->steps.n)
		return ss_vec_push(&g->d->steps, ((struct ss_skel_step){ m->num, begin, end }));
	struct ss_skel_step *s = &g->d->steps.v[k];
	s->begin_ps = begin < s->begin_ps ? begin : s->begin_ps;
	s->end_ps = end > s->end_ps ? end : s->end_ps;
	return true;
}

/* A number, or a text that is one: writers differ. */
static bool number(const struct ss_xstat *s, bool has, int64_t *v)
{
	if (!has)
		return false;
	if (s->kind == SS_X_STR)
		return ss_str_to_i64(s->s, v);
	*v = ss_xstat_int_or_uint(s);
	return s->kind == SS_X_INT || s->kind == SS_X_UINT;
}

/* "[0, 1, 2, ...]": name, size and the ranks that are told identify the group. */
static bool torch_group(struct gpu *g, const struct ss_xstat *got, uint32_t has, struct ss_skel_op *op)
{
	int64_t size = 0, in = 0, out = 0;
	struct ss_str name = ss_xstat_str(&got[G_GROUP_NAME]), ranks = ss_xstat_str(&got[G_GROUP_RANKS]);
	number(&got[G_GROUP_SIZE], has & 1u << G_GROUP_SIZE, &size);
	number(&got[G_IN], has & 1u << G_IN, &in);
	number(&got[G_OUT], has & 1u << G_OUT, &out);
	op->groups = ss_arena_printf(&g->r->arena, "torch:" SS_FMT "/%lld/" SS_FMT, SS_ARG(name), (long long)size, SS_ARG(ranks));
	op->expected = size > 0 && size < UINT32_MAX ? (uint32_t)size : 0;
	uint64_t most = (uint64_t)(in > out ? in : out), width = ss_torch_type_bytes(ss_xstat_str(&got[G_DTYPE]));
	op->bytes = most && most < UINT64_MAX / 64 ? most * width : 0;
	return op->groups.p;
}

/* The program's facts of the instruction that launched a kernel; read once. */
static bool instruction(struct gpu *g, uint64_t program_id, struct ss_str name, struct ss_comm_op *out, struct ss_err *err)
{
	uint64_t key = ss_mix(program_id, ss_str_hash(name));
	uint32_t k = ss_u64map_get(&g->instructions, key);
	if (k != SS_NONE) {
		*out = g->comms.v[k];
		return true;
	}
	if (!ss_skel_instruction(g->r, program_id, name, out, err))
		return false;
	return ss_vec_push(&g->comms, *out) && ss_u64map_add(&g->instructions, key, (uint32_t)g->comms.n - 1) != SS_NONE;
}

/* The name of a kernel as people know it, without "void " and its arguments. */
static struct ss_str kernel_name(struct ss_str name)
{
	ss_str_take(&name, SS_STR("void "));
	size_t open = ss_str_rchr(name, '(');
	return open == SS_NPOS || open == 0 || !ss_str_ends(name, SS_STR(")")) ? name : ss_str_sub(name, 0, open);
}

static bool describe(struct gpu *g, struct ss_str name, const struct ss_xstat *got, uint32_t has, struct ss_skel_op *op,
		     struct ss_err *err)
{
	enum ss_comm kind = ss_comm_of_kernel(name);
	struct ss_str hlo = ss_xstat_str(&got[G_HLO_OP]);
	struct ss_comm_op comm;
	*op = (struct ss_skel_op){ .program = ss_xstat_str(&got[G_HLO_MODULE]), .groups = { "", 0 },
				   .program_id = (uint64_t)ss_xstat_int_or_uint(&got[G_PROGRAM]) };
	op->name = hlo.n ? hlo : kernel_name(name);
	op->kind = kind;
	if (has & 1u << G_MEMCPY || ss_str_istarts(name, SS_STR("memcpy"))) {
		op->cls = is_host_copy(name) || !ss_str_istarts(name, SS_STR("memcpy")) ? SS_SPAN_COPY : SS_SPAN_COMPUTE;
		op->name = name;
		return true;
	}
	if (!kind)
		return true;
	op->cls = SS_SPAN_COLLECTIVE;
	if (has & 1u << G_COLLECTIVE) {
		g->torch = true;
		op->name = ss_xstat_str(&got[G_COLLECTIVE]);
		enum ss_comm said = ss_comm_of_torch(op->name);
		/* One kernel sends and receives. */
		op->kind = kind == SS_COMM_SEND ? SS_COMM_PERMUTE : said ? said : kind;
		return torch_group(g, got, has, op);
	}
	if (!hlo.n)
		return true;
	if (!instruction(g, op->program_id, hlo, &comm, err))
		return false;
	op->name = comm.name;
	op->kind = comm.kind ? comm.kind : kind == SS_COMM_SEND ? SS_COMM_PERMUTE : kind;
	op->groups = comm.groups;
	op->bytes = comm.bytes;
	return true;
}

static bool take_event(struct gpu *g, const struct ss_line *l, uint32_t i, const struct ss_xstat *got, uint32_t has,
		       uint32_t stream, struct ss_err *err)
{
	struct ss_skel_op op;
	int64_t begin = ss_skel_begin_ps(l, i), end = ss_skel_end_ps(l, i), correlation, seq;
	uint32_t launch = SS_NO_LAUNCH;
	struct ss_str category = ss_xstat_str(&got[G_CATEGORY]);
	/* Annotations lie on streams as well, around what they name. */
	if (category.n && !ss_str_is(category, "kernel") && !ss_str_starts(category, SS_STR("gpu_mem")) &&
	    !ss_str_is(category, "Kernel") && !ss_str_starts(category, SS_STR("Mem")))
		return true;
	if (number(&got[G_CORRELATION], has & 1u << G_CORRELATION, &correlation)) {
		launch = ss_u64map_get(&g->r->by_correlation, (uint64_t)correlation);
		launch = launch == SS_NONE ? SS_NO_LAUNCH : launch;
	}
	const struct ss_skel_marker *step =
		ss_skel_marker_at(g->r, launch == SS_NO_LAUNCH ? begin : g->r->s->events.v[launch].begin_ps);
	if (!describe(g, ss_event_name(g->p, l->ev.meta[i]), got, has, &op, err))
		return false;
	uint32_t k = ss_skel_op(g->r, &op);
	if (k == SS_NONE || !extend_step(g, step, begin, end))
		return false;
	if (op.cls != SS_SPAN_COLLECTIVE)
		return ss_vec_push(&g->d->spans, ((struct ss_skel_span){ begin, end, k, launch, stream }));
	if (!number(&got[G_SEQ], has & 1u << G_SEQ, &seq))
		seq = -1;
	return ss_vec_push(&g->d->comms, ((struct ss_skel_comm){ .begin_ps = begin,
								 .end_ps = end,
								 .step = step ? step->num : SS_NO_STEP,
								 .seq = seq,
								 .op = k,
								 .launch = launch,
								 .stream = stream,
								 .waited = true }));
}

static bool read_stream(struct gpu *g, const struct ss_line *l, const struct ss_stat_projection *w, uint32_t stream,
			struct ss_err *err)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct ss_xstat got[G_COUNT] = { 0 }, s;
		struct ss_projection_walk walk = ss_projection_event(w, ss_xevents_body(&l->ev, l->src, i));
		uint32_t has = 0;
		unsigned which;
		ss_forget_passed(&g->pages, l, i);
		while (ss_projection_next(&walk, &which, &s)) {
			got[which] = s;
			has |= 1u << which;
		}
		if (!take_event(g, l, i, got, has, stream, err))
			return false;
	}
	ss_forget_line(&g->pages, l);
	return true;
}

static int spans_by_begin(const void *a, const void *b)
{
	const struct ss_skel_span *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->end_ps, y->end_ps) ?: SS_CMP(x->op, y->op);
}

static int steps_by_begin(const void *a, const void *b)
{
	const struct ss_skel_step *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps);
}

static void put_in_order(struct ss_skel_device *d)
{
	ss_sort(d->spans.v, d->spans.n, sizeof(*d->spans.v), spans_by_begin);
	ss_skel_sort_comms(d);
	ss_sort(d->steps.v, d->steps.n, sizeof(*d->steps.v), steps_by_begin);
}

static void release(struct gpu *g)
{
	ss_u64map_free(&g->steps);
	ss_u64map_free(&g->instructions);
	ss_vec_free(&g->comms);
}

bool ss_skel_read_gpu(struct ss_skel_reading *r, const struct ss_plane *p, struct ss_err *err)
{
	struct gpu g = { .r = r, .p = p, .pages = { .h = r->h } };
	struct ss_stat_projection w;
	struct ss_str tail = p->name;
	uint64_t ordinal = 0;
	ss_str_take(&tail, SS_STR("/device:GPU:"));
	ss_str_take_u64(&tail, &ordinal);
	g.d = ss_skel_device_at(r, (int64_t)(ordinal & 0xffffff));
	bool ok = g.d && ss_projection_init(&w, p->x, wanted_stats, G_COUNT, &r->arena);
	for (uint32_t i = 0; ok && i < p->nlines; i++)
		if (is_stream(p->lines[i].name))
			ok = read_stream(&g, &p->lines[i], &w, i, err);
	ss_forget_rest(&g.pages);
	if (ok)
		put_in_order(g.d);
	r->torch |= g.torch;
	release(&g);
	return ok || ss_fail_mem(err);
}

/* ---- programs on CPUs ---- */

static int cpu_by_device(const void *a, const void *b)
{
	const struct ss_skel_cpu_op *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->end_ps, x->end_ps);
}

static bool take_cpu_op(struct gpu *g, const struct ss_skel_cpu_op *c, struct ss_err *err)
{
	struct ss_comm_op comm;
	struct ss_skel_op op = { .program = c->program, .program_id = c->program_id, .name = c->op, .groups = { "", 0 } };
	if (!instruction(g, c->program_id, c->op, &comm, err))
		return false;
	uint32_t run = ss_skel_launch_of_run(g->r, c->run, -1);
	const struct ss_skel_marker *step =
		ss_skel_marker_at(g->r, run == SS_NO_LAUNCH ? c->begin_ps : g->r->s->events.v[run].begin_ps);
	if (comm.kind) {
		op.cls = SS_SPAN_COLLECTIVE;
		op.kind = comm.kind;
		op.name = comm.name;
		op.groups = comm.groups;
		op.bytes = comm.bytes;
	}
	uint32_t k = ss_skel_op(g->r, &op);
	if (k == SS_NONE || !extend_step(g, step, c->begin_ps, c->end_ps))
		return false;
	if (!comm.kind)
		return ss_vec_push(&g->d->spans, ((struct ss_skel_span){ c->begin_ps, c->end_ps, k, run, 0 }));
	return ss_vec_push(&g->d->comms, ((struct ss_skel_comm){ .begin_ps = c->begin_ps, .end_ps = c->end_ps,
								 .step = step ? step->num : SS_NO_STEP, .run = c->run,
								 .seq = -1, .op = k, .launch = run,
								 .waited = true }));
}

/* Devices of CPUs are numbered by process: 2048 for each. */
#define CPU_DEVICES_OF_PROCESS 2048

bool ss_skel_read_cpus(struct ss_skel_reading *r, struct ss_err *err)
{
	struct gpu g = { .r = r };
	bool ok = true;
	r->s->on_cpu = r->cpu_ops.n > 0;
	if (r->cpu_ops.n)
		qsort(r->cpu_ops.v, r->cpu_ops.n, sizeof(*r->cpu_ops.v), cpu_by_device);
	for (size_t i = 0; ok && i < r->cpu_ops.n; i++) {
		const struct ss_skel_cpu_op *c = &r->cpu_ops.v[i];
		if (i == 0 || c->device != c[-1].device) {
			if (i)
				put_in_order(g.d);
			release(&g);
			g = (struct gpu){ .r = r, .d = ss_skel_device_at(r, c->device & (CPU_DEVICES_OF_PROCESS - 1)) };
			if (!g.d)
				break;
			g.d->global = c->device;
		}
		ok = take_cpu_op(&g, c, err);
	}
	ok = ok && (g.d || !r->cpu_ops.n);
	if (ok && g.d)
		put_in_order(g.d);
	release(&g);
	return ok || ss_fail_mem(err);
}
