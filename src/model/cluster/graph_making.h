/*
 * graph_making.h - a graph while it is made: graph.c places its nodes, and graph_edges.c finds what each of
 * them waits for.
 */
#ifndef SS_MODEL_CLUSTER_GRAPH_MAKING_H
#define SS_MODEL_CLUSTER_GRAPH_MAKING_H

#include "model/cluster/graph.h"

#define SS_MOST_WAITS 8	/* operations of other streams that one operation waits for */

/* One device's nodes while its edges are made. */
struct ss_graph_lane {
	uint32_t first, n;	/* of nodes; in the order of begin */
	uint32_t *launch;	/* by node: of the part's events; until the device's edges are made, as streams and by_launch */
	uint32_t *stream;
	uint32_t *by_end;	/* nodes by end */
	uint32_t *by_launch;	/* nodes that have one, by it */
	uint32_t nlaunched;
};

/*
 * The operations on other streams for which an operation waits; they are equal in all its executions,
 * because the program is the same.
 */
struct ss_graph_waits {
	uint32_t names[SS_MOST_WAITS];
	uint32_t n;
};

/* State of the threads of a part. */
struct ss_graph_events {
	uint32_t first, n;	/* of nodes */
	uint32_t skipped;	/* of the part's events before those */
	bool on_cpu;
	/* By node: the launch by another thread that it follows; UINT32_MAX: none. While the part's edges are made. */
	uint32_t *follows;
	uint32_t *last_op;	/* the operation that it launched and that ends last; UINT32_MAX: none */
};

struct ss_graph_making {
	struct ss_cluster *c;
	const struct ss_played *played;
	struct ss_graph *g;
	struct ss_graph_lane *lanes;	/* by device */
	struct ss_graph_events *events; /* by part */
	SS_VEC(struct ss_graph_waits) waits; /* by name */
};

/* The edges of all nodes, in their order. False when memory is out. */
bool ss_graph_link(struct ss_graph_making *m);
/* The number of events of the lane that end at or before a moment; once it is linked. */
uint32_t ss_lane_ended_by(const struct ss_graph_making *m, const struct ss_graph_lane *l, int64_t at_ps);
/* The edges to its nodes are made; others may still wait for what ends on it. */
void ss_lane_forget_launches(struct ss_graph_lane *l);

#endif
