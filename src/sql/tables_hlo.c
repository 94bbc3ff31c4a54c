/*
 * tables_hlo.c - the compiled programs that a profile carries: modules, computations, instructions
 * and what ties them.
 */
#include "hlo/links.h"

#include "hlo/shape.h"
#include "hlo/text.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "model/program/hlo_map.h"
#include "model/program/hlo_op.h"
#include "sql/directory.h"
#include "sql/engine.h"
#include "table/cols.h"

#include <math.h>

#define EXPRESSION_BYTES (64u << 20) /* of all instructions' texts */

/* What is asked of each module. */
struct visit {
	struct ss_sql *s;
	struct ss_table *t;
	const struct ss_host *host;
	const struct ss_hlo_entry *entry;
	const struct ss_hlo_module *m;
	struct ss_str title;
	struct ss_buf text;  /* scratch */
	uint64_t left_bytes; /* for texts */
	struct ss_err *err;
};

static bool each_module(struct ss_sql *s, struct ss_table *t, bool (*fn)(struct visit *v),
			struct ss_err *err)
{
	struct visit v = { .s = s, .t = t, .left_bytes = EXPRESSION_BYTES, .err = err };
	bool ok = true;
	for (size_t h = 0; ok && h < s->model->nhosts; h++) {
		struct ss_hlo_map *map =
			ss_host_is_raw(s->model->hosts[h]) ? NULL : ss_host_hlo(s->model->hosts[h], err);
		uint32_t n = 0;
		v.host = s->model->hosts[h];
		if (!map && !ss_host_is_raw(v.host))
			return false;
		const struct ss_hlo_entry *entries = map ? ss_hlo_map_entries(map, &n) : NULL;
		for (uint32_t i = 0; ok && i < n; i++) {
			v.entry = &entries[i];
			v.title = entries[i].title.n ? entries[i].title : entries[i].module.name;
			ok = ss_sql_go_on(s) || ss_fail(err, SS_EBUSY, "time is up");
			ok = ok && ss_hlo_map_at(map, i, &v.m, err) &&
			     (!v.m || fn(&v) || ss_fail_mem(err));
		}
	}
	ss_buf_free(&v.text);
	return ok;
}

/* The scratch text, kept. */
static bool keep(struct visit *v, struct ss_str *out)
{
	if (v->text.no_memory)
		return false;
	*out = v->text.n > v->left_bytes ? SS_SQL_NO_TEXT
					 : ss_arena_str(&v->s->arena, ss_buf_get(&v->text));
	bool ok = out->p || v->text.n > v->left_bytes;
	v->left_bytes -= out->n;
	v->text.n = 0;
	return ok;
}

static const struct ss_hlo_computation *entry_of(const struct ss_hlo_module *m)
{
	uint32_t i = ss_hlo_computation_by_id(m, m->entry_id);
	return i == SS_NONE ? NULL : &m->computations[i];
}

static const struct ss_col module_cols[] = {
	STR("host", "Host", NULL),
	INT("program_id", "Program id", NONE, NULL),
	STR("module", "Module", "name(program id)"),
	STR("entry", "Entry", "Its outermost computation"),
	INT("instructions", "Instructions", COUNT, NULL),
	INT("computations", "Computations", COUNT, NULL),
};

static bool put_module(struct visit *v)
{
	ss_table_row(v->t);
	ss_set_str(v->t, 0, ss_host_name(v->host));
	ss_set_i64(v->t, 1, v->entry->program_id);
	ss_set_str(v->t, 2, v->title);
	ss_set_str(v->t, 3, entry_of(v->m) ? entry_of(v->m)->name : v->m->entry_name);
	ss_set_i64(v->t, 4, v->m->ninstrs);
	ss_set_i64(v->t, 5, v->m->ncomputations);
	return true;
}

static bool fill_modules(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	return each_module(s, t, put_module, err);
}

