/*
 * drawing.h - the layout of answers that are graphs: the position and the text of each node, and the route of each edge. The
 * page only draws them.
 */
#ifndef SS_DRAWING_DRAWING_H
#define SS_DRAWING_DRAWING_H

#include "table/table.h"

/* Is the answer of the tool of this name a graph? */
bool ss_drawing_known(struct ss_str tool);

/*
 * Add the tables `places` and `routes` to the result of such a tool, whose rows may have been cut. Results of other tools do not
 * change. The result's arena records that memory is out.
 */
void ss_drawing_add(struct ss_result *r, struct ss_str tool);

#endif
