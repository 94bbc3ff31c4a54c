/*
 * serving_edges.h - the time of a request or batch by kind of work: begins and ends of its phases are
 * collected, and summed in one sweep.
 */
#ifndef SS_MODEL_RUNTIME_SERVING_EDGES_H
#define SS_MODEL_RUNTIME_SERVING_EDGES_H

#include "base/vec.h"
#include "model/runtime/inference.h"

struct ss_serve_edges {
	SS_VEC(struct ss_serve_edge { int64_t at_ps; uint32_t code; }) v;
};

/* A phase; false: no memory. */
bool ss_serve_edges_add(struct ss_serve_edges *e, int64_t begin_ps, int64_t end_ps, uint32_t work);
/*
 * Sum up time by work: the current kind rises to what begins and falls, when the last of its kind
 * ends, to the highest that is still open. Empties the list.
 */
void ss_serve_edges_sum(struct ss_serve_edges *e, uint64_t work_ps[SS_SERVE_WORK_COUNT]);

#endif
