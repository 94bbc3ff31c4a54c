/*
 * straggler.h - the host that holds up the others: how often, at what cost, and why; or that no
 * host does. The one rule of this, for every page and command.
 *
 * Judged by what each host itself needed for a step: all but exposed communication, which no
 * clock of another host can distort and which the collective does not equalise. If the figures do not
 * suffice, no host is blamed: the kind is inconclusive, and the host is named as a candidate.
 *
 * Part of the model.
 */
#ifndef SS_MODEL_CLUSTER_STRAGGLER_H
#define SS_MODEL_CLUSTER_STRAGGLER_H

#include "model/cluster/excess.h"
#include "model/cluster/exposed.h"

enum ss_straggler_kind {
	SS_STRAGGLER_BALANCED,	   /* no host holds up the others */
	SS_STRAGGLER_ONE,	   /* one host does */
	SS_STRAGGLER_UNEVEN,	   /* several have more work in each step */
	SS_STRAGGLER_ROTATING,	   /* now this one, now that */
	SS_STRAGGLER_NETWORK,	   /* transfers do: of one host's links, or all of them */
	SS_STRAGGLER_INCONCLUSIVE, /* there are losses, but not enough figures to say whose */
	SS_STRAGGLER_ONE_HOST,	   /* there is no other to compare it with */
};
const char *ss_straggler_kind_name(enum ss_straggler_kind kind); /* "straggler" for SS_STRAGGLER_ONE */

enum ss_straggler_cause {
	SS_LATE_BY_NONE,
	SS_LATE_BY_COMPUTE,	/* longer operations, some of them */
	SS_LATE_BY_SLOWER_CLOCK,	/* all operations longer alike: clock, power, temperature, a neighbour */
	SS_LATE_BY_INPUT,
	SS_LATE_BY_HOST,		/* the host launches late */
	SS_LATE_BY_COPY,
	SS_LATE_BY_TRANSFER,
};
const char *ss_straggler_cause_name(enum ss_straggler_cause cause); /* "" for none */

enum ss_straggler_pattern {
	SS_PATTERN_NONE,
	SS_PATTERN_CONSTANT,
	SS_PATTERN_PERIODIC,
	SS_PATTERN_DRIFTING,
	SS_PATTERN_INTERMITTENT
};
const char *ss_straggler_pattern_name(enum ss_straggler_pattern pattern);

/* Missing figures are NAN. */
struct ss_straggler_verdict {
	enum ss_straggler_kind kind;
	struct ss_str host;	/* "" for none; of an inconclusive verdict the candidate */
	int32_t device;		/* on that host; -1: all of them, or none */
	enum ss_straggler_cause cause;
	enum ss_straggler_pattern pattern;
	double steps_frac;	/* share of the steps that it held up */
	double lost_us_per_step; /* by which all steps were longer for it, or for uneven work: a ceiling of the gain */
	double confidence_frac;	/* that it is the same one by no chance */
	double noise_us;	/* of a host's own time from step to step: 1 standard deviation */
	uint32_t nsteps, nslow; /* steps that all hosts have; those that lost more than noise explains */
	uint32_t nhosts;	/* that were compared */
	uint32_t nabsent;	/* that have no whole recording: the others may be waiting for them */
	const char *why;	/* of an inconclusive one: what would decide; else NULL */
	uint32_t more_steps;	/* that would decide, if the candidate is late in them as well; 0: another thing would */
};

/* Figures of one step that all hosts have. */
struct ss_straggler_step {
	int64_t step;
	uint32_t host, device;	/* host with the longest own time, and its device in `devices` */
	int64_t lost_ps, length_ps;
	bool slow;
};

/* Figures of one host over those steps. */
struct ss_straggler_host {
	uint32_t host;
	double last_frac;	/* of the collectives with members on several hosts that it was part of, and the last is clear */
	double own_us, excess_us, noise_us; /* mean; median beyond the median host; of that */
	uint32_t culprit_steps;
};

struct ss_straggler {
	struct ss_straggler_verdict verdict;
	SS_VEC(struct ss_straggler_step) steps;
	SS_VEC(struct ss_straggler_host) hosts;
	struct ss_excess excess; /* of the places in `hosts`, in `steps` */
};

/* NULL on failure. */
const struct ss_straggler *ss_model_straggler(struct ss_model *m, struct ss_err *err);
/*
 * The verdict alone; a run of one host is balanced with nhosts 1. False on failure. Its texts live
 * as long as the model.
 */
bool ss_straggler_verdict(struct ss_model *m, struct ss_straggler_verdict *out, struct ss_err *err);

#endif
