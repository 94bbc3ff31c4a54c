/* memory_snapshot_rows.c - rows of what a replay found. */
#include "tools/memory_snapshot_rows.h"

#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

#define POINTS_MOST 1000	/* of a timeline, for each device */
#define ROWS_MOST 10000		/* of blocks and segments */
#define DRAWN_MOST 4000		/* allocations on the timeline */

/* Share of what is held and not used that no single block has: 1 - largest / inactive. */
static double snap_frag_frac(const struct ss_snap_device *d)
{
	return d->inactive ? 1 - (double)d->largest_inactive / (double)d->inactive : 0;
}

double ss_snap_since_us(const struct ss_snap_answer *a, uint32_t event)
{
	return event == SS_NONE ? (double)NAN : (double)ss_snap_event(a->s, event)->time_us - (double)a->first_us;
}

struct ss_str ss_snap_frame_text(const struct ss_snap_answer *a, uint32_t frame)
{
	const struct ss_snap_frame *f = &a->s->frames.v[frame];
	struct ss_str file = ss_snap_text(a->s, f->file), name = ss_snap_text(a->s, f->name);
	if (!file.n || ss_str_is(file, "??"))
		return name;
	return ss_arena_printf(a->arena, SS_FMT ":%lld:" SS_FMT, SS_ARG(file), (long long)f->line, SS_ARG(name));
}

struct ss_str ss_snap_stack_name(const struct ss_snap_answer *a, uint32_t stack)
{
	uint32_t frame = ss_snap_frame_of(a->s, stack);
	return frame == SS_NONE ? SS_STR("(no stack)") : ss_snap_frame_text(a, frame);
}

/* ---- summary ---- */

enum {
	SU_DEVICE, SU_NAME, SU_RESERVED, SU_ALLOCATED, SU_AWAITING, SU_REQUESTED, SU_ROUNDING, SU_INACTIVE, SU_LARGEST, SU_FRAG,
	SU_SEGMENT, SU_CACHE, SU_SEGMENTS, SU_BLOCKS, SU_START, SU_PEAK, SU_PEAK_TIME, SU_PEAK_HISTORY, SU_END, SU_PEAK_BLOCKS,
	SU_END_BLOCKS, SU_EVENTS, SU_ALLOCATIONS, SU_FREES, SU_SUM, SU_SEG_ALLOCS, SU_SEG_FREES, SU_OOMS, SU_SPAN,
};

static const struct ss_col summary_cols[] = {
	INT("device", "Device", NONE, NULL),
	STR("device_name", "Name", "JAX's name of the device; empty: PyTorch's device of that number"),
	NUM("reserved_bytes", "Reserved", BYTES, "Segments that the allocator holds at the end"),
	INT("allocated_bytes", "Allocated", BYTES, "Blocks in use, at the end"),
	NUM("awaiting_free_bytes", "Awaiting free", BYTES, "Blocks that were released while a stream may still use them"),
	NUM("requested_bytes", "Requested", BYTES, "Bytes that the program requested for the blocks in use"),
	NUM("rounding_bytes", "Rounding", BYTES, "allocated_bytes - requested_bytes"),
	NUM("inactive_bytes", "Inactive", BYTES, "Held but not used: reserved - allocated - awaiting free"),
	NUM("largest_inactive_block_bytes", "Largest free block", BYTES, "Largest allocation that needs no new memory from "
	    "the device"),
	NUM("frag_frac", "Fragmentation", FRAC, "1 - largest free block / inactive; 0 where nothing is inactive"),
	NUM("largest_free_segment_bytes", "Largest free segment", BYTES, "Largest segment without a block in use"),
	NUM("empty_cache_bytes", "empty_cache() frees", BYTES, "Segments without a block in use"),
	NUM("segments", "Segments", COUNT, NULL),
	INT("blocks", "Blocks", COUNT, NULL),
	NUM("start_bytes", "In use at the start", BYTES, "Allocated before the first recorded event"),
	INT("peak_bytes", "Peak", BYTES, "Most memory in use at one moment between the first event and the last"),
	NUM("peak_time_us", "Time of the peak", US, "Time since the first event; empty: before it"),
	NUM("peak_of_history_bytes", "Peak of the events", BYTES, "peak_bytes - start_bytes"),
	INT("end_bytes", "In use at the end", BYTES, NULL),
	INT("blocks_at_peak", "Blocks at the peak", COUNT, NULL),
	INT("live_at_end", "Blocks at the end", COUNT, "In use"),
	NUM("events", "Events", COUNT, "Events of memory; they are kept in a ring, which drops older ones"),
	NUM("allocations", "Allocations", COUNT, NULL),
	NUM("frees", "Frees", COUNT, "Completed ones"),
	NUM("allocated_sum_bytes", "Allocated in all", BYTES, "Sum of all recorded allocations"),
	NUM("segment_allocs", "Segments taken", COUNT, "Segments taken from the device; the program waits for each"),
	NUM("segment_frees", "Segments given back", COUNT, NULL),
	NUM("oom_events", "Out of memory", COUNT, NULL),
	NUM("span_us", "Time of the events", US, NULL),
};

