/* serving_edges.c - see serving_edges.h. */
#include "model/runtime/serving_edges.h"

#include <stdlib.h>

#define BEGIN 0x100u

bool ss_serve_edges_add(struct ss_serve_edges *e, int64_t begin_ps, int64_t end_ps, uint32_t work)
{
	return ss_vec_push(&e->v, ((struct ss_serve_edge){ begin_ps, BEGIN | work })) &&
	       ss_vec_push(&e->v, ((struct ss_serve_edge){ end_ps, work }));
}

static int by_time(const void *a, const void *b)
{
	const struct ss_serve_edge *x = a, *y = b;
	/* Ends before begins. */
	return SS_CMP(x->at_ps, y->at_ps) ?: SS_CMP(x->code, y->code);
}

void ss_serve_edges_sum(struct ss_serve_edges *e, uint64_t work_ps[SS_SERVE_WORK_COUNT])
{
	int64_t open[SS_SERVE_WORK_COUNT] = { 0 };
	uint32_t current = SS_SERVE_IDLE;
	size_t n = e->v.n;
	const struct ss_serve_edge *v = e->v.v;
	if (n)
		qsort(e->v.v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++) {
		uint32_t work = v[i].code & ~BEGIN;
		if (v[i].code & BEGIN) {
			open[work]++;
			current = work > current ? work : current;
		} else if (--open[work] == 0 && work == current) {
			while (current > SS_SERVE_IDLE && open[--current] <= 0)
				;
		}
		if (i + 1 < n)
			work_ps[current] += (uint64_t)v[i + 1].at_ps - (uint64_t)v[i].at_ps;
	}
	e->v.n = 0;
}
