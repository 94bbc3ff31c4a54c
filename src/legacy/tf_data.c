/*
 * tf_data.c - stored analyses of tf.data, in the two forms that there were: CombinedTfDataStats
 * as JSON, and the list of DataTables that TensorBoard's page of the tool was made from.
 *
 * The second holds whole microseconds, and what a stage did only as a text for people, which is
 * taken apart here.
 */
#include "base/map.h"
#include "base/vec.h"
#include "legacy/combine.h"
#include "model/host/host.h"
#include "tools/tf_data_cols.h"

#include <stdlib.h>

/* Brackets down to an element of a pipeline: document, hosts, host, pipelines, pipeline, list. */
#define LEVELS 6

enum { T_BOTTLENECKS, T_PIPELINES, T_ITERATORS, T_CALLS };

static bool add_tables(struct ss_result *out)
{
	return ss_result_table(out, "bottlenecks", "Bottlenecks", ss_tf_data_bottleneck_cols, BN_COLS) &&
	       ss_result_table(out, "input_pipelines", "Input pipelines", ss_tf_data_pipeline_cols, PL_COLS) &&
	       ss_result_table(out, "iterators", "Stages", ss_tf_data_iterator_cols, IT_COLS) &&
	       ss_result_table(out, "calls", "Stages by element", ss_tf_data_stat_cols, ST_COLS);
}

/* ---- the message ---- */

static void add_bottleneck(struct ss_table *t, const struct ss_jnode *b)
{
	ss_table_row(t);
	ss_set_str(t, BN_HOST, ss_jnode_text(b, "host"));
	ss_set_str(t, BN_PIPELINE, ss_jnode_text(b, "inputPipeline"));
	ss_set_i64(t, BN_MAX, ss_jnode_i64(b, "maxLatencyPs"));
	ss_set_str(t, BN_NAME, ss_jnode_text(b, "iteratorName"));
	ss_set_str(t, BN_LONG, ss_jnode_text(b, "iteratorLongName"));
	ss_set_i64(t, BN_LATENCY, ss_jnode_i64(b, "iteratorLatencyPs"));
	ss_set_str(t, BN_SUGGESTION, ss_jnode_text(b, "suggestion"));
}

static void add_pipeline(struct ss_table *t, struct ss_str host, const struct ss_jnode *p)
{
	const struct ss_jnode *meta = ss_jnode_get(p, "metadata");
	ss_table_row(t);
	ss_set_str(t, PL_HOST, host);
	ss_set_str(t, PL_ID, p->key);
	ss_set_str(t, PL_NAME, ss_jnode_text(meta, "name"));
	ss_set_str(t, PL_TYPE, ss_str_is(ss_jnode_text(meta, "type"), "DEVICE") ? SS_STR("DEVICE") : SS_STR("HOST"));
	ss_set_i64(t, PL_MIN, ss_jnode_i64(p, "minLatencyPs"));
	ss_set_i64(t, PL_AVG, ss_jnode_i64(p, "avgLatencyPs"));
	ss_set_i64(t, PL_MAX, ss_jnode_i64(p, "maxLatencyPs"));
	ss_set_i64(t, PL_CALLS, (int64_t)ss_jnode_count(ss_jnode_get(p, "stats")));
	ss_set_i64(t, PL_SLOW, ss_jnode_i64(p, "numSlowCalls"));
}

static bool is_true(const struct ss_jnode *n, const char *key)
{
	const struct ss_jnode *c = ss_jnode_get(n, key);
	return c && c->kind == SS_J_TRUE;
}

static void add_iterators(struct ss_table *t, struct ss_str host, const struct ss_jnode *all)
{
	for (const struct ss_jnode *it = all ? all->first : NULL; it; it = it->next) {
		struct ss_str parent = ss_jnode_text(it, "parentId");
		ss_table_row(t);
		ss_set_str(t, IT_HOST, host);
		ss_set_str(t, IT_ID, it->key);
		ss_set_str(t, IT_PARENT, parent.n ? parent : SS_STR("0"));
		ss_set_str(t, IT_NAME, ss_jnode_text(it, "name"));
		ss_set_str(t, IT_LONG, ss_jnode_text(it, "longName"));
		ss_set_bool(t, IT_ASYNC, is_true(it, "isAsync"));
	}
}

