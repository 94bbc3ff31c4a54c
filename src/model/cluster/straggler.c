/* straggler.c - see straggler.h. */
#include "model/cluster/straggler.h"

#include "base/bisect.h"
#include "model/cluster/cause.h"
#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

#define SLOW_FRAC 0.02		/* of a step that is lost at least, for it to be slow */
#define UNEVEN_FRAC 0.01	/* the same of what lasts: it is known better than a single step's */
#define FEW_FRAC 0.10		/* of steps: fewer slow ones are an accident */
#define BALANCED_FRAC 0.05	/* of a step: no step lost as much */
#define NETWORK_FRAC (1.0 / 3)	/* of the time that exposed transfers take: bound by them */
#define SLOW_LINK 1.5		/* times the median transfer of the operation over its groups */
#define SLOW_LINK_PS 2e6
#define SAME_FRAC 0.80		/* of slow steps that one host, or one device, is behind */
#define CONSTANT_FRAC 0.90
#define SURE_FRAC 0.95
#define CANDIDATE_FRAC 0.90 /* that it is no chance, for a host to be named where noise is large */
#define LEAST_STEPS 3
#define DRIFT_CORRELATION 0.9

const char *ss_straggler_kind_name(enum ss_straggler_kind kind)
{
	static const char *const names[] = { "balanced", "straggler", "uneven", "rotating", "network", "inconclusive" };
	return names[kind];
}

const char *ss_straggler_cause_name(enum ss_straggler_cause cause)
{
	static const char *const names[] = { "", "compute", "slower_clock", "input", "host", "copy", "transfer" };
	return names[cause];
}

const char *ss_straggler_pattern_name(enum ss_straggler_pattern pattern)
{
	static const char *const names[] = { "", "constant", "periodic", "drifting", "intermittent" };
	return names[pattern];
}

struct judging {
	struct ss_cluster *c;
	const struct ss_exposed *x;
	struct ss_straggler *s;
	double *scratch; /* as many as there are collectives, or hosts, or twice the steps */
	double step_ps;
	uint32_t *slow;	 /* indices of slow steps */
	uint32_t nslow;
};

/* ---- the figures: own time of each host in each step that all have ---- */

static const struct ss_device_step *row_of(const struct ss_exposed *x, uint32_t device, int64_t step)
{
	size_t lo = x->first[device], hi = x->first[device + 1];
	SS_BISECT(lo, hi, mid, x->rows.v[mid].step < step);
	return lo < x->first[device + 1] && x->rows.v[lo].step == step ? &x->rows.v[lo] : NULL;
}

/*
 * Whole recordings with steps are compared; one that is cut says nothing of the steps it lacks, and
 * one of another program nothing at all.
 */
static bool choose_hosts(struct judging *j)
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
static bool follows_none(const struct judging *j, uint32_t device, int64_t step)
{
	return j->c->rounds.span && !row_of(j->x, device, step - j->c->step_stride);
}

/* Does each host have it whole, and not as the first of its recording? */
static bool is_common(const struct judging *j, int64_t step)
{
	for (size_t i = 0; i < j->s->hosts.n; i++) {
		const struct ss_cluster_host *h = &j->c->hosts.v[j->s->hosts.v[i].host];
		if (step <= h->first_step || step > h->last_step)
			return false;
		for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++)
			if (j->c->devices.v[d].nsteps && (!row_of(j->x, d, step) || follows_none(j, d, step)))
				return false;
	}
	return j->s->hosts.n > 0;
}

static bool choose_steps(struct judging *j)
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
static int64_t own_of(const struct judging *j, uint32_t host, int64_t step, uint32_t *device, int64_t *length)
{
	const struct ss_cluster_host *h = &j->c->hosts.v[host];
	int64_t most = 0;
	*device = h->first_device;
	for (uint32_t d = 0; d < h->ndevices; d++) {
		const struct ss_device_step *r = row_of(j->x, h->first_device + d, step);
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

static bool fill_excess(struct judging *j)
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

/*
 * With two hosts, the median is their mean: the loss of one is the difference, which is twice the
 * excess.
 */
static double times_excess(const struct judging *j)
{
	return j->s->hosts.n == 2 ? 2 : 1;
}

/* Median excess and its noise of each host; the usual length of a step; which steps are slow. */
static void estimate(struct judging *j)
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
			   times_excess(j) * (double)st->lost_ps > SLOW_FRAC * j->step_ps;
		if (st->slow)
			j->slow[j->nslow++] = s;
	}
}

