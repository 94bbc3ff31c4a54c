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
	double correlation;  /* of neighbours, about the levels; 0 until it is known */
};

/* A history is searched in so many places that a long one needs a stricter test. */
#define USUAL_HISTORY 40
/*
 * A correlation that independent values have in one of ten histories is none, and a short one shows
 * none.
 */
#define CORRELATION_QUANTILE 1.28
#define SHORT_HISTORY 16

/* The values of a part without its outliers. */
static struct ss_sample level(struct work *w, size_t from, size_t to)
{
	size_t n = 0;
	double squares = 0;
	ss_mark_outliers(w->v + from, to - from, w->outlier, w->scratch);
	for (size_t i = from; i < to; i++)
		if (!w->outlier[i - from])
			w->kept[n++] = w->v[i];
	struct ss_sample s = { .n = n, .n_effective = (double)n * (1 - w->correlation) / (1 + w->correlation) };
	for (size_t i = 0; i < n; i++)
		s.mean += w->kept[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (w->kept[i] - s.mean) * (w->kept[i] - s.mean);
	s.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	s.se = s.sd / sqrt(s.n_effective);
	s.df = s.n_effective - 1;
	return s;
}

static bool holds(struct work *w, size_t from, size_t cut, size_t to, struct ss_change_point *out)
{
	struct ss_sample a = level(w, from, cut), b = level(w, cut, to);
	struct ss_comparison c = ss_compare((struct ss_runs){ &a, 1 }, (struct ss_runs){ &b, 1 }, w->alpha);
	*out = (struct ss_change_point){ cut, a.mean, b.mean, c.p, cut - from, to - cut };
	double alpha = w->alpha * fmin(1, (double)USUAL_HISTORY / (double)w->n);
	return c.p < alpha && fabs(c.delta) > w->band_frac * fabs(a.mean);
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

/*
 * Of neighbours about the levels that the cuts make: a machine that is slow today is slow tomorrow,
 * which is no change.
 */
static double correlation_of(struct work *w)
{
	double products = 0, squares = 0, size = 0, n = (double)w->n;
	if (w->n < SHORT_HISTORY)
		return 0;
	for (size_t i = 0; i <= w->ncuts; i++) {
		size_t from = i ? w->cuts[i - 1] : 0, to = i < w->ncuts ? w->cuts[i] : w->n;
		double mean = level(w, from, to).mean, last = 0;
		for (size_t k = from; k < to; k++) {
			double v = w->outlier[k - from] ? 0 : w->v[k] - mean;
			products += v * last;
			squares += v * v;
			size += w->v[k] * w->v[k];
			last = v;
		}
	}
	double r = squares > 1e-20 * size ? products / squares : 0; /* below lie rounding errors */
	r += (1 + 3 * r) * (double)(w->ncuts + 1) / n; /* Kendall's correction, of each level */
	return r > CORRELATION_QUANTILE / sqrt(n) ? fmin(r, 0.95) : 0;
}

/* Each cut beside its neighbours; the weakest that does not hold goes. */
static size_t settle(struct work *w, struct ss_change_point *out)
{
	for (;;) {
		size_t worst = SIZE_MAX;
		w->correlation = correlation_of(w);
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
