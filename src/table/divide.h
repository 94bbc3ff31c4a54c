/*
 * divide.h - how a column's total is divided among the values of another column: sums by group, the
 * greatest first. Pages show them as shares of a whole.
 */
#ifndef SS_TABLE_DIVIDE_H
#define SS_TABLE_DIVIDE_H

#include "table/table.h"

struct ss_share {
	struct ss_str name;	/* the cell as a text: "yes" and "no" of a BOOL */
	double sum, frac;	/* of the column asked for; of the total */
};

struct ss_division {
	struct ss_share *top;	/* greatest first, equal ones by name */
	size_t n, ngroups;
	double total, rest, rest_frac; /* all rows that count; groups that are not in top */
};

/* Rows that count: those with a positive number in `value`, and in which column `where` says `is` (SS_NPOS: all). */
struct ss_divide {
	size_t by, value, where;
	struct ss_str is;
	size_t max; /* groups in top */
};

/* In `arena`. False when memory is out. Columns must be the table's; `value` one of numbers. */
bool ss_table_divide(const struct ss_table *t, const struct ss_divide *how, struct ss_arena *arena, struct ss_division *out);
/* Row with the greatest number in column `value`, leaving out those named "IDLE" in column `name`; SS_NPOS without one. */
size_t ss_table_greatest(const struct ss_table *t, size_t value, size_t name);
/* A cell of a column of numbers; NaN for an empty one. */
double ss_table_number(const struct ss_table *t, size_t row, size_t col);

#endif
