/*
 * order.h - comparison functions, for qsort and others: negative, 0 or positive.
 *
 *	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->dur_ps, x->dur_ps) ?: ss_str_cmp(x->name, y->name);
 *
 * orders by begin, then by duration from the longest to the shortest, then by name. `a ?: b` is b where a is 0.
 */
#ifndef SS_BASE_ORDER_H
#define SS_BASE_ORDER_H

/* Numbers or pointers; each is evaluated twice. Not a number is equal to every number. */
#define SS_CMP(a, b) (((a) > (b)) - ((a) < (b)))

/* The elements are numbers, or struct ss_str. */
int ss_cmp_i64(const void *a, const void *b);
int ss_cmp_u64(const void *a, const void *b);
int ss_cmp_double(const void *a, const void *b);
int ss_cmp_str(const void *a, const void *b);

#endif
