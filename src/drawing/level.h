/*
 * level.h - the layout of one box, or of the nodes outside of all boxes, in layers. Only layered.c uses it.
 */
#ifndef SS_DRAWING_LEVEL_H
#define SS_DRAWING_LEVEL_H

#include "drawing/layered.h"

struct ss_level_item {
	uint32_t what;		/* a number of the caller; SS_LAYERED_NONE: a place that a long edge keeps free */
	uint32_t layer, rank;	/* its number in the layer */
	double w, h;
	double x, y;		/* out: the upper left corner, relative to the level's */
};

/* A link between two different items. No two links are equal. */
struct ss_level_link {
	uint32_t from, to;
	uint32_t first_place, nplaces; /* out: items that it passes */
};

struct ss_level {
	struct ss_arena *arena;	/* of what the layout allocates */
	struct ss_level_item *items; /* the caller's; out: with the places behind them */
	uint32_t nitems;
	struct ss_level_link *links;
	uint32_t nlinks;
	double *layer_height;	/* out: by layer */
	double w, h;		/* out */
	/* For level.c. */
	uint32_t nlayers, *layer_first, *order;	/* items by layer, then by rank */
	uint32_t *up_first, *up, *down_first, *down; /* neighbours in the layers above and below, by item */
};

/* `places`: how many places the whole drawing may still take; further edges are drawn straight. False when memory is out. */
bool ss_level_place(struct ss_level *l, const struct ss_layered_spacing *spacing, uint32_t *places);

#endif
