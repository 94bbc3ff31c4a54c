/*
 * distribution.h - the distributions that tests of significance need. No randomness, no state.
 */
#ifndef SS_STATISTICS_DISTRIBUTION_H
#define SS_STATISTICS_DISTRIBUTION_H

#include <stddef.h>

/* P(|T| >= |t|) of Student's t with df > 0 degrees of freedom (not necessarily whole). Relative error below 1e-10. */
double ss_student_two_sided(double t, double df);

/* The t with P(T <= t) = p, 0 < p < 1. */
double ss_student_quantile(double p, double df);

/*
 * Fisher's exact test, two-sided: the probability of a table at least as unlikely as
 * {hit_a of n_a, hit_b of n_b} with these margins. 1 when a side is empty.
 */
double ss_fisher_exact(size_t hit_a, size_t n_a, size_t hit_b, size_t n_b);

#endif
