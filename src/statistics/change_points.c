/* change_points.c - see change_points.h. */
#include "statistics/change_points.h"

#include "statistics/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct work {
	const double *v;
	size_t n;
	double alpha, band_frac;
	double *before, *after; /* of each value: distances to those before and after it in its part */
	double *scratch, *kept;
	bool *outlier;
	size_t *cuts, ncuts; /* ascending */
};

/* The values of a part without its outliers, as a sample of independent ones. */
static struct ss_sample level(struct work *w, size_t from, size_t to)
{
	size_t n = 0;
	double squares = 0;
	ss_mark_outliers(w->v + from, to - from, w->outlier, w->scratch);
	for (size_t i = from; i < to; i++)
		if (!w->outlier[i - from])
			w->kept[n++] = w->v[i];
	struct ss_sample s = { .n = n, .n_effective = (double)n };
	for (size_t i = 0; i < n; i++)
		s.mean += w->kept[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (w->kept[i] - s.mean) * (w->kept[i] - s.mean);
	s.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	s.se = s.sd / sqrt((double)n);
	s.df = (double)n - 1;
	return s;
}

static bool holds(struct work *w, size_t from, size_t cut, size_t to, struct ss_change_point *out)
{
	struct ss_sample a = level(w, from, cut), b = level(w, cut, to);
	struct ss_comparison c = ss_compare((struct ss_runs){ &a, 1 }, (struct ss_runs){ &b, 1 }, w->alpha);
	*out = (struct ss_change_point){ cut, a.mean, b.mean, c.p, cut - from, to - cut };
	return c.p < w->alpha && fabs(c.delta) > w->band_frac * fabs(a.mean);
}

/* The cut with the greatest energy statistic; 0: the part is too short. */
static size_t best_cut(struct work *w, size_t from, size_t to)
{
	double total = 0, left = 0, right, best = -1;
	size_t at = 0;
	for (size_t i = from; i < to; i++) {
		w->before[i] = w->after[i] = 0;
		for (size_t k = from; k < to; k++)
			*(k < i ? &w->before[i] : &w->after[i]) += fabs(w->v[i] - w->v[k]);
		total += w->before[i];
	}
	right = total;
	for (size_t cut = from + 1; cut < to; cut++) {
		left += w->before[cut - 1];
		right -= w->after[cut - 1];
		double n = (double)(cut - from), m = (double)(to - cut), cross = total - left - right;
		if (cut - from < SS_LEAST_SEGMENT || to - cut < SS_LEAST_SEGMENT)
			continue;
		double energy = 2 * cross / (n * m) - 2 * left / (n * (n - 1)) - 2 * right / (m * (m - 1));
		double q = n * m / (n + m) * energy;
		if (q > best) {
			best = q;
			at = cut;
		}
	}
	return at;
}

static void bisect(struct work *w, size_t from, size_t to)
{
	struct ss_change_point c;
	size_t cut = to - from >= 2 * SS_LEAST_SEGMENT ? best_cut(w, from, to) : 0;
	if (!cut || !holds(w, from, cut, to, &c))
		return;
	bisect(w, from, cut);
	w->cuts[w->ncuts++] = cut;
	bisect(w, cut, to);
}

/* Each cut beside its neighbours; the weakest that does not hold goes. */
static size_t settle(struct work *w, struct ss_change_point *out)
{
	for (;;) {
		size_t worst = SIZE_MAX;
		for (size_t i = 0; i < w->ncuts; i++) {
			size_t from = i ? w->cuts[i - 1] : 0, to = i + 1 < w->ncuts ? w->cuts[i + 1] : w->n;
			bool ok = holds(w, from, w->cuts[i], to, &out[i]);
			if (!ok && (worst == SIZE_MAX || !(out[i].p <= out[worst].p)))
				worst = i;
		}
		if (worst == SIZE_MAX)
			return w->ncuts;
		for (size_t i = worst; i + 1 < w->ncuts; i++)
			w->cuts[i] = w->cuts[i + 1];
		w->ncuts--;
	}
}

size_t ss_change_points(const double *v, size_t n, double alpha, double band_frac, struct ss_change_point *out)
{
	struct work w = { .v = v, .n = n, .alpha = alpha, .band_frac = band_frac };
	double *numbers = calloc(4 * n + 1, sizeof(*numbers));
	w.outlier = calloc(n + 1, sizeof(*w.outlier));
	w.cuts = calloc(n + 1, sizeof(*w.cuts));
	size_t found = SIZE_MAX;
	if (numbers && w.outlier && w.cuts && n <= SS_MOST_HISTORY) {
		w.before = numbers;
		w.after = numbers + n;
		w.scratch = numbers + 2 * n;
		w.kept = numbers + 3 * n;
		bisect(&w, 0, n);
		found = settle(&w, out);
	}
	free(numbers);
	free(w.outlier);
	free(w.cuts);
	return found;
}
