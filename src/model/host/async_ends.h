/*
 * async_ends.h - the ends of events that continue after their thread has begun other work.
 *
 * The runtimes of XLA record an operation that runs on other threads, or a wait that a callback
 * ends, as two events: the first where it is started, a producer; the second where it ends, a
 * consumer of the same id on the thread that noticed the end ("end: dot.3",
 * "CommonPjRtBuffer::Await").
 *
 * The thread that finishes an operation first runs the work that waited for it, a
 * "ThunkExecutor::Execute" with further operations, or these operations alone, one behind the
 * other, and reports the end when it returns from there. The operation then ended where this work
 * began.
 */
#ifndef SS_MODEL_HOST_ASYNC_ENDS_H
#define SS_MODEL_HOST_ASYNC_ENDS_H

#include "base/vec.h"
#include "xspace/events.h"

struct ss_host;
struct ss_line;
struct ss_plane;

struct ss_async_end {
	int64_t end_ps;
	int64_t successor_ps; /* where the thread began to run what waited for it; INT64_MAX: nothing */
};

struct ss_async_ends {
	struct ss_u64map by_id;
	SS_VEC(struct ss_async_end) v;
};

/*
 * Reads the ends in a plane: of waits, and with `operations` of operations too. O(events), and decodes
 * only the second event of each pair. False when memory is out.
 */
bool ss_async_ends_read(struct ss_async_ends *a, const struct ss_host *h, const struct ss_plane *p, bool operations);
/* The end of an event, which is later than its own where it is the first of two. */
int64_t ss_async_end(const struct ss_async_ends *a, const struct ss_plane *p, const struct ss_line *l, uint32_t i);
void ss_async_ends_free(struct ss_async_ends *a);

#endif
