/*
 * strangers.c - hosts that run something else than the others: a recording of another job among
 * those of this one, or of another program of it. What they do says nothing of who is late here.
 */
#include "model/cluster/cluster.h"

#include "base/buf.h"

#include <math.h>
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

/* ---- recorded at other times ---- */

#define APART_S 600 /* profilers of one job begin within seconds; clocks that are set by hand are minutes off */
#define MOST_NAMED 4

/* The start of those that collectives link; where there are none, of the first of all. */
static int64_t start_of_linked(const struct ss_cluster *c, const int64_t *starts)
{
	int64_t linked = 0, first = 0;
	for (size_t h = 0; h < c->hosts.n; h++) {
		if (starts[h] && (!first || starts[h] < first))
			first = starts[h];
		if (starts[h] && c->hosts.v[h].clock.aligned && (!linked || starts[h] < linked))
			linked = starts[h];
	}
	return linked ? linked : first;
}

/* "host3 (2.5 h later)" */
static void name_apart(struct ss_buf *b, struct ss_str host, double seconds)
{
	double s = fabs(seconds);
	bool days = s >= 48 * 3600, hours = s >= 2 * 3600;
	ss_buf_str(b, host);
	ss_buf_printf(b, " (%.1f %s %s)", s / (days ? 86400 : hours ? 3600 : 60), days ? "days" : hours ? "h" : "min",
		      seconds < 0 ? "earlier" : "later");
}

/* Hosts that nothing links and that were recorded at another time may be of another job. */
static bool note_apart(struct ss_cluster *c, const int64_t *starts)
{
	int64_t with = start_of_linked(c, starts);
	uint32_t n = 0, known = 0;
	struct ss_buf b = { 0 };
	struct ss_err ignored;
	for (size_t h = 0; h < c->hosts.n; h++) {
		double seconds = ((double)starts[h] - (double)with) * 1e-9;
		known += starts[h] != 0;
		if (!starts[h] || c->hosts.v[h].clock.aligned || fabs(seconds) < APART_S || n++ >= MOST_NAMED)
			continue;
		ss_buf_z(&b, n > 1 ? ", " : "");
		name_apart(&b, c->hosts.v[h].name, seconds);
	}
	if (n > MOST_NAMED)
		ss_buf_printf(&b, " and %u more", n - MOST_NAMED);
	bool ok = !n || ss_buf_ok(&b, "a note", &ignored);
	if (ok && n) {
		bool one = n == 1;
		c->apart = ss_arena_printf(&c->arena,
					   "%u of %u %ss %s recorded at another time than the others, and no collective links "
					   "%s to them: " SS_FMT ". %s may be of another job: look at the %ss of each job "
					   "alone.",
					   n, known, ss_cluster_noun(c), one ? "was" : "were", one ? "it" : "them",
					   SS_ARG(ss_buf_get(&b)), one ? "It" : "They", ss_cluster_noun(c));
		ok = c->apart.p && ss_cluster_note(c, true, SS_FMT, SS_ARG(c->apart));
	}
	ss_buf_free(&b);
	return ok;
}

bool ss_cluster_find_apart(struct ss_cluster *c)
{
	int64_t *starts = calloc(c->hosts.n + 1, sizeof(*starts));
	for (uint32_t i = 0; starts && i < c->nparts; i++) {
		uint32_t h = c->parts[i].host;
		int64_t start = c->parts[i].start_unix_ns;
		if (h != SS_NO_HOST && start > 0 && (!starts[h] || start < starts[h]))
			starts[h] = start;
	}
	bool ok = starts && note_apart(c, starts);
	free(starts);
	return ok;
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
		 * If most hosts have collectives together, a host that has none with them is not
		 * one of them.
		 */
		bool alone = !host->clock.aligned && 2 * tied > all;
		host->stranger = can_tell(host) && (alone || met[h].apart > STRANGE_FRAC * ((double)met[h].all + complete));
	}
	free(mark);
	free(met);
	return ok;
}
