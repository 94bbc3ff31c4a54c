/* events_columns.c - the events in XProf's columns as a file of Parquet or a stream of Arrow, some rows at a time. */
#include "export/arrow.h"
#include "export/export.h"
#include "export/parquet.h"

#include "sql/sql.h"
#include "wire/json.h"

#include <stdio.h>

#define LIST_MOST 1024u /* texts of a list */

static const struct {
	const char *name;
	enum ss_column_kind kind;
} columns[] = {
	{ "device", SS_COLUMN_TEXT },
	{ "stream_id", SS_COLUMN_U32 },
	{ "thread_id", SS_COLUMN_U32 },
	{ "thread_name", SS_COLUMN_TEXT },
	{ "correlation_id", SS_COLUMN_U32 },
	{ "kernel_name", SS_COLUMN_TEXT },
	{ "kernel_details", SS_COLUMN_TEXT },
	{ "tf_op_name", SS_COLUMN_TEXT },
	{ "tf_op_type", SS_COLUMN_TEXT },
	{ "hlo_op", SS_COLUMN_TEXT },
	{ "hlo_module", SS_COLUMN_TEXT },
	{ "start_ns", SS_COLUMN_U64 },
	{ "end_ns", SS_COLUMN_U64 },
	{ "self_time_ns", SS_COLUMN_U64 },
	{ "step", SS_COLUMN_TEXT },
	{ "category", SS_COLUMN_TEXT },
	{ "flops", SS_COLUMN_U64 },
	{ "memory_accessed", SS_COLUMN_U64 },
	{ "input_tensors", SS_COLUMN_TEXTS },
	{ "output_tensors", SS_COLUMN_TEXTS },
	{ "trace_args", SS_COLUMN_TEXT },
	{ "hlo_fingerprint", SS_COLUMN_U64 },
	{ "flow", SS_COLUMN_U64 },
	{ "source_line", SS_COLUMN_TEXT },
	{ "dcn_src_slice_id", SS_COLUMN_I64 },
	{ "dcn_dst_slice_id", SS_COLUMN_I64 },
	{ "dcn_src_logical_device_id", SS_COLUMN_I64 },
	{ "dcn_dst_logical_device_id", SS_COLUMN_I64 },
	{ "dcn_collective_name", SS_COLUMN_TEXT },
	{ "dcn_duration_us", SS_COLUMN_U64 },
	{ "dcn_payload_size_bytes", SS_COLUMN_U64 },
};

/* A list of texts, which SQL has as JSON; what is no list is one text. */
static bool put_list(struct ss_column *c, struct ss_str json)
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
	bool ok = ss_column_texts(c, v, n);
	ss_arena_release(&arena);
	return ok;
}

static bool put_cell(struct ss_column *c, const struct ss_sql_rows *r, size_t col)
{
	enum ss_sql_type type = ss_sql_type(r, col);
	bool text = ss_column_is_text(c);
	if (type == SS_SQL_IS_NULL || (!text && type != SS_SQL_INT && type != SS_SQL_REAL))
		return ss_column_null(c);
	if (c->kind == SS_COLUMN_TEXTS)
		return put_list(c, ss_sql_text(r, col));
	return text ? ss_column_text(c, ss_sql_text(r, col))
		    : ss_column_bits(c, (uint64_t)ss_sql_i64(r, col));
}

/* What takes the rows: either. */
struct writer {
	struct ss_column cols[SS_COUNT(columns)];
	struct ss_parquet *parquet;
	struct ss_arrow *arrow;
};

static bool put_rows(struct ss_export *x, struct writer *w, struct ss_sql_rows *r, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool ok = true;
	for (; ok && ss_sql_next(r, &why); x->nevents++) {
		for (size_t i = 0; ok && i < SS_COUNT(columns); i++)
			ok = put_cell(&w->cols[i], r, i);
		ok = ok && (w->parquet ? ss_parquet_row(w->parquet) : ss_arrow_row(w->arrow));
	}
	if (why.code)
		return ss_fail(err, why.code, "%s", why.text);
	if (w->arrow && w->arrow->too_long)
		return ss_fail(err, SS_EINVAL, "the texts of %u events take more than 2 GiB", SS_ARROW_ROWS);
	return (ok && (w->parquet ? ss_parquet_end(w->parquet) : ss_arrow_end(w->arrow))) || ss_fail_mem(err);
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

static bool write(struct ss_export *x, struct writer *w, struct ss_err *err)
{
	char query[200];
	put_query(x, query, sizeof(query));
	struct ss_sql_rows *r = ss_sql_ask(&(struct ss_sql_question){ .model = x->model, .query = ss_str_from(query) }, err);
	bool ok = r && put_rows(x, w, r, err);
	ss_sql_close(r);
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		ss_column_free(&w->cols[i]);
	return ok;
}

static bool begin(const struct ss_export *x, struct writer *w, struct ss_err *err)
{
	*w = (struct writer){ .parquet = NULL };
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		w->cols[i] = (struct ss_column){ .name = columns[i].name, .kind = columns[i].kind };
	return !x->plane ||
	       ss_fail(err, SS_EINVAL, "--plane is not for parquet and arrow: their events are those that XProf writes");
}

static bool write_parquet(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer w;
	struct ss_parquet p;
	if (!begin(x, &w, err))
		return false;
	ss_parquet_begin(&p, o, w.cols, SS_COUNT(columns));
	w.parquet = &p;
	bool ok = write(x, &w, err);
	ss_parquet_free(&p);
	return ok;
}

static bool write_arrow(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer w;
	struct ss_arrow a;
	if (!begin(x, &w, err))
		return false;
	ss_arrow_begin(&a, o, w.cols, SS_COUNT(columns));
	w.arrow = &a;
	bool ok = write(x, &w, err);
	ss_arrow_free(&a);
	return ok;
}

const struct ss_export_format ss_export_parquet = { "parquet", "events in XProf's columns, for DuckDB, polars, pandas", true,
						    write_parquet, NULL };
const struct ss_export_format ss_export_arrow = { "arrow", "the same as a stream of Arrow", true, write_arrow, NULL };
