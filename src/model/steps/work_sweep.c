/*
 * work_sweep.c - one kind of work for each moment of a step
 * (docs/tools/input_pipeline_analyzer.md).
 *
 * Begins and ends of all spans of a group are walked in time; at the same time ends come first. The
 * current kind rises to that of whatever begins, and falls when the last span of the current kind
 * ends, to the highest kind that is still open. An instant ends before it begins, so outside of
 * other spans its kind stays current until a later span of that kind ends: XProf's way, followed to
 * get its numbers.
 */
#include "model/steps/steps.h"

#include "base/vec.h"

#include <stdlib.h>

bool ss_work_spans_add(struct ss_work_spans *s, int64_t group, int64_t begin_ps, int64_t end_ps,
		       enum ss_work work)
{
	uint32_t g;
	if (s->n && s->groups[s->v[s->n - 1].group] == group) {
		g = s->v[s->n - 1].group;
	} else {
		g = ss_u64map_get(&s->by_group, (uint64_t)group);
		if (g == SS_NONE) {
			g = (uint32_t)s->ngroups;
			if (!ss_grow((void **)&s->groups, &s->group_cap, s->ngroups + 1,
				     sizeof(*s->groups)) ||
			    ss_u64map_add(&s->by_group, (uint64_t)group, g) == SS_NONE)
				return false;
			s->groups[s->ngroups++] = group;
		}
	}
	return ss_vec_push(s, ((struct ss_work_span){ begin_ps, end_ps, g, work }));
}

void ss_work_spans_free(struct ss_work_spans *s)
{
	free(s->v);
	free(s->groups);
	ss_u64map_free(&s->by_group);
	*s = (struct ss_work_spans){ 0 };
}

/* A span begins or ends. `code` orders those of the same time: ends first. */
struct boundary {
	int64_t at_ps;
	uint32_t code; /* enum ss_work, + BEGIN */
	uint32_t unused;
};

#define BEGIN 0x100u

bool ss_sweep_init(struct ss_sweep *w, struct ss_work_spans *spans)
{
	*w = (struct ss_sweep){ .spans = spans };
	w->first = calloc(spans->ngroups + 2, sizeof(*w->first));
	w->sorted = malloc((spans->n + 1) * sizeof(*w->sorted));
	if (!w->first || !w->sorted) {
		ss_sweep_free(w);
		return false;
	}
	/* Counting sort by group; first[] is shifted by one while filling. */
	for (size_t i = 0; i < spans->n; i++)
		w->first[spans->v[i].group + 2]++;
	for (size_t g = 2; g < spans->ngroups + 2; g++)
		w->first[g] += w->first[g - 1];
	for (size_t i = 0; i < spans->n; i++)
		w->sorted[w->first[spans->v[i].group + 1]++] = spans->v[i];
	return true;
}

void ss_sweep_free(struct ss_sweep *w)
{
	free(w->first);
	free(w->sorted);
	free(w->scratch);
	*w = (struct ss_sweep){ 0 };
}

static int by_time(const void *a, const void *b)
{
	const struct boundary *ba = a, *bb = b;
	return SS_CMP(ba->at_ps, bb->at_ps) ?: SS_CMP(ba->code, bb->code);
}

static bool list_boundaries(struct ss_sweep *w, uint32_t group, struct boundary **out, size_t *n)
{
	size_t from = w->first[group], to = w->first[group + 1];
	if (!ss_grow(&w->scratch, &w->scratch_cap, 2 * (to - from) + 1, sizeof(struct boundary)))
		return false;
	struct boundary *b = w->scratch;
	for (size_t i = from; i < to; i++) {
		*b++ = (struct boundary){ w->sorted[i].begin_ps, BEGIN | w->sorted[i].work, 0 };
		*b++ = (struct boundary){ w->sorted[i].end_ps, w->sorted[i].work, 0 };
	}
	*out = w->scratch;
	*n = 2 * (to - from);
	qsort(*out, *n, sizeof(**out), by_time);
	return true;
}

/* The kind of work after this boundary. */
static uint32_t step(int64_t open[SS_WORK_COUNT], uint32_t current, uint32_t code)
{
	uint32_t work = code & ~BEGIN;
	if (code & BEGIN) {
		open[work]++;
		return work > current ? work : current;
	}
	if (--open[work] != 0 || work != current)
		return current;
	while (current > 0 && open[--current] <= 0)
		;
	return current;
}

bool ss_sweep_group(struct ss_sweep *w, uint32_t group, int64_t from_ps, int64_t to_ps,
		    uint64_t *work_ps, uint64_t *whole_ps)
{
	struct boundary *b;
	size_t n;
	int64_t open[SS_WORK_COUNT] = { 0 };
	uint32_t current = SS_WORK_UNKNOWN;
	if (!list_boundaries(w, group, &b, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		current = step(open, current, b[i].code);
		if (current == SS_WORK_UNKNOWN || i + 1 == n)
			continue;
		int64_t begin_ps = b[i].at_ps, end_ps = b[i + 1].at_ps;
		whole_ps[current] += (uint64_t)end_ps - (uint64_t)begin_ps;
		if (begin_ps < from_ps)
			begin_ps = from_ps;
		if (end_ps > to_ps)
			end_ps = to_ps;
		if (end_ps > begin_ps)
			work_ps[current] += (uint64_t)end_ps - (uint64_t)begin_ps;
	}
	return true;
}
