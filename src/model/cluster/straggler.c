/* straggler.c - see straggler.h. */
#include "model/cluster/straggler.h"

#include "model/cluster/cause.h"
#include "model/cluster/robust.h"
#include "model/cluster/straggler_metrics.h"
#include "model/host/part.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#define UNEVEN_FRAC 0.01	/* of a step that is lost at least: what lasts is known better than a single step's loss */
#define FEW_FRAC 0.10		/* of steps: fewer slow ones are an accident */
#define BALANCED_FRAC 0.05	/* of a step: no step lost as much */
#define NETWORK_FRAC (1.0 / 3)	/* of the time that exposed transfers take: bound by them */
#define SAME_FRAC 0.80		/* of slow steps that one host, or one device, is behind */
#define CONSTANT_FRAC 0.90
#define CANDIDATE_FRAC 0.90 /* that it is no chance, for a host to be named where noise is large */
#define LEAST_STEPS 3
#define MOST_MORE_STEPS 100 /* far beyond what any two hosts need */
#define DRIFT_CORRELATION 0.9

const char *ss_straggler_kind_name(enum ss_straggler_kind kind)
{
	static const char *const names[] = { "balanced", "straggler", "uneven", "rotating", "network",
					     "inconclusive", "one_host" };
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

static double transfer_frac(const struct ss_straggler_metrics *j, bool with_waits)
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
static bool may_be_hidden(const struct ss_straggler_metrics *j)
{
	return j->s->verdict.nabsent && transfer_frac(j, true) > BALANCED_FRAC;
}

/* ---- one host ---- */

static uint32_t main_culprit(const struct ss_straggler_metrics *j, size_t *place)
{
	*place = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		if (j->s->hosts.v[h].culprit_steps > j->s->hosts.v[*place].culprit_steps)
			*place = h;
	return j->s->hosts.v[*place].culprit_steps;
}

/* The longest work of the other devices of the host in a step; -1: none of them has the step. */
static int64_t most_of_others(const struct ss_straggler_metrics *j, const struct ss_cluster_host *h, uint32_t device,
			      int64_t step)
{
	int64_t most = -1;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct ss_device_step *r = d == device ? NULL : ss_straggler_row(j->x, d, step);
		if (r && ss_device_step_own_ps(r) > most)
			most = ss_device_step_own_ps(r);
	}
	return most;
}

/*
 * The same device in most of its slow steps, and the others of the host exceed by less than half as
 * much.
 */
static int32_t one_device(const struct ss_straggler_metrics *j, size_t place)
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
		const struct ss_device_step *own = ss_straggler_row(j->x, best, st->step);
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
static bool is_drifting(const struct ss_straggler_metrics *j, size_t place)
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
static bool is_late_always(const struct ss_straggler_metrics *j, size_t place)
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

static enum ss_straggler_pattern pattern_of(const struct ss_straggler_metrics *j, size_t place)
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

/*
 * What its slow steps were longer than the median host's, per step of all; of two hosts, than the
 * other's.
 */
static double lost_of(const struct ss_straggler_metrics *j, uint32_t host)
{
	double sum = 0;
	for (uint32_t i = 0; i < j->nslow; i++) {
		const struct ss_straggler_step *st = &j->s->steps.v[j->slow[i]];
		if (host == SS_NO_HOST || st->host == host)
			sum += ss_straggler_times_excess(j) * (double)st->lost_ps;
	}
	return sum * 1e-6 / (double)j->s->steps.n;
}

/* The least number of further steps, all of them slow because of this host, that make it certain. */
static uint32_t steps_to_be_sure(const struct ss_straggler_metrics *j, uint32_t culprit_steps)
{
	uint32_t more = 0;
	while (more < MOST_MORE_STEPS &&
	       (ss_fewer_than(culprit_steps + more, j->nslow + more, 1.0 / (double)j->s->hosts.n) < SS_SURE_FRAC ||
		j->s->steps.n + more < LEAST_STEPS))
		more++;
	return more;
}

