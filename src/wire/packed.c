/* packed.c - over libbrotlidec, libzstd and snappy.c. */
#include "wire/packed.h"

#include "wire/snappy.h"

#include <brotli/decode.h>
#include <zstd.h>
#include <zstd_errors.h>

/* A text that is cut short is read as a stream, which needs a window, at most as large as brotli's. */
#define WINDOW_LOG_MAX 24

enum outcome { WHOLE, PART, NO_MEMORY };

static enum outcome brotli(struct ss_str packed, char *to, size_t room, size_t *n)
{
	BrotliDecoderState *d = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	const uint8_t *in = (const uint8_t *)packed.p;
	uint8_t *out = (uint8_t *)to;
	size_t left_in = packed.n, left_out = room;
	if (!d)
		return NO_MEMORY;
	BrotliDecoderResult r = BrotliDecoderDecompressStream(d, &left_in, &in, &left_out, &out, NULL);
	int code = (int)BrotliDecoderGetErrorCode(d);
	BrotliDecoderDestroyInstance(d);
	*n = room - left_out;
	if (code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES)
		return NO_MEMORY;
	return r == BROTLI_DECODER_RESULT_SUCCESS && !left_in && !left_out ? WHOLE : PART;
}

/* As far as it goes. */
static enum outcome zstd_part(struct ss_str packed, char *to, size_t room, size_t *n)
{
	ZSTD_DStream *d = ZSTD_createDStream();
	ZSTD_inBuffer in = { packed.p, packed.n, 0 };
	ZSTD_outBuffer out = { to, room, 0 };
	if (!d || ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		ZSTD_freeDStream(d);
		return NO_MEMORY;
	}
	size_t r, before;
	do {
		before = in.pos + out.pos;
		r = ZSTD_decompressStream(d, &out, &in);
	} while (!ZSTD_isError(r) && out.pos < out.size && in.pos + out.pos > before);
	ZSTD_freeDStream(d);
	*n = out.pos;
	return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? NO_MEMORY : PART;
}

static enum outcome zstd(struct ss_str packed, char *to, size_t room, size_t *n)
{
	*n = ZSTD_decompress(to, room, packed.p, packed.n);
	if (*n == room)
		return WHOLE;
	if (ZSTD_isError(*n) && ZSTD_getErrorCode(*n) == ZSTD_error_memory_allocation)
		return NO_MEMORY;
	return ZSTD_isError(*n) ? zstd_part(packed, to, room, n) : PART;
}

static enum outcome unpack_to(enum ss_packing packing, struct ss_str packed, char *to, size_t room, size_t *n)
{
	*n = 0;
	switch (packing) {
	case SS_PACKED_BROTLI:
		return brotli(packed, to, room, n);
	case SS_PACKED_ZSTD:
		return zstd(packed, to, room, n);
	case SS_PACKED_SNAPPY:
		return ss_snappy(packed, to, room, n) ? WHOLE : PART;
	default:
		*n = packed.n < room ? packed.n : room;
		if (*n)
			memcpy(to, packed.p, *n);
		return packed.n == room ? WHOLE : PART;
	}
}

bool ss_unpack_block(enum ss_packing packing, struct ss_str packed, uint64_t bytes, struct ss_buf *out, bool *whole,
	       struct ss_err *err)
{
	size_t n;
	*whole = !bytes;
	if (!bytes)
		return true;
	char *to = bytes > SIZE_MAX / 8 ? NULL : ss_buf_room(out, (size_t)bytes);
	if (!to && !out->no_memory) {
		out->over = true;
		return true;
	}
	enum outcome o = to ? unpack_to(packing, packed, to, (size_t)bytes, &n) : NO_MEMORY;
	if (o == NO_MEMORY)
		return ss_fail_mem(err);
	ss_buf_wrote(out, (size_t)bytes, n);
	*whole = o == WHOLE;
	return true;
}
