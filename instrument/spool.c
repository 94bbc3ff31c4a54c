/* spool.c - see spool.h. Field numbers are those of tensorflow.profiler.XSpace (xplane.proto). */
#include "spool.h"

#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { XSPACE_PLANES = 1, XSPACE_HOSTNAMES = 4, XPLANE_NAME = 2, XPLANE_STAT_METADATA = 5, XPLANE_STATS = 6 };

#define HOST_MAX 255u

/* A stat with its metadata: what the plane "Task Environment" consists of. */
static unsigned char *put_time(unsigned char *p, unsigned id, const char *name, uint64_t value)
{
	unsigned char meta[64], entry[80], stat[32], *end;
	end = put_bytes(put_field(meta, 1, id), 2, name, strlen(name));
	size_t n = (size_t)(end - meta);
	end = put_bytes(put_field(entry, 1, id), 2, meta, n);
	p = put_bytes(p, XPLANE_STAT_METADATA, entry, (size_t)(end - entry));
	end = put_field(put_field(stat, 1, id), 3, value);
	return put_bytes(p, XPLANE_STATS, stat, (size_t)(end - stat));
}

size_t ss_spool_put_info(unsigned char *p, const struct spool_info *info)
{
	static const char name[] = "Task Environment";
	unsigned char plane[256], *begin = p, *end = put_bytes(plane, XPLANE_NAME, name, sizeof(name) - 1);
	end = put_time(end, 1, "profile_start_time", info->start_unix_ns);
	if (info->stop_unix_ns)
		end = put_time(end, 2, "profile_stop_time", info->stop_unix_ns);
	p = put_bytes(p, XSPACE_PLANES, plane, (size_t)(end - plane));
	size_t host = strlen(info->host);
	p = put_bytes(p, XSPACE_HOSTNAMES, info->host, host < HOST_MAX ? host : HOST_MAX);
	return (size_t)(p - begin);
}

/* Page 0: the facts, then a field to skip up to the last word, which opens the host's plane. */
static void fill_head(struct spool *s, const struct spool_info *info)
{
	size_t n = ss_spool_put_info(s->head, info), last = s->page_bytes - 8;
	unsigned char *p = s->head + n;
	/* Its header is 8 bytes, its length whatever is left: no need for whole words here. */
	uint64_t word = rest_word(last - n - 8);
	memcpy(p, &word, 8);
	store_word(s->head + last, message_word(XSPACE_PLANES, 0));
}

static bool reserve(struct spool *s, size_t bytes)
{
	if (s->size_bytes + bytes > s->max_bytes) {
		errno = ENOSPC;
		return false;
	}
	int why = posix_fallocate(s->fd, (off_t)s->size_bytes, (off_t)bytes);
	errno = why;
	return why == 0;
}

bool ss_spool_open(struct spool *s, const struct spool_info *info, uint64_t max_bytes)
{
	s->head = NULL;
	s->size_bytes = 0;
	s->max_bytes = max_bytes;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s->fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (s->fd < 0)
		return false;
	void *head = reserve(s, s->page_bytes) ?
			     mmap(NULL, s->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0) :
			     MAP_FAILED;
	if (head == MAP_FAILED) {
		int why = errno;
		unlink(s->path);
		ss_spool_close(s);
		errno = why;
		return false;
	}
	s->head = head;
	s->size_bytes = s->page_bytes;
	fill_head(s, info);
	return true;
}

/* Touch every page now: a first write to a page of a file costs microseconds, which no event shall pay. */
static void touch(const struct spool *s, unsigned char *p)
{
	/* Not the first word of the buffer, which says how long its rest is. */
	for (size_t at = 0; at < SPOOL_BUFFER; at += s->page_bytes)
		*(volatile unsigned char *)(p + at + 8) = 0;
}

/*
 * The file grows by fields to skip, which are as good behind the plane, where they stand for now, as in
 * it. Growing first and filling then would leave zeros at the end of the file, which no reader takes, if
 * the program died in between. A kill also ends a write between two pages: so each page is a field.
 */
static bool grow(struct spool *s)
{
	enum { PAGE = 4096, PARTS = 2 * SPOOL_BUFFER / PAGE };
	static const unsigned char zeros[PAGE - 8];
	uint64_t head = rest_word(sizeof(zeros));
	struct iovec parts[PARTS];
	for (size_t i = 0; i < PARTS; i += 2) {
		parts[i] = (struct iovec){ &head, sizeof(head) };
		parts[i + 1] = (struct iovec){ (void *)(uintptr_t)zeros, sizeof(zeros) };
	}
	if (s->size_bytes + SPOOL_BUFFER > s->max_bytes) {
		errno = ENOSPC;
		return false;
	}
	ssize_t got = pwritev(s->fd, parts, PARTS, (off_t)s->size_bytes);
	if (got == (ssize_t)SPOOL_BUFFER)
		return true;
	int why = got < 0 ? errno : ENOSPC;
	if (ftruncate(s->fd, (off_t)s->size_bytes) != 0)
		why = errno;
	errno = why;
	return false;
}

unsigned char *ss_spool_buffer(struct spool *s)
{
	/* At a write the C library would end a thread that the program cancels, with the recorder's lock in its hands. */
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	bool grown = grow(s);
	pthread_setcancelstate(before, NULL);
	if (!grown)
		return NULL;
	void *p = mmap(NULL, SPOOL_BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)s->size_bytes);
	if (p == MAP_FAILED)
		return NULL;
	touch(s, p);
	put_rest(p, (unsigned char *)p + SPOOL_BUFFER);
	s->size_bytes += SPOOL_BUFFER;
	/* Only now does the plane reach this far. */
	store_word(s->head + s->page_bytes - 8, message_word(XSPACE_PLANES, s->size_bytes - s->page_bytes));
	return p;
}

void ss_spool_close(struct spool *s)
{
	if (s->head)
		munmap(s->head, s->page_bytes);
	if (s->fd >= 0)
		close(s->fd);
	s->head = NULL;
	s->fd = -1;
}
