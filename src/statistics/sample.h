/*
 * sample.h - what one run of a program tells of a time: which of its steps are typical, their mean, and how sure
 * that mean is although a step depends on the one before.
 */
#ifndef SS_STATISTICS_SAMPLE_H
#define SS_STATISTICS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/* Middle of n values, which are reordered; NAN for none. */
double ss_median(double *v, size_t n);

/*
 * Marks the values further from the median than max(5 x 1.4826 MAD, 10 % of the median). If those are more than a
 * fifth of all, they are a second mode and no outliers: none is marked. `scratch` holds n values. Their number.
 */
size_t ss_mark_outliers(const double *v, size_t n, bool *outlier, double *scratch);

struct ss_sample {
	size_t n;
	double mean;
	double sd;	    /* of the values; 0 for one */
	double correlation; /* of neighbours, with Kendall's correction r + (1 + 3r)/n, at least 0 */
	double n_effective; /* n (1 - r)/(1 + r): as many independent values would be as sure */
	double se;	    /* of the mean: sd / sqrt(n_effective) */
	double df;	    /* n_effective - 1, at least 0 */
};

/* Statistics of values in the order of time. */
struct ss_sample ss_sample_of(const double *v, size_t n);

#endif
