/*
 * shape_graph_viewer.c - the tables of a graph as a drawing: HTML with an SVG that needs nothing
 * from anywhere, or a text for Graphviz.
 *
 * XProf's HTML loads Graphviz from the network and draws in the browser; this one is drawn here.
 */
#include "emit/layered.h"
#include "emit/shape.h"

#include <stdlib.h>

#define LETTER_W 6.3
#define LINE_H 14.0
#define MOST_LETTERS 56

/* What a class of instructions looks like: text, border, inside. */
static const struct look {
	const char *class, *text, *border, *fill;
} looks[] = {
	{ "elementwise", "#000000", "#9e9e9e", "#ffffff" },
	{ "movement", "#000000", "#97b498", "#c8e6c9" },
	{ "update", "#000000", "#cbc693", "#fff9c4" },
	{ "heavy", "#ffffff", "#003c8f", "#1565c0" },
	{ "parameter", "#000000", "#cbae82", "#ffe0b2" },
	{ "reduction", "#000000", "#af8eb5", "#e1bee7" },
	{ "container", "#000000", "#9ea7aa", "#cfd8dc" },
	{ "communication", "#000000", "#8c7b75", "#bcaaa4" },
	{ "control", "#ffffff", "#005005", "#2e7d32" },
};

static const struct look root_look = { "root", "#ffffff", "#7f0000", "#b71c1c" };
static const struct look omitted_look = { "omitted", "#757575", "#757575", "#ffffff" };

static bool is_omitted(struct ss_str state)
{
	return ss_str_contains(state, SS_STR("omitted"));
}

static const struct look *look_of(const struct ss_table *t, size_t row)
{
	struct ss_str class = ss_cell_str(t, row, "class"), state = ss_cell_str(t, row, "state");
	if (ss_str_eq(state, SS_STR("root")))
		return &root_look;
	if (is_omitted(state))
		return &omitted_look;
	for (size_t i = 0; i < SS_COUNT(looks); i++)
		if (ss_str_is(class, looks[i].class))
			return &looks[i];
	return &looks[0];
}

static void escaped(struct ss_out *o, struct ss_str s)
{
	size_t run = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		const char *as = c == '<'   ? "&lt;"
				 : c == '>' ? "&gt;"
				 : c == '&' ? "&amp;"
				 : c == '"' ? "&quot;"
					    : NULL;
		if (!as && ((unsigned char)c >= 0x20 || c == '\n'))
			continue;
		ss_out_str(o, ss_str_sub(s, run, i));
		ss_out_z(o, as ? as : " ");
		run = i + 1;
	}
	ss_out_str(o, ss_str_sub(s, run, s.n));
}

/* Text that is no UTF-8 would make the whole file malformed. */
static void escaped_utf8(struct ss_out *o, struct ss_str s)
{
	escaped(o, ss_utf8_valid(s) ? s : SS_STR("?"));
}

/* --- the lines of a node ----------------------------------------------------------------------- */

typedef void line_fn(void *arg, struct ss_str text, bool bold);

static bool next_line(struct ss_str *rest, struct ss_str *line)
{
	if (!rest->n)
		return false;
	size_t end = ss_str_chr(*rest, '\n');
	*line = ss_str_sub(*rest, 0, end == SS_NPOS ? rest->n : end);
	*rest = ss_str_sub(*rest, line->n + 1, rest->n);
	return true;
}

/* "2<tab>text" as "<before> 2 = text"; the number is left out if it is the only one. */
static void numbered(struct ss_str all, const char *before, const char *after, line_fn *fn,
		     void *arg)
{
	struct ss_str line, rest = all;
	while (next_line(&rest, &line)) {
		char head[48];
		size_t tab = ss_str_chr(line, '\t'), n = 0;
		for (const char *p = before; *p && n < 20; p++)
			head[n++] = *p;
		for (size_t i = 0; tab != SS_NPOS && i < tab && n < 40; i++)
			head[n++] = line.p[i];
		for (const char *p = after; *p && n < 46; p++)
			head[n++] = *p;
		fn(arg, (struct ss_str){ head, n }, true);
		fn(arg, ss_str_sub(line, tab == SS_NPOS ? 0 : tab + 1, line.n), false);
	}
}

