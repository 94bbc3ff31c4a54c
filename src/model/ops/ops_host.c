/*
 * ops_host.c - framework ops on the threads of /host:CPU (docs/tools/framework_op_stats.md).
 *
 * An event is an op if its name says so ("dense/MatMul:MatMul", "Iterator::Map"), if it is a stage
 * of an input pipeline, or if it carries the name of one in the stat tf_op. Self time is what is
 * left of an op without the ops inside it on the same thread.
 *
 * Where XProf loses time, this does not: it forgets an op that ends at the same picosecond as the
 * one around it, and with it everything around both; here the inner op counts, and of an op that
 * outlasts the one it began in, the time they share counts as inside. Self times of a thread sum up
 * to the time in which it ran ops.
 */
#include "model/ops/ops_build.h"

#include "base/safe.h"
#include "base/vec.h"
#include "model/host/opname.h"
#include "model/host/stat_filter.h"

#include <stdlib.h>

enum { META_UNKNOWN = 0, META_NO_OP = 1, META_OP = 2 }; /* META_OP + index into the table of ops */

struct open_op {
	int64_t begin_ps, end_ps;
	uint64_t children_ps;
	size_t outlasted_by; /* 1 + the nearest below on the stack that ends later; 0: none does */
	uint32_t op;
	bool eager, infeed_enqueue;
};

struct pass {
	struct ss_op_db *db;
	const struct ss_plane *p;
	uint32_t *known; /* per event metadata: META_* */
	struct ss_stat_filter filter;
	bool eager_in_file;
	SS_VEC(struct open_op) stack;
	/* State of the current line. */
	int64_t first_ps, last_ps, enqueue_begin_ps;
	uint64_t enqueue_dur_ps, line_ps;
	bool any, any_enqueue;
	struct ss_forget forget;
};

/* The stats of an event that matter here. */
struct op_stats {
	struct ss_str tf_op, stage_category;
	uint64_t stage_id;
	bool has_tf_op, has_stage_id, has_stage_category, eager;
};

static struct op_stats read_stats(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct op_stats o = { .eager = false };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		switch (s.stat) {
		case SS_STAT_TF_OP:
			o.tf_op = ss_xstat_str(&s);
			o.has_tf_op = true;
			break;
		case SS_STAT_IPL_STAGE_ID:
			o.stage_id = (uint64_t)ss_xstat_int_or_uint(&s);
			o.has_stage_id = true;
			break;
		case SS_STAT_IPL_STAGE_CATEGORY:
			o.stage_category = ss_xstat_str(&s);
			o.has_stage_category = true;
			break;
		case SS_STAT_IS_EAGER:
			o.eager = ss_xstat_int_or_uint(&s) != 0;
			break;
		default:
			break;
		}
	}
	return o;
}

/* Index of the op of this name; stages have ids besides. SS_NONE when memory is out. */
static uint32_t op_index(struct pass *s, uint64_t stage, struct ss_str name, struct ss_str category)
{
	struct ss_op *op = ss_op_db_get(s->db, stage, name);
	if (!op)
		return SS_NONE;
	if (!op->category.n)
		op->category = category;
	return (uint32_t)(op - s->db->v);
}

/*
 * In the order in which they end. Of nested ones the period counts back, so that the sum is from
 * the first to the last.
 */
static void enter_infeed_enqueue(struct pass *s, const struct open_op *o)
{
	if (s->any_enqueue) {
		s->db->infeed_enq_ps += s->enqueue_dur_ps;
		s->db->infeed_enq_period_ps +=
			(uint64_t)o->begin_ps - (uint64_t)s->enqueue_begin_ps;
	}
	s->any_enqueue = true;
	s->enqueue_begin_ps = o->begin_ps;
	s->enqueue_dur_ps = ss_safe_between(o->begin_ps, o->end_ps);
}

/*
 * The time of an op that is over lies inside those below it on the stack: inside the next one as
 * far as that lasts, and what is beyond inside the one below that lasts longer, and so on.
 */
static void take_from_outer(struct pass *s, const struct open_op *o)
{
	int64_t from_ps = o->begin_ps;
	for (size_t at = s->stack.n; at && from_ps < o->end_ps; at = s->stack.v[at - 1].outlasted_by) {
		struct open_op *around = &s->stack.v[at - 1];
		int64_t end_ps = o->end_ps < around->end_ps ? o->end_ps : around->end_ps;
		if (end_ps <= from_ps)
			continue;
		around->children_ps += ss_safe_between(from_ps, end_ps);
		from_ps = end_ps;
	}
}

/* The innermost op is over. */
static void pop(struct pass *s)
{
	struct open_op o = s->stack.v[--s->stack.n];
	struct ss_op *op = &s->db->v[o.op];
	uint64_t dur_ps = ss_safe_between(o.begin_ps, o.end_ps);
	uint64_t self_ps = dur_ps > o.children_ps ? dur_ps - o.children_ps : 0;
	op->occurrences++;
	op->time_ps += dur_ps;
	op->self_ps += self_ps;
	op->is_eager |= o.eager;
	s->line_ps += self_ps;
	if (o.infeed_enqueue)
		enter_infeed_enqueue(s, &o);
	take_from_outer(s, &o);
}

