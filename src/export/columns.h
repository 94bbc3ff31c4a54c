/*
 * columns.h - rows of a table by column, some of them at a time: what files of columns (Parquet, Arrow) are written from.
 *
 * Every column may be empty. A text is a number: of a dictionary of its column, or, where nearly every row has another, of a list.
 */
#ifndef SS_EXPORT_COLUMNS_H
#define SS_EXPORT_COLUMNS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

enum ss_column_kind { SS_COLUMN_I64, SS_COLUMN_U64, SS_COLUMN_U32, SS_COLUMN_F64, SS_COLUMN_TEXT, SS_COLUMN_TEXTS };
/* Is there a dictionary of the texts? Where they repeat; always; never. */
enum ss_column_form { SS_COLUMN_EITHER, SS_COLUMN_DICTIONARY, SS_COLUMN_PLAIN };

#define SS_COLUMN_ROWS 122880u		/* at a time, at most */
#define SS_COLUMN_BYTES (64u << 20)	/* of texts, about */

/* So many values of one kind. */
struct ss_column_run {
	uint32_t n;
	uint8_t level;		/* is the value there? SS_COLUMN_TEXTS: 0 none, 1 no text in it, 2 a text */
	uint8_t repeat;		/* SS_COLUMN_TEXTS: 0 begins a row */
};

struct ss_column {
	const char *name;
	enum ss_column_kind kind;
	enum ss_column_form form;
	/* The columns of the current rows. */
	SS_VEC(struct ss_column_run) runs;
	SS_VEC(uint64_t) cells;		/* bits, or numbers of texts, of the values that are there */
	struct ss_strmap texts;		/* the dictionary */
	SS_VEC(char) list;		/* texts behind those, one after the other */
	SS_VEC(size_t) ends;		/* of them */
	bool plain;			/* further texts go there */
	struct ss_arena arena;		/* of texts */
	uint64_t nvalues, nnulls, text_bytes;
};

/* A row's value, to be put again. */
struct ss_column_mark {
	uint32_t at, n;		/* its cells */
	bool null;
};

/* Values; false when memory is out. */
bool ss_column_nulls(struct ss_column *c, uint32_t n);
bool ss_column_bits(struct ss_column *c, uint64_t bits);
/* `stays`: the text outlives the column, and is not copied. */
bool ss_column_text(struct ss_column *c, struct ss_str s, bool stays);
bool ss_column_texts(struct ss_column *c, const struct ss_str *v, size_t n);
/* n numbers, to be written by the caller; NULL when memory is out. */
uint64_t *ss_column_numbers(struct ss_column *c, uint32_t n);
/* The value that was put since cells.n was `at`, and that value so many times more. */
struct ss_column_mark ss_column_mark(const struct ss_column *c, size_t at, bool null);
bool ss_column_again(struct ss_column *c, struct ss_column_mark m, uint32_t times);

static inline bool ss_column_is_text(const struct ss_column *c)
{
	return c->kind == SS_COLUMN_TEXT || c->kind == SS_COLUMN_TEXTS;
}

static inline struct ss_str ss_column_text_at(const struct ss_column *c, uint64_t cell)
{
	if (cell < c->texts.n)
		return c->texts.keys[cell];
	size_t k = cell - c->texts.n, from = k ? c->ends.v[k - 1] : 0;
	return (struct ss_str){ c->list.v + from, c->ends.v[k] - from };
}

/* Other rows follow. */
void ss_column_forget(struct ss_column *c);
void ss_column_free(struct ss_column *c);

#endif
