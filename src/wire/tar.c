/* tar.c - blocks of 512 bytes: a header, then what it heads, filled up with zeros. */
#include "wire/tar.h"

#include "base/buf.h"

#include <stdlib.h>

#define BLOCK SS_TAR_BLOCK
#define PIECE_BYTES ((size_t)1 << 16)
#define PADDING_BYTES ((size_t)1 << 24)
#define EXTENSION_BYTES ((uint64_t)1 << 20)	/* of headers that only tell of the next one */

/* Where things are in a header. */
enum { NAME = 0, NAME_N = 100, SIZE = 124, SIZE_N = 12, MTIME = 136, MTIME_N = 12, SUM = 148, SUM_N = 8, TYPE = 156, MAGIC = 257,
	PREFIX = 345, PREFIX_N = 155 };

struct tar {
	struct ss_stream *in;
	const struct ss_members *to;
	struct ss_buf name;		/* of the next member, told before its header */
	struct ss_buf text;		/* an extension's */
	uint64_t size;			/* the same; NO_SIZE: the header's */
	int64_t mtime_ns;
	bool has_mtime, sparse;
	bool ended, damaged, stopped;
	char *piece;
};

#define NO_SIZE UINT64_MAX

static uint64_t octal(const char *p, size_t n)
{
	uint64_t v = 0;
	size_t i = 0;
	if ((unsigned char)p[0] == 0x80) {	/* GNU's: a number of 88 bits, the greatest byte first */
		for (i = 1; i < n; i++)
			v = v >> 55 ? NO_SIZE - 1 : v << 8 | (unsigned char)p[i];
		return v;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	return v;
}

/* Some old programs added signed bytes. */
static bool sum_is_right(const char *b)
{
	uint64_t plain = 0;
	int64_t with_sign = 0;
	for (int i = 0; i < BLOCK; i++) {
		char c = i >= SUM && i < SUM + SUM_N ? ' ' : b[i];
		plain += (unsigned char)c;
		with_sign += (signed char)c;
	}
	uint64_t told = octal(b + SUM, SUM_N);
	return told == plain || (int64_t)told == with_sign;
}

static bool is_zeros(const char *b)
{
	for (int i = 0; i < BLOCK; i++)
		if (b[i])
			return false;
	return true;
}

bool ss_tar_is(struct ss_str head)
{
	return head.n >= BLOCK && head.p[0] && sum_is_right(head.p);
}

static struct ss_str text_of(const char *p, size_t n)
{
	struct ss_str s = { p, n };
	size_t end = ss_str_chr(s, '\0');
	return ss_str_sub(s, 0, end);
}

/* Bytes of a member that nobody wants. False at the end of the stream. */
static bool skip(struct tar *t, uint64_t n)
{
	while (n) {
		size_t want = n < PIECE_BYTES ? (size_t)n : PIECE_BYTES;
		if (ss_stream_read(t->in, t->piece, want) < want) {
			t->ended = true;
			return false;
		}
		n -= want;
	}
	return true;
}

static uint64_t padding(uint64_t size)
{
	return (BLOCK - size % BLOCK) % BLOCK;
}

/* "27 path=plugins/profile/run\n", several of them. */
static void take_pax(struct tar *t, struct ss_str text)
{
	uint64_t n, number;
	struct ss_str rest = text;
	while (ss_str_take_u64(&rest, &n) && ss_str_take(&rest, SS_STR(" "))) {
		size_t head = text.n - rest.n;
		if (n <= head + 1 || n > text.n)
			return;
		struct ss_str record = ss_str_sub(text, head, (size_t)n - 1);
		size_t equals = ss_str_chr(record, '=');
		struct ss_str value = ss_str_sub(record, equals == SS_NPOS ? record.n : equals + 1, record.n);
		struct ss_str key = ss_str_sub(record, 0, equals);
		if (ss_str_is(key, "path")) {
			t->name.n = 0;
			ss_buf_str(&t->name, value);
		} else if (ss_str_is(key, "size") && ss_str_to_u64(value, &number)) {
			t->size = number;
		} else if (ss_str_is(key, "mtime") && ss_str_take_u64(&value, &number) && number < INT64_MAX / 1000000000) {
			t->mtime_ns = (int64_t)number * 1000000000;
			t->has_mtime = true;
		}
		t->sparse |= ss_str_starts(key, SS_STR("GNU.sparse."));
		text = rest = ss_str_sub(text, (size_t)n, text.n);
	}
}

/* The text of an extension header. False at the end of the stream, or when memory is out. */
static bool read_text(struct tar *t, uint64_t size, struct ss_err *err)
{
	t->text.n = 0;
	char *room = ss_buf_room(&t->text, (size_t)size + 1);
	if (!room)
		return ss_fail_mem(err);
	size_t n = ss_stream_read(t->in, room, (size_t)size);
	ss_buf_wrote(&t->text, (size_t)size + 1, n);
	t->ended = n < size;
	return n == size && skip(t, padding(size));
}

/* A header that tells of the next member: its long name, or what pax has. */
static bool take_extension(struct tar *t, char type, uint64_t size, struct ss_err *err)
{
	if (size > EXTENSION_BYTES)
		return skip(t, size) && skip(t, padding(size));
	if (!read_text(t, size, err))
		return false;
	if (type == 'x')
		take_pax(t, ss_buf_get(&t->text));
	if (type == 'L') {
		t->name.n = 0;
		ss_buf_str(&t->name, text_of(t->text.p ? t->text.p : "", t->text.n));
	}
	return true;
}

static const char *why_no_file(char type, bool sparse)
{
	if (sparse || type == 'S')
		return "is not read: it is stored as a sparse file. Make the archive without --sparse";
	switch (type) {
	case '1':
	case '2':
		return "is not read: it is a link, and links in archives are not followed";
	case '3':
	case '4':
	case '6':
		return "is not read: it is a device or a pipe";
	case 'M':
		return "is not read: it is continued from another volume";
	default:
		return NULL;
	}
}

/* The bytes of a member, to whoever wants them. False: no more can be read, or is to be. */
static bool take_file(struct tar *t, struct ss_str name, uint64_t size, int64_t mtime_ns)
{
	bool wanted = t->to->begin(t->to->arg, name, mtime_ns);
	for (uint64_t left = size; left;) {
		size_t want = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		size_t n = ss_stream_read(t->in, t->piece, want);
		if (wanted && n && !t->to->bytes(t->to->arg, (struct ss_str){ t->piece, n })) {
			t->stopped = true;
			return false;
		}
		if (n < want) {
			t->ended = true;
			if (!wanted)
				return false;
			t->to->note(t->to->arg, name, "is truncated: the archive ends within it");
			t->stopped = !t->to->end(t->to->arg);
			return false;
		}
		left -= n;
	}
	if (wanted && !t->to->end(t->to->arg)) {
		t->stopped = true;
		return false;
	}
	return skip(t, padding(size));
}

/* The member's name: as an extension told, or as the header has it, in two pieces. */
static bool name_of(struct tar *t, const char *b, struct ss_err *err)
{
	if (!t->name.n) {
		struct ss_str prefix = text_of(b + PREFIX, PREFIX_N);
		if (memcmp(b + MAGIC, "ustar\0", 6) == 0 && prefix.n) {
			ss_buf_str(&t->name, prefix);
			ss_buf_char(&t->name, '/');
		}
		ss_buf_str(&t->name, text_of(b + NAME, NAME_N));
	}
	return !t->name.no_memory || ss_fail_mem(err);
}

static bool take_member(struct tar *t, const char *b, struct ss_err *err)
{
	char type = b[TYPE];
	uint64_t size = octal(b + SIZE, SIZE_N), seconds = octal(b + MTIME, MTIME_N);
	if (type == 'x' || type == 'g' || type == 'L' || type == 'K')
		return take_extension(t, type, size, err);
	if (!name_of(t, b, err))
		return false;
	bool sparse = t->sparse;
	struct ss_str name = ss_buf_get(&t->name);
	if (t->size != NO_SIZE)
		size = t->size;
	int64_t mtime_ns = t->has_mtime ? t->mtime_ns : seconds < INT64_MAX / 1000000000 ? (int64_t)seconds * 1000000000 : 0;
	const char *why = why_no_file(type, sparse);
	bool dir = type == '5' || type == 'D' || (!why && ss_str_ends(name, SS_STR("/")));
	bool more;
	if (why)
		t->to->note(t->to->arg, name, why);
	/* Some old programs give a link the size of its target. */
	if (type == '1' || type == '2' || (dir && type != 'D'))
		more = true;
	else if (why || dir)
		more = skip(t, size) && skip(t, padding(size));
	else
		more = take_file(t, name, size, mtime_ns);
	t->name.n = 0;
	t->size = NO_SIZE;
	t->has_mtime = t->sparse = false;
	return more;
}

static bool read_all(struct tar *t, struct ss_err *err)
{
	char b[BLOCK];
	bool more = true;
	while (more) {
		size_t n = ss_stream_read(t->in, b, BLOCK);
		if (n == 0)
			return false;
		if (n < BLOCK) {
			t->ended = true;
			return false;
		}
		if (is_zeros(b))
			return true;
		if (sum_is_right(b)) {
			more = take_member(t, b, err);
			continue;
		}
		if (!t->damaged)
			t->to->note(t->to->arg, SS_STR(""), "is damaged: members are missing where a header cannot be read");
		t->damaged = true;
	}
	return false;
}

/* Zeros behind the end: only then it is known whether what was packed is whole. */
static void drain(struct tar *t)
{
	for (size_t all = 0, n = PIECE_BYTES; n == PIECE_BYTES && all < PADDING_BYTES; all += n)
		n = ss_stream_read(t->in, t->piece, PIECE_BYTES);
}

bool ss_tar_read(struct ss_stream *in, const struct ss_members *to, struct ss_err *err)
{
	struct ss_err why = { 0 };
	struct tar t = { .in = in, .to = to, .size = NO_SIZE, .piece = malloc(PIECE_BYTES) };
	if (!t.piece)
		return ss_fail_mem(err);
	bool whole = read_all(&t, &why);
	if (!why.code && (t.name.no_memory || t.text.no_memory || ss_stream_no_memory(in)))
		(void)ss_fail_mem(&why);
	if (whole)
		drain(&t);
	if (!why.code && !t.stopped && ss_stream_bad(in))
		to->note(to->arg, SS_STR(""), "is damaged or truncated: members may be missing or wrong");
	else if (!why.code && !t.stopped && !whole && (t.ended || !ss_stream_is_packed(in)))
		to->note(to->arg, SS_STR(""), "is cut short: it ends without the mark of its end");
	ss_buf_free(&t.name);
	ss_buf_free(&t.text);
	free(t.piece);
	return why.code ? ss_fail(err, why.code, "%s", why.text) : !t.stopped;
}
