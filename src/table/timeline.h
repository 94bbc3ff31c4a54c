/*
 * timeline.h - an answer in the shape of a timeline: sections, tracks, and the slices to draw.
 *
 * The same struct carries an answer for XProf's clients (emit/chrome.h) and for our page
 * (emit/slices.h). Everything lives in the request's arena or in memory that outlives it
 * (profiles). Times are ps since the start of the session.
 */
#ifndef SS_TABLE_TIMELINE_H
#define SS_TABLE_TIMELINE_H

#include "table/table.h"

enum ss_tl_section_kind { SS_TL_DEVICE, SS_TL_HOST, SS_TL_CUSTOM };
enum ss_tl_track_kind { SS_TL_SLICES, SS_TL_COUNTER, SS_TL_ASYNC };
enum ss_tl_flow_dir { SS_TL_FLOW_IN = 1, SS_TL_FLOW_OUT = 2, SS_TL_FLOW_INOUT = 3 };

struct ss_tl_section {
	uint32_t pid;
	struct ss_str name;
	enum ss_tl_section_kind kind;
	uint32_t first_track, ntracks;
	uint32_t nthreads;
	uint32_t sort_index;
};

struct ss_tl_track {
	uint32_t section;
	uint32_t tid;
	struct ss_str name;
	enum ss_tl_track_kind kind;
	uint32_t rows;		/* greatest nesting depth + 1 */
	uint64_t nevents;	/* in the whole trace */
	size_t first, count;	/* its slices in this answer */
	double min, max;	/* counters: of the values in the whole trace; 0, 0 when there are none */
	bool wanted;		/* part of what was asked for */
	bool complete;		/* nothing was left out between from_ps and to_ps */
};

struct ss_tl_slice {
	uint64_t begin_ps, dur_ps;
	int64_t group;		/* step group, -1 for none */
	uint32_t track;
	uint32_t name;		/* index into names */
	uint32_t event;		/* number within this run and host selection */
	uint32_t uid;		/* number within its host */
	uint32_t flow;		/* index into flows, UINT32_MAX for none */
	uint8_t row;		/* nesting depth; 255: or deeper */
};

struct ss_tl_flow {
	uint32_t id;		/* equal id = the same flow */
	uint8_t dir, category;
};

enum ss_tl_value_kind { SS_TL_INT, SS_TL_UINT, SS_TL_DOUBLE, SS_TL_STR };

struct ss_tl_value {
	enum ss_tl_value_kind kind;
	uint64_t u;		/* bits of a double */
	struct ss_str s;
};

struct ss_tl_arg {
	struct ss_str name;
	struct ss_tl_value value;
};

/* The correction that was subtracted from the times of a host; NAN: nothing links the host to the others. */
struct ss_tl_clock {
	struct ss_str host;
	const char *state;		/* good, corrected, unknown */
	double offset_us, drift_ppm, uncertainty_us;
	bool corrected;
};

struct ss_tl_arrow {
	uint32_t flow, from, to;
};

/* Arguments of one slice: args[first .. first + n). */
struct ss_tl_args {
	size_t first, n;
};

struct ss_timeline;

/*
 * One slice of a file. Slices of one kind have a name and arguments in common, so that their text
 * need be made once.
 */
struct ss_tl_event {
	uint64_t begin_ps, dur_ps;
	uint64_t kind;
	struct ss_str name;		/* p NULL: that of its kind */
	uint32_t track;
	uint32_t nargs;
	size_t first_arg;		/* its own arguments, which come behind those of its kind */
};

struct ss_tl_kind {
	struct ss_str name;
	const struct ss_tl_arg *args;
	size_t nargs;
};

struct ss_tl_piece {
	const struct ss_tl_event *events; /* by track */
	size_t nevents;
	const struct ss_tl_arg *args;
};

/*
 * Slices that are too many to hold at once: the reader of the answer pulls them piece by piece.
 * `close` is called once, after the last piece or instead of it; it is not needed before the first
 * piece.
 */
struct ss_tl_pull {
	/* The next piece, no events at the end; lives until the next call. False on failure. */
	bool (*next)(struct ss_tl_pull *pull, struct ss_tl_piece *piece, struct ss_err *err);
	/*
	 * The properties that events of a kind share. It lives until the next call, its texts as long
	 * as the answer.
	 */
	bool (*kind)(struct ss_tl_pull *pull, uint64_t kind, struct ss_tl_kind *out, struct ss_err *err);
	void (*close)(struct ss_tl_pull *pull);
};

