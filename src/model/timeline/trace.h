/*
 * trace.h - the timeline of a host: sections, tracks, and which events are worth drawing at which
 * zoom.
 *
 * A section is a process of the trace (a device or the host's threads), a track one row of it: a
 * line of the profile, or one name of its counters or asynchronous events. Tracks are ordered by
 * (device number, thread id), which is the order of display; inside a track events have positions
 * in time order (begin ascending, longer first).
 *
 * Level of detail. Each event gets, once, the coarsest of 13 levels at which it is visible: level i
 * draws at a resolution of 10^(12-i) ps (1 s .. 10 ps; the last level holds whatever is left).
 * Visible is what is at least the resolution long, or begins at least the resolution after the end
 * of what was last drawn at its nesting depth (trace_level.h). To draw a range at some resolution,
 * events of the coarse levels are taken and the same rule is applied once more at the exact
 * resolution. The rule is XProf's (docs/tools/trace_viewer.md), so that its clients get the very
 * events that XProf's own store gives them.
 *
 * One byte an event for the level, one for the row where events nest, and one byte per 64 events (the least level among them): a
 * range is found by walking the bytes of the blocks inside it, 20 million events being 312 kB of
 * blocks.
 */
#ifndef SS_MODEL_TIMELINE_TRACE_H
#define SS_MODEL_TIMELINE_TRACE_H

#include "base/err.h"
#include "model/clock_map.h"
#include "model/timeline/display_lines.h"

struct ss_host;
struct ss_model;

#define SS_TRACE_LEVELS 13u
#define SS_TRACE_HIDDEN 0x7fu	/* level of an event that is never drawn on this track */
#define SS_TRACE_BLOCK 64u

enum ss_track_kind {
	SS_TRACE_SLICES,	/* nested events of a line */
	SS_TRACE_COUNTER,	/* points of one counter: the value is the first stat */
	SS_TRACE_ASYNC,		/* begin and end marks of one name, paired by flow */
};

struct ss_track_flow {
	uint32_t pos;
	uint32_t flow;		/* number of the flow within the host, from 0 */
	uint8_t dir;		/* enum ss_flow_dir */
	uint8_t category;
};

struct ss_track_name {
	uint32_t pos;
	struct ss_str name;
};

struct ss_track {
	const struct ss_plane *plane;	/* its names; the base of the section's */
	const struct ss_display_line *line;
	uint32_t section;
	enum ss_track_kind kind;
	uint32_t tid;		/* low half of the line's display id or id */
	struct ss_str name;
	uint32_t n;		/* positions, hidden events included */
	uint32_t nshown;
	uint32_t first;		/* event number, within the host, of position 0 */
	uint32_t nrows;		/* greatest nesting depth + 1, at most 256 */
	uint32_t *order;	/* position -> event of the line; NULL: the same */
	uint8_t *level, *block;	/* per position, per SS_TRACE_BLOCK positions */
	bool hides;		/* some levels are SS_TRACE_HIDDEN */
	uint8_t *row;		/* per position; NULL: all in row 0 */
	struct ss_track_flow *flows; /* by position */
	uint32_t nflows;
	struct ss_track_name *names; /* events whose stat step_name replaces their name, by position */
	uint32_t nnames;
};

struct ss_trace_section {
	uint32_t device;	/* XProf's device number, before the host's share is added */
	const struct ss_display_plane *plane;
	enum { SS_TRACE_DEVICE, SS_TRACE_HOST, SS_TRACE_CUSTOM } kind;
	bool tensor_core;	/* flow events between begin and end are hidden unless asked for */
	uint32_t first_track, ntracks;
	uint32_t nthreads;	/* different thread ids of lines with events */
	bool any_thread;	/* while building: is last_thread one? */
	uint32_t last_thread;
};

