/*
 * graph_dot.c - a graph as a text for Graphviz, node for node and line for line what the compiler
 * itself writes of it (XProf's clients get that).
 *
 * Where that would be malformed it is put right: every text is escaped, colours are colours. Of the
 * style sheet only the rules are kept that show a node's edges under the mouse; no font is loaded
 * from the network.
 */
#include "xprof/graph_style.h"

#include <stdlib.h>

struct pen {
	struct ss_out *o;
	bool behind;		/* a line was written */
};

static void write_line(void *arg, const struct ss_graph_line *line)
{
	static const char *const open[] = { "", "<b>", "<i>" }, *const close[] = { "", "</b>", "</i>" };
	struct pen *p = arg;
	ss_out_z(p->o, p->behind ? "<br/>" : "");
	p->behind = true;
	enum ss_graph_style style = SS_GRAPH_PLAIN;
	for (size_t i = 0; i < SS_COUNT(line->runs); i++) {
		const struct ss_graph_run *run = &line->runs[i];
		if (!run->text.n)
			continue;
		if (run->style != style) {
			ss_out_z(p->o, close[style]);
			ss_out_z(p->o, open[run->style]);
			style = run->style;
		}
		ss_graph_escaped(p->o, run->text);
	}
	ss_out_z(p->o, close[style]);
}

/* Between quotes: Graphviz reads entities there, too, and backslashes. */
static void quoted(struct ss_out *o, struct ss_str s)
{
	ss_out_char(o, '"');
	for (size_t begin = 0; begin <= s.n;) {
		size_t end = begin;
		while (end < s.n && s.p[end] != '\\')
			end++;
		ss_graph_escaped(o, ss_str_sub(s, begin, end));
		if (end < s.n)
			ss_out_lit(o, "\\\\");
		begin = end + 1;
	}
	ss_out_char(o, '"');
}

static void write_node(struct ss_out *o, const struct ss_table *t, size_t row)
{
	const struct ss_node_style *style = ss_node_style_of(t, row);
	struct pen pen = { o, false };
	ss_out_printf(o, "n%zu [label=<", row);
	ss_graph_lines(t, row, write_line, &pen);
	ss_out_lit(o, ">, shape=");
	ss_out_str(o, ss_cell_str(t, row, "outline"));
	ss_out_lit(o, ", tooltip=");
	quoted(o, ss_cell_str(t, row, "tip"));
	ss_out_printf(o, ", style=\"%s\", fontcolor=\"%s\", color=\"%s\", fillcolor=\"%s\"];\n",
		      ss_graph_is_omitted(ss_cell_str(t, row, "state")) && !ss_str_is(ss_cell_str(t, row, "state"), "root") ?
			      "filled,dashed" :
			      "filled",
		      style->text, style->border, style->fill);
}

static void open_box(struct ss_out *o, const struct ss_table *t, size_t row)
{
	bool fusion = ss_cell_bool(t, row, "fusion"), root = ss_cell_bool(t, row, "root");
	struct pen pen = { o, false };
	ss_out_printf(o, "subgraph cluster_%zu {\n", row);
	if (fusion)
		ss_out_printf(o, "style=\"rounded,filled,bold\"; fillcolor=\"%s\"; color=\"%s\";\n", root ? "#ffcdd2" : "#f5f5f5",
			      root ? "#b71c1c" : "#c2c2c2");
	else
		ss_out_lit(o, "style=rounded; color=black;\n");
	ss_out_lit(o, "label = <");
	ss_graph_box_lines(t, row, write_line, &pen);
	ss_out_lit(o, ">;\nlabelloc = t;\ntooltip = \" \";\n");
}

/* Boxes that are open, from the outermost; `at` is the innermost, -1: none. Closes those that `box` does not stand in. */
static int64_t close_boxes(struct ss_out *o, const struct ss_table *boxes, int64_t at, int64_t box)
{
	for (; at >= 0 && at != box; at = ss_cell_i64(boxes, (size_t)at, "parent"))
		ss_out_lit(o, "}\n");
	return at;
}

/* Nodes in the order of drawing; each box begins before the node that it says. */
static void write_nodes(struct ss_out *o, const struct ss_table *nodes, const struct ss_table *boxes)
{
	int64_t open = -1;
	size_t box = 0;
	for (size_t i = 0; i <= nodes->nrows; i++) {
		for (; box < boxes->nrows && ss_cell_i64(boxes, box, "first") == (int64_t)i; box++) {
			close_boxes(o, boxes, open, ss_cell_i64(boxes, box, "parent"));
			open_box(o, boxes, box);
			open = (int64_t)box;
		}
		open = close_boxes(o, boxes, open, i < nodes->nrows ? ss_cell_i64(nodes, i, "box") : -1);
		if (i < nodes->nrows)
			write_node(o, nodes, i);
	}
}

