/* program.c - the picture of graph_viewer: instructions, in the boxes of what they belong to. */
#include "drawing/picture.h"

/* The texts that the page adds: "12.3 ms, 4.5%" below an instruction, " · 12.3 ms" after a title. */
#define COST_WIDTH 110.0
#define TITLE_COST_WIDTH 70.0

static const struct ss_picture_style style = { .line = 15, .margin = 9, .pad = 18, .min_width = 60, .most_letters = 56 };

static bool next_line(struct ss_str *rest, struct ss_str *number, struct ss_str *text)
{
	if (!rest->n)
		return false;
	size_t end = ss_str_chr(*rest, '\n');
	struct ss_str line = ss_str_sub(*rest, 0, end == SS_NPOS ? rest->n : end);
	size_t tab = ss_str_chr(line, '\t');
	*rest = ss_str_sub(*rest, line.n + 1, rest->n);
	*number = ss_str_sub(line, 0, tab == SS_NPOS ? 0 : tab);
	*text = ss_str_sub(line, tab == SS_NPOS ? 0 : tab + 1, line.n);
	return true;
}

/* Attributes and settings: "text", or "2 text" where the line is "2<tab>text". */
static void add_lines(struct ss_picture *p, struct ss_str all)
{
	struct ss_str number, text;
	while (next_line(&all, &number, &text)) {
		if (number.n)
			text = ss_arena_printf(p->out->arena, SS_FMT " " SS_FMT, SS_ARG(number), SS_ARG(text));
		ss_picture_line(p, text);
	}
}

static void add_subcomputations(struct ss_picture *p, struct ss_str all)
{
	struct ss_str number, text;
	while (next_line(&all, &number, &text))
		ss_picture_line(p, ss_arena_printf(p->out->arena, "does " SS_FMT, SS_ARG(text)));
}

/* A line without a tab is no operand but says something of them all. */
static void add_operands(struct ss_picture *p, struct ss_str all)
{
	struct ss_str number, text;
	while (all.n) {
		bool operand = all.p[0] == '\t' || (all.p[0] >= '0' && all.p[0] <= '9');
		next_line(&all, &number, &text);
		ss_picture_line(p, operand ? ss_arena_printf(p->out->arena, "operand%s" SS_FMT " = " SS_FMT, number.n ? " " : "",
							    SS_ARG(number), SS_ARG(text))
					   : text);
	}
}

static uint32_t box_of(int64_t row, size_t nboxes)
{
	return row >= 0 && (uint64_t)row < nboxes ? (uint32_t)row : SS_LAYERED_NONE;
}

/* Parameters and tuples only name values. The opcode is empty where the name tells it. */
static bool is_executed(const struct ss_table *t, size_t i)
{
	struct ss_str opcode = ss_cell_str(t, i, "opcode");
	return !ss_str_is(ss_cell_str(t, i, "class"), "parameter") &&
	       !ss_str_starts(opcode.n ? opcode : ss_cell_str(t, i, "title"), SS_STR("tuple"));
}

static void add_node(struct ss_picture *p, const struct ss_table *t, const struct ss_table *boxes, size_t i)
{
	struct ss_str origin = ss_cell_str(t, i, "origin");
	uint32_t box = box_of(ss_cell_i64(t, i, "box"), boxes->nrows);
	bool measured = is_executed(t, i) && (box == SS_LAYERED_NONE || !ss_cell_bool(boxes, box, "fusion"));
	ss_picture_line(p, ss_cell_str(t, i, "title"));
	ss_picture_line(p, ss_cell_str(t, i, "opcode"));
	add_subcomputations(p, ss_cell_str(t, i, "subcomputations"));
	if (origin.n)
		ss_picture_line(p, ss_arena_printf(p->out->arena, "from " SS_FMT, SS_ARG(origin)));
	add_lines(p, ss_cell_str(t, i, "attributes"));
	ss_picture_line(p, ss_cell_str(t, i, "shape"));
	add_operands(p, ss_cell_str(t, i, "inlined"));
	add_lines(p, ss_cell_str(t, i, "library"));
	ss_picture_line(p, ss_cell_str(t, i, "backend_config"));
	ss_picture_node(p, (int64_t)i, box, measured, COST_WIDTH);
}

/* "fusion.1 · loop fusion", "while.2 · body" */
static void add_box(struct ss_picture *p, const struct ss_table *t, size_t i)
{
	struct ss_str kind = ss_cell_str(t, i, "kind"), name = ss_cell_str(t, i, "name"), of = ss_cell_str(t, i, "computation");
	bool fusion = ss_cell_bool(t, i, "fusion");
	if (fusion)
		of = ss_arena_printf(p->out->arena, SS_FMT "%sfusion", SS_ARG(kind), kind.n ? " " : "");
	ss_picture_line(p, ss_arena_printf(p->out->arena, SS_FMT "%s" SS_FMT, SS_ARG(name), name.n && of.n ? " \xc2\xb7 " : "",
					   SS_ARG(of)));
	ss_picture_box(p, (int64_t)i, box_of(ss_cell_i64(t, i, "parent"), i), TITLE_COST_WIDTH);
}

void ss_draw_program(struct ss_picture *p)
{
	const struct ss_table *nodes = ss_result_find(p->out, "nodes"), *boxes = ss_result_find(p->out, "boxes");
	const struct ss_table *edges = ss_result_find(p->out, "edges");
	p->style = &style;
	for (size_t i = 0; i < boxes->nrows; i++)
		add_box(p, boxes, i);
	for (size_t i = 0; i < nodes->nrows; i++)
		add_node(p, nodes, boxes, i);
	for (size_t i = 0; i < edges->nrows; i++)
		ss_picture_edge(p, (int64_t)i, ss_cell_i64(edges, i, "from"), ss_cell_i64(edges, i, "to"));
	ss_picture_end(p);
}
