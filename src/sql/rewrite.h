/*
 * rewrite.h - the same question in words for which SQLite has an index.
 *
 * `stat(e.event_id, 'correlation_id')` is what people write to join launches with kernels; SQLite
 * looks up equal values by an index of columns alone. So it becomes `e.correlation_id`, the hidden
 * column of `events`, in statements with one SELECT, where `e` can be no other table by that name;
 * where e is no table of events, SQLite refuses the new text and takes the old.
 */
#ifndef SS_SQL_REWRITE_H
#define SS_SQL_REWRITE_H

#include "base/str.h"

/* *out is NULL where nothing is to be changed, else freed by the caller. False: memory is out. */
bool ss_sql_rewrite(struct ss_str query, char **out);

#endif
