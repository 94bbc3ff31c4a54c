/* sort.c - putting the rows of a table into another order; see legacy/combine.h. */
#include "legacy/combine.h"

#include "base/map.h"

#include <stdlib.h>

enum { MAX_KEYS = 4 };

struct sorting {
	const struct ss_table *t;
	size_t cols[MAX_KEYS];
	bool down[MAX_KEYS];
	size_t n;
};

static int cmp_cell(const struct ss_table *t, size_t col, uint32_t a, uint32_t b)
{
	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		return ss_str_cmp(t->data[col].str[a], t->data[col].str[b]);
	case SS_TYPE_F64:
		return SS_CMP(t->data[col].f64[a], t->data[col].f64[b]);
	case SS_TYPE_I64:
		return SS_CMP(t->data[col].i64[a], t->data[col].i64[b]);
	case SS_TYPE_BOOL:
		return t->data[col].b[a] - t->data[col].b[b];
	}
	return 0;
}

static bool after(const struct sorting *s, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < s->n; i++) {
		int order = cmp_cell(s->t, s->cols[i], a, b);
		if (order)
			return s->down[i] ? order < 0 : order > 0;
	}
	return false;
}

static void merge_sort(const struct sorting *s, uint32_t *v, uint32_t *tmp, size_t n)
{
	if (n < 2)
		return;
	size_t half = n / 2, i = 0, j = half, k = 0;
	merge_sort(s, v, tmp, half);
	merge_sort(s, v + half, tmp, n - half);
	while (i < half && j < n)
		tmp[k++] = after(s, v[i], v[j]) ? v[j++] : v[i++];
	while (i < half)
		tmp[k++] = v[i++];
	memcpy(v, tmp, k * sizeof(*v));
}

/* `order[i]` is the row that becomes row i. */
static bool reorder(struct ss_table *t, const uint32_t *order)
{
	union ss_column *data = SS_NEW_N(t->arena, union ss_column, t->ncols + 1);
	struct ss_table sorted = *t;
	if (!data)
		return false;
	sorted.data = data;
	sorted.nrows = sorted.cap = 0;
	ss_table_reserve(&sorted, t->nrows);
	for (size_t col = 0; col < t->ncols; col++)
		for (size_t i = 0; i < t->nrows; i++)
			switch (t->cols[col].type) {
			case SS_TYPE_STR:
				data[col].str[i] = t->data[col].str[order[i]];
				break;
			case SS_TYPE_F64:
				data[col].f64[i] = t->data[col].f64[order[i]];
				break;
			case SS_TYPE_I64:
				data[col].i64[i] = t->data[col].i64[order[i]];
				break;
			case SS_TYPE_BOOL:
				data[col].b[i] = t->data[col].b[order[i]];
				break;
			}
	sorted.nrows = t->nrows;
	*t = sorted;
	return true;
}

bool ss_legacy_sort(struct ss_table *t, const char *const *by)
{
	struct sorting s = { .t = t };
	for (; *by && s.n < MAX_KEYS; by++) {
		bool down = **by == '-';
		size_t col = ss_table_col(t, *by + down);
		if (col == SS_NPOS)
			continue;
		s.cols[s.n] = col;
		s.down[s.n++] = down;
	}
	if (t->nrows < 2 || t->nrows >= SS_NONE)
		return true;
	uint32_t *order = malloc(2 * t->nrows * sizeof(*order));
	for (uint32_t i = 0; order && i < t->nrows; i++)
		order[i] = i;
	if (order)
		merge_sort(&s, order, order + t->nrows, t->nrows);
	bool ok = order && reorder(t, order);
	free(order);
	return ok;
}
