/*
 * precision.h - do matrix products run in wide types on a device that has narrower, quicker ones?
 *
 * The names of kernels decide. A kernel whose name has no type is not counted on either side.
 */
#ifndef SS_MODEL_ATTRIBUTION_PRECISION_H
#define SS_MODEL_ATTRIBUTION_PRECISION_H

#include "base/str.h"

#include <stdint.h>

enum ss_width { SS_WIDTH_UNKNOWN, SS_WIDTH_NARROW, SS_WIDTH_WIDE };

/* The type of a kernel that multiplies matrices; unknown for other kernels and for names without a type. */
enum ss_width ss_kernel_width(struct ss_str kernel);

struct ss_precision {
	uint64_t wide_ps, narrow_ps; /* kernels that multiply matrices, by the width of their types */
	struct ss_str wide_kernel;   /* the longest */
	uint64_t wide_kernel_ps;
};

#endif
