/* op_nodes.c - see op_tree.h. */
#include "model/ops/op_tree.h"

#include "base/vec.h"

uint32_t ss_op_tree_add(struct ss_op_tree *t, uint32_t parent, struct ss_str name)
{
	struct ss_op_node node = { .name = name, .parent = parent, .first_child = SS_NONE,
				   .last_child = SS_NONE, .next = SS_NONE };
	uint32_t at = (uint32_t)t->n;
	if (t->n >= SS_NONE - 1 || !ss_vec_push(t, node))
		return SS_NONE;
	if (parent == SS_NONE)
		return at;
	struct ss_op_node *p = &t->v[parent];
	if (p->last_child == SS_NONE)
		p->first_child = at;
	else
		t->v[p->last_child].next = at;
	p->last_child = at;
	p->nchildren++;
	return at;
}
