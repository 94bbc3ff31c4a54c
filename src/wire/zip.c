/* zip.c - members one after the other, each behind a header, and at the end a directory of them. */
#include "wire/zip.h"

#include "base/le.h"
#include "wire/gz_in.h"
#include "wire/stream.h"

#include <stdlib.h>
#include <zlib.h>

#define PIECE_BYTES ((size_t)1 << 16)
#define MOST_COMMENT 65535

enum { STORED = 0, DEFLATED = 8, ZSTD_OLD = 20, ZSTD = 93 };
enum { ENCRYPTED = 1 << 0, SIZES_BEHIND = 1 << 3 };

struct member {
	struct ss_str name;
	unsigned flags, method;
	uint32_t crc, attributes;	/* the latter of the directory */
	bool unix_made, crc_known;
	uint64_t packed, size, header;	/* bytes; `header`: where its own is */
	int64_t mtime_ns;
};

struct zip {
	struct ss_str bytes;
	const struct ss_members *to;
	char *piece;
	char name[SS_MEMBER_NAME_BYTES];	/* of a member whose name had to be rewritten */
	bool stopped, no_memory;
};

bool ss_zip_is(struct ss_str bytes)
{
	return ss_str_starts(bytes, SS_STR("PK\3\4")) || ss_str_starts(bytes, SS_STR("PK\5\6"));
}

static unsigned u16(const char *p)
{
	return (unsigned)(unsigned char)p[0] | (unsigned)(unsigned char)p[1] << 8;
}

static uint32_t u32(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return ss_le32(v);
}

static uint64_t u64(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return ss_le64(v);
}

