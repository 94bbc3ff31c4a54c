/* order.c - rows in another order. */
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
	int order = x->at == y->at ? 0 : ss_natural_cmp(x->text, y->text);
	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static size_t column_of(const struct ss_table *t, const char *id, enum ss_type type)
{
	size_t i = 0;
	while (i < t->ncols && (t->cols[i].type != type || !ss_str_is(ss_str_from(t->cols[i].id), id)))
		i++;
	return i;
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
	size_t by = column_of(t, text, SS_TYPE_STR), of = within ? column_of(t, within, SS_TYPE_I64) : t->ncols, n = t->nrows;
	if (n < 2 || by == t->ncols)
		return;
	struct row *rows = SS_NEW_N(t->arena, struct row, n);
	void *scratch = SS_NEW_N(t->arena, struct ss_str, n);
	if (!rows || !scratch)
		return;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){ of < t->ncols ? t->data[of].i64[i] : 0, t->data[by].str[i], i };
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && rows[to].within == rows[from].within;)
			to++;
		qsort(rows + from, to - from, sizeof(*rows), by_nature);
	}
	permute(t, rows, n, scratch);
}