static size_t place_of(const struct judging *j, uint32_t host)
{
	for (size_t i = 0; i < j->s->hosts.n; i++)
		if (j->s->hosts.v[i].host == host)
			return i;
	return SIZE_MAX;
}

/* The hosts that came last to collectives between hosts, if clocks and participants show it. */
static bool count_last(struct judging *j)
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
		size_t at = place_of(j, j->s->steps.v[j->slow[s]].host);
		if (at != SIZE_MAX)
			j->s->hosts.v[at].culprit_steps++;
	}
	free(last);
	free(all);
	return ok;
}

/* ---- networks ---- */

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

/* A host that is in all slow groups of this operation and step counts once. */
static void count_slow_groups(struct judging *j, const struct timed *v, size_t n, uint32_t *slow, uint32_t *mark)
{
	struct ss_cluster *c = j->c;
	uint32_t nslow = 0;
	for (size_t i = 0; i < n; i++)
		j->scratch[i] = (double)v[i].k->transfer_ps;
	double middle = ss_median(j->scratch, n);
	memset(mark, 0, c->hosts.n * sizeof(*mark));
	for (size_t i = 0; i < n; i++) {
		if ((double)v[i].k->transfer_ps <= SLOW_LINK * middle + SLOW_LINK_PS)
			continue;
		nslow++;
		for (uint32_t m = 0, host = SS_NO_HOST; m < v[i].k->n; m++) {
			uint32_t own = c->devices.v[c->members.v[c->order[v[i].k->first + m]].device].host;
			mark[own] += own != host;
			host = own;
		}
	}
	for (size_t h = 0; nslow && h < c->hosts.n; h++)
		slow[h] += mark[h] == nslow;
}

/*
 * The host whose groups' transfers are slow in most operations and steps that run in three or more
 * groups at once; SS_NO_HOST.
 */
static bool find_slow_link(struct judging *j, uint32_t *host)
{
	struct ss_cluster *c = j->c;
	struct timed *v = calloc(c->collectives.n + 1, sizeof(*v));
	uint32_t *slow = calloc(c->hosts.n + 1, sizeof(*slow)), *mark = calloc(c->hosts.n + 1, sizeof(*mark)), total = 0;
	bool ok = v && slow && mark;
	size_t n = 0, best = 0, second = 0;
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
		if (to - i < 3)
			continue;
		total++;
		count_slow_groups(j, &v[i], to - i, slow, mark);
	}
	for (size_t h = 0; ok && h < c->hosts.n; h++)
		best = slow[h] > slow[best] ? h : best;
	for (size_t h = 0; ok && h < c->hosts.n; h++)
		second = h != best && slow[h] > second ? slow[h] : second;
	if (ok && total && 2 * slow[best] > total && slow[best] > second)
		*host = (uint32_t)best;
	free(v);
	free(slow);
	free(mark);
	return ok;
}

static double transfer_frac(const struct judging *j, bool with_waits)
{
	double transfer = 0, all = 0;
	for (size_t i = 0; i < j->x->rows.n; i++) {
		const struct ss_device_step *r = &j->x->rows.v[i];
		transfer += (double)r->class_ps[SS_EXPOSED_TRANSFER] + (with_waits ? (double)r->class_ps[SS_EXPOSED_WAIT] : 0);
		all += (double)(r->end_ps - r->begin_ps);
	}
	return all > 0 ? transfer / all : 0;
}

/*
 * Hosts that are not compared may be those that all others wait for: what the others see as a
 * transfer is then a wait, or is not there.
 */
static bool may_be_hidden(const struct judging *j)
{
	return j->s->verdict.nabsent && transfer_frac(j, true) > BALANCED_FRAC;
}

/* ---- one host ---- */

static uint32_t main_culprit(const struct judging *j, size_t *place)
{
	*place = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		if (j->s->hosts.v[h].culprit_steps > j->s->hosts.v[*place].culprit_steps)
			*place = h;
	return j->s->hosts.v[*place].culprit_steps;
}

/* The longest work of the other devices of the host in a step; -1: none of them has the step. */
static int64_t most_of_others(const struct judging *j, const struct ss_cluster_host *h, uint32_t device, int64_t step)
{
	int64_t most = -1;
	for (uint32_t d = 0; d < h->ndevices; d++) {
		const struct ss_device_step *r = h->first_device + d == device ? NULL : row_of(j->x, h->first_device + d, step);
		if (r && ss_device_step_own_ps(r) > most)
			most = ss_device_step_own_ps(r);
	}
	return most;
}

