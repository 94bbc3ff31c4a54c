/* highway.c - see highway.h: four lanes of 64 bits, 32 bytes a round. */
#include "wire/highway.h"

#define ROUND_BYTES 32
#define LAST_ROUNDS 4

struct state {
	uint64_t v0[4], v1[4], mul0[4], mul1[4];
};

static uint64_t swap32(uint64_t x)
{
	return x >> 32 | x << 32;
}

static void begin(struct state *s, const uint64_t key[4])
{
	static const uint64_t init0[4] = { 0xdbe6d5d5fe4cce2fu, 0xa4093822299f31d0u, 0x13198a2e03707344u, 0x243f6a8885a308d3u };
	static const uint64_t init1[4] = { 0x3bd39e10cb0ef593u, 0xc0acf169b5f18a8cu, 0xbe5466cf34e90c6cu, 0x452821e638d01377u };
	for (int i = 0; i < 4; i++) {
		s->mul0[i] = init0[i];
		s->mul1[i] = init1[i];
		s->v0[i] = init0[i] ^ key[i];
		s->v1[i] = init1[i] ^ swap32(key[i]);
	}
}

/* Mixes bytes of two lanes, so that each byte of a product reaches many of the sum. */
static void zip(uint64_t v1, uint64_t v0, uint64_t *add1, uint64_t *add0)
{
	*add0 += ((v0 & 0x00000000ff000000u) | (v1 & 0x000000ff00000000u)) >> 24 |
		 ((v0 & 0x0000ff0000000000u) | (v1 & 0x00ff000000000000u)) >> 16 | (v0 & 0x0000000000ff0000u) |
		 (v0 & 0x000000000000ff00u) << 32 | (v1 & 0xff00000000000000u) >> 8 | v0 << 56;
	*add1 += ((v1 & 0x00000000ff000000u) | (v0 & 0x000000ff00000000u)) >> 24 | (v1 & 0x0000000000ff0000u) |
		 (v1 & 0x0000ff0000000000u) >> 16 | (v1 & 0x000000000000ff00u) << 24 | (v0 & 0x00ff000000000000u) >> 8 |
		 (v1 & 0x00000000000000ffu) << 48 | (v0 & 0xff00000000000000u);
}

static void update(struct state *s, const uint64_t lanes[4])
{
	for (int i = 0; i < 4; i++) {
		s->v1[i] += s->mul0[i] + lanes[i];
		s->mul0[i] ^= (s->v1[i] & UINT32_MAX) * (s->v0[i] >> 32);
		s->v0[i] += s->mul1[i];
		s->mul1[i] ^= (s->v0[i] & UINT32_MAX) * (s->v1[i] >> 32);
	}
	zip(s->v1[1], s->v1[0], &s->v0[1], &s->v0[0]);
	zip(s->v1[3], s->v1[2], &s->v0[3], &s->v0[2]);
	zip(s->v0[1], s->v0[0], &s->v1[1], &s->v1[0]);
	zip(s->v0[3], s->v0[2], &s->v1[3], &s->v1[2]);
}

static void update_bytes(struct state *s, const unsigned char *p)
{
	uint64_t lanes[4] = { 0 };
	for (int i = 0; i < ROUND_BYTES; i++)
		lanes[i / 8] |= (uint64_t)p[i] << (i % 8 * 8);
	update(s, lanes);
}

static uint64_t rotate_halves(uint64_t x, unsigned by)
{
	uint32_t lo = (uint32_t)x, hi = (uint32_t)(x >> 32);
	lo = lo << by | lo >> (32 - by);
	hi = hi << by | hi >> (32 - by);
	return (uint64_t)hi << 32 | lo;
}

/* The last 1 to 31 bytes. */
static void update_rest(struct state *s, const unsigned char *rest, size_t n)
{
	unsigned char round[ROUND_BYTES] = { 0 };
	size_t whole = n & ~(size_t)3, odd = n & 3;
	for (int i = 0; i < 4; i++) {
		s->v0[i] += ((uint64_t)n << 32) + n;
		s->v1[i] = rotate_halves(s->v1[i], (unsigned)n);
	}
	memcpy(round, rest, whole);
	if (n & 16) {
		memcpy(round + 28, rest + n - 4, 4);
	} else if (odd) {
		round[16] = rest[whole];
		round[17] = rest[whole + (odd >> 1)];
		round[18] = rest[n - 1];
	}
	update_bytes(s, round);
}

uint64_t ss_highway64(const uint64_t key[4], struct ss_str bytes)
{
	struct state s;
	const unsigned char *p = (const unsigned char *)bytes.p;
	size_t n = bytes.n;
	begin(&s, key);
	for (; n >= ROUND_BYTES; n -= ROUND_BYTES, p += ROUND_BYTES)
		update_bytes(&s, p);
	if (n)
		update_rest(&s, p, n);
	for (int i = 0; i < LAST_ROUNDS; i++) {
		const uint64_t crossed[4] = { swap32(s.v0[2]), swap32(s.v0[3]), swap32(s.v0[0]), swap32(s.v0[1]) };
		update(&s, crossed);
	}
	return s.v0[0] + s.v1[0] + s.mul0[0] + s.mul1[0];
}
