/* robust.h - estimates that a few outliers do not change, and the probability that a count is due to chance. */
#ifndef SS_MODEL_CLUSTER_ROBUST_H
#define SS_MODEL_CLUSTER_ROBUST_H

#include "statistics/sample.h"

#include <stddef.h>
#include <stdint.h>

/* Standard deviation of a normal distribution whose median absolute deviation is 1. */
#define SS_MAD_TO_SIGMA 1.4826

/*
 * Median; of an even number the mean of the two in the middle. Puts the values into another order.
 * NAN of none.
 */
double ss_median(double *v, size_t n);
/*
 * The value that a share of them are below, between neighbours by their distance. Sorts. NAN of
 * none.
 */
double ss_quantile(double *v, size_t n, double frac);
/*
 * Theil-Sen: the median slope of y over x of pairs whose x are at least `apart` apart, 0 of none.
 * Of more than 60 points 60 are taken, evenly. x must ascend. `scratch` has room for 60 * 59 / 2
 * values.
 */
double ss_theil_sen(const double *x, const double *y, size_t n, double apart, double *scratch);
#define SS_THEIL_SEN_POINTS 60
#define SS_THEIL_SEN_SCRATCH (SS_THEIL_SEN_POINTS * (SS_THEIL_SEN_POINTS - 1) / 2)

/* Probability of fewer than k of n, each with probability p. */
double ss_fewer_than(uint32_t k, uint32_t n, double p);
#define SS_SURE_FRAC 0.95 /* least probability that a count is not due to chance */

#endif
