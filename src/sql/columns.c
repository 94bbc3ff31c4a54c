/* columns.c - see columns.h. */
#include "sql/columns.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

static bool has_bytes(enum ss_sql_type type)
{
	return type == SS_SQL_TEXT || type == SS_SQL_BLOB;
}

static bool push_bytes(struct ss_sql_column *c, struct ss_str s)
{
	if (!ss_vec_reserve(&c->text, c->text.n + s.n + 1))
		return false;
	if (s.n)
		memcpy(c->text.v + c->text.n, s.p, s.n);
	c->text.n += s.n;
	return true;
}

static bool end_cell(struct ss_sql_column *c)
{
	return ss_vec_push(&c->ends, (int64_t)c->text.n);
}

static bool push_text(struct ss_sql_column *c, struct ss_str s)
{
	struct ss_buf b = { 0 };
	bool valid = ss_utf8_valid(s);
	if (!valid)
		ss_buf_utf8(&b, s);
	bool ok = !b.no_memory && push_bytes(c, valid ? s : ss_buf_get(&b)) && end_cell(c);
	ss_buf_free(&b);
	return ok;
}

static bool push_hex(struct ss_sql_column *c, struct ss_str blob)
{
	bool ok = true;
	for (size_t i = 0; ok && i < 2 * blob.n; i++) {
		char digit = ss_sql_hex_digit(blob, i);
		ok = push_bytes(c, (struct ss_str){ &digit, 1 });
	}
	return ok && end_cell(c);
}

static struct ss_str number_text(enum ss_sql_type type, uint64_t bits, char *buf, size_t bytes)
{
	double d;
	memcpy(&d, &bits, sizeof(d));
	int n = type == SS_SQL_INT ? snprintf(buf, bytes, "%lld", (long long)bits)
				   : snprintf(buf, bytes, "%.17g", d);
	return (struct ss_str){ buf, n < 0 ? 0 : (size_t)n };
}

static bool push_number_text(struct ss_sql_column *c, enum ss_sql_type type, uint64_t bits)
{
	char buf[40];
	return push_text(c, number_text(type, bits, buf, sizeof(buf)));
}

/* A text comes after other values, or a blob after numbers: these become texts, too. */
static bool to_texts(struct ss_sql_column *c, uint64_t nrows)
{
	struct ss_sql_column old = *c;
	bool ok = true;
	c->text.v = NULL;
	c->text.n = c->text.cap = 0;
	c->ends.v = NULL;
	c->ends.n = c->ends.cap = 0;
	c->type = SS_SQL_TEXT;
	ok = end_cell(c);
	for (uint64_t i = 0; ok && i < nrows; i++) {
		if (!(c->valid.v[i / 8] >> (i % 8) & 1))
			ok = end_cell(c);
		else if (old.type == SS_SQL_BLOB)
			ok = push_hex(c, (struct ss_str){ old.text.v + old.ends.v[i],
							  (size_t)(old.ends.v[i + 1] - old.ends.v[i]) });
		else
			ok = push_number_text(c, old.type, old.cells.v[i]);
	}
	ss_vec_free(&old.text);
	ss_vec_free(&old.ends);
	ss_vec_free(&c->cells);
	return ok;
}

/* The first blob of a column that has had no value. */
static bool to_blobs(struct ss_sql_column *c, uint64_t nrows)
{
	bool ok = end_cell(c);
	for (uint64_t i = 0; ok && i < nrows; i++)
		ok = end_cell(c);
	ss_vec_free(&c->cells);
	c->type = SS_SQL_BLOB;
	return ok;
}

static void to_reals(struct ss_sql_column *c)
{
	for (size_t i = 0; i < c->cells.n; i++) {
		double d = (double)(int64_t)c->cells.v[i];
		memcpy(&c->cells.v[i], &d, sizeof(d));
	}
	c->type = SS_SQL_REAL;
}

/* Make the column hold values of this type as well. */
static bool widen(struct ss_sql_column *c, enum ss_sql_type type, uint64_t nrows)
{
	if (type == SS_SQL_IS_NULL || c->type == SS_SQL_TEXT || c->type == type ||
	    (c->type == SS_SQL_REAL && type == SS_SQL_INT))
		return true;
	if (type == SS_SQL_BLOB && c->type == SS_SQL_IS_NULL)
		return to_blobs(c, nrows);
	if (has_bytes(type) || c->type == SS_SQL_BLOB)
		return to_texts(c, nrows);
	if (type == SS_SQL_REAL && c->type == SS_SQL_INT)
		to_reals(c);
	c->type = type;
	return true;
}

