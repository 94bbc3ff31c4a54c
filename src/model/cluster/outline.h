/*
 * outline.h - the part of a host's skeleton that an analysis of the whole run needs: collectives, steps, input, and when each
 * device computed, copied and communicated, without the operations.
 *
 * An outline is a skeleton whose operations of one class are one span where they touch or overlap: "computing" and
 * "copying" are two operations without a name. Launches are kept where a span or a collective refers to them.
 *
 * Unpacking a skeleton takes longer than all that follows, so it is done once: the code that unpacks one (facts.h, union.c) keeps
 * its outline for the others. Outlines take a quarter of the packed skeletons' bytes if operations follow one another closely. An
 * outline that does not fit is made again from the skeleton, so answers do not depend on the room.
 */
#ifndef SS_MODEL_CLUSTER_OUTLINE_H
#define SS_MODEL_CLUSTER_OUTLINE_H

#include "model/cluster/skeleton.h"

#include <pthread.h>

/* Outlines of many hosts, by number. Several threads may use them. */
struct ss_outlines;

/* Make the outlines of hosts with these packed skeletons. NULL: out of memory. */
struct ss_outlines *ss_outlines_new(const struct ss_str *packed, size_t n);
void ss_outlines_free(struct ss_outlines *o);
/* Keep that of host i, unless it is there already or there is no room. */
void ss_outlines_keep(struct ss_outlines *o, size_t i, const struct ss_skeleton *s);

/* An outline that is looked at. Its texts live as long as the outlines do, or it does. */
struct ss_outline {
	struct ss_skeleton s;
	struct ss_str ops;	/* equal ones have equal addresses, where they are kept */
	struct ss_buf own[2];
};

/* The outline of host i, whose packed skeleton is given. */
bool ss_outline_open(struct ss_outlines *o, size_t i, struct ss_str packed, struct ss_outline *out, struct ss_err *err);
void ss_outline_close(struct ss_outline *out);

#endif
