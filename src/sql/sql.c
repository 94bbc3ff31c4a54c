/* sql.c - one connection, one statement: what it may do, and for how long. */
#include "sql/sql.h"

#include "base/buf.h"
#include "sql/engine.h"
#include "sql/rewrite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_BETWEEN 100 /* of SQLite's machine, between two questions whether to go on: one may make a long value */
#define RECURSION_STEPS 100000000u /* without a row of any table: a recursion that has no end */
#define MEMORY_BYTES ((int64_t)1 << 30)
#define VALUE_BYTES (64 << 20)

struct ss_sql_rows {
	struct ss_sql sql;
	sqlite3_stmt *stmt;
	uint64_t timeout_ms, memory_bytes;
	int value_bytes;
	bool bound_recursion, xprof;
	uint64_t left_ns;   /* when the caller got the last row */
	bool given;	    /* it got one */
	char denied[96]; /* what the statement wanted to do */
	const char *more_time;
	char *text;	    /* of the statement, if it is not the question's */
	const char **names; /* of the columns, each once; NULL: as SQLite has them */
};

static void limit(sqlite3 *db, int value_bytes)
{
	static const struct {
		int id, most;
	} limits[] = {
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_COLUMN, 500 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },
		{ SQLITE_LIMIT_VDBE_OP, 250000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 64 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 1000 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	static const struct {
		int option, on;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
#ifdef SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE
		{ SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, 0 },
		{ SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, 0 },
#endif
	};
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, value_bytes);
	for (size_t i = 0; i < SS_COUNT(limits); i++)
		sqlite3_limit(db, limits[i].id, limits[i].most);
	for (size_t i = 0; i < SS_COUNT(options); i++)
		sqlite3_db_config(db, options[i].option, options[i].on, NULL);
}

/*
 * Functions with effects, where the library has them; and one that takes time with the square of
 * its arguments' lengths, and asks nobody.
 */
static bool is_banned(const char *function)
{
	static const char *const banned[] = { "load_extension", "readfile",	  "writefile",  "edit",
					      "fts3_tokenizer", "sqlite_log", "json_patch", "jsonb_patch" };
	for (size_t i = 0; function && i < SS_COUNT(banned); i++)
		if (sqlite3_stricmp(function, banned[i]) == 0)
			return true;
	return false;
}

/* `what`: the first argument of the action. */
static const char *action_name(int action, const char *what)
{
	/* Of those that are made when they are named. */
	if (action == SQLITE_UPDATE && what && sqlite3_stricmp(what, "sqlite_master") == 0)
		return "SQLite's own tables are";
	switch (action) {
	case SQLITE_PRAGMA:
		return "PRAGMA is";
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return "other databases are";
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return "transactions are";
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
		return "writing is";
	default:
		return "a change of the schema is";
	}
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	struct ss_sql_rows *r = arg;
	(void)c;
	(void)d;
	r->sql.recursive = r->sql.recursive || action == SQLITE_RECURSIVE;
	/* Tables of WITH that name each other twice become 2^n selects before the first step. */
	if (!ss_sql_go_on(&r->sql))
		return SQLITE_DENY;
	if (r->sql.declaring || action == SQLITE_SELECT || action == SQLITE_READ ||
	    action == SQLITE_RECURSIVE || (action == SQLITE_FUNCTION && !is_banned(b)))
		return SQLITE_OK;
	if (!*r->denied && action == SQLITE_FUNCTION)
		snprintf(r->denied, sizeof(r->denied), "the function %.40s is", b ? b : "");
	else if (!*r->denied)
		snprintf(r->denied, sizeof(r->denied), "%s", action_name(action, a));
	return SQLITE_DENY;
}

static int look(void *arg)
{
	struct ss_sql_rows *r = arg;
	struct ss_sql *s = &r->sql;
	s->steps += STEPS_BETWEEN;
	if (s->recursive && r->bound_recursion && s->steps > RECURSION_STEPS && s->end == SS_SQL_GOES_ON)
		s->end = SS_SQL_ENDLESS;
	return !ss_sql_go_on(s);
}

/* With the names that there are. */
static bool refuse_table(const char *message, struct ss_err *err)
{
	struct ss_buf names = { 0 };
	for (size_t i = 0; ss_sql_table_name(i); i++)
		ss_buf_printf(&names, "%s, ", ss_sql_table_name(i));
	ss_buf_char(&names, '\0');
	ss_fail(err, SS_EINVAL, "%s: the tables are %sand tool_NAME for each tool of a profile", message,
		names.no_memory ? "others " : names.p);
	ss_buf_free(&names);
	return false;
}

