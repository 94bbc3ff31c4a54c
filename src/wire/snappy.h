/* snappy.h - a block in Snappy's raw format: no frames, no checksums. */
#ifndef SS_WIRE_SNAPPY_H
#define SS_WIRE_SNAPPY_H

#include "base/str.h"

/*
 * Unpacks to `to`, which has room for `room` bytes; what was written is in *n also after damage.
 * True: the block is sound, and gives exactly `room` bytes.
 */
bool ss_snappy(struct ss_str packed, char *to, size_t room, size_t *n);

#endif
