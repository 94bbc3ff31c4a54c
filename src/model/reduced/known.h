/*
 * known.h - times that the skeleton of a host holds already: facts say which of its operations they are of, which takes a
 * byte or two instead of five.
 */
#ifndef SS_MODEL_REDUCED_KNOWN_H
#define SS_MODEL_REDUCED_KNOWN_H

#include "model/cluster/skeleton.h"
#include "model/reduced/pack.h"

/* A device of it, and where in its lists the last one was found. */
struct ss_known {
	const struct ss_skeleton *s;
	const struct ss_skel_device *d; /* NULL: nothing is known */
	uint64_t span, comm;		/* of times */
	uint64_t next_span, next_comm;	/* of stays */
};

struct ss_known ss_known_device(const struct ss_skeleton *s, size_t device);
/* When an operation begins or ends; else a number near `guess`. */
void ss_pack_known_time(struct ss_pack *p, struct ss_known *k, int64_t *t_ps, int64_t guess);
/* The durations of communicating operations, in the order of time. */
void ss_pack_known_stay(struct ss_pack *p, struct ss_known *k, uint64_t *dur_ps);

#endif
