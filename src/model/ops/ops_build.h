/*
 * ops_build.h - the pieces that ops.c puts together: host threads, GPUs and TPU cores, one host at
 * a time.
 */
#ifndef SS_MODEL_OPS_OPS_BUILD_H
#define SS_MODEL_OPS_OPS_BUILD_H

#include "model/host/forget.h"
#include "model/ops/ops.h"

struct ss_host;

/*
 * Ops on the threads of /host:CPU, finished with IDLE. A host without threads has an empty table.
 */
bool ss_host_thread_ops(struct ss_op_db *db, const struct ss_host *h, struct ss_err *err);
/*
 * Ops of one GPU, finished with IDLE. Texts that are made up go to `arena`. `graphs` (NULL: as events say) gives kernels of
 * CUDA graphs to their instructions.
 */
struct ss_gpu_graphs;
bool ss_gpu_ops(struct ss_op_db *db, struct ss_host *h, const struct ss_plane *p, const struct ss_gpu_graphs *graphs,
		struct ss_arena *arena, struct ss_err *err);
/*
 * The same of instructions that threads of a host without devices ran for the CPU backend of XLA:
 * events with the stat hlo_op. Self time is without the instructions inside (of a call, a loop);
 * how long threads were idle is not known.
 */
bool ss_cpu_ops(struct ss_op_db *db, struct ss_host *h, const struct ss_plane *p, struct ss_arena *arena,
		struct ss_err *err);
/*
 * Kernels of all GPUs of a host, sorted, at most SS_MAX_KERNELS. Names that are made up go to
 * `arena`.
 */
bool ss_host_kernels(struct ss_kernels *out, struct ss_host *h, struct ss_arena *arena, struct ss_err *err);

#define SS_MAX_KERNELS 1000
/* Sort, and keep the first SS_MAX_KERNELS. */
void ss_kernels_sort(struct ss_kernels *k);

#endif
