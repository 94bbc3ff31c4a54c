/* introsort.c - see introsort.h. */
#include "model/host/introsort.h"

#include <stdbool.h>

static inline bool less(const struct ss_moment *a, const struct ss_moment *b)
{
	return a->begin_ps != b->begin_ps ? a->begin_ps < b->begin_ps : a->dur_ps < b->dur_ps;
}

#define SORT_ITEM struct ss_moment
#define SORT_LESS(ctx, a, b) ((void)(ctx), less((a), (b)))
#include "base/introsort_of.h"

void ss_introsort(struct ss_moment *v, size_t n)
{
	sort_items(v, n, NULL);
}
