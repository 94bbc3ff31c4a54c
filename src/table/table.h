/*
 * table.h - the one shape of results: named tables of typed columns, with properties and notes.
 *
 * A tree is a table with a column `parent` (row number, -1 for roots), a graph two tables (nodes,
 * edges), a timeline its own struct beside the tables. Everything lives in the request's arena.
 * Values are numbers with a unit, not text; emitters print them.
 *
 * When memory is out, nothing here says so at once: the arena remembers it (base/arena.h), rows and
 * texts that found no room are left out, and ss_tool_run refuses the answer. Who builds tables
 * elsewhere asks for the arena's no_memory at the end.
 *
 * Column and property ids, and the texts of properties, are those of XProf where XProf has them, so
 * that its clients understand the answer.
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
	const char *doc;	/* one sentence: what it is, with its formula; NULL: the label says it all */
	/*
	 * XProf's column property "role" (tooltip, interval); "short:ID": short forms of the texts of column ID;
	 * "scale:ID": shown in the unit of column ID, so that a row can be read across; or NULL
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
	const char *id, *label;	/* label NULL: the id says it all */
	enum ss_unit unit;
	double value;		/* NaN when it is text only */
	struct ss_str text;	/* as XProf prints it */
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
 * What the result comes to, for a person who reads nothing else: plain sentences. The first is the
 * answer, the others say what it rests on or what is true as well.
 */
enum ss_mood { SS_MOOD_PLAIN, SS_MOOD_GOOD, SS_MOOD_WARN, SS_MOOD_BAD };

#define SS_CONCLUSION_MORE 8

struct ss_conclusion {
	struct ss_str text;	/* n is 0: nothing is said */
	struct ss_str more[SS_CONCLUSION_MORE];
	size_t nmore;
	enum ss_mood mood;	/* of `text` */
	const char *see;	/* the tool that goes on from there, or NULL */
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
	 * An answer that is a text or a file rather than tables (a program's text, a drawing):
	 * given to the client as it is, of this type. NULL: there is none, the answer is the
	 * tables.
	 */
	const char *content_type;
	struct ss_str body;
	struct ss_arena *arena;
	/*
	 * While it copies (ss_tool_visit), texts that are set into cells come from hosts that are
	 * about to be closed: the tables keep copies in the arena. Its own until then: a result
	 * must not be moved while it copies.
	 */
	struct ss_intern texts;
	struct ss_table lost;	/* what ss_result_table gives when memory is out: a table without a row */
};

void ss_result_init(struct ss_result *r, struct ss_arena *arena);
/*
 * Append an empty table. `cols` must live as long as the result (static or in its arena). The
 * pointer is good until the next table is added.
 */
struct ss_table *ss_result_table(struct ss_result *r, const char *name, const char *title, const struct ss_col *cols,
				 size_t ncols);
/* False when memory was out while it was made: to be asked before anybody reads it. */
bool ss_result_is_whole(const struct ss_result *r, struct ss_err *err);
/* The table of this number; one that memory was out for is a table without a row. */
struct ss_table *ss_result_at(struct ss_result *r, size_t k);
void ss_result_note(struct ss_result *r, enum ss_severity severity, struct ss_str text);
/* Add a sentence to the conclusion; an empty one, and one too many, is passed over. */
void ss_result_say(struct ss_result *r, struct ss_str text);
/* The table of this name; one that is not there is an empty one without columns. */
const struct ss_table *ss_result_find(const struct ss_result *r, const char *name);
/*
 * A warning for each column and property of shares in which some are above 100 %.
 * over_100_percent.c.
 */
void ss_result_note_over_100_percent(struct ss_result *r);

/* Make room for `nrows` rows in all. */
void ss_table_reserve(struct ss_table *t, size_t nrows);
/*
 * Append a row (cells 0, "", false); its cells are set by the functions below. None when memory is
 * out.
 */
void ss_table_row(struct ss_table *t);
/*
 * Set a cell of the last row, by column number in the order of `cols`. The type must be the
 * column's (asserted). Nothing happens while there is no row. Texts are borrowed, or copied while
 * hosts may be closed (struct ss_result.texts).
 */
void ss_set_str(struct ss_table *t, size_t col, struct ss_str v);
void ss_set_f64(struct ss_table *t, size_t col, double v);
void ss_set_i64(struct ss_table *t, size_t col, int64_t v);
void ss_set_bool(struct ss_table *t, size_t col, bool v);

/* Number of the column of this id, SS_NPOS if there is none. */
size_t ss_table_col(const struct ss_table *t, const char *id);
/*
 * A cell by the id of its column: "", 0 or false where there is no such row or column, or it is of
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
/* Its value, or the number that its text is; NAN: neither. */
double ss_result_number(const struct ss_result *r, const char *id);

#endif
