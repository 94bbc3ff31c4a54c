/*
 * graph_viewer.c - a compiled program as a graph around one instruction, as text, and as a proto.
 *
 * type=graph is tables of nodes, boxes and edges (emit/shape_graph_viewer.c draws them for XProf's
 * clients); type=names, which XProf does not have, finds instructions by a part of their name; the
 * other types are texts and files of XProf's form. Which instructions are near:
 * model/program/hlo_graph.h; the notation: hlo/text.h.
 *
 * Without a node's name the root of the program's entry is shown, where XProf fails.
 */
#include "base/buf.h"
#include "hlo/config.h"
#include "hlo/literal.h"
#include "hlo/pbtxt.h"
#include "hlo/shape.h"
#include "hlo/stack.h"
#include "hlo/text.h"
#include "model/program/hlo_graph.h"
#include "tools/module_pick.h"

#define MOST_NODES 5000
#define SHOWN_SHAPE_BYTES 64
#define SHOWN_IDS_BYTES 128
#define FEW_ELEMENTS 8
#define SMALL_ELEMENTS 4096
#define SHOWN_CONSTANT_BYTES 64
#define MOST_FOUND 200

const struct ss_tool ss_tool_graph_viewer;

enum {
	N_ID, N_BOX, N_NAME, N_TITLE, N_OPCODE, N_CALLS, N_ATTRS, N_SHAPE, N_INLINED, N_CONFIG, N_STATE, N_CLASS, N_OP_NAME,
	N_OP_TYPE, N_SOURCE, N_STACK, N_BYTES, N_EXPRESSION,
};

static const struct ss_col node_cols[] = {
	INT("id", "ID", NONE, NULL),
	INT("box", "Box", NONE, "Row of the box it stands in, -1 for none"),
	STR("name", "Instruction", NULL),
	STR("title", "Title", "Name, or the number of a parameter"),
	STR("opcode", "Opcode", "Empty where the name says it"),
	STR("subcomputations", "Subcomputations", "That do one thing to two values, a line each"),
	STR("attributes", "Attributes", "A line each"),
	STR("shape", "Shape", "Of the result, cut after 64 letters"),
	STR("inlined", "Operands said here", "Constants and elements of tuples, a line each: number, tab, text"),
	STR("backend_config", "Backend config", "If metadata is asked for"),
	STR("state", "State",
	    "root; some operands omitted, operands omitted, some users omitted: there is more beyond the graph's width"),
	STR("class", "Class", "elementwise, movement, update, heavy, parameter, reduction, container, communication, control"),
	STR("op_name", "Framework op", NULL),
	STR("op_type", "Framework op type", NULL),
	STR("source", "Source", "file:line"),
	STR("source_stack", "Source stack", "Innermost first, a line each"),
	INT("result_bytes", "Size of the result", BYTES, "Without padding"),
	STR("expression", "HLO", "The whole instruction"),
};

enum { B_ID, B_PARENT, B_NAME, B_COMPUTATION, B_KIND, B_FUSION, B_ROOT, B_ATTRS, B_CLASS };

static const struct ss_col box_cols[] = {
	INT("id", "ID", NONE, NULL),
	INT("parent", "Inside of", NONE, "Row of a box, -1 for none"),
	STR("name", "Instruction", "That calls the computation"),
	STR("computation", "Computation", NULL),
	STR("kind", "Kind", "Of a fusion: loop, input, output, custom"),
	FLAG("fusion", "Fusion", "The computation is the inside of a fusion"),
	FLAG("root", "Root", "The graph is about this one"),
	STR("attributes", "Attributes", "A line each"),
	STR("class", "Class", "As of nodes"),
};

enum { E_FROM, E_TO, E_OPERAND, E_KIND, E_SMALL, E_TIP, E_BOX };

static const struct ss_col edge_cols[] = {
	INT("from", "From", NONE, "Node"),
	INT("to", "To", NONE, "Node"),
	INT("operand", "Operand", NONE, "Which of several, -1 if it is the only one"),
	STR("kind", "Kind", "data; control: must run before; call: result of a computation"),
	FLAG("small", "Small", "Fewer than 4096 elements"),
	STR("tip", "Tip", "What it connects"),
	INT("box", "Box", NONE, "Whose result it is, -1 for none"),
};