/*
 * The same device in most of its slow steps, and the others of the host exceed by less than half as
 * much.
 */
static int32_t one_device(const struct judging *j, size_t place)
{
	const struct ss_cluster_host *h = &j->c->hosts.v[j->s->hosts.v[place].host];
	uint32_t best = 0, n = 0, nbest = 0;
	for (uint32_t d = 0; d < h->ndevices; d++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < j->nslow; i++) {
			const struct ss_straggler_step *st = &j->s->steps.v[j->slow[i]];
			count += st->host == j->s->hosts.v[place].host && st->device == h->first_device + d;
		}
		n += count;
		if (count > nbest) {
			nbest = count;
			best = h->first_device + d;
		}
	}
	if (h->ndevices < 2 || nbest < SAME_FRAC * n)
		return -1;
	uint32_t apart = 0;
	for (uint32_t i = 0; i < j->nslow; i++) {
		const struct ss_straggler_step *st = &j->s->steps.v[j->slow[i]];
		if (st->host != j->s->hosts.v[place].host)
			continue;
		const struct ss_device_step *own = row_of(j->x, best, st->step);
		int64_t others = most_of_others(j, h, best, st->step);
		/* Excess of the others: that of the best, less what they are behind it. */
		apart += own && others >= 0 && 2.0 * (double)(ss_device_step_own_ps(own) - others) > (double)st->lost_ps;
	}
	return apart >= SAME_FRAC * n ? j->c->devices.v[best].ordinal : -1;
}

/* Does it grow over these steps, and by more than it is in the mean? */
static bool grows(const double *x, const double *y, size_t n, double *scratch)
{
	double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, count = (double)n;
	for (size_t i = 0; i < n; i++) {
		sx += x[i];
		sy += y[i];
	}
	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - sx / count, dy = y[i] - sy / count;
		sxx += dx * dx;
		syy += dy * dy;
		sxy += dx * dy;
	}
	if (!(sxx > 0) || !(syy > 0) || sxy / sqrt(sxx * syy) <= DRIFT_CORRELATION)
		return false;
	double span = x[n - 1] - x[0];
	return ss_theil_sen(x, y, n, span / 4, scratch) * span > sy / count;
}

/*
 * Over all steps, or from the one before the first slow step: what it is small against does not
 * hold up the others at first.
 */
static bool is_drifting(const struct judging *j, size_t place)
{
	size_t nh = j->s->hosts.n, ns = j->s->steps.n, n = 0;
	double scratch[SS_THEIL_SEN_SCRATCH], *x = j->scratch, *y = j->scratch + ns;
	for (size_t s = 0; s < ns; s++) {
		x[s] = (double)s;
		y[s] = j->s->excess.ps[s * nh + place];
	}
	if (grows(x, y, ns, scratch))
		return true;
	if (j->nslow < LEAST_STEPS || j->slow[j->nslow - 1] + 1 != ns)
		return false;
	for (uint32_t s = j->slow[0] ? j->slow[0] - 1 : 0; s < ns; s++) {
		if (n && !j->s->steps.v[s].slow)
			continue;
		x[n] = (double)s;
		y[n++] = j->s->excess.ps[s * nh + place];
	}
	return grows(x, y, n, scratch);
}

/*
 * Is it late in the steps that are not slow as well, by more than half as much? Then noise made
 * them shorter.
 */
static bool is_late_always(const struct judging *j, size_t place)
{
	size_t nh = j->s->hosts.n, ns = j->s->steps.n, nslow = 0, nothers = 0;
	double *slow = j->scratch, *others = j->scratch + ns;
	for (size_t s = 0; s < ns; s++) {
		double x = j->s->excess.ps[s * nh + place];
		if (j->s->steps.v[s].slow)
			slow[nslow++] = x;
		else
			others[nothers++] = x;
	}
	return nothers && ss_median(others, nothers) > ss_median(slow, nslow) / 2;
}

