/* straggler_metrics.c - see straggler_metrics.h. */
#include "model/cluster/straggler_metrics.h"

#include "base/bisect.h"
#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

#define SLOW_FRAC 0.02		/* of a step that is lost at least, for it to be slow */
#define SLOW_LINK 1.5		/* times the median transfer of the operation over its groups */
#define SLOW_LINK_PS 2e6

/* ---- own time of each host in each step that all have ---- */

const struct ss_device_step *ss_straggler_row(const struct ss_exposed *x, uint32_t device, int64_t step)
{
	size_t lo = x->first[device], hi = x->first[device + 1];
	SS_BISECT(lo, hi, mid, x->rows.v[mid].step < step);
	return lo < x->first[device + 1] && x->rows.v[lo].step == step ? &x->rows.v[lo] : NULL;
}

/*
 * Whole recordings with steps are compared; one that is cut says nothing of the steps it lacks, and
 * one of another program nothing at all.
 */
static bool choose_hosts(struct ss_straggler_metrics *j)
{
	for (uint32_t h = 0; h < j->c->hosts.n; h++) {
		const struct ss_cluster_host *host = &j->c->hosts.v[h];
		if (host->state == SS_HOST_OK && !host->stranger && host->ndevices && host->first_step != SS_NO_STEP &&
		    !ss_vec_push(&j->s->hosts, ((struct ss_straggler_host){ .host = h, .last_frac = NAN })))
			return false;
	}
	return true;
}

/*
 * Where step numbers repeat: is it the first of its round, or behind one that is left out? Then its
 * window is not whole.
 */
static bool follows_none(const struct ss_straggler_metrics *j, uint32_t device, int64_t step)
{
	return j->c->rounds.span && !ss_straggler_row(j->x, device, step - j->c->step_stride);
}

/* Does each host have it whole, and not as the first of its recording? */
static bool is_common(const struct ss_straggler_metrics *j, int64_t step)
{
	for (size_t i = 0; i < j->s->hosts.n; i++) {
		const struct ss_cluster_host *h = &j->c->hosts.v[j->s->hosts.v[i].host];
		if (step <= h->first_step || step > h->last_step)
			return false;
		for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++)
			if (j->c->devices.v[d].nsteps && (!ss_straggler_row(j->x, d, step) || follows_none(j, d, step)))
				return false;
	}
	return j->s->hosts.n > 0;
}

static bool choose_steps(struct ss_straggler_metrics *j)
{
	size_t n = j->c->step_nums.n;
	int64_t *nums = calloc(n + 1, sizeof(*nums));
	bool ok = nums;
	if (ok && n) {
		memcpy(nums, j->c->step_nums.v, n * sizeof(*nums));
		qsort(nums, n, sizeof(*nums), ss_cmp_i64);
	}
	for (size_t i = 0; ok && i < n; i++)
		if (is_common(j, nums[i]))
			ok = ss_vec_push(&j->s->steps, ((struct ss_straggler_step){ .step = nums[i] }));
	free(nums);
	return ok;
}

/* The time that the host itself needed: that of its slowest device. */
static int64_t own_of(const struct ss_straggler_metrics *j, uint32_t host, int64_t step, uint32_t *device, int64_t *length)
{
	const struct ss_cluster_host *h = &j->c->hosts.v[host];
	int64_t most = 0;
	*device = h->first_device;
	for (uint32_t d = 0; d < h->ndevices; d++) {
		const struct ss_device_step *r = ss_straggler_row(j->x, h->first_device + d, step);
		if (!r)
			continue;
		int64_t own = ss_device_step_own_ps(r), len = r->end_ps - r->begin_ps;
		*length = len > *length ? len : *length;
		if (own > most) {
			most = own;
			*device = h->first_device + d;
		}
	}
	return most;
}

