/*
 * xprof_events.c - the table `xprof_events`: events in the columns of XProf's database of events.
 */
#include "sql/directory.h"
#include "sql/engine.h"
#include "sql/xprof_rows.h"

#include <stdlib.h>

#define SCHEMA_COLUMN(id, sql) sql ", "
static const char schema[] =
	"CREATE TABLE xprof_events(" SS_XPROF_COLUMNS(SCHEMA_COLUMN) "host TEXT HIDDEN)";

enum { FLAG_GROUPS = 1 }; /* of idxNum; idxStr has a letter for each constraint: the column */

struct table {
	struct ss_sql_vtab base;
	struct ss_xprof_lines plain, grouped;
};

struct cursor {
	sqlite3_vtab_cursor base;
	const struct ss_xprof_lines *lines;
	char cols[4]; /* of the constraints */
	char *texts[4];
	size_t n[4], line;
	int nterms;
	uint32_t i;
	bool impossible;
	struct ss_xprof_reader reader;
};

static bool is_of_line(int col)
{
	return col == SS_XPROF_DEVICE || col == SS_XPROF_CATEGORY || col == SS_XPROF_HOST;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	struct ss_sql *s = ((struct ss_sql_vtab *)v)->s;
	char cols[5] = { 0 };
	int n = 0;
	double rows = (double)s->dir->nevents + 1;
	for (int i = 0; i < info->nConstraint && n < 4; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || !is_of_line(c->iColumn) ||
		    sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		cols[n++] = (char)('A' + c->iColumn);
		info->aConstraintUsage[i].argvIndex = n;
		info->aConstraintUsage[i].omit = 1;
		rows /= 2;
	}
	for (int col = 0; col < SS_XPROF_COLS; col++)
		if (ss_xprof_needs_groups(col) && info->colUsed >> col & 1)
			info->idxNum = FLAG_GROUPS;
	info->idxStr = sqlite3_mprintf("%s", cols);
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows * 4;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static bool line_fits(const struct cursor *c, const struct ss_xprof_line *line)
{
	char buf[32];
	for (int k = 0; k < c->nterms; k++)
		if (!ss_str_eq(ss_xprof_line_text(line, c->cols[k] - 'A', buf, sizeof(buf)),
			       (struct ss_str){ c->texts[k], c->n[k] }))
			return false;
	return true;
}

/* From a line on: to the first event of the next that fits. */
static void to_line(struct cursor *c)
{
	for (c->i = 0; c->line < c->lines->n; c->line++, c->i = 0) {
		const struct ss_xprof_line *line = &c->lines->v[c->line];
		if (c->impossible || !line_fits(c, line))
			continue;
		while (c->i < line->l->ev.n && !ss_xprof_is_event(line, c->i))
			c->i++;
		if (c->i < line->l->ev.n)
			return;
	}
}

static void forget_texts(struct cursor *c)
{
	for (int k = 0; k < c->nterms; k++)
		free(c->texts[k]);
	c->nterms = 0;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *cols, int n,
		  sqlite3_value **values)
{
	struct cursor *c = (struct cursor *)cursor;
	struct table *t = (struct table *)cursor->pVtab;
	struct ss_xprof_lines *lines = number & FLAG_GROUPS ? &t->grouped : &t->plain;
	struct ss_sql *s = t->base.s;
	if (!lines->v && (!ss_sql_events(s) || !ss_xprof_lines_of(s->dir, number & FLAG_GROUPS, &s->arena, lines, &s->err)))
		return ss_sql_vtab_fail(cursor->pVtab, &s->err);
	c->reader.d = s->dir;
	c->reader.line = NULL;
	forget_texts(c);
	c->lines = lines;
	c->line = 0;
	c->impossible = false;
	for (int k = 0; k < n; k++) {
		const char *p = (const char *)sqlite3_value_text(values[k]);
		size_t bytes = (size_t)sqlite3_value_bytes(values[k]);
		c->impossible = c->impossible || !p || sqlite3_value_type(values[k]) == SQLITE_BLOB;
		c->texts[k] = malloc(bytes + 1);
		if (!c->texts[k])
			return SQLITE_NOMEM;
		memcpy(c->texts[k], p ? p : "", p ? bytes : 0);
		c->n[k] = p ? bytes : 0;
		c->cols[k] = cols[k];
		c->nterms = k + 1;
	}
	to_line(c);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	const struct ss_xprof_line *line = &c->lines->v[c->line];
	((struct ss_sql_vtab *)cursor->pVtab)->s->steps = 0;
	while (++c->i < line->l->ev.n) {
		if (c->i % 4096 == 0 && !ss_sql_go_on(((struct ss_sql_vtab *)cursor->pVtab)->s))
			return SQLITE_INTERRUPT;
		if (ss_xprof_is_event(line, c->i))
			return SQLITE_OK;
	}
	c->line++;
	to_line(c);
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *cursor)
{
	const struct cursor *c = (struct cursor *)cursor;
	return c->line >= c->lines->n;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	const struct cursor *c = (struct cursor *)cursor;
	*out = (sqlite3_int64)(c->lines->v[c->line].raw->first_id + c->i);
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int col)
{
	struct cursor *c = (struct cursor *)cursor;
	const struct ss_xprof_line *line = &c->lines->v[c->line];
	if (c->reader.line != line || c->reader.i != c->i)
		ss_xprof_read(&c->reader, line, c->i);
	struct ss_xprof_value v = ss_xprof_value(&c->reader, col);
	switch (v.type) {
	case SS_XPROF_NULL:
		break;
	case SS_XPROF_INT:
		sqlite3_result_int64(context, v.i);
		break;
	case SS_XPROF_REAL:
		sqlite3_result_double(context, v.real);
		break;
	case SS_XPROF_TEXT:
	case SS_XPROF_TEXTS:
		sqlite3_result_text64(context, v.text.n ? v.text.p : "", v.text.n, v.made ? SQLITE_TRANSIENT : SQLITE_STATIC,
				      SQLITE_UTF8);
	}
	return c->reader.text.no_memory || c->reader.shape.no_memory ? SQLITE_NOMEM : SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return ss_sql_new_cursor(sizeof(struct cursor), out);
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	forget_texts(c);
	ss_xprof_reader_free(&c->reader);
	free(c);
	return SQLITE_OK;
}

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	(void)db;
	(void)argc;
	(void)argv;
	return ss_sql_vtab_of_events(arg, out, sizeof(struct table), schema, why);
}

bool ss_sql_add_xprof_events(struct ss_sql *s, const char *name)
{
	static const sqlite3_module module = {
		.xConnect = connect_table,
		.xDisconnect = ss_sql_vtab_free,
		.xBestIndex = best_index,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = eof,
		.xColumn = column,
		.xRowid = rowid,
	};
	return sqlite3_create_module(s->db, name, &module, s) == SQLITE_OK;
}
