/* scratch.c - see scratch.h. */
#include "location/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void remove_below(int fd)
{
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ss_scratch_remove(dirfd(d), e->d_name);
	closedir(d);
}

void ss_scratch_remove(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0)
		return;
	int fd = openat(dir, name, OPEN_DIR);
	if (fd >= 0)
		remove_below(fd);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

/* Directories whose programs have ended: nobody holds their locks. */
static void sweep(int parent)
{
	int fd = openat(parent, ".", OPEN_DIR);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e; d && (e = readdir(d));) {
		int one = e->d_name[0] == '.' ? -1 : openat(parent, e->d_name, OPEN_DIR);
		if (one >= 0 && flock(one, LOCK_EX | LOCK_NB) == 0)
			ss_scratch_remove(parent, e->d_name);
		if (one >= 0)
			close(one);
	}
	if (d)
		closedir(d);
}

/* The user's own directory there, which nobody else can have made in its place. */
static bool is_ours(const char *path)
{
	struct stat st;
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return false;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO));
}

/*
 * One that nobody has, locked. Another program may remove it as long as it is not: then once more.
 */
static bool make_one(struct ss_scratch *s)
{
	struct stat st;
	for (int tries = 0; tries < 100; tries++) {
		int n = snprintf(s->path, sizeof(s->path), "%s/XXXXXX", s->parent);
		if (n < 0 || (size_t)n >= sizeof(s->path) || !mkdtemp(s->path))
			return false;
		s->fd = open(s->path, OPEN_DIR);
		if (s->fd >= 0 && flock(s->fd, LOCK_EX | LOCK_NB) == 0 && fstat(s->fd, &st) == 0 && st.st_nlink > 0)
			return true;
		if (s->fd >= 0)
			close(s->fd);
	}
	return false;
}

/* In s->parent. */
static bool open_one(struct ss_scratch *s, const char *variable, struct ss_err *err)
{
	if (!is_ours(s->parent))
		return ss_fail(err, SS_EIO,
			"cannot unpack into '%s': it cannot be created, or is not a directory of your user alone. $%s sets "
			"another place",
			       s->parent, variable);
	int fd = open(s->parent, OPEN_DIR);
	if (fd >= 0)
		sweep(fd);
	if (fd >= 0)
		close(fd);
	return make_one(s) || ss_fail(err, SS_EIO, "cannot unpack into '%s': %s. $%s sets another place", s->parent,
		strerror(errno), variable);
}

bool ss_scratch_open(struct ss_scratch *s, struct ss_err *err)
{
	const char *tmp = getenv("TMPDIR");
	*s = (struct ss_scratch){ .fd = -1 };
	if (!tmp || !*tmp)
		tmp = "/var/tmp";
	int n = snprintf(s->parent, sizeof(s->parent), "%s/stepscope-%u", tmp, (unsigned)geteuid());
	if (n < 0 || (size_t)n >= sizeof(s->parent))
		return ss_fail(err, SS_EIO, "cannot unpack: the path of $TMPDIR is too long");
	return open_one(s, "TMPDIR", err);
}

bool ss_scratch_open_in(struct ss_scratch *s, const char *parent, struct ss_err *err)
{
	*s = (struct ss_scratch){ .fd = -1 };
	int n = snprintf(s->parent, sizeof(s->parent), "%s", parent);
	if (n < 0 || (size_t)n >= sizeof(s->parent))
		return ss_fail(err, SS_EIO, "the path of $STEPSCOPE_CACHE is too long");
	return open_one(s, "STEPSCOPE_CACHE", err);
}

void ss_scratch_close(struct ss_scratch *s)
{
	if (s->fd < 0 || !s->path[0])
		return;
	ss_scratch_remove(AT_FDCWD, s->path);
	close(s->fd);
	*s = (struct ss_scratch){ .fd = -1 };
}
