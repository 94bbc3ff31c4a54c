/* cache.c - a directory for each address, with the file, and `about`: its tag and its length. */
#include "location/cache.h"

#include "base/str.h"
#include "base/system.h"
#include "base/vec.h"
#include "base/write.h"
#include "location/scratch.h"
#include "wire/highway.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEFAULT_MB 8192
#define ABOUT_BYTES (SS_CACHE_TAG_BYTES + 40)

uint64_t ss_cache_limit_bytes(void)
{
	const char *set = getenv("STEPSCOPE_CACHE_MB");
	uint64_t mb = DEFAULT_MB;
	if (set && *set && !ss_str_to_u64(ss_str_from(set), &mb))
		mb = DEFAULT_MB;
	return mb > UINT64_MAX >> 20 ? UINT64_MAX : mb << 20;
}

static bool root_of(char *root, size_t bytes)
{
	const char *own = getenv("STEPSCOPE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = own && *own == '/'   ? snprintf(root, bytes, "%s/", own)
		: xdg && *xdg == '/' ? snprintf(root, bytes, "%s/stepscope/files/", xdg)
		: home && *home	     ? snprintf(root, bytes, "%s/.cache/stepscope/files/", home)
				     : -1;
	return n > 0 && (size_t)n < bytes;
}

/* ---- an entry ---- */

/* "TAG\nBYTES\n", of the file as it is there. */
static void read_about(struct ss_cache_entry *e)
{
	char text[ABOUT_BYTES + 1];
	struct stat st;
	int fd = openat(e->fd, "about", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, ABOUT_BYTES) : -1;
	if (fd >= 0)
		close(fd);
	struct ss_str all = { text, n > 0 ? (size_t)n : 0 };
	size_t end = ss_str_chr(all, '\n');
	struct ss_str tag = ss_str_sub(all, 0, end), rest = ss_str_sub(all, end == SS_NPOS ? all.n : end + 1, all.n);
	uint64_t bytes;
	if (end != SS_NPOS && end < sizeof(e->tag) && ss_str_take_u64(&rest, &bytes) && ss_str_is(rest, "\n") &&
	    lstat(e->path.p, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == bytes)
		snprintf(e->tag, sizeof(e->tag), SS_FMT, SS_ARG(tag));
}

/*
 * Two hashes of 64 bits with keys of our own: who chose the address could find two with one hash,
 * and then only hide his own file.
 */
static struct ss_str directory_of(const char *root, const char *address, struct ss_arena *arena)
{
	static const uint64_t keys[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
	uint64_t a = ss_highway64(keys[0], ss_str_from(address)), b = ss_highway64(keys[1], ss_str_from(address));
	return ss_arena_printf(arena, "%s%016llx%016llx/", root, (unsigned long long)a, (unsigned long long)b);
}

bool ss_cache_root(char *root, size_t bytes, struct ss_err *err)
{
	if (!root_of(root, bytes))
		return ss_fail(err, SS_EIO, "there is no directory for the cache: set STEPSCOPE_CACHE to a directory");
	return ss_make_dirs_above(root, NULL) ||
	       ss_fail(err, SS_EIO, "cannot keep files in '%s': %s. STEPSCOPE_CACHE sets another place", root, strerror(errno));
}

bool ss_cache_open(struct ss_cache_entry *e, const char *address, struct ss_str name, struct ss_arena *arena, struct ss_err *err)
{
	*e = (struct ss_cache_entry){ .fd = -1, .lock = -1, .part = -1 };
	if (!ss_cache_root(e->root, sizeof(e->root), err))
		return false;
	e->dir = directory_of(e->root, address, arena);
	e->path = e->dir.p ? ss_arena_printf(arena, SS_FMT SS_FMT, SS_ARG(e->dir), SS_ARG(name)) : e->dir;
	if (!e->path.p)
		return ss_fail_mem(err);
	if (ss_make_dirs_above((char *)(uintptr_t)e->dir.p, NULL))
		e->fd = open(e->dir.p, OPEN_DIR);
	if (e->fd >= 0 && flock(e->fd, LOCK_SH) == 0)
		e->lock = openat(e->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (e->lock < 0 || flock(e->lock, LOCK_EX) != 0)
		return ss_fail(err, SS_EIO, "cannot keep files in '" SS_FMT "': %s. STEPSCOPE_CACHE sets another place",
			SS_ARG(e->dir), strerror(errno));
	read_about(e);
	return true;
}

bool ss_cache_begin(struct ss_cache_entry *e, struct ss_err *err)
{
	(void)unlinkat(e->fd, "part", 0);	/* of a program that was killed */
	e->part = openat(e->fd, "part", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return e->part >= 0 || ss_fail(err, SS_EIO, "cannot keep files in '" SS_FMT "': %s. STEPSCOPE_CACHE sets another place",
		SS_ARG(e->dir),
				       strerror(errno));
}

static bool write_about(struct ss_cache_entry *e, const char *tag, uint64_t bytes)
{
	char text[ABOUT_BYTES + 1];
	int n = snprintf(text, sizeof(text), "%s\n%llu\n", tag, (unsigned long long)bytes);
	int fd = openat(e->fd, "about.part", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && n > 0 && (size_t)n < sizeof(text) && ss_write_all(fd, text, (size_t)n);
	ok = fd >= 0 && close(fd) == 0 && ok;
	return ok && renameat(e->fd, "about.part", e->fd, "about") == 0;
}

bool ss_cache_keep(struct ss_cache_entry *e, const char *tag, struct ss_err *err)
{
	const char *name = strrchr(e->path.p, '/') + 1;
	struct stat st;
	/* The old description goes first: none is ever beside a file that it is not of. */
	bool ok = fstat(e->part, &st) == 0 && fsync(e->part) == 0 && (unlinkat(e->fd, "about", 0) == 0 || errno == ENOENT) &&
		  renameat(e->fd, "part", e->fd, name) == 0 && write_about(e, tag, (uint64_t)st.st_size);
	if (!ok)
		return ss_fail(err, SS_EIO, "cannot keep files in '" SS_FMT "': %s. STEPSCOPE_CACHE sets another place",
			SS_ARG(e->dir), strerror(errno));
	close(e->part);
	e->part = -1;
	snprintf(e->tag, sizeof(e->tag), "%s", tag);
	return true;
}

/* ---- the limit ---- */

struct kept {
	char name[40];
	uint64_t bytes;
	int64_t used_ns;
};

static int by_use(const void *a, const void *b)
{
	int64_t x = ((const struct kept *)a)->used_ns, y = ((const struct kept *)b)->used_ns;
	return SS_CMP(x, y);
}

/* The bytes of an entry, and when it was last used: that is the time of its lock. */
static void measure(int root, struct kept *k)
{
	struct stat st;
	int fd = openat(root, k->name, OPEN_DIR);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e; d && (e = readdir(d));)
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
			k->bytes += (uint64_t)st.st_size;
			if (strcmp(e->d_name, "lock") == 0)
				k->used_ns = ss_mtime_ns(&st);
		}
	if (d)
		closedir(d);
}

/* Unless a process uses it. */
static bool remove_entry(int root, const char *name)
{
	int fd = openat(root, name, OPEN_DIR);
	bool unused = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (unused)
		ss_scratch_remove(root, name);
	if (fd >= 0)
		close(fd);
	return unused;
}

/* Only directories that are called as ours are: another one's files are nobody's to remove. */
static bool is_entry(const char *name)
{
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

void ss_cache_shrink(const char *path)
{
	SS_VEC(struct kept) all = { 0 };
	uint64_t bytes = 0, limit = ss_cache_limit_bytes();
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), again = fd >= 0 ? dup(fd) : -1;
	DIR *d = again >= 0 ? fdopendir(again) : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		struct kept k = { .bytes = 0 };
		if (!is_entry(e->d_name))
			continue;
		memcpy(k.name, e->d_name, 33);
		measure(fd, &k);
		bytes += k.bytes;
		if (!ss_vec_push(&all, k))
			break;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_use);
	for (size_t i = 0; i < all.n && bytes > limit; i++)
		bytes -= remove_entry(fd, all.v[i].name) ? all.v[i].bytes : 0;
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
	if (fd >= 0)
		close(fd);
	ss_vec_free(&all);
}

void ss_cache_touch(struct ss_cache_entry *e)
{
	(void)futimens(e->lock, NULL);
	close(e->lock);
	e->lock = -1;
}

void ss_cache_used(struct ss_cache_entry *e)
{
	ss_cache_touch(e);
	ss_cache_shrink(e->root);
}

void ss_cache_close(struct ss_cache_entry *e)
{
	if (e->part >= 0) {
		(void)unlinkat(e->fd, "part", 0);
		close(e->part);
	}
	if (e->lock >= 0)
		close(e->lock);
	if (e->fd >= 0)
		close(e->fd);
	*e = (struct ss_cache_entry){ .fd = -1, .lock = -1, .part = -1 };
}
