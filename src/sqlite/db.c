/* db.c - over SQLite's own reading of bytes in memory. */
#include "sqlite/db.h"

#include "base/buf.h"

#include <sqlite3.h>
#include <stdlib.h>

#define MAGIC "SQLite format 3"
#define TEXT_MOST (16 << 20)	/* bytes of a cell */
#define STEPS 10000		/* between two looks at what is left */
#define FORGET_BYTES ((size_t)64 << 20)
#define STEPS_PER_BYTE 200	/* a row of a table has some ten bytes and takes some forty steps */
/* Of the header, all big-endian. */
#define PAGE_BYTES_AT 16	/* 1: 65536 */
#define JOURNAL_AT 18		/* 2, 2 for a write-ahead log */
#define CHANGES_AT 24
#define PAGES_AT 28		/* right where the last change but of the count is equal to CHANGES_AT */
#define PAGES_CHANGES_AT 92
#define HEADER_BYTES 100

void ss_db_limit(sqlite3 *sqlite)
{
	static const struct {
		int id, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, TEXT_MOST },
		{ SQLITE_LIMIT_SQL_LENGTH, 100000 },
		{ SQLITE_LIMIT_COLUMN, 500 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 20 },
		{ SQLITE_LIMIT_VDBE_OP, 100000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 20 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 100 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	static const struct {
		int option, on;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },	       { SQLITE_DBCONFIG_DQS_DML, 0 },
	};
	for (size_t i = 0; i < SS_COUNT(limits); i++)
		sqlite3_limit(sqlite, limits[i].id, limits[i].most);
	for (size_t i = 0; i < SS_COUNT(options); i++)
		sqlite3_db_config(sqlite, options[i].option, options[i].on, NULL);
}

/* Reading tables, and what a query needs to do so; nothing else. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)arg;
	(void)b;
	(void)c;
	(void)d;
	bool info = action == SQLITE_PRAGMA && a && sqlite3_stricmp(a, "table_info") == 0;
	return action == SQLITE_SELECT || action == SQLITE_READ || info ? SQLITE_OK : SQLITE_DENY;
}

static int look(void *arg)
{
	struct ss_db *db = arg;
	/* To give pages back costs by the length of the file: the longer it is, the less often. */
	if (db->file && db->steps_left % (1 + db->file->bytes.n / FORGET_BYTES) == 0)
		ss_file_forget(db->file, db->file->bytes);
	return db->steps_left-- == 0;
}

static bool fail(struct ss_db *db, int code, struct ss_err *err)
{
	if ((code & 0xff) == SQLITE_NOMEM || !db->sqlite)
		return ss_fail_mem(err);
	const char *why = (code & 0xff) == SQLITE_INTERRUPT ? "reading it takes longer than such a file should"
							    : sqlite3_errmsg(db->sqlite);
	return ss_fail(err, SS_EFORMAT, "the database is damaged: %s", why);
}

/*
 * A database whose last changes are in a log beside it is read as it stands: SQLite wants another
 * header for that.
 */
static bool without_log(struct ss_db *db, struct ss_str *bytes)
{
	if (bytes->n < HEADER_BYTES || (bytes->p[JOURNAL_AT] != 2 && bytes->p[JOURNAL_AT + 1] != 2))
		return true;
	db->copy = malloc(bytes->n);
	if (!db->copy)
		return false;
	memcpy(db->copy, bytes->p, bytes->n);
	db->copy[JOURNAL_AT] = db->copy[JOURNAL_AT + 1] = 1;
	bytes->p = db->copy;
	db->file = NULL;
	return true;
}

static uint64_t number_at(struct ss_str bytes, size_t at, size_t n)
{
	uint64_t v = 0;
	for (size_t i = at; i < at + n; i++)
		v = v << 8 | (unsigned char)bytes.p[i];
	return v;
}

static bool is_cut(struct ss_str bytes)
{
	if (bytes.n < HEADER_BYTES)
		return true;
	uint64_t page_bytes = number_at(bytes, PAGE_BYTES_AT, 2);
	page_bytes = page_bytes == 1 ? 65536 : page_bytes;
	return number_at(bytes, CHANGES_AT, 4) == number_at(bytes, PAGES_CHANGES_AT, 4) &&
	       bytes.n < page_bytes * number_at(bytes, PAGES_AT, 4);
}

