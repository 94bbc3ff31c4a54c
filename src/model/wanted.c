/* wanted.c - stats that are asked for. */
#include "model/wanted.h"

static unsigned index_of(const struct ss_wanted *w, enum ss_stat stat)
{
	unsigned k = 0;
	while (k < w->nstats && w->stats[k] != stat)
		k++;
	return k;
}

bool ss_wanted_init(struct ss_wanted *w, const struct ss_xplane *x, const enum ss_stat *stats, unsigned nstats,
		    struct ss_arena *arena)
{
	*w = (struct ss_wanted){ .x = x, .stats = stats, .nstats = nstats, .direct = true, .nby_id = x->nstat_meta_direct };
	w->by_id = ss_arena_zalloc(arena, (size_t)w->nby_id + 1, 1);
	if (!w->by_id)
		return false;
	for (uint32_t i = 0; i < x->nstat_meta; i++) {
		if (index_of(w, x->stat_meta[i].stat) == nstats)
			continue;
		w->any = true;
		w->direct &= (uint64_t)x->stat_meta[i].id < w->nby_id;
	}
	for (uint32_t id = 0; id < w->nby_id; id++) {
		uint32_t i = x->stat_meta_direct[id];
		unsigned k = i == SS_NONE ? nstats : index_of(w, x->stat_meta[i].stat);
		w->by_id[id] = k == nstats ? 0 : (uint8_t)(k + 1);
	}
	return true;
}

bool ss_wanted_next(struct ss_wanted_walk *walk, unsigned *which, struct ss_xstat *out)
{
	const struct ss_wanted *w = walk->w;
	struct ss_pb_field f;
	while (ss_pb_next(&walk->c, &f)) {
		if (f.key != walk->key || ss_wanted_glance(w, f.bytes) == w->nstats)
			continue;
		if (!ss_xstat_parse(w->x, f.bytes, out))
			return false;
		*which = index_of(w, out->stat);
		if (*which < w->nstats)
			return true;
	}
	return false;
}