static bool fill_excess(struct ss_straggler_metrics *j)
{
	size_t nh = j->s->hosts.n, ns = j->s->steps.n;
	size_t room = 2 * ns > j->c->collectives.n ? 2 * ns : j->c->collectives.n;
	room = nh > room ? nh : room;
	struct ss_excess *x = &j->s->excess;
	j->scratch = calloc(room + 1, sizeof(double));
	j->slow = calloc(ns + 1, sizeof(*j->slow));
	if (!ss_excess_init(x, nh, ns) || !j->scratch || !j->slow)
		return false;
	for (size_t s = 0; s < ns; s++) {
		struct ss_straggler_step *st = &j->s->steps.v[s];
		uint32_t device;
		int64_t unused = 0;
		for (size_t h = 0; h < nh; h++) {
			double own = (double)own_of(j, j->s->hosts.v[h].host, st->step, &device, &st->length_ps);
			x->ps[s * nh + h] = own;
			j->s->hosts.v[h].own_us += own * 1e-6 / (double)ns;
		}
		size_t most = ss_excess_center(x, s);
		st->host = j->s->hosts.v[most].host;
		own_of(j, st->host, st->step, &st->device, &unused);
		st->lost_ps = (int64_t)x->ps[s * nh + most];
	}
	return true;
}

double ss_straggler_times_excess(const struct ss_straggler_metrics *j)
{
	return j->s->hosts.n == 2 ? 2 : 1;
}

/* Median excess and its noise of each host; the usual length of a step; which steps are slow. */
static void estimate(struct ss_straggler_metrics *j)
{
	size_t ns = j->s->steps.n;
	struct ss_excess *x = &j->s->excess;
	ss_excess_estimate(x);
	for (size_t h = 0; h < x->n; h++) {
		j->s->hosts.v[h].excess_us = x->median_ps[h] * 1e-6;
		j->s->hosts.v[h].noise_us = x->noise_ps[h] * 1e-6;
	}
	for (size_t s = 0; s < ns; s++)
		j->scratch[s] = (double)j->s->steps.v[s].length_ps;
	j->step_ps = ss_median(j->scratch, ns);
	for (uint32_t s = 0; s < ns; s++) {
		struct ss_straggler_step *st = &j->s->steps.v[s];
		st->slow = (double)st->lost_ps > ss_excess_by_chance_ps(x) &&
			   ss_straggler_times_excess(j) * (double)st->lost_ps > SLOW_FRAC * j->step_ps;
		if (st->slow)
			j->slow[j->nslow++] = s;
	}
}

size_t ss_straggler_place_of(const struct ss_straggler_metrics *j, uint32_t host)
{
	for (size_t i = 0; i < j->s->hosts.n; i++)
		if (j->s->hosts.v[i].host == host)
			return i;
	return SIZE_MAX;
}

/* The hosts that came last to collectives between hosts, if clocks and participants show it. */
static bool count_last(struct ss_straggler_metrics *j)
{
	struct ss_cluster *c = j->c;
	uint32_t *last = calloc(c->hosts.n + 1, sizeof(*last)), *all = calloc(c->hosts.n + 1, sizeof(*all));
	bool ok = last && all;
	for (size_t i = 0; ok && i < c->collectives.n; i++) {
		const struct ss_collective *k = &c->collectives.v[i];
		if (k->n != k->expected || !k->is_clear || k->group_host != SS_NO_HOST)
			continue;
		last[c->devices.v[c->members.v[k->last].device].host]++;
		for (uint32_t m = 0, host = SS_NO_HOST; m < k->n; m++) {
			uint32_t own = c->devices.v[c->members.v[c->order[k->first + m]].device].host;
			all[own] += own != host;
			host = own;
		}
	}
	for (size_t i = 0; ok && i < j->s->hosts.n; i++) {
		uint32_t h = j->s->hosts.v[i].host;
		j->s->hosts.v[i].last_frac = all[h] ? (double)last[h] / all[h] : NAN;
	}
	for (uint32_t s = 0; ok && s < j->nslow; s++) {
		size_t at = ss_straggler_place_of(j, j->s->steps.v[j->slow[s]].host);
		if (at != SIZE_MAX)
			j->s->hosts.v[at].culprit_steps++;
	}
	free(last);
	free(all);
	return ok;
}

/* ---- networks ---- */

/* Of each host: how many of the groups it is in. */
struct groups_of {
	uint32_t *slow, *all;
};

/* Collectives of one operation in one step: those of its groups. */
struct timed {
	const struct ss_collective *k;
	uint32_t like;
};

static int by_op_step(const void *a, const void *b)
{
	const struct timed *m = a, *n = b;
	const struct ss_collective *const *x = &m->k, *const *y = &n->k;
	return SS_CMP(m->like, n->like) ?: SS_CMP((*x)->step, (*y)->step) ?: SS_CMP((*x)->nth, (*y)->nth) ?: SS_CMP(*x, *y);
}

