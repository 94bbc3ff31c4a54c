/* gpu_stats.h - stats of events of a GPU, read once for all callers. */
#ifndef SS_MODEL_OPS_GPU_STATS_H
#define SS_MODEL_OPS_GPU_STATS_H

#include "base/str.h"

struct ss_line;
struct ss_plane;

/* Texts are "" and numbers 0 where the event has no such stat. */
struct ss_gpu_stats {
	struct ss_str details;	/* kernel_details */
	struct ss_str hlo_op, tf_op, equation;
	uint64_t program_id, flops, bytes;
	bool eager;
};

struct ss_gpu_stats ss_gpu_stats_read(const struct ss_plane *p, const struct ss_line *l, uint32_t i);

/* "while.1::fusion.3": the innermost op stands last. */
struct ss_str ss_gpu_innermost(struct ss_str hlo_op);

#endif
