/*
 * arrow.h - writing a stream of Arrow (IPC): the schema, then batches of rows, in memory one at a time. Texts stand there as
 * they are.
 */
#ifndef SS_EXPORT_ARROW_H
#define SS_EXPORT_ARROW_H

#include "base/buf.h"
#include "emit/out.h"
#include "export/columns.h"

#define SS_ARROW_ROWS 65536u		/* of a batch */

struct ss_arrow {
	struct ss_out *o;
	struct ss_column *cols;
	size_t ncols;
	uint64_t rows;			/* of the batch */
	struct ss_buf head, body, nodes, buffers;
	bool too_long;			/* texts of a batch take more than 2 GiB */
};

/* `cols` have name and kind; they are the caller's. */
void ss_arrow_begin(struct ss_arrow *a, struct ss_out *o, struct ss_column *cols, size_t ncols);
/* All columns have their value. False when memory is out. */
bool ss_arrow_row(struct ss_arrow *a);
bool ss_arrow_end(struct ss_arrow *a);
void ss_arrow_free(struct ss_arrow *a);

#endif
