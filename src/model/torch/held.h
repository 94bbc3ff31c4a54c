/*
 * held.h - memory in use in each step of a trace of PyTorch, and the allocations that live at the peak
 * (torch.h, allocations.h).
 *
 * Memory in use is the number that the allocator records with each event. Without it (before PyTorch
 * 1.12) it is the sum of the recorded events, which begins at an unknown value: then only differences
 * are known.
 */
#ifndef SS_MODEL_TORCH_HELD_H
#define SS_MODEL_TORCH_HELD_H

#include "model/torch/torch.h"

/* A step, on a device: events from its begin to its end. */
struct ss_torch_step_memory {
	uint32_t device;	/* text */
	int64_t step;
	int64_t allocated_bytes, released_bytes;
	int64_t peak_growth_bytes;	/* the most above its begin */
	int64_t end_bytes;	/* in use at its end, -1: not known */
};

/* Allocations that live at the peak, of one operator in one module. */
struct ss_torch_holder {
	uint32_t device;
	uint32_t op, module;	/* texts, 0: none */
	int64_t blocks, bytes;
	bool before;	/* what was allocated before the recording: blocks are not known */
};

struct ss_torch_held {
	SS_VEC(struct ss_torch_step_memory) steps;
	SS_VEC(struct ss_torch_holder) holders; /* of each device those with the most bytes first */
};

/* False when memory is out. */
bool ss_torch_held(const struct ss_torch *t, struct ss_torch_held *out);
void ss_torch_held_free(struct ss_torch_held *h);

#endif
