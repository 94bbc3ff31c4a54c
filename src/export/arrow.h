/*
 * arrow.h - writing a stream of Arrow (IPC): the schema, then batches of rows, in memory one at a
 * time. A column of SS_COLUMN_DICTIONARY has a dictionary before each batch, which takes the place
 * of the one before; other texts stand in their rows.
 */
#ifndef SS_EXPORT_ARROW_H
#define SS_EXPORT_ARROW_H

#include "base/buf.h"
#include "emit/out.h"
#include "export/columns.h"

struct ss_arrow {
	struct ss_out *o;
	struct ss_column *cols;
	size_t ncols;
	struct ss_buf head, body, nodes, buffers;
	bool too_long;			/* texts of a batch take more than 2 GiB */
};

/* `cols` have name, kind and form; they are the caller's. */
void ss_arrow_begin(struct ss_arrow *a, struct ss_out *o, struct ss_column *cols, size_t ncols);
/* A batch: all columns have n values. They forget them. False when memory is out. */
bool ss_arrow_rows(struct ss_arrow *a, uint64_t n);
bool ss_arrow_end(struct ss_arrow *a);
void ss_arrow_free(struct ss_arrow *a);

#endif
