/* picture.c - see picture.h. */
#include "drawing/picture.h"

#include "drawing/letters.h"
#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

#define BOX_TITLE 30.0
#define SPACING { .across = 22, .down = 34, .title = BOX_TITLE, .pad = 14 }

enum { P_PICTURE, P_BOX, P_ROW, P_X, P_Y, P_WIDTH, P_HEIGHT, P_LINES };

static const struct ss_col place_cols[] = {
	INT("picture", "Picture", NONE, "Number of the picture, from 0"),
	FLAG("is_box", "Box", NULL),
	INT("row", "Row", NONE, "Row in the table of nodes or of boxes"),
	NUM("x", "X", NONE, "Left side, in pixels"),
	NUM("y", "Y", NONE, "Upper side, in pixels"),
	NUM("width", "Width", NONE, "In pixels"),
	NUM("height", "Height", NONE, "In pixels"),
	STR("lines", "Lines", "Lines of text, the title first"),
};

enum { R_PICTURE, R_ROW, R_FROM, R_TO, R_POINTS };

static const struct ss_col route_cols[] = {
	INT("picture", "Picture", NONE, NULL),
	INT("row", "Row", NONE, "Row of the edge in its table; in a tree, row of the node where the edge ends"),
	INT("from", "From", NONE, "Number of the place in its picture, from 0"),
	INT("to", "To", NONE, "Number of the place in its picture, from 0"),
	STR("points", "Points", "x and y of each point, in pixels, from the begin to the end"),
};

void ss_picture_tables(struct ss_result *r)
{
	ss_result_table(r, "places", "Places", place_cols, SS_COUNT(place_cols));
	ss_result_table(r, "routes", "Routes", route_cols, SS_COUNT(route_cols));
}

void ss_picture_line(struct ss_picture *p, struct ss_str line)
{
	struct ss_str front = p->style->most_letters ? ss_utf8_front(line, p->style->most_letters) : line;
	if (!line.n)
		return;
	ss_buf_z(&p->text, p->text.n ? "\n" : "");
	ss_buf_str(&p->text, front);
	ss_buf_z(&p->text, front.n < line.n ? "\xe2\x80\xa6" : "");
}

static struct ss_str take_lines(struct ss_picture *p)
{
	struct ss_str s = ss_arena_str(p->out->arena, ss_buf_get(&p->text));
	p->no_memory |= p->text.no_memory;
	p->text.n = 0;
	return s;
}

static double width_of(const struct ss_picture *p, struct ss_str lines, unsigned *n)
{
	double most = 0;
	*n = 0;
	while (lines.n) {
		size_t end = ss_str_chr(lines, '\n');
		struct ss_str line = ss_str_sub(lines, 0, end == SS_NPOS ? lines.n : end);
		double w = ss_text_width(line, SS_PICTURE_FONT, p->style->bold || *n == 0);
		most = w > most ? w : most;
		++*n;
		lines = ss_str_sub(lines, line.n + 1, lines.n);
	}
	return most;
}

void ss_picture_node(struct ss_picture *p, int64_t row, uint32_t box, unsigned more, double more_width)
{
	const struct ss_picture_style *s = p->style;
	struct ss_picture_label label = { take_lines(p), row };
	unsigned n;
	double w = width_of(p, label.lines, &n);
	w = more && more_width > w ? more_width : w;
	w = w > s->min_width ? w : s->min_width;
	struct ss_layered_node node = { .w = ceil(w) + s->pad, .h = (n + more) * s->line + s->margin, .box = box };
	p->no_memory |= !ss_vec_push(&p->labels, label) || !ss_vec_push(&p->nodes, node);
}

void ss_picture_box(struct ss_picture *p, int64_t row, uint32_t box, double more_width)
{
	struct ss_picture_label label = { take_lines(p), row };
	unsigned n;
	double w = width_of(p, label.lines, &n) + more_width;
	struct ss_layered_node node = { .w = ceil(w) + p->style->pad, .h = BOX_TITLE, .box = box };
	p->no_memory |= !ss_vec_push(&p->box_labels, label) || !ss_vec_push(&p->boxes, node);
}

void ss_picture_edge(struct ss_picture *p, int64_t row, int64_t from, int64_t to)
{
	struct ss_layered_edge e = { .from = (uint32_t)from, .to = (uint32_t)to };
	if (from >= 0 && to >= 0 && (uint64_t)from < p->nodes.n && (uint64_t)to < p->nodes.n)
		p->no_memory |= !ss_vec_push(&p->edges, e) || !ss_vec_push(&p->edge_rows, row);
}

static double tenths(double v)
{
	return round(v * 10) / 10;
}

static void write_places(struct ss_picture *p, bool boxes)
{
	struct ss_table *t = ss_result_at(p->out, p->out->ntables - 2);
	const struct ss_layered_node *v = boxes ? p->boxes.v : p->nodes.v;
	const struct ss_picture_label *labels = boxes ? p->box_labels.v : p->labels.v;
	for (size_t i = 0; i < (boxes ? p->boxes.n : p->nodes.n); i++) {
		ss_table_row(t);
		ss_set_i64(t, P_PICTURE, p->number);
		ss_set_bool(t, P_BOX, boxes);
		ss_set_i64(t, P_ROW, labels[i].row);
		ss_set_f64(t, P_X, tenths(v[i].x));
		ss_set_f64(t, P_Y, tenths(v[i].y));
		ss_set_f64(t, P_WIDTH, tenths(v[i].w));
		ss_set_f64(t, P_HEIGHT, tenths(v[i].h));
		ss_set_str(t, P_LINES, labels[i].lines);
	}
}

static void write_routes(struct ss_picture *p)
{
	struct ss_table *t = ss_result_at(p->out, p->out->ntables - 1);
	for (size_t i = 0; i < p->edges.n; i++) {
		const struct ss_layered_edge *e = &p->edges.v[i];
		p->text.n = 0;
		for (uint32_t k = 0; k < 2 * e->npoints; k++)
			ss_buf_printf(&p->text, "%s%g", k ? " " : "", tenths(e->points[k]));
		ss_table_row(t);
		ss_set_i64(t, R_PICTURE, p->number);
		ss_set_i64(t, R_ROW, p->edge_rows.v[i]);
		ss_set_i64(t, R_FROM, e->from);
		ss_set_i64(t, R_TO, e->to);
		ss_set_str(t, R_POINTS, take_lines(p));
	}
}

void ss_picture_end(struct ss_picture *p)
{
	struct ss_layered g = { .nodes = p->nodes.v,
				.nnodes = (uint32_t)p->nodes.n,
				.boxes = p->boxes.v,
				.nboxes = (uint32_t)p->boxes.n,
				.edges = p->edges.v,
				.nedges = (uint32_t)p->edges.n,
				.spacing = SPACING };
	p->no_memory = p->no_memory || !ss_layered_place(&g, p->out->arena);
	if (!p->no_memory) {
		write_places(p, false);
		write_places(p, true);
		write_routes(p);
	}
	p->nodes.n = p->boxes.n = p->edges.n = p->edge_rows.n = p->labels.n = p->box_labels.n = 0;
	p->text.n = 0;
	p->number++;
}

void ss_picture_free(struct ss_picture *p)
{
	ss_vec_free(&p->nodes);
	ss_vec_free(&p->boxes);
	ss_vec_free(&p->edges);
	ss_vec_free(&p->edge_rows);
	ss_vec_free(&p->labels);
	ss_vec_free(&p->box_labels);
	ss_buf_free(&p->text);
}