struct ss_timeline {
	uint64_t begin_ps, end_ps;	/* of the whole trace */
	uint64_t from_ps, to_ps;	/* of this answer */
	struct ss_tl_section *sections;
	size_t nsections;
	struct ss_tl_track *tracks;
	size_t ntracks;
	struct ss_str *names;		/* of slices */
	size_t nnames;
	struct ss_tl_slice *slices;	/* by track, then by begin */
	size_t nslices;
	struct ss_tl_flow *flows;
	size_t nflows;
	struct ss_tl_arg *args;		/* counters: the value of each point; others: all arguments where asked for */
	size_t nargs;
	struct ss_tl_args *slice_args;	/* per slice, or NULL: none are sent */
	bool with_args;			/* all arguments of all slices are there */
	uint64_t nevents, ndropped;
	struct ss_tl_clock *clocks;	/* layout of aligned hosts: by name */
	size_t nclocks;
	struct ss_str clock_words;	/* what aligning them came to; p NULL: times are as recorded */
	int64_t start_unix_ns;		/* when the session began, 0 where the profile does not say */
	/* Slices: from begin to end of an arrow, as indices into slices. */
	struct ss_tl_arrow *arrows;
	size_t narrows;
	uint64_t tick_ps;		/* unit of the binary columns */
	/* Search: matches in the whole trace, and how many of them stand before the first slice. */
	uint64_t nfound, rank;
	/*
	 * One event: time not spent in nested events. slices[0] is the event, slices[1 ..] those
	 * tied to it by flows.
	 */
	uint64_t self_ps;
	struct ss_tl_pull *pull;	/* a whole file; the sections' threads are tracks, slices come in pieces */
	bool mpmd_pipeline_view;	/* option, as asked for */
	bool has_full_dma, full_dma;	/* option: is it offered, as asked for */
};

/* Sums over a stretch of time, by name. */
struct ss_tl_sum {
	struct ss_str name;
	uint64_t count, total_ps, self_ps, min_ps, max_ps;
	uint32_t event;			/* the longest, the first of equals */
};

struct ss_tl_summary {
	uint64_t count, total_ps, self_ps;
	size_t nnames;			/* different names */
	struct ss_tl_sum *rows;		/* greatest total first, ties by name */
	size_t nrows;			/* at most the limit asked for */
};

/*
 * A gap in which a device does nothing: its cause, the event that ended it, and what the host did
 * in this time.
 */
struct ss_tl_gap {
	bool found;
	uint64_t begin_ps, end_ps;
	struct ss_str device;		/* "" for the program on a CPU */
	struct ss_str class;		/* what most of it went to; "" where there is none */
	struct ss_conclusion conclusion;
	struct ss_timeline *tl;		/* slices: those below */
	size_t ended_by, launch, host;	/* index into tl->slices, SIZE_MAX: not known */
};

struct ss_tl_steps {
	struct ss_str source;		/* "marked", "inferred", ... */
	struct ss_tl_step {
		int64_t num;
		uint64_t begin_ps, end_ps;
		bool outlier;
	} *v;
	size_t n;
	size_t slowest, median;		/* index into v; of no steps 0 */
};

/* The busy share of a section in each bin, by kind of work. */
struct ss_tl_band {
	uint32_t section;		/* of the timeline's, over all hosts */
	bool device;
	uint64_t busy_ps;		/* a device: time with any work; others: the sum over their threads */
	double busy_frac;		/* of the range; of others of that of all their threads */
	uint64_t own_ps;		/* a device: its work without communication and waiting for input */
	uint32_t nthreads;		/* others: what busy_ps is the sum over */
	bool slowest;			/* has the most own work of equal devices, and clearly more than their median */
	uint64_t median_own_ps;		/* of these */
	uint8_t *busy;			/* per bin, in 255ths of the bin (of a thread's bin) */
	uint8_t *parts;			/* a device: meaning by meaning, per bin; NULL */
};

struct ss_tl_bands {
	uint64_t begin_ps, end_ps;
	uint32_t bins;
	const char *const *meanings;
	size_t nmeanings;
	struct ss_tl_band *v;
	size_t n;
};

#define SS_TL_WHEN_BINS 60u

/* A name that was looked for. Quantiles are told to one part in a thousand. */
struct ss_tl_name {
	struct ss_str name;
	uint64_t count, total_ps, min_ps, p50_ps, p99_ps, max_ps;
	uint32_t event;			/* the longest, the first of equals */
	uint32_t *when;			/* begins, in SS_TL_WHEN_BINS equal parts of the stretch */
};

struct ss_tl_names {
	uint64_t begin_ps, end_ps;
	uint64_t count;			/* events of all names that match */
	size_t nnames;
	struct ss_tl_name *rows;	/* greatest total first, ties by name */
	size_t nrows;			/* at most the limit asked for */
};

#endif
