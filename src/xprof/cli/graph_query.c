/*
 * graph_query.c - query_hlo_graph: what a program consists of, by modes; most of them are one query
 * over its tables.
 */
#include "xprof/cli/graph_db.h"
#include "xprof/cli/modules.h"

#include <sqlite3.h>
#include <stdlib.h>

#define MAX_PARAMS 8

struct query {
	struct xcli *x;
	struct xg_graph *g;
	sqlite3 *db;
	struct xv *out;
	int64_t limit;
	struct ss_str computation, like; /* like: "%text%", or empty */
	struct ss_str params[MAX_PARAMS];
	size_t nparams;
	struct ss_buf sql;
};

static void add_param(struct query *q, struct ss_str v)
{
	if (q->nparams < MAX_PARAMS)
		q->params[q->nparams++] = v;
}

/* A condition with as many "?" as stand in it for the same value. */
static void add_condition(struct query *q, const char *condition, struct ss_str value)
{
	ss_buf_printf(&q->sql, " AND (%s)", condition);
	for (; *condition; condition++)
		if (*condition == '?')
			add_param(q, value);
}

static bool rows(struct query *q, const char *order, int64_t limit, struct xv *list)
{
	ss_buf_printf(&q->sql, " %s LIMIT %lld", order, (long long)limit);
	ss_buf_char(&q->sql, '\0');
	bool ok = q->sql.no_memory ? xcli_no_memory(q->x)
				   : xg_db_rows(q->x, q->db, ss_buf_get(&q->sql).p, q->params,
						q->nparams, limit, list);
	ss_buf_free(&q->sql);
	q->sql = (struct ss_buf){ 0 };
	q->nparams = 0;
	return ok;
}

/* Of one computation where one is named, else operations that run as kernels of their own. */
static void add_scope(struct query *q)
{
	if (q->computation.n)
		add_condition(q, "computation_name = ?", q->computation);
	else
		ss_buf_lit(&q->sql, " AND is_kernel_op = 1");
}

static size_t count_opcode(const struct xg_graph *g, const char *opcode)
{
	size_t n = 0;
	for (uint32_t i = 0; i < g->n; i++)
		n += ss_str_is(g->instrs[i].opcode, opcode);
	return n;
}

static bool mode_summary(struct query *q)
{
	const struct xg_graph *g = q->g;
	size_t edges = 0, blockers = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct xg_computation *c = &g->computations[g->instrs[i].computation];
		edges += g->instrs[i].operands.n;
		blockers += !c->fused && !c->reducer && xg_is_blocker(&g->instrs[i]);
	}
	xv_str(q->out, "entry_computation",
	       g->entry == SS_NONE ? SS_STR("") : g->computations[g->entry].name);
	xv_u64(q->out, "computation_count", g->ncomputations);
	xv_u64(q->out, "instruction_count", g->n);
	xv_u64(q->out, "edge_count", edges);
	xv_u64(q->out, "fusion_count", count_opcode(g, "fusion"));
	xv_u64(q->out, "custom_call_count", count_opcode(g, "custom-call"));
	xv_u64(q->out, "fusion_blocker_count", blockers);
	ss_buf_lit(&q->sql, "SELECT opcode, count(*) AS count, sum(bytes_accessed) AS total_bytes, "
			    "sum(flops) AS total_flops "
			    "FROM instructions WHERE 1");
	add_scope(q);
	return rows(q, "GROUP BY opcode ORDER BY count DESC, opcode DESC", q->limit < 15 ? q->limit : 15,
		    xv_add_array(q->out, "top_opcodes"));
}

static bool mode_opcode_stats(struct query *q)
{
	const char *sort = xcli_text(q->x, "sort_by");
	struct xv *list = xv_add_array(q->out, "rows");
	ss_buf_lit(&q->sql,
		   "SELECT opcode, count(*) AS count, sum(bytes_accessed) AS total_bytes, "
		   "sum(flops) AS total_flops, "
		   "sum(optimal_seconds) AS total_optimal_seconds FROM instructions WHERE 1");
	add_scope(q);
	const char *order = strcmp(sort, "bytes") == 0
				    ? "GROUP BY opcode ORDER BY total_bytes DESC, count DESC, opcode"
			    : strcmp(sort, "flops") == 0
				    ? "GROUP BY opcode ORDER BY total_flops DESC, count DESC, opcode"
				    : "GROUP BY opcode ORDER BY count DESC, opcode DESC";
	xv_put(q->out, "opcode_stats", list);
	return rows(q, order, q->limit, list);
}

static void put_names(const struct xg_graph *g, struct xv *v, const char *key, struct xg_list l)
{
	struct xv *list = xv_add_array(v, key);
	for (uint32_t k = 0; k < l.n; k++)
		xv_str(list, NULL, g->instrs[xg_link(g, l, k)].name);
}

