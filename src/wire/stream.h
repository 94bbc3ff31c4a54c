/*
 * stream.h - bytes that may be packed with gzip or zstd, read from front to back. Their first bytes
 * tell how they are packed.
 */
#ifndef SS_WIRE_STREAM_H
#define SS_WIRE_STREAM_H

#include "base/str.h"

struct ss_stream;

bool ss_zstd_is(struct ss_str bytes);
/* The bytes stay with the caller. NULL when memory is out. */
struct ss_stream *ss_stream_open(struct ss_str bytes);
/* The next `n` bytes, fewer only at the end, or where nothing more can be read. */
size_t ss_stream_read(struct ss_stream *s, char *to, size_t n);
/* Are the packed bytes damaged, or cut short? Known once the end was reached. */
bool ss_stream_bad(const struct ss_stream *s);
bool ss_stream_no_memory(const struct ss_stream *s);
bool ss_stream_is_packed(const struct ss_stream *s);
void ss_stream_close(struct ss_stream *s);	/* NULL is allowed */

#endif
