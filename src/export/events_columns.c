/* events_columns.c - the events in XProf's columns as a file of Parquet or a stream of Arrow, some rows at a time. */
#include "export/arrow.h"
#include "export/export.h"
#include "export/parquet.h"

#include "model/host/forget.h"
#include "sql/xprof_rows.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

#define LIST_MOST 1024u		/* texts of a list */
#define BLOCK 4096u		/* events at a time */

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

/* A list of texts, which is JSON. */
static bool put_list(struct ss_column *c, struct ss_str json)
{
	struct ss_str v[LIST_MOST];
	struct ss_arena arena = { 0 };
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	size_t n = 0;
	while (n < LIST_MOST && ss_jsonr_next(&r, &t))
		if (t.kind == SS_J_STRING)
			v[n++] = ss_jtok_str(&t, &arena);
	bool ok = ss_column_texts(c, v, n);
	ss_arena_release(&arena);
	return ok;
}

/* What takes the rows: either. */
struct writer {
	struct ss_export *x;
	struct ss_sql_directory *d;
	struct ss_xprof_reader reader;
	struct ss_column cols[SS_COUNT(columns)];
	uint64_t rows;			/* at hand */
	struct ss_parquet *parquet;
	struct ss_arrow *arrow;
	/* Of the plane at hand, by name: where its value was put, while `since` is the writer's. */
	struct known {
		uint32_t since;
		struct ss_column_mark mark;
	} *known[SS_COUNT(columns)];
	uint32_t since;
	uint32_t events[BLOCK];		/* of the line at hand, that are asked for */
};

static bool put_text(struct ss_column *c, const struct ss_xprof_value *v)
{
	char digits[32];
	int n = v->type == SS_XPROF_INT    ? snprintf(digits, sizeof(digits), "%lld", (long long)v->i)
		: v->type == SS_XPROF_REAL ? snprintf(digits, sizeof(digits), "%.15g", v->real)
					   : -1;
	struct ss_str text = n < 0 ? v->text : (struct ss_str){ digits, (size_t)n };
	if (v->type == SS_XPROF_TEXTS)
		return put_list(c, text);
	if (c->kind == SS_COLUMN_TEXTS)
		return ss_column_texts(c, &text, text.n > 0);
	return ss_column_text(c, text.n ? text : SS_STR(""), n < 0 && !v->made);
}

/* A text in a column of numbers is null, and a number that is none of 64 bits. */
static bool put_value(struct ss_column *c, const struct ss_xprof_value *v)
{
	bool number = v->type == SS_XPROF_INT || v->type == SS_XPROF_REAL;
	if (v->type == SS_XPROF_NULL || (!number && !ss_column_is_text(c)))
		return ss_column_nulls(c, 1);
	if (ss_column_is_text(c))
		return put_text(c, v);
	if (v->type == SS_XPROF_REAL && !(v->real >= -0x1p63 && v->real < 0x1p63))
		return ss_column_nulls(c, 1);
	return ss_column_bits(c, v->type == SS_XPROF_INT ? (uint64_t)v->i : (uint64_t)(int64_t)v->real);
}

/* The cell of an event, evaluated. */
static bool put_cell(struct writer *w, const struct ss_xprof_line *line, uint32_t event, size_t col, struct ss_column_mark *mark)
{
	struct ss_column *c = &w->cols[col];
	size_t at = c->cells.n;
	uint64_t nnulls = c->nnulls;
	if (w->reader.line != line || w->reader.i != event)
		ss_xprof_read(&w->reader, line, event);
	struct ss_xprof_value v = ss_xprof_value(&w->reader, (int)col);
	bool ok = put_value(c, &v) && !w->reader.text.no_memory && !w->reader.shape.no_memory;
	*mark = ss_column_mark(c, at, c->nnulls > nnulls);
	return ok;
}

/* For a column that depends on the name, the value of each name is evaluated once. */
static bool put_by_name(struct writer *w, const struct ss_xprof_line *line, size_t col, uint32_t n)
{
	uint32_t nnames = line->plane->x->nevent_meta + line->plane->nsynthetic;
	struct known **known = &w->known[col];
	bool ok = *known || (*known = calloc(nnames + 1u, sizeof(**known)));
	for (uint32_t k = 0; ok && k < n; k++) {
		uint32_t meta = line->l->ev.meta[w->events[k]];
		struct known *name = &(*known)[meta < nnames ? meta : nnames];
		ok = name->since == w->since ? ss_column_again(&w->cols[col], name->mark, 1)
					     : put_cell(w, line, w->events[k], col, &name->mark);
		name->since = w->since;
	}
	return ok;
}

