/* derive_launches.c - what launching the work of each step cost on the host, for each GPU. */
#include "base/map.h"

#include "base/vec.h"
#include "model/host/derived_line.h"
#include "model/host/host.h"
#include "model/host/stat_projection.h"
#include "model/preprocess/added.h"
#include "model/timeline/derived.h"

#include <stdlib.h>

enum { DEVICE_ID, CORRELATION_ID, NPROJECTED };
static const enum ss_stat projected_stats[NPROJECTED] = { SS_STAT_DEVICE_ID, SS_STAT_CORRELATION_ID };

/* The launches of one group on one device. */
struct launches {
	int64_t begin_ps, end_ps;
	uint64_t n, max_ps;
	double sum_ps;
	uint32_t device;
	int64_t group;
};

struct launching {
	struct ss_host *h;
	struct ss_display_plane *planes;
	struct ss_arena *arena;
	struct ss_stat_projection projection;
	struct ss_u64map by_key;
	SS_VEC(struct launches) all;
	uint32_t ndevices;
	struct ss_arena scratch;
};

static bool add_launch(struct launching *a, const struct ss_line *l, uint32_t i, int64_t device, int64_t group)
{
	int64_t begin = l->ev.begin_ps[i], end = ss_xevents_end_ps(&l->ev, i);
	uint32_t at = (uint32_t)a->all.n;
	uint32_t got = ss_u64map_add(&a->by_key, (uint64_t)device << 32 | (uint32_t)group, at);
	if (got == SS_NONE ||
	    (got == at && !ss_vec_push(&a->all, (struct launches){ .begin_ps = begin, .end_ps = end, .group = group,
								   .device = (uint32_t)device })))
		return false;
	struct launches *x = &a->all.v[got];
	x->begin_ps = begin < x->begin_ps ? begin : x->begin_ps;
	x->end_ps = end > x->end_ps ? end : x->end_ps;
	x->max_ps = l->ev.dur_ps[i] > x->max_ps ? l->ev.dur_ps[i] : x->max_ps;
	x->sum_ps += (double)l->ev.dur_ps[i];
	x->n++;
	return true;
}

/* Calls of the CUDA driver itself stand beside the launches that they are part of. */
static bool is_driver_call(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	return ss_str_starts(ss_event_name(p, l->ev.meta[i]), SS_STR("cu"));
}

static bool read_launches(struct launching *a, const struct ss_plane *p, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t group = ss_event_group(p, l, i), device = -1;
		if (group == SS_NO_GROUP || is_driver_call(p, l, i))
			continue;
		struct ss_projection_walk walk = ss_projection_event(&a->projection, ss_xevents_body(&l->ev, l->src, i));
		struct ss_xstat s;
		unsigned which;
		bool correlated = false;
		while (ss_projection_next(&walk, &which, &s)) {
			if (which == DEVICE_ID)
				device = ss_xstat_int_or_uint(&s);
			else
				correlated = true;
		}
		if (correlated && device >= 0 && device < a->ndevices && !add_launch(a, l, i, device, group))
			return false;
	}
	return true;
}

static int by_device_and_time(const void *a, const void *b)
{
	const struct launches *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->end_ps, x->end_ps) ?:
	       SS_CMP(x->group, y->group);
}

static bool add_stats(struct ss_display_line *l, const struct launches *v)
{
	struct ss_added added = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->n; i++)
		ok = ss_added_int(&added, &l->added, i, SS_STAT_NUM_LAUNCHES, (int64_t)v[i].n) &&
		     ss_added_double(&added, &l->added, i, SS_STAT_MAX_LAUNCH_TIME_US, (double)v[i].max_ps / 1e6) &&
		     ss_added_double(&added, &l->added, i, SS_STAT_AVG_LAUNCH_TIME_US, v[i].sum_ps / (double)v[i].n / 1e6);
	ok = ok && ss_added_deliver(&added);
	ss_added_free(&added);
	return ok;
}

static bool add_line(struct launching *a, struct ss_display_plane *p, const struct launches *v, size_t n)
{
	struct ss_derived line = { .id = SS_DERIVED_LAUNCH_STATS, .name = SS_STR("Launch Stats") };
	struct ss_deriver d;
	bool ok = ss_deriver_init(&d, a->h, &p->base, a->arena);
	ss_nest_init(&line.nest, true, n);
	for (size_t i = 0; ok && i < n; i++) {
		bool known = v[i].group >= 0 && v[i].group < a->h->ngroups;
		struct ss_str group = known ? a->h->groups[v[i].group].name : SS_STR("");
		struct ss_str name = ss_arena_printf(a->arena, "Launch Stats for " SS_FMT, SS_ARG(group));
		uint32_t meta = name.p ? ss_deriver_name(&d, name, SS_STR("")) : SS_NONE;
		struct ss_nest_item item = { .metas = &meta, .nmetas = 1, .begin_ps = v[i].begin_ps, .end_ps = v[i].end_ps,
					     .group = v[i].group };
		ok = meta != SS_NONE && ss_nest_close(&line.nest) && ss_nest_add(&line.nest, &item);
	}
	ok = ok && ss_display_add_lines(p, a->arena, &line, 1) && add_stats(&p->lines[p->nlines - 1], v);
	ss_nest_free(&line.nest);
	ss_deriver_free(&d);
	return ok;
}

static bool add_all(struct launching *a)
{
	struct launches *v = a->all.v;
	uint32_t device = 0;
	if (a->all.n)
		qsort(v, a->all.n, sizeof(*v), by_device_and_time);
	for (uint32_t i = 0; i < a->h->nplanes; i++) {
		if (a->planes[i].base.kind != SS_PLANE_GPU)
			continue;
		size_t from = 0, to;
		while (from < a->all.n && v[from].device < device)
			from++;
		for (to = from; to < a->all.n && v[to].device == device; to++)
			;
		if (to > from && !add_line(a, &a->planes[i], &v[from], to - from))
			return false;
		device++;
	}
	return true;
}

/* A launch's device number counts the GPU planes of the file. */
bool ss_derive_launches(struct ss_host *h, struct ss_display_plane *planes, struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_plane *host = ss_host_plane(h, SS_PLANE_HOST_CPU);
	struct launching a = { .h = h, .planes = planes, .arena = arena };
	for (uint32_t i = 0; i < h->nplanes; i++)
		a.ndevices += h->planes[i].kind == SS_PLANE_GPU;
	if (!host || !a.ndevices || !ss_xplane_has(host->x, SS_STAT_DEVICE_ID) || !ss_xplane_has(host->x, SS_STAT_CORRELATION_ID))
		return true;
	bool ok = ss_projection_init(&a.projection, host->x, projected_stats, NPROJECTED, &a.scratch);
	for (uint32_t i = 0; ok && i < host->nlines; i++)
		ok = host->lines[i].derived || read_launches(&a, host, &host->lines[i]);
	ok = ok && add_all(&a);
	ss_u64map_free(&a.by_key);
	ss_vec_free(&a.all);
	ss_arena_release(&a.scratch);
	return ok || ss_fail_mem(err);
}
