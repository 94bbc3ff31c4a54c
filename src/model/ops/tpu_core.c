/*
 * tpu_core.c - one pass over the op lines of a TensorCore.
 *
 * The facts of an operation stand in its event metadata and are read once; per event remain two
 * timespans, a group and a few rare stats. Sums are kept per metadata entry in a dense array, and
 * per step only while the step lasts: when the group changes, what the step spent on each category
 * is appended as one run, and runs of the same group are joined at the end. Nothing grows with
 * events.
 */
#include "model/ops/tpu.h"
#include "model/host/host.h"

#include "base/assert.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/device/op_facts.h"
#include "model/host/forget.h"
#include "model/host/opname.h"
#include "model/host/stat_projection.h"
#include "model/ops/sparse_ops.h"
#include "model/ops/step_marker.h"
#include "xprof/quirks/quirks.h"

#include <stdlib.h>

enum { HAS_INNER = 1, IN_OUT_FEED = 2 };

/* An operation while it is being summed up. */
struct sum {
	uint32_t meta, category;
	unsigned flags;
	struct ss_cost unit; /* of one execution */
	uint64_t occurrences, time_ps, self_ps, min_ps, normalized_ps, dma_stall_ps;
	uint64_t estimated_flops, estimated_bytes;
	double vdd_energy_j;
	const struct ss_op_db *offloaded;
};

#define STEP_LEVELS 64 /* of events around one that are looked at for its step */

/* The time of one group, as far as its events are adjacent. */
struct run {
	int64_t group;
	uint32_t first_cat, ncats;
	struct ss_program_cost cost;
};

struct open_event {
	int64_t begin_ps, end_ps;
	uint64_t children_ps;
	uint64_t step_children_ps; /* of those in steps */
	int64_t group;
	uint32_t sum; /* SS_NONE: the event is no operation, but contains some */
	bool nameless;
};

struct collective {
	int64_t group;
	struct ss_collective c;
};

/* Stats that few events have. */
struct rare_stats {
	bool has_collective, has_offload_core, has_offload_start;
	uint64_t offload_core, offload_start;
	uint64_t dma_stall_ps, estimated_flops, estimated_bytes, collective;
	double time_scale, energy_j;
};

struct pass {
	struct ss_tpu_core *core;
	const struct ss_plane *p;
	const struct ss_sparse_ops *sparse;
	struct ss_arena arena;
	uint32_t *sum_of_meta; /* 0: not read; else 1 + index into sums, SS_NONE: no operation */
	SS_VEC(struct sum) sums;
	struct ss_strmap categories;
	SS_VEC(struct open_event) stack;
	SS_VEC(struct run) runs;
	SS_VEC(struct ss_cat_time) cats;
	SS_VEC(struct collective) collectives;
	/* The run in progress: self time per category, and which categories have any entry. */
	struct run run;
	bool in_run;
	uint64_t *cat_ps;
	bool *cat_seen;
	uint32_t *touched;
	size_t cat_cap, seen_cap, touched_cap, ntouched;
	int64_t first_ps, last_ps; /* span of the plane */
	uint64_t nameless_ps;	   /* of events whose names a damaged file lost: what ran is not known, but it was not idle */
	bool any;
	struct ss_stat_projection projection[2]; /* op_stats without the group; with it */
	/* Of the line in progress; the second: see ss_line_group_at. */
	const struct ss_stat_projection *reads; /* NULL: its events have none of the stats */
	size_t group_at;
	struct rare_stats rare; /* of the event in progress, if it has any */
};

/* Stats of one event. */
struct op_event {
	struct ss_device_time at;
	int64_t group;
	bool has_rare;
	struct rare_stats *rare; /* not set without has_rare: clearing them costs as much as reading an event */
};

static const struct rare_stats no_rare_stats = { .time_scale = 1 };

