/* torch_collectives.h - the table of `collectives` that is about one recording of PyTorch. */
#ifndef SS_TOOLS_TORCH_COLLECTIVES_H
#define SS_TOOLS_TORCH_COLLECTIVES_H

#include "tools/tool.h"

/*
 * Adds `by_shape`: collectives of one rank by kind, group, type and size. Adds nothing where
 * several hosts were asked for, or one that is no trace of PyTorch.
 */
bool ss_torch_collectives(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

#endif
