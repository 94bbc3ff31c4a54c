/*
 * own.h - a SQLite database that we write ourselves: one file, opened by its path, changed in transactions.
 *
 * A file that is something else, has other tables, or is of a newer version, is refused and left as it is. What is read from it is
 * limited like any other database (db.h): somebody else may have written it. The steps of a query and the bytes of its texts are
 * limited by the length of the file, because pages of a damaged one can lead back to each other.
 */
#ifndef SS_SQLITE_OWN_H
#define SS_SQLITE_OWN_H

#include "base/err.h"
#include "base/str.h"

struct sqlite3;
struct sqlite3_stmt;

struct ss_own_kind {
	const char *what; /* "a history of runs" */
	int application_id, version;
	const char *schema; /* statements that make the tables */
};

struct ss_own_db {
	struct sqlite3 *sqlite;
	const char *path;
	uint64_t steps_left; /* of the query in work, in units of some thousands */
	uint64_t bytes_left; /* of its texts */
	bool too_much;	     /* more than such a file has */
};

/* `create`: make the file if there is none. Waits for another writer for some seconds. */
bool ss_own_open(struct ss_own_db *db, const char *path, const struct ss_own_kind *kind, bool create, struct ss_err *err);
void ss_own_close(struct ss_own_db *db);
/* Statements without a result: "BEGIN IMMEDIATE", "COMMIT". */
bool ss_own_run(struct ss_own_db *db, const char *sql, struct ss_err *err);

struct ss_own_query {
	struct ss_own_db *db;
	struct sqlite3_stmt *stmt;
};

/* Parameters are bound by number, from 1, before the first row is asked for. */
bool ss_own_prepare(struct ss_own_query *q, struct ss_own_db *db, const char *sql, struct ss_err *err);
void ss_own_bind_text(struct ss_own_query *q, int at, struct ss_str v);
void ss_own_bind_i64(struct ss_own_query *q, int at, int64_t v);
void ss_own_bind_f64(struct ss_own_query *q, int at, double v); /* NAN: NULL */
/* The next row: *row false at the end. */
bool ss_own_next(struct ss_own_query *q, bool *row, struct ss_err *err);
/* To be asked again, with other parameters. */
void ss_own_again(struct ss_own_query *q);
int64_t ss_own_i64(const struct ss_own_query *q, int col);
double ss_own_f64(const struct ss_own_query *q, int col);	  /* NULL: NAN */
struct ss_str ss_own_text(struct ss_own_query *q, int col);	  /* until the next row */
void ss_own_end(struct ss_own_query *q);

#endif
