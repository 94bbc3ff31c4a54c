/*
 * graph_viewer.c - a compiled program as a graph around one instruction, as text, and as a proto.
 *
 * type=graph is tables of nodes, boxes and edges (xprof/shape_graph_viewer.c draws them for XProf's
 * clients); type=names, which XProf does not have, finds instructions by a part of their name; the
 * other types are texts and files of XProf's form. Which instructions are near:
 * model/program/hlo_graph.h; the notation: hlo/text.h.
 *
 * Without a node's name the root of the program's entry is shown, where XProf fails.
 */
#include "hlo/config.h"
#include "hlo/pbtxt.h"
#include "hlo/text.h"
#include "table/cols.h"
#include "tools/graph_tables.h"
#include "tools/words.h"

#define MAX_NODES 5000
#define MAX_FOUND 200

const struct ss_tool ss_tool_graph_viewer;

enum { F_NAME, F_OPCODE, F_COMPUTATION, F_OP_NAME, F_SHAPE };

static const struct ss_col found_cols[] = {
	STR("name", "Instruction", NULL),
	STR("opcode", "Opcode", NULL),
	STR("computation", "Computation", "Computation that holds the instruction"),
	STR("op_name", "Framework op", NULL),
	STR("shape", "Shape", "Shape of the result, truncated to 64 characters"),
};

static const struct ss_param params[] = {
	SS_MODULE_PARAMS,
	{ "type", "graph|names|adj_nodes|custom_call|short_txt|long_txt|pb|pbtxt", "graph", "what to show" },
	{ "node_name", "name", NULL,
	  "instruction or computation; without it the operation with the most time, else the one that makes the largest result" },
	{ "graph_width", "number", "3", "maximum distance from the node, in edges" },
	{ "find", "text", NULL, "part of an instruction's name, opcode or framework op, for type=names" },
	{ "show_metadata", "true|false", "false", "include backend configs, and source lines in texts" },
	{ "merge_fusion", "true|false", "false", "draw each fusion as one node" },
	{ "format", "html|dot", "html", "format of the drawing for XProf clients" },
};

static struct ss_str param(const struct ss_graph_view *v, const char *name)
{
	return ss_request_param(v->q, &ss_tool_graph_viewer, name);
}

/* --- which program, which node ----------------------------------------------------------------- */

/*
 * By the program's name or number; failing that, and with a node's name, the program that holds
 * such a node.
 */
