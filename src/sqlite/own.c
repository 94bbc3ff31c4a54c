/* own.c - see own.h. */
#include "sqlite/own.h"

#include "base/buf.h"
#include "sqlite/db.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_MS 10000
#define VERSIONS_AT 18	  /* of the header: what writing and reading takes ... */
#define WITH_LOG 2	  /* ... a write-ahead log */
#define STEPS 10000	  /* between two looks at what is left */
#define STEPS_PER_BYTE 20 /* a run takes some eighty steps of a query, and has some hundred bytes in the file */

static bool fail_too_long(const struct ss_own_db *db, struct ss_err *err)
{
	return ss_fail(err, SS_EFORMAT, "'%s' is damaged: reading it takes longer than such a file should", db->path);
}

static bool fail(const struct ss_own_db *db, struct ss_err *err)
{
	int code = sqlite3_errcode(db->sqlite) & 0xff;
	if (code == SQLITE_NOMEM)
		return ss_fail_mem(err);
	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return ss_fail(err, SS_EBUSY, "'%s': another program writes to it", db->path);
	if (code == SQLITE_INTERRUPT)
		return fail_too_long(db, err);
	return ss_fail(err, code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR ? SS_EFORMAT : SS_EIO,
		       "'%s': %s", db->path, sqlite3_errmsg(db->sqlite));
}

static int look(void *arg)
{
	struct ss_own_db *db = arg;
	if (!db->steps_left)
		return 1;
	db->steps_left--;
	return 0;
}

/* For the next query. */
static void give_steps(struct ss_own_db *db)
{
	struct stat st;
	uint64_t bytes = stat(db->path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
	db->steps_left = 100 + bytes / STEPS * STEPS_PER_BYTE;
	db->bytes_left = 2 * bytes; /* twice: of UTF-16 they may become longer */
}

bool ss_own_run(struct ss_own_db *db, const char *sql, struct ss_err *err)
{
	give_steps(db);
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK || fail(db, err);
}

static bool ask_number(struct ss_own_db *db, const char *sql, int64_t *out, struct ss_err *err)
{
	struct ss_own_query q;
	bool row = false, ok = ss_own_prepare(&q, db, sql, err) && ss_own_next(&q, &row, err);
	*out = ok && row ? ss_own_i64(&q, 0) : 0;
	ss_own_end(&q);
	return ok;
}

/* An empty file gets the tables; another writer may have made them meanwhile. */
static bool make_tables(struct ss_own_db *db, const struct ss_own_kind *kind, struct ss_err *err)
{
	char head[80];
	int64_t tables;
	snprintf(head, sizeof(head), "PRAGMA application_id = %d; PRAGMA user_version = %d", kind->application_id,
		 kind->version);
	if (!ss_own_run(db, "BEGIN IMMEDIATE", err))
		return false;
	bool ok = ask_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err) &&
		  (tables || (ss_own_run(db, kind->schema, err) && ss_own_run(db, head, err)));
	return ss_own_run(db, ok ? "COMMIT" : "ROLLBACK", ok ? err : NULL) && ok;
}