static const char *column_hint(const char *message)
{
	bool of_column = ss_str_starts(ss_str_from(message), SS_STR("no such column"));
	return of_column ? ": SELECT * FROM a table LIMIT 1 shows its columns" : "";
}

static bool fail(struct ss_sql_rows *r, int code, struct ss_err *err)
{
	code &= 0xff;
	if (r->sql.end == SS_SQL_TIME_UP)
		return ss_fail(
			err, SS_EBUSY,
			"the query was stopped after %.3g s; ask for less, or give it more time%s",
			(double)r->timeout_ms / 1000, r->more_time ? r->more_time : "");
	if (r->sql.end == SS_SQL_ENDLESS)
		return ss_fail(err, SS_EBUSY,
			       "the query was stopped: its recursion read no row of the profile in %u million "
			       "steps and may have no end; bound it (WHERE n < 1000), or give it more time%s",
			       RECURSION_STEPS / 1000000, r->more_time ? r->more_time : "");
	if (r->sql.end == SS_SQL_STOPPED)
		return ss_fail(err, SS_EBUSY, "the query was stopped");
	if (r->sql.err.code && r->sql.err.code != SS_ENOMEM)
		return ss_fail(err, r->sql.err.code, "%s", r->sql.err.text);
	if (code == SQLITE_NOMEM)
		return ss_fail(err, SS_ENOMEM,
			       "the running queries need more than %llu MiB of memory; ask for fewer "
			       "rows or shorter values",
			       (unsigned long long)(r->memory_bytes >> 20));
	if (*r->denied)
		return ss_fail(err, SS_EINVAL,
			       "the query may only read (SELECT, VALUES, EXPLAIN): %s not allowed",
			       r->denied);
	if (code == SQLITE_TOOBIG)
		return ss_fail(
			err, SS_EINVAL,
			"the query makes a value of more than %d MiB, or is itself too long",
			r->value_bytes >> 20);
	const char *message = sqlite3_errmsg(r->sql.db);
	if (!r->xprof && ss_str_starts(ss_str_from(message), SS_STR("no such table")))
		return refuse_table(message, err);
#if SQLITE_VERSION_NUMBER >= 3038000
	int at = sqlite3_error_offset(r->sql.db);
	if (at >= 0 && !r->text)
		return ss_fail(err, SS_EINVAL, "%s (at letter %d of the query)%s",
			       message, at + 1, column_hint(message));
#endif
	return ss_fail(err, SS_EINVAL, "%s%s", message, column_hint(message));
}

/* Behind the statement there may be blanks and comments: SQLite makes no statement of them. */
static bool is_blank(sqlite3 *db, const char *p, size_t n)
{
	sqlite3_stmt *more = NULL;
	const char *end = p + n, *tail = p;
	int code = SQLITE_OK;
	while (code == SQLITE_OK && !more && tail < end) {
		const char *from = tail;
		code = sqlite3_prepare_v2(db, from, (int)(end - from), &more, &tail);
		if (tail == from)
			break;
	}
	bool blank = code == SQLITE_OK && !more;
	sqlite3_finalize(more);
	return blank;
}

static bool prepare(struct ss_sql_rows *r, struct ss_str text, struct ss_err *err)
{
	const char *tail = NULL;
	if (text.n > 1 << 20)
		return ss_fail(err, SS_EINVAL, "the query is longer than a MiB");
	if (memchr(text.p, 0, text.n))
		return ss_fail(err, SS_EINVAL, "the query contains a zero byte");
	int code = sqlite3_prepare_v2(r->sql.db, text.p, (int)text.n, &r->stmt, &tail);
	if (code != SQLITE_OK)
		return fail(r, code, err);
	if (!r->stmt)
		return ss_fail(err, SS_EINVAL, "the query is empty");
	if (!is_blank(r->sql.db, tail, (size_t)(text.p + text.n - tail)))
		return ss_fail(err, SS_EINVAL, "the query has more than one statement: run one at a time");
	if (!sqlite3_stmt_readonly(r->stmt) || !sqlite3_column_count(r->stmt))
		return ss_fail(err, SS_EINVAL,
			       "the query may only read (SELECT, VALUES, EXPLAIN)");
	return true;
}

/* As people wrote it, or with what is slow said in another way, if SQLite takes that. */
static bool prepare_fast(struct ss_sql_rows *r, struct ss_str query, struct ss_err *err)
{
	struct ss_err ignored = { 0 };
	if (!ss_sql_rewrite(query, &r->text))
		return ss_fail_mem(err);
	if (r->text && prepare(r, ss_str_from(r->text), &ignored))
		return true;
	free(r->text);
	r->text = NULL;
	*r->denied = 0;
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return prepare(r, query, err);
}

