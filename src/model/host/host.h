/*
 * host.h - the profile of one host, as every analysis and the timeline read it.
 *
 * A host has two states. Opened: planes, lines and metadata are indexed, and no event is read
 * (names, tool list). Loaded: the events of every line are columns, events are grouped into steps, and
 * the steps of a GPU are a line after the file's own lines (preprocess/preprocess.h; the other derived
 * lines are only for display, see display_lines.h). Loading happens once, at the first ss_host_load
 * (preprocess/load.h); afterwards the host is immutable and may be read by any number of threads.
 *
 * Times are ps since the start of the session. Strings borrow from the mapped file or the host's
 * arena.
 */
#ifndef SS_MODEL_HOST_HOST_H
#define SS_MODEL_HOST_HOST_H

#include "base/assert.h"
#include "base/buf.h"
#include "model/host/part.h"
#include "model/host/spans.h"
#include "xspace/events.h"

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

/* The position of an event in a flow. A flow is an arrow between lines. */
enum ss_flow_dir { SS_FLOW_NONE = 0, SS_FLOW_IN = 1, SS_FLOW_OUT = 2, SS_FLOW_INOUT = 3 };

struct ss_flow {
	uint32_t event;
	uint8_t dir;		/* enum ss_flow_dir */
	uint8_t category;	/* context type, see event_types.def */
	uint64_t id;		/* events with equal id are in the same flow, within a host */
};

struct ss_line {
	int64_t id, display_id;
	struct ss_str name, display_name;
	struct ss_xline *src;	/* NULL: the line is derived, and its events have no bytes in the file */
	bool derived;		/* made by preprocessing, here or by the program that wrote the file */
	struct ss_xevents ev;	/* of a derived line: off and base are NULL */
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

/* A group of events that belong to one step, request or run. */
struct ss_group {
	struct ss_str name;	/* "train 3", or the number */
	bool implicit;		/* the root is a framework event, not the user's marker */
	int64_t *parents, *children; /* group ids, ascending */
	uint32_t nparents, nchildren;
};

enum ss_source_state {
	SS_HOST_IS_OPEN,
	SS_HOST_IS_DESCRIBED,	/* not opened: ss_host_describe */
	SS_HOST_IS_UNREADABLE,	/* the file is not a profile: ss_host_open_among */
	SS_HOST_IS_RAW,		/* a file of another kind: only x.file and the name are set */
};

/* The source that a selection names. */
struct ss_host_source {
	enum ss_source_state state;
	const char *top;	/* of a described host: the directory that links must not leave, or NULL */
	uint64_t file_bytes;	/* of the file as it was opened */
	int64_t file_mtime_ns;
};

/* The result of importing a file in another format. */
struct ss_host_import {
	bool any;		/* the file was in another format */
	bool launch_ops;	/* GPU operations are the events around launches, such as NVTX ranges, without name scopes */
	bool cut;		/* the file ends early (in an XSpace, its planes record this) */
	unsigned categories;	/* a bit per enum ss_kineto (import/kineto.h) that its texts name */
	const char *form;	/* the format: "a trace of Perfetto"; NULL: not imported */
	struct ss_buf space;
	struct ss_hold *hold;	/* counts the memory of `space` and its events */
};

struct ss_host {
	struct ss_str name;	/* file name without ".xplane.pb" or the like */
	struct ss_host_source source;
	struct ss_host_import imported;
	/* The open host. */
	struct ss_xspace x;
	struct ss_plane *planes; /* parallel to x.planes */
	uint32_t nplanes;
	bool preprocessed;	/* the file had been preprocessed by its writer */
	struct ss_group *groups; /* index = group id; empty when preprocessed */
	uint32_t ngroups;
	uint64_t nevents;	/* after loading */
	_Atomic uint64_t ndropped; /* largest number of events that a reader could not read so far */
	_Atomic uint64_t nclipped; /* likewise, events whose end exceeds 64 bits */
	unsigned threads;	/* threads for work on this host only; 0: one per core */
	struct ss_part parts[SS_HOST_PART_COUNT];
	struct ss_arena arena;	/* written while opening and loading only */
};

static inline bool ss_host_is_raw(const struct ss_host *h)
{
	return h->source.state == SS_HOST_IS_RAW;
}

static inline bool ss_host_is_described(const struct ss_host *h)
{
	return h->source.state == SS_HOST_IS_DESCRIBED;
}

/* Open `path`, an XSpace or what import.h makes one of; the host's name is the file's. */
bool ss_host_open(struct ss_host *h, const char *path, struct ss_err *err);
/* The same for a path below the directory `top`, which links must not leave; NULL: any path. */
bool ss_host_open_below(struct ss_host *h, const char *top, const char *path, struct ss_err *err);
/*
 * Open one host of several. A file that cannot be read as a profile becomes a host without planes, with
 * the reason as its note and in `why`, so that the other hosts are shown. False: out of memory.
 */
bool ss_host_open_among(struct ss_host *h, const char *top, const char *path, struct ss_err *why, struct ss_err *err);
bool ss_host_open_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err);
/* Open an XSpace, whatever its name is. */
bool ss_host_open_space(struct ss_host *h, struct ss_str bytes, const char *path, struct ss_err *err);
/*
 * Describe a profile without opening it: sets name, path and size, in the host's arena. False: out of
 * memory.
 */
