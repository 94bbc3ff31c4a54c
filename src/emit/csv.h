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

enum ss_csv_names {
	SS_CSV_LABELS,	/* XProf's export: labels, and every number with a point or exponent */
	SS_CSV_IDS,	/* for programs: ids carry the unit and stay the same, whole numbers are whole */
};

void ss_emit_csv(struct ss_out *o, const struct ss_table *t, enum ss_csv_names names);

#endif
