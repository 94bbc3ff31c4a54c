/*
 * step_marker.h - what marks the steps of a device: events of groups on its line "Steps". Of several
 * in a group the longest counts.
 */
#ifndef SS_MODEL_OPS_STEP_MARKER_H
#define SS_MODEL_OPS_STEP_MARKER_H

#include "base/str.h"

struct ss_step_marker {
	int64_t group, begin_ps;
	uint64_t dur_ps;
	struct ss_str name; /* "": by its group */
};

/* The marker of each group that counts first. */
void ss_step_markers_sort(struct ss_step_marker *v, size_t n);

#endif
