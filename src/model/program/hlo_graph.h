/*
 * hlo_graph.h - the neighbourhood of an instruction: which instructions are near it, and how they
 * are drawn together.
 *
 * From the root outwards over operands, users and called computations, up to a distance; then all
 * that the computations hold that are called from there. Constants and elements of tuples are no
 * nodes of their own but are said in the nodes that use them. The rules are those of the compiler's
 * own drawings, which XProf shows.
 */
#ifndef SS_MODEL_PROGRAM_HLO_GRAPH_H
#define SS_MODEL_PROGRAM_HLO_GRAPH_H

#include "hlo/links.h"

enum ss_graph_state {
	SS_GRAPH_NORMAL,
	SS_GRAPH_ROOT,
	SS_GRAPH_SOME_OPERANDS_OMITTED,
	SS_GRAPH_OPERANDS_OMITTED,
	SS_GRAPH_SOME_USERS_OMITTED,
	SS_GRAPH_HIDDEN,
};

struct ss_graph_node {
	uint32_t instr;
	uint32_t cluster;	/* index into clusters, SS_NONE: outermost */
	uint8_t state;		/* enum ss_graph_state */
};

/* A computation that is drawn as a box of its own, once, for the first that calls it. */
struct ss_graph_cluster {
	uint32_t computation, caller; /* caller: index of the instruction */
	uint32_t parent;	/* cluster, SS_NONE: outermost */
	bool fusion;
	bool root;		/* the fusion is the one whose neighbourhood this is */
};

enum ss_graph_edge_kind { SS_GRAPH_DATA, SS_GRAPH_CONTROL, SS_GRAPH_CALL };

struct ss_graph_edge {
	uint32_t from, to;	/* indices into nodes */
	uint32_t operand;	/* number of the operand of `to` */
	uint8_t kind;		/* enum ss_graph_edge_kind */
	uint32_t cluster;	/* SS_GRAPH_CALL: whose result it is */
};

struct ss_hlo_graph {
	const struct ss_hlo_module *m;
	struct ss_hlo_links links;
	uint32_t computation;	/* drawn outermost */
	struct ss_graph_node *nodes;
	struct ss_graph_cluster *clusters;
	struct ss_graph_edge *edges;
	uint32_t nnodes, nclusters, nedges;
	uint32_t nleft_out;	/* instructions of computations that would have been too many */
	uint32_t *node_of;	/* by instruction, SS_NONE: it is no node */
	bool *inlined;		/* by instruction: it is said in those that use it */
	bool merge_fusions;
};

struct ss_hlo_graph_ask {
	uint32_t instr;		/* around this instruction, or */
	uint32_t computation;	/* the whole of this computation, if instr is SS_NONE */
	uint32_t radius;
	bool merge_fusions;	/* fusions are nodes, not boxes */
	uint32_t most_nodes;	/* computations that would exceed it are left out */
};

/* Everything lives in `arena`. */
bool ss_hlo_graph_of(struct ss_hlo_graph *g, const struct ss_hlo_module *m, const struct ss_hlo_graph_ask *ask,
		     struct ss_arena *arena, struct ss_err *err);

/* For descriptions: is the operand said in the node that uses it? */
bool ss_hlo_graph_is_inlined(const struct ss_hlo_graph *g, uint32_t instr);
/* The scalar constant behind a broadcast inside of a fusion, SS_NONE if it is none such. */
uint32_t ss_hlo_graph_broadcast_constant(const struct ss_hlo_graph *g, uint32_t instr);
/* The operation of a computation that does one thing to two parameters ("add", "max", "greater-than"); NULL for others. */
const char *ss_hlo_trivial_operation(const struct ss_hlo_module *m, uint32_t computation);

#endif
