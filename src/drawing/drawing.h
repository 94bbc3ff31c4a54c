/*
 * drawing.h - answers that are graphs as pictures: where each node stands and what is written on it, and which way each edge
 * goes. The page only draws them.
 */
#ifndef SS_DRAWING_DRAWING_H
#define SS_DRAWING_DRAWING_H

#include "table/table.h"

/* Is the answer of the tool of this name a graph? */
bool ss_drawing_known(struct ss_str tool);

/*
 * Add the tables `places` and `routes` to the result of such a tool, whose rows may have been cut. Others remain as they are.
 * The result's arena knows when memory is out.
 */
void ss_drawing_add(struct ss_result *r, struct ss_str tool);

#endif
