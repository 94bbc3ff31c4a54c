/* saved.h - questions with a name (saved.def). */
#ifndef SS_SQL_SAVED_H
#define SS_SQL_SAVED_H

#include "base/str.h"

#define SS_SQL_SAVED_VALUES 4u

struct ss_sql_saved {
	const char *name, *doc;
	struct {
		const char *name, *preset;
	} values[SS_SQL_SAVED_VALUES + 1]; /* ended by a NULL name */
	const char *sql;
};

/* NULL beyond the last. */
const struct ss_sql_saved *ss_sql_saved_at(size_t i);
const struct ss_sql_saved *ss_sql_saved_find(struct ss_str name);

#endif
