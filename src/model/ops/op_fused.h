/*
 * op_fused.h - the instructions inside of a fusion, as children of its node in a tree.
 */
#ifndef SS_MODEL_OPS_OP_FUSED_H
#define SS_MODEL_OPS_OP_FUSED_H

#include "model/ops/op_programs.h"
#include "model/ops/op_tree.h"

/*
 * Below node `at`, which is `op`: what op's instruction fuses, in the program's order, without
 * parameters and tuples, fusions inside of fusions included. Nothing if the profile does not carry
 * the program.
 */
bool ss_op_fused_add(struct ss_op_tree *t, uint32_t at, const struct ss_op_programs *programs, const struct ss_op *op,
		     struct ss_arena *arena, struct ss_err *err);

#endif
