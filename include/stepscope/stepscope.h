/*
 * stepscope.h - profiles of training programs, opened and analysed: the C interface of libstepscope.
 *
 *	char why[256];
 *	struct stepscope *s = stepscope_open("logs/", why, sizeof(why));
 *	struct stepscope_question q = STEPSCOPE_QUESTION;
 *	struct stepscope_answer a = STEPSCOPE_ANSWER;
 *	q.tool = "overview_page";
 *	if (stepscope_ask(s, &q, &a, why, sizeof(why)))
 *		fwrite(a.data, 1, a.data_bytes, stdout);
 *	stepscope_answer_clear(&a);
 *	stepscope_close(s);
 *
 * A function that fails returns NULL or false and, when `why` is not NULL, writes a sentence for the user
 * there, always ended by a zero. Nothing is printed, nothing is written to the directory of a profile, and
 * no signal handler is set.
 *
 * Threads: any number may ask the same struct stepscope at the same time; profiles are opened once and
 * shared. Structs begin with their size, so that programs built with older headers keep working: initialise
 * them with the macros here.
 */
#ifndef STEPSCOPE_STEPSCOPE_H
#define STEPSCOPE_STEPSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEPSCOPE_API __attribute__((visibility("default")))

/* "0.1.0", of the library that is running. */
STEPSCOPE_API const char *stepscope_version(void);

/* The analyses; NULL beyond the last. Static. */
STEPSCOPE_API const char *stepscope_tool_name(size_t i);
STEPSCOPE_API const char *stepscope_tool_title(size_t i);
STEPSCOPE_API const char *stepscope_tool_summary(size_t i);

struct stepscope;

/* A log directory, a directory of runs, one run, or one file: as it is now. */
STEPSCOPE_API struct stepscope *stepscope_open(const char *path, char *why, size_t why_bytes);
STEPSCOPE_API void stepscope_close(struct stepscope *s);

/* Runs by name, descending; hosts by name. NULL beyond the last. Live as long as `s`. */
STEPSCOPE_API const char *stepscope_run_name(const struct stepscope *s, size_t i);
/* The run that NULL names: the one with the newest files, of those that have hosts if there is one. NULL: there is no run. */
STEPSCOPE_API const char *stepscope_newest_run(const struct stepscope *s);
STEPSCOPE_API const char *stepscope_host_name(const struct stepscope *s, const char *run, size_t i);

enum stepscope_format {
	STEPSCOPE_JSON = 0,	/* tables by column, values as numbers with units */
	STEPSCOPE_XPROF = 1,	/* the JSON of XProf 2.24.2; of timelines, trace events */
	STEPSCOPE_CSV = 2,	/* one table; or all, an empty line between them and "# name" before each */
	STEPSCOPE_TEXT = 3,	/* for people */
};

/* Takes a piece of the answer; false ends it. */
typedef bool stepscope_write_fn(void *arg, const char *data, size_t bytes);

struct stepscope_question {
	size_t size;
	const char *tool;
	const char *run;		/* NULL: the newest */
	const char *host;		/* one, several with commas, "ALL_HOSTS"; NULL: as suits the tool */
	const char *const *params;	/* "k=v", ended by NULL; NULL: none */
	enum stepscope_format format;
	const char *table;		/* CSV: its name, or "all"; NULL: the first */
	/*
	 * For answers of any size: called with pieces instead of keeping the whole. NULL: the answer has
	 * it all.
	 */
	stepscope_write_fn *write;
	void *write_arg;
};

struct stepscope_answer {
	size_t size;
	char *data;			/* with a zero behind it; NULL where `write` took it */
	size_t data_bytes;
	const char *type;		/* "application/json" ... */
	void *owned;
};

#define STEPSCOPE_QUESTION { sizeof(struct stepscope_question), NULL, NULL, NULL, NULL, STEPSCOPE_JSON, NULL, NULL, NULL }
#define STEPSCOPE_ANSWER { sizeof(struct stepscope_answer), NULL, 0, NULL, NULL }

/* Ask one analysis. The answer is cleared by the caller, also after a failure; it may be used again. */
STEPSCOPE_API bool stepscope_ask(struct stepscope *s, const struct stepscope_question *q, struct stepscope_answer *a,
				 char *why, size_t why_bytes);
STEPSCOPE_API void stepscope_answer_clear(struct stepscope_answer *a);

