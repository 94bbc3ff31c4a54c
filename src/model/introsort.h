/*
 * introsort.h - sorting events by time with equals in the order in which XProf has them.
 *
 * XProf sorts events with the C++ standard library, which does not keep the order of equals; in the
 * GNU library it is an introspective sort (D. Musser, 1997): quicksort by the median of three down
 * to runs of 16, heapsort where that gets too deep, insertion sort at the end. The same steps on
 * the same input give the same order. Where an answer hangs on the order of events that begin and
 * end together, this is the only way to the same answer.
 */
#ifndef SS_MODEL_INTROSORT_H
#define SS_MODEL_INTROSORT_H

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
