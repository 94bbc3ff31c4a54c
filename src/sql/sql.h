/*
 * sql.h - a question in SQL about a model, and its rows one after the other (docs/sql.md).
 *
 * One statement that reads. The authorizer of SQLite decides what that is; lengths, depths, memory
 * and time are limited. What a statement may not do, or cannot, is SS_EINVAL with its place; time
 * is up: SS_EBUSY; a limit of memory: SS_ENOMEM.
 */
#ifndef SS_SQL_SQL_H
#define SS_SQL_SQL_H

#include "base/err.h"
#include "base/str.h"

struct ss_sql_value {		/* of a parameter :name */
	struct ss_str name, value;	/* decimal numbers are numbers: not 007, +1, 0x10 or nan */
	bool is_text;			/* whatever it looks like */
};
bool ss_sql_decimal(struct ss_str value, double *out);

struct ss_sql_question {
	struct ss_model *model;		/* whose hosts are open */
	struct ss_str query;
	bool xprof;			/* XProf's database of events: the one table is Events, with the columns of xprof_events */
	const char *host;		/* of tools that answer for one host alone; NULL: the first */
	const struct ss_sql_value *values;
	size_t nvalues;
	uint64_t timeout_ms;		/* of the query's own, without the time that its reader takes; 0: none */
	bool bound_recursion;		/* stop one that reads no row for many steps before the time is up */
	const char *more_time;		/* said behind "or give it more time": how; NULL: nothing */
	uint64_t reader_ms;		/* from the question to the last row; 0: none */
	uint64_t memory_bytes;		/* of all questions at the same time; 0: a GiB */
	uint32_t value_bytes;		/* of a text or blob; 0: 64 MiB */
	const int *stop;		/* another thread ends the query by making it other than 0; NULL: none does */
	bool (*left)(int client);	/* has who waits for the rows left? Asked ten times a second; NULL: is not asked */
	int client;
};

struct ss_model;
struct ss_sql_rows;

/* NULL on failure. Rows are asked for, and let go of, by the thread that got them. */
struct ss_sql_rows *ss_sql_ask(const struct ss_sql_question *q, struct ss_err *err);
/* The next row. False at the end, and on failure, which is in `err`. */
bool ss_sql_next(struct ss_sql_rows *r, struct ss_err *err);
void ss_sql_close(struct ss_sql_rows *r);

enum ss_sql_type { SS_SQL_IS_NULL, SS_SQL_INT, SS_SQL_REAL, SS_SQL_TEXT, SS_SQL_BLOB };

size_t ss_sql_ncols(const struct ss_sql_rows *r);
/*
 * Each name once: of several equal ones the later are NAME_2, NAME_3 ... For `xprof` as the query
 * has them.
 */
const char *ss_sql_col_name(const struct ss_sql_rows *r, size_t col);
/* The declared type of the column, if it is a column of a table; else SS_SQL_IS_NULL. */
enum ss_sql_type ss_sql_col_type(const struct ss_sql_rows *r, size_t col);
/* A cell of the row; texts live until the next. */
enum ss_sql_type ss_sql_type(const struct ss_sql_rows *r, size_t col);
int64_t ss_sql_i64(const struct ss_sql_rows *r, size_t col);
double ss_sql_f64(const struct ss_sql_rows *r, size_t col);
struct ss_str ss_sql_text(const struct ss_sql_rows *r, size_t col); /* of a blob: its bytes */
/* A blob as hexadecimal text: two digits for each byte, the greater half first. */
static inline char ss_sql_hex_digit(struct ss_str blob, size_t i)
{
	return "0123456789abcdef"[(unsigned char)blob.p[i / 2] >> (i % 2 ? 0 : 4) & 15];
}

/* The tables that do not depend on the profile, with what each is for: NULL beyond the last. */
const char *ss_sql_table_name(size_t i);
const char *ss_sql_table_doc(size_t i);

#endif