/* Iterators by id: rows of their table. */
struct names {
	const struct ss_table *iterators;
	struct ss_strmap ids;
	SS_VEC(size_t) rows;	/* by index of ids */
};

static bool make_names(struct names *n, const struct ss_table *iterators, size_t first)
{
	for (size_t i = first; i < iterators->nrows; i++) {
		uint32_t known = n->ids.n, at = ss_strmap_add(&n->ids, iterators->data[IT_ID].str[i]);
		/* If an id occurs twice, the first one counts. */
		if (at == SS_NONE || (at == known && !ss_vec_push(&n->rows, i)))
			return false;
	}
	n->iterators = iterators;
	return true;
}

/* One stage's part of one element. */
static void add_call(struct ss_table *t, struct ss_str host, struct ss_str pipeline, int64_t rank, const struct ss_jnode *s,
		     const struct names *names, struct ss_str bottleneck)
{
	uint32_t at = ss_strmap_get(&names->ids, s->key);
	struct ss_str id = at == SS_NONE ? ss_arena_str(t->arena, s->key) : names->ids.keys[at];
	ss_table_row(t);
	ss_set_str(t, ST_HOST, host);
	ss_set_str(t, ST_PIPELINE, pipeline);
	ss_set_i64(t, ST_RANK, rank);
	ss_set_str(t, ST_ID, id);
	ss_set_str(t, ST_NAME, at == SS_NONE ? SS_STR("") : names->iterators->data[IT_NAME].str[names->rows.v[at]]);
	ss_set_i64(t, ST_BEGIN, ss_jnode_i64(s, "startTimePs"));
	ss_set_i64(t, ST_DUR, ss_jnode_i64(s, "durationPs"));
	ss_set_i64(t, ST_SELF, ss_jnode_i64(s, "selfTimePs"));
	ss_set_i64(t, ST_CALLS, ss_jnode_i64(s, "numCalls"));
	ss_set_bool(t, ST_BLOCKING, is_true(s, "isBlocking"));
	ss_set_bool(t, ST_BOTTLENECK, ss_str_eq(s->key, bottleneck) && is_true(s, "isBlocking"));
}

/* Elements are many: each is read alone, in memory that the next one uses again. */
static bool add_elements(struct ss_table *t, struct ss_str host, const struct ss_jnode *pipeline, const struct names *names)
{
	const struct ss_jnode *list = ss_jnode_get(pipeline, "stats");
	struct ss_arena scratch = { 0 };
	bool ok = true;
	int64_t rank = 0;
	for (const struct ss_jnode *e = list ? list->first : NULL; ok && e; e = e->next, rank++) {
		struct ss_err why = { 0 };
		const struct ss_jnode *element = e->kind == SS_J_OBJECT ? ss_jtree_of_json(e->text, &scratch, &why) : NULL;
		const struct ss_jnode *stats = ss_jnode_get(element, "iteratorStats");
		ok = why.code != SS_ENOMEM;
		for (const struct ss_jnode *s = stats ? stats->first : NULL; ok && s; s = s->next)
			add_call(t, host, pipeline->key, rank, s, names, ss_jnode_text(element, "bottleneckIteratorId"));
		ss_arena_release(&scratch);
	}
	return ok;
}

static bool add_host(struct ss_result *out, const struct ss_jnode *host)
{
	const struct ss_jnode *pipelines = ss_jnode_get(host, "inputPipelines");
	struct ss_table *iterators = ss_result_at(out, T_ITERATORS);
	struct names names = { .iterators = iterators };
	size_t first = iterators->nrows;
	add_iterators(iterators, host->key, ss_jnode_get(host, "iteratorMetadata"));
	bool ok = make_names(&names, iterators, first);
	for (const struct ss_jnode *p = pipelines ? pipelines->first : NULL; ok && p; p = p->next) {
		add_pipeline(ss_result_at(out, T_PIPELINES), host->key, p);
		ok = add_elements(ss_result_at(out, T_CALLS), host->key, p, &names);
	}
	ss_strmap_free(&names.ids);
	ss_vec_free(&names.rows);
	return ok;
}

