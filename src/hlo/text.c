/* text.c - printing modules, computations and instructions. */
#include "hlo/text.h"

#include "base/vec.h"
#include "hlo/config.h"
#include "hlo/literal.h"
#include "hlo/order.h"
#include "hlo/shape.h"
#include "hlo/stack.h"
#include "hlo/text_parts.h"

#include <stdlib.h>

#define FEW_ELEMENTS 10

/* --- asynchronous wrappings -------------------------------------------------------------------- */

/* Is this computation nothing but the wrapping of one instruction for another thread? It is not shown then. */
static bool hlo_is_wrapping(const struct ss_hlo_module *m, const struct ss_hlo_computation *c)
{
	/* The printer does not look up callers: it marks the computations that async-starts call. */
	struct ss_hlo_instr root;
	return ss_hlo_single_instr(m, c, &root);
}

/* "custom-call-start" for an async-start that wraps a custom call. */
static void print_opcode(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_instr wrapped;
	const struct ss_str async = SS_STR("async-");
	if (ss_str_starts(i->opcode, async) && ss_hlo_wrapped_instr(p->m, i, &wrapped)) {
		ss_buf_str(p->b, wrapped.opcode);
		ss_buf_char(p->b, '-');
		ss_buf_str(p->b, ss_str_sub(i->opcode, async.n, i->opcode.n));
	} else {
		ss_buf_str(p->b, i->opcode);
	}
}

/* --- instructions ------------------------------------------------------------------------------ */

static void print_operand(struct ss_hlo_printer *p, int64_t id)
{
	struct ss_hlo_instr operand;
	if (!ss_hlo_read_by_id(p->m, id, &operand)) {
		ss_hlo_print_name(p, SS_STR("?"));
		return;
	}
	bool canonical = p->style == SS_HLO_CANONICAL, named = !canonical || p->depth;
	if (canonical || p->style == SS_HLO_EXPRESSION)
		ss_hlo_shape_print(p->b, operand.shape, true);
	if (named && (canonical || p->style == SS_HLO_EXPRESSION))
		ss_buf_char(p->b, ' ');
	if (named && canonical)
		ss_hlo_print_tmp(p, ss_hlo_instr_by_id(p->m, id));
	else if (named)
		ss_hlo_print_name(p, operand.name);
}

static void print_operands(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str literal = { "", 0 };
	if (ss_str_is(i->opcode, "parameter")) {
		ss_buf_i64(p->b, i->parameter_number);
		return;
	}
	if (ss_str_is(i->opcode, "constant")) {
		if (ss_hlo_field(i->body, HLO_INSTRUCTION_LITERAL, &literal))
			p->no_memory |= !ss_hlo_literal_print(p->b, literal, p->style == SS_HLO_LONG ? UINT64_MAX : FEW_ELEMENTS);
		else
			ss_buf_lit(p->b, "{...}");
		return;
	}
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		if (k)
			ss_buf_lit(p->b, ", ");
		if (k && k % 5 == 0 && p->style != SS_HLO_SHORT && p->style != SS_HLO_CANONICAL)
			ss_buf_printf(p->b, "/*index=%u*/", k);
		print_operand(p, id);
	}
}

static void print_predecessors(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_CONTROL_IDS);
	struct ss_hlo_instr before;
	int64_t id;
	bool any = false;
	for (; ss_hlo_ids_next(&it, &id); any = true) {
		ss_buf_z(p->b, any ? ", " : p->separator);
		ss_buf_z(p->b, any ? "" : "control-predecessors={");
		ss_hlo_print_name(p, ss_hlo_read_by_id(p->m, id, &before) ? before.name : SS_STR("?"));
	}
	if (any)
		ss_buf_char(p->b, '}');
}