static void take_rare(const struct ss_xstat *s, struct op_event *e)
{
	struct rare_stats *m = e->rare;
	if (!e->has_rare)
		*m = no_rare_stats;
	e->has_rare = true;
	switch (s->stat) {
	case SS_STAT_TIME_SCALE_MULTIPLIER:
		m->time_scale = ss_xstat_double(s);
		break;
	case SS_STAT_DMA_STALL_DURATION_PS:
		m->dma_stall_ps = ss_quirk_dma_stall_ps(s);
		break;
	case SS_STAT_VDD_ENERGY_J:
		m->energy_j = ss_xstat_double(s);
		break;
	case SS_STAT_ESTIMATED_FLOPS:
		m->estimated_flops = (uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_ESTIMATED_BYTES_ACCESSED:
		m->estimated_bytes = (uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_OFFLOAD_CORE_ID:
		m->offload_core = ss_xstat_uint(s);
		m->has_offload_core = true;
		break;
	case SS_STAT_TC_OFFLOAD_START_ID:
		m->offload_start = (uint64_t)ss_xstat_int(s); /* unsigned where the SparseCore says it */
		m->has_offload_start = true;
		break;
	case SS_STAT_ALL_REDUCE_UNIQUE_ID:
		m->collective = (uint64_t)ss_xstat_int_or_uint(s);
		m->has_collective = true;
		break;
	default:
		break;
	}
}

static inline void take_stat(const struct ss_xstat *s, struct op_event *e)
{
	switch (s->stat) {
	case SS_STAT_DEVICE_OFFSET_PS:
		e->at.offset_ps = (uint64_t)ss_xstat_int_or_uint(s);
		e->at.has_offset = true;
		break;
	case SS_STAT_DEVICE_DURATION_PS:
		e->at.dur_ps = (uint64_t)ss_xstat_int_or_uint(s);
		e->at.has_dur = true;
		break;
	case SS_STAT_GROUP_ID:
		e->group = ss_xstat_int_or_uint(s);
		break;
	default:
		take_rare(s, e);
		break;
	}
}

/* What take_stat takes; the group last, for mostly it is known already. */
static const enum ss_stat op_stats[] = {
	SS_STAT_DEVICE_OFFSET_PS,     SS_STAT_DEVICE_DURATION_PS, SS_STAT_TIME_SCALE_MULTIPLIER,
	SS_STAT_DMA_STALL_DURATION_PS, SS_STAT_VDD_ENERGY_J,	   SS_STAT_ESTIMATED_FLOPS,
	SS_STAT_ESTIMATED_BYTES_ACCESSED, SS_STAT_OFFLOAD_CORE_ID, SS_STAT_TC_OFFLOAD_START_ID,
	SS_STAT_ALL_REDUCE_UNIQUE_ID, SS_STAT_GROUP_ID,
};

/* The same of each of many events. */
static void read_projected(const struct ss_stat_projection *w, const struct ss_line *l, uint32_t i, struct op_event *e)
{
	struct ss_projection_walk walk = ss_projection_event(w, ss_xevents_body(&l->ev, l->src, i));
	struct ss_xstat s;
	unsigned which;
	while (ss_projection_next(&walk, &which, &s))
		take_stat(&s, e);
}

static void extend(struct pass *s, int64_t begin_ps, int64_t end_ps)
{
	if (!s->any || begin_ps < s->first_ps)
		s->first_ps = begin_ps;
	if (!s->any || end_ps > s->last_ps)
		s->last_ps = end_ps;
	s->any = true;
}

/* A place for one more category in the arrays of the run. */
static bool more_categories(struct pass *s)
{
	size_t had = s->seen_cap, n = s->categories.n;
	if (!ss_grow((void **)&s->cat_ps, &s->cat_cap, n, sizeof(*s->cat_ps)) ||
	    !ss_grow((void **)&s->touched, &s->touched_cap, n, sizeof(*s->touched)) ||
	    !ss_grow((void **)&s->cat_seen, &s->seen_cap, n, sizeof(*s->cat_seen)))
		return false;
	if (s->seen_cap > had)
		memset(s->cat_seen + had, 0, s->seen_cap - had);
	return true;
}

/* First event of this metadata: read its facts. SS_NONE: it is no operation; 0: no memory. */
static uint32_t read_meta(struct pass *s, uint32_t meta)
{
	struct ss_op_facts f;
	if (!ss_op_facts_read(&f, s->p->x, meta) || f.symbol_id == 0)
		return SS_NONE;
	struct sum sum = { .meta = meta, .unit = f.cost, .min_ps = UINT64_MAX };
	sum.category = ss_strmap_add(&s->categories, f.category);
	if (sum.category == SS_NONE || !more_categories(s))
		return 0;
	sum.flags = (ss_hlo_may_have_inner_ops(f.category) ? HAS_INNER : 0u) |
		    (ss_hlo_is_infeed_or_outfeed(f.category) ? IN_OUT_FEED : 0u);
	if (!ss_vec_push(&s->sums, sum))
		return 0;
	return (uint32_t)s->sums.n;
}

/* Append the run in progress. */
static bool end_run(struct pass *s)
{
	if (!s->in_run)
		return true;
	s->run.first_cat = (uint32_t)s->cats.n;
	s->run.ncats = (uint32_t)s->ntouched;
	for (size_t i = 0; i < s->ntouched; i++) {
		uint32_t c = s->touched[i];
		if (!ss_vec_push(&s->cats, ((struct ss_cat_time){ c, s->cat_ps[c] })))
			return false;
		s->cat_seen[c] = false;
	}
	s->ntouched = 0;
	s->in_run = false;
	return ss_vec_push(&s->runs, s->run);
}

static void add_cost(struct ss_cost *to, const struct ss_cost *unit)
{
	to->flops += unit->flops;
	to->model_flops += unit->model_flops;
	to->bytes += unit->bytes;
	if (!unit->has_mem)
		return;
	to->has_mem = true;
	for (int i = 0; i < SS_MEM_COUNT; i++)
		to->mem[i] += unit->mem[i];
}

static bool begin_run(struct pass *s, int64_t group)
{
	if (s->in_run && s->run.group == group)
		return true;
	if (!end_run(s))
		return false;
	s->run = (struct run){ .group = group };
	s->in_run = true;
	return true;
}

static bool add_to_step(struct pass *s, const struct open_event *e, const struct sum *sum,
			uint64_t self_ps)
{
	if (!begin_run(s, e->group))
		return false;
	uint32_t c = sum->category;
	if (!s->cat_seen[c]) {
		s->cat_seen[c] = true;
		s->cat_ps[c] = 0;
		s->touched[s->ntouched++] = c;
	}
	s->cat_ps[c] += self_ps;
	if (sum->flags & HAS_INNER)
		return true;
	add_cost(&s->run.cost.all, &sum->unit);
	if (sum->flags & IN_OUT_FEED) {
		add_cost(&s->run.cost.infeed_outfeed, &sum->unit);
		s->run.cost.infeed_outfeed_ps = ss_safe_add(s->run.cost.infeed_outfeed_ps, ss_safe_between(e->begin_ps, e->end_ps));
	}
	return true;
}

/*
 * What runs outside of all steps takes no time from what runs in one; what is in a step does, from
 * the nearest around it that is in any step, as in XProf. Mostly that is the innermost.
 */
static void give_to_step(struct pass *s, int64_t group, uint64_t dur_ps)
{
	size_t n = s->stack.n, min = n > STEP_LEVELS ? n - STEP_LEVELS : 0;
	if (group == SS_NO_GROUP)
		return;
	while (n > min && s->stack.v[n - 1].group == SS_NO_GROUP)
		n--;
	if (n > min)
		s->stack.v[n - 1].step_children_ps += dur_ps;
}

/* The innermost open event is over: its self time is known. */
static bool pop(struct pass *s)
{
	struct open_event e = s->stack.v[--s->stack.n];
	uint64_t dur_ps = ss_safe_between(e.begin_ps, e.end_ps);
	if (s->stack.n)
		s->stack.v[s->stack.n - 1].children_ps += dur_ps;
	give_to_step(s, e.group, dur_ps);
	/*
	 * What is no operation still says that the step had some: older compilers give them no
	 * symbols.
	 */
	if (e.nameless)
		s->nameless_ps += dur_ps > e.children_ps ? dur_ps - e.children_ps : 0;
	if (e.sum == SS_NONE)
		return e.group == SS_NO_GROUP || begin_run(s, e.group);
	struct sum *sum = &s->sums.v[e.sum];
	/*
	 * Events around which others overlap hand over more than they have: other runs of the same
	 * make up for it.
	 */
	sum->self_ps += dur_ps - e.children_ps;
	uint64_t self_ps = dur_ps > e.step_children_ps ? dur_ps - e.step_children_ps : 0;
	return e.group == SS_NO_GROUP || add_to_step(s, &e, sum, self_ps);
}

/* The short name of an operation's event. */
static struct ss_str short_name(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str shown = ss_event_display_name(p, meta);
	return shown.n ? shown : ss_event_name(p, meta);
}

static bool add_rare(struct pass *s, const struct op_event *e, uint64_t dur_ps, uint32_t index)
{
	struct sum *sum = &s->sums.v[index];
	const struct rare_stats *m = e->rare;
	uint64_t scaled_ps = m->time_scale == 1 ? dur_ps : ss_safe_u64((double)dur_ps * m->time_scale);
	sum->normalized_ps = ss_safe_add(sum->normalized_ps, scaled_ps);
	sum->dma_stall_ps += m->dma_stall_ps;
	sum->vdd_energy_j += m->energy_j;
	sum->estimated_flops += m->estimated_flops;
	sum->estimated_bytes += m->estimated_bytes;
	/* The first run says for all what was handed over, as in XProf. */
	if (s->sparse && !sum->occurrences && m->has_offload_core && m->has_offload_start)
		sum->offloaded = ss_sparse_ops_find(s->sparse, m->offload_core, m->offload_start);
	return !m->has_collective || e->group == SS_NO_GROUP ||
	       ss_vec_push(&s->collectives,
			   ((struct collective){ e->group, { m->collective, dur_ps, short_name(s->p, sum->meta) } }));
}

static bool add_event(struct pass *s, const struct ss_line *l, uint32_t i)
{
	struct op_event e = { .group = SS_NO_GROUP, .rare = &s->rare };
	int64_t begin_ps, end_ps;
	uint64_t dur_ps;
	if (s->reads)
		read_projected(s->reads, l, i, &e);
	ss_device_place(l, i, &e.at, &begin_ps, &dur_ps);
	end_ps = ss_safe_end(begin_ps, dur_ps);
	extend(s, begin_ps, end_ps);
	if (ss_line_has_groups(l))
		e.group = ss_line_group_at(l, i, &s->group_at);
	while (s->stack.n && !(s->stack.v[s->stack.n - 1].begin_ps <= begin_ps &&
			       end_ps <= s->stack.v[s->stack.n - 1].end_ps))
		if (!pop(s))
			return false;
	uint32_t meta = l->ev.meta[i],
		 *known = meta < s->p->x->nevent_meta ? &s->sum_of_meta[meta] : NULL;
	if (known && !*known && !(*known = read_meta(s, meta)))
		return false;
	struct open_event open = { begin_ps, end_ps, 0, 0, e.group,
				   known && *known != SS_NONE ? *known - 1 : SS_NONE, !known };
	if (open.sum != SS_NONE) {
		struct sum *sum = &s->sums.v[open.sum];
		uint64_t times = ss_xevents_occurrences(&l->ev, i);
		if (!e.has_rare)
			sum->normalized_ps += dur_ps;
		else if (!add_rare(s, &e, dur_ps, open.sum))
			return false;
		sum->occurrences += times ? times : 1;
		sum->time_ps += dur_ps;
		if (dur_ps < sum->min_ps)
			sum->min_ps = dur_ps;
	}
	return ss_vec_push(&s->stack, open);
}

static bool walk_ops(struct pass *s, const struct ss_host *h, const struct ss_line *l)
{
	struct ss_forget f = { .h = h };
	s->group_at = 0;
	s->reads = &s->projection[!ss_line_has_groups(l)];
	if (!l->ev.off || !ss_projection_in(s->reads, &l->ev))
		s->reads = NULL;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		if (!add_event(s, l, i))
			return false;
		ss_forget_passed(&f, l, i);
	}
	ss_forget_line(&f, l);
	ss_forget_rest(&f);
	while (s->stack.n)
		if (!pop(s))
			return false;
	return true;
}

/* A line that only says how long the plane's activity lasted. */
static void walk_span(struct pass *s, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t begin_ps;
		uint64_t dur_ps;
		ss_device_span(s->p, l, i, &begin_ps, &dur_ps);
		extend(s, begin_ps, ss_safe_end(begin_ps, dur_ps));
	}
}