static void lines(const struct ss_table *t, size_t row, line_fn *fn, void *arg)
{
	struct ss_str line, rest;
	fn(arg, ss_cell_str(t, row, "title"), true);
	if (ss_cell_str(t, row, "opcode").n)
		fn(arg, ss_cell_str(t, row, "opcode"), false);
	numbered(ss_cell_str(t, row, "subcomputations"), "Subcomputation ", ":", fn, arg);
	rest = ss_cell_str(t, row, "attributes");
	while (next_line(&rest, &line))
		fn(arg, line, false);
	fn(arg, ss_cell_str(t, row, "shape"), false);
	numbered(ss_cell_str(t, row, "inlined"), "operand ", " =", fn, arg);
	if (ss_cell_str(t, row, "backend_config").n)
		fn(arg, ss_cell_str(t, row, "backend_config"), false);
}

struct size {
	double letters, n;
};

static void measure_line(void *arg, struct ss_str text, bool bold)
{
	struct size *s = arg;
	double n = text.n > MOST_LETTERS ? MOST_LETTERS : (double)text.n;
	s->letters = n > s->letters ? n : s->letters;
	s->n++;
	(void)bold;
}

struct pen {
	struct ss_out *o;
	double x, y;
};

static void draw_line(void *arg, struct ss_str text, bool bold)
{
	struct pen *p = arg;
	p->y += LINE_H;
	ss_out_printf(p->o, "<text x=\"%.1f\" y=\"%.1f\"%s>", p->x, p->y,
		      bold ? " class=\"b\"" : "");
	/* Cut between letters, not inside of one. */
	size_t n = text.n > MOST_LETTERS ? MOST_LETTERS : text.n;
	while (n && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	escaped_utf8(p->o, ss_str_sub(text, 0, n));
	ss_out_z(p->o, n < text.n ? "\xe2\x80\xa6</text>" : "</text>");
}

static void write_dot_line(void *arg, struct ss_str text, bool bold)
{
	struct pen *p = arg;
	ss_out_z(p->o, p->x > 0 ? "<br/>" : "");
	ss_out_z(p->o, bold ? "<b>" : "");
	escaped_utf8(p->o, text);
	ss_out_z(p->o, bold ? "</b>" : "");
	p->x = 1;
}

/* --- SVG --------------------------------------------------------------------------------------- */

static void tooltip(struct ss_out *o, const struct ss_table *t, size_t row)
{
	static const char *const cols[] = { "op_name",	    "op_type", "source",
					    "source_stack", "state",   "expression" };
	const char *newline = "";
	ss_out_lit(o, "<title>");
	for (size_t i = 0; i < SS_COUNT(cols); i++) {
		struct ss_str s = ss_cell_str(t, row, cols[i]);
		if (!s.n)
			continue;
		ss_out_z(o, newline);
		escaped_utf8(o, s);
		newline = "\n";
	}
	ss_out_lit(o, "</title>");
}

static void draw_node(struct ss_out *o, const struct ss_table *t, size_t row,
		      const struct ss_layered_node *n)
{
	const struct look *look = look_of(t, row);
	struct pen pen = { o, n->x + n->w / 2, n->y + 3 };
	ss_out_printf(o, "<g id=\"n%zu\" class=\"n\" fill=\"%s\" data-name=\"", row, look->text);
	escaped_utf8(o, ss_cell_str(t, row, "name"));
	ss_out_lit(o, "\">");
	tooltip(o, t, row);
	ss_out_printf(o,
		      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" "
		      "fill=\"%s\" stroke=\"%s\"%s/>",
		      n->x, n->y, n->w, n->h, look->fill, look->border,
		      is_omitted(ss_cell_str(t, row, "state")) ? " stroke-dasharray=\"4 3\"" : "");
	lines(t, row, draw_line, &pen);
	ss_out_lit(o, "</g>\n");
}

static void draw_box(struct ss_out *o, const struct ss_table *t, size_t row,
		     const struct ss_layered_node *n)
{
	bool root = ss_cell_bool(t, row, "root"), fusion = ss_cell_bool(t, row, "fusion");
	struct ss_str kind = ss_cell_str(t, row, "kind");
	ss_out_printf(o,
		      "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" "
		      "fill=\"%s\" stroke=\"%s\"/>",
		      n->x, n->y, n->w, n->h,
		      root     ? "#ffcdd2"
		      : fusion ? "#f5f5f5"
			       : "none",
		      root     ? "#b71c1c"
		      : fusion ? "#c2c2c2"
			       : "#000000");
	ss_out_printf(o, "<text x=\"%.1f\" y=\"%.1f\" class=\"b\">", n->x + n->w / 2,
		      n->y + LINE_H);
	escaped_utf8(o, ss_cell_str(t, row, "name"));
	ss_out_printf(o, "</text><text x=\"%.1f\" y=\"%.1f\">", n->x + n->w / 2, n->y + 2 * LINE_H);
	escaped_utf8(o, kind.n ? kind : ss_cell_str(t, row, "computation"));
	ss_out_z(o, fusion ? " fusion</text></g>\n" : "</text></g>\n");
}

/* Down from the middle of the one to the middle of the other. */
static void draw_edge(struct ss_out *o, const struct ss_table *t, size_t row,
		      const struct ss_layered_node *from, const struct ss_layered_node *to)
{
	double x1 = from->x + from->w / 2, y1 = from->y + from->h, x2 = to->x + to->w / 2,
	       y2 = to->y;
	double bend = (y2 - y1) / 2 > 20 ? (y2 - y1) / 2 : 20;
	struct ss_str kind = ss_cell_str(t, row, "kind");
	int64_t operand = ss_cell_i64(t, row, "operand");
	bool dashed = !ss_str_eq(kind, SS_STR("data"));
	ss_out_printf(o, "<g class=\"e\" data-from=\"%lld\" data-to=\"%lld\"><title>",
		      (long long)ss_cell_i64(t, row, "from"), (long long)ss_cell_i64(t, row, "to"));
	escaped_utf8(o, ss_cell_str(t, row, "tip"));
	ss_out_printf(o, "</title><path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"%s%s/>", x1,
		      y1, x1, y1 + bend, x2, y2 - bend, x2, y2,
		      dashed ? " stroke-dasharray=\"3 3\"" : "",
		      ss_cell_bool(t, row, "small") ? "" : " stroke-width=\"2\"");
	if (operand >= 0)
		ss_out_printf(o, "<text x=\"%.1f\" y=\"%.1f\">%lld</text>", x2 + 8, y2 - 3,
			      (long long)operand);
	ss_out_lit(o, "</g>\n");
}

static void draw_all(struct ss_out *o, const struct ss_result *r, const struct ss_layered *g)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes"),
			      *boxes = ss_result_find(r, "boxes");
	const struct ss_table *edges = ss_result_find(r, "edges");
	ss_out_printf(o,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		      "viewBox=\"0 0 %.0f %.0f\">\n",
		      g->w, g->h, g->w, g->h);
	ss_out_lit(o, "<defs><marker id=\"a\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" "
		      "refY=\"3\" orient=\"auto\" "
		      "markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L7 3L0 6z\" "
		      "fill=\"#616161\"/></marker></defs>\n");
	for (uint32_t i = 0; i < g->nboxes; i++)
		draw_box(o, boxes, i, &g->boxes[i]);
	for (uint32_t i = 0; i < g->nedges; i++)
		draw_edge(o, edges, i, &g->nodes[g->edges[i].from], &g->nodes[g->edges[i].to]);
	for (uint32_t i = 0; i < g->nnodes; i++)
		draw_node(o, nodes, i, &g->nodes[i]);
	ss_out_lit(o, "</svg>");
}

