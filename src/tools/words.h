/*
 * words.h - the sentences of a conclusion: those that tables already hold, and the parts of others.
 */
#ifndef SS_TOOLS_WORDS_H
#define SS_TOOLS_WORDS_H

#include "tools/tool.h"

/* Text without tags, in an arena; p is NULL when memory is out. */
struct ss_str ss_plain_words(struct ss_arena *arena, struct ss_str html);
/*
 * The text of a property without its links, "" when it is absent or empty; p is NULL when memory is
 * out.
 */
struct ss_str ss_prop_words(const struct ss_result *r, const char *id);
/* Adds those that exist to the conclusion. */
void ss_say_props(struct ss_result *r, const char *const *ids, size_t n);

/* A sentence of its own. */
#define ss_say(r, ...) ss_result_say((r), ss_arena_printf((r)->arena, __VA_ARGS__))

/* A short text, for printf: ss_value_words(unit, v).s */
struct ss_words {
	char s[112];
};

/* "12.3 ms" */
struct ss_words ss_value_words(enum ss_unit unit, double value);
/* "1 run", "3 runs" */
struct ss_words ss_count_words(double n, const char *noun);
/* "12.3 ms of 40.1 ms (30.7%)"; the first part alone if the whole is unknown. */
struct ss_words ss_share_words(enum ss_unit unit, double part, double whole);

/* " of program 7" where another row has the same name in another program; else "". */
struct ss_str ss_program_words(const struct ss_table *t, size_t row, const char *name_col);

/*
 * The row with the greatest number in a column, and the sum of the column. Idle time is no
 * operation: its rows do not count.
 */
struct ss_greatest {
	size_t row; /* SS_NPOS: no number is above 0 */
	double value, sum;
};

/* Use the rows whose cell `where` is `is`; where NULL: all rows. */
struct ss_greatest ss_greatest_row(const struct ss_table *t, const char *col, const char *where, const char *is);

/* The kind of a row; p NULL: it does not count. */
typedef struct ss_str ss_kind_fn(const struct ss_table *t, size_t row, const void *arg);

/*
 * The same of kinds of row, each the sum of its rows. `row` is the one of that kind with the greatest
 * number. The arena of the table remembers that memory was out.
 */
struct ss_greatest ss_greatest_kind(const struct ss_table *t, const char *col, ss_kind_fn *kind, const void *arg);
/* For that: the text in the column that `arg` names. */
ss_kind_fn ss_kind_of_column;

#endif