static bool accuse(struct ss_straggler_metrics *j, size_t place, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	const struct ss_straggler_host *h = &j->s->hosts.v[place];
	v->kind = SS_STRAGGLER_ONE;
	v->host = j->c->hosts.v[h->host].name;
	v->device = one_device(j, place);
	v->pattern = pattern_of(j, place);
	v->steps_frac = (double)h->culprit_steps / (double)j->s->steps.n;
	v->lost_us_per_step = lost_of(j, h->host);
	v->confidence_frac = ss_fewer_than(h->culprit_steps, j->nslow, 1.0 / (double)j->s->hosts.n);
	if (v->confidence_frac < SS_SURE_FRAC || j->s->steps.n < LEAST_STEPS) {
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->more_steps = steps_to_be_sure(j, h->culprit_steps);
	}
	return ss_straggler_find_cause(j->c, j->x, j->s, h->host, &v->cause, err);
}

/* ---- several ---- */

/* Fewer slow steps are an accident. */
static double few_steps(const struct ss_straggler_metrics *j)
{
	return fmax(FEW_FRAC * (double)j->s->steps.n, 2);
}

#define OWN_TIME SS_EXPOSED_CLASSES /* in place of a class: all that a device itself needed */

/* Whose times are compared: each device, or of each host the longest of its devices. */
struct member {
	uint32_t first_device, ndevices, host;
};

/* Devices with steps of the hosts that are compared; `v` may be NULL. */
static size_t list_devices(const struct ss_straggler_metrics *j, struct member *v)
{
	size_t n = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++) {
		const struct ss_cluster_host *host = &j->c->hosts.v[j->s->hosts.v[h].host];
		for (uint32_t d = host->first_device; d < host->first_device + host->ndevices; d++) {
			if (!j->c->devices.v[d].nsteps)
				continue;
			if (v)
				v[n] = (struct member){ d, 1, j->s->hosts.v[h].host };
			n++;
		}
	}
	return n;
}

static size_t list_hosts(const struct ss_straggler_metrics *j, struct member *v)
{
	for (size_t h = 0; h < j->s->hosts.n; h++) {
		const struct ss_cluster_host *host = &j->c->hosts.v[j->s->hosts.v[h].host];
		v[h] = (struct member){ host->first_device, host->ndevices, j->s->hosts.v[h].host };
	}
	return j->s->hosts.n;
}

static double longest_ps(const struct ss_straggler_metrics *j, const struct member *m, int64_t step, unsigned cls)
{
	int64_t most = 0;
	for (uint32_t d = m->first_device; d < m->first_device + m->ndevices; d++) {
		const struct ss_device_step *r = ss_straggler_row(j->x, d, step);
		int64_t ps = !r ? 0 : cls == OWN_TIME ? ss_device_step_own_ps(r) : r->class_ps[cls];
		most = ps > most ? ps : most;
	}
	return (double)most;
}

/* Have several members more time of this class in each step, or OWN_TIME? Fills `x` and `host`. */
static bool is_shared(struct ss_straggler_metrics *j, struct ss_excess *x, const struct member *v, size_t n, unsigned cls,
		      uint32_t *host)
{
	x->n = n;
	for (size_t s = 0; s < x->nsteps; s++) {
		for (size_t i = 0; i < n; i++)
			x->ps[s * n + i] = longest_ps(j, &v[i], j->s->steps.v[s].step, cls);
		ss_excess_center(x, s);
	}
	ss_excess_estimate(x);
	for (size_t i = 0; i < n; i++)
		host[i] = v[i].host;
	for (uint32_t i = 0; i < j->nslow; i++)
		j->scratch[i] = (double)j->s->steps.v[j->slow[i]].lost_ps;
	double loss = j->nslow >= few_steps(j) ? ss_median(j->scratch, j->nslow) : 0;
	return ss_excess_is_shared(x, host, UNEVEN_FRAC * j->step_ps, loss);
}

static size_t first_of(const struct ss_excess *x)
{
	size_t first = 0;
	for (size_t i = 0; i < x->n; i++)
		first = x->median_ps[i] > x->median_ps[first] ? i : first;
	return first;
}

