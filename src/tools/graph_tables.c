/* graph_tables.c - describing the instructions and called computations of a graph. */
#include "tools/graph_tables.h"

#include "hlo/config.h"
#include "hlo/library_call.h"
#include "hlo/literal.h"
#include "hlo/shape.h"
#include "hlo/text.h"
#include "table/cols.h"

#define SHOWN_SHAPE_BYTES 64
#define SHOWN_IDS_BYTES 128
#define SHOWN_OPERANDS 32
#define FEW_ELEMENTS 8
#define SMALL_ELEMENTS 4096
#define SHOWN_CONSTANT_BYTES 64
#define MAX_CHAIN 64	/* asynchronous updates, and elements of elements */
#define MAX_STEPS 1000	/* back to where a parameter comes from */

enum {
	N_ID, N_BOX, N_NAME, N_TITLE, N_OPCODE, N_OUTLINE, N_CALLS, N_ORIGIN, N_ATTRS, N_SHAPE, N_INLINED, N_LIBRARY, N_CONFIG,
	N_STATE, N_CLASS, N_LARGE, N_OP_NAME, N_OP_TYPE, N_SOURCE, N_STACK, N_TIP, N_BYTES, N_EXPRESSION,
};

static const struct ss_col node_cols[] = {
	INT("id", "ID", NONE, NULL),
	ID("box", "Box", "Row of the enclosing box; -1: none"),
	STR("name", "Instruction", NULL),
	STR("title", "Title", "Name, or the number of a parameter"),
	STR("opcode", "Opcode", "Empty if equal to the name"),
	STR("outline", "Outline", "rect; ellipse: a loop; diamond: the selected node"),
	STR("subcomputations", "Subcomputations",
	    "Elementwise operations on two values, one per line: count if more than one, tab, text"),
	STR("origin", "Origin", "For a parameter of a called computation: the instruction that computes its value"),
	STR("attributes", "Attributes", "One per line"),
	STR("shape", "Shape", "Shape of the result, truncated to 64 characters"),
	STR("inlined", "Operands shown inline",
	    "Constants and tuple elements, one per line: operand number if there are several, tab, text"),
	STR("library", "Library settings", "Settings of cuBLASLt and cuDNN calls, one per line"),
	STR("backend_config", "Backend config", "Only if metadata is requested"),
	STR("state", "State",
	    "root; some operands omitted, operands omitted, some users omitted: the graph continues beyond graph_width"),
	STR("class", "Class", "elementwise, movement, update, heavy, parameter, reduction, container, communication, control"),
	FLAG("large", "Large", "The result has 4096 elements or more"),
	STR("op_name", "Framework op", NULL),
	STR("op_type", "Framework op type", NULL),
	STR("source", "Source", "file:line"),
	STR("source_stack", "Source stack", "Innermost frame first, one per line"),
	STR("tip", "Tip", "Origin: framework op, its type, source line, call stack"),
	INT("result_bytes", "Size of the result", BYTES, "Without padding"),
	STR("expression", "HLO", "The whole instruction"),
};

enum { B_ID, B_PARENT, B_FIRST, B_NAME, B_COMPUTATION, B_KIND, B_FUSION, B_ROOT, B_ATTRS, B_CONFIG, B_CLASS };

static const struct ss_col box_cols[] = {
	INT("id", "ID", NONE, NULL),
	INT("parent", "Inside of", NONE, "Row of the box; -1: none"),
	INT("first", "First node", NONE, "Nodes before it, in the order of drawing"),
	STR("name", "Instruction", "Instruction that calls the computation"),
	STR("computation", "Computation", NULL),
	STR("kind", "Kind", "Kind of the fusion: loop, input, output, custom"),
	FLAG("fusion", "Fusion", "The computation is the body of a fusion"),
	FLAG("root", "Root", "The selected node"),
	STR("attributes", "Attributes", "One per line"),
	STR("backend_config", "Backend config", "Only if metadata is requested"),
	STR("class", "Class", "As in the table of nodes"),
};

enum { E_FROM, E_TO, E_OPERAND, E_KIND, E_SMALL, E_TIP, E_BOX };