static void title(struct ss_out *o, const struct ss_table *t)
{
	struct ss_str name = ss_shape_prop_text(t, "node_name");
	if (name.n) {
		ss_out_lit(o, "Neighborhood of ");
		ss_out_str(o, ss_shape_prop_text(t, "graph_width"));
		ss_out_lit(o, " nodes around ");
		escaped_utf8(o, name);
		ss_out_lit(o, "<br/>");
	}
	ss_out_lit(o, "Computation ");
	escaped_utf8(o, ss_shape_prop_text(t, "computation"));
	if (ss_str_eq(ss_shape_prop_text(t, "entry"), SS_STR("true")))
		ss_out_lit(o, "<br/>ENTRY computation");
}

static bool prepare(struct ss_layered *g, const struct ss_result *r)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes"),
			      *boxes = ss_result_find(r, "boxes");
	const struct ss_table *edges = ss_result_find(r, "edges");
	*g = (struct ss_layered){ .nnodes = (uint32_t)nodes->nrows,
				  .nboxes = (uint32_t)boxes->nrows,
				  .nedges = (uint32_t)edges->nrows,
				  .gap = 18,
				  .title_h = 2 * LINE_H + 6 };
	struct ss_layered_edge *e = calloc(edges->nrows + 1, sizeof(*e));
	g->nodes = calloc(nodes->nrows + 1, sizeof(*g->nodes));
	g->boxes = calloc(boxes->nrows + 1, sizeof(*g->boxes));
	g->edges = e;
	if (!e || !g->nodes || !g->boxes)
		return false;
	for (size_t i = 0; i < nodes->nrows; i++) {
		struct size s = { 8, 0 };
		lines(nodes, i, measure_line, &s);
		int64_t box = ss_cell_i64(nodes, i, "box");
		g->nodes[i] =
			(struct ss_layered_node){ s.letters * LETTER_W + 14, s.n * LINE_H + 10, 0,
						  0, box < 0 ? SS_LAYERED_NONE : (uint32_t)box };
	}
	for (size_t i = 0; i < boxes->nrows; i++) {
		int64_t parent = ss_cell_i64(boxes, i, "parent");
		double w = (double)ss_cell_str(boxes, i, "name").n * LETTER_W + 20;
		g->boxes[i] =
			(struct ss_layered_node){ w, 0, 0, 0,
						  parent < 0 ? SS_LAYERED_NONE : (uint32_t)parent };
	}
	for (size_t i = 0; i < edges->nrows; i++)
		e[i] = (struct ss_layered_edge){ (uint32_t)ss_cell_i64(edges, i, "from"),
						 (uint32_t)ss_cell_i64(edges, i, "to") };
	return true;
}

