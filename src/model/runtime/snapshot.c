/* snapshot.c - going through the events of a memory snapshot. Linear in events. */
#include "model/runtime/snapshot.h"
#include "model/host/identity.h"

#include "import/pickle.h"
#include "import/pprof.h"
#include "model/host/host.h"
#include "wire/gz_in.h"

#include <stdlib.h>

#define GONE (SS_NONE - 1)	/* in a map: this address holds nothing */
#define OOMS_MOST 1000
#define OOMS_LOOKED_AT 16	/* whose free blocks are looked for */

/* ---- the file ---- */

static void release(void *data)
{
	ss_snapshot_free(data);
	free(data);
}

/* Packed or not, as JAX and PyTorch write them. */
static bool read_file(const struct ss_file *f, struct ss_snapshot *s, struct ss_err *err)
{
	char head[64];
	struct ss_str begin = f->bytes;
	if (ss_gz_is(f->bytes)) {
		struct ss_gz_in *g = ss_gz_in_open(f->bytes);
		if (!g)
			return ss_fail_mem(err);
		begin = (struct ss_str){ head, ss_gz_in_read(g, head, sizeof(head)) };
		ss_gz_in_close(g);
	}
	return ss_pprof_is(begin) ? ss_pprof_read(f, s, err) : ss_snapshot_read(f, s, err);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	struct ss_snapshot *s = calloc(1, sizeof(*s));
	struct ss_err why = { 0 };
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	if (read_file(&h->x.file, s, &why))
		return s;
	release(s);
	ss_fail(err, why.code, "'" SS_FMT "' %s: %s", SS_ARG(h->name),
		ss_pickle_is(h->x.file.bytes) ? "is a pickle, but not a memory snapshot" : "is not a memory snapshot", why.text);
	return NULL;
}

const struct ss_snapshot *ss_host_snapshot(struct ss_host *h, struct ss_err *err)
{
	if (!ss_host_is_raw(h)) {
		ss_fail(err, SS_ENODATA, "'" SS_FMT "' is a profile, not a memory snapshot", SS_ARG(h->name));
		return NULL;
	}
	return ss_part_get(&h->parts[SS_HOST_SNAPSHOT], build, release, h, err);
}

/* ---- what stands at the end ---- */

static void add_segment(const struct ss_snapshot *s, const struct ss_snap_segment *g, struct ss_snap_device *d)
{
	bool empty = true;
	d->nsegments++;
	d->nblocks += g->nblocks;
	d->reserved += g->size;
	for (uint32_t k = 0; k < g->nblocks; k++) {
		const struct ss_snap_block *b = &s->blocks.v[g->first_block + k];
		if (b->state == SS_SNAP_INACTIVE) {
			if (b->size > d->largest_inactive)
				d->largest_inactive = b->size;
			continue;
		}
		empty = false;
		*(b->state == SS_SNAP_ALLOCATED ? &d->allocated : &d->awaiting) += b->size;
		d->requested += b->state == SS_SNAP_ALLOCATED ? b->requested : 0;
	}
	if (!empty)
		return;
	d->empty_cache += g->size;
	if (g->size > d->largest_free_segment)
		d->largest_free_segment = g->size;
}

/* ---- allocations ---- */

struct replay {
	const struct ss_snapshot *s;
	struct ss_snap_device *d;
	struct ss_u64map live;	/* by address: number of the allocation */
	SS_VEC(struct ss_snap_alloc) older; /* than the first event */
	bool tensors, no_memory;
};

static void add_old(struct replay *r, struct ss_snap_alloc a)
{
	a.begin = SS_NONE;
	r->no_memory |= r->older.n >= GONE || !ss_vec_push(&r->older, a);
}

