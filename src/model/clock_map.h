/*
 * clock_map.h - conversion between a host's own times and those on the common clock of several
 * hosts.
 *
 * Durations stay those of the host's clock: a drift changes them by less than a part in 2000.
 */
#ifndef SS_MODEL_CLOCK_MAP_H
#define SS_MODEL_CLOCK_MAP_H

#include "base/safe.h"

#include <math.h>

struct ss_clock_map {
	int64_t shift_ps;
	double drift;		/* by how much the host's clock is fast, ps per ps; below 0.001 */
	int64_t about_ps;	/* own time to which the shift belongs */
};

static inline int64_t ss_clock_shown(const struct ss_clock_map *m, int64_t own_ps)
{
	int64_t t = ss_safe_sum(own_ps, m->shift_ps);
	return m->drift == 0 ? t : ss_safe_sum(t, -llrint(m->drift * ((double)own_ps - (double)m->about_ps)));
}

/* The first own time that is shown at or after that. */
static inline int64_t ss_clock_own(const struct ss_clock_map *m, int64_t shown_ps)
{
	int64_t t = ss_safe_sum(shown_ps, -m->shift_ps);
	if (m->drift == 0 || t == INT64_MIN || t == INT64_MAX)
		return t;
	t = ss_safe_sum(t, llrint(m->drift / (1 - m->drift) * ((double)t - (double)m->about_ps)));
	/* Rounding is off by a few ps; of times that a double cannot hold, by more than is looked for. */
	for (int i = 0; i < 64 && t > INT64_MIN && ss_clock_shown(m, t - 1) >= shown_ps; i++)
		t--;
	for (int i = 0; i < 64 && t < INT64_MAX && ss_clock_shown(m, t) < shown_ps; i++)
		t++;
	return t;
}

#endif
