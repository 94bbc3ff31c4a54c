/* order.c - rows in another order. */
#include "base/assert.h"
#include "base/natural.h"
#include "table/table.h"

#include <stdlib.h>

struct row {
	int64_t within;
	struct ss_str text;
	size_t at;
};

static int by_nature(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return ss_natural_cmp(x->text, y->text) ?: SS_CMP(x->at, y->at);
}

#define PERMUTE(v)                                                           \
	do {                                                                 \
		__typeof__(*(v)) *old_ = scratch;                            \
		memcpy(old_, (v), n * sizeof(*(v)));                         \
		for (size_t i_ = 0; i_ < n; i_++)                            \
			(v)[i_] = old_[rows[i_].at];                         \
	} while (0)

static void permute(struct ss_table *t, const struct row *rows, size_t n, void *scratch)
{
	for (size_t c = 0; c < t->ncols; c++)
		switch (t->cols[c].type) {
		case SS_TYPE_STR:
			PERMUTE(t->data[c].str);
			break;
		case SS_TYPE_F64:
			PERMUTE(t->data[c].f64);
			break;
		case SS_TYPE_I64:
			PERMUTE(t->data[c].i64);
			break;
		case SS_TYPE_BOOL:
			PERMUTE(t->data[c].b);
			break;
		}
}

void ss_table_sort_naturally(struct ss_table *t, const char *text, const char *within)
{
	size_t by = ss_table_col(t, text), of = within ? ss_table_col(t, within) : SS_NPOS, n = t->nrows;
	if (n < 2)
		return;
	ss_assert(by != SS_NPOS && t->cols[by].type == SS_TYPE_STR);
	ss_assert(of == SS_NPOS || t->cols[of].type == SS_TYPE_I64);
	struct row *rows = SS_NEW_N(t->arena, struct row, n);
	void *scratch = SS_NEW_N(t->arena, struct ss_str, n);
	if (!rows || !scratch)
		return;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){ of != SS_NPOS ? t->data[of].i64[i] : 0, t->data[by].str[i], i };
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && rows[to].within == rows[from].within;)
			to++;
		qsort(rows + from, to - from, sizeof(*rows), by_nature);
	}
	permute(t, rows, n, scratch);
}
