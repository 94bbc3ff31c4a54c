/* hlo_map.c - HLO modules of /host:metadata by program id. */
#include "model/program/hlo_map.h"
#include "model/host/identity.h"

#include "model/host/plane.h"
#include "model/host/host.h"

#include <stdlib.h>

struct ss_hlo_map {
	struct ss_hlo_entry *entries;
	struct ss_hlo_module **indexed; /* by entry, beside the opened one that others read without the lock; NULL: not yet */
	uint32_t n;
	struct ss_u64map by_id;
	pthread_mutex_t lock;	/* of `indexed` and of indexing */
};

/* "name(123)" ends in a number between brackets: that is the program's id. */
static int64_t program_id(const struct ss_xevent_meta *meta)
{
	size_t open = ss_str_rchr(meta->name, '(');
	uint64_t id;
	if (open == SS_NPOS || meta->name.p[meta->name.n - 1] != ')')
		return meta->id;
	struct ss_str digits = ss_str_sub(meta->name, open + 1, meta->name.n - 1);
	return ss_str_to_u64(digits, &id) ? (int64_t)id : meta->id;
}

static bool hlo_proto_of(const struct ss_xplane *x, uint32_t meta, struct ss_str *bytes)
{
	struct ss_xstat s;
	if (!ss_xstats_find(ss_xevent_meta_stats(x, meta), SS_STAT_HLO_PROTO, &s) &&
	    !ss_xstats_find(ss_xevent_meta_stats(x, meta), SS_STAT_HLO_PROTO_LEGACY, &s))
		return false;
	*bytes = s.s;
	return s.kind == SS_X_BYTES;
}

static bool add_modules(struct ss_hlo_map *map, const struct ss_xplane *x)
{
	for (uint32_t i = 0; i < x->nevent_meta; i++) {
		struct ss_str bytes;
		if (!hlo_proto_of(x, i, &bytes))
			continue;
		struct ss_hlo_entry *e = &map->entries[map->n];
		e->program_id = program_id(&x->event_meta[i]);
		e->title = x->event_meta[i].name;
		ss_hlo_open(&e->module, bytes);
		if (ss_u64map_add(&map->by_id, (uint64_t)e->program_id, map->n) == SS_NONE)
			return false;
		map->n++;
	}
	return true;
}

static void release(void *data)
{
	struct ss_hlo_map *map = data;
	for (uint32_t i = 0; map->indexed && i < map->n; i++) {
		if (map->indexed[i])
			ss_hlo_close(map->indexed[i]);
		free(map->indexed[i]);
	}
	free(map->entries);
	free(map->indexed);
	ss_u64map_free(&map->by_id);
	pthread_mutex_destroy(&map->lock);
	free(map);
}

static void *build(void *owner, struct ss_err *err)
{
	const struct ss_host *h = owner;
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_METADATA);
	uint32_t max = p ? p->x->nevent_meta : 0;
	struct ss_hlo_map *map = calloc(1, sizeof(*map));
	if (!map) {
		ss_fail_mem(err);
		return NULL;
	}
	pthread_mutex_init(&map->lock, NULL);
	map->entries = calloc((size_t)max + 1, sizeof(*map->entries));
	map->indexed = calloc((size_t)max + 1, sizeof(*map->indexed));
	if (map->entries && map->indexed && (!p || add_modules(map, p->x)))
		return map;
	release(map);
	ss_fail_mem(err);
	return NULL;
}

struct ss_hlo_map *ss_host_hlo(struct ss_host *h, struct ss_err *err)
{
	if (ss_host_is_described(h)) {
		ss_fail(err, SS_EINVAL, "host '" SS_FMT "' is not open", SS_ARG(h->name));
		return NULL;
	}
	return ss_part_get(&h->parts[SS_HOST_HLO], build, release, h, err);
}

const struct ss_hlo_entry *ss_hlo_map_entries(const struct ss_hlo_map *map, uint32_t *n)
{
	*n = map->n;
	return map->entries;
}

bool ss_hlo_map_get(struct ss_hlo_map *map, int64_t id, const struct ss_hlo_module **out, struct ss_err *err)
{
	uint32_t i = ss_u64map_get(&map->by_id, (uint64_t)id);
	*out = NULL;
	return i == SS_NONE || ss_hlo_map_at(map, i, out, err);
}

static struct ss_hlo_module *index_module(const struct ss_hlo_module *opened, struct ss_err *err)
{
	struct ss_hlo_module *m = malloc(sizeof(*m));
	if (!m) {
		ss_fail_mem(err);
		return NULL;
	}
	*m = *opened;
	if (ss_hlo_index(m, err))
		return m;
	ss_hlo_close(m);
	free(m);
	return NULL;
}

bool ss_hlo_map_at(struct ss_hlo_map *map, uint32_t i, const struct ss_hlo_module **out, struct ss_err *err)
{
	*out = NULL;
	pthread_mutex_lock(&map->lock);
	if (!map->indexed[i])
		map->indexed[i] = index_module(&map->entries[i].module, err);
	*out = map->indexed[i];
	pthread_mutex_unlock(&map->lock);
	return *out;
}

struct ss_str ss_hlo_entry_file(const struct ss_hlo_entry *e, struct ss_arena *arena)
{
	return ss_arena_printf(arena, SS_FMT "(%llu)", SS_ARG(e->module.name), (unsigned long long)e->program_id);
}
