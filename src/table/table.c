/*
 * table.c - building results in an arena. Arrays double; what they leave behind dies with the
 * request.
 */
#include "table/table.h"

#include "base/assert.h"

#include <math.h>
#include <stdio.h>

const char *ss_unit_name(enum ss_unit unit)
{
	static const char *const names[] = {
#define UNIT(id, name) name,
		SS_UNITS(UNIT)
#undef UNIT
	};
	return names[unit];
}

/* Grow an arena array to hold one more; NULL when memory is out. */
static void *one_more(struct ss_arena *arena, void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	size_t grown_cap = *cap ? *cap * 2 : 8;
	void *grown = ss_arena_zalloc(arena, grown_cap, size);
	if (!grown)
		return NULL;
	if (n)
		memcpy(grown, v, n * size);
	*cap = grown_cap;
	return grown;
}

void ss_result_init(struct ss_result *r, struct ss_arena *arena)
{
	*r = (struct ss_result){ .arena = arena, .texts.into = arena, .lost.arena = arena };
}

struct ss_table *ss_result_table(struct ss_result *r, const char *name, const char *title, const struct ss_col *cols,
				 size_t ncols)
{
	struct ss_table *v = one_more(r->arena, r->tables, r->ntables, &r->table_cap, sizeof(*v));
	union ss_column *data = SS_NEW_N(r->arena, union ss_column, ncols);
	struct ss_table *t = v && data ? &v[r->ntables++] : &r->lost;
	*t = (struct ss_table){ .name = name, .title = title, .cols = cols, .ncols = ncols, .arena = r->arena,
				 .texts = &r->texts, .data = data };
	if (v)
		r->tables = v;
	return t;
}

bool ss_result_is_whole(const struct ss_result *r, struct ss_err *err)
{
	return !r->arena->no_memory || ss_fail_mem(err);
}

struct ss_table *ss_result_at(struct ss_result *r, size_t k)
{
	ss_assert(k < r->ntables || r->arena->no_memory);
	return k < r->ntables ? &r->tables[k] : &r->lost;
}

void ss_result_note(struct ss_result *r, enum ss_severity severity, struct ss_str text)
{
	struct ss_note *v = one_more(r->arena, r->notes, r->nnotes, &r->note_cap, sizeof(*v));
	if (!v || !text.p)
		return;
	r->notes = v;
	v[r->nnotes++] = (struct ss_note){ severity, text };
}

void ss_result_say(struct ss_result *r, struct ss_str text)
{
	struct ss_conclusion *a = &r->conclusion;
	if (!text.p || !text.n)
		return;
	if (!a->text.n)
		a->text = text;
	else if (a->nmore < SS_CONCLUSION_MORE)
		a->more[a->nmore++] = text;
}

const struct ss_table *ss_result_find(const struct ss_result *r, const char *name)
{
	static const struct ss_table none;
	for (size_t i = 0; i < r->ntables; i++)
		if (strcmp(r->tables[i].name, name) == 0)
			return &r->tables[i];
	return &none;
}

static size_t cell_size(enum ss_type type)
{
	switch (type) {
	case SS_TYPE_STR:
		return sizeof(struct ss_str);
	case SS_TYPE_F64:
	case SS_TYPE_I64:
		return 8;
	case SS_TYPE_BOOL:
		return 1;
	}
	return 8;
}

void ss_table_reserve(struct ss_table *t, size_t nrows)
{
	if (nrows <= t->cap || t->arena->no_memory)
		return;
	for (size_t c = 0; c < t->ncols; c++) {
		size_t size = cell_size(t->cols[c].type);
		void *grown = ss_arena_zalloc(t->arena, nrows, size);
		if (!grown)
			return;
		/* All members of the union are pointers to the column's array. */
		if (t->nrows)
			memcpy(grown, t->data[c].b, t->nrows * size);
		t->data[c].b = grown;
	}
	t->cap = nrows;
}

void ss_table_row(struct ss_table *t)
{
	if (t->nrows == t->cap)
		ss_table_reserve(t, t->cap ? t->cap * 2 : 16);
	if (t->nrows == t->cap)
		return;
	for (size_t c = 0; c < t->ncols; c++)
		if (t->cols[c].type == SS_TYPE_STR)
			t->data[c].str[t->nrows] = (struct ss_str){ "", 0 };
	t->nrows++;
}

