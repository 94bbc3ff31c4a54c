/*
 * read.c - one pass over the events of a trace of PyTorch, thread by thread, into columns of
 * things.
 */
#include "model/torch/torch_build.h"

#include "model/host/forget.h"
#include "model/host/host.h"
#include "model/host/read_lines.h"
#include "xspace/events.h"

#include <math.h>
#include <stdlib.h>

enum field {
	F_NONE, F_CATEGORY, F_EXTERNAL, F_CORRELATION, F_DIMS, F_TYPES, F_SEQUENCE, F_FORWARD, F_STREAM, F_DEVICE, F_BYTES,
	F_COLLECTIVE, F_DTYPE, F_IN, F_OUT, F_GROUP_SIZE, F_GROUP, F_SEQ, F_BLOCKS, F_OCCUPANCY, F_STACK, F_STEP,
	F_ALLOCATOR, F_ALLOCATION, F_ADDRESS, F_ALLOCATED, F_FREE, F_RESERVED, F_FLOW, F_COUNT
};

/* The names of the stats in the file. Their case changed between versions. */
static enum field field_of(struct ss_str name)
{
	static const struct {
		struct ss_str name;
		enum field field;
	} names[] = {
		{ SS_STR_INIT("category"), F_CATEGORY },
		{ SS_STR_INIT("External id"), F_EXTERNAL },
		{ SS_STR_INIT("correlation_id"), F_CORRELATION },
		{ SS_STR_INIT("Input Dims"), F_DIMS },
		{ SS_STR_INIT("Input type"), F_TYPES },
		{ SS_STR_INIT("Sequence number"), F_SEQUENCE },
		{ SS_STR_INIT("Fwd thread id"), F_FORWARD },
		{ SS_STR_INIT("stream"), F_STREAM },
		{ SS_STR_INIT("device"), F_DEVICE },
		{ SS_STR_INIT("bytes"), F_BYTES },
		{ SS_STR_INIT("Collective name"), F_COLLECTIVE },
		{ SS_STR_INIT("dtype"), F_DTYPE },
		{ SS_STR_INIT("In msg nelems"), F_IN },
		{ SS_STR_INIT("Out msg nelems"), F_OUT },
		{ SS_STR_INIT("Group size"), F_GROUP_SIZE },
		{ SS_STR_INIT("Process Group Name"), F_GROUP },
		{ SS_STR_INIT("Seq"), F_SEQ },
		{ SS_STR_INIT("blocks per SM"), F_BLOCKS },
		{ SS_STR_INIT("est. achieved occupancy %"), F_OCCUPANCY },
		{ SS_STR_INIT("Call stack"), F_STACK },
		{ SS_STR_INIT("step_num"), F_STEP },
		{ SS_STR_INIT("allocator_name"), F_ALLOCATOR },
		{ SS_STR_INIT("allocation_bytes"), F_ALLOCATION },
		{ SS_STR_INIT("addr"), F_ADDRESS },
		{ SS_STR_INIT("bytes_allocated"), F_ALLOCATED },
		{ SS_STR_INIT("bytes_available"), F_FREE },
		{ SS_STR_INIT("Total Reserved"), F_RESERVED },
		{ SS_STR_INIT("flow"), F_FLOW },
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_ieq(name, names[i].name))
			return names[i].field;
	return F_NONE;
}

/* The ids of a plane's stats and names, found once. */
struct names {
	uint8_t *field;	 /* by stat metadata */
	uint32_t *text;	 /* by event metadata, SS_NONE: not asked for yet */
};

/* One event. */
struct event {
	const struct ss_plane *p;
	uint32_t thread, plane, line, i, meta;
	int64_t begin_ns, end_ns;
	uint32_t name;
	uint32_t has; /* bit by field */
	struct ss_xstat v[F_COUNT];
};

/* A Python function that runs. */
struct running {
	int64_t end_ns;
	uint32_t frame;
};

/* The facts in a name, found once. */
enum { NAME_KNOWN = 1, NAME_RANGE = 2, NAME_COLLECTIVE = 4 };

struct reader {
	struct ss_torch_build *b;
	SS_VEC(uint8_t) told; /* by text */
	struct names names;
	SS_VEC(struct running) running;
	struct event e;
};

