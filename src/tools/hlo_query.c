/*
 * hlo_query.c - the instructions of a compiled program that match expressions, lie near one of them, or on the shortest
 * path between two, with their times.
 *
 * What does not match is left out of the tables and walked through all the same (model/program/hlo_walk.h).
 */
#include "base/regex.h"
#include "base/safe.h"
#include "base/vec.h"
#include "hlo/shape.h"
#include "hlo/text.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "model/ops/ops.h"
#include "model/program/hlo_op.h"
#include "model/program/hlo_walk.h"
#include "tools/module_pick.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LISTED 1000u
#define MOST_STEPS 100000u
#define TEXT_BYTES 300u /* of an instruction's text */

enum {
	I_NAME, I_OPCODE, I_CATEGORY, I_DISTANCE, I_RELATION, I_SELF, I_RUNS, I_SHAPE, I_BYTES, I_OPERANDS, I_USERS, I_COMPUTATION,
	I_OP_NAME, I_SOURCE, I_EXPRESSION, I_MODULE,
};

static const struct ss_col instr_cols[] = {
	STR("instruction", "Instruction", NULL),
	STR("opcode", "Opcode", NULL),
	STR("category", "Category", NULL),
	NUM("distance", "Distance", COUNT, "Number of edges to the requested instruction"),
	STR("relation", "Relation", "Relation to the previous instruction of the path"),
	NUM("self_time_ps", "Self time", PS,
	    "Self time of all executions on the program's host, by the device's clock where it was recorded; empty: not known"),
	NUM("occurrences", "Executions", COUNT, "Executions on the program's host; empty: not known"),
	STR("shape", "Shape", "Shape of the result"),
	INT("result_bytes", "Result", BYTES, "Without padding"),
	INT("operands", "Operands", COUNT, NULL),
	INT("users", "Users", COUNT, "Instructions that use the result"),
	STR("computation", "Computation", "Computation that holds the instruction"),
	STR("op_name", "Framework op", NULL),
	STR("source", "Source", "File and line"),
	STR("expression", "Expression", "The instruction in the compiler's notation, its first 300 bytes"),
	STR("module", "Program", NULL),
};

enum { O_OPCODE, O_COUNT, O_BYTES, O_SELF };

static const struct ss_col opcode_cols[] = {
	STR("opcode", "Opcode", NULL),
	INT("instructions", "Instructions", COUNT, NULL),
	INT("result_bytes", "Results", BYTES, "Size of the results of one execution of each"),
	NUM("self_time_ps", "Self time", PS, "Self time of all executions, as in the table of instructions; empty: not known"),
};

static const struct ss_param params[] = {
	SS_MODULE_PARAMS,
	{ "name", "regex", NULL, "instructions whose name matches" },
	{ "opcode", "regex", NULL, "instructions whose opcode matches: ^all-" },
	{ "category", "regex", NULL, "instructions whose category matches" },
	{ "shape", "regex", NULL, "instructions whose result's shape matches: ^bf16" },
	{ "op_name", "regex", NULL, "instructions whose framework op matches" },
	{ "instruction", "instruction", NULL, "only instructions near this instruction" },
	{ "radius", "edges", "2", "maximum distance from it, in edges" },
	{ "direction", "both|operands|users", "both", "neighbours of the instruction that are followed" },
	{ "follow_calls", "true|false", "false", "also follow it into called computations: bodies of fusions, loops and branches" },
	{ "path_to", "instruction", NULL, "the shortest path from 'instruction' to this one, through calls" },
};

const struct ss_tool ss_tool_hlo_query;

enum filter { BY_NAME, BY_OPCODE, BY_CATEGORY, BY_SHAPE, BY_OP_NAME, FILTERS };

static const char *const filters[FILTERS] = { "name", "opcode", "category", "shape", "op_name" };

struct match {
	uint32_t instr, distance;
	const struct ss_hlo_step *step; /* NULL: no path was asked for */
	double self_ps, runs;		/* NAN: not known */
};

