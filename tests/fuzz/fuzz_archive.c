/*
 * fuzz_archive.c - any bytes as an archive: tar, plain or packed with gzip or zstd, and zip.
 * Members begin and end in turn, no name that is not refused leads out of the archive, and no
 * reader goes on where it was told to stop.
 */
#include "wire/tar.h"
#include "wire/zip.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES ((size_t)1 << 22)

struct seen {
	bool open, stopped;
	size_t bytes;
};

static bool begin(void *arg, struct ss_str name, int64_t mtime_ns)
{
	struct seen *s = arg;
	if (s->open || s->stopped)
		abort();
	(void)mtime_ns;
	if (ss_member_refused(name))
		return false;
	if (ss_str_contains(name, SS_STR("/../")) || ss_str_starts(name, SS_STR("/")) || ss_str_is(name, ".."))
		abort();
	s->open = name.n % 4 != 3;	/* not every member is wanted */
	return s->open;
}

static bool bytes(void *arg, struct ss_str piece)
{
	struct seen *s = arg;
	if (!s->open || s->stopped || !piece.n)
		abort();
	s->bytes += piece.n;
	for (size_t i = 0; i < piece.n; i += 512)	/* all of it can be read */
		s->bytes += piece.p[i] == 1;
	s->stopped = s->bytes > MOST_BYTES;
	return !s->stopped;
}

static bool end(void *arg)
{
	struct seen *s = arg;
	if (!s->open || s->stopped)
		abort();
	s->open = false;
	return true;
}

static void note(void *arg, struct ss_str name, const char *why)
{
	struct seen *s = arg;
	if (s->stopped || !*why || (name.n && !name.p))
		abort();
}

static void check(const struct seen *s, bool ok, const struct ss_err *err)
{
	if (ok ? s->stopped || s->open || err->code : !s->stopped && !err->code)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_str packed = { (const char *)data, size };
	struct seen in_tar = { false, false, 0 }, in_zip = in_tar;
	struct ss_err err = { 0 };
	struct ss_members to = { begin, bytes, end, note, &in_tar };
	struct ss_stream *s = ss_stream_open(packed);
	if (!s)
		return 0;
	bool ok = ss_tar_read(s, &to, &err);
	check(&in_tar, ok, &err);
	ss_stream_close(s);
	to.arg = &in_zip;
	err.code = SS_OK;
	ok = ss_zip_read(packed, &to, &err);
	check(&in_zip, ok, &err);
	return 0;
}
