/* step_marker.c - the order of markers. */
#include "model/ops/step_marker.h"

#include <stdlib.h>

static int by_group_then_longest(const void *a, const void *b)
{
	const struct ss_step_marker *ma = a, *mb = b;
	if (ma->group != mb->group)
		return ma->group < mb->group ? -1 : 1;
	if (ma->dur_ps != mb->dur_ps)
		return ma->dur_ps > mb->dur_ps ? -1 : 1;
	return ma->begin_ps < mb->begin_ps ? -1 : ma->begin_ps > mb->begin_ps;
}

void ss_step_markers_sort(struct ss_step_marker *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_group_then_longest);
}
