/*
 * skeleton_tpu.c - what is taken of a TPU: the core's steps, modules and operations, and what its
 * SparseCores did.
 */
#include "model/cluster/skeleton_read.h"

#include "base/bisect.h"
#include "model/device/core_details.h"

#include <stdlib.h>

/* A done that lasts so long was waiting. */
#define WAITED_PS INT64_C(2000000)

struct module {
	int64_t begin_ps, end_ps, run;
	struct ss_str program;
	uint32_t launch;
	bool has_run;
};

/* A start whose done has not come yet. */
struct open_start {
	int64_t begin_ps;
	uint32_t launch, collective, next; /* next: the following of this collective, SS_NONE */
	int64_t run;
};

struct queue {
	uint32_t head, tail; /* indices into core.starts, SS_NONE */
};

struct core {
	struct ss_skel_reading *r;
	const struct ss_plane *p;
	struct ss_skel_device *d;
	int64_t ordinal;
	struct ss_skel_named *names; /* by metadata: looked up when the first event of it comes */
	SS_VEC(struct module) modules;
	SS_VEC(struct open_start) starts;
	SS_VEC(struct queue) queues; /* of them, by operation */
	struct ss_strmap programs;
	struct ss_u64map program_names; /* by program id: index into programs */
};

static struct ss_str module_name(struct ss_str title, uint64_t *program_id)
{
	size_t open = ss_str_rchr(title, '(');
	*program_id = 0;
	if (open == SS_NPOS || !title.n || title.p[title.n - 1] != ')')
		return title;
	struct ss_str number = ss_str_sub(title, open + 1, title.n - 1);
	return ss_str_to_u64(number, program_id) ? ss_str_sub(title, 0, open) : title;
}

static bool read_modules(struct core *c, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct module m = { .begin_ps = ss_skel_begin_ps(l, i), .launch = SS_NO_LAUNCH };
		uint64_t id;
		struct ss_xstat s;
		m.end_ps = ss_skel_end_ps(l, i);
		m.program = module_name(ss_event_name(c->p, l->ev.meta[i]), &id);
		if (ss_xstats_find(ss_line_stats(c->p, l, i), SS_STAT_RUN_ID, &s)) {
			m.has_run = true;
			m.run = ss_xstat_int_or_uint(&s);
			m.launch = ss_skel_launch_of_run(c->r, m.run, c->ordinal);
		}
		if (!ss_vec_push(&c->modules, m))
			return false;
		uint32_t k = ss_strmap_add(&c->programs, m.program);
		if (k == SS_NONE || (id && ss_u64map_add(&c->program_names, id, k) == SS_NONE))
			return false;
	}
	return true;
}

/* Steps are named by their numbers, or end in them. */
static bool step_number(struct ss_str name, int64_t *num)
{
	size_t at = name.n;
	while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	if (at >= name.n || !ss_str_to_i64(ss_str_sub(name, at, name.n), num))
		return false;
	*num = ss_skel_held(*num);
	return true;
}

static bool read_steps(struct core *c, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct ss_skel_step st = { .begin_ps = ss_skel_begin_ps(l, i) };
		st.end_ps = ss_skel_end_ps(l, i);
		if (!step_number(ss_event_name(c->p, l->ev.meta[i]), &st.num))
			continue;
		struct ss_skel_step *last = c->d->steps.n ? &c->d->steps.v[c->d->steps.n - 1] : NULL;
		/* A step may stand there in parts. */
		if (last && last->num == st.num)
			last->end_ps = st.end_ps > last->end_ps ? st.end_ps : last->end_ps;
		else if (!ss_vec_push(&c->d->steps, st))
			return false;
	}
	return true;
}

