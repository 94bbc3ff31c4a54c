/*
 * event_share.h - which share of each step the cores of a job spend in events of some name: waiting
 * at barriers, for instance.
 *
 * Only events count that belong to a step of the core they ran on and carry a device duration;
 * durations of 0 and of exactly 1250 ps, which stand for "passed without waiting", do not. The
 * first and the last step of a host are left out if there are three or more with such events, since
 * the profile may have cut them.
 */
#ifndef SS_MODEL_STEPS_EVENT_SHARE_H
#define SS_MODEL_STEPS_EVENT_SHARE_H

#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_model;

/* One core in one step. */
struct ss_event_share {
	uint32_t host;		/* index into the model's hosts */
	int64_t step;
	double share_frac;
};

struct ss_host_share {
	struct ss_str hostname;
	double mean_frac;	/* over steps and cores */
	/*
	 * Far from the median of the hosts, to either side; never with less than three hosts. This is
	 * XProf's rule, for its clients alone: ours is that of model/cluster/straggler.h.
	 */
	bool straggler;
};

struct ss_event_shares {
	struct ss_event_share *v;
	size_t n;
	struct ss_host_share *hosts; /* those with such events, in the model's order */
	size_t nhosts;
	double mean_frac;	/* over all cores and steps */
};

/* One core in one step, of one host. */
struct ss_barrier_wait {
	int64_t step;
	uint64_t step_ps;	/* the step's length */
	double share_frac;
};

struct ss_host_barriers {
	struct ss_barrier_wait *v;	/* core by core */
	size_t n;
};

/* Events of one host whose name contains "barrier-cores" (SS_HOST_BARRIERS), and of all of them (SS_MODEL_BARRIERS). */
const struct ss_host_barriers *ss_host_barriers(struct ss_host *h, struct ss_err *err);
const struct ss_event_shares *ss_model_barriers(struct ss_model *m, struct ss_err *err);

#endif
