/*
 * hlo_graph.h - the neighbourhood of an instruction: which instructions are near it, and how they are
 * drawn together.
 *
 * It goes from the root over operands and users, up to a distance, and then includes the whole
 * computations that are called from there. Constants and elements of tuples have no nodes of their
 * own; the nodes that use them name them. The rules, and the order of nodes, boxes and edges, are
 * those of the compiler's own drawings, which XProf shows.
 */
#ifndef SS_MODEL_HLO_GRAPH_H
#define SS_MODEL_HLO_GRAPH_H

#include "hlo/links.h"

enum ss_graph_state {
	SS_GRAPH_NORMAL,
	SS_GRAPH_ROOT,
	SS_GRAPH_SOME_OPERANDS_OMITTED,
	SS_GRAPH_OPERANDS_OMITTED,
	SS_GRAPH_SOME_USERS_OMITTED,
	SS_GRAPH_HIDDEN,
};

/* The opcodes that decide how an instruction is drawn. */
enum ss_graph_op {
	SS_GRAPH_OTHER,
	SS_GRAPH_BITCAST,
	SS_GRAPH_BROADCAST,
	SS_GRAPH_CALLER,	/* call */
	SS_GRAPH_CONSTANT,
	SS_GRAPH_COPY,
	SS_GRAPH_ELEMENT,	/* get-tuple-element */
	SS_GRAPH_FUSION,
	SS_GRAPH_PARAMETER,
	SS_GRAPH_TUPLE,
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
	uint32_t first;		/* number of nodes before it: its begin in the order of drawing */
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
	struct ss_graph_cluster *clusters; /* a box stands behind the one it stands in */
	struct ss_graph_edge *edges;
	uint32_t nnodes, nclusters, nedges;
	uint32_t nleft_out;	/* instructions of computations that would have been too many */
	uint32_t root_node;	/* the result of the outermost computation, SS_NONE: it is not drawn */
	uint32_t *node_of;	/* by instruction, SS_NONE: it is no node */
	bool merge_fusions;
	/* By instruction. */
	uint8_t *op, *state;	/* enum ss_graph_op, enum ss_graph_state */
	bool *merged;		/* the nodes that use it name it (as for constants) */
	uint32_t *given;	/* of a parameter of a fusion: the fusion's operand, SS_NONE for others */
	uint32_t *scalar;	/* of a broadcast in a fusion: the one number that it spreads, a constant; SS_NONE for others */
	/* By computation. */
	uint32_t *fusion_of;	/* the instruction that fuses it, SS_NONE */
	const char **trivial;	/* "add", "max", "greater-than" if it does that to its two parameters, one number each; or NULL */
};

struct ss_hlo_graph_request {
	uint32_t instr;		/* around this instruction, or */
	uint32_t computation;	/* the whole of this computation, if instr is SS_NONE */
	uint32_t radius;
	bool merge_fusions;	/* fusions are nodes, not boxes */
	uint32_t max_nodes;	/* computations that would exceed it are left out */
};

/* Everything lives in `arena`. */
bool ss_hlo_graph_of(struct ss_hlo_graph *g, const struct ss_hlo_module *m, const struct ss_hlo_graph_request *ask,
		     struct ss_arena *arena, struct ss_err *err);

/* The constant that this parameter of a fusion always is, SS_NONE if it is none such. */
uint32_t ss_hlo_graph_parameter_constant(const struct ss_hlo_graph *g, uint32_t instr);
/* Index of a computation's root, SS_NONE if it has none. */
uint32_t ss_hlo_root_of(const struct ss_hlo_module *m, uint32_t computation);

#endif