static void add_hosts(const struct ss_cluster *c, const struct ss_collective *k, uint32_t *groups)
{
	for (uint32_t m = 0, host = SS_NO_HOST; m < k->n; m++) {
		uint32_t own = c->devices.v[c->members.v[c->order[k->first + m]].device].host;
		groups[own] += own != host;
		host = own;
	}
}

/*
 * A host that is in all slow groups of this operation and step, but not in all groups, counts once.
 * Of two groups the faster one shows how long it takes.
 */
static void count_slow_groups(struct ss_straggler_metrics *j, const struct timed *v, size_t n, uint32_t *slow,
			      struct groups_of *of)
{
	struct ss_cluster *c = j->c;
	uint32_t nslow = 0;
	for (size_t i = 0; i < n; i++)
		j->scratch[i] = (double)v[i].k->transfer_ps;
	double usual = n > 2 ? ss_median(j->scratch, n) : fmin(j->scratch[0], j->scratch[1]);
	memset(of->slow, 0, c->hosts.n * sizeof(*of->slow));
	memset(of->all, 0, c->hosts.n * sizeof(*of->all));
	for (size_t i = 0; i < n; i++) {
		add_hosts(c, v[i].k, of->all);
		if ((double)v[i].k->transfer_ps <= SLOW_LINK * usual + SLOW_LINK_PS)
			continue;
		nslow++;
		add_hosts(c, v[i].k, of->slow);
	}
	for (size_t h = 0; nslow && h < c->hosts.n; h++)
		slow[h] += of->slow[h] == nslow && of->all[h] < n;
}

/* The host that most often is in the slow groups, if it is in most of them and not by chance. */
static uint32_t most_often_slow(const struct ss_straggler_metrics *j, const uint32_t *slow, uint32_t total)
{
	size_t best = 0, nhosts = j->c->hosts.n;
	uint32_t all = 0, second = 0;
	for (size_t h = 0; h < nhosts; h++) {
		best = slow[h] > slow[best] ? h : best;
		all += slow[h];
	}
	for (size_t h = 0; h < nhosts; h++)
		second = h != best && slow[h] > second ? slow[h] : second;
	bool sure = nhosts > 1 && ss_fewer_than(slow[best], all, 1.0 / (double)nhosts) >= SS_SURE_FRAC;
	return sure && 2 * slow[best] > total && slow[best] > second ? (uint32_t)best : SS_NO_HOST;
}

bool ss_straggler_find_slow_link(struct ss_straggler_metrics *j, uint32_t *host)
{
	struct ss_cluster *c = j->c;
	struct timed *v = calloc(c->collectives.n + 1, sizeof(*v));
	uint32_t *slow = calloc(c->hosts.n + 1, sizeof(*slow)), total = 0;
	struct groups_of of = { calloc(c->hosts.n + 1, sizeof(*of.slow)), calloc(c->hosts.n + 1, sizeof(*of.all)) };
	bool ok = v && slow && of.slow && of.all;
	size_t n = 0;
	*host = SS_NO_HOST;
	for (size_t i = 0; ok && i < c->collectives.n; i++) {
		const struct ss_collective *k = &c->collectives.v[i];
		if (k->n == k->expected && k->n > 1 && !k->is_bound)
			v[n++] = (struct timed){ k, c->ops.v[k->op].like };
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), by_op_step);
	for (size_t i = 0, to; ok && i < n; i = to) {
		const struct ss_collective *k = v[i].k;
		for (to = i + 1; to < n && v[to].like == v[i].like && v[to].k->step == k->step && v[to].k->nth == k->nth;)
			to++;
		if (to - i < 2)
			continue;
		total++;
		count_slow_groups(j, &v[i], to - i, slow, &of);
	}
	if (ok && total)
		*host = most_often_slow(j, slow, total);
	free(v);
	free(slow);
	free(of.slow);
	free(of.all);
	return ok;
}

bool ss_straggler_measure(struct ss_straggler_metrics *j)
{
	if (!choose_hosts(j) || !choose_steps(j) || !fill_excess(j))
		return false;
	if (j->s->steps.n)
		estimate(j);
	return count_last(j);
}
