/* compare.c */
#include "statistics/compare.h"
#include "statistics/distribution.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define POWER 0.8
#define MOST_NEEDED ((uint64_t)1 << 50)
#define MIN_RUNS_TO_PERMUTE 5
#define MAX_SPLITS 100000
#define DRAWN_SPLITS 99999

static double mean_of(struct ss_runs r)
{
	double sum = 0;
	for (size_t i = 0; i < r.n; i++)
		sum += r.v[i].mean;
	return r.n ? sum / (double)r.n : NAN;
}

/* Variance of one run's mean about the mean of all such runs, for a side of several; *by_runs: of their means, not their errors. */
static double run_variance(struct ss_runs r, bool *by_runs)
{
	double mean = mean_of(r), between = 0, within = 0;
	for (size_t i = 0; i < r.n; i++) {
		between += (r.v[i].mean - mean) * (r.v[i].mean - mean);
		within += r.v[i].se * r.v[i].se;
	}
	between /= (double)(r.n - 1);
	within /= (double)r.n;
	*by_runs = between > within;
	return fmax(between, within);
}

/* Variance of a side's mean, and its degrees of freedom. */
struct spread {
	double variance, df;
};

static struct spread spread_of(struct ss_runs side, struct ss_runs other)
{
	bool by_runs;
	if (side.n > 1)
		return (struct spread){ run_variance(side, &by_runs) / (double)side.n, (double)(side.n - 1) };
	double own = side.v[0].se * side.v[0].se;
	if (other.n > 1)
		return (struct spread){ fmax(own, run_variance(other, &by_runs)), (double)(other.n - 1) };
	return (struct spread){ own, side.v[0].df };
}

/*
 * Two runs tell next to nothing of how runs differ, and as little again on the other side: alone, each leaves 1 to 2 degrees of
 * freedom, and t is enormous. Together they leave 2, if runs of both sides differ alike.
 */
static bool are_pairs(struct ss_runs a, struct ss_runs b)
{
	return a.n == 2 && b.n == 2;
}

/* Welch and Satterthwaite. */
static double joint_df(struct spread a, struct spread b)
{
	double sum = a.variance + b.variance, parts = 0;
	if (!(a.df > 0) || !(b.df > 0))
		return 0;
	if (!(sum > 0))
		return a.df + b.df;
	parts += a.variance * a.variance / a.df;
	parts += b.variance * b.variance / b.df;
	return sum * sum / parts;
}

static void judge(struct ss_comparison *c, double alpha)
{
	c->p = c->low = c->high = c->mde = c->u = NAN;
	if (!(c->df > 0) || isnan(c->delta))
		return;
	double t = ss_student_quantile(1 - alpha / 2, c->df);
	c->p = c->se > 0 ? ss_student_two_sided(c->delta / c->se, c->df) : c->delta != 0 ? 0 : 1;
	c->low = c->delta - t * c->se;
	c->high = c->delta + t * c->se;
	c->mde = (t + ss_student_quantile(POWER, c->df)) * c->se;
}

/* Pairs in which the new one is longer, ties half. */
static double mann_whitney_u(struct ss_runs base, struct ss_runs new)
{
	double u = 0;
	for (size_t i = 0; i < base.n; i++)
		for (size_t k = 0; k < new.n; k++)
			u += new.v[k].mean > base.v[i].mean ? 1 : new.v[k].mean == base.v[i].mean ? 0.5 : 0;
	return u;
}

static void judge_by_ranks(struct ss_comparison *c, struct ss_runs base, struct ss_runs new)
{
	double *means = calloc(base.n + new.n, sizeof(*means));
	if (!means)
		return; /* Welch's p stays */
	for (size_t i = 0; i < base.n; i++)
		means[i] = base.v[i].mean;
	for (size_t i = 0; i < new.n; i++)
		means[base.n + i] = new.v[i].mean;
	c->p = ss_permutation_test(means, base.n, means + base.n, new.n);
	c->u = mann_whitney_u(base, new);
	free(means);
}

struct ss_comparison ss_compare_means(struct ss_runs base, struct ss_runs new, double alpha)
{
	struct ss_comparison c = { .base = mean_of(base), .new = mean_of(new) };
	c.delta = c.new - c.base;
	if (base.n && new.n) {
		struct spread a = spread_of(base, new), b = spread_of(new, base);
		c.se = sqrt(a.variance + b.variance);
		c.df = are_pairs(base, new) ? 2 : joint_df(a, b);
	}
	judge(&c, alpha);
	return c;
}

static struct spread spread_of_rare(struct ss_runs r)
{
	bool by_runs;
	double variance = run_variance(r, &by_runs) / (double)r.n, df = 0;
	for (size_t i = 0; i < r.n; i++)
		df += r.v[i].df;
	return (struct spread){ variance, by_runs ? (double)(r.n - 1) : fmax(df, 1) };
}

