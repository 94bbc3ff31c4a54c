/* folded.c - see folded.h. */
#include "emit/folded.h"

#include <math.h>
#include <stdlib.h>

#define DEPTH_MOST 1024u

/* A unit of which parts add up to the whole, and how many of what is written it has. */
static double scale_of(enum ss_unit unit)
{
	switch (unit) {
	case SS_UNIT_PS:
		return 1e-3;
	case SS_UNIT_US:
		return 1e3;
	case SS_UNIT_MS:
		return 1e6;
	case SS_UNIT_S:
		return 1e9;
	case SS_UNIT_NS:
	case SS_UNIT_BYTES:
		return 1;
	default:
		return 0;
	}
}

static bool is_measure(const struct ss_col *c)
{
	return (c->type == SS_TYPE_F64 || c->type == SS_TYPE_I64) && scale_of(c->unit) > 0;
}

static size_t parents_of(const struct ss_table *t)
{
	size_t c = ss_table_col(t, "parent");
	return c < t->ncols && t->cols[c].type == SS_TYPE_I64 ? c : SS_NPOS;
}

static size_t names_of(const struct ss_table *t)
{
	for (size_t c = 0; c < t->ncols; c++)
		if (t->cols[c].type == SS_TYPE_STR)
			return c;
	return SS_NPOS;
}

const struct ss_col *ss_folded_column(const struct ss_table *t)
{
	if (parents_of(t) == SS_NPOS || names_of(t) == SS_NPOS)
		return NULL;
	for (size_t c = 0; c < t->ncols; c++)
		if (is_measure(&t->cols[c]))
			return &t->cols[c];
	return NULL;
}

bool ss_folded_by(const struct ss_table *t, struct ss_str column)
{
	for (size_t c = 0; ss_folded_column(t) && c < t->ncols; c++)
		if (ss_str_is(column, t->cols[c].id))
			return is_measure(&t->cols[c]);
	return false;
}

struct tree {
	const struct ss_table *t;
	size_t parents, names, column;
};

/* A parent stands before what is inside of it. */
static size_t parent_of(const struct tree *tree, size_t row)
{
	int64_t parent = tree->t->data[tree->parents].i64[row];
	return parent >= 0 && (uint64_t)parent < row ? (size_t)parent : SS_NPOS;
}

static double value_of(const struct tree *tree, size_t row)
{
	const struct ss_col *c = &tree->t->cols[tree->column];
	double v = c->type == SS_TYPE_F64 ? tree->t->data[tree->column].f64[row] : (double)tree->t->data[tree->column].i64[row];
	return isfinite(v) ? v * scale_of(c->unit) : 0;
}

/* A name that goes on behind that of its parent, "Net_0/Linear_1", is its last part. */
static struct ss_str frame_of(const struct tree *tree, size_t row)
{
	const struct ss_str *names = tree->t->data[tree->names].str;
	size_t parent = parent_of(tree, row);
	struct ss_str name = names[row];
	if (parent != SS_NPOS && ss_str_take(&name, names[parent]) && ss_str_take(&name, SS_STR("/")) && name.n)
		return name;
	return names[row].n ? names[row] : SS_STR("(no name)");
}

static void put_frame(struct ss_out *o, struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		ss_out_char(o, s.p[i] == ';' ? ':' : (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
}

static void put_row(struct ss_out *o, const struct tree *tree, size_t row, double self)
{
	size_t path[DEPTH_MOST], n = 0;
	for (size_t at = row; at != SS_NPOS && n < DEPTH_MOST; at = parent_of(tree, at))
		path[n++] = at;
	while (n-- > 0) {
		put_frame(o, frame_of(tree, path[n]));
		ss_out_char(o, n ? ';' : ' ');
	}
	ss_out_u64(o, (uint64_t)self);
	ss_out_char(o, '\n');
}

void ss_emit_folded(struct ss_out *o, const struct ss_table *t, struct ss_str column)
{
	struct tree tree = { t, parents_of(t), names_of(t), SS_NPOS };
	double *self = calloc(t->nrows + 1, sizeof(*self));
	for (size_t c = 0; c < t->ncols; c++)
		if (ss_str_is(column, t->cols[c].id))
			tree.column = c;
	bool own = ss_str_contains(column, SS_STR("self"));
	for (size_t row = 0; self && row < t->nrows; row++) {
		size_t parent = parent_of(&tree, row);
		self[row] += value_of(&tree, row);
		if (!own && parent != SS_NPOS)
			self[parent] -= value_of(&tree, row);
	}
	for (size_t row = 0; self && row < t->nrows; row++)
		if (round(self[row]) >= 1 && round(self[row]) < 1e19)
			put_row(o, &tree, row, round(self[row]));
	o->no_memory = o->no_memory || !self;
	free(self);
}
