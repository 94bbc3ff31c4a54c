/* copy.h - the tables of SQL, written into a database of their own. */
#ifndef SS_SQL_COPY_H
#define SS_SQL_COPY_H

#include "base/err.h"

struct ss_model;

/* The file must not be there. Tools that have no answer for the profile have no table. */
bool ss_sql_copy(struct ss_model *m, const char *path, struct ss_err *err);

#endif
