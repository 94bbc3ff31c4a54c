/*
 * sort.c - the introsort that sort.h describes. Unlike the original every scan is bounded, so that
 * a criterion that contradicts itself cannot lead out of the array.
 */
#include "base/sort.h"

#include <string.h>

#define SMALL 16

struct sorter {
	uint32_t *v;
	ss_less_fn *fn;
	const void *ctx;
};

static bool less(const struct sorter *s, uint32_t a, uint32_t b)
{
	return s->fn(s->ctx, a, b);
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;
	*a = *b;
	*b = t;
}

/* Move v[i] down to its place among the sorted ones before it, not below `floor`. */
static void sink(const struct sorter *s, size_t i, size_t floor)
{
	uint32_t x = s->v[i];
	while (i > floor && less(s, x, s->v[i - 1])) {
		s->v[i] = s->v[i - 1];
		i--;
	}
	s->v[i] = x;
}

static void insertion_sort(const struct sorter *s, size_t first, size_t last)
{
	for (size_t i = first + 1; i < last; i++) {
		if (!less(s, s->v[i], s->v[first])) {
			sink(s, i, first);
			continue;
		}
		uint32_t x = s->v[i];
		memmove(&s->v[first + 1], &s->v[first], (i - first) * sizeof(*s->v));
		s->v[first] = x;
	}
}

static void median_to_first(const struct sorter *s, size_t first, size_t a, size_t b, size_t c)
{
	uint32_t *v = s->v;
	size_t median;
	if (less(s, v[a], v[b]))
		median = less(s, v[b], v[c]) ? b : less(s, v[a], v[c]) ? c : a;
	else
		median = less(s, v[a], v[c]) ? a : less(s, v[b], v[c]) ? c : b;
	swap(&v[first], &v[median]);
}

/* Around the pivot in v[first]; returns where the second part begins. */
static size_t partition(const struct sorter *s, size_t first, size_t last)
{
	uint32_t pivot = s->v[first];
	size_t lo = first + 1, hi = last;
	for (;;) {
		while (lo < last && less(s, s->v[lo], pivot))
			lo++;
		do
			hi--;
		while (hi > first && less(s, pivot, s->v[hi]));
		if (lo >= hi)
			return lo;
		swap(&s->v[lo], &s->v[hi]);
		lo++;
	}
}

/* A hole at `hole` of the heap v[first .. first + n) is filled from below, then `x` rises from there to its place. */
static void refill(const struct sorter *s, size_t first, size_t hole, size_t n, uint32_t x)
{
	uint32_t *v = s->v + first;
	size_t top = hole, child = hole;
	while (child < (n - 1) / 2) {
		child = 2 * child + 2;
		if (less(s, v[child], v[child - 1]))
			child--;
		v[hole] = v[child];
		hole = child;
	}
	if (n % 2 == 0 && child == (n - 2) / 2) {
		child = 2 * child + 1;
		v[hole] = v[child];
		hole = child;
	}
	while (hole > top && less(s, v[(hole - 1) / 2], x)) {
		v[hole] = v[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	v[hole] = x;
}

static void heap_sort(const struct sorter *s, size_t first, size_t last)
{
	size_t n = last - first;
	if (n < 2)
		return;
	for (size_t i = (n - 2) / 2 + 1; i-- > 0;)
		refill(s, first, i, n, s->v[first + i]);
	for (; n > 1; n--) {
		uint32_t x = s->v[first + n - 1];
		s->v[first + n - 1] = s->v[first];
		refill(s, first, 0, n - 1, x);
	}
}

/* Sorts up to pieces of SMALL; the second part by recursion, whose depth `depth` bounds. */
static void intro(const struct sorter *s, size_t first, size_t last, unsigned depth)
{
	while (last - first > SMALL) {
		if (depth-- == 0) {
			heap_sort(s, first, last);
			return;
		}
		median_to_first(s, first, first + 1, first + (last - first) / 2, last - 1);
		size_t cut = partition(s, first, last);
		intro(s, cut, last, depth);
		last = cut;
	}
}

void ss_sort_gnu(uint32_t *v, size_t n, ss_less_fn *fn, const void *ctx)
{
	struct sorter s = { v, fn, ctx };
	unsigned depth = 0;
	if (n < 2)
		return;
	for (size_t k = n; k > 1; k /= 2)
		depth += 2;
	intro(&s, 0, n, depth);
	insertion_sort(&s, 0, n < SMALL ? n : SMALL);
	for (size_t i = SMALL; i < n; i++)
		sink(&s, i, 0);
}
