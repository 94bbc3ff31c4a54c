/*
 * wire.h - protobuf written in place, in records of whole 8-byte words.
 *
 * Two properties of the encoding carry this library. A varint may be longer than it need be (0x80
 * 0x00 is 0), so every number gets a fixed width and can be filled in later: a scope's duration
 * when it ends. And a reader skips fields that it does not know, so the free rest of a buffer is
 * one such field. Appending a record writes the new, shorter rest first, then the record's later
 * words, and at last, in one store, its first word in place of the old rest's header: whatever
 * moment the program dies at, the file parses.
 */
#ifndef SS_INSTRUMENT_WIRE_H
#define SS_INSTRUMENT_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define REST_FIELD 1000u	/* a field number that no message of XSpace uses */

/* Eight groups of seven bits, each in a byte of its own. The inverse of folding. */
static inline uint64_t spread7(uint64_t v)
{
	v = (v & 0x000000000fffffffu) | (v & 0x00fffffff0000000u) << 4;
	v = (v & 0x00003fff00003fffu) | (v & 0x0fffc0000fffc000u) << 2;
	return (v & 0x007f007f007f007fu) | (v & 0x3f803f803f803f80u) << 1;
}

/*
 * The same in one instruction instead of twelve that wait for each other, for processors of which
 * wire_deposits() says that they have it: 4 ns of an event's 14.
 */
static inline uint64_t spread7_by(uint64_t v, bool deposit)
{
#if defined(__x86_64__)
	if (deposit) {
		uint64_t out;
		__asm__("pdep %2, %1, %0" : "=r"(out) : "r"(v), "r"(UINT64_C(0x7f7f7f7f7f7f7f7f)));
		return out;
	}
#else
	(void)deposit;
#endif
	return spread7(v);
}

#if defined(__x86_64__)
#define CPU_BMI2 (1u << 8)	/* of leaf 7, in EBX */
#define MAKER_AMD 0x68747541u	/* "Auth" of "AuthenticAMD" */
#define FAMILY_ZEN3 0x19u
#endif

/* AMD's processors before Zen 3 take longer for the one than for the twelve. */
static inline bool wire_deposits(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d, maker;
	if (!__get_cpuid(0, &a, &maker, &c, &d) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & CPU_BMI2))
		return false;
	return maker != MAKER_AMD || (__get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 15) + (a >> 20 & 255) >= FAMILY_ZEN3);
#else
	return false;
#endif
}

/* A varint of exactly 10 bytes; v below 2^63. */
static inline void put_varint10(unsigned char *p, uint64_t v)
{
	uint64_t low = spread7(v & 0x00ffffffffffffffu) | 0x8080808080808080u;
	memcpy(p, &low, 8);
	p[8] = (unsigned char)(0x80 | (v >> 56));
	p[9] = 0;
}

#define VARINT8_MAX ((UINT64_C(1) << 56) - 1)

/* A varint of exactly 8 bytes, as the word that is stored; v up to VARINT8_MAX. */
static inline uint64_t varint8(uint64_t v, bool deposit)
{
	return spread7_by(v, deposit) | 0x0080808080808080u;
}

/* The inverse of spread7: of the 7 low bits of each of n bytes. */
static inline uint64_t get_varint_n(const unsigned char *p, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
	return v;
}

/* A varint of exactly n bytes, 1 <= n <= 10. */
static inline unsigned char *put_varint_n(unsigned char *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i + 1 < n; i++, v >>= 7)
		*p++ = (unsigned char)(0x80 | (v & 0x7f));
	*p++ = (unsigned char)(v & 0x7f);
	return p;
}

static inline unsigned varint_size(uint64_t v)
{
	unsigned n = 1;
	while (v >>= 7)
		n++;
	return n;
}

static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	return put_varint_n(p, v, varint_size(v));
}

static inline unsigned char *put_field(unsigned char *p, unsigned number, uint64_t v)
{
	return put_varint(put_varint(p, number << 3), v);
}

static inline unsigned char *put_bytes(unsigned char *p, unsigned number, const void *bytes, size_t n)
{
	p = put_varint(put_varint(p, number << 3 | 2), n);
	memcpy(p, bytes, n);
	return p + n;
}

/*
 * One word that opens a message of which `rest` bytes follow: tag, a length of five bytes (strict
 * readers take no more), and the message's first field, an int64 of number 1 that is 0: the id of a
 * plane and of a line, which a later one replaces.
 */
static inline uint64_t message_word(unsigned number, uint64_t rest)
{
	unsigned char b[8];
	b[0] = (unsigned char)(number << 3 | 2);
	unsigned char *p = put_varint_n(b + 1, rest + 2, 5);
	p[0] = 1 << 3;
	p[1] = 0;
	uint64_t word;
	memcpy(&word, b, 8);
	return word;
}

/*
 * One word: the header of the free rest, of which `length` bytes follow: a tag of three bytes, a
 * length of five. Written with every event.
 */
static inline uint64_t rest_word_by(uint64_t length, bool deposit)
{
	const uint64_t tag = REST_FIELD << 3 | 2;
	return (tag & 0x7f) | 0x80 | (tag >> 7 | 0x80) << 8 | (spread7_by(length, deposit) | 0x80808080u) << 24;
}

static inline uint64_t rest_word(uint64_t length)
{
	return rest_word_by(length, false);
}

static inline void store_word(unsigned char *p, uint64_t word)
{
	__atomic_store_n((uint64_t *)(void *)p, word, __ATOMIC_RELEASE);
}

static inline uint64_t load_word(const unsigned char *p)
{
	return __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE);
}

/* Make [p, end) one field to skip; both are multiples of 8 apart. */
static inline void put_rest(unsigned char *p, const unsigned char *end)
{
	if (p < end)
		store_word(p, rest_word((uint64_t)(end - p) - 8));
}

/* Put a record of n bytes (a multiple of 8) at p, where a rest begins that reaches to end. */
static inline void append_record(unsigned char *p, const unsigned char *end, const unsigned char *record, size_t n)
{
	uint64_t first;
	put_rest(p + n, end);
	memcpy(&first, record, 8);
	memcpy(p + 8, record + 8, n - 8);
	store_word(p, first);
}

#endif
