/* write.c - see write.h. */
#include "base/write.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 30) /* one call takes at most 2 GiB */

bool ss_write_all(int fd, const void *bytes, size_t n)
{
	for (const char *p = bytes; n;) {
		ssize_t done = write(fd, p, n < PIECE_BYTES ? n : PIECE_BYTES);
		if (done < 0 && errno == EINTR)
			continue;
		if (done == 0)
			errno = ENOSPC;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

bool ss_make_dirs_above(char *path, unsigned *made)
{
	for (char *p = path + 1; *path && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		bool is_new = mkdir(path, 0777) == 0;
		if (!is_new && errno != EEXIST && errno != EISDIR)
			return false;
		*p = '/';
		if (is_new && made)
			++*made;
	}
	return true;
}
