/*
 * op_tree.h - device operations as a tree: by program, by category or by the framework's name
 * scopes, down to the instructions inside of fusions (docs/tools/op_profile.md).
 *
 *	root [> program] [> scope > scope ...] > category > copies of one operation > operation
 *		> fused instruction
 */
#ifndef SS_MODEL_OPS_OP_TREE_H
#define SS_MODEL_OPS_OP_TREE_H

#include "model/ops/ops.h"

enum ss_op_grouping { SS_BY_PROGRAM, SS_BY_CATEGORY, SS_BY_PROVENANCE };

struct ss_op_node {
	struct ss_str name;
	uint32_t parent, first_child, last_child, next; /* SS_NONE: none */
	uint32_t nchildren; /* before all but the largest are left out */
	/*
	 * The operation that the node is, or the first of those that it stands for; NULL for root,
	 * programs, scopes and categories. A fused instruction is an operation of its own that ran
	 * once in no time.
	 */
	const struct ss_op *op;
	bool is_copies; /* stands for several copies of `op` */
	uint64_t occurrences, time_ps, normalized_ps;
	uint64_t known_ps, unknown_ps; /* self time of operations whose work is known, and of the others */
	struct ss_cost cost;
};

struct ss_op_tree {
	struct ss_op_node *v; /* v[0] is the root; children by their links, largest first */
	size_t n, cap;
	struct ss_u64map by_name; /* while building */
};

/*
 * `as_xprof`: of devices alone (ss_ops_computed). `idle`: with IDLE as a child of the root, whose
 * time is then the whole time of the device. Names and fused instructions go to `arena`. False when
 * memory is out.
 */
bool ss_op_tree_build(struct ss_op_tree *t, struct ss_model *m, enum ss_op_grouping grouping, bool idle, bool as_xprof,
		      struct ss_arena *arena, struct ss_err *err);
/* Append a child while the tree is built; SS_NONE when memory is out. */
uint32_t ss_op_tree_add(struct ss_op_tree *t, uint32_t parent, struct ss_str name);
void ss_op_tree_free(struct ss_op_tree *t);

#endif
