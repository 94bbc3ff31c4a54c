/* out.c - the writer. Numbers are formatted by hand where timelines print millions of them. */
#include "emit/out.h"

#include "base/le.h"
#include "emit/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER ((size_t)64 << 10)
/*
 * An answer that is held and grows beyond this gets all its room at once: moved blocks leave holes
 * in the heap, unused pages cost nothing.
 */
#define HELD_STEP ((size_t)512 << 10)

void ss_out_init(struct ss_out *o, ss_out_fn *fn, void *arg)
{
	*o = (struct ss_out){ .fn = fn, .arg = arg };
}

static void flush(struct ss_out *o)
{
	if (o->n && !o->refused && !o->fn(o->arg, o->buf, o->n))
		o->refused = true;
	o->total_bytes += o->n;
	o->n = 0;
}

char *ss_out_room_slow(struct ss_out *o, size_t n)
{
	if (o->no_memory || o->refused)
		return NULL;
	if (o->fn && (!o->hold_bytes || n >= o->hold_bytes || o->n > o->hold_bytes - n)) {
		flush(o);
		o->hold_bytes = 0;
		if (o->refused)
			return NULL;
	}
	if (o->cap - o->n <= n) {
		size_t cap = o->cap ? o->cap : BUFFER;
		while (cap - o->n <= n && cap <= SIZE_MAX / 4)
			cap *= 2;
		if (o->hold_bytes && cap > HELD_STEP && cap < o->hold_bytes)
			cap = o->hold_bytes + BUFFER;
		char *grown = cap - o->n <= n ? NULL : realloc(o->buf, cap);
		if (!grown) {
			o->no_memory = true;
			return NULL;
		}
		o->buf = grown;
		o->cap = cap;
	}
	return o->buf + o->n;
}

void ss_out_many(struct ss_out *o, struct ss_str s)
{
	if (!o->fn || o->hold_bytes || s.n < BUFFER) {
		ss_out_str(o, s);
		return;
	}
	flush(o);
	if (!o->refused && !o->no_memory && !o->fn(o->arg, s.p, s.n))
		o->refused = true;
	o->total_bytes += s.n;
}

bool ss_out_finish(struct ss_out *o, struct ss_err *err)
{
	if (o->fn)
		flush(o);
	if (o->no_memory)
		return ss_fail_mem(err);
	if (o->refused)
		return ss_fail(err, SS_EIO, "the client closed the connection");
	return true;
}

void ss_out_free(struct ss_out *o)
{
	free(o->buf);
	*o = (struct ss_out){ 0 };
}

void ss_out_z(struct ss_out *o, const char *z)
{
	ss_out_str(o, ss_str_from(z));
}

void ss_out_printf(struct ss_out *o, const char *fmt, ...)
{
	va_list ap, again;
	size_t room = 256;	/* mostly enough: printing twice takes twice as long */
	va_start(ap, fmt);
	va_copy(again, ap);
	char *p = ss_out_room(o, room);
	int n = p ? vsnprintf(p, room, fmt, ap) : -1;
	if (n >= (int)room) {
		room = (size_t)n + 1;
		p = ss_out_room(o, room);
		n = p ? vsnprintf(p, room, fmt, again) : -1;
	}
	/* The text may lie in a mapped file that another process writes: it can be longer by now. */
	if (n > 0)
		o->n += (size_t)n < room ? (size_t)n : room - 1;
	va_end(again);
	va_end(ap);
}

/*
 * Eight decimal digits of v < 10^8, one a byte, the first in the lowest: halves, quarters and
 * eighths side by side, three multiplications in all. v / 100 is v * 10486 >> 20 below 10^4, v / 10
 * is v * 103 >> 10 below 100.
 */
static inline uint64_t eight_digits(uint32_t v)
{
	uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t q = x * 10486 >> 20 & 0x0000007f0000007fu;
	x = q | (x - q * 100) << 16;
	q = x * 103 >> 10 & 0x000f000f000f000fu;
	return q | (x - q * 10) << 8;
}

/* Write the lowest `n` bytes as text; eight bytes are written. Returns the end. */
static inline char *put_digits(char *p, uint64_t digits, unsigned n)
{
	digits = ss_le64(digits + 0x3030303030303030u);
	memcpy(p, &digits, sizeof(digits));
	return p + n;
}

static inline char *put_below_1e8(char *p, uint32_t v)
{
	uint64_t digits = eight_digits(v);
	unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
	return put_digits(p, digits >> zeros * 8, 8 - zeros);
}

char *ss_put_u64(char *p, uint64_t v)
{
	const uint64_t e8 = 100000000;
	if (v < e8)
		return put_below_1e8(p, (uint32_t)v);
	if (v < e8 * e8) {
		p = put_below_1e8(p, (uint32_t)(v / e8));
		return put_digits(p, eight_digits((uint32_t)(v % e8)), 8);
	}
	p = put_below_1e8(p, (uint32_t)(v / (e8 * e8)));
	p = put_digits(p, eight_digits((uint32_t)(v / e8 % e8)), 8);
	return put_digits(p, eight_digits((uint32_t)(v % e8)), 8);
}