/* {{"a" {0}}, {"b"}}: which values of the program as it was written this one holds. */
static void print_origin(struct ss_hlo_printer *p, struct ss_str body)
{
	struct ss_str value, element, array, name;
	if (!ss_hlo_field(body, HLO_INSTRUCTION_ORIGINAL_VALUE, &value) || !ss_hlo_has(value, ORIGINAL_VALUE_ELEMENTS))
		return;
	struct ss_pb c = ss_pb_of(value);
	bool first = true, tuple = false;
	ss_buf_lit(p->b, ", origin={");
	for (; ss_hlo_next_field(&c, ORIGINAL_VALUE_ELEMENTS, &element); first = false) {
		array = name = SS_STR("");
		ss_hlo_field(element, ORIGINAL_ELEMENT_ARRAY, &array);
		ss_hlo_field(array, ORIGINAL_ARRAY_INSTRUCTION, &name);
		if (first && ss_hlo_has(element, ORIGINAL_ELEMENT_INDEX)) {
			tuple = true;
			ss_buf_char(p->b, '(');
		}
		ss_buf_z(p->b, first ? "{" : ", {");
		if (name.n) {
			ss_buf_char(p->b, '"');
			ss_hlo_print_escaped(p->b, name);
			ss_buf_char(p->b, '"');
		}
		if (ss_hlo_has(array, ORIGINAL_ARRAY_INDEX)) {
			ss_buf_lit(p->b, " {");
			ss_hlo_print_ints(p->b, array, ORIGINAL_ARRAY_INDEX);
			ss_buf_char(p->b, '}');
		}
		ss_buf_char(p->b, '}');
	}
	ss_buf_z(p->b, tuple ? ")}" : "}");
}

static void print_statistics(struct ss_hlo_printer *p, struct ss_str body)
{
	struct ss_str viz, one, name;
	if (!ss_hlo_field(body, HLO_INSTRUCTION_STATISTICS, &viz) || !ss_hlo_has(viz, STATISTICS_LIST))
		return;
	ss_buf_z(p->b, p->separator);
	ss_buf_printf(p->b, "statistics={visualizing_index=%lld", (long long)ss_hlo_field_u64(viz, STATISTICS_INDEX));
	struct ss_pb c = ss_pb_of(viz);
	while (ss_hlo_next_field(&c, STATISTICS_LIST, &one)) {
		name = SS_STR("");
		ss_hlo_field(one, 1, &name);
		ss_buf_char(p->b, ',');
		ss_buf_str(p->b, name);
		ss_buf_printf(p->b, "=%g", ss_hlo_field_f64(one, 2));
	}
	ss_buf_char(p->b, '}');
}

/* The source of the instruction is shown if it is known. */
static void print_origin_in_source(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str metadata;
	if (!p->metadata || !(i->op_type.n || i->op_name.n || i->source_file.n || i->stack_frame_id))
		return;
	if (!ss_hlo_field(i->body, HLO_INSTRUCTION_METADATA, &metadata))
		return;
	ss_buf_lit(p->b, ", metadata={");
	ss_hlo_print_metadata(p, metadata);
	ss_buf_char(p->b, '}');
}

/* From the first bracket to its partner, which is the end; what stands between need not be JSON. */
static bool is_bracketed(struct ss_str text)
{
	size_t depth = 0, i = 0;
	bool quoted = false;
	for (; i < text.n; i++) {
		char c = text.p[i];
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && c == '{')
			depth++;
		else if (!quoted && c == '}' && --depth == 0)
			break;
		if (depth == 0)
			return false;
	}
	return i + 1 == text.n;
}

/* Print a bracketed value unchanged, and any other value as a string. */
static void print_backend_config(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str config = ss_hlo_backend_config(i->body);
	if (!config.n)
		return;
	ss_buf_lit(p->b, ", backend_config=");
	if (!is_bracketed(config)) {
		ss_buf_char(p->b, '"');
		ss_hlo_print_escaped(p->b, config);
		ss_buf_char(p->b, '"');
		return;
	}
	ss_hlo_backend_config_print(p->b, config);
}