const struct ss_sql_made ss_sql_made_modules = { "modules", module_cols, SS_COUNT(module_cols),
						 fill_modules, "a compiled program" };

static const struct ss_col computation_cols[] = {
	STR("module", "Module", NULL),
	INT("id", "Id", NONE, NULL),
	STR("name", "Name", NULL),
	FLAG("is_entry", "Entry", NULL),
	INT("instruction_count", "Instructions", COUNT, NULL),
	INT("root_id", "Root", NONE, "Id of the instruction that is its result"),
};

static bool put_computations(struct visit *v)
{
	for (uint32_t i = 0; i < v->m->ncomputations; i++) {
		const struct ss_hlo_computation *c = &v->m->computations[i];
		ss_table_row(v->t);
		ss_set_str(v->t, 0, v->title);
		ss_set_i64(v->t, 1, c->id);
		ss_set_str(v->t, 2, c->name);
		ss_set_bool(v->t, 3, c == entry_of(v->m));
		ss_set_i64(v->t, 4, c->ninstrs);
		ss_set_i64(v->t, 5, c->root_id);
	}
	return true;
}

static bool fill_computations(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	return each_module(s, t, put_computations, err);
}

const struct ss_sql_made ss_sql_made_computations = { "computations", computation_cols,
						      SS_COUNT(computation_cols), fill_computations,
						      "a computation of a compiled program" };

enum {
	I_MODULE,
	I_ID,
	I_NAME,
	I_COMPUTATION,
	I_OPCODE,
	I_CATEGORY,
	I_SHAPE,
	I_DTYPE,
	I_LAYOUT,
	I_ROOT,
	I_BLOCKER,
	I_IN_FUSION,
	I_KERNEL,
	I_OPERANDS,
	I_USERS,
	I_OPERANDS_JSON,
	I_CALLED_JSON,
	I_OP_NAME,
	I_FILE,
	I_LINE,
	I_FLOPS,
	I_BYTES,
	I_SECONDS,
	I_EXPRESSION,
	I_COLS
};

static const struct ss_col instruction_cols[I_COLS] = {
	STR("module", "Module", NULL),
	INT("id", "Id", NONE, NULL),
	STR("name", "Name", NULL),
	STR("computation_name", "Computation", NULL),
	STR("opcode", "Opcode", NULL),
	STR("category", "Category", NULL),
	STR("shape", "Shape", "Without layout"),
	STR("dtype", "Type", "Type of the elements; tuple for several values"),
	STR("layout", "Layout", "The order of dimensions in memory, with tiles"),
	FLAG("is_root", "Root", NULL),
	FLAG("is_fusion_blocker", "Fusion blocker", "bitcast, copy, reshape, convert, transpose"),
	FLAG("is_in_fusion", "In a fusion", NULL),
	FLAG("is_kernel_op", "Kernel", "fusion or custom-call outside of fusions"),
	INT("operand_count", "Operands", COUNT, NULL),
	INT("user_count", "Users", COUNT, NULL),
	STR("operands_json", "Operands' names", "As a list of JSON"),
	STR("called_computations_json", "Called", "Names of computations, as a list of JSON"),
	STR("metadata_op_name", "Name scope", NULL),
	STR("metadata_source_file", "Source file", NULL),
	INT("metadata_source_line", "Source line", NONE, NULL),
	NUM("flops", "FLOPs", FLOPS, "Empty: not known"),
	NUM("bytes_accessed", "Bytes", BYTES, "Empty: not known"),
	NUM("optimal_seconds", "Optimal time", S, "Empty: not known"),
	STR("expression", "Expression", "The instruction in the compiler's notation"),
};

static struct ss_str or_null(struct ss_str s)
{
	return s.n ? s : SS_SQL_NO_TEXT;
}

