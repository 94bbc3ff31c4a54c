/* divide.c - sums by group. */
#include "table/divide.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

double ss_table_number(const struct ss_table *t, size_t row, size_t col)
{
	return t->cols[col].type == SS_TYPE_I64 ? (double)t->data[col].i64[row] : t->data[col].f64[row];
}

/* The cell as a text; p is NULL when memory is out. */
static struct ss_str cell_text(const struct ss_table *t, size_t row, size_t col, struct ss_arena *arena)
{
	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		return t->data[col].str[row].p ? t->data[col].str[row] : SS_STR("");
	case SS_TYPE_BOOL:
		return t->data[col].b[row] ? SS_STR("yes") : SS_STR("no");
	case SS_TYPE_I64:
		return ss_arena_printf(arena, "%lld", (long long)t->data[col].i64[row]);
	case SS_TYPE_F64:
		return ss_arena_printf(arena, "%.9g", t->data[col].f64[row]);
	}
	return SS_STR("");
}

static int by_sum(const void *a, const void *b)
{
	const struct ss_share *x = a, *y = b;
	return SS_CMP(y->sum, x->sum) ?: ss_str_cmp(x->name, y->name);
}

static bool sum_up(const struct ss_table *t, const struct ss_divide *how, struct ss_arena *arena, struct ss_strmap *names,
		   struct ss_division *out)
{
	for (size_t row = 0; row < t->nrows; row++) {
		double v = ss_table_number(t, row, how->value);
		struct ss_str is = how->where == SS_NPOS ? how->is : cell_text(t, row, how->where, arena);
		struct ss_str name = cell_text(t, row, how->by, arena);
		if (!(v > 0) || !isfinite(v) || !ss_str_eq(is, how->is))
			continue;
		uint32_t had = names->n, group = ss_strmap_add(names, name);
		if (group == SS_NONE)
			return false;
		if (names->n > had)
			out->top[group] = (struct ss_share){ name, 0, 0 };
		out->top[group].sum += v;
		out->total += v;
	}
	return true;
}

bool ss_table_divide(const struct ss_table *t, const struct ss_divide *how, struct ss_arena *arena, struct ss_division *out)
{
	struct ss_strmap names = { 0 };
	struct ss_divide h = *how;
	*out = (struct ss_division){ .top = SS_NEW_N(arena, struct ss_share, t->nrows + 1) };
	if (h.where == SS_NPOS)
		h.is = SS_STR("");
	bool ok = out->top && sum_up(t, &h, arena, &names, out);
	out->ngroups = names.n;
	ss_strmap_free(&names);
	if (!ok)
		return false;
	if (out->ngroups)
		qsort(out->top, out->ngroups, sizeof(*out->top), by_sum);
	out->n = out->ngroups < how->max ? out->ngroups : how->max;
	for (size_t i = 0; i < out->ngroups; i++) {
		out->top[i].frac = out->top[i].sum / out->total;
		if (i >= out->n)
			out->rest += out->top[i].sum;
	}
	out->rest_frac = out->total > 0 ? out->rest / out->total : 0;
	return true;
}

size_t ss_table_greatest(const struct ss_table *t, size_t value, size_t name)
{
	size_t best = SS_NPOS;
	double max = 0;
	for (size_t row = 0; row < t->nrows; row++) {
		double v = ss_table_number(t, row, value);
		bool idle = t->cols[name].type == SS_TYPE_STR && ss_str_ieq(t->data[name].str[row], SS_STR("IDLE"));
		if (!(v > max) || !isfinite(v) || idle)
			continue;
		max = v;
		best = row;
	}
	return best;
}
