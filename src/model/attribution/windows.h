/*
 * windows.h - the steps of a host as spans of time, which attribution divides.
 *
 * Steps come from the program's marks (events with a stat step_num, "ProfilerStep#3") on the thread that has most of them;
 * else from the "Steps" line of a device; else from what repeats (inferred.h), if its confidence suffices.
 */
#ifndef SS_MODEL_ATTRIBUTION_WINDOWS_H
#define SS_MODEL_ATTRIBUTION_WINDOWS_H

#include "base/err.h"
#include "base/intern.h"
#include "base/str.h"

struct ss_host;
struct ss_model;
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
	bool as_marked;		   /* between the program's marks on a host without a device: what it calls lies in its step */
	double confidence_frac;    /* of inferred ones; else 1 */
	struct ss_window *v; /* ascending, disjoint */
	size_t n;
	int64_t begin_ps, end_ps; /* of all; of the recording where there are no steps */
	uint64_t typical_ps;	  /* median length, of usual steps if more than a third takes far longer; 0 without steps */
	size_t noutliers, ncut;	  /* ncut: cut off by the begin or end of the recording, and left out */
	struct ss_str name;	  /* of the marker: "train"; "" */
	const struct ss_line *line; /* on which the program marks them, NULL */
};

/* A part of the host. */
const struct ss_windows *ss_host_windows(struct ss_host *h, struct ss_err *err);

struct ss_all_windows {
	struct ss_windows *v; /* of each host, in the model's order */
	size_t n;
};

const struct ss_all_windows *ss_model_windows(struct ss_model *m, struct ss_err *err);

/* Makes what w points to outlive its host. False: memory is out. */
bool ss_windows_intern(struct ss_windows *w, struct ss_intern *k);
/* outliers.c: which steps take far longer than most. False: memory is out. */
bool ss_windows_find_outliers(struct ss_windows *w);
/* 3 where every third step, and no other, takes far longer, and this is not chance; else 0. */
int64_t ss_windows_period(const struct ss_windows *w);
/* The number of ways to choose k steps of n: 56 for 3 of 8. */
double ss_ways_to_choose(size_t n, size_t k);
/* behind.c: marks of programs that are not waited for become the time in which threads did their work. */
bool ss_windows_follow_work(struct ss_windows *w, const struct ss_plane *p);
/* launched.c: the same of GPUs, whose work ends at last_ps: the time in which they did what each mark launched. */
bool ss_windows_follow_launches(struct ss_windows *w, const struct ss_host *h, int64_t last_ps);
/* Is this the name of a step marker, whatever its number? */
bool ss_is_step_marker_name(struct ss_str name);

#endif