enum { F_NAME, F_OPCODE, F_COMPUTATION, F_OP_NAME, F_SHAPE };

static const struct ss_col found_cols[] = {
	STR("name", "Instruction", NULL),
	STR("opcode", "Opcode", NULL),
	STR("computation", "Computation", "It stands in"),
	STR("op_name", "Framework op", NULL),
	STR("shape", "Shape", "Of the result, cut after 64 letters"),
};

static const struct ss_param params[] = {
	SS_MODULE_PARAMS,
	{ "type", "graph|names|adj_nodes|custom_call|short_txt|long_txt|pb|pbtxt", "graph", "what to show of the program" },
	{ "node_name", "name", NULL, "instruction or computation; without it the root of the program" },
	{ "graph_width", "number", "3", "how far from the node" },
	{ "find", "text", NULL, "part of an instruction's name, opcode or framework op, for type=names" },
	{ "show_metadata", "true|false", "false", "with backend configs; in texts with sources" },
	{ "merge_fusion", "true|false", "false", "fusions as nodes instead of boxes" },
	{ "format", "html|dot", "html", "of the drawing for XProf's clients" },
};

struct view {
	const struct ss_query *q;
	struct ss_result *out;
	struct ss_module_pick pick;
	const struct ss_hlo_module *m;
	struct ss_str node;
	bool metadata;
	struct ss_buf text;	/* scratch */
	uint64_t budget_bytes;
	struct ss_hlo_stacks stacks;
	struct ss_hlo_graph g;
};

static struct ss_str param(const struct view *v, const char *name)
{
	return ss_query_param(v->q, &ss_tool_graph_viewer, name);
}

static bool take(struct view *v, struct ss_str *out, struct ss_err *err)
{
	if (!ss_buf_ok(&v->text, "a node's description", err))
		return false;
	if (v->text.n > v->budget_bytes)
		return ss_fail(err, SS_EFORMAT, "program '" SS_FMT "': its texts refer to each other too often",
			       SS_ARG(v->pick.file));
	v->budget_bytes -= v->text.n;
	*out = ss_arena_str(v->q->arena, ss_buf_get(&v->text));
	v->text.n = 0;
	return out->p || ss_fail_mem(err);
}

static bool set_text(struct view *v, struct ss_table *t, size_t col, struct ss_err *err)
{
	struct ss_str s;
	if (!take(v, &s, err))
		return false;
	ss_set_str(t, col, s);
	return true;
}

static struct ss_hlo_instr read(const struct view *v, uint32_t i)
{
	struct ss_hlo_instr instr;
	ss_hlo_instr_read(v->m->instrs[i], &instr);
	return instr;
}

/* --- which program, which node ----------------------------------------------------------------- */

/* By the program's name or number; failing that, and with a node's name, the program that holds such a node. */
static bool pick(struct view *v, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool named = param(v, "module_name").n || param(v, "program_id").n;
	if (!named && v->node.n) {
		if (!ss_module_pick_by_node(v->q, v->node, &v->pick, err))
			return false;
	} else if (!ss_module_pick(v->q, &ss_tool_graph_viewer, &v->pick, &why)) {
		if (why.code != SS_ENOTFOUND || !v->node.n)
			return ss_fail(err, why.code, "%s", why.text);
		if (!ss_module_pick_by_node(v->q, v->node, &v->pick, err))
			return false;
		if (!v->pick.module)
			return ss_fail(err, why.code, "%s", why.text);
	}
	if (!v->pick.module && !ss_module_pick(v->q, &ss_tool_graph_viewer, &v->pick, err))
		return false;
	v->m = v->pick.module;
	v->budget_bytes = v->m->bytes.n * 64 + 65536;
	v->text.limit_bytes = (size_t)v->budget_bytes;
	return true;
}

static uint32_t entry_root(const struct view *v)
{
	uint32_t c = ss_hlo_computation_by_id(v->m, v->m->entry_id);
	return c == SS_NONE ? SS_NONE : ss_hlo_instr_by_id(v->m, v->m->computations[c].root_id);
}

