/*
 * hlo_flow.h - which values each operation of a program takes from the results of others.
 *
 * Elements of tuples, bitcasts and the like cost nothing, so the flow passes through them, and
 * through the tuples that carry values into loops and calls: an operation that takes a tuple takes
 * its values. Tokens only order operations and are not values. A value is identified by the
 * operation that makes it and the element of its result, so that every path to it gives the same
 * value.
 */
#ifndef SS_MODEL_PROGRAM_HLO_FLOW_H
#define SS_MODEL_PROGRAM_HLO_FLOW_H

#include "base/arena.h"
#include "base/vec.h"
#include "hlo/links.h"

struct ss_hlo_taken {
	uint32_t producer;
	uint32_t consumer;	/* SS_NONE: it is the result of the producer's computation, or part of it */
	uint32_t value;		/* the instruction as which the consumer takes it */
	uint64_t element;	/* of the producer's result: equal for the same one */
	int64_t bytes;		/* without padding; of a tuple the sum of its elements */
};

struct ss_hlo_flow {
	SS_VEC(struct ss_hlo_taken) v; /* by producer, consumer and element, each once */
	uint64_t unresolved; /* operands whose producer was not found: elements of elements beyond a limit, or without operand */
};

/* `skip`: computations that are left out. ss_hlo_flow_free in any case. False when memory is out. */
bool ss_hlo_flow_of(struct ss_hlo_flow *f, const struct ss_hlo_module *m, const struct ss_hlo_links *l, const bool *skip,
		    struct ss_arena *arena);
void ss_hlo_flow_free(struct ss_hlo_flow *f);

#endif