void ss_snap_set_pytorch(struct ss_table *t, const struct ss_snap_answer *a, size_t col, double v)
{
	ss_set_f64(t, col, a->s->jax ? NAN : v);
}

static void set_held(struct ss_table *t, const struct ss_snap_answer *a, const struct ss_snap_device *d)
{
	ss_set_i64(t, SU_ALLOCATED, (int64_t)d->allocated);
	/* JAX tells of each stack how many there are. */
	ss_set_i64(t, SU_BLOCKS, a->s->jax ? (int64_t)d->end_blocks : (int64_t)d->nblocks);
	ss_snap_set_pytorch(t, a, SU_RESERVED, (double)d->reserved);
	ss_snap_set_pytorch(t, a, SU_AWAITING, (double)d->awaiting);
	ss_snap_set_pytorch(t, a, SU_REQUESTED, (double)d->requested);
	ss_snap_set_pytorch(t, a, SU_ROUNDING, (double)d->allocated - (double)d->requested);
	ss_snap_set_pytorch(t, a, SU_INACTIVE, (double)d->inactive);
	ss_snap_set_pytorch(t, a, SU_LARGEST, (double)d->largest_inactive);
	ss_snap_set_pytorch(t, a, SU_FRAG, snap_frag_frac(d));
	ss_snap_set_pytorch(t, a, SU_SEGMENT, (double)d->largest_free_segment);
	ss_snap_set_pytorch(t, a, SU_CACHE, (double)d->empty_cache);
	ss_snap_set_pytorch(t, a, SU_SEGMENTS, d->nsegments);
}

static void set_events(struct ss_table *t, const struct ss_snap_answer *a, const struct ss_snap_device *d)
{
	const struct ss_snap_event *e = d->nevents ? &a->s->events.v[d->first_event] : NULL;
	ss_set_i64(t, SU_PEAK, (int64_t)d->peak);
	ss_set_f64(t, SU_PEAK_TIME, ss_snap_since_us(a, d->peak_event));
	ss_set_i64(t, SU_END, (int64_t)d->end);
	ss_set_i64(t, SU_PEAK_BLOCKS, (int64_t)d->peak_blocks);
	ss_set_i64(t, SU_END_BLOCKS, (int64_t)d->end_blocks);
	ss_snap_set_pytorch(t, a, SU_START, (double)d->start);
	ss_snap_set_pytorch(t, a, SU_PEAK_HISTORY, (double)(d->peak - d->start));
	ss_snap_set_pytorch(t, a, SU_EVENTS, (double)d->nevents);
	ss_snap_set_pytorch(t, a, SU_ALLOCATIONS, (double)d->allocations);
	ss_snap_set_pytorch(t, a, SU_FREES, (double)d->frees);
	ss_snap_set_pytorch(t, a, SU_SUM, (double)d->allocated_sum);
	ss_snap_set_pytorch(t, a, SU_SEG_ALLOCS, (double)d->segment_allocs);
	ss_snap_set_pytorch(t, a, SU_SEG_FREES, (double)d->segment_frees);
	ss_snap_set_pytorch(t, a, SU_OOMS, (double)d->ooms.n);
	ss_snap_set_pytorch(t, a, SU_SPAN, d->nevents ? (double)e[d->nevents - 1].time_us - (double)e[0].time_us : 0);
}

void ss_snap_add_summary(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "summary", "Devices", summary_cols, SS_COUNT(summary_cols));
	for (size_t i = 0; i < a->ndevices; i++) {
		const struct ss_snap_device *d = &a->devices[i];
		ss_table_row(t);
		ss_set_i64(t, SU_DEVICE, d->device);
		ss_set_str(t, SU_NAME, d->device < a->s->devices.n ? a->s->devices.keys[d->device] : SS_STR(""));
		set_held(t, a, d);
		set_events(t, a, d);
	}
}

/* ---- JAX's kinds ---- */

