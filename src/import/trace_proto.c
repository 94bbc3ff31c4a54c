/* trace_proto.c - devices become planes, resources lines. */
#include "import/trace_proto.h"

#include "import/chrome_args.h"
#include "wire/pb.h"

#include <math.h>

enum {
	TRACE_DEVICES = 1,	/* map<uint32, Device> */
	TRACE_EVENTS = 4,	/* repeated TraceEvent */

	DEVICE_NAME = 1,
	DEVICE_RESOURCES = 3,	/* map<uint32, Resource> */
	RESOURCE_NAME = 1,

	EVENT_DEVICE_ID = 1,	/* uint32 */
	EVENT_RESOURCE_ID = 2,	/* uint32 */
	EVENT_NAME = 3,
	EVENT_TIMESTAMP_NS = 4, /* double, in 2017 */
	EVENT_DURATION_NS = 5,
	EVENT_TIMESTAMP_PS = 9, /* uint64 */
	EVENT_DURATION_PS = 10,
	EVENT_ARGS = 11,	/* map<string, string> */
};

static uint32_t plane_of(struct ss_space_out *o, uint64_t device)
{
	char key[24];
	struct ss_buf b = { .p = key, .cap = sizeof(key) };
	ss_buf_u64(&b, device);
	return ss_so_plane(o, ss_buf_get(&b));
}

static uint32_t line_of(struct ss_space_out *o, uint32_t plane, uint64_t resource)
{
	char key[24];
	struct ss_buf b = { .p = key, .cap = sizeof(key) };
	ss_buf_u64(&b, resource);
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_so_line(o, plane, ss_buf_get(&b));
	if (line != SS_NONE)
		o->planes.v[plane].lines.v[line].id = (int64_t)resource;
	return line;
}

static struct ss_str kept(struct ss_space_out *o, struct ss_str s)
{
	struct ss_str copy = ss_arena_str(&o->arena, s);
	o->no_memory |= !copy.p;
	return copy.p ? copy : SS_STR("");
}

static void take_resource(struct ss_space_out *o, uint32_t plane, struct ss_str entry, struct ss_trace_loss *loss)
{
	uint64_t id;
	struct ss_str body;
	struct ss_pb_field f;
	if (!ss_pb_map_entry(entry, &id, &body)) {
		loss->malformed++;
		return;
	}
	uint32_t line = line_of(o, plane, id);
	struct ss_pb c = ss_pb_of(body);
	while (line != SS_NONE && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(RESOURCE_NAME))
			o->planes.v[plane].lines.v[line].name = kept(o, f.bytes);
}

static void take_device(struct ss_space_out *o, struct ss_str entry, struct ss_trace_loss *loss)
{
	uint64_t id;
	struct ss_str body;
	struct ss_pb_field f;
	if (!ss_pb_map_entry(entry, &id, &body)) {
		loss->malformed++;
		return;
	}
	uint32_t plane = plane_of(o, id);
	struct ss_pb c = ss_pb_of(body);
	if (plane == SS_NONE)
		return;
	/* XProf's numbers: devices from 1 on, the host's threads behind 700. */
	o->planes.v[plane].id = id >= 1 && id <= 500 ? (int64_t)id - 1 : 0;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(DEVICE_NAME))
			o->planes.v[plane].name = kept(o, f.bytes);
		else if (f.key == PB_LEN(DEVICE_RESOURCES))
			take_resource(o, plane, f.bytes, loss);
	}
	loss->malformed += c.bad;
}

static void take_arg(struct ss_chrome_args *args, struct ss_str entry)
{
	struct ss_so_arg a = { .name = { "", 0 }, .kind = SS_SO_STR, .s = { "", 0 } };
	struct ss_pb c = ss_pb_of(entry);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(1))
			a.name = f.bytes;
		else if (f.key == PB_LEN(2))
			a.s = f.bytes;
	}
	if (a.name.n)
		ss_chrome_args_add(args, ss_chrome_arg_text(a));
}

/* Nanoseconds with a fraction, as whole picoseconds. */
static uint64_t ps_of_ns(uint64_t bits)
{
	double ns = ss_pb_double(bits);
	return ns > 0 && ns < 9e15 ? (uint64_t)llround(ns * 1000) : 0;
}

static void take_event(struct ss_space_out *o, struct ss_str body, struct ss_chrome_args *args, struct ss_trace_loss *loss)
{
	uint64_t device = 0, resource = 0, begin_ps = 0;
	struct ss_so_event e = { .name = { "", 0 }, .args = args->v };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	args->n = 0;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(EVENT_DEVICE_ID):
			device = f.u;
			break;
		case PB_VAR(EVENT_RESOURCE_ID):
			resource = f.u;
			break;
		case PB_LEN(EVENT_NAME):
			e.name = f.bytes;
			break;
		case PB_VAR(EVENT_TIMESTAMP_PS):
			begin_ps = f.u;
			break;
		case PB_VAR(EVENT_DURATION_PS):
			e.dur_ps = f.u;
			break;
		case PB_I64(EVENT_TIMESTAMP_NS):
			begin_ps = ps_of_ns(f.u);
			break;
		case PB_I64(EVENT_DURATION_NS):
			e.dur_ps = ps_of_ns(f.u);
			break;
		case PB_LEN(EVENT_ARGS):
			take_arg(args, f.bytes);
			break;
		}
	}
	uint32_t plane = plane_of(o, device), line = line_of(o, plane, resource);
	if (c.bad || begin_ps > INT64_MAX || e.dur_ps > INT64_MAX) {
		loss->malformed++;
		return;
	}
	e.begin = (struct ss_so_time){ .ns = (int64_t)(begin_ps / 1000), .ps = (uint32_t)(begin_ps % 1000) };
	e.nargs = args->n;
	if (line != SS_NONE)
		ss_so_add(o, plane, line, &e);
}

/* Planes are known by the names that XProf gives them; older tools had others, or none. */
static bool name_planes(struct ss_space_out *o)
{
	for (size_t i = 0; i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		bool known = ss_str_starts(p->name, SS_STR("/device:")) || ss_str_starts(p->name, SS_STR("/host:")) ||
			     ss_str_starts(p->name, SS_STR("#Chip"));
		if (known)
			continue;
		p->name = ss_arena_printf(&o->arena, "/host:CPU " SS_FMT, SS_ARG(p->name.n ? p->name : p->key));
		if (!p->name.p)
			return false;
	}
	return true;
}

bool ss_trace_proto_read(struct ss_str bytes, struct ss_space_out *o, struct ss_trace_loss *loss, struct ss_err *err)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	struct ss_chrome_args args;
	bool any = false;
	*loss = (struct ss_trace_loss){ 0 };
	while (!o->no_memory && ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(TRACE_DEVICES))
			take_device(o, f.bytes, loss);
		else if (f.key == PB_LEN(TRACE_EVENTS) && !c.cut)
			take_event(o, f.bytes, &args, loss);
		any |= f.key == PB_LEN(TRACE_DEVICES) || f.key == PB_LEN(TRACE_EVENTS);
	}
	loss->cut = c.bad || c.cut;
	if (!any && !o->no_memory)
		return ss_fail(err, SS_EFORMAT, "it holds no device and no event of a trace");
	return (!o->no_memory && name_planes(o)) || ss_fail_mem(err);
}