/* The sums become operations; entries of the same program and name become one. */
static bool make_ops(struct pass *s)
{
	struct ss_op_db *db = &s->core->ops;
	for (size_t i = 0; i < s->sums.n; i++) {
		const struct sum *sum = &s->sums.v[i];
		struct ss_op_facts f;
		ss_op_facts_read(&f, s->p->x, sum->meta);
		struct ss_op op = ss_op_facts_op(&f);
		op.core_type = SS_CORE_TENSOR;
		op.offloaded = sum->offloaded;
		op.occurrences = sum->occurrences;
		op.time_ps = sum->time_ps;
		op.self_ps = (int64_t)sum->self_ps > 0 ? sum->self_ps : 0;
		op.min_ps = sum->min_ps;
		op.normalized_ps = sum->normalized_ps;
		op.dma_stall_ps = sum->dma_stall_ps;
		op.vdd_energy_j = sum->vdd_energy_j;
		op.estimated_flops = sum->estimated_flops;
		op.estimated_bytes = sum->estimated_bytes;
		ss_cost_add(&op.cost, &sum->unit, sum->occurrences);
		struct ss_op *to = ss_op_db_get(db, op.program_id, op.name);
		if (!to)
			return false;
		ss_op_add(to, &op);
		db->op_ps += op.self_ps;
	}
	for (size_t i = 0; i < db->n; i++)
		if (db->v[i].time_ps)
			db->normalized_op_ps = ss_safe_add(db->normalized_op_ps,
							   ss_safe_u64((double)db->v[i].self_ps *
								       (double)db->v[i].normalized_ps /
								       (double)db->v[i].time_ps));
	uint64_t span_ps = s->any ? ss_safe_between(s->first_ps, s->last_ps) : ss_quirk_empty_plane_ps();
	return ss_op_db_finish(db, span_ps > s->nameless_ps ? span_ps - s->nameless_ps : 0);
}

