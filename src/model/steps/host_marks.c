/*
 * host_marks.c - step markers on host threads, and what the threads were doing
 * (docs/tools/input_pipeline_analyzer.md).
 *
 * Of the spans of work only the outermost of a kind are kept per thread: what lies inside an event
 * of the same kind and group changes nothing, and call stacks are deep.
 */
#include "model/host/opname.h"
#include "model/host/stat_filter.h"
#include "model/ops/ops_build.h"
#include "model/steps/steps.h"

#include "base/vec.h"

#include <stdlib.h>

/* The facts in the name of an event; one byte per metadata entry. */
enum { NOT_READ = 0, IGNORED = 1, MARKER = 2, WORK = 3 /* + enum ss_work */ };

static bool is_marker(struct ss_str name)
{
	return (ss_str_starts(name, SS_STR("train")) || ss_str_starts(name, SS_STR("test")) ||
		ss_str_starts(name, SS_STR("TraceContext"))) &&
	       ss_str_chr(name, '/') == SS_NPOS;
}

static bool is_dispatch(struct ss_str name)
{
	static const struct ss_str prefixes[] = {
		SS_STR_INIT("EagerExecute"),
		SS_STR_INIT("EagerLocalExecute"),
		SS_STR_INIT("EagerKernelExecute"),
		SS_STR_INIT("FunctionRun"),
	};
	for (size_t i = 0; i < SS_COUNT(prefixes); i++)
		if (ss_str_starts(name, prefixes[i]))
			return true;
	return false;
}

static unsigned classify(struct ss_str name)
{
	if (is_marker(name))
		return MARKER;
	if (is_dispatch(name))
		return IGNORED;
	struct ss_op_name op = ss_op_name_parse(name);
	if (op.category == SS_OP_MEMCPY_HTOD || ss_op_is_infeed_enqueue(op.type))
		return WORK + SS_WORK_HOST_TO_DEVICE;
	if (op.category == SS_OP_MEMCPY_HTOH)
		return WORK + SS_WORK_HOST_TO_HOST;
	if (ss_str_istarts(name, SS_STR("IteratorGetNext")))
		return WORK + SS_WORK_HOST_WAIT_INPUT;
	return WORK + SS_WORK_HOST_COMPUTE;
}

/* An outermost event of some kind on the thread in progress. */
struct outermost {
	int64_t group, begin_ps, end_ps;
	bool any;
};

struct pass {
	const struct ss_plane *p;
	struct ss_work_spans *spans; /* NULL: not wanted */
	uint8_t *known;
	struct ss_stat_filter filter;
	SS_VEC(struct ss_host_mark) marks;
	struct ss_u64map by_group;
	struct outermost outer[SS_WORK_COUNT];
	struct ss_forget forget;
};

struct mark_stats {
	struct ss_str step_name, stage_name;
};

static struct mark_stats read_stats(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct mark_stats m = { .step_name = SS_STR("") };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_STEP_NAME)
			m.step_name = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_IPL_STAGE_NAME)
			m.stage_name = ss_xstat_str(&s);
	}
	return m;
}

/* The mark of a group; NULL when memory is out. Good until the next call. */
static struct ss_host_mark *mark_of(struct pass *s, int64_t group)
{
	uint32_t i = ss_u64map_get(&s->by_group, (uint64_t)group);
	if (i != SS_NONE)
		return &s->marks.v[i];
	i = (uint32_t)s->marks.n;
	if (!ss_vec_push(&s->marks,
			 ((struct ss_host_mark){ .group = group, .name = SS_STR("") })) ||
	    ss_u64map_add(&s->by_group, (uint64_t)group, i) == SS_NONE)
		return NULL;
	return &s->marks.v[i];
}

static bool add_marker(struct pass *s, const struct ss_line *l, uint32_t i, int64_t group,
		       struct ss_str name)
{
	struct ss_host_mark *m = mark_of(s, group);
	if (!m)
		return false;
	if (l->ev.dur_ps[i] > m->dur_ps) {
		m->begin_ps = l->ev.begin_ps[i];
		m->dur_ps = l->ev.dur_ps[i];
	}
	if (name.n)
		m->name = name;
	return true;
}

/*
 * Does the event lie inside the last outermost one of its kind? Instants at its very end do not:
 * see work_sweep.c.
 */
