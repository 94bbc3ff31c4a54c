/* copy.c - each virtual table becomes one of the file. */
#include "sql/copy.h"

#include "base/buf.h"
#include "request/registry.h"
#include "sql/engine.h"
#include "sql/sql.h"

#include <stdio.h>

static bool run(struct ss_sql *s, const char *statement, struct ss_err *err)
{
	int code = sqlite3_exec(s->db, statement, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		return true;
	if (code == SQLITE_NOMEM)
		return ss_fail_mem(err);
	return ss_fail(err, SS_EIO, "the database cannot be written: %s", sqlite3_errmsg(s->db));
}

static bool copy_table(struct ss_sql *s, const char *name, struct ss_err *err)
{
	struct ss_buf b = { 0 };
	ss_buf_printf(&b, "CREATE TABLE copy.\"%s\" AS SELECT * FROM \"%s\"", name, name);
	ss_buf_char(&b, '\0');
	bool ok = !b.no_memory ? run(s, b.p, err) : ss_fail_mem(err);
	ss_buf_free(&b);
	return ok;
}

/* All tables of a tool. One that has no answer here is passed over. */
static bool copy_tool(struct ss_sql *s, const char *tool, struct ss_err *err)
{
	char name[128];
	for (unsigned k = 1; k <= SS_SQL_TOOL_TABLES; k++) {
		struct ss_err why = { 0 };
		snprintf(name, sizeof(name), k > 1 ? "tool_%s_%u" : "tool_%s", tool, k);
		if (!copy_table(s, name, &why))
			return why.code != SS_ENOMEM || ss_fail_mem(err);
	}
	return true;
}

static bool copy_all(struct ss_sql *s, struct ss_err *err)
{
	bool ok = true;
	for (size_t i = 0; ok && ss_sql_table_name(i); i++)
		ok = copy_table(s, ss_sql_table_name(i), err);
	for (size_t i = 0; ok && ss_tools[i]; i++)
		if (ss_tool_is_listed(ss_tools[i]) && ss_tool_reads_profiles(ss_tools[i]))
			ok = copy_tool(s, ss_tools[i]->name, err);
	return ok && run(s,
			 "CREATE INDEX copy.events_by_start ON events(start_ps); CREATE INDEX "
			 "copy.events_by_name ON events(name); "
			 "CREATE INDEX copy.stats_by_event ON stats(event_id)",
			 err);
}

/*
 * The connection itself is in memory. It is not opened with SQLITE_OPEN_MEMORY, or the file would
 * be, too.
 */
bool ss_sql_copy(struct ss_model *m, const char *path, struct ss_err *err)
{
	struct ss_sql s = { .model = m };
	ss_result_init(&s.tables, &s.arena);
	bool ok = sqlite3_open_v2(":memory:", &s.db,
				  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					  SQLITE_OPEN_NOMUTEX,
				  NULL) == SQLITE_OK;
	ok = (ok && ss_sql_add_functions(&s) && ss_sql_add_events(&s) && ss_sql_add_stats(&s) &&
	      ss_sql_add_xprof_events(&s, "xprof_events") && ss_sql_add_tables(&s)) ||
	     ss_fail_mem(err);
	if (ok) {
		char *attach =
			sqlite3_mprintf("ATTACH %Q AS copy; PRAGMA copy.journal_mode=OFF; PRAGMA "
					"copy.synchronous=OFF; PRAGMA copy.page_size=16384",
					path);
		ok = attach ? run(&s, attach, err) : ss_fail_mem(err);
		sqlite3_free(attach);
	}
	ok = ok && run(&s, "BEGIN", err) && copy_all(&s, err) && run(&s, "COMMIT", err);
	sqlite3_close(s.db);
	ss_sql_free_tables(&s);
	ss_arena_release(&s.arena);
	return ok;
}
