/*
 * tree_files.h - the files of a tree: which of their bytes are present, and how they are fetched.
 *
 * The execute bits of a file tell how much of it is present, so that a process that has opened it knows without asking:
 * none: all of it; owner: nothing (a hole); owner and group: the first SS_TREE_HEAD bytes; all: the first SS_TREE_BEGIN bytes.
 * Only these first bytes are written in place. A complete file replaces the incomplete one, so mappings of the latter stay valid.
 */
#ifndef SS_LOCATION_TREE_FILES_H
#define SS_LOCATION_TREE_FILES_H

#include "base/provide.h"
#include "location/bucket.h"
#include "location/tree.h"
#include "rpc/download.h"

#include <sys/types.h>

#define SS_TREE_HEAD ((uint64_t)16 << 10)
#define SS_TREE_BEGIN ((uint64_t)1 << 20)
#define SS_TREE_IDLE 4		/* connections that are kept; as many files are fetched at the same time */
#define SS_TREE_PART ".stepscope-part"

struct ss_tree_file {
	struct ss_str path;	/* below the tree, NUL-terminated, as the rest of the key */
	struct ss_object object;	/* its tag is "" if the cache cannot write it down */
	uint64_t have;		/* how many of its first bytes are present */
	uint64_t placed;	/* an ascending number: when it became complete; 0: it is not */
	unsigned users;		/* threads that use it */
	bool busy;		/* one of them fetches */
	bool gone;		/* it is no longer in the list */
	char texts[];
};

struct ss_fetcher;

struct ss_tree {
	struct ss_bucket *bucket;	/* NULL: another process fetches */
	struct ss_fetcher *fetcher;	/* the way to it */
	struct ss_scratch scratch;
	struct ss_str root;	/* canonical */
	struct ss_provider provider;
	SS_VEC(struct ss_tree_file *) files;	/* by path */
	pthread_mutex_t lock;
	pthread_cond_t changed;	/* a file is no longer busy */
	struct ss_connection *idle[SS_TREE_IDLE];	/* unused entries */
	size_t nidle;
	uint64_t grown_bytes;	/* of the cache, since its limit was last enforced */
	uint64_t placed_bytes, nplaced;	/* complete files in the tree */
	bool bounded;		/* the limit of the cache holds for them, too */
	bool ended;		/* no file may be added any more */
	pid_t owner;		/* the process that owns the tree; a forked process does not share it */
	struct ss_tree_cost cost;
	struct ss_arena arena;
};

/* Make the first bytes of the file at `below` present. Waits for a thread that is fetching them already. */
bool ss_tree_fetch(struct ss_tree *t, struct ss_str below, uint64_t bytes, struct ss_err *err);
/* Update the tree to the objects of the bucket. The notes of `p` name the objects that are left out. */
bool ss_tree_list(struct ss_tree *t, struct ss_location *p, struct ss_tree_change *change, struct ss_err *err);
bool ss_tree_is_path(struct ss_str name);
/* Does a file of this state have its first `bytes`? */
bool ss_tree_has(const struct stat *st, uint64_t bytes);

/* ---- under the tree's lock ---- */

/* Make a hole of the file's length and time, as a new file or in place of its last version. False: see errno. */
bool ss_tree_make_hole(struct ss_tree *t, struct ss_tree_file *f, bool replaces);
/* Put all of the file, or its first `bytes`, into the tree, from the file `name` of `dir`. */
bool ss_tree_place_whole(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, struct ss_err *err);
bool ss_tree_place_begin(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, uint64_t bytes, struct ss_err *err);
/* Remove it, and the directories that are then empty. */
void ss_tree_remove(struct ss_tree *t, struct ss_tree_file *f);
void ss_tree_file_free(struct ss_tree_file *f);

#endif
