/*
 * shape_tf_data_bottleneck_analysis.c - CombinedTfDataStats as JSON, as TensorBoard's page of this
 * tool read it: maps by host and by iterator id, 64-bit numbers as texts.
 */
#include "xprof/shape.h"

static void member(struct ss_json *j, struct ss_str key)
{
	ss_json_str(j, NULL, key);
	ss_out_char(j->o, ':');
}

static void flag(struct ss_json *j, const char *key, bool v)
{
	ss_json_key(j, key);
	ss_out_z(j->o, v ? "true" : "false");
}

static void bottlenecks(struct ss_json *j, const struct ss_table *t)
{
	ss_json_key(j, "bottleneckAnalysis");
	ss_json_open(j, '[');
	for (size_t i = 0; i < t->nrows; i++) {
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		ss_json_str(j, "host", ss_cell_str(t, i, "host"));
		ss_json_str(j, "inputPipeline", ss_cell_str(t, i, "input_pipeline"));
		ss_json_i64(j, "maxLatencyPs", ss_cell_i64(t, i, "max_latency_ps"));
		ss_json_str(j, "iteratorName", ss_cell_str(t, i, "iterator_name"));
		ss_json_str(j, "iteratorLongName", ss_cell_str(t, i, "iterator_long_name"));
		ss_json_str(j, "suggestion", ss_cell_str(t, i, "suggestion"));
		ss_json_i64(j, "iteratorLatencyPs", ss_cell_i64(t, i, "iterator_latency_ps"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

/* One element: the rows from *at on that have its rank. */
static void element(struct ss_json *j, const struct ss_table *t, size_t *at, size_t end)
{
	int64_t rank = ss_cell_i64(t, *at, "rank"), latency_ps = 0;
	struct ss_str bottleneck = SS_STR("0");
	ss_json_key(j, NULL);
	ss_json_open(j, '{');
	ss_json_key(j, "iteratorStats");
	ss_json_open(j, '{');
	for (; *at < end && ss_cell_i64(t, *at, "rank") == rank; ++*at) {
		if (ss_cell_bool(t, *at, "is_bottleneck")) {
			bottleneck = ss_cell_str(t, *at, "id");
			latency_ps = ss_cell_i64(t, *at, "self_time_ps");
		}
		member(j, ss_cell_str(t, *at, "id"));
		ss_json_open(j, '{');
		ss_json_str(j, "id", ss_cell_str(t, *at, "id"));
		ss_json_i64(j, "startTimePs", ss_cell_i64(t, *at, "start_time_ps"));
		ss_json_i64(j, "durationPs", ss_cell_i64(t, *at, "duration_ps"));
		ss_json_i64(j, "selfTimePs", ss_cell_i64(t, *at, "self_time_ps"));
		flag(j, "isBlocking", ss_cell_bool(t, *at, "is_blocking"));
		ss_json_i64(j, "numCalls", ss_cell_i64(t, *at, "calls"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, '}');
	ss_json_str(j, "bottleneckIteratorId", bottleneck);
	ss_json_i64(j, "bottleneckIteratorLatencyPs", latency_ps);
	ss_json_close(j, '}');
}

/*
 * Rows of one host, and of one pipeline, stand together in every table: `end` is where those of
 * `value` end.
 */
static size_t end_of(const struct ss_table *t, size_t at, size_t limit, const char *col, struct ss_str value)
{
	while (at < limit && ss_str_eq(ss_cell_str(t, at, col), value))
		at++;
	return at;
}

static void pipeline(struct ss_json *j, const struct ss_table *p, size_t row, const struct ss_table *calls, size_t *at,
		     size_t limit)
{
	struct ss_str id = ss_cell_str(p, row, "id");
	size_t end = end_of(calls, *at, limit, "pipeline_id", id);
	member(j, id);
	ss_json_open(j, '{');
	ss_json_key(j, "metadata");
	ss_json_open(j, '{');
	ss_json_str(j, "id", id);
	ss_json_str(j, "type", ss_cell_str(p, row, "type"));
	ss_json_str(j, "name", ss_cell_str(p, row, "input_pipeline"));
	ss_json_close(j, '}');
	ss_json_key(j, "stats");
	ss_json_open(j, '[');
	while (*at < end)
		element(j, calls, at, end);
	ss_json_close(j, ']');
	ss_json_i64(j, "avgLatencyPs", ss_cell_i64(p, row, "avg_latency_ps"));
	ss_json_i64(j, "minLatencyPs", ss_cell_i64(p, row, "min_latency_ps"));
	ss_json_i64(j, "maxLatencyPs", ss_cell_i64(p, row, "max_latency_ps"));
	ss_json_i64(j, "numSlowCalls", ss_cell_i64(p, row, "slow_calls"));
	ss_json_close(j, '}');
}

static void iterator(struct ss_json *j, const struct ss_table *t, size_t row)
{
	member(j, ss_cell_str(t, row, "id"));
	ss_json_open(j, '{');
	ss_json_str(j, "id", ss_cell_str(t, row, "id"));
	ss_json_str(j, "parentId", ss_cell_str(t, row, "parent_id"));
	ss_json_str(j, "name", ss_cell_str(t, row, "name"));
	ss_json_str(j, "longName", ss_cell_str(t, row, "long_name"));
	flag(j, "isAsync", ss_cell_bool(t, row, "is_async"));
	ss_json_close(j, '}');
}

static void hosts(struct ss_json *j, const struct ss_result *r)
{
	const struct ss_table *its = ss_result_find(r, "iterators"), *pipes = ss_result_find(r, "input_pipelines");
	const struct ss_table *calls = ss_result_find(r, "calls");
	size_t p = 0, c = 0;
	ss_json_key(j, "tfDataStats");
	ss_json_open(j, '{');
	for (size_t i = 0; i < its->nrows;) {
		struct ss_str host = ss_cell_str(its, i, "host");
		size_t iend = end_of(its, i, its->nrows, "host", host), pend = end_of(pipes, p, pipes->nrows, "host", host);
		size_t cend = end_of(calls, c, calls->nrows, "host", host);
		member(j, host);
		ss_json_open(j, '{');
		ss_json_key(j, "inputPipelines");
		ss_json_open(j, '{');
		for (; p < pend; p++)
			pipeline(j, pipes, p, calls, &c, cend);
		ss_json_close(j, '}');
		ss_json_key(j, "iteratorMetadata");
		ss_json_open(j, '{');
		for (; i < iend; i++)
			iterator(j, its, i);
		ss_json_close(j, '}');
		ss_json_close(j, '}');
	}
	ss_json_close(j, '}');
}

void ss_shape_tf_data_bottleneck_analysis(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *t = ss_result_find(r, "bottlenecks");
	ss_json_open(&j, '{');
	bottlenecks(&j, t);
	hosts(&j, r);
	flag(&j, "isInputBound", ss_str_is(ss_shape_prop_text(t, "is_input_bound"), "true"));
	ss_json_str(&j, "summary", ss_shape_prop_text(t, "summary"));
	ss_json_close(&j, '}');
}