/* The instruction, or with SS_NONE the computation, that the query names. */
static bool find_node(const struct view *v, uint32_t *instr, uint32_t *computation, struct ss_err *err)
{
	struct ss_str name = v->node;
	*computation = SS_NONE;
	*instr = name.n ? SS_NONE : entry_root(v);
	if (!name.n)
		return *instr != SS_NONE || ss_fail(err, SS_ENODATA, "program '" SS_FMT "' has no root", SS_ARG(v->pick.file));
	if (name.p[0] == '%')
		name = ss_str_sub(name, 1, name.n);
	*instr = ss_hlo_instr_by_name(v->m, name);
	for (uint32_t i = 0; *instr == SS_NONE && i < v->m->ncomputations; i++)
		if (ss_str_eq(v->m->computations[i].name, name))
			*computation = i;
	if (*instr == SS_NONE && *computation == SS_NONE)
		return ss_fail(err, SS_ENOTFOUND, "program '" SS_FMT "' has no instruction or computation named '" SS_FMT "'",
			       SS_ARG(v->pick.file), SS_ARG(name));
	return true;
}

/* --- descriptions of nodes --------------------------------------------------------------------- */

/* What an opcode is about, which is what colours tell. */
static const char *class_of(struct ss_str opcode)
{
	static const struct {
		const char *class, *opcodes;
	} classes[] = {
		{ "movement", " concatenate dynamic-slice reshape reverse transpose copy copy-start copy-done dynamic-reshape " },
		{ "update", " broadcast dynamic-update-slice " },
		{ "heavy", " convolution dot ragged-dot scaled-dot fft triangular-solve cholesky " },
		{ "parameter", " parameter " },
		{ "reduction", " batch-norm-grad batch-norm-inference batch-norm-training reduce reduce-window scatter gather "
			       "select-and-scatter " },
		{ "container", " domain fusion map get-dimension-size set-dimension-size " },
		{ "communication", " all-gather all-gather-start all-gather-done all-reduce all-reduce-start all-reduce-done "
				   "all-to-all ragged-all-to-all collective-broadcast collective-permute collective-permute-start "
				   "collective-permute-done reduce-scatter infeed outfeed partition-id replica-id recv recv-done "
				   "send send-done " },
		{ "control", " call conditional custom-call while async-start async-update async-done " },
	};
	for (size_t i = 0; opcode.n && i < SS_COUNT(classes); i++) {
		struct ss_str list = ss_str_from(classes[i].opcodes);
		size_t at = ss_str_find(list, opcode);
		for (; at != SS_NPOS; at = SS_NPOS)
			if (list.p[at - 1] == ' ' && list.p[at + opcode.n] == ' ')
				return classes[i].class;
	}
	return "elementwise";
}

static bool has_dimensions(struct ss_str shape)
{
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return ss_hlo_shape_rank(shape) > 1;
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) && ss_hlo_shape_rank(f.bytes) > 1)
			return true;
	return false;
}

/* With the layout where there is a choice of it. */
static bool set_shape(struct view *v, struct ss_table *t, size_t col, const struct ss_hlo_instr *i, struct ss_err *err)
{
	bool layout = has_dimensions(i->shape) && !ss_str_is(i->opcode, "tuple");
	ss_hlo_shape_print(&v->text, i->shape, layout);
	if (v->text.n > SHOWN_SHAPE_BYTES) {
		v->text.n = SHOWN_SHAPE_BYTES - 3;
		ss_buf_lit(&v->text, "...");
	}
	return set_text(v, t, col, err);
}

static void print_constant(struct view *v, const struct ss_hlo_instr *constant, struct ss_str shape)
{
	struct ss_str literal = SS_STR("");
	struct ss_pb c = ss_pb_of(constant->body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_LITERAL))
			literal = f.bytes;
	size_t before = v->text.n;
	if (ss_hlo_shape_elements(shape) == 0) {
		ss_buf_lit(&v->text, "{} (");
		ss_hlo_shape_print(&v->text, constant->shape, false);
		ss_buf_char(&v->text, ')');
		return;
	}
	if (literal.n && ss_hlo_shape_type(shape) != SS_HLO_TUPLE && ss_hlo_shape_elements(constant->shape) <= FEW_ELEMENTS) {
		ss_hlo_shape_print(&v->text, constant->shape, false);
		ss_buf_char(&v->text, ' ');
		size_t value = v->text.n;
		v->text.no_memory |= !ss_hlo_literal_print(&v->text, literal, UINT64_MAX);
		if (v->text.n - value <= SHOWN_CONSTANT_BYTES)
			return;
		v->text.n = before;
	}
	if (!ss_str_starts(constant->name, SS_STR("constant")))
		ss_buf_lit(&v->text, "constant ");
	ss_buf_str(&v->text, constant->name);
	ss_buf_char(&v->text, ' ');
	ss_hlo_shape_print(&v->text, shape, false);
}