static bool is_inside(const struct outermost *o, int64_t group, int64_t begin_ps, int64_t end_ps)
{
	if (!o->any || o->group != group || begin_ps < o->begin_ps || end_ps > o->end_ps)
		return false;
	return end_ps > begin_ps || end_ps < o->end_ps;
}

static bool add_work(struct pass *s, const struct ss_line *l, uint32_t i, int64_t group,
		     enum ss_work work)
{
	int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
	if (work == SS_WORK_HOST_TO_DEVICE || work == SS_WORK_HOST_WAIT_INPUT) {
		struct ss_host_mark *m = mark_of(s, group);
		if (!m)
			return false;
		m->input_ps += l->ev.dur_ps[i];
	}
	if (!s->spans)
		return true;
	struct outermost *o = &s->outer[work];
	if (is_inside(o, group, begin_ps, end_ps))
		return true;
	*o = (struct outermost){ group, begin_ps, end_ps, true };
	return ss_work_spans_add(s->spans, group, begin_ps, end_ps, work);
}

static unsigned kind_of(struct pass *s, uint32_t meta)
{
	if (meta >= s->p->x->nevent_meta)
		return classify(ss_event_name(s->p, meta));
	if (s->known[meta] == NOT_READ)
		s->known[meta] = (uint8_t)classify(s->p->x->event_meta[meta].name);
	return s->known[meta];
}

static bool add_event(struct pass *s, const struct ss_line *l, uint32_t i, struct ss_str added_name)
{
	unsigned kind = kind_of(s, l->ev.meta[i]);
	struct mark_stats m = { .step_name = added_name };
	if (ss_stat_filter_line(&s->filter, l, i)) {
		m = read_stats(s->p, l, i);
		if (!m.step_name.n)
			m.step_name = added_name;
	}
	if (kind == IGNORED && !m.step_name.n)
		return true;
	if (!s->spans && kind == WORK + SS_WORK_HOST_COMPUTE && !m.step_name.n && !m.stage_name.n)
		return true;
	int64_t group = ss_event_group(s->p, l, i);
	if (group == SS_NO_GROUP)
		return true;
	if (kind == MARKER || m.step_name.n)
		return add_marker(s, l, i, group, m.step_name);
	if (m.stage_name.n)
		kind = WORK + SS_WORK_HOST_WAIT_INPUT;
	return add_work(s, l, i, group, (enum ss_work)(kind - WORK));
}

static bool walk_line(struct pass *s, const struct ss_line *l)
{
	size_t added = 0;
	memset(s->outer, 0, sizeof(s->outer));
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct ss_str name = { "", 0 };
		for (; added < l->added.n && l->added.v[added].event <= i; added++)
			if (l->added.v[added].event == i && l->added.v[added].stat == SS_STAT_STEP_NAME)
				name = l->added.v[added].s;
		if (!add_event(s, l, i, name))
			return false;
		ss_forget_passed(&s->forget, l, i);
	}
	ss_forget_line(&s->forget, l);
	return true;
}

static int by_group(const void *a, const void *b)
{
	const struct ss_host_mark *ma = a, *mb = b;
	return SS_CMP(ma->group, mb->group);
}

bool ss_host_marks_read(struct ss_host_marks *out, struct ss_work_spans *spans,
			const struct ss_host *h, struct ss_err *err)
{
	static const enum ss_stat stats[] = { SS_STAT_STEP_NAME, SS_STAT_IPL_STAGE_NAME };
	struct pass s = { .p = ss_host_plane(h, SS_PLANE_HOST_CPU), .spans = spans, .forget.h = h };
	*out = (struct ss_host_marks){ 0 };
	if (!s.p)
		return true;
	s.filter = ss_stat_filter_of(s.p->x, stats, SS_COUNT(stats));
	s.known = calloc((size_t)s.p->x->nevent_meta + 1, 1);
	bool ok = s.known;
	for (uint32_t k = 0; ok && k < s.p->nlines; k++)
		if (!s.p->lines[k].derived)
			ok = walk_line(&s, &s.p->lines[k]);
	ss_forget_rest(&s.forget);
	free(s.known);
	ss_u64map_free(&s.by_group);
	if (!ok) {
		ss_vec_free(&s.marks);
		return ss_fail_mem(err);
	}
	if (s.marks.n)
		qsort(s.marks.v, s.marks.n, sizeof(*s.marks.v), by_group);
	*out = (struct ss_host_marks){ s.marks.v, s.marks.n };
	return true;
}
