/* gpu_instr.c - see gpu_coster.h: what operations and their shapes say. */
#include "model/program/gpu_coster.h"

#include <math.h>

void ss_gpu_instr_read(const struct ss_gpu_coster *c, uint32_t instr, struct ss_gpu_instr *out)
{
	ss_hlo_instr_read(c->m->instrs[instr], &out->in);
	out->type = ss_hlo_shape_type(out->in.shape);
	out->elements = out->type == SS_HLO_TUPLE ? 0 : ss_gpu_elements(out->in.shape);
}

uint32_t ss_gpu_operand(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, uint32_t k)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	while (ss_hlo_ids_next(&it, &id))
		if (k-- == 0)
			return ss_hlo_instr_by_id(c->m, id);
	return SS_NONE;
}

uint32_t ss_gpu_operand_count(const struct ss_hlo_instr *in)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	uint32_t n = 0;
	int64_t id;
	while (ss_hlo_ids_next(&it, &id))
		n++;
	return n;
}

struct ss_str ss_gpu_shape(const struct ss_gpu_coster *c, uint32_t instr)
{
	struct ss_hlo_instr in;
	if (instr == SS_NONE)
		return (struct ss_str){ "", 0 };
	ss_hlo_instr_read(c->m->instrs[instr], &in);
	return in.shape;
}

uint32_t ss_gpu_called(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, uint32_t k)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	while (ss_hlo_ids_next(&it, &id))
		if (k-- == 0)
			return ss_hlo_computation_by_id(c->m, id);
	return SS_NONE;
}

float ss_gpu_elements(struct ss_str shape)
{
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return (float)ss_hlo_shape_elements(shape);
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	float sum = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) &&
		    ss_hlo_shape_type(f.bytes) != SS_HLO_TUPLE)
			sum += (float)ss_hlo_shape_elements(f.bytes);
	return sum;
}

struct ss_str ss_gpu_first_array(struct ss_str shape)
{
	return ss_hlo_shape_type(shape) == SS_HLO_TUPLE ? ss_hlo_tuple_at(shape, 0) : shape;
}

int64_t ss_gpu_dim(struct ss_str shape, int64_t d)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS);
	int64_t size;
	while (d >= 0 && ss_hlo_ids_next(&it, &size))
		if (d-- == 0)
			return size > 0 ? size : 0;
	return 0;
}

int64_t ss_gpu_nth(struct ss_str body, uint32_t number, int64_t k)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(body, number);
	int64_t v;
	while (k >= 0 && ss_hlo_ids_next(&it, &v))
		if (k-- == 0)
			return v;
	return -1;
}

/* A computation of nothing but elementwise instructions. */
static bool all_elementwise(const struct ss_gpu_coster *c, const struct ss_hlo_instr *fusion)
{
	uint32_t which = ss_gpu_called(c, fusion, 0);
	if (which == SS_NONE)
		return false;
	const struct ss_hlo_computation *k = &c->m->computations[which];
	for (uint32_t i = 0; i < k->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(c->m->instrs[k->first + i], &in);
		bool plain = ss_hlo_is_elementwise(in.opcode) || ss_str_is(in.opcode, "copy");
		if (!ss_str_is(in.opcode, "parameter") &&
		    (!plain || ss_str_is(in.opcode, "constant")))
			return false;
	}
	return true;
}

bool ss_gpu_is_elementwise(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in)
{
	if (ss_str_is(in->opcode, "fusion"))
		return all_elementwise(c, in);
	if (ss_str_is(in->opcode, "constant"))
		return false;
	return ss_hlo_is_elementwise(in->opcode) || ss_str_is(in->opcode, "copy");
}

/*
 * A custom fusion around a gather or scatter costs what that does: its other operands are those of
 * the fusion. SS_NONE: it is none.
 */
uint32_t ss_gpu_custom_part(const struct ss_gpu_coster *c, const struct ss_hlo_instr *fusion)
{
	uint32_t which = ss_gpu_called(c, fusion, 0);
	if (!ss_str_is(fusion->opcode, "fusion") || !ss_str_is(fusion->fusion_kind, "kCustom") ||
	    which == SS_NONE)
		return SS_NONE;
	const struct ss_hlo_computation *k = &c->m->computations[which];
	for (uint32_t i = 0; i < k->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(c->m->instrs[k->first + i], &in);
		if (ss_str_is(in.opcode, "gather") || ss_str_is(in.opcode, "scatter"))
			return k->first + i;
	}
	return SS_NONE;
}

uint32_t ss_gpu_begun(const struct ss_gpu_coster *c, const struct ss_hlo_instr *start)
{
	uint32_t which = ss_gpu_called(c, start, 0);
	uint32_t root = which == SS_NONE ? SS_NONE : ss_hlo_instr_by_id(c->m, c->m->computations[which].root_id);
	struct ss_hlo_instr in;
	if (root == SS_NONE)
		return SS_NONE;
	ss_hlo_instr_read(c->m->instrs[root], &in);
	return ss_str_is(in.opcode, "reduce-scatter") ? root : SS_NONE;
}
