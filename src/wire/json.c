/* json.c - the pull parser of JSON (RFC 8259). */
#include "wire/json.h"

#include <math.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct ss_jsonr ss_jsonr_of(struct ss_str text)
{
	const char *p = text.n ? text.p : "";
	return (struct ss_jsonr){ .at = p, .end = p + text.n };
}

static bool fail(struct ss_jsonr *r)
{
	r->bad = true;
	return false;
}

static inline void skip_blanks(struct ss_jsonr *r)
{
	const char *p = r->at;
	while (p < r->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	r->at = p;
}

static bool in_object(const struct ss_jsonr *r)
{
	return r->depth && (r->in_object[(r->depth - 1) / 64] >> ((r->depth - 1) % 64) & 1);
}

static bool open(struct ss_jsonr *r, bool object, struct ss_jtok *t)
{
	if (r->depth == SS_JSON_DEPTH)
		return fail(r);
	uint64_t bit = (uint64_t)1 << (r->depth % 64);
	r->in_object[r->depth / 64] = (r->in_object[r->depth / 64] & ~bit) | (object ? bit : 0);
	r->depth++;
	r->first = true;
	r->at++;
	*t = (struct ss_jtok){ .kind = object ? SS_J_OBJECT : SS_J_ARRAY, .text = { "", 0 } };
	return true;
}

#define BYTES(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

/* Not 0 if one of the eight bytes is 0. */
static uint64_t any_zero(uint64_t v)
{
	return (v - BYTES(1)) & ~v & BYTES(0x80);
}

/*
 * To the first quote or backslash, sixteen or eight bytes at a time; or near it, at the end of the text
 * and where bytes stand in the other order.
 */
static inline const char *pass_plain(const char *p, const char *end)
{
	uint64_t v, found;
#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		__m128i s = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(s, _mm_set1_epi8('"')), _mm_cmpeq_epi8(s, _mm_set1_epi8('\\')));
		unsigned bits = (unsigned)_mm_movemask_epi8(hit);
		if (bits)
			return p + __builtin_ctz(bits);
	}
#endif
	for (; end - p >= 8; p += 8) {
		memcpy(&v, p, sizeof(v));
		found = any_zero(v ^ BYTES('"')) | any_zero(v ^ BYTES('\\'));
		if (found)
			return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? p + __builtin_ctzll(found) / 8 : p;
	}
	return p;
}

/* Between the quotes; control characters are let through, as some writers leave them in. */
static inline bool string(struct ss_jsonr *r, enum ss_jkind kind, struct ss_jtok *t)
{
	const char *begin = r->at + 1, *end = r->end, *p = pass_plain(begin, end);
	bool escaped = false;
	for (; p < end && *p != '"'; p++)
		if (*p == '\\') {
			escaped = true;
			if (++p == end)
				break;
		}
	r->at = p;
	if (p >= end)
		return fail(r);
	r->at++;
	t->kind = kind;
	t->text = (struct ss_str){ begin, (size_t)(p - begin) };
	t->escaped = escaped;
	t->small = false;
	return true;
}

static const bool in_numbers[256] = {
	['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true, ['6'] = true, ['7'] = true,
	['8'] = true, ['9'] = true, ['-'] = true, ['+'] = true, ['.'] = true, ['e'] = true, ['E'] = true,
};

/* Words of JSON, and those that Python, protobuf and C++ write for what JSON has no numbers for. */
static bool word(struct ss_jsonr *r, struct ss_jtok *t)
{
	static const struct {
		struct ss_str text;
		enum ss_jkind kind;
	} words[] = {
		{ SS_STR_INIT("true"), SS_J_TRUE },	    { SS_STR_INIT("false"), SS_J_FALSE },
		{ SS_STR_INIT("null"), SS_J_NULL },	    { SS_STR_INIT("NaN"), SS_J_NUMBER },
		{ SS_STR_INIT("Infinity"), SS_J_NUMBER },  { SS_STR_INIT("-Infinity"), SS_J_NUMBER },
		{ SS_STR_INIT("nan"), SS_J_NUMBER },	    { SS_STR_INIT("-nan"), SS_J_NUMBER },
		{ SS_STR_INIT("inf"), SS_J_NUMBER },	    { SS_STR_INIT("-inf"), SS_J_NUMBER },
		{ SS_STR_INIT("-NaN"), SS_J_NUMBER },
	};
	struct ss_str rest = { r->at, (size_t)(r->end - r->at) };
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_starts(rest, words[i].text)) {
			*t = (struct ss_jtok){ .kind = words[i].kind, .text = ss_str_sub(rest, 0, words[i].text.n) };
			r->at += t->text.n;
			return true;
		}
	return false;
}

