/*
 * events.h - the events of one line as columns.
 *
 * 24 bytes an event: begin, duration, name and the place of its bytes; 20 where no event of the
 * line has stats. Stats stay in the file and are walked on request (ss_xevents_stats), which costs
 * some 5 ns a stat.
 *
 *	begin_ps[i]	start, in ps since the start of the session (ss_xspace.origin_ns)
 *	dur_ps[i]	duration in ps; 0 for instants and aggregated events; begin_ps + dur_ps always fits
 *	meta[i]		index into the plane's event_meta, SS_NONE if undefined
 *	base + off[i]	where the XEvent's body stands in the line (use ss_xevents_body);
 *			off SS_EVENT_SYNTHETIC: nowhere, it was added; off NULL: no event has stats,
 *			for which alone these bytes are read, and none was added
 */
#ifndef SS_XSPACE_EVENTS_H
#define SS_XSPACE_EVENTS_H

#include "xspace/xspace.h"

struct ss_xevents {
	int64_t *begin_ps;
	uint64_t *dur_ps;
	uint32_t *meta;
	uint32_t *off;		/* from the base of the event's chunk to the body; or NULL */
	uint64_t *base;		/* per chunk of 4096 events, from the start of the line's body */
	uint32_t n;
	/* The events are in the order begin ascending, then longer first. */
	bool sorted;
	bool rebuilt;		/* not as it was read: sorted, or with events added or joined */
	/*
	 * Aggregated events (num_occurrences instead of an offset): count per event; NULL when
	 * there is none.
	 */
	uint64_t *occurrences;
	uint64_t dropped;	/* events that could not be read */
	uint64_t clipped;	/* that would end later than 64 bits can tell, and end there */
	/*
	 * The stats of its events: a bit for each metadata id below SS_STAT_ID_BITS; the highest bit is
	 * for all others and for unknown content. A stat without its bit need not be searched for.
	 */
	uint64_t stat_ids;
	struct ss_hold *hold;	/* where the columns count: ss_xspace.hold */
	uint64_t held_bytes;
};

#define SS_STAT_ID_BITS 63u

static inline uint64_t ss_stat_id_bit(uint64_t id)
{
	return UINT64_C(1) << (id < SS_STAT_ID_BITS ? id : SS_STAT_ID_BITS);
}

#define SS_EVENT_CHUNK 4096u
#define SS_EVENT_SYNTHETIC UINT32_MAX

/*
 * Read the events of `line`. Also completes the line's header fields that stand after its events.
 * Malformed bytes end the line: the events before them are kept and `dropped` is at least 1.
 */
bool ss_xevents_load(struct ss_xevents *e, const struct ss_xspace *x, const struct ss_xplane *plane,
		     struct ss_xline *line, struct ss_err *err);
/*
 * The same of the events whose metadata are marked: `wanted` has a byte for each entry of
 * event_meta, NULL: all events. `dropped` counts the examined events that could not be read.
 */
bool ss_xevents_load_some(struct ss_xevents *e, const struct ss_xspace *x, const struct ss_xplane *plane,
			  struct ss_xline *line, const uint8_t *wanted, struct ss_err *err);
void ss_xevents_free(struct ss_xevents *e);

/*
 * Make the columns hold n events, of which the k-th is the old from[k], or a new one without bytes
 * where from[k] is SS_NONE: begin and duration 0, no metadata, to be set by the caller. On failure
 * nothing changed. `sorted` is found anew by ss_xevents_check_order.
 */
bool ss_xevents_rebuild(struct ss_xevents *e, const uint32_t *from, uint32_t n);
void ss_xevents_check_order(struct ss_xevents *e);
/* `n` events by number, into the order begin ascending, longer first, else by number. False when memory is out. */
bool ss_xevents_order(const struct ss_xevents *e, uint32_t *v, size_t n);
/* All of them in that order; the caller's to free. NULL: memory is out. */
uint32_t *ss_xevents_in_order(const struct ss_xevents *e);
/*
 * Into the order begin ascending, longer first, else as before. *from gets the old place of each
 * event, the caller frees it. False when memory is out; nothing changed then.
 */
bool ss_xevents_sort(struct ss_xevents *e, uint32_t **from);

/* Was the event added? The file does not have it. */
static inline bool ss_xevents_is_added(const struct ss_xevents *e, uint32_t i)
{
	return e->off && e->off[i] == SS_EVENT_SYNTHETIC;
}

/* The serialized XEvent; empty for one that was added, and where no event of the line has stats. */
static inline struct ss_str ss_xevents_body(const struct ss_xevents *e, const struct ss_xline *line, uint32_t i)
{
	const uint8_t *end = (const uint8_t *)line->body.p + line->body.n;
	uint64_t n = 0;
	if (!e->off || e->off[i] == SS_EVENT_SYNTHETIC)
		return (struct ss_str){ "", 0 };
	const uint8_t *p = (const uint8_t *)line->body.p + e->base[i / SS_EVENT_CHUNK] + e->off[i];
	/*
	 * The length stands before the body. Both were checked when the line was loaded, but the
	 * file may have been written to since.
	 */
	ss_pb_varint(&p, end, &n);
	if (n > (uint64_t)(end - p))
		n = (uint64_t)(end - p);
	return (struct ss_str){ (const char *)p, (size_t)n };
}

static inline struct ss_xstats ss_xevents_stats(const struct ss_xevents *e, const struct ss_xplane *plane,
						const struct ss_xline *line, uint32_t i)
{
	return ss_xevent_stats(plane, ss_xevents_body(e, line, i));
}

static inline int64_t ss_xevents_end_ps(const struct ss_xevents *e, uint32_t i)
{
	return (int64_t)((uint64_t)e->begin_ps[i] + e->dur_ps[i]);
}

static inline uint64_t ss_xevents_occurrences(const struct ss_xevents *e, uint32_t i)
{
	return e->occurrences ? e->occurrences[i] : 1;
}

#endif
