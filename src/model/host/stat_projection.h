/*
 * stat_projection.h - walking only those stats of an event that an analysis needs.
 *
 * Most stats are names, shapes and numbers that a given analysis does not use. Their metadata id,
 * which writers put first, identifies them; only the few that are needed are decoded.
 */
#ifndef SS_MODEL_HOST_STAT_PROJECTION_H
#define SS_MODEL_HOST_STAT_PROJECTION_H

#include "xspace/events.h"
#include "xspace/fields.h"

/* Prepared per plane and question. */
struct ss_stat_projection {
	const struct ss_xplane *x;
	const enum ss_stat *stats;	/* at most 254 */
	unsigned nstats;
	uint8_t *by_id;			/* 1 + index into stats by small metadata id, 0: not wanted */
	uint32_t nby_id, nshort;	/* nshort: of them, those whose id is one byte */
	bool any;			/* the plane names one of them */
	bool direct;			/* the ids of all of them are below nby_id */
	uint64_t ids;			/* of them, as in ss_xevents.stat_ids */
};

/* `stats` must outlive the result, which lives as long as the arena. False when memory is out. */
bool ss_projection_init(struct ss_stat_projection *w, const struct ss_xplane *x, const enum ss_stat *stats, unsigned nstats,
		    struct ss_arena *arena);

/* May any event of the line have one of them? */
static inline bool ss_projection_in(const struct ss_stat_projection *w, const struct ss_xevents *e)
{
	return (w->ids & e->stat_ids) != 0;
}

struct ss_projection_walk {
	const struct ss_stat_projection *w;
	struct ss_pb c;
	const uint8_t *readable; /* end of the bytes that may be loaded: c.end or later */
	uint32_t key;
};

/*
 * Over a message of the plane: whatever follows it up to the plane's end may be loaded too, though
 * not used.
 */
static inline struct ss_projection_walk ss_projection_in_plane(const struct ss_stat_projection *w, struct ss_str message,
							       uint32_t key)
{
	struct ss_projection_walk walk = { .w = w, .key = key };
	bool any = w->any && message.n;
	/*
	 * Field by field: the walk is begun for each event, and copies of parts cost more than all
	 * else here.
	 */
	walk.c.at = (const uint8_t *)(any ? message.p : "");
	walk.c.end = walk.c.at + (any ? message.n : 0);
	walk.readable = any ? (const uint8_t *)w->x->body.p + w->x->body.n : walk.c.end;
	return walk;
}

/* Over an XEvent's body, or over an entry of event_meta. */
static inline struct ss_projection_walk ss_projection_event(const struct ss_stat_projection *w, struct ss_str body)
{
	return ss_projection_in_plane(w, body, PB_LEN(XEVENT_STATS));
}

static inline struct ss_projection_walk ss_projection_meta(const struct ss_stat_projection *w, uint32_t meta)
{
	bool there = meta < w->x->nevent_meta;
	return ss_projection_in_plane(w, there ? w->x->event_meta[meta].body : (struct ss_str){ "", 0 },
				  PB_LEN(XEVENT_METADATA_STATS));
}

/*
 * Index of the stat that these bytes hold, nstats: not wanted, UINT32_MAX: cannot be told without
 * decoding.
 */
static inline unsigned ss_projection_glance(const struct ss_stat_projection *w, struct ss_str stat)
{
	const uint8_t *p = (const uint8_t *)stat.p;
	if (stat.n < 3 || p[0] != PB_VAR(XSTAT_METADATA_ID) || !w->direct)
		return UINT32_MAX;
	uint32_t id = p[1];
	if (id >= 0x80) {
		if (p[2] >= 0x80)
			return UINT32_MAX;
		id = (id & 0x7f) | (uint32_t)p[2] << 7;
	}
	return id < w->nby_id && w->by_id[id] ? w->by_id[id] - 1u : w->nstats;
}

/* Whatever ss_projection_next does not do inline. */
bool ss_projection_read(struct ss_projection_walk *walk, unsigned *which, struct ss_xstat *out);

/* The next wanted stat: *which is its index into stats. */
static inline bool ss_projection_next(struct ss_projection_walk *walk, unsigned *which, struct ss_xstat *out)
{
	return walk->c.at != walk->c.end && ss_projection_read(walk, which, out);
}

#endif
