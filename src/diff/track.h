/*
 * track.h - a history of runs in one SQLite file: the metrics of each run, and when they changed.
 */
#ifndef SS_DIFF_TRACK_H
#define SS_DIFF_TRACK_H

#include "diff/run.h"
#include "sqlite/own.h"
#include "table/table.h"

struct ss_track {
	struct ss_own_db db;
};

struct ss_track_label {
	struct ss_str key, value;
};

struct ss_track_run {
	const struct ss_diff_run *run;
	struct ss_str hash, path; /* of the profile's bytes; where it lies */
	int64_t time_ns;
	const struct ss_track_label *labels;
	size_t nlabels;
};

struct ss_track_filter {
	const struct ss_str *metrics; /* none: those of SS_TRACK_DEFAULTS */
	size_t nmetrics;
	const struct ss_track_label *where;
	size_t nwhere;
};

bool ss_track_open(struct ss_track *t, const char *path, bool create, struct ss_err *err);
void ss_track_close(struct ss_track *t);
/* *known: the history already has this profile; it is not changed. Runs in its own transaction. */
bool ss_track_add(struct ss_track *t, const struct ss_track_run *r, bool *known, struct ss_err *err);

struct ss_track_change {
	bool worse_lately;    /* a change for the worse within the last runs of a series */
	size_t runs, longest; /* in all; of the longest series */
	size_t too_short;     /* series of the first metric with too few runs */
};

/* Fill the tables `figures` and `changes`, and the conclusion. `last`: runs of a series that are "lately". */
bool ss_track_result(struct ss_track *t, const struct ss_track_filter *f, size_t last, struct ss_result *out,
		     struct ss_track_change *sum, struct ss_err *err);

#endif