/* Times. */
static bool put_numbers(struct writer *w, const struct ss_xprof_line *line, size_t col, uint32_t n)
{
	const struct ss_xevents *ev = &line->l->ev;
	uint64_t *to = ss_column_numbers(&w->cols[col], n);
	const int64_t *self_ps = NULL;
	if (col == SS_XPROF_SELF_TIME_NS && line->kind == SS_XPROF_OPS) {
		if (!ss_sql_nest_line(w->d, line->raw))
			return false;
		self_ps = line->raw->self_ps;
	}
	for (uint32_t k = 0; to && k < n; k++) {
		uint32_t i = w->events[k];
		int64_t begin_ns = ss_xprof_start_ns(line, i), dur_ns = (int64_t)(ev->dur_ps[i] / 1000);
		to[k] = (uint64_t)(col == SS_XPROF_START_NS ? begin_ns
				   : col == SS_XPROF_END_NS ? ss_safe_sum(begin_ns, dur_ns)
				   : self_ps		    ? self_ps[i] / 1000
							    : dur_ns);
	}
	return to;
}

static bool is_time(size_t col)
{
	return col == SS_XPROF_START_NS || col == SS_XPROF_END_NS || col == SS_XPROF_SELF_TIME_NS;
}

/* n events of a line: columns of the line and of names by themselves, the others event by event, as those read the same bytes. */
static bool put_block(struct writer *w, const struct ss_xprof_line *line, uint32_t n)
{
	size_t slow[SS_COUNT(columns)], nslow = 0;
	struct ss_column_mark mark;
	bool ok = true;
	for (size_t col = 0; ok && col < SS_COUNT(columns); col++) {
		enum ss_xprof_scope scope = ss_xprof_scope(line, (int)col);
		if (is_time(col))
			ok = put_numbers(w, line, col, n);
		else if (scope == SS_XPROF_OF_NAME)
			ok = put_by_name(w, line, col, n);
		else if (scope == SS_XPROF_OF_LINE)
			ok = put_cell(w, line, w->events[0], col, &mark) && ss_column_again(&w->cols[col], mark, n - 1);
		else
			slow[nslow++] = col;
	}
	for (uint32_t k = 0; ok && k < n; k++)
		for (size_t s = 0; ok && s < nslow; s++)
			ok = put_cell(w, line, w->events[k], slow[s], &mark);
	return ok;
}

/* The rows at hand become a group, if that is due. */
static bool end_rows(struct writer *w, bool all)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		bytes += w->cols[i].text_bytes;
	if (!w->rows || (!all && w->rows + BLOCK <= SS_COLUMN_ROWS && bytes < SS_COLUMN_BYTES))
		return true;
	bool ok = w->parquet ? ss_parquet_rows(w->parquet, w->rows) : ss_arrow_rows(w->arrow, w->rows);
	w->rows = 0;
	w->since++;
	return ok;
}

static bool is_asked_for(const struct ss_export *x, const struct ss_xprof_line *line, uint32_t i)
{
	int64_t start_ps = ss_sql_start_ps(line->raw, i);
	return ss_xprof_is_event(line, i) && start_ps >= x->start_ps && start_ps < x->end_ps;
}

static bool put_line(struct writer *w, const struct ss_xprof_line *line)
{
	struct ss_forget forget = { .h = line->host };
	bool ok = true;
	w->since++; /* of another line of the plane the same name may say something else */
	for (uint32_t i = 0, n = 0; ok && i < line->l->ev.n; i++) {
		if (is_asked_for(w->x, line, i))
			w->events[n++] = i;
		if (!n || (n < BLOCK && i + 1 < line->l->ev.n))
			continue;
		ok = put_block(w, line, n);
		w->rows += n;
		w->x->nevents += n;
		n = 0;
		ok = ok && end_rows(w, false);
		ss_forget_passed(&forget, line->l, i / SS_EVENT_CHUNK * SS_EVENT_CHUNK);
	}
	ss_forget_line(&forget, line->l);
	ss_forget_rest(&forget);
	ss_sql_forget_line(line->raw);
	return ok;
}