static bool mode_fusion_blockers(struct query *q)
{
	const struct xg_graph *g = q->g;
	struct xv *list = xv_array(&q->x->make);
	ss_buf_lit(&q->sql, "SELECT id, name, computation_name, opcode, shape, layout, "
			    "bytes_accessed, operand_count, user_count, expression "
			    "FROM instructions WHERE is_fusion_blocker = 1");
	add_scope(q);
	if (q->like.n)
		add_condition(q, "name LIKE ? OR expression LIKE ? OR opcode LIKE ?", q->like);
	if (!rows(q, "ORDER BY bytes_accessed DESC, user_count + operand_count DESC, id", q->limit,
		  list))
		return false;
	for (size_t k = 0; k < xv_length(list); k++) {
		struct xv *v = list->m.v[k].value;
		const struct xg_instr *i = &g->instrs[(uint32_t)xv_get_f64(v, "id", 1) - 1];
		const struct xg_instr *user =
			i->users.n ? &g->instrs[xg_link(g, i->users, 0)] : NULL;
		xv_str(v, "blocker_name", i->name);
		xv_str(v, "blocker_opcode", i->opcode);
		xv_str(v, "consumer_name", user ? user->name : SS_STR(""));
		xv_str(v, "consumer_opcode", user ? user->opcode : SS_STR(""));
		xv_z(v, "reason", xg_blocker_reason(i));
		put_names(g, v, "producers", i->operands);
		put_names(g, v, "consumers", i->users);
	}
	xv_u64(q->out, "count", xv_length(list));
	xv_put(q->out, "fusion_blockers", list);
	return true;
}

/* The dimensions' order of a layout, "{1,0:T(8,128)}" being "1,0". */
#define ORDER_OF(t) "trim(substr(" t ".layout, 1, instr(" t ".layout || ':', ':') - 1), '{}')"
#define COMMAS_OF(t) "(length(" ORDER_OF(t) ") - length(replace(" ORDER_OF(t) ", ',', '')))"

static bool mode_layout_transitions(struct query *q)
{
	struct xv *list = xv_array(&q->x->make);
	ss_buf_lit(
		&q->sql,
		"SELECT p.name AS producer_name, p.opcode AS producer_opcode, p.shape AS "
		"producer_shape, p.layout AS producer_layout, "
		"c.name AS consumer_name, c.opcode AS consumer_opcode, c.shape AS consumer_shape, "
		"c.layout AS consumer_layout, "
		"c.computation_name AS computation_name FROM edges e JOIN instructions p ON p.id = "
		"e.src_id "
		"JOIN instructions c ON c.id = e.dst_id WHERE (c.opcode IN ('copy', 'bitcast', "
		"'reshape', 'transpose') "
		"OR c.expression LIKE '%AnalyzeLayout%' OR (p.layout != '' AND c.layout != '' AND "
		"p.layout != c.layout "
		"AND " ORDER_OF("p") " != '' AND " ORDER_OF("c") " != '' AND " COMMAS_OF(
			"p") " = " COMMAS_OF("c") " "
						  "AND c.opcode NOT IN ('reduce', 'broadcast', "
						  "'slice', 'dynamic-slice', 'dot', 'ragged-dot', "
						  "'gather', 'scatter', "
						  "'select-and-scatter', 'pad', 'concatenate')))");
	if (q->computation.n)
		add_condition(q, "c.computation_name = ? OR p.computation_name = ?",
			      q->computation);
	if (q->like.n)
		add_condition(
			q, "p.name LIKE ? OR c.name LIKE ? OR p.opcode LIKE ? OR c.opcode LIKE ?",
			q->like);
	if (!rows(q, "ORDER BY p.bytes_accessed + c.bytes_accessed DESC, p.id", q->limit, list))
		return false;
	xv_u64(q->out, "count", xv_length(list));
	xv_put(q->out, "transitions", list);
	return true;
}

static bool mode_critical_path(struct query *q)
{
	struct xv *list = xv_add_array(q->out, "high_fanout_instructions");
	ss_buf_lit(&q->sql, "SELECT id, name, computation_name, opcode, shape, layout, flops, "
			    "bytes_accessed, optimal_seconds, operand_count, "
			    "user_count, expression FROM instructions WHERE 1");
	add_scope(q);
	if (q->like.n)
		add_condition(q, "name LIKE ? OR opcode LIKE ? OR expression LIKE ?", q->like);
	xv_put(q->out, "hotspots", list);
	return rows(q,
		    "ORDER BY optimal_seconds DESC, bytes_accessed DESC, flops DESC, operand_count "
		    "+ user_count DESC",
		    q->limit, list);
}

