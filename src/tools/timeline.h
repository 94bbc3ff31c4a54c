/*
 * timeline.h - timelines as answers: from the level-of-detail index of the model to struct
 * ss_timeline.
 *
 * One function for each route of our page (docs/api.md), except the tool trace_viewer@, which answers
 * XProf's clients. All results live in the arena of the request. Event and track numbers count over
 * all hosts of the model.
 */
#ifndef SS_TOOLS_TIMELINE_H
#define SS_TOOLS_TIMELINE_H

#include "model/timeline/trace.h"
#include "table/timeline.h"

struct ss_cluster;
struct ss_request;
struct ss_tool;

/* Sections and tracks, no slices; counter tracks with their range of values. NULL on failure. */
struct ss_timeline *ss_timeline_layout(struct ss_model *m, struct ss_arena *arena, struct ss_err *err);

struct ss_timeline_request {
	uint64_t begin_ps, end_ps;
	uint32_t width_px;		/* 0: everything in the range */
	const uint32_t *tracks;		/* those wanted; NULL: all */
	size_t ntracks;
	enum ss_timeline_arrows {
		SS_ARROWS_NONE,
		SS_ARROWS_FLOWS,	/* flows recorded; from the last in a collective to those that waited */
		SS_ARROWS_PATH,		/* along the critical path of the steps */
	} arrows;			/* between the slices of the answer */
};

/* The slices to draw of the range at a width. */
struct ss_timeline *ss_timeline_slices(struct ss_model *m, const struct ss_timeline_request *q, struct ss_arena *arena,
				       struct ss_err *err);
/*
 * One event with all its arguments and the events that its flow connects; SS_ENOTFOUND: there is no
 * event of this number.
 */
struct ss_timeline *ss_timeline_event(struct ss_model *m, uint64_t event, struct ss_arena *arena, struct ss_err *err);

/*
 * Add the arrows between hosts to an answer's slices, which are found by device, time and name. Only
 * visible arrows are added, and none if the clocks do not show which host came last. False: memory is
 * out, or the hosts cannot be joined. timeline_hosts.c.
 */
bool ss_timeline_join_hosts(struct ss_timeline *tl, struct ss_model *m, const struct ss_model_trace *mt, struct ss_arena *arena,
			    struct ss_err *err);
bool ss_timeline_draw_path(struct ss_timeline *tl, struct ss_model *m, const struct ss_model_trace *mt, struct ss_arena *arena,
			   struct ss_err *err);

struct ss_timeline_search {
	struct ss_str text;		/* anywhere in the name, without regard to case; empty finds nothing */
	enum { SS_SEARCH_FIRST, SS_SEARCH_AFTER, SS_SEARCH_BEFORE, SS_SEARCH_FROM } where;
	uint64_t event;			/* AFTER, BEFORE: relative to this event, which need not match */
	uint64_t from_ps;		/* FROM: the first that begins there or later */
	size_t limit;
};

/* Matches as slices, by begin, then by event number; nfound and rank are set. */
struct ss_timeline *ss_timeline_search(struct ss_model *m, const struct ss_timeline_search *q, struct ss_arena *arena,
				       struct ss_err *err);

struct ss_timeline_sums {
	uint64_t begin_ps, end_ps;
	const struct ss_timeline_rows {
		uint32_t track, first, last; /* rows of a track, both ends count */
	} *rows;			/* NULL: all rows of all tracks of slices */
	size_t nrows;
	size_t limit;
};

/* Sums by name over the slices that overlap the range, counted whole. */
struct ss_tl_summary *ss_timeline_summary(struct ss_model *m, const struct ss_timeline_sums *q, struct ss_arena *arena,
					  struct ss_err *err);

enum ss_gap_where { SS_GAP_HERE, SS_GAP_NEXT, SS_GAP_PREVIOUS };

struct ss_timeline_gap_query {
	uint64_t at_ps;
	uint32_t track;		/* of the device, or of a host's threads; SS_NONE: the first device */
	enum ss_gap_where where;
	uint64_t least_ps;	/* NEXT, PREVIOUS: shorter ones are passed over */
};

/* Linear in the events of the host once; then by the gap alone. timeline_gap.c. */
bool ss_timeline_gap(struct ss_tl_gap *out, struct ss_model *m, const struct ss_timeline_gap_query *q, struct ss_arena *arena,
		     struct ss_err *err);

/* The steps of the first host that has some (attribution/windows.h). */
bool ss_timeline_steps(struct ss_tl_steps *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);

struct ss_timeline_bands_query {
	uint64_t begin_ps, end_ps;
	uint32_t bins;
};

/*
 * The busy share of each section: devices by kind of work, other sections by the share of their threads
 * that were in an event. One walk over the events that lie in the range, and over those before them
 * that are not closed by its begin. timeline_bands.c.
 */
struct ss_tl_bands *ss_timeline_bands(struct ss_model *m, const struct ss_timeline_bands_query *q, struct ss_arena *arena,
				      struct ss_err *err);

enum ss_names_how { SS_NAMES_WITHIN /* letters without case */, SS_NAMES_EXACT, SS_NAMES_REGEX };

struct ss_timeline_names_query {
	struct ss_str text;		/* empty: every name */
	enum ss_names_how how;
	uint64_t begin_ps, end_ps;	/* events that begin there */
	const uint32_t *tracks;		/* NULL: all */
	size_t ntracks;
	size_t limit;			/* of names, at most 200 */
};

/*
 * The names that match, each with its durations and when it ran. Two walks over the events: O(n),
 * and 4 KiB for each name and power of two among its durations. timeline_names.c.
 */
struct ss_tl_names *ss_timeline_names(struct ss_model *m, const struct ss_timeline_names_query *q, struct ss_arena *arena,
				      struct ss_err *err);

/* The model whose times a request's parameter `clocks` (recorded or aligned) asks for. NULL on failure. timeline_clocks.c */
struct ss_model *ss_request_clocks(const struct ss_request *q, const struct ss_tool *tool, struct ss_err *err);
/* The result of aligning the clocks, in one or two sentences; in the arena. timeline_clocks.c */
struct ss_str ss_clocks_words(const struct ss_cluster *c, struct ss_arena *arena);
/* The same of an aligned model, and each host's clock: tl->clocks. */
bool ss_timeline_tell_clocks(struct ss_timeline *tl, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);

/* When the first of its hosts began to record, by its own clock; 0: not recorded. */
int64_t ss_timeline_start_unix_ns(const struct ss_model *m);

#endif
