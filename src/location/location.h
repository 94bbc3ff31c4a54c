/*
 * location.h - the place that the user names, and its path on this machine. Only here does a name that is no
 * file or directory of profiles become one:
 *
 *	DIR, FILE	itself
 *	FILE		an archive (zip; tar, plain or packed with gzip or zstd): a directory of its members
 *	-		standard input: an archive, or one profile
 *	https://...	a file, profile or archive, fetched into the cache (cache.h)
 *	s3://, gs://	an object, fetched in the same way, or the objects below a prefix, as a directory (tree.h)
 *	demo:		the log directory that the program carries (demo.h)
 *	grpc[s]://...	the answers of a server of ProfileAnalysis, as files of a log directory (master.c)
 *
 * The members of an archive whose names are those of profiles (ss_store_reads) are unpacked into a
 * directory of this process (scratch.h), up to the limit on unpacked bytes (base/hold.h). The notes
 * name the members that are missing, with the reason.
 */
#ifndef SS_LOCATION_LOCATION_H
#define SS_LOCATION_LOCATION_H

#include "base/arena.h"
#include "base/vec.h"
#include "location/cache.h"
#include "location/scratch.h"
#include "store/store.h"

struct ss_tree;

struct ss_location {
	const char *named;	/* by the user */
	const char *path;	/* on this machine, NUL-terminated */
	SS_VEC(struct ss_skipped) notes; /* the first SS_SKIPPED_MAX members that are missing or incomplete */
	size_t nnotes_all;
	struct ss_scratch scratch;
	struct ss_cache_entry cached;	/* of an address */
	struct ss_tree *tree;		/* of a bucket; NULL: none */
	const char *left_out;		/* what else the server offers, in words; NULL: nothing */
	unsigned requests;		/* made so far; fetched_bytes is 0 if the cache had the file */
	uint64_t fetched_bytes;
	bool shared;			/* it borrows from the location of ss_location_share, which closes what is there */
	struct ss_path_name *name;	/* the name of `path` in messages; NULL: `named` */
	const char *remark;		/* to the user, about the address; NULL: none */
	struct ss_arena arena;
};

/* `named` belongs to the caller and must outlive the location. */
bool ss_location_open(struct ss_location *p, const char *named, struct ss_err *err);
/*
 * From now on, opening the same name gives this location without checking it again, until the function is called with NULL. `p`
 * must stay open until then. This is for a process and its children that open one place many times.
 */
void ss_location_share(const struct ss_location *p);
/* A path of this machine, unchecked. It need not be closed. */
static inline struct ss_location ss_location_plain(const char *path)
{
	return (struct ss_location){ .named = path, .path = path, .scratch = { .fd = -1 }, .cached = { .fd = -1, .lock = -1,
		.part = -1 } };
}

/* Call it after a failure, too. Removes the unpacked files. */
void ss_location_close(struct ss_location *p);
/*
 * The directory of unpacked files; NULL: there is none. The process must be able to remove files
 * from it at the end.
 */
const char *ss_location_scratch(const struct ss_location *p);
/* Does `path` lead to files that were unpacked or fetched for this process, not to the place that the user named? */
static inline bool ss_location_is_made(const struct ss_location *p)
{
	return p->scratch.fd >= 0 || p->requests || p->tree;
}
/* A path below `path` as the user would say it, in `arena` if it differs. p is NULL: memory is out. */
struct ss_str ss_location_shown(const struct ss_location *p, struct ss_str path, struct ss_arena *arena);
/* The cost of fetching it, in words; "": nothing was fetched; p is NULL: memory is out. */
struct ss_str ss_location_cost(const struct ss_location *p, struct ss_arena *arena);
/* For a bucket that another process lists: ask it to list the bucket again soon, if the last list is old enough. */
void ss_location_refresh(const struct ss_location *p);
/* The total cost, if files are fetched when they are read; else "". p is NULL: memory is out. */
struct ss_str ss_location_total(const struct ss_location *p, struct ss_arena *arena);
/* All runs of the location, as ss_store_scan finds them. Its notes become entries of the skipped files. */
bool ss_location_scan(const struct ss_location *p, struct ss_store *s, struct ss_err *err);

#endif