/* One operand that is no node of its own; nothing for others. */
static bool print_inlined(struct view *v, uint32_t operand)
{
	struct ss_hlo_instr i = read(v, operand);
	uint32_t constant = ss_hlo_graph_broadcast_constant(&v->g, operand);
	if (ss_str_is(i.opcode, "constant")) {
		print_constant(v, &i, i.shape);
	} else if (constant != SS_NONE) {
		struct ss_hlo_instr scalar = read(v, constant);
		print_constant(v, &scalar, i.shape);
	} else if (!ss_hlo_graph_is_inlined(&v->g, operand)) {
		return false;
	} else if (ss_str_is(i.opcode, "parameter")) {
		ss_buf_printf(&v->text, "Parameter %lld", (long long)i.parameter_number);
	} else {
		const struct ss_hlo_links *l = &v->g.links;
		ss_buf_printf(&v->text, "tuple-element %lld of ", (long long)i.tuple_index);
		if (l->operand_first[operand] < l->operand_first[operand + 1])
			ss_buf_str(&v->text, read(v, l->operands[l->operand_first[operand]]).name);
		ss_buf_char(&v->text, ' ');
		ss_hlo_shape_print(&v->text, i.shape, true);
	}
	return true;
}

static bool set_inlined(struct view *v, struct ss_table *t, uint32_t instr, struct ss_err *err)
{
	const struct ss_hlo_links *l = &v->g.links;
	uint32_t first = l->operand_first[instr], n = l->operand_first[instr + 1] - first;
	for (uint32_t k = 0; k < n; k++) {
		size_t before = v->text.n;
		ss_buf_z(&v->text, before ? "\n" : "");
		ss_buf_printf(&v->text, "%u\t", k);
		if (!print_inlined(v, l->operands[first + k]))
			v->text.n = before;
	}
	return set_text(v, t, N_INLINED, err);
}

static bool set_subcomputations(struct view *v, struct ss_table *t, uint32_t instr, struct ss_err *err)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(v->m->instrs[instr], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		uint32_t c = ss_hlo_computation_by_id(v->m, id);
		const char *name = c == SS_NONE ? NULL : ss_hlo_trivial_operation(v->m, c);
		if (name)
			ss_buf_printf(&v->text, "%s%u\t%s", v->text.n ? "\n" : "", k, name);
	}
	return set_text(v, t, N_CALLS, err);
}

/* Lists of devices are cut: they can be as long as the pod is large. */
static void cut_ids(struct view *v)
{
	size_t to = 0, begin = 0;
	struct ss_str all = ss_buf_get(&v->text);
	while (begin < all.n) {
		struct ss_str line = ss_str_sub(all, begin, all.n);
		size_t end = ss_str_chr(line, '\n');
		line = ss_str_sub(line, 0, end == SS_NPOS ? line.n : end);
		bool ids = ss_str_starts(line, SS_STR("replica_groups=")) || ss_str_starts(line, SS_STR("source_target_pairs="));
		bool cut = ids && line.n > SHOWN_IDS_BYTES;
		size_t n = cut ? SHOWN_IDS_BYTES - 3 : line.n;
		begin += line.n + 1;
		memmove(v->text.p + to, line.p, n);
		to += n;
		if (cut) {
			memcpy(v->text.p + to, "...", 3);
			to += 3;
		}
		if (begin < all.n)
			v->text.p[to++] = '\n';
	}
	v->text.n = to;
}

static bool set_attributes(struct view *v, struct ss_table *t, size_t col, uint32_t instr, struct ss_err *err)
{
	if (!ss_hlo_instr_attributes(&v->text, v->m, instr))
		return ss_fail_mem(err);
	if (!v->text.over && !v->text.no_memory)
		cut_ids(v);
	return set_text(v, t, col, err);
}

