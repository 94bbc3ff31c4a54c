/*
 * hlo_op.h - what an HLO instruction is and how it moves over its data.
 */
#ifndef SS_MODEL_PROGRAM_HLO_OP_H
#define SS_MODEL_PROGRAM_HLO_OP_H

#include "hlo/hlo.h"

/* HLO category of an instruction as XProf names it on GPUs: "loop fusion", "convolution", "data formatting" ... */
struct ss_str ss_hlo_category(const struct ss_hlo_instr *in);
/* Works on each element by itself. */
bool ss_hlo_is_elementwise(struct ss_str opcode);

/* Moves or converts data alone, so that it often stands between what could be fused: XProf's fusion blockers. */
bool ss_hlo_is_fusion_blocker(struct ss_str opcode);

/* The window of a convolution or reduce-window, dimension by dimension. */
struct ss_hlo_window_dim {
	int64_t size, stride, padding_low, window_dilation, base_dilation;
};

struct ss_hlo_window {
	struct ss_pb c;
};

struct ss_hlo_window ss_hlo_window_of(struct ss_str instruction);
bool ss_hlo_window_next(struct ss_hlo_window *w, struct ss_hlo_window_dim *d);

#endif