static int by_group(const void *a, const void *b)
{
	const struct run *ra = a, *rb = b;
	return SS_CMP(ra->group, rb->group) ?: SS_CMP(ra->first_cat, rb->first_cat);
}

static int by_group_and_id(const void *a, const void *b)
{
	const struct collective *ca = a, *cb = b;
	return SS_CMP(ca->group, cb->group) ?: SS_CMP(ca->c.id, cb->c.id);
}

static int by_category(const void *a, const void *b)
{
	const struct ss_cat_time *ca = a, *cb = b;
	return SS_CMP(ca->category, cb->category);
}

static bool read_markers(const struct ss_plane *p, struct ss_step_marker **out, size_t *n)
{
	SS_VEC(struct ss_step_marker) v = { 0 };
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		for (uint32_t i = 0; ss_str_is(l->name, "Steps") && i < l->ev.n; i++) {
			struct ss_step_marker m = { .group = ss_event_group(p, l, i), .name = ss_event_label(p, l->ev.meta[i]) };
			ss_device_span(p, l, i, &m.begin_ps, &m.dur_ps);
			if (m.group != SS_NO_GROUP && !ss_vec_push(&v, m)) {
				ss_vec_free(&v);
				return false;
			}
		}
	}
	ss_step_markers_sort(v.v, v.n);
	*out = v.v;
	*n = v.n;
	return true;
}