/* By how much a member's median is above the mean of all: what it would gain if all had as much. */
static double above_mean_ps(const struct ss_excess *x, size_t member)
{
	double mean = 0;
	for (size_t i = 0; i < x->n; i++)
		mean += x->median_ps[i] / (double)x->n;
	return x->median_ps[member] - mean;
}

/*
 * Does each device of the host with the most need longer than any device of another host, and would
 * chance hardly ever choose those of one host? Then it is hosts that differ.
 */
static bool differ_by_host(const struct ss_straggler_metrics *j, const struct ss_excess *x, const uint32_t *host)
{
	size_t first = first_of(x), of_host = 0;
	double least = INFINITY, others = -INFINITY, choices = 1;
	for (size_t i = 0; i < x->n; i++) {
		if (host[i] != host[first]) {
			others = fmax(others, x->median_ps[i]);
			continue;
		}
		least = fmin(least, x->median_ps[i]);
		of_host++;
		choices *= (double)(x->n - of_host + 1) / (double)of_host;
	}
	return least > others && (double)j->s->hosts.n <= (1 - SS_SURE_FRAC) * choices;
}

/*
 * By devices, as hosts whose slowest devices are alike may have devices that are not: the others
 * wait for them all the same. Work that is uneven lasts: what grows is no work. Several have to
 * have more of the same: where only one is late for its input, that others compute longer is
 * another matter.
 */
static bool judge_uneven(struct ss_straggler_metrics *j, struct ss_excess *x, struct member *v, uint32_t *host, bool *uneven,
			 struct ss_err *err)
{
	struct ss_straggler_verdict *verdict = &j->s->verdict;
	enum ss_straggler_cause cause;
	size_t n = list_devices(j, v);
	if (!is_shared(j, x, v, n, OWN_TIME, host))
		return true;
	uint32_t most = v[first_of(x)].first_device;
	double gain_ps = above_mean_ps(x, first_of(x));
	size_t place = ss_straggler_place_of(j, v[first_of(x)].host);
	if (j->nslow >= few_steps(j) && is_drifting(j, place))
		return true;
	if (differ_by_host(j, x, host)) {
		n = list_hosts(j, v);
		if (!is_shared(j, x, v, n, OWN_TIME, host))
			return true;
	}
	if (!ss_uneven_find_cause(j->c, j->x, j->s, most, &cause, err))
		return false;
	*uneven = is_shared(j, x, v, n, ss_straggler_class_of(cause), host);
	if (*uneven) {
		verdict->kind = SS_STRAGGLER_UNEVEN;
		verdict->lost_us_per_step = gain_ps * 1e-6;
		verdict->cause = cause;
	}
	return true;
}

static bool find_uneven(struct ss_straggler_metrics *j, bool *uneven, struct ss_err *err)
{
	struct ss_excess x = { 0 };
	size_t n = list_devices(j, NULL), room = (n > j->s->hosts.n ? n : j->s->hosts.n) + 1;
	struct member *v = calloc(room, sizeof(*v));
	uint32_t *host = calloc(room, sizeof(*host));
	*uneven = false;
	bool ok = (v && host && ss_excess_init(&x, room, j->s->steps.n)) || ss_fail_mem(err);
	if (ok && n)
		ok = judge_uneven(j, &x, v, host, uneven, err);
	ss_excess_free(&x);
	free(v);
	free(host);
	return ok;
}

/* ---- the verdict, in the order of what would be taken for something else ---- */

static bool loses_much(const struct ss_straggler_metrics *j, const struct ss_straggler_step *st)
{
	return ss_straggler_times_excess(j) * (double)st->lost_ps > BALANCED_FRAC * (double)st->length_ps;
}

/*
 * Noise is larger than what any step loses, but it is the same host that needs longest in nearly
 * all that lose much, more often than chance makes it: SS_NO_HOST, or the one to look at.
 */
