/*
 * cache.h - files from elsewhere, kept on this machine below $STEPSCOPE_CACHE, else
 * $XDG_CACHE_HOME/stepscope, else ~/.cache/stepscope, each with the tag by which its server knows
 * it again.
 *
 * An entry is there whole or not at all: a file is written under another name, and counts from the
 * moment on that its description does. Entries that were not used for the longest go when all
 * together are larger than $STEPSCOPE_CACHE_MB.
 */
#ifndef SS_LOCATION_CACHE_H
#define SS_LOCATION_CACHE_H

#include "base/arena.h"
#include "base/err.h"

#include <limits.h>

#define SS_CACHE_TAG_BYTES 300

struct ss_cache_entry {
	int fd;			/* of its directory: as long as it is open, the entry stays; -1: there is none */
	int lock;		/* held by the process that updates the entry; -1: not this process */
	char root[PATH_MAX];	/* where all entries are */
	struct ss_str dir;
	struct ss_str path;	/* of the file */
	char tag[SS_CACHE_TAG_BYTES]; /* of the file that is there; "": there is none */
	int part;		/* a new file that is being written; -1: none */
};

/* The entry for an address, of which only a hash is written down. */
bool ss_cache_open(struct ss_cache_entry *e, const char *address, struct ss_str name, struct ss_arena *arena, struct ss_err *err);
/* A file to write to, in e->part. */
bool ss_cache_begin(struct ss_cache_entry *e, struct ss_err *err);
/* It is whole: it takes the place of the one before. */
bool ss_cache_keep(struct ss_cache_entry *e, const char *tag, struct ss_err *err);
/*
 * The entry is up to date: others may look at it. Entries beyond the limit go, but none that a
 * process uses.
 */
void ss_cache_used(struct ss_cache_entry *e);
/* The same in two steps, for callers with many entries: checking all entries takes time. */
void ss_cache_touch(struct ss_cache_entry *e);
void ss_cache_shrink(const char *root);
/* Removes entries that were written but not kept. */
void ss_cache_close(struct ss_cache_entry *e);
/* The directory of all entries, with "/" at its end; it is made if it does not exist. */
bool ss_cache_root(char *root, size_t bytes, struct ss_err *err);
/* The most bytes that are kept. */
uint64_t ss_cache_limit_bytes(void);

#endif
