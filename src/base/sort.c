/* sort.c - see sort.h: numbers by a function of the caller's. */
#include "base/sort.h"

#include <stdlib.h>

void ss_sort(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	const char *p = v;
	size_t i = 1;
	while (i < n && cmp(p + (i - 1) * size, p + i * size) <= 0)
		i++;
	if (i < n)
		qsort(v, n, size, cmp);
}

struct criterion {
	ss_less_fn *fn;
	const void *ctx;
};

static inline bool less(const struct criterion *c, uint32_t a, uint32_t b)
{
	return c->fn(c->ctx, a, b);
}

#define SORT_ITEM uint32_t
#define SORT_LESS(ctx, a, b) less((ctx), *(a), *(b))
#include "base/introsort_of.h"

void ss_sort_gnu(uint32_t *v, size_t n, ss_less_fn *fn, const void *ctx)
{
	const struct criterion c = { fn, ctx };
	sort_items(v, n, &c);
}

void ss_sort_numbers(uint32_t *v, size_t n, ss_less_fn *fn, const void *ctx)
{
	size_t i = 1;
	while (i < n && !fn(ctx, v[i], v[i - 1]))
		i++;
	if (i < n)
		ss_sort_gnu(v, n, fn, ctx);
}
