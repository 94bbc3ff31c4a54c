/*
 * event_query.h - events of a file by plane, name, time and duration, and by a filter expression:
 *
 *	duration_us > 5 AND NOT (plane CONTAINS "metadata" OR event =~ "^copy")
 *
 * Texts: plane, line (line_name), line_id, event (name), with = == != CONTAINS, and ~ =~ !~ for
 * regular expressions. Numbers: duration, duration_ps, duration_ns, duration_us, duration_ms,
 * offset_ps (start_ps), end_ps, with = == != < <= > >= and a unit behind the number (ps ns us ms
 * s), else the field's own. AND OR NOT, also && || !, and parentheses.
 *
 * Events are read unchanged from the file, line by line, without loading the host; nothing is kept.
 */
#ifndef SS_MODEL_HOST_EVENT_QUERY_H
#define SS_MODEL_HOST_EVENT_QUERY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/regex.h"
#include "base/str.h"

struct ss_host;

struct ss_event_record {
	struct ss_str plane, line, line_id,
		event;		 /* line: as it is shown; line_id: its name in the file */
	double begin_ps, dur_ps; /* whole numbers */
};

struct ss_event_filter_step;

struct ss_event_filter {
	struct ss_event_filter_step *
		steps; /* in the order in which they are evaluated: operands before what joins them */
	size_t n, cap;
	bool no_memory; /* of a regular expression, while events were asked for */
	struct ss_arena arena;
};

/* An empty text lets all events pass. SS_EINVAL with the reason. */
bool ss_event_filter_compile(struct ss_event_filter *f, struct ss_str text, struct ss_err *err);
bool ss_event_filter_passes(struct ss_event_filter *f, const struct ss_event_record *e);
void ss_event_filter_free(struct ss_event_filter *f);

struct ss_event_query {
	struct ss_regex *plane, *event; /* searched, not anchored */
	struct ss_event_filter filter;
	bool overlap; /* events that reach into the window are in it; else only those that lie in it */
	double from_ps, to_ps;	  /* the window; NAN: open */
	double least_ps, most_ps; /* durations; NAN: any */
	/*
	 * Times as XProf's reader computes them, in double nanoseconds since the epoch or wherever
	 * the file counts from. Else picoseconds since the begin of the session.
	 */
	bool as_xprof;
	uint64_t
		nscanned; /* events of the window and duration, before names and filter; counted here */
	uint64_t most_scanned; /* stop behind so many; 0: never */
	bool stopped;
};

struct ss_event_query_text {
	struct ss_str plane, event, filter,
		window; /* regular expressions; window: "containment" or "overlap" */
};

/* The rest of `q` is set by the caller, from zero. */
bool ss_event_query_compile(struct ss_event_query *q, const struct ss_event_query_text *t,
			    struct ss_err *err);
void ss_event_query_free(struct ss_event_query *q);

/* False ends the walk. */
typedef bool ss_event_query_fn(void *arg, const struct ss_event_record *e);

/*
 * All events that match, in the order of the file. The texts of a record live as long as the host.
 * One thread at a time for a query. False when memory is out; a walk that `fn` ended is no failure.
 */
bool ss_event_query_run(struct ss_event_query *q, struct ss_host *h, ss_event_query_fn *fn,
			void *arg, struct ss_err *err);

#endif