static bool mode_call_tree(struct query *q)
{
	const struct xg_graph *g = q->g;
	xv_str(q->out, "entry_computation",
	       g->entry == SS_NONE ? SS_STR("") : g->computations[g->entry].name);
	ss_buf_lit(&q->sql, "SELECT e.caller_comp_name, i.name AS caller_instruction, i.opcode AS "
			    "caller_opcode, e.callee_comp_name, "
			    "c.instruction_count AS callee_instruction_count FROM call_edges e "
			    "JOIN instructions i ON i.id = "
			    "e.caller_instr_id LEFT JOIN computations c ON c.name = "
			    "e.callee_comp_name WHERE 1");
	if (q->computation.n)
		add_condition(q, "e.caller_comp_name = ? OR e.callee_comp_name = ?",
			      q->computation);
	if (q->like.n)
		add_condition(
			q,
			"e.caller_comp_name LIKE ? OR e.callee_comp_name LIKE ? OR i.name LIKE ?",
			q->like);
	return rows(q, "ORDER BY e.rowid", q->limit, xv_add_array(q->out, "call_edges"));
}

static bool mode_search(struct query *q)
{
	struct xv *list = xv_array(&q->x->make);
	struct ss_str opcode = ss_str_from(xcli_text(q->x, "opcode")),
		      category = ss_str_from(xcli_text(q->x, "category"));
	ss_buf_lit(&q->sql, "SELECT id, name, computation_name, opcode, shape, layout, "
			    "is_fusion_blocker, operand_count, user_count, "
			    "bytes_accessed, flops, expression FROM instructions WHERE 1");
	if (opcode.n)
		add_condition(q, "opcode = ?", opcode);
	if (q->computation.n)
		add_condition(q, "computation_name = ?", q->computation);
	if (category.n)
		add_condition(q, "category LIKE '%' || ? || '%'", category);
	if (q->like.n)
		add_condition(q,
			      "name LIKE ? OR opcode LIKE ? OR expression LIKE ? OR "
			      "metadata_op_name LIKE ?",
			      q->like);
	if (!rows(q, "ORDER BY id", q->limit, list))
		return false;
	xv_u64(q->out, "count", xv_length(list));
	xv_u64(q->out, "match_count", xv_length(list));
	xv_put(q->out, "rows", list);
	xv_put(q->out, "instructions", list);
	return true;
}

static bool mode_sql(struct query *q)
{
	const char *sql = xcli_text(q->x, "sql");
	struct xv *list = xv_array(&q->x->make);
	if (!*sql)
		return xcli_fail(q->x, XCLI_INVALID, "--mode=sql needs --sql with a SELECT");
	if (!xg_db_is_query(sql))
		return xcli_fail(q->x, XCLI_INVALID,
				 "--sql takes one SELECT or WITH that changes nothing");
	if (!xg_db_rows(q->x, q->db, sql, NULL, 0, q->limit, list))
		return false;
	xv_u64(q->out, "row_count", xv_length(list));
	xv_put(q->out, "rows", list);
	return true;
}

/* --- shortest path ----------------------------------------------------------------------------- */

static void put_relation(const struct xg_graph *g, struct xv *v, const struct ss_hlo_step *step)
{
	struct ss_str computation =
		step->of < g->ncomputations ? g->computations[step->of].name : SS_STR("");
	struct ss_str caller = g->instrs[step->instr].name;
	switch (step->relation) {
	case SS_HLO_START:
		xv_z(v, "relation", "start");
		break;
	case SS_HLO_USED_BY:
		xv_z(v, "relation", "-> (used_by)");
		break;
	case SS_HLO_PARAMETER_OF:
		xv_printf(v, "relation", "-> (calls %%" SS_FMT " param)", SS_ARG(computation));
		break;
	case SS_HLO_RESULT_OF:
		xv_printf(v, "relation", "-> (calls %%" SS_FMT ")", SS_ARG(computation));
		break;
	case SS_HLO_RETURNS_TO:
		xv_printf(v, "relation", "-> (returns_to %%" SS_FMT ")", SS_ARG(caller));
		break;
	case SS_HLO_OPERAND:
		xv_z(v, "relation", "<- (operand)");
		break;
	case SS_HLO_CALLED_FROM:
		xv_printf(v, "relation", "<- (called_from %%" SS_FMT ")", SS_ARG(caller));
	}
}

static void put_node(struct query *q, struct xv *list, const struct ss_hlo_step *step, bool relation)
{
	const struct xg_graph *g = q->g;
	const struct xg_instr *i = &g->instrs[step->instr];
	struct xv *v = xv_add_object(list, NULL);
	xv_i64(v, "id", (int64_t)step->instr + 1);
	xv_str(v, "name", i->name);
	xv_str(v, "opcode", i->opcode);
	xv_str(v, "computation", g->computations[i->computation].name);
	if (relation)
		put_relation(g, v, step);
	struct ss_str text = i->expression;
	if (relation && xg_is_blocker(i))
		text = ss_arena_printf(&q->x->arena, SS_FMT " [FUSION_BLOCKER: " SS_FMT "]",
				       SS_ARG(text), SS_ARG(i->opcode));
	xv_str(v, "expression", text);
}

