/* event_order.c - see event_order.h. Lines that are sorted already are not sorted again. */
#include "model/host/event_order.h"

#include <stdlib.h>

static int outer_first(const void *a, const void *b)
{
	const struct ss_event_order *x = a, *y = b;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps < y->begin_ps ? -1 : 1;
	if (x->dur_ps != y->dur_ps)
		return x->dur_ps > y->dur_ps ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

struct ss_event_order *ss_events_outer_first(const struct ss_xevents *e, size_t *n)
{
	struct ss_event_order *v = malloc(((size_t)e->n + 1) * sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < e->n; i++)
		if (e->dur_ps[i])
			v[(*n)++] = (struct ss_event_order){ e->begin_ps[i], e->dur_ps[i], i };
	if (v && !e->sorted)
		qsort(v, *n, sizeof(*v), outer_first);
	return v;
}