static uint32_t candidate(const struct ss_straggler_metrics *j)
{
	uint32_t all = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		j->scratch[h] = 0;
	for (size_t s = 0; s < j->s->steps.n; s++) {
		size_t at = loses_much(j, &j->s->steps.v[s]) ? ss_straggler_place_of(j, j->s->steps.v[s].host) : SIZE_MAX;
		if (at == SIZE_MAX)
			continue;
		all++;
		j->scratch[at]++;
	}
	size_t most = 0;
	for (size_t h = 0; h < j->s->hosts.n; h++)
		most = j->scratch[h] > j->scratch[most] ? h : most;
	uint32_t n = (uint32_t)j->scratch[most];
	bool clear = n >= SAME_FRAC * all && ss_fewer_than(n, all, 1.0 / (double)j->s->hosts.n) >= CANDIDATE_FRAC;
	return clear ? j->s->hosts.v[most].host : SS_NO_HOST;
}

/* Hardly any step is slow. */
static bool judge_few(struct ss_straggler_metrics *j, struct ss_err *err)
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

static bool judge_losses(struct ss_straggler_metrics *j, struct ss_err *err)
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

/* Only hosts that meet can wait for each other. */
static bool any_linked(const struct ss_straggler_metrics *j)
{
	for (size_t h = 0; h < j->c->hosts.n; h++)
		if (j->c->hosts.v[h].clock.state != SS_CLOCK_UNKNOWN)
			return true;
	return false;
}

static bool judge_steps(struct ss_straggler_metrics *j, struct ss_err *err)
{
	return j->nslow >= few_steps(j) ? judge_losses(j, err) : judge_few(j, err);
}

static bool judge(struct ss_straggler_metrics *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	size_t ns = j->s->steps.n;
	uint32_t link;
	bool uneven;
	if (!ss_straggler_find_slow_link(j, &link))
		return ss_fail_mem(err);
	if (link != SS_NO_HOST) {
		v->kind = SS_STRAGGLER_NETWORK;
		v->host = j->c->hosts.v[link].name;
		v->cause = SS_LATE_BY_TRANSFER;
		return true;
	}
	if (!find_uneven(j, &uneven, err))
		return false;
	if (uneven)
		return true;
	v->lost_us_per_step = lost_of(j, SS_NO_HOST);
	v->steps_frac = (double)j->nslow / (double)ns;
	if (!judge_steps(j, err))
		return false;
	if (v->kind == SS_STRAGGLER_BALANCED && !any_linked(j)) {
		v->kind = SS_STRAGGLER_INCONCLUSIVE;
		v->why = "no collective links the hosts: nothing shows that one waits for another, or that they are of one job";
	}
	return true;
}

static bool any_stranger(const struct ss_straggler_metrics *j)
{
	bool any = false;
	for (size_t h = 0; h < j->c->hosts.n; h++)
		any |= j->c->hosts.v[h].stranger;
	return any;
}

#define NO_DEVICE "no recording holds a device; 'distributed' compares ranks of PyTorch on CPUs, by collectives of gloo"

static bool find(struct ss_straggler_metrics *j, struct ss_err *err)
{
	struct ss_straggler_verdict *v = &j->s->verdict;
	*v = (struct ss_straggler_verdict){ .host = SS_STR(""), .device = -1, .steps_frac = NAN, .lost_us_per_step = NAN,
					    .confidence_frac = NAN, .noise_us = NAN };
	if (!ss_straggler_measure(j))
		return ss_fail_mem(err);
	v->nhosts = (uint32_t)j->s->hosts.n;
	for (size_t h = 0; h < j->c->hosts.n; h++)
		v->nabsent += j->c->hosts.v[h].state != SS_HOST_OK;
	if (!v->nabsent && j->c->nranks_missing)
		v->nabsent = (uint32_t)j->c->nranks_missing;
	v->nsteps = (uint32_t)j->s->steps.n;
	v->nslow = j->nslow;
	if (j->s->hosts.n == 1 && !v->nabsent && !any_stranger(j)) {
		v->kind = SS_STRAGGLER_ONE_HOST;
		return true;
	}
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
	struct ss_straggler_metrics j = { .c = c, .x = x, .s = calloc(1, sizeof(*j.s)) };
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