static void write_html(struct ss_out *o, const struct ss_result *r)
{
	struct ss_layered g;
	bool ok = prepare(&g, r) && ss_layered_place(&g);
	ss_out_lit(o, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>HLO "
		      "graph</title><style>\n"
		      "body{margin:0;font:12px "
		      "Roboto,Helvetica,Arial,sans-serif;background:#fff}h1{font-size:13px;text-"
		      "align:center}\n"
		      "svg{display:block;margin:auto}text{font-size:11px;text-anchor:middle}.b{"
		      "font-weight:bold}\n"
		      ".e path{fill:none;stroke:#616161;marker-end:url(#a)}.e "
		      "text{font-size:9px;fill:#616161}\n"
		      ".e:hover path{stroke:#1976d2;stroke-width:3}.n:hover rect{stroke-width:3}\n"
		      "</style></head><body><h1>");
	title(o, ss_result_find(r, "nodes"));
	ss_out_lit(o, "</h1>\n");
	if (ok)
		draw_all(o, r, &g);
	else
		o->no_memory = true;
	for (size_t i = 0; i < r->nnotes; i++) {
		ss_out_lit(o, "<p>");
		escaped_utf8(o, r->notes[i].text);
		ss_out_lit(o, "</p>");
	}
	ss_out_lit(o, "\n</body></html>\n");
	free(g.nodes);
	free(g.boxes);
	free((void *)(uintptr_t)g.edges);
}

/* --- Graphviz ---------------------------------------------------------------------------------- */

static void dot_string(struct ss_out *o, struct ss_str s)
{
	ss_out_char(o, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			ss_out_char(o, '\\');
		ss_out_char(o, s.p[i]);
	}
	ss_out_char(o, '"');
}

static void dot_node(struct ss_out *o, const struct ss_table *t, size_t row)
{
	const struct look *look = look_of(t, row);
	struct pen pen = { o, 0, 0 };
	const char *shape = look == &root_look ? "diamond" : "rect";
	ss_out_printf(o, "n%zu [label=<", row);
	lines(t, row, write_dot_line, &pen);
	ss_out_printf(o, ">, shape=%s, tooltip=", shape);
	dot_string(o, ss_cell_str(t, row, "op_name"));
	ss_out_printf(o, ", style=\"%s\", fontcolor=\"%s\", color=\"%s\", fillcolor=\"%s\"];\n",
		      look == &omitted_look ? "filled,dashed" : "filled", look->text, look->border,
		      look->fill);
}

static void dot_box_head(struct ss_out *o, const struct ss_table *t, size_t row)
{
	bool fusion = ss_cell_bool(t, row, "fusion"), root = ss_cell_bool(t, row, "root");
	ss_out_printf(o,
		      "subgraph cluster_%zu {\nstyle=\"%s\"; fillcolor=\"%s\"; color=\"%s\"; "
		      "labelloc=t; tooltip=\" \";\nlabel=<%s <b>",
		      row, fusion ? "rounded,filled,bold" : "rounded",
		      root     ? "#ffcdd2"
		      : fusion ? "#f5f5f5"
			       : "#ffffff",
		      root     ? "#b71c1c"
		      : fusion ? "#c2c2c2"
			       : "#000000",
		      fusion ? "Fused expression for" : "Subcomputation for");
	escaped_utf8(o, ss_cell_str(t, row, "name"));
	ss_out_lit(o, "</b><br/>");
	escaped_utf8(o, ss_cell_str(t, row, fusion ? "kind" : "computation"));
	ss_out_z(o, fusion ? " fusion>;\n" : ">;\n");
}

