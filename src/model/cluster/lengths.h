/*
 * lengths.h - whole numbers as bits, for columns of differences between times.
 *
 * A number is written as its length in bits, then the bits below its highest one. Lengths are ranked by how often
 * they came behind the same previous length, and the rank is written in unary. What scatters about a mean takes one
 * bit more than its entropy, as with Rice coding; what takes few different values, as operations that last some cycles, and what
 * is mostly 0, takes much less. The writer and the reader rank in the same way. The previous length is that of the same operation:
 * each scatters in its own way.
 */
#ifndef SS_MODEL_CLUSTER_LENGTHS_H
#define SS_MODEL_CLUSTER_LENGTHS_H

#include "base/le.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SS_LENGTHS 65		/* of a number: 0 to 64 bits */
#define SS_LENGTH_OF_RUN SS_LENGTHS /* the context of the lengths of runs of zeros */
#define SS_LENGTH_MOST_UNARY 24	/* a higher rank is written in bits of its own */
#define SS_LENGTH_RANK_BITS 7
#define SS_LENGTH_MOST_SEEN 64

/* The lengths that came behind one length, the most frequent first. */
struct ss_length_ranks {
	uint8_t of_rank[SS_LENGTHS], seen[SS_LENGTHS];
};

/* Few are used: those that are not need no memory. */
struct ss_lengths {
	bool any[SS_LENGTHS + 1];
	struct ss_length_ranks behind[SS_LENGTHS + 1];
};

/* NULL: memory is out. */
static inline struct ss_lengths *ss_lengths_new(void)
{
	struct ss_lengths *l = malloc(sizeof(*l));
	if (l)
		memset(l->any, 0, sizeof(l->any));
	return l;
}

static inline unsigned ss_length_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* At first the nearest length is the likeliest. Runs of zeros are short. */
static inline void ss_lengths_first(struct ss_lengths *l, unsigned length)
{
	struct ss_length_ranks *r = &l->behind[length];
	unsigned about = length == SS_LENGTH_OF_RUN ? 0 : length, n = 0;
	memset(r->seen, 0, sizeof(r->seen));
	for (unsigned away = 0; n < SS_LENGTHS; away++) {
		if (away <= about)
			r->of_rank[n++] = (uint8_t)(about - away);
		if (away && about + away < SS_LENGTHS)
			r->of_rank[n++] = (uint8_t)(about + away);
	}
	l->any[length] = true;
}

static inline struct ss_length_ranks *ss_lengths_behind(struct ss_lengths *l, unsigned length)
{
	if (!l->any[length])
		ss_lengths_first(l, length);
	return &l->behind[length];
}

/* It moves before all that were not seen more often. */
static inline void ss_length_seen(struct ss_length_ranks *r, unsigned rank)
{
	uint8_t length = r->of_rank[rank], seen = (uint8_t)(r->seen[rank] + 1);
	for (; rank && r->seen[rank - 1] <= seen; rank--) {
		r->of_rank[rank] = r->of_rank[rank - 1];
		r->seen[rank] = r->seen[rank - 1];
	}
	r->of_rank[rank] = length;
	r->seen[rank] = seen;
	for (unsigned i = 0; seen >= SS_LENGTH_MOST_SEEN && i < SS_LENGTHS; i++)
		r->seen[i] /= 2;
}

/* Bytes of which bits are taken, the lowest first. */
struct ss_bits_in {
	const uint8_t *at, *end;
	uint64_t bits;
	unsigned n;
};

static inline void ss_bits_fill(struct ss_bits_in *b)
{
	if (b->end - b->at >= 8) {
		uint64_t next;
		memcpy(&next, b->at, sizeof(next));
		b->bits |= ss_le64(next) << b->n;
		b->at += (63 - b->n) >> 3;
		b->n |= 56;
		return;
	}
	while (b->n <= 56 && b->at < b->end) {
		b->bits |= (uint64_t)*b->at++ << b->n;
		b->n += 8;
	}
}

/* At most 56 bits. False: there are not so many. */
static inline bool ss_bits_take(struct ss_bits_in *b, unsigned n, uint64_t *v)
{
	if (b->n < n)
		ss_bits_fill(b);
	if (b->n < n)
		return false;
	*v = b->bits & ((UINT64_C(1) << n) - 1);
	b->bits >>= n;
	b->n -= n;
	return true;
}

/* The zeros before the next 1, which is taken too: at most `most`. */
static inline bool ss_bits_unary(struct ss_bits_in *b, unsigned most, unsigned *zeros)
{
	if (b->n <= most)
		ss_bits_fill(b);
	*zeros = b->bits ? (unsigned)__builtin_ctzll(b->bits) : 64;
	if (*zeros > most)
		return false;
	b->bits >>= *zeros + 1;
	b->n -= *zeros + 1;
	return true;
}

/* The number behind one of this length, or a run of zeros. */
static inline bool ss_lengths_take(struct ss_lengths *l, unsigned behind, struct ss_bits_in *b, uint64_t *v)
{
	struct ss_length_ranks *r = ss_lengths_behind(l, behind);
	unsigned unary;
	uint64_t rank, low = 0, high = 0;
	if (!ss_bits_unary(b, SS_LENGTH_MOST_UNARY, &unary))
		return false;
	rank = unary;
	if (unary == SS_LENGTH_MOST_UNARY && (!ss_bits_take(b, SS_LENGTH_RANK_BITS, &rank) || rank >= SS_LENGTHS))
		return false;
	unsigned length = r->of_rank[rank], below = length ? length - 1 : 0, first = below < 32 ? below : 32;
	ss_length_seen(r, (unsigned)rank);
	if (!ss_bits_take(b, first, &low) || !ss_bits_take(b, below - first, &high))
		return false;
	*v = length ? UINT64_C(1) << below | high << first | low : 0;
	return true;
}

#endif
