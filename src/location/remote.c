/* remote.c - an address becomes a file of the cache, which is asked for again each time: a request, if it has not changed. */
#include "location/remote.h"

#include "base/file.h"
#include "base/write.h"
#include "rpc/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_BYTES 200

/* The last part of the path, as a file can be called; its end tells what the file is. */
static struct ss_str name_of(const char *shown, struct ss_arena *arena)
{
	struct ss_str s = ss_str_from(shown);
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

/* What is not to be kept goes to a directory of this process. */
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

static bool fetch(struct ss_location *p, const char *url, struct ss_str name, struct ss_err *err)
{
	struct ss_download d = { .same = false };
	snprintf(d.etag, sizeof(d.etag), "%s", p->cached.tag);
	bool ok = ss_cache_begin(&p->cached, err) && ss_download(url, p->cached.part, &d, err);
	p->requests = d.requests;
	p->fetched_bytes = ok && !d.same ? d.bytes : 0;
	if (!ok || d.same)
		return ok;
	if (!d.etag[0] || d.no_store || d.bytes > ss_cache_limit_bytes())
		return move_to_scratch(p, name, err);
	return ss_cache_keep(&p->cached, d.etag, err);
}

bool ss_location_fetch(struct ss_location *p, struct ss_err *err)
{
	const char *url = p->named;
	char shown[400];
	if (!ss_address_allowed(ss_str_from(url), err))
		return false;
	ss_address_shown(ss_str_from(url), shown, sizeof(shown));
	p->named = ss_arena_str(&p->arena, ss_str_from(shown)).p;
	struct ss_str name = p->named ? name_of(shown, &p->arena) : (struct ss_str){ NULL, 0 };
	if (!name.p)
		return ss_fail_mem(err);
	bool ok = ss_cache_open(&p->cached, url, name, &p->arena, err);
	p->path = ok ? p->cached.path.p : p->path;
	ok = ok && fetch(p, url, name, err);
	if (ok)
		ss_cache_used(&p->cached);
	if (!ok || p->scratch.fd >= 0)
		ss_cache_close(&p->cached);
	return ok;
}