static void begin(struct replay *r, uint32_t event)
{
	const struct ss_snap_event *e = ss_snap_event(r->s, event);
	uint32_t before = ss_u64map_get(&r->live, e->addr);
	/* The end is not among the events. */
	if (before < GONE)
		r->d->allocs.v[before].end = event;
	if (r->d->allocs.n >= GONE ||
	    !ss_vec_push(&r->d->allocs, (struct ss_snap_alloc){ e->addr, e->size, e->stack, event, SS_NONE, 1 })) {
		r->no_memory = true;
		return;
	}
	r->no_memory |= !ss_u64map_put(&r->live, e->addr, (uint32_t)r->d->allocs.n - 1);
	r->d->allocations++;
	r->d->allocated_sum += e->size;
}

static void end(struct replay *r, uint32_t event, bool may_be_known)
{
	const struct ss_snap_event *e = ss_snap_event(r->s, event);
	uint32_t at = ss_u64map_get(&r->live, e->addr);
	if (at < GONE)
		r->d->allocs.v[at].end = event;
	else if (!may_be_known || at == SS_NONE)
		add_old(r, (struct ss_snap_alloc){ e->addr, e->size, SS_NONE, SS_NONE, event, 1 });
	r->no_memory |= !ss_u64map_put(&r->live, e->addr, GONE);
}

static void read_event(struct replay *r, uint32_t event)
{
	struct ss_snap_device *d = r->d;
	const struct ss_snap_event *e = ss_snap_event(r->s, event);
	switch (e->action) {
	case SS_SNAP_ALLOC:
		begin(r, event);
		break;
	case SS_SNAP_FREE_REQUESTED:
		if (r->tensors)
			end(r, event, false);
		break;
	case SS_SNAP_FREE_COMPLETED:
		/* Of a tensor that was let go before, nothing is left to end. */
		end(r, event, r->tensors);
		d->frees++;
		break;
	case SS_SNAP_SEGMENT_ALLOC:
	case SS_SNAP_SEGMENT_MAP:
		d->segment_allocs++;
		break;
	case SS_SNAP_SEGMENT_FREE:
	case SS_SNAP_SEGMENT_UNMAP:
		d->segment_frees++;
		break;
	default:
		break;
	}
}

/* Blocks that no event allocated were there before. */
static void add_older(struct replay *r)
{
	const struct ss_snapshot *s = r->s;
	for (size_t i = 0; i < s->segments.n && !r->no_memory; i++) {
		const struct ss_snap_segment *g = &s->segments.v[i];
		for (uint32_t k = 0; k < g->nblocks && g->device == r->d->device && !r->no_memory; k++) {
			const struct ss_snap_block *b = &s->blocks.v[g->first_block + k];
			bool used = b->state == SS_SNAP_ALLOCATED || (b->state == SS_SNAP_AWAITING_FREE && !r->tensors);
			if (used && ss_u64map_get(&r->live, b->addr) >= GONE)
				add_old(r, (struct ss_snap_alloc){ b->addr, b->size, b->stack, SS_NONE, SS_NONE, b->count });
		}
	}
}

/* The older ones first: then they are in the order of their begin. */
static void put_older_first(struct replay *r)
{
	struct ss_snap_device *d = r->d;
	size_t n = d->allocs.n, older = r->older.n;
	if (r->no_memory || !older)
		return;
	if (!ss_vec_reserve(&d->allocs, n + older)) {
		r->no_memory = true;
		return;
	}
	memmove(d->allocs.v + older, d->allocs.v, n * sizeof(*d->allocs.v));
	memcpy(d->allocs.v, r->older.v, older * sizeof(*d->allocs.v));
	d->allocs.n += older;
}

/* ---- what was in use when ---- */

struct level {
	uint64_t allocated, reserved;
};

/* The allocation that ended at each event. */
static uint64_t *ended_sizes(const struct ss_snap_device *d)
{
	uint64_t *ended = calloc(d->nevents + 1, sizeof(*ended));
	for (size_t i = 0; ended && i < d->allocs.n; i++)
		if (d->allocs.v[i].end != SS_NONE)
			ended[d->allocs.v[i].end - d->first_event] += d->allocs.v[i].size;
	return ended;
}

