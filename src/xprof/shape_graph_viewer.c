/*
 * shape_graph_viewer.c - the tables of a graph as a drawing: HTML with an SVG that needs nothing
 * from anywhere, or a text for Graphviz.
 *
 * XProf's HTML loads Graphviz from the network and draws in the browser; this one is drawn here.
 */
#include "drawing/layered.h"
#include "xprof/graph_style.h"

#include <math.h>

#define LETTER_W 6.3
#define LINE_H 14.0
#define MAX_LETTERS 56
#define MARGIN 18.0

struct size {
	double letters, n;
};

static void measure_line(void *arg, const struct ss_graph_line *line)
{
	struct size *s = arg;
	size_t n = 0;
	for (size_t i = 0; i < SS_COUNT(line->runs); i++)
		n += line->runs[i].text.n;
	double letters = n > MAX_LETTERS ? MAX_LETTERS : (double)n;
	s->letters = letters > s->letters ? letters : s->letters;
	s->n++;
}

struct pen {
	struct ss_out *o;
	double x, y;
};

/* Cut between letters, not inside of one. */
static size_t cut(struct ss_str text, size_t n)
{
	if (n >= text.n)
		return text.n;
	while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void draw_line(void *arg, const struct ss_graph_line *line)
{
	static const char *const classes[] = { "", " class=\"b\"", " class=\"i\"" };
	struct pen *p = arg;
	size_t room = MAX_LETTERS;
	p->y += LINE_H;
	ss_out_printf(p->o, "<text x=\"%.1f\" y=\"%.1f\">", p->x, p->y);
	for (size_t i = 0; i < SS_COUNT(line->runs) && room; i++) {
		struct ss_str text = line->runs[i].text;
		size_t n = cut(text, room);
		if (!text.n)
			continue;
		ss_out_printf(p->o, "<tspan%s>", classes[line->runs[i].style]);
		ss_graph_escaped(p->o, ss_str_sub(text, 0, n));
		ss_out_z(p->o, n < text.n ? "\xe2\x80\xa6</tspan>" : "</tspan>");
		room = n < text.n ? 0 : room - n;
	}
	ss_out_lit(p->o, "</text>");
}

/* --- SVG --------------------------------------------------------------------------------------- */

static void tooltip(struct ss_out *o, const struct ss_table *t, size_t row)
{
	static const char *const cols[] = { "tip", "state", "expression" };
	const char *newline = "";
	ss_out_lit(o, "<title>");
	for (size_t i = 0; i < SS_COUNT(cols); i++) {
		struct ss_str s = ss_cell_str(t, row, cols[i]);
		if (!s.n)
			continue;
		ss_out_z(o, newline);
		ss_graph_escaped(o, s);
		newline = "\n";
	}
	ss_out_lit(o, "</title>");
}

static void draw_node(struct ss_out *o, const struct ss_table *t, size_t row,
		      const struct ss_layered_node *n)
{
	const struct ss_node_style *style = ss_node_style_of(t, row);
	struct pen pen = { o, n->x + n->w / 2, n->y + 3 };
	ss_out_printf(o, "<g id=\"n%zu\" class=\"n\" fill=\"%s\" data-name=\"", row, style->text);
	ss_graph_escaped(o, ss_cell_str(t, row, "name"));
	ss_out_lit(o, "\">");
	tooltip(o, t, row);
	ss_out_printf(o,
		      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" "
		      "fill=\"%s\" stroke=\"%s\"%s/>",
		      n->x, n->y, n->w, n->h, style->fill, style->border,
		      ss_graph_is_omitted(ss_cell_str(t, row, "state")) ? " stroke-dasharray=\"4 3\"" : "");
	ss_graph_lines(t, row, draw_line, &pen);
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
	ss_graph_escaped(o, ss_cell_str(t, row, "name"));
	ss_out_printf(o, "</text><text x=\"%.1f\" y=\"%.1f\">", n->x + n->w / 2, n->y + 2 * LINE_H);
	ss_graph_escaped(o, kind.n ? kind : ss_cell_str(t, row, "computation"));
	ss_out_z(o, fusion ? " fusion</text></g>\n" : "</text></g>\n");
}

/* Along its points, vertical at each of them. */
static void draw_path(struct ss_out *o, const struct ss_layered_edge *e)
{
	const double *p = e->points;
	ss_out_printf(o, "<path d=\"M%.1f %.1f", p[0], p[1]);
	for (uint32_t i = 1; i < e->npoints; i++, p += 2) {
		double bend = fabs(p[3] - p[1]) / 2;
		bend = p[3] < p[1] && bend < 40 ? 40 : bend;
		ss_out_printf(o, "C%.1f %.1f %.1f %.1f %.1f %.1f", p[0], p[1] + bend, p[2], p[3] - bend, p[2], p[3]);
	}
	ss_out_lit(o, "\"");
}

static void draw_edge(struct ss_out *o, const struct ss_table *t, size_t row, const struct ss_layered_edge *e)
{
	const double *end = e->points + 2 * (e->npoints - 1);
	struct ss_str kind = ss_cell_str(t, row, "kind");
	int64_t operand = ss_cell_i64(t, row, "operand");
	bool dashed = !ss_str_eq(kind, SS_STR("data"));
	ss_out_printf(o, "<g class=\"e\" data-from=\"%u\" data-to=\"%u\"><title>", e->from, e->to);
	ss_graph_escaped(o, ss_cell_str(t, row, "tip"));
	ss_out_lit(o, "</title>");
	draw_path(o, e);
	ss_out_printf(o, "%s%s/>", dashed ? " stroke-dasharray=\"3 3\"" : "",
		      ss_cell_bool(t, row, "small") ? "" : " stroke-width=\"2\"");
	if (operand >= 0)
		ss_out_printf(o, "<text x=\"%.1f\" y=\"%.1f\">%lld</text>", end[0] + 8, end[1] - 3, (long long)operand);
	ss_out_lit(o, "</g>\n");
}

static void draw_all(struct ss_out *o, const struct ss_result *r, const struct ss_layered *g)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes"),
			      *boxes = ss_result_find(r, "boxes");
	const struct ss_table *edges = ss_result_find(r, "edges");
	double w = g->w + 2 * MARGIN, h = g->h + 2 * MARGIN;
	ss_out_printf(o,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		      "viewBox=\"%.0f %.0f %.0f %.0f\">\n",
		      w, h, -MARGIN, -MARGIN, w, h);
	ss_out_lit(o, "<defs><marker id=\"a\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" "
		      "refY=\"3\" orient=\"auto\" "
		      "markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L7 3L0 6z\" "
		      "fill=\"#616161\"/></marker></defs>\n");
	for (uint32_t i = 0; i < g->nboxes; i++)
		draw_box(o, boxes, i, &g->boxes[i]);
	for (uint32_t i = 0; i < g->nedges; i++)
		draw_edge(o, edges, i, &g->edges[i]);
	for (uint32_t i = 0; i < g->nnodes; i++)
		draw_node(o, nodes, i, &g->nodes[i]);
	ss_out_lit(o, "</svg>");
}

