/*
 * ids.h - numbers by id, and sets of ids, for ids that were assigned by counting: most are dense
 * and take an array entry, or one bit each. All other ids are found in a hash map.
 */
#ifndef SS_BASE_IDS_H
#define SS_BASE_IDS_H

#include "base/map.h"

struct ss_ids {
	uint64_t least;
	uint32_t *dense;	/* by id - least, SS_NONE: not there; NULL: all are in `far` */
	uint64_t ndense;
	struct ss_u64map far;
};

/* For `count` ids from `least` to `most`. False when memory is out. */
bool ss_ids_open(struct ss_ids *m, uint64_t least, uint64_t most, size_t count);
void ss_ids_free(struct ss_ids *m);
/* Value of `id`; when it is new, it gets `val`. SS_NONE when memory is out. */
uint32_t ss_ids_add(struct ss_ids *m, uint64_t id, uint32_t val);

static inline uint32_t ss_ids_get(const struct ss_ids *m, uint64_t id)
{
	if (m->dense)
		return id - m->least < m->ndense ? m->dense[id - m->least] : SS_NONE;
	return ss_u64map_get(&m->far, id);
}

#define SS_ID_BLOCK_BITS 512

struct ss_id_block {
	uint64_t bits[SS_ID_BLOCK_BITS / 64];
};

/* Ids of several kinds, by a hash of the kind. A zeroed struct is empty. */
struct ss_idset {
	struct ss_u64map by_key;
	struct ss_id_block *v;
	size_t n, cap;
	uint64_t last_key;	/* the block that was asked for last */
	uint32_t last;
};

/* Add; *had: it was there already. False when memory is out. */
bool ss_idset_add(struct ss_idset *s, uint64_t kind, uint64_t id, bool *had);
void ss_idset_free(struct ss_idset *s);

#endif
