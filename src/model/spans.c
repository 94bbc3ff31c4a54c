/* spans.c - spans of derived events, kept small. */
#include "model/spans.h"

#include <stdlib.h>

bool ss_spans_grow(struct ss_spans *s)
{
	void *p;
	if (s->cap > UINT32_MAX / 4)
		return false;
	uint32_t cap = s->cap ? s->cap * 2 : SS_SPAN_CHUNK;
#define RESIZE(column, count)                                            \
	do {                                                             \
		p = realloc(s->column, (count) * sizeof(*s->column));    \
		if (!p)                                                  \
			return false;                                    \
		s->column = p;                                           \
	} while (0)
	RESIZE(late_ps, cap);
	RESIZE(dur_ps, cap);
	RESIZE(meta, cap);
	RESIZE(base_ps, cap / SS_SPAN_CHUNK);
#undef RESIZE
	s->cap = cap;
	return true;
}

bool ss_spans_begin_group(struct ss_spans *s, int32_t group)
{
	s->last_group = group;
	return ss_vec_push(&s->runs, (struct ss_group_run){ s->n, group });
}

bool ss_spans_set_wide(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps)
{
	s->dur_ps[event] = SS_SPAN_WIDE;
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
}

void ss_spans_free(struct ss_spans *s)
{
	free(s->late_ps);
	free(s->dur_ps);
	free(s->base_ps);
	free(s->meta);
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
