/*
 * excess.h - the time that each host, or each device, itself needed for a step in excess of the median:
 * how much of it is noise, and whether several members permanently need more than the others.
 *
 * Part of the model.
 */
#ifndef SS_MODEL_CLUSTER_EXCESS_H
#define SS_MODEL_CLUSTER_EXCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_excess {
	double *ps;	  /* by step, then member */
	size_t n, nsteps; /* members, steps */
	double *median_ps, *noise_ps; /* of each member over the steps: median, and 1 standard deviation around it */
	double sigma_ps;  /* of what members vary by, all of them */
	double *scratch;  /* as much as `ps`, and as there are members and steps */
};

/* Allocates for this many; ps is zero. False: memory is out. Free it in either case. */
bool ss_excess_init(struct ss_excess *x, size_t n, size_t nsteps);
void ss_excess_free(struct ss_excess *x);
/* Replaces the times of the members in a step by their excess over the median. Returns the index of the largest. */
size_t ss_excess_center(struct ss_excess *x, size_t step);
/* Fills median_ps, noise_ps and sigma_ps; all steps are centered. */
void ss_excess_estimate(struct ss_excess *x);
/* The excess that the largest of the members reaches by chance. */
double ss_excess_by_chance_ps(const struct ss_excess *x);
/*
 * Do members of several hosts have more in each step? `host` is each member's. What the first has
 * beyond the median, or the mean, is more than `least_ps` and than chance, and no less than half of
 * `loss_ps`, which slow steps lose; and without the host that has the most, the others are still
 * apart: by a share of what all are apart, and by more than chance. One that is late stands alone;
 * all others are alike.
 */
bool ss_excess_is_shared(const struct ss_excess *x, const uint32_t *host, double least_ps, double loss_ps);

#endif
