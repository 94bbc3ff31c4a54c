/* event_order.c - see event_order.h. Lines that are sorted already are not sorted again. */
#include "model/host/event_order.h"

#include <stdlib.h>

uint32_t *ss_events_outer_first(const struct ss_xevents *e, size_t *n)
{
	uint32_t *v = malloc(((size_t)e->n + 1) * sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < e->n; i++)
		if (e->dur_ps[i])
			v[(*n)++] = i;
	if (!v || e->sorted || ss_xevents_order(e, v, *n))
		return v;
	free(v);
	return NULL;
}
