/*
 * riegeli.h - profiles in Riegeli's format for records, `<host>.xplane.riegeli`.
 *
 * A file is chunks of records, with checksums everywhere; a chunk holds its records one after the
 * other (simple), or taken apart by fields (transposed: riegeli_transposed.c), packed with brotli,
 * zstd, snappy or not at all. Each record is an XSpace, and all of them are one (space_merge.h).
 *
 * A chunk whose checksum is wrong is left out completely, because the position of the damage is not
 * known. Reading goes on behind it. If the file ends within a simple chunk, its available records are
 * read.
 */
#ifndef SS_IMPORT_RIEGELI_H
#define SS_IMPORT_RIEGELI_H

#include "base/buf.h"
#include "base/file.h"

struct ss_riegeli_loss {
	uint64_t records;	/* that were read, in whole or in part */
	uint64_t lost_chunks;	/* damaged, with all that is in them */
	uint64_t lost_records;	/* of those whose header is sound */
	uint64_t lost_bytes;	/* of the file where no chunk could be found */
	uint64_t lost_at;	/* where the first of all of it begins */
	uint64_t other_chunks;	/* of unknown kinds */
	bool cut;		/* the file ends inside a chunk */
	bool over;		/* the records take more memory than they may */
};

/* Does it begin as such a file does? */
bool ss_riegeli_is(struct ss_str bytes);
/*
 * The XSpace of all records, appended to the empty buffer *space; it counts in its hold. `f` is the
 * file that the bytes are mapped from, whose pages are given back as they are read; NULL: none.
 * SS_EFORMAT where no record can be read.
 */
bool ss_riegeli_read(struct ss_str bytes, const struct ss_file *f, struct ss_buf *space, struct ss_riegeli_loss *loss,
		     struct ss_err *err);

#endif
