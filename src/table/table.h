/*
 * table.h - the form of all results: named tables of typed columns, with properties and notes.
 *
 * A tree is a table with a column `parent` (row number, -1 for roots). A graph is two tables
 * (nodes, edges). A timeline is a struct of its own. Everything lives in the request's arena.
 * Values are numbers with a unit, not text; emitters print them.
 *
 * When memory is out, these functions do not fail at once: the arena remembers it (base/arena.h),
 * rows and texts without memory are left out, and ss_tool_run refuses the answer. Code that builds
 * tables elsewhere must check the arena's no_memory at the end.
 *
 * Column and property ids, and the texts of properties, are those of XProf where XProf has them,
 * so that its clients understand the answer.
 */
#ifndef SS_TABLE_TABLE_H
#define SS_TABLE_TABLE_H

#include "base/err.h"
#include "base/intern.h"

enum ss_type { SS_TYPE_STR, SS_TYPE_F64, SS_TYPE_I64, SS_TYPE_BOOL };

/* UNIT(identifier, name in JSON) */
#define SS_UNITS(UNIT)                                                                            \
	UNIT(NONE, "") UNIT(PS, "ps") UNIT(NS, "ns") UNIT(US, "us") UNIT(MS, "ms") UNIT(S, "s")    \
	UNIT(BYTES, "bytes") UNIT(MIB, "mib") UNIT(GIB, "gib") UNIT(FRAC, "frac")                  \
	UNIT(PERCENT, "percent") UNIT(FLOPS, "flops") UNIT(GFLOP_PER_S, "gflop_per_s")             \
	UNIT(TFLOP_PER_S, "tflop_per_s") UNIT(GIB_PER_S, "gib_per_s") UNIT(GB_PER_S, "gb_per_s")   \
	UNIT(FLOP_PER_BYTE, "flop_per_byte") UNIT(COUNT, "count") UNIT(HTML, "html") UNIT(NJ, "nj") \
	UNIT(HEX, "hex")	/* the 64 bits of an int64 cell, unsigned, for people in hexadecimal */

enum ss_unit {
#define UNIT(id, name) SS_UNIT_##id,
	SS_UNITS(UNIT)
#undef UNIT
	SS_UNIT_COUNT_
};

const char *ss_unit_name(enum ss_unit unit);

struct ss_col {
	const char *id, *label;
	enum ss_type type;
	enum ss_unit unit;
	const char *doc;	/* one sentence that defines the column, with its formula; NULL: the label is enough */
	/*
	 * XProf's column property "role" (tooltip, interval); "short:ID": short forms of the texts
	 * of column ID; "scale:ID": shown in the unit of column ID, so that a row can be read
	 * across; "part": a part of a whole, hidden where it is 0 in all rows; "id": numbers of
	 * objects, where a negative number means none and is shown as an empty cell; or NULL
	 */
	const char *role;
};

union ss_column {		/* one array per column, by type */
	struct ss_str *str;
	double *f64;		/* NaN is an empty cell */
	int64_t *i64;
	uint8_t *b;
};

struct ss_prop {
	const char *id, *label;	/* label NULL: the id is the label */
	enum ss_unit unit;
	double value;		/* NaN: the property has only a text */
	struct ss_str text;	/* the text that XProf prints */
};

struct ss_table {
	const char *name, *title;
	const struct ss_col *cols;
	size_t ncols, nrows, cap;
	union ss_column *data;	/* by column */
	struct ss_prop *props;
	size_t nprops, prop_cap;
	struct ss_arena *arena;
	struct ss_intern *texts; /* of the result */
};

enum ss_severity { SS_INFO, SS_WARNING, SS_ERROR };

struct ss_note {
	enum ss_severity severity;
	struct ss_str text;	/* for the user: what is missing or doubtful, and what to do */
};

/*
 * The conclusion of the result, for a person who reads nothing else: plain sentences. The first
 * sentence is the answer; the others give its evidence or further facts.
 */
enum ss_mood { SS_MOOD_PLAIN, SS_MOOD_GOOD, SS_MOOD_WARN, SS_MOOD_BAD };

#define SS_CONCLUSION_MORE 8

struct ss_conclusion {
	struct ss_str text;	/* n is 0: there is no conclusion */
	struct ss_str more[SS_CONCLUSION_MORE];
	size_t nmore;
	enum ss_mood mood;	/* of `text` */
	const char *see;	/* the tool with further details, or NULL */
};

struct ss_timeline;

