/* links.c - operands as they stand, users by counting. */
#include "hlo/links.h"

static uint32_t count_operands(const struct ss_hlo_module *m, struct ss_hlo_links *l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_OPERAND_IDS);
		int64_t id;
		l->operand_first[i] = n;
		while (ss_hlo_ids_next(&it, &id)) {
			uint32_t at = ss_hlo_instr_by_id(m, id);
			if (at == SS_NONE)
				continue;
			if (l->operands)
				l->operands[n] = at;
			n++;
		}
	}
	l->operand_first[m->ninstrs] = n;
	return n;
}

/* `last` remembers the last user of each instruction: one that names it twice counts once. */
static void walk_users(const struct ss_hlo_module *m, struct ss_hlo_links *l, uint32_t *last, uint32_t *at)
{
	for (uint32_t i = 0; i < m->ninstrs; i++)
		last[i] = SS_NONE;
	for (uint32_t i = 0; i < m->ninstrs; i++)
		for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++) {
			uint32_t operand = l->operands[k];
			if (last[operand] == i)
				continue;
			last[operand] = i;
			if (l->users)
				l->users[at[operand]] = i;
			at[operand]++;
		}
}

bool ss_hlo_links_of(struct ss_hlo_links *l, const struct ss_hlo_module *m, struct ss_arena *arena)
{
	*l = (struct ss_hlo_links){ 0 };
	l->operand_first = SS_NEW_N(arena, uint32_t, (size_t)m->ninstrs + 1);
	l->user_first = SS_NEW_N(arena, uint32_t, (size_t)m->ninstrs + 1);
	l->computation = SS_NEW_N(arena, uint32_t, m->ninstrs);
	uint32_t *last = SS_NEW_N(arena, uint32_t, m->ninstrs), *at = SS_NEW_N(arena, uint32_t, m->ninstrs);
	if (!l->operand_first || !l->user_first || !l->computation || !last || !at)
		return false;
	for (uint32_t c = 0; c < m->ncomputations; c++)
		for (uint32_t i = 0; i < m->computations[c].ninstrs; i++)
			l->computation[m->computations[c].first + i] = c;
	uint32_t n = count_operands(m, l);
	l->operands = SS_NEW_N(arena, uint32_t, n);
	if (!l->operands)
		return false;
	count_operands(m, l);
	walk_users(m, l, last, at);
	uint32_t sum = 0;
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		uint32_t count = at[i];
		l->user_first[i] = at[i] = sum;
		sum += count;
	}
	l->user_first[m->ninstrs] = sum;
	l->users = SS_NEW_N(arena, uint32_t, sum);
	if (!l->users)
		return false;
	walk_users(m, l, last, at);
	return true;
}
