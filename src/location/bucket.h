/*
 * bucket.h - buckets of object stores: listing and fetching their objects. One file for each kind (s3.c, gs.c).
 *
 * Several threads may use a bucket at the same time. Its credentials are renewed when they are about to expire.
 */
#ifndef SS_LOCATION_BUCKET_H
#define SS_LOCATION_BUCKET_H

#include "base/arena.h"
#include "base/vec.h"
#include "rpc/auth.h"

#include <pthread.h>
#include <stdatomic.h>

struct ss_object {
	struct ss_str key;	/* from the bucket on */
	struct ss_str tag;	/* changes with its bytes: ETag, generation */
	uint64_t bytes;
	int64_t mtime_ns;	/* since the Unix epoch */
};

/* One page of a list. */
struct ss_page {
	SS_VEC(struct ss_object) v;
	struct ss_str next;	/* how to ask for the one behind it; "": there is none */
};

struct ss_bucket;

struct ss_bucket_kind {
	struct ss_str scheme;	/* "s3://" */
	/* Finds credentials and the address; `own` is what it keeps. */
	bool (*open)(struct ss_bucket *b, struct ss_err *err);
	/* Texts in `arena`. */
	bool (*list)(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		     struct ss_err *err);
	/* The address of the object; p is NULL when memory is out. A `tag` of "" matches any version. */
	struct ss_str (*url)(struct ss_bucket *b, struct ss_str key, struct ss_str tag, struct ss_arena *arena);
	/* The headers of a request for objects at this time, in `arena`. */
	bool (*auth)(struct ss_bucket *b, struct ss_auth *auth, struct ss_arena *arena, struct ss_err *err);
	/* A refusal told something that makes it worth asking again: another region. */
	bool (*again)(struct ss_bucket *b);
	bool tagged;		/* an object's ETag is the tag of the list */
};
extern const struct ss_bucket_kind ss_bucket_s3, ss_bucket_gs;

struct ss_bucket {
	const struct ss_bucket_kind *kind;
	struct ss_str named;	/* the address, as messages call it */
	struct ss_str name;	/* of the bucket */
	struct ss_str path;	/* behind it, without "/" at either end; "": all of it */
	pthread_mutex_t lock;	/* of `own` and `arena` */
	void *own;
	struct ss_arena arena;
	bool runs_programs;	/* to renew its credentials */
	const char *note;	/* to be told: a region that was not the one that was set; or NULL */
	_Atomic unsigned requests;
};

/* "s3://BUCKET/PATH"; the text stays with the caller. NULL: the address or the credentials are of no use. */
struct ss_bucket *ss_bucket_open(const char *address, struct ss_err *err);
void ss_bucket_close(struct ss_bucket *b);
bool ss_bucket_is(struct ss_str address);
/* "%XX" for all but letters, digits, "-._~" and, of a path, "/". */
struct ss_str ss_percent(struct ss_str s, bool path, struct ss_arena *arena);
/* Can this be sent in a header? */
bool ss_is_token(struct ss_str s);
/* A small file, in the arena; "": there is none, or it is larger than `most`. p is NULL when memory is out. */
struct ss_str ss_small_file(const char *path, size_t most, struct ss_arena *arena);
/* A number of seconds from the environment, up to 300, in ms; where none is set, `usual_ms`. */
long ss_patience_ms(const char *variable, long usual_ms);
/* "2026-11-23T13:27:00.123Z", "2026-11-23T14:27:00+01:00"; 0: it is no time. */
int64_t ss_utc_ns(struct ss_str s);

#endif