static void add_program_cost(struct ss_program_cost *to, const struct ss_program_cost *from)
{
	ss_cost_add(&to->all, &from->all, 1);
	ss_cost_add(&to->infeed_outfeed, &from->infeed_outfeed, 1);
	to->infeed_outfeed_ps += from->infeed_outfeed_ps;
}

/*
 * Join the runs [from, to), which are of one group, into a step; its categories go to the core's
 * own array.
 */
static void join_runs(struct pass *s, size_t from, size_t to, struct ss_core_step *step,
		      uint32_t *ncats)
{
	ss_assert(from < to && s->runs.v[from].group == s->runs.v[to - 1].group);
	struct ss_cat_time *out = s->core->cats + *ncats;
	uint32_t n = 0;
	for (size_t r = from; r < to; r++) {
		const struct run *run = &s->runs.v[r];
		for (uint32_t i = 0; i < run->ncats; i++) {
			const struct ss_cat_time *c = &s->cats.v[run->first_cat + i];
			if (!s->cat_seen[c->category]) {
				s->cat_seen[c->category] = true;
				s->touched[c->category] = n;
				out[n++] = (struct ss_cat_time){ c->category, 0 };
			}
			out[s->touched[c->category]].self_ps += c->self_ps;
		}
		add_program_cost(&step->cost, &run->cost);
	}
	for (uint32_t i = 0; i < n; i++)
		s->cat_seen[out[i].category] = false;
	qsort(out, n, sizeof(*out), by_category);
	step->first_cat = *ncats;
	step->ncats = n;
	*ncats += n;
}