static void write_edges(struct ss_out *o, const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows; i++) {
		int64_t operand = ss_cell_i64(t, i, "operand"), box = ss_cell_i64(t, i, "box");
		ss_out_printf(o, "n%lld -> n%lld [", (long long)ss_cell_i64(t, i, "from"), (long long)ss_cell_i64(t, i, "to"));
		if (box >= 0)
			ss_out_printf(o, "ltail=\"cluster_%lld\", style=\"dashed\" ", (long long)box);
		else
			ss_out_z(o, ss_cell_bool(t, i, "small") ? "arrowhead=empty " : "arrowhead=normal ");
		ss_out_lit(o, "tooltip=");
		quoted(o, ss_cell_str(t, i, "tip"));
		if (ss_str_eq(ss_cell_str(t, i, "kind"), SS_STR("control")))
			ss_out_lit(o, " style=\"dotted\" color=\"gray\" label=\"ctrl\"");
		else if (operand >= 0)
			ss_out_printf(o, "  headlabel=\"%lld\", labeldistance=2", (long long)operand);
		else if (box < 0)
			ss_out_char(o, ' ');
		ss_out_lit(o, "];\n");
	}
}

/* --- the style sheet --------------------------------------------------------------------------- */

/*
 * Graphviz numbers what it draws: node1, clust1, edge1 and so on, in the order of the text. A number
 * sign is escaped, as the sheet stands in a URI.
 */
static void rule(struct ss_out *o, const char *what, size_t number, size_t edge, const char *color)
{
	ss_out_printf(o,
		      "  %%23%s%zu:hover ~ %%23edge%zu path, %%23%s%zu:hover ~ %%23edge%zu polygon "
		      "{ stroke: %%23%s; stroke-width: .2em; }\n",
		      what, number, edge + 1, what, number, edge + 1, color);
}

/* The last box that stands in each, itself included: boxes stand in the order of drawing. */
static size_t *last_inside(const struct ss_table *boxes)
{
	size_t *last = malloc((boxes->nrows + 1) * sizeof(*last));
	for (size_t i = 0; last && i < boxes->nrows; i++)
		last[i] = i;
	for (size_t i = last ? boxes->nrows : 0; i-- > 0;) {
		int64_t parent = ss_cell_i64(boxes, i, "parent");
		if (parent >= 0 && last[parent] < last[i])
			last[parent] = last[i];
	}
	return last;
}

static bool is_outside(const size_t *last, int64_t box, int64_t of)
{
	return box < of || (size_t)box > last[of];
}

/* Values that leave a node, or a fusion, are blue while the mouse is over it, those that come red. */
static void write_rules(struct ss_out *o, const struct ss_result *r)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes"), *boxes = ss_result_find(r, "boxes");
	const struct ss_table *edges = ss_result_find(r, "edges");
	static const char blue[] = "1976d2", red[] = "d32f2f";
	size_t *last = last_inside(boxes);
	o->no_memory |= !last;
	for (size_t i = 0; last && i < edges->nrows; i++) {
		size_t from = (size_t)ss_cell_i64(edges, i, "from"), to = (size_t)ss_cell_i64(edges, i, "to");
		int64_t out_of = ss_cell_i64(nodes, from, "box"), into = ss_cell_i64(nodes, to, "box");
		rule(o, "node", from + 1, i, blue);
		rule(o, "node", to + 1, i, red);
		if (out_of >= 0 && ss_cell_bool(boxes, (size_t)out_of, "fusion") && is_outside(last, into, out_of))
			rule(o, "clust", (size_t)out_of + 1, i, blue);
		if (into >= 0 && ss_cell_bool(boxes, (size_t)into, "fusion") && is_outside(last, out_of, into))
			rule(o, "clust", (size_t)into + 1, i, red);
	}
	double root = ss_shape_prop(nodes, "root_node");
	if (root >= 0) {
		rule(o, "node", (size_t)root + 1, edges->nrows, blue);
		rule(o, "node", nodes->nrows + 1, edges->nrows, red);
	}
	free(last);
}

void ss_graph_write_dot(struct ss_out *o, const struct ss_result *r)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes");
	struct pen pen = { o, false };
	double root = ss_shape_prop(nodes, "root_node");
	ss_out_lit(o, "digraph G {\nrankdir = TB;\ncompound = true;\nlabel = <<b>");
	ss_graph_title(nodes, write_line, &pen);
	ss_out_lit(o, "</b>>;\nlabelloc = t;\ntooltip = \" \";\nstylesheet=<\n  data:text/css,\n");
	write_rules(o, r);
	ss_out_lit(o, ">\n\n");
	write_nodes(o, nodes, ss_result_find(r, "boxes"));
	if (root >= 0)
		ss_out_lit(o, "root [label=<ROOT>, shape=circle, tooltip=\" \", style=\"filled\", fontcolor=\"black\", "
			      "color=\"#8c7b75\", fillcolor=\"#bcaaa4\"];\n");
	ss_out_char(o, '\n');
	write_edges(o, ss_result_find(r, "edges"));
	if (root >= 0)
		ss_out_printf(o, "n%.0f -> root [tooltip=\" \"];\n", root);
	ss_out_lit(o, "}\n");
}
