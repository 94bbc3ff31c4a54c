/*
 * map.c - linear probing at most two thirds full; nothing is ever removed.
 *
 * No order here is visible outside: answers are the same whatever the seeds of base/hash.h are.
 */
#include "base/map.h"

#include "base/vec.h"

#include <stdlib.h>

static size_t find(const struct ss_u64map *m, uint64_t key)
{
	size_t i = (size_t)ss_hash_u64(key) & m->mask;
	while (m->vals[i] != SS_NONE && m->keys[i] != key)
		i = (i + 1) & m->mask;
	return i;
}

static bool resize_u64(struct ss_u64map *m, size_t slots)
{
	struct ss_u64map g = { .n = m->n, .mask = slots - 1 };
	g.keys = malloc(slots * sizeof(*g.keys));
	g.vals = malloc(slots * sizeof(*g.vals));
	if (!g.keys || !g.vals) {
		ss_u64map_free(&g);
		return false;
	}
	memset(g.vals, 0xff, slots * sizeof(*g.vals));
	for (size_t i = 0; m->mask && i <= m->mask; i++) {
		if (m->vals[i] == SS_NONE)
			continue;
		size_t at = find(&g, m->keys[i]);
		g.keys[at] = m->keys[i];
		g.vals[at] = m->vals[i];
	}
	ss_u64map_free(m);
	*m = g;
	return true;
}

static bool grow_u64(struct ss_u64map *m)
{
	if (m->mask && (m->n + 1) * 3 <= (m->mask + 1) * 2)
		return true;
	return resize_u64(m, m->mask ? (m->mask + 1) * 2 : 16);
}

bool ss_u64map_reserve(struct ss_u64map *m, size_t n)
{
	size_t slots = 16;
	if (n > SIZE_MAX / 4)
		return false;
	while (n * 3 > slots * 2)
		slots *= 2;
	return slots <= m->mask + (m->mask > 0) || resize_u64(m, slots);
}

uint32_t ss_u64map_get(const struct ss_u64map *m, uint64_t key)
{
	return m->mask ? m->vals[find(m, key)] : SS_NONE;
}

uint32_t ss_u64map_add(struct ss_u64map *m, uint64_t key, uint32_t val)
{
	if (!grow_u64(m))
		return SS_NONE;
	size_t at = find(m, key);
	if (m->vals[at] == SS_NONE) {
		m->keys[at] = key;
		m->vals[at] = val;
		m->n++;
	}
	return m->vals[at];
}

bool ss_u64map_put(struct ss_u64map *m, uint64_t key, uint32_t val)
{
	if (ss_u64map_add(m, key, val) == SS_NONE)
		return false;
	m->vals[find(m, key)] = val;
	return true;
}

void ss_u64map_free(struct ss_u64map *m)
{
	free(m->keys);
	free(m->vals);
	*m = (struct ss_u64map){ 0 };
}

static size_t find_str(const struct ss_strmap *m, struct ss_str key)
{
	size_t i = (size_t)ss_str_hash(key) & m->mask;
	while (m->slots[i] != SS_NONE && !ss_str_eq(m->keys[m->slots[i]], key))
		i = (i + 1) & m->mask;
	return i;
}

static bool grow_str(struct ss_strmap *m)
{
	if (m->mask && ((size_t)m->n + 1) * 3 <= (m->mask + 1) * 2)
		return true;
	size_t slots = m->mask ? (m->mask + 1) * 2 : 16;
	uint32_t *old = m->slots, *grown = malloc(slots * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown, 0xff, slots * sizeof(*grown));
	m->slots = grown;
	m->mask = slots - 1;
	for (uint32_t i = 0; i < m->n; i++)
		m->slots[find_str(m, m->keys[i])] = i;
	free(old);
	return true;
}

uint32_t ss_strmap_get(const struct ss_strmap *m, struct ss_str key)
{
	return m->mask ? m->slots[find_str(m, key)] : SS_NONE;
}

uint32_t ss_strmap_add(struct ss_strmap *m, struct ss_str key)
{
	if (!grow_str(m))
		return SS_NONE;
	size_t at = find_str(m, key);
	if (m->slots[at] != SS_NONE)
		return m->slots[at];
	size_t cap = m->cap;
	if (m->n == SS_NONE - 1 ||
	    !ss_grow((void **)&m->keys, &cap, (size_t)m->n + 1, sizeof(*m->keys)))
		return SS_NONE;
	m->cap = cap > SS_NONE ? SS_NONE : (uint32_t)cap;
	m->keys[m->n] = key;
	m->slots[at] = m->n;
	return m->n++;
}

void ss_strmap_free(struct ss_strmap *m)
{
	free(m->keys);
	free(m->slots);
	*m = (struct ss_strmap){ 0 };
}
