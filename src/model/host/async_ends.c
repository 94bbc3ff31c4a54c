/* async_ends.c - see async_ends.h. */
#include "model/host/async_ends.h"

#include <stdlib.h>

static bool is_end(struct ss_str name, bool operations)
{
	return ss_str_ends(name, SS_STR("::Await")) || (operations && ss_str_starts(name, SS_STR("end: ")));
}

static bool id_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, enum ss_stat stat, uint64_t *id)
{
	struct ss_xstat s;
	bool known = ss_xstats_find(ss_line_stats(p, l, i), stat, &s);
	*id = known ? (uint64_t)ss_xstat_int_or_uint(&s) : 0;
	return known;
}

static bool read_line(struct ss_async_ends *a, const struct ss_plane *p, const struct ss_line *l, const uint8_t *ends)
{
	uint64_t id;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		if (l->ev.meta[i] >= p->x->nevent_meta || !ends[l->ev.meta[i]] ||
		    !id_of(p, l, i, SS_STAT_CONSUMER_ID, &id))
			continue;
		uint32_t at = ss_u64map_add(&a->by_id, id, (uint32_t)a->end_ps.n);
		if (at == SS_NONE || (at == a->end_ps.n && !ss_vec_push(&a->end_ps, ss_xevents_end_ps(&l->ev, i))))
			return false;
	}
	return true;
}

bool ss_async_ends_read(struct ss_async_ends *a, const struct ss_plane *p, bool operations)
{
	uint8_t *ends = calloc((size_t)p->x->nevent_meta + 1, 1);
	bool any = false, ok = ends;
	for (uint32_t i = 0; ok && i < p->x->nevent_meta; i++) {
		ends[i] = is_end(p->x->event_meta[i].name, operations);
		any = any || ends[i];
	}
	for (uint32_t k = 0; ok && any && k < p->nlines; k++)
		if (!p->lines[k].derived)
			ok = read_line(a, p, &p->lines[k], ends);
	free(ends);
	return ok;
}

int64_t ss_async_end(const struct ss_async_ends *a, const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	int64_t end_ps = ss_xevents_end_ps(&l->ev, i);
	uint64_t id;
	if (!a->end_ps.n || !id_of(p, l, i, SS_STAT_PRODUCER_ID, &id))
		return end_ps;
	uint32_t at = ss_u64map_get(&a->by_id, id);
	return at != SS_NONE && a->end_ps.v[at] > end_ps ? a->end_ps.v[at] : end_ps;
}

void ss_async_ends_free(struct ss_async_ends *a)
{
	ss_u64map_free(&a->by_id);
	ss_vec_free(&a->end_ps);
}