static bool set_source(struct view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_err *err)
{
	if (i->stack_frame_id > 0)
		ss_hlo_stack_print(&v->text, &v->stacks, i->stack_frame_id);
	if (!set_text(v, t, N_STACK, err))
		return false;
	if (i->source_file.n) {
		ss_buf_str(&v->text, i->source_file);
		ss_buf_printf(&v->text, ":%lld", (long long)i->source_line);
	}
	return set_text(v, t, N_SOURCE, err);
}

static bool set_title(struct view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_err *err)
{
	if (ss_str_is(i->opcode, "parameter"))
		ss_buf_printf(&v->text, "Parameter %lld", (long long)i->parameter_number);
	else
		ss_buf_str(&v->text, i->name);
	if (!set_text(v, t, N_TITLE, err))
		return false;
	if (!ss_str_is(i->opcode, "parameter") && !ss_str_starts(i->name, i->opcode)) {
		ss_buf_str(&v->text, i->opcode);
		if (ss_str_is(i->opcode, "fusion"))
			ss_buf_char(&v->text, ':');
		if (ss_str_is(i->opcode, "fusion"))
			ss_buf_str(&v->text, i->fusion_kind);
	}
	return set_text(v, t, N_OPCODE, err);
}

static bool add_node(struct view *v, struct ss_table *t, const struct ss_graph_node *n, struct ss_err *err)
{
	static const char *const states[] = { "", "root", "some operands omitted", "operands omitted", "some users omitted", "" };
	struct ss_hlo_instr i = read(v, n->instr);
	if (!ss_table_row(t))
		return ss_fail_mem(err);
	ss_set_i64(t, N_ID, (int64_t)t->nrows - 1);
	ss_set_i64(t, N_BOX, n->cluster == SS_NONE ? -1 : (int64_t)n->cluster);
	ss_set_str(t, N_NAME, i.name);
	ss_set_str(t, N_STATE, ss_str_from(states[n->state]));
	ss_set_str(t, N_CLASS, ss_str_from(class_of(i.opcode)));
	ss_set_str(t, N_OP_NAME, i.op_name);
	ss_set_str(t, N_OP_TYPE, i.op_type);
	ss_set_i64(t, N_BYTES, ss_hlo_shape_bytes(i.shape));
	if (v->metadata)
		ss_set_str(t, N_CONFIG, ss_hlo_backend_config(i.body));
	if (!set_title(v, t, &i, err) || !set_subcomputations(v, t, n->instr, err) ||
	    !set_attributes(v, t, N_ATTRS, n->instr, err) || !set_shape(v, t, N_SHAPE, &i, err) ||
	    !set_inlined(v, t, n->instr, err) || !set_source(v, t, &i, err))
		return false;
	if (!ss_hlo_instr_text(&v->text, v->m, n->instr, SS_HLO_EXPRESSION))
		return ss_fail_mem(err);
	return set_text(v, t, N_EXPRESSION, err);
}

/* kLoop is a "loop fusion". */
static const char *kind_name(struct ss_str kind)
{
	static const char *const names[][2] = {
		{ "kLoop", "loop" }, { "kInput", "input" }, { "kOutput", "output" }, { "kCustom", "custom" },
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_is(kind, names[i][0]))
			return names[i][1];
	return "";
}

static bool add_box(struct view *v, struct ss_table *t, const struct ss_graph_cluster *c, struct ss_err *err)
{
	struct ss_hlo_instr i = read(v, c->caller);
	uint32_t root = ss_hlo_instr_by_id(v->m, v->m->computations[c->computation].root_id);
	if (!ss_table_row(t))
		return ss_fail_mem(err);
	ss_set_i64(t, B_ID, (int64_t)t->nrows - 1);
	ss_set_i64(t, B_PARENT, c->parent == SS_NONE ? -1 : (int64_t)c->parent);
	ss_set_str(t, B_NAME, i.name);
	ss_set_str(t, B_COMPUTATION, v->m->computations[c->computation].name);
	ss_set_str(t, B_KIND, ss_str_from(c->fusion ? kind_name(i.fusion_kind) : ""));
	ss_set_bool(t, B_FUSION, c->fusion);
	ss_set_bool(t, B_ROOT, c->root);
	ss_set_str(t, B_CLASS, ss_str_from(root == SS_NONE ? "container" : class_of(read(v, root).opcode)));
	return set_attributes(v, t, B_ATTRS, c->caller, err);
}