enum { KI_DEVICE, KI_KIND, KI_COUNT, KI_BYTES };

static const struct ss_col kind_cols[] = {
	STR("device_name", "Device", "Name of the device; empty: on no device"),
	STR("kind", "Kind", "buffer: an array; executable: a compiled program"),
	INT("allocations", "Allocations", COUNT, NULL),
	INT("bytes", "Bytes", BYTES, NULL),
};

void ss_snap_add_kinds(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "kinds", "What is in use", kind_cols, SS_COUNT(kind_cols));
	for (size_t i = 0; i < a->s->kinds.n; i++) {
		const struct ss_snap_kind *k = &a->s->kinds.v[i];
		ss_table_row(t);
		ss_set_str(t, KI_DEVICE, k->device);
		ss_set_str(t, KI_KIND, k->kind);
		ss_set_i64(t, KI_COUNT, (int64_t)k->count);
		ss_set_i64(t, KI_BYTES, (int64_t)k->bytes);
	}
}

/* ---- timeline ---- */

enum { TI_DEVICE, TI_TIME, TI_UNIX, TI_ALLOCATED, TI_RESERVED };

static const struct ss_col timeline_cols[] = {
	INT("device", "Device", NONE, NULL),
	NUM("time_us", "Time", US, "Since the first event"),
	INT("unix_us", "Microseconds since 1970", NONE, NULL),
	INT("allocated_bytes", "In use", BYTES, "Maximum over the events that this point combines"),
	INT("reserved_bytes", "Reserved", BYTES, "Reserved memory at that moment"),
};

bool ss_snap_add_timeline(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "timeline", "Memory over time", timeline_cols, SS_COUNT(timeline_cols));
	struct ss_snap_point *points = malloc(POINTS_MOST * sizeof(*points));
	bool ok = points;
	for (size_t i = 0; ok && i < a->ndevices; i++) {
		size_t n = ss_snap_points(a->s, &a->devices[i], points, POINTS_MOST);
		ok = n != SIZE_MAX;
		for (size_t k = 0; ok && k < n; k++) {
			ss_table_row(t);
			ss_set_i64(t, TI_DEVICE, a->devices[i].device);
			ss_set_f64(t, TI_TIME, (double)points[k].time_us - (double)a->first_us);
			ss_set_i64(t, TI_UNIX, points[k].time_us);
			ss_set_i64(t, TI_ALLOCATED, (int64_t)points[k].allocated);
			ss_set_i64(t, TI_RESERVED, (int64_t)points[k].reserved);
		}
	}
	free(points);
	return ok;
}

/* ---- the largest of many ---- */

struct pick {
	uint64_t size;
	uint32_t device, index;
};

static int by_size(const void *a, const void *b)
{
	const struct pick *x = a, *y = b;
	return SS_CMP(y->size, x->size) ?: SS_CMP(x->device, y->device) ?: SS_CMP(x->index, y->index);
}

/* A heap with the least at its top, of the `most` largest until now. */
struct largest {
	struct pick *v;
	size_t n, max;
};

static void sink(struct pick *v, size_t n, size_t i)
{
	for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && by_size(&v[child], &v[child + 1]) < 0)
			child++;
		if (by_size(&v[i], &v[child]) >= 0)
			return;
		struct pick swap = v[i];
		v[i] = v[child];
		v[child] = swap;
		i = child;
	}
}

static void offer(struct largest *l, struct pick p)
{
	if (l->n < l->max) {
		l->v[l->n++] = p;
		if (l->n == l->max)
			for (size_t i = l->n / 2; i-- > 0;)
				sink(l->v, l->n, i);
		return;
	}
	if (by_size(&p, &l->v[0]) >= 0)
		return;
	l->v[0] = p;
	sink(l->v, l->n, 0);
}

static bool make_largest(struct largest *l, size_t max)
{
	*l = (struct largest){ .v = malloc(max * sizeof(struct pick)), .max = max };
	return l->v;
}

static void sort_largest(struct largest *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_size);
}

/* ---- allocations ---- */

/* JAX records no addresses: its table ends before that column. */
enum { AL_DEVICE, AL_SIZE, AL_BEGIN, AL_END, AL_LIFE, AL_ORDER, AL_PEAK, AL_FRAME, AL_STACK, AL_ADDRESS, AL_COUNT };

