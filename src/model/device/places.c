/* places.c - see places.h. */
#include "model/device/places.h"

#include "model/device/core_details.h"
#include "model/host/host.h"
#include "model/host/identity.h"

#include "base/map.h"
#include "base/vec.h"

static int64_t stat_of(const struct ss_plane *p, enum ss_stat stat)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xplane_stats(p->x), stat, &s) ? ss_xstat_int_or_uint(&s) : -1;
}

/* The number at the end of "/device:TPU:3". */
static int64_t number_in_name(const struct ss_plane *p)
{
	size_t digits = 0;
	int64_t number;
	while (digits < p->name.n && p->name.p[p->name.n - digits - 1] >= '0' && p->name.p[p->name.n - digits - 1] <= '9')
		digits++;
	return ss_str_to_i64(ss_str_sub(p->name, p->name.n - digits, p->name.n), &number) ? number : -1;
}

/* Of one host, by the number of the chip: its number on the host, and its cores so far. */
struct chips {
	struct ss_u64map local, ncores;
};

/* False when memory is out. */
static bool count_chips(struct chips *c, struct ss_place *place)
{
	uint64_t chip = (uint64_t)place->global_chip_id;
	uint32_t local = ss_u64map_add(&c->local, chip, (uint32_t)c->local.n), ncores = ss_u64map_get(&c->ncores, chip);
	ncores = ncores == SS_NONE ? 0 : ncores;
	place->local_chip_id = local;
	place->core_num = ncores;
	return local != SS_NONE && ss_u64map_put(&c->ncores, chip, ncores + 1);
}

static bool find_place(struct ss_place *place, struct chips *chips, const struct ss_plane *p)
{
	struct ss_core_details d = ss_plane_core_details(p);
	*place = (struct ss_place){ .replica_id = stat_of(p, SS_STAT_REPLICA_ID) };
	if (d.present && !d.empty) {
		place->global_chip_id = d.global_chip_id;
		place->local_chip_id = d.local_chip_id;
		place->core_num = d.core_num;
		place->device_ordinal = d.device_ordinal;
		return true;
	}
	place->device_ordinal = stat_of(p, SS_STAT_DEVICE_ID);
	if (place->device_ordinal < 0)
		place->device_ordinal = number_in_name(p);
	place->global_chip_id = stat_of(p, SS_STAT_GLOBAL_CHIP_ID);
	place->local_chip_id = place->core_num = -1;
	return place->global_chip_id < 0 || count_chips(chips, place);
}

bool ss_places_add(struct ss_places *all, const struct ss_host *h, size_t number, struct ss_intern *intern)
{
	struct chips chips = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		struct ss_place place;
		if (p->kind != SS_PLANE_TENSOR_CORE)
			continue;
		ok = find_place(&place, &chips, p);
		place.core_id = (uint32_t)p->id + (uint32_t)number * 1000;
		place.host = ss_intern_str(intern, h->name);
		place.hostname = ss_intern_str(intern, ss_host_hostname(h));
		ok = ok && ss_vec_push(all, place);
	}
	ss_u64map_free(&chips.local);
	ss_u64map_free(&chips.ncores);
	return ok && !intern->no_memory;
}