static void forget_names(struct writer *w)
{
	for (size_t i = 0; i < SS_COUNT(columns); i++) {
		free(w->known[i]);
		w->known[i] = NULL;
	}
}

/* Events of the file that are asked for; preprocessing has added some. */
static uint64_t count_asked(const struct writer *w)
{
	uint64_t n = 0;
	for (uint32_t k = 0; k < w->d->nlines; k++) {
		const struct ss_sql_line *line = &w->d->lines[k];
		for (uint32_t i = 0; ss_export_takes(w->x, line) && !line->l.derived && i < line->l.ev.n; i++) {
			int64_t start_ps = ss_sql_start_ps(line, i);
			n += !ss_xevents_is_added(&line->l.ev, i) && start_ps >= w->x->start_ps && start_ps < w->x->end_ps;
		}
	}
	return n;
}

static bool put_lines(struct writer *w, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_xprof_lines lines;
	bool ok = ss_xprof_lines_of(w->d, true, &arena, &lines, err);
	if (!ok)
		ss_arena_release(&arena);
	else
		w->x->nasked = count_asked(w);
	if (!ok)
		return false;
	for (size_t i = 0; ok && i < lines.n; i++) {
		if (i && lines.v[i].plane != lines.v[i - 1].plane)
			forget_names(w);
		if (ss_export_takes(w->x, lines.v[i].raw))
			ok = put_line(w, &lines.v[i]);
	}
	forget_names(w);
	ss_arena_release(&arena);
	ok = ok && end_rows(w, true) && (w->parquet ? ss_parquet_end(w->parquet) : ss_arrow_end(w->arrow));
	if (!ok && w->arrow && w->arrow->too_long)
		return ss_fail(err, SS_EINVAL, "the texts of %u events take more than 2 GiB", SS_COLUMN_ROWS);
	return ok || ss_fail_mem(err);
}

static bool write(struct writer *w, struct ss_err *err)
{
	w->d = ss_sql_directory_of_loaded(w->x->model, err);
	w->reader.d = w->d;
	bool ok = w->d && put_lines(w, err);
	ss_sql_directory_free(w->d);
	ss_xprof_reader_free(&w->reader);
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		ss_column_free(&w->cols[i]);
	free(w);
	return ok;
}

#define OMITS "planes and lines that XProf does not write (of a TPU all but steps, programs and operations)"

static struct writer *new_writer(struct ss_export *x, struct ss_err *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		ss_fail_mem(err);
	for (size_t i = 0; w && i < SS_COUNT(columns); i++)
		w->cols[i] = (struct ss_column){ .name = columns[i].name, .kind = columns[i].kind };
	if (w)
		w->x = x;
	return w;
}

static bool write_parquet(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer *w = new_writer(x, err);
	struct ss_parquet p;
	if (!w)
		return false;
	ss_parquet_begin(&p, o, w->cols, SS_COUNT(columns));
	w->parquet = &p;
	bool ok = write(w, err);
	ss_parquet_free(&p);
	return ok;
}

static bool write_arrow(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer *w = new_writer(x, err);
	struct ss_arrow a;
	if (!w)
		return false;
	for (size_t i = 0; i < SS_COUNT(columns); i++)
		w->cols[i].form = i == SS_XPROF_TRACE_ARGS ? SS_COLUMN_PLAIN : SS_COLUMN_DICTIONARY;
	ss_arrow_begin(&a, o, w->cols, SS_COUNT(columns));
	w->arrow = &a;
	bool ok = write(w, err);
	ss_arrow_free(&a);
	return ok;
}

const struct ss_export_format ss_export_parquet = {
	.name = "parquet",
	.doc = "events in XProf's columns, for DuckDB, polars, pandas",
	.binary = true,
	.write = write_parquet,
	.loads = true,
	.omits = OMITS,
};
const struct ss_export_format ss_export_arrow = {
	.name = "arrow",
	.doc = "the same as a stream of Arrow",
	.binary = true,
	.write = write_arrow,
	.loads = true,
	.omits = OMITS,
};
