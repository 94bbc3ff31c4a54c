/* remote.c - an address becomes a file of the cache, which is asked for again each time: a request, if it has not changed. */
#include "location/remote.h"

#include "base/file.h"
#include "base/write.h"
#include "location/bucket.h"
#include "rpc/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_BYTES 200

/* The last part of the path, as a file can be called; its end tells what the file is. */
struct ss_str ss_location_file_name(struct ss_str s, struct ss_arena *arena)
{
	size_t begin = ss_str_find(s, SS_STR("://")) + 3, slash = ss_str_rchr(ss_str_sub(s, begin, s.n), '/');
	struct ss_str name = slash == SS_NPOS ? SS_STR("") : ss_str_sub(s, begin + slash + 1, s.n);
	if (name.n > NAME_BYTES)
		name = ss_str_sub(name, name.n - NAME_BYTES, name.n);
	struct ss_str copy = ss_arena_printf(arena, "%s" SS_FMT, !name.n || name.p[0] == '.' ? "download" : "", SS_ARG(name));
	for (size_t i = 0; i < copy.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+=@%~,", copy.p[i]))
			((char *)(uintptr_t)copy.p)[i] = '_';
	static const char *const ours[] = { "about", "about.part", "part", "lock" };
	for (size_t i = 0; copy.p && i < SS_COUNT(ours); i++)
		if (ss_str_is(copy, ours[i]))
			return ss_arena_printf(arena, "download-%s", ours[i]);
	return copy;
}

/* A file that is not to be kept goes to a directory of this process. */
static bool move_to_scratch(struct ss_location *p, struct ss_str name, struct ss_err *err)
{
	struct ss_file f;
	struct ss_str to = ss_scratch_open(&p->scratch, err) ? ss_arena_printf(&p->arena, "%s/" SS_FMT, p->scratch.path,
		SS_ARG(name)) : name;
	if (p->scratch.fd < 0)
		return false;
	if (!to.p || !ss_file_of_fd(&f, p->cached.part))
		return ss_fail_mem(err);
	int fd = open(to.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && ss_write_all(fd, f.bytes.p, f.bytes.n);
	ok = fd >= 0 && close(fd) == 0 && ok;
	if (!ok)
		ss_fail(err, SS_EIO, "cannot write '" SS_FMT "': %s. $TMPDIR sets another place", SS_ARG(to), strerror(errno));
	ss_file_close(&f);
	p->path = to.p;
	return ok;
}

static bool fetch(struct ss_location *p, const char *url, const struct ss_auth *auth, struct ss_str name, struct ss_err *err)
{
	struct ss_download d = { .auth = auth, .named = p->named };
	snprintf(d.etag, sizeof(d.etag), "%s", p->cached.tag);
	struct ss_connection *c = ss_cache_begin(&p->cached, err) ? ss_connection_open(err) : NULL;
	bool ok = c && ss_download(c, url, p->cached.part, &d, err);
	ss_connection_close(c);
	p->requests += d.requests;
	p->fetched_bytes = ok && !d.same ? d.bytes : 0;
	if (!ok || d.same)
		return ok;
	if (!d.etag[0] || d.no_store || d.bytes > ss_cache_limit_bytes())
		return move_to_scratch(p, name, err);
	return ss_cache_keep(&p->cached, d.etag, err);
}

/* The file at the address, which is called p->named. */
static bool fetch_into_cache(struct ss_location *p, const char *url, const struct ss_auth *auth, struct ss_err *err)
{
	struct ss_str name = p->named ? ss_location_file_name(ss_str_from(p->named), &p->arena) : (struct ss_str){ NULL, 0 };
	if (!name.p)
		return ss_fail_mem(err);
	bool ok = ss_cache_open(&p->cached, url, name, &p->arena, err);
	p->path = ok ? p->cached.path.p : p->path;
	ok = ok && fetch(p, url, auth, name, err);
	if (ok)
		ss_cache_used(&p->cached);
	if (!ok || p->scratch.fd >= 0)
		ss_cache_close(&p->cached);
	return ok;
}

bool ss_location_fetch(struct ss_location *p, struct ss_err *err)
{
	const char *url = p->named;
	char shown[400];
	if (!ss_address_allowed(ss_str_from(url), err))
		return false;
	ss_address_shown(ss_str_from(url), shown, sizeof(shown));
	p->named = ss_arena_str(&p->arena, ss_str_from(shown)).p;
	return fetch_into_cache(p, url, NULL, err);
}

bool ss_location_fetch_object(struct ss_location *p, struct ss_bucket *b, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	struct ss_err why = { 0 };
	struct ss_auth auth;
	bool ok;
	do {
		ss_arena_release(&a);
		why = (struct ss_err){ 0 };
		struct ss_str url = b->kind->url(b, b->path, SS_STR(""), &a);
		ok = url.p ? b->kind->auth(b, &auth, &a, &why) && fetch_into_cache(p, url.p, &auth, &why) : ss_fail_mem(&why);
	} while (!ok && b->kind->again(b));
	ss_arena_release(&a);
	return ok || ss_fail(err, why.code, "%s", why.text);
}
