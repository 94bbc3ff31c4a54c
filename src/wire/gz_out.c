/* gz_out.c - over zlib; an effort is its level. */
#include "wire/gz_out.h"

#include <stdlib.h>
#include <zlib.h>

struct ss_gz_out {
	z_stream z;
	struct ss_buf out;
	bool bad;
	char piece[32768];
};

struct ss_gz_out *ss_gz_open(enum ss_gz_effort effort)
{
	struct ss_gz_out *g = calloc(1, sizeof(*g));
	/*
	 * 15 bits of window, and 16 for a gzip header without name and time: the same input gives
	 * the same bytes.
	 */
	if (g && deflateInit2(&g->z, (int)effort, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

static void pump(struct ss_gz_out *g, int flush)
{
	do {
		g->z.next_out = (Bytef *)g->piece;
		g->z.avail_out = sizeof(g->piece);
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			g->bad = true;
		ss_buf_str(&g->out, (struct ss_str){ g->piece, sizeof(g->piece) - g->z.avail_out });
	} while (!g->bad && g->z.avail_out == 0);
}

void ss_gz_write(struct ss_gz_out *g, struct ss_str bytes)
{
	/* zlib counts in 32 bits. */
	while (bytes.n && !g->bad) {
		size_t n = bytes.n < 1u << 30 ? bytes.n : 1u << 30;
		g->z.next_in = (z_const Bytef *)(uintptr_t)bytes.p;
		g->z.avail_in = (uInt)n;
		pump(g, Z_NO_FLUSH);
		bytes = ss_str_sub(bytes, n, bytes.n);
	}
}

bool ss_gz_finish(struct ss_gz_out *g, struct ss_str *out)
{
	g->z.avail_in = 0;
	pump(g, Z_FINISH);
	*out = ss_buf_get(&g->out);
	return !g->bad && !g->out.no_memory;
}

void ss_gz_close(struct ss_gz_out *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	ss_buf_free(&g->out);
	free(g);
}