/* Days since the Unix epoch. */
static int64_t days(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = year / 400;
	unsigned of_era = (unsigned)(year - era * 400), of_year = (153 * (month + (month > 2 ? 0u : 12u) - 3) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* A wall clock of an unknown place: taken as UTC, as only the order matters. */
static int64_t time_of(unsigned date, unsigned time)
{
	unsigned month = date >> 5 & 15, day = date & 31;
	if (!month || month > 12 || !day)
		return 0;
	int64_t seconds = days(1980 + (date >> 9), month,
		day) * 86400 + (time >> 11) * 3600 + (time >> 5 & 63) * 60 + (time & 31) * 2;
	return seconds * 1000000000;
}

static uint64_t next64(struct ss_str *field)
{
	uint64_t v = field->n >= 8 ? u64(field->p) : 0;
	*field = ss_str_sub(*field, 8, field->n);
	return v;
}

/* Sizes of 64 bits, where those of 32 are all ones, and the time in UTC. */
static void take_extra(struct member *m, struct ss_str extra)
{
	while (extra.n >= 4) {
		unsigned id = u16(extra.p), n = u16(extra.p + 2);
		struct ss_str field = ss_str_sub(extra, 4, 4 + (size_t)n);
		extra = ss_str_sub(extra, 4 + (size_t)n, extra.n);
		if (id == 1) {
			if (m->size == UINT32_MAX)
				m->size = next64(&field);
			if (m->packed == UINT32_MAX)
				m->packed = next64(&field);
			if (m->header == UINT32_MAX)
				m->header = next64(&field);
		} else if (id == 0x5455 && field.n >= 5 && field.p[0] & 1) {
			m->mtime_ns = (int64_t)(int32_t)u32(field.p + 1) * 1000000000;
		}
	}
}

static const char *why_not(const struct member *m)
{
	const unsigned link = 0120000, type = 0170000;
	if (m->unix_made && (m->attributes >> 16 & type) == link)
		return "is not read: it is a link, and links in archives are not followed";
	if (m->flags & ENCRYPTED)
		return "is not read: it is encrypted. Unpack it with its password";
	if (m->method != STORED && m->method != DEFLATED && m->method != ZSTD && m->method != ZSTD_OLD)
		return "is not read: it is packed by another method than deflate and zstd";
	return NULL;
}

/* Some programs of Windows write a backslash for the slash in all names of an archive. */
static struct ss_str with_slashes(struct zip *z, struct ss_str name)
{
	if (ss_str_chr(name, '\\') == SS_NPOS || ss_str_chr(name, '/') != SS_NPOS || name.n > sizeof(z->name))
		return name;
	for (size_t i = 0; i < name.n; i++)
		z->name[i] = name.p[i] == '\\' ? '/' : name.p[i];
	return (struct ss_str){ z->name, name.n };
}

/* ---- a member's bytes ---- */

struct source {
	struct ss_gz_in *deflated;
	struct ss_stream *other;	/* stored, or zstd */
};

static bool open_source(struct source *s, unsigned method, struct ss_str packed)
{
	*s = (struct source){ NULL, NULL };
	if (method == DEFLATED)
		s->deflated = ss_gz_in_open_bare(packed);
	else if (method != STORED)
		s->other = ss_stream_open(packed);
	return method == STORED || s->deflated || s->other;
}

static bool is_bad(const struct source *s)
{
	return (s->deflated && ss_gz_in_bad(s->deflated)) || (s->other && ss_stream_bad(s->other));
}

/* The next piece, "" at the end. What is stored is not copied. */
static struct ss_str next_piece(struct zip *z, struct source *s, struct ss_str *stored)
{
	struct ss_str piece = ss_str_sub(*stored, 0, PIECE_BYTES);
	if (s->deflated)
		piece = (struct ss_str){ z->piece, ss_gz_in_read(s->deflated, z->piece, PIECE_BYTES) };
	else if (s->other)
		piece = (struct ss_str){ z->piece, ss_stream_read(s->other, z->piece, PIECE_BYTES) };
	else
		*stored = ss_str_sub(*stored, piece.n, stored->n);
	return piece;
}

/* Hand them out, as many as there are. *used: how many bytes they were packed. */
static bool copy(struct zip *z, const struct member *m, struct ss_str packed, bool wanted, bool cut, size_t *used)
{
	struct source s;
	uint64_t n = 0;
	uLong crc = crc32(0, NULL, 0);
	struct ss_str stored = packed, piece;
	*used = packed.n;
	if (!open_source(&s, m->method, packed)) {
		z->no_memory = true;
		return false;
	}
	while (!z->stopped && (piece = next_piece(z, &s, &stored)).n) {
		n += piece.n;
		crc = crc32(crc, (const Bytef *)piece.p, (uInt)piece.n);
		z->stopped = wanted && !z->to->bytes(z->to->arg, piece);
	}
	bool bad = is_bad(&s);
	if (s.deflated)
		*used = ss_gz_in_used(s.deflated);
	z->no_memory |= (s.deflated && ss_gz_in_no_memory(s.deflated)) || (s.other && ss_stream_no_memory(s.other));
	ss_gz_in_close(s.deflated);
	ss_stream_close(s.other);
	if (!wanted || z->stopped || z->no_memory)
		return !z->stopped && !z->no_memory;
	if (cut)
		z->to->note(z->to->arg, m->name, "is truncated: the archive ends within it");
	else if (bad && !m->crc_known)
		z->to->note(z->to->arg, m->name, "is damaged or truncated");
	else if (bad || (m->crc_known && (n != m->size || crc != m->crc)))
		z->to->note(z->to->arg, m->name, "is damaged: its checksum or its length differs from what the archive says");
	z->stopped = !z->to->end(z->to->arg);
	return !z->stopped;
}

/*
 * Where its bytes begin, behind its own header, whose name may be as long as it likes; SIZE_MAX:
 * there is none.
 */
static size_t begin_of(const struct zip *z, uint64_t header)
{
	if (header > z->bytes.n || z->bytes.n - header < 30)
		return SIZE_MAX;
	const char *p = z->bytes.p + header;
	size_t begin = (size_t)header + 30 + u16(p + 26) + u16(p + 28);
	return memcmp(p, "PK\3\4", 4) == 0 && begin <= z->bytes.n ? begin : SIZE_MAX;
}

static bool take_member(struct zip *z, const struct member *m)
{
	size_t used, begin = begin_of(z, m->header);
	const char *why = why_not(m);
	if (ss_str_ends(m->name, SS_STR("/")))
		return true;
	if (!why && begin == SIZE_MAX)
		why = "is missing: its bytes are not where the archive says";
	if (why) {
		z->to->note(z->to->arg, m->name, why);
		return true;
	}
	if (!z->to->begin(z->to->arg, m->name, m->mtime_ns))
		return true;
	bool cut = m->packed > z->bytes.n - begin;
	struct ss_str packed = ss_str_sub(z->bytes, begin, cut ? z->bytes.n : begin + (size_t)m->packed);
	return copy(z, m, packed, true, cut, &used);
}

/* ---- the directory at the end ---- */

struct directory {
	uint64_t at, bytes;
};

/* The record that ends the archive, before a comment; SS_NPOS: it is cut off. */
static size_t find_end(struct ss_str bytes)
{
	size_t lowest = bytes.n > 22 + MOST_COMMENT ? bytes.n - 22 - MOST_COMMENT : 0;
	for (size_t at = bytes.n >= 22 ? bytes.n - 22 : 0; bytes.n >= 22; at--) {
		if (memcmp(bytes.p + at, "PK\5\6", 4) == 0 && at + 22 + u16(bytes.p + at + 20) <= bytes.n)
			return at;
		if (at == lowest)
			break;
	}
	return SS_NPOS;
}

static bool find_directory(struct ss_str bytes, struct directory *d)
{
	size_t end = find_end(bytes);
	if (end == SS_NPOS)
		return false;
	*d = (struct directory){ .at = u32(bytes.p + end + 16), .bytes = u32(bytes.p + end + 12) };
	/*
	 * Of a large one the numbers stand in another record, and where that is just before this
	 * one.
	 */
	if (end >= 20 && memcmp(bytes.p + end - 20, "PK\6\7", 4) == 0) {
		uint64_t at = u64(bytes.p + end - 12);
		if (at < bytes.n && bytes.n - at >= 56 && memcmp(bytes.p + at, "PK\6\6", 4) == 0)
			*d = (struct directory){ .at = u64(bytes.p + at + 48), .bytes = u64(bytes.p + at + 40) };
	}
	return d->at <= bytes.n && d->bytes <= bytes.n - d->at;
}

/* The next of its entries. False: there is none. */
static bool next_entry(struct ss_str *rest, struct member *m)
{
	if (rest->n < 46 || memcmp(rest->p, "PK\1\2", 4) != 0)
		return false;
	const char *p = rest->p;
	size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
	if (rest->n - 46 < name + extra + comment)
		return false;
	*m = (struct member){ .name = ss_str_sub(*rest, 46, 46 + name),
			      .flags = u16(p + 8),
			      .method = u16(p + 10),
			      .mtime_ns = time_of(u16(p + 14), u16(p + 12)),
			      .crc = u32(p + 16),
			      .crc_known = true,
			      .packed = u32(p + 20),
			      .size = u32(p + 24),
			      .attributes = u32(p + 38),
			      .unix_made = (unsigned char)p[5] == 3,
			      .header = u32(p + 42) };
	take_extra(m, ss_str_sub(*rest, 46 + name, 46 + name + extra));
	*rest = ss_str_sub(*rest, 46 + name + extra + comment, rest->n);
	return true;
}

static bool read_listed(struct zip *z, struct directory d)
{
	struct ss_str rest = ss_str_sub(z->bytes, (size_t)d.at, (size_t)(d.at + d.bytes));
	struct member m;
	bool ok = true;
	while (ok && next_entry(&rest, &m)) {
		m.name = with_slashes(z, m.name);
		ok = take_member(z, &m);
	}
	if (ok && rest.n && !ss_str_starts(rest, SS_STR("PK\5\5")))
		z->to->note(z->to->arg, SS_STR(""), "is damaged: a part of its directory cannot be read, and members are missing");
	return ok;
}

/* ---- without the directory ---- */

/* The first header of a member at or behind `at`; SIZE_MAX: there is none. */
static size_t find_header(struct ss_str bytes, size_t at)
{
	size_t found = ss_str_find(ss_str_sub(bytes, at, bytes.n), SS_STR("PK\3\4"));
	return found == SS_NPOS ? SIZE_MAX : at + found;
}

/* A member as its own header has it, and where the next one may be. */
static bool take_found(struct zip *z, size_t at, size_t *next)
{
	const char *p = z->bytes.p + at;
	size_t used, begin = begin_of(z, at);
	*next = at + 4;
	if (begin == SIZE_MAX)
		return true;
	struct ss_str name = with_slashes(z, (struct ss_str){ p + 30, u16(p + 26) });
	struct member m = { .name = name, .flags = u16(p + 6), .method = u16(p + 8), .mtime_ns = time_of(u16(p + 12), u16(p + 10)),
			    .crc = u32(p + 14), .packed = u32(p + 18), .size = u32(p + 22), .header = at };
	take_extra(&m, (struct ss_str){ p + 30 + name.n, u16(p + 28) });
	bool behind = m.flags & SIZES_BEHIND;
	const char *why = why_not(&m);
	if (!why && behind && m.method != DEFLATED)
		why = "is not read: its length is stored only at the end of the archive, which is missing";
	m.crc_known = !behind;
	bool cut = !behind && m.packed > z->bytes.n - begin;
	struct ss_str packed = ss_str_sub(z->bytes, begin, behind || cut ? z->bytes.n : begin + (size_t)m.packed);
	if (!behind && !cut)
		*next = begin + packed.n;
	if (why) {
		z->to->note(z->to->arg, name, why);
		return true;
	}
	if (ss_str_ends(name, SS_STR("/")))
		return true;
	bool wanted = z->to->begin(z->to->arg, name, m.mtime_ns);
	if ((wanted || behind) && !copy(z, &m, packed, wanted, cut, &used))
		return false;
	if (behind)
		*next = begin + used;
	return true;
}

static bool read_found(struct zip *z)
{
	z->to->note(z->to->arg, SS_STR(""),
		"is truncated: its end with the list of members is missing. Members at its beginning are read");
	for (size_t at = find_header(z->bytes, 0), next; at != SIZE_MAX; at = find_header(z->bytes, next))
		if (!take_found(z, at, &next))
			return false;
	return true;
}

bool ss_zip_read(struct ss_str bytes, const struct ss_members *to, struct ss_err *err)
{
	struct directory d;
	struct zip z = { .bytes = bytes, .to = to, .piece = malloc(PIECE_BYTES) };
	if (!z.piece)
		return ss_fail_mem(err);
	bool ok = find_directory(bytes, &d) ? read_listed(&z, d) : read_found(&z);
	free(z.piece);
	return ok || (z.no_memory && ss_fail_mem(err));
}
