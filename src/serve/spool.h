/*
 * spool.h - passes an answer from the thread that makes it to the connection that sends it.
 *
 * The maker runs in a thread of its own and writes to a struct ss_out. A small answer is waited for
 * and comes whole, so that it has a length and may be kept; a large one begins to flow when `limit`
 * bytes are there, and from then on the maker is a megabyte ahead of the reader and waits for it:
 * memory stays at the limit. When the reader goes away the maker's writes fail, which ends it.
 */
#ifndef SS_SERVE_SPOOL_H
#define SS_SERVE_SPOOL_H

#include "emit/out.h"

typedef bool ss_make_fn(void *arg, struct ss_out *o, struct ss_err *err);

struct ss_spool;

/*
 * `arg` must live until ss_spool_end. `room`: malloc'ed memory of so many bytes to begin with, which
 * becomes the spool's in any case; p NULL: none. NULL when there is no thread or memory to be had.
 */
struct ss_spool *ss_spool_start(ss_make_fn *make, void *arg, size_t limit, struct ss_str room, struct ss_err *err);
/* Wait until the answer is whole or the limit is reached; false: making it failed before that. */
bool ss_spool_settle(struct ss_spool *s, struct ss_err *err);
/* The whole answer, malloc'ed, the caller's: false when it is still being made (or memory is out). */
bool ss_spool_take(struct ss_spool *s, char **body, size_t *n);
/* After that: memory that the answer did not need, malloc'ed, the caller's, or NULL. */
void *ss_spool_take_room(struct ss_spool *s);
/* Compress with gzip what is streamed. To be called before the first read. */
bool ss_spool_gzip(struct ss_spool *s);
/* Did the answer reach the limit? To be asked when nobody reads any more. */
bool ss_spool_flowed(struct ss_spool *s);
/* An ss_http_read_fn: arg is the spool. */
long ss_spool_read(void *spool, char *buf, size_t n);
/* Cancel the answer if it is unfinished, and wait for the maker to end. */
void ss_spool_end(struct ss_spool *s);

#endif
