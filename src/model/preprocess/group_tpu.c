/*
 * group_tpu.c - steps of TPU cores.
 *
 * The host's groups reach a core through the launch of programs. Where none does, the steps of all
 * cores are numbered in lock step. Parts of one step become one event, and what runs during a step
 * gets its group.
 */
#include "model/preprocess/group.h"

#include "base/bisect.h"
#include "base/safe.h"
#include "model/host/host.h"

#include <stdlib.h>

static bool is_core(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE;
}

static bool any_grouped(const struct ss_line *l)
{
	for (uint32_t i = 0; l->group && i < l->ev.n; i++)
		if (l->group[i] != SS_NO_GROUP)
			return true;
	return false;
}

/*
 * Core by core, each step that no group has reached yet begins the next one; on every core from the
 * same number on, so that the k-th steps are one group.
 */
static bool number_steps(struct ss_grouping *g, struct ss_err *err)
{
	struct ss_forest *f = &g->forest;
	int32_t first = (int32_t)g->groups.n;
	for (uint32_t i = 0; i < f->nlines; i++) {
		const struct ss_line *l = f->lines[i].l;
		int32_t id = first;
		if (!f->lines[i].flat || f->lines[i].p->kind != SS_PLANE_TENSOR_CORE)
			continue;
		for (uint32_t k = 0; k < l->ev.n && id < INT32_MAX; k++) {
			if (l->group && l->group[k] != SS_NO_GROUP)
				continue;
			if (!ss_group_begin(g, (struct ss_node){ i, k }, id++, err))
				return false;
		}
	}
	return true;
}

/* When a step ran on the device, by its own clock if it says so. */
static bool device_span(const struct ss_plane *p, const struct ss_line *l, uint32_t i, int64_t *begin, uint64_t *dur)
{
	struct ss_xstat at, len;
	if (!ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_DEVICE_OFFSET_PS, &at) ||
	    !ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_DEVICE_DURATION_PS, &len))
		return false;
	*begin = ss_xstat_int_or_uint(&at);
	*dur = (uint64_t)ss_xstat_int_or_uint(&len);
	return true;
}

struct merge {
	struct ss_grouping *g;
	struct ss_plane *p;
	struct ss_line *l;
	uint32_t *from;		/* per kept event: its old index */
	uint32_t n;
	int64_t *end_ps, *dev_begin_ps, *dev_end_ps, *idle_ps;
};

static void begin_step(struct merge *m, uint32_t i)
{
	uint32_t k = m->n++;
	uint64_t dur;
	struct ss_xstat s;
	m->from[k] = i;
	m->end_ps[k] = ss_xevents_end_ps(&m->l->ev, i);
	m->dev_begin_ps[k] = m->dev_end_ps[k] = -1;
	if (device_span(m->p, m->l, i, &m->dev_begin_ps[k], &dur))
		m->dev_end_ps[k] = ss_safe_end(m->dev_begin_ps[k], dur);
	m->idle_ps[k] = 0;
	if (ss_xstats_find(ss_line_stats(m->p, m->l, i), SS_STAT_STEP_IDLE_TIME_PS, &s))
		m->idle_ps[k] = ss_xstat_int_or_uint(&s);
}

static void extend_step(struct merge *m, uint32_t i)
{
	uint32_t k = m->n - 1;
	int64_t end = ss_xevents_end_ps(&m->l->ev, i), begin;
	uint64_t dur;
	struct ss_xstat s;
	if (end > m->end_ps[k])
		m->end_ps[k] = end;
	if (device_span(m->p, m->l, i, &begin, &dur)) {
		if (m->dev_begin_ps[k] < 0 || begin < m->dev_begin_ps[k])
			m->dev_begin_ps[k] = begin;
		if (ss_safe_end(begin, dur) > m->dev_end_ps[k])
			m->dev_end_ps[k] = ss_safe_end(begin, dur);
	}
	if (ss_xstats_find(ss_line_stats(m->p, m->l, i), SS_STAT_STEP_IDLE_TIME_PS, &s))
		m->idle_ps[k] = (int64_t)((uint64_t)m->idle_ps[k] + (uint64_t)ss_xstat_int_or_uint(&s));
}

