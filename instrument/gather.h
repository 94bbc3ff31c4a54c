/*
 * gather.h - many pieces of memory into a file, in writes that begin and end at multiples of GATHER_WINDOW. The
 * kernel then keeps the file in large pages; pieces as they come, of nearly that size but across the
 * boundaries, cost it a fifth more.
 */
#ifndef SS_INSTRUMENT_GATHER_H
#define SS_INSTRUMENT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define GATHER_WINDOW ((size_t)256 << 10)
#define GATHER_PIECES 16u
#define GATHER_SMALL 256u	/* pieces up to this size are copied: they may be on the stack */

struct gather {
	int fd;
	size_t room;		/* to the end of the window */
	unsigned n;
	struct iovec piece[GATHER_PIECES];
	unsigned char small[GATHER_PIECES * GATHER_SMALL];
	size_t nsmall;
};

/* The file is at a multiple of the window. */
void ss_gather_init(struct gather *g, int fd);
/* Pieces of more than GATHER_SMALL bytes stay where they are until the next flush. False with errno. */
bool ss_gather(struct gather *g, const void *bytes, size_t n);
bool ss_gather_flush(struct gather *g);

#endif
