/*
 * gz_out.h - a gzip file that is made in memory, piece by piece: only packed bytes are held.
 * Failure is sticky.
 */
#ifndef SS_WIRE_GZ_OUT_H
#define SS_WIRE_GZ_OUT_H

#include "base/buf.h"

struct ss_gz_out;

/* A text that is read once shrinks tenfold at any level; one that is kept and sent is worth a higher level. */
enum ss_gz_effort { SS_GZ_FAST = 1, SS_GZ_SMALL = 6 };

/* NULL when memory is out. */
struct ss_gz_out *ss_gz_open(enum ss_gz_effort effort);
void ss_gz_write(struct ss_gz_out *g, struct ss_str bytes);
/* End the file. *out is good until ss_gz_close; false when memory was out at any time. */
bool ss_gz_finish(struct ss_gz_out *g, struct ss_str *out);
void ss_gz_close(struct ss_gz_out *g);	/* NULL is allowed */

#endif
