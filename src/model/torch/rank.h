/*
 * rank.h - one rank of a PyTorch job: what its mean step consists of, and how long it was in each call of a
 * collective, by what joins it with the calls of other ranks.
 */
#ifndef SS_MODEL_TORCH_RANK_H
#define SS_MODEL_TORCH_RANK_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct ss_host;

#define SS_TORCH_NO_GROUP 0

/* In the order of begin. */
struct ss_torch_rank_call {
	uint64_t key;		/* kind and group; SS_TORCH_NO_GROUP: no one can tell which group of several */
	int64_t nth;		/* of this key on this rank, from 0 */
	int64_t sequence;	/* as the trace numbers them; -1: it does not */
	int64_t dur_ns;
};

struct ss_torch_rank {
	bool is_torch;		/* else nothing is known */
	int64_t number;		/* -1: not said */
	double computation_us, overlap_us, communication_us, other_us; /* of the mean step: model/torch/steps.h, by the device */
	struct ss_torch_rank_call *calls;
	size_t ncalls;
};

/* Part of the host. NULL on failure. */
const struct ss_torch_rank *ss_host_torch_rank(struct ss_host *h, struct ss_err *err);

#endif