static bool set_shape(struct visit *v, const struct ss_hlo_instr *in)
{
	struct ss_str shape, whole;
	ss_hlo_shape_print(&v->text, in->shape, false);
	if (!keep(v, &shape))
		return false;
	ss_hlo_shape_print(&v->text, in->shape, true);
	if (!keep(v, &whole))
		return false;
	size_t brace = ss_str_chr(whole, '{');
	bool array = ss_hlo_shape_type(in->shape) != SS_HLO_TUPLE;
	ss_set_str(v->t, I_SHAPE, shape);
	ss_set_str(v->t, I_DTYPE, ss_str_from(ss_hlo_type_name(ss_hlo_shape_type(in->shape))));
	ss_set_str(v->t, I_LAYOUT,
		   array && whole.p && brace != SS_NPOS ? ss_str_sub(whole, brace, whole.n)
							: SS_SQL_NO_TEXT);
	return true;
}

static void put_json_name(struct ss_buf *b, bool first, struct ss_str name)
{
	ss_buf_z(b, first ? "" : ",");
	ss_buf_json_str(b, name);
}

static bool set_lists(struct visit *v, const struct ss_hlo_instr *in, const struct ss_hlo_links *l,
		      uint32_t i)
{
	struct ss_str text;
	uint32_t first = l->operand_first[i];
	ss_buf_char(&v->text, '[');
	for (uint32_t k = first; k < l->operand_first[i + 1] && v->text.n <= v->left_bytes; k++) {
		struct ss_hlo_instr operand;
		ss_hlo_instr_read(v->m->instrs[l->operands[k]], &operand);
		put_json_name(&v->text, k == first, operand.name);
	}
	ss_buf_char(&v->text, ']');
	if (!keep(v, &text))
		return false;
	ss_set_str(v->t, I_OPERANDS_JSON, text);
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	bool any = false;
	ss_buf_char(&v->text, '[');
	while (ss_hlo_ids_next(&it, &id) && v->text.n <= v->left_bytes) {
		uint32_t c = ss_hlo_computation_by_id(v->m, id);
		if (c != SS_NONE)
			put_json_name(&v->text, !any, v->m->computations[c].name);
		any = any || c != SS_NONE;
	}
	ss_buf_char(&v->text, ']');
	if (!keep(v, &text))
		return false;
	ss_set_str(v->t, I_CALLED_JSON, text);
	return true;
}

static bool put_instruction(struct visit *v, const struct ss_hlo_links *l, uint32_t i)
{
	const struct ss_hlo_computation *c = &v->m->computations[l->computation[i]];
	struct ss_hlo_instr in;
	struct ss_str expression;
	ss_hlo_instr_read(v->m->instrs[i], &in);
	ss_table_row(v->t);
	if (!set_shape(v, &in) || !set_lists(v, &in, l, i))
		return false;
	ss_set_str(v->t, I_MODULE, v->title);
	ss_set_i64(v->t, I_ID, in.id);
	ss_set_str(v->t, I_NAME, in.name);
	ss_set_str(v->t, I_COMPUTATION, c->name);
	ss_set_str(v->t, I_OPCODE, in.opcode);
	ss_set_str(v->t, I_CATEGORY, or_null(ss_hlo_category(&in)));
	ss_set_bool(v->t, I_ROOT, in.id == c->root_id);
	ss_set_bool(v->t, I_BLOCKER, ss_hlo_is_fusion_blocker(in.opcode));
	ss_set_bool(v->t, I_IN_FUSION, c->is_fusion);
	ss_set_bool(v->t, I_KERNEL,
		    !c->is_fusion && (ss_str_is(in.opcode, "fusion") ||
				      ss_str_is(in.opcode, "custom-call")));
	ss_set_i64(v->t, I_OPERANDS, l->operand_first[i + 1] - l->operand_first[i]);
	ss_set_i64(v->t, I_USERS, l->user_first[i + 1] - l->user_first[i]);
	ss_set_str(v->t, I_OP_NAME, or_null(in.op_name));
	ss_set_str(v->t, I_FILE, or_null(in.source_file));
	ss_set_i64(v->t, I_LINE, in.source_line ? in.source_line : SS_SQL_NULL);
	ss_set_f64(v->t, I_FLOPS, NAN);
	ss_set_f64(v->t, I_BYTES, NAN);
	ss_set_f64(v->t, I_SECONDS, NAN);
	if (!ss_hlo_instr_text(&v->text, v->m, i, SS_HLO_EXPRESSION) || !keep(v, &expression))
		return false;
	ss_set_str(v->t, I_EXPRESSION, expression);
	return true;
}

