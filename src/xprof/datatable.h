/*
 * datatable.h - results in the JSON that XProf's clients read: DataTables.
 *
 *	{"cols":[{"id":…,"label":…,"p":{"role":…},"type":"number"}],"p":{"id":"text"},"rows":[{"c":[{"v":1.0}]}]}
 *
 * Keys come in alphabetical order and without blanks; numbers always have a point or an exponent;
 * an empty cell is ""; properties are texts; "p" is left out where there is none. A table without
 * columns and properties is {}.
 */
#ifndef SS_XPROF_DATATABLE_H
#define SS_XPROF_DATATABLE_H

#include "emit/out.h"
#include "table/table.h"

/* The title of the column in XProf. */
const char *ss_xprof_label(const struct ss_table *t, size_t col);
void ss_emit_xprof_table(struct ss_out *o, const struct ss_table *t);
/* All tables as an array; the first alone if `one_table`. */
void ss_emit_xprof(struct ss_out *o, const struct ss_result *r, bool one_table);

#endif