struct opcode {
	struct ss_str opcode;
	uint64_t n;
	double bytes, self_ps;
	bool timed;
};

struct query {
	const struct ss_request *q;
	struct ss_result *out;
	struct ss_module_pick pick;
	const struct ss_hlo_module *m;
	struct ss_hlo_module_ties ties;
	const struct ss_op_db *ops;
	struct ss_regex *filter[FILTERS]; /* NULL: all match */
	SS_VEC(struct match) matches;
	SS_VEC(struct opcode) opcodes;
	struct ss_strmap by_opcode;
	struct ss_buf text; /* scratch */
	bool near, path, no_memory;
	uint32_t path_n; /* instructions on the path, 0: there is none */
	unsigned path_direction;
};

static struct ss_str param(const struct query *s, const char *name)
{
	return ss_request_param(s->q, &ss_tool_hlo_query, name);
}

static struct ss_hlo_instr read(const struct query *s, uint32_t i)
{
	struct ss_hlo_instr in;
	ss_hlo_instr_read(s->m->instrs[i], &in);
	return in;
}

/* The scratch text, cut, in the answer's arena. */
static struct ss_str take_text(struct query *s)
{
	struct ss_str text = ss_arena_str(s->out->arena, ss_utf8_front(ss_buf_get(&s->text), TEXT_BYTES));
	s->no_memory = s->no_memory || s->text.no_memory || !text.p;
	s->text.n = 0;
	return text.p ? text : SS_STR("");
}

/* ---- what matches ---- */

static bool passes(struct query *s, const struct ss_hlo_instr *in)
{
	const struct ss_str texts[FILTERS] = { [BY_NAME] = in->name, [BY_OPCODE] = in->opcode, [BY_OP_NAME] = in->op_name };
	for (unsigned k = 0; k < FILTERS; k++) {
		struct ss_str text = texts[k];
		if (!s->filter[k])
			continue;
		if (k == BY_CATEGORY)
			text = ss_hlo_category(in);
		if (k == BY_SHAPE) {
			ss_hlo_shape_print(&s->text, in->shape, true);
			text = ss_buf_get(&s->text);
		}
		enum ss_regex_found found = ss_regex_search(s->filter[k], text, NULL, 0, NULL, NULL);
		s->no_memory = s->no_memory || s->text.no_memory || found == SS_REGEX_STOPPED;
		s->text.n = 0;
		if (found != SS_REGEX_YES)
			return false;
	}
	return true;
}

static bool count_opcode(struct query *s, const struct ss_hlo_instr *in, double self_ps)
{
	uint32_t known = (uint32_t)s->by_opcode.n, at = ss_strmap_add(&s->by_opcode, in->opcode);
	if (at == SS_NONE || (at == known && !ss_vec_push(&s->opcodes, ((struct opcode){ .opcode = in->opcode }))))
		return false;
	struct opcode *o = &s->opcodes.v[at];
	int64_t bytes = ss_hlo_shape_bytes(in->shape);
	o->n++;
	o->bytes += bytes > 0 ? (double)bytes : 0;
	o->self_ps += isnan(self_ps) ? 0 : self_ps;
	o->timed = o->timed || !isnan(self_ps);
	return true;
}

static bool consider(struct query *s, uint32_t i, uint32_t distance, const struct ss_hlo_step *step)
{
	struct ss_hlo_instr in = read(s, i);
	if (!passes(s, &in))
		return !s->no_memory;
	const struct ss_op *op = ss_module_op(s->ops, &s->pick, in.name);
	struct match m = { i, distance, step, op ? (double)op->self_ps : NAN, op ? (double)op->occurrences : NAN };
	return count_opcode(s, &in, m.self_ps) && ss_vec_push(&s->matches, m);
}

