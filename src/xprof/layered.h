/*
 * layered.h - where to put the nodes of a directed graph with boxes: layers from top to bottom,
 * edges downwards.
 *
 * Each box is laid out for itself and then is one node of what it stands in. Layers by the longest
 * way from the sources; the order in a layer by the mean place of the neighbours (Sugiyama 1981),
 * in a few sweeps. Linear in nodes and edges for each sweep.
 */
#ifndef SS_XPROF_LAYERED_H
#define SS_XPROF_LAYERED_H

#include <stdbool.h>
#include <stdint.h>

struct ss_layered_node {
	double w, h;		/* in; of boxes out */
	double x, y;		/* out: the left upper corner, from the drawing's */
	uint32_t box;		/* in: the box it stands in, SS_LAYERED_NONE for none */
};

#define SS_LAYERED_NONE UINT32_MAX

struct ss_layered_edge {
	uint32_t from, to;	/* nodes */
};

struct ss_layered {
	struct ss_layered_node *nodes;
	uint32_t nnodes;
	/* A box must stand behind the box that it stands in: boxes[i].box < i. */
	struct ss_layered_node *boxes;
	uint32_t nboxes;
	const struct ss_layered_edge *edges;
	uint32_t nedges;
	double gap, title_h;	/* between nodes; kept free at the top of a box */
	double w, h;		/* out: of the drawing */
};

/* False when memory is out. */
bool ss_layered_place(struct ss_layered *g);

#endif
