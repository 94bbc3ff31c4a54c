/*
 * collectives.h - who waits for whom in collective operations.
 *
 * The n-th run of an operation in a step of one participant (device, or host without one) is the
 * same meeting as the n-th in that step of another. All leave together, so who is in it for the
 * shortest time came last: the others waited for the difference.
 */
#ifndef SS_MODEL_ATTRIBUTION_COLLECTIVES_H
#define SS_MODEL_ATTRIBUTION_COLLECTIVES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SS_MOST_MEETINGS 200000 /* kept of a participant */

struct ss_meeting {
	uint64_t key; /* step and operation; the same in every run */
	uint64_t dur_ps;
};

struct ss_collectives {
	struct ss_meeting *v; /* in the order of time */
	size_t n;
	uint64_t dur_ps; /* of all */
};

/* What waiting for others costs one participant. */
struct ss_wait {
	uint64_t wait_ps;   /* beyond the shortest stay of anybody */
	uint64_t meetings;  /* joined with others */
	uint64_t last;	    /* of those, in which this one came last, with somebody waiting notably */
	uint64_t caused_ps; /* what the others waited for it, summed */
};

/*
 * Join n participants: waits[n], all 0 of one alone. O(all meetings log). False when memory is out.
 */
bool ss_collectives_join(const struct ss_collectives *const *who, size_t n, struct ss_wait *waits);

#endif
