/* ids.c - see ids.h. */
#include "base/ids.h"

#include "base/vec.h"

#include <stdlib.h>

/* The bytes that a hash map takes. */
#define SLOTS_PER_ID 4

bool ss_ids_open(struct ss_ids *m, uint64_t least, uint64_t most, size_t count)
{
	*m = (struct ss_ids){ .least = least };
	if (!count || most - least >= (uint64_t)count * SLOTS_PER_ID)
		return true;
	m->ndense = most - least + 1;
	m->dense = malloc(m->ndense * sizeof(*m->dense));
	if (m->dense)
		memset(m->dense, 0xff, m->ndense * sizeof(*m->dense));
	return m->dense != NULL;
}

void ss_ids_free(struct ss_ids *m)
{
	free(m->dense);
	ss_u64map_free(&m->far);
	*m = (struct ss_ids){ 0 };
}

uint32_t ss_ids_add(struct ss_ids *m, uint64_t id, uint32_t val)
{
	if (!m->dense || id - m->least >= m->ndense)
		return ss_u64map_add(&m->far, id, val);
	uint32_t *at = &m->dense[id - m->least];
	if (*at == SS_NONE)
		*at = val;
	return *at;
}

static bool find_block(struct ss_idset *s, uint64_t key)
{
	if (s->n && s->last_key == key)
		return true;
	uint32_t at = ss_u64map_get(&s->by_key, key);
	if (at == SS_NONE) {
		at = (uint32_t)s->n;
		if (at == SS_NONE || !ss_grow((void **)&s->v, &s->cap, s->n + 1, sizeof(*s->v)) ||
		    ss_u64map_add(&s->by_key, key, at) == SS_NONE)
			return false;
		s->v[s->n++] = (struct ss_id_block){ { 0 } };
	}
	s->last_key = key;
	s->last = at;
	return true;
}

bool ss_idset_add(struct ss_idset *s, uint64_t kind, uint64_t id, bool *had)
{
	uint64_t in = id % SS_ID_BLOCK_BITS;
	*had = false;
	if (!find_block(s, ss_mix(kind, id / SS_ID_BLOCK_BITS)))
		return false;
	uint64_t *bits = &s->v[s->last].bits[in / 64], bit = UINT64_C(1) << (in % 64);
	*had = *bits & bit;
	*bits |= bit;
	return true;
}

void ss_idset_free(struct ss_idset *s)
{
	free(s->v);
	ss_u64map_free(&s->by_key);
	*s = (struct ss_idset){ 0 };
}