/* One host. */
struct ss_trace {
	struct ss_host *host;
	const struct ss_display_plane *planes; /* parallel to those of the host */
	struct ss_trace_section *sections;
	uint32_t nsections;
	struct ss_track *tracks;
	uint32_t ntracks;
	uint32_t nflows;	/* different flows */
	uint64_t nevents;	/* positions of all tracks */
	uint64_t nshown;
	bool any_tensor_core;
	uint64_t begin_ps, end_ps; /* of what is shown; 0, 0 when nothing is */
};

/* All hosts of a model: numbers of tracks, events and flows continue from host to host. */
struct ss_model_trace {
	const struct ss_trace **hosts;
	size_t nhosts;
	/* nhosts + 1 each: the first number that belongs to the host. */
	uint32_t *first_track, *first_event, *first_flow;
	struct ss_clock_map *clocks; /* nhosts: so that hosts with absolute clocks share an origin, or, of an aligned model, all */
	uint64_t nshown;
	uint64_t begin_ps, end_ps;
};

/* Parts, built on first use. */
const struct ss_trace *ss_host_trace(struct ss_host *h, struct ss_err *err);
const struct ss_model_trace *ss_model_trace(struct ss_model *m, struct ss_err *err);

/* Resolution of a level in ps; 1 for the last. */
static inline uint64_t ss_trace_res_ps(unsigned level)
{
	static const uint64_t res[SS_TRACE_LEVELS] = {
		1000000000000, 100000000000, 10000000000, 1000000000, 100000000, 10000000, 1000000,
		100000, 10000, 1000, 100, 10, 1,
	};
	return res[level];
}

/* An event of the line, by its position on the track. */
static inline uint32_t ss_track_event(const struct ss_track *t, uint32_t pos)
{
	return t->order ? t->order[pos] : pos;
}

static inline uint64_t ss_track_begin_ps(const struct ss_track *t, uint32_t pos)
{
	return (uint64_t)ss_display_begin_ps(t->line, ss_track_event(t, pos));
}

static inline uint64_t ss_track_dur_ps(const struct ss_track *t, uint32_t pos)
{
	return ss_display_dur_ps(t->line, ss_track_event(t, pos));
}

static inline uint8_t ss_track_row(const struct ss_track *t, uint32_t pos)
{
	return t->row ? t->row[pos] : 0;
}

/* Saturating: damaged times must not wrap an end before its begin. */
static inline uint64_t ss_trace_end_ps(uint64_t begin_ps, uint64_t dur_ps)
{
	return dur_ps > UINT64_MAX - begin_ps ? UINT64_MAX : begin_ps + dur_ps;
}

/* A time of a host as all hosts' timeline has it, and back: the first own time that is not before. */
static inline uint64_t ss_trace_shown(const struct ss_model_trace *mt, size_t h, uint64_t own_ps)
{
	int64_t t = ss_clock_shown(&mt->clocks[h], own_ps > INT64_MAX ? INT64_MAX : (int64_t)own_ps);
	return t > 0 ? (uint64_t)t : 0;
}

static inline uint64_t ss_trace_own(const struct ss_model_trace *mt, size_t h, uint64_t shown_ps)
{
	int64_t t = ss_clock_own(&mt->clocks[h], shown_ps > INT64_MAX ? INT64_MAX : (int64_t)shown_ps);
	return t > 0 ? (uint64_t)t : 0;
}

/* Does the range end before the host's time begins? */
static inline bool ss_trace_is_before(const struct ss_model_trace *mt, size_t h, uint64_t shown_ps)
{
	return shown_ps < ss_trace_shown(mt, h, 0);
}

/* The stat step_name of an event, which replaces its name; p is NULL where there is none. */
struct ss_str ss_track_own_name(const struct ss_track *t, uint32_t pos);
/* The name that is shown: that, else the display name, else the name. */
struct ss_str ss_track_event_name(const struct ss_track *t, uint32_t pos);
/* The flow of an event, NULL if it has none. */
const struct ss_track_flow *ss_track_flow(const struct ss_track *t, uint32_t pos);
/* First position that begins at or after `ps`. */
uint32_t ss_track_lower(const struct ss_track *t, uint64_t ps);
/*
 * The track that holds event number `event` of this host; SS_NONE if there is none. The position is
 * event - track.first.
 */