/* All that the schema has, as it was said. */
static int put_schema(sqlite3 *sqlite, struct ss_buf *b)
{
	static const char all[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(sqlite, all, -1, &stmt, NULL);
	while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (int i = 0; i < 4; i++) {
			const char *text = (const char *)sqlite3_column_text(stmt, i);
			ss_buf_z(b, text ? text : "");
			ss_buf_char(b, '\0');
		}
		code = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return b->no_memory ? SQLITE_NOMEM : code;
}

/* The schema of such a file. */
static int put_own_schema(const struct ss_own_kind *kind, struct ss_buf *b)
{
	sqlite3 *sqlite = NULL;
	int code = sqlite3_open_v2(":memory:", &sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(sqlite, kind->schema, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = put_schema(sqlite, b);
	sqlite3_close(sqlite);
	return code;
}

/*
 * Are the tables those that we make? Of a few bytes a view or a computed column makes any number of long values, and a trigger
 * any change.
 */
static bool has_own_schema(struct ss_own_db *db, const struct ss_own_kind *kind, struct ss_err *err)
{
	struct ss_buf own = { 0 }, found = { .limit_bytes = 1 << 20 };
	int code = put_own_schema(kind, &own), code_found = put_schema(db->sqlite, &found);
	bool memory = code == SQLITE_NOMEM || code_found == SQLITE_NOMEM;
	bool same = code == SQLITE_DONE && code_found == SQLITE_DONE && ss_str_eq(ss_buf_get(&own), ss_buf_get(&found));
	ss_buf_free(&own);
	ss_buf_free(&found);
	if (memory)
		return ss_fail_mem(err);
	return same || ss_fail(err, SS_EFORMAT, "'%s' is damaged: its tables are not those of %s", db->path, kind->what);
}

static bool check_kind(struct ss_own_db *db, const struct ss_own_kind *kind, bool create, struct ss_err *err)
{
	int64_t id, version, tables;
	if (!ask_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err))
		return false;
	if (!tables && create && !make_tables(db, kind, err))
		return false;
	if (!ask_number(db, "PRAGMA application_id", &id, err) || !ask_number(db, "PRAGMA user_version", &version, err))
		return false;
	if (id != kind->application_id)
		return ss_fail(err, SS_EFORMAT, "'%s' is not %s", db->path, kind->what);
	if (version != kind->version)
		return ss_fail(err, SS_EFORMAT, "'%s' is of version %lld, and this program reads version %d", db->path,
			       (long long)version, kind->version);
	return has_own_schema(db, kind, err);
}

/*
 * The directory may be reached by links, the file may not be one. Of a name like ":memory:" SQLite would make no file; a whole path
 * always is one.
 */
static bool put_path(const char *path, struct ss_buf *b)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct ss_buf dir = { 0 };
	ss_buf_str(&dir, slash ? (struct ss_str){ path, (size_t)(name - path) } : SS_STR("."));
	ss_buf_char(&dir, '\0');
	char *real = dir.no_memory ? NULL : realpath(dir.p, NULL);
	if (dir.no_memory)
		errno = ENOMEM;
	else if (real && !*name)
		errno = slash ? EISDIR : ENOENT;
	if (real && *name) {
		ss_buf_z(b, real);
		ss_buf_char(b, '/');
		ss_buf_z(b, name);
		ss_buf_char(b, '\0');
	}
	ss_buf_free(&dir);
	free(real);
	return b->n && !b->no_memory;
}

static bool open_file(struct ss_own_db *db, const char *real, int flags, struct ss_err *err)
{
	struct stat st;
	int code = sqlite3_open_v2(real, &db->sqlite, flags, NULL);
	if (code == SQLITE_OK)
		return true;
	if (!db->sqlite || code == SQLITE_NOMEM)
		return ss_fail_mem(err);
	int why = sqlite3_system_errno(db->sqlite);
	if (lstat(real, &st) == 0 && S_ISLNK(st.st_mode))
		return ss_fail(err, SS_EINVAL, "'%s' is a link: give the name of the file itself", db->path);
	return ss_fail(err, SS_EIO, "cannot open '%s': %s", db->path, why ? strerror(why) : sqlite3_errmsg(db->sqlite));
}

/*
 * The index of a write-ahead log is a file that SQLite maps: somebody who shortens it ends the
 * program. A connection that has the log for itself keeps the index in memory.
 */
static bool hold_log(struct ss_own_db *db, struct ss_err *err)
{
	sqlite3_file *file = NULL;
	char versions[2];
	int code = sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	/* By SQLite's own descriptor: to close another would drop the locks of this process. */
	bool known = code == SQLITE_OK && file && file->pMethods &&
		     file->pMethods->xRead(file, versions, sizeof(versions), VERSIONS_AT) == SQLITE_OK;
	bool log = known && (versions[0] == WITH_LOG || versions[1] == WITH_LOG);
	return !log || ss_own_run(db, "PRAGMA locking_mode = EXCLUSIVE", err);
}

bool ss_own_open(struct ss_own_db *db, const char *path, const struct ss_own_kind *kind, bool create, struct ss_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | (create ? SQLITE_OPEN_CREATE : 0);
	struct ss_buf real = { 0 };
	*db = (struct ss_own_db){ .path = path };
	bool ok = put_path(path, &real) || ss_fail(err, SS_EIO, "cannot open '%s': %s", path, strerror(errno));
	ok = ok && open_file(db, real.p, flags, err);
	ss_buf_free(&real);
	if (!ok)
		return false;
	ss_db_limit(db->sqlite);
	sqlite3_busy_timeout(db->sqlite, WAIT_MS);
	sqlite3_progress_handler(db->sqlite, STEPS, look, db);
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	return hold_log(db, err) && check_kind(db, kind, create, err);
}

void ss_own_close(struct ss_own_db *db)
{
	sqlite3_close(db->sqlite);
	db->sqlite = NULL;
}

bool ss_own_prepare(struct ss_own_query *q, struct ss_own_db *db, const char *sql, struct ss_err *err)
{
	*q = (struct ss_own_query){ .db = db };
	give_steps(db);
	return sqlite3_prepare_v2(db->sqlite, sql, -1, &q->stmt, NULL) == SQLITE_OK || fail(db, err);
}

void ss_own_bind_text(struct ss_own_query *q, int at, struct ss_str v)
{
	sqlite3_bind_text64(q->stmt, at, v.n ? v.p : "", v.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void ss_own_bind_i64(struct ss_own_query *q, int at, int64_t v)
{
	sqlite3_bind_int64(q->stmt, at, v);
}

void ss_own_bind_f64(struct ss_own_query *q, int at, double v)
{
	if (isnan(v))
		sqlite3_bind_null(q->stmt, at);
	else
		sqlite3_bind_double(q->stmt, at, v);
}

bool ss_own_next(struct ss_own_query *q, bool *row, struct ss_err *err)
{
	int code = sqlite3_step(q->stmt);
	*row = code == SQLITE_ROW;
	if (q->db->too_much)
		return fail_too_long(q->db, err);
	return code == SQLITE_ROW || code == SQLITE_DONE || fail(q->db, err);
}

void ss_own_again(struct ss_own_query *q)
{
	sqlite3_reset(q->stmt);
	sqlite3_clear_bindings(q->stmt);
}

int64_t ss_own_i64(const struct ss_own_query *q, int col)
{
	return sqlite3_column_int64(q->stmt, col);
}

double ss_own_f64(const struct ss_own_query *q, int col)
{
	return sqlite3_column_type(q->stmt, col) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(q->stmt, col);
}

struct ss_str ss_own_text(struct ss_own_query *q, int col)
{
	const char *p = (const char *)sqlite3_column_text(q->stmt, col);
	struct ss_str s = { p ? p : "", p ? (size_t)sqlite3_column_bytes(q->stmt, col) : 0 };
	q->db->too_much = q->db->too_much || s.n > q->db->bytes_left;
	q->db->bytes_left -= q->db->too_much ? 0 : s.n;
	return s;
}

void ss_own_end(struct ss_own_query *q)
{
	sqlite3_finalize(q->stmt);
	q->stmt = NULL;
}
