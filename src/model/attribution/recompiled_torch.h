/*
 * recompiled_torch.h - what torch.compile compiled again, and what changed, where a trace of PyTorch tells it.
 */
#ifndef SS_MODEL_ATTRIBUTION_RECOMPILED_TORCH_H
#define SS_MODEL_ATTRIBUTION_RECOMPILED_TORCH_H

#include "model/program/recompiled.h"

struct ss_host;

/* The recompilations of the frame that took longest. Texts go to `arena`. */
bool ss_recompiled_torch(struct ss_recompiled *out, struct ss_host *h, struct ss_arena *arena, struct ss_err *err);

#endif