/* Number of a text, the bytes borrowed; SS_NONE when memory is out. */
static uint32_t torch_text_of(struct ss_torch_build *b, struct ss_str s)
{
	return ss_strmap_add(&b->t->texts, s);
}

static bool has(const struct event *e, enum field f)
{
	return e->has >> f & 1;
}

/* A whole number, also one written as text; `otherwise` where there is none. */
static int64_t whole(const struct event *e, enum field f, int64_t otherwise)
{
	const struct ss_xstat *s = &e->v[f];
	int64_t n;
	if (!has(e, f))
		return otherwise;
	if (s->kind == SS_X_STR)
		return ss_str_to_i64(s->s, &n) ? n : otherwise;
	if (s->kind != SS_X_DOUBLE)
		return (int64_t)s->u;
	double d = ss_pb_double(s->u);
	return d > -9e18 && d < 9e18 ? (int64_t)d : otherwise;
}

static float real(const struct event *e, enum field f)
{
	const struct ss_xstat *s = &e->v[f];
	if (!has(e, f) || s->kind == SS_X_STR)
		return NAN;
	double d = s->kind == SS_X_DOUBLE ? ss_pb_double(s->u) : (double)(int64_t)s->u;
	return fabs(d) < 1e30 ? (float)d : NAN;
}

static uint32_t text(struct reader *r, enum field f)
{
	return has(&r->e, f) ? torch_text_of(r->b, ss_xstat_str(&r->e.v[f])) : 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool any_blank(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_blank(s.p[i]))
			return true;
	return false;
}

/* Blanks outside of quotes say nothing. */
static uint32_t text_without_blanks(struct reader *r, enum field f)
{
	struct ss_str s = has(&r->e, f) ? ss_xstat_str(&r->e.v[f]) : SS_STR("");
	struct ss_buf *b = &r->b->text;
	bool quoted = false;
	if (!any_blank(s))
		return torch_text_of(r->b, s);
	b->n = 0;
	for (size_t i = 0; i < s.n; i++) {
		quoted ^= s.p[i] == '"';
		if (quoted || !is_blank(s.p[i]))
			ss_buf_char(b, s.p[i]);
	}
	if (b->no_memory)
		return SS_NONE;
	uint32_t known = ss_strmap_get(&r->b->t->texts, ss_buf_get(b));
	if (known != SS_NONE)
		return known;
	struct ss_str copy = ss_arena_str(&r->b->t->arena, ss_buf_get(b));
	return copy.p ? torch_text_of(r->b, copy) : SS_NONE;
}

/* The id of the operator that an event names; 0: none. Its own correlation is no operator's. */
static uint64_t external(const struct event *e)
{
	int64_t id = whole(e, F_EXTERNAL, 0);
	bool own = has(e, F_CORRELATION) && id == whole(e, F_CORRELATION, 0);
	return own ? 0 : (uint64_t)id;
}

static bool take_comm(struct reader *r, uint32_t *comm)
{
	const struct event *e = &r->e;
	*comm = SS_NONE;
	if (!has(e, F_COLLECTIVE))
		return true;
	struct ss_torch_comm c = { .name = text(r, F_COLLECTIVE), .group = text(r, F_GROUP), .dtype = text(r, F_DTYPE),
				   .group_size = whole(e, F_GROUP_SIZE, 0), .in_elements = whole(e, F_IN, 0),
				   .out_elements = whole(e, F_OUT, 0), .sequence = whole(e, F_SEQ, -1) };
	if (has(e, F_GROUP) && e->v[F_GROUP].kind != SS_X_STR) {
		struct ss_str number = ss_arena_printf(&r->b->t->arena, "%lld", (long long)whole(e, F_GROUP, 0));
		c.group = number.p ? torch_text_of(r->b, number) : SS_NONE;
	}
	*comm = (uint32_t)r->b->t->comms.n;
	return c.name != SS_NONE && c.group != SS_NONE && c.dtype != SS_NONE && ss_vec_push(&r->b->t->comms, c);
}

/* ---- things ---- */

static uint32_t frame_now(struct reader *r)
{
	while (r->running.n && r->running.v[r->running.n - 1].end_ns <= r->e.begin_ns)
		r->running.n--;
	return r->running.n ? r->running.v[r->running.n - 1].frame : SS_NONE;
}

