/* buf.c - growing texts. */
#include "base/buf.h"

#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *ss_buf_room(struct ss_buf *b, size_t n)
{
	if (b->no_memory || b->over)
		return NULL;
	if ((b->limit_bytes && (n > b->limit_bytes || b->n > b->limit_bytes - n)) || (b->hold && !ss_hold_take(b->hold, n))) {
		b->over = true;
		return NULL;
	}
	if (b->cap - b->n < n && (n > SIZE_MAX / 4 || !ss_grow((void **)&b->p, &b->cap, b->n + n, 1))) {
		b->no_memory = true;
		return NULL;
	}
	b->held_bytes += b->hold ? n : 0;
	return b->p + b->n;
}

void ss_buf_wrote(struct ss_buf *b, size_t room, size_t n)
{
	size_t left = b->hold ? room - n : 0;
	b->n += n;
	b->held_bytes -= left;
	ss_hold_give(b->hold, left);
}

void ss_buf_str(struct ss_buf *b, struct ss_str s)
{
	char *p = s.n ? ss_buf_room(b, s.n) : NULL;
	if (p) {
		memcpy(p, s.p, s.n);
		b->n += s.n;
	}
}

void ss_buf_char(struct ss_buf *b, char c)
{
	char *p = ss_buf_room(b, 1);
	if (p) {
		*p = c;
		b->n++;
	}
}

void ss_buf_z(struct ss_buf *b, const char *z)
{
	ss_buf_str(b, ss_str_from(z));
}

void ss_buf_u64(struct ss_buf *b, uint64_t v)
{
	char digits[24], *end = digits + sizeof(digits), *p = end;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	ss_buf_str(b, (struct ss_str){ p, (size_t)(end - p) });
}

void ss_buf_i64(struct ss_buf *b, int64_t v)
{
	if (v < 0)
		ss_buf_char(b, '-');
	ss_buf_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void ss_buf_printf(struct ss_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	/* The NUL takes a byte that is not counted. */
	char *p = n < 0 ? NULL : ss_buf_room(b, (size_t)n + 1);
	if (p) {
		/*
		 * The arguments may lie in a mapped file that another process writes: the length can
		 * differ now.
		 */
		int now = vsnprintf(p, (size_t)n + 1, fmt, again);
		b->n += (size_t)(now < 0 ? 0 : now < n ? now : n);
	}
	va_end(again);
}

void ss_buf_utf8(struct ss_buf *b, struct ss_str s)
{
	while (s.n) {
		size_t n = 0, one = 0;
		while (n < s.n && (one = ss_utf8_first((struct ss_str){ s.p + n, s.n - n })) > 0)
			n += one;
		ss_buf_str(b, ss_str_sub(s, 0, n));
		if (n < s.n)
			ss_buf_str(b, SS_STR("\xef\xbf\xbd"));
		s = ss_str_sub(s, n + 1, s.n);
	}
}

void ss_buf_json_str(struct ss_buf *b, struct ss_str s)
{
	bool utf8 = ss_utf8_valid(s);
	ss_buf_char(b, '"');
	for (size_t i = 0; i < s.n && !b->over && !b->no_memory; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '"' || c == '\\')
			ss_buf_char(b, '\\');
		if (c < 0x20 || c == '<')
			ss_buf_printf(b, "\\u%04x", c);
		else
			ss_buf_char(b, c < 0x80 || utf8 ? s.p[i] : '?');
	}
	ss_buf_char(b, '"');
}

bool ss_buf_ok(const struct ss_buf *b, const char *what, struct ss_err *err)
{
	if (b->no_memory)
		return ss_fail_mem(err);
	if (b->over)
		return ss_fail(err, SS_EFORMAT, "%s would be longer than %zu bytes: its parts reference each other too many times",
			       what, b->limit_bytes);
	return true;
}

void ss_buf_free(struct ss_buf *b)
{
	ss_hold_give(b->hold, b->held_bytes);
	free(b->p);
	*b = (struct ss_buf){ 0 };
}