static const struct ss_col edge_cols[] = {
	INT("from", "From", NONE, "Node"),
	INT("to", "To", NONE, "Node"),
	ID("operand", "Operand", "Index among parallel edges; -1: the only one"),
	STR("kind", "Kind", "data; control: must run before; call: result of a computation"),
	FLAG("small", "Small", "Fewer than 4096 elements"),
	STR("tip", "Tip", "Names of the two nodes"),
	ID("box", "Box", "Node that produces it; -1: none"),
};

bool ss_graph_take(struct ss_graph_view *v, struct ss_str *out, struct ss_err *err)
{
	if (!ss_buf_ok(&v->text, "a node's description", err))
		return false;
	if (v->text.n > v->budget_bytes)
		return ss_fail(err, SS_EFORMAT, "program '" SS_FMT "': its strings reference each other too many times",
			       SS_ARG(v->pick.file));
	v->budget_bytes -= v->text.n;
	*out = ss_arena_str(v->q->arena, ss_buf_get(&v->text));
	v->text.n = 0;
	return out->p || ss_fail_mem(err);
}

static bool set_text(struct ss_graph_view *v, struct ss_table *t, size_t col, struct ss_err *err)
{
	struct ss_str s;
	if (!ss_graph_take(v, &s, err))
		return false;
	ss_set_str(t, col, s);
	return true;
}

struct ss_hlo_instr ss_graph_read(const struct ss_graph_view *v, uint32_t i)
{
	struct ss_hlo_instr instr;
	ss_hlo_instr_read(v->m->instrs[i], &instr);
	return instr;
}

/* --- what colours tell ------------------------------------------------------------------------- */

static const char *class_of_opcode(struct ss_str opcode)
{
	static const struct {
		const char *class, *opcodes;
	} classes[] = {
		{ "movement", " concatenate dynamic-slice reshape reverse transpose copy copy-start copy-done dynamic-reshape " },
		{ "update", " broadcast dynamic-update-slice " },
		{ "heavy", " convolution dot ragged-dot scaled-dot fft triangular-solve cholesky " },
		{ "parameter", " parameter " },
		{ "reduction", " batch-norm-grad batch-norm-inference batch-norm-training reduce reduce-window scan scatter gather "
			       "select-and-scatter " },
		{ "container", " domain fusion map get-dimension-size set-dimension-size " },
		{ "communication", " all-gather all-gather-start all-gather-done all-reduce all-reduce-start all-reduce-done "
				   "all-to-all ragged-all-to-all collective-broadcast collective-permute collective-permute-start "
				   "collective-permute-done reduce-scatter infeed outfeed partition-id replica-id recv recv-done "
				   "send send-done " },
		{ "control", " call conditional custom-call while " },
	};
	for (size_t i = 0; opcode.n && i < SS_COUNT(classes); i++) {
		struct ss_str list = ss_str_from(classes[i].opcodes);
		size_t at = ss_str_find(list, opcode);
		for (; at != SS_NPOS; at = SS_NPOS)
			if (at && list.p[at - 1] == ' ' && list.p[at + opcode.n] == ' ')
				return classes[i].class;
	}
	return "elementwise";
}

static uint32_t operand(const struct ss_graph_view *v, uint32_t i, uint64_t k)
{
	const struct ss_hlo_links *l = &v->g.links;
	return k < l->operand_first[i + 1] - l->operand_first[i] ? l->operands[l->operand_first[i] + k] : SS_NONE;
}