static bool take_shape(struct reader *r, uint32_t *shape)
{
	struct ss_torch *t = r->b->t;
	struct ss_torch_shape s = { .dims = text_without_blanks(r, F_DIMS), .types = text(r, F_TYPES) };
	if (s.dims == SS_NONE || s.types == SS_NONE)
		return false;
	*shape = ss_u64map_add(&r->b->shape_of, (uint64_t)s.dims << 32 | s.types, (uint32_t)t->shapes.n);
	return *shape != SS_NONE && (*shape < t->shapes.n || ss_vec_push(&t->shapes, s));
}

static bool take_operator(struct reader *r)
{
	const struct event *e = &r->e;
	struct ss_torch *t = r->b->t;
	uint32_t comm, number = (uint32_t)t->ops.n;
	int64_t sequence = whole(e, F_SEQUENCE, -1);
	struct ss_torch_op op = { .begin_ns = e->begin_ns, .end_ns = e->end_ns, .name = e->name, .thread = e->thread & INT32_MAX,
				  .parent = SS_NONE, .module = SS_NONE, .head = number,
				  .sequence = sequence >= 0 && sequence < SS_NONE ? (uint32_t)sequence : SS_NONE,
				  .backward = whole(e, F_FORWARD, 0) > 0 };
	op.stack = has(e, F_STACK) ? text(r, F_STACK) : frame_now(r);
	t->stack_is_frame |= op.stack != SS_NONE && !has(e, F_STACK);
	if (!take_shape(r, &op.shape) || !take_comm(r, &comm))
		return false;
	if (comm != SS_NONE && !ss_vec_push(&t->op_comms, ((struct ss_torch_op_comm){ number, comm })))
		return false;
	return ss_vec_push(&t->ops, op) && ss_vec_push(&r->b->op_ids, external(e));
}

static bool take_range(struct reader *r, bool operators)
{
	const struct event *e = &r->e;
	struct ss_torch_range g = { .begin_ns = e->begin_ns, .end_ns = e->end_ns, .name = e->name, .thread = e->thread,
				    .operators = operators, .step = INT64_MIN };
	if (ss_kineto_is_step(ss_torch_text(r->b->t, e->name))) {
		g.step = whole(e, F_STEP, INT64_MIN);
		g.mark = torch_text_of(r->b, ss_event_name_in_file(e->p, e->meta));
		if (g.mark == SS_NONE)
			return false;
	}
	g.dims = text_without_blanks(r, F_DIMS);
	g.types = text(r, F_TYPES);
	return g.dims != SS_NONE && g.types != SS_NONE && ss_vec_push(&r->b->t->ranges, g);
}

/* The number of the arrow at an event (the lowest bits are its direction); 0: none. */
static uint64_t arrow(const struct event *e)
{
	uint64_t flow = (uint64_t)whole(e, F_FLOW, 0) >> 2;
	return flow ? flow | SS_LINK_ARROW : 0;
}

static bool take_call(struct reader *r)
{
	const struct event *e = &r->e;
	uint64_t link = has(e, F_CORRELATION) ? (uint64_t)whole(e, F_CORRELATION, 0) : arrow(e);
	struct ss_torch_call c = { .begin_ns = e->begin_ns, .end_ns = e->end_ns, .name = e->name, .thread = e->thread,
				   .op = SS_NONE, .module = SS_NONE };
	return ss_vec_push(&r->b->t->calls, c) && ss_vec_push(&r->b->call_ids, external(e)) &&
	       ss_vec_push(&r->b->call_links, link);
}

static bool contains_without_case(struct ss_str s, struct ss_str part)
{
	for (size_t i = 0; i + part.n <= s.n; i++)
		if (ss_str_istarts(ss_str_sub(s, i, s.n), part))
			return true;
	return false;
}

/* Kernels of libraries that move data between devices, by name. */
static bool is_collective(struct ss_str name)
{
	static const struct ss_str parts[] = {
		SS_STR_INIT("rccl"),	SS_STR_INIT("msccl"), SS_STR_INIT("nvshmem"), SS_STR_INIT("cross_device_reduce"),
		SS_STR_INIT("deep_ep"),
	};
	struct ss_str s = name;
	if (ss_str_istarts(s, SS_STR("void ")))
		s = ss_str_sub(s, 5, s.n);
	if (ss_str_istarts(s, SS_STR("nccl")))
		return true;
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		if (contains_without_case(name, parts[i]))
			return true;
	return false;
}

