/* sample.c */
#include "statistics/sample.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/*
 * Outliers are this many estimated standard deviations away, and at least this much of the median.
 */
#define OUTLIER_SIGMAS 5
#define SIGMA_PER_MAD 1.4826
#define OUTLIER_FRAC 0.10
/* More of them than this are a second mode. */
#define MODE_FRAC 0.20
/* Values that differ by no more than this of their mean are equal: what differs is rounding, of clocks and of sums. */
#define ROUNDING_FRAC 1e-9
/*
 * The correlation is in the standard error already. In the degrees of freedom it counts again, as it is estimated as well; with
 * fewer than 2 of them the interval holds no more often what it should, and is wider without bounds.
 */
#define LEAST_DF 2

static double middle_of_three(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/*
 * Puts the value that would be at k if all were sorted there, and none that is greater before it.
 */
static void select_at(double *v, size_t n, size_t k)
{
	size_t from = 0, to = n;
	for (unsigned round = 0; to - from > 16 && round < 64; round++) {
		double pivot = middle_of_three(v[from], v[from + (to - from) / 2], v[to - 1]);
		size_t less = from, at = from, more = to;
		while (at < more) {
			double x = v[at];
			if (x < pivot) {
				v[at++] = v[less];
				v[less++] = x;
			} else if (x > pivot) {
				v[at] = v[--more];
				v[more] = x;
			} else {
				at++;
			}
		}
		if (k >= less && k < more)
			return;
		from = k < less ? from : more;
		to = k < less ? less : to;
	}
	qsort(v + from, to - from, sizeof(*v), ss_cmp_double);
}

double ss_median(double *v, size_t n)
{
	if (!n)
		return NAN;
	select_at(v, n, n / 2);
	if (n % 2)
		return v[n / 2];
	double below = v[0];
	for (size_t i = 1; i < n / 2; i++)
		below = v[i] > below ? v[i] : below;
	return below / 2 + v[n / 2] / 2;
}

size_t ss_mark_outliers(const double *v, size_t n, bool *outlier, double *scratch)
{
	size_t marked = 0;
	for (size_t i = 0; i < n; i++)
		scratch[i] = v[i];
	double median = ss_median(scratch, n);
	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(v[i] - median);
	double limit = fmax(OUTLIER_SIGMAS * SIGMA_PER_MAD * ss_median(scratch, n), OUTLIER_FRAC * fabs(median));
	for (size_t i = 0; i < n; i++) {
		outlier[i] = fabs(v[i] - median) > limit;
		marked += outlier[i];
	}
	if ((double)marked <= MODE_FRAC * (double)n)
		return marked;
	for (size_t i = 0; i < n; i++)
		outlier[i] = false;
	return 0;
}

struct ss_sample ss_sample_of(const double *v, size_t n)
{
	struct ss_sample s = { .n = n, .n_effective = (double)n };
	double squares = 0, neighbours = 0, dn = (double)n;
	for (size_t i = 0; i < n; i++)
		s.mean += v[i] / dn;
	for (size_t i = 0; i < n; i++) {
		squares += (v[i] - s.mean) * (v[i] - s.mean);
		neighbours += i ? (v[i] - s.mean) * (v[i - 1] - s.mean) : 0;
	}
	if (n < 2)
		return s;
	s.sd = sqrt(squares / (dn - 1));
	if (s.sd <= ROUNDING_FRAC * fabs(s.mean) || !(squares > 0)) {
		s.sd = ROUNDING_FRAC * fabs(s.mean);
		s.se = s.sd / sqrt(dn);
		s.df = dn - 1;
		return s;
	}
	double r = neighbours / squares;
	r += (1 + 3 * r) / dn;
	s.correlation = fmin(fmax(r, 0), 1 - 2 / (dn + 1)); /* so that at least one value is left */
	s.n_effective = dn * (1 - s.correlation) / (1 + s.correlation);
	s.se = s.sd / sqrt(s.n_effective);
	s.df = fmax(s.n_effective - 1, fmin(LEAST_DF, dn - 1));
	return s;
}
