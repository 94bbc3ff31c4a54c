/*
 * introsort_of.h - the introsort that sort.h describes, for items of any type. Before including it define
 *	SORT_ITEM		their type
 *	SORT_LESS(ctx, a, b)	must *a stand before *b? of pointers to const; ctx is what the caller gave
 * and use sort_items. A file includes it once, so that its comparison becomes a part of the loops.
 *
 * Unlike the original, every scan is bounded, so an inconsistent comparison cannot leave the array.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SORT_SMALL 16u

static inline void sort_swap(SORT_ITEM *a, SORT_ITEM *b)
{
	SORT_ITEM t = *a;
	*a = *b;
	*b = t;
}

/* Move v[i] down to its place among the sorted ones before it. */
static inline void sort_sink(SORT_ITEM *v, size_t i, const void *ctx)
{
	SORT_ITEM x = v[i];
	while (i > 0 && SORT_LESS(ctx, &x, &v[i - 1])) {
		v[i] = v[i - 1];
		i--;
	}
	v[i] = x;
}

/* An element that belongs in front is moved there at once. */
static void sort_insertion(SORT_ITEM *v, size_t n, const void *ctx)
{
	for (size_t i = 1; i < n; i++) {
		if (!SORT_LESS(ctx, &v[i], &v[0])) {
			sort_sink(v, i, ctx);
			continue;
		}
		SORT_ITEM x = v[i];
		memmove(&v[1], &v[0], i * sizeof(*v));
		v[0] = x;
	}
}

static inline void sort_median_to_first(SORT_ITEM *first, SORT_ITEM *a, SORT_ITEM *b, SORT_ITEM *c, const void *ctx)
{
	SORT_ITEM *median;
	if (SORT_LESS(ctx, a, b))
		median = SORT_LESS(ctx, b, c) ? b : SORT_LESS(ctx, a, c) ? c : a;
	else
		median = SORT_LESS(ctx, a, c) ? a : SORT_LESS(ctx, b, c) ? c : b;
	sort_swap(first, median);
}

/* Around the pivot in v[0]; returns where the second part begins. */
static inline size_t sort_partition(SORT_ITEM *v, size_t n, const void *ctx)
{
	const SORT_ITEM pivot = v[0];
	size_t lo = 1, hi = n;
	for (;;) {
		while (lo < n && SORT_LESS(ctx, &v[lo], &pivot))
			lo++;
		do
			hi--;
		while (hi > 0 && SORT_LESS(ctx, &pivot, &v[hi]));
		if (lo >= hi)
			return lo;
		sort_swap(&v[lo], &v[hi]);
		lo++;
	}
}

/* A hole in a heap is filled from below, then `x` rises from there to its place. */
static void sort_refill(SORT_ITEM *v, size_t hole, size_t n, SORT_ITEM x, const void *ctx)
{
	size_t top = hole, child = hole;
	while (child < (n - 1) / 2) {
		child = 2 * child + 2;
		if (SORT_LESS(ctx, &v[child], &v[child - 1]))
			child--;
		v[hole] = v[child];
		hole = child;
	}
	if (n % 2 == 0 && child == (n - 2) / 2) {
		child = 2 * child + 1;
		v[hole] = v[child];
		hole = child;
	}
	while (hole > top && SORT_LESS(ctx, &v[(hole - 1) / 2], &x)) {
		v[hole] = v[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	v[hole] = x;
}

static void sort_heap(SORT_ITEM *v, size_t n, const void *ctx)
{
	if (n < 2)
		return;
	for (size_t i = (n - 2) / 2 + 1; i-- > 0;)
		sort_refill(v, i, n, v[i], ctx);
	for (; n > 1; n--) {
		SORT_ITEM x = v[n - 1];
		v[n - 1] = v[0];
		sort_refill(v, 0, n - 1, x, ctx);
	}
}

/* Sorts up to pieces of SORT_SMALL; the second part by recursion, whose depth `depth` bounds. */
static void sort_coarsely(SORT_ITEM *v, size_t n, unsigned depth, const void *ctx)
{
	while (n > SORT_SMALL) {
		if (depth-- == 0) {
			sort_heap(v, n, ctx);
			return;
		}
		sort_median_to_first(&v[0], &v[1], &v[n / 2], &v[n - 1], ctx);
		size_t cut = sort_partition(v, n, ctx);
		sort_coarsely(v + cut, n - cut, depth, ctx);
		n = cut;
	}
}

/* Allocates nothing; O(n log n). */
static void sort_items(SORT_ITEM *v, size_t n, const void *ctx)
{
	unsigned depth = 0;
	if (n < 2)
		return;
	for (size_t k = n; k > 1; k /= 2)
		depth += 2;
	sort_coarsely(v, n, depth, ctx);
	sort_insertion(v, n < SORT_SMALL ? n : SORT_SMALL, ctx);
	for (size_t i = SORT_SMALL; i < n; i++)
		sort_sink(v, i, ctx);
}
