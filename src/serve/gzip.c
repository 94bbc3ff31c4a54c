/* gzip.c - whole bodies. */
#include "serve/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>

struct ss_str ss_gzip(struct ss_str body)
{
	struct ss_str out = { NULL, 0 };
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	if (!c)
		return out;
	size_t bound = libdeflate_gzip_compress_bound(c, body.n);
	char *buf = malloc(bound);
	if (buf) {
		size_t n = libdeflate_gzip_compress(c, body.p, body.n, buf, bound);
		char *fit = n ? realloc(buf, n) : NULL;
		if (fit)
			out = (struct ss_str){ fit, n };
		else
			free(buf);
	}
	libdeflate_free_compressor(c);
	return out;
}

/* The last four bytes of a member are the length of what is in it, modulo 2^32. */
static size_t unpacked_bytes(struct ss_str packed)
{
	const unsigned char *p = (const unsigned char *)packed.p + packed.n - 4;
	return packed.n < 18 ? 0 : (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

struct ss_str ss_gunzip(struct ss_str packed)
{
	struct ss_str out = { NULL, 0 };
	struct libdeflate_decompressor *d = packed.n >= 18 ? libdeflate_alloc_decompressor() : NULL;
	if (!d)
		return out;
	size_t n = unpacked_bytes(packed), got = 0;
	char *buf = malloc(n + 1);
	if (buf && libdeflate_gzip_decompress(d, packed.p, packed.n, buf, n, &got) == LIBDEFLATE_SUCCESS)
		out = (struct ss_str){ buf, got };
	else
		free(buf);
	libdeflate_free_decompressor(d);
	return out;
}
