/*
 * text_canonical.c - an instruction in words that are the same in every program that has it: without names, with the bodies of
 * what it calls, in which instructions are tmp_0, tmp_1 and so on.
 */
#include "hlo/order.h"
#include "hlo/text_parts.h"

#define MOST_DEPTH 32 /* bodies within bodies */

bool ss_hlo_canonical_open(struct ss_hlo_canonical *c, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err)
{
	*c = (struct ss_hlo_canonical){ .m = m, .left_bytes = 64 * (uint64_t)m->bytes.n + 65536 };
	c->numbers = SS_NEW_N(arena, uint32_t, m->ninstrs);
	return (c->numbers || ss_fail_mem(err)) && ss_hlo_order_by_use(&c->order, m, arena, err);
}

static void indent(const struct ss_hlo_printer *p)
{
	for (unsigned k = 0; k < p->depth; k++)
		ss_buf_lit(p->b, "  ");
}

/* A body, from the end of the line on. */
static void print_body(struct ss_hlo_printer *p, uint32_t computation)
{
	const struct ss_hlo_computation *c = &p->m->computations[computation];
	const struct ss_hlo_order *order = &p->canonical->order;
	p->too_deep = p->too_deep || p->depth == MOST_DEPTH;
	if (p->too_deep || p->b->over)
		return;
	ss_buf_char(p->b, '\n');
	indent(p);
	ss_buf_lit(p->b, "{\n");
	p->depth++;
	for (uint32_t k = 0; k < order->nshown[computation]; k++)
		p->canonical->numbers[order->instrs[c->first + k]] = k;
	for (uint32_t k = 0; k < order->nshown[computation] && !p->b->over && !p->b->no_memory && !p->too_deep; k++) {
		uint32_t at = order->instrs[c->first + k];
		struct ss_hlo_instr i;
		ss_hlo_instr_read(p->m->instrs[at], &i);
		indent(p);
		ss_buf_z(p->b, i.id == c->root_id ? "ROOT " : "");
		ss_hlo_print_tmp(p, at);
		ss_buf_lit(p->b, " = ");
		ss_hlo_print_unnamed(p, &i);
		ss_buf_char(p->b, '\n');
	}
	p->depth--;
	indent(p);
	ss_buf_char(p->b, '}');
}

bool ss_hlo_canonical_text(struct ss_hlo_canonical *c, uint32_t instr, struct ss_buf *b, struct ss_str *text)
{
	struct ss_hlo_printer p = { .b = b, .m = c->m, .style = SS_HLO_CANONICAL, .separator = ", ", .canonical = c,
				   .body = print_body };
	size_t limit_bytes = b->limit_bytes;
	*text = SS_STR("");
	b->n = 0;
	b->limit_bytes = (size_t)c->left_bytes;
	struct ss_hlo_instr i;
	ss_hlo_instr_read(c->m->instrs[instr], &i);
	if (c->left_bytes)
		ss_hlo_print_unnamed(&p, &i);
	b->limit_bytes = limit_bytes;
	bool whole = c->left_bytes && !b->over && !p.too_deep;
	c->left_bytes -= b->n < c->left_bytes && !b->over ? b->n : c->left_bytes;
	b->over = false;
	if (whole)
		*text = ss_buf_get(b);
	return !p.no_memory && !b->no_memory;
}
