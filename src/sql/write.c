/* write.c - see write.h. */
#include "sql/write.h"

#include <math.h>

#define TABLE_ROWS 100000u /* that a table for people holds; more are for programs */
#define EXACT_MOST ((int64_t)1 << 53) /* that a double holds with all that are smaller */
#define TABLE_BYTES ((size_t)256 << 20)

static const struct {
	const char *name, *type;
} formats[SS_SQL_FORMATS] = {
	[SS_SQL_JSON] = { "json", "application/json" },
	[SS_SQL_JSONL] = { "jsonl", "application/x-ndjson" },
	[SS_SQL_CSV] = { "csv", "text/csv; charset=utf-8" },
	[SS_SQL_TABLE] = { "table", "text/plain; charset=utf-8" },
	[SS_SQL_ROWS] = { "rows", "application/json" },
};

enum ss_sql_format ss_sql_format_of(struct ss_str name)
{
	enum ss_sql_format f = 0;
	while (f < SS_SQL_FORMATS && !ss_str_is(name, formats[f].name))
		f++;
	return f;
}

const char *ss_sql_content_type(enum ss_sql_format format)
{
	return formats[format].type;
}

static void put_hex(struct ss_out *o, struct ss_str s)
{
	for (size_t i = 0; i < 2 * s.n; i++)
		ss_out_char(o, ss_sql_hex_digit(s, i));
}

static void put_json(struct ss_out *o, const struct ss_sql_rows *r, size_t col)
{
	switch (ss_sql_type(r, col)) {
	case SS_SQL_INT:
		ss_out_i64(o, ss_sql_i64(r, col));
		break;
	case SS_SQL_REAL:
		if (isfinite(ss_sql_f64(r, col)))
			ss_out_f64(o, ss_sql_f64(r, col));
		else
			ss_out_lit(o, "null");
		break;
	case SS_SQL_TEXT:
		ss_out_json_str(o, ss_sql_text(r, col));
		break;
	case SS_SQL_BLOB:
		ss_out_char(o, '"');
		put_hex(o, ss_sql_text(r, col));
		ss_out_char(o, '"');
		break;
	case SS_SQL_IS_NULL:
		ss_out_lit(o, "null");
		break;
	}
}

static void put_object(struct ss_out *o, const struct ss_sql_rows *r)
{
	for (size_t i = 0; i < ss_sql_ncols(r); i++) {
		ss_out_char(o, i ? ',' : '{');
		ss_out_json_str(o, ss_str_from(ss_sql_col_name(r, i)));
		ss_out_char(o, ':');
		put_json(o, r, i);
	}
	ss_out_char(o, '}');
}

/* RFC 4180: quotes where they are needed. Empty texts have them, so that they differ from NULL. */
static void put_field(struct ss_out *o, struct ss_str s)
{
	bool plain = s.n > 0;
	for (size_t i = 0; plain && i < s.n; i++)
		plain = s.p[i] && !strchr(",\"\r\n", s.p[i]);
	if (plain) {
		ss_out_str(o, s);
		return;
	}
	ss_out_char(o, '"');
	for (size_t i = 0; i < s.n; i++) {
		ss_out_char(o, s.p[i]);
		if (s.p[i] == '"')
			ss_out_char(o, '"');
	}
	ss_out_char(o, '"');
}

static void put_csv(struct ss_out *o, const struct ss_sql_rows *r)
{
	for (size_t i = 0; i < ss_sql_ncols(r); i++) {
		enum ss_sql_type type = ss_sql_type(r, i);
		if (i)
			ss_out_char(o, ',');
		if (type == SS_SQL_TEXT)
			put_field(o, ss_sql_text(r, i));
		else if (type == SS_SQL_BLOB)
			put_hex(o, ss_sql_text(r, i));
		else if (type != SS_SQL_IS_NULL &&
			 (type == SS_SQL_INT || isfinite(ss_sql_f64(r, i))))
			put_json(o, r, i);
	}
	ss_out_lit(o, "\r\n");
}

static void put_names(struct ss_out *o, const struct ss_sql_rows *r)
{
	ss_out_lit(o, "{\"columns\":[");
	for (size_t i = 0; i < ss_sql_ncols(r); i++) {
		ss_out_z(o, i ? "," : "");
		ss_out_json_str(o, ss_str_from(ss_sql_col_name(r, i)));
	}
	ss_out_lit(o, "],\"rows\":[");
}

static bool is_long(const struct ss_sql_rows *r, size_t col)
{
	return ss_sql_type(r, col) == SS_SQL_INT &&
	       (ss_sql_i64(r, col) > EXACT_MOST || ss_sql_i64(r, col) < -EXACT_MOST);
}

