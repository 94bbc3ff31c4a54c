/*
 * op_fused.c - reading fused instructions off the compiled program.
 *
 * They ran as one kernel, so they have neither times nor counts of their own, and what they cost is
 * part of the fusion's cost. Their source is left out, as in XProf: the fusion's says where to
 * look.
 */
#include "model/ops/op_fused.h"

#include "hlo/text.h"
#include "model/program/hlo_map.h"
#include "model/program/hlo_op.h"

#include <stdlib.h>

#define MAX_DEPTH 32	 /* fusions inside of fusions */
#define MAX_NODES 20000 /* below one operation; computations that call each other many times over */
#define MAX_IN_ALL (1u << 20) /* in the whole tree */

struct walk {
	struct ss_op_tree *t;
	const struct ss_hlo_module *m;
	struct ss_arena *arena;
	size_t nodes;
};

static bool skipped(struct ss_str opcode)
{
	return ss_str_is(opcode, "parameter") || ss_str_is(opcode, "tuple");
}

static bool describe(struct walk *w, struct ss_op *op, const struct ss_hlo_instr *in, uint32_t index)
{
	struct ss_buf text = { .limit_bytes = 1 << 20 };
	bool ok = ss_hlo_instr_text(&text, w->m, index, SS_HLO_EXPRESSION);
	/* The program may be closed before the tree is. */
	*op = (struct ss_op){ .name = ss_arena_str(w->arena, in->name), .category = ss_arena_str(w->arena, ss_hlo_category(in)),
			      .occurrences = 1 };
	op->long_name = ss_arena_str(w->arena, ss_buf_get(&text));
	op->provenance = ss_arena_printf(w->arena, SS_FMT ":" SS_FMT, SS_ARG(in->op_name), SS_ARG(in->op_type));
	ok = ok && !text.no_memory;
	ss_buf_free(&text);
	return ok && op->name.p && op->category.p && op->long_name.p && op->provenance.p;
}

static bool add_computation(struct walk *w, uint32_t parent, struct ss_str instr, unsigned depth);

static bool add_instr(struct walk *w, uint32_t parent, uint32_t index, unsigned depth)
{
	struct ss_hlo_instr in;
	ss_hlo_instr_read(w->m->instrs[index], &in);
	if (skipped(in.opcode) || w->nodes >= MAX_NODES || w->t->n >= MAX_IN_ALL)
		return true;
	struct ss_op *op = SS_NEW(w->arena, struct ss_op);
	if (!op || !describe(w, op, &in, index))
		return false;
	uint32_t at = ss_op_tree_add(w->t, parent, op->name);
	if (at == SS_NONE)
		return false;
	w->nodes++;
	w->t->v[at].op = op;
	w->t->v[at].occurrences = 1;
	return !ss_str_is(in.opcode, "fusion") || add_computation(w, at, in.body, depth + 1);
}

/* The contents of the computation that a fusion calls. */
static bool add_computation(struct walk *w, uint32_t parent, struct ss_str instr, unsigned depth)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(instr, HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	if (depth > MAX_DEPTH || !ss_hlo_ids_next(&it, &id))
		return true;
	uint32_t c = ss_hlo_computation_by_id(w->m, id);
	if (c == SS_NONE)
		return true;
	const struct ss_hlo_computation *computation = &w->m->computations[c];
	for (uint32_t i = 0; i < computation->ninstrs; i++)
		if (!add_instr(w, parent, computation->first + i, depth))
			return false;
	return true;
}

/* The program of the operation, in the profile of whichever host carries it; NULL: none does. */
static bool find_module(const struct ss_op_programs *p, uint64_t program_id, const struct ss_hlo_module **out,
			struct ss_err *err)
{
	*out = NULL;
	for (size_t i = 0; !*out && i < p->n; i++) {
		struct ss_hlo_map *map = ss_host_hlo(p->hosts[i], err);
		if (!map || !ss_hlo_map_get(map, (int64_t)program_id, out, err))
			return false;
	}
	return true;
}

bool ss_op_fused_add(struct ss_op_tree *t, uint32_t at, const struct ss_op_programs *programs, const struct ss_op *op,
		     struct ss_arena *arena, struct ss_err *err)
{
	struct walk w = { .t = t, .arena = arena };
	if (!find_module(programs, op->program_id, &w.m, err))
		return false;
	uint32_t index = w.m ? ss_hlo_instr_by_name(w.m, op->name) : SS_NONE;
	if (index == SS_NONE)
		return true;
	struct ss_hlo_instr in;
	ss_hlo_instr_read(w.m->instrs[index], &in);
	return !ss_str_is(in.opcode, "fusion") || add_computation(&w, at, in.body, 0);
}
