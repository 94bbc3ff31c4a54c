/*
 * cols.h - short words for the files that declare columns of tables: NUM and INT have a unit (its
 * name without SS_UNIT_), LIKE is a NUM that is shown in the scale of the column `like`, PART one
 * that is hidden where no row has any, ID the number of a thing, where -1 is none. The last
 * argument is the column's sentence, or NULL (struct ss_col). A column with a role is written out.
 */
#ifndef SS_TABLE_COLS_H
#define SS_TABLE_COLS_H

#include "table/table.h"

#define NUM(id, label, unit, doc) { id, label, SS_TYPE_F64, SS_UNIT_##unit, doc, NULL }
#define LIKE(id, label, unit, like, doc) { id, label, SS_TYPE_F64, SS_UNIT_##unit, doc, "scale:" like }
#define INT(id, label, unit, doc) { id, label, SS_TYPE_I64, SS_UNIT_##unit, doc, NULL }
#define PART(id, label, unit, doc) { id, label, SS_TYPE_F64, SS_UNIT_##unit, doc, "part" }
#define ID(id, label, doc) { id, label, SS_TYPE_I64, SS_UNIT_NONE, doc, "id" }
#define STR(id, label, doc) { id, label, SS_TYPE_STR, SS_UNIT_NONE, doc, NULL }
#define HTML(id, label, doc) { id, label, SS_TYPE_STR, SS_UNIT_HTML, doc, NULL }
#define FLAG(id, label, doc) { id, label, SS_TYPE_BOOL, SS_UNIT_NONE, doc, NULL }

#endif
