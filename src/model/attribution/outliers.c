/* outliers.c - which steps take far longer than most, and what a thread does in those alone. */
#include "model/attribution/build.h"

#include "base/safe.h"
#include "base/order.h"
#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

/* ---- which ---- */

/*
 * The chance that k steps of n, drawn at random, are every so many and no other: so many ways to
 * choose a distance and a first step, of all ways to choose k.
 */
static double chance_of_period(size_t n, size_t k)
{
	double ways = 0, all = 1;
	for (size_t period = 2; period < n; period++)
		ways += (n / period == k ? (double)(period - n % period) : 0) +
			(n / period + 1 == k ? (double)(n % period) : 0);
	for (size_t i = 0; i < k; i++)
		all *= (double)(n - i) / (double)(k - i);
	return ways / all;
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

/* ---- what ---- */

/* The events of one name. */
struct named {
	uint64_t slow_ps; /* in outlying steps, without those within another of the name */
	int64_t end_ps;	  /* of the last one */
	size_t nslow, last; /* outlying steps that have it, the last of them from 1 on */
	bool usual;	  /* a usual step has it, too, or the time between steps */
};

static void note(struct named *k, const struct ss_windows *w, int64_t begin_ps, int64_t end_ps, size_t *at)
{
	size_t i = ss_window_at(w, begin_ps, at);
	if (i == SIZE_MAX || !w->v[i].outlier || end_ps > w->v[i].end_ps) {
		k->usual = true;
		return;
	}
	k->nslow += k->last != i + 1;
	k->last = i + 1;
	if (k->nslow == 1 && !k->slow_ps)
		k->end_ps = begin_ps;
	int64_t from_ps = begin_ps > k->end_ps ? begin_ps : k->end_ps;
	k->slow_ps += end_ps > from_ps ? ss_safe_between(from_ps, end_ps) : 0;
	k->end_ps = end_ps > k->end_ps ? end_ps : k->end_ps;
}

/* Does it say what the program does? A function that Python has of itself, or one without a file, says little. */
static bool says_what(struct ss_attr_build *b, const struct ss_line *l, uint32_t i)
{
	struct ss_str name = ss_event_name(b->host, l->ev.meta[i]);
	struct ss_frame f;
	if (ss_frame_parse(name, &f))
		return f.line != 0;
	return !ss_is_step_marker_name(name) && ss_host_kinds_of(&b->kinds, l, i) == SS_KIND_OTHER;
}

static uint64_t excess_ps(const struct ss_windows *w)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < w->n; i++)
		sum_ps += w->v[i].outlier ? ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps) - w->typical_ps : 0;
	return sum_ps;
}

bool ss_find_extra(struct ss_attr_build *b)
{
	const struct ss_windows *w = b->w;
	const struct ss_line *l = w->line ? w->line : b->starter;
	if (!w->noutliers || !l || !b->host)
		return true;
	struct named *names = calloc((size_t)b->host->x->nevent_meta + 1, sizeof(*names)), *best = NULL;
	size_t at = 0;
	for (uint32_t i = 0; names && i < l->ev.n; i++)
		if (l->ev.meta[i] < b->host->x->nevent_meta && l->ev.dur_ps[i])
			note(&names[l->ev.meta[i]], w, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), &at);
	uint64_t least_ps = excess_ps(w) / 2;
	for (uint32_t i = 0; names && i < l->ev.n; i++) {
		struct named *k = l->ev.meta[i] < b->host->x->nevent_meta ? &names[l->ev.meta[i]] : NULL;
		if (!k || k->usual || k->nslow < w->noutliers || k->slow_ps < least_ps || (best && k->slow_ps <= best->slow_ps) ||
		    !says_what(b, l, i))
			continue;
		best = k;
		b->out->extra = ss_frame_text(ss_event_name(b->host, l->ev.meta[i]), b->arena);
		b->out->extra_ps = k->slow_ps;
	}
	bool ok = names && b->out->extra.p;
	free(names);
	return ok;
}