/* Without a line of steps: programs belong to the marker that their launch stands in. */
static bool steps_of_modules(struct core *c)
{
	for (size_t i = 0; i < c->modules.n; i++) {
		const struct module *m = &c->modules.v[i];
		if (m->launch == SS_NO_LAUNCH)
			continue;
		const struct ss_skel_marker *marker = ss_skel_marker_at(c->r, c->r->s->events.v[m->launch].begin_ps);
		struct ss_skel_step *last = c->d->steps.n ? &c->d->steps.v[c->d->steps.n - 1] : NULL;
		if (!marker)
			continue;
		if (last && last->num == marker->num)
			last->end_ps = m->end_ps > last->end_ps ? m->end_ps : last->end_ps;
		else if (!ss_vec_push(&c->d->steps, ((struct ss_skel_step){ marker->num, m->begin_ps, m->end_ps })))
			return false;
	}
	return true;
}

/* The facts from an operation's metadata. */
struct op_text {
	struct ss_str text, shown, category;
	struct ss_skel_op op; /* its program */
};

static struct op_text op_text(const struct core *c, uint32_t meta)
{
	struct ss_xstats it = ss_xevent_meta_stats(c->p->x, meta);
	struct op_text t = { .text = ss_event_name(c->p, meta), .shown = ss_event_display_name(c->p, meta), .category = { "", 0 },
			     .op = { .program = { "", 0 }, .groups = { "", 0 } } };
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_HLO_CATEGORY)
			t.category = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_PROGRAM_ID)
			t.op.program_id = (uint64_t)ss_xstat_int_or_uint(&s);
	}
	uint32_t k = ss_u64map_get(&c->program_names, t.op.program_id);
	if (k != SS_NONE)
		t.op.program = c->programs.keys[k];
	return t;
}

static bool name_op(struct core *c, const struct op_text *t, struct ss_skel_named *to)
{
	struct ss_skel_op op = t->op;
	struct ss_comm_op comm;
	if (!ss_comm_op_read(&comm, t->text, t->shown, t->category, &c->r->arena))
		return false;
	*to = (struct ss_skel_named){ .known = true, .collective = SS_NONE, .phase = comm.phase, .kind = comm.kind };
	op.name = comm.name;
	op.kind = comm.kind;
	/* Sends and receives always have dones of their own. */
	if ((comm.kind == SS_COMM_SEND || comm.kind == SS_COMM_RECV) && comm.phase == SS_COMM_WHOLE)
		to->phase = SS_COMM_START;
	if (!comm.kind) {
		bool moves = ss_str_starts(t->category, SS_STR("outfeed")) || ss_str_starts(t->category, SS_STR("host ")) ||
			     ss_str_contains(t->category, SS_STR("copy-start")) ||
			     ss_str_contains(t->category, SS_STR("copy-done"));
		op.cls = ss_str_starts(t->category, SS_STR("infeed")) ? SS_SPAN_INPUT : moves ? SS_SPAN_COPY : SS_SPAN_COMPUTE;
	} else {
		op.cls = to->phase == SS_COMM_WHOLE ? SS_SPAN_COLLECTIVE : SS_SPAN_COMM;
		op.groups = comm.kind == SS_COMM_BARRIER && !comm.groups.n ? SS_STR("host") : comm.groups;
		op.bytes = comm.bytes;
		if (comm.kind != SS_COMM_SEND && comm.kind != SS_COMM_RECV && to->phase != SS_COMM_DONE) {
			struct ss_skel_op whole = op;
			whole.cls = SS_SPAN_COLLECTIVE;
			to->collective = ss_skel_op(c->r, &whole);
			if (to->collective == SS_NONE)
				return false;
		}
		op.groups = SS_STR("");
		op.bytes = 0;
	}
	to->op = to->phase == SS_COMM_WHOLE && to->collective != SS_NONE ? to->collective : ss_skel_op(c->r, &op);
	return to->op != SS_NONE;
}

