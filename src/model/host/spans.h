/*
 * spans.h - the events of a derived line: 13 bytes each where columns take 24.
 *
 * There are as many derived events as ops, and several lines of them, so they would take more
 * memory than the profile itself. They come in the order of time: a begin is told from that of its
 * chunk, in 32 bits, and groups are told where they change. What does not fit 32 bits of
 * picoseconds (4.3 ms) stands in a list of its own.
 */
#ifndef SS_MODEL_HOST_SPANS_H
#define SS_MODEL_HOST_SPANS_H

#include "base/assert.h"
#include "base/vec.h"

#include <stdint.h>

#define SS_SPAN_CHUNK 32u
#define SS_SPAN_WIDE UINT32_MAX

struct ss_span {
	uint32_t late_ps;	/* begin, after that of the chunk */
	uint32_t dur_ps;	/* SS_SPAN_WIDE: the event is one of `wide` */
	uint32_t meta;		/* name */
};

struct ss_wide_span {
	uint32_t event;
	int64_t begin_ps;
	uint64_t dur_ps;
};

struct ss_group_run {
	uint32_t first;		/* event from which on the group is this one */
	int32_t group;
};

struct ss_spans {
	struct ss_span *v;
	int64_t *base_ps;	/* per chunk */
	uint32_t n, cap;
	uint32_t expected;	/* room to begin with, so that large pages fit; may be 0 */
	int32_t last_group;
	SS_VEC(struct ss_wide_span) wide; /* by event, once all are set */
	SS_VEC(struct ss_group_run) runs; /* by event */
};

/* Room for more events, at most half of what 32 bits can number; false when memory is out. */
bool ss_spans_grow(struct ss_spans *s);
bool ss_spans_begin_group(struct ss_spans *s, int32_t group);
bool ss_spans_set_wide(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps);
/* All are set. What room is left over is given back. */
void ss_spans_finish(struct ss_spans *s);
void ss_spans_free(struct ss_spans *s);

/* The run, of one or more, that an event is in. */
size_t ss_runs_find(const struct ss_group_run *runs, size_t n, uint32_t event);

/*
 * Its group. *at is the run of the last event asked for, 0 at first: mostly the next event is in
 * it, or in the next one.
 */
static inline int32_t ss_runs_group_at(const struct ss_group_run *runs, size_t n, uint32_t event, size_t *at)
{
	ss_assert(n && runs[0].first <= event);
	for (unsigned tries = 0; tries < 2; tries++, ++*at)
		if (*at >= n || event < runs[*at].first)
			break;
		else if (*at + 1 == n || event < runs[*at + 1].first)
			return runs[*at].group;
	*at = ss_runs_find(runs, n, event);
	return runs[*at].group;
}

static inline int32_t ss_runs_group(const struct ss_group_run *runs, size_t n, uint32_t event)
{
	return runs[ss_runs_find(runs, n, event)].group;
}
const struct ss_wide_span *ss_spans_wide(const struct ss_spans *s, uint32_t event);

/* One more, whose end is not known yet. False when memory is out. */
static inline bool ss_spans_add(struct ss_spans *s, int64_t begin_ps, uint32_t meta, int32_t group)
{
	if ((s->n == s->cap && !ss_spans_grow(s)) ||
	    ((!s->n || s->last_group != group) && !ss_spans_begin_group(s, group)))
		return false;
	if (s->n % SS_SPAN_CHUNK == 0)
		s->base_ps[s->n / SS_SPAN_CHUNK] = begin_ps;
	s->v[s->n++].meta = meta;
	return true;
}

/* To be called once for each event. False when memory is out. */
static inline bool ss_spans_set(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps)
{
	uint64_t late_ps = (uint64_t)begin_ps - (uint64_t)s->base_ps[event / SS_SPAN_CHUNK];
	uint64_t dur_ps = (uint64_t)end_ps - (uint64_t)begin_ps;
	if (late_ps > UINT32_MAX || dur_ps >= SS_SPAN_WIDE)
		return ss_spans_set_wide(s, event, begin_ps, end_ps);
	s->v[event].late_ps = (uint32_t)late_ps;
	s->v[event].dur_ps = (uint32_t)dur_ps;
	return true;
}

static inline int64_t ss_spans_begin_ps(const struct ss_spans *s, uint32_t event)
{
	ss_assert(event < s->n);
	if (s->v[event].dur_ps == SS_SPAN_WIDE)
		return ss_spans_wide(s, event)->begin_ps;
	return (int64_t)((uint64_t)s->base_ps[event / SS_SPAN_CHUNK] + s->v[event].late_ps);
}

static inline uint64_t ss_spans_dur_ps(const struct ss_spans *s, uint32_t event)
{
	return s->v[event].dur_ps == SS_SPAN_WIDE ? ss_spans_wide(s, event)->dur_ps : s->v[event].dur_ps;
}

#endif
