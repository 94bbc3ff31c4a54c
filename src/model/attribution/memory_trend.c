/* memory_trend.c - see memory_trend.h. */
#include "model/attribution/memory_trend.h"

#include "base/bisect.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/runtime/memory.h"

/* Bytes in use when the step ended: of the last event before. */
static bool in_use_at(const struct ss_mem_allocator *a, int64_t t_ps, uint64_t *bytes)
{
	size_t lo = 0, hi = a->n;
	SS_BISECT(lo, hi, mid, a->events[mid].time_ps < t_ps);
	if (!lo)
		return false;
	*bytes = a->events[lo - 1].in_use_bytes > 0 ? (uint64_t)a->events[lo - 1].in_use_bytes : 0;
	return true;
}

struct growth {
	size_t steps, grew;
	uint64_t first_bytes, last_bytes;
};

static struct growth growth_of(const struct ss_mem_allocator *a, const struct ss_windows *w)
{
	struct growth g = { 0 };
	uint64_t max = 0, bytes;
	bool any = false;
	for (size_t i = 0; i < w->n; i++) {
		/* The memory that the step left allocated, up to the begin of the next step. */
		int64_t end_ps = i + 1 < w->n ? w->v[i + 1].begin_ps : w->v[i].end_ps;
		if (!in_use_at(a, end_ps, &bytes))
			continue;
		if (any) {
			g.steps++;
			g.grew += bytes > max;
		} else {
			g.first_bytes = bytes;
		}
		max = any && max > bytes ? max : bytes;
		g.last_bytes = bytes;
		any = true;
	}
	return g;
}

/* Memory of the GPU that an allocator is for, from the planes; 0: unknown. */
static uint64_t device_bytes(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		struct ss_xstats it = ss_xplane_stats(h->planes[i].x);
		struct ss_xstat s;
		while (h->planes[i].kind == SS_PLANE_GPU && ss_xstats_next(&it, &s))
			if (s.stat == SS_STAT_MEMORY_SIZE)
				return ss_xstat_uint(&s);
	}
	return 0;
}

static bool is_of_device(struct ss_str id)
{
	int64_t n;
	return ss_str_istarts(id, SS_STR("gpu")) || ss_str_istarts(id, SS_STR("cuda")) ||
	       ss_str_istarts(id, SS_STR("tpu")) || ss_str_to_i64(id, &n);
}

/* An allocator of PyTorch says what it has reserved, one of XLA what it may take. */
static bool knows_limit(struct ss_str id)
{
	return !ss_str_istarts(id, SS_STR("cuda:")) && !ss_str_istarts(id, SS_STR("cpu"));
}

static bool note_allocator(struct ss_memory_trend *out, const struct ss_memory *m, const struct ss_mem_allocator *a,
			   const struct ss_windows *w, uint64_t device, struct ss_arena *arena)
{
	struct growth g = growth_of(a, w);
	struct ss_mem_details d;
	if (!a->n)
		return true;
	if (g.grew > out->grew ||
	    (g.grew == out->grew && g.last_bytes - g.first_bytes > out->last_bytes - out->first_bytes)) {
		out->grower = a->id;
		out->steps = g.steps;
		out->grew = g.grew;
		out->first_bytes = g.first_bytes;
		out->last_bytes = g.last_bytes;
	}
	if (!ss_mem_details(m, a, a->peak, arena, &d))
		return false;
	int64_t used = d.stats.stack_bytes + d.stats.heap_bytes,
		spare = d.stats.free_bytes > 0 ? d.stats.free_bytes : 0;
	uint64_t peak = used > 0 ? (uint64_t)used : 0, limit = knows_limit(a->id) && spare ? peak + (uint64_t)spare : 0;
	uint64_t capacity = !is_of_device(a->id) ? 0 : limit ? limit : device;
	bool fuller =
		capacity && (!out->capacity_bytes ||
			     (double)peak / (double)capacity > (double)out->peak_bytes / (double)out->capacity_bytes);
	if (fuller || (!out->capacity_bytes && peak > out->peak_bytes)) {
		out->allocator = a->id;
		out->peak_bytes = peak;
		out->capacity_bytes = capacity;
		out->is_device = is_of_device(a->id);
		out->fragmentation = d.stats.fragmentation;
		out->free_bytes = (uint64_t)spare;
	}
	return true;
}

bool ss_memory_trend_read(struct ss_memory_trend *out, struct ss_host *h, const struct ss_windows *w,
			  struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	const struct ss_memory *m = ss_host_memory(h, err);
	*out = (struct ss_memory_trend){ .allocator = SS_STR(""), .grower = SS_STR("") };
	bool ok = m;
	for (uint32_t i = 0; ok && i < m->nallocators; i++) {
		out->known = true;
		ok = note_allocator(out, m, &m->allocators[i], w, device_bytes(h), &arena) || ss_fail_mem(err);
	}
	ss_arena_release(&arena);
	return ok;
}