static const struct ss_col allocation_cols[] = {
	INT("device", "Device", NONE, NULL),
	INT("size_bytes", "Size", BYTES, NULL),
	NUM("begin_us", "Allocated", US, "Time since the first event; empty: before it"),
	NUM("end_us", "Freed", US, "Time since the first event; empty: in use at the end"),
	NUM("lifetime_us", "Lifetime", US, "Time from allocation to release; empty: begin or end is not recorded"),
	INT("order", "Order", NONE, "Rank by begin among all allocations of the device: the order in which a drawing stacks them"),
	FLAG("at_peak", "At the peak", NULL),
	STR("frame", "By", "The innermost frame of a Python file that is not part of PyTorch"),
	ID("stack", "Stack", "Number of the stack in the table of stacks; -1: unknown"),
	INT("address", "Address", HEX, NULL),
};

static void add_allocation(struct ss_table *t, struct ss_snap_answer *a, const struct ss_snap_device *d, uint32_t index)
{
	const struct ss_snap_alloc *x = &d->allocs.v[index];
	double begin = ss_snap_since_us(a, x->begin);
	double end = ss_snap_since_us(a, x->end);
	struct ss_str name = ss_snap_stack_name(a, x->stack);
	ss_table_row(t);
	ss_set_i64(t, AL_DEVICE, d->device);
	if (!a->s->jax)
		ss_set_i64(t, AL_ADDRESS, (int64_t)x->addr);
	ss_set_i64(t, AL_SIZE, (int64_t)x->size);
	ss_set_f64(t, AL_BEGIN, begin);
	ss_set_f64(t, AL_END, end);
	ss_set_f64(t, AL_LIFE, end - begin);
	ss_set_i64(t, AL_ORDER, index);
	ss_set_bool(t, AL_PEAK, ss_snap_lives(x, d->peak_event));
	ss_set_str(t, AL_FRAME, name);
	ss_set_i64(t, AL_STACK, x->stack == SS_NONE ? -1 : (int64_t)x->stack);
}

bool ss_snap_add_allocations(struct ss_snap_answer *a)
{
	struct ss_table *t =
		ss_result_table(a->out, "allocations", "Largest allocations", allocation_cols, a->s->jax ? AL_ADDRESS : AL_COUNT);
	struct largest l;
	bool ok = make_largest(&l, DRAWN_MOST) && t;
	for (uint32_t i = 0; ok && i < a->ndevices; i++)
		for (uint32_t k = 0; k < a->devices[i].allocs.n; k++)
			offer(&l, (struct pick){ a->devices[i].allocs.v[k].size, i, k });
	sort_largest(&l);
	for (size_t i = 0; ok && i < l.n; i++)
		add_allocation(t, a, &a->devices[l.v[i].device], l.v[i].index);
	free(l.v);
	return ok;
}

/* ---- segments and blocks ---- */

enum {
	SE_DEVICE, SE_ADDRESS, SE_TOTAL, SE_TYPE, SE_STREAM, SE_POOL, SE_EXPANDABLE, SE_ALLOCATED, SE_REQUESTED, SE_INACTIVE,
	SE_LARGEST, SE_BLOCKS, SE_USED, SE_FRAME,
};

static const struct ss_col segment_cols[] = {
	INT("device", "Device", NONE, NULL),
	INT("address", "Address", HEX, NULL),
	INT("total_size_bytes", "Size", BYTES, NULL),
	STR("segment_type", "Type", "small: for allocations of up to a mebibyte; large: for others"),
	INT("stream", "Stream", NONE, NULL),
	STR("pool", "Pool", "Pool of a CUDA graph or of the user; 0,0: the default pool"),
	FLAG("is_expandable", "Expandable", NULL),
	INT("allocated_bytes", "In use", BYTES, "Blocks in use or awaiting free"),
	INT("requested_bytes", "Requested", BYTES, NULL),
	INT("inactive_bytes", "Inactive", BYTES, NULL),
	INT("largest_inactive_block_bytes", "Largest free block", BYTES, NULL),
	INT("blocks", "Blocks", COUNT, NULL),
	INT("blocks_in_use", "In use", COUNT, "Blocks in use or awaiting free"),
	STR("frame", "By", "The frame whose allocation made PyTorch request the segment from the device"),
};