static inline bool number(struct ss_jsonr *r, struct ss_jtok *t)
{
	const char *begin = r->at, *p = begin;
	uint64_t u = 0;
	for (unsigned digit; p < r->end && (digit = (unsigned)(*p - '0')) < 10; p++)
		u = u * 10 + digit;
	size_t digits = (size_t)(p - begin);
	while (p < r->end && in_numbers[(uint8_t)*p])
		p++;
	r->at = p;
	t->small = digits > 0 && digits <= 18 && digits == (size_t)(p - begin);
	t->u = u;
	t->kind = SS_J_NUMBER;
	t->text = (struct ss_str){ begin, (size_t)(p - begin) };
	t->escaped = false;
	return p > begin || fail(r);
}

static bool value(struct ss_jsonr *r, struct ss_jtok *t)
{
	if (r->at == r->end)
		return fail(r);
	r->want_value = false;
	char c = *r->at;
	if (c == '{' || c == '[')
		return open(r, c == '{', t);
	r->first = false;
	r->done = r->depth == 0;
	if (c == '"')
		return string(r, SS_J_STRING, t);
	size_t sign = c == '-' && r->end - r->at > 1;
	bool digit = r->at[sign] >= '0' && r->at[sign] <= '9';
	return (!digit && word(r, t)) || number(r, t);
}

static bool close(struct ss_jsonr *r, struct ss_jtok *t)
{
	r->at++;
	r->depth--;
	r->first = false;
	r->done = r->depth == 0;
	*t = (struct ss_jtok){ .kind = SS_J_END, .text = { "", 0 } };
	return true;
}

/* Behind a member's name and its colon. */
static inline bool member_name(struct ss_jsonr *r, struct ss_jtok *t)
{
	if (r->at == r->end || *r->at != '"' || !string(r, SS_J_KEY, t))
		return fail(r);
	skip_blanks(r);
	if (r->at == r->end || *r->at++ != ':')
		return fail(r);
	skip_blanks(r);
	r->want_value = true;
	r->first = false;
	return true;
}

/* Behind the comma that parts members and elements. */
static inline bool comma(struct ss_jsonr *r)
{
	if (r->first)
		return true;
	if (r->at == r->end || *r->at != ',')
		return fail(r);
	r->at++;
	skip_blanks(r);
	return true;
}

bool ss_jsonr_member(struct ss_jsonr *r, struct ss_jtok *name, struct ss_jtok *t)
{
	skip_blanks(r);
	if (r->bad || r->want_value || !in_object(r))
		return fail(r);
	if (r->at < r->end && *r->at == '}') {
		close(r, name);
		return false;
	}
	return comma(r) && member_name(r, name) && value(r, t);
}

bool ss_jsonr_next(struct ss_jsonr *r, struct ss_jtok *t)
{
	*t = (struct ss_jtok){ .text = { "", 0 } };
	skip_blanks(r);
	if (r->bad || (r->done && r->at == r->end))
		return false;
	if (r->done)
		return fail(r);
	if (r->depth == 0 || r->want_value)
		return value(r, t);
	bool object = in_object(r);
	if (r->at < r->end && *r->at == (object ? '}' : ']'))
		return close(r, t);
	return comma(r) && (object ? member_name(r, t) : value(r, t));
}

