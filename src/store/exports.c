/* exports.c - see exports.h. */
#include "store/exports.h"

#include "base/order.h"
#include "import/nsys_when.h"

#include <stdlib.h>

struct told {
	struct ss_nsys_when when;
	size_t at;	/* in the list of the caller */
	uint32_t group; /* the first of those that belong together */
};

static int latest_first(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	return SS_CMP(y->when.begin_ns, x->when.begin_ns) ?: SS_CMP(x->at, y->at);
}

/* What belongs to one of a group belongs to all of it. */
static void join(struct told *v, uint32_t n, uint32_t i, uint32_t k)
{
	uint32_t from = v[i].group, to = v[k].group;
	for (uint32_t j = 0; j < n; j++)
		if (v[j].group == from)
			v[j].group = to;
}

static void group(struct told *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		v[i].group = i;
		for (uint32_t k = 0; k < i; k++)
			if (v[k].group != v[i].group && ss_nsys_together(&v[i].when, &v[k].when))
				join(v, n, i, k);
	}
}

bool ss_exports_part(struct ss_export *v, size_t n, const char *top, uint32_t *nruns)
{
	*nruns = n > 0;
	if (n < 2 || n > SS_MOST_EXPORTS)
		return true;
	struct told *all = calloc(n, sizeof(*all));
	uint32_t *numbers = calloc(n, sizeof(*numbers));
	bool ok = all && numbers;
	for (size_t i = 0; ok && i < n; i++)
		all[i] = (struct told){ .when = ss_nsys_when(top, v[i].path), .at = i };
	if (ok) {
		qsort(all, n, sizeof(*all), latest_first);
		group(all, (uint32_t)n);
		*nruns = 0;
		for (size_t i = 0; i < n; i++) {
			/* Numbers count from 1 here; 0: the group is new. */
			uint32_t *number = &numbers[all[i].group];
			*number = *number ? *number : ++*nruns;
			v[all[i].at].run = *number - 1;
		}
	}
	free(all);
	free(numbers);
	return ok;
}
