/*
 * hlo_walk.h - walks over a program's instructions: the neighbourhood of an instruction, and the
 * shortest path between two.
 *
 * The walk is breadth first, and linear in the reached instructions and the called bodies. The
 * graph is seen through functions, so that one that was read from a text (xprof/cli/graph.h) is walked
 * as a module is.
 */
#ifndef SS_MODEL_PROGRAM_HLO_WALK_H
#define SS_MODEL_PROGRAM_HLO_WALK_H

#include "hlo/links.h"

struct ss_hlo_list {
	const uint32_t *v;
	uint32_t n;
};

enum ss_hlo_tie {
	SS_HLO_OPERANDS, /* of an instruction: instructions */
	SS_HLO_USERS,
	SS_HLO_CALLED,	/* of an instruction: computations */
	SS_HLO_CALLERS, /* of a computation: instructions */
};

struct ss_hlo_body {
	uint32_t first, n, root; /* instructions; root SS_NONE: it has none */
};

struct ss_hlo_walk {
	const void *graph;
	uint32_t ninstrs, ncomputations;
	struct ss_hlo_list (*list)(const void *graph, uint32_t of, enum ss_hlo_tie tie);
	struct ss_hlo_body (*body)(const void *graph, uint32_t computation);
	uint32_t (*computation)(const void *graph, uint32_t instr);
	bool (*is_parameter)(const void *graph, uint32_t instr);
};

/* A module as a graph to walk. */
struct ss_hlo_module_ties {
	const struct ss_hlo_module *m;
	struct ss_hlo_links links;
	uint32_t *called, *called_first; /* computations, by instruction */
	uint32_t *callers, *callers_first; /* instructions, by computation */
};

/* `m` must be indexed. Everything lives in `arena`; false when memory is out. */
bool ss_hlo_module_ties_of(struct ss_hlo_module_ties *t, const struct ss_hlo_module *m, struct ss_arena *arena);
struct ss_hlo_walk ss_hlo_walk_of(const struct ss_hlo_module_ties *t);

enum ss_hlo_direction { SS_HLO_DOWN = 1, SS_HLO_UP = 2 }; /* to users and into calls; to operands and to callers */

/* ---- near ---- */

struct ss_hlo_near {
	uint32_t *order, n; /* instructions in the order in which they are reached, the centre first */
	uint32_t *distance; /* by instruction, in edges; SS_NONE: not reached */
};

/*
 * Over operands (UP) and users (DOWN). `into_calls`: also into the computations that an instruction calls, UP to their results,
 * DOWN to their parameters; an edge each.
 */
bool ss_hlo_near_of(struct ss_hlo_near *near, const struct ss_hlo_walk *w, uint32_t centre, uint32_t radius, unsigned direction,
		    bool into_calls, struct ss_arena *arena);

/* ---- path ---- */

struct ss_hlo_step {
	uint32_t instr;
	enum ss_hlo_relation {
		SS_HLO_START,
		SS_HLO_USED_BY,
		SS_HLO_PARAMETER_OF, /* of the computation that the one before calls */
		SS_HLO_RESULT_OF,    /* likewise */
		SS_HLO_RETURNS_TO,   /* the previous instruction is the result of the called computation */
		SS_HLO_OPERAND,
		SS_HLO_CALLED_FROM,
	} relation; /* to the step before */
	uint32_t of;	    /* PARAMETER_OF, RESULT_OF: the computation */
};

struct ss_hlo_path {
	struct ss_hlo_step *v;
	uint32_t n; /* 0: none of at most `most` steps */
	unsigned direction;
};

/* First along DOWN, then UP, then both. */
bool ss_hlo_path_of(struct ss_hlo_path *path, const struct ss_hlo_walk *w, uint32_t from, uint32_t to, uint32_t most,
		    struct ss_arena *arena);

#endif
