/*
 * graph_db.h - a program's graph as tables of SQLite, for the queries that users write:
 * computations, instructions, edges, call_edges, in memory and read only.
 */
#ifndef SS_XPROF_CLI_GRAPH_DB_H
#define SS_XPROF_CLI_GRAPH_DB_H

#include "xprof/cli/graph.h"

struct sqlite3;

/* The graph must have its costs, and live as long as the database. */
bool xg_db_open(struct xcli *x, const struct xg_graph *g, struct sqlite3 **db);
void xg_db_close(struct sqlite3 *db);
/*
 * Rows of a query as objects, at most so many. Parameters stand for "?" in order. A query that a
 * user wrote fails the subcommand as one of a wrong value, with SQLite's reason.
 */
bool xg_db_rows(struct xcli *x, struct sqlite3 *db, const char *sql, const struct ss_str *params,
		size_t nparams, int64_t limit, struct xv *rows);
/* Is it one SELECT or WITH, without words that change anything? */
bool xg_db_is_query(const char *sql);

#endif
