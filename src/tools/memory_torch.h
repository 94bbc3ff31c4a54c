/* memory_torch.h - tables of the memory profile that only a trace of PyTorch has. */
#ifndef SS_TOOLS_MEMORY_TORCH_H
#define SS_TOOLS_MEMORY_TORCH_H

#include "model/torch/allocations.h"
#include "tools/tool.h"

/* False when memory is out. */
bool ss_memory_torch_tables(struct ss_result *out, const struct ss_torch *torch, const struct ss_torch_allocations *all);

#endif