/* The instruction that a parameter names, SS_NONE where it has no value. */
static bool named(const struct query *s, const char *name, uint32_t *out, struct ss_err *err)
{
	struct ss_str want = param(s, name);
	*out = SS_NONE;
	if (!want.n)
		return true;
	*out = ss_hlo_instr_by_name(s->m, ss_str_sub(want, want.p[0] == '%', want.n));
	return *out != SS_NONE || ss_fail(err, SS_ENOTFOUND, "program '" SS_FMT "' has no instruction named '" SS_FMT "'",
					  SS_ARG(s->pick.file), SS_ARG(want));
}

static bool find_path(struct query *s, uint32_t from, uint32_t to)
{
	struct ss_hlo_walk w = ss_hlo_walk_of(&s->ties);
	struct ss_hlo_path path;
	if (!ss_hlo_path_of(&path, &w, from, to, MOST_STEPS, s->q->arena))
		return false;
	s->path_n = path.n;
	s->path_direction = path.direction;
	for (uint32_t k = 0; k < path.n; k++)
		if (!consider(s, path.v[k].instr, k, &path.v[k]))
			return false;
	return true;
}

static bool find_near(struct query *s, uint32_t centre, uint32_t radius, unsigned direction, bool calls)
{
	struct ss_hlo_walk w = ss_hlo_walk_of(&s->ties);
	struct ss_hlo_near near;
	if (!ss_hlo_near_of(&near, &w, centre, radius, direction, calls, s->q->arena))
		return false;
	for (uint32_t k = 0; k < near.n; k++)
		if (!consider(s, near.order[k], near.distance[near.order[k]], NULL))
			return false;
	return true;
}

static bool find_all(struct query *s)
{
	for (uint32_t i = 0; i < s->m->ninstrs; i++)
		if (!consider(s, i, SS_NONE, NULL))
			return false;
	return true;
}

static bool find(struct query *s, struct ss_err *err)
{
	uint32_t from, to;
	uint64_t radius;
	struct ss_str direction = param(s, "direction"), calls = param(s, "follow_calls");
	unsigned way = ss_str_is(direction, "operands") ? SS_HLO_UP : ss_str_is(direction, "users") ? SS_HLO_DOWN : 0;
	if (!named(s, "instruction", &from, err) || !named(s, "path_to", &to, err))
		return false;
	if (to != SS_NONE && from == SS_NONE)
		return ss_fail(err, SS_EINVAL, "path_to needs the instruction where the path begins: instruction=NAME");
	if (!ss_str_to_u64(param(s, "radius"), &radius) || radius >= SS_NONE)
		return ss_fail(err, SS_EINVAL, "radius must be a number of edges, not '" SS_FMT "'", SS_ARG(param(s, "radius")));
	if (!way && !ss_str_is(direction, "both"))
		return ss_fail(err, SS_EINVAL, "direction must be both, operands or users, not '" SS_FMT "'", SS_ARG(direction));
	if (!ss_str_is(calls, "true") && !ss_str_is(calls, "false"))
		return ss_fail(err, SS_EINVAL, "follow_calls must be true or false, not '" SS_FMT "'", SS_ARG(calls));
	s->path = to != SS_NONE;
	s->near = from != SS_NONE && !s->path;
	bool ok = s->path   ? find_path(s, from, to)
		  : s->near ? find_near(s, from, (uint32_t)radius, way ? way : SS_HLO_UP | SS_HLO_DOWN, ss_str_is(calls, "true"))
			    : find_all(s);
	return (ok && !s->no_memory) || ss_fail_mem(err);
}

/* ---- rows ---- */

/* Where nothing is near or on a path: the longest first. */
static int by_time(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	double p = isnan(x->self_ps) ? -1 : x->self_ps, q = isnan(y->self_ps) ? -1 : y->self_ps;
	return SS_CMP(q, p) ?: SS_CMP(x->instr, y->instr);
}

