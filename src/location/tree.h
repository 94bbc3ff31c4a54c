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
/* As ss_location_scratch. */
const char *ss_tree_scratch(const struct ss_tree *t);

/* All files, for who may not connect later. */
bool ss_tree_fetch_all(struct ss_tree *t, struct ss_err *err);

/* What it took until now. */
struct ss_tree_cost {
	size_t nlisted, nshown;		/* objects */
	size_t nfetched, nkept;		/* files that came from there, and from the cache */
	uint64_t fetched_bytes;
	unsigned requests;
};
struct ss_tree_cost ss_tree_cost(struct ss_tree *t);

#endif
