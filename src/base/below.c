/*
 * below.c - by the system's own means (openat2, Linux 5.6), or one component after the other.
 *
 * The system refuses links with an absolute target, which may well lead to a place below. For them,
 * and where it has no openat2, the path is made canonical first and then opened without following
 * any link: what was looked at is what is opened, or nothing is.
 */
#include "base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#ifndef O_PATH
#define O_PATH O_RDONLY	/* elsewhere a directory is opened to be read */
#endif
#define LINUX_OPENAT2 437	/* on every machine */

/* As in linux/openat2.h, which older systems do not have. */
#define NO_MAGICLINKS 0x02
#define NO_SYMLINKS 0x04
#define BENEATH 0x08

struct how {
	uint64_t flags, mode, resolve;
};

struct ss_str ss_path_below(struct ss_str top, struct ss_str path)
{
	size_t n = top.n;
	while (n && top.p[n - 1] == '/')
		n--;
	if (!ss_str_starts(path, ss_str_sub(top, 0, n)) || (path.n > n && path.p[n] != '/'))
		return (struct ss_str){ NULL, 0 };
	while (n < path.n && path.p[n] == '/')
		n++;
	return ss_str_sub(path, n, path.n);
}

static int openat2_beneath(int dir, const char *rel, int flags, uint64_t resolve)
{
#ifdef __linux__
	struct how how = { .flags = (uint64_t)(unsigned)flags, .resolve = resolve | BENEATH | NO_MAGICLINKS };
	int fd, tries = 0;
	/* Somebody renamed something meanwhile, which says nothing of this path. */
	do
		fd = (int)syscall(LINUX_OPENAT2, dir, *rel ? rel : ".", &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < 100);
	return fd;
#else
	(void)dir, (void)rel, (void)flags, (void)resolve;
	errno = ENOSYS;
	return -1;
#endif
}

static bool is_unknown(int error)
{
	return error == ENOSYS || error == EPERM || error == EINVAL || error == E2BIG;
}

/* A canonical `rel`, by its components: none of them may be a link by now. */
static int walk(int dir, const char *rel, int flags)
{
	char name[NAME_MAX + 1];
	int at = dir;
	while (at >= 0) {
		const char *slash = strchr(rel, '/');
		size_t n = slash ? (size_t)(slash - rel) : strlen(rel);
		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			break;
		}
		memcpy(name, n ? rel : ".", n ? n : 1);
		name[n ? n : 1] = '\0';
		int next = openat(at, name, slash ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags | O_NOFOLLOW);
		int error = errno;
		if (at != dir)
			close(at);
		errno = error;
		if (!slash)
			return next;
		at = next;
		rel = slash + 1;
	}
	return -1;
}

/* By the canonical path; what has become of it since is noticed. */
static int open_canonical(int dir, const char *top, const char *path, int flags)
{
	char *real = realpath(path, NULL);
	if (!real)
		return -1;
	struct ss_str rel = ss_path_below(ss_str_from(top), ss_str_from(real));
	int fd = -1;
	errno = EXDEV;
	if (rel.p) {
		fd = openat2_beneath(dir, rel.p, flags, NO_SYMLINKS);
		if (fd < 0 && is_unknown(errno))
			fd = walk(dir, rel.p, flags);
	}
	int error = errno == ELOOP ? EXDEV : errno;
	free(real);
	errno = error;
	return fd;
}

int ss_open_below(const char *top, const char *path, int flags)
{
	struct ss_str rel = ss_path_below(ss_str_from(top), ss_str_from(path));
	flags |= O_CLOEXEC;
	/* The top is one file: there is nothing below, and no link to follow. */
	if (strcmp(top, path) == 0)
		return open(path, flags | O_NOFOLLOW);
	int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	if (dir < 0)
		return -1;
	errno = EXDEV;
	if (rel.p)
		fd = openat2_beneath(dir, rel.p, flags, 0);
	if (fd < 0 && (errno == EXDEV || errno == ELOOP || is_unknown(errno)))
		fd = open_canonical(dir, top, path, flags);
	int error = errno;
	close(dir);
	errno = error;
	return fd;
}
