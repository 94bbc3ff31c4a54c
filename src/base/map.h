/*
 * map.h - open-addressing hash maps to small integers (indices into an array of the caller).
 *
 * ss_u64map: 64-bit key to u32. ss_strmap: borrowed string to u32; it is the interner as well:
 * ss_strmap_add gives every new string the next index. Values are below UINT32_MAX, which means "not
 * there".
 */
#ifndef SS_BASE_MAP_H
#define SS_BASE_MAP_H

#include "base/hash.h"

#define SS_NONE UINT32_MAX

struct ss_u64map {
	uint64_t *keys;
	uint32_t *vals;		/* SS_NONE marks a free slot */
	size_t n, mask;		/* mask = slots - 1, 0 when empty */
};

uint32_t ss_u64map_get(const struct ss_u64map *m, uint64_t key);
/* Value of `key`; when it is new, it gets `val`. SS_NONE when memory is out. */
uint32_t ss_u64map_add(struct ss_u64map *m, uint64_t key, uint32_t val);
/* Set or replace; false when memory is out. */
bool ss_u64map_put(struct ss_u64map *m, uint64_t key, uint32_t val);
/* Make room for `n` keys in total, so that adding them does not grow the table repeatedly. */
bool ss_u64map_reserve(struct ss_u64map *m, size_t n);
void ss_u64map_free(struct ss_u64map *m);

struct ss_strmap {
	struct ss_str *keys;	/* by index, in the order of addition */
	uint32_t n, cap;
	uint32_t *slots;	/* index or SS_NONE */
	size_t mask;
};

uint32_t ss_strmap_get(const struct ss_strmap *m, struct ss_str key);
/* Index of `key`, added when new (the bytes are borrowed, not copied). SS_NONE when memory is out. */
uint32_t ss_strmap_add(struct ss_strmap *m, struct ss_str key);
void ss_strmap_free(struct ss_strmap *m);

/* Mixing two 64-bit values into one, for keys of pairs. Not collision free: 64 bits of hash. */
static inline uint64_t ss_mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
	return h ^ (h >> 31);
}

#endif