/* First the attributes of the opcode, then those of any instruction. */
static void print_all_attributes(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str bytes;
	ss_hlo_print_attributes(p, i);
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_SHARDING, &bytes)) {
		ss_buf_z(p->b, p->separator);
		ss_buf_lit(p->b, "sharding=");
		ss_hlo_print_sharding(p, bytes);
	}
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_FRONTEND_ATTRIBUTES, &bytes) && ss_hlo_has(bytes, FRONTEND_ATTRIBUTES_MAP)) {
		ss_buf_z(p->b, p->separator);
		ss_buf_lit(p->b, "frontend_attributes=");
		ss_hlo_print_frontend_attributes(p, bytes);
	}
	if (p->style == SS_HLO_LONG || p->style == SS_HLO_EXPRESSION)
		print_predecessors(p, i);
}

void ss_hlo_print_unnamed(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	bool whole = p->style == SS_HLO_SHORT || p->style == SS_HLO_LONG;
	ss_hlo_shape_print(p->b, i->shape, true);
	ss_buf_char(p->b, ' ');
	print_opcode(p, i);
	ss_buf_char(p->b, '(');
	print_operands(p, i);
	ss_buf_char(p->b, ')');
	print_all_attributes(p, i);
	if (whole)
		print_origin(p, i->body);
	print_statistics(p, i->body);
	print_origin_in_source(p, i);
	if (whole)
		print_backend_config(p, i);
}

static void print_instr(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	ss_hlo_print_name(p, i->name);
	ss_buf_lit(p->b, " = ");
	ss_hlo_print_unnamed(p, i);
}

bool ss_hlo_instr_text(struct ss_buf *b, const struct ss_hlo_module *m, uint32_t instr, enum ss_hlo_style style)
{
	struct ss_hlo_printer p = { .b = b, .m = m, .style = style, .separator = ", " };
	struct ss_hlo_instr i;
	ss_hlo_instr_read(m->instrs[instr], &i);
	print_instr(&p, &i);
	return !p.no_memory;
}

bool ss_hlo_instr_attributes(struct ss_buf *b, const struct ss_hlo_module *m, uint32_t instr)
{
	struct ss_hlo_printer p = {
		.b = b, .m = m, .style = SS_HLO_LONG, .separator = "\n", .no_calls = true, .metadata = true
	};
	struct ss_hlo_instr i;
	size_t before = b->n;
	ss_hlo_instr_read(m->instrs[instr], &i);
	print_all_attributes(&p, &i);
	print_statistics(&p, i.body);
	/* Every attribute has brought its separator; the first needs none. */
	if (b->n > before) {
		memmove(b->p + before, b->p + before + 1, b->n - before - 1);
		b->n--;
	}
	return !p.no_memory;
}

/* --- computations ------------------------------------------------------------------------------ */

struct param {
	int64_t number;
	struct ss_str name, shape;
};

static int by_number(const void *a, const void *b)
{
	int64_t na = ((const struct param *)a)->number, nb = ((const struct param *)b)->number;
	return SS_CMP(na, nb);
}

/* "(a: f32[2], b: s32[]) -> f32[2]" */
static void print_signature(struct ss_hlo_printer *p, const struct ss_hlo_computation *c)
{
	SS_VEC(struct param) params = { 0 };
	struct ss_hlo_instr i, root;
	ss_hlo_instr_read(SS_STR(""), &root);
	for (uint32_t k = 0; k < c->ninstrs; k++) {
		ss_hlo_instr_read(p->m->instrs[c->first + k], &i);
		if (i.id == c->root_id)
			root = i;
		if (ss_str_is(i.opcode, "parameter"))
			p->no_memory |= !ss_vec_push(&params, (struct param){ i.parameter_number, i.name, i.shape });
	}
	if (params.n)
		qsort(params.v, params.n, sizeof(*params.v), by_number);
	ss_buf_lit(p->b, " (");
	for (size_t k = 0; k < params.n; k++) {
		if (k)
			ss_buf_lit(p->b, ", ");
		ss_buf_str(p->b, params.v[k].name);
		ss_buf_lit(p->b, ": ");
		ss_hlo_shape_print(p->b, params.v[k].shape, false);
	}
	ss_buf_lit(p->b, ") -> ");
	ss_hlo_shape_print(p->b, root.shape, false);
	ss_vec_free(&params);
}

