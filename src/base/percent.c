/* percent.c - see percent.h. */
#include "base/percent.h"

#include <math.h>
#include <stdio.h>

struct ss_percent ss_percent_of(double frac)
{
	struct ss_percent p;
	double size = fabs(100 * frac);
	const char *sign = frac < 0 ? "-" : "";
	if (size > 0 && size < 0.05)
		snprintf(p.s, sizeof(p.s), "%s<0.1%%", sign);
	else if (size >= 99.95 && size < 100)
		snprintf(p.s, sizeof(p.s), "%s>99.9%%", sign);
	else
		snprintf(p.s, sizeof(p.s), "%.1f%%", 100 * frac);
	return p;
}
