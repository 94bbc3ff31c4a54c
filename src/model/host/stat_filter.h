/*
 * stat_filter.h - may an event carry one of some stats? The filter skips over the stats without
 * decoding them, at some 2 ns each, and over lines of which no event carries one.
 *
 * Most host events carry stats, and few of those matter to an analysis. It may say yes where the
 * answer is no, but never no where it is yes.
 */
#ifndef SS_MODEL_HOST_STAT_FILTER_H
#define SS_MODEL_HOST_STAT_FILTER_H

#include "model/host/plane.h"

struct ss_stat_filter {
	uint64_t ids[2]; /* bit per metadata id below 128 */
	uint64_t line_ids; /* of them, as in ss_xevents.stat_ids; 0: the plane names none of the stats */
};

/* A filter for `n` stats of this plane. */
struct ss_stat_filter ss_stat_filter_of(const struct ss_xplane *x, const enum ss_stat *stats,
					size_t n);
/* For events that pass: walk their stats. `event` is the body of an XEvent. */
bool ss_stat_filter_event(const struct ss_stat_filter *f, struct ss_str event);

/* May any event of the line carry one? */
static inline bool ss_stat_filter_in(const struct ss_stat_filter *f, const struct ss_line *l)
{
	return (f->line_ids & l->ev.stat_ids) != 0;
}

static inline bool ss_stat_filter_line(const struct ss_stat_filter *f, const struct ss_line *l,
				       uint32_t i)
{
	return ss_stat_filter_in(f, l) && l->ev.off && ss_stat_filter_event(f, ss_xevents_body(&l->ev, l->src, i));
}

#endif
