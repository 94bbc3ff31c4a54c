/* robust.c - see robust.h. */
#include "model/cluster/robust.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

double ss_quantile(double *v, size_t n, double frac)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), ss_cmp_double);
	double at = frac * (double)(n - 1);
	size_t i = (size_t)at;
	return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

double ss_theil_sen(const double *x, const double *y, size_t n, double apart, double *scratch)
{
	size_t most = n < SS_THEIL_SEN_POINTS ? n : SS_THEIL_SEN_POINTS, k = 0;
	for (size_t i = 0; i < most; i++)
		for (size_t j = i + 1; j < most; j++) {
			size_t a = i * n / most, b = j * n / most;
			if (x[b] > x[a] && x[b] - x[a] >= apart)
				scratch[k++] = (y[b] - y[a]) / (x[b] - x[a]);
		}
	return k ? ss_median(scratch, k) : 0;
}

double ss_fewer_than(uint32_t k, uint32_t n, double p)
{
	double sum = 0, log_p = log(p), log_q = log1p(-p), log_choose = 0;
	for (uint32_t i = 0; i < k; i++) {
		sum += exp(log_choose + i * log_p + (n - i) * log_q);
		log_choose += log((double)(n - i)) - log((double)(i + 1));
	}
	return sum < 1 ? sum : 1;
}