static bool apply(struct merge *m)
{
	struct ss_line *l = m->l;
	int32_t *group = malloc(((size_t)m->n + 1) * sizeof(*group));
	l->dev_begin_ps = malloc(((size_t)m->n + 1) * sizeof(*l->dev_begin_ps));
	l->dev_dur_ps = malloc(((size_t)m->n + 1) * sizeof(*l->dev_dur_ps));
	if (!group || !l->dev_begin_ps || !l->dev_dur_ps || !ss_xevents_rebuild(&l->ev, m->from, m->n)) {
		free(group);
		return false;
	}
	for (uint32_t k = 0; k < m->n; k++) {
		group[k] = l->group[m->from[k]];
		l->ev.dur_ps[k] = ss_safe_between(l->ev.begin_ps[k], m->end_ps[k]);
		l->dev_begin_ps[k] = m->dev_begin_ps[k];
		l->dev_dur_ps[k] = ss_safe_between(m->dev_begin_ps[k], m->dev_end_ps[k]);
	}
	free(l->group);
	l->group = group;
	for (uint32_t k = 0; k < m->n; k++)
		if (group[k] != SS_NO_GROUP &&
		    (!ss_added_int(&m->g->added, &l->added, k, SS_STAT_STEP_IDLE_TIME_PS, m->idle_ps[k]) ||
		     !ss_added_str(&m->g->added, &l->added, k, SS_STAT_STEP_NAME, m->g->groups.v[group[k]].name)))
			return false;
	return true;
}

/* Steps of one group in a row become one; steps without a group go. */
static bool merge_steps(struct ss_grouping *g, struct ss_plane *p, struct ss_line *l)
{
	size_t n = (size_t)l->ev.n + 1;
	struct merge m = { .g = g, .p = p, .l = l };
	m.from = malloc(n * sizeof(*m.from));
	m.end_ps = malloc(n * sizeof(*m.end_ps));
	m.dev_begin_ps = malloc(n * sizeof(*m.dev_begin_ps));
	m.dev_end_ps = malloc(n * sizeof(*m.dev_end_ps));
	m.idle_ps = malloc(n * sizeof(*m.idle_ps));
	bool ok = m.from && m.end_ps && m.dev_begin_ps && m.dev_end_ps && m.idle_ps;
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		if (l->group[i] == SS_NO_GROUP)
			continue;
		/* A step without a group in between keeps two parts of one apart. */
		if (i && l->group[i - 1] == l->group[i])
			extend_step(&m, i);
		else
			begin_step(&m, i);
	}
	ok = ok && apply(&m);
	free(m.from);
	free(m.end_ps);
	free(m.dev_begin_ps);
	free(m.dev_end_ps);
	free(m.idle_ps);
	return ok;
}

static bool overlaps(const struct ss_xevents *steps, uint32_t at, int64_t begin, int64_t end)
{
	return steps->begin_ps[at] <= end && begin <= ss_xevents_end_ps(steps, at);
}

/*
 * Looks for the steps that events overlap, forward only: the one found last is kept while it
 * overlaps. A search that finds none leaves it where it is, so that events out of order find it
 * again; where they are in order, or where such searches add up, steps that ended are passed for
 * good.
 */
struct cursor {
	const struct ss_xevents *steps;
	uint32_t at;
	bool sorted;
	uint64_t budget;
};

static bool find_step(struct cursor *c, int64_t begin, int64_t end)
{
	uint32_t at = c->at, n = c->steps->n;
	bool found;
	while (!(found = overlaps(c->steps, at, begin, end)) && at + 1 < n && c->steps->begin_ps[at + 1] <= end) {
		at++;
		c->budget -= c->budget > 0;
	}
	if (found || c->sorted || !c->budget)
		c->at = at;
	return found;
}

/* The group of the step that an event overlaps, by the groups of the steps. */
static inline int32_t step_group(struct cursor *c, const int32_t *group, const struct ss_line *l, uint32_t i)
{
	return find_step(c, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i)) ? group[c->at] : SS_NO_GROUP;
}

/*
 * Behind the last event, from `i` on, that begins within the step that was found last: all these
 * overlap it. The line is in the order of time.
 */
