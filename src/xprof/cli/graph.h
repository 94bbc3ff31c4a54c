/*
 * graph.h - a program's text as a graph: instructions, what they use, what they call, and what
 * XProf's command line takes for their cost. Its numbers of instructions, its costs and its idea of
 * what keeps operations from being fused are XProf's (docs/parity.md); our own stand in
 * model/program.
 */
#ifndef SS_XPROF_CLI_GRAPH_H
#define SS_XPROF_CLI_GRAPH_H

#include "model/program/hlo_walk.h"
#include "xprof/cli/xcli.h"

#define XG_DIMS 8

struct xg_shape {
	double bytes,
		elements; /* bytes of all parts of a tuple; elements and dimensions of its largest */
	uint32_t rank;
	double dims[XG_DIMS]; /* the last ones of more */
};

struct xg_list {
	uint32_t first, n; /* into xg_graph.links */
};

struct xg_instr {
	struct ss_str name, opcode, shape, dtype, layout, expression;
	uint32_t computation;
	bool is_root;
	struct xg_list operands, users, called;
	struct xg_shape out;
	double flops, bytes;
};

struct xg_computation {
	struct ss_str name;
	uint32_t first, n, root; /* instructions; root SS_NONE: it has none */
	bool fused, reducer;	 /* called by a fusion; applied to pairs of numbers */
	struct xg_list callers;
};

struct xg_graph {
	struct ss_str module;
	struct xg_instr *
		instrs; /* the entry's first, then those of the others from the last computation to the first; ids are
					   their numbers from 1 */
	uint32_t n;
	struct xg_computation *computations; /* in the order of the text */
	uint32_t ncomputations, entry;
	uint32_t *links;
	uint32_t nlinks;
	struct ss_strmap names, computation_names;
	uint32_t *by_name; /* the instruction of each name, the first of several */
};

/*
 * The program that --module_name says, with metadata or without. It lives in the arena of `x`, but
 * for xg_close.
 */
bool xg_open(struct xcli *x, const char *module, bool metadata, struct xg_graph *g);
void xg_close(struct xg_graph *g);
/* graph_cost.c: flops and bytes of all instructions. */
bool xg_cost(struct xcli *x, struct xg_graph *g);

/*
 * By name, with "%" or without, "." and "_" taken for each other, or by its number. SS_NONE: there
 * is none.
 */
uint32_t xg_find(const struct xg_graph *g, const char *name);
static inline uint32_t xg_link(const struct xg_graph *g, struct xg_list l, uint32_t i)
{
	return g->links[l.first + i];
}
/* The graph, for walks over it. */
struct ss_hlo_walk xg_walk(const struct xg_graph *g);
/*
 * Does it keep its neighbours from being fused: a change of layout or type, or a note that pins
 * either?
 */
bool xg_is_blocker(const struct xg_instr *i);
const char *xg_blocker_reason(const struct xg_instr *i);

/*
 * A text of a program, by the names of graph_viewer: short_txt, long_txt ... False: `x` has failed.
 */
bool xg_text(struct xcli *x, struct ss_str module, const char *type, struct ss_str *text);
/*
 * The program that a user names: whole, before its bracket, or by the begin, if only one has it;
 * "": the first.
 */
bool xg_module(struct xcli *x, const char *name, struct ss_str *module);

#endif
