/* excess.c - see excess.h. */
#include "model/cluster/excess.h"

#include "base/str.h"
#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_FOR_CHANGES 6 /* steps */
#define SHARED_FRAC 0.25    /* of what all are apart: so much are those that are not the first apart */
#define ALIKE_FRAC 0.06	/* less than that share of what all are apart is no difference */
#define MEDIAN_ERROR 1.2533 /* standard error of a median, in those of a mean */

bool ss_excess_init(struct ss_excess *x, size_t n, size_t nsteps)
{
	size_t cells = n * nsteps;
	*x = (struct ss_excess){ .n = n, .nsteps = nsteps };
	x->ps = calloc(cells + 1, sizeof(double));
	x->median_ps = calloc(n + 1, sizeof(double));
	x->noise_ps = calloc(n + 1, sizeof(double));
	x->scratch = calloc(cells + n + nsteps + 1, sizeof(double));
	return x->ps && x->median_ps && x->noise_ps && x->scratch;
}

void ss_excess_free(struct ss_excess *x)
{
	free(x->ps);
	free(x->median_ps);
	free(x->noise_ps);
	free(x->scratch);
	*x = (struct ss_excess){ 0 };
}

size_t ss_excess_center(struct ss_excess *x, size_t step)
{
	double *v = &x->ps[step * x->n];
	size_t most = 0;
	memcpy(x->scratch, v, x->n * sizeof(*v));
	double middle = ss_median(x->scratch, x->n);
	for (size_t i = 0; i < x->n; i++) {
		v[i] -= middle;
		most = v[i] > v[most] ? i : most;
	}
	return most;
}

/*
 * By how much the median absolute deviation of so few values is too small, their own median taken
 * off (Croux and Rousseeuw 1992).
 */
static double few_values(size_t n)
{
	static const double factors[] = { 1, 1, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107 };
	return n < SS_COUNT(factors) ? factors[n] : (double)n / ((double)n - 0.8);
}

/*
 * What a member's own time varies by from one step to the next: excesses that grow, or come and go,
 * are no noise.
 */
static double sigma_of_changes(const struct ss_excess *x)
{
	double *of_one = x->scratch + x->n * x->nsteps, *all = x->scratch;
	size_t nall = 0, changes = x->nsteps - 1;
	for (size_t i = 0; i < x->n; i++) {
		for (size_t s = 0; s < changes; s++)
			of_one[s] = x->ps[(s + 1) * x->n + i] - x->ps[s * x->n + i];
		double middle = ss_median(of_one, changes);
		for (size_t s = 0; s < changes; s++)
			all[nall++] = fabs(of_one[s] - middle);
	}
	return SS_MAD_TO_SIGMA * few_values(changes) * ss_median(all, nall) / sqrt(2);
}

void ss_excess_estimate(struct ss_excess *x)
{
	double *of_one = x->scratch + x->n * x->nsteps, *all = x->scratch;
	size_t nall = 0;
	for (size_t i = 0; i < x->n; i++) {
		for (size_t s = 0; s < x->nsteps; s++)
			of_one[s] = x->ps[s * x->n + i];
		double middle = ss_median(of_one, x->nsteps);
		for (size_t s = 0; s < x->nsteps; s++) {
			of_one[s] = fabs(x->ps[s * x->n + i] - middle);
			all[nall++] = of_one[s];
		}
		x->median_ps[i] = middle;
		x->noise_ps[i] = SS_MAD_TO_SIGMA * ss_median(of_one, x->nsteps);
	}
	x->sigma_ps = SS_MAD_TO_SIGMA * few_values(x->nsteps) * ss_median(all, nall);
	if (x->nsteps >= LEAST_FOR_CHANGES)
		x->sigma_ps = fmin(x->sigma_ps, sigma_of_changes(x));
}

double ss_excess_by_chance_ps(const struct ss_excess *x)
{
	return (3 + sqrt(2 * log((double)(x->n > 1 ? x->n : 2)))) * x->sigma_ps;
}

/*
 * Two have more than all others, which are alike, and the first twice as much as the second: it is
 * late, and one other less so. `apart_ps` is what chance makes of members that are alike; a trifle
 * beside what the first is apart from them is nothing, either. Other devices of the two hosts may
 * be late with them, but none has less to do than the others.
 */
static bool stands_out(const struct ss_excess *x, const uint32_t *host, size_t first, double apart_ps)
{
	size_t second = SIZE_MAX, others = 0;
	double most = -INFINITY, least = INFINITY;
	for (size_t i = 0; i < x->n; i++)
		if (host[i] != host[first] && (second == SIZE_MAX || x->median_ps[i] > x->median_ps[second]))
			second = i;
	for (size_t i = 0; second != SIZE_MAX && i < x->n; i++) {
		least = fmin(least, x->median_ps[i]);
		if (host[i] == host[first] || host[i] == host[second])
			continue;
		others++;
		most = fmax(most, x->median_ps[i]);
	}
	apart_ps = fmax(apart_ps, ALIKE_FRAC * (x->median_ps[first] - least));
	return others > 1 && most - least <= apart_ps && x->median_ps[second] <= x->median_ps[first] / 2;
}

bool ss_excess_is_shared(const struct ss_excess *x, const uint32_t *host, double least_ps, double loss_ps)
{
	double second = -INFINITY, least = INFINITY, mean = 0;
	double chance = MEDIAN_ERROR * x->sigma_ps / sqrt((double)x->nsteps), extreme = sqrt(2 * log(fmax((double)x->n, 2)));
	size_t first = 0;
	for (size_t i = 0; i < x->n; i++) {
		mean += x->median_ps[i] / (double)x->n;
		first = x->median_ps[i] > x->median_ps[first] ? i : first;
	}
	for (size_t i = 0; i < x->n; i++) {
		if (host[i] == host[first])
			continue;
		second = fmax(second, x->median_ps[i]);
		least = fmin(least, x->median_ps[i]);
	}
	double gain = x->median_ps[first] - fmin(mean, 0), apart = second - least, alike = (3 + 2 * extreme) * chance;
	return gain > least_ps && gain > (3 + extreme) * chance && gain >= loss_ps / 2 &&
	       apart > SHARED_FRAC * (x->median_ps[first] - least) && apart > alike &&
	       !stands_out(x, host, first, alike);
}