static struct ss_str relation_of(struct query *s, const struct ss_hlo_step *step)
{
	static const char *const words[] = {
		[SS_HLO_START] = "start",	  [SS_HLO_USED_BY] = "uses it",
		[SS_HLO_OPERAND] = "its operand", [SS_HLO_PARAMETER_OF] = "parameter of",
		[SS_HLO_RESULT_OF] = "result of", [SS_HLO_RETURNS_TO] = "takes the result",
		[SS_HLO_CALLED_FROM] = "calls it",
	};
	if (!step)
		return SS_STR("");
	if (step->relation != SS_HLO_PARAMETER_OF && step->relation != SS_HLO_RESULT_OF)
		return ss_str_from(words[step->relation]);
	ss_buf_printf(&s->text, "%s " SS_FMT, words[step->relation], SS_ARG(s->m->computations[step->of].name));
	return take_text(s);
}

static struct ss_str shape_of(struct query *s, const struct ss_hlo_instr *in)
{
	ss_hlo_shape_print(&s->text, in->shape, true);
	return take_text(s);
}

static struct ss_str source_of(struct query *s, const struct ss_hlo_instr *in)
{
	if (!in->source_file.n)
		return SS_STR("");
	ss_buf_printf(&s->text, SS_FMT ":%lld", SS_ARG(in->source_file), (long long)in->source_line);
	return take_text(s);
}

static struct ss_str expression_of(struct query *s, uint32_t i)
{
	s->no_memory = !ss_hlo_instr_text(&s->text, s->m, i, SS_HLO_EXPRESSION) || s->no_memory;
	return take_text(s);
}

static void put_match(struct query *s, struct ss_table *t, const struct match *m)
{
	struct ss_hlo_instr in = read(s, m->instr);
	const struct ss_hlo_links *l = &s->ties.links;
	int64_t bytes = ss_hlo_shape_bytes(in.shape);
	ss_table_row(t);
	ss_set_str(t, I_NAME, in.name);
	ss_set_str(t, I_OPCODE, in.opcode);
	ss_set_str(t, I_CATEGORY, ss_hlo_category(&in));
	ss_set_f64(t, I_DISTANCE, m->distance == SS_NONE ? NAN : (double)m->distance);
	ss_set_str(t, I_RELATION, relation_of(s, m->step));
	ss_set_f64(t, I_SELF, m->self_ps);
	ss_set_f64(t, I_RUNS, m->runs);
	ss_set_str(t, I_SHAPE, shape_of(s, &in));
	ss_set_i64(t, I_BYTES, bytes > 0 ? bytes : 0);
	ss_set_i64(t, I_OPERANDS, l->operand_first[m->instr + 1] - l->operand_first[m->instr]);
	ss_set_i64(t, I_USERS, l->user_first[m->instr + 1] - l->user_first[m->instr]);
	ss_set_str(t, I_COMPUTATION, s->m->computations[l->computation[m->instr]].name);
	ss_set_str(t, I_OP_NAME, in.op_name);
	ss_set_str(t, I_SOURCE, source_of(s, &in));
	ss_set_str(t, I_EXPRESSION, expression_of(s, m->instr));
	ss_set_str(t, I_MODULE, s->pick.file);
}

static int by_count(const void *a, const void *b)
{
	const struct opcode *x = a, *y = b;
	return SS_CMP(y->self_ps, x->self_ps) ?: SS_CMP(y->n, x->n) ?: ss_str_cmp(x->opcode, y->opcode);
}

static void put_opcodes(struct query *s, struct ss_table *t)
{
	if (s->opcodes.n)
		qsort(s->opcodes.v, s->opcodes.n, sizeof(*s->opcodes.v), by_count);
	for (size_t i = 0; i < s->opcodes.n && i < MOST_LISTED; i++) {
		const struct opcode *o = &s->opcodes.v[i];
		ss_table_row(t);
		ss_set_str(t, O_OPCODE, o->opcode);
		ss_set_i64(t, O_COUNT, (int64_t)o->n);
		ss_set_i64(t, O_BYTES, ss_safe_i64(o->bytes));
		ss_set_f64(t, O_SELF, o->timed ? o->self_ps : NAN);
	}
}