static void step(struct level *l, const struct ss_snap_event *e, uint64_t ended)
{
	l->allocated -= ended;
	switch (e->action) {
	case SS_SNAP_ALLOC:
		l->allocated += e->size;
		break;
	case SS_SNAP_SEGMENT_ALLOC:
	case SS_SNAP_SEGMENT_MAP:
		l->reserved += e->size;
		break;
	case SS_SNAP_SEGMENT_FREE:
	case SS_SNAP_SEGMENT_UNMAP:
		l->reserved -= e->size < l->reserved ? e->size : l->reserved;
		break;
	default:
		break;
	}
}

/* Reserved before the first event: at the end, less what the events added. */
static uint64_t reserved_before(const struct ss_snapshot *s, const struct ss_snap_device *d)
{
	uint64_t more = 0, less = 0;
	for (size_t i = d->first_event; i < d->first_event + d->nevents; i++) {
		const struct ss_snap_event *e = &s->events.v[i];
		if (e->action == SS_SNAP_SEGMENT_ALLOC || e->action == SS_SNAP_SEGMENT_MAP)
			more += e->size;
		if (e->action == SS_SNAP_SEGMENT_FREE || e->action == SS_SNAP_SEGMENT_UNMAP)
			less += e->size;
	}
	return d->reserved + less > more ? d->reserved + less - more : 0;
}

static void note_oom(struct replay *r, uint32_t event, const struct level *l)
{
	const struct ss_snap_event *e = ss_snap_event(r->s, event);
	struct ss_snap_oom o = { event, e->stack, e->time_us, e->size, e->addr, l->allocated, l->reserved, UINT64_MAX };
	if (r->d->ooms.n < OOMS_MOST)
		r->no_memory |= !ss_vec_push(&r->d->ooms, o);
}

static uint64_t in_use_before(const struct ss_snap_device *d)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < d->allocs.n && d->allocs.v[i].begin == SS_NONE; i++)
		bytes += d->allocs.v[i].size;
	return bytes;
}

static void find_peak(struct replay *r)
{
	struct ss_snap_device *d = r->d;
	uint64_t *ended = ended_sizes(d);
	struct level l = { .reserved = d->reserved_start };
	if (!ended) {
		r->no_memory = true;
		return;
	}
	d->start = d->peak = l.allocated = in_use_before(d);
	d->peak_event = SS_NONE;
	for (size_t i = 0; i < d->nevents && !r->no_memory; i++) {
		const struct ss_snap_event *e = &r->s->events.v[d->first_event + i];
		step(&l, e, ended[i]);
		if (e->action == SS_SNAP_OOM)
			note_oom(r, (uint32_t)(d->first_event + i), &l);
		if (l.allocated <= d->peak)
			continue;
		d->peak = l.allocated;
		d->peak_event = (uint32_t)(d->first_event + i);
	}
	d->end = l.allocated;
	free(ended);
	for (size_t i = 0; i < d->allocs.n; i++) {
		const struct ss_snap_alloc *a = &d->allocs.v[i];
		d->peak_blocks += ss_snap_lives(a, d->peak_event) ? a->count : 0;
		d->end_blocks += a->end == SS_NONE ? a->count : 0;
	}
}

/* ---- free blocks when memory ran out ---- */

struct span {
	uint64_t begin, size;
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct span *)a)->begin, y = ((const struct span *)b)->begin;
	return SS_CMP(x, y);
}

/*
 * Segments right after the event: those at the end, less those that came and with those that went
 * since.
 */
static size_t segments_at(const struct replay *r, uint32_t event, struct span *out)
{
	const struct ss_snapshot *s = r->s;
	const struct ss_snap_device *d = r->d;
	size_t n = 0, kept = 0;
	struct ss_u64map gone = { 0 };
	bool ok = true;
	/* From the end back: what is freed later was there, unless it is allocated in between. */
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.v[i].device == d->device)
			out[n++] = (struct span){ s->segments.v[i].addr, s->segments.v[i].size };
	for (size_t i = d->first_event + d->nevents; ok && i-- > (size_t)event + 1;) {
		const struct ss_snap_event *e = &s->events.v[i];
		if (e->action == SS_SNAP_SEGMENT_FREE)
			out[n++] = (struct span){ e->addr, e->size };
		if (e->action != SS_SNAP_SEGMENT_ALLOC)
			continue;
		/* The latest entry of this address is the one that came here. */
		ok = ss_u64map_put(&gone, e->addr, (uint32_t)n);
	}
	for (size_t i = 0; ok && i < n; i++) {
		uint32_t before = ss_u64map_get(&gone, out[i].begin);
		if (before == SS_NONE || i >= before)
			out[kept++] = out[i];
	}
	ss_u64map_free(&gone);
	return ok ? kept : 0;
}

