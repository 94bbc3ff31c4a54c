/*
 * graph_style.h - what the drawings of a graph (shape_graph_viewer.c, graph_dot.c) have in common:
 * colours and words of nodes. For nobody else.
 */
#ifndef SS_XPROF_GRAPH_STYLE_H
#define SS_XPROF_GRAPH_STYLE_H

#include "xprof/shape.h"

struct ss_node_style {
	const char *class, *text, *border, *fill;
};

/* The style of a row of `nodes`. The root and cut-off nodes have their own, whatever they compute. */
const struct ss_node_style *ss_node_style_of(const struct ss_table *nodes, size_t row);
bool ss_graph_is_omitted(struct ss_str state);

enum ss_graph_style { SS_GRAPH_PLAIN, SS_GRAPH_STRONG, SS_GRAPH_SLANTED };

/* The lines that a node, the head of a box or the whole drawing shows: runs of text, one behind the other. */
struct ss_graph_line {
	struct ss_graph_run {
		struct ss_str text;
		enum ss_graph_style style;
	} runs[5];
};

typedef void ss_graph_line_fn(void *arg, const struct ss_graph_line *line);
void ss_graph_lines(const struct ss_table *nodes, size_t row, ss_graph_line_fn *fn, void *arg);
void ss_graph_box_lines(const struct ss_table *boxes, size_t row, ss_graph_line_fn *fn, void *arg);
/* "Neighborhood of 3 nodes around x" (empty for a whole computation), "Computation main", "ENTRY computation" */
void ss_graph_title(const struct ss_table *nodes, ss_graph_line_fn *fn, void *arg);

/* Text of XML. What is no UTF-8 would make the whole file malformed and is a question mark. */
void ss_graph_escaped(struct ss_out *o, struct ss_str s);

/* The text for Graphviz. */
void ss_graph_write_dot(struct ss_out *o, const struct ss_result *r);

#endif
