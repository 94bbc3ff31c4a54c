/*
 * snapshot.h - the analysis of a memory snapshot: the memory in use over time, and its owners.
 *
 * A snapshot (import/snapshot.h) holds the blocks at its end and the latest events before it. A
 * replay of the events gives every allocation its begin and end. The memory in use before the first
 * event follows from the blocks that no event allocated and from the frees without an allocation.
 *
 * Memory is in use from `alloc` to `free_completed`, when the allocator may reuse it (`tensor`: to
 * `free_requested`, when the program released it).
 *
 * A memory profile of JAX (import/pprof.h) holds the memory in use at one moment, without events.
 */
#ifndef SS_MODEL_RUNTIME_SNAPSHOT_H
#define SS_MODEL_RUNTIME_SNAPSHOT_H

#include "base/err.h"
#include "import/snapshot.h"

struct ss_host;

/* The snapshot of a raw file; immutable. NULL on failure. */
const struct ss_snapshot *ss_host_snapshot(struct ss_host *h, struct ss_err *err);

struct ss_snap_alloc {
	uint64_t addr, size;
	uint32_t stack;		/* SS_NONE: unknown */
	uint32_t begin;		/* event, SS_NONE: before the first one */
	uint32_t end;		/* SS_NONE: in use at the end */
	uint32_t count;		/* allocations that this stands for */
};

struct ss_snap_oom {
	uint32_t event, stack;
	int64_t time_us;
	uint64_t wanted, device_free, allocated, reserved;
	uint64_t largest_free;	/* inactive block; UINT64_MAX: unknown */
};

struct ss_snap_device {
	uint32_t device;
	/* At the end, from segments and blocks. */
	uint64_t reserved, allocated, awaiting, requested;
	uint64_t inactive, largest_inactive, largest_free_segment, empty_cache;
	uint32_t nsegments, nblocks;
	/* Figures of the events. */
	size_t first_event, nevents;
	uint64_t allocations, frees, segment_allocs, segment_frees;
	uint64_t allocated_sum;			/* bytes of all allocations */
	uint64_t start, peak, end;		/* in use */
	uint64_t reserved_start;
	uint32_t peak_event;			/* SS_NONE: before the first */
	uint64_t peak_blocks, end_blocks;
	SS_VEC(struct ss_snap_alloc) allocs;	/* in the order of their begin */
	SS_VEC(struct ss_snap_oom) ooms;
};

/* Go through the events of a device. False when memory is out; to be freed in either case. */
bool ss_snap_replay(const struct ss_snapshot *s, uint32_t device, bool tensors, struct ss_snap_device *out);
void ss_snap_device_free(struct ss_snap_device *d);

static inline const struct ss_snap_event *ss_snap_event(const struct ss_snapshot *s, uint32_t event)
{
	return &s->events.v[event];
}

/* Is it in use right after the event (SS_NONE: before the first one)? */
static inline bool ss_snap_lives(const struct ss_snap_alloc *a, uint32_t event)
{
	bool begun = a->begin == SS_NONE || (event != SS_NONE && a->begin <= event);
	return begun && (a->end == SS_NONE || event == SS_NONE || a->end > event);
}

/* At most `most` moments that stand for all: of as many events each, that with most in use. */
struct ss_snap_point {
	int64_t time_us;
	uint64_t allocated, reserved;
};
/* Returns how many, SIZE_MAX when memory is out; `out` has room for `most`, at least 1. */
size_t ss_snap_points(const struct ss_snapshot *s, const struct ss_snap_device *d, struct ss_snap_point *out, size_t max);

/* The memory of one stack now and before; the last entry is for unknown stacks. */
struct ss_snap_sum {
	uint64_t peak_bytes, peak_blocks, end_bytes, end_blocks, allocations, allocated_bytes;
	uint64_t unfreed_bytes, unfreed_blocks;	/* of those allocated by events */
	uint32_t oldest;			/* event of the oldest of these; 0: there are none, else one more */
	uint64_t quarter_bytes[4];	/* in use at 25, 50, 75 and 100 % of the time */
};
/* `sums` has room for one more than there are stacks, zeroed. */
void ss_snap_sum(const struct ss_snapshot *s, const struct ss_snap_device *d, struct ss_snap_sum *sums);

/*
 * The frame that a stack is called by: the innermost of a Python file that is not PyTorch's or
 * JAX's own, else the innermost of a Python file, else the innermost. SS_NONE: it has none.
 */
uint32_t ss_snap_frame_of(const struct ss_snapshot *s, uint32_t stack);

#endif
