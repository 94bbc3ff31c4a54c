/* spans.c - spans of derived events, kept small. */
#include "model/host/spans.h"
#include "base/bisect.h"

#include "base/huge.h"

#include <stdlib.h>

static bool set_cap(struct ss_spans *s, uint32_t cap)
{
	struct ss_span *v = realloc(s->v, ((size_t)cap + 1) * sizeof(*v));
	if (!v)
		return false;
	s->v = v;
	ss_huge_advise(v, ((size_t)cap + 1) * sizeof(*v));
	int64_t *base_ps = realloc(s->base_ps, (cap / SS_SPAN_CHUNK + 1) * sizeof(*base_ps));
	if (!base_ps)
		return false;
	s->base_ps = base_ps;
	s->cap = cap;
	return true;
}

bool ss_spans_grow(struct ss_spans *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : s->expected;
	return s->cap <= UINT32_MAX / 4 && set_cap(s, cap > SS_SPAN_CHUNK ? cap : SS_SPAN_CHUNK);
}

bool ss_spans_begin_group(struct ss_spans *s, int32_t group)
{
	s->last_group = group;
	return ss_vec_push(&s->runs, (struct ss_group_run){ s->n, group });
}

bool ss_spans_set_wide(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps)
{
	s->v[event].dur_ps = SS_SPAN_WIDE;
	return ss_vec_push(&s->wide, (struct ss_wide_span){ event, begin_ps, (uint64_t)end_ps - (uint64_t)begin_ps });
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
	set_cap(s, s->n);	/* where that fails, all is as it was */
}

void ss_spans_free(struct ss_spans *s)
{
	free(s->v);
	free(s->base_ps);
	ss_vec_free(&s->wide);
	ss_vec_free(&s->runs);
	*s = (struct ss_spans){ 0 };
}

const struct ss_wide_span *ss_spans_wide(const struct ss_spans *s, uint32_t event)
{
	size_t lo = 1, hi = s->wide.n;
	SS_BISECT(lo, hi, mid, s->wide.v[mid].event <= event);
	return &s->wide.v[lo - 1];
}

size_t ss_runs_find(const struct ss_group_run *runs, size_t n, uint32_t event)
{
	size_t lo = 1, hi = n;
	SS_BISECT(lo, hi, mid, runs[mid].first <= event);
	return lo - 1;
}
