/* riegeli_chunk.h - the records of one chunk; see riegeli.h. For riegeli*.c only. */
#ifndef SS_IMPORT_RIEGELI_CHUNK_H
#define SS_IMPORT_RIEGELI_CHUNK_H

#include "base/buf.h"
#include "wire/pb.h"

struct ss_riegeli_chunk {
	uint64_t nrecords, decoded_bytes; /* as its header says */
	struct ss_str data;
	bool cut;		/* the file ends inside the data */
};

struct ss_riegeli_records {
	struct ss_buf *bytes;	/* of all records, one after the other */
	uint64_t n;
	size_t first_end;	/* where the first of all ends */
	bool partial;		/* the last one lacks its end */
};

/*
 * Off the front of *data: `packing` is the chunk's byte for it, 0: not packed. False when that is
 * unknown.
 */
bool ss_riegeli_packing(struct ss_pb *data, int *packing);
/*
 * Unpack a piece of a chunk: *piece lies in `packed` or in *to. *whole is false if the piece is damaged.
 * False when memory is out.
 */
bool ss_riegeli_piece(int packing, struct ss_str packed, struct ss_buf *to, struct ss_str *piece, bool *whole,
		      struct ss_err *err);

/*
 * Append the chunk's records. *whole is false, and nothing of a damaged record is appended, where
 * it is damaged. False when memory is out.
 */
bool ss_riegeli_simple(const struct ss_riegeli_chunk *c, struct ss_riegeli_records *r, bool *whole, struct ss_err *err);
bool ss_riegeli_transposed(const struct ss_riegeli_chunk *c, struct ss_riegeli_records *r, bool *whole, struct ss_err *err);

#endif