static bool put_rows(struct query *s, struct ss_err *err)
{
	static const char *const directions[] = { [SS_HLO_DOWN] = "downstream", [SS_HLO_UP] = "upstream",
						  [SS_HLO_DOWN | SS_HLO_UP] = "in both directions" };
	struct ss_table *t = ss_result_table(s->out, "instructions", "Instructions", instr_cols, SS_COUNT(instr_cols));
	if (s->matches.n && !s->near && !s->path)
		qsort(s->matches.v, s->matches.n, sizeof(*s->matches.v), by_time);
	for (size_t i = 0; i < s->matches.n && i < MOST_LISTED; i++)
		put_match(s, t, &s->matches.v[i]);
	ss_table_prop(t, "program", s->pick.file);
	if (s->q->model->nhosts > 1)
		ss_table_prop(t, "host", ss_host_name(s->pick.host));
	ss_table_prop_num(t, "matching", "Matching", SS_UNIT_COUNT, (double)s->matches.n, "%.0f");
	ss_table_prop_num(t, "instructions", "Instructions of the program", SS_UNIT_COUNT, s->m->ninstrs, "%.0f");
	if (s->path_n) {
		ss_table_prop_num(t, "path_edges", "Edges of the path", SS_UNIT_COUNT, s->path_n - 1, "%.0f");
		ss_table_prop(t, "path_direction", ss_str_from(directions[s->path_direction]));
	}
	put_opcodes(s, ss_result_table(s->out, "opcodes", "By opcode", opcode_cols, SS_COUNT(opcode_cols)));
	if (s->matches.n > MOST_LISTED)
		ss_result_note(s->out, SS_INFO,
			       ss_arena_printf(s->out->arena, "the first %u of %zu instructions are listed", MOST_LISTED,
					       s->matches.n));
	return ss_module_table(s->q, &s->pick, s->out, err) && (!s->no_memory || ss_fail_mem(err));
}

/* ---- the request ---- */

/* As named; else one that has the instruction; else the one of most time. */
static bool pick(struct query *s, struct ss_err *err)
{
	struct ss_str instruction = param(s, "instruction");
	bool program = param(s, "module_name").n || param(s, "program_id").n;
	if (!program && instruction.n &&
	    !ss_module_pick_by_node(s->q, instruction, false, &s->pick, err))
		return false;
	bool nowhere = !program && instruction.n && !s->pick.module;
	if (!s->pick.module && !ss_module_pick(s->q, &ss_tool_hlo_query, &s->pick, err))
		return false;
	if (nowhere)
		return ss_fail(err, SS_ENOTFOUND, "no program has an instruction named '" SS_FMT "'", SS_ARG(instruction));
	s->m = s->pick.module;
	return ss_hlo_module_ties_of(&s->ties, s->m, s->q->arena) || ss_fail_mem(err);
}

static bool read_filters(struct query *s, struct ss_err *err)
{
	for (unsigned k = 0; k < FILTERS; k++) {
		struct ss_str text = param(s, filters[k]);
		s->filter[k] = text.n ? ss_regex_new(text, err) : NULL;
		if (text.n && !s->filter[k])
			return false;
	}
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct query s = { .q = q, .out = out };
	bool ok = read_filters(&s, err) && pick(&s, err) && ss_module_ops(q, &s.pick, &s.ops, err) && find(&s, err) &&
		  put_rows(&s, err);
	for (unsigned k = 0; k < FILTERS; k++)
		ss_regex_free(s.filter[k]);
	ss_vec_free(&s.matches);
	ss_vec_free(&s.opcodes);
	ss_strmap_free(&s.by_opcode);
	ss_buf_free(&s.text);
	return ok;
}

