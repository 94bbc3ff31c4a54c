/* played.c - see played.h. */
#include "model/cluster/played.h"

#include "base/bisect.h"

#include <math.h>
#include <stdlib.h>

/* A step that all devices with steps have. */
struct common {
	int64_t num, end_ps;
	uint64_t events;
};

struct choosing {
	struct ss_cluster *c;
	struct ss_played *p;
	SS_VEC(struct common) steps;	/* by number */
	struct ss_u64map index;		/* of them, by number */
	uint64_t *of_host;		/* events */
	uint64_t *of_step;		/* of one device, while they are counted */
};

static int by_number(const void *a, const void *b)
{
	const struct common *x = a, *y = b;
	return SS_CMP(x->num, y->num);
}

/* ---- steps ---- */

/*
 * Where step numbers repeat, the most steps of one round (cluster.h) that follow one another: neither a restart nor a step that is
 * left out is a part of a step.
 */
static void choose_stretch(struct choosing *h)
{
	struct common *v = h->steps.v;
	size_t best = 0, n = 0;
	for (size_t i = 0, to; h->c->rounds.span && i < h->steps.n; i = to) {
		for (to = i + 1; to < h->steps.n && ss_cluster_follows(h->c, v[to].num, v[to - 1].num);)
			to++;
		best = to - i > n ? i : best;
		n = to - i > n ? to - i : n;
	}
	if (!n)
		return;
	memmove(v, &v[best], n * sizeof(*v));
	h->steps.n = n;
}

static bool add_common(struct choosing *h, const struct ss_u64map *seen, uint32_t devices)
{
	for (size_t i = 0; i < h->c->step_nums.n; i++)
		if (ss_u64map_get(seen, (uint64_t)h->c->step_nums.v[i]) == devices &&
		    !ss_vec_push(&h->steps, ((struct common){ .num = h->c->step_nums.v[i], .end_ps = INT64_MIN })))
			return false;
	if (h->steps.n)
		qsort(h->steps.v, h->steps.n, sizeof(*h->steps.v), by_number);
	choose_stretch(h);
	for (uint32_t i = 0; i < h->steps.n; i++)
		if (!ss_u64map_put(&h->index, (uint64_t)h->steps.v[i].num, i))
			return false;
	return true;
}

static bool find_common(struct choosing *h)
{
	struct ss_cluster *c = h->c;
	struct ss_u64map seen = { 0 };
	uint32_t devices = 0;
	bool ok = true;
	for (size_t d = 0; ok && d < c->devices.n; d++) {
		devices += c->devices.v[d].nsteps > 0;
		for (uint32_t i = 0; ok && i < c->devices.v[d].nsteps; i++) {
			uint64_t num = (uint64_t)c->steps.v[c->devices.v[d].first_step + i].num;
			uint32_t n = ss_u64map_get(&seen, num);
			ok = ss_u64map_put(&seen, num, (n == SS_NONE ? 0 : n) + 1);
		}
	}
	ok = ok && add_common(h, &seen, devices);
	ss_u64map_free(&seen);
	return ok;
}

/* The last ends of steps over the devices of the hosts that are played back. */
static void find_ends(struct choosing *h)
{
	const struct ss_cluster *c = h->c;
	for (size_t i = 0; i < h->steps.n; i++)
		h->steps.v[i].end_ps = INT64_MIN;
	for (size_t d = 0; d < c->devices.n; d++)
		for (uint32_t i = 0; h->p->hosts[c->devices.v[d].host] && i < c->devices.v[d].nsteps; i++) {
			const struct ss_cluster_step *s = &c->steps.v[c->devices.v[d].first_step + i];
			uint32_t k = ss_u64map_get(&h->index, (uint64_t)s->num);
			if (k != SS_NONE && s->end_ps > h->steps.v[k].end_ps)
				h->steps.v[k].end_ps = s->end_ps;
		}
}

/* The mean length of the steps from `from` to `to`, `to` excluded. */
static double mean_length(const struct choosing *h, size_t from, size_t to)
{
	const struct common *v = h->steps.v;
	return to - from < 2 ? NAN : ((double)v[to - 1].end_ps - (double)v[from].end_ps) / (double)(to - from - 1);
}

/* ---- events ---- */

/* The index of the device's first step that ends at or after the moment; nsteps: there is none. */
static uint32_t step_at(const struct ss_cluster *c, const struct ss_cluster_device *cd, int64_t at_ps)
{
	uint32_t lo = 0, hi = cd->nsteps;
	SS_BISECT(lo, hi, mid, c->steps.v[cd->first_step + mid].end_ps < at_ps);
	return lo;
}

