/*
 * csv.h - one table as CSV: a line of column names, then a line a row, each ended by a line feed,
 * every field quoted.
 *
 * Numbers are printed as in JSON, an empty cell is an empty field, booleans are True and False: as
 * XProf exports them.
 */
#ifndef SS_EMIT_CSV_H
#define SS_EMIT_CSV_H

#include "emit/out.h"
#include "table/table.h"

/* The title of a column; "": its id. */
typedef const char *ss_csv_label_fn(const struct ss_table *t, size_t col);

/*
 * NULL for programs: ids carry the unit and stay the same, whole numbers are whole. With the labels of
 * XProf (ss_xprof_label) it is XProf's export: every number has a point or exponent, HTML stays HTML.
 */
void ss_emit_csv(struct ss_out *o, const struct ss_table *t, ss_csv_label_fn *xprof_label);

#endif