/* Of a tuple those of its elements together; of tuples in tuples only the outer ones are counted. */
static uint64_t elements(struct ss_str shape)
{
	uint64_t n = 0;
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return ss_hlo_shape_elements(shape);
	while (n < SMALL_ELEMENTS && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES))
			n += ss_hlo_shape_elements(f.bytes) < SMALL_ELEMENTS ? ss_hlo_shape_elements(f.bytes) : SMALL_ELEMENTS;
	return n;
}

static bool add_edge(struct view *v, struct ss_table *t, const struct ss_graph_edge *e, struct ss_err *err)
{
	static const char *const kinds[] = { "data", "control", "call" };
	const struct ss_hlo_links *l = &v->g.links;
	uint32_t to_instr = v->g.nodes[e->to].instr;
	struct ss_hlo_instr from = read(v, v->g.nodes[e->from].instr), to = read(v, to_instr);
	bool several = l->operand_first[to_instr + 1] - l->operand_first[to_instr] > 1;
	if (!ss_table_row(t))
		return ss_fail_mem(err);
	ss_set_i64(t, E_FROM, e->from);
	ss_set_i64(t, E_TO, e->to);
	ss_set_i64(t, E_OPERAND, several && e->kind == SS_GRAPH_DATA ? (int64_t)e->operand : -1);
	ss_set_str(t, E_KIND, ss_str_from(kinds[e->kind]));
	ss_set_bool(t, E_SMALL, elements(from.shape) < SMALL_ELEMENTS);
	ss_set_i64(t, E_BOX, e->cluster == SS_NONE ? -1 : (int64_t)e->cluster);
	ss_buf_str(&v->text, e->cluster == SS_NONE ? from.name : v->m->computations[v->g.clusters[e->cluster].computation].name);
	ss_buf_lit(&v->text, " -> ");
	ss_buf_str(&v->text, to.name);
	return set_text(v, t, E_TIP, err);
}

/* --- type=graph -------------------------------------------------------------------------------- */

static uint32_t radius(const struct view *v)
{
	uint64_t n;
	if (!ss_str_to_u64(param(v, "graph_width"), &n))
		return 3;
	return n < 100000 ? (uint32_t)n : 100000;
}

static bool set_props(struct view *v, struct ss_table *t, uint32_t instr)
{
	const struct ss_hlo_computation *c = &v->m->computations[v->g.computation];
	return ss_table_prop(t, "module", v->pick.file) && ss_table_prop(t, "computation", c->name) &&
	       ss_table_prop(t, "entry", c->id == v->m->entry_id ? SS_STR("true") : SS_STR("false")) &&
	       ss_table_prop(t, "node_name", instr == SS_NONE ? SS_STR("") : read(v, instr).name) &&
	       ss_table_prop(t, "format", param(v, "format")) &&
	       ss_table_prop_num(t, "graph_width", "Graph width", SS_UNIT_COUNT, radius(v), "%.0f");
}

static bool fill_tables(struct view *v, uint32_t instr, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(v->out, "nodes", "Instructions", node_cols, SS_COUNT(node_cols));
	if (!t || !set_props(v, t, instr))
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < v->g.nnodes; i++)
		if (!add_node(v, t, &v->g.nodes[i], err))
			return false;
	t = ss_result_table(v->out, "boxes", "Called computations", box_cols, SS_COUNT(box_cols));
	if (!t)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < v->g.nclusters; i++)
		if (!add_box(v, t, &v->g.clusters[i], err))
			return false;
	t = ss_result_table(v->out, "edges", "Values", edge_cols, SS_COUNT(edge_cols));
	if (!t)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < v->g.nedges; i++)
		if (!add_edge(v, t, &v->g.edges[i], err))
			return false;
	return true;
}