static void count_device(struct choosing *h, const struct ss_cluster_device *cd, const struct ss_skeleton *s, bool with_events)
{
	const struct ss_skel_device *d = ss_cluster_device(s, cd);
	uint64_t *n = h->of_step;
	for (uint32_t i = 0; i <= cd->nsteps; i++)
		n[i] = 0;
	for (size_t i = 0; i < d->spans.n; i++)
		n[step_at(h->c, cd, d->spans.v[i].end_ps)]++;
	for (size_t i = 0; i < d->comms.n; i++)
		n[step_at(h->c, cd, d->comms.v[i].end_ps)] += !d->comms.v[i].async;
	for (size_t i = 0; with_events && i < s->events.n; i++)
		n[step_at(h->c, cd, s->events.v[i].begin_ps)]++;
	for (uint32_t i = 0; i <= cd->nsteps; i++) {
		uint32_t k = i < cd->nsteps ? ss_u64map_get(&h->index, (uint64_t)h->c->steps.v[cd->first_step + i].num) : SS_NONE;
		if (k != SS_NONE)
			h->steps.v[k].events += n[i];
		h->of_host[cd->host] += n[i];
		h->p->events_all += n[i];
	}
}

static bool count_events(struct choosing *h, struct ss_err *err)
{
	struct ss_cluster *c = h->c;
	uint32_t most = 0;
	for (size_t d = 0; d < c->devices.n; d++)
		most = c->devices.v[d].nsteps > most ? c->devices.v[d].nsteps : most;
	h->of_step = calloc((size_t)most + 1, sizeof(*h->of_step));
	if (!h->of_step)
		return ss_fail_mem(err);
	for (uint32_t p = 0; p < c->nparts; p++) {
		if (c->parts[p].host == SS_NO_HOST)
			continue;
		const struct ss_skeleton *s = ss_cluster_part_once(c, p, err);
		if (!s)
			return false;
		const struct ss_cluster_host *host = &c->hosts.v[c->parts[p].host];
		bool first = true;
		for (uint32_t d = host->first_device; d < host->first_device + host->ndevices; d++) {
			if (c->devices.v[d].part != p)
				continue;
			count_device(h, &c->devices.v[d], s, first);
			first = false;
		}
	}
	return true;
}

/* ---- the choice ---- */

/*
 * Choose the most successive steps that fit; among equally many, those whose mean is nearest to that of
 * all steps. False: fewer than two fit.
 */
static bool choose_steps(struct choosing *h, uint64_t most, size_t *from, size_t *to)
{
	double best_off = INFINITY;
	uint64_t events = 0;
	*from = *to = 0;
	for (size_t a = 0, b = 0; b < h->steps.n; b++) {
		for (events += h->steps.v[b].events; events > most && a <= b; a++)
			events -= h->steps.v[a].events;
		double off = fabs(mean_length(h, a, b + 1) - h->p->now_all_ps);
		if (b + 1 - a < 2 || b + 1 - a < *to - *from || (b + 1 - a == *to - *from && !(off < best_off)))
			continue;
		*from = a;
		*to = b + 1;
		best_off = off;
		h->p->events = events;
	}
	return *to - *from >= 2;
}

struct rank {
	uint64_t last;	/* how often others waited for it */
	uint32_t host;
};

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	return SS_CMP(y->last, x->last) ?: SS_CMP(x->host, y->host);
}

/* If two steps of all hosts are too many events: the two with the fewest events, of the hosts that others waited for. */
static bool choose_hosts(struct choosing *h, uint64_t most, uint32_t must, size_t *from, size_t *to)
{
	const struct ss_cluster *c = h->c;
	struct rank *ranks = calloc(c->hosts.n + 1, sizeof(*ranks));
	uint64_t least = UINT64_MAX;
	if (!ranks)
		return false;
	for (size_t i = 0; i + 1 < h->steps.n; i++) {
		uint64_t n = h->steps.v[i].events + h->steps.v[i + 1].events;
		*from = n < least ? i : *from;
		least = n < least ? n : least;
	}
	*to = *from + 2;
	for (uint32_t i = 0; i < c->hosts.n; i++) {
		ranks[i] = (struct rank){ i == must ? UINT64_MAX : 0, i };
		h->p->hosts[i] = false;
	}
	for (size_t i = 0; i < c->collectives.n; i++) {
		const struct ss_collective *k = &c->collectives.v[i];
		uint32_t host = c->devices.v[c->members.v[k->last].device].host;
		ranks[host].last += k->is_clear && host != must;
	}
	if (c->hosts.n)
		qsort(ranks, c->hosts.n, sizeof(*ranks), by_rank);
	double share = h->p->events_all ? (double)least / (double)h->p->events_all : 0, sum = 0;
	h->p->nhosts = 0;
	for (size_t i = 0; i < c->hosts.n; i++) {
		double n = (double)h->of_host[ranks[i].host] * share;
		if (n == 0 || (h->p->nhosts >= 2 && sum + n > (double)most))
			continue;
		sum += n;
		h->p->nhosts++;
		h->p->hosts[ranks[i].host] = true;
	}
	h->p->events = (uint64_t)sum;
	free(ranks);
	return true;
}