static void say_path(const struct ss_request *q, struct ss_result *out, const struct ss_table *t, struct ss_str module)
{
	struct ss_str from = ss_request_param(q, &ss_tool_hlo_query, "instruction"),
		      to = ss_request_param(q, &ss_tool_hlo_query, "path_to");
	const struct ss_prop *edges = ss_table_find_prop(t, "path_edges");
	if (!edges)
		ss_say(out, "No path leads from '" SS_FMT "' to '" SS_FMT "' in '" SS_FMT "'.", SS_ARG(from), SS_ARG(to),
		       SS_ARG(module));
	else
		ss_say(out, "The shortest path from '" SS_FMT "' to '" SS_FMT "' in '" SS_FMT "' has %s, " SS_FMT ".", SS_ARG(from),
		       SS_ARG(to), SS_ARG(module), ss_count_words(edges->value, "edge").s,
		       SS_ARG(ss_prop_words(out, "path_direction")));
}

static void say_matches(const struct ss_request *q, struct ss_result *out, double n, double all, struct ss_str module)
{
	struct ss_str from = ss_request_param(q, &ss_tool_hlo_query, "instruction"),
		      radius = ss_request_param(q, &ss_tool_hlo_query, "radius");
	bool calls = ss_str_is(ss_request_param(q, &ss_tool_hlo_query, "follow_calls"), "true");
	struct ss_words count = ss_count_words(n, "instruction");
	if (n <= 0)
		ss_say(out, "No instruction of '" SS_FMT "' matches.", SS_ARG(module));
	else if (from.n)
		ss_say(out, "%s of '" SS_FMT "' %s within a radius of " SS_FMT " around '" SS_FMT "'%s.", count.s, SS_ARG(module),
		       n > 1 ? "lie" : "lies", SS_ARG(radius), SS_ARG(from), calls ? ", through calls" : "");
	else if (n < all)
		ss_say(out, "%s of the %.0f of '" SS_FMT "' %s.", count.s, all, SS_ARG(module), n > 1 ? "match" : "matches");
	else
		ss_say(out, "'" SS_FMT "' has %s.", SS_ARG(module), count.s);
}

/* How many match, and which takes the most time. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "instructions");
	const struct ss_prop *matching = ss_table_find_prop(t, "matching"), *all = ss_table_find_prop(t, "instructions");
	struct ss_str module = ss_prop_words(out, "program");
	(void)err;
	out->conclusion.see = "graph_viewer";
	if (!matching || !all)
		return true;
	if (ss_request_param(q, &ss_tool_hlo_query, "path_to").n)
		say_path(q, out, t, module);
	else
		say_matches(q, out, matching->value, all->value, module);
	struct ss_greatest top = ss_greatest_row(t, "self_time_ps", NULL, NULL);
	struct ss_str host = ss_prop_words(out, "host");
	/* The times are those of one host. */
	struct ss_str where = host.n ? ss_arena_printf(out->arena, " on '" SS_FMT "'", SS_ARG(host)) : SS_STR("");
	bool all_listed = matching->value <= (double)t->nrows || !ss_request_param(q, &ss_tool_hlo_query, "instruction").n;
	if (top.row != SS_NPOS && t->nrows > 1 && all_listed)
		ss_say(out, "'" SS_FMT "' takes the most time of them: %s in %s" SS_FMT ".",
		       SS_ARG(ss_cell_str(t, top.row, "instruction")), ss_value_words(SS_UNIT_PS, top.value).s,
		       ss_count_words(ss_cell_f64(t, top.row, "occurrences"), "execution").s, SS_ARG(where));
	return true;
}

const struct ss_tool ss_tool_hlo_query = {
	.name = "hlo_query",
	.title = "HLO query",
	.summary = "Instructions of a compiled program by expressions, near one of them, or on the path between two",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS | SS_TOOL_OF_PROGRAM,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_module_present,
	.run = run,
	.conclude = conclude,
};
