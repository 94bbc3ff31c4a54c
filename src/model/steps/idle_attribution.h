/*
 * idle_attribution.h - what the host did while nothing computed: of one host or all, over the steps.
 *
 * Looked at is the thread that starts the programs, for it is the one that a device waits for: of
 * the threads of /host:CPU the one with most calls of programs (inferred.h); without any, most calls
 * of the runtime or of the GPU's driver. Each moment within steps in which no device of the host
 * did anything but wait for input (on a host without devices: no thread ran an operation) goes to
 * the innermost event of that thread.
 *
 * Where the time is lost is the event that takes a third of it or more by itself, wherever it is
 * called from. Without one, it is looked for along the calls, from the outermost inwards, each time
 * to the one that holds most, as long as that is a third or more: what lies deeper is spread over
 * many, what lies higher says less.
 */
#ifndef SS_MODEL_STEPS_IDLE_ATTRIBUTION_H
#define SS_MODEL_STEPS_IDLE_ATTRIBUTION_H

#include "model/model.h"

#define SS_IDLE_ATTRIBUTION_ROWS 10

struct ss_idle_attribution_row {
	struct ss_str event;  /* "": the thread recorded nothing */
	struct ss_str caller; /* the event around it, "" for none */
	uint64_t self_ps;
};

struct ss_idle_attribution {
	struct ss_str thread; /* "": none starts programs, and nothing is said of what was done */
	uint64_t steps_ps;    /* within whole steps, marked or found */
	uint64_t idle_ps;     /* of those, in which nothing computed */
	uint64_t collective_ps; /* of steps_ps, in which a host without devices ran collective operations */
	struct ss_str inside, inside_caller; /* "": no call holds a third of idle_ps */
	double inside_frac;   /* of idle_ps */
	struct ss_idle_attribution_row *rows; /* by self_ps descending, then names: the largest */
	size_t nrows;
};

/* Of one host: O(n log n) in its events. */
const struct ss_idle_attribution *ss_host_idle_attribution(struct ss_host *h, struct ss_err *err);
/*
 * All hosts together: times and equal rows are summed; the thread, and the call inside which time is
 * lost, are those of the host that lost most.
 */
const struct ss_idle_attribution *ss_model_idle_attribution(struct ss_model *m, struct ss_err *err);

#endif