/* The window of each device reaches from the end of the step before the first to the end of the last. */
static void find_windows(struct choosing *h)
{
	const struct ss_cluster *c = h->c;
	struct ss_played *p = h->p;
	p->all = (struct ss_played_window){ INT64_MAX, INT64_MIN };
	for (size_t d = 0; d < c->devices.n; d++) {
		const struct ss_cluster_device *cd = &c->devices.v[d];
		struct ss_played_window *w = &p->windows[d];
		*w = (struct ss_played_window){ INT64_MAX, INT64_MIN };
		for (uint32_t i = 0; p->hosts[cd->host] && i < cd->nsteps; i++) {
			const struct ss_cluster_step *s = &c->steps.v[cd->first_step + i];
			if (s->num < p->first_step || s->num > p->last_step)
				continue;
			int64_t after = i ? s[-1].end_ps : s->begin_ps;
			w->after_ps = after < w->after_ps ? after : w->after_ps;
			w->until_ps = s->end_ps > w->until_ps ? s->end_ps : w->until_ps;
		}
		p->all.after_ps = w->after_ps < p->all.after_ps ? w->after_ps : p->all.after_ps;
		p->all.until_ps = w->until_ps > p->all.until_ps ? w->until_ps : p->all.until_ps;
	}
	for (size_t d = 0; d < c->devices.n; d++)
		if (p->hosts[c->devices.v[d].host] && !c->devices.v[d].nsteps)
			p->windows[d] = p->all;
}

static bool choose_part(struct choosing *h, uint64_t most, uint32_t host, struct ss_err *err)
{
	struct ss_played *p = h->p;
	size_t from = 0, to = h->steps.n;
	p->now_all_ps = mean_length(h, 0, h->steps.n);
	p->events = p->events_all;
	p->whole = p->events_all <= most;
	if (!p->whole && !choose_steps(h, most, &from, &to)) {
		if (!choose_hosts(h, most, host, &from, &to))
			return ss_fail_mem(err);
		find_ends(h);
	}
	p->first_step = h->steps.v[from].num;
	p->last_step = h->steps.v[to - 1].num;
	p->nsteps = to - from;
	p->now_ps = mean_length(h, from, to);
	find_windows(h);
	return true;
}

bool ss_played_choose(struct ss_played *p, struct ss_cluster *c, uint64_t most, uint32_t host, struct ss_err *err)
{
	*p = (struct ss_played){ .now_ps = NAN, .now_all_ps = NAN, .hosts = calloc(c->hosts.n + 1, sizeof(*p->hosts)),
				 .windows = calloc(c->devices.n + 1, sizeof(*p->windows)) };
	struct choosing h = { .c = c, .p = p, .of_host = calloc(c->hosts.n + 1, sizeof(*h.of_host)) };
	bool ok = (p->hosts && p->windows && h.of_host && find_common(&h)) || ss_fail_mem(err);
	p->nsteps = p->nsteps_all = h.steps.n;
	for (size_t i = 0; ok && i < c->hosts.n; i++) {
		p->hosts[i] = true;
		p->nhosts_all += c->hosts.v[i].ndevices > 0;
	}
	p->nhosts = p->nhosts_all;
	if (ok && h.steps.n > 1) {
		find_ends(&h);
		ok = count_events(&h, err) && choose_part(&h, most, host, err);
	}
	ss_cluster_rest(c);
	ss_vec_free(&h.steps);
	ss_u64map_free(&h.index);
	free(h.of_host);
	free(h.of_step);
	return ok;
}

void ss_played_free(struct ss_played *p)
{
	free(p->hosts);
	free(p->windows);
	*p = (struct ss_played){ .hosts = NULL };
}
