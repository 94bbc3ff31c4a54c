/* sha1.c - see sha1.h; FIPS 180-4. */
#include "base/sha1.h"

#include <stdio.h>

#define BLOCK 64

static uint32_t rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static uint32_t mixed(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
	return round < 20   ? ((b & c) | (~b & d)) + 0x5a827999
	       : round < 40 ? (b ^ c ^ d) + 0x6ed9eba1
	       : round < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
			    : (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(uint32_t h[5], const unsigned char *p)
{
	uint32_t w[80], v[5];
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
		       p[4 * i + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, h, sizeof(v));
	for (unsigned i = 0; i < 80; i++) {
		uint32_t first = rotate(v[0], 5) + mixed(i, v[1], v[2], v[3]) + v[4] + w[i];
		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = first;
	}
	for (unsigned i = 0; i < 5; i++)
		h[i] += v[i];
}

void ss_sha1_hex(struct ss_str s, char hex[SS_SHA1_HEX_BYTES])
{
	uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	unsigned char last[2 * BLOCK] = { 0 };
	uint64_t bits = (uint64_t)s.n * 8;
	size_t whole = s.n / BLOCK * BLOCK, rest = s.n - whole, end = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;
	for (size_t i = 0; i < whole; i += BLOCK)
		add_block(h, (const unsigned char *)s.p + i);
	if (rest)
		memcpy(last, s.p + whole, rest);
	last[rest] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		last[end - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t i = 0; i < end; i += BLOCK)
		add_block(h, last + i);
	for (unsigned i = 0; i < 5; i++)
		snprintf(hex + (size_t)8 * i, 9, "%08x", h[i]);
}
