/* torch_tool.h - what tools for traces of PyTorch share. */
#ifndef SS_TOOLS_TORCH_TOOL_H
#define SS_TOOLS_TORCH_TOOL_H

#include "model/torch/torch.h"
#include "tools/tool.h"

#include <stdlib.h>

static inline double ss_us(int64_t ns)
{
	return (double)ns / 1000;
}

/*
 * The trace of the one host that was asked for. If PyTorch did not write it, it is empty, and a note
 * is added. NULL: several hosts were asked for, or the trace cannot be read.
 */
const struct ss_torch *ss_torch_asked(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

/* Is one host asked for, and a trace of PyTorch that is open? */
bool ss_torch_is_asked(const struct ss_request *q);

#endif
