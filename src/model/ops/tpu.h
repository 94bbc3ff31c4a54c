/*
 * tpu.h - one pass over a TensorCore's plane: op totals, and what each step spent on each category.
 *
 * The times of device events are device times (stats device_offset_ps and device_duration_ps) where
 * the profile has them, else the host's.
 */
#ifndef SS_MODEL_OPS_TPU_H
#define SS_MODEL_OPS_TPU_H

#include "model/device/core_details.h"
#include "model/device/op_facts.h"
#include "model/ops/ops.h"

struct ss_host;

/* Self time of one category within one step. */
struct ss_cat_time {
	uint32_t category; /* index into ss_tpu_core.categories */
	uint64_t self_ps;
};

/* One collective within one step. */
struct ss_collective {
	uint64_t id; /* stat all_reduce_unique_id: equal on all cores that take part */
	uint64_t time_ps;
	struct ss_str name; /* of the operation */
};

/* Sums over the ops of one step, as a program: ops that only contain others left out. */
struct ss_program_cost {
	struct ss_cost all, infeed_outfeed; /* the latter is part of the former */
	uint64_t infeed_outfeed_ps;
};

/* A step of one core: a marker on its "Steps" line and at least one op. */
struct ss_core_step {
	int64_t group;
	int64_t begin_ps; /* of the longest marker */
	uint64_t dur_ps;
	struct ss_str name; /* of that marker, mostly the program's number of the step; "": not kept */
	uint32_t first_cat, ncats; /* in ss_tpu_core.cats, by category ascending */
	uint32_t first_collective, ncollectives;
	struct ss_program_cost cost;
};

struct ss_tpu_core {
	const struct ss_plane *plane; /* NULL: the host is closed again, and `ops` empty (steps.h) */
	uint32_t core_id;
	struct ss_core_details details;
	int64_t replica_id; /* -1: the plane does not say */
	struct ss_op_db ops;
	struct ss_str *categories; /* HLO categories in the order of first appearance */
	uint32_t ncategories;
	struct ss_core_step *steps; /* by group ascending */
	size_t nsteps;
	struct ss_cat_time *cats;
	struct ss_collective *collectives;
};

/*
 * Fill `core` from its plane and the work that it handed to SparseCores (NULL: there are none). On
 * failure the caller frees the partial result.
 */
bool ss_tpu_core_build(struct ss_tpu_core *core, const struct ss_host *h, const struct ss_plane *p,
		       const struct ss_sparse_ops *sparse, struct ss_err *err);
void ss_tpu_core_free(struct ss_tpu_core *core);
/* The facts as an operation without executions. */
struct ss_op ss_op_facts_op(const struct ss_op_facts *f);

#endif
