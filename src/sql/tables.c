/*
 * tables.c - tables that are made as a whole: those of tables.def, and tool_NAME, tool_NAME_2 ...
 * of every tool's answer. A statement that names one of them has it made; its columns are known
 * then.
 */
#include "sql/engine.h"

#include "base/buf.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "request/request.h"
#include "sql/directory.h"
#include "sql/sql.h"

#include <math.h>
#include <stdlib.h>

#define MADE(name) extern const struct ss_sql_made ss_sql_made_##name;
#include "sql/tables.def"
#undef MADE
const struct ss_sql_made *const ss_sql_made[] = {
#define MADE(name) &ss_sql_made_##name,
#include "sql/tables.def"
#undef MADE
	NULL,
};

/* The table that a module's name stands for. */
struct named {
	struct ss_sql *s;
	const struct ss_sql_made *made; /* or */
	const struct ss_tool *tool;
	unsigned number; /* of the tool's tables, from 0 */
};

/* The answer of one tool, shared by its tables. */
struct ss_sql_answer {
	struct ss_sql_answer *next;
	const struct ss_tool *tool;
	struct ss_model one; /* of a tool that answers for one host alone */
	struct ss_result result;
	bool has_one;
};

struct table {
	struct ss_sql_vtab base;
	const struct ss_table *t;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t row;
};

static const struct ss_host *host_asked(const struct ss_sql *s)
{
	for (size_t i = 0; s->host && i < s->model->nhosts; i++)
		if (ss_str_is(ss_host_name(s->model->hosts[i]), s->host))
			return s->model->hosts[i];
	return s->model->nhosts ? s->model->hosts[0] : NULL;
}

static bool run_tool(struct ss_sql *s, struct ss_sql_answer *a, struct ss_err *err)
{
	struct ss_request q = { .model = s->model, .arena = &s->arena, .as_tables = true };
	struct ss_host *one = (struct ss_host *)(uintptr_t)host_asked(s);
	if (!(a->tool->flags & (SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_OF_PROGRAM)) &&
	    s->model->nhosts > 1) {
		if (!ss_model_init(&a->one, &one, 1, err))
			return false;
		a->has_one = true;
		q.model = &a->one;
	}
	ss_result_init(&a->result, &s->arena);
	return ss_request_tables(a->tool, &q, &a->result, err);
}

static struct ss_sql_answer *answer_of(struct ss_sql *s, const struct ss_tool *tool,
				       struct ss_err *err)
{
	for (struct ss_sql_answer *a = s->answers; a; a = a->next)
		if (a->tool == tool)
			return a;
	struct ss_sql_answer *a = SS_NEW(&s->arena, struct ss_sql_answer);
	if (!a) {
		ss_fail_mem(err);
		return NULL;
	}
	a->tool = tool;
	a->next = s->answers;
	bool ok = run_tool(s, a, err);
	if (ok)
		s->answers = a;
	else if (a->has_one)
		ss_model_release(&a->one);
	return ok ? a : NULL;
}

void ss_sql_free_tables(struct ss_sql *s)
{
	for (struct ss_sql_answer *a = s->answers; a; a = a->next)
		if (a->has_one)
			ss_model_release(&a->one);
	s->answers = NULL;
}

static const struct ss_table *tool_table(const struct named *n, struct ss_err *err)
{
	struct ss_sql_answer *a = answer_of(n->s, n->tool, err);
	unsigned at = 0;
	for (size_t i = 0; a && i < a->result.ntables; i++)
		if (a->result.tables[i].ncols && at++ == n->number)
			return &a->result.tables[i];
	if (a && !at)
		ss_fail(err, SS_ENODATA, "%s has no table for this profile", n->tool->name);
	else if (a)
		ss_fail(err, SS_EINVAL, "%s has %u tables: tool_%s%s", n->tool->name, at,
			n->tool->name, at > 1 ? " and those with a number" : "");
	return NULL;
}

static const struct ss_table *made_table(const struct named *n, struct ss_err *err)
{
	struct ss_result *r = &n->s->tables;
	for (size_t i = 0; i < r->ntables; i++)
		if (r->tables[i].cols == n->made->cols)
			return ss_result_is_whole(r, err) ? &r->tables[i] : NULL;
	struct ss_table *t =
		ss_result_table(r, n->made->name, n->made->name, n->made->cols, n->made->ncols);
	return n->made->fill(n->s, t, err) && ss_result_is_whole(r, err) ? t : NULL;
}

static const char *type_name(enum ss_type type)
{
	return type == SS_TYPE_STR ? "TEXT" : type == SS_TYPE_F64 ? "REAL" : "INTEGER";
}

/*
 * Names of columns are the tool's; of two that SQLite takes for the same, the second gets a number.
 */
