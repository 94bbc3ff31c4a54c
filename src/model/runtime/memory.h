/*
 * memory.h - the recorded allocations and deallocations of a host's allocators
 * (docs/model/memory.md).
 *
 * Source: events "MemoryAllocation" and "MemoryDeallocation" on any line of plane /host:CPU. Each
 * carries the allocator's counters after it happened. An allocator is named by the last of the event's
 * stats index_on_host, device_ordinal (a number) and allocator_name.
 *
 * An allocator none of whose events carries counters (older PyTorch) is counted here: in use is what
 * was allocated since the profile began less what was freed, from the level that leaves none below 0.
 * If no event has an address, a release frees the latest allocation of its size.
 *
 * An event takes 64 bytes here; its other stats (requested size, operation, shape) are read from
 * the file for the few events that are shown. Part of struct ss_host; loads the host, unless the
 * file brought the steps of events with it, or has none: then only these events are read
 * (partial_read.h).
 */
#ifndef SS_MODEL_RUNTIME_MEMORY_H
#define SS_MODEL_RUNTIME_MEMORY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_model;

struct ss_mem_event {
	int64_t time_ps;	/* since the start of the session */
	int64_t in_use_bytes;	/* stack + heap after the event */
	int64_t bytes;		/* allocated or freed bytes, as the allocator rounds them */
	uint64_t address;
	int64_t step;		/* an event outside of all steps counts as one after the last */
	uint32_t line, event;	/* where it stands in the plane */
	/* A deallocation: the event that allocated the address, SS_NONE if that was before the profile. */
	uint32_t origin;
	bool freed;		/* a deallocation */
};

/* The allocator's counters after an event. */
struct ss_mem_stats {
	int64_t stack_bytes, heap_bytes, free_bytes;
	int64_t peak_bytes;	/* greatest use since the program began */
	double fragmentation;	/* 0..1 */
};

/* The figures of an event; for a deallocation those of its allocation. */
struct ss_mem_details {
	struct ss_mem_stats stats;
	int64_t requested_bytes, allocation_bytes;
	int64_t offset_ps;	/* since the start of its line */
	struct ss_str tf_op, region_type, data_type, shape;
};

struct ss_mem_allocator {
	struct ss_str id;
	const struct ss_mem_event *events; /* by time, equal ones in the file's order */
	uint32_t n;
	/* peak_bytes of the event that stands last in the file; the profile's own peak where none says any */
	int64_t lifetime_peak_bytes;
	bool peakless;		/* none does */
	bool counted;		/* its counters are made here, and so are they of the profile alone */
	bool unaddressed;	/* addresses are numbers made here */
	/* The event with the greatest stack + heap, the last in the file of equal ones. */
	uint32_t peak;
};

struct ss_memory {
	const struct ss_plane *plane;	/* /host:CPU; NULL: the profile has none */
	int64_t origin_ns;		/* of the profile's timestamps */
	struct ss_mem_allocator *allocators; /* by id ascending */
	uint32_t nallocators;
	struct ss_mem_event *events;
	struct ss_arena arena;
};

/* Of an opened host: does an event of its name one? */
bool ss_host_has_allocations(const struct ss_host *h);
const struct ss_memory *ss_host_memory(struct ss_host *h, struct ss_err *err);

/* Reads the file; strings borrow from it, a made-up name of a data type from `arena`. False when memory is out. */
bool ss_mem_details(const struct ss_memory *m, const struct ss_mem_allocator *a, uint32_t i, struct ss_arena *arena,
		    struct ss_mem_details *out);

/*
 * The allocations at the peak: those of the peak's step that were not freed before the peak, equal ones
 * as one row, greatest first. Two rows without an event hold the rest: memory that was allocated before
 * the step, and the stack.
 */
struct ss_mem_active {
	uint32_t event;		/* the earliest of equal ones; SS_NONE: made up here */
	bool stack;		/* made up: the stack, else memory held since before */
	int64_t bytes;		/* of each */
	uint64_t count;
	struct ss_mem_details d;
};

/* The rows live in `arena`. */
bool ss_mem_at_peak(const struct ss_memory *m, const struct ss_mem_allocator *a, struct ss_arena *arena,
		    struct ss_mem_active **rows, size_t *nrows, struct ss_err *err);
/* The step of the peak: of the last event with as much in use as the peak. */
int64_t ss_mem_peak_step(const struct ss_mem_allocator *a);

/* The allocator of a device that came closest to its end, of all hosts. */
struct ss_memory_peak {
	struct ss_str host, id; /* id "": no device's allocator was recorded */
	uint64_t used_bytes, capacity_bytes; /* stack + heap at the peak; and with the free memory at that moment */
	double fragmentation;	/* then, 0..1 */
	/* The largest row of what was allocated then (ss_mem_at_peak): operation, "" if unknown, and bytes of all equal ones. */
	struct ss_str op;
	uint64_t op_bytes;
};

/* The memory of one host. */
struct ss_host_memory_peak {
	struct ss_memory_peak peak;
	double used_frac;	/* 0: no device's allocator was recorded */
	struct ss_arena arena;
};

const struct ss_host_memory_peak *ss_host_memory_peak(struct ss_host *h, struct ss_err *err);
const struct ss_memory_peak *ss_model_memory_peak(struct ss_model *m, struct ss_err *err);

/*
 * At most `most` events that represent all: the list is cut into `most` boxes, of n / most events
 * and then of one more, and each is represented by the first of its events with the most in use.
 * Returns how many; `picked` has room for `most`.
 */
uint32_t ss_mem_sample(const struct ss_mem_allocator *a, uint32_t max, uint32_t *picked);

#endif