/* NAME_ of a text; 0 when memory is out. */
static uint8_t told(struct reader *r, uint32_t name)
{
	if (name >= r->told.n) {
		size_t need = r->b->t->texts.n;
		if (!ss_vec_reserve(&r->told, need))
			return 0;
		memset(r->told.v + r->told.n, 0, need - r->told.n);
		r->told.n = need;
	}
	if (!r->told.v[name]) {
		struct ss_str s = ss_torch_text(r->b->t, name);
		r->told.v[name] = (uint8_t)(NAME_KNOWN | (ss_kineto_is_range(s) ? NAME_RANGE : 0) |
					    (is_collective(s) ? NAME_COLLECTIVE : 0));
	}
	return r->told.v[name];
}

static bool take_device(struct reader *r, enum ss_kineto kind)
{
	const struct event *e = &r->e;
	const struct ss_line *l = &e->p->lines[e->line];
	struct ss_torch_device_event d = {
		.begin_ns = e->begin_ns, .end_ns = e->end_ns, .name = e->name, .plane = e->plane & 0xffffff, .line = e->line,
		.event = e->i, .call = SS_NONE, .op = SS_NONE, .bytes = whole(e, F_BYTES, 0),
		.device = (int32_t)whole(e, F_DEVICE, e->p->id),
		.stream = whole(e, F_STREAM, l->src->id),
		.blocks_per_sm = real(e, F_BLOCKS), .occupancy_pct = real(e, F_OCCUPANCY),
	};
	bool copy = kind == SS_KINETO_MEMCPY;
	if (copy)
		d.name = torch_text_of(r->b, ss_event_name_in_file(e->p, e->meta));
	if (d.name == SS_NONE || !take_comm(r, &d.comm))
		return false;
	d.kind = copy ? SS_TORCH_MEMCPY : kind == SS_KINETO_MEMSET ? SS_TORCH_MEMSET : SS_TORCH_KERNEL;
	uint8_t name = told(r, d.name);
	struct ss_torch_arrow a = { (uint32_t)r->b->t->device.n, arrow(e) };
	if (a.link && !ss_vec_push(&r->b->device_arrows, a))
		return false;
	if (kind == SS_KINETO_KERNEL && (d.comm != SS_NONE || (name & NAME_COLLECTIVE)))
		d.kind = SS_TORCH_COLLECTIVE;
	return name && ss_vec_push(&r->b->t->device, d) && ss_vec_push(&r->b->device_ids, external(e)) &&
	       ss_vec_push(&r->b->device_links, (uint64_t)whole(e, F_CORRELATION, 0));
}

#define MOST_LEVELS 128	/* of modules in modules: deeper ones count as their parents */

/* "Outer_0/Inner_2" of a module "nn.Module: Inner_2" in the module `parent`. */
static uint32_t module_path(struct reader *r, uint32_t parent, struct ss_str name)
{
	struct ss_torch_build *b = r->b;
	uint32_t above = parent == SS_NONE ? 0 : b->t->modules.v[parent].path;
	uint32_t own = torch_text_of(b, name);
	uint64_t key = (uint64_t)above << 32 | own;
	uint32_t path = own == SS_NONE ? SS_NONE : ss_u64map_get(&b->path_of, key);
	if (own == SS_NONE || path != SS_NONE)
		return path;
	struct ss_str s = ss_torch_text(b->t, above);
	s = above ? ss_arena_printf(&b->t->arena, SS_FMT "/" SS_FMT, SS_ARG(s), SS_ARG(name)) : name;
	path = s.p ? torch_text_of(b, s) : SS_NONE;
	return path != SS_NONE && ss_u64map_add(&b->path_of, key, path) != SS_NONE ? path : SS_NONE;
}

static bool take_module(struct reader *r, struct ss_str name)
{
	struct ss_torch *t = r->b->t;
	const struct event *e = &r->e;
	while (r->b->open.n && t->modules.v[r->b->open.v[r->b->open.n - 1]].end_ns <= e->begin_ns)
		r->b->open.n--;
	size_t depth = r->b->open.n;
	struct ss_torch_module m = { .begin_ns = e->begin_ns, .end_ns = e->end_ns, .thread = e->thread,
				     .parent = depth ? r->b->open.v[depth - 1] : SS_NONE };
	m.path = depth < MOST_LEVELS ? module_path(r, m.parent, name) : t->modules.v[m.parent].path;
	return m.path != SS_NONE && ss_vec_push(&r->b->open, (uint32_t)t->modules.n) && ss_vec_push(&t->modules, m);
}

