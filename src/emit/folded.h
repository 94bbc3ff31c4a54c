/*
 * folded.h - a table that is a tree as folded stacks: a line for each row with a value of its own:
 * names separated by ';', a blank, a whole number. flamegraph.pl and speedscope draw it.
 *
 * The column has totals that include the rows inside of a row: these are subtracted. A column whose
 * id has "self" ("cpu_self_us") is used unchanged. Times are in nanoseconds, all other values in
 * their unit.
 */
#ifndef SS_EMIT_FOLDED_H
#define SS_EMIT_FOLDED_H

#include "emit/out.h"
#include "table/table.h"

/* The first column of the table that a tree can be drawn by, NULL: it is no tree, or has none. */
const struct ss_col *ss_folded_column(const struct ss_table *t);
/* Is it one of them? */
bool ss_folded_by(const struct ss_table *t, struct ss_str column);
void ss_emit_folded(struct ss_out *o, const struct ss_table *t, struct ss_str column);

#endif
