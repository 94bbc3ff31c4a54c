/* stream.c - over gz_in.c and libzstd. */
#include "wire/stream.h"

#include "wire/gz_in.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* A window of 128 MiB is what zstd itself allows without being asked for more. */
#define WINDOW_LOG_MAX 27

struct ss_stream {
	struct ss_gz_in *gz;
	ZSTD_DStream *zstd;
	ZSTD_inBuffer in;	/* of zstd */
	size_t hint;		/* 0: at the end of a frame */
	struct ss_str plain;	/* what is left of bytes that are not packed */
	bool bad, no_memory;
};

bool ss_zstd_is(struct ss_str bytes)
{
	return ss_str_starts(bytes, SS_STR("\x28\xb5\x2f\xfd"));
}

static bool open_zstd(struct ss_stream *s, struct ss_str bytes)
{
	s->in = (ZSTD_inBuffer){ bytes.p, bytes.n, 0 };
	s->zstd = ZSTD_createDStream();
	return s->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
}

struct ss_stream *ss_stream_open(struct ss_str bytes)
{
	struct ss_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	bool ok = true;
	if (ss_gz_is(bytes))
		ok = (s->gz = ss_gz_in_open(bytes)) != NULL;
	else if (ss_zstd_is(bytes))
		ok = open_zstd(s, bytes);
	else
		s->plain = bytes;
	if (ok)
		return s;
	ss_stream_close(s);
	return NULL;
}

static size_t read_zstd(struct ss_stream *s, char *to, size_t n)
{
	ZSTD_outBuffer out = { to, n, 0 };
	while (out.pos < out.size && !s->bad) {
		size_t before = s->in.pos + out.pos;
		if (s->in.pos == s->in.size && !s->hint)
			break;
		s->hint = ZSTD_decompressStream(s->zstd, &out, &s->in);
		if (ZSTD_isError(s->hint)) {
			s->no_memory = ZSTD_getErrorCode(s->hint) == ZSTD_error_memory_allocation;
			s->bad = true;
		} else if (s->in.pos + out.pos == before) {
			s->bad = true;	/* more bytes are needed, and there are none */
		}
	}
	return out.pos;
}

static size_t read_gz(struct ss_stream *s, char *to, size_t n)
{
	size_t got = 0, k = 1;
	while (got < n && k)
		got += k = ss_gz_in_read(s->gz, to + got, n - got);
	return got;
}

size_t ss_stream_read(struct ss_stream *s, char *to, size_t n)
{
	if (s->gz)
		return read_gz(s, to, n);
	if (s->zstd)
		return read_zstd(s, to, n);
	struct ss_str piece = ss_str_sub(s->plain, 0, n);
	if (piece.n)
		memcpy(to, piece.p, piece.n);
	s->plain = ss_str_sub(s->plain, piece.n, s->plain.n);
	return piece.n;
}

bool ss_stream_bad(const struct ss_stream *s)
{
	return s->bad || (s->gz && ss_gz_in_bad(s->gz));
}

bool ss_stream_no_memory(const struct ss_stream *s)
{
	return s->no_memory || (s->gz && ss_gz_in_no_memory(s->gz));
}

bool ss_stream_is_packed(const struct ss_stream *s)
{
	return s->gz || s->zstd;
}

void ss_stream_close(struct ss_stream *s)
{
	if (!s)
		return;
	ss_gz_in_close(s->gz);
	ZSTD_freeDStream(s->zstd);
	free(s);
}
