/* hash.c - see hash.h. */
#include "base/hash.h"

#include "base/system.h"

uint64_t ss_hash_seeds[2];

__attribute__((constructor)) static void draw_seeds(void)
{
	/* A system without random numbers: wherever it placed the program. */
	if (!ss_random_bytes(ss_hash_seeds, sizeof(ss_hash_seeds))) {
		ss_hash_seeds[0] = (uint64_t)(uintptr_t)&ss_hash_seeds * 0x94d049bb133111ebu;
		ss_hash_seeds[1] = ss_hash_fold(ss_hash_seeds[0], 0x9e3779b97f4a7c15u);
	}
	ss_hash_seeds[1] |= 1;	/* a factor that loses nothing */
}

static uint64_t word_at(const char *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	return w;
}

static uint64_t half_at(const char *p)
{
	uint32_t w;
	memcpy(&w, p, sizeof(w));
	return w;
}

/* The idea of wyhash: two words, each with a secret, and one multiplication for 16 bytes. */
uint64_t ss_str_hash(struct ss_str a)
{
	uint64_t h = ss_hash_seeds[0] ^ a.n, v = 0, w = 0;
	const char *p = a.p;
	size_t left = a.n;
	for (; left > 16; left -= 16, p += 16)
		h = ss_hash_fold(word_at(p) ^ ss_hash_seeds[1], word_at(p + 8) ^ h);
	if (left >= 8) {	/* the words may overlap: their number is in the hash */
		v = word_at(p);
		w = word_at(p + left - 8);
	} else if (left >= 4) {
		v = half_at(p);
		w = half_at(p + left - 4);
	} else if (left) {
		v = (unsigned char)p[0] | (uint64_t)(unsigned char)p[left / 2] << 8 | (uint64_t)(unsigned char)p[left - 1] << 16;
	}
	return ss_hash_fold(v ^ ss_hash_seeds[1], w ^ h);
}

uint64_t ss_str_digest(struct ss_str bytes)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ bytes.n;
	size_t i = 0;
	for (; i + 8 <= bytes.n; i += 8) {
		uint64_t w = 0;
		for (unsigned k = 0; k < 8; k++)
			w |= (uint64_t)(uint8_t)bytes.p[i + k] << 8 * k;
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	for (; i < bytes.n; i++) {
		h = (h ^ (uint8_t)bytes.p[i]) * UINT64_C(0xc4ceb9fe1a85ec53);
		h ^= h >> 29;
	}
	return h;
}
