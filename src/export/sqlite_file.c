/* sqlite_file.c - the tables of docs/sql.md as a database of SQLite. */
#include "export/export.h"

#include "sql/copy.h"
#include "sql/directory.h"

static bool write_file(struct ss_export *x, const char *path, struct ss_err *err)
{
	x->nevents = x->d->nevents;
	return ss_sql_copy(x->model, path, err);
}

const struct ss_export_format ss_export_sqlite = {
	.name = "sqlite",
	.doc = "the tables of 'stepscope sql' as a database",
	.binary = true,
	.whole = "it has whole tables",
	.write_file = write_file,
};