bool ss_host_describe(struct ss_host *h, const char *top, const char *path, uint64_t file_bytes);
/*
 * Open a file that is not a profile: it is mapped (x.file) and named, and has no plane. The second
 * function takes bytes that stay with the caller.
 */
bool ss_host_open_raw(struct ss_host *h, const char *top, const char *path, struct ss_str name, struct ss_err *err);
bool ss_host_open_raw_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err);
/* Add a note that so many events could not be read. */
void ss_host_note_losses(struct ss_host *h, uint64_t dropped, uint64_t clipped);
/* Free the events of a line; names stay. */
void ss_line_free(struct ss_line *l);
/* Free the events of all lines. */
void ss_host_free_events(struct ss_host *h);
void ss_host_close(struct ss_host *h);

/* hostnames[0] of the file, or "localhost". */
struct ss_str ss_host_hostname(const struct ss_host *h);
/* The host in an answer: by its name, as in every tool; XProf's own answers have ss_host_hostname. */
static inline struct ss_str ss_host_shown(const struct ss_host *h, bool as_xprof)
{
	return as_xprof ? ss_host_hostname(h) : h->name;
}
struct ss_plane *ss_host_plane(const struct ss_host *h, enum ss_plane_kind kind); /* first of the kind or NULL */
bool ss_plane_is_device(const struct ss_plane *p);	/* as XProf defines it, by the plane's name */
/* Of an opened host: has it a device, or threads that run operations of compiled programs? */
bool ss_host_runs_programs(const struct ss_host *h);
/* Of an opened host, too: has the line of this name so many events, at most a few? */
bool ss_plane_has_events_of(const struct ss_plane *p, struct ss_str line, size_t least);
bool ss_plane_has_events(const struct ss_plane *p);
/*
 * Of an opened host: does it mark so many steps, on a line of a TPU, or by events with different
 * numbers? If none is found among the first events of the host, it may.
 */
bool ss_host_marks_steps(const struct ss_host *h, size_t least);
bool ss_plane_is_host(const struct ss_plane *p);
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

/* Derived line ids: their low 32 bits lie in [SS_DERIVED_BASE, SS_DERIVED_BASE + 289]. */
#define SS_DERIVED_BASE 0xdeadbeefu
enum ss_derived_line {
	SS_DERIVED_STEPS = 0,
	SS_DERIVED_LAUNCH_STATS = 1,
	SS_DERIVED_NAME_SCOPE = 2,
	SS_DERIVED_FRAMEWORK_OP = 3,
	SS_DERIVED_HLO_MODULE = 4,
	SS_DERIVED_HLO_OP = 5,
	SS_DERIVED_OVERHEAD = 6,
	SS_DERIVED_SOURCE = 7,
	SS_DERIVED_HOST_OFFLOAD = 8,	/* .. 48 */
	SS_DERIVED_HOST_XLA = 49,	/* .. 289 */
	SS_DERIVED_COUNT = 290,
};

static inline bool ss_line_id_is_derived(int64_t id)
{
	return (uint32_t)((uint64_t)id & UINT32_MAX) - SS_DERIVED_BASE < SS_DERIVED_COUNT;
}

#endif