static void add_segment(struct ss_table *t, struct ss_snap_answer *a, const struct ss_snap_segment *g)
{
	uint64_t used = 0, requested = 0, largest = 0;
	int64_t in_use = 0;
	struct ss_str pool = ss_arena_printf(a->arena, "%llu,%llu", (unsigned long long)g->pool[0], (unsigned long long)g->pool[1]);
	struct ss_str name = ss_snap_stack_name(a, g->stack);
	for (uint32_t k = 0; k < g->nblocks; k++) {
		const struct ss_snap_block *b = &a->s->blocks.v[g->first_block + k];
		bool free_one = b->state == SS_SNAP_INACTIVE;
		used += free_one ? 0 : b->size;
		requested += free_one ? 0 : b->requested;
		in_use += !free_one;
		largest = free_one && b->size > largest ? b->size : largest;
	}
	ss_table_row(t);
	ss_set_i64(t, SE_DEVICE, g->device);
	ss_set_i64(t, SE_ADDRESS, (int64_t)g->addr);
	ss_set_i64(t, SE_TOTAL, (int64_t)g->size);
	ss_set_str(t, SE_TYPE, g->small ? SS_STR("small") : SS_STR("large"));
	ss_set_i64(t, SE_STREAM, g->stream);
	ss_set_str(t, SE_POOL, pool);
	ss_set_bool(t, SE_EXPANDABLE, g->expandable);
	ss_set_i64(t, SE_ALLOCATED, (int64_t)used);
	ss_set_i64(t, SE_REQUESTED, (int64_t)requested);
	ss_set_i64(t, SE_INACTIVE, g->size > used ? (int64_t)(g->size - used) : 0);
	ss_set_i64(t, SE_LARGEST, (int64_t)largest);
	ss_set_i64(t, SE_BLOCKS, g->nblocks);
	ss_set_i64(t, SE_USED, in_use);
	ss_set_str(t, SE_FRAME, name);
}

static bool is_asked(const struct ss_snap_answer *a, uint32_t device)
{
	for (size_t i = 0; i < a->ndevices; i++)
		if (a->devices[i].device == device)
			return true;
	return false;
}

static void note_most(struct ss_snap_answer *a, const char *what, size_t all)
{
	if (all <= ROWS_MOST)
		return;
	ss_result_note(a->out, SS_INFO,
		       ss_arena_printf(a->arena, "the %d largest of %zu %s are listed", ROWS_MOST, all, what));
}

bool ss_snap_add_segments(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "segments", "Segments", segment_cols, SS_COUNT(segment_cols));
	const struct ss_snapshot *s = a->s;
	struct largest l;
	size_t all = 0;
	bool ok = make_largest(&l, ROWS_MOST) && t;
	for (uint32_t i = 0; ok && !s->jax && i < s->segments.n; i++)
		if (is_asked(a, s->segments.v[i].device)) {
			offer(&l, (struct pick){ s->segments.v[i].size, s->segments.v[i].device, i });
			all++;
		}
	sort_largest(&l);
	for (size_t i = 0; ok && i < l.n; i++)
		add_segment(t, a, &s->segments.v[l.v[i].index]);
	free(l.v);
	if (!ok)
		return false;
	note_most(a, "segments", all);
	return true;
}

enum { BL_DEVICE, BL_SEGMENT, BL_ADDRESS, BL_SIZE, BL_REQUESTED, BL_STATE, BL_FRAME, BL_STACK };

static const struct ss_col block_cols[] = {
	INT("device", "Device", NONE, NULL),
	INT("segment", "Segment", HEX, "Address of the segment"),
	INT("address", "Address", HEX, NULL),
	INT("size_bytes", "Size", BYTES, NULL),
	INT("requested_bytes", "Requested", BYTES, "Requested bytes; of a free block those of its last use"),
	STR("state", "State", "active_allocated, active_awaiting_free or inactive"),
	STR("frame", "By", NULL),
	ID("stack", "Stack", "Number of the stack in the table of stacks; -1: unknown"),
};

static void add_block(struct ss_table *t, struct ss_snap_answer *a, const struct ss_snap_segment *g, const struct ss_snap_block *b)
{
	struct ss_str name = ss_snap_stack_name(a, b->stack);
	ss_table_row(t);
	ss_set_i64(t, BL_DEVICE, g->device);
	ss_set_i64(t, BL_SEGMENT, (int64_t)g->addr);
	ss_set_i64(t, BL_ADDRESS, (int64_t)b->addr);
	ss_set_i64(t, BL_SIZE, (int64_t)b->size);
	ss_set_i64(t, BL_REQUESTED, (int64_t)b->requested);
	ss_set_str(t, BL_STATE,
		   b->state == SS_SNAP_ALLOCATED       ? SS_STR("active_allocated")
		   : b->state == SS_SNAP_AWAITING_FREE ? SS_STR("active_awaiting_free")
						       : SS_STR("inactive"));
	ss_set_str(t, BL_FRAME, name);
	ss_set_i64(t, BL_STACK, b->stack == SS_NONE ? -1 : (int64_t)b->stack);
}

