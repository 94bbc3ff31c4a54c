/* memory_order.c - see memory_order.h. */
#include "model/torch/memory_order.h"

#include <stdlib.h>

static int by_device(const void *a, const void *b)
{
	const struct ss_torch_memory_at *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->time_ns, y->time_ns) ?: SS_CMP(x->event, y->event);
}

struct ss_torch_memory_at *ss_torch_memory_order(const struct ss_torch *t)
{
	struct ss_torch_memory_at *v = malloc((t->memory.n + 1) * sizeof(*v));
	for (size_t i = 0; v && i < t->memory.n; i++)
		v[i] = (struct ss_torch_memory_at){ t->memory.v[i].time_ns, t->memory.v[i].device, (uint32_t)i };
	if (v && t->memory.n)
		qsort(v, t->memory.n, sizeof(*v), by_device);
	return v;
}
