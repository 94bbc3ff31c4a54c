/* sqlite_file.c - the tables of docs/sql.md as a database of SQLite. */
#include "export/export.h"

#include "sql/copy.h"

static bool write_file(struct ss_export *x, const char *path, struct ss_err *err)
{
	if (x->plane || x->start_ps != INT64_MIN || x->end_ps != INT64_MAX)
		return ss_fail(
			err, SS_EINVAL,
			"--plane, --start and --end are not for sqlite: it has whole tables");
	x->nevents = x->d->nevents;
	return ss_sql_copy(x->model, path, err);
}

const struct ss_export_format ss_export_sqlite = { "sqlite",
						   "the tables of 'stepscope sql' as a database",
						   true, NULL, write_file };