static bool put_schema(struct ss_buf *b, const struct ss_table *t)
{
	ss_buf_lit(b, "CREATE TABLE t(");
	for (size_t i = 0; i < t->ncols; i++) {
		unsigned same = 1;
		for (size_t k = 0; k < i; k++)
			same += sqlite3_stricmp(t->cols[k].id, t->cols[i].id) == 0;
		ss_buf_z(b, i ? ", \"" : "\"");
		for (const char *p = t->cols[i].id; *p; p++) {
			ss_buf_char(b, *p);
			if (*p == '"')
				ss_buf_char(b, '"');
		}
		if (same > 1)
			ss_buf_printf(b, "_%u", same);
		ss_buf_printf(b, "\" %s", type_name(t->cols[i].type));
	}
	ss_buf_lit(b, ")");
	ss_buf_char(b, '\0');
	return !b->no_memory;
}

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	const struct named *n = arg;
	struct ss_err err = { 0 };
	const struct ss_table *t = n->made ? made_table(n, &err) : tool_table(n, &err);
	struct ss_buf schema = { 0 };
	(void)db;
	(void)argc;
	(void)argv;
	if (!t) {
		*why = sqlite3_mprintf("%s", err.text);
		return err.code == SS_ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	}
	int code = put_schema(&schema, t)
			   ? ss_sql_vtab_new(n->s, out, sizeof(struct table), schema.p, why)
			   : SQLITE_NOMEM;
	ss_buf_free(&schema);
	if (code == SQLITE_OK)
		((struct table *)*out)->t = t;
	return code;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	info->estimatedRows = (sqlite3_int64)((struct table *)v)->t->nrows;
	info->estimatedCost = (double)info->estimatedRows + 1;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	struct cursor *c = sqlite3_malloc64(sizeof(*c));
	(void)v;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .row = 0 };
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *c, int number, const char *text, int n,
		  sqlite3_value **values)
{
	(void)number;
	(void)text;
	(void)n;
	(void)values;
	((struct cursor *)c)->row = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *c)
{
	((struct cursor *)c)->row++;
	((struct ss_sql_vtab *)c->pVtab)->s->steps = 0;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *c)
{
	return ((struct cursor *)c)->row >= ((struct table *)c->pVtab)->t->nrows;
}

static int rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((struct cursor *)c)->row;
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *c, int col)
{
	const struct ss_table *t = ((struct table *)cursor->pVtab)->t;
	size_t row = ((struct cursor *)cursor)->row;
	union ss_column v = t->data[col];
	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		if (v.str[row].p)
			ss_sql_result_str(c, v.str[row]);
		break;
	case SS_TYPE_F64:
		sqlite3_result_double(c, v.f64[row]);
		break;
	case SS_TYPE_I64:
		if (v.i64[row] != SS_SQL_NULL)
			sqlite3_result_int64(c, v.i64[row]);
		break;
	case SS_TYPE_BOOL:
		sqlite3_result_int(c, v.b[row]);
		break;
	}
	return SQLITE_OK;
}

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

static bool add(struct ss_sql *s, const char *name, struct named what)
{
	struct named *n = SS_NEW(&s->arena, struct named);
	if (!n || !name)
		return false;
	*n = what;
	n->s = s;
	return sqlite3_create_module(s->db, name, &module, n) == SQLITE_OK;
}

bool ss_sql_add_tables(struct ss_sql *s)
{
	for (size_t i = 0; ss_sql_made[i]; i++)
		if (!add(s, ss_sql_made[i]->name, (struct named){ .made = ss_sql_made[i] }))
			return false;
	for (size_t i = 0; ss_tools[i]; i++)
		for (unsigned k = 0; k < SS_SQL_TOOL_TABLES && ss_tool_reads_profiles(ss_tools[i]); k++) {
			struct ss_str name =
				k ? ss_arena_printf(&s->arena, "tool_%s_%u", ss_tools[i]->name,
						    k + 1)
				  : ss_arena_printf(&s->arena, "tool_%s", ss_tools[i]->name);
			if (!add(s, name.p, (struct named){ .tool = ss_tools[i], .number = k }))
				return false;
		}
	return true;
}

static const struct {
	const char *name, *doc;
} virtual_tables[] = {
	{ "events", "an event of the files" },
	{ "stats", "a stat of an event, by event_id; the function stat(event_id, key) is faster" },
	{ "xprof_events", "an event in the columns of XProf's database of events" },
};

const char *ss_sql_table_name(size_t i)
{
	if (i < SS_COUNT(virtual_tables))
		return virtual_tables[i].name;
	return i - SS_COUNT(virtual_tables) < SS_COUNT(ss_sql_made) - 1
		       ? ss_sql_made[i - SS_COUNT(virtual_tables)]->name
		       : NULL;
}

const char *ss_sql_table_doc(size_t i)
{
	if (i < SS_COUNT(virtual_tables))
		return virtual_tables[i].doc;
	return i - SS_COUNT(virtual_tables) < SS_COUNT(ss_sql_made) - 1
		       ? ss_sql_made[i - SS_COUNT(virtual_tables)]->doc
		       : NULL;
}
