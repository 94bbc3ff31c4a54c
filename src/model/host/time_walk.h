/*
 * time_walk.h - the events of a line, or of all lines of a plane, in the order of time.
 *
 * Of events that begin together the shorter come first, as in XProf. The order of those that end
 * together as well matters, too: derived data may depend on it (a step that begins in two streams
 * at once, copies that were cut off together), so such planes are sorted with XProf's algorithm,
 * unless they are huge.
 */
#ifndef SS_MODEL_HOST_TIME_WALK_H
#define SS_MODEL_HOST_TIME_WALK_H

#include "model/host/introsort.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_line;
struct ss_plane;
struct ss_xevents;

/*
 * The order of one line's events: NULL with *ok where that is the file's order. The caller frees
 * it; *ok is false when memory is out.
 */
uint32_t *ss_time_order(const struct ss_xevents *e, bool *ok);

/* The next event of a line: `at` is its place in the line's order. */
struct ss_time_head {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t line, at;
};

struct ss_time_walk {
	struct ss_plane *p;
	const bool *skip;
	uint32_t **order;		/* per line; NULL: the file's */
	struct ss_time_head *heap;	/* of the lines that are not at their end */
	uint32_t n;
	struct ss_moment *sorted;	/* instead of the heap, where there are ties */
	size_t nsorted, at;
	bool forked;			/* only the heap is its own */
};

/*
 * Over the plane's own lines, not those derived, nor those that `skip` (by line, NULL: none) says.
 * False when memory is out; to be freed in any case.
 */
bool ss_time_walk_init(struct ss_time_walk *w, struct ss_plane *p, const bool *skip);
/* One more walk from where `from` stands, for another thread; `from` must live longer. Fails and is freed as the above. */
bool ss_time_walk_fork(struct ss_time_walk *w, const struct ss_time_walk *from);
bool ss_time_walk_next(struct ss_time_walk *w, struct ss_line **line, uint32_t *event);
/*
 * The same for a caller that takes `n` events at once, which follow each other in the line: all of
 * a line that is alone.
 */
bool ss_time_walk_run(struct ss_time_walk *w, struct ss_line **line, uint32_t *event, uint32_t *n);
void ss_time_walk_free(struct ss_time_walk *w);

#endif