static void print_computation(struct ss_hlo_printer *p, const struct ss_hlo_order *order, uint32_t index)
{
	const struct ss_hlo_computation *c = &p->m->computations[index];
	struct ss_str thread = { "", 0 };
	if (c->id == p->m->entry_id)
		ss_buf_lit(p->b, "ENTRY ");
	ss_hlo_print_name(p, c->name);
	if (p->style != SS_HLO_SHORT)
		print_signature(p, c);
	ss_buf_lit(p->b, " {\n");
	for (uint32_t k = 0; k < order->nshown[index] && !p->b->over && !p->b->no_memory; k++) {
		struct ss_hlo_instr i;
		ss_hlo_instr_read(p->m->instrs[order->instrs[c->first + k]], &i);
		ss_buf_z(p->b, i.id == c->root_id ? "  ROOT " : "  ");
		print_instr(p, &i);
		ss_buf_char(p->b, '\n');
	}
	ss_buf_char(p->b, '}');
	ss_hlo_field(c->body, HLO_COMPUTATION_THREAD, &thread);
	if (thread.n && !ss_str_is(thread, "main")) {
		ss_buf_lit(p->b, ", execution_thread=\"");
		ss_buf_str(p->b, thread);
		ss_buf_char(p->b, '"');
	}
	ss_buf_lit(p->b, "\n\n");
}

/* Computations that are nothing but the wrapping of one instruction are shown inside of the async-start that calls them. */
static void mark_wrappings(const struct ss_hlo_module *m, bool *hidden)
{
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		struct ss_hlo_instr instr;
		int64_t id;
		ss_hlo_instr_read(m->instrs[i], &instr);
		if (!ss_str_is(instr.opcode, "async-start"))
			continue;
		struct ss_hlo_ids it = ss_hlo_ids_of(instr.body, HLO_INSTRUCTION_CALLED_IDS);
		uint32_t at = ss_hlo_ids_next(&it, &id) ? ss_hlo_computation_by_id(m, id) : SS_NONE;
		if (at != SS_NONE && hlo_is_wrapping(m, &m->computations[at]))
			hidden[at] = true;
	}
}

/* --- module ------------------------------------------------------------------------------------ */

static void print_aliases(struct ss_hlo_printer *p)
{
	struct ss_str config, entry;
	if (!ss_hlo_field(p->m->body, HLO_MODULE_ALIASES, &config) || !ss_hlo_has(config, ALIASES_ENTRIES))
		return;
	struct ss_pb c = ss_pb_of(config);
	ss_buf_lit(p->b, ", input_output_alias={ ");
	for (const char *comma = ""; ss_hlo_next_field(&c, ALIASES_ENTRIES, &entry); comma = ", ") {
		ss_buf_z(p->b, comma);
		ss_buf_char(p->b, '{');
		ss_hlo_print_ints(p->b, entry, ALIAS_OUTPUT_INDEX);
		ss_buf_printf(p->b, "}: (%lld, {", (long long)ss_hlo_field_u64(entry, ALIAS_PARAMETER));
		ss_hlo_print_ints(p->b, entry, ALIAS_PARAMETER_INDEX);
		ss_buf_printf(p->b, "}, %s)", ss_hlo_field_u64(entry, ALIAS_KIND) == 2 ? "must-alias" : "may-alias");
	}
	ss_buf_lit(p->b, " }");
}