char *ss_put_us(char *p, uint64_t ps)
{
	uint64_t whole = ps / 1000000, digits = eight_digits((uint32_t)(ps - whole * 1000000)) >> 16;
	p = ss_put_u64(p, whole);
	if (digits == 0)
		return p;
	*p = '.';
	/* Without the zeros at its end. */
	return put_digits(p + 1, digits, 8 - (unsigned)__builtin_clzll(digits) / 8);
}

void ss_out_u64(struct ss_out *o, uint64_t v)
{
	char *p = ss_out_room(o, SS_PUT_ROOM);
	if (p)
		o->n = (size_t)(ss_put_u64(p, v) - o->buf);
}

void ss_out_i64(struct ss_out *o, int64_t v)
{
	if (v < 0)
		ss_out_char(o, '-');
	ss_out_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void ss_out_us(struct ss_out *o, uint64_t ps)
{
	char *p = ss_out_room(o, SS_PUT_ROOM);
	if (p)
		o->n = (size_t)(ss_put_us(p, ps) - o->buf);
}

void ss_out_f64(struct ss_out *o, double v)
{
	char buf[SS_NUMBER_BYTES];
	if (isnan(v) || isinf(v)) {
		ss_out_z(o, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
		return;
	}
	if (v == floor(v) && fabs(v) < 1e15) {
		if (signbit(v) && v == 0)
			ss_out_char(o, '-');
		ss_out_i64(o, (int64_t)v);
		ss_out_lit(o, ".0");
		return;
	}
	size_t n = ss_put_number(buf, v);
	ss_out_str(o, (struct ss_str){ buf, n });
	if (!memchr(buf, '.', n) && !memchr(buf, 'e', n))
		ss_out_lit(o, ".0");
}

/*
 * Bytes that a JSON string can hold as they are, by first byte; 0x80 and above need their UTF-8
 * checked.
 */
static inline bool plain(unsigned char c)
{
	/* Bits of the 128 ASCII characters: all from blank on but " & < > \\ and delete. */
	static const uint64_t bits[2] = {
		~UINT64_C(0) << 32 & ~(UINT64_C(1) << '"' | UINT64_C(1) << '&' | UINT64_C(1) << '<' | UINT64_C(1) << '>'),
		~(UINT64_C(1) << ('\\' - 64) | UINT64_C(1) << 63),
	};
	return c < 0x80 && bits[c >> 6] >> (c & 63) & 1;
}

static void escape(struct ss_out *o, unsigned char c)
{
	static const char from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";
	const char *at = c ? strchr(from, c) : NULL;
	if (at) {
		char two[2] = { '\\', to[at - from] };
		ss_out_str(o, (struct ss_str){ two, 2 });
	} else {
		ss_out_printf(o, "\\u%04x", c);
	}
}

/*
 * One sequence of two to four bytes; returns its length. U+2028 and U+2029 end lines in JavaScript
 * and are escaped.
 */
static size_t multibyte(struct ss_out *o, struct ss_str s)
{
	size_t n = ss_utf8_first(s);
	struct ss_str one = ss_str_sub(s, 0, n);
	if (!n) {
		ss_out_lit(o, "\\ufffd");
		return 1;
	}
	if (n == 3 && memcmp(one.p, "\xe2\x80", 2) == 0 && ((unsigned char)one.p[2] & 0xfe) == 0xa8)
		ss_out_z(o, (unsigned char)one.p[2] == 0xa8 ? "\\u2028" : "\\u2029");
	else
		ss_out_str(o, one);
	return n;
}

/*
 * Are all of these eight bytes plain? A test for all at once may take a plain byte behind another
 * one for none.
 */
static inline bool plain8(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t w, odd;
	memcpy(&w, p, sizeof(w));
#define ZERO_IN(x) (((x) - ones) & ~(x))
	odd = w | (w - ones * ' ') | (w + ones);	/* above ASCII; below a blank; delete */
	odd |= ZERO_IN(w ^ ones * '"') | ZERO_IN(w ^ ones * '&') | ZERO_IN(w ^ ones * '<') | ZERO_IN(w ^ ones * '>') |
	       ZERO_IN(w ^ ones * '\\');
#undef ZERO_IN
	return !(odd & high);
}

/* Length of the plain bytes that `s` begins with. */
static inline size_t plain_run(struct ss_str s)
{
	size_t n = 0;
	while (s.n - n >= 8 && plain8(s.p + n))
		n += 8;
	while (n < s.n && plain((unsigned char)s.p[n]))
		n++;
	return n;
}

void ss_out_json_escaped(struct ss_out *o, struct ss_str s)
{
	size_t i = 0;
	while (i < s.n) {
		size_t run = i + plain_run(ss_str_sub(s, i, s.n));
		ss_out_str(o, ss_str_sub(s, i, run));
		if (run == s.n)
			return;
		i = run;
		if ((unsigned char)s.p[i] >= 0x80)
			i += multibyte(o, ss_str_sub(s, i, s.n));
		else
			escape(o, (unsigned char)s.p[i++]);
	}
}

void ss_out_json_str(struct ss_out *o, struct ss_str s)
{
	ss_out_char(o, '"');
	ss_out_json_escaped(o, s);
	ss_out_char(o, '"');
}