static bool push_bit(struct ss_sql_column *c, uint64_t row, bool valid)
{
	if (row % 8 == 0 && !ss_vec_push(&c->valid, 0))
		return false;
	c->valid.v[row / 8] |= (uint8_t)(valid << (row % 8));
	c->nnulls += !valid;
	return true;
}

/* A cell that a column of texts or blobs takes. */
static bool push_as_bytes(struct ss_sql_column *c, const struct ss_sql_rows *r, size_t col)
{
	enum ss_sql_type type = ss_sql_type(r, col);
	if (type == SS_SQL_IS_NULL)
		return end_cell(c);
	struct ss_str s = ss_sql_text(r, col);
	if (type != SS_SQL_BLOB)
		return push_text(c, s);
	return c->type == SS_SQL_BLOB ? push_bytes(c, s) && end_cell(c) : push_hex(c, s);
}

static bool push_cell(struct ss_sql_column *c, const struct ss_sql_rows *r, size_t col,
		      uint64_t row)
{
	enum ss_sql_type type = ss_sql_type(r, col);
	uint64_t bits = 0;
	if (!widen(c, type, row) || !push_bit(c, row, type != SS_SQL_IS_NULL))
		return false;
	if (has_bytes(c->type))
		return push_as_bytes(c, r, col);
	if (type != SS_SQL_IS_NULL && c->type == SS_SQL_REAL) {
		double d = ss_sql_f64(r, col);
		memcpy(&bits, &d, sizeof(d));
	} else if (type != SS_SQL_IS_NULL) {
		bits = (uint64_t)ss_sql_i64(r, col);
	}
	return ss_vec_push(&c->cells, bits);
}

static bool begin(struct ss_sql_columns *c, const struct ss_sql_rows *r)
{
	c->ncols = ss_sql_ncols(r);
	c->v = SS_NEW_N(&c->arena, struct ss_sql_column, c->ncols);
	for (size_t i = 0; c->v && i < c->ncols; i++) {
		c->v[i].name = ss_arena_str(&c->arena, ss_str_from(ss_sql_col_name(r, i)));
		if (!c->v[i].name.p)
			return false;
	}
	return c->v;
}

/* A column without any value is what it was declared as. */
static bool finish(struct ss_sql_columns *c, const struct ss_sql_rows *r)
{
	for (size_t i = 0; i < c->ncols; i++)
		if (c->v[i].type == SS_SQL_IS_NULL) {
			enum ss_sql_type declared = ss_sql_col_type(r, i);
			c->v[i].type = declared == SS_SQL_IS_NULL ? SS_SQL_INT : declared;
			if ((declared == SS_SQL_TEXT && !to_texts(&c->v[i], c->nrows)) ||
			    (declared == SS_SQL_BLOB && !to_blobs(&c->v[i], c->nrows)))
				return false;
		}
	return true;
}

bool ss_sql_columns_read(struct ss_sql_columns *c, struct ss_sql_rows *r, struct ss_err *err)
{
	struct ss_err why = { 0 };
	*c = (struct ss_sql_columns){ 0 };
	bool ok = begin(c, r);
	for (; ok && ss_sql_next(r, &why); c->nrows++)
		for (size_t i = 0; ok && i < c->ncols; i++)
			ok = push_cell(&c->v[i], r, i, c->nrows);
	ok = ok && (why.code || finish(c, r));
	if (ok && !why.code)
		return true;
	ss_sql_columns_free(c);
	return ok ? ss_fail(err, why.code, "%s", why.text) : ss_fail_mem(err);
}

void ss_sql_columns_free(struct ss_sql_columns *c)
{
	for (size_t i = 0; c->v && i < c->ncols; i++) {
		ss_vec_free(&c->v[i].valid);
		ss_vec_free(&c->v[i].cells);
		ss_vec_free(&c->v[i].ends);
		ss_vec_free(&c->v[i].text);
	}
	ss_arena_release(&c->arena);
	*c = (struct ss_sql_columns){ 0 };
}