static bool of_message(struct ss_result *out, const struct ss_jnode *root)
{
	const struct ss_jnode *all = ss_jnode_get(root, "bottleneckAnalysis"), *hosts = ss_jnode_get(root, "tfDataStats");
	struct ss_table *t = ss_result_at(out, T_BOTTLENECKS);
	for (const struct ss_jnode *b = all ? all->first : NULL; b; b = b->next)
		add_bottleneck(t, b);
	for (const struct ss_jnode *h = hosts ? hosts->first : NULL; h; h = h->next)
		if (!add_host(out, h))
			return false;
	ss_table_prop(t, "is_input_bound", is_true(root, "isInputBound") ? SS_STR("true") : SS_STR("false"));
	ss_table_prop(t, "summary", ss_jnode_text(root, "summary"));
	return true;
}

/* ---- the DataTables ---- */

/* What stands behind `before` up to `after`, without tags at its begin; "" if it is not there. */
static struct ss_str between(struct ss_str s, const char *before, const char *after)
{
	struct ss_str from = ss_str_from(before), to = ss_str_from(after);
	size_t at = ss_str_find(s, from);
	if (at == SS_NPOS)
		return SS_STR("");
	s = ss_str_sub(s, at + from.n, s.n);
	return ss_str_sub(s, 0, ss_str_find(s, to));
}

/* "1,234 us" as picoseconds. */
static int64_t ps_of_us(struct ss_str s)
{
	uint64_t us = 0;
	for (size_t i = 0; i < s.n && us < UINT64_C(9000000000000) && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == ','); i++)
		us = s.p[i] == ',' ? us : us * 10 + (uint64_t)(s.p[i] - '0');
	return us < UINT64_C(9000000000000) ? (int64_t)us * 1000000 : 0;
}

/* A row of a DataTable, cell by cell. */
struct cells {
	const struct ss_jnode *row, *cell;
};

static struct cells first_row(const struct ss_jnode *table)
{
	const struct ss_jnode *rows = ss_jnode_get(table, "rows");
	return (struct cells){ .row = rows ? rows->first : NULL };
}

static struct cells next_row(struct cells c)
{
	return (struct cells){ .row = c.row->next };
}

static const struct ss_jnode *next_cell(struct cells *c)
{
	const struct ss_jnode *list = ss_jnode_get(c->row, "c");
	c->cell = c->cell ? c->cell->next : list ? list->first : NULL;
	return c->cell;
}

static struct ss_str next_text(struct cells *c)
{
	return ss_jnode_text(next_cell(c), "v");
}

static int64_t next_ps(struct cells *c)
{
	double us = ss_jnode_num(next_cell(c), "v", 0);
	return us >= 0 && us < 9e12 ? (int64_t)(us * 1e6) : 0;
}

static void bottleneck_rows(struct ss_table *t, const struct ss_jnode *table)
{
	for (struct cells c = first_row(table); c.row; c = next_row(c)) {
		ss_table_row(t);
		ss_set_str(t, BN_HOST, next_text(&c));
		ss_set_str(t, BN_PIPELINE, next_text(&c));
		ss_set_i64(t, BN_MAX, next_ps(&c));
		struct ss_str said = next_text(&c);
		ss_set_str(t, BN_NAME, between(said, "Type</u>: <b>", "</b>"));
		ss_set_str(t, BN_LONG, between(said, "Long Name</u>: ", "<br/>"));
		ss_set_i64(t, BN_LATENCY, ps_of_us(between(said, "Latency</u>: ", " us")));
		ss_set_str(t, BN_SUGGESTION, next_text(&c));
	}
	const struct ss_jnode *p = ss_jnode_get(table, "p");
	ss_table_prop(t, "is_input_bound", ss_jnode_text(p, "is_input_bound"));
	ss_table_prop(t, "summary", ss_jnode_text(p, "summary_message"));
}