static uint32_t called_root(const struct ss_graph_view *v, uint32_t i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(v->m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	uint32_t c = ss_hlo_ids_next(&it, &id) ? ss_hlo_computation_by_id(v->m, id) : SS_NONE;
	return c == SS_NONE ? SS_NONE : ss_hlo_root_of(v->m, c);
}

/* What an asynchronous start, update or end is about: the instruction that the start wraps. */
static struct ss_str wrapped_opcode(const struct ss_graph_view *v, uint32_t i)
{
	for (int step = 0; i != SS_NONE && step < MAX_CHAIN; step++) {
		if (ss_str_is(ss_graph_read(v, i).opcode, "async-start")) {
			uint32_t root = called_root(v, i);
			return root == SS_NONE ? SS_STR("") : ss_graph_read(v, root).opcode;
		}
		i = operand(v, i, 0);
	}
	return SS_STR("");
}

/* An instruction that says a parameter of the computation looks like one. */
static bool says_parameter(const struct ss_graph_view *v, uint32_t i)
{
	const struct ss_hlo_links *l = &v->g.links;
	for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++) {
		uint32_t o = l->operands[k];
		if (v->g.op[o] == SS_GRAPH_PARAMETER && v->g.merged[o] && ss_hlo_graph_parameter_constant(&v->g, o) == SS_NONE)
			return true;
	}
	return false;
}

static const char *class_of(const struct ss_graph_view *v, uint32_t i, struct ss_str opcode)
{
	if (says_parameter(v, i))
		return "parameter";
	/* Outside of fusions a bitcast costs nothing. */
	if (v->g.op[i] == SS_GRAPH_BITCAST)
		return v->g.fusion_of[v->g.links.computation[i]] == SS_NONE ? "elementwise" : "movement";
	return class_of_opcode(ss_str_starts(opcode, SS_STR("async-")) ? wrapped_opcode(v, i) : opcode);
}

/* --- shapes and operands ----------------------------------------------------------------------- */

/*
 * Elements of all arrays in it together, up to `most`; what is opaque or a token counts as small
 * whatever is beside it.
 */
static uint64_t elements(struct ss_str shape, int depth, bool *small)
{
	uint64_t n = 0, type = ss_hlo_shape_type(shape);
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	*small |= type == SS_HLO_TOKEN || type == SS_HLO_OPAQUE;
	if (type != SS_HLO_TUPLE)
		return ss_hlo_type_bits(type) ? ss_hlo_shape_elements(shape) : 0;
	while (depth < MAX_CHAIN && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES)) {
			uint64_t more = elements(f.bytes, depth + 1, small);
			n = more > UINT64_MAX - n ? UINT64_MAX : n + more;
		}
	return n;
}

static bool is_large(struct ss_str shape)
{
	bool small = false;
	uint64_t n = elements(shape, 0, &small);
	return n >= SMALL_ELEMENTS && !small;
}

static bool has_dimensions(struct ss_str shape, int depth)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return ss_hlo_shape_rank(shape) > 1;
	while (depth < MAX_CHAIN && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) && has_dimensions(f.bytes, depth + 1))
			return true;
	return false;
}

/* With the layout where there is a choice of it. */
bool ss_graph_set_shape(struct ss_graph_view *v, struct ss_table *t, size_t col, const struct ss_hlo_instr *i, struct ss_err *err)
{
	bool layout = !ss_str_is(i->opcode, "tuple") && has_dimensions(i->shape, 0);
	ss_hlo_shape_print(&v->text, i->shape, layout);
	if (v->text.n > SHOWN_SHAPE_BYTES) {
		v->text.n = SHOWN_SHAPE_BYTES - 3;
		ss_buf_lit(&v->text, "...");
	}
	return set_text(v, t, col, err);
}

/*
 * How long the value is as the compiler's drawings have it, where each row of a matrix is a line of
 * its own, indented by two.
 */
static size_t length_in_lines(struct ss_str text, struct ss_str shape)
{
	uint64_t last = 1, rank = 0;
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS);
	int64_t dim;
	for (; ss_hlo_ids_next(&it, &dim); rank++)
		last = (uint64_t)dim;
	return text.n + (rank > 1 && last ? (size_t)(ss_hlo_shape_elements(shape) / last) * 2 : 0);
}

/*
 * A small one with its value, others by their name. `shape` is that of the array it is spread over.
 */