/* Is there a cell to set? */
static bool has_cell(const struct ss_table *t, size_t col, enum ss_type type)
{
	if (!t->nrows) {
		ss_assert(t->arena->no_memory);
		return false;
	}
	ss_assert(col < t->ncols && t->cols[col].type == type);
	return true;
}

void ss_set_str(struct ss_table *t, size_t col, struct ss_str v)
{
	if (!has_cell(t, col, SS_TYPE_STR))
		return;
	if (!v.p)
		v = (struct ss_str){ "", 0 };
	t->data[col].str[t->nrows - 1] = t->texts ? ss_intern_str(t->texts, v) : v;
}

void ss_set_f64(struct ss_table *t, size_t col, double v)
{
	if (!has_cell(t, col, SS_TYPE_F64))
		return;
	t->data[col].f64[t->nrows - 1] = v;
}

void ss_set_i64(struct ss_table *t, size_t col, int64_t v)
{
	if (!has_cell(t, col, SS_TYPE_I64))
		return;
	t->data[col].i64[t->nrows - 1] = v;
}

void ss_set_bool(struct ss_table *t, size_t col, bool v)
{
	if (!has_cell(t, col, SS_TYPE_BOOL))
		return;
	t->data[col].b[t->nrows - 1] = v;
}

size_t ss_table_col(const struct ss_table *t, const char *id)
{
	for (size_t c = 0; c < t->ncols; c++)
		if (strcmp(t->cols[c].id, id) == 0)
			return c;
	return SS_NPOS;
}

/* The array of a column, NULL if there is none of this type or it is not that long. */
static const union ss_column *cells(const struct ss_table *t, const char *id, size_t row, enum ss_type type)
{
	size_t c = ss_table_col(t, id);
	return c != SS_NPOS && t->cols[c].type == type && row < t->nrows ? &t->data[c] : NULL;
}

struct ss_str ss_cell_str(const struct ss_table *t, size_t row, const char *col)
{
	const union ss_column *c = cells(t, col, row, SS_TYPE_STR);
	return c ? c->str[row] : (struct ss_str){ "", 0 };
}

double ss_cell_f64(const struct ss_table *t, size_t row, const char *col)
{
	const union ss_column *c = cells(t, col, row, SS_TYPE_F64);
	return c ? c->f64[row] : (double)ss_cell_i64(t, row, col);
}

int64_t ss_cell_i64(const struct ss_table *t, size_t row, const char *col)
{
	const union ss_column *c = cells(t, col, row, SS_TYPE_I64);
	return c ? c->i64[row] : 0;
}

bool ss_cell_bool(const struct ss_table *t, size_t row, const char *col)
{
	const union ss_column *c = cells(t, col, row, SS_TYPE_BOOL);
	return c && c->b[row];
}

static void add_prop(struct ss_table *t, struct ss_prop prop)
{
	struct ss_prop *v = one_more(t->arena, t->props, t->nprops, &t->prop_cap, sizeof(*v));
	/* Grown is grown, whether or not there is a text to put there. */
	t->props = v ? v : t->props;
	if (v && prop.text.p)
		v[t->nprops++] = prop;
}

void ss_table_prop(struct ss_table *t, const char *id, struct ss_str text)
{
	add_prop(t, (struct ss_prop){ .id = id, .value = NAN, .text = text });
}

void ss_table_prop_num(struct ss_table *t, const char *id, const char *label, enum ss_unit unit, double value,
		       const char *fmt)
{
	char buf[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(buf, sizeof(buf), fmt, value);
#pragma GCC diagnostic pop
	if (n < 0 || (size_t)n >= sizeof(buf))
		n = 0;
	struct ss_str text = ss_arena_str(t->arena, (struct ss_str){ buf, (size_t)n });
	add_prop(t, (struct ss_prop){ id, label, unit, value, text });
}

const struct ss_prop *ss_table_find_prop(const struct ss_table *t, const char *id)
{
	for (size_t i = 0; i < t->nprops; i++)
		if (strcmp(t->props[i].id, id) == 0)
			return &t->props[i];
	return NULL;
}

const struct ss_prop *ss_result_find_prop(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = NULL;
	for (size_t i = 0; !p && i < r->ntables; i++)
		p = ss_table_find_prop(&r->tables[i], id);
	return p;
}

double ss_result_number(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	double v;
	if (!p)
		return NAN;
	if (!isnan(p->value))
		return p->value;
	return ss_str_to_f64(p->text, &v) ? v : NAN;
}
