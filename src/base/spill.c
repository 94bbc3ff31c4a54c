/* spill.c - see spill.h. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A system call's share. */
#define PIECE_BYTES ((size_t)4 << 20)

static int open_nameless(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/stepscope-XXXXXX", tmp && *tmp ? tmp : "/var/tmp");
	int fd = n > 0 && (size_t)n < sizeof(path) ? mkstemp(path) : -1;
	if (fd >= 0)
		unlink(path);
	return fd;
}

static bool write_all(int fd, struct ss_str s)
{
	for (size_t at = 0; at < s.n;) {
		size_t piece = s.n - at < PIECE_BYTES ? s.n - at : PIECE_BYTES;
		ssize_t n = write(fd, s.p + at, piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

bool ss_spill(struct ss_file *f, struct ss_buf *bytes)
{
	int fd = open_nameless();
	bool ok = fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && write_all(fd, ss_buf_get(bytes)) &&
		  ss_file_of_fd(f, fd);
	if (fd >= 0)
		close(fd);
	if (ok)
		ss_buf_free(bytes);
	return ok;
}
