/*
 * pb.h - a cursor over protobuf bytes: no copies, no allocation, no recursion.
 *
 *	struct ss_pb c = ss_pb_of(bytes);
 *	struct ss_pb_field f;
 *	while (ss_pb_next(&c, &f))
 *		switch (f.key) {
 *		case PB_LEN(XPLANE_NAME):
 *			plane->name = f.bytes;
 *			break;
 *		}
 *	if (c.bad) ... the bytes are not protobuf from c.at on ...
 *
 * Field number and wire type are one key, so a field of the wrong type is just another unknown
 * field. `bad` is sticky: ask once after the loop. Every read is bounds-checked.
 *
 * The bytes may be those of a file that somebody writes to: every step is checked by what was read
 * in that step, so a cursor never leaves its bytes, but two walks over the same bytes need not find
 * the same fields. Code that counts in one walk and fills in another must fill no more than it
 * counted.
 *
 * A lenient cursor (ss_pb_lenient) treats a length that runs past the end as "up to the end" and
 * sets `cut`: it is for the outer messages of a truncated file, whose intact records are shown.
 */
#ifndef SS_WIRE_PB_H
#define SS_WIRE_PB_H

#include "base/str.h"

#define PB_VAR(number) ((uint32_t)(number) << 3 | 0)
#define PB_I64(number) ((uint32_t)(number) << 3 | 1)
#define PB_LEN(number) ((uint32_t)(number) << 3 | 2)
#define PB_I32(number) ((uint32_t)(number) << 3 | 5)

struct ss_pb {
	const uint8_t *at, *end;
	bool bad;		/* malformed: `at` is where the bad field begins */
	bool lenient, cut;
};

struct ss_pb_field {
	uint32_t key;		/* field number and wire type: compare with PB_*(number) */
	uint64_t u;		/* PB_VAR, PB_I64, PB_I32: the bits */
	struct ss_str bytes;	/* PB_LEN */
};

/*
 * A byte, read from memory exactly once: in a mapped file that another process writes to, a second
 * read may give another value.
 */
static inline uint8_t ss_pb_once(const uint8_t *p)
{
	return *(const volatile uint8_t *)p;
}

static inline struct ss_pb ss_pb_of(struct ss_str s)
{
	const uint8_t *p = (const uint8_t *)(s.n ? s.p : "");
	return (struct ss_pb){ .at = p, .end = p + s.n };
}

static inline struct ss_pb ss_pb_lenient(struct ss_str s)
{
	struct ss_pb c = ss_pb_of(s);
	c.lenient = true;
	return c;
}

/* Varints of two and more bytes; on failure *p stays and false is returned. */
bool ss_pb_varint_slow(const uint8_t **p, const uint8_t *end, uint64_t *out);
/* Everything ss_pb_next does not do inline: fixed widths, groups, failures. */
bool ss_pb_next_slow(struct ss_pb *c, const uint8_t *p, struct ss_pb_field *f);

/* Close the gaps between eight 7-bit groups, each in a byte of its own. */
static inline uint64_t ss_pb_fold7(uint64_t x)
{
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

/*
 * Varints of up to 8 bytes without a loop: one load, find the byte without its top bit, mask, fold.
 * Times and durations in ps have 3 to 8 bytes, where a loop would mispredict its end.
 */
static inline bool ss_pb_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
	const uint8_t *q = *p;
	uint8_t first = q < end ? ss_pb_once(q) : 0x80;
	if (first < 0x80) {
		*out = first;
		*p = q + 1;
		return true;
	}
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (end - q >= 8) {
		uint64_t word, stop;
		memcpy(&word, q, sizeof(word));
		stop = ~word & 0x8080808080808080u;
		if (stop) {
			*out = ss_pb_fold7(word & (stop ^ (stop - 1)));
			*p = q + ((unsigned)__builtin_ctzll(stop) / 8 + 1);
			return true;
		}
	}
#endif
	return ss_pb_varint_slow(p, end, out);
}

/*
 * Pass over a varint of at most eight bytes without its value; false for longer ones and where
 * fewer than eight bytes may be loaded: then *p stays. It may end behind the message it is in: to
 * be checked afterwards.
 */
static inline bool ss_pb_skip(const uint8_t **p, const uint8_t *readable)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t word;
	if (readable - *p < 8)
		return false;
	memcpy(&word, *p, sizeof(word));
	word = ~word & 0x8080808080808080u;
	if (!word)
		return false;
	*p += (unsigned)__builtin_ctzll(word) / 8 + 1;
	return true;
#else
	const uint8_t *q = *p;
	for (int i = 0; i < 8 && q < readable; i++, q++)
		if (*q < 0x80) {
			*p = q + 1;
			return true;
		}
	return false;
#endif
}

/* Step to the next field; false at the end and on malformed bytes. */
static inline bool ss_pb_next(struct ss_pb *c, struct ss_pb_field *f)
{
	const uint8_t *p = c->at;
	uint64_t key;
	if (p == c->end)
		return false;
	if (!ss_pb_varint(&p, c->end, &key) || key < 8 || key > UINT32_MAX) {
		c->bad = true;
		return false;
	}
	f->key = (uint32_t)key;
	if ((key & 7) == 0) {
		if (!ss_pb_varint(&p, c->end, &f->u)) {
			c->bad = true;
			return false;
		}
		c->at = p;
		return true;
	}
	if ((key & 7) == 2) {
		uint64_t n;
		if (ss_pb_varint(&p, c->end, &n) && n <= (uint64_t)(c->end - p)) {
			f->bytes = (struct ss_str){ (const char *)p, (size_t)n };
			c->at = p + n;
			return true;
		}
	}
	return ss_pb_next_slow(c, p, f);
}

static inline double ss_pb_double(uint64_t bits)
{
	double d;
	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* The value of a map entry's message {1: key, 2: value}; key 0 and empty value where absent. False when malformed. */
bool ss_pb_map_entry(struct ss_str entry, uint64_t *key, struct ss_str *value);

#endif
