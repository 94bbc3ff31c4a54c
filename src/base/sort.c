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

/* ---- runs ---- */

static size_t end_of_run(const uint32_t *v, size_t from, size_t n, const struct criterion *c)
{
	size_t i = from < n ? from + 1 : n;
	while (i < n && !less(c, v[i], v[i - 1]))
		i++;
	return i;
}

/* Each run with the next; how many runs are left. */
static size_t merge_pairs(const uint32_t *v, uint32_t *to, size_t n, const struct criterion *c)
{
	size_t runs = 0, at = 0;
	for (size_t i = 0; i < n; runs++) {
		size_t middle = end_of_run(v, i, n, c), end = end_of_run(v, middle, n, c), k = middle;
		while (i < middle && k < end)
			to[at++] = less(c, v[k], v[i]) ? v[k++] : v[i++];
		while (i < middle)
			to[at++] = v[i++];
		while (k < end)
			to[at++] = v[k++];
		i = end;
	}
	return runs;
}

bool ss_sort_runs(uint32_t *v, size_t n, ss_less_fn *fn, const void *ctx)
{
	const struct criterion c = { fn, ctx };
	if (end_of_run(v, 0, n, &c) == n)
		return true;
	uint32_t *other = malloc(n * sizeof(*other)), *from = v, *to = other;
	if (!other)
		return false;
	/* A criterion that contradicts itself leaves runs for ever: each pass halves them otherwise. */
	for (size_t runs = n, most = n; runs > 1 && most; most /= 2) {
		runs = merge_pairs(from, to, n, &c);
		uint32_t *t = from;
		from = to;
		to = t;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(other);
	return true;
}