static bool take_python(struct reader *r)
{
	struct ss_torch *t = r->b->t;
	uint32_t parent = frame_now(r);
	struct ss_str name = ss_torch_text(t, r->e.name);
	uint64_t key = (uint64_t)parent << 32 | r->e.name;
	uint32_t frame = ss_u64map_get(&r->b->frame_of, key);
	t->any_frame = true;
	if (frame == SS_NONE) {
		frame = (uint32_t)t->frames.n;
		if (!ss_vec_push(&t->frames, ((struct ss_torch_frame){ r->e.name, parent })) ||
		    ss_u64map_add(&r->b->frame_of, key, frame) == SS_NONE)
			return false;
	}
	if (!ss_vec_push(&r->running, ((struct running){ r->e.end_ns, frame })))
		return false;
	return !ss_str_take(&name, SS_STR(SS_TORCH_MODULE)) || take_module(r, name);
}

static bool take_memory(struct reader *r)
{
	const struct event *e = &r->e;
	bool freed = ss_str_is(ss_torch_text(r->b->t, e->name), "MemoryDeallocation");
	int64_t bytes = whole(e, F_ALLOCATION, 0), allocated = whole(e, F_ALLOCATED, -1), left = whole(e, F_FREE, -1);
	struct ss_torch_memory m = { .time_ns = e->begin_ns, .bytes = freed && bytes > 0 ? -bytes : bytes,
				     .allocated_bytes = allocated, .reserved_bytes = -1,
				     .address = (uint64_t)whole(e, F_ADDRESS, 0), .addressed = has(e, F_ADDRESS),
				     .device = text(r, F_ALLOCATOR), .op = SS_NONE, .module = SS_NONE, .thread = e->thread,
				     .event = e->i };
	if (allocated >= 0 && left >= 0 && left <= INT64_MAX - allocated)
		m.reserved_bytes = allocated + left;
	m.reserved_bytes = whole(e, F_RESERVED, m.reserved_bytes);
	return m.device != SS_NONE && ss_vec_push(&r->b->t->memory, m);
}

static bool take(struct reader *r)
{
	const struct event *e = &r->e;
	uint8_t name = told(r, e->name);
	enum ss_kineto kind = has(e, F_CATEGORY) ? ss_kineto_of(ss_xstat_str(&e->v[F_CATEGORY])) : SS_KINETO_OTHER;
	if (!name)
		return false;
	switch (kind) {
	case SS_KINETO_OPERATOR:
		return name & NAME_RANGE ? take_range(r, true) : take_operator(r);
	case SS_KINETO_ANNOTATION:
		return take_range(r, false);
	case SS_KINETO_CALL:
		return take_call(r);
	case SS_KINETO_PYTHON:
		return take_python(r);
	case SS_KINETO_KERNEL:
	case SS_KINETO_MEMCPY:
	case SS_KINETO_MEMSET:
		return take_device(r, kind);
	default:
		return !has(e, F_ALLOCATOR) || !has(e, F_ALLOCATION) || take_memory(r);
	}
}

/* ---- events ---- */

static void read_stats(struct reader *r, struct ss_xstats it)
{
	struct event *e = &r->e;
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		enum field f = s.meta == SS_NONE ? F_NONE : (enum field)r->names.field[s.meta];
		if (f == F_NONE)
			continue;
		e->v[f] = s;
		e->has |= 1u << f;
	}
}

static bool read_event(struct reader *r, const struct ss_xevents *ev, const struct ss_xline *src, uint32_t i)
{
	struct event *e = &r->e;
	uint32_t meta = ev->meta[i];
	if (meta == SS_NONE)
		return true;
	e->i = i;
	e->meta = meta;
	e->begin_ns = ev->begin_ps[i] / 1000;
	e->end_ns = e->begin_ns + (int64_t)(ev->dur_ps[i] / 1000);
	e->has = 0;
	if (r->names.text[meta] == SS_NONE)
		r->names.text[meta] = torch_text_of(r->b, ss_event_name(e->p, meta));
	e->name = r->names.text[meta];
	if (e->name == SS_NONE)
		return false;
	read_stats(r, ss_xevent_meta_stats(e->p->x, meta));
	read_stats(r, ss_xevent_stats(e->p->x, ss_xevents_body(ev, src, i)));
	return take(r);
}