bool ss_snap_add_blocks(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "blocks", "Blocks", block_cols, SS_COUNT(block_cols));
	const struct ss_snapshot *s = a->s;
	struct largest l;
	size_t all = 0;
	bool ok = make_largest(&l, ROWS_MOST) && t;
	for (uint32_t i = 0; ok && !s->jax && i < s->segments.n; i++) {
		const struct ss_snap_segment *g = &s->segments.v[i];
		for (uint32_t k = g->first_block; is_asked(a, g->device) && k < g->first_block + g->nblocks; k++, all++)
			offer(&l, (struct pick){ s->blocks.v[k].size, i, k });
	}
	sort_largest(&l);
	for (size_t i = 0; ok && i < l.n; i++)
		add_block(t, a, &s->segments.v[l.v[i].device], &s->blocks.v[l.v[i].index]);
	free(l.v);
	if (!ok)
		return false;
	note_most(a, "blocks", all);
	return true;
}

/* ---- out of memory ---- */

enum { OO_DEVICE, OO_TIME, OO_WANTED, OO_DEVICE_FREE, OO_RESERVED, OO_ALLOCATED, OO_INACTIVE, OO_LARGEST, OO_VERDICT, OO_FRAME };

static const struct ss_col oom_cols[] = {
	INT("device", "Device", NONE, NULL),
	NUM("time_us", "Time", US, "Since the first event"),
	INT("wanted_bytes", "Wanted", BYTES, NULL),
	INT("device_free_bytes", "Free on the device", BYTES, "As the device reports it"),
	INT("reserved_bytes", "Reserved", BYTES, "Memory that PyTorch held at that moment"),
	INT("allocated_bytes", "In use", BYTES, "Part of the reserved memory that was in use"),
	INT("inactive_bytes", "Inactive", BYTES, "Part of the reserved memory that was not in use"),
	NUM("largest_inactive_block_bytes", "Largest free block", BYTES, "Largest free block at that moment; empty: not known"),
	STR("verdict", "Why", NULL),
	STR("frame", "By", "The frame that requested the memory"),
};

static struct ss_str verdict_of(const struct ss_snap_oom *o)
{
	uint64_t inactive = o->reserved > o->allocated ? o->reserved - o->allocated : 0;
	if (o->wanted > o->reserved + o->device_free)
		return SS_STR("The request is larger than the memory that PyTorch held and the free memory of the device "
		    "together: request less at a time.");
	if (inactive + o->device_free >= o->wanted)
		return SS_STR("Enough memory was free, but only in small blocks: this is fragmentation. Set "
		    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.");
	if (inactive >= o->wanted / 2)
		return SS_STR(
			"Too much memory was in use, and much of the rest was in small blocks: use less memory at the peak, "
			"and set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.");
	return SS_STR("Too much memory was in use: make the batch smaller, or recompute, shard or offload the memory that is "
	    "in use at the peak.");
}

void ss_snap_add_oom(struct ss_snap_answer *a)
{
	struct ss_table *t = ss_result_table(a->out, "oom", "Out of memory", oom_cols, SS_COUNT(oom_cols));
	for (size_t i = 0; i < a->ndevices; i++)
		for (size_t k = 0; k < a->devices[i].ooms.n; k++) {
			const struct ss_snap_oom *o = &a->devices[i].ooms.v[k];
			struct ss_str name = ss_snap_stack_name(a, o->stack);
			ss_table_row(t);
			ss_set_i64(t, OO_DEVICE, a->devices[i].device);
			ss_set_f64(t, OO_TIME, ss_snap_since_us(a, o->event));
			ss_set_i64(t, OO_WANTED, (int64_t)o->wanted);
			ss_set_i64(t, OO_DEVICE_FREE, (int64_t)o->device_free);
			ss_set_i64(t, OO_RESERVED, (int64_t)o->reserved);
			ss_set_i64(t, OO_ALLOCATED, (int64_t)o->allocated);
			ss_set_i64(t, OO_INACTIVE, o->reserved > o->allocated ? (int64_t)(o->reserved - o->allocated) : 0);
			ss_set_f64(t, OO_LARGEST, o->largest_free == UINT64_MAX ? (double)NAN : (double)o->largest_free);
			ss_set_str(t, OO_VERDICT, verdict_of(o));
			ss_set_str(t, OO_FRAME, name);
		}
}