static void put_list(struct ss_out *o, const struct ss_sql_rows *r, bool long_as_text)
{
	for (size_t i = 0; i < ss_sql_ncols(r); i++) {
		const char *quote = long_as_text && is_long(r, i) ? "\"" : "";
		ss_out_char(o, i ? ',' : '[');
		ss_out_z(o, quote);
		put_json(o, r, i);
		ss_out_z(o, quote);
	}
	ss_out_char(o, ']');
}

static void put_head(struct ss_out *o, const struct ss_sql_rows *r, enum ss_sql_format format)
{
	if (format == SS_SQL_JSON)
		ss_out_char(o, '[');
	if (format == SS_SQL_ROWS)
		put_names(o, r);
	for (size_t i = 0; format == SS_SQL_CSV && i < ss_sql_ncols(r); i++) {
		if (i)
			ss_out_char(o, ',');
		put_field(o, ss_str_from(ss_sql_col_name(r, i)));
	}
	if (format == SS_SQL_CSV)
		ss_out_lit(o, "\r\n");
}

static void put_row(struct ss_out *o, const struct ss_sql_rows *r, const struct ss_sql_writing *w,
		    uint64_t number)
{
	enum ss_sql_format format = w->format;
	if (format == SS_SQL_JSON || format == SS_SQL_ROWS)
		ss_out_z(o, number ? ",\n" : "\n");
	if (format == SS_SQL_ROWS) {
		put_list(o, r, w->long_as_text);
		return;
	}
	if (format == SS_SQL_CSV) {
		put_csv(o, r);
		return;
	}
	put_object(o, r);
	if (format == SS_SQL_JSONL)
		ss_out_char(o, '\n');
}

/* ---- for people ---- */

/* The unit that a column's name ends with. */
static enum ss_unit unit_of(struct ss_str name, bool raw)
{
	static const struct {
		const char *end;
		enum ss_unit unit;
	} ends[] = { { "_ps", SS_UNIT_PS },
		     { "_ns", SS_UNIT_NS },
		     { "_us", SS_UNIT_US },
		     { "_ms", SS_UNIT_MS },
		     { "_bytes", SS_UNIT_BYTES } };
	if (!raw && ss_str_is(name, "bytes"))
		return SS_UNIT_BYTES;
	for (size_t i = 0; !raw && i < SS_COUNT(ends); i++)
		if (ss_str_ends(name, ss_str_from(ends[i].end)))
			return ends[i].unit;
	return SS_UNIT_NONE;
}

/*
 * Values in SQL have types, not columns: one that holds no text is of numbers, and of whole ones if
 * all are.
 */
struct cell {
	enum ss_sql_type type;
	union {
		int64_t i64;
		double f64;
		struct ss_str text;
	} v;
};

struct held {
	struct cell *cells; /* by row */
	size_t nrows, cap;
	struct ss_arena arena;
};

static struct ss_str hex_text(struct ss_arena *arena, struct ss_str s)
{
	char *p = SS_NEW_N(arena, char, 2 * s.n + 1);
	for (size_t i = 0; p && i < 2 * s.n; i++)
		p[i] = ss_sql_hex_digit(s, i);
	return (struct ss_str){ p, 2 * s.n };
}

static bool hold_row(struct held *h, const struct ss_sql_rows *r)
{
	size_t n = ss_sql_ncols(r);
	if (h->nrows == h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 64;
		struct cell *cells = SS_NEW_N(&h->arena, struct cell, cap * n);
		if (!cells)
			return false;
		if (h->nrows)
			memcpy(cells, h->cells, h->nrows * n * sizeof(*cells));
		h->cells = cells;
		h->cap = cap;
	}
	for (size_t i = 0; i < n; i++) {
		struct cell *c = &h->cells[h->nrows * n + i];
		c->type = ss_sql_type(r, i);
		if (c->type == SS_SQL_INT)
			c->v.i64 = ss_sql_i64(r, i);
		else if (c->type == SS_SQL_REAL)
			c->v.f64 = ss_sql_f64(r, i);
		else if (c->type == SS_SQL_BLOB)
			c->v.text = hex_text(&h->arena, ss_sql_text(r, i));
		else
			c->v.text = ss_arena_str(&h->arena, c->type == SS_SQL_IS_NULL
								    ? SS_STR("")
								    : ss_sql_text(r, i));
		if (c->type != SS_SQL_INT && c->type != SS_SQL_REAL && !c->v.text.p)
			return false;
	}
	h->nrows++;
	return true;
}

