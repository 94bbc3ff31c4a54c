/* scope.c - the picture of tf_graph: what stands directly in one name scope. */
#include "drawing/picture.h"

#include <stdio.h>

/* More would be no picture any more: the page shows them as a table. */
#define MOST_NODES 1200

static const struct ss_picture_style style = { .line = 15, .margin = 10, .pad = 20, .min_width = 60, .most_letters = 40 };

/* Links of a child to outside of the scope, which are said in words: drawn, they would hide the rest. */
struct outside {
	int64_t in, out;
};

static struct outside *find_outside(struct ss_picture *p, const struct ss_table *links, size_t nchildren)
{
	struct outside *v = SS_NEW_N(p->out->arena, struct outside, nchildren + 1);
	for (size_t i = 0; v && i < links->nrows; i++) {
		int64_t from = ss_cell_i64(links, i, "from"), to = ss_cell_i64(links, i, "to");
		int64_t n = ss_cell_i64(links, i, "tensors") + ss_cell_i64(links, i, "control");
		if (from < 0 && to >= 0 && (uint64_t)to < nchildren)
			v[to].in += n;
		if (to < 0 && from >= 0 && (uint64_t)from < nchildren)
			v[from].out += n;
	}
	return v;
}

/* "9999", "10,000" */
static struct ss_str count_text(struct ss_picture *p, int64_t n)
{
	char digits[24], text[32];
	size_t ndigits = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)n), k = 0;
	for (size_t i = 0; i < ndigits; i++) {
		if (i && ndigits > 4 && (ndigits - i) % 3 == 0)
			text[k++] = ',';
		text[k++] = digits[i];
	}
	return ss_arena_str(p->out->arena, (struct ss_str){ text, k });
}

static void add_outside(struct ss_picture *p, const char *arrow, int64_t n, const char *where)
{
	struct ss_str count = count_text(p, n);
	if (n)
		ss_picture_line(p, ss_arena_printf(p->out->arena, "%s " SS_FMT " %s outside", arrow, SS_ARG(count), where));
}

void ss_draw_scope(struct ss_picture *p)
{
	const struct ss_table *children = ss_result_find(p->out, "children"), *links = ss_result_find(p->out, "links");
	const struct ss_prop *graph = ss_result_find_prop(p->out, "graph");
	const char *word = graph && ss_str_is(graph->text, "layers") ? "layers" : "operations";
	struct outside *outside = find_outside(p, links, children->nrows);
	p->style = &style;
	if (!outside || children->nrows > MOST_NODES)
		return;
	for (size_t i = 0; i < children->nrows; i++) {
		struct ss_str ops = count_text(p, ss_cell_i64(children, i, "ops"));
		ss_picture_line(p, ss_cell_str(children, i, "label"));
		ss_picture_line(p, ss_cell_bool(children, i, "is_scope")
					   ? ss_arena_printf(p->out->arena, SS_FMT " %s", SS_ARG(ops), word)
					   : ss_cell_str(children, i, "op"));
		add_outside(p, "\xe2\x86\x90", outside[i].in, "from");
		add_outside(p, "\xe2\x86\x92", outside[i].out, "to");
		ss_picture_node(p, (int64_t)i, SS_LAYERED_NONE, 0, 0);
	}
	for (size_t i = 0; i < links->nrows; i++)
		ss_picture_edge(p, (int64_t)i, ss_cell_i64(links, i, "from"), ss_cell_i64(links, i, "to"));
	ss_picture_end(p);
}
