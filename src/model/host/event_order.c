/* event_order.c - see event_order.h. Lines that are sorted already are not sorted again. */
#include "model/host/event_order.h"

#include <stdlib.h>

struct order {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t event;
};

static int outer_first(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps < y->begin_ps ? -1 : 1;
	if (x->dur_ps != y->dur_ps)
		return x->dur_ps > y->dur_ps ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static bool sort(const struct ss_xevents *e, uint32_t *v, size_t n)
{
	struct order *o = malloc((n + 1) * sizeof(*o));
	for (size_t i = 0; o && i < n; i++)
		o[i] = (struct order){ e->begin_ps[v[i]], e->dur_ps[v[i]], v[i] };
	if (o)
		qsort(o, n, sizeof(*o), outer_first);
	for (size_t i = 0; o && i < n; i++)
		v[i] = o[i].event;
	bool ok = o != NULL;
	free(o);
	return ok;
}

uint32_t *ss_events_outer_first(const struct ss_xevents *e, size_t *n)
{
	uint32_t *v = malloc(((size_t)e->n + 1) * sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < e->n; i++)
		if (e->dur_ps[i])
			v[(*n)++] = i;
	if (!v || e->sorted || sort(e, v, *n))
		return v;
	free(v);
	return NULL;
}
