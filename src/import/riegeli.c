/*
 * riegeli.c - blocks and chunks of a file, and what to do where they are damaged.
 *
 * The file is blocks of 64 KiB, each with a header, and chunks flow through them, cut anywhere by
 * these headers. A header of a block says where the chunk that it cuts begins and ends: so reading
 * finds its way again behind damage.
 */
#include "import/riegeli.h"

#include "import/riegeli_chunk.h"
#include "import/space_merge.h"
#include "wire/highway.h"

#define BLOCK ((uint64_t)65536)
#define BLOCK_HEADER 24
#define USABLE (BLOCK - BLOCK_HEADER)
#define CHUNK_HEADER 40
#define MOST_BYTES (UINT64_C(1) << 60)	/* beyond that a size is none */

struct chunk {
	uint64_t begin, end;
	uint64_t data_bytes, data_hash;
	struct ss_riegeli_chunk it;
	char type;
};

struct reader {
	struct ss_str bytes;
	const struct ss_file *file;
	struct ss_riegeli_records records;
	struct ss_riegeli_loss *loss;
};

static uint64_t hash(struct ss_str s)
{
	/* "Riegeli/records\n", twice. */
	static const uint64_t key[4] = { 0x2f696c6567656952u, 0x0a7364726f636572u, 0x2f696c6567656952u, 0x0a7364726f636572u };
	return ss_highway64(key, s);
}

static uint64_t little_endian(const char *p, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(unsigned char)p[i] << (8 * i);
	return v;
}

bool ss_riegeli_is(struct ss_str bytes)
{
	return ss_str_starts(bytes, SS_STR("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0"));
}

/* ---- places ---- */

/* Block headers among `n` bytes of a chunk that begins, or goes on, at `at`. */
static uint64_t headers_among(uint64_t at, uint64_t n)
{
	return (n + (at + USABLE - 1) % BLOCK) / USABLE;
}

/* The first place from `at` on where a chunk may end. */
static uint64_t chunk_end_from(uint64_t at)
{
	uint64_t rest = BLOCK - 1 - (at + BLOCK - 1) % BLOCK;
	return at + (rest > USABLE - 1 ? rest - (USABLE - 1) : 0);
}

/*
 * Up to `n` bytes of a chunk from *at on, without the headers of blocks among them; *at is behind
 * them then. `to` NULL: they are passed over.
 */
static size_t read_through(struct ss_str bytes, uint64_t *at, char *to, uint64_t n)
{
	size_t got = 0;
	while (got < n && *at < bytes.n) {
		if (*at % BLOCK == 0) {
			*at += BLOCK_HEADER;
			continue;
		}
		uint64_t piece = BLOCK - *at % BLOCK;
		piece = piece < n - got ? piece : n - got;
		piece = piece < bytes.n - *at ? piece : bytes.n - *at;
		if (to)
			memcpy(to + got, bytes.p + *at, (size_t)piece);
		got += (size_t)piece;
		*at += piece;
	}
	return got;
}

/* ---- chunks ---- */

enum found { SOUND, DAMAGED, CUT };

/* Where the header ends is in *at. */
static enum found read_header(struct ss_str bytes, uint64_t begin, struct chunk *c, uint64_t *at)
{
	char h[CHUNK_HEADER];
	*at = begin;
	if (read_through(bytes, at, h, CHUNK_HEADER) < CHUNK_HEADER)
		return CUT;
	if (little_endian(h, 8) != hash((struct ss_str){ h + 8, CHUNK_HEADER - 8 }))
		return DAMAGED;
	*c = (struct chunk){ .begin = begin, .type = h[24], .data_bytes = little_endian(h + 8, 8),
			     .data_hash = little_endian(h + 16, 8) };
	c->it.nrecords = little_endian(h + 25, 7);
	c->it.decoded_bytes = little_endian(h + 32, 8);
	if (c->data_bytes > MOST_BYTES || c->it.decoded_bytes > MOST_BYTES)
		return DAMAGED;
	uint64_t n = CHUNK_HEADER + c->data_bytes, padded = chunk_end_from(begin + c->it.nrecords);
	c->end = begin + n + BLOCK_HEADER * headers_among(begin, n);
	c->end = padded > c->end ? padded : c->end;
	return SOUND;
}

/*
 * The data: in the file where no block cuts it, else put together in *copy. *all is false where the
 * file ends in it. False when memory is out.
 */
static bool read_data(struct reader *r, struct chunk *c, uint64_t at, struct ss_buf *copy, bool *all, struct ss_err *err)
{
	uint64_t end = at, there = read_through(r->bytes, &end, NULL, c->data_bytes);
	*all = there == c->data_bytes;
	if (at % BLOCK == 0 && there)
		at += BLOCK_HEADER;
	if (end - at == there) {
		c->it.data = ss_str_sub(r->bytes, (size_t)at, (size_t)end);
		return true;
	}
	char *to = ss_buf_room(copy, (size_t)there);
	if (!to)
		return !copy->no_memory || ss_fail_mem(err);
	ss_buf_wrote(copy, (size_t)there, read_through(r->bytes, &at, to, there));
	c->it.data = ss_buf_get(copy);
	return true;
}

