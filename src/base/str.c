/* str.c - searching, comparing, parsing and hashing borrowed strings. No locale anywhere. */
#include "base/str.h"

#include "base/bisect.h"

#include <stdlib.h>

size_t ss_str_chr(struct ss_str a, char c)
{
	const char *at = a.n ? memchr(a.p, c, a.n) : NULL;
	return at ? (size_t)(at - a.p) : SS_NPOS;
}

size_t ss_str_rchr(struct ss_str a, char c)
{
	for (size_t i = a.n; i > 0; i--)
		if (a.p[i - 1] == c)
			return i - 1;
	return SS_NPOS;
}

size_t ss_str_find(struct ss_str a, struct ss_str needle)
{
	if (needle.n == 0)
		return 0;
	const char *at = a.n ? memmem(a.p, a.n, needle.p, needle.n) : NULL;
	return at ? (size_t)(at - a.p) : SS_NPOS;
}

bool ss_str_contains(struct ss_str a, struct ss_str needle)
{
	return ss_str_find(a, needle) != SS_NPOS;
}

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool ss_str_istarts(struct ss_str a, struct ss_str prefix)
{
	if (a.n < prefix.n)
		return false;
	for (size_t i = 0; i < prefix.n; i++)
		if (lower(a.p[i]) != lower(prefix.p[i]))
			return false;
	return true;
}

bool ss_str_ieq(struct ss_str a, struct ss_str b)
{
	return a.n == b.n && ss_str_istarts(a, b);
}

int ss_str_cmp(struct ss_str a, struct ss_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;
	if (order)
		return order;
	return SS_CMP(a.n, b.n);
}

size_t ss_str_find_in_order(const struct ss_str *list, size_t n, struct ss_str s)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, ss_str_cmp(list[mid], s) < 0);
	return lo < n && ss_str_eq(list[lo], s) ? lo : SS_NPOS;
}

bool ss_str_to_u64(struct ss_str a, uint64_t *out)
{
	if (a.n == 0)
		return false;
	uint64_t v = 0;
	for (size_t i = 0; i < a.n; i++) {
		unsigned digit = (unsigned)(unsigned char)a.p[i] - '0';
		/* Nineteen digits always fit. */
		if (digit > 9 || (i >= 19 && v > (UINT64_MAX - digit) / 10))
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool ss_str_to_i64(struct ss_str a, int64_t *out)
{
	bool neg = a.n && a.p[0] == '-';
	uint64_t v;
	if (!ss_str_to_u64(ss_str_sub(a, neg, a.n), &v) || v > (uint64_t)INT64_MAX + neg)
		return false;
	*out = neg ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/*
 * "12.5": fifteen digits are a whole number that a double holds, and so is the power of ten that it is
 * divided by, so that the quotient is the double nearest to the text.
 */
static bool short_decimal(struct ss_str a, double *out)
{
	static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	bool neg = a.n && a.p[0] == '-', point = false;
	size_t digits = 0, part = 0;
	uint64_t v = 0;
	for (size_t i = neg; i < a.n; i++) {
		unsigned digit = (unsigned)(unsigned char)a.p[i] - '0';
		if (digit > 9) {
			if (point || a.p[i] != '.' || !digits)
				return false;
			point = true;
			continue;
		}
		v = v * 10 + digit;
		part += point;
		if (++digits > 15)
			return false;
	}
	if (!digits)
		return false;
	*out = (neg ? -1.0 : 1.0) * ((double)v / powers[part]);
	return true;
}

bool ss_str_to_f64(struct ss_str a, double *out)
{
	if (short_decimal(a, out))
		return true;
	char buf[64];
	if (a.n == 0 || a.n >= sizeof(buf) || a.p[0] == ' ')
		return false;
	memcpy(buf, a.p, a.n);
	buf[a.n] = '\0';
	char *end;
	double v = strtod(buf, &end);
	if (*end)
		return false;
	*out = v;
	return true;
}

/* RFC 3629: no overlong forms, no surrogates. */
size_t ss_utf8_first(struct ss_str str)
{
	const unsigned char *s = (const unsigned char *)str.p;
	if (!str.n || s[0] < 0x80)
		return str.n > 0;
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || str.n < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Nearly every text is ASCII, which is passed eight bytes at a time. */
bool ss_utf8_valid(struct ss_str s)
{
	for (size_t i = 0; i < s.n;) {
		uint64_t eight;
		if (s.n - i >= sizeof(eight) && (memcpy(&eight, s.p + i, sizeof(eight)), !(eight & 0x8080808080808080))) {
			i += sizeof(eight);
			continue;
		}
		size_t n = ss_utf8_first((struct ss_str){ s.p + i, s.n - i });
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

struct ss_str ss_utf8_front(struct ss_str s, size_t max)
{
	size_t n = s.n < max ? s.n : max;
	/* If the next byte continues a character, the cut is within a character. */
	for (int i = 0; i < 3 && n && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80; i++)
		n--;
	return ss_str_sub(s, 0, n);
}

bool ss_str_take(struct ss_str *s, struct ss_str prefix)
{
	if (!ss_str_starts(*s, prefix))
		return false;
	*s = ss_str_sub(*s, prefix.n, s->n);
	return true;
}

bool ss_str_take_u64(struct ss_str *s, uint64_t *v)
{
	size_t n = 0;
	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	if (!n || !ss_str_to_u64(ss_str_sub(*s, 0, n), v))
		return false;
	*s = ss_str_sub(*s, n, s->n);
	return true;
}
