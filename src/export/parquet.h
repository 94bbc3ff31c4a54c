/*
 * parquet.h - writing a file of Parquet: row groups of columns, in memory one at a time.
 *
 * Numbers are plain, texts are numbers of a dictionary. Every column may be empty. Nothing is
 * compressed: dictionaries are most of it.
 */
#ifndef SS_EXPORT_PARQUET_H
#define SS_EXPORT_PARQUET_H

#include "base/buf.h"
#include "emit/out.h"
#include "export/columns.h"

#define SS_PARQUET_ROWS 122880u		/* of a row group */

struct ss_parquet {
	struct ss_out *o;
	struct ss_column *cols;
	size_t ncols;
	uint64_t begin;			/* o's bytes before the file */
	uint64_t rows, group_rows;
	struct ss_buf groups, page, head;	/* groups: the metadata of those written */
	size_t ngroups;
};

/* `cols` have name and kind; they are the caller's. */
void ss_parquet_begin(struct ss_parquet *p, struct ss_out *o, struct ss_column *cols, size_t ncols);
/* All columns have their value. */
bool ss_parquet_row(struct ss_parquet *p);
bool ss_parquet_end(struct ss_parquet *p);
void ss_parquet_free(struct ss_parquet *p);

#endif