/* The largest stretch of a segment that no allocation lies in. */
static uint64_t largest_gap(struct span *segments, size_t nsegments, struct span *used, size_t nused)
{
	uint64_t largest = 0;
	size_t k = 0;
	if (nsegments)
		qsort(segments, nsegments, sizeof(*segments), by_address);
	if (nused)
		qsort(used, nused, sizeof(*used), by_address);
	for (size_t i = 0; i < nsegments; i++) {
		uint64_t at = segments[i].begin, end = at + segments[i].size;
		while (k < nused && used[k].begin < at)
			k++;
		for (; k < nused && used[k].begin < end; k++) {
			if (used[k].begin > at && used[k].begin - at > largest)
				largest = used[k].begin - at;
			at = used[k].begin + used[k].size > at ? used[k].begin + used[k].size : at;
		}
		if (end > at && end - at > largest)
			largest = end - at;
	}
	return largest;
}

static bool look_at_oom(struct replay *r, struct ss_snap_oom *o)
{
	const struct ss_snap_device *d = r->d;
	struct span *segments = malloc((d->nsegments + d->segment_frees + 1) * sizeof(*segments));
	struct span *used = malloc((d->allocs.n + 1) * sizeof(*used));
	size_t nused = 0, nsegments = segments ? segments_at(r, o->event, segments) : 0;
	for (size_t i = 0; used && i < d->allocs.n; i++)
		if (ss_snap_lives(&d->allocs.v[i], o->event))
			used[nused++] = (struct span){ d->allocs.v[i].addr, d->allocs.v[i].size };
	if (segments && used && nsegments)
		o->largest_free = largest_gap(segments, nsegments, used, nused);
	bool ok = segments && used;
	free(segments);
	free(used);
	return ok;
}

/* Segments that are mapped piece by piece have no addresses of their own to be told by. */
static bool has_pieces(const struct ss_snapshot *s, const struct ss_snap_device *d)
{
	for (size_t i = d->first_event; i < d->first_event + d->nevents; i++)
		if (s->events.v[i].action == SS_SNAP_SEGMENT_MAP || s->events.v[i].action == SS_SNAP_SEGMENT_UNMAP)
			return true;
	return false;
}

bool ss_snap_replay(const struct ss_snapshot *s, uint32_t device, bool tensors, struct ss_snap_device *out)
{
	struct replay r = { .s = s, .d = out, .tensors = tensors };
	*out = (struct ss_snap_device){ .device = device, .first_event = s->events_of[device] };
	out->nevents = s->events_of[device + 1] - out->first_event;
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.v[i].device == device)
			add_segment(s, &s->segments.v[i], out);
	uint64_t used = out->allocated + out->awaiting;
	out->inactive = out->reserved > used ? out->reserved - used : 0;
	for (size_t i = 0; i < out->nevents && !r.no_memory; i++)
		read_event(&r, (uint32_t)(out->first_event + i));
	add_older(&r);
	ss_u64map_free(&r.live);
	put_older_first(&r);
	ss_vec_free(&r.older);
	if (r.no_memory)
		return false;
	out->reserved_start = reserved_before(s, out);
	find_peak(&r);
	for (size_t i = 0; i < out->ooms.n && i < OOMS_LOOKED_AT && !r.no_memory && !has_pieces(s, out); i++)
		r.no_memory = !look_at_oom(&r, &out->ooms.v[i]);
	return !r.no_memory;
}

