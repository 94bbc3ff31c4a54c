/*
 * events_plan.c - how to read `events` for a statement: which constraints are taken over, and what
 * that leaves.
 */
#include "sql/directory.h"
#include "model/model.h"
#include "sql/events.h"

static char op_letter(int op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return 'G';
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return 'L';
	default:
		return 0;
	}
}

/* Is this a constraint that pieces are chosen by? */
static bool is_taken(int col, char op)
{
	if (col == C_EVENT_ID || col == C_LINE_ID || col == C_CORRELATION_ID)
		return op == '=';
	if (is_number_col(col))
		return op && op != 'G' && op != 'L';
	return (is_line_text(col) || col == C_NAME) && (op == '=' || op == 'G' || op == 'L');
}

/* The share of events that a constraint leaves: as it is where its value is known, else a guess. */
static double share_of(struct ss_sql_events_table *t, sqlite3_index_info *info, int at, int col,
		       char op)
{
	const struct ss_sql_directory *d = t->base.s->dir;
	double nlines = d->nlines ? d->nlines : 1, nplanes = d->nplanes ? d->nplanes : 1;
	if (is_line_text(col)) {
#if SQLITE_VERSION_NUMBER >= 3038000
		sqlite3_value *v = NULL;
		uint64_t left = 0;
		if (sqlite3_vtab_rhs_value(info, at, &v) == SQLITE_OK &&
		    sqlite3_value_type(v) != SQLITE_NULL) {
			for (uint32_t i = 0; i < d->nlines; i++)
				if (line_fits(t->base.s, &d->lines[i], col, op, value_text(v)))
					left += d->lines[i].l.ev.n;
			return ((double)left + 1) / ((double)d->nevents + 1);
		}
#else
		(void)info;
		(void)at;
#endif
		return op != '='	  ? 0.5
		       : col == C_HOST	  ? 1 / (double)(d->model->nhosts ? d->model->nhosts : 1)
		       : col == C_PLANE	  ? 1 / nplanes
		       : nplanes < nlines ? nplanes / nlines
					  : 1;
	}
	if (col == C_LINE_ID)
		return 1 / nlines;
	if (col == C_NAME)
		return op == '=' ? 0.001 : 0.1;
	return op == '=' ? 0.0001 : 0.03;
}

/*
 * Can rows come in this order? Only whole lines and all events of a name do: lines and names are
 * few.
 */
static bool can_order(const sqlite3_index_info *info)
{
	for (int i = 0; i < info->nOrderBy; i++) {
		int col = info->aOrderBy[i].iColumn;
		if (!is_line_text(col) && col != C_LINE_ID && col != C_NAME &&
		    col != C_DISPLAY_NAME)
			return false;
	}
	return info->nOrderBy > 0;
}

static bool is_binary(sqlite3_index_info *info, int at, int col)
{
	return (!is_line_text(col) && col != C_NAME) ||
	       sqlite3_stricmp(sqlite3_vtab_collation(info, at), "BINARY") == 0;
}

struct plan {
	char text[2 * MOST_TERMS + 2 * 64 + 2];
	size_t n;
	double share;
	bool by_id, by_correlation, in_time;
};

static void take_constraint(struct ss_sql_events_table *t, sqlite3_index_info *info, int at,
			    struct plan *plan, int *args)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[at];
	int col = c->iColumn < 0 ? C_EVENT_ID : c->iColumn;
	char op = op_letter(c->op);
	if (!c->usable || !is_taken(col, op) || *args == MOST_TERMS || !is_binary(info, at, col))
		return;
	info->aConstraintUsage[at].argvIndex = ++*args;
	/* Whole lines are left out by the same comparison that SQLite would make of each event. */
	info->aConstraintUsage[at].omit = is_line_text(col);
	plan->text[plan->n++] = (char)('A' + col);
	plan->text[plan->n++] = op;
	plan->by_id |= col == C_EVENT_ID;
	plan->by_correlation |= col == C_CORRELATION_ID;
	plan->in_time |= is_number_col(col);
	plan->share *= share_of(t, info, at, col, op);
}

static void take_order(sqlite3_index_info *info, struct plan *plan)
{
	if (plan->by_id || plan->by_correlation || plan->in_time || info->nOrderBy > 32 ||
	    !can_order(info))
		return;
	plan->text[plan->n++] = '|';
	for (int i = 0; i < info->nOrderBy; i++) {
		plan->text[plan->n++] = (char)('A' + info->aOrderBy[i].iColumn);
		plan->text[plan->n++] = info->aOrderBy[i].desc ? 'd' : 'a';
	}
	info->orderByConsumed = 1;
}

int ss_sql_events_plan(sqlite3_vtab *v, sqlite3_index_info *info)
{
	struct ss_sql_events_table *t = (struct ss_sql_events_table *)v;
	struct plan plan = { .share = 1 };
	int args = 0;
	double events = (double)t->base.s->dir->nevents;
	for (int i = 0; i < info->nConstraint; i++)
		take_constraint(t, info, i, &plan, &args);
	take_order(info, &plan);
	double rows = plan.by_id ? 1 : plan.by_correlation ? 2 : events * plan.share + 1;
	info->idxStr = sqlite3_mprintf("%.*s", (int)plan.n, plan.text);
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = plan.by_id ? 1 : rows * 2 + 10;
	if (plan.by_id)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}
