/*
 * graph_tables.h - the tables of type=graph: instructions, called computations and the edges between
 * them. graph_viewer.c finds the program and the node.
 */
#ifndef SS_TOOLS_GRAPH_TABLES_H
#define SS_TOOLS_GRAPH_TABLES_H

#include "base/buf.h"
#include "hlo/stack.h"
#include "model/program/hlo_graph.h"
#include "tools/module_pick.h"

struct ss_graph_view {
	const struct ss_request *q;
	struct ss_result *out;
	struct ss_module_pick pick;
	const struct ss_hlo_module *m;
	struct ss_str node;	/* asked for */
	bool metadata;
	struct ss_buf text;	/* scratch */
	uint64_t budget_bytes;	/* for texts: many nodes may repeat one long name */
	/* For graph_tables.c. */
	struct ss_hlo_stacks stacks;
	struct ss_hlo_graph g;
	uint32_t *caller;	/* by computation: the only `call` of it; SS_NONE: there is none, or several */
};

/* Move the scratch text into the request's memory. */
bool ss_graph_take(struct ss_graph_view *v, struct ss_str *out, struct ss_err *err);
/* An instruction by its index. */
struct ss_hlo_instr ss_graph_read(const struct ss_graph_view *v, uint32_t i);
/* The shape as nodes show it, cut after 64 letters, into a cell of the last row. */
bool ss_graph_set_shape(struct ss_graph_view *v, struct ss_table *t, size_t col, const struct ss_hlo_instr *i, struct ss_err *err);
/* Add the tables `nodes`, `boxes` and `edges`. */
bool ss_graph_tables(struct ss_graph_view *v, const struct ss_hlo_graph_request *ask, struct ss_str format, struct ss_err *err);

#endif
