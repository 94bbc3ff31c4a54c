/*
 * str.h - a borrowed piece of text or bytes: pointer and length, never NUL-terminated, never owned.
 * The bytes mostly lie in a mapped profile, so a string lives as long as the file stays open.
 */
#ifndef SS_BASE_STR_H
#define SS_BASE_STR_H

#include "base/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ss_str {
	const char *p;
	size_t n;
};

#define SS_STR(lit) ((struct ss_str){ ("" lit), sizeof(lit) - 1 })
/* For tables of constants, where a compound literal is not allowed. */
#define SS_STR_INIT(lit) { ("" lit), sizeof(lit) - 1 }
/* "%.*s" of a string: printf(SS_FMT, SS_ARG(s)). */
#define SS_FMT "%.*s"
#define SS_ARG(s) ((s).n > 4096 ? 4096 : (int)(s).n), ((s).n ? (s).p : "")
#define SS_COUNT(a) (sizeof(a) / sizeof((a)[0]))

static inline struct ss_str ss_str_from(const char *z)
{
	return (struct ss_str){ z, z ? strlen(z) : 0 };
}

static inline bool ss_str_eq(struct ss_str a, struct ss_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool ss_str_is(struct ss_str a, const char *z)
{
	return ss_str_eq(a, ss_str_from(z));
}

static inline bool ss_str_starts(struct ss_str a, struct ss_str prefix)
{
	return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

static inline bool ss_str_ends(struct ss_str a, struct ss_str suffix)
{
	return a.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(a.p + a.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* The part of `a` from byte `from` up to byte `to`, both clamped to its length. */
static inline struct ss_str ss_str_sub(struct ss_str a, size_t from, size_t to)
{
	if (to > a.n)
		to = a.n;
	if (from > to)
		from = to;
	return (struct ss_str){ a.n ? a.p + from : a.p, to - from };
}

#define SS_NPOS ((size_t)-1)

/* Position of the first (last) byte `c`, SS_NPOS when there is none. */
size_t ss_str_chr(struct ss_str a, char c);
size_t ss_str_rchr(struct ss_str a, char c);
/* Position of the first occurrence of `needle`, SS_NPOS when there is none. */
size_t ss_str_find(struct ss_str a, struct ss_str needle);
bool ss_str_contains(struct ss_str a, struct ss_str needle);
/* Like ss_str_starts, but ignores the case of ASCII letters. */
bool ss_str_istarts(struct ss_str a, struct ss_str prefix);
bool ss_str_ieq(struct ss_str a, struct ss_str b);
/* Bytewise order, a shorter string before its continuations: <0, 0, >0. */
int ss_str_cmp(struct ss_str a, struct ss_str b);
/* Index in a list that is in this order, without equal ones; SS_NPOS: it is not there. */
size_t ss_str_find_in_order(const struct ss_str *list, size_t n, struct ss_str s);
/* Strict decimal integers (optional sign for i64); false leaves *out alone. */
bool ss_str_to_i64(struct ss_str a, int64_t *out);
bool ss_str_to_u64(struct ss_str a, uint64_t *out);
/* Take `prefix`, or the decimal number, off the front of `s`. False, and `s` as it was, if it does not begin so. */
bool ss_str_take(struct ss_str *s, struct ss_str prefix);
bool ss_str_take_u64(struct ss_str *s, uint64_t *v);
/* The value of a hexadecimal digit; -1: it is none. */
static inline int ss_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
/* A decimal floating point number filling the whole string. */
bool ss_str_to_f64(struct ss_str a, double *out);
/* Bytes of the well-formed character of UTF-8 that `s` begins with; 0: it begins with none. */
size_t ss_utf8_first(struct ss_str s);
/* Is `s` well-formed UTF-8? */
bool ss_utf8_valid(struct ss_str s);
/* At most `max` bytes from the front of `s`, no character of UTF-8 cut in two. */
struct ss_str ss_utf8_front(struct ss_str s, size_t max);

#endif
