/* gather.c - see gather.h. */
#include "gather.h"

#include "base/write.h"
#include "recorder.h"

#include <errno.h>
#include <string.h>

void ss_gather_init(struct gather *g, int fd)
{
	g->fd = fd;
	g->room = GATHER_WINDOW;
	g->n = 0;
	g->nsmall = 0;
}

/* The pieces that a write did not finish. */
static bool write_rest(const struct gather *g, size_t done)
{
	for (unsigned i = 0; i < g->n; i++) {
		size_t skip = done < g->piece[i].iov_len ? done : g->piece[i].iov_len;
		done -= skip;
		if (!ss_write_all(g->fd, (const unsigned char *)g->piece[i].iov_base + skip, g->piece[i].iov_len - skip))
			return false;
	}
	return true;
}

bool ss_gather_flush(struct gather *g)
{
	ssize_t got = g->n ? writev(g->fd, g->piece, (int)g->n) : 0;
	bool ok = got >= 0 || errno == EINTR;
	ok = ok && write_rest(g, got > 0 ? (size_t)got : 0);
	if (!g->room)
		g->room = GATHER_WINDOW;
	g->n = 0;
	g->nsmall = 0;
	return ok;
}

bool ss_gather(struct gather *g, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	bool small = n && n <= GATHER_SMALL;
	if (small) {
		if (g->n + 2 > GATHER_PIECES && !ss_gather_flush(g))
			return false;
		p = memcpy(g->small + g->nsmall, p, n);
		g->nsmall += n;
	}
	while (n) {
		size_t part = n < g->room ? n : g->room;
		g->piece[g->n++] = (struct iovec){ (void *)(uintptr_t)p, part };
		p += part;
		n -= part;
		g->room -= part;
		if (g->room && g->n < GATHER_PIECES)
			continue;
		if (!ss_gather_flush(g))
			return false;
		if (small) {
			p = memmove(g->small, p, n);
			g->nsmall = n;
		}
	}
	return true;
}
