/*
 * events_db.c - create_events_db and query_events_db: XProf's database of events, as a file of
 * Parquet and in SQL. The dialect is SQLite's (docs/xprof_cli.md says what differs).
 */
#include "xprof/cli/xcli.h"

#include "export/export.h"
#include "sql/directory.h"
#include "sql/write.h"

#define TIMEOUT_MS 600000u

static bool answer_path(struct xcli *x, struct ss_str path, struct xv **out)
{
	*out = xv_object(&x->make);
	xv_str(*out, "path", path);
	xv_bool(*out, "skipped", false);
	return true;
}

bool xcli_create_events_db(struct xcli *x, struct xv **out)
{
	struct ss_err err = { 0 };
	struct ss_export e = { .start_ps = INT64_MIN, .end_ps = INT64_MAX, .name = x->run };
	struct xcli_file f;
	if (!xcli_open(x))
		return false;
	e.model = &x->model;
	e.d = ss_model_sql_directory(e.model, &err);
	if (!e.d)
		return xcli_failed(x, &err);
	if (!xcli_file_open(x, &f, "stepscope_events", ".parquet"))
		return false;
	bool ok = ss_export_find(SS_STR("parquet"))->write(&e, &f.out, &err) || xcli_failed(x, &err);
	return xcli_file_close(x, &f, ok) && answer_path(x, f.path, out);
}

/* Behind a comment or a blank at the front; 0: there is none. */
static size_t blank_bytes(struct ss_str s)
{
	size_t end = ss_str_starts(s, SS_STR("--"))   ? ss_str_chr(s, '\n')
		     : ss_str_starts(s, SS_STR("/*")) ? ss_str_find(s, SS_STR("*/"))
						      : 0;
	if (end == SS_NPOS)
		return s.n;
	return end ? end + 2 : s.n && strchr(" \t\r\n(", *s.p) ? 1 : 0;
}

/* Is the first word one that asks? */
static bool asks(struct ss_str query)
{
	static const char *const words[] = { "SELECT", "WITH", "VALUES", "EXPLAIN" };
	for (size_t n; (n = blank_bytes(query));)
		query = ss_str_sub(query, n, query.n);
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_istarts(query, ss_str_from(words[i])))
			return true;
	return false;
}

/* What a SELECT names is not there: a failure of its own in XProf, beside those of its form. */
static bool refuse(struct xcli *x, const struct ss_err *err)
{
	static const char *const words[] = { "no such", "ambiguous column", "the query was stopped" };
	struct ss_str text = ss_str_from(err->text);
	for (size_t i = 0; asks(ss_str_from(xcli_text(x, "query"))) && i < SS_COUNT(words); i++)
		if (ss_str_starts(text, ss_str_from(words[i])))
			return xcli_fail(x, XCLI_INTERNAL, "%s", err->text);
	return xcli_failed(x, err);
}

static bool write_rows(struct xcli *x, struct ss_sql_rows *rows, struct xv **out)
{
	struct ss_sql_writing w = { .format = SS_SQL_JSON };
	struct ss_sql_written done;
	struct ss_err err = { 0 };
	struct xcli_file f;
	if (!xcli_file_open(x, &f, "stepscope_rows", ".json"))
		return false;
	bool ok = ss_sql_write(rows, &w, &f.out, &done, &err) || refuse(x, &err);
	return xcli_file_close(x, &f, ok) && answer_path(x, f.path, out);
}

bool xcli_query_events_db(struct xcli *x, struct xv **out)
{
	struct ss_err err = { 0 };
	struct ss_sql_question q = { .query = ss_str_from(xcli_text(x, "query")),
				     .model = &x->model,
				     .xprof = true,
				     .bound_recursion = true,
				     .more_time = ": 'stepscope sql --timeout S', where the table is xprof_events",
				     .timeout_ms = TIMEOUT_MS };
	if (!xcli_open(x))
		return false;
	struct ss_sql_rows *rows = ss_sql_ask(&q, &err);
	if (!rows)
		return refuse(x, &err);
	bool ok = x->ntraces == 1;
	if (!ok)
		xcli_fail(x, XCLI_INTERNAL, "%zu traces are in " SS_FMT "; name one file, or a host with --host.", x->ntraces,
			  SS_ARG(x->run));
	ok = ok && write_rows(x, rows, out);
	ss_sql_close(rows);
	return ok;
}
