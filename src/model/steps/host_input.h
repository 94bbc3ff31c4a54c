/*
 * host_input.h - what the host did to prepare input, by kind (docs/tools/input_pipeline_analyzer.md).
 */
#ifndef SS_MODEL_STEPS_HOST_INPUT_H
#define SS_MODEL_STEPS_HOST_INPUT_H

#include "model/ops/ops.h"

enum ss_input_kind {
	SS_INPUT_ENQUEUE,
	SS_INPUT_DEMANDED_READ,
	SS_INPUT_ADVANCED_READ,
	SS_INPUT_PREPROCESSING,
	SS_INPUT_UNKNOWN
};

struct ss_str ss_input_kind_name(enum ss_input_kind kind);

struct ss_input_op {
	const struct ss_op *op;
	enum ss_input_kind kind;
};

struct ss_host_input {
	struct ss_input_op *ops; /* by self time descending, then name; in the arena */
	size_t nops;
	uint64_t self_ps; /* of all of them */
	/*
	 * The input work for which the device waits: the time to enqueue, and of the rest the share
	 * that the device's work does not hide.
	 */
	double enqueue_us, demanded_read_us, advanced_read_us, preprocessing_us, unclassified_us;
	bool uses_tf_data;
};

/*
 * `transfer_ratio`: share of a step that copies to the device take, where no enqueue op tells; else
 * 0. False when memory is out.
 */
bool ss_host_input_of(struct ss_host_input *out, const struct ss_op_db *host, double transfer_ratio,
		      struct ss_arena *arena);

#endif