/* All cores of a host run the same operations: their texts are read once. */
static bool name_event(struct core *c, uint32_t meta, struct ss_skel_named *to)
{
	struct ss_skel_reading *r = c->r;
	struct op_text t = op_text(c, meta);
	uint64_t id = t.op.program_id;
	struct ss_str parts[] = { { (const char *)&id, sizeof(id) }, t.op.program, t.category, t.shown, t.text };
	size_t lengths[SS_COUNT(parts)], n = sizeof(lengths);
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		n += lengths[i] = parts[i].n;
	char *key = ss_arena_alloc(&r->arena, n);
	if (!key)
		return false;
	memcpy(key, lengths, sizeof(lengths));
	n = sizeof(lengths);
	for (size_t i = 0; i < SS_COUNT(parts); n += parts[i++].n)
		if (parts[i].n)
			memcpy(key + n, parts[i].p, parts[i].n);
	uint32_t k = ss_strmap_add(&r->texts, (struct ss_str){ key, n });
	if (k == SS_NONE)
		return false;
	if (k == r->named.n && !(name_op(c, &t, to) && ss_vec_push(&r->named, *to)))
		return false;
	*to = r->named.v[k];
	return true;
}

/* The module that runs at a moment; modules of a core do not overlap. */
static const struct module *module_at(const struct core *c, int64_t at_ps)
{
	size_t lo = 0, hi = c->modules.n;
	SS_BISECT(lo, hi, mid, c->modules.v[mid].begin_ps <= at_ps);
	return lo ? &c->modules.v[lo - 1] : NULL;
}

/*
 * Starts of a collective wait for their dones first in, first out. `op` is that of start and done.
 */
static struct queue *queue_of(struct core *c, uint32_t op)
{
	while (c->queues.n <= op)
		if (!ss_vec_push(&c->queues, ((struct queue){ SS_NONE, SS_NONE })))
			return NULL;
	return &c->queues.v[op];
}

static bool push_start(struct core *c, const struct open_start *o, uint32_t op)
{
	uint32_t at = (uint32_t)c->starts.n;
	struct queue *q = queue_of(c, op);
	if (!q || !ss_vec_push(&c->starts, *o))
		return false;
	if (q->head == SS_NONE)
		q->head = at;
	else
		c->starts.v[q->tail].next = at;
	q->tail = at;
	return true;
}

static bool pop_start(struct core *c, uint32_t op, struct open_start *o)
{
	struct queue *q = op < c->queues.n ? &c->queues.v[op] : NULL;
	if (!q || q->head == SS_NONE)
		return false;
	*o = c->starts.v[q->head];
	q->head = o->next;
	return true;
}

static bool add_comm(struct core *c, struct ss_skel_comm m)
{
	m.step = ss_skel_device_step(c->d, m.begin_ps);
	m.seq = -1;
	return ss_vec_push(&c->d->comms, m);
}

static bool take_op(struct core *c, const struct ss_skel_named *n, int64_t begin, int64_t end, uint32_t stream)
{
	const struct module *m = module_at(c, begin);
	uint32_t launch = m ? m->launch : SS_NO_LAUNCH;
	int64_t run = m && m->has_run ? m->run : 0;
	struct open_start o;
	if (n->kind && n->phase == SS_COMM_WHOLE)
		return add_comm(c, (struct ss_skel_comm){ .begin_ps = begin, .end_ps = end, .run = run, .op = n->collective,
							   .launch = launch, .stream = stream, .waited = true });
	if (n->kind && n->phase == SS_COMM_START && n->collective != SS_NONE) {
		o = (struct open_start){ begin, launch, n->collective, SS_NONE, run };
		if (!push_start(c, &o, n->op))
			return false;
	} else if (n->kind && n->phase == SS_COMM_DONE && pop_start(c, n->op, &o)) {
		if (!add_comm(c, (struct ss_skel_comm){ .begin_ps = o.begin_ps, .end_ps = end, .run = o.run, .op = o.collective,
							.launch = o.launch, .stream = stream,
							.waited = end - begin >= WAITED_PS, .async = true }))
			return false;
	}
	return ss_vec_push(&c->d->spans, ((struct ss_skel_span){ begin, end, n->op, launch, stream }));
}