void ss_snap_device_free(struct ss_snap_device *d)
{
	ss_vec_free(&d->allocs);
	ss_vec_free(&d->ooms);
}

size_t ss_snap_points(const struct ss_snapshot *s, const struct ss_snap_device *d, struct ss_snap_point *out, size_t max)
{
	uint64_t *ended = ended_sizes(d);
	struct level l = { .allocated = in_use_before(d), .reserved = d->reserved_start };
	size_t n = 0, of = d->nevents / max + (d->nevents % max > 0);
	for (size_t i = 0; ended && i < d->nevents; i++) {
		const struct ss_snap_event *e = &s->events.v[d->first_event + i];
		step(&l, e, ended[i]);
		/* A new point, or more in use than at that of these events. */
		if (i % of == 0)
			n++;
		else if (l.allocated <= out[n - 1].allocated)
			continue;
		out[n - 1] = (struct ss_snap_point){ e->time_us, l.allocated, l.reserved };
	}
	bool ok = ended;
	free(ended);
	return ok ? n : SIZE_MAX;
}

/* ---- by whom ---- */

static void add_quarters(const struct ss_snapshot *s, const struct ss_snap_device *d, const struct ss_snap_alloc *a,
			 struct ss_snap_sum *sum)
{
	int64_t first = s->events.v[d->first_event].time_us, last = s->events.v[d->first_event + d->nevents - 1].time_us;
	int64_t begin = a->begin == SS_NONE ? INT64_MIN : s->events.v[a->begin].time_us;
	int64_t end = a->end == SS_NONE ? INT64_MAX : s->events.v[a->end].time_us;
	for (int q = 0; q < 4; q++) {
		double at = (double)first + ((double)last - (double)first) * (q + 1) / 4;
		if ((double)begin <= at && (double)end > at)
			sum->quarter_bytes[q] += a->size;
	}
}

void ss_snap_sum(const struct ss_snapshot *s, const struct ss_snap_device *d, struct ss_snap_sum *sums)
{
	for (size_t i = 0; i < d->allocs.n; i++) {
		const struct ss_snap_alloc *a = &d->allocs.v[i];
		struct ss_snap_sum *sum = &sums[a->stack < s->stacks.n ? a->stack : s->stacks.n];
		if (ss_snap_lives(a, d->peak_event)) {
			sum->peak_bytes += a->size;
			sum->peak_blocks += a->count;
		}
		if (a->end == SS_NONE) {
			sum->end_bytes += a->size;
			sum->end_blocks += a->count;
		}
		if (a->begin != SS_NONE) {
			sum->allocations++;
			sum->allocated_bytes += a->size;
		}
		if (a->begin != SS_NONE && a->end == SS_NONE) {
			sum->unfreed_bytes += a->size;
			sum->unfreed_blocks++;
			sum->oldest = sum->oldest ? sum->oldest : a->begin + 1;
		}
		if (d->nevents)
			add_quarters(s, d, a, sum);
	}
}

/* A file of Python; 2: and not one of the frameworks' own. */
static int own_code(struct ss_str file)
{
	static const struct ss_str frameworks[] = {
		SS_STR_INIT("/torch/"), SS_STR_INIT("/jax/_src/"), SS_STR_INIT("/jaxlib/"),
	};
	if (!ss_str_ends(file, SS_STR(".py")))
		return 0;
	for (size_t i = 0; i < SS_COUNT(frameworks); i++)
		if (ss_str_contains(file, frameworks[i]))
			return 1;
	return 2;
}

uint32_t ss_snap_frame_of(const struct ss_snapshot *s, uint32_t stack)
{
	uint32_t best = SS_NONE;
	int max = -1;
	if (stack >= s->stacks.n)
		return SS_NONE;
	const struct ss_snap_stack *k = &s->stacks.v[stack];
	for (uint32_t i = 0; i < k->n && max < 2; i++) {
		uint32_t frame = s->frame_ids.v[k->begin + i];
		int own = own_code(ss_snap_text(s, s->frames.v[frame].file));
		if (own > max) {
			max = own;
			best = frame;
		}
	}
	return best;
}