/* The part of the sorted collectives that is of this group. */
static void find_collectives(struct pass *s, struct ss_core_step *step, size_t *at)
{
	while (*at < s->collectives.n && s->collectives.v[*at].group < step->group)
		++*at;
	step->first_collective = (uint32_t)*at;
	while (*at < s->collectives.n && s->collectives.v[*at].group == step->group)
		++*at;
	step->ncollectives = (uint32_t)*at - step->first_collective;
}

/* Steps are the groups that have a marker and an operation. */
static bool make_steps(struct pass *s, const struct ss_step_marker *markers, size_t nmarkers)
{
	struct ss_tpu_core *core = s->core;
	core->steps = calloc(s->runs.n + 1, sizeof(*core->steps));
	core->cats = malloc((s->cats.n + 1) * sizeof(*core->cats));
	core->collectives = malloc((s->collectives.n + 1) * sizeof(*core->collectives));
	if (!core->steps || !core->cats || !core->collectives)
		return false;
	if (s->runs.n)
		qsort(s->runs.v, s->runs.n, sizeof(*s->runs.v), by_group);
	if (s->collectives.n)
		qsort(s->collectives.v, s->collectives.n, sizeof(*s->collectives.v),
		      by_group_and_id);
	for (size_t i = 0; i < s->collectives.n; i++)
		core->collectives[i] = s->collectives.v[i].c;
	uint32_t ncats = 0;
	size_t m = 0, at = 0;
	for (size_t r = 0, end; r < s->runs.n; r = end) {
		int64_t group = s->runs.v[r].group;
		for (end = r; end < s->runs.n && s->runs.v[end].group == group;)
			end++;
		while (m < nmarkers && markers[m].group < group)
			m++;
		if (m == nmarkers || markers[m].group != group)
			continue;
		struct ss_core_step *step = &core->steps[core->nsteps++];
		ss_assert(core->nsteps == 1 || step[-1].group < group);
		*step = (struct ss_core_step){ .group = group,
					       .begin_ps = markers[m].begin_ps,
					       .dur_ps = markers[m].dur_ps,
					       .name = markers[m].name };
		join_runs(s, r, end, step, &ncats);
		find_collectives(s, step, &at);
	}
	return true;
}

static bool keep_categories(struct pass *s)
{
	struct ss_tpu_core *core = s->core;
	core->categories = malloc((s->categories.n + 1) * sizeof(*core->categories));
	if (!core->categories)
		return false;
	core->ncategories = s->categories.n;
	for (uint32_t i = 0; i < s->categories.n; i++)
		core->categories[i] = s->categories.keys[i];
	return true;
}

enum { TF_OP, ASYNC, NPROJECTED };
static const enum ss_stat origin_stats[NPROJECTED] = { SS_STAT_TF_OP, SS_STAT_IS_ASYNC };

/* Finding out which events the line "Framework Ops" is derived from. */
struct origins {
	struct ss_stat_projection projection;
	uint8_t *by_meta;	/* bits: 1 << TF_OP, 1 << ASYNC */
};

static uint8_t read_origin(struct ss_projection_walk walk, uint8_t origin)
{
	struct ss_xstat x;
	unsigned which;
	while (ss_projection_next(&walk, &which, &x)) {
		bool yes = which == TF_OP ? ss_xstat_str(&x).n > 0 : ss_xstat_int_or_uint(&x) != 0;
		origin = (uint8_t)(yes ? origin | 1 << which : origin & ~(1 << which));
	}
	return origin;
}

static bool is_framework_op(const struct pass *s, const struct origins *o, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	uint8_t origin = meta < s->p->x->nevent_meta ? o->by_meta[meta] : 0;
	if (ss_projection_in(&o->projection, &l->ev))
		origin = read_origin(ss_projection_event(&o->projection, ss_xevents_body(&l->ev, l->src, i)), origin);
	return origin == 1 << TF_OP;
}

/*
 * The derived line "Framework Ops" (display_lines.h) counts for the span of the plane, by the
 * host's clock. It spans the events it is derived from; those that lie within what is known need
 * not be asked where they come from, which from the far ends leaves few.
 */
