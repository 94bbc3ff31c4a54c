/*
 * fetcher.h - the process that lists and fetches for a server, which may neither connect nor write files itself.
 *
 * It has the credentials, and may write files below the cache alone. It does what the server asks for on a pair of sockets: a
 * list of what was named at the start, or a file of that list. It takes no other name, so who takes the server over cannot
 * have it read or send anything else. It ends when the server does, by the end of the connection.
 */
#ifndef SS_LOCATION_FETCHER_H
#define SS_LOCATION_FETCHER_H

#include "location/tree.h"

struct ss_fetcher;

/* The tree goes on in the new process. Before there are threads. NULL: `err` says why. */
struct ss_fetcher *ss_fetcher_start(struct ss_tree *t, const struct ss_tree_cost *cost, void (*tell)(struct ss_str text),
	struct ss_err *err);
/* Ends it, and waits for a moment until it is gone. */
void ss_fetcher_end(struct ss_fetcher *f);
/* As struct ss_provider wants it. It waits so long, and then says SS_ELATER: the file is fetched all the same. */
bool ss_fetcher_provide(void *fetcher, const char *path, uint64_t bytes, struct ss_err *err);
/* As ss_tree_refresh, ss_tree_notes, ss_tree_cost. */
void ss_fetcher_refresh(struct ss_fetcher *f, bool waits);
bool ss_fetcher_notes(struct ss_fetcher *f, struct ss_store *s);
struct ss_tree_cost ss_fetcher_cost(struct ss_fetcher *f);

#endif
