/* plane_sums.h - how much each plane of a host holds, with the lines that are derived for people (display_lines.h). */
#ifndef SS_MODEL_TIMELINE_PLANE_SUMS_H
#define SS_MODEL_TIMELINE_PLANE_SUMS_H

#include "base/err.h"

#include <stdint.h>

struct ss_host;

struct ss_plane_sum {
	uint64_t lines, events;
	uint64_t busy_ps;	/* of all durations: nested events count each for itself */
	uint64_t dropped;	/* events that could not be read */
};

/* Part of the host: as many as it has planes, in their order. Loads it. NULL on failure. */
const struct ss_plane_sum *ss_host_plane_sums(struct ss_host *h, struct ss_err *err);

#endif
