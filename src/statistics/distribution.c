/*
 * distribution.c - Student's t through the regularized incomplete beta function, which is a continued fraction
 * (Lentz's method); Fisher's test through log-factorials (lgamma).
 */
#include "statistics/distribution.h"

#include <math.h>

#define MAX_TERMS 500
#define PRECISION 1e-15
#define SMALLEST 1e-300

static double away_from_zero(double v)
{
	return fabs(v) < SMALLEST ? SMALLEST : v;
}

/* The continued fraction of I_x(a, b). It converges quickly for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;
	for (int m = 1; m <= MAX_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		f *= c * d;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		f *= c * d;
		if (fabs(c * d - 1) < PRECISION)
			break;
	}
	return f;
}

/* lgamma() keeps the sign of the result in a global of the C library; this does not. */
static double log_gamma(double v)
{
	int sign;
	return lgamma_r(v, &sign);
}

/* The regularized incomplete beta function I_x(a, b), and with x and 1 - x told apart so that neither is rounded. */
static double incomplete_beta(double x, double rest, double a, double b)
{
	if (!(x > 0))
		return 0;
	if (!(rest > 0))
		return 1;
	double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(rest));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(rest, b, a) / b;
}

double ss_student_two_sided(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t))
		return 0;
	double all = df + t * t;
	return incomplete_beta(df / all, t * t / all, df / 2, 0.5);
}

double ss_student_quantile(double p, double df)
{
	if (!(p > 0 && p < 1) || !(df > 0))
		return NAN;
	if (p < 0.5)
		return -ss_student_quantile(1 - p, df);
	double tail = 2 * (1 - p), low = 0, high = 1;
	while (ss_student_two_sided(high, df) > tail && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
		double mid = low + (high - low) / 2;
		if (ss_student_two_sided(mid, df) > tail)
			low = mid;
		else
			high = mid;
	}
	return low + (high - low) / 2;
}

/* ln of n over k. */
static double log_choose(double n, double k)
{
	return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

double ss_fisher_exact(size_t hit_a, size_t n_a, size_t hit_b, size_t n_b)
{
	if (!n_a || !n_b || hit_a > n_a || hit_b > n_b)
		return 1;
	size_t hits = hit_a + hit_b, first = hits > n_b ? hits - n_b : 0, last = hits < n_a ? hits : n_a;
	double whole = log_choose((double)(n_a + n_b), (double)hits), p = 0;
	double seen = log_choose((double)n_a, (double)hit_a) + log_choose((double)n_b, (double)hit_b) - whole;
	for (size_t k = first; k <= last; k++) {
		double likely = log_choose((double)n_a, (double)k) + log_choose((double)n_b, (double)(hits - k)) - whole;
		if (likely <= seen + 1e-9)
			p += exp(likely);
	}
	return fmin(p, 1);
}
