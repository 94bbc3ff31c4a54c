/*
 * db.h - reading a SQLite database that somebody else wrote, without trusting it.
 *
 * The database is the bytes of a mapped file: SQLite opens no file, writes nothing, and makes no journal. Its
 * schema is not trusted: no views, no triggers, no extensions, no functions with effects, no virtual tables;
 * lengths, columns and depths are limited, and so is the number of steps, by the length of the file.
 *
 * What other parts do with databases of their own takes the same limits (ss_db_limit).
 */
#ifndef SS_SQLITE_DB_H
#define SS_SQLITE_DB_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

struct sqlite3;
struct sqlite3_stmt;

struct ss_db {
	struct sqlite3 *sqlite;
	const struct ss_file *file;	/* its pages are given back as they are read; NULL: not mapped */
	char *copy;			/* of a database that SQLite cannot read in place */
	bool cut;			/* it is shorter than its header says */
	uint64_t steps_left;		/* in units of some thousands */
	struct ss_arena arena;
};

/* `file`: where `bytes` is mapped, or NULL. They must live as long as the database. */
bool ss_db_open(struct ss_db *db, struct ss_str bytes, const struct ss_file *file, struct ss_err *err);
void ss_db_close(struct ss_db *db);
/* The limits of SQLite for a database or a query from outside. */
void ss_db_limit(struct sqlite3 *sqlite);

/* Is there a table (no view) of this name; one whose name begins so? The name goes to *name, in the arena. */
bool ss_db_has_table(struct ss_db *db, const char *table);
bool ss_db_find_table(struct ss_db *db, const char *prefix, struct ss_str *name);

/* A pass over the rows of a table. Columns that it does not have are NULL in every row. */
struct ss_db_rows {
	struct ss_db *db;
	struct sqlite3_stmt *stmt;
	bool failed;
};

/* A table that is not there has no rows. False when memory is out or the database is damaged. */
bool ss_db_scan(struct ss_db *db, const char *table, const char *const *cols, size_t ncols, struct ss_db_rows *rows,
		struct ss_err *err);
/* The next row. False at the end; ss_db_end says whether it is the table's. */
bool ss_db_next(struct ss_db_rows *rows);
/* False when the rows ended early: SS_EFORMAT for damage, SS_ENOMEM. */
bool ss_db_end(struct ss_db_rows *rows, struct ss_err *err);

bool ss_db_is_null(const struct ss_db_rows *rows, int col);
int64_t ss_db_i64(const struct ss_db_rows *rows, int col);	/* 0 for NULL */
struct ss_str ss_db_text(const struct ss_db_rows *rows, int col); /* until the next row; "" for NULL */

#endif