static void put_path(struct query *q, const struct ss_hlo_path *path)
{
	static const char *const words[] = { [SS_HLO_DOWN] = "downstream",
					     [SS_HLO_UP] = "upstream",
					     [SS_HLO_DOWN | SS_HLO_UP] = "undirected" };
	struct xv *list = xv_array(&q->x->make);
	xv_bool(q->out, "found", true);
	xv_u64(q->out, "distance", path->n - 1);
	xv_z(q->out, "direction", path->n == 1 ? "self" : words[path->direction]);
	for (uint32_t k = 0; k < path->n; k++)
		put_node(q, list, &path->v[k], path->n > 1);
	xv_put(q->out, "path", list);
}

static bool mode_shortest_path(struct query *q)
{
	const char *source = xcli_text(q->x, "src_op"), *target = xcli_text(q->x, "dst_op");
	if (!*source || !*target)
		return xcli_fail(q->x, XCLI_INVALID,
				 "--mode=shortest_path needs --src_op and --dst_op");
	uint32_t from = xg_find(q->g, source), to = xg_find(q->g, target);
	uint32_t most =
		q->limit > 50 ? (q->limit < INT32_MAX ? (uint32_t)q->limit : INT32_MAX) : 50;
	bool known = from != SS_NONE && to != SS_NONE;
	struct ss_hlo_walk w = xg_walk(q->g);
	struct ss_hlo_path path = { .n = 0 };
	if (known && !ss_hlo_path_of(&path, &w, from, to, most, &q->x->arena))
		return xcli_no_memory(q->x);
	if (path.n) {
		put_path(q, &path);
		return true;
	}
	xv_bool(q->out, "found", false);
	if (known)
		xv_printf(q->out, "error",
			  "No path of at most %u steps leads from %.100s to %.100s.", most, source,
			  target);
	else
		xv_printf(q->out, "error", "The program has no instruction '%.100s'.",
			  from == SS_NONE ? source : target);
	return true;
}

/* --- the command ------------------------------------------------------------------------------- */

static const struct mode {
	const char *name, *shown;
	bool (*run)(struct query *q);
	bool no_tables;
} modes[] = {
	{ "summary", "summary", mode_summary, false },
	{ "opcode_stats", "opcode_stats", mode_opcode_stats, false },
	{ "fusion_blockers", "fusion_blockers", mode_fusion_blockers, false },
	{ "layout_transitions", "layout_transitions", mode_layout_transitions, false },
	{ "critical_path", "critical_path", mode_critical_path, false },
	{ "hotspots", "critical_path", mode_critical_path, false },
	{ "call_tree", "call_tree", mode_call_tree, false },
	{ "shortest_path", "shortest_path", mode_shortest_path, true },
	{ "sql", "sql", mode_sql, false },
};

static bool run_mode(struct query *q)
{
	struct ss_str want = ss_str_from(xcli_text(q->x, "mode"));
	static const struct mode search = { NULL, NULL, mode_search, false };
	const struct mode *m = &search;
	struct ss_str shown = want.n ? want : SS_STR("summary");
	for (size_t i = 0; i < SS_COUNT(modes); i++)
		if (ss_str_ieq(shown, ss_str_from(modes[i].name))) {
			m = &modes[i];
			shown = ss_str_from(m->shown);
			break;
		}
	xv_z(q->out, "status", "SUCCESS");
	xv_str(q->out, "module_name", q->g->module);
	xv_str(q->out, "mode", shown);
	if (!xg_cost(q->x, q->g) || (!m->no_tables && !xg_db_open(q->x, q->g, &q->db)))
		return false;
	bool ok = m->run(q);
	xg_db_close(q->db);
	ss_buf_free(&q->sql);
	return ok;
}

bool xcli_query_hlo_graph(struct xcli *x, struct xv **out)
{
	struct xg_graph g;
	struct query q = { .x = x, .g = &g };
	const char *pattern = xcli_text(x, "name_pattern");
	q.computation = ss_str_from(xcli_text(x, "comp_name"));
	while (q.computation.n && q.computation.p[0] == '%')
		q.computation = ss_str_sub(q.computation, 1, q.computation.n);
	if (*pattern)
		q.like = ss_arena_printf(&x->arena, "%%%s%%", pattern);
	if (*pattern && !q.like.p)
		return xcli_no_memory(x);
	if (!xcli_int(x, "limit", &q.limit) || !xg_open(x, xcli_text(x, "module_name"), false, &g))
		return false;
	q.out = *out = xv_object(&x->make);
	bool ok = run_mode(&q);
	xg_close(&g);
	return ok;
}