static void pipeline_rows(struct ss_table *t, const struct ss_jnode *table)
{
	for (struct cells c = first_row(table); c.row; c = next_row(c)) {
		ss_table_row(t);
		ss_set_str(t, PL_HOST, next_text(&c));
		struct ss_str name = next_text(&c);
		ss_set_str(t, PL_ID, name);	/* the iterator stands in another table */
		ss_set_str(t, PL_NAME, name);
		ss_set_str(t, PL_TYPE, ss_str_starts(name, SS_STR("Device")) ? SS_STR("DEVICE") : SS_STR("HOST"));
		ss_set_i64(t, PL_MIN, next_ps(&c));
		ss_set_i64(t, PL_AVG, next_ps(&c));
		ss_set_i64(t, PL_MAX, next_ps(&c));
		ss_set_i64(t, PL_CALLS, next_ps(&c) / 1000000);
		ss_set_i64(t, PL_SLOW, next_ps(&c) / 1000000);
	}
}

/* An iterator stands in the table of stages once, however many elements passed it. */
static bool add_stage(struct ss_table *t, struct ss_strmap *known, struct ss_str host, struct ss_str id, struct ss_str parent,
		      struct ss_str name)
{
	struct ss_str key = ss_arena_printf(t->arena, SS_FMT "\1" SS_FMT, SS_ARG(host), SS_ARG(id));
	uint32_t n = known->n, at = key.p ? ss_strmap_add(known, key) : SS_NONE;
	if (at == SS_NONE)
		return false;
	if (at < n)
		return true;
	ss_table_row(t);
	ss_set_str(t, IT_HOST, host);
	ss_set_str(t, IT_ID, id);
	ss_set_str(t, IT_PARENT, parent.n ? parent : SS_STR("0"));
	ss_set_str(t, IT_NAME, name);
	ss_set_str(t, IT_LONG, name);
	return true;
}

/* Pipelines are told by the number of their first iterator, which only the stages have. */
struct roots {
	struct ss_strmap pipelines;	/* by host and name */
	SS_VEC(struct ss_str) ids;
	struct ss_buf key;
};

static struct ss_str root_key(struct roots *r, struct ss_str host, struct ss_str pipeline)
{
	r->key.n = 0;
	ss_buf_str(&r->key, host);
	ss_buf_char(&r->key, '\1');
	ss_buf_str(&r->key, pipeline);
	return ss_buf_get(&r->key);
}

static bool add_root(struct roots *r, struct ss_arena *arena, struct ss_str host, struct ss_str pipeline, struct ss_str id)
{
	struct ss_str key = root_key(r, host, pipeline);
	if (r->key.no_memory)
		return false;
	if (ss_strmap_get(&r->pipelines, key) != SS_NONE)
		return true;
	key = ss_arena_str(arena, key);
	return key.p && ss_strmap_add(&r->pipelines, key) != SS_NONE && ss_vec_push(&r->ids, id);
}

/* Put numbers for the names of pipelines. */
static void name_roots(struct roots *r, struct ss_table *t, size_t host, size_t pipeline)
{
	for (size_t i = 0; i < t->nrows; i++) {
		struct ss_str *name = &t->data[pipeline].str[i];
		uint32_t at = ss_strmap_get(&r->pipelines, root_key(r, t->data[host].str[i], *name));
		if (at != SS_NONE)
			*name = r->ids.v[at];
	}
}