/* 007 and +1 are none: a name or a step may be written so. */
bool ss_sql_decimal(struct ss_str v, double *out)
{
	size_t i = v.n && v.p[0] == '-';
	bool zeros = v.n > i + 1 && v.p[i] == '0' && v.p[i + 1] >= '0' && v.p[i + 1] <= '9';
	if (i == v.n || v.p[i] < '0' || v.p[i] > '9' || zeros)
		return false;
	while (i < v.n && strchr("0123456789.eE+-", v.p[i]))
		i++;
	return i == v.n && ss_str_to_f64(v, out) && isfinite(*out);
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct ss_sql_value *value)
{
	struct ss_str v = value->value;
	int64_t i;
	double d;
	bool number = !value->is_text && ss_sql_decimal(v, &d);
	if (number && ss_str_to_i64(v, &i))
		return sqlite3_bind_int64(stmt, at, i);
	if (number)
		return sqlite3_bind_double(stmt, at, d);
	return sqlite3_bind_text64(stmt, at, v.p, v.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static bool has_parameter(sqlite3_stmt *stmt, struct ss_str name)
{
	for (int at = 1; at <= sqlite3_bind_parameter_count(stmt); at++) {
		const char *known = sqlite3_bind_parameter_name(stmt, at);
		if (known && ss_str_is(name, known + 1))
			return true;
	}
	return false;
}

static bool bind(struct ss_sql_rows *r, const struct ss_sql_question *q, struct ss_err *err)
{
	for (size_t i = 0; i < q->nvalues; i++)
		if (!has_parameter(r->stmt, q->values[i].name))
			return ss_fail(err, SS_EINVAL, "the query has no parameter :" SS_FMT, SS_ARG(q->values[i].name));
	for (int at = 1; at <= sqlite3_bind_parameter_count(r->stmt); at++) {
		const char *name = sqlite3_bind_parameter_name(r->stmt, at);
		const struct ss_sql_value *v = NULL;
		for (size_t i = 0; name && i < q->nvalues; i++)
			if (!v && ss_str_is(q->values[i].name, name + 1))
				v = &q->values[i];
		if (!v)
			return ss_fail(err, SS_EINVAL, "the query's parameter %s has no value%s", name ? name : "?",
				       !name || *name == '?' ? ": give it a name, as :name" : "");
		int code = bind_value(r->stmt, at, v);
		if (code != SQLITE_OK)
			return fail(r, code, err);
	}
	return true;
}

static bool is_taken(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The name, or NAME_2, NAME_3 ... where columns before it have it. */
static const char *free_name(struct ss_arena *a, const char *const *names, size_t n, const char *name)
{
	if (!is_taken(names, n, name))
		return ss_arena_str(a, ss_str_from(name)).p;
	for (size_t k = 2;; k++) {
		const char *longer = ss_arena_printf(a, "%s_%zu", name, k).p;
		if (!longer || !is_taken(names, n, longer))
			return longer;
	}
}

/* Objects and tables by column have each name once. */
static bool name_columns(struct ss_sql_rows *r, struct ss_err *err)
{
	size_t n = ss_sql_ncols(r);
	const char **names = SS_NEW_N(&r->sql.arena, const char *, n);
	for (size_t i = 0; names && i < n; i++) {
		const char *name = sqlite3_column_name(r->stmt, (int)i);
		names[i] = name ? free_name(&r->sql.arena, names, i, name) : NULL;
		if (!names[i])
			return ss_fail_mem(err);
	}
	r->names = names;
	return names || ss_fail_mem(err);
}

static bool add_tables(struct ss_sql *s, bool xprof)
{
	if (xprof)
		return ss_sql_add_xprof_events(s, "Events");
	return ss_sql_add_events(s) && ss_sql_add_stats(s) && ss_sql_add_xprof_events(s, "xprof_events") &&
	       ss_sql_add_tables(s);
}

/*
 * SQLite's tables of JSON declare themselves when they are first named, which the authorizer cannot
 * tell from a change of the schema: they are named before it is there.
 */
static bool add_json_tables(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(db, "SELECT 1 FROM json_each('') JOIN json_tree('')", -1,
				      &stmt, NULL);
	sqlite3_finalize(stmt);
	return code != SQLITE_NOMEM;
}

static bool open_db(struct ss_sql_rows *r, bool xprof, struct ss_err *err)
{
	struct ss_sql *s = &r->sql;
	sqlite3_hard_heap_limit64((sqlite3_int64)r->memory_bytes);
	int code = sqlite3_open_v2(":memory:", &s->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				   NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(s->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return fail(r, code, err);
	limit(s->db, r->value_bytes);
	if (!ss_sql_add_functions(s) || !add_tables(s, xprof) || !add_json_tables(s->db))
		return ss_fail_mem(err);
	sqlite3_progress_handler(s->db, STEPS_BETWEEN, look, r);
	sqlite3_set_authorizer(s->db, authorize, r);
	return true;
}

/* When so much time has passed; 0: never. */
static uint64_t after(uint64_t now_ns, uint64_t ms)
{
	return ms ? now_ns + ms * 1000000u : 0;
}

struct ss_sql_rows *ss_sql_ask(const struct ss_sql_question *q, struct ss_err *err)
{
	struct ss_sql_rows *r = calloc(1, sizeof(*r));
	if (!r) {
		ss_fail_mem(err);
		return NULL;
	}
	r->timeout_ms = q->timeout_ms;
	r->more_time = q->more_time;
	r->memory_bytes = q->memory_bytes ? q->memory_bytes : (uint64_t)MEMORY_BYTES;
	r->value_bytes = q->value_bytes ? (int)q->value_bytes : VALUE_BYTES;
	r->bound_recursion = q->bound_recursion;
	r->xprof = q->xprof;
	r->sql.model = q->model;
	r->sql.host = q->host;
	r->sql.stop = q->stop;
	r->sql.left = q->left;
	r->sql.client = q->client;
	r->left_ns = ss_sql_now_ns();
	r->sql.deadline_ns = after(r->left_ns, q->timeout_ms);
	r->sql.last_ns = after(r->left_ns, q->reader_ms);
	ss_result_init(&r->sql.tables, &r->sql.arena);
	if (open_db(r, q->xprof, err) && prepare_fast(r, q->query, err) && bind(r, q, err) &&
	    (q->xprof || name_columns(r, err)))
		return r;
	ss_sql_close(r);
	return NULL;
}

bool ss_sql_next(struct ss_sql_rows *r, struct ss_err *err)
{
	struct ss_sql *s = &r->sql;
	/* The time that the reader took for the last row is not the query's. */
	if (s->deadline_ns && r->given)
		s->deadline_ns += ss_sql_now_ns() - r->left_ns;
	int code = ss_sql_go_on(s) ? sqlite3_step(r->stmt) : SQLITE_INTERRUPT;
	r->given = code == SQLITE_ROW;
	r->left_ns = ss_sql_now_ns();
	if (code == SQLITE_ROW)
		return true;
	if (code != SQLITE_DONE)
		fail(r, code, err);
	return false;
}

void ss_sql_close(struct ss_sql_rows *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->stmt);
	sqlite3_close(r->sql.db);
	ss_sql_free_tables(&r->sql);
	ss_arena_release(&r->sql.arena);
	free(r->text);
	free(r);
}

size_t ss_sql_ncols(const struct ss_sql_rows *r)
{
	return (size_t)sqlite3_column_count(r->stmt);
}

const char *ss_sql_col_name(const struct ss_sql_rows *r, size_t col)
{
	const char *name = r->names ? r->names[col] : sqlite3_column_name(r->stmt, (int)col);
	return name ? name : "";
}

enum ss_sql_type ss_sql_col_type(const struct ss_sql_rows *r, size_t col)
{
	const char *type = sqlite3_column_decltype(r->stmt, (int)col);
	if (!type)
		return SS_SQL_IS_NULL;
	return sqlite3_stricmp(type, "INTEGER") == 0 ? SS_SQL_INT
	       : sqlite3_stricmp(type, "REAL") == 0  ? SS_SQL_REAL
						     : SS_SQL_TEXT;
}

enum ss_sql_type ss_sql_type(const struct ss_sql_rows *r, size_t col)
{
	switch (sqlite3_column_type(r->stmt, (int)col)) {
	case SQLITE_INTEGER:
		return SS_SQL_INT;
	case SQLITE_FLOAT:
		return SS_SQL_REAL;
	case SQLITE_TEXT:
		return SS_SQL_TEXT;
	case SQLITE_BLOB:
		return SS_SQL_BLOB;
	default:
		return SS_SQL_IS_NULL;
	}
}

int64_t ss_sql_i64(const struct ss_sql_rows *r, size_t col)
{
	return sqlite3_column_int64(r->stmt, (int)col);
}

double ss_sql_f64(const struct ss_sql_rows *r, size_t col)
{
	return sqlite3_column_double(r->stmt, (int)col);
}

struct ss_str ss_sql_text(const struct ss_sql_rows *r, size_t col)
{
	bool blob = sqlite3_column_type(r->stmt, (int)col) == SQLITE_BLOB;
	const char *p = blob ? sqlite3_column_blob(r->stmt, (int)col)
			     : (const char *)sqlite3_column_text(r->stmt, (int)col);
	return (struct ss_str){ p ? p : "",
				p ? (size_t)sqlite3_column_bytes(r->stmt, (int)col) : 0 };
}
