/*
 * tree_files.h - inside of a tree: its files, whose bytes are there or not, and where they come from.
 *
 * The mode of a file tells how much of it is there, so that whoever has opened it knows without asking anybody: a file that is
 * whole may not be executed by anyone. One whose bytes are a hole may be executed by its owner, with the first SS_TREE_HEAD
 * bytes there by its group too, and with the first SS_TREE_BEGIN bytes by all. A file is never filled where it stands except
 * for these beginnings: another takes its place, and mappings of the one before stay whole.
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
#define SS_TREE_IDLE 4		/* connections that are kept: as many files are fetched at once */
#define SS_TREE_PART ".stepscope-part"

struct ss_tree_file {
	struct ss_str path;	/* below the tree, NUL-terminated, as the rest of the key */
	struct ss_object object;
	uint64_t have;		/* bytes from its begin on that are there */
	uint64_t placed;	/* a number that grows: when it became whole; 0: it is not */
	unsigned users;		/* threads that look at it */
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
	struct ss_connection *idle[SS_TREE_IDLE];	/* those that nobody uses */
	size_t nidle;
	uint64_t grown_bytes;	/* of the cache, since it was last held to its limit */
	uint64_t placed_bytes, nplaced;	/* whole files that stand in the tree */
	bool bounded;		/* they are held to the limit of the cache, too */
	bool ended;		/* nothing is put into the tree any more */
	pid_t owner;		/* whose they are: a process that was forked does not share them */
	struct ss_tree_cost cost;
	struct ss_arena arena;
};

/* The first bytes of the file at `below`; who fetches them already is waited for. */
bool ss_tree_fetch(struct ss_tree *t, struct ss_str below, uint64_t bytes, struct ss_err *err);
/* Compares the tree with what lies in the bucket now. What is not shown goes to the notes of `p`. */
bool ss_tree_list(struct ss_tree *t, struct ss_location *p, struct ss_tree_change *change, struct ss_err *err);
bool ss_tree_is_path(struct ss_str name);
/* Are the first `bytes` there, in a file of this state? */
bool ss_tree_has(const struct stat *st, uint64_t bytes);

/* ---- under the tree's lock ---- */

/* A hole of that length and time, a new file or in place of its version before. False: errno says why. */
bool ss_tree_make_hole(struct ss_tree *t, struct ss_tree_file *f, bool replaces);
/* All of it, or the first `bytes`, as the file `name` of `dir` has them. */
bool ss_tree_place_whole(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, struct ss_err *err);
bool ss_tree_place_begin(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, uint64_t bytes, struct ss_err *err);
/* It goes, and with it the directories that are empty then. */
void ss_tree_remove(struct ss_tree *t, struct ss_tree_file *f);
void ss_tree_file_free(struct ss_tree_file *f);

#endif
