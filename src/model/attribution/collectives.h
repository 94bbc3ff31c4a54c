/*
 * collectives.h - waiting of participants for each other in collective operations.
 *
 * The n-th run of an operation in a step of one participant (device, or host without one) is the
 * same meeting as the n-th in that step of another. All participants leave together, so the participant
 * with the shortest duration came last: the others waited for the difference.
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

/* By the digest of the operation's name. */
#define SS_MEETING_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t ss_meeting_key(uint64_t op_digest, int64_t step)
{
	return op_digest + ((uint64_t)step + 1) * SS_MEETING_STEP;
}

static inline uint64_t ss_meeting_op(uint64_t key, int64_t step)
{
	return key - ((uint64_t)step + 1) * SS_MEETING_STEP;
}

struct ss_collectives {
	struct ss_meeting *v; /* in the order of time */
	size_t n;
	uint64_t dur_ps; /* of all */
};

/* The time that one participant waits for the others. */
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