struct ss_comparison ss_compare_rare(struct ss_runs base, struct ss_runs new, double alpha)
{
	struct ss_comparison c = ss_compare_means(base, new, alpha);
	if (base.n < 2 || new.n < 2)
		return c;
	c.df = joint_df(spread_of_rare(base), spread_of_rare(new));
	judge(&c, alpha);
	if (base.n >= MIN_RUNS_TO_PERMUTE && new.n >= MIN_RUNS_TO_PERMUTE)
		judge_by_ranks(&c, base, new);
	return c;
}

struct ss_comparison ss_compare(struct ss_runs base, struct ss_runs new, double alpha)
{
	struct ss_comparison c = ss_compare_means(base, new, alpha);
	if (base.n >= MIN_RUNS_TO_PERMUTE && new.n >= MIN_RUNS_TO_PERMUTE)
		judge_by_ranks(&c, base, new);
	return c;
}

bool ss_changed(const struct ss_comparison *c, const struct ss_rule *rule)
{
	if (!(c->p < rule->alpha))
		return false;
	return rule->one_run_a_side ? c->low > rule->band || c->high < -rule->band : fabs(c->delta) > rule->band;
}

/* `half`: of the interval. */
static double detectable(double half, double power, const struct ss_rule *rule)
{
	return (rule->one_run_a_side ? half + rule->band : fmax(half, rule->band)) + power;
}

double ss_detectable(const struct ss_comparison *c, const struct ss_rule *rule)
{
	double half = c->high - c->delta;
	return detectable(half, c->mde - half, rule);
}

/* The same of k values, n of which were as these: their spread stays, their degrees of freedom grow. */
static double detectable_of(const struct ss_comparison *c, size_t n, uint64_t k, const struct ss_rule *rule)
{
	double more = (double)k / (double)n, df = c->df * more, se = c->se / sqrt(more);
	return detectable(ss_student_quantile(1 - rule->alpha / 2, df) * se, ss_student_quantile(POWER, df) * se, rule);
}

uint64_t ss_samples_needed(const struct ss_comparison *c, size_t n, double effect, const struct ss_rule *rule)
{
	uint64_t enough = 1, few = 0;
	if (!(c->mde > 0) || !(effect > rule->band) || !n)
		return 0;
	while (enough < MOST_NEEDED && !(detectable_of(c, n, enough, rule) <= effect)) {
		few = enough;
		enough *= 2;
	}
	while (enough - few > 1) {
		uint64_t k = few + (enough - few) / 2;
		if (detectable_of(c, n, k, rule) <= effect)
			enough = k;
		else
			few = k;
	}
	return enough;
}

/* --- permutations --------------------------------------------------------------------------------- */

/* Splits of n values into k and n - k, no more than `most` counted. */
static double splits_of(size_t n, size_t k, double max)
{
	double splits = 1;
	for (size_t i = 1; i <= k && splits <= max; i++)
		splits *= (double)(n - k + i) / (double)i;
	return splits;
}

struct permute {
	const double *v;
	size_t n, k;
	double total, seen; /* sum of all; |difference of means| as recorded, less a rounding error */
	uint64_t tried, extreme;
};

static void count_split(struct permute *p, double sum)
{
	double rest = (p->total - sum) / (double)(p->n - p->k);
	p->tried++;
	p->extreme += fabs(sum / (double)p->k - rest) >= p->seen;
}

/* All choices of k values, in lexicographic order of their indices. */
static void try_all(struct permute *p, size_t *pick)
{
	for (size_t i = 0; i < p->k; i++)
		pick[i] = i;
	for (;;) {
		double sum = 0;
		for (size_t i = 0; i < p->k; i++)
			sum += p->v[pick[i]];
		count_split(p, sum);
		size_t at = p->k;
		while (at > 0 && pick[at - 1] == p->n - p->k + at - 1)
			at--;
		if (!at)
			return;
		pick[at - 1]++;
		for (size_t i = at; i < p->k; i++)
			pick[i] = pick[i - 1] + 1;
	}
}

/* A linear congruential generator of a fixed seed: equal bytes, equal answer. */
static size_t draw(uint64_t *state, size_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)((*state >> 33) % below);
}

static void try_drawn(struct permute *p, size_t *pick)
{
	uint64_t state = 20240229;
	for (size_t i = 0; i < p->n; i++)
		pick[i] = i;
	p->tried = p->extreme = 1; /* the split as recorded */
	for (int round = 0; round < DRAWN_SPLITS; round++) {
		double sum = 0;
		for (size_t i = 0; i < p->k; i++) {
			size_t other = i + draw(&state, p->n - i), t = pick[i];
			pick[i] = pick[other];
			pick[other] = t;
			sum += p->v[pick[i]];
		}
		count_split(p, sum);
	}
}

