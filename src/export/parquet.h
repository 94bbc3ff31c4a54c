/*
 * parquet.h - writing a file of Parquet: row groups of columns, in memory one at a time.
 *
 * Whole numbers are packed by their differences, texts are numbers of a dictionary where they repeat. Nothing else is
 * compressed.
 */
#ifndef SS_EXPORT_PARQUET_H
#define SS_EXPORT_PARQUET_H

#include "base/buf.h"
#include "emit/out.h"
#include "export/columns.h"

struct ss_parquet {
	struct ss_out *o;
	struct ss_column *cols;
	size_t ncols;
	uint64_t begin;			/* o's bytes before the file */
	uint64_t rows;
	struct ss_buf groups, page, head;	/* groups: the metadata of those written */
	SS_VEC(uint64_t) levels;
	size_t ngroups;
};

/* `cols` have name and kind; they are the caller's. */
void ss_parquet_begin(struct ss_parquet *p, struct ss_out *o, struct ss_column *cols, size_t ncols);
/* A row group: all columns have n values. They forget them. False when memory is out. */
bool ss_parquet_rows(struct ss_parquet *p, uint64_t n);
bool ss_parquet_end(struct ss_parquet *p);
void ss_parquet_free(struct ss_parquet *p);

#endif
