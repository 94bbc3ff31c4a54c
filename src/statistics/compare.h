/*
 * compare.h - is a figure of new runs another than that of base runs, by how much, and what could have been seen?
 *
 * A side is one or more runs. With one run a side the steps of each are the sample (sample.h). With several the
 * runs are: the variance of a side is the larger one of that between its runs' means and the mean of their squared
 * standard errors, so three runs that agree by luck prove nothing. Two runs a side share their degrees of freedom, as if
 * runs of both sides differed alike. One run against several is taken to vary from run to run as the other side does. All
 * is deterministic.
 */
#ifndef SS_STATISTICS_COMPARE_H
#define SS_STATISTICS_COMPARE_H

#include "statistics/sample.h"

#include <stdint.h>

struct ss_runs {
	const struct ss_sample *v; /* one for each run */
	size_t n;
};

struct ss_comparison {
	double base, new; /* means over the runs */
	double delta;	  /* new - base */
	double se, df;	  /* of the delta; df 0: nothing can be said, and p, interval and mde are NAN */
	double p;	  /* two-sided: Welch's t; from 5 runs a side on the permutation test of the means */
	double low, high; /* interval of the delta that holds 1 - alpha */
	double mde;	  /* least delta of p < alpha in 8 of 10 tries, whatever the band */
	double u;	  /* Mann-Whitney's U of the runs' means, from 5 runs a side on; else NAN */
};

struct ss_comparison ss_compare(struct ss_runs base, struct ss_runs new, double alpha);
/*
 * For a mean to which few events contribute: the error of each run, and its degrees of freedom, come from their number. If runs
 * do not differ by more than that, the events are the sample, not the runs.
 */
struct ss_comparison ss_compare_rare(struct ss_runs base, struct ss_runs new, double alpha);
/* ss_compare by Welch's t for any number of runs, at the cost of the runs: for one of many rows. */
struct ss_comparison ss_compare_means(struct ss_runs base, struct ss_runs new, double alpha);

/*
 * The criterion for a change: p is below alpha, and the difference exceeds the band, by which recordings differ without any
 * change. With one run on a side, the whole interval must exceed it; with several, the delta.
 */
struct ss_rule {
	double alpha, band; /* the band in the unit of the values */
	bool one_run_a_side;
};

bool ss_changed(const struct ss_comparison *c, const struct ss_rule *rule);
/* The least change that the rule would have found in 8 of 10 tries. */
double ss_detectable(const struct ss_comparison *c, const struct ss_rule *rule);
/*
 * The number of values (steps, or runs a side) that would find a change of `effect`, at the spread of
 * these n; 0: unknown, or the effect is within the band.
 */
uint64_t ss_samples_needed(const struct ss_comparison *c, size_t n, double effect, const struct ss_rule *rule);

/* Two-sided permutation test of the difference of means: all splits up to 100,000, else 99,999 of a fixed seed. */
double ss_permutation_test(const double *base, size_t nbase, const double *new, size_t nnew);

/* Benjamini and Hochberg: p becomes the adjusted p, in place; NANs are left out of the count. False: no memory. */
bool ss_adjust_p(double *p, size_t n);

/* Many rows, few runs: the variance of each row's logarithms is moderated by that of all rows. */
struct ss_moderation {
	double prior_variance; /* time-weighted median over the rows */
	double prior_df;
};

#define SS_PRIOR_DF 4

struct ss_log_row {
	double log_base, log_new; /* means of the logarithms of the runs' values */
	double variance;	  /* pooled, of the logarithms */
	double df;		  /* nbase + nnew - 2 */
	double weight;		  /* time */
};

/* False when a value is not above 0, so that there is no logarithm, or there are fewer than 3 values in all. */
bool ss_log_row_of(const double *base, size_t nbase, const double *new, size_t nnew, struct ss_log_row *out);
/* Reorders the rows. */
struct ss_moderation ss_moderation_of(struct ss_log_row *rows, size_t n);
/* p, and the interval of new - base that holds 1 - alpha. */
struct ss_comparison ss_compare_logs(const struct ss_log_row *r, const struct ss_moderation *m, size_t nbase, size_t nnew,
				     double alpha);

#endif
