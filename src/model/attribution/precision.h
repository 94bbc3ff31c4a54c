/*
 * precision.h - do matrix products run in wide types on a device that has narrower, quicker ones?
 *
 * Told by the names of kernels: what says nothing is not counted on either side.
 */
#ifndef SS_MODEL_ATTRIBUTION_PRECISION_H
#define SS_MODEL_ATTRIBUTION_PRECISION_H

#include "base/str.h"

#include <stdint.h>

enum ss_width { SS_WIDTH_UNKNOWN, SS_WIDTH_NARROW, SS_WIDTH_WIDE };

/* Of a kernel that multiplies matrices; of others, and of names that do not tell, unknown. */
enum ss_width ss_kernel_width(struct ss_str kernel);

struct ss_precision {
	uint64_t wide_ps, narrow_ps; /* kernels that multiply matrices, by the width of their types */
	struct ss_str wide_kernel;   /* the longest */
	uint64_t wide_kernel_ps;
};

#endif
