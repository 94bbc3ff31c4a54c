/*
 * folded.h - a table that is a tree as folded stacks: a line for each row that has something of its own,
 * names with ';' between, a blank, a whole number. flamegraph.pl and speedscope draw it.
 *
 * The column says what a row comes to with the rows inside of it: what these come to is taken off. One
 * whose id names a row's own ("cpu_self_us") is taken as it is. Times are in nanoseconds, all else in
 * its unit.
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
