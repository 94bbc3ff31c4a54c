/* gz_in.c - over zlib; over libdeflate where the length is known. */
#include "wire/gz_in.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

struct ss_gz_in {
	z_stream z;
	struct ss_str rest;	/* packed bytes that zlib was not given yet */
	bool bare;		/* one piece of deflate data, without a header */
	bool bad, ended, no_memory;
};

bool ss_gz_is(struct ss_str bytes)
{
	return ss_str_starts(bytes, SS_STR("\x1f\x8b\x08"));
}

static struct ss_gz_in *open_with(struct ss_str packed, int window)
{
	struct ss_gz_in *g = calloc(1, sizeof(*g));
	if (g && inflateInit2(&g->z, window) != Z_OK) {
		free(g);
		return NULL;
	}
	if (g) {
		g->rest = packed;
		g->bare = window < 0;
	}
	return g;
}

struct ss_gz_in *ss_gz_in_open(struct ss_str packed)
{
	/* 15 bits of window, and 32: the header is gzip's or zlib's. */
	return open_with(packed, 15 + 32);
}

struct ss_gz_in *ss_gz_in_open_bare(struct ss_str packed)
{
	return open_with(packed, -15);
}

size_t ss_gz_in_used(const struct ss_gz_in *g)
{
	return (size_t)g->z.total_in;
}

/* zlib counts in 32 bits. */
static void feed(struct ss_gz_in *g)
{
	size_t n = g->rest.n < 1u << 30 ? g->rest.n : 1u << 30;
	if (g->z.avail_in || !n)
		return;
	g->z.next_in = (z_const Bytef *)(uintptr_t)g->rest.p;
	g->z.avail_in = (uInt)n;
	g->rest = ss_str_sub(g->rest, n, g->rest.n);
}

/* After a member: another one, or the end. What follows and is no member is padding. */
static void next_member(struct ss_gz_in *g)
{
	if (g->bare) {
		g->ended = true;
		return;
	}
	feed(g);
	struct ss_str ahead = { (const char *)g->z.next_in, g->z.avail_in };
	g->ended = !ss_gz_is(ahead) || inflateReset(&g->z) != Z_OK;
}

size_t ss_gz_in_read(struct ss_gz_in *g, char *to, size_t n)
{
	size_t want = n < 1u << 30 ? n : 1u << 30;
	g->z.next_out = (Bytef *)to;
	g->z.avail_out = (uInt)want;
	while (g->z.avail_out && !g->ended && !g->bad) {
		feed(g);
		switch (inflate(&g->z, Z_NO_FLUSH)) {
		case Z_OK:
			break;
		case Z_STREAM_END:
			next_member(g);
			break;
		case Z_MEM_ERROR:	/* zlib asks for its window when it needs one */
			g->no_memory = g->bad = true;
			break;
		default:	/* also: no bytes left, and more are needed */
			g->bad = true;
		}
	}
	return want - g->z.avail_out;
}

bool ss_gz_in_bad(const struct ss_gz_in *g)
{
	return g->bad;
}

bool ss_gz_in_no_memory(const struct ss_gz_in *g)
{
	return g->no_memory;
}

void ss_gz_in_close(struct ss_gz_in *g)
{
	if (!g)
		return;
	inflateEnd(&g->z);
	free(g);
}

bool ss_gz_in_all(struct ss_str packed, struct ss_buf *out, bool *whole, struct ss_err *err)
{
	char piece[16384];
	struct ss_gz_in *g = ss_gz_in_open(packed);
	if (!g)
		return ss_fail_mem(err);
	for (size_t n; !out->no_memory && !out->over && (n = ss_gz_in_read(g, piece, sizeof(piece)));)
		ss_buf_str(out, (struct ss_str){ piece, n });
	*whole = !g->bad;
	bool memory = !out->no_memory && !g->no_memory;
	ss_gz_in_close(g);
	return memory || ss_fail_mem(err);
}

#define LEAST_MEMBER_BYTES 18

/* Its last four bytes say how long it is unpacked. */
static size_t length_of(struct ss_str packed)
{
	size_t n = 0;
	for (size_t i = 0; i < 4; i++)
		n |= (size_t)(uint8_t)packed.p[packed.n - 4 + i] << 8 * i;
	return n;
}

bool ss_gz_in_one(struct ss_str packed, struct ss_buf *out, bool *whole, struct ss_err *err)
{
	*whole = false;
	if (packed.n < LEAST_MEMBER_BYTES)
		return true;
	size_t n = length_of(packed), got = 0;
	char *to = ss_buf_room(out, n + 1);
	if (!to)
		return out->over || ss_fail_mem(err);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (d)
		*whole = libdeflate_gzip_decompress(d, packed.p, packed.n, to, n, &got) == LIBDEFLATE_SUCCESS && got == n;
	ss_buf_wrote(out, n + 1, *whole ? n : 0);
	if (d)
		libdeflate_free_decompressor(d);
	return d || ss_fail_mem(err);
}
