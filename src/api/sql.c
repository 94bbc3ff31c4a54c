/* sql.c - questions in SQL in the C interface. */
#include "api/api.h"
#include "sql/sql.h"

#include <stdlib.h>

struct stepscope_rows {
	struct stepscope *s;
	struct ss_session *session;
	struct ss_sql_rows *rows;
};

struct stepscope_rows *stepscope_sql_until(struct stepscope *s, const char *run_name, const char *host,
					   const char *query, unsigned timeout_ms, const int *stop, char *why,
					   size_t why_bytes)
{
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_selection sel;
	struct stepscope_rows *r = calloc(1, sizeof(*r));
	const struct ss_run *run = r ? ss_api_run(s, run_name, &err) : NULL;
	if (!r)
		ss_fail_mem(&err);
	if (run) {
		r->s = s;
		r->session = ss_api_session(s, run, NULL, ss_str_from(host), true, false, &sel, &arena, &err);
	}
	if (r && r->session) {
		struct ss_sql_question q = { .model = ss_session_model(r->session),
					     .query = ss_str_from(query),
					     .timeout_ms = timeout_ms,
					     .bound_recursion = !timeout_ms,
					     .more_time = timeout_ms ? NULL : ": a query with a time limit runs until that limit",
					     .stop = stop };
		r->rows = ss_sql_ask(&q, &err);
	}
	ss_arena_release(&arena);
	if (r && r->rows)
		return r;
	ss_api_explain(&err, why, why_bytes);
	stepscope_sql_close(r);
	return NULL;
}

struct stepscope_rows *stepscope_sql(struct stepscope *s, const char *run, const char *host, const char *query,
				     unsigned timeout_ms, char *why, size_t why_bytes)
{
	return stepscope_sql_until(s, run, host, query, timeout_ms, NULL, why, why_bytes);
}

int stepscope_sql_next(struct stepscope_rows *r, char *why, size_t why_bytes)
{
	struct ss_err err = { 0 };
	if (ss_sql_next(r->rows, &err))
		return 1;
	if (!err.code && ss_session_intact(r->session, &err))
		return 0;
	ss_api_explain(&err, why, why_bytes);
	return -1;
}

void stepscope_sql_close(struct stepscope_rows *r)
{
	if (!r)
		return;
	ss_sql_close(r->rows);
	if (r->session)
		ss_session_close(r->s->sessions, r->session);
	free(r);
}

struct ss_sql_rows *ss_api_rows(struct stepscope_rows *r)
{
	return r->rows;
}

size_t stepscope_sql_columns(const struct stepscope_rows *r)
{
	return ss_sql_ncols(r->rows);
}

const char *stepscope_sql_name(const struct stepscope_rows *r, size_t col)
{
	return ss_sql_col_name(r->rows, col);
}

enum stepscope_sql_type stepscope_sql_type(const struct stepscope_rows *r, size_t col)
{
	return (enum stepscope_sql_type)ss_sql_type(r->rows, col);
}

int64_t stepscope_sql_int(const struct stepscope_rows *r, size_t col)
{
	return ss_sql_i64(r->rows, col);
}

double stepscope_sql_real(const struct stepscope_rows *r, size_t col)
{
	return ss_sql_f64(r->rows, col);
}

const char *stepscope_sql_text(const struct stepscope_rows *r, size_t col, size_t *bytes)
{
	struct ss_str s = ss_sql_text(r->rows, col);
	*bytes = s.n;
	return s.p;
}
