/*
 * gpu_cost.h - what an HLO instruction costs on a GPU, from its text alone: XLA's own analysis,
 * measured op by op.
 *
 * GPU profiles do not say how much work an operation was; the compiled program does. The figures do
 * not depend on the GPU. Numbers are floats on the way, as in XLA, so that sums round alike.
 */
#ifndef SS_MODEL_PROGRAM_GPU_COST_H
#define SS_MODEL_PROGRAM_GPU_COST_H

#include "hlo/hlo.h"
#include "model/program/cost.h"

/* Costs of one module, remembered per computation. One thread at a time. */
struct ss_gpu_coster;

/*
 * `m` must be indexed and outlive it. `once`: fused instructions are executed once, as on a CPU, and
 * not once for each use. NULL when memory is out.
 */
struct ss_gpu_coster *ss_gpu_coster_new(const struct ss_hlo_module *m, bool once);
void ss_gpu_coster_free(struct ss_gpu_coster *c);

/*
 * Cost of one execution of instruction `instr` (index into m->instrs). What is malformed or unknown
 * costs 0. False when memory is out.
 */
bool ss_gpu_cost(struct ss_gpu_coster *c, uint32_t instr, struct ss_cost *out);

#endif