/*
 * Ask in SQL (docs/sql.md): one SELECT over the events, the steps and the tables of the tools, of all hosts of a run or of
 * some. Rows come one after the other and belong to the thread that asked. NULL: `why` says what is wrong with the query.
 */
enum stepscope_sql_type { STEPSCOPE_NULL = 0, STEPSCOPE_INT = 1, STEPSCOPE_REAL = 2, STEPSCOPE_TEXT_VALUE = 3, STEPSCOPE_BLOB = 4 };

struct stepscope_rows;

/*
 * `run` and `host` may be NULL: the newest run, all of its hosts. `timeout_ms` 0: no limit of time, but a recursion that reads no
 * row of the profile for 100 million steps is stopped.
 */
STEPSCOPE_API struct stepscope_rows *stepscope_sql(struct stepscope *s, const char *run, const char *host, const char *query,
						   unsigned timeout_ms, char *why, size_t why_bytes);
/*
 * The same, and another thread ends it by making *stop other than 0: the call that is at work then fails. `stop` lives until the
 * rows are closed.
 */
STEPSCOPE_API struct stepscope_rows *stepscope_sql_until(struct stepscope *s, const char *run, const char *host, const char *query,
							 unsigned timeout_ms, const int *stop, char *why, size_t why_bytes);
/* To the next row: 1; 0: there are no more; -1: it failed, and `why` says how. */
STEPSCOPE_API int stepscope_sql_next(struct stepscope_rows *r, char *why, size_t why_bytes);
STEPSCOPE_API void stepscope_sql_close(struct stepscope_rows *r);
STEPSCOPE_API size_t stepscope_sql_columns(const struct stepscope_rows *r);
STEPSCOPE_API const char *stepscope_sql_name(const struct stepscope_rows *r, size_t col);
/* A value of the row. A text has no zero behind it and lives until the next row. */
STEPSCOPE_API enum stepscope_sql_type stepscope_sql_type(const struct stepscope_rows *r, size_t col);
STEPSCOPE_API int64_t stepscope_sql_int(const struct stepscope_rows *r, size_t col);
STEPSCOPE_API double stepscope_sql_real(const struct stepscope_rows *r, size_t col);
STEPSCOPE_API const char *stepscope_sql_text(const struct stepscope_rows *r, size_t col, size_t *bytes);

/*
 * All rows of a question as columns, for programs that compute with columns. The rows are closed, whatever comes of it. A
 * column is of STEPSCOPE_INT, STEPSCOPE_REAL or STEPSCOPE_TEXT_VALUE: of the narrowest that holds all its values.
 */
struct stepscope_table;
STEPSCOPE_API struct stepscope_table *stepscope_sql_table(struct stepscope_rows *r, char *why, size_t why_bytes);
STEPSCOPE_API void stepscope_table_free(struct stepscope_table *t);
STEPSCOPE_API uint64_t stepscope_table_rows(const struct stepscope_table *t);
STEPSCOPE_API size_t stepscope_table_columns(const struct stepscope_table *t);
STEPSCOPE_API const char *stepscope_table_name(const struct stepscope_table *t, size_t col);
STEPSCOPE_API enum stepscope_sql_type stepscope_table_type(const struct stepscope_table *t, size_t col);
/* A bit for each row, the lowest first: has it a value? NULL: all have. */
STEPSCOPE_API const uint8_t *stepscope_table_valid(const struct stepscope_table *t, size_t col);
/*
 * int64_t or double of each row; of texts and blobs their bytes, of which row i has those from ends[i] to ends[i + 1]. Texts are
 * UTF-8: bytes that are none are U+FFFD.
 */
STEPSCOPE_API const void *stepscope_table_cells(const struct stepscope_table *t, size_t col);
STEPSCOPE_API const int64_t *stepscope_table_ends(const struct stepscope_table *t, size_t col);
/*
 * The table as a stream of the Arrow C stream interface, without a copy: it lives until the last of its streams and arrays is
 * released, whether or not it is freed before. False: memory is out.
 */
struct ArrowArrayStream;
STEPSCOPE_API bool stepscope_table_arrow(struct stepscope_table *t, struct ArrowArrayStream *out);

/* Has the run data for the tool? False also when it cannot be opened. `run` NULL: the newest. */
STEPSCOPE_API bool stepscope_has(struct stepscope *s, const char *run, const char *tool);

#ifdef __cplusplus
}
#endif

#endif
