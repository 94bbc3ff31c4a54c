/*
 * layered.h - where to put the nodes of a directed graph with boxes, and along which way its edges go: layers from top to
 * bottom, edges downwards.
 *
 * Each box is laid out for itself and then is one node of what it stands in. Layers are by the longest path from the sources.
 * An edge over several layers keeps a place free in each of them and is drawn through these. The order in a layer is by the
 * mean place of the neighbours (Sugiyama 1981); then every node moves as near to its neighbours as the order allows (isotonic
 * regression, which is linear).
 */
#ifndef SS_DRAWING_LAYERED_H
#define SS_DRAWING_LAYERED_H

#include "base/arena.h"

struct ss_layered_node {
	double w, h;		/* in; of boxes: as little as the title needs, and out: what is inside may make it larger */
	double x, y;		/* out: the left upper corner, from the drawing's */
	uint32_t box;		/* in: the box it stands in, SS_LAYERED_NONE for none */
};

#define SS_LAYERED_NONE UINT32_MAX

struct ss_layered_edge {
	uint32_t from, to;	/* nodes */
	double *points;		/* out: x, y, x, y ... from the lower side of the one node to the upper side of the other */
	uint32_t npoints;
};

struct ss_layered_spacing {
	double across, down;	/* between nodes of a layer, and between layers */
	double title, pad;	/* kept free at the top of a box, and at its other sides */
};

struct ss_layered {
	struct ss_layered_node *nodes;
	uint32_t nnodes;
	/* A box must stand behind the box that it stands in: boxes[i].box < i. */
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
