/* grid.c - see read.h. */
#include "diff/read.h"

#include <stdlib.h>

/* Neighbours become one column. */
static void halve(struct ss_diff_grid *g)
{
	size_t columns = (g->columns + 1) / 2;
	for (size_t r = 0; r < g->rows; r++)
		for (size_t c = 0; c < columns; c++) {
			const double *from = &g->v[r * g->columns + 2 * c];
			g->v[r * columns + c] = from[0] + (2 * c + 1 < g->columns ? from[1] : 0);
		}
	g->columns = columns;
	g->per_column *= 2;
}

static bool too_many(const struct ss_diff_grid *g, size_t rows)
{
	return g->columns > 16 && (g->columns > SS_DIFF_MOST_COLUMNS || rows > SS_DIFF_MOST_CELLS / g->columns);
}

bool ss_diff_grid_rows(struct ss_diff_grid *g, size_t rows)
{
	if (!g->per_column) {
		g->per_column = 1;
		g->columns = g->steps ? g->steps : 1;
	}
	if (rows <= g->rows)
		return true;
	while (too_many(g, rows))
		halve(g);
	if (rows > g->cap) {
		size_t cap = rows + rows / 2 + 16;
		double *v = realloc(g->v, cap * g->columns * sizeof(*v));
		if (v)
			g->v = v;
		double *total = v ? realloc(g->total, cap * sizeof(*total)) : NULL;
		if (!total)
			return false;
		g->total = total;
		g->cap = cap;
	}
	memset(g->v + g->rows * g->columns, 0, (rows - g->rows) * g->columns * sizeof(*g->v));
	memset(g->total + g->rows, 0, (rows - g->rows) * sizeof(*g->total));
	g->rows = rows;
	return true;
}

struct ss_sample ss_diff_grid_sample(const struct ss_diff_grid *g, size_t row, const uint32_t *weight, double *scratch)
{
	size_t n = 0;
	for (size_t c = 0; c < g->columns; c++) {
		uint64_t sum = 0;
		for (size_t s = c * g->per_column; s < g->steps && s < (c + 1) * g->per_column; s++)
			sum += weight[s];
		if (sum)
			scratch[n++] = g->v[row * g->columns + c] / (double)sum;
	}
	struct ss_sample out = ss_sample_of(scratch, n);
	out.mean = g->total[row]; /* blocks and hosts may differ in their number of steps */
	return out;
}

void ss_diff_grid_free(struct ss_diff_grid *g)
{
	free(g->v);
	free(g->total);
	*g = (struct ss_diff_grid){ 0 };
}
