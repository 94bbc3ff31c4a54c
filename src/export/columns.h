/*
 * columns.h - rows of a table by column, some of them at a time: what files of columns (Parquet, Arrow) are written from.
 *
 * Texts are numbers of a dictionary of their column. Every column may be empty.
 */
#ifndef SS_EXPORT_COLUMNS_H
#define SS_EXPORT_COLUMNS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

enum ss_column_kind { SS_COLUMN_I64, SS_COLUMN_U64, SS_COLUMN_U32, SS_COLUMN_F64, SS_COLUMN_TEXT, SS_COLUMN_TEXTS };

struct ss_column {
	const char *name;
	enum ss_column_kind kind;
	/* Of the rows at hand. */
	SS_VEC(uint8_t) levels;		/* a value: is it there? SS_COLUMN_TEXTS: 0 none, 1 no text in it, 2 a text */
	SS_VEC(uint8_t) repeats;	/* SS_COLUMN_TEXTS: 0 begins a row */
	SS_VEC(uint64_t) cells;		/* bits, or numbers of the dictionary, of the values that are there */
	struct ss_strmap texts;
	struct ss_arena arena;		/* of texts */
	uint64_t nnulls;
};

/* The values of a row, column by column; false when memory is out. */
bool ss_column_null(struct ss_column *c);
bool ss_column_bits(struct ss_column *c, uint64_t bits);
bool ss_column_text(struct ss_column *c, struct ss_str s);
bool ss_column_texts(struct ss_column *c, const struct ss_str *v, size_t n);
static inline bool ss_column_is_text(const struct ss_column *c)
{
	return c->kind == SS_COLUMN_TEXT || c->kind == SS_COLUMN_TEXTS;
}
/* Other rows follow. */
void ss_column_forget(struct ss_column *c);
void ss_column_free(struct ss_column *c);

#endif
