/*
 * gz_out.h - a gzip file made in memory, piece by piece: what was written is held packed only.
 * Failure is sticky.
 */
#ifndef SS_WIRE_GZ_OUT_H
#define SS_WIRE_GZ_OUT_H

#include "base/buf.h"

struct ss_gz_out;

/* NULL when memory is out. */
struct ss_gz_out *ss_gz_open(void);
void ss_gz_write(struct ss_gz_out *g, struct ss_str bytes);
/* End the file. *out is good until ss_gz_close; false when memory was out at any time. */
bool ss_gz_finish(struct ss_gz_out *g, struct ss_str *out);
void ss_gz_close(struct ss_gz_out *g);	/* NULL is allowed */

#endif
