/*
 * tar.h - archives of tar: ustar, GNU's long names, and pax. Files alone are read; links, devices
 * and sparse files are named.
 */
#ifndef SS_WIRE_TAR_H
#define SS_WIRE_TAR_H

#include "wire/archive.h"
#include "wire/stream.h"

#define SS_TAR_BLOCK 512

/* Is `head`, the first 512 bytes of something unpacked, the header of a member? */
bool ss_tar_is(struct ss_str head);
/*
 * All members, from the beginning of the stream. Damage is noted, and reading goes on with the next
 * header that is whole. False when memory is out, or a member's bytes were refused: then err is as
 * it was.
 */
bool ss_tar_read(struct ss_stream *in, const struct ss_members *to, struct ss_err *err);

#endif