bool ss_jsonr_skip(struct ss_jsonr *r, const struct ss_jtok *t)
{
	struct ss_jtok in = *t;
	if (in.kind == SS_J_KEY && !ss_jsonr_next(r, &in))
		return false;
	if (in.kind != SS_J_OBJECT && in.kind != SS_J_ARRAY)
		return true;
	uint32_t depth = r->depth - 1;
	while (r->depth > depth)
		if (!ss_jsonr_next(r, &in))
			return false;
	return true;
}

static int hex4(const char *p, const char *end, uint32_t *out)
{
	*out = 0;
	if (end - p < 4)
		return 0;
	for (int i = 0; i < 4; i++) {
		int c = p[i] | 0x20;
		int digit = p[i] >= '0' && p[i] <= '9' ? p[i] - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
		if (digit < 0)
			return 0;
		*out = *out << 4 | (uint32_t)digit;
	}
	return 4;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* After "\u": four digits, or two halves of a pair. Returns how much was read; a half alone becomes U+FFFD. */
static size_t unicode(const char *p, const char *end, uint32_t *out)
{
	uint32_t low;
	if (!hex4(p, end, out)) {
		*out = 0xfffd;
		return 0;
	}
	if ((*out & 0xf800) != 0xd800)
		return 4;
	if (*out < 0xdc00 && end - p >= 10 && p[4] == '\\' && p[5] == 'u' && hex4(p + 6, end, &low) &&
	    (low & 0xfc00) == 0xdc00) {
		*out = 0x10000 + ((*out & 0x3ff) << 10 | (low & 0x3ff));
		return 10;
	}
	*out = 0xfffd;
	return 4;
}

/* Decoded text is never longer than the text: the longest, of three bytes, stands for the six of "\uXXXX". */
static size_t decode(struct ss_str s, char *to)
{
	static const char from[] = "bfnrt", is[] = "\b\f\n\r\t";
	const char *p = s.p, *end = s.p + s.n;
	size_t n = 0;
	while (p < end) {
		if (*p != '\\' || p + 1 == end) {
			to[n++] = *p++;
			continue;
		}
		const char *at = strchr(from, p[1]);
		p += 2;
		if (p[-1] == 'u') {
			uint32_t c;
			size_t used = unicode(p, end, &c);
			/* "\u" without its digits is two bytes, U+FFFD three: a question mark stands for it. */
			n += put_utf8(to + n, used ? c : '?');
			p += used;
		} else {
			to[n++] = p[-1] && at ? is[at - from] : p[-1];
		}
	}
	return n;
}

struct ss_str ss_jtok_decoded(const struct ss_jtok *t, struct ss_arena *arena)
{
	char *to = ss_arena_alloc(arena, t->text.n + 1);
	return (struct ss_str){ to, to ? decode(t->text, to) : 0 };
}

bool ss_jtok_is(const struct ss_jtok *t, const char *z)
{
	return (t->kind == SS_J_KEY || t->kind == SS_J_STRING) && ss_str_is(t->text, z);
}

bool ss_jtok_f64(const struct ss_jtok *t, double *out)
{
	if (t->kind != SS_J_NUMBER && t->kind != SS_J_STRING)
		return false;
	if (ss_str_is(t->text, "NaN") || ss_str_is(t->text, "Infinity") || ss_str_is(t->text, "-Infinity")) {
		*out = t->text.p[0] == 'N' ? NAN : t->text.p[0] == '-' ? -INFINITY : INFINITY;
		return true;
	}
	return ss_str_to_f64(t->text, out);
}

bool ss_jtok_i64(const struct ss_jtok *t, int64_t *out)
{
	double d;
	if ((t->kind == SS_J_NUMBER || t->kind == SS_J_STRING) && ss_str_to_i64(t->text, out))
		return true;
	if (!ss_jtok_f64(t, &d) || !(d >= -9.2e18 && d <= 9.2e18))
		return false;
	*out = (int64_t)d;
	return true;
}
