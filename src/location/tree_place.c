/* tree_place.c - files of a tree: holes, and what takes their place. */
#include "base/system.h"
#include "base/write.h"
#include "location/tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 16)
#define LEAST_BYTES ((uint64_t)64 << 20)	/* that are held in any case */
#define HOLE_MODE 0700
#define HEAD_MODE 0710
#define BEGIN_MODE 0711

bool ss_tree_has(const struct stat *st, uint64_t bytes)
{
	if (!(st->st_mode & S_IXUSR))
		return true;
	return st->st_mode & S_IXOTH ? bytes <= SS_TREE_BEGIN : st->st_mode & S_IXGRP ? bytes <= SS_TREE_HEAD : false;
}

static void set_time(int fd, int64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	const struct timespec times[] = { t, t };
	if (ns > 0)
		(void)futimens(fd, times);
}

static bool copy(int from, int to, uint64_t bytes)
{
	char piece[PIECE_BYTES];
	for (uint64_t at = 0; at < bytes;) {
		size_t want = bytes - at < sizeof(piece) ? (size_t)(bytes - at) : sizeof(piece);
		ssize_t n = pread(from, piece, want, (off_t)at);
		if (n <= 0 || pwrite(to, piece, (size_t)n, (off_t)at) != n)
			return false;
		at += (uint64_t)n;
	}
	return true;
}

/* ---- the directory of a file, which keeps its time unless something comes or goes ---- */

struct home {
	char path[PATH_MAX];	/* of the file */
	int fd;			/* of its directory */
	const char *name;	/* in it */
	struct stat st;
};

static bool open_home(struct home *h, const struct ss_tree *t, const struct ss_tree_file *f)
{
	int n = snprintf(h->path, sizeof(h->path), SS_FMT "/" SS_FMT, SS_ARG(t->root), SS_ARG(f->path));
	h->fd = -1;
	if (n < 0 || (size_t)n >= sizeof(h->path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	char *slash = strrchr(h->path, '/');
	*slash = '\0';
	h->fd = open(h->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*slash = '/';
	h->name = slash + 1;
	if (h->fd >= 0 && fstat(h->fd, &h->st) == 0)
		return true;
	return false;
}

static void close_home(struct home *h, bool keeps_time)
{
	int was = errno;
	if (h->fd < 0)
		return;
	(void)unlinkat(h->fd, SS_TREE_PART, 0);
	if (keeps_time)
		set_time(h->fd, ss_mtime_ns(&h->st));
	close(h->fd);
	errno = was;
}

/* A file of that length and time, whose bytes are a hole, under the name of what is not finished. */
static bool make_part(const struct home *h, const struct ss_tree_file *f)
{
	int fd = openat(h->fd, SS_TREE_PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && ftruncate(fd, (off_t)f->object.bytes) == 0 && (!f->object.bytes || fchmod(fd, HOLE_MODE) == 0);
	int was = errno;
	if (ok)
		set_time(fd, f->object.mtime_ns);
	if (fd >= 0)
		close(fd);
	errno = was;
	return ok;
}

bool ss_tree_make_hole(struct ss_tree *t, struct ss_tree_file *f, bool replaces)
{
	struct home h = { .fd = -1 };
	struct stat st;
	bool ok = open_home(&h, t, f);
	if (!ok && h.fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		ok = ss_make_dirs_above(h.path, NULL) && open_home(&h, t, f);
	/* The system may take two names for one. */
	bool known = ok && fstatat(h.fd, h.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (known && !replaces) {
		errno = EEXIST;
		ok = false;
	}
	ok = ok && make_part(&h, f) && renameat(h.fd, SS_TREE_PART, h.fd, h.name) == 0;
	close_home(&h, known && !ok);
	if (ok)
		f->have = f->object.bytes ? 0 : UINT64_MAX;
	return ok;
}

void ss_tree_remove(struct ss_tree *t, struct ss_tree_file *f)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), SS_FMT "/" SS_FMT, SS_ARG(t->root), SS_ARG(f->path));
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	(void)unlink(path);
	for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > t->root.n;) {
		*slash = '\0';
		if (rmdir(path) != 0)
			break;
	}
}

/* ---- beyond the limit of the cache, what was put there first becomes a hole again ---- */

static struct ss_tree_file *first_placed(const struct ss_tree *t, const struct ss_tree_file *but)
{
	struct ss_tree_file *best = NULL;
	for (size_t i = 0; i < t->files.n; i++) {
		struct ss_tree_file *f = t->files.v[i];
		if (f != but && f->placed && (!best || f->placed < best->placed))
			best = f;
	}
	return best;
}

static void hold_to_limit(struct ss_tree *t, const struct ss_tree_file *newest)
{
	struct ss_tree_file *f;
	uint64_t limit = ss_cache_limit_bytes() > LEAST_BYTES ? ss_cache_limit_bytes() : LEAST_BYTES;
	while (t->bounded && t->placed_bytes > limit && (f = first_placed(t, newest))) {
		struct home h = { .fd = -1 };
		bool ok = open_home(&h, t, f) && make_part(&h, f) && renameat(h.fd, SS_TREE_PART, h.fd, h.name) == 0;
		close_home(&h, true);
		f->placed = 0;
		t->placed_bytes -= f->object.bytes;
		if (ok)
			f->have = 0;
	}
}

/* ---- bytes ---- */

static bool copy_part(const struct home *h, const struct ss_tree_file *f, int dir, const char *name)
{
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(h->fd, SS_TREE_PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = from >= 0 && to >= 0 && copy(from, to, f->object.bytes);
	if (from >= 0)
		close(from);
	return to >= 0 && close(to) == 0 && ok;
}

/* As a link, or copied where there can be none. Its time tells it from the version before. */
bool ss_tree_place_whole(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, struct ss_err *err)
{
	struct home h = { .fd = -1 };
	bool ok = open_home(&h, t, f) && (linkat(dir, name, h.fd, SS_TREE_PART, 0) == 0 || copy_part(&h, f, dir, name));
	int fd = ok ? openat(h.fd, SS_TREE_PART, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0 && ss_mtime_ns(&st) != f->object.mtime_ns)
		set_time(fd, f->object.mtime_ns);
	if (fd >= 0)
		close(fd);
	ok = ok && renameat(h.fd, SS_TREE_PART, h.fd, h.name) == 0;
	if (!ok)
		ss_fail(err, SS_EIO, "cannot write '%s': %s", h.path, strerror(errno));
	close_home(&h, true);
	if (!ok)
		return false;
	f->have = f->object.bytes;
	f->placed = ++t->nplaced;
	t->placed_bytes += f->object.bytes;
	hold_to_limit(t, f);
	return true;
}

/* Into the file as it stands. */
bool ss_tree_place_begin(struct ss_tree *t, struct ss_tree_file *f, int dir, const char *name, uint64_t bytes, struct ss_err *err)
{
	struct home h = { .fd = -1 };
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = open_home(&h, t, f) ? openat(h.fd, h.name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	bool ok = from >= 0 && to >= 0 && copy(from, to, bytes) && fchmod(to, bytes > SS_TREE_HEAD ? BEGIN_MODE : HEAD_MODE) == 0;
	if (to >= 0)
		set_time(to, f->object.mtime_ns);
	if (from >= 0)
		close(from);
	ok = to >= 0 && close(to) == 0 && ok;
	if (!ok)
		ss_fail(err, SS_EIO, "cannot write '%s': %s", h.path, strerror(errno));
	close_home(&h, true);
	f->have = ok ? bytes : f->have;
	return ok;
}
