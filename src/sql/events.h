/*
 * events.h - what the two halves of the table `events` share: choosing how to read (events_plan.c)
 * and reading (events.c).
 *
 * A plan's text has two letters for each constraint that is taken over, in the order of their
 * values: 'A' + column, and what it says (= < > l: <=, g: >=, G: GLOB, L: LIKE). Behind '|' stand
 * the columns that rows are ordered by, with 'a' or 'd'.
 */
#ifndef SS_SQL_EVENTS_H
#define SS_SQL_EVENTS_H

#include "model/host/identity.h"
#include "sql/directory.h"
#include "sql/engine.h"

enum {
	C_EVENT_ID, C_HOST, C_PLANE, C_LINE_ID, C_LINE, C_NAME, C_DISPLAY_NAME, C_START_PS, C_END_PS, C_DUR_PS, C_SELF_PS, C_DEPTH,
	C_PARENT_ID, C_START_NS, C_END_NS, C_GROUP_ID, C_CORRELATION_ID, C_COLS
};

#define MOST_TERMS 32		/* constraints that are taken over */

struct ss_sql_correlated {
	int64_t id, event_id;
};

struct ss_sql_events_table {
	struct ss_sql_vtab base;
	struct ss_sql_key group, correlation;
	struct ss_sql_correlated *correlated;	/* by id, event_id; once asked for */
	size_t ncorrelated;
};

int ss_sql_events_plan(sqlite3_vtab *v, sqlite3_index_info *info);

static inline bool is_number_col(int col)
{
	return col == C_START_PS || col == C_END_PS || col == C_DUR_PS || col == C_START_NS || col == C_END_NS;
}

static inline bool is_line_text(int col)
{
	return col == C_HOST || col == C_PLANE || col == C_LINE;
}

static inline struct ss_str line_text(const struct ss_sql_line *line, int col)
{
	return col == C_HOST ? ss_host_name(line->host) : col == C_PLANE ? line->plane->name : ss_sql_line_name(line);
}

static inline bool line_fits(struct ss_sql *s, const struct ss_sql_line *line, int col, char op, struct ss_str text)
{
	struct ss_str own = line_text(line, col);
	return op == '=' ? ss_str_eq(own, text) : op == 'G' ? ss_sql_glob(s, text, own) : ss_sql_like(s, text, own, 0);
}

static inline struct ss_str value_text(sqlite3_value *v)
{
	const char *p = (const char *)sqlite3_value_text(v);
	return (struct ss_str){ p ? p : "", p ? (size_t)sqlite3_value_bytes(v) : 0 };
}

#endif
