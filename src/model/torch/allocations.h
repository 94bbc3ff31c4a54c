/* allocations.h - what PyTorch's allocators did, by device, operator and module (torch.h). */
#ifndef SS_MODEL_TORCH_ALLOCATIONS_H
#define SS_MODEL_TORCH_ALLOCATIONS_H

#include "model/torch/torch.h"

/* Events of 0 bytes count nowhere. */
struct ss_torch_allocator {
	uint32_t device; /* text */
	int64_t reserved_peak_bytes; /* 0: not said */
	int64_t capacity_bytes;	     /* 0: not said */
	int64_t allocations, releases; /* an event of no bytes is neither */
	/* Allocations that were released; that were not; releases of memory that was allocated before. */
	int64_t paired, unreleased, unallocated;
};

/* Sums over all calls of an operator; total adds operators below. */
struct ss_torch_op_memory {
	uint32_t device, name;
	int64_t calls, self_increase_bytes, self_allocated_bytes, self_allocations, increase_bytes, allocated_bytes, allocations;
};

struct ss_torch_allocations {
	SS_VEC(struct ss_torch_allocator) devices; /* in the order of appearance */
	SS_VEC(struct ss_torch_op_memory) ops;	   /* of each device those with the most allocated first */
};

/* Allocated minus freed bytes of one call of an operator; the total includes nested operators. Indexed by operator, of heads. */
struct ss_torch_op_bytes {
	int64_t cpu_self, cpu_total, device_self, device_total;
};

bool ss_torch_is_host_memory(const struct ss_torch *t, const struct ss_torch_memory *m);
/* By number of the operator, for the caller to free; NULL when memory is out. */
struct ss_torch_op_bytes *ss_torch_op_bytes(const struct ss_torch *t);

/* False when memory is out. */
bool ss_torch_allocations(const struct ss_torch *t, struct ss_torch_allocations *out);
void ss_torch_allocations_free(struct ss_torch_allocations *a);

#endif
