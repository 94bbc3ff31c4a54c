/*
 * period.h - the period of a sequence of named spans: programs that a device ran, kernels of a
 * stream, calls on a thread. For profiles in which the program marked no steps.
 *
 * The sequence is cut at the begins of one name, the anchor, into segments. A good anchor cuts it
 * into segments of the same number of spans, again and again. Of several anchors, the one whose
 * segments are most alike is used, and among those the one that occurs most often: events in every
 * tenth step (a checkpoint, a log) also give similar, longer segments, and events inside of a step
 * (layers of a network) give one different segment at the end of each step.
 */
#ifndef SS_MODEL_STEPS_PERIOD_H
#define SS_MODEL_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_occurrence {
	int64_t begin_ps, end_ps;
	uint32_t name;
};

struct ss_period {
	uint32_t name; /* of the anchor */
	size_t n;      /* repetitions; 0: nothing repeats */
	/*
	 * Per repetition: from the anchor's begin to the next one's, or to the end of what was done
	 * where a pause of more than three periods follows. Ascending, disjoint.
	 */
	int64_t *begin_ps, *end_ps;
	double alike_frac;   /* segments whose number of spans is the median, within 5 % */
	double regular_frac; /* 1 / (1 + median deviation from the median length / that length) */
};

/* The name whose spans take most time is the likely anchor (programs, calls). Else all names are equal (kernels). */
enum ss_period_by { SS_PERIOD_BY_ORDER, SS_PERIOD_BY_TIME };

/*
 * `v` by begin ascending; it is used up, its contents afterwards are of no use. A span that begins
 * within one of the same name is a part of that. False when memory is out. O(n log n). To be freed in
 * any case.
 */
bool ss_period_find(struct ss_period *out, struct ss_occurrence *v, size_t n, enum ss_period_by by);
void ss_period_free(struct ss_period *p);

#endif