static enum ss_type type_of(const struct held *h, size_t n, size_t col)
{
	enum ss_type type = SS_TYPE_I64;
	for (size_t row = 0; row < h->nrows; row++) {
		enum ss_sql_type t = h->cells[row * n + col].type;
		if (t == SS_SQL_TEXT || t == SS_SQL_BLOB)
			return SS_TYPE_STR;
		if (t != SS_SQL_INT)
			type = SS_TYPE_F64;
	}
	return type;
}

static struct ss_str cell_text(struct held *h, const struct cell *c)
{
	if (c->type == SS_SQL_INT)
		return ss_arena_printf(&h->arena, "%lld", (long long)c->v.i64);
	if (c->type == SS_SQL_REAL && !isfinite(c->v.f64))
		return SS_STR("");
	return c->type == SS_SQL_REAL ? ss_arena_printf(&h->arena, "%.15g", c->v.f64) : c->v.text;
}

static bool fill_table(struct ss_table *t, struct held *h)
{
	for (size_t row = 0; row < h->nrows; row++) {
		ss_table_row(t);
		for (size_t i = 0; i < t->ncols; i++) {
			const struct cell *c = &h->cells[row * t->ncols + i];
			if (t->cols[i].type == SS_TYPE_STR)
				ss_set_str(t, i, cell_text(h, c));
			else if (t->cols[i].type == SS_TYPE_I64)
				ss_set_i64(t, i, c->v.i64);
			else
				ss_set_f64(t, i,
					   c->type == SS_SQL_INT ? (double)c->v.i64
					   : c->type == SS_SQL_REAL && isfinite(c->v.f64)
						   ? c->v.f64
						   : NAN);
		}
	}
	return true;
}

static bool put_table(struct held *h, const struct ss_sql_rows *r, const struct ss_sql_writing *w,
		      struct ss_out *o, struct ss_err *err)
{
	size_t n = ss_sql_ncols(r);
	struct ss_col *cols = SS_NEW_N(&h->arena, struct ss_col, n);
	struct ss_result result;
	ss_result_init(&result, &h->arena);
	for (size_t i = 0; cols && i < n; i++) {
		struct ss_str name = ss_arena_str(&h->arena, ss_str_from(ss_sql_col_name(r, i)));
		if (!name.p)
			return ss_fail_mem(err);
		enum ss_type type = type_of(h, n, i);
		cols[i] = (struct ss_col){ .id = name.p,
					   .label = name.p,
					   .type = type,
					   .unit = type == SS_TYPE_STR ? SS_UNIT_NONE
								       : unit_of(name, w->raw) };
	}
	struct ss_table *t = cols ? ss_result_table(&result, "rows", "", cols, n) : NULL;
	if (!t || !fill_table(t, h) || t->arena->no_memory)
		return ss_fail_mem(err);
	ss_emit_text_table(o, t, &w->style);
	return true;
}

static bool write_table(struct ss_sql_rows *r, const struct ss_sql_writing *w, struct ss_out *o,
			struct ss_sql_written *done, struct ss_err *err)
{
	struct held h = { .nrows = 0 };
	struct ss_err why = { 0 };
	uint64_t most = w->most_rows && w->most_rows < TABLE_ROWS ? w->most_rows : TABLE_ROWS;
	bool ok = true;
	while (ok && ss_sql_next(r, &why)) {
		if (h.nrows == most || h.arena.used_bytes > TABLE_BYTES) {
			done->cut = true;
			break;
		}
		ok = hold_row(&h, r) || ss_fail_mem(err);
	}
	if (ok && why.code)
		ok = ss_fail(err, why.code, "%s", why.text);
	done->rows = h.nrows;
	ok = ok && put_table(&h, r, w, o, err);
	ss_arena_release(&h.arena);
	return ok;
}

bool ss_sql_write(struct ss_sql_rows *r, const struct ss_sql_writing *w, struct ss_out *o,
		  struct ss_sql_written *done, struct ss_err *err)
{
	struct ss_err why = { 0 };
	*done = (struct ss_sql_written){ 0 };
	if (w->format == SS_SQL_TABLE)
		return write_table(r, w, o, done, err);
	bool any = ss_sql_next(r, &why);
	if (why.code) /* before the first byte */
		return ss_fail(err, why.code, "%s", why.text);
	put_head(o, r, w->format);
	for (; any && !o->refused && !o->no_memory; any = ss_sql_next(r, &why)) {
		if (w->most_rows && done->rows == w->most_rows) {
			done->cut = true;
			break;
		}
		put_row(o, r, w, done->rows++);
	}
	if (why.code)
		return ss_fail(err, why.code, "%s", why.text);
	if (w->format == SS_SQL_JSON)
		ss_out_lit(o, "\n]\n");
	if (w->format == SS_SQL_ROWS)
		ss_out_printf(o, "],\"truncated\":%s}\n", done->cut ? "true" : "false");
	return true;
}