static void print_constant(struct ss_graph_view *v, const struct ss_hlo_instr *constant, struct ss_str shape)
{
	struct ss_str literal = SS_STR("");
	struct ss_pb c = ss_pb_of(constant->body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_LITERAL))
			literal = f.bytes;
	size_t before = v->text.n;
	bool array = ss_hlo_type_bits(ss_hlo_shape_type(shape)) != 0;
	if (array && ss_hlo_shape_elements(shape) == 0) {
		ss_buf_lit(&v->text, "{} (");
		ss_hlo_shape_print(&v->text, constant->shape, false);
		ss_buf_char(&v->text, ')');
		return;
	}
	if (literal.n && array && ss_hlo_shape_elements(constant->shape) <= FEW_ELEMENTS) {
		ss_hlo_shape_print(&v->text, shape, false);
		ss_buf_char(&v->text, ' ');
		size_t value = v->text.n;
		v->text.no_memory |= !ss_hlo_literal_print(&v->text, literal, UINT64_MAX);
		struct ss_str printed = ss_str_sub(ss_buf_get(&v->text), value, v->text.n);
		if (length_in_lines(printed, constant->shape) <= SHOWN_CONSTANT_BYTES)
			return;
		v->text.n = before;
	}
	if (!ss_str_starts(constant->name, SS_STR("constant")))
		ss_buf_lit(&v->text, "constant ");
	ss_buf_str(&v->text, constant->name);
	ss_buf_char(&v->text, ' ');
	ss_hlo_shape_print(&v->text, shape, false);
}

static void print_element(struct ss_graph_view *v, uint32_t element)
{
	struct ss_hlo_instr i = ss_graph_read(v, element);
	uint32_t of = operand(v, element, 0);
	ss_buf_printf(&v->text, "tuple-element %lld of ", (long long)i.tuple_index);
	if (of != SS_NONE)
		ss_buf_str(&v->text, ss_graph_read(v, of).name);
	ss_buf_char(&v->text, ' ');
	ss_hlo_shape_print(&v->text, i.shape, true);
}

/* One operand that is no node of its own; nothing for others. */
static bool print_inlined(struct ss_graph_view *v, uint32_t o)
{
	const struct ss_hlo_graph *g = &v->g;
	uint32_t spread = g->scalar[o], bound = ss_hlo_graph_parameter_constant(g, o);
	if (g->op[o] != SS_GRAPH_CONSTANT && spread == SS_NONE && !g->merged[o])
		return false;
	struct ss_hlo_instr i = ss_graph_read(v, o);
	if (g->op[o] == SS_GRAPH_CONSTANT) {
		print_constant(v, &i, i.shape);
	} else if (spread != SS_NONE) {
		struct ss_hlo_instr scalar = ss_graph_read(v, spread);
		print_constant(v, &scalar, i.shape);
	} else if (bound != SS_NONE) {
		struct ss_hlo_instr constant = ss_graph_read(v, bound);
		print_constant(v, &constant, constant.shape);
	} else if (g->op[o] == SS_GRAPH_PARAMETER) {
		ss_buf_printf(&v->text, "Parameter %lld", (long long)i.parameter_number);
	} else {
		print_element(v, o);
	}
	return true;
}

static bool set_inlined(struct ss_graph_view *v, struct ss_table *t, uint32_t instr, struct ss_err *err)
{
	const struct ss_hlo_links *l = &v->g.links;
	uint32_t first = l->operand_first[instr], n = l->operand_first[instr + 1] - first, nlines = 0;
	for (uint32_t k = 0; k < n && nlines < SHOWN_OPERANDS; k++) {
		size_t before = v->text.n;
		ss_buf_z(&v->text, before ? "\n" : "");
		if (n > 1)
			ss_buf_printf(&v->text, "%u", k);
		ss_buf_char(&v->text, '\t');
		if (!print_inlined(v, l->operands[first + k]))
			v->text.n = before;
		else if (++nlines == SHOWN_OPERANDS && k + 1 < n)
			ss_buf_lit(&v->text, "\n...");
	}
	/* A fusion's parameter says which element of a tuple it is given. */
	uint32_t given = v->g.given[instr];
	if (given != SS_NONE && v->g.op[given] == SS_GRAPH_ELEMENT) {
		ss_buf_z(&v->text, v->text.n ? "\n" : "");
		print_element(v, given);
	}
	return set_text(v, t, N_INLINED, err);
}

