/*
 * picture.h - a picture while it is built: nodes with lines of text, edges between them, then the rows of `places` and `routes`.
 * Only the files of this folder use it.
 */
#ifndef SS_DRAWING_PICTURE_H
#define SS_DRAWING_PICTURE_H

#include "base/buf.h"
#include "base/vec.h"
#include "drawing/drawing.h"
#include "drawing/layered.h"

/* Sizes that the page draws with, in pixels. */
#define SS_PICTURE_FONT 11.0

struct ss_picture_style {
	double line, margin, pad; /* height of a line; above plus below all lines; left plus right */
	double min_width;
	size_t most_letters;	/* of a line: longer lines are cut. 0: no limit */
	bool bold;		/* all lines are bold; else only the first */
};

/* The text of a node or a box, and the row that it represents. */
struct ss_picture_label {
	struct ss_str lines;	/* one below the other */
	int64_t row;
};

struct ss_picture {
	struct ss_result *out;
	const struct ss_picture_style *style;
	int64_t number;
	SS_VEC(struct ss_layered_node) nodes, boxes;
	SS_VEC(struct ss_picture_label) labels, box_labels;
	SS_VEC(struct ss_layered_edge) edges;
	SS_VEC(int64_t) edge_rows;
	struct ss_buf text;	/* of the node that is being described */
	bool no_memory;
};

/* Add the tables `places` and `routes`, which the rows of pictures are written to. */
void ss_picture_tables(struct ss_result *r);
/* Add a line to the node that comes next; an empty one adds nothing. */
void ss_picture_line(struct ss_picture *p, struct ss_str line);
/*
 * Add a node with the lines added so far. The page may write `more` lines of numbers below them, each at most `more_width` wide.
 * `box`: the box around it; SS_LAYERED_NONE: none.
 */
void ss_picture_node(struct ss_picture *p, int64_t row, uint32_t box, unsigned more, double more_width);
/* The same for a box, whose one line is its title. */
void ss_picture_box(struct ss_picture *p, int64_t row, uint32_t box, double more_width);
/* Add an edge between two nodes, by number. An edge from or to a node that does not exist is ignored. */
void ss_picture_edge(struct ss_picture *p, int64_t row, int64_t from, int64_t to);
/* Lay the picture out and write its rows. It is empty afterwards, with the next number. */
void ss_picture_end(struct ss_picture *p);
void ss_picture_free(struct ss_picture *p);

/* The graphs of single tools. */
void ss_draw_program(struct ss_picture *p);
void ss_draw_scope(struct ss_picture *p);
void ss_draw_pipelines(struct ss_picture *p);

#endif
