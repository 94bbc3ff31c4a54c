/*
 * fingerprint.c - Fingerprint64, by length: up to 16 bytes, to 32, to 64, and longer ones in blocks of 64 with a state of 56
 * bytes. The last block reaches back into the one before it, so that no byte is padded.
 */
#include "base/fingerprint.h"

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

static uint64_t get64(const uint8_t *p)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static uint64_t get32(const uint8_t *p)
{
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t rotate(uint64_t v, unsigned by)
{
	return v >> by | v << (64 - by);
}

static uint64_t fold(uint64_t v)
{
	return v ^ v >> 47;
}

static uint64_t join(uint64_t u, uint64_t v, uint64_t factor)
{
	uint64_t a = fold((u ^ v) * factor);
	return fold((v ^ a) * factor) * factor;
}

static uint64_t upto16(const uint8_t *p, size_t n)
{
	uint64_t factor = K2 + 2 * (uint64_t)n;
	if (n >= 8) {
		uint64_t a = get64(p) + K2, b = get64(p + n - 8);
		return join(rotate(b, 37) * factor + a, (rotate(a, 25) + b) * factor, factor);
	}
	if (n >= 4)
		return join(n + (get32(p) << 3), get32(p + n - 4), factor);
	if (!n)
		return K2;
	uint64_t y = p[0] + ((uint64_t)p[n / 2] << 8), z = n + ((uint64_t)p[n - 1] << 2);
	return fold((y * K2) ^ (z * K0)) * K2;
}

static uint64_t upto32(const uint8_t *p, size_t n)
{
	uint64_t factor = K2 + 2 * (uint64_t)n;
	uint64_t a = get64(p) * K1, b = get64(p + 8), c = get64(p + n - 8) * factor, d = get64(p + n - 16) * K2;
	return join(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, factor);
}

static uint64_t upto64(const uint8_t *p, size_t n)
{
	uint64_t factor = K2 + 2 * (uint64_t)n;
	uint64_t a = get64(p) * K2, b = get64(p + 8), c = get64(p + n - 8) * factor, d = get64(p + n - 16) * K2;
	uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d, z = join(y, a + rotate(b + K2, 18) + c, factor);
	uint64_t e = get64(p + 16) * factor, f = get64(p + 24);
	uint64_t g = (y + get64(p + n - 32)) * factor, h = (z + get64(p + n - 24)) * factor;
	return join(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, factor);
}

struct pair {
	uint64_t a, b;
};

static struct pair mix32(const uint8_t *p, uint64_t a, uint64_t b)
{
	uint64_t first = get64(p), last = get64(p + 24), before;
	a += first;
	b = rotate(a + b + last, 21);
	before = a;
	a += get64(p + 8) + get64(p + 16);
	return (struct pair){ a + last, b + rotate(a, 44) + before };
}

struct state {
	uint64_t x, y, z;
	struct pair v, w;
};

/* The last block has another factor, and weights for what is carried into it. */
static void mix_block(struct state *s, const uint8_t *p, uint64_t factor, uint64_t weight)
{
	s->x = rotate(s->x + s->y + s->v.a + get64(p + 8), 37) * factor;
	s->y = rotate(s->y + s->v.b + get64(p + 48), 42) * factor;
	s->x ^= s->w.b * weight;
	s->y += s->v.a * weight + get64(p + 40);
	s->z = rotate(s->z + s->w.a, 33) * factor;
	s->v = mix32(p, s->v.b * factor, s->x + s->w.a);
	s->w = mix32(p + 32, s->z + s->w.b, s->y + get64(p + 16));
	uint64_t z = s->z;
	s->z = s->x;
	s->x = z;
}

static uint64_t of_blocks(const uint8_t *p, size_t n)
{
	const uint64_t seed = 81;
	struct state s = { .x = seed * K2 + get64(p), .y = seed * K1 + 113 };
	const uint8_t *last = p + n - 64;
	s.z = fold(s.y * K2 + 113) * K2;
	for (size_t left = n; left > 64; left -= 64, p += 64)
		mix_block(&s, p, K1, 1);
	uint64_t factor = K1 + ((s.z & 0xff) << 1);
	s.w.a += (n - 1) & 63;
	s.v.a += s.w.a;
	s.w.a += s.v.a;
	mix_block(&s, last, factor, 9);
	return join(join(s.v.a, s.w.a, factor) + fold(s.y) * K0 + s.z, join(s.v.b, s.w.b, factor) + s.x, factor);
}

uint64_t ss_fingerprint64(struct ss_str bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	return bytes.n <= 16 ? upto16(p, bytes.n) : bytes.n <= 32 ? upto32(p, bytes.n) : bytes.n <= 64 ? upto64(p, bytes.n)
													: of_blocks(p, bytes.n);
}
