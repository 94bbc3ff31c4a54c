/*
 * trace_level.h - which events are visible at a resolution (docs/model/timeline.md), and the
 * level of each.
 *
 * Each row of the picture has a stack of ends, one entry per nesting depth, of what was drawn last
 * there. An event's depth is the first whose end is not after its begin. It is visible when it is
 * at least the resolution long, or nothing was drawn at its depth yet, or it begins at least the
 * resolution after that end; then its own end replaces that depth and all deeper ones.
 *
 * Here the stack keeps the least end up to each depth instead. The depth is the same (the first end
 * not after `begin` is also the first such minimum, and equal to it), but the entries only descend.
 * So the depth is found from the top, and the entries above it can be dropped, because begins only
 * grow: constant time an event on average, whatever the nesting.
 */
#ifndef SS_MODEL_TIMELINE_TRACE_LEVEL_H
#define SS_MODEL_TIMELINE_TRACE_LEVEL_H

#include "model/timeline/trace.h"

/* The events drawn so far on one row. Zeroed: none. */
struct ss_vis_row {
	uint64_t *end;		/* least end up to this depth */
	size_t n, cap;
	uint64_t last_flow_end;
	uint64_t last_point;	/* counters and asynchronous events */
	bool any_flow, any_point;
};

struct ss_vis_event {
	uint64_t begin_ps, dur_ps;
	const struct ss_track_flow *flow; /* NULL: none */
	bool point;		/* on a counter or asynchronous track */
};

/* One picture. */
struct ss_vis {
	uint64_t res_ps;
	uint8_t *flows;		/* per flow: 0 not seen, 1 hidden, 2 visible; NULL when there are no flow events */
};

void ss_vis_row_free(struct ss_vis_row *r);

/*
 * Drop what no later event can meet: all but the open entries and the first closed one. True: an
 * entry is closed at the depth.
 */
static inline bool ss_vis_settle(struct ss_vis_row *r, uint64_t begin_ps)
{
	while (r->n >= 2 && r->end[r->n - 2] <= begin_ps)
		r->n--;
	return r->n && r->end[r->n - 1] <= begin_ps;
}

bool ss_vis_grow(struct ss_vis_row *r);

/* Draw: replace the entry at the depth. False when memory is out. */
static inline bool ss_vis_push(struct ss_vis_row *r, uint64_t begin_ps, uint64_t end_ps)
{
	while (r->n && r->end[r->n - 1] <= begin_ps)
		r->n--;
	if (r->n == r->cap && !ss_vis_grow(r))
		return false;
	r->end[r->n] = r->n && r->end[r->n - 1] < end_ps ? r->end[r->n - 1] : end_ps;
	r->n++;
	return true;
}

/* Is the event visible? If so it is drawn. False in *ok when memory is out. */
bool ss_vis_check(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e, bool *ok);
/* Draw it in any case. False when memory is out. */
bool ss_vis_set(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e);

/*
 * Fill level, row and block of a track, and nrows, nshown. `flow_levels` has, per flow of the host, a
 * bit per level where the whole flow is visible; NULL when there are none. Positions whose level is
 * SS_TRACE_HIDDEN stay so. *begin_ps and *end_ps become the span of the shown events, or all ones and 0
 * if no event is shown.
 */
bool ss_track_levels(struct ss_track *t, const uint16_t *flow_levels, uint64_t *begin_ps, uint64_t *end_ps);

/*
 * The levels at which each flow is visible as a whole: a pass over the flow events of all tracks
 * together in time order, since an arrow is drawn when one of its ends is. *out is malloc'ed, one
 * word a flow; NULL when there are no flows.
 */
bool ss_trace_flow_levels(const struct ss_trace *tr, uint16_t **out, struct ss_err *err);

/*
 * Tracks merged in time order: (begin, longer first, device, thread before counter, thread id,
 * name).
 */
struct ss_trace_merge {
	const struct ss_trace *tr;
	struct ss_merge_head {
		uint64_t begin_ps, dur_ps;
		uint32_t track;
		uint32_t at, end;	/* into the track's list */
	} *heap;
	size_t n;
	/* Position at place `at` of the list of `track`. */
	uint32_t (*pos)(const void *lists, const struct ss_trace *tr, uint32_t track, uint32_t at);
	const void *lists;
};

/* Room for `tr->ntracks` heads; false when memory is out. */
bool ss_merge_init(struct ss_trace_merge *m, const struct ss_trace *tr,
		   uint32_t (*pos)(const void *, const struct ss_trace *, uint32_t, uint32_t), const void *lists);
void ss_merge_add(struct ss_trace_merge *m, uint32_t track, uint32_t first, uint32_t end);
/* The next event; false at the end. */
bool ss_merge_next(struct ss_trace_merge *m, struct ss_merge_head *out);
void ss_merge_free(struct ss_trace_merge *m);

#endif
