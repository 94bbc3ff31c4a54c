/* draft.c - see draft.h. */
#include "base/draft.h"

#include "base/file.h"
#include "base/system.h"
#include "base/write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIQUE "XXXXXX"	/* what mkostemp replaces */
#define PIECE_BYTES ((size_t)64 << 10)
#define TRIES 100

#ifdef O_TMPFILE
static int open_nameless(const char *hidden)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(hidden, '/');
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - hidden) + 1 : 1, slash ? hidden : ".");
	/* Without /proc it could not be given a name. */
	return access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
}

static bool give_name(int fd, const char *path)
{
	char open_as[32];
	snprintf(open_as, sizeof(open_as), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, open_as, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
#else
static int open_nameless(const char *hidden)
{
	(void)hidden;
	return -1;
}

static bool give_name(int fd, const char *path)
{
	(void)fd, (void)path;
	errno = ENOSYS;
	return false;
}
#endif

#ifdef F_OFD_SETLK
/*
 * Whoever makes a file under a hidden name has it locked, until the end of the process at the latest.
 * Bytes so far behind are locked by nobody else: SQLite locks some at 1 GiB.
 */
static bool lock(int fd)
{
	struct flock far = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)1 << 62, .l_len = 1 };
	return fcntl(fd, F_OFD_SETLK, &far) == 0;
}
#else
static bool lock(int fd)
{
	(void)fd;
	return false;
}
#endif

/* A file of this name is removed if it is ours and nobody is making it any more. */
static void remove_stale(int folder, const char *name)
{
	struct stat st, named;
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && lock(fd) &&
	    fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == st.st_ino && named.st_dev == st.st_dev)
		unlinkat(folder, name, 0);
	close(fd);
}

/* What killed processes left of the same file. */
static void sweep(const struct ss_draft *d)
{
	char path[PATH_MAX];
	const char *slash = strrchr(d->path, '/'), *prefix = slash ? slash + 1 : d->path;
	snprintf(path, sizeof(path), "%.*s", slash ? (int)(slash - d->path) + 1 : 1, slash ? d->path : ".");
	DIR *folder = opendir(path);
	size_t whole = strlen(prefix), known = whole - strlen(UNIQUE);
	for (const struct dirent *e; folder && (e = readdir(folder));)
		if (strlen(e->d_name) == whole && strncmp(e->d_name, prefix, known) == 0)
			remove_stale(dirfd(folder), e->d_name);
	if (folder)
		closedir(folder);
}

/* A file with a hidden name. Somebody else may sweep it before it is locked. */
static int make_named(struct ss_draft *d)
{
	char *end = d->path + strlen(d->path) - strlen(UNIQUE);
	struct stat st = { .st_nlink = 0 };
	int fd = -1;
	for (int i = 0; i < TRIES && st.st_nlink == 0; i++) {
		if (fd >= 0)
			close(fd);
		memcpy(end, UNIQUE, strlen(UNIQUE));
		fd = mkostemp(d->path, O_CLOEXEC);
		if (fd < 0 || !lock(fd) || fstat(fd, &st) != 0)
			break;
	}
	return fd;
}

bool ss_draft_open(struct ss_draft *d, const char *hidden, mode_t mode)
{
	int n = snprintf(d->path, sizeof(d->path), "%s" UNIQUE, hidden);
	d->fd = -1;
	errno = ENAMETOOLONG;
	if (n < 0 || (size_t)n >= sizeof(d->path))
		return false;
	d->fd = open_nameless(d->path);
	d->named = d->fd < 0;
	if (d->named) {
		sweep(d);
		d->fd = make_named(d);
	}
	if (d->fd < 0)
		return false;
	if (fchmod(d->fd, mode) == 0)
		return true;
	errno = EPERM;
	ss_draft_drop(d);
	return false;
}

void ss_draft_drop(struct ss_draft *d)
{
	int why = errno;
	if (d->fd >= 0 && d->named)
		unlink(d->path);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	errno = why;
}

/* A hidden name that no other file has. */
static bool give_hidden_name(struct ss_draft *d)
{
	char *end = d->path + strlen(d->path) - strlen(UNIQUE);
	unsigned random, i = 0;
	do {
		if (!ss_random_bytes(&random, sizeof(random)))
			break;
		snprintf(end, sizeof(UNIQUE), "%06x", random & 0xffffff);
		d->named = give_name(d->fd, d->path);
	} while (!d->named && errno == EEXIST && ++i < TRIES);
	if (!d->named)
		snprintf(end, sizeof(UNIQUE), UNIQUE);
	return d->named;
}

static bool copy_bytes(int from, int to)
{
	char piece[PIECE_BYTES];
	ssize_t n = 0;
	for (off_t at = 0; (n = pread(from, piece, sizeof(piece), at)) > 0; at += n)
		if (!ss_write_all(to, piece, (size_t)n))
			return false;
	return n == 0;
}

/*
 * The system makes files without a name and gives them none: the bytes go to a file that has one.
 */
static bool copy_named(struct ss_draft *d)
{
	struct ss_draft copy = { .named = true };
	struct stat st;
	memcpy(copy.path, d->path, sizeof(copy.path));
	copy.fd = make_named(&copy);
	if (copy.fd < 0 || fstat(d->fd, &st) != 0 || fchmod(copy.fd, st.st_mode & 07777) != 0 ||
	    !copy_bytes(d->fd, copy.fd) || fsync(copy.fd) != 0) {
		ss_draft_drop(&copy);
		return false;
	}
	close(d->fd);
	*d = copy;
	return true;
}

bool ss_draft_hide(struct ss_draft *d)
{
	if (d->named)
		return true;
	sweep(d);
	lock(d->fd);
	return give_hidden_name(d) || copy_named(d);
}

/* From the hidden name to the one that is meant. */
static bool move(struct ss_draft *d, const char *path, bool replaces)
{
	/* A link fails where a name is taken; a rename would replace what is there. */
	if (!replaces && link(d->path, path) == 0)
		return true;
	if (!replaces && errno == EEXIST)
		return false;
	d->named = rename(d->path, path) != 0; /* also on file systems without links */
	return !d->named;
}

static void sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	ss_dir_sync(folder);
}

bool ss_draft_keep(struct ss_draft *d, const char *path, bool replaces)
{
	bool ok = fsync(d->fd) == 0 &&
		  ((!d->named && give_name(d->fd, path)) || (ss_draft_hide(d) && move(d, path, replaces)));
	ss_draft_drop(d);
	if (ok)
		sync_folder(path);
	return ok;
}
