/*
 * tree.h - a part of a bucket as a directory of this machine. Every object that may be read is a file with the object's length and
 * time. Opening it fetches its bytes (base/provide.h) into the cache, and the file becomes a link to the cached one.
 */
#ifndef SS_LOCATION_TREE_H
#define SS_LOCATION_TREE_H

#include "location/location.h"

struct ss_bucket;
struct ss_tree;

/*
 * Open the objects below the bucket's path. The tree then owns the bucket. If there are no objects, *tree stays NULL and the caller
 * keeps the bucket. The notes of `p` name the objects that are left out.
 */
bool ss_tree_open(struct ss_tree **tree, struct ss_bucket *b, struct ss_location *p, struct ss_err *err);
void ss_tree_close(struct ss_tree *t);
const char *ss_tree_path(const struct ss_tree *t);
/* Like ss_location_scratch; also NULL if another process fetches. */
const char *ss_tree_scratch(const struct ss_tree *t);

/*
 * From now on another process fetches and lists, because this one may not connect later. It ends when this process ends in any way.
 * `run` is its loop, and `tell` prints in it what was fetched. Call this before there are threads.
 */
typedef void ss_fetcher_fn(struct ss_tree *t, int fd, void (*tell)(struct ss_str text));
bool ss_tree_leave_to_fetcher(struct ss_tree *t, ss_fetcher_fn *run, void (*tell)(struct ss_str text), struct ss_err *err);
/* The work of the new process, for `run`. */
_Noreturn void ss_fetcher_run(struct ss_tree *t, int fd, void (*tell)(struct ss_str text));
/*
 * List the bucket again if the last list is old enough, and update the files. Without `waits` this happens in the background. Only
 * if another process fetches.
 */
void ss_tree_refresh(struct ss_tree *t, bool waits);
/* Copy the notes of the newest list, and its error, to the store. *own: there is such a list. False when memory is out. */
bool ss_tree_notes(struct ss_tree *t, struct ss_store *s, bool *own);

/* The changes that a list brought. */
struct ss_tree_change {
	size_t added, changed, gone;	/* files */
};

/* The cost so far. */
struct ss_tree_cost {
	size_t nlisted, nshown;		/* objects */
	size_t nfetched, nkept;		/* files fetched from the bucket, and found in the cache */
	uint64_t fetched_bytes;
	unsigned requests;
	unsigned nlists;		/* lists after the first */
};
struct ss_tree_cost ss_tree_cost(struct ss_tree *t);

#endif
