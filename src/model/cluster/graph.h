/*
 * graph.h - the recording as a graph of dependencies: operations in the order of their streams,
 * launches, starts and dones, collectives and the operations that wait for them, host threads and their
 * waits for devices.
 */
#ifndef SS_MODEL_CLUSTER_GRAPH_H
#define SS_MODEL_CLUSTER_GRAPH_H

#include "model/cluster/played.h"

enum ss_node_kind {
	SS_NODE_COMPUTE,
	SS_NODE_OTHER,	/* copies, starts and other operations of a device, whose duration is their own */
	SS_NODE_MEMBER,	/* a device's part in a synchronous collective: lasts until all have come */
	SS_NODE_DONE,	/* waits for an asynchronous one */
	SS_NODE_EVENT,	/* of the host: input, launch */
	SS_NODE_WAIT,	/* of the host: for a device */
	SS_NODE_INFEED,	/* of a device: takes its input, or waits for it */
};

#define SS_NODE_NO_NAME ((UINT32_C(1) << 27) - 1)

/* There are as many as operations: 32 bytes. */
struct ss_node {
	int64_t begin_ps, end_ps;
	uint32_t first_edge;	/* those of the next node follow its own: ss_edges_end */
	uint32_t where;		/* index of the device, of the host of the host's events */
	union {
		uint32_t member;	/* SS_NODE_MEMBER, SS_NODE_DONE, and of starts; UINT32_MAX */
		uint32_t thread;	/* of the host's events */
	};
	uint32_t name : 27;	/* of operations; SS_NODE_NO_NAME */
	uint32_t kind : 3;	/* enum ss_node_kind */
	uint32_t cls : 2;	/* enum ss_skel_host_class of events and waits */
};

/* To a node's begin, or its end, from another node's end, or its begin. */
struct ss_edge {
	uint32_t from : 29;
	uint32_t of_begin : 1, to_end : 1;
	uint32_t binds : 1;	/* of those to the begin the one that ended last */
};

#define SS_ORDER_BEGIN 0x80000000u /* in `order`: the node's begin alone; its end comes later */

struct ss_graph {
	SS_VEC(struct ss_node) nodes;
	SS_VEC(struct ss_edge) edges;
	uint32_t *order;	/* the order in which nodes can be computed */
	size_t norder;
	uint32_t *arrival;	/* by member: the node whose begin is its arrival; UINT32_MAX: none */
	uint32_t *last_of_step;	/* by the cluster's steps of devices: the node that ends last in it; UINT32_MAX */
	int64_t *least_ps;	/* by device: what a done takes when nothing is left to wait for */
	struct ss_strmap names;
	struct ss_arena arena;
};

static inline bool ss_node_is_host(const struct ss_node *n)
{
	return n->kind == SS_NODE_EVENT || n->kind == SS_NODE_WAIT;
}

/* Does its end depend on others' ends? It then has two entries in the order. */
static inline bool ss_node_ends_late(const struct ss_node *n)
{
	return n->kind == SS_NODE_MEMBER || n->kind == SS_NODE_DONE || n->kind == SS_NODE_WAIT;
}

static inline uint32_t ss_node_host(const struct ss_cluster *c, const struct ss_node *n)
{
	return ss_node_is_host(n) ? n->where : c->devices.v[n->where].host;
}

/* Behind the last of its edges, which begin at first_edge. */
static inline uint32_t ss_edges_end(const struct ss_graph *g, const struct ss_node *n)
{
	return n + 1 < g->nodes.v + g->nodes.n ? n[1].first_edge : (uint32_t)g->edges.n;
}

/* The step that an operation ends in, as the cluster numbers it; SS_NO_STEP. */
int64_t ss_node_step(const struct ss_cluster *c, const struct ss_node *n);

/* A gap before an event of a host, keyed by the event and by its predecessor: another event, or work of a device. */
#define SS_LAG_CLASSES 12
static inline unsigned ss_lag_class(const struct ss_node *from, const struct ss_node *to)
{
	return (ss_node_is_host(from) ? from->cls : 3u) * 3u + to->cls;
}

/* Build the graph of the replayed steps. False on failure; free it in either case. */
bool ss_graph_build(struct ss_graph *g, struct ss_cluster *c, const struct ss_played *played, struct ss_err *err);
void ss_graph_free(struct ss_graph *g);

#endif
