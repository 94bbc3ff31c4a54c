/* parquet_file.c - the events in XProf's columns as a file of Parquet, row group by row group. */
#include "export/export.h"
#include "export/parquet.h"

#include "sql/sql.h"
#include "wire/json.h"

#include <stdio.h>

#define LIST_MOST 1024u /* texts of a list */

static const struct {
	const char *name;
	enum ss_parquet_kind kind;
} columns[] = {
	{ "device", SS_PARQUET_TEXT },
	{ "stream_id", SS_PARQUET_U32 },
	{ "thread_id", SS_PARQUET_U32 },
	{ "thread_name", SS_PARQUET_TEXT },
	{ "correlation_id", SS_PARQUET_U32 },
	{ "kernel_name", SS_PARQUET_TEXT },
	{ "kernel_details", SS_PARQUET_TEXT },
	{ "tf_op_name", SS_PARQUET_TEXT },
	{ "tf_op_type", SS_PARQUET_TEXT },
	{ "hlo_op", SS_PARQUET_TEXT },
	{ "hlo_module", SS_PARQUET_TEXT },
	{ "start_ns", SS_PARQUET_U64 },
	{ "end_ns", SS_PARQUET_U64 },
	{ "self_time_ns", SS_PARQUET_U64 },
	{ "step", SS_PARQUET_TEXT },
	{ "category", SS_PARQUET_TEXT },
	{ "flops", SS_PARQUET_U64 },
	{ "memory_accessed", SS_PARQUET_U64 },
	{ "input_tensors", SS_PARQUET_TEXTS },
	{ "output_tensors", SS_PARQUET_TEXTS },
	{ "trace_args", SS_PARQUET_TEXT },
	{ "hlo_fingerprint", SS_PARQUET_U64 },
	{ "flow", SS_PARQUET_U64 },
	{ "source_line", SS_PARQUET_TEXT },
	{ "dcn_src_slice_id", SS_PARQUET_I64 },
	{ "dcn_dst_slice_id", SS_PARQUET_I64 },
	{ "dcn_src_logical_device_id", SS_PARQUET_I64 },
	{ "dcn_dst_logical_device_id", SS_PARQUET_I64 },
	{ "dcn_collective_name", SS_PARQUET_TEXT },
	{ "dcn_duration_us", SS_PARQUET_U64 },
	{ "dcn_payload_size_bytes", SS_PARQUET_U64 },
};

/* A list of texts, which SQL has as JSON; what is no list is one text. */
static bool put_list(struct ss_parquet_column *c, struct ss_str json)
{
	struct ss_str v[LIST_MOST];
	struct ss_arena arena = { 0 };
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	size_t n = 0;
	while (json.n && *json.p == '[' && n < LIST_MOST && ss_jsonr_next(&r, &t))
		if (t.kind == SS_J_STRING)
			v[n++] = ss_jtok_str(&t, &arena);
	if (!n && json.n && *json.p != '[')
		v[n++] = json;
	bool ok = ss_parquet_texts(c, v, n);
	ss_arena_release(&arena);
	return ok;
}

static bool put_cell(struct ss_parquet_column *c, const struct ss_sql_rows *r, size_t col)
{
	enum ss_sql_type type = ss_sql_type(r, col);
	bool text = c->kind == SS_PARQUET_TEXT || c->kind == SS_PARQUET_TEXTS;
	if (type == SS_SQL_IS_NULL || (!text && type != SS_SQL_INT && type != SS_SQL_REAL))
		return ss_parquet_null(c);
	if (c->kind == SS_PARQUET_TEXTS)
		return put_list(c, ss_sql_text(r, col));
	return text ? ss_parquet_text(c, ss_sql_text(r, col))
		    : ss_parquet_bits(c, (uint64_t)ss_sql_i64(r, col));
}

static bool put_rows(struct ss_export *x, struct ss_parquet *p, struct ss_sql_rows *r,
		     struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool ok = true;
	for (; ok && ss_sql_next(r, &why); x->nevents++) {
		for (size_t i = 0; ok && i < p->ncols; i++)
			ok = put_cell(&p->cols[i], r, i);
		ok = ok && ss_parquet_row(p);
	}
	if (why.code)
		return ss_fail(err, why.code, "%s", why.text);
	return (ok && ss_parquet_end(p)) || ss_fail_mem(err);
}

/* The range of time in the ns of the columns. */
static void put_query(const struct ss_export *x, char *query, size_t bytes)
{
	int n = snprintf(query, bytes, "SELECT * FROM xprof_events WHERE 1");
	if (x->start_ps != INT64_MIN)
		n += snprintf(query + n, bytes - (size_t)n, " AND start_ns >= %lld",
			      (long long)ss_safe_sum(x->d->origin_ns, x->start_ps / 1000));
	if (x->end_ps != INT64_MAX)
		snprintf(query + n, bytes - (size_t)n, " AND start_ns < %lld",
			 (long long)ss_safe_sum(x->d->origin_ns, x->end_ps / 1000));
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct ss_parquet_column cols[SS_COUNT(columns)] = { { 0 } };
	struct ss_parquet p;
	char query[200];
	if (x->plane)
		return ss_fail(
			err, SS_EINVAL,
			"--plane is not for parquet: its events are those that XProf writes");
	put_query(x, query, sizeof(query));
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		cols[i] = (struct ss_parquet_column){ .name = columns[i].name,
						      .kind = columns[i].kind };
	struct ss_sql_rows *r = ss_sql_ask(
		&(struct ss_sql_question){ .model = x->model, .query = ss_str_from(query) }, err);
	if (!r)
		return false;
	ss_parquet_begin(&p, o, cols, SS_COUNT(columns));
	bool ok = put_rows(x, &p, r, err);
	ss_parquet_free(&p);
	ss_sql_close(r);
	return ok;
}

const struct ss_export_format ss_export_parquet = {
	"parquet", "events in XProf's columns, for DuckDB, polars, pandas", true, write, NULL
};
