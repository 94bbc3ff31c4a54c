/*
 * location.h - where the user says that profiles are, and where they lie on this machine then. The
 * one place where a path that is no file or directory of profiles becomes one:
 *
 *	DIR, FILE	itself
 *	FILE		an archive (zip; tar, plain or packed with gzip or zstd): a directory of its members
 *	-		what standard input holds: an archive, or one profile
 *	https://...	a file, profile or archive, fetched into the cache (cache.h)
 *	s3://, gs://	an object in the same way, or what lies below in a bucket, as a directory (tree.h)
 *	demo:		the log directory that the program carries (demo.h)
 *	grpc[s]://...	the answers of a server of ProfileAnalysis, as files of a log directory (master.c)
 *
 * Of an archive those members are unpacked that are read by their names (ss_store_reads), into a
 * directory of this process (scratch.h), up to the bound on what a packed file may become
 * (base/hold.h). What is not there, and why, stands in the notes.
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
	const char *named;	/* as the user says */
	const char *path;	/* on this machine, NUL-terminated */
	SS_VEC(struct ss_skipped) notes; /* the first SS_SKIPPED_MAX members that are missing or not whole */
	size_t nnotes_all;
	struct ss_scratch scratch;
	struct ss_cache_entry cached;	/* of an address */
	struct ss_tree *tree;		/* of a bucket; NULL: none */
	const char *left_out;		/* what a server offers beside it, in words; NULL: nothing */
	unsigned requests;		/* that were made; fetched_bytes is 0 where the cache had the file */
	uint64_t fetched_bytes;
	bool shared;			/* the one of ss_location_share: what lies there is not this one's to close */
	struct ss_path_name *name;	/* of `path` in messages; NULL: it is what the user named */
	const char *remark;		/* about the address, worth being told; NULL: none */
	struct ss_arena arena;
};

/* `named` stays with the caller, for as long as the location. */
bool ss_location_open(struct ss_location *p, const char *named, struct ss_err *err);
/*
 * The same name leads there from now on, without a look at it again, until NULL is given. `p` stays open as long as that:
 * for a process and its children that open one place many times.
 */
void ss_location_share(const struct ss_location *p);
/* A path of this machine, as it is: nothing is looked at, and nothing need be closed. */
static inline struct ss_location ss_location_plain(const char *path)
{
	return (struct ss_location){ .named = path, .path = path, .scratch = { .fd = -1 }, .cached = { .fd = -1, .lock = -1,
		.part = -1 } };
}

/* Also after a failure; removes what was unpacked. */
void ss_location_close(struct ss_location *p);
/*
 * The directory with what was unpacked, of which the process must be able to remove files at the
 * end; NULL: there is none.
 */
const char *ss_location_scratch(const struct ss_location *p);
/* Does `path` lead to files that were made or fetched for this process, and not to where the user says? */
static inline bool ss_location_is_made(const struct ss_location *p)
{
	return p->scratch.fd >= 0 || p->requests || p->tree;
}
/* What it cost to fetch it, in words; "" where nothing was, p NULL where memory is out. */
struct ss_str ss_location_cost(const struct ss_location *p, struct ss_arena *arena);
/* Of a bucket that another process lists: it is listed anew soon, if the last list is old enough. */
void ss_location_refresh(const struct ss_location *p);
/* What it has cost altogether, where files are fetched when they are read; else "", p NULL where memory is out. */
struct ss_str ss_location_total(const struct ss_location *p, struct ss_arena *arena);
/* All runs there, as ss_store_scan finds them, and among what was passed over the notes. */
bool ss_location_scan(const struct ss_location *p, struct ss_store *s, struct ss_err *err);

#endif