uint32_t ss_trace_track_of(const struct ss_trace *tr, uint64_t event);

/*
 * Step groups of the events at `n` ascending positions, SS_NO_GROUP where there is none. Walks the
 * bytes of those events where the file came grouped, and gives the pages back behind itself.
 */
void ss_track_groups(const struct ss_trace *tr, const struct ss_track *t, const uint32_t *pos, size_t n,
		     int64_t *group);

/* Called with each argument of an event; false ends the walk. */
typedef bool ss_arg_fn(void *arg, struct ss_str name, const struct ss_xstat *value);
/*
 * The arguments of an event as XProf shows them: the stats of its metadata, then its own, then
 * those that preprocessing added; what only programs need (flows, producers and consumers, raw
 * bytes) is left out. False when `fn` said so.
 */
bool ss_track_args(const struct ss_track *t, uint32_t pos, ss_arg_fn *fn, void *arg);
/*
 * The same in two parts, with what the file says of flows and groups, and with raw bytes, as the
 * static trace viewer shows them: what all events of a name have, and what an event has of its own.
 * *run is a place that walks over a track keep from event to event, 0 at first.
 */
bool ss_plane_raw_args(const struct ss_plane *p, uint32_t meta, ss_arg_fn *fn, void *arg);
bool ss_track_raw_args(const struct ss_track *t, uint32_t pos, size_t *run, ss_arg_fn *fn, void *arg);
/* The value of a counter's point: its first argument that is a number. False when it has none. */
bool ss_track_value(const struct ss_track *t, uint32_t pos, struct ss_str *name, struct ss_xstat *value);

/* The part of the trace to draw. */
struct ss_trace_range {
	uint64_t begin_ps, end_ps;	/* both ends count */
	uint64_t res_ps;		/* 0: every event in the range */
	bool flow_mids;			/* also flow events between begin and end on TPU cores */
	const uint8_t *tracks;		/* per track of the host: wanted; NULL: all */
};

/* Positions by track, ascending. */
struct ss_trace_hits {
	uint32_t *pos;
	size_t n, cap;
	struct ss_track_hits {
		size_t first;
		uint32_t n;
		bool complete;		/* nothing of this track was left out in the range */
	} *tracks;			/* one for each track of the host */
};

/* On failure *out holds nothing. */
bool ss_trace_select(const struct ss_trace *tr, const struct ss_trace_range *range, struct ss_trace_hits *out,
		     struct ss_err *err);
/* All events with matching names, over the whole trace. */
enum ss_match { SS_MATCH_PREFIX /* bytes */, SS_MATCH_WITHIN /* anywhere, letters without case */ };
bool ss_trace_match(const struct ss_trace *tr, struct ss_str text, enum ss_match how, struct ss_trace_hits *out,
		    struct ss_err *err);

/* A place in the order of events: by begin, then by event number within the host. */
struct ss_trace_find {
	struct ss_str text;
	enum ss_match how;
	uint64_t begin_ps;
	int64_t event;		/* the first event at or behind (begin_ps, event) is what follows the place */
	bool backward;		/* the matches before the place instead of those that follow it */
	size_t limit;		/* per track */
};

struct ss_trace_found {
	struct ss_trace_hits hits;	/* per track the nearest matches, ascending */
	uint64_t before, total;		/* matches before the place, and in the whole trace */
};

/* Matches next to a place, and how many there are. On failure *out holds nothing. */
bool ss_trace_find(const struct ss_trace *tr, const struct ss_trace_find *q, struct ss_trace_found *out,
		   struct ss_err *err);
void ss_trace_hits_free(struct ss_trace_hits *h);

#endif