static bool put_instructions(struct visit *v)
{
	struct ss_hlo_links l;
	bool ok = ss_hlo_links_of(&l, v->m, &v->s->arena);
	for (uint32_t i = 0; ok && i < v->m->ninstrs; i++)
		ok = put_instruction(v, &l, i);
	return ok;
}

static bool fill_instructions(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	return each_module(s, t, put_instructions, err);
}

const struct ss_sql_made ss_sql_made_instructions = { "instructions", instruction_cols, I_COLS,
						      fill_instructions,
						      "an instruction of a compiled program" };

static const struct ss_col edge_cols[] = {
	STR("module", "Module", NULL),
	INT("src_id", "From", NONE, "Instruction that is used"),
	INT("dst_id", "To", NONE, "Instruction that uses it"),
	INT("operand_index", "Operand", NONE, "Index of the first instruction among the operands of the second"),
};

static int64_t id_of(const struct ss_hlo_module *m, uint32_t i)
{
	struct ss_hlo_instr in;
	ss_hlo_instr_read(m->instrs[i], &in);
	return in.id;
}

static bool put_edges(struct visit *v)
{
	struct ss_hlo_links l;
	if (!ss_hlo_links_of(&l, v->m, &v->s->arena))
		return false;
	for (uint32_t i = 0; i < v->m->ninstrs; i++) {
		int64_t id = id_of(v->m, i);
		for (uint32_t k = l.operand_first[i]; k < l.operand_first[i + 1]; k++) {
			ss_table_row(v->t);
			ss_set_str(v->t, 0, v->title);
			ss_set_i64(v->t, 1, id_of(v->m, l.operands[k]));
			ss_set_i64(v->t, 2, id);
			ss_set_i64(v->t, 3, k - l.operand_first[i]);
		}
	}
	return true;
}

static bool fill_edges(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	return each_module(s, t, put_edges, err);
}

const struct ss_sql_made ss_sql_made_edges = { "edges", edge_cols, SS_COUNT(edge_cols), fill_edges,
					       "a value that one instruction takes from another" };

static const struct ss_col call_cols[] = {
	STR("module", "Module", NULL),
	INT("caller_instr_id", "Caller", NONE, "Id of the instruction"),
	STR("caller_comp_name", "Its computation", NULL),
	STR("callee_comp_name", "Called", NULL),
};

static bool put_calls(struct visit *v)
{
	for (uint32_t c = 0; c < v->m->ncomputations; c++) {
		const struct ss_hlo_computation *comp = &v->m->computations[c];
		for (uint32_t i = comp->first; i < comp->first + comp->ninstrs; i++) {
			struct ss_hlo_ids it =
				ss_hlo_ids_of(v->m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
			int64_t id;
			while (ss_hlo_ids_next(&it, &id)) {
				uint32_t callee = ss_hlo_computation_by_id(v->m, id);
				if (callee == SS_NONE)
					continue;
				ss_table_row(v->t);
				ss_set_str(v->t, 0, v->title);
				ss_set_i64(v->t, 1, id_of(v->m, i));
				ss_set_str(v->t, 2, comp->name);
				ss_set_str(v->t, 3, v->m->computations[callee].name);
			}
		}
	}
	return true;
}

static bool fill_calls(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	return each_module(s, t, put_calls, err);
}

const struct ss_sql_made ss_sql_made_call_edges = { "call_edges", call_cols, SS_COUNT(call_cols),
						    fill_calls,
						    "a computation that an instruction calls" };
