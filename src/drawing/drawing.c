/* drawing.c - see drawing.h. */
#include "drawing/picture.h"

#include <math.h>
#include "drawing/drawing.h"

static const struct {
	const char *tool;
	void (*draw)(struct ss_picture *p);
} drawings[] = {
	{ "graph_viewer", ss_draw_program }, { "tf_graph", ss_draw_scope }, { "tf_data_bottleneck_analysis", ss_draw_pipelines },
};

static size_t find(struct ss_str tool)
{
	size_t i = 0;
	while (i < SS_COUNT(drawings) && !ss_str_is(tool, drawings[i].tool))
		i++;
	return i;
}

bool ss_drawing_known(struct ss_str tool)
{
	return find(tool) < SS_COUNT(drawings);
}

void ss_drawing_add(struct ss_result *r, struct ss_str tool)
{
	size_t i = find(tool);
	if (i == SS_COUNT(drawings))
		return;
	struct ss_picture p = { .out = r };
	ss_picture_tables(r);
	if (!r->arena->no_memory)
		drawings[i].draw(&p);
	r->arena->no_memory |= p.no_memory;
	ss_picture_free(&p);
}
