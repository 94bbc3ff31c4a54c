/*
 * layered.h - positions of the nodes of a directed graph with boxes, and routes of its edges: layers from top to bottom, edges
 * downwards.
 *
 * Each box is laid out alone and is then one node of the box around it. A node's layer is the longest path to it from the sources.
 * An edge over several layers keeps a place free in each of them and passes through these places. Nodes of a layer are ordered by
 * the mean place of their neighbours (Sugiyama 1981); then every node moves as near to its neighbours as the order allows
 * (isotonic regression, which is linear).
 */
#ifndef SS_DRAWING_LAYERED_H
#define SS_DRAWING_LAYERED_H

#include "base/arena.h"

struct ss_layered_node {
	double w, h;		/* in; of a box: the size of its title. Out: its size with its contents */
	double x, y;		/* out: the upper left corner, relative to the drawing's */
	uint32_t box;		/* in: the box around it; SS_LAYERED_NONE: none */
};

#define SS_LAYERED_NONE UINT32_MAX

struct ss_layered_edge {
	uint32_t from, to;	/* nodes */
	double *points;		/* out: x, y, x, y ... from the lower side of `from` to the upper side of `to` */
	uint32_t npoints;
};

struct ss_layered_spacing {
	double across, down;	/* between nodes of a layer, and between layers */
	double title, pad;	/* kept free at the top of a box, and at its other sides */
};

struct ss_layered {
	struct ss_layered_node *nodes;
	uint32_t nnodes;
	/* A box comes after the box that contains it: boxes[i].box < i. */
	struct ss_layered_node *boxes;
	uint32_t nboxes;
	struct ss_layered_edge *edges;
	uint32_t nedges;
	struct ss_layered_spacing spacing;
	double w, h;		/* out: of the drawing */
};

/* The points of the edges are in the arena. False when memory is out. */
bool ss_layered_place(struct ss_layered *g, struct ss_arena *arena);

#endif
