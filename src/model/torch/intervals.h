/*
 * intervals.h - sets of time intervals: unions, intersections and lengths, in whole nanoseconds.
 */
#ifndef SS_MODEL_TORCH_INTERVALS_H
#define SS_MODEL_TORCH_INTERVALS_H

#include "base/vec.h"

#include <stdint.h>

struct ss_interval {
	int64_t begin_ns, end_ns;
};

struct ss_intervals {
	SS_VEC(struct ss_interval) v;
};

/* Appends; an empty one is passed over. False when memory is out. */
bool ss_intervals_add(struct ss_intervals *s, int64_t begin_ns, int64_t end_ns);
/* Sorts and merges: all functions below need intervals in order and without overlaps. */
void ss_intervals_unite(struct ss_intervals *s);
int64_t ss_intervals_ns(const struct ss_intervals *s);
int64_t ss_intervals_common_ns(const struct ss_intervals *a, const struct ss_intervals *b);
/* The same with one interval alone. */
int64_t ss_intervals_within_ns(const struct ss_intervals *s, int64_t begin_ns, int64_t end_ns);
void ss_intervals_free(struct ss_intervals *s);

#endif
