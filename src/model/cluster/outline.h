/*
 * outline.h - of a host's skeleton what seeing the whole run takes: collectives, steps, input, and when each device
 * computed, copied and communicated, without which operations those were.
 *
 * An outline is a skeleton whose operations of one class are one span where they touch or overlap: "computing" and
 * "copying" are two operations without a name. Launches are kept where a span or a collective refers to them.
 *
 * To unpack a skeleton takes longer than all that follows, so it is done once: whoever unpacks one (facts.h, union.c)
 * leaves its outline for the others. Outlines take a quarter of the packed skeletons' bytes where operations follow one another
 * closely. Those for which there is no room are made again from the skeleton, so answers do not depend on it.
 */
#ifndef SS_MODEL_CLUSTER_OUTLINE_H
#define SS_MODEL_CLUSTER_OUTLINE_H

#include "model/cluster/skeleton.h"

#include <pthread.h>

/* Of many hosts, by number. Used by several threads. */
struct ss_outlines;

/* Of hosts with these packed skeletons. NULL: memory is out. */
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

/* That of host i, whose packed skeleton this is. */
bool ss_outline_open(struct ss_outlines *o, size_t i, struct ss_str packed, struct ss_outline *out, struct ss_err *err);
void ss_outline_close(struct ss_outline *out);

#endif