/* --- attributes -------------------------------------------------------------------------------- */

static bool set_subcomputations(struct ss_graph_view *v, struct ss_table *t, uint32_t instr, struct ss_err *err)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(v->m->instrs[instr], HLO_INSTRUCTION_CALLED_IDS), count = it;
	uint32_t n = 0;
	int64_t id;
	while (ss_hlo_ids_next(&count, &id))
		n++;
	for (uint32_t k = 0; v->g.op[instr] != SS_GRAPH_FUSION && ss_hlo_ids_next(&it, &id); k++) {
		uint32_t c = ss_hlo_computation_by_id(v->m, id);
		const char *name = c == SS_NONE ? NULL : v->g.trivial[c];
		if (!name)
			continue;
		ss_buf_z(&v->text, v->text.n ? "\n" : "");
		if (n > 1)
			ss_buf_printf(&v->text, "%u", k);
		ss_buf_printf(&v->text, "\t%s", name);
	}
	return set_text(v, t, N_CALLS, err);
}

/*
 * Back from `i` over what only passes values on. Positions in tuples are remembered, to be taken
 * apart by what made the tuple.
 */
static uint32_t producer(const struct ss_graph_view *v, uint32_t i)
{
	int64_t positions[MAX_CHAIN];
	uint32_t n = 0;
	for (int step = 0; step < MAX_STEPS; step++) {
		uint32_t next = SS_NONE;
		switch (v->g.op[i]) {
		case SS_GRAPH_BITCAST:
		case SS_GRAPH_COPY:
			next = operand(v, i, 0);
			break;
		case SS_GRAPH_ELEMENT:
			if (n < MAX_CHAIN) {
				positions[n++] = ss_graph_read(v, i).tuple_index;
				next = operand(v, i, 0);
			}
			break;
		case SS_GRAPH_TUPLE:
			if (n && positions[n - 1] >= 0)
				next = operand(v, i, (uint64_t)positions[--n]);
			break;
		case SS_GRAPH_CALLER:
			next = called_root(v, i);
			break;
		}
		if (next == SS_NONE)
			break;
		i = next;
	}
	return i;
}

/* A computation that only one `call` calls: what computes this parameter of it? */
static bool set_origin(struct ss_graph_view *v, struct ss_table *t, uint32_t instr, const struct ss_hlo_instr *i,
		       struct ss_err *err)
{
	uint32_t caller = v->caller[v->g.links.computation[instr]];
	if (v->g.op[instr] == SS_GRAPH_PARAMETER && caller != SS_NONE && i->parameter_number >= 0) {
		uint32_t given = operand(v, caller, (uint64_t)i->parameter_number);
		uint32_t by = given == SS_NONE ? SS_NONE : producer(v, given);
		if (by != SS_NONE) {
			const struct ss_hlo_computation *c = &v->m->computations[v->g.links.computation[by]];
			ss_buf_str(&v->text, ss_graph_read(v, by).name);
			ss_buf_lit(&v->text, " in ");
			ss_buf_str(&v->text, c->id == v->m->entry_id ? SS_STR("the ENTRY computation") : c->name);
		}
	}
	return set_text(v, t, N_ORIGIN, err);
}

static bool is_list_of_ids(struct ss_str line)
{
	return ss_str_starts(line, SS_STR("replica_groups=")) || ss_str_starts(line, SS_STR("source_target_pairs=")) ||
	       ss_str_starts(line, SS_STR("control-predecessors="));
}

