/*
 * engine.h - what the tables and functions of SQL share: one connection of SQLite over one model.
 *
 * All tables are virtual: rows of the directory (directory.h), or tables that are made in the
 * connection's arena when a statement first names them. Nothing is written anywhere.
 */
#ifndef SS_SQL_ENGINE_H
#define SS_SQL_ENGINE_H

#include "table/table.h"

#include <sqlite3.h>

enum ss_sql_end { SS_SQL_GOES_ON, SS_SQL_TIME_UP, SS_SQL_STOPPED, SS_SQL_ENDLESS };

struct ss_model;
struct ss_sql_answer;
struct ss_sql_directory;
struct ss_sql_line;
struct ss_xstat;

struct ss_sql {
	sqlite3 *db;
	struct ss_model *model;
	const char *host;		/* asked for: of tools that answer for one host alone; NULL: the first */
	struct ss_sql_directory *dir;	/* once a table needed it */
	struct ss_arena arena;		/* of the tables that are made */
	struct ss_result tables;	/* those */
	struct ss_sql_answer *answers;	/* of tools */
	uint64_t deadline_ns;		/* of ss_sql_now_ns: time is up for the query; 0: never */
	uint64_t last_ns;		/* and for whoever reads its rows */
	const int *stop;		/* another thread ends the statement by making it other than 0; NULL: none does */
	bool (*left)(int client);	/* as in struct ss_sql_question */
	int client;
	uint64_t asked_ns;		/* when it was asked last */
	enum ss_sql_end end;
	bool recursive;			/* the statement has a recursion */
	uint64_t steps;			/* of SQLite's machine since a table gave a row */
	bool declaring;			/* a table of ours says its columns, which looks like a change of the schema */
	struct ss_err err;		/* why a table could not be made */
};

/*
 * Is there time left, and somebody who waits? To be asked every few thousand rows. Once false it
 * stays so.
 */
bool ss_sql_go_on(struct ss_sql *s);
uint64_t ss_sql_now_ns(void);
/* The directory, read now if it was not. NULL on failure, which is in s->err. */
struct ss_sql_directory *ss_sql_events(struct ss_sql *s);

/* Registered with the connection; false when memory is out. */
bool ss_sql_add_functions(struct ss_sql *s);
bool ss_sql_add_format(struct ss_sql *s);
bool ss_sql_add_letters(struct ss_sql *s);
bool ss_sql_add_percentiles(struct ss_sql *s);
bool ss_sql_add_events(struct ss_sql *s);
bool ss_sql_add_stats(struct ss_sql *s);
bool ss_sql_add_xprof_events(struct ss_sql *s, const char *name);
bool ss_sql_add_tables(struct ss_sql *s);
void ss_sql_free_tables(struct ss_sql *s);

#define SS_SQL_TOOL_TABLES 16u	/* tables of one tool that can be named: tool_NAME, tool_NAME_2 ... */

/* A table of which all rows are made at once, the first time that a statement names it. */
struct ss_sql_made {
	const char *name;
	const struct ss_col *cols;
	size_t ncols;
	bool (*fill)(struct ss_sql *s, struct ss_table *t, struct ss_err *err);
	const char *doc;
};
extern const struct ss_sql_made *const ss_sql_made[]; /* tables.def, NULL-terminated */
/* In such a table, this number and a text whose p is NULL are NULL in SQL. */
#define SS_SQL_NULL INT64_MIN
#define SS_SQL_NO_TEXT ((struct ss_str){ NULL, 0 })

/* The functions of a module that all virtual tables share. */
struct ss_sql_vtab {
	sqlite3_vtab base;
	struct ss_sql *s;
};
int ss_sql_vtab_new(struct ss_sql *s, sqlite3_vtab **out, size_t bytes, const char *schema, char **why);
/* The same of a table whose rows are the directory's: that is read first. */
int ss_sql_vtab_of_events(struct ss_sql *s, sqlite3_vtab **out, size_t bytes, const char *schema, char **why);
int ss_sql_vtab_free(sqlite3_vtab *v);
/* A failure of ours as SQLite's: the text becomes the statement's message. */
int ss_sql_vtab_fail(sqlite3_vtab *v, const struct ss_err *err);

/* The value of a stat as SQL has it. */
void ss_sql_result_stat(sqlite3_context *c, const struct ss_xstat *s);
/* Texts that live as long as the model. */
static inline void ss_sql_result_str(sqlite3_context *c, struct ss_str s)
{
	sqlite3_result_text64(c, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

/*
 * A stat of an event by its key: the event's own, of several the last, else that of its name's
 * metadata.
 */
struct ss_sql_key {
	struct ss_str text;
	uint32_t *first;	/* by plane: the first stat metadata of this name, SS_NONE: none; SS_NONE - 1: not looked up */
};
bool ss_sql_key_init(struct ss_sql_key *k, const struct ss_sql_directory *d, struct ss_str text);
bool ss_sql_stat(struct ss_sql_key *k, const struct ss_sql_line *line, uint32_t i, struct ss_xstat *out);

/* Functions of one row, whose results depend on their arguments alone. */
struct ss_sql_function {
	const char *name;
	int n;			/* of arguments */
	void (*plain)(sqlite3_context *c, int n, sqlite3_value **v);
};
bool ss_sql_create_functions(struct ss_sql *s, const struct ss_sql_function *v, size_t n);

/* The text of an argument; false: it is NULL, or memory is out, which is then the result. */
bool ss_sql_text_of(sqlite3_context *c, sqlite3_value *v, struct ss_str *out);
/* The length of one character of UTF-8, or 1 for a byte that begins none. */
size_t ss_sql_letter_bytes(const char *p, const char *end);

/*
 * Does the text match; the pattern is GLOB's, or LIKE's with `escape` (0: none)? Asks whether to go
 * on; false then, too.
 */
bool ss_sql_glob(struct ss_sql *s, struct ss_str pattern, struct ss_str text);
bool ss_sql_like(struct ss_sql *s, struct ss_str pattern, struct ss_str text, char escape);

/* A cursor of so many zeroed bytes that begins with its sqlite3_vtab_cursor; closing it is free(). Answers SQLite's status. */
int ss_sql_new_cursor(size_t bytes, sqlite3_vtab_cursor **out);

#endif
