/* fetcher_wire.c - see fetcher_wire.h. */
#include "location/fetcher_wire.h"

#include <errno.h>
#include <unistd.h>

bool ss_fetch_read(int fd, void *p, size_t n)
{
	char *at = p;
	while (n) {
		ssize_t got = read(fd, at, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}
