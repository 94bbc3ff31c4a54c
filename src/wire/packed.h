/*
 * packed.h - pieces of a file packed with brotli, zstd or snappy, whose length unpacked is known.
 * (gz_in.h reads whole files packed with gzip.)
 */
#ifndef SS_WIRE_PACKED_H
#define SS_WIRE_PACKED_H

#include "base/buf.h"

enum ss_packing { SS_PACKED_NOT, SS_PACKED_BROTLI, SS_PACKED_ZSTD, SS_PACKED_SNAPPY };

/*
 * Appends to *out the `bytes` bytes that `packed` becomes. *whole is false where it becomes another
 * number of bytes, or is damaged or truncated: then what stands before the damage is appended.
 * out->over says that it is more than the hold of *out allows. False when memory is out.
 */
bool ss_unpack_block(enum ss_packing packing, struct ss_str packed, uint64_t bytes, struct ss_buf *out, bool *whole,
	       struct ss_err *err);

#endif
