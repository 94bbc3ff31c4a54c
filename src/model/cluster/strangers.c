/*
 * strangers.c - hosts that run something else than the others: a recording of another job among
 * those of this one, or of another program of it. What they do says nothing of who is late here.
 */
#include "model/cluster/cluster.h"

#include <stdlib.h>

#define STRANGE_FRAC 0.10 /* of a host's collectives that others run without it, or it without them */

struct met {
	uint32_t all, apart;
};

static bool can_tell(const struct ss_cluster_host *h)
{
	return h->state == SS_HOST_OK && h->ndevices && h->first_step != SS_NO_STEP;
}

/* Is the step whole in its recording, and not at an end of it? */
static bool has_step(const struct ss_cluster_host *h, int64_t step)
{
	return can_tell(h) && step > h->first_step && step < h->last_step;
}

/* In a collective from which some are missing, the members of the smaller side are apart. */
static void count_incomplete(const struct ss_cluster *c, const struct ss_collective *k, const uint32_t *mark, uint32_t number,
			     struct met *met)
{
	uint32_t in = 0, of = 0;
	for (size_t h = 0; h < c->hosts.n; h++) {
		bool there = has_step(&c->hosts.v[h], k->step);
		of += there;
		in += there && mark[h] == number;
	}
	bool few = 2 * in <= of;
	for (size_t h = 0; h < c->hosts.n; h++) {
		if (!has_step(&c->hosts.v[h], k->step))
			continue;
		met[h].all++;
		met[h].apart += in < of && (mark[h] == number) == few;
	}
}

/* The number of collectives that all take part in. */
static uint32_t count_all(const struct ss_cluster *c, uint32_t *mark, struct met *met)
{
	uint32_t complete = 0;
	for (size_t i = 0; i < c->collectives.n; i++) {
		const struct ss_collective *k = &c->collectives.v[i];
		/* Of nearly all devices: who is in smaller groups is not known of all. */
		if (k->step == SS_NO_STEP || k->pairs || 4 * (uint64_t)k->expected < 3 * (uint64_t)c->devices.n)
			continue;
		if (k->n == c->devices.n) {
			complete++;
			continue;
		}
		for (uint32_t n = 0; n < k->n; n++)
			mark[c->devices.v[c->members.v[c->order[k->first + n]].device].host] = (uint32_t)i + 1;
		count_incomplete(c, k, mark, (uint32_t)i + 1, met);
	}
	return complete;
}

bool ss_cluster_find_strangers(struct ss_cluster *c)
{
	uint32_t *mark = calloc(c->hosts.n + 1, sizeof(*mark)), tied = 0, all = 0;
	struct met *met = calloc(c->hosts.n + 1, sizeof(*met));
	bool ok = mark && met;
	uint32_t complete = ok ? count_all(c, mark, met) : 0;
	for (size_t h = 0; h < c->hosts.n; h++) {
		all += can_tell(&c->hosts.v[h]);
		tied += can_tell(&c->hosts.v[h]) && c->hosts.v[h].clock.aligned;
	}
	for (size_t h = 0; ok && h < c->hosts.n; h++) {
		struct ss_cluster_host *host = &c->hosts.v[h];
		/*
		 * If most hosts have collectives together, a host that has none with them is not one of
		 * them.
		 */
		bool alone = !host->clock.aligned && 2 * tied > all;
		host->stranger = can_tell(host) && (alone || met[h].apart > STRANGE_FRAC * ((double)met[h].all + complete));
	}
	free(mark);
	free(met);
	return ok;
}
