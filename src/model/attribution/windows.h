/*
 * windows.h - the steps of a host, as spans of time: what attribution divides.
 *
 * Of the marks of the program (events with a stat step_num, "ProfilerStep#3"), those of the thread that has most;
 * else the "Steps" line of a device; else what repeats (inferred.h), if that is sure enough.
 */
#ifndef SS_MODEL_ATTRIBUTION_WINDOWS_H
#define SS_MODEL_ATTRIBUTION_WINDOWS_H

#include "base/err.h"
#include "base/str.h"
#include "model/intern.h"

struct ss_host;
struct ss_line;
struct ss_plane;

enum ss_step_source { SS_STEPS_NONE, SS_STEPS_MARKED, SS_STEPS_DERIVED, SS_STEPS_INFERRED };

struct ss_str ss_step_source_name(enum ss_step_source s);

struct ss_window {
	int64_t begin_ps, end_ps;
	int64_t num;
	bool outlier; /* takes far longer than most */
};

struct ss_windows {
	enum ss_step_source source;
	bool device_alone;	   /* derived without marks of the program: a pause is of the step before it */
	double confidence_frac;    /* of inferred ones; else 1 */
	struct ss_window *v; /* ascending, disjoint */
	size_t n;
	int64_t begin_ps, end_ps; /* of all; of the recording where there are no steps */
	uint64_t typical_ps;	  /* median length; 0 without steps */
	size_t noutliers, ncut;	  /* ncut: cut off by the begin or end of the recording, and left out */
	struct ss_str name;	  /* of the marker: "train"; "" */
	const struct ss_line *line; /* on which the program marks them, NULL */
};

/* The line is good as long as the host; the rest is the caller's to free with free(v). */
bool ss_windows_find(struct ss_windows *out, struct ss_host *h, struct ss_err *err);
/* behind.c: marks of programs that are not waited for become the time in which threads did their work. */
bool ss_windows_follow_work(struct ss_windows *w, const struct ss_plane *p);
/* launched.c: the same of GPUs, whose work ends at last_ps: the time in which they did what each mark launched. */
bool ss_windows_follow_launches(struct ss_windows *w, const struct ss_host *h, int64_t last_ps);
/* Is this the name of a step marker, whatever its number? */
bool ss_is_step_marker_name(struct ss_str name);

#endif
