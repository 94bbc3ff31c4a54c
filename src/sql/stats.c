/*
 * stats.c - the table `stats`: a row for each stat of an event, its name's metadata's included
 * unless the event has one of the same key. With event_id only those of that event are read;
 * without, all are.
 */
#include "sql/engine.h"

#include "base/vec.h"
#include "sql/directory.h"

#include <stdlib.h>

#define MOST_COMPARED \
	256u /* stats of an event whose keys are told apart; a file may hold millions */

enum { C_EVENT_ID, C_KEY, C_VALUE };

struct cursor {
	sqlite3_vtab_cursor base;
	SS_VEC(struct ss_xstat) stats; /* of the event */
	size_t at;
	int64_t event_id, end;
	struct ss_sql_line *line;
	bool done;
};

static bool take(struct cursor *c, struct ss_xstats it, size_t own)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		size_t k = 0, n = own ? own : c->stats.n;
		n = n < MOST_COMPARED ? n : MOST_COMPARED;
		struct ss_str key =
			s.meta == SS_NONE ? SS_STR("") : it.plane->stat_meta[s.meta].name;
		while (k < n && (s.meta == SS_NONE ||
				 !ss_str_eq(key, it.plane->stat_meta[c->stats.v[k].meta].name)))
			k++;
		if (s.meta == SS_NONE || (own && k < n))
			continue;
		if (k < c->stats.n && k < n)
			c->stats.v[k] = s;
		else if (!ss_vec_push(&c->stats, s))
			return false;
	}
	return true;
}

/* The stats of the next event that has any. */
static int advance(struct ss_sql *s, struct cursor *c)
{
	c->at = 0;
	for (; c->event_id < c->end; c->event_id++) {
		uint32_t i;
		if (c->event_id % 4096 == 0 && !ss_sql_go_on(s))
			return SQLITE_INTERRUPT;
		c->line = ss_sql_line_of(s->dir, c->event_id, &i);
		c->stats.n = 0;
		const struct ss_xplane *x = c->line->plane->x;
		if (!take(c, ss_xevents_stats(&c->line->l.ev, x, c->line->l.src, i), 0))
			return SQLITE_NOMEM;
		size_t own = c->stats.n;
		if (!take(c, ss_xevent_meta_stats(x, c->line->l.ev.meta[i]), own))
			return SQLITE_NOMEM;
		if (c->stats.n)
			return SQLITE_OK;
	}
	c->done = true;
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	struct ss_sql *s = ((struct ss_sql_vtab *)v)->s;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn != C_EVENT_ID)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->estimatedRows = 10;
		info->estimatedCost = 20;
		return SQLITE_OK;
	}
	info->estimatedRows = (sqlite3_int64)s->dir->nevents * 10 + 1;
	info->estimatedCost = (double)s->dir->nevents * 1000 + 1;
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int n,
		  sqlite3_value **values)
{
	struct cursor *c = (struct cursor *)cursor;
	struct ss_sql *s = ((struct ss_sql_vtab *)cursor->pVtab)->s;
	(void)text;
	(void)n;
	c->done = false;
	c->event_id = 0;
	c->end = (int64_t)s->dir->nevents;
	if (number && sqlite3_value_numeric_type(values[0]) == SQLITE_INTEGER) {
		int64_t id = sqlite3_value_int64(values[0]);
		c->event_id = id < 0 || id >= c->end ? c->end : id;
		c->end = c->event_id < c->end ? c->event_id + 1 : c->end;
	} else if (number && sqlite3_value_type(values[0]) == SQLITE_NULL) {
		c->end = 0;
	}
	return advance(s, c);
}

static int next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	((struct ss_sql_vtab *)cursor->pVtab)->s->steps = 0;
	if (++c->at < c->stats.n)
		return SQLITE_OK;
	c->event_id++;
	return advance(((struct ss_sql_vtab *)cursor->pVtab)->s, c);
}

static int eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->done;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	const struct cursor *c = (struct cursor *)cursor;
	*out = (c->event_id << 20) + (sqlite3_int64)c->at;
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int col)
{
	const struct cursor *c = (struct cursor *)cursor;
	if (col == C_EVENT_ID)
		sqlite3_result_int64(context, c->event_id);
	else if (col == C_KEY)
		ss_sql_result_str(context,
				  c->line->plane->x->stat_meta[c->stats.v[c->at].meta].name);
	else
		ss_sql_result_stat(context, &c->stats.v[c->at]);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return ss_sql_new_cursor(sizeof(struct cursor), out);
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	ss_vec_free(&c->stats);
	free(c);
	return SQLITE_OK;
}

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	(void)db;
	(void)argc;
	(void)argv;
	return ss_sql_vtab_of_events(arg, out, sizeof(struct ss_sql_vtab),
				     "CREATE TABLE stats(event_id INTEGER, key TEXT, value)", why);
}

bool ss_sql_add_stats(struct ss_sql *s)
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
	return sqlite3_create_module(s->db, "stats", &module, s) == SQLITE_OK;
}
