/*
 * vec.h - growing arrays of one type.
 *
 *	SS_VEC(struct step) steps = { 0 };
 *	if (!ss_vec_push(&steps, s))
 *		return ss_fail_mem(err);
 *	for (size_t i = 0; i < steps.n; i++) ... steps.v[i] ...
 *	ss_vec_free(&steps);
 */
#ifndef SS_BASE_VEC_H
#define SS_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#define SS_VEC(T)       \
	struct {        \
		T *v;   \
		size_t n, cap; \
	}

/* Elements that there is room for from the first on. */
#define SS_VEC_FIRST 8

/* Make room for `need` elements of `size` bytes in *v; on failure nothing changes. */
bool ss_grow(void **v, size_t *cap, size_t need, size_t size);

#define ss_vec_reserve(vec, need) \
	((need) <= (vec)->cap || ss_grow((void **)&(vec)->v, &(vec)->cap, (need), sizeof(*(vec)->v)))
/* Append one value; false when memory is out. */
#define ss_vec_push(vec, ...) \
	(ss_vec_reserve((vec), (vec)->n + 1) ? ((vec)->v[(vec)->n++] = (__VA_ARGS__), true) : false)
#define ss_vec_free(vec) \
	(free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0, (void)0)

#endif