static void dot_edges(struct ss_out *o, const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows; i++) {
		struct ss_str kind = ss_cell_str(t, i, "kind");
		int64_t operand = ss_cell_i64(t, i, "operand"), box = ss_cell_i64(t, i, "box");
		ss_out_printf(o, "n%lld -> n%lld [", (long long)ss_cell_i64(t, i, "from"),
			      (long long)ss_cell_i64(t, i, "to"));
		if (box < 0)
			ss_out_z(o, ss_cell_bool(t, i, "small") ? "arrowhead=empty "
								: "arrowhead=normal ");
		ss_out_lit(o, "tooltip=");
		dot_string(o, ss_cell_str(t, i, "tip"));
		if (operand >= 0)
			ss_out_printf(o, " headlabel=\"%lld\" labeldistance=2", (long long)operand);
		if (ss_str_eq(kind, SS_STR("control")))
			ss_out_lit(o, " style=dotted color=gray label=ctrl");
		if (box >= 0)
			ss_out_printf(o, " ltail=\"cluster_%lld\" style=dashed", (long long)box);
		ss_out_lit(o, "];\n");
	}
}

/*
 * Boxes can stand in boxes, so each is opened and closed around its own, in the order of the tree:
 * children by a list, no recursion.
 */
static void dot_boxes(struct ss_out *o, const struct ss_table *nodes, const struct ss_table *boxes)
{
	size_t n = boxes->nrows;
	uint32_t *first = malloc((n + 1) * sizeof(*first)), *next = malloc((n + 1) * sizeof(*next));
	uint32_t *node_first = malloc((n + 1) * sizeof(*node_first)),
		 *node_next = malloc((nodes->nrows + 1) * sizeof(*node_next));
	uint32_t *open = malloc((n + 1) * sizeof(*open)), depth = 0;
	if (first && next && node_first && node_next && open) {
		/* Entry n stands for the outside. */
		for (size_t i = 0; i <= n; i++)
			first[i] = node_first[i] = UINT32_MAX;
		for (size_t i = n; i-- > 0;) {
			int64_t parent = ss_cell_i64(boxes, i, "parent");
			size_t at = parent < 0 ? n : (size_t)parent;
			next[i] = first[at];
			first[at] = (uint32_t)i;
		}
		for (size_t i = nodes->nrows; i-- > 0;) {
			int64_t box = ss_cell_i64(nodes, i, "box");
			size_t at = box < 0 ? n : (size_t)box;
			node_next[i] = node_first[at];
			node_first[at] = (uint32_t)i;
		}
		for (uint32_t at = (uint32_t)n;;) {
			for (uint32_t k = node_first[at]; k != UINT32_MAX; k = node_next[k])
				dot_node(o, nodes, k);
			uint32_t child = first[at];
			while (child == UINT32_MAX && depth) {
				ss_out_lit(o, "}\n");
				child = next[open[--depth]];
			}
			if (child == UINT32_MAX)
				break;
			dot_box_head(o, boxes, child);
			open[depth++] = child;
			at = child;
		}
	} else {
		o->no_memory = true;
	}
	free(first);
	free(next);
	free(node_first);
	free(node_next);
	free(open);
}

static void write_dot(struct ss_out *o, const struct ss_result *r)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes");
	ss_out_lit(o, "digraph G {\nrankdir = TB;\ncompound = true;\nlabel = <<b>");
	title(o, nodes);
	ss_out_lit(o, "</b>>;\nlabelloc = t;\ntooltip = \" \";\n");
	dot_boxes(o, nodes, ss_result_find(r, "boxes"));
	dot_edges(o, ss_result_find(r, "edges"));
	ss_out_lit(o, "}\n");
}

void ss_shape_graph_viewer(struct ss_out *o, const struct ss_result *r)
{
	if (ss_str_eq(ss_shape_prop_text(ss_result_find(r, "nodes"), "format"), SS_STR("dot")))
		write_dot(o, r);
	else
		write_html(o, r);
}