static uint32_t end_of_step(const struct cursor *c, const struct ss_line *l, uint32_t i)
{
	int64_t end_ps = ss_xevents_end_ps(c->steps, c->at);
	uint32_t lo = i + 1, hi = l->ev.n;
	if (l->ev.begin_ps[i] < c->steps->begin_ps[c->at] || l->ev.begin_ps[i] > end_ps)
		return lo;
	SS_BISECT(lo, hi, mid, l->ev.begin_ps[mid] <= end_ps);
	return lo;
}

/*
 * Of a line without groups, as runs, which no one need pack. *few: there are few, and the line has
 * them.
 */
static bool spread_runs(struct cursor c, const int32_t *group, struct ss_line *l, bool *few)
{
	SS_VEC(struct ss_group_run) runs = { 0 };
	*few = true;
	for (uint32_t i = 0; *few && i < l->ev.n; i = end_of_step(&c, l, i)) {
		int32_t id = step_group(&c, group, l, i);
		if (runs.n && runs.v[runs.n - 1].group == id)
			continue;
		*few = runs.n < ss_line_max_runs(l);
		if (*few && !ss_vec_push(&runs, (struct ss_group_run){ i, id })) {
			ss_vec_free(&runs);
			return false;
		}
	}
	if (*few) {
		l->runs = runs.v;
		l->nruns = (uint32_t)runs.n;
	} else {
		ss_vec_free(&runs);
	}
	return true;
}

/*
 * Each event gets the group of the step that it overlaps; touching counts. `group` are those of the
 * steps before; one that had none and gets one here hands it on.
 */
static bool spread_to_line(const struct ss_line *steps, int32_t *group, struct ss_line *l)
{
	struct cursor c = { .steps = &steps->ev, .sorted = l->ev.sorted,
			    .budget = ((uint64_t)l->ev.n + steps->ev.n) * 16 };
	bool few = false;
	if (!l->group && l->ev.sorted && l->ev.n && steps->ev.n && !spread_runs(c, group, l, &few))
		return false;
	if (!few && !ss_line_need_groups(l))
		return false;
	for (uint32_t i = 0; !few && steps->ev.n && i < l->ev.n; i++) {
		int32_t id = step_group(&c, group, l, i);
		if (id == SS_NO_GROUP)
			continue;
		l->group[i] = id;
		if (l == steps && group[i] == SS_NO_GROUP)
			group[i] = id;
	}
	return true;
}

/* Put the line into the order of time; that was its own up to now. */
static bool sort_line(struct ss_line *l)
{
	int32_t *group = l->group;
	uint32_t *from = NULL;
	if (l->ev.sorted)
		return true;
	l->group = malloc(((size_t)l->ev.n + 1) * sizeof(*l->group));
	bool ok = l->group && ss_xevents_sort(&l->ev, &from);
	if (ok) {
		for (uint32_t i = 0; i < l->ev.n; i++)
			l->group[i] = group[from[i]];
		free(group);
	} else {
		free(l->group);
		l->group = group;
	}
	free(from);
	return ok;
}

static bool finish_core(struct ss_grouping *g, struct ss_plane *p)
{
	struct ss_line *steps = ss_tpu_grouping_line(p);
	if (!steps || !any_grouped(steps))
		return true;
	bool programs = ss_str_ends(steps->name, SS_STR("Modules"));
	if (!programs && !merge_steps(g, p, steps))
		return false;
	/*
	 * Programs go through the same pass as everything else, by the groups that they had before.
	 */
	size_t size = (size_t)steps->ev.n * sizeof(*steps->group);
	int32_t *before = malloc(size + 1);
	if (!before)
		return false;
	memcpy(before, steps->group, size);
	bool ok = true;
	for (uint32_t i = 0; ok && i < p->nlines; i++)
		if (&p->lines[i] != steps || programs)
			ok = spread_to_line(steps, before, &p->lines[i]) && sort_line(&p->lines[i]);
	free(before);
	return ok;
}

bool ss_group_tpu(struct ss_grouping *g, struct ss_err *err)
{
	struct ss_host *h = g->h;
	bool grouped = false;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_line *l = ss_tpu_grouping_line(&h->planes[i]);
		grouped |= l && h->planes[i].kind == SS_PLANE_TENSOR_CORE && any_grouped(l);
	}
	if (!grouped && !number_steps(g, err))
		return false;
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (is_core(&h->planes[i]) && !finish_core(g, &h->planes[i]))
			return ss_fail_mem(err);
	return true;
}
