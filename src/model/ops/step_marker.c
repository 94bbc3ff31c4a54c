/* step_marker.c - the order of markers. */
#include "model/ops/step_marker.h"

#include <stdlib.h>

static int by_group_then_longest(const void *a, const void *b)
{
	const struct ss_step_marker *ma = a, *mb = b;
	return SS_CMP(ma->group, mb->group) ?: SS_CMP(mb->dur_ps, ma->dur_ps) ?: SS_CMP(ma->begin_ps, mb->begin_ps);
}

void ss_step_markers_sort(struct ss_step_marker *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_group_then_longest);
}
