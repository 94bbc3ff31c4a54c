/*
 * tfrecord.h - a cursor over a TFRecord file: no copies, no allocation.
 *
 *	u64 length, u32 masked crc32c of those 8 bytes, the bytes, u32 masked crc32c of the bytes
 *
 * all little-endian; masked is ((crc >> 15) | (crc << 17)) + 0xa282ead8, so that a checksum stored
 * in a record is no checksum of it. After a wrong length nothing can be found any more and the walk
 * ends; after a wrong payload it goes on. A file that is being written ends inside a record: that
 * is `cut`, and no fault.
 */
#ifndef SS_LEGACY_FILES_TFRECORD_H
#define SS_LEGACY_FILES_TFRECORD_H

#include "base/str.h"

#define SS_TFRECORD_HEAD_BYTES 12	/* the length and its checksum */

struct ss_tfrecord {
	struct ss_str bytes;	/* the file */
	size_t at;		/* where the next record begins */
	uint64_t nrecords;	/* given so far */
	bool cut;		/* ends inside a record */
	bool bad;		/* the length at `at` is damaged: what follows is lost */
};

static inline struct ss_tfrecord ss_tfrecord_of(struct ss_str bytes)
{
	return (struct ss_tfrecord){ .bytes = bytes };
}

/* The next record; its bytes are not checked yet, as most readers want few of them. */
bool ss_tfrecord_next(struct ss_tfrecord *r, struct ss_str *record);
/* Do the bytes of a record fit the checksum that follows them in the file? */
bool ss_tfrecord_intact(struct ss_str record);

/* CRC-32C (Castagnoli), as of RFC 3720. */
uint32_t ss_crc32c(struct ss_str bytes);

#endif