static bool pick(struct ss_graph_view *v, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool named = param(v, "module_name").n || param(v, "program_id").n;
	if (!named && v->node.n) {
		if (!ss_module_pick_by_node(v->q, v->node, true, &v->pick, err))
			return false;
	} else if (!ss_module_pick(v->q, &ss_tool_graph_viewer, &v->pick, &why)) {
		if (why.code != SS_ENOTFOUND || !v->node.n)
			return ss_fail(err, why.code, "%s", why.text);
		if (!ss_module_pick_by_node(v->q, v->node, true, &v->pick, err))
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

static uint32_t entry_root(const struct ss_graph_view *v)
{
	uint32_t c = ss_hlo_computation_by_id(v->m, v->m->entry_id);
	return c == SS_NONE ? SS_NONE : ss_hlo_instr_by_id(v->m, v->m->computations[c].root_id);
}

/*
 * The instruction, or with SS_NONE the computation, that the query names. Where both have the name,
 * a graph is about the computation, unless a % stands before it; everything else is about the
 * instruction.
 */
static bool find_node(const struct ss_graph_view *v, bool graph, uint32_t *instr, uint32_t *computation, struct ss_err *err)
{
	struct ss_str name = v->node;
	*computation = SS_NONE;
	*instr = name.n ? SS_NONE : entry_root(v);
	if (!name.n)
		return *instr != SS_NONE || ss_fail(err, SS_ENODATA, "program '" SS_FMT "' has no root", SS_ARG(v->pick.file));
	bool percent = name.p[0] == '%';
	name = ss_str_sub(name, percent, name.n);
	for (uint32_t i = 0; *computation == SS_NONE && i < v->m->ncomputations; i++)
		if (ss_str_eq(v->m->computations[i].name, name))
			*computation = i;
	if (!graph || percent || *computation == SS_NONE)
		*instr = ss_hlo_instr_by_name(v->m, name);
	if (*instr == SS_NONE && *computation == SS_NONE)
		return ss_fail(err, SS_ENOTFOUND, "program '" SS_FMT "' has no instruction or computation named '" SS_FMT "'",
			       SS_ARG(v->pick.file), SS_ARG(name));
	return true;
}

/* --- type=graph -------------------------------------------------------------------------------- */

static uint32_t radius(const struct ss_graph_view *v)
{
	uint64_t n;
	if (!ss_str_to_u64(param(v, "graph_width"), &n))
		return 3;
	return n < 100000 ? (uint32_t)n : 100000;
}

static bool show_graph(struct ss_graph_view *v, struct ss_err *err)
{
	struct ss_str format = param(v, "format");
	/* A person sees the tables and the page; a text for Graphviz is complete. */
	struct ss_hlo_graph_request ask = { .radius = radius(v),
					.max_nodes = ss_str_is(format, "dot") ? UINT32_MAX : MAX_NODES,
					.merge_fusions = ss_str_is(param(v, "merge_fusion"), "true") };
	if (!find_node(v, true, &ask.instr, &ask.computation, err) || !ss_graph_tables(v, &ask, format, err) ||
	    !ss_module_table(v->q, &v->pick, v->out, err))
		return false;
	v->out->content_type = "text/html";
	if (!v->g.nleft_out)
		return true;
	struct ss_str note = ss_arena_printf(v->q->arena,
					     "the graph is limited to %d instructions: %u called computations are left out. "
					     "Select one of them by its name", MAX_NODES, v->g.nleft_out);
	ss_result_note(v->out, SS_WARNING, note);
	return true;
}

/* --- type=names -------------------------------------------------------------------------------- */

static bool contains(struct ss_str text, struct ss_str find)
{
	for (size_t i = 0; i + find.n <= text.n; i++)
		if (ss_str_istarts(ss_str_sub(text, i, text.n), find))
			return true;
	return false;
}

/*
 * Names that begin with it come first, then names that hold it, then what only its opcode or
 * framework op says.
 */
static unsigned match(struct ss_str find, const struct ss_hlo_instr *i)
{
	if (ss_str_istarts(i->name, find))
		return 0;
	if (contains(i->name, find))
		return 1;
	return contains(i->opcode, find) || contains(i->op_name, find) ? 2 : 3;
}

static bool add_found(struct ss_graph_view *v, struct ss_table *t, uint32_t computation, const struct ss_hlo_instr *i,
		      struct ss_err *err)
{
	ss_table_row(t);
	ss_set_str(t, F_NAME, i->name);
	ss_set_str(t, F_OPCODE, i->opcode);
	ss_set_str(t, F_COMPUTATION, v->m->computations[computation].name);
	ss_set_str(t, F_OP_NAME, i->op_name);
	return ss_graph_set_shape(v, t, F_SHAPE, i, err);
}

/*
 * One pass for each rank of match: each row is written where it belongs, and the count is of the
 * whole program.
 */
static bool show_names(struct ss_graph_view *v, struct ss_err *err)
{
	struct ss_str find = param(v, "find");
	struct ss_table *t = ss_result_table(v->out, "names", "Instructions found", found_cols, SS_COUNT(found_cols));
	uint64_t n = 0;
	for (unsigned rank = 0; rank < 3; rank++)
		for (uint32_t c = 0; c < v->m->ncomputations; c++) {
			const struct ss_hlo_computation *in = &v->m->computations[c];
			for (uint32_t k = 0; k < in->ninstrs; k++) {
				struct ss_hlo_instr i = ss_graph_read(v, in->first + k);
				if (match(find, &i) != rank)
					continue;
				if (n++ < MAX_FOUND && !add_found(v, t, c, &i, err))
					return false;
			}
		}
	ss_table_prop(t, "module", v->pick.file);
	ss_table_prop_num(t, "count", "Instructions found", SS_UNIT_COUNT, (double)n, "%.0f");
	return true;
}

/* --- the other types --------------------------------------------------------------------------- */

/* The scratch text becomes the answer. */
static bool answer(struct ss_graph_view *v, const char *content_type, struct ss_err *err)
{
	v->out->content_type = content_type;
	return ss_graph_take(v, &v->out->body, err);
}

static bool show_text(struct ss_graph_view *v, struct ss_err *err)
{
	enum ss_hlo_style style = ss_str_is(param(v, "type"), "short_txt") ? SS_HLO_SHORT : SS_HLO_LONG;
	return ss_hlo_text(&v->text, v->m, style, v->metadata, err) && answer(v, "application/octet-stream", err);
}

static bool show_pb(struct ss_graph_view *v, struct ss_err *err)
{
	(void)err;
	v->out->content_type = "application/octet-stream";
	v->out->body = v->m->bytes;
	return true;
}

static bool show_pbtxt(struct ss_graph_view *v, struct ss_err *err)
{
	ss_hlo_pbtxt(&v->text, v->m->bytes);
	return answer(v, "application/octet-stream", err);
}

/* Elements of tuples, as their names tell, are looked through. `of` gives operands or users. */
static bool print_names(struct ss_graph_view *v, const struct ss_hlo_links *l, uint32_t instr, bool users, struct ss_err *err)
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
			return ss_fail(err, SS_EFORMAT, "program '" SS_FMT "': tuple elements reference each other too many times",
				       SS_ARG(v->pick.file));
		if (at[top] == first[top + 1]) {
			open[top] = false;
			n--;
			continue;
		}
		uint32_t next = list[at[top]++];
		struct ss_hlo_instr i = ss_graph_read(v, next);
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

static bool show_neighbours(struct ss_graph_view *v, struct ss_err *err)
{
	struct ss_hlo_links l;
	uint32_t instr, computation;
	if (!find_node(v, false, &instr, &computation, err))
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

static bool show_custom_call(struct ss_graph_view *v, struct ss_err *err)
{
	uint32_t instr, computation;
	if (!find_node(v, false, &instr, &computation, err))
		return false;
	if (instr == SS_NONE)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' is a computation: only instructions have a config", SS_ARG(v->node));
	struct ss_str config = ss_hlo_backend_config(v->m->instrs[instr]);
	return ss_hlo_custom_call_body(config, &v->text, err) && answer(v, "text/plain", err);
}

static const struct {
	const char *type;
	bool (*show)(struct ss_graph_view *v, struct ss_err *err);
} types[] = {
	{ "graph", show_graph },	 { "names", show_names },    { "adj_nodes", show_neighbours },
	{ "custom_call", show_custom_call }, { "short_txt", show_text }, { "long_txt", show_text },
	{ "pb", show_pb },		 { "pbtxt", show_pbtxt },
};

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_graph_view v = { .q = q, .out = out, .node = ss_request_param(q, &ss_tool_graph_viewer, "node_name") };
	struct ss_str type = param(&v, "type");
	size_t i = 0;
	while (i < SS_COUNT(types) && !ss_str_is(type, types[i].type))
		i++;
	if (i == SS_COUNT(types))
		return ss_fail(err, SS_EINVAL, "unknown graph type '" SS_FMT "' (there are: %s)", SS_ARG(type),
			       params[2].values);
	v.metadata = ss_str_is(param(&v, "show_metadata"), "true");
	bool ok = pick(&v, err);
	/* A person's way in is where the time goes. */
	if (ok && !v.node.n && q->for_people && types[i].show == show_graph)
		ok = ss_module_hottest_op(q, &v.pick, &v.node, err);
	ok = ok && types[i].show(&v, err);
	ss_buf_free(&v.text);
	return ok;
}

/* What is drawn, and of which program. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "nodes");
	struct ss_str module = ss_prop_words(out, "module"), root = ss_prop_words(out, "node_name");
	(void)q;
	if (!t->nrows || !module.n)
		return true;
	struct ss_words n = ss_count_words((double)t->nrows, "instruction");
	if (root.n)
		ss_say(out, "The graph shows %s around '" SS_FMT "' of '" SS_FMT "'.",
		       n.s, SS_ARG(root), SS_ARG(module));
	else
		ss_say(out,
		       "The graph shows %s of the computation '" SS_FMT "' of '" SS_FMT
		       "'.",
		       n.s, SS_ARG(ss_prop_words(out, "computation")), SS_ARG(module));
	return true;
}

const struct ss_tool ss_tool_graph_viewer = {
	.name = "graph_viewer",
	.title = "Graph viewer",
	.summary = "A compiled program as a graph around one instruction, as text and as a proto",
	.kind = SS_KIND_GRAPH,
	.flags = SS_TOOL_OF_PROGRAM,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_module_present,
	.run = run,
	.conclude = conclude,
};
