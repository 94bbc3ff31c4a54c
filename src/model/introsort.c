/* introsort.c - the steps of the GNU C++ library's sort, one by one. */
#include "model/introsort.h"

#include <stdbool.h>

#define RUN 16u

static bool less(const struct ss_moment *a, const struct ss_moment *b)
{
	return a->begin_ps != b->begin_ps ? a->begin_ps < b->begin_ps : a->dur_ps < b->dur_ps;
}

static void swap(struct ss_moment *a, struct ss_moment *b)
{
	struct ss_moment t = *a;
	*a = *b;
	*b = t;
}

/* The median of three goes to the front, where it serves as the pivot. */
static void median_to_front(struct ss_moment *front, struct ss_moment *a, struct ss_moment *b, struct ss_moment *c)
{
	if (less(a, b))
		swap(front, less(b, c) ? b : less(a, c) ? c : a);
	else
		swap(front, less(a, c) ? a : less(b, c) ? c : b);
}

/* Hoare's partition of [lo, hi) by v[pivot], which stands before lo; the median of three keeps both walks inside. */
static size_t partition(struct ss_moment *v, size_t lo, size_t hi, size_t pivot)
{
	for (;;) {
		while (less(&v[lo], &v[pivot]))
			lo++;
		hi--;
		while (less(&v[pivot], &v[hi]))
			hi--;
		if (lo >= hi)
			return lo;
		swap(&v[lo], &v[hi]);
		lo++;
	}
}

/* Sink `value` from a hole to the bottom along the larger children, then let it rise. */
static void settle(struct ss_moment *v, size_t hole, size_t n, struct ss_moment value)
{
	size_t top = hole, child = hole;
	while (child < (n - 1) / 2) {
		child = 2 * child + 2;
		if (less(&v[child], &v[child - 1]))
			child--;
		v[hole] = v[child];
		hole = child;
	}
	if (n % 2 == 0 && child == (n - 2) / 2) {
		child = 2 * child + 1;
		v[hole] = v[child];
		hole = child;
	}
	while (hole > top && less(&v[(hole - 1) / 2], &value)) {
		v[hole] = v[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	v[hole] = value;
}

static void heapsort(struct ss_moment *v, size_t n)
{
	for (size_t i = (n - 2) / 2 + 1; i-- > 0;)
		settle(v, i, n, v[i]);
	while (n > 1) {
		struct ss_moment last = v[--n];
		v[n] = v[0];
		settle(v, 0, n, last);
	}
}

/* The right part is set aside, the left one goes on, each with what is left of the depth: 2 log n parts at most wait at a time. */
static void quicksort(struct ss_moment *v, size_t n)
{
	struct part {
		size_t lo, hi;
		unsigned depth;
	} waiting[2 * sizeof(size_t) * 8 + 2];
	unsigned nwaiting = 0, depth = 0;
	for (size_t k = n; k > 1; k >>= 1)
		depth += 2;
	waiting[nwaiting++] = (struct part){ 0, n, depth };
	while (nwaiting) {
		struct part p = waiting[--nwaiting];
		while (p.hi - p.lo > RUN) {
			if (p.depth-- == 0) {
				heapsort(v + p.lo, p.hi - p.lo);
				break;
			}
			median_to_front(&v[p.lo], &v[p.lo + 1], &v[p.lo + (p.hi - p.lo) / 2], &v[p.hi - 1]);
			size_t cut = partition(v, p.lo + 1, p.hi, p.lo);
			waiting[nwaiting++] = (struct part){ cut, p.hi, p.depth };
			p.hi = cut;
		}
	}
}

/* Nothing moves by more than a run. */
static void insertion(struct ss_moment *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct ss_moment moved = v[i];
		size_t at = i;
		for (; at > 0 && less(&moved, &v[at - 1]); at--)
			v[at] = v[at - 1];
		v[at] = moved;
	}
}

void ss_introsort(struct ss_moment *v, size_t n)
{
	if (n < 2)
		return;
	quicksort(v, n);
	insertion(v, n);
}
