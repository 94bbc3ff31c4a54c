/* trace.c - the timeline part of a host and of a model, and what can be asked about one event. */
#include "model/timeline/trace.h"

#include "base/bisect.h"
#include "base/heap.h"
#include "base/pool.h"
#include "model/cluster/aligned.h"
#include "model/host/host.h"
#include "model/model.h"
#include "model/timeline/display_lines.h"
#include "model/timeline/trace_build.h"
#include "model/timeline/trace_level.h"

#include <stdlib.h>

/* From so many events on, scratch memory of reading and building them goes back to the system: answers come on top. */
#define TRIM_FROM (1u << 18)

struct level_build {
	struct ss_trace *tr;
	const uint16_t *flow_levels;
	uint32_t *largest_first;
	uint64_t *begin_ps, *end_ps;	/* per track */
};

static bool level_track(void *arg, size_t i, struct ss_err *err)
{
	struct level_build *levels = arg;
	uint32_t k = levels->largest_first[i];
	return ss_track_levels(&levels->tr->tracks[k], levels->flow_levels, &levels->begin_ps[k], &levels->end_ps[k]) ||
	       ss_fail_mem(err);
}

/*
 * So that threads end together: large tracks first. Tracks are few; a bucket per power of two is
 * order enough.
 */
static void order_by_size(const struct ss_trace *tr, uint32_t *out)
{
	uint32_t n = 0;
	for (unsigned bits = 33; bits-- > 0;)
		for (uint32_t i = 0; i < tr->ntracks; i++)
			if ((tr->tracks[i].n ? 32u - (unsigned)__builtin_clz(tr->tracks[i].n) : 0) == bits)
				out[n++] = i;
}

static bool run_levels(struct level_build *levels, struct ss_err *err)
{
	struct ss_trace *tr = levels->tr;
	order_by_size(tr, levels->largest_first);
	if (!ss_parallel(tr->ntracks, 0, level_track, levels, err))
		return false;
	tr->begin_ps = UINT64_MAX;
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		tr->nshown += tr->tracks[i].nshown;
		tr->begin_ps = levels->begin_ps[i] < tr->begin_ps ? levels->begin_ps[i] : tr->begin_ps;
		tr->end_ps = levels->end_ps[i] > tr->end_ps ? levels->end_ps[i] : tr->end_ps;
	}
	if (tr->nshown == 0)
		tr->begin_ps = tr->end_ps = 0;
	return true;
}

static bool assign_levels(struct ss_trace *tr, struct ss_err *err)
{
	size_t n = (size_t)tr->ntracks + 1;
	uint16_t *flow_levels;
	if (!ss_trace_flow_levels(tr, &flow_levels, err))
		return false;
	struct level_build levels = {
		tr, flow_levels, malloc(n * sizeof(*levels.largest_first)), malloc(n * sizeof(*levels.begin_ps)),
		malloc(n * sizeof(*levels.end_ps)),
	};
	bool ok = levels.largest_first && levels.begin_ps && levels.end_ps;
	ok = ok ? run_levels(&levels, err) : ss_fail_mem(err);
	free(levels.largest_first);
	free(levels.begin_ps);
	free(levels.end_ps);
	free(flow_levels);
	return ok;
}

static void release_trace(void *data)
{
	ss_trace_clear(data);
	free(data);
}

static void *build_trace(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_display_plane *planes = ss_host_display_planes(h, err);
	if (!planes)
		return NULL;
	struct ss_trace *tr = calloc(1, sizeof(*tr));
	if (!tr) {
		ss_fail_mem(err);
		return NULL;
	}
	tr->host = h;
	tr->planes = planes;
	if (ss_trace_build(tr, err) && assign_levels(tr, err)) {
		if (tr->nevents >= TRIM_FROM)
			ss_heap_trim();
		return tr;
	}
	release_trace(tr);
	return NULL;
}

const struct ss_trace *ss_host_trace(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_TRACE], build_trace, release_trace, h, err);
}

static void release_model(void *data)
{
	struct ss_model_trace *mt = data;
	free(mt->hosts);
	free(mt->first_track);
	free(mt->first_event);
	free(mt->first_flow);
	free(mt->clocks);
	free(mt);
}

