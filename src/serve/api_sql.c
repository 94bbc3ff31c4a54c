/* api_sql.c - POST /api/sql: a question in SQL (docs/sql.md), and the questions with a name. */
#include "model/cluster/aligned.h"
#include "serve/call.h"
#include "sql/saved.h"
#include "sql/write.h"

#define TIMEOUT_MS 10000 /* of the query */
#define VALUE_BYTES (16u << 20) /* SQLite makes one without asking for the time */
#define READER_MS 60000	 /* with the time that the client takes to read the rows */
#define ROWS 10000
#define ROWS_MOST 1000000
#define MEMORY_BYTES ((uint64_t)512 << 20) /* of all questions at the same time */

/* The data of a job; the query follows it. */
struct question {
	struct ss_turns *turns;
	uint64_t rows;
	enum ss_sql_format format;
	bool long_as_text, aligned;
	int client;
	size_t query_bytes;
	char query[];
};

static bool answer(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o,
		   struct ss_err *err)
{
	const struct question *ask = arg;
	struct ss_model *of = ask->aligned ? ss_model_aligned(m, err) : m;
	uint64_t turn = of ? ss_turns_take(ask->turns) : 0;
	if (!of)
		return false;
	if (!turn)
		return ss_fail(err, SS_EBUSY, "this server is busy with other queries: try again later");
	struct ss_sql_question q = { .model = of,
				     .query = { ask->query, ask->query_bytes },
				     .timeout_ms = TIMEOUT_MS,
				     .reader_ms = READER_MS,
				     .bound_recursion = true,
				     .memory_bytes = MEMORY_BYTES,
				     .value_bytes = VALUE_BYTES,
				     .left = ss_http_client_left,
				     .client = ask->client,
				     .more_time = ": 'stepscope sql --timeout S' on the command line" };
	struct ss_sql_writing w = { .format = ask->format, .most_rows = ask->rows,
				    .long_as_text = ask->long_as_text };
	struct ss_sql_written done;
	struct ss_sql_rows *rows = ss_sql_ask(&q, err);
	bool ok = rows && ss_sql_write(rows, &w, o, &done, err);
	(void)arena;
	ss_sql_close(rows);
	ss_turns_give(ask->turns, turn);
	return ok;
}

static bool list_saved(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "{\"questions\":[");
	for (size_t i = 0; ss_sql_saved_at(i); i++) {
		const struct ss_sql_saved *q = ss_sql_saved_at(i);
		ss_out_printf(&o, "%s{\"name\":\"%s\",\"doc\":", i ? "," : "", q->name);
		ss_out_json_str(&o, ss_str_from(q->doc));
		ss_out_lit(&o, ",\"sql\":");
		ss_out_json_str(&o, ss_str_from(q->sql));
		ss_out_lit(&o, ",\"values\":{");
		for (size_t k = 0; q->values[k].name; k++) {
			ss_out_printf(&o, "%s\"%s\":", k ? "," : "", q->values[k].name);
			ss_out_json_str(&o, ss_str_from(q->values[k].preset));
		}
		ss_out_lit(&o, "}}");
	}
	ss_out_lit(&o, "]}");
	return ss_reply_out(c, 200, "application/json", &o, err);
}

static bool read_question(struct ss_call *c, struct question **out, size_t *bytes,
			  struct ss_err *err)
{
	struct ss_str format = ss_call_arg(c, "format"), limit = ss_call_arg(c, "limit"),
		      integers = ss_call_arg(c, "integers"), clocks = ss_call_arg(c, "clocks");
	uint64_t rows = ROWS;
	if (c->req->body_cut)
		return ss_fail(err, SS_EINVAL, "the query is longer than 64 KiB");
	if (limit.n && (!ss_str_to_u64(limit, &rows) || !rows || rows > ROWS_MOST))
		return ss_fail(err, SS_EINVAL, "'limit' takes a number of rows from 1 to %d",
			       ROWS_MOST);
	if (integers.n && !ss_str_is(integers, "text"))
		return ss_fail(err, SS_EINVAL, "'integers' takes text, or is left out");
	if (clocks.n && !ss_str_is(clocks, "recorded") && !ss_str_is(clocks, "aligned"))
		return ss_fail(err, SS_EINVAL, "the parameter 'clocks' must be recorded or aligned");
	*bytes = sizeof(**out) + c->req->body.n;
	*out = ss_arena_zalloc(c->req->arena, 1, *bytes);
	if (!*out)
		return ss_fail_mem(err);
	(*out)->turns = &c->srv->sql_turns;
	(*out)->rows = rows;
	(*out)->format = format.n ? ss_sql_format_of(format) : SS_SQL_ROWS;
	(*out)->long_as_text = integers.n;
	(*out)->aligned = ss_str_is(clocks, "aligned");
	(*out)->client = c->req->client;
	(*out)->query_bytes = c->req->body.n;
	memcpy((*out)->query, c->req->body.n ? c->req->body.p : "", c->req->body.n);
	if ((*out)->format == SS_SQL_FORMATS || (*out)->format == SS_SQL_TABLE)
		return ss_fail(err, SS_EINVAL,
			       "there is no format '" SS_FMT "': use rows, json, jsonl or csv",
			       SS_ARG(format));
	return true;
}

bool ss_route_api_sql(struct ss_call *c, struct ss_err *err)
{
	static const struct ss_tool all = { .name = "", .flags = SS_TOOL_ALL_HOSTS };
	struct question *q;
	struct ss_selection sel;
	size_t bytes;
	struct ss_out key;
	if (c->req->method != SS_HTTP_POST)
		return list_saved(c, err);
	const struct ss_run *run = read_question(c, &q, &bytes, err) ? ss_call_session(c, err) : NULL;
	if (!run || !ss_call_select(c, run, &all, ss_call_arg(c, "host"), &sel, err))
		return false;
	ss_out_init(&key, NULL, NULL);
	ss_out_printf(&key, "sql %d %d %d %llu ", (int)q->format, q->long_as_text, q->aligned,
		      (unsigned long long)q->rows);
	ss_out_str(&key, c->req->body);
	bool ok = ss_out_finish(&key, err) &&
		  ss_reply_model(c, &sel, (struct ss_str){ key.buf, key.n },
				 ss_sql_content_type(q->format), answer, q, bytes, err);
	ss_out_free(&key);
	return ok;
}
