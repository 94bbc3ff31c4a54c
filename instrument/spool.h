/*
 * spool.h - the growing file behind a recording: an XSpace at every moment.
 *
 *	page 0		plane "Task Environment", host name, a rest; its last word opens the plane of the host
 *	buffers		of SPOOL_BUFFER bytes each, fields of that plane: names (metadata entries and a
 *			rest) or a line (events and a rest)
 *
 * Room is reserved before it is mapped, so a full disk is a failed call here and not a SIGBUS in
 * somebody's loop. Not thread-safe: the recorder's lock guards it.
 */
#ifndef SS_INSTRUMENT_SPOOL_H
#define SS_INSTRUMENT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_BUFFER ((size_t)256 << 10)

struct spool {
	int fd;
	unsigned char *head;	/* page 0 */
	size_t page_bytes;
	uint64_t size_bytes, max_bytes;
	char path[4096];
};

struct spool_info {
	const char *host;
	uint64_t start_unix_ns, stop_unix_ns;	/* stop 0: still recording */
};

/* errno tells why it failed. */
bool ss_spool_open(struct spool *s, const struct spool_info *info, uint64_t max_bytes);
/* Another buffer: one rest, a part of the file already, its pages in memory. NULL when the bound or the disk is reached. */
unsigned char *ss_spool_buffer(struct spool *s);
void ss_spool_close(struct spool *s);

/* The fields of an XSpace that say when and where: returns their size; at most 512 + the host's name. */
size_t ss_spool_put_info(unsigned char *p, const struct spool_info *info);

#endif
