/*
 * change_points.h - since when? The points of a history at which its level changed.
 *
 * Hierarchical bisection by the energy statistic (E-divisive, Matteson and James 2014): a part of
 * the history is cut where the values before and after differ most. A cut holds if Welch's t
 * between its two sides says so, and the change is beyond the band; outliers of a side are left out
 * of that test, so that one odd value decides nothing. At the end all cuts are tested again beside
 * their neighbours, with fewer degrees of freedom where a value depends on the one before, and the
 * weakest goes until all hold.
 */
#ifndef SS_STATISTICS_CHANGE_POINTS_H
#define SS_STATISTICS_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#define SS_LEAST_SEGMENT 4   /* values on each side of a change */
#define SS_MOST_HISTORY 2000 /* values; time is quadratic in them */

struct ss_change_point {
	size_t at;	      /* the first value of the new level */
	double before, after; /* means of the levels */
	double p;
	size_t nbefore, nafter;
};

/*
 * Find the changes in n <= SS_MOST_HISTORY values in the order of time; `out` has room for n. A change
 * exceeds `band_frac` of the previous level. Returns the number of changes, SIZE_MAX when memory is
 * out.
 */
size_t ss_change_points(const double *v, size_t n, double alpha, double band_frac, struct ss_change_point *out);

#endif