static enum ss_straggler_pattern pattern_of(const struct judging *j, size_t place)
{
	size_t ns = j->s->steps.n;
	if (is_drifting(j, place))
		return SS_PATTERN_DRIFTING;
	if (j->s->hosts.v[place].culprit_steps >= floor(CONSTANT_FRAC * (double)ns) || is_late_always(j, place))
		return SS_PATTERN_CONSTANT;
	int64_t first = j->s->steps.v[j->slow[0]].step, before = first, apart = 0;
	bool equal = j->nslow >= 2;
	for (uint32_t i = 1; i < j->nslow; i++) {
		int64_t step = j->s->steps.v[j->slow[i]].step;
		equal = equal && (i < 2 || step - before == apart);
		apart = step - before;
		before = step;
	}
	/*
	 * Two make a period only if the steps before and behind them, which should be slow as well,
	 * are not there.
	 */
	if (j->nslow == 2)
		equal = equal && first - apart < j->s->steps.v[0].step && before + apart > j->s->steps.v[ns - 1].step;
	return equal && apart > 1 ? SS_PATTERN_PERIODIC : SS_PATTERN_INTERMITTENT;
}

/* Probability of fewer than k of n, each with probability p. */
static double fewer_than(uint32_t k, uint32_t n, double p)
{
	double sum = 0, log_p = log(p), log_q = log1p(-p), log_choose = 0;
	for (uint32_t i = 0; i < k; i++) {
		sum += exp(log_choose + i * log_p + (n - i) * log_q);
		log_choose += log((double)(n - i)) - log((double)(i + 1));
	}
	return sum < 1 ? sum : 1;
}

/*
 * What its slow steps were longer than the median host's, per step of all; of two hosts, than the
 * other's.
 */
static double lost_of(const struct judging *j, uint32_t host)
{
	double sum = 0;
	for (uint32_t i = 0; i < j->nslow; i++) {
		const struct ss_straggler_step *st = &j->s->steps.v[j->slow[i]];
		if (host == SS_NO_HOST || st->host == host)
			sum += times_excess(j) * (double)st->lost_ps;
	}
	return sum * 1e-6 / (double)j->s->steps.n;
}

static bool accuse(struct judging *j, size_t place, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	const struct ss_straggler_host *h = &j->s->hosts.v[place];
	v->kind = SS_STRAGGLER_ONE;
	v->host = j->c->hosts.v[h->host].name;
	v->device = one_device(j, place);
	v->pattern = pattern_of(j, place);
	v->steps_frac = (double)h->culprit_steps / (double)j->s->steps.n;
	v->lost_us_per_step = lost_of(j, h->host);
	v->confidence_frac = fewer_than(h->culprit_steps, j->nslow, 1.0 / (double)j->s->hosts.n);
	if (v->confidence_frac < SURE_FRAC || j->s->steps.n < LEAST_STEPS) {
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->why = "record more steps to learn whether it is always the same host";
	}
	return ss_straggler_find_cause(j->c, j->x, j->s, h->host, &v->cause, err);
}

/* ---- several ---- */

/* Fewer slow steps are an accident. */
static double few_steps(const struct judging *j)
{
	return fmax(FEW_FRAC * (double)j->s->steps.n, 2);
}

/* Devices with steps of the hosts that are compared; `device` may be NULL. */
static size_t list_devices(const struct judging *j, uint32_t *device)
{
	size_t n = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++) {
		const struct ss_cluster_host *host = &j->c->hosts.v[j->s->hosts.v[h].host];
		for (uint32_t d = host->first_device; d < host->first_device + host->ndevices; d++) {
			if (!j->c->devices.v[d].nsteps)
				continue;
			if (device)
				device[n] = d;
			n++;
		}
	}
	return n;
}

/*
 * By devices, as hosts whose slowest devices are alike may have devices that are not: the others
 * wait for them all the same. `device` has the devices, and gets their hosts.
 */
static bool are_uneven(struct judging *j, struct ss_excess *x, uint32_t *device)
{
	for (size_t s = 0; s < x->nsteps; s++) {
		for (size_t i = 0; i < x->n; i++) {
			const struct ss_device_step *r = row_of(j->x, device[i], j->s->steps.v[s].step);
			x->ps[s * x->n + i] = r ? (double)ss_device_step_own_ps(r) : 0;
		}
		ss_excess_center(x, s);
	}
	ss_excess_estimate(x);
	for (size_t i = 0; i < x->n; i++)
		device[i] = j->c->devices.v[device[i]].host;
	for (uint32_t i = 0; i < j->nslow; i++)
		j->scratch[i] = (double)j->s->steps.v[j->slow[i]].lost_ps;
	double loss = j->nslow >= few_steps(j) ? ss_median(j->scratch, j->nslow) : 0;
	return ss_excess_is_shared(x, device, UNEVEN_FRAC * j->step_ps, loss);
}