static void print_donors(struct ss_hlo_printer *p)
{
	struct ss_str config, entry;
	if (!ss_hlo_field(p->m->body, HLO_MODULE_BUFFER_DONOR, &config) || !ss_hlo_has(config, BUFFER_DONOR_ENTRIES))
		return;
	struct ss_pb c = ss_pb_of(config);
	ss_buf_lit(p->b, ", buffer_donor={ ");
	for (const char *comma = ""; ss_hlo_next_field(&c, BUFFER_DONOR_ENTRIES, &entry); comma = ", ") {
		ss_buf_printf(p->b, "%s(%lld, {", comma, (long long)ss_hlo_field_u64(entry, DONOR_PARAMETER));
		ss_hlo_print_ints(p->b, entry, DONOR_PARAMETER_INDEX);
		ss_buf_lit(p->b, "})");
	}
	ss_buf_lit(p->b, " }");
}

static void print_entry_layout(struct ss_hlo_printer *p)
{
	struct ss_str program, shape = { "", 0 };
	if (!ss_hlo_field(p->m->body, HLO_MODULE_HOST_SHAPE, &program))
		return;
	struct ss_pb c = ss_pb_of(program);
	ss_buf_lit(p->b, ", entry_computation_layout={(");
	for (uint32_t k = 0; ss_hlo_next_field(&c, PROGRAM_SHAPE_PARAMETERS, &shape); k++) {
		if (k)
			ss_buf_lit(p->b, ", ");
		if (k && k % 5 == 0)
			ss_buf_printf(p->b, "/*index=%u*/", k);
		ss_hlo_shape_print(p->b, shape, true);
	}
	ss_buf_lit(p->b, ")->");
	shape = SS_STR("");
	ss_hlo_field(program, PROGRAM_SHAPE_RESULT, &shape);
	ss_hlo_shape_print(p->b, shape, true);
	ss_buf_char(p->b, '}');
}

static void print_head(struct ss_hlo_printer *p)
{
	struct ss_str attributes;
	ss_buf_lit(p->b, "HloModule ");
	ss_buf_str(p->b, p->m->name);
	if (ss_hlo_is_scheduled(p->m))
		ss_buf_lit(p->b, ", is_scheduled=true");
	print_aliases(p);
	print_donors(p);
	print_entry_layout(p);
	if (ss_hlo_field(p->m->body, HLO_MODULE_FRONTEND_ATTRIBUTES, &attributes) &&
	    ss_hlo_has(attributes, FRONTEND_ATTRIBUTES_MAP)) {
		ss_buf_lit(p->b, ", frontend_attributes=");
		ss_hlo_print_frontend_attributes(p, attributes);
	}
	ss_buf_lit(p->b, "\n\n");
}

bool ss_hlo_text(struct ss_buf *b, const struct ss_hlo_module *m, enum ss_hlo_style style, bool metadata, struct ss_err *err)
{
	struct ss_hlo_printer p = { .b = b, .m = m, .style = style, .metadata = metadata, .separator = ", " };
	struct ss_arena arena = { 0 };
	struct ss_hlo_order order;
	struct ss_hlo_stacks stacks;
	bool *hidden = calloc((size_t)m->ncomputations + 1, sizeof(*hidden));
	bool ok = hidden && ss_hlo_stacks_read(&stacks, m, &arena);
	ok = (ok || ss_fail_mem(err)) && ss_hlo_order_of(&order, m, &arena, err);
	if (ok) {
		mark_wrappings(m, hidden);
		print_head(&p);
		ok = !metadata || ss_hlo_print_stacks(&p, &stacks) || ss_fail_mem(err);
	}
	for (uint32_t i = 0; ok && i < m->ncomputations && !b->over && !b->no_memory; i++)
		if (!hidden[order.computations[i]])
			print_computation(&p, &order, order.computations[i]);
	free(hidden);
	free(p.frames);
	ss_arena_release(&arena);
	return ok && (!p.no_memory || ss_fail_mem(err)) && ss_buf_ok(b, "the program's text", err);
}
