/*
 * fetcher.h - the process that lists and fetches for a server, which may neither connect nor write
 * files itself.
 *
 * It has the credentials and may write only below the cache. The server asks it over a pair of
 * sockets for a list of the place that was named at the start, or for a file of that list. It accepts
 * no other name, so an attacker who takes over the server cannot make it read or send other data. It
 * ends when the connection ends, that is, with the server.
 */
#ifndef SS_LOCATION_FETCHER_H
#define SS_LOCATION_FETCHER_H

#include "location/tree.h"

struct ss_fetcher;

/* Start it with the tree, which from then on is its own. Call this before there are threads. NULL: `err` says why. */
struct ss_fetcher *ss_fetcher_start(struct ss_tree *t, const struct ss_tree_cost *cost, ss_fetcher_fn *run,
	void (*tell)(struct ss_str text), struct ss_err *err);
/* End it, and wait up to a moment for it. */
void ss_fetcher_end(struct ss_fetcher *f);
/*
 * For struct ss_provider. Waits for the file, up to STEPSCOPE_FETCH_WAIT_S, then fails with SS_ELATER; the fetcher goes on fetching
 * the file.
 */
bool ss_fetcher_provide(void *fetcher, const char *path, uint64_t bytes, struct ss_err *err);
/* These functions are like ss_tree_refresh, ss_tree_notes and ss_tree_cost. */
void ss_fetcher_refresh(struct ss_fetcher *f, bool waits);
bool ss_fetcher_notes(struct ss_fetcher *f, struct ss_store *s);
struct ss_tree_cost ss_fetcher_cost(struct ss_fetcher *f);

#endif
