/*
 * spans.h - when the events of a derived line were, and their groups: 9 bytes an event where columns
 * take 20.
 *
 * There are as many derived events as ops, and several lines of them, so they would take more memory
 * than the profile itself. They come in the order of time: a begin is told from that of its chunk,
 * in 32 bits, and groups are told where they change. What does not fit 32 bits of picoseconds (4.3
 * ms) stands in a list of its own.
 */
#ifndef SS_MODEL_SPANS_H
#define SS_MODEL_SPANS_H

#include "base/vec.h"

#include <stdint.h>

#define SS_SPAN_CHUNK 16u
#define SS_SPAN_WIDE UINT32_MAX

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
	uint32_t *late_ps;	/* begin, after that of the chunk */
	uint32_t *dur_ps;	/* SS_SPAN_WIDE: the event is one of `wide` */
	int64_t *base_ps;	/* per chunk */
	uint32_t n;
	size_t late_cap, dur_cap, base_cap;
	SS_VEC(struct ss_wide_span) wide; /* by event, once all are set */
	SS_VEC(struct ss_group_run) runs; /* by event */
};

/* One more, of which only begin and group are known; the caller sees to it that n stays below SS_NONE. */
bool ss_spans_add(struct ss_spans *s, int64_t begin_ps, int32_t group);
/* To be called once for each event. False when memory is out. */
bool ss_spans_set(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps);
/* All are set. */
void ss_spans_finish(struct ss_spans *s);
void ss_spans_free(struct ss_spans *s);

int32_t ss_spans_group(const struct ss_spans *s, uint32_t event);
const struct ss_wide_span *ss_spans_wide(const struct ss_spans *s, uint32_t event);

static inline int64_t ss_spans_begin_ps(const struct ss_spans *s, uint32_t event)
{
	if (s->dur_ps[event] == SS_SPAN_WIDE)
		return ss_spans_wide(s, event)->begin_ps;
	return s->base_ps[event / SS_SPAN_CHUNK] + (int64_t)s->late_ps[event];
}

static inline uint64_t ss_spans_dur_ps(const struct ss_spans *s, uint32_t event)
{
	return s->dur_ps[event] == SS_SPAN_WIDE ? ss_spans_wide(s, event)->dur_ps : s->dur_ps[event];
}

#endif
