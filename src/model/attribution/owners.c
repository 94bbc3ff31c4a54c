/* owners.c - see build.h: who a piece of time belongs to. */
#include "model/attribution/attribution.h"

#include "model/attribution/build.h"
#include "model/fold.h"

uint32_t ss_named_owner(struct ss_attr_build *b, enum ss_time_class class, uint32_t plane, uint32_t meta, uint32_t ref,
			bool overhead)
{
	uint64_t kind = (uint64_t)(ref + 1) << 8 | ((uint64_t) class * 2 + overhead + 1);
	uint64_t key = ss_mix((uint64_t)plane << 32 | meta, kind);
	uint32_t n = (uint32_t)b->named.n;
	if (n >= SS_OWNER_GIVEN)
		return SS_NONE;
	uint32_t at = ss_u64map_add(&b->by_named, key, n);
	if (at == n && !ss_vec_push(&b->named, ((struct ss_named){ class, plane, meta, ref, overhead, 0 })))
		return SS_NONE;
	return at;
}

enum ss_time_class ss_owner_class(const struct ss_attr_build *b, uint32_t owner)
{
	return owner & SS_OWNER_CALL ? b->calls.v[owner & ~SS_OWNER_CALL].class : b->named.v[owner].class;
}
