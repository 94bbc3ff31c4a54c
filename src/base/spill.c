/* spill.c - see spill.h. */
#include "base/spill.h"

#include "base/write.h"

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

bool ss_spill(struct ss_file *f, struct ss_buf *bytes)
{
	int fd = open_nameless();
	bool ok = fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && ss_write_all(fd, ss_buf_get(bytes).p, ss_buf_get(bytes).n) &&
		  ss_file_of_fd(f, fd);
	if (fd >= 0)
		close(fd);
	if (ok)
		ss_buf_free(bytes);
	return ok;
}
