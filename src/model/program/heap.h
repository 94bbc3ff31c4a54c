/*
 * heap.h - a replay of a program's memory: the record of the compiler's heap simulator, event by
 * event.
 *
 * The compiler records for each allocation the order in which its buffers are allocated and freed,
 * and which of them share memory. The replay gives the size of the heap at every point of the
 * program, its peak, and the buffers at the peak. Linear in the number of events.
 */
#ifndef SS_MODEL_PROGRAM_HEAP_H
#define SS_MODEL_PROGRAM_HEAP_H

#include "hlo/buffers.h"

/* A buffer that lives at the peak. */
struct ss_heap_live {
	uint32_t buffer;	/* whose memory it is */
	uint32_t shown;		/* the owner now: the last buffer that took over the memory */
};

struct ss_heap {
	uint32_t trace;		/* that was played; SS_NONE: there is none for this memory space */
	uint32_t nevents;
	/* State before each event, and after the last: nevents + 1 numbers. NULL without a trace. */
	int64_t *bytes, *unpadded_bytes;
	struct ss_str *instr_names; /* of each event's instruction, "" after the last */
	/* By buffer: first and last point of its life; begin is SS_NONE for buffers that never got memory of their own. */
	uint32_t *span_begin, *span_end;
	int64_t peak_bytes, peak_unpadded_bytes;
	uint32_t peak_at;	/* number of the event that reached it first */
	struct ss_heap_live *live; /* at the peak, in the order of coming */
	uint32_t nlive;
};

/*
 * The trace that is played for a memory space: of the largest temporary allocation there that has
 * one (of equal ones the first); else the trace with most events of buffers there. XProf takes any
 * of these allocations, whichever its hash table gives first.
 *
 * Fails (SS_EFORMAT) when a buffer is freed more often than allocated, or when a trace mixes
 * allocations. Everything lives in `arena`.
 */
bool ss_heap_play(struct ss_heap *h, const struct ss_hlo_buffers *b, int64_t memory_space, struct ss_arena *arena,
		  struct ss_err *err);

#endif
