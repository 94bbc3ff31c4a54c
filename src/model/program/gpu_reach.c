/*
 * gpu_reach.c - which instructions XLA's cost analysis comes to.
 *
 * It begins with the entry computation and follows calls, but for the comparators of sorts, what
 * custom calls name, and custom fusions that a gather or scatter stands for. Everything else costs
 * nothing, so that what the events themselves say of their cost counts.
 */
#include "model/program/gpu_coster.h"

#include <stdlib.h>

struct walk {
	const struct ss_gpu_coster *c;
	bool *reached;		/* per instruction */
	uint32_t *stack;	/* computations that were reached; each is put there once */
	uint32_t depth;
};

static void reach(struct walk *w, uint32_t computation)
{
	const struct ss_hlo_computation *k = &w->c->m->computations[computation];
	if (!k->ninstrs || w->reached[k->first])
		return;
	for (uint32_t i = 0; i < k->ninstrs; i++)
		w->reached[k->first + i] = true;
	w->stack[w->depth++] = computation;
}

static bool is_followed(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in)
{
	if (ss_str_is(in->opcode, "sort") || ss_str_is(in->opcode, "custom-call"))
		return false;
	return !ss_str_is(in->opcode, "fusion") || ss_gpu_custom_part(c, in) == SS_NONE;
}

static void follow(struct walk *w, uint32_t instr)
{
	const struct ss_hlo_module *m = w->c->m;
	struct ss_hlo_instr in;
	int64_t id;
	ss_hlo_instr_read(m->instrs[instr], &in);
	struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_CALLED_IDS);
	bool any = ss_hlo_ids_next(&it, &id);
	for (any = any && is_followed(w->c, &in); any; any = ss_hlo_ids_next(&it, &id)) {
		uint32_t which = ss_hlo_computation_by_id(m, id);
		if (which != SS_NONE)
			reach(w, which);
	}
}

bool ss_gpu_reach(const struct ss_gpu_coster *c, bool *reached)
{
	const struct ss_hlo_module *m = c->m;
	struct walk w = { .c = c, .reached = reached, .stack = malloc(((size_t)m->ncomputations + 1) * sizeof(uint32_t)) };
	uint32_t entry = ss_hlo_computation_by_id(m, m->entry_id);
	if (!w.stack)
		return false;
	if (entry != SS_NONE)
		reach(&w, entry);
	while (w.depth) {
		const struct ss_hlo_computation *k = &m->computations[w.stack[--w.depth]];
		for (uint32_t i = 0; i < k->ninstrs; i++)
			follow(&w, k->first + i);
	}
	free(w.stack);
	return true;
}