static bool stage_rows(struct ss_result *out, struct ss_strmap *known, struct roots *roots, const struct ss_jnode *table)
{
	struct ss_table *t = ss_result_at(out, T_CALLS);
	for (struct cells c = first_row(table); c.row; c = next_row(c)) {
		ss_table_row(t);
		struct ss_str host = next_text(&c), pipeline = next_text(&c);
		ss_set_str(t, ST_HOST, host);
		ss_set_str(t, ST_PIPELINE, pipeline);
		ss_set_i64(t, ST_RANK, next_ps(&c) / 1000000);
		const struct ss_jnode *what = next_cell(&c);
		struct ss_str id = ss_jnode_text(what, "v"), said = ss_jnode_text(what, "f"), parent = next_text(&c);
		struct ss_str name = between(said, "<b>", "</b>");
		int64_t kind = next_ps(&c) / 1000000;	/* 1: on the critical path, 2: the bottleneck */
		ss_set_str(t, ST_ID, id);
		ss_set_str(t, ST_NAME, name);
		ss_set_i64(t, ST_BEGIN, ps_of_us(between(said, "Start Time: ", " us")));
		ss_set_i64(t, ST_DUR, ps_of_us(between(said, "Total Duration: ", " us")));
		ss_set_i64(t, ST_SELF, ps_of_us(between(said, "Self Duration: ", " us")));
		ss_set_i64(t, ST_CALLS, ps_of_us(between(said, "# Calls: ", "<")) / 1000000);
		ss_set_bool(t, ST_BLOCKING, kind >= 1);
		ss_set_bool(t, ST_BOTTLENECK, kind == 2);
		if (!add_stage(ss_result_at(out, T_ITERATORS), known, host, id, parent, name) ||
		    (!parent.n && !add_root(roots, out->arena, host, pipeline, id)))
			return false;
	}
	return true;
}

static bool has_col(const struct ss_jnode *table, const char *id)
{
	const struct ss_jnode *cols = ss_jnode_get(table, "cols");
	for (const struct ss_jnode *c = cols ? cols->first : NULL; c; c = c->next)
		if (ss_str_is(ss_jnode_text(c, "id"), id))
			return true;
	return false;
}

static bool of_tables(struct ss_result *out, const struct ss_jnode *list)
{
	struct ss_strmap known = { 0 };
	struct roots roots = { .key = { 0 } };
	bool ok = true;
	for (const struct ss_jnode *t = list->first; ok && t; t = t->next) {
		if (has_col(t, "rank"))
			ok = stage_rows(out, &known, &roots, t);
		else if (has_col(t, "num_calls"))
			pipeline_rows(ss_result_at(out, T_PIPELINES), t);
		else if (has_col(t, "bottleneck"))
			bottleneck_rows(ss_result_at(out, T_BOTTLENECKS), t);
	}
	if (ok) {
		name_roots(&roots, ss_result_at(out, T_CALLS), ST_HOST, ST_PIPELINE);
		name_roots(&roots, ss_result_at(out, T_PIPELINES), PL_HOST, PL_ID);
		ok = !roots.key.no_memory;
	}
	ss_strmap_free(&known);
	ss_strmap_free(&roots.pipelines);
	ss_vec_free(&roots.ids);
	ss_buf_free(&roots.key);
	return ok;
}

/* ---- both ---- */

static bool read_one(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read_to(q, h, NULL, LEVELS, out, err);
	if (!root)
		return false;
	bool list = root->kind == SS_J_ARRAY;
	if (!add_tables(out) || !(list ? of_tables(out, root) : of_message(out, root)))
		return ss_fail_mem(err);
	bool any = list ? ss_result_at(out, T_BOTTLENECKS)->nprops > 0
			: ss_jnode_get(root, "tfDataStats") || ss_jnode_get(root, "summary");
	return any || ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds no tf.data analysis", SS_ARG(h->x.path));
}

static double slowest(const struct ss_result *r)
{
	const struct ss_table *t = ss_result_find(r, "bottlenecks");
	return t->nrows ? (double)t->data[BN_MAX].i64[0] : -1;
}

static bool end(struct ss_result *out, size_t nhosts)
{
	static const char *const by[] = { "-max_latency_ps", NULL };
	return nhosts < 2 || ss_legacy_sort(ss_result_at(out, T_BOTTLENECKS), by);
}

bool ss_legacy_tf_data(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_table tables[] = {
		{ .name = "bottlenecks", .key = { "host", "input_pipeline" } },
		{ .name = "input_pipelines", .key = { "host", "id" } },
		{ .name = "iterators", .key = { "host", "id" } },
		{ .name = "calls", .key = { "host", "pipeline_id", "rank", "id" } },
	};
	static const struct ss_legacy_answer answer = {
		.read = read_one, .tables = tables, .ntables = SS_COUNT(tables), .worst = slowest, .end = end,
		.says = "Pipelines come from all hosts, the slowest first.",
	};
	return ss_legacy_combine(q, &answer, out, err);
}