static bool show_graph(struct view *v, struct ss_err *err)
{
	struct ss_hlo_graph_ask ask = { .radius = radius(v), .most_nodes = MOST_NODES,
					.merge_fusions = ss_str_is(param(v, "merge_fusion"), "true") };
	if (!find_node(v, &ask.instr, &ask.computation, err))
		return false;
	if (!ss_hlo_stacks_read(&v->stacks, v->m, v->q->arena))
		return ss_fail_mem(err);
	if (!ss_hlo_graph_of(&v->g, v->m, &ask, v->q->arena, err) || !fill_tables(v, ask.instr, err) ||
	    !ss_module_table(v->q, v->out, err))
		return false;
	v->out->content_type = "text/html";
	if (!v->g.nleft_out)
		return true;
	struct ss_str note = ss_arena_printf(v->q->arena,
					     "the graph stops at %d instructions: %u of called computations are left out; "
					     "look at one of them by its name", MOST_NODES, v->g.nleft_out);
	return ss_result_note(v->out, SS_WARNING, note) || ss_fail_mem(err);
}

/* --- type=names -------------------------------------------------------------------------------- */

static bool contains(struct ss_str text, struct ss_str find)
{
	for (size_t i = 0; i + find.n <= text.n; i++)
		if (ss_str_istarts(ss_str_sub(text, i, text.n), find))
			return true;
	return false;
}

/* Names that begin with it come first, then names that hold it, then what only its opcode or framework op says. */
static unsigned match(struct ss_str find, const struct ss_hlo_instr *i)
{
	if (ss_str_istarts(i->name, find))
		return 0;
	if (contains(i->name, find))
		return 1;
	return contains(i->opcode, find) || contains(i->op_name, find) ? 2 : 3;
}

static bool add_found(struct view *v, struct ss_table *t, uint32_t computation, const struct ss_hlo_instr *i, struct ss_err *err)
{
	if (!ss_table_row(t))
		return ss_fail_mem(err);
	ss_set_str(t, F_NAME, i->name);
	ss_set_str(t, F_OPCODE, i->opcode);
	ss_set_str(t, F_COMPUTATION, v->m->computations[computation].name);
	ss_set_str(t, F_OP_NAME, i->op_name);
	return set_shape(v, t, F_SHAPE, i, err);
}

/* One pass for each rank of match: each row is written where it belongs, and the count is of the whole program. */
static bool show_names(struct view *v, struct ss_err *err)
{
	struct ss_str find = param(v, "find");
	struct ss_table *t = ss_result_table(v->out, "names", "Instructions found", found_cols, SS_COUNT(found_cols));
	uint64_t n = 0;
	if (!t)
		return ss_fail_mem(err);
	for (unsigned rank = 0; rank < 3; rank++)
		for (uint32_t c = 0; c < v->m->ncomputations; c++) {
			const struct ss_hlo_computation *in = &v->m->computations[c];
			for (uint32_t k = 0; k < in->ninstrs; k++) {
				struct ss_hlo_instr i = read(v, in->first + k);
				if (match(find, &i) != rank)
					continue;
				if (n++ < MOST_FOUND && !add_found(v, t, c, &i, err))
					return false;
			}
		}
	return (ss_table_prop(t, "module", v->pick.file) &&
		ss_table_prop_num(t, "count", "Instructions found", SS_UNIT_COUNT, (double)n, "%.0f")) || ss_fail_mem(err);
}

/* --- the other types --------------------------------------------------------------------------- */

/* The scratch text becomes the answer. */
static bool answer(struct view *v, const char *content_type, struct ss_err *err)
{
	v->out->content_type = content_type;
	return take(v, &v->out->body, err);
}

static bool show_text(struct view *v, struct ss_err *err)
{
	enum ss_hlo_style style = ss_str_is(param(v, "type"), "short_txt") ? SS_HLO_SHORT : SS_HLO_LONG;
	return ss_hlo_text(&v->text, v->m, style, v->metadata, err) && answer(v, "application/octet-stream", err);
}

static bool show_pb(struct view *v, struct ss_err *err)
{
	(void)err;
	v->out->content_type = "application/octet-stream";
	v->out->body = v->m->bytes;
	return true;
}

static bool show_pbtxt(struct view *v, struct ss_err *err)
{
	ss_hlo_pbtxt(&v->text, v->m->bytes);
	return answer(v, "application/octet-stream", err);
}