struct ss_result {
	struct ss_table *tables;
	size_t ntables, table_cap;
	struct ss_note *notes;
	size_t nnotes, note_cap;
	struct ss_conclusion conclusion;
	struct ss_timeline *timeline; /* tools of kind SS_KIND_TIMELINE */
	/*
	 * The type of an answer that is a text or a file instead of tables (a program's text, a
	 * drawing); the client gets `body` unchanged. NULL: the answer is the tables.
	 */
	const char *content_type;
	struct ss_str body;
	struct ss_arena *arena;
	/*
	 * The copies of texts in the arena. During ss_tool_visit the texts of cells come from hosts
	 * that will be closed, so the tables store copies. A result must not be moved meanwhile,
	 * because its tables point to this member.
	 */
	struct ss_intern texts;
	struct ss_table lost;	/* the table that ss_result_table returns when memory is out: it has no row */
};

void ss_result_init(struct ss_result *r, struct ss_arena *arena);
/*
 * Append an empty table. `cols` must live as long as the result (static or in its arena). The
 * pointer is valid until the next table is added.
 */
struct ss_table *ss_result_table(struct ss_result *r, const char *name, const char *title, const struct ss_col *cols,
				 size_t ncols);
/* False when memory was out while the result was made. Call it before the result is read. */
bool ss_result_is_whole(const struct ss_result *r, struct ss_err *err);
/* The table of this number; it has no row if memory was out. */
struct ss_table *ss_result_at(struct ss_result *r, size_t k);
void ss_result_note(struct ss_result *r, enum ss_severity severity, struct ss_str text);
/*
 * Rows in the natural order of a column of texts ("host2" before "host10"), equal ones as they are.
 * `within`: only rows that stand together with one number in that column change places; NULL: all.
 */
void ss_table_sort_naturally(struct ss_table *t, const char *text, const char *within);
/* Add a sentence to the conclusion; an empty sentence, and one beyond the limit, is ignored. */
void ss_result_say(struct ss_result *r, struct ss_str text);
/* The table of this name; an empty table without columns if there is none. */
const struct ss_table *ss_result_find(const struct ss_result *r, const char *name);
/*
 * Add a warning for each column and property of shares that has values above 100 %.
 * over_100_percent.c.
 */
void ss_result_note_over_100_percent(struct ss_result *r);

/* Make room for `nrows` rows in all. */
void ss_table_reserve(struct ss_table *t, size_t nrows);
/*
 * Append a row (cells 0, "", false); its cells are set by the functions below. It adds no row when
 * memory is out.
 */
void ss_table_row(struct ss_table *t);
/*
 * Set a cell of the last row, by column number in the order of `cols`. The type must be the
 * column's (asserted). Without a row the call has no effect. Texts are borrowed, or copied while
 * hosts may be closed (struct ss_result.texts).
 */
void ss_set_str(struct ss_table *t, size_t col, struct ss_str v);
void ss_set_f64(struct ss_table *t, size_t col, double v);
void ss_set_i64(struct ss_table *t, size_t col, int64_t v);
void ss_set_bool(struct ss_table *t, size_t col, bool v);

/* Number of the column of this id, SS_NPOS if there is none. */
size_t ss_table_col(const struct ss_table *t, const char *id);
/*
 * A cell by the id of its column; "", 0 or false if the row or column does not exist, or has
 * another type. ss_cell_f64 takes whole numbers as well.
 */
struct ss_str ss_cell_str(const struct ss_table *t, size_t row, const char *col);
double ss_cell_f64(const struct ss_table *t, size_t row, const char *col);
int64_t ss_cell_i64(const struct ss_table *t, size_t row, const char *col);
bool ss_cell_bool(const struct ss_table *t, size_t row, const char *col);

void ss_table_prop(struct ss_table *t, const char *id, struct ss_str text);
/*
 * A number with its unit; `fmt` is the printf format of one double that gives XProf's text, e.g.
 * "%.1f%%".
 */
void ss_table_prop_num(struct ss_table *t, const char *id, const char *label, enum ss_unit unit, double value,
		       const char *fmt);
const struct ss_prop *ss_table_find_prop(const struct ss_table *t, const char *id);
/* The property of the first table that has it, or NULL. */
const struct ss_prop *ss_result_find_prop(const struct ss_result *r, const char *id);
/* The value of the cell, or the number that its text holds; NAN: neither. */
double ss_result_number(const struct ss_result *r, const char *id);

#endif
