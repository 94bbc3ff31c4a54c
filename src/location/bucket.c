/* bucket.c - see bucket.h. */
#include "location/bucket.h"

#include <fcntl.h>
#include <stdlib.h>

static const struct ss_bucket_kind *const kinds[] = { &ss_bucket_s3, &ss_bucket_gs };

bool ss_bucket_is(struct ss_str address)
{
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		if (ss_str_starts(address, kinds[i]->scheme))
			return true;
	return false;
}

/* Names of buckets are parts of hosts and of URLs. */
static bool is_bucket_name(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') && !(s.p[i] >= '0' && s.p[i] <= '9') &&
		    !(i && (s.p[i] == '-' || s.p[i] == '_' || (s.p[i] == '.' && s.p[i - 1] != '.'))))
			return false;
	return s.n && s.n < 223;
}

static struct ss_str without_slashes(struct ss_str s)
{
	while (s.n && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

static bool has_control(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

static bool open_at(struct ss_bucket *b, const char *address, struct ss_err *err)
{
	struct ss_str s = b->named;
	for (size_t i = 0; i < SS_COUNT(kinds) && !b->kind; i++)
		b->kind = ss_str_take(&s, kinds[i]->scheme) ? kinds[i] : NULL;
	size_t slash = ss_str_chr(s, '/');
	b->name = ss_str_sub(s, 0, slash);
	b->path = without_slashes(ss_str_sub(s, slash == SS_NPOS ? s.n : slash + 1, s.n));
	if (!is_bucket_name(b->name))
		return ss_fail(err, SS_EINVAL, "'%.300s' names no bucket: an address is " SS_FMT "BUCKET/PATH", address,
			       SS_ARG(b->kind->scheme));
	if (b->path.n > 1024 || !ss_utf8_valid(b->path) || has_control(b->path))
		return ss_fail(err, SS_EINVAL, "'%.300s' is not an address: a path in a bucket is UTF-8 of at most 1024 bytes",
			address);
	return b->kind->open(b, err);
}

struct ss_bucket *ss_bucket_open(const char *address, struct ss_err *err)
{
	struct ss_bucket *b = calloc(1, sizeof(*b));
	if (!b) {
		ss_fail_mem(err);
		return NULL;
	}
	b->named = ss_str_from(address);
	pthread_mutex_init(&b->lock, NULL);
	if (open_at(b, address, err))
		return b;
	ss_bucket_close(b);
	return NULL;
}

void ss_bucket_close(struct ss_bucket *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	ss_arena_release(&b->arena);
	free(b);
}
