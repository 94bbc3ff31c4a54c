/*
 * sort.h - sorting of arrays that are mostly in order; and sorting of numbers with the caller's
 * comparison, with equal numbers in the order that the GNU C++ library gives them.
 *
 * Where XProf sorts by a key with many equal values (sizes of buffers), the order of equal ones is
 * visible in its answers. It is neither stable nor random: it follows from the algorithm, an
 * introsort (Musser 1997) with these choices: pivot is the median of the second, the middle and the
 * last element; partition as Hoare did; pieces of up to 16 are left to one insertion sort at the
 * end; a heap sort takes over at depth 2 log2 n. Use qsort if no client compares the order.
 */
#ifndef SS_BASE_SORT_H
#define SS_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Like qsort, but does nothing if the array is sorted already. `v` may be NULL when n is 0. */
void ss_sort(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *));

/* Must `a` stand before `b`? A strict weak order, or the result is any permutation. */
typedef bool ss_less_fn(const void *ctx, uint32_t a, uint32_t b);

/* Allocates nothing; O(n log n). */
void ss_sort_gnu(uint32_t *v, size_t n, ss_less_fn *less, const void *ctx);
/* The same, unless the array is sorted already. */
void ss_sort_numbers(uint32_t *v, size_t n, ss_less_fn *less, const void *ctx);
/*
 * A stable merge of the ascending runs that `v` is made of: O(n) for a few of them, O(n log n) at worst. It takes room for n
 * numbers unless there is one run. False: memory is out, and `v` is as it was.
 */
bool ss_sort_runs(uint32_t *v, size_t n, ss_less_fn *less, const void *ctx);

#endif
