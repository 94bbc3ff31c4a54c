/*
 * gz_in.h - reading gzip, piece by piece: an unpacked trace is about twenty times as long as the
 * packed one and is never held as a whole.
 *
 * Several members become one text. A file that is cut short or damaged gives the text before the
 * damage, and ss_gz_in_bad is true.
 */
#ifndef SS_WIRE_GZ_IN_H
#define SS_WIRE_GZ_IN_H

#include "base/buf.h"

struct ss_gz_in;

/* Does it begin as a gzip file does? */
bool ss_gz_is(struct ss_str bytes);
/*
 * The packed bytes, gzip's or with the header of zlib, stay with the caller. NULL when memory is
 * out.
 */
struct ss_gz_in *ss_gz_in_open(struct ss_str packed);
/* Read bare deflate data without a header, as in zip. Bytes after it are not read. */
struct ss_gz_in *ss_gz_in_open_bare(struct ss_str packed);
/* The next up to `n` bytes; 0 at the end, or where nothing more can be read. */
size_t ss_gz_in_read(struct ss_gz_in *g, char *to, size_t n);
/* The number of packed bytes that were read. */
size_t ss_gz_in_used(const struct ss_gz_in *g);
bool ss_gz_in_bad(const struct ss_gz_in *g);
/* Did reading end for lack of memory? Then ss_gz_in_bad says so, too. */
bool ss_gz_in_no_memory(const struct ss_gz_in *g);
void ss_gz_in_close(struct ss_gz_in *g);	/* NULL is allowed */

/*
 * All of it, appended to *out, up to its limit and its hold. *whole is false when the file is
 * damaged; out->over says that it is longer than that. False when memory is out.
 */
bool ss_gz_in_all(struct ss_str packed, struct ss_buf *out, bool *whole, struct ss_err *err);
/* The same of one member that ends where the bytes do, as gz_out.h makes it: in half the time. */
bool ss_gz_in_one(struct ss_str packed, struct ss_buf *out, bool *whole, struct ss_err *err);

#endif
