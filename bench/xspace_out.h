/*
 * xspace_out.h - writing XSpace files as a stream, for generators of benchmarks.
 *
 * A message that holds lines or events gets a length of five bytes, padded as varints may be, and
 * filled in at its end: files of any size need no memory.
 */
#ifndef SS_BENCH_XSPACE_OUT_H
#define SS_BENCH_XSPACE_OUT_H

#define _FILE_OFFSET_BITS 64
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { PAD_BYTES = 5 };

/* Field numbers of XSpace and its messages. */
enum {
	SPACE_PLANE = 1, SPACE_HOSTNAME = 4,
	PLANE_ID = 1, PLANE_NAME, PLANE_LINE, PLANE_EVENT_META, PLANE_STAT_META, PLANE_STAT,
	LINE_ID = 1, LINE_NAME, LINE_TIMESTAMP_NS, LINE_EVENT,
	EVENT_META = 1, EVENT_OFFSET_PS, EVENT_DUR_PS, EVENT_STAT,
	STAT_META = 1, STAT_DOUBLE, STAT_U64, STAT_I64, STAT_STR, STAT_REF = 7,
	META_ID = 1, META_NAME, META_DISPLAY_NAME = 4, META_STAT,
};

struct buf {
	uint8_t p[4096];
	size_t n;
};

/* --- Random numbers: the same seed makes the same file ---------------------------------------- */

static inline uint64_t rnd(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline double rnd_frac(uint64_t *state)
{
	return (double)(rnd(state) >> 11) * 0x1p-53;
}

/* --- Messages in memory ------------------------------------------------------------------------ */

static inline void put_varint(struct buf *b, uint64_t v)
{
	while (v > 127) {
		b->p[b->n++] = (uint8_t)(v | 128);
		v >>= 7;
	}
	b->p[b->n++] = (uint8_t)v;
}

static inline void put_u64(struct buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static inline void put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void put_str(struct buf *b, unsigned field, const char *s)
{
	put_bytes(b, field, s, strlen(s));
}

static inline void put_msg(struct buf *b, unsigned field, const struct buf *m)
{
	put_bytes(b, field, m->p, m->n);
}

static inline void stat_u64(struct buf *b, unsigned field, unsigned stat, unsigned kind, uint64_t v)
{
	struct buf s = { .n = 0 };

	put_u64(&s, STAT_META, stat + 1);
	put_u64(&s, kind, v);
	put_msg(b, field, &s);
}

static inline void stat_str(struct buf *b, unsigned field, unsigned stat, const char *v)
{
	struct buf s = { .n = 0 };

	put_u64(&s, STAT_META, stat + 1);
	put_str(&s, STAT_STR, v);
	put_msg(b, field, &s);
}

static inline void stat_double(struct buf *b, unsigned field, unsigned stat, double v)
{
	struct buf s = { .n = 0 };
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_u64(&s, STAT_META, stat + 1);
	put_varint(&s, STAT_DOUBLE << 3 | 1);
	for (int i = 0; i < 8; i++)
		s.p[s.n++] = (uint8_t)(bits >> 8 * i);
	put_msg(b, field, &s);
}

/* --- The file ---------------------------------------------------------------------------------- */

static inline void flush(FILE *f, struct buf *b)
{
	fwrite(b->p, 1, b->n, f);
	b->n = 0;
}

/* Begin a message whose length is not known yet; returns where the length stands. */
static inline off_t open_msg(FILE *f, unsigned field)
{
	static const uint8_t room[PAD_BYTES];
	off_t at;

	fputc((int)(field << 3 | 2), f);
	at = ftello(f);
	fwrite(room, 1, PAD_BYTES, f);
	return at;
}

static inline void close_msg(FILE *f, off_t at)
{
	off_t end = ftello(f);
	uint64_t len = (uint64_t)(end - at) - PAD_BYTES;
	uint8_t room[PAD_BYTES];

	for (int i = 0; i < PAD_BYTES; i++)
		room[i] = (uint8_t)((len >> 7 * i & 127) | (i < PAD_BYTES - 1 ? 128 : 0));
	fseeko(f, at, SEEK_SET);
	fwrite(room, 1, PAD_BYTES, f);
	fseeko(f, end, SEEK_SET);
}

static inline off_t open_line(FILE *f, uint64_t id, const char *name)
{
	off_t at = open_msg(f, PLANE_LINE);
	struct buf b = { .n = 0 };

	put_u64(&b, LINE_ID, id);
	put_str(&b, LINE_NAME, name);
	put_u64(&b, LINE_TIMESTAMP_NS, 5390);
	flush(f, &b);
	return at;
}

static inline void write_event(FILE *f, const struct buf *event)
{
	struct buf b = { .n = 0 };

	put_msg(&b, LINE_EVENT, event);
	flush(f, &b);
}

/* A map entry {1: id, 2: message}. */
static inline void write_meta(FILE *f, unsigned field, uint64_t id, const struct buf *msg)
{
	struct buf entry = { .n = 0 }, b = { .n = 0 };

	put_u64(&entry, 1, id);
	put_msg(&entry, 2, msg);
	put_msg(&b, field, &entry);
	flush(f, &b);
}

static inline void write_named(FILE *f, unsigned field, uint64_t id, const char *name)
{
	struct buf m = { .n = 0 };

	put_u64(&m, META_ID, id);
	put_str(&m, META_NAME, name);
	write_meta(f, field, id, &m);
}

#endif
