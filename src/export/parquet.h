/*
 * parquet.h - writing a file of Parquet: row groups of columns, in memory one at a time.
 *
 * Numbers are plain, texts are numbers of a dictionary. Every column may be empty. Nothing is
 * compressed: dictionaries are most of it.
 */
#ifndef SS_EXPORT_PARQUET_H
#define SS_EXPORT_PARQUET_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "emit/out.h"

#define SS_PARQUET_ROWS 122880u		/* of a row group */

enum ss_parquet_kind { SS_PARQUET_I64, SS_PARQUET_U64, SS_PARQUET_U32, SS_PARQUET_F64, SS_PARQUET_TEXT, SS_PARQUET_TEXTS };

struct ss_parquet_column {
	const char *name;
	enum ss_parquet_kind kind;
	/* Of the row group that is filled. */
	SS_VEC(uint8_t) levels;		/* a value: is it there? SS_PARQUET_TEXTS: 0 none, 1 no text in it, 2 a text */
	SS_VEC(uint8_t) repeats;	/* SS_PARQUET_TEXTS: 0 begins a row */
	SS_VEC(uint64_t) cells;		/* bits, or numbers of the dictionary, of the values that are there */
	struct ss_strmap texts;
	struct ss_arena arena;		/* of texts */
	uint64_t nnulls;
};

struct ss_parquet {
	struct ss_out *o;
	struct ss_parquet_column *cols;
	size_t ncols;
	uint64_t begin;			/* o's bytes before the file */
	uint64_t rows, group_rows;
	struct ss_buf groups, page, head;	/* groups: the metadata of those written */
	size_t ngroups;
};

/* `cols` have name and kind; they are the caller's. */
void ss_parquet_begin(struct ss_parquet *p, struct ss_out *o, struct ss_parquet_column *cols, size_t ncols);
/* The values of a row, column by column; false when memory is out. */
bool ss_parquet_null(struct ss_parquet_column *c);
bool ss_parquet_bits(struct ss_parquet_column *c, uint64_t bits);
bool ss_parquet_text(struct ss_parquet_column *c, struct ss_str s);
bool ss_parquet_texts(struct ss_parquet_column *c, const struct ss_str *v, size_t n);
/* All columns have their value. */
bool ss_parquet_row(struct ss_parquet *p);
bool ss_parquet_end(struct ss_parquet *p);
void ss_parquet_free(struct ss_parquet *p);

#endif
