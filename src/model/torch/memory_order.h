/* memory_order.h - events of memory, device by device in the order of time: for held.c and allocations.c. */
#ifndef SS_MODEL_TORCH_MEMORY_ORDER_H
#define SS_MODEL_TORCH_MEMORY_ORDER_H

#include "model/torch/torch.h"

struct ss_torch_memory_at {
	int64_t time_ns;
	uint32_t device, event; /* index into t->memory */
};

/* An array of the length of t->memory, from malloc; NULL: out of memory. */
struct ss_torch_memory_at *ss_torch_memory_order(const struct ss_torch *t);

#endif