static struct ss_torch_thread thread_here(const struct ss_torch *t, uint32_t plane, uint32_t line, int64_t id)
{
	return (struct ss_torch_thread){ plane, line, id, (uint32_t)t->ops.n, (uint32_t)t->calls.n, (uint32_t)t->modules.n,
					 (uint32_t)t->memory.n };
}

static bool read_events(struct reader *r, const struct ss_xevents *ev, const struct ss_xline *src)
{
	struct ss_forget passed = { .h = r->b->h };
	bool ok = true;
	for (uint32_t i = 0; ok && i < ev->n; i++) {
		ok = read_event(r, ev, src, i);
		if (i % SS_EVENT_CHUNK == 0)
			ss_forget_upto(&passed, src->body.p + ev->base[i / SS_EVENT_CHUNK]);
	}
	ss_forget_upto(&passed, src->body.p + src->body.n);
	ss_forget_rest(&passed);
	return ok;
}

/* Columns that are there, where the host is loaded, in order and as the file has them. */
static const struct ss_xevents *loaded(const struct reader *r, uint32_t plane, uint32_t line)
{
	const struct ss_line *l = ss_line_as_read(r->b->h, plane, line);
	return l && l->ev.sorted ? &l->ev : NULL;
}

/*
 * A copy of the line's header: reading completes it, and the host's own may be read by others at
 * this time.
 */
static bool load_line(struct reader *r, struct ss_xline src, struct ss_err *err)
{
	struct ss_xevents ev = { 0 };
	uint32_t *from = NULL;
	if (!ss_xevents_load(&ev, &r->b->h->x, r->e.p->x, &src, err))
		return false;
	r->b->t->threads.v[r->e.thread].id = src.id;
	bool ok = (ev.sorted || ss_xevents_sort(&ev, &from)) && read_events(r, &ev, &src);
	free(from);
	ss_xevents_free(&ev);
	return ok || ss_fail_mem(err);
}

static bool read_line(struct reader *r, uint32_t plane, uint32_t line, struct ss_err *err)
{
	struct ss_torch *t = r->b->t;
	const struct ss_xline *src = &r->e.p->x->lines[line];
	const struct ss_xevents *there = loaded(r, plane, line);
	r->e.thread = (uint32_t)t->threads.n;
	r->e.plane = plane;
	r->e.line = line;
	r->running.n = r->b->open.n = 0;
	if (!ss_vec_push(&t->threads, thread_here(t, plane, line, src->id)))
		return ss_fail_mem(err);
	return there ? read_events(r, there, src) || ss_fail_mem(err) : load_line(r, *src, err);
}

static bool read_plane(struct reader *r, uint32_t plane, struct ss_err *err)
{
	const struct ss_plane *p = &r->b->h->planes[plane];
	const struct ss_xplane *x = p->x;
	struct names n = { .field = calloc((size_t)x->nstat_meta + 1, 1),
			   .text = malloc(((size_t)x->nevent_meta + 1) * sizeof(uint32_t)) };
	bool ok = n.field && n.text;
	for (uint32_t i = 0; ok && i < x->nstat_meta; i++)
		n.field[i] = (uint8_t)field_of(x->stat_meta[i].name);
	if (ok)
		memset(n.text, 0xff, x->nevent_meta * sizeof(uint32_t));
	else
		ss_fail_mem(err);
	r->names = n;
	r->e.p = p;
	for (uint32_t i = 0; ok && i < x->nlines; i++)
		ok = read_line(r, plane, i, err);
	free(n.field);
	free(n.text);
	return ok;
}

bool ss_torch_read(struct ss_torch_build *b, struct ss_err *err)
{
	struct reader r = { .b = b };
	bool ok = true;
	for (uint32_t i = 0; ok && i < b->h->nplanes; i++)
		ok = read_plane(&r, i, err);
	if (ok && !ss_vec_push(&b->t->threads, thread_here(b->t, SS_NONE, SS_NONE, 0)))
		ok = ss_fail_mem(err);
	ss_vec_free(&r.running);
	ss_vec_free(&r.told);
	return ok;
}
