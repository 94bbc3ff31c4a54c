/* saved.h - questions with a name (saved.def). */
#ifndef SS_SQL_SAVED_H
#define SS_SQL_SAVED_H

#include "base/err.h"
#include "base/str.h"

#define SS_SQL_SAVED_VALUES 4u

struct ss_sql_saved {
	const char *name, *doc;
	struct {
		const char *name, *preset;
	} values[SS_SQL_SAVED_VALUES + 1]; /* ended by a NULL name */
	const char *sql;
};

/*
 * A parameter whose preset is a number takes numbers; `rows`, a LIMIT, whole numbers from 0 on. False, and why, where a value is
 * of a parameter that the question does not have, or is not what its parameter takes.
 */
bool ss_sql_saved_takes(const struct ss_sql_saved *q, struct ss_str name, struct ss_str value, struct ss_err *err);

/* NULL beyond the last. */
const struct ss_sql_saved *ss_sql_saved_at(size_t i);
const struct ss_sql_saved *ss_sql_saved_find(struct ss_str name);

#endif