bool ss_db_open(struct ss_db *db, struct ss_str bytes, const struct ss_file *file, struct ss_err *err)
{
	*db = (struct ss_db){ .file = file, .cut = is_cut(bytes) };
	db->steps_left = 1000 + STEPS_PER_BYTE * (uint64_t)bytes.n / STEPS;
	if (!without_log(db, &bytes))
		return ss_fail_mem(err);
	int code = sqlite3_open_v2(":memory:", &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_deserialize(db->sqlite, "main", (unsigned char *)(uintptr_t)bytes.p, (sqlite3_int64)bytes.n,
					   (sqlite3_int64)bytes.n, SQLITE_DESERIALIZE_READONLY);
	if (code != SQLITE_OK) {
		fail(db, code, err);
		ss_db_close(db);
		return false;
	}
	ss_db_limit(db->sqlite);
	sqlite3_set_authorizer(db->sqlite, authorize, NULL);
	sqlite3_progress_handler(db->sqlite, STEPS, look, db);
	return true;
}

void ss_db_close(struct ss_db *db)
{
	sqlite3_close(db->sqlite);
	free(db->copy);
	ss_arena_release(&db->arena);
	*db = (struct ss_db){ 0 };
}

/* ---- tables ---- */

/* The first table whose name is, or begins with, this. */
static bool find(struct ss_db *db, struct ss_str begin, bool whole, struct ss_str *name)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;
	if (sqlite3_prepare_v2(db->sqlite, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0", -1, &stmt,
			       NULL) != SQLITE_OK)
		return false;
	while (!found && sqlite3_step(stmt) == SQLITE_ROW) {
		struct ss_str s = ss_str_from((const char *)sqlite3_column_text(stmt, 0));
		found = s.p && (whole ? ss_str_ieq(s, begin) : ss_str_starts(s, begin));
		if (found && name)
			*name = ss_arena_str(&db->arena, s);
	}
	sqlite3_finalize(stmt);
	return found && (!name || name->p);
}

bool ss_db_has_table(struct ss_db *db, const char *table)
{
	return find(db, ss_str_from(table), true, NULL);
}

bool ss_db_find_table(struct ss_db *db, const char *prefix, struct ss_str *name)
{
	return find(db, ss_str_from(prefix), false, name);
}

static void put_name(struct ss_buf *b, const char *name)
{
	ss_buf_char(b, '"');
	for (; *name; name++) {
		if (*name == '"')
			ss_buf_char(b, '"');
		ss_buf_char(b, *name);
	}
	ss_buf_char(b, '"');
}

/* "SELECT a, NULL, c FROM t": what the table lacks is NULL. */
static bool put_query(struct ss_db *db, const char *table, const char *const *cols, size_t ncols, struct ss_buf *b, int *code)
{
	struct ss_buf info = { 0 };
	sqlite3_stmt *stmt = NULL;
	bool has[64] = { false };
	ss_buf_lit(&info, "PRAGMA table_info(");
	put_name(&info, table);
	ss_buf_char(&info, ')');
	*code = info.no_memory ? SQLITE_NOMEM : sqlite3_prepare_v2(db->sqlite, info.p, (int)info.n, &stmt, NULL);
	ss_buf_free(&info);
	while (*code == SQLITE_OK && (*code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1);
		for (size_t i = 0; name && i < ncols && i < SS_COUNT(has); i++)
			has[i] = has[i] || sqlite3_stricmp(name, cols[i]) == 0;
		*code = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (*code != SQLITE_DONE)
		return false;
	for (size_t i = 0; i < ncols; i++) {
		ss_buf_z(b, i ? ", " : "SELECT ");
		if (i < SS_COUNT(has) && has[i])
			put_name(b, cols[i]);
		else
			ss_buf_lit(b, "NULL");
	}
	ss_buf_lit(b, " FROM ");
	put_name(b, table);
	*code = b->no_memory ? SQLITE_NOMEM : SQLITE_OK;
	return !b->no_memory;
}

bool ss_db_scan(struct ss_db *db, const char *table, const char *const *cols, size_t ncols, struct ss_db_rows *rows,
		struct ss_err *err)
{
	struct ss_buf query = { 0 };
	int code = SQLITE_OK;
	*rows = (struct ss_db_rows){ .db = db };
	if (!ss_db_has_table(db, table))
		return sqlite3_errcode(db->sqlite) != SQLITE_NOMEM || ss_fail_mem(err);
	bool ok = put_query(db, table, cols, ncols, &query, &code);
	if (ok) {
		code = sqlite3_prepare_v2(db->sqlite, query.p, (int)query.n, &rows->stmt, NULL);
		ok = code == SQLITE_OK;
	}
	ss_buf_free(&query);
	return ok || fail(db, code, err);
}

bool ss_db_next(struct ss_db_rows *rows)
{
	int code = rows->stmt ? sqlite3_step(rows->stmt) : SQLITE_DONE;
	rows->failed = code != SQLITE_ROW && code != SQLITE_DONE;
	return code == SQLITE_ROW;
}

bool ss_db_end(struct ss_db_rows *rows, struct ss_err *err)
{
	bool ok = !rows->failed || fail(rows->db, sqlite3_errcode(rows->db->sqlite), err);
	sqlite3_finalize(rows->stmt);
	rows->stmt = NULL;
	return ok;
}

bool ss_db_is_null(const struct ss_db_rows *rows, int col)
{
	return sqlite3_column_type(rows->stmt, col) == SQLITE_NULL;
}

int64_t ss_db_i64(const struct ss_db_rows *rows, int col)
{
	return sqlite3_column_int64(rows->stmt, col);
}

struct ss_str ss_db_text(const struct ss_db_rows *rows, int col)
{
	const char *p = (const char *)sqlite3_column_text(rows->stmt, col);
	return (struct ss_str){ p ? p : "", p ? (size_t)sqlite3_column_bytes(rows->stmt, col) : 0 };
}