/* Elements of tuples, as their names tell, are looked through. `of` gives operands or users. */
static bool print_names(struct view *v, const struct ss_hlo_links *l, uint32_t instr, bool users, struct ss_err *err)
{
	const uint32_t *first = users ? l->user_first : l->operand_first, *list = users ? l->users : l->operands;
	uint32_t *stack = SS_NEW_N(v->q->arena, uint32_t, v->m->ninstrs);
	bool *open = SS_NEW_N(v->q->arena, bool, v->m->ninstrs);
	uint32_t *at = SS_NEW_N(v->q->arena, uint32_t, v->m->ninstrs), n = 0;
	uint64_t steps = 0;
	if (!stack || !open || !at)
		return ss_fail_mem(err);
	stack[n++] = instr;
	at[instr] = first[instr];
	open[instr] = true;
	for (const char *sep = ""; n && !v->text.over;) {
		uint32_t top = stack[n - 1];
		if (++steps > v->m->bytes.n)
			return ss_fail(err, SS_EFORMAT, "program '" SS_FMT "': elements of tuples refer to each other too often",
				       SS_ARG(v->pick.file));
		if (at[top] == first[top + 1]) {
			open[top] = false;
			n--;
			continue;
		}
		uint32_t next = list[at[top]++];
		struct ss_hlo_instr i = read(v, next);
		if (!ss_str_starts(i.name, SS_STR("get-tuple-element"))) {
			ss_buf_z(&v->text, sep);
			ss_buf_json_str(&v->text, i.name);
			sep = ",";
		} else if (!open[next]) {
			open[next] = true;
			at[next] = first[next];
			stack[n++] = next;
		}
	}
	return true;
}

static bool show_neighbours(struct view *v, struct ss_err *err)
{
	struct ss_hlo_links l;
	uint32_t instr, computation;
	if (!find_node(v, &instr, &computation, err))
		return false;
	if (instr == SS_NONE)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' is a computation: only instructions have neighbours", SS_ARG(v->node));
	if (!ss_hlo_links_of(&l, v->m, v->q->arena))
		return ss_fail_mem(err);
	ss_buf_lit(&v->text, "{\"consumer_names\":[");
	if (!print_names(v, &l, instr, true, err))
		return false;
	ss_buf_lit(&v->text, "],\"operand_names\":[");
	if (!print_names(v, &l, instr, false, err))
		return false;
	ss_buf_lit(&v->text, "]}");
	return answer(v, "text/plain", err);
}

static bool show_custom_call(struct view *v, struct ss_err *err)
{
	uint32_t instr, computation;
	if (!find_node(v, &instr, &computation, err))
		return false;
	if (instr == SS_NONE)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' is a computation: only instructions have a config", SS_ARG(v->node));
	struct ss_str config = ss_hlo_backend_config(v->m->instrs[instr]);
	return ss_hlo_custom_call_body(config, &v->text, err) && answer(v, "text/plain", err);
}

static const struct {
	const char *type;
	bool (*show)(struct view *v, struct ss_err *err);
} types[] = {
	{ "graph", show_graph },	 { "names", show_names },    { "adj_nodes", show_neighbours },
	{ "custom_call", show_custom_call }, { "short_txt", show_text }, { "long_txt", show_text },
	{ "pb", show_pb },		 { "pbtxt", show_pbtxt },
};

static bool run(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	struct view v = { .q = q, .out = out, .node = ss_query_param(q, &ss_tool_graph_viewer, "node_name") };
	struct ss_str type = param(&v, "type");
	size_t i = 0;
	while (i < SS_COUNT(types) && !ss_str_is(type, types[i].type))
		i++;
	if (i == SS_COUNT(types))
		return ss_fail(err, SS_EINVAL, "there is no graph type '" SS_FMT "' (there are: %s)", SS_ARG(type),
			       params[2].values);
	v.metadata = ss_str_is(param(&v, "show_metadata"), "true");
	bool ok = pick(&v, err) && types[i].show(&v, err);
	ss_buf_free(&v.text);
	return ok;
}

const struct ss_tool ss_tool_graph_viewer = {
	.name = "graph_viewer",
	.title = "Graph viewer",
	.summary = "A compiled program as a graph around one instruction, as text and as a proto",
	.kind = SS_KIND_GRAPH,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_module_present,
	.old = "answer:memory_viewer",
	.run = run,
};