/* By how much a member's median is above the mean of all: what it would gain if all had as much. */
static double above_mean_ps(const struct ss_excess *x, size_t member)
{
	double mean = 0;
	for (size_t i = 0; i < x->n; i++)
		mean += x->median_ps[i] / (double)x->n;
	return x->median_ps[member] - mean;
}

/* `most`: the device that has the most; `gain_ps`: what even work would save it in a step. */
static bool find_uneven(struct judging *j, bool *uneven, uint32_t *most, double *gain_ps)
{
	struct ss_excess x = { 0 };
	size_t n = list_devices(j, NULL);
	uint32_t *device = calloc(n + 1, sizeof(*device));
	bool ok = device && ss_excess_init(&x, n, j->s->steps.n);
	*uneven = false;
	*gain_ps = 0;
	if (ok && n) {
		list_devices(j, device);
		*uneven = are_uneven(j, &x, device);
		size_t first = 0;
		for (size_t i = 0; i < n; i++)
			first = x.median_ps[i] > x.median_ps[first] ? i : first;
		list_devices(j, device);
		*most = device[first];
		*gain_ps = above_mean_ps(&x, first);
	}
	ss_excess_free(&x);
	free(device);
	return ok;
}

/* ---- the verdict, in the order of what would be taken for something else ---- */

static bool loses_much(const struct judging *j, const struct ss_straggler_step *st)
{
	return times_excess(j) * (double)st->lost_ps > BALANCED_FRAC * (double)st->length_ps;
}

/*
 * Noise is larger than what any step loses, but it is the same host that needs longest in nearly
 * all that lose much, more often than chance makes it: SS_NO_HOST, or the one to look at.
 */
static uint32_t candidate(const struct judging *j)
{
	uint32_t all = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		j->scratch[h] = 0;
	for (size_t s = 0; s < j->s->steps.n; s++) {
		size_t at = loses_much(j, &j->s->steps.v[s]) ? place_of(j, j->s->steps.v[s].host) : SIZE_MAX;
		if (at == SIZE_MAX)
			continue;
		all++;
		j->scratch[at]++;
	}
	size_t most = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		most = j->scratch[h] > j->scratch[most] ? h : most;
	uint32_t n = (uint32_t)j->scratch[most];
	bool clear = n >= SAME_FRAC * all && fewer_than(n, all, 1.0 / (double)j->s->hosts.n) >= CANDIDATE_FRAC;
	return clear ? j->s->hosts.v[most].host : SS_NO_HOST;
}

/* Hardly any step is slow. */
static bool judge_few(struct judging *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	const struct ss_straggler_step *worst = NULL;
	for (size_t s = 0; s < j->s->steps.n; s++) {
		const struct ss_straggler_step *st = &j->s->steps.v[s];
		if (loses_much(j, st) && (!worst || st->lost_ps > worst->lost_ps))
			worst = st;
	}
	bool slow = worst && worst->slow;
	if (!slow && may_be_hidden(j)) {
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->why = "the others may wait for hosts without a complete recording: record these hosts as well";
	} else if (!slow && transfer_frac(j, false) > NETWORK_FRAC) {
		v->kind = SS_STRAGGLER_NETWORK;
		v->cause = SS_LATE_BY_TRANSFER;
	} else if (worst) {
		uint32_t host = slow ? worst->host : candidate(j);
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->why = "some steps took longer, but too few to judge: record more steps";
		v->host = host == SS_NO_HOST ? SS_STR("") : j->c->hosts.v[host].name;
		return !slow || ss_straggler_find_cause(j->c, j->x, j->s, host, &v->cause, err);
	}
	return true;
}

static bool judge_losses(struct judging *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	size_t place;
	uint32_t n = main_culprit(j, &place);
	if (n >= SAME_FRAC * j->nslow)
		return accuse(j, place, err);
	/*
	 * A few steps, now of one and now of another, that together cost next to nothing, are what
	 * chance makes of many.
	 */
	if (lost_of(j, SS_NO_HOST) * 1e6 < UNEVEN_FRAC * j->step_ps)
		return judge_few(j, err);
	v->kind = SS_STRAGGLER_ROTATING;
	return ss_straggler_find_cause(j->c, j->x, j->s, SS_NO_HOST, &v->cause, err);
}

