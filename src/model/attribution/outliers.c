/* outliers.c - which steps take far longer than most. */
#include "model/attribution/windows.h"

#include "base/safe.h"
#include "base/order.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

double ss_ways_to_choose(size_t n, size_t k)
{
	double ways = 1;
	for (size_t i = 0; i < k; i++)
		ways *= (double)(n - i) / (double)(k - i);
	return ways;
}

/*
 * The chance that k steps of n, drawn at random, are every so many and no other: so many ways to
 * choose a distance and a first step, of all ways to choose k.
 */
static double chance_of_period(size_t n, size_t k)
{
	double ways = 0;
	for (size_t period = 2; period < n; period++)
		ways += (n / period == k ? (double)(period - n % period) : 0) +
			(n / period + 1 == k ? (double)(n % period) : 0);
	return ways / ss_ways_to_choose(n, k);
}

/* The distance between the numbers of outliers, where all are equally far from each other; 0 else. */
static int64_t distance(const struct ss_windows *w)
{
	int64_t before = 0, period = 0;
	bool any = false;
	for (size_t i = 0; i < w->n; i++) {
		if (!w->v[i].outlier)
			continue;
		int64_t from_last = (int64_t)((uint64_t)w->v[i].num - (uint64_t)before);
		if (any && period && from_last != period)
			return 0;
		if (any)
			period = from_last;
		before = w->v[i].num;
		any = true;
	}
	/* Every so many, and not one between them. */
	for (size_t i = 0; period > 1 && i < w->n; i++)
		if (!w->v[i].outlier && (int64_t)((uint64_t)w->v[i].num - (uint64_t)before) % period == 0)
			return 0;
	return period;
}

int64_t ss_windows_period(const struct ss_windows *w)
{
	/* Two of them are always some number apart. */
	int64_t period = w->noutliers > 2 ? distance(w) : 0;
	return period > 1 && chance_of_period(w->n, w->noutliers) <= SS_CHANCE ? period : 0;
}

static void mark_outliers(struct ss_windows *w, uint64_t longest_ps, uint64_t *excess_ps)
{
	for (size_t i = 0; i < w->n; i++) {
		uint64_t dur_ps = ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps);
		double beyond = SS_OUTLIER_OF_LARGEST * (double)(longest_ps - w->typical_ps);
		w->v[i].outlier = (double)dur_ps > SS_OUTLIER_RATIO * (double)w->typical_ps &&
				  (double)(dur_ps - w->typical_ps) >= beyond;
		w->noutliers += w->v[i].outlier;
		*excess_ps += w->v[i].outlier ? dur_ps - w->typical_ps : 0;
	}
}

bool ss_windows_find_outliers(struct ss_windows *w)
{
	uint64_t *v = malloc((w->n + 1) * sizeof(*v)), excess_ps = 0;
	if (!v)
		return false;
	for (size_t i = 0; i < w->n; i++)
		v[i] = ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps);
	qsort(v, w->n, sizeof(*v), ss_cmp_u64);
	w->typical_ps = w->n ? v[w->n / 2] : 0;
	mark_outliers(w, w->n ? v[w->n - 1] : 0, &excess_ps);
	/*
	 * Half of the steps are no outliers. A program that is just irregular has none either; one that is
	 * slow every third step is not.
	 */
	bool few = w->noutliers * 3 <= w->n, regular = !few && w->noutliers * 2 < w->n && ss_windows_period(w);
	bool matters = w->n && (double)excess_ps > SS_OUTLIER_SHARE * (double)ss_safe_between(w->begin_ps, w->end_ps);
	bool found = w->n >= SS_LEAST_STEPS_OF_OUTLIERS && (few || regular) && matters;
	if (found && regular)
		w->typical_ps = v[(w->n - w->noutliers) / 2];
	free(v);
	for (size_t i = 0; !found && i < w->n; i++)
		w->v[i].outlier = false;
	w->noutliers = found ? w->noutliers : 0;
	return true;
}
