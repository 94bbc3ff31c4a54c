/*
 * rice.h - whole numbers as bits, for columns of differences between times.
 *
 * A number is its lowest k bits behind the rest of it in unary: where numbers are about as large as
 * those before them, that is within half a bit of what they tell. k follows the mean of those
 * before, on both sides alike. What is far above takes 64 bits of its own.
 */
#ifndef SS_MODEL_CLUSTER_RICE_H
#define SS_MODEL_CLUSTER_RICE_H

#include <stdbool.h>
#include <stdint.h>

#define SS_RICE_MOST_UNARY 24
#define SS_RICE_MOST_K 50

/* Zeroed: nothing was seen. */
struct ss_rice {
	uint64_t sum;
	uint32_t n;
	uint32_t k;
};

static inline void ss_rice_seen(struct ss_rice *r, uint64_t v)
{
	r->sum += v >> r->k < 16 ? v : UINT64_C(16) << r->k;
	if (++r->n == 64) {
		r->n = 32;
		r->sum /= 2;
	}
	/* The best 2^k is ln 2 times the mean. */
	uint64_t most = r->sum / 16 * 11;
	while (r->k < SS_RICE_MOST_K && (uint64_t)r->n << r->k < most)
		r->k++;
	while (r->k && (uint64_t)r->n << (r->k - 1) >= most)
		r->k--;
}

/* Bytes of which bits are taken, the lowest first. */
struct ss_bits_in {
	const uint8_t *at, *end;
	uint64_t bits;
	unsigned n;
};

static inline void ss_bits_fill(struct ss_bits_in *b)
{
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

static inline bool ss_rice_take(struct ss_rice *r, struct ss_bits_in *b, uint64_t *v)
{
	unsigned q;
	uint64_t low, high = 0;
	if (!ss_bits_unary(b, SS_RICE_MOST_UNARY, &q))
		return false;
	bool far = q == SS_RICE_MOST_UNARY;
	if (!ss_bits_take(b, far ? 32 : r->k, &low) || (far && !ss_bits_take(b, 32, &high)))
		return false;
	*v = far ? high << 32 | low : (uint64_t)q << r->k | low;
	ss_rice_seen(r, *v);
	return true;
}

/* A run of `most` bits' length at most: its length in unary, then its bits (Elias gamma). */
static inline bool ss_bits_gamma(struct ss_bits_in *b, unsigned most, uint64_t *v)
{
	unsigned n;
	uint64_t low;
	if (!ss_bits_unary(b, most, &n) || !ss_bits_take(b, n, &low))
		return false;
	*v = UINT64_C(1) << n | low;
	return true;
}

#endif