static void lose(struct reader *r, uint64_t at)
{
	struct ss_riegeli_loss *l = r->loss;
	if (!l->lost_chunks && !l->lost_bytes)
		l->lost_at = at;
}

static bool decode(struct reader *r, const struct chunk *c, bool all, struct ss_err *err)
{
	uint64_t before = r->records.n;
	bool sound = all ? hash(c->it.data) == c->data_hash : true, whole = sound;
	switch (c->type) {
	case 'r':
		if (sound && !ss_riegeli_simple(&c->it, &r->records, &whole, err))
			return false;
		break;
	case 't':
		if (sound && !ss_riegeli_transposed(&c->it, &r->records, &whole, err))
			return false;
		break;
	case 's':	/* signature, metadata, padding */
	case 'm':
	case 'p':
		return true;
	default:
		r->loss->other_chunks++;
		return true;
	}
	if (r->records.bytes->over || whole)
		return true;
	uint64_t got = r->records.n - before - (r->records.partial ? 1 : 0);
	lose(r, c->begin);
	r->loss->lost_chunks++;
	r->loss->lost_records += c->it.nrecords > got ? c->it.nrecords - got : 0;
	return true;
}

static bool read_chunk(struct reader *r, struct chunk *c, uint64_t at, struct ss_err *err)
{
	struct ss_buf copy = { .hold = r->records.bytes->hold };
	bool all, ok = read_data(r, c, at, &copy, &all, err);
	c->it.cut = !all;
	r->records.bytes->over |= copy.over;
	if (ok && !r->records.bytes->over)
		ok = decode(r, c, all, err);
	ss_buf_free(&copy);
	r->loss->cut |= !all;
	uint64_t end = c->end < r->bytes.n ? c->end : r->bytes.n;
	if (r->file)
		ss_file_forget(r->file, ss_str_sub(r->bytes, (size_t)c->begin, (size_t)end));
	return ok;
}

/* ---- behind damage ---- */

/*
 * A place behind `from` where a chunk begins, as the header of a block says; the end of the file if
 * none does.
 */
static uint64_t find_chunk(struct ss_str bytes, uint64_t from)
{
	for (uint64_t block = (from / BLOCK + 1) * BLOCK; block + BLOCK_HEADER <= bytes.n; block += BLOCK) {
		const char *h = bytes.p + block;
		uint64_t before = little_endian(h + 8, 8), behind = little_endian(h + 16, 8);
		if (little_endian(h, 8) != hash((struct ss_str){ h + 8, BLOCK_HEADER - 8 }) || before > block)
			continue;
		if (block - before > from)
			return block - before;
		if (behind && behind < MOST_BYTES)
			return block + behind < bytes.n ? block + behind : bytes.n;
	}
	return bytes.n;
}

static bool read_chunks(struct reader *r, struct ss_err *err)
{
	uint64_t at = 0, data;
	while (at < r->bytes.n && !r->records.bytes->over && !r->loss->cut) {
		struct chunk c;
		enum found found = read_header(r->bytes, at, &c, &data);
		if (found == SOUND) {
			if (!read_chunk(r, &c, data, err))
				return false;
			at = c.end;
			continue;
		}
		uint64_t next = found == CUT ? r->bytes.n : find_chunk(r->bytes, at);
		if (found == CUT) {
			r->loss->cut = true;
		} else {
			lose(r, at);
			r->loss->lost_bytes += next - at;
		}
		at = next;
	}
	return true;
}

bool ss_riegeli_read(struct ss_str bytes, const struct ss_file *f, struct ss_buf *space, struct ss_riegeli_loss *loss,
		     struct ss_err *err)
{
	struct reader r = { .bytes = bytes, .file = f, .records = { .bytes = space }, .loss = loss };
	*loss = (struct ss_riegeli_loss){ 0 };
	if (!read_chunks(&r, err))
		return false;
	loss->records = r.records.n;
	loss->over = space->over;
	space->over = false;	/* what is there is shown */
	if (!r.records.n && loss->cut)
		return ss_fail(err, SS_EFORMAT, "it ends at byte %zu, before its first record is complete", bytes.n);
	if (!r.records.n && (loss->lost_chunks || loss->lost_bytes))
		return ss_fail(err, SS_EFORMAT, "all of its chunks are damaged, from byte %llu on",
			       (unsigned long long)loss->lost_at);
	return ss_space_merge(space, r.records.first_end, &loss->over, err);
}
