/*
 * tool_join.h - joining the tables of a tool, in parts. Internal to this folder.
 *
 *	tool_join.c	cells and columns
 *	tool_tables.c	which tables are compared and how; tables whose rows are steps
 *	tool_rows.c	tables whose rows have a name
 */
#ifndef SS_DIFF_TOOL_JOIN_H
#define SS_DIFF_TOOL_JOIN_H

#include "diff/tool_tables.h"

enum ss_join_subject { SS_SUBJECT_NOTHING, SS_SUBJECT_OP, SS_SUBJECT_PATH, SS_SUBJECT_KERNEL, SS_SUBJECT_OP_NAME };
enum ss_join_kind { SS_JOIN_ROWS, SS_JOIN_STEPS, SS_JOIN_APART };

/* A row of tool_tables.def. */
struct ss_join_spec {
	const char *tool, *table, *keys, *step, *figures, *sums;
	enum ss_join_subject subject;
	enum ss_join_kind kind;
};

/* The next word of a list; false at its end. */
bool ss_join_word(struct ss_str *list, struct ss_str *word);
bool ss_join_has(const char *list, const char *id);
bool ss_join_is_figure(const struct ss_join_spec *s, const struct ss_col *c);
/* NAN where there is no such column (SS_NPOS). */
double ss_join_number(const struct ss_table *t, size_t row, size_t col);
struct ss_str ss_join_text(const struct ss_table *t, size_t row, size_t col);
uint64_t ss_join_cell_hash(const struct ss_table *t, size_t row, size_t col);
/* Into the last row of `to`; nothing where there is no such column. */
void ss_join_copy_cell(struct ss_table *to, size_t col, const struct ss_table *from, size_t row, size_t from_col);
struct ss_str ss_join_verdict(const struct ss_diff *d, const struct ss_diff_row *r);
/*
 * Does the column name hosts, and each run has one? Machines have other names in another recording,
 * so that the name says nothing.
 */
bool ss_join_names_one_host(const struct ss_table *like, size_t col, struct ss_tool_side base, struct ss_tool_side new);
/* The table of this name, of the first run that has it; NULL. */
const struct ss_table *ss_join_first(struct ss_tool_side s, const char *name);

bool ss_join_rows(struct ss_diff *d, const struct ss_join_spec *s, const struct ss_table *like, struct ss_tool_side base,
		  struct ss_tool_side new, struct ss_result *out);

#endif