double ss_permutation_test(const double *base, size_t nbase, const double *new, size_t nnew)
{
	struct permute p = { .n = nbase + nnew, .k = nbase };
	double sum_base = 0;
	if (!nbase || !nnew)
		return NAN;
	double *all = malloc(p.n * sizeof(*all));
	size_t *pick = malloc(p.n * sizeof(*pick));
	for (size_t i = 0; all && i < p.n; i++) {
		all[i] = i < nbase ? base[i] : new[i - nbase];
		p.total += all[i];
		sum_base += i < nbase ? all[i] : 0;
	}
	double p_value = NAN;
	if (all && pick) {
		p.v = all;
		p.seen = fabs(sum_base / (double)nbase - (p.total - sum_base) / (double)nnew) * (1 - 1e-12);
		if (splits_of(p.n, p.k, MAX_SPLITS) <= MAX_SPLITS)
			try_all(&p, pick);
		else
			try_drawn(&p, pick);
		p_value = (double)p.extreme / (double)p.tried;
	}
	free(all);
	free(pick);
	return p_value;
}

/* --- many rows ------------------------------------------------------------------------------------ */

struct ranked {
	double p;
	size_t at;
};

static int by_p_descending(const void *a, const void *b)
{
	const struct ranked *ra = a, *rb = b;
	return (ra->p < rb->p) - (ra->p > rb->p);
}

bool ss_adjust_p(double *p, size_t n)
{
	struct ranked *r = malloc((n + 1) * sizeof(*r));
	size_t m = 0;
	double min = 1;
	if (!r)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isnan(p[i]))
			r[m++] = (struct ranked){ p[i], i };
	qsort(r, m, sizeof(*r), by_p_descending);
	for (size_t i = 0; i < m; i++) {
		min = fmin(min, r[i].p * (double)m / (double)(m - i));
		p[r[i].at] = min;
	}
	free(r);
	return true;
}

static bool logs_of(const double *v, size_t n, double *mean, double *squares)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		if (!(v[i] > 0))
			return false;
		sum += log(v[i]);
	}
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		*squares += (log(v[i]) - *mean) * (log(v[i]) - *mean);
	return n > 0;
}

bool ss_log_row_of(const double *base, size_t nbase, const double *new, size_t nnew, struct ss_log_row *out)
{
	double squares = 0;
	*out = (struct ss_log_row){ 0 };
	if (nbase + nnew < 3 || !logs_of(base, nbase, &out->log_base, &squares) || !logs_of(new, nnew, &out->log_new, &squares))
		return false;
	out->df = (double)(nbase + nnew - 2);
	out->variance = squares / out->df;
	out->weight = exp(out->log_base) + exp(out->log_new);
	return true;
}

static int by_variance(const void *a, const void *b)
{
	const struct ss_log_row *ra = a, *rb = b;
	return SS_CMP(ra->variance, rb->variance);
}

struct ss_moderation ss_moderation_of(struct ss_log_row *rows, size_t n)
{
	double total = 0, sum = 0;
	if (!n)
		return (struct ss_moderation){ 0 };
	qsort(rows, n, sizeof(*rows), by_variance);
	for (size_t i = 0; i < n; i++)
		total += rows[i].weight;
	for (size_t i = 0; i < n; i++)
		if ((sum += rows[i].weight) >= total / 2)
			return (struct ss_moderation){ rows[i].variance, SS_PRIOR_DF };
	return (struct ss_moderation){ rows[n - 1].variance, SS_PRIOR_DF };
}

struct ss_comparison ss_compare_logs(const struct ss_log_row *r, const struct ss_moderation *m, size_t nbase, size_t nnew,
				     double alpha)
{
	/*
	 * A run alone on its side shows nothing of how runs of that side differ: what all rows say
	 * of it is worth half.
	 */
	double prior_df = nbase > 1 && nnew > 1 ? m->prior_df : m->prior_df / 2;
	double df = r->df + prior_df;
	double variance = (r->df * r->variance + prior_df * m->prior_variance) / df;
	struct ss_comparison c = { .delta = r->log_new - r->log_base, .df = df,
				   .se = sqrt(variance * (1 / (double)nbase + 1 / (double)nnew)) };
	judge(&c, alpha);
	c.base = exp(r->log_base);
	c.new = exp(r->log_new);
	c.delta = c.new - c.base;
	c.low = c.base * expm1(c.low);
	c.high = c.base * expm1(c.high);
	c.mde = c.base * expm1(c.mde);
	c.se = c.base * c.se;
	return c;
}
