/*
 * tree.h - a part of a bucket as a directory of this machine: every object that may be read is a file there, of its length and
 * time, and its bytes come when it is opened (base/provide.h), into the cache and from there as a link.
 */
#ifndef SS_LOCATION_TREE_H
#define SS_LOCATION_TREE_H

#include "location/location.h"

struct ss_bucket;
struct ss_tree;

/*
 * What lies below the bucket's path. The bucket then belongs to the tree, unless *tree stays NULL: nothing lies there. What is
 * not shown goes to the notes of `p`.
 */
bool ss_tree_open(struct ss_tree **tree, struct ss_bucket *b, struct ss_location *p, struct ss_err *err);
void ss_tree_close(struct ss_tree *t);
const char *ss_tree_path(const struct ss_tree *t);
/* As ss_location_scratch; NULL also where another process fetches. */
const char *ss_tree_scratch(const struct ss_tree *t);

/*
 * From now on another process fetches and lists, for this one may not connect later; it ends when this one does, however it
 * ends, and `tell` prints there what was done. Before there are threads.
 */
bool ss_tree_leave_to_fetcher(struct ss_tree *t, void (*tell)(struct ss_str text), struct ss_err *err);
/*
 * The files are those that the bucket has now, if the list is old enough to be asked for again; without `waits` they become so
 * soon. Only where another process fetches.
 */
void ss_tree_refresh(struct ss_tree *t, bool waits);
/* The notes of the newest list, and what was wrong with it, to the store; *own: there is one. False when memory is out. */
bool ss_tree_notes(struct ss_tree *t, struct ss_store *s, bool *own);

/* What a list changed. */
struct ss_tree_change {
	size_t added, changed, gone;	/* files */
};

/* What it took until now. */
struct ss_tree_cost {
	size_t nlisted, nshown;		/* objects */
	size_t nfetched, nkept;		/* files that came from there, and from the cache */
	uint64_t fetched_bytes;
	unsigned requests;
	unsigned nlists;		/* that were asked for later */
};
struct ss_tree_cost ss_tree_cost(struct ss_tree *t);

#endif
