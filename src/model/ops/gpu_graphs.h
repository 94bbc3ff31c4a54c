/*
 * gpu_graphs.h - which instruction each kernel of a CUDA graph runs.
 *
 * XLA hands whole computations ("command buffers") to the GPU as one graph. Their kernels have the
 * name of the instruction that calls the computation. Two rules identify the instruction that a
 * kernel runs. XLA names its own kernels after instructions ("loop_add_fusion.1" is
 * loop_add_fusion_1), so a name that only one instruction has, and that occurs once in a replay,
 * identifies it. Kernels of libraries between two such kernels are assigned in order, if the
 * schedule has as many instructions of libraries there, or one. All other kernels stay unknown.
 */
#ifndef SS_MODEL_OPS_GPU_GRAPHS_H
#define SS_MODEL_OPS_GPU_GRAPHS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/ops/gpu_stats.h"
#include "model/program/hlo_map.h"

struct ss_gpu_graphs {
	struct ss_u64map by_event;
	SS_VEC(struct ss_str) names; /* of instructions, as long as the programs live */
	uint64_t graph_ps, known_ps; /* of kernels in graphs of programs; of those whose instruction is known */
};

/* Empty for a plane without graphs. */
bool ss_gpu_graphs_read(struct ss_gpu_graphs *g, const struct ss_plane *p, struct ss_hlo_map *hlo, struct ss_err *err);
void ss_gpu_graphs_free(struct ss_gpu_graphs *g);
/* The instruction; "" where the event says best itself. */
struct ss_str ss_gpu_graph_instr(const struct ss_gpu_graphs *g, uint32_t line, uint32_t event);

#endif
