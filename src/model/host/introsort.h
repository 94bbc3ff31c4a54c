/*
 * introsort.h - sorting events by time with equals in the order in which XProf has them.
 *
 * XProf sorts events with the C++ standard library, which does not keep the order of equals: see
 * base/sort.h for the algorithm. Where an answer depends on the order of events that begin and end
 * together, only the same algorithm gives the same answer.
 */
#ifndef SS_MODEL_HOST_INTROSORT_H
#define SS_MODEL_HOST_INTROSORT_H

#include <stddef.h>
#include <stdint.h>

struct ss_moment {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t line, event;
};

/* By begin, then by duration, shorter first. */
void ss_introsort(struct ss_moment *v, size_t n);

#endif
