/* unpack.c - see unpack.h. A first pass counts, so that nothing is held twice. */
#include "legacy/files/unpack.h"

#include "wire/gz_in.h"

#define FLOOR_BYTES ((size_t)1 << 20)
#define PER_PACKED_BYTE 300

/* How long it is, counted in the hold; false when it is damaged or too long. */
static bool count(struct ss_str packed, struct ss_hold *hold, size_t *n, struct ss_err *err)
{
	char part[8192];
	size_t got = 1, limit = FLOOR_BYTES + PER_PACKED_BYTE * packed.n;
	bool fits = true;
	struct ss_gz_in *g = hold ? ss_gz_in_open(packed) : NULL;
	if (!g)
		return ss_fail_mem(err);
	for (*n = 0; got && fits && *n <= limit; *n += got) {
		got = ss_gz_in_read(g, part, sizeof(part));
		fits = ss_hold_take(hold, got);
	}
	bool bad = ss_gz_in_bad(g);
	ss_gz_in_close(g);
	if (!fits)
		return ss_hold_fail(SS_STR("the file"), err);
	if (bad)
		return ss_fail(err, SS_EFORMAT, "the compressed file is damaged or truncated");
	return *n <= limit || ss_fail(err, SS_EFORMAT, "it decompresses to more than the limit");
}

static bool unpack(struct ss_str packed, struct ss_arena *arena, struct ss_str *out, struct ss_err *err)
{
	size_t n, at = 0, got = 1;
	if (!count(packed, ss_arena_hold(arena, packed.n), &n, err))
		return false;
	char *to = ss_arena_alloc(arena, n + 1);
	struct ss_gz_in *g = to ? ss_gz_in_open(packed) : NULL;
	if (!g)
		return ss_fail_mem(err);
	for (; got && at < n; at += got)
		got = ss_gz_in_read(g, to + at, n - at);
	ss_gz_in_close(g);
	*out = (struct ss_str){ to, at };
	return true;
}

bool ss_unpack(struct ss_str bytes, struct ss_arena *arena, struct ss_str *out, struct ss_err *err)
{
	*out = bytes.p ? bytes : SS_STR("");
	for (int times = 0; times < 2 && ss_gz_is(*out); times++)
		if (!unpack(*out, arena, out, err))
			return false;
	return true;
}
