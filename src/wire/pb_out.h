/*
 * pb_out.h - writing protobuf messages into a growing buffer. Failure is sticky in the buffer.
 *
 * A message inside another is written into a buffer of its own first and then appended as bytes:
 *
 *	ss_pbo_uint(&inner, 1, uuid);
 *	ss_pbo_bytes(&outer, 60, ss_buf_get(&inner));
 */
#ifndef SS_WIRE_PB_OUT_H
#define SS_WIRE_PB_OUT_H

#include "base/buf.h"

#define SS_VARINT_BYTES 10

/* Write at a place with room for SS_VARINT_BYTES; returns the place after the written bytes. */
static inline char *ss_pbo_put(char *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (char)(v | 0x80);
	*at++ = (char)v;
	return at;
}

static inline void ss_pbo_varint(struct ss_buf *b, uint64_t v)
{
	char bytes[SS_VARINT_BYTES];
	ss_buf_str(b, (struct ss_str){ bytes, (size_t)(ss_pbo_put(bytes, v) - bytes) });
}

static inline void ss_pbo_uint(struct ss_buf *b, uint32_t field, uint64_t v)
{
	char bytes[2 * SS_VARINT_BYTES];
	char *end = ss_pbo_put(ss_pbo_put(bytes, (uint64_t)field << 3), v);
	ss_buf_str(b, (struct ss_str){ bytes, (size_t)(end - bytes) });
}

static inline void ss_pbo_bytes(struct ss_buf *b, uint32_t field, struct ss_str v)
{
	ss_pbo_varint(b, (uint64_t)field << 3 | 2);
	ss_pbo_varint(b, v.n);
	ss_buf_str(b, v);
}

static inline void ss_pbo_fixed64(struct ss_buf *b, uint32_t field, uint64_t v)
{
	ss_pbo_varint(b, (uint64_t)field << 3 | 1);
	for (unsigned i = 0; i < 64; i += 8)
		ss_buf_char(b, (char)(v >> i));
}

static inline void ss_pbo_double(struct ss_buf *b, uint32_t field, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof(bits));
	ss_pbo_fixed64(b, field, bits);
}

#endif
