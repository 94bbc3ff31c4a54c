/*
 * plane.h - the planes and lines of a host, and their events, as every analysis and the timeline read
 * them.
 *
 * Times are ps since the start of the session. Strings borrow from the mapped file or the host's
 * arena.
 */
#ifndef SS_MODEL_HOST_PLANE_H
#define SS_MODEL_HOST_PLANE_H

#include "base/assert.h"
#include "model/host/spans.h"
#include "xspace/events.h"

struct ss_host;

#define SS_NO_GROUP (-1)

/* A stat that preprocessing added to an event. */
struct ss_added_stat {
	uint32_t event;
	enum ss_stat stat;
	enum ss_xkind kind;	/* SS_X_INT, SS_X_UINT, SS_X_DOUBLE (bits in u) or SS_X_STR */
	uint64_t u;
	struct ss_str s;
};

/* The stats of a line, in the order of its events. */
struct ss_added_stats {
	struct ss_added_stat *v;
	size_t n;
};

struct ss_line {
	int64_t id, display_id;
	struct ss_str name, display_name;
	struct ss_xline *src;	/* NULL: the line is derived, and its events have no bytes in the file */
	bool derived;		/* made by preprocessing, here or by the program that wrote the file */
	struct ss_xevents ev;	/* of a derived line: off and base are NULL */
	bool borrowed;		/* the columns of ev are another line's */
	/*
	 * Step group of each event, SS_NO_GROUP for none. NULL: not computed; a preprocessed file has
	 * it in the stat group_id (ss_event_group reads either).
	 */
	int32_t *group;
	/* Runs of equal groups; they replace `group` if groups change seldom. */
	struct ss_group_run *runs;
	uint32_t nruns;
	/*
	 * Device timespans that preprocessing changed (merged TPU steps); NULL: the stats of the event
	 * hold them, if any.
	 */
	int64_t *dev_begin_ps;
	uint64_t *dev_dur_ps;
	int8_t *eager;		/* stat is_eager per event: 0, 1, -1 not set; NULL: none set here */
	struct ss_added_stats added;
};

enum ss_plane_kind {
	SS_PLANE_OTHER,
	SS_PLANE_HOST_CPU,	/* exactly "/host:CPU" */
	SS_PLANE_TENSOR_CORE,	/* "/device:TPU:<n>" */
	SS_PLANE_SPARSE_CORE,	/* "/device:TPU:<n> SparseCore [word ]<m>" */
	SS_PLANE_TPU_NONCORE,	/* "#Chip..." */
	SS_PLANE_GPU,		/* "/device:GPU:<n>" */
	SS_PLANE_CUSTOM,	/* "/device:CUSTOM:", "/custom:" */
	SS_PLANE_METADATA,	/* "/host:metadata": HLO modules */
	SS_PLANE_TASK_ENV,	/* "Task Environment" */
};

/* An event name that preprocessing added. */
struct ss_synthetic_name {
	struct ss_str name, display_name;
};

struct ss_plane {
	const struct ss_xplane *x;
	struct ss_str name;
	enum ss_plane_kind kind;
	int64_t id;
	struct ss_line *lines;	/* the lines of the file first, then derived lines */
	uint32_t nlines;
	/* Metadata index m >= x->nevent_meta names synthetic[m - x->nevent_meta]. */
	struct ss_synthetic_name *synthetic;
	uint32_t nsynthetic;
};

/* Free the events of a line; names stay. */
void ss_line_free(struct ss_line *l);
struct ss_plane *ss_host_plane(const struct ss_host *h, enum ss_plane_kind kind); /* first of the kind or NULL */
enum ss_plane_kind ss_plane_kind_of(struct ss_str name);
bool ss_plane_is_device(const struct ss_plane *p);	/* as XProf defines it, by the plane's name */
bool ss_plane_is_host(const struct ss_plane *p);
/* Of an opened host, too: has the line of this name so many events, at most a few? */
bool ss_plane_has_events_of(const struct ss_plane *p, struct ss_str line, size_t least);
bool ss_plane_has_events(const struct ss_plane *p);
/* Line by its exact name, NULL if there is none. */
struct ss_line *ss_plane_line(const struct ss_plane *p, struct ss_str name);

static inline struct ss_str ss_event_name(const struct ss_plane *p, uint32_t meta)
{
	if (meta == SS_NONE)
		return (struct ss_str){ "", 0 };
	ss_assert(meta < p->x->nevent_meta + p->nsynthetic);
	if (meta >= p->x->nevent_meta)
		return p->synthetic[meta - p->x->nevent_meta].name;
	return p->x->event_meta[meta].name;
}

/* The name in the file. It differs from the name only in traces whose events have other names in analyses. */
static inline struct ss_str ss_event_name_in_file(const struct ss_plane *p, uint32_t meta)
{
	bool known = meta != SS_NONE && meta < p->x->nevent_meta;
	return known ? ss_xevent_meta_name_in_file(p->x, meta) : ss_event_name(p, meta);
}

/* "" when there is none. */
static inline struct ss_str ss_event_display_name(const struct ss_plane *p, uint32_t meta)
{
	if (meta == SS_NONE)
		return (struct ss_str){ "", 0 };
	if (meta >= p->x->nevent_meta)
		return p->synthetic[meta - p->x->nevent_meta].display_name;
	return p->x->event_meta[meta].display_name;
}

/* The displayed name: the display name, else the name in the file. */
static inline struct ss_str ss_event_label(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str name = ss_event_display_name(p, meta);
	return name.n ? name : ss_event_name_in_file(p, meta);
}

/* The same for all events of a kind: steps of traces in other formats go without their numbers. */
struct ss_str ss_event_kind_label(const struct ss_plane *p, uint32_t meta);

/*
 * Stats of an event as they stand in the file; nothing for derived lines. Added stats are in
 * line->added.
 */
static inline struct ss_xstats ss_line_stats(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_str body = l->ev.off ? ss_xevents_body(&l->ev, l->src, i) : (struct ss_str){ "", 0 };
	return ss_xevent_stats(p->x, body);
}

/* Groups stand in runs where these are so few. */
static inline uint32_t ss_line_max_runs(const struct ss_line *l)
{
	return l->ev.n / 8;
}

/* Were the groups of this line computed here? */
static inline bool ss_line_has_groups(const struct ss_line *l)
{
	return l->group || l->runs;
}

/* If so, that of an event; `at` as for ss_runs_group_at. */
static inline int64_t ss_line_group_at(const struct ss_line *l, uint32_t i, size_t *at)
{
	if (l->group)
		return l->group[i];
	return ss_runs_group_at(l->runs, l->nruns, i, at);
}

static inline int64_t ss_line_group(const struct ss_line *l, uint32_t i)
{
	size_t at = SIZE_MAX;
	return ss_line_group_at(l, i, &at);
}

/* Group id of an event, SS_NO_GROUP when it has none. */
int64_t ss_event_group(const struct ss_plane *p, const struct ss_line *l, uint32_t i);
/* As the stats of the event say. */
int64_t ss_event_group_in_file(const struct ss_plane *p, const struct ss_line *l, uint32_t i);

/* As ss_event_group, for walks over a line; `at` as for ss_runs_group_at. */
static inline int64_t ss_event_group_at(const struct ss_plane *p, const struct ss_line *l, uint32_t i, size_t *at)
{
	return ss_line_has_groups(l) ? ss_line_group_at(l, i, at) : ss_event_group_in_file(p, l, i);
}

#endif
