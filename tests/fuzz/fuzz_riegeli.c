/*
 * fuzz_riegeli.c - any bytes as a file in the riegeli format; and, as checksums keep a fuzzer out
 * of chunks, as the data of a chunk of either kind, and as records to be joined. The last byte says
 * which.
 */
#include "fuzz/mutate.h"
#include "import/riegeli.h"
#include "import/riegeli_chunk.h"
#include "import/space_merge.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum what { FILE_ITSELF, SIMPLE, TRANSPOSED, MERGE, KINDS };

#define DECODED_BYTES (1 << 16)

static bool read_file(struct ss_str bytes, struct ss_buf *space, struct ss_err *err)
{
	struct ss_riegeli_loss loss;
	return ss_riegeli_read(bytes, NULL, space, &loss, err);
}

/* Its last three bytes are the numbers that stand in the header of a chunk. */
static bool read_chunk(struct ss_str bytes, bool transposed, struct ss_buf *space, struct ss_err *err)
{
	struct ss_riegeli_records r = { .bytes = space };
	unsigned char n[3] = { 0 };
	if (bytes.n >= sizeof(n))
		memcpy(n, bytes.p + bytes.n - sizeof(n), sizeof(n));
	uint64_t decoded = n[0] | (uint64_t)n[1] << 8, nrecords = n[2];
	struct ss_riegeli_chunk c = { .nrecords = nrecords, .decoded_bytes = decoded,
				      .data = ss_str_sub(bytes, 0, bytes.n >= sizeof(n) ? bytes.n - sizeof(n) : 0),
				      .cut = nrecords % 5 == 4 };
	bool whole, ok = transposed ? ss_riegeli_transposed(&c, &r, &whole, err) : ss_riegeli_simple(&c, &r, &whole, err);
	if (ok && whole && !space->over && (r.n != nrecords || space->n != decoded || r.first_end > space->n))
		abort();
	return ok;
}

static bool merge(struct ss_str bytes, struct ss_buf *space, struct ss_err *err)
{
	bool over = false;
	ss_buf_str(space, bytes);
	return !space->no_memory && ss_space_merge(space, bytes.n / 2, &over, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_hold *hold = ss_hold_open(size + DECODED_BYTES);
	struct ss_buf space = { .hold = hold };
	struct ss_err err = { 0 };
	struct ss_str bytes = { (const char *)data, size ? size - 1 : 0 };
	enum what what = size ? (enum what)(data[size - 1] % KINDS) : FILE_ITSELF;
	bool ok = false;
	if (!hold)
		return 0;
	switch (what) {
	case SIMPLE:
	case TRANSPOSED:
		ok = read_chunk(bytes, what == TRANSPOSED, &space, &err);
		break;
	case MERGE:
		ok = merge(bytes, &space, &err);
		break;
	default:
		ok = read_file(bytes, &space, &err);
	}
	if (!ok && (!err.code || !err.text[0]))
		abort();
	ss_buf_free(&space);
	ss_hold_close(hold);
	if (ss_hold_spent_bytes())
		abort();
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return size && data[size - 1] % KINDS == MERGE ? mutate_message(data, size, max, seed) : LLVMFuzzerMutate(data, size, max);
}