static bool push(struct pass *s, const struct ss_line *l, uint32_t i, uint32_t op, bool eager)
{
	if (op == SS_NONE)
		return false;
	struct open_op o = { .begin_ps = l->ev.begin_ps[i],
			     .end_ps = ss_xevents_end_ps(&l->ev, i),
			     .op = op,
			     .eager = eager };
	o.infeed_enqueue = ss_op_is_infeed_enqueue(s->db->v[op].category);
	if (!s->any || o.begin_ps < s->first_ps)
		s->first_ps = o.begin_ps;
	if (!s->any || o.end_ps > s->last_ps)
		s->last_ps = o.end_ps;
	s->any = true;
	while (s->stack.n && s->stack.v[s->stack.n - 1].end_ps <= o.begin_ps)
		pop(s);
	/* Skipped events end before this op ends, so each is skipped once. */
	o.outlasted_by = s->stack.n;
	while (o.outlasted_by && s->stack.v[o.outlasted_by - 1].end_ps <= o.end_ps)
		o.outlasted_by = s->stack.v[o.outlasted_by - 1].outlasted_by;
	return ss_vec_push(&s->stack, o);
}

/* The facts in the name of an event, read once per metadata entry. 0 when memory is out. */
static uint32_t classify(struct pass *s, uint32_t meta)
{
	struct ss_op_name n = ss_op_name_parse(ss_event_name(s->p, meta));
	if (n.category == SS_OP_UNKNOWN)
		return META_NO_OP;
	uint32_t op = op_index(s, 0, n.name, n.type);
	return op == SS_NONE ? 0 : META_OP + op;
}

static bool add_event(struct pass *s, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i], kind = META_NO_OP;
	if (meta < s->p->x->nevent_meta) {
		if (s->known[meta] == META_UNKNOWN && !(s->known[meta] = classify(s, meta)))
			return false;
		kind = s->known[meta];
	}
	bool look = ss_stat_filter_line(&s->filter, l, i);
	if (kind == META_NO_OP && !look)
		return true;
	struct op_stats o = { .eager = false };
	if (look || s->eager_in_file)
		o = read_stats(s->p, l, i);
	if (l->eager && l->eager[i] >= 0)
		o.eager = l->eager[i] == 1;
	bool stage = o.has_stage_id && o.has_stage_category;
	if (stage) {
		/* From 1 on: 0 is what is no stage. */
		uint32_t op =
			op_index(s, o.stage_id + 1, ss_event_name(s->p, meta), o.stage_category);
		if (!push(s, l, i, op, o.eager))
			return false;
	} else if (kind != META_NO_OP && !push(s, l, i, kind - META_OP, o.eager)) {
		return false;
	}
	/* An event is one op, but for instants, which take no time from anybody. */
	if (!o.has_tf_op || ((stage || kind != META_NO_OP) && l->ev.dur_ps[i]))
		return true;
	struct ss_op_name n = ss_op_name_parse(o.tf_op);
	return push(s, l, i, op_index(s, 0, n.name, n.type), false);
}

struct place {
	int64_t begin_ps;
	uint32_t event;
};

static int by_begin(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	return SS_CMP(pa->begin_ps, pb->begin_ps) ?: SS_CMP(pa->event, pb->event);
}

/* Lines that the file holds in another order than that of time. */
static bool walk_unsorted(struct pass *s, const struct ss_line *l)
{
	struct place *order = malloc(((size_t)l->ev.n + 1) * sizeof(*order));
	bool ok = order;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		order[i] = (struct place){ l->ev.begin_ps[i], i };
	if (ok)
		qsort(order, l->ev.n, sizeof(*order), by_begin);
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		ok = add_event(s, l, order[i].event);
		ss_forget_passed(&s->forget, l, order[i].event);
	}
	free(order);
	return ok;
}

static bool walk_line(struct pass *s, const struct ss_line *l)
{
	bool ok = true;
	s->any = s->any_enqueue = false;
	s->line_ps = 0;
	if (!l->ev.sorted) {
		ok = walk_unsorted(s, l);
	} else {
		for (uint32_t i = 0; ok && i < l->ev.n; i++) {
			ok = add_event(s, l, i);
			ss_forget_passed(&s->forget, l, i);
		}
	}
	ss_forget_line(&s->forget, l);
	while (ok && s->stack.n)
		pop(s);
	s->stack.n = 0;
	if (!ok)
		return false;
	uint64_t span_ps = s->any ? (uint64_t)s->last_ps - (uint64_t)s->first_ps : 0;
	if (span_ps < s->line_ps)
		span_ps = s->line_ps;
	s->db->op_ps += s->line_ps;
	s->db->total_ps += span_ps;
	return true;
}

static bool walk_plane(struct pass *s)
{
	static const enum ss_stat stats[] = { SS_STAT_TF_OP, SS_STAT_IPL_STAGE_ID };
	bool any_line = false;
	s->known = calloc((size_t)s->p->x->nevent_meta + 1, sizeof(*s->known));
	if (!s->known)
		return false;
	s->filter = ss_stat_filter_of(s->p->x, stats, SS_COUNT(stats));
	s->eager_in_file = ss_xplane_has(s->p->x, SS_STAT_IS_EAGER);
	for (uint32_t k = 0; k < s->p->nlines; k++) {
		if (s->p->lines[k].derived)
			continue;
		any_line = true;
		if (!walk_line(s, &s->p->lines[k]))
			return false;
	}
	return !any_line || ss_op_db_finish(s->db, s->db->total_ps);
}

bool ss_host_thread_ops(struct ss_op_db *db, const struct ss_host *h, struct ss_err *err)
{
	struct pass s = { .db = db, .p = ss_host_plane(h, SS_PLANE_HOST_CPU), .forget.h = h };
	bool ok = !s.p || walk_plane(&s);
	ss_forget_rest(&s.forget);
	free(s.known);
	ss_vec_free(&s.stack);
	/* Names that were met but whose every event was dropped are no ops. */
	return (ok && ss_op_db_compact(db)) || ss_fail_mem(err);
}