/* Lists of devices are cut: they can be as long as the pod is large. */
static void cut_ids(struct ss_graph_view *v)
{
	size_t to = 0, begin = 0;
	struct ss_str all = ss_buf_get(&v->text);
	while (begin < all.n) {
		struct ss_str line = ss_str_sub(all, begin, all.n);
		size_t end = ss_str_chr(line, '\n');
		line = ss_str_sub(line, 0, end == SS_NPOS ? line.n : end);
		bool cut = is_list_of_ids(line) && line.n > SHOWN_IDS_BYTES;
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

static bool set_attributes(struct ss_graph_view *v, struct ss_table *t, size_t col, uint32_t instr, struct ss_err *err)
{
	if (!ss_hlo_instr_attributes(&v->text, v->m, instr))
		return ss_fail_mem(err);
	if (!v->text.over && !v->text.no_memory)
		cut_ids(v);
	return set_text(v, t, col, err);
}

/* --- where it comes from ----------------------------------------------------------------------- */

static void print_source(struct ss_graph_view *v, const struct ss_hlo_instr *i)
{
	ss_buf_str(&v->text, i->source_file);
	ss_buf_printf(&v->text, ":%lld", (long long)i->source_line);
}

static void tip_line(struct ss_graph_view *v, const char *label, struct ss_str text)
{
	if (!text.n)
		return;
	ss_buf_z(&v->text, v->text.n ? "\n" : "");
	ss_buf_z(&v->text, label);
	ss_buf_str(&v->text, text);
}

static bool set_source(struct ss_graph_view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_err *err)
{
	if (i->stack_frame_id > 0)
		ss_hlo_stack_print(&v->text, &v->stacks, i->stack_frame_id);
	if (!set_text(v, t, N_STACK, err))
		return false;
	if (i->source_file.n)
		print_source(v, i);
	if (!set_text(v, t, N_SOURCE, err))
		return false;
	tip_line(v, "", i->op_name);
	tip_line(v, "op_type: ", i->op_type);
	if (i->source_file.n && i->source_line) {
		ss_buf_z(&v->text, v->text.n ? "\nsource: " : "source: ");
		print_source(v, i);
	}
	size_t before = v->text.n;
	ss_buf_z(&v->text, before ? "\n" : "");
	size_t begin = v->text.n;
	if (i->stack_frame_id > 0)
		ss_hlo_stack_print_functions(&v->text, &v->stacks, i->stack_frame_id);
	if (v->text.n == begin)
		v->text.n = before;
	return set_text(v, t, N_TIP, err);
}

/* --- rows -------------------------------------------------------------------------------------- */

static bool set_title(struct ss_graph_view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_err *err)
{
	bool parameter = ss_str_is(i->opcode, "parameter"), fusion = ss_str_is(i->opcode, "fusion");
	if (parameter)
		ss_buf_printf(&v->text, "Parameter %lld", (long long)i->parameter_number);
	else
		ss_buf_str(&v->text, i->name);
	if (!set_text(v, t, N_TITLE, err))
		return false;
	if (!parameter && !ss_str_starts(i->name, i->opcode)) {
		ss_buf_str(&v->text, i->opcode);
		ss_buf_z(&v->text, fusion ? ":" : "");
		ss_buf_str(&v->text, fusion ? i->fusion_kind : SS_STR(""));
	}
	return set_text(v, t, N_OPCODE, err);
}

/* In full if metadata is asked for. */
static bool set_config(struct ss_graph_view *v, struct ss_table *t, size_t col, struct ss_str config, struct ss_err *err)
{
	if (v->metadata)
		ss_hlo_backend_config_print(&v->text, config);
	return set_text(v, t, col, err);
}

static bool set_library(struct ss_graph_view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_str config,
			struct ss_err *err)
{
	return ss_hlo_library_settings(&v->text, i, config) ? set_text(v, t, N_LIBRARY, err) : ss_fail_mem(err);
}

static const char *outline(uint8_t state, struct ss_str opcode)
{
	if (state == SS_GRAPH_ROOT)
		return "diamond";
	return ss_str_is(opcode, "while") ? "ellipse" : "rect";
}

static bool add_node(struct ss_graph_view *v, struct ss_table *t, const struct ss_graph_node *n, struct ss_err *err)
{
	static const char *const states[] = { "", "root", "some operands omitted", "operands omitted", "some users omitted", "" };
	struct ss_hlo_instr i = ss_graph_read(v, n->instr);
	struct ss_str config = ss_hlo_backend_config(i.body);
	ss_table_row(t);
	ss_set_i64(t, N_ID, (int64_t)t->nrows - 1);
	ss_set_i64(t, N_BOX, n->cluster == SS_NONE ? -1 : (int64_t)n->cluster);
	ss_set_str(t, N_NAME, i.name);
	ss_set_str(t, N_OUTLINE, ss_str_from(outline(n->state, i.opcode)));
	ss_set_str(t, N_STATE, ss_str_from(states[n->state]));
	ss_set_str(t, N_CLASS, ss_str_from(class_of(v, n->instr, i.opcode)));
	ss_set_bool(t, N_LARGE, is_large(i.shape));
	ss_set_str(t, N_OP_NAME, i.op_name);
	ss_set_str(t, N_OP_TYPE, i.op_type);
	ss_set_i64(t, N_BYTES, ss_hlo_shape_bytes(i.shape));
	if (!set_title(v, t, &i, err) || !set_subcomputations(v, t, n->instr, err) || !set_origin(v, t, n->instr, &i, err) ||
	    !set_attributes(v, t, N_ATTRS, n->instr, err) || !ss_graph_set_shape(v, t, N_SHAPE, &i, err) ||
	    !set_inlined(v, t, n->instr, err) || !set_library(v, t, &i, config, err) ||
	    !set_config(v, t, N_CONFIG, config, err) || !set_source(v, t, &i, err))
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

static bool add_box(struct ss_graph_view *v, struct ss_table *t, const struct ss_graph_cluster *c, struct ss_err *err)
{
	struct ss_hlo_instr i = ss_graph_read(v, c->caller);
	uint32_t root = ss_hlo_root_of(v->m, c->computation);
	ss_table_row(t);
	ss_set_i64(t, B_ID, (int64_t)t->nrows - 1);
	ss_set_i64(t, B_PARENT, c->parent == SS_NONE ? -1 : (int64_t)c->parent);
	ss_set_i64(t, B_FIRST, c->first);
	ss_set_str(t, B_NAME, i.name);
	ss_set_str(t, B_COMPUTATION, v->m->computations[c->computation].name);
	ss_set_str(t, B_KIND, ss_str_from(c->fusion ? kind_name(i.fusion_kind) : ""));
	ss_set_bool(t, B_FUSION, c->fusion);
	ss_set_bool(t, B_ROOT, c->root);
	ss_set_str(t, B_CLASS, ss_str_from(root == SS_NONE ? "container" : class_of(v, root, ss_graph_read(v, root).opcode)));
	return set_attributes(v, t, B_ATTRS, c->caller, err) && set_config(v, t, B_CONFIG, ss_hlo_backend_config(i.body), err);
}

static bool add_edge(struct ss_graph_view *v, struct ss_table *t, const struct ss_graph_edge *e, struct ss_err *err)
{
	static const char *const kinds[] = { "data", "control", "call" };
	const struct ss_hlo_links *l = &v->g.links;
	uint32_t to_instr = v->g.nodes[e->to].instr;
	struct ss_hlo_instr from = ss_graph_read(v, v->g.nodes[e->from].instr), to = ss_graph_read(v, to_instr);
	bool several = l->operand_first[to_instr + 1] - l->operand_first[to_instr] > 1;
	ss_table_row(t);
	ss_set_i64(t, E_FROM, e->from);
	ss_set_i64(t, E_TO, e->to);
	ss_set_i64(t, E_OPERAND, several && e->kind == SS_GRAPH_DATA ? (int64_t)e->operand : -1);
	ss_set_str(t, E_KIND, ss_str_from(kinds[e->kind]));
	ss_set_bool(t, E_SMALL, !is_large(from.shape));
	ss_set_i64(t, E_BOX, e->cluster == SS_NONE ? -1 : (int64_t)e->cluster);
	ss_buf_str(&v->text, e->cluster == SS_NONE ? from.name : v->m->computations[v->g.clusters[e->cluster].computation].name);
	ss_buf_lit(&v->text, " -> ");
	ss_buf_str(&v->text, to.name);
	return set_text(v, t, E_TIP, err);
}

/* --- the tables -------------------------------------------------------------------------------- */

/*
 * By computation the one `call` of it; and who calls the outermost one. Each caller is named once.
 */
static bool find_callers(struct ss_graph_view *v, struct ss_str *names, struct ss_err *err)
{
	const struct ss_hlo_module *m = v->m;
	uint32_t *ncalls = SS_NEW_N(v->q->arena, uint32_t, m->ncomputations);
	v->caller = SS_NEW_N(v->q->arena, uint32_t, m->ncomputations);
	if (!ncalls || !v->caller)
		return ss_fail_mem(err);
	for (uint32_t c = 0; c < m->ncomputations; c++)
		v->caller[c] = SS_NONE;
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
		bool named = false;
		int64_t id;
		while (ss_hlo_ids_next(&it, &id)) {
			uint32_t c = ss_hlo_computation_by_id(m, id);
			if (c == v->g.computation && !named) {
				ss_buf_z(&v->text, v->text.n ? ", " : "");
				ss_buf_str(&v->text, ss_graph_read(v, i).name);
				named = true;
			}
			if (c != SS_NONE && v->g.op[i] == SS_GRAPH_CALLER)
				v->caller[c] = ncalls[c]++ ? SS_NONE : i;
		}
	}
	return ss_graph_take(v, names, err);
}

static void set_props(struct ss_graph_view *v, struct ss_table *t, const struct ss_hlo_graph_request *ask, struct ss_str callers,
		      struct ss_str format)
{
	const struct ss_hlo_computation *c = &v->m->computations[v->g.computation];
	uint32_t fusion = v->g.fusion_of[v->g.computation];
	bool entry = c->id == v->m->entry_id;
	ss_table_prop(t, "module", v->pick.file);
	ss_table_prop(t, "computation", c->name);
	ss_table_prop(t, "entry", entry ? SS_STR("true") : SS_STR("false"));
	ss_table_prop(t, "fusion", fusion == SS_NONE ? SS_STR("") : ss_graph_read(v, fusion).name);
	ss_table_prop(t, "callers", entry || fusion != SS_NONE ? SS_STR("") : callers);
	ss_table_prop(t, "node_name", ask->instr == SS_NONE ? SS_STR("") : ss_graph_read(v, ask->instr).name);
	ss_table_prop(t, "format", format);
	ss_table_prop_num(t, "graph_width", "Graph width", SS_UNIT_COUNT, ask->radius, "%.0f");
	ss_table_prop_num(t, "root_node", "Row of the computation's result", SS_UNIT_NONE,
			  v->g.root_node == SS_NONE ? -1 : (double)v->g.root_node, "%.0f");
}

static bool fill(struct ss_graph_view *v, const struct ss_hlo_graph_request *ask, struct ss_str callers, struct ss_str format,
		 struct ss_err *err)
{
	struct ss_table *t = ss_result_table(v->out, "nodes", "Instructions", node_cols, SS_COUNT(node_cols));
	set_props(v, t, ask, callers, format);
	for (uint32_t i = 0; i < v->g.nnodes; i++)
		if (!add_node(v, t, &v->g.nodes[i], err))
			return false;
	t = ss_result_table(v->out, "boxes", "Called computations", box_cols, SS_COUNT(box_cols));
	for (uint32_t i = 0; i < v->g.nclusters; i++)
		if (!add_box(v, t, &v->g.clusters[i], err))
			return false;
	t = ss_result_table(v->out, "edges", "Values", edge_cols, SS_COUNT(edge_cols));
	for (uint32_t i = 0; i < v->g.nedges; i++)
		if (!add_edge(v, t, &v->g.edges[i], err))
			return false;
	return true;
}

bool ss_graph_tables(struct ss_graph_view *v, const struct ss_hlo_graph_request *ask, struct ss_str format, struct ss_err *err)
{
	struct ss_str callers;
	if (!ss_hlo_stacks_read(&v->stacks, v->m, v->q->arena))
		return ss_fail_mem(err);
	return ss_hlo_graph_of(&v->g, v->m, ask, v->q->arena, err) && find_callers(v, &callers, err) &&
	       fill(v, ask, callers, format, err);
}
