/*
 * fuzz_sqlite_file.c - any bytes as a profile, exported as a database: one that SQLite finds whole and that has every event, or a
 * reason.
 */
#include "export/export.h"
#include "fuzz/mutate.h"
#include "sql/directory.h"
#include "sweep/drive.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[200];

static void remove_file(void)
{
	unlink(path);
}

static void name_file(void)
{
	bool memory = access("/dev/shm", W_OK) == 0;
	snprintf(path, sizeof(path), "%s/stepscope-fuzz-export-%d.db", memory ? "/dev/shm" : "/tmp", (int)getpid());
	atexit(remove_file);
}

static void check(uint64_t nevents)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT (SELECT COUNT(*) FROM events), integrity_check FROM pragma_integrity_check", -1, &stmt,
			       NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW || (uint64_t)sqlite3_column_int64(stmt, 0) != nevents ||
	    !ss_str_is(ss_str_from((const char *)sqlite3_column_text(stmt, 1)), "ok"))
		abort();
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample profile = { .path = "fuzz.xplane.pb" };
	static struct drive d;
	struct ss_err err = { 0 };
	if (!path[0])
		name_file();
	if (!drive_open(&d, &profile, (struct ss_str){ (const char *)data, size }, &err))
		return 0;
	struct ss_export x = { .model = &d.model, .d = ss_model_sql_directory(&d.model, &err), .start_ps = INT64_MIN,
			       .end_ps = INT64_MAX };
	unlink(path);
	bool ok = x.d && ss_export_find(SS_STR("sqlite"))->write_file(&x, path, &err);
	if (!ok && (!err.code || !err.text[0]))
		abort();
	if (ok)
		check(x.nevents);
	drive_close(&d);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
