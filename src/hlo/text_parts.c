/* text_parts.c - see text_parts.h. */
#include "hlo/text_parts.h"

/* Chains of asynchronous updates are short; a longer one is not followed. */
#define MAX_CHAIN 64

void ss_hlo_attr(struct ss_hlo_printer *p, const char *name)
{
	ss_buf_z(p->b, p->in_group && p->b->n > p->group_begin ? ", " : p->separator);
	ss_buf_z(p->b, name);
	ss_buf_char(p->b, '=');
}

void ss_hlo_print_name(const struct ss_hlo_printer *p, struct ss_str name)
{
	if (p->style != SS_HLO_SHORT)
		ss_buf_char(p->b, '%');
	ss_buf_str(p->b, name);
}

bool ss_hlo_read_by_id(const struct ss_hlo_module *m, int64_t id, struct ss_hlo_instr *out)
{
	uint32_t at = ss_hlo_instr_by_id(m, id);
	if (at == SS_NONE)
		return false;
	ss_hlo_instr_read(m->instrs[at], out);
	return true;
}

bool ss_hlo_single_instr(const struct ss_hlo_module *m, const struct ss_hlo_computation *c, struct ss_hlo_instr *root)
{
	bool found = false;
	for (uint32_t i = 0; i < c->ninstrs; i++) {
		struct ss_hlo_instr one;
		ss_hlo_instr_read(m->instrs[c->first + i], &one);
		if (one.id == c->root_id) {
			*root = one;
			found = true;
		} else if (!ss_str_is(one.opcode, "parameter")) {
			return false;
		}
	}
	return found;
}

static bool wrapped_of(const struct ss_hlo_module *m, const struct ss_hlo_instr *start, struct ss_hlo_instr *out)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(start->body, HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	uint32_t at = ss_hlo_ids_next(&it, &id) ? ss_hlo_computation_by_id(m, id) : SS_NONE;
	return at != SS_NONE && ss_hlo_single_instr(m, &m->computations[at], out);
}

bool ss_hlo_wrapped_instr(const struct ss_hlo_module *m, const struct ss_hlo_instr *i, struct ss_hlo_instr *out)
{
	struct ss_hlo_instr at = *i;
	for (int k = 0; k < MAX_CHAIN; k++) {
		if (ss_str_is(at.opcode, "async-start"))
			return wrapped_of(m, &at, out);
		struct ss_hlo_ids it = ss_hlo_ids_of(at.body, HLO_INSTRUCTION_OPERAND_IDS);
		int64_t id;
		if (!ss_hlo_ids_next(&it, &id) || !ss_hlo_read_by_id(m, id, &at))
			return false;
	}
	return false;
}

void ss_hlo_print_tmp(const struct ss_hlo_printer *p, uint32_t instr)
{
	ss_buf_printf(p->b, "tmp_%u", p->canonical->numbers[instr]);
}