static struct ss_model_trace *new_model_trace(size_t nhosts)
{
	struct ss_model_trace *mt = calloc(1, sizeof(*mt));
	if (!mt)
		return NULL;
	mt->nhosts = nhosts;
	mt->hosts = calloc(nhosts + 1, sizeof(*mt->hosts));
	mt->first_track = calloc(nhosts + 1, sizeof(*mt->first_track));
	mt->first_event = calloc(nhosts + 1, sizeof(*mt->first_event));
	mt->first_flow = calloc(nhosts + 1, sizeof(*mt->first_flow));
	mt->clocks = calloc(nhosts + 1, sizeof(*mt->clocks));
	if (mt->hosts && mt->first_track && mt->first_event && mt->first_flow && mt->clocks)
		return mt;
	release_model(mt);
	return NULL;
}

/*
 * Hosts whose times are absolute were each given an origin of their own; together they get the
 * earliest.
 */
static bool place_hosts(struct ss_model_trace *mt, struct ss_model *m, struct ss_err *err)
{
	int64_t min = INT64_MAX;
	if (m->aligned) {
		const struct ss_clock_map *maps = ss_model_clock_maps(m, err);
		if (maps && m->nhosts)
			memcpy(mt->clocks, maps, m->nhosts * sizeof(*maps));
		return maps;
	}
	for (size_t i = 0; i < m->nhosts; i++)
		min = m->hosts[i]->x.origin_ns < min ? m->hosts[i]->x.origin_ns : min;
	for (size_t i = 0; min > 0 && i < m->nhosts; i++) {
		uint64_t ns = (uint64_t)(m->hosts[i]->x.origin_ns - min);
		/* A month apart is no common session. */
		mt->clocks[i].shift_ps = ns < UINT64_C(2592000000000000) ? (int64_t)(ns * 1000) : 0;
	}
	return true;
}

static bool add_hosts(struct ss_model_trace *mt, struct ss_model *m, struct ss_err *err)
{
	uint64_t events = 0;
	mt->begin_ps = UINT64_MAX;
	for (size_t i = 0; i < m->nhosts; i++) {
		const struct ss_trace *tr = ss_host_trace(m->hosts[i], err);
		if (!tr)
			return false;
		mt->hosts[i] = tr;
		events += tr->nevents;
		if (events >= UINT32_MAX)
			return ss_fail(err, SS_EINVAL, "these hosts have over 4 billion events together; ask for fewer hosts");
		mt->first_track[i + 1] = mt->first_track[i] + tr->ntracks;
		mt->first_event[i + 1] = (uint32_t)events;
		mt->first_flow[i + 1] = mt->first_flow[i] + tr->nflows;
		mt->nshown += tr->nshown;
		if (!tr->nshown)
			continue;
		uint64_t begin_ps = ss_trace_shown(mt, i, tr->begin_ps), end_ps = ss_trace_shown(mt, i, tr->end_ps);
		mt->begin_ps = begin_ps < mt->begin_ps ? begin_ps : mt->begin_ps;
		mt->end_ps = end_ps > mt->end_ps ? end_ps : mt->end_ps;
	}
	if (mt->nshown == 0)
		mt->begin_ps = mt->end_ps = 0;
	return true;
}

static void *build_model(void *owner, struct ss_err *err)
{
	struct ss_model *m = owner;
	struct ss_model_trace *mt = new_model_trace(m->nhosts);
	if (!mt) {
		ss_fail_mem(err);
		return NULL;
	}
	if (place_hosts(mt, m, err) && add_hosts(mt, m, err))
		return mt;
	release_model(mt);
	return NULL;
}

const struct ss_model_trace *ss_model_trace(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_TRACE], build_model, release_model, m, err);
}

uint32_t ss_track_lower(const struct ss_track *t, uint64_t ps)
{
	int64_t at = ps > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ps;
	uint32_t lo = 0, hi = t->n;
	SS_BISECT(lo, hi, mid, ss_display_begin_ps(t->line, ss_track_event(t, mid)) < at);
	return lo;
}

uint32_t ss_trace_track_of(const struct ss_trace *tr, uint64_t event)
{
	uint32_t lo = 1, hi = tr->ntracks;
	if (event >= tr->nevents)
		return SS_NONE;
	/* The last track whose first event is not after it; tracks are never empty. */
	SS_BISECT(lo, hi, mid, tr->tracks[mid].first <= event);
	return lo - 1;
}
