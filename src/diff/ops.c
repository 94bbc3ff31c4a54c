/* ops.c - see result.h: rows of operations, in order and by name. */
#include "diff/result.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return SS_CMP(y[0], x[0]) ?: SS_CMP(x[1], y[1]);
}

uint32_t *ss_diff_ops_in_order(const struct ss_diff *d)
{
	size_t n = d->match.rows;
	double(*v)[2] = malloc((n + 1) * sizeof(*v));
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (!v || !order) {
		free(v);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		v[i][0] = fabs(d->ops[i].r.c.delta);
		v[i][1] = (double)i;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_size);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)v[i][1];
	free(v);
	return order;
}

struct ss_str ss_diff_names(struct ss_arena *a, const struct ss_diff_side *s, uint32_t first, const uint32_t *next)
{
	struct ss_str all = SS_STR("");
	size_t n = 0;
	for (uint32_t i = first; i != SS_NONE && all.p; i = next[i], n++) {
		struct ss_str name = s->ops.v[i].op->name;
		if (n == SS_DIFF_JOINED)
			return ss_arena_printf(a, SS_FMT " + ...", SS_ARG(all));
		all = n ? ss_arena_printf(a, SS_FMT " + " SS_FMT, SS_ARG(all), SS_ARG(name)) : name;
	}
	return all.p ? all : SS_STR("");
}