static void extend_by_framework_ops(struct pass *s, const struct origins *o, const struct ss_line *l)
{
	for (uint32_t i = l->ev.n; i-- > 0;) {
		int64_t end_ps = ss_xevents_end_ps(&l->ev, i);
		if ((!s->any || end_ps > s->last_ps) && is_framework_op(s, o, l, i))
			extend(s, l->ev.begin_ps[i], end_ps);
	}
	for (uint32_t i = 0; i < l->ev.n; i++)
		if ((!s->any || l->ev.begin_ps[i] < s->first_ps) && is_framework_op(s, o, l, i))
			extend(s, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i));
}

static bool add_framework_ops(struct pass *s)
{
	struct ss_arena arena = { 0 };
	struct origins o;
	uint32_t n = s->p->x->nevent_meta;
	bool ok = ss_projection_init(&o.projection, s->p->x, origin_stats, NPROJECTED, &arena);
	o.by_meta = ok ? SS_NEW_N(&arena, uint8_t, n) : NULL;
	for (uint32_t i = 0; o.by_meta && i < n; i++)
		o.by_meta[i] = read_origin(ss_projection_meta(&o.projection, i), 0);
	for (uint32_t i = 0; o.by_meta && i < s->p->nlines; i++)
		if (!s->p->lines[i].derived)
			extend_by_framework_ops(s, &o, &s->p->lines[i]);
	ok = o.by_meta;
	ss_arena_release(&arena);
	return ok;
}

static bool run_pass(struct pass *s, const struct ss_host *h)
{
	s->sum_of_meta = calloc((size_t)s->p->x->nevent_meta + 1, sizeof(*s->sum_of_meta));
	if (!s->sum_of_meta || !ss_projection_init(&s->projection[0], s->p->x, op_stats, SS_COUNT(op_stats) - 1, &s->arena) ||
	    !ss_projection_init(&s->projection[1], s->p->x, op_stats, SS_COUNT(op_stats), &s->arena))
		return false;
	for (uint32_t i = 0; i < s->p->nlines; i++) {
		const struct ss_line *l = &s->p->lines[i];
		if (ss_str_is(l->name, "XLA Ops")) {
			if (!walk_ops(s, h, l))
				return false;
		} else if (ss_str_is(l->name, "Steps") || ss_str_is(l->name, "Framework Ops") ||
			   ss_str_is(l->name, "Sparse Core Ops")) {
			walk_span(s, l);
		}
	}
	if (!h->preprocessed && !add_framework_ops(s))
		return false;
	struct ss_step_marker *markers = NULL;
	size_t nmarkers = 0;
	bool ok = end_run(s) && read_markers(s->p, &markers, &nmarkers) &&
		  make_steps(s, markers, nmarkers) && keep_categories(s) && make_ops(s);
	free(markers);
	return ok;
}

static int64_t replica_of(const struct ss_plane *p)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_REPLICA_ID, &s) ? ss_xstat_int_or_uint(&s) : -1;
}

bool ss_tpu_core_build(struct ss_tpu_core *core, const struct ss_host *h, const struct ss_plane *p,
		       const struct ss_sparse_ops *sparse, struct ss_err *err)
{
	*core = (struct ss_tpu_core){ .plane = p, .core_id = (uint32_t)p->id, .details = ss_plane_core_details(p),
				      .replica_id = replica_of(p) };
	struct pass s = { .core = core, .p = p, .sparse = sparse };
	bool ok = run_pass(&s, h);
	ss_arena_release(&s.arena);
	free(s.sum_of_meta);
	ss_vec_free(&s.sums);
	ss_strmap_free(&s.categories);
	ss_vec_free(&s.stack);
	ss_vec_free(&s.runs);
	ss_vec_free(&s.cats);
	ss_vec_free(&s.collectives);
	free(s.cat_ps);
	free(s.cat_seen);
	free(s.touched);
	return ok || ss_fail_mem(err);
}

void ss_tpu_core_free(struct ss_tpu_core *core)
{
	ss_op_db_free(&core->ops);
	free(core->categories);
	free(core->steps);
	free(core->cats);
	free(core->collectives);
	*core = (struct ss_tpu_core){ 0 };
}
