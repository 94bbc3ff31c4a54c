/* spans.c - spans of derived events, kept small. */
#include "model/spans.h"

#include <stdlib.h>

bool ss_spans_add(struct ss_spans *s, int64_t begin_ps, int32_t group)
{
	size_t n = (size_t)s->n + 1, chunk = s->n / SS_SPAN_CHUNK;
	if ((n > s->late_cap && !ss_grow((void **)&s->late_ps, &s->late_cap, n, sizeof(*s->late_ps))) ||
	    (n > s->dur_cap && !ss_grow((void **)&s->dur_ps, &s->dur_cap, n, sizeof(*s->dur_ps))) ||
	    (chunk >= s->base_cap && !ss_grow((void **)&s->base_ps, &s->base_cap, chunk + 1, sizeof(*s->base_ps))))
		return false;
	if ((!s->runs.n || s->runs.v[s->runs.n - 1].group != group) &&
	    !ss_vec_push(&s->runs, (struct ss_group_run){ s->n, group }))
		return false;
	if (s->n % SS_SPAN_CHUNK == 0)
		s->base_ps[chunk] = begin_ps;
	s->n++;
	return true;
}

bool ss_spans_set(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps)
{
	uint64_t late_ps = (uint64_t)begin_ps - (uint64_t)s->base_ps[event / SS_SPAN_CHUNK];
	uint64_t dur_ps = (uint64_t)end_ps - (uint64_t)begin_ps;
	if (late_ps <= UINT32_MAX && dur_ps < SS_SPAN_WIDE) {
		s->late_ps[event] = (uint32_t)late_ps;
		s->dur_ps[event] = (uint32_t)dur_ps;
		return true;
	}
	s->dur_ps[event] = SS_SPAN_WIDE;
	return ss_vec_push(&s->wide, (struct ss_wide_span){ event, begin_ps, dur_ps });
}

static int by_event(const void *a, const void *b)
{
	const struct ss_wide_span *x = a, *y = b;
	return x->event < y->event ? -1 : x->event > y->event;
}

void ss_spans_finish(struct ss_spans *s)
{
	if (s->wide.n)
		qsort(s->wide.v, s->wide.n, sizeof(*s->wide.v), by_event);
}

void ss_spans_free(struct ss_spans *s)
{
	free(s->late_ps);
	free(s->dur_ps);
	free(s->base_ps);
	ss_vec_free(&s->wide);
	ss_vec_free(&s->runs);
	*s = (struct ss_spans){ 0 };
}

const struct ss_wide_span *ss_spans_wide(const struct ss_spans *s, uint32_t event)
{
	size_t lo = 0, hi = s->wide.n;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->wide.v[mid].event <= event)
			lo = mid;
		else
			hi = mid;
	}
	return &s->wide.v[lo];
}

int32_t ss_spans_group(const struct ss_spans *s, uint32_t event)
{
	size_t lo = 0, hi = s->runs.n;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->runs.v[mid].first <= event)
			lo = mid;
		else
			hi = mid;
	}
	return s->runs.v[lo].group;
}