static bool prepare(struct ss_layered *g, const struct ss_result *r, struct ss_arena *arena)
{
	const struct ss_table *nodes = ss_result_find(r, "nodes"),
			      *boxes = ss_result_find(r, "boxes");
	const struct ss_table *edges = ss_result_find(r, "edges");
	*g = (struct ss_layered){ .nnodes = (uint32_t)nodes->nrows,
				  .nboxes = (uint32_t)boxes->nrows,
				  .nedges = (uint32_t)edges->nrows,
				  .spacing = { .across = 18, .down = 36, .title = 2 * LINE_H + 15, .pad = 18 } };
	g->edges = SS_NEW_N(arena, struct ss_layered_edge, edges->nrows + 1);
	g->nodes = SS_NEW_N(arena, struct ss_layered_node, nodes->nrows + 1);
	g->boxes = SS_NEW_N(arena, struct ss_layered_node, boxes->nrows + 1);
	if (!g->edges || !g->nodes || !g->boxes)
		return false;
	for (size_t i = 0; i < nodes->nrows; i++) {
		struct size s = { 8, 0 };
		ss_graph_lines(nodes, i, measure_line, &s);
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
		g->edges[i] = (struct ss_layered_edge){ .from = (uint32_t)ss_cell_i64(edges, i, "from"),
							.to = (uint32_t)ss_cell_i64(edges, i, "to") };
	return true;
}

struct title {
	struct ss_out *o;
	bool behind;		/* a line was written */
};

static void title_line(void *arg, const struct ss_graph_line *line)
{
	struct title *t = arg;
	if (!line->runs[0].text.n)
		return;
	ss_out_z(t->o, t->behind ? "<br/>" : "");
	t->behind = true;
	for (size_t i = 0; i < SS_COUNT(line->runs); i++)
		ss_graph_escaped(t->o, line->runs[i].text);
}

static void write_html(struct ss_out *o, const struct ss_result *r)
{
	struct title title = { o, false };
	struct ss_arena arena = { 0 };
	struct ss_layered g;
	bool ok = prepare(&g, r, &arena) && ss_layered_place(&g, &arena);
	ss_out_lit(o, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>HLO "
		      "graph</title><style>\n"
		      "body{margin:0;font:12px "
		      "Roboto,Helvetica,Arial,sans-serif;background:#fff}h1{font-size:13px;text-"
		      "align:center}\n"
		      "svg{display:block;margin:auto}text{font-size:11px;text-anchor:middle}.b{"
		      "font-weight:bold}.i{font-style:italic}\n"
		      ".e path{fill:none;stroke:#616161;marker-end:url(#a)}.e "
		      "text{font-size:9px;fill:#616161}\n"
		      ".e:hover path{stroke:#1976d2;stroke-width:3}.n:hover rect{stroke-width:3}\n"
		      "</style></head><body><h1>");
	ss_graph_title(ss_result_find(r, "nodes"), title_line, &title);
	ss_out_lit(o, "</h1>\n");
	if (ok)
		draw_all(o, r, &g);
	else
		o->no_memory = true;
	for (size_t i = 0; i < r->nnotes; i++) {
		ss_out_lit(o, "<p>");
		ss_graph_escaped(o, r->notes[i].text);
		ss_out_lit(o, "</p>");
	}
	ss_out_lit(o, "\n</body></html>\n");
	ss_arena_release(&arena);
}

void ss_shape_graph_viewer(struct ss_out *o, const struct ss_result *r)
{
	if (ss_str_eq(ss_shape_prop_text(ss_result_find(r, "nodes"), "format"), SS_STR("dot")))
		ss_graph_write_dot(o, r);
	else
		write_html(o, r);
}
