/* torch_critical_path.h - the table of `critical_path` that is about one recording of PyTorch. */
#ifndef SS_TOOLS_TORCH_CRITICAL_PATH_H
#define SS_TOOLS_TORCH_CRITICAL_PATH_H

#include "tools/tool.h"

/*
 * Adds `by_step`: what each step waited for, by the walk of model/torch/critical_path.h. Adds
 * nothing where several hosts were asked for, or one that PyTorch's own profiler did not
 * record.
 */
bool ss_torch_add_critical_path(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

#endif
