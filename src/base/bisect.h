/*
 * bisect.h - the place of something in an order.
 *
 *	size_t lo = 0, hi = n;
 *	SS_BISECT(lo, hi, mid, v[mid].begin_ps < begin_ps);
 *
 * leaves in `lo` (and `hi`) the first index of [lo, hi) for which the condition is false, hi where it is true of all. The
 * condition must be true of a first part of the range and false of the rest.
 */
#ifndef SS_BASE_BISECT_H
#define SS_BASE_BISECT_H

#define SS_BISECT(lo, hi, mid, before)                                          \
	while ((lo) < (hi)) {                                                   \
		__typeof__(lo) mid = (lo) + ((hi) - (lo)) / 2;                  \
		if (before)                                                     \
			(lo) = mid + 1;                                         \
		else                                                            \
			(hi) = mid;                                             \
	}                                                                       \
	(void)0

#endif