static bool judge(struct judging *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	size_t ns = j->s->steps.n;
	uint32_t link;
	uint32_t most = SS_NO_HOST;
	bool uneven;
	double gain_ps;
	if (!find_slow_link(j, &link))
		return ss_fail_mem(err);
	if (link != SS_NO_HOST) {
		v->kind = SS_STRAGGLER_NETWORK;
		v->host = j->c->hosts.v[link].name;
		v->cause = SS_LATE_BY_TRANSFER;
		return true;
	}
	if (!find_uneven(j, &uneven, &most, &gain_ps))
		return ss_fail_mem(err);
	if (uneven) {
		v->kind = SS_STRAGGLER_UNEVEN;
		v->lost_us_per_step = gain_ps * 1e-6;
		return ss_uneven_find_cause(j->c, j->x, j->s, most, &v->cause, err);
	}
	v->lost_us_per_step = lost_of(j, SS_NO_HOST);
	v->steps_frac = (double)j->nslow / (double)ns;
	if (j->nslow >= few_steps(j))
		return judge_losses(j, err);
	return judge_few(j, err);
}

static bool any_stranger(const struct judging *j)
{
	bool any = false;
	for (size_t h = 0; h < j->c->hosts.n; h++)
		any |= j->c->hosts.v[h].stranger;
	return any;
}

#define NO_DEVICE "no recording holds a device; 'distributed' compares ranks of PyTorch on CPUs, by collectives of gloo"

static bool find(struct judging *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	*v = (struct ss_straggler_verdict){ .host = SS_STR(""), .device = -1, .steps_frac = NAN, .lost_us_per_step = NAN,
					    .confidence_frac = NAN, .noise_us = NAN };
	if (!choose_hosts(j) || !choose_steps(j) || !fill_excess(j))
		return ss_fail_mem(err);
	v->nhosts = (uint32_t)j->s->hosts.n;
	for (size_t h = 0; h < j->c->hosts.n; h++)
		v->nabsent += j->c->hosts.v[h].state != SS_HOST_OK;
	if (!v->nabsent && j->c->nranks_missing)
		v->nabsent = (uint32_t)j->c->nranks_missing;
	v->nsteps = (uint32_t)j->s->steps.n;
	if (j->s->steps.n)
		estimate(j);
	if (!count_last(j))
		return ss_fail_mem(err);
	v->nslow = j->nslow;
	if (j->s->hosts.n == 1 && !v->nabsent && !any_stranger(j))
		return true;
	if (j->s->hosts.n < 2 || !j->s->steps.n) {
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->why = any_stranger(j)      ? "the hosts run different programs: their steps cannot be compared"
			 : !ss_cluster_any_device(j->c) ? NO_DEVICE
			 : j->s->hosts.n == 1 ? "only one host has a complete recording with steps: record the others as well"
			 : !j->s->hosts.n     ? "no host has a complete recording with steps"
					      : "no step is in the recordings of all hosts";
		return true;
	}
	v->noise_us = j->s->excess.sigma_ps * 1e-6;
	return judge(j, err);
}

/* ---- as a part of the model ---- */

static void release(void *data)
{
	struct ss_straggler *s = data;
	ss_vec_free(&s->steps);
	ss_vec_free(&s->hosts);
	ss_excess_free(&s->excess);
	free(s);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_cluster *c = ss_model_cluster(owner, err);
	const struct ss_exposed *x = c ? ss_model_exposed(owner, err) : NULL;
	if (!x)
		return NULL;
	struct judging j = { .c = c, .x = x, .s = calloc(1, sizeof(*j.s)) };
	if (!j.s) {
		ss_fail_mem(err);
		return NULL;
	}
	ss_cluster_lock(c);
	bool ok = find(&j, err);
	ss_cluster_unlock(c);
	free(j.scratch);
	free(j.slow);
	if (ok)
		return j.s;
	release(j.s);
	return NULL;
}

const struct ss_straggler *ss_model_straggler(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_STRAGGLER], build, release, m, err);
}

bool ss_straggler_verdict(struct ss_model *m, struct ss_straggler_verdict *out, struct ss_err *err)
{
	const struct ss_straggler *s = ss_model_straggler(m, err);
	if (s)
		*out = s->verdict;
	return s;
}
