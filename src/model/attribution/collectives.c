/* collectives.c - see collectives.h. */
#include "model/attribution/collectives.h"

#include "base/map.h"
#include "base/vec.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>
#include <string.h>

/* The position of each unit in its list, by the next key. */
struct head {
	struct ss_meeting *v; /* by key ascending, which says how many of the operation were before it in the step, too */
	size_t n, at;
};

#define SORT_ITEM struct ss_meeting
#define SORT_LESS(ctx, a, b) ((void)(ctx), (a)->key < (b)->key)
#include "base/introsort_of.h"

static bool number(struct head *h, const struct ss_collectives *c)
{
	struct ss_u64map nth = { 0 };
	bool ok = (h->v = malloc((c->n + 1) * sizeof(*h->v))) != NULL;
	for (size_t i = 0; ok && i < c->n; i++) {
		uint32_t k = ss_u64map_get(&nth, c->v[i].key);
		k = k == SS_NONE ? 0 : k;
		ok = ss_u64map_put(&nth, c->v[i].key, k + 1);
		h->v[i] = (struct ss_meeting){ ss_mix(c->v[i].key, k + 1), c->v[i].dur_ps };
	}
	h->n = c->n;
	ss_u64map_free(&nth);
	if (ok)
		sort_items(h->v, h->n, NULL);
	return ok;
}

static uint64_t next_key(const struct head *heads, size_t n)
{
	uint64_t min = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if (heads[i].at < heads[i].n && heads[i].v[heads[i].at].key < min)
			min = heads[i].v[heads[i].at].key;
	return min;
}

/* The participants whose next meeting is this one. */
static void meet(struct head *heads, size_t n, uint64_t key, struct ss_wait *waits)
{
	uint64_t min_ps = UINT64_MAX, most_ps = 0, all_ps = 0;
	size_t who = 0, last = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct head *h = &heads[i];
		if (h->at == h->n || h->v[h->at].key != key)
			continue;
		uint64_t dur_ps = h->v[h->at].dur_ps;
		who++;
		if (dur_ps < min_ps) {
			min_ps = dur_ps;
			last = i;
		}
		most_ps = dur_ps > most_ps ? dur_ps : most_ps;
	}
	for (size_t i = 0; i < n; i++) {
		struct head *h = &heads[i];
		if (h->at == h->n || h->v[h->at].key != key)
			continue;
		uint64_t wait_ps = h->v[h->at++].dur_ps - min_ps;
		if (who < 2)
			continue;
		waits[i].meetings++;
		waits[i].wait_ps += wait_ps;
		all_ps += wait_ps;
	}
	if (who > 1 && (double)(most_ps - min_ps) > SS_LATE_FRAC * (double)most_ps) {
		waits[last].last++;
		waits[last].caused_ps += all_ps;
	}
}

bool ss_collectives_join(const struct ss_collectives *const *who, size_t n, struct ss_wait *waits)
{
	memset(waits, 0, n * sizeof(*waits));
	if (n < 2)
		return true;
	struct head *heads = calloc(n, sizeof(*heads));
	bool ok = heads;
	for (size_t i = 0; ok && i < n; i++)
		ok = number(&heads[i], who[i]);
	for (uint64_t key; ok && (key = next_key(heads, n)) != UINT64_MAX;)
		meet(heads, n, key, waits);
	for (size_t i = 0; heads && i < n; i++)
		free(heads[i].v);
	free(heads);
	return ok;
}
