/*
 * columns.h - the rows of a question, all of them, as columns: what programs take over that compute with columns (Arrow).
 *
 * A column is of whole numbers, of numbers, of blobs or of texts: of the narrowest kind that holds all of its values. Texts are
 * UTF-8: a byte that is none becomes U+FFFD. Among numbers, a whole number beyond 2^53 becomes the nearest double. Among texts,
 * a blob is hexadecimal.
 */
#ifndef SS_SQL_COLUMNS_H
#define SS_SQL_COLUMNS_H

#include "base/arena.h"
#include "base/vec.h"
#include "sql/sql.h"

struct ss_sql_column {
	struct ss_str name;		/* with a zero behind it */
	enum ss_sql_type type;		/* not SS_SQL_IS_NULL; while reading SS_SQL_IS_NULL: no value yet */
	uint64_t nnulls;
	SS_VEC(uint8_t) valid;		/* a bit for each row */
	SS_VEC(uint64_t) cells;		/* numbers: int64 or the bits of a double; 0 for NULL */
	SS_VEC(int64_t) ends;		/* texts and blobs: where each ends in `text`; a 0 stands before the first */
	SS_VEC(char) text;
};

struct ss_sql_columns {
	struct ss_sql_column *v;
	size_t ncols;
	uint64_t nrows;
	struct ss_arena arena;		/* of the list and the names */
};

/* Reads all rows. On failure nothing is held. */
bool ss_sql_columns_read(struct ss_sql_columns *c, struct ss_sql_rows *r, struct ss_err *err);
void ss_sql_columns_free(struct ss_sql_columns *c);

#endif
