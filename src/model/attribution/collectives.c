/* collectives.c - see collectives.h. */
#include "model/attribution/collectives.h"

#include "model/attribution/thresholds.h"

#include <stdlib.h>
#include <string.h>

/* Who is where in its list, by the next key. */
struct head {
	const struct ss_collectives *c;
	size_t at;
};

static uint64_t next_key(const struct head *heads, size_t n)
{
	uint64_t min = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if (heads[i].at < heads[i].c->n && heads[i].c->v[heads[i].at].key < min)
			min = heads[i].c->v[heads[i].at].key;
	return min;
}

/* The participants whose next meeting is this one. */
static void meet(struct head *heads, size_t n, uint64_t key, struct ss_wait *waits)
{
	uint64_t min_ps = UINT64_MAX, most_ps = 0, all_ps = 0;
	size_t who = 0, last = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct head *h = &heads[i];
		if (h->at == h->c->n || h->c->v[h->at].key != key)
			continue;
		uint64_t dur_ps = h->c->v[h->at].dur_ps;
		who++;
		if (dur_ps < min_ps) {
			min_ps = dur_ps;
			last = i;
		}
		most_ps = dur_ps > most_ps ? dur_ps : most_ps;
	}
	for (size_t i = 0; i < n; i++) {
		struct head *h = &heads[i];
		if (h->at == h->c->n || h->c->v[h->at].key != key)
			continue;
		uint64_t wait_ps = h->c->v[h->at++].dur_ps - min_ps;
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
	struct head *heads = calloc(n + 1, sizeof(*heads));
	if (!heads)
		return false;
	memset(waits, 0, n * sizeof(*waits));
	for (size_t i = 0; i < n; i++)
		heads[i] = (struct head){ who[i], 0 };
	for (uint64_t key; (key = next_key(heads, n)) != UINT64_MAX;)
		meet(heads, n, key, waits);
	free(heads);
	return true;
}
