/* out.c - the writer. Numbers are formatted by hand where timelines print millions of them. */
#include "emit/out.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER ((size_t)64 << 10)

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
	if (o->fn) {
		flush(o);
		if (o->refused)
			return NULL;
	}
	if (o->cap - o->n <= n) {
		size_t cap = o->cap ? o->cap : BUFFER;
		while (cap - o->n <= n && cap <= SIZE_MAX / 4)
			cap *= 2;
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

bool ss_out_finish(struct ss_out *o, struct ss_err *err)
{
	if (o->fn)
		flush(o);
	if (o->no_memory)
		return ss_fail_mem(err);
	if (o->refused)
		return ss_fail(err, SS_EIO, "the reader of the answer went away");
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
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : ss_out_room(o, (size_t)n + 1);
	if (p) {
		vsnprintf(p, (size_t)n + 1, fmt, again);
		o->n += (size_t)n;
	}
	va_end(again);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
			    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

/* How many decimal digits v has. */
static unsigned digit_count(uint64_t v)
{
	static const uint64_t pow10[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
		100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
		10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u,
	};
	/* 1233/4096 is log10(2), near enough to be at most one short. */
	unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), guess = bits * 1233 >> 12;
	return guess + (v >= pow10[guess]);
}

/* The last `n` digits of v at p .. p + n, two a division. */
static inline void put_digits(char *p, uint64_t v, unsigned n)
{
	while (n >= 2) {
		n -= 2;
		memcpy(p + n, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (n)
		*p = (char)('0' + v % 10);
}

char *ss_put_u64(char *p, uint64_t v)
{
	unsigned n = digit_count(v);
	put_digits(p, v, n);
	return p + n;
}

char *ss_put_us(char *p, uint64_t ps)
{
	uint64_t whole = ps / 1000000, rest = ps % 1000000;
	p = ss_put_u64(p, whole);
	if (rest == 0)
		return p;
	*p = '.';
	put_digits(p + 1, rest, 6);
	p += 7;
	while (p[-1] == '0')
		p--;
	return p;
}

void ss_out_u64(struct ss_out *o, uint64_t v)
{
	char *p = ss_out_room(o, 20);
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
	char *p = ss_out_room(o, 21);
	if (p)
		o->n = (size_t)(ss_put_us(p, ps) - o->buf);
}

void ss_out_f64(struct ss_out *o, double v)
{
	char buf[40];
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
	/* The fewest digits that read back the same; 17 always do. */
	int n = 0;
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(buf, sizeof(buf), "%.*g", digits, v);
		if (digits == 17 || strtod(buf, NULL) == v)
			break;
	}
	ss_out_str(o, (struct ss_str){ buf, (size_t)n });
	if (!strpbrk(buf, ".e"))
		ss_out_lit(o, ".0");
}

/* Bytes that a JSON string can hold as they are, by first byte; 0x80 and above need their UTF-8 checked. */
static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
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

/* One sequence of two to four bytes; returns its length. U+2028 and U+2029 end lines in JavaScript and are escaped. */
static size_t multibyte(struct ss_out *o, struct ss_str s)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	struct ss_str one = ss_str_sub(s, 0, n);
	if (one.n < n || !ss_utf8_valid(one)) {
		ss_out_lit(o, "\\ufffd");
		return 1;
	}
	if (n == 3 && memcmp(one.p, "\xe2\x80", 2) == 0 && ((unsigned char)one.p[2] & 0xfe) == 0xa8)
		ss_out_z(o, (unsigned char)one.p[2] == 0xa8 ? "\\u2028" : "\\u2029");
	else
		ss_out_str(o, one);
	return n;
}

void ss_out_json_escaped(struct ss_out *o, struct ss_str s)
{
	size_t i = 0;
	while (i < s.n) {
		size_t run = i;
		while (run < s.n && plain((unsigned char)s.p[run]))
			run++;
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