/* Operations that hold others are loops and calls: what counts is inside. */
static bool is_leaf(const struct ss_line *l, uint32_t i)
{
	if (i + 1 >= l->ev.n)
		return true;
	int64_t end = ss_skel_end_ps(l, i), next = ss_skel_begin_ps(l, i + 1);
	return next >= end || ss_skel_end_ps(l, i + 1) > end;
}

static bool read_ops(struct core *c, const struct ss_line *l, uint32_t stream)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i];
		if (meta >= c->p->x->nevent_meta || !is_leaf(l, i))
			continue;
		struct ss_skel_named *n = &c->names[meta];
		if (!n->known && !name_event(c, meta, n))
			return false;
		int64_t begin = ss_skel_begin_ps(l, i), end = ss_skel_end_ps(l, i);
		if (!take_op(c, n, begin, end, stream))
			return false;
	}
	return true;
}

static int spans_by_begin(const void *a, const void *b)
{
	const struct ss_skel_span *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->stream, y->stream);
}

static void number_device(struct core *c)
{
	struct ss_core_details d = ss_plane_core_details(c->p);
	struct ss_xstat s;
	if (d.present && !d.empty)
		c->d->global = d.global_core_id;
	else if (ss_xstats_find(ss_xplane_stats(c->p->x), SS_STAT_GLOBAL_CHIP_ID, &s))
		c->d->global = ss_xstat_int_or_uint(&s);
}

/*
 * "/device:TPU:3", "/device:TPU:3 SparseCore 1": the chip, and 0 or one more than the SparseCore.
 */
static void place_of(struct ss_str name, int64_t *ordinal, uint32_t *stream)
{
	uint64_t n = 0, core = 0;
	*ordinal = 0;
	*stream = 0;
	if (ss_str_take(&name, SS_STR("/device:TPU:")) && ss_str_take_u64(&name, &n))
		*ordinal = (int64_t)(n & 0xffffff);
	size_t at = name.n;
	while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	if (name.n)
		*stream = 1 + (uint32_t)(ss_str_to_u64(ss_str_sub(name, at, name.n), &core) ? core & 0xffff : 0);
}

static bool read_lines(struct core *c, uint32_t stream)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < c->p->nlines; i++)
		if (ss_str_is(c->p->lines[i].name, "XLA Modules"))
			ok = read_modules(c, &c->p->lines[i]);
	for (uint32_t i = 0; ok && i < c->p->nlines && !stream; i++)
		if (ss_str_is(c->p->lines[i].name, "Steps"))
			ok = read_steps(c, &c->p->lines[i]);
	if (ok && !stream && !c->d->steps.n)
		ok = steps_of_modules(c);
	for (uint32_t i = 0; ok && i < c->p->nlines; i++)
		if (ss_str_is(c->p->lines[i].name, stream ? "Sparse Core Ops" : "XLA Ops"))
			ok = read_ops(c, &c->p->lines[i], stream);
	return ok;
}

bool ss_skel_read_tpu(struct ss_skel_reading *r, const struct ss_plane *p)
{
	struct core c = { .r = r, .p = p, .names = SS_NEW_N(&r->arena, struct ss_skel_named, p->x->nevent_meta + 1) };
	uint32_t stream;
	place_of(p->name, &c.ordinal, &stream);
	c.d = ss_skel_device_at(r, c.ordinal);
	bool ok = c.d && c.names;
	if (ok && !stream)
		number_device(&c);
	ok = ok && read_lines(&c, stream);
	if (ok)
		ss_sort(c.d->spans.v, c.d->spans.n, sizeof(*c.d->spans.v), spans_by_begin);
	if (ok)
		ss_skel_sort_comms(c.d);
	ss_vec_free(&c.modules);
	ss_vec_free(&c.starts);
	ss_vec_free(&c.queues);
	ss_u64map_free(&c.program_names);
	ss_strmap_free(&c.programs);
	return ok;
}
