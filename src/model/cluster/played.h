/*
 * played.h - the part of a run that what_if.h plays back: the whole run, if it fits into memory;
 * else successive steps of it; and if two steps are too many events, some of the hosts.
 *
 * The steps are those whose mean length is nearest to the mean of all steps. The hosts are those that
 * others waited for most often, because they determine the length of a step.
 */
#ifndef SS_MODEL_CLUSTER_PLAYED_H
#define SS_MODEL_CLUSTER_PLAYED_H

#include "model/cluster/cluster.h"

#define SS_PLAYED_MOST ((uint64_t)4 << 20) /* events */

/* The operations of a device that end in this span are played back, and the events of a host that begin in it. */
struct ss_played_window {
	int64_t after_ps, until_ps;
};

struct ss_played {
	bool whole;
	int64_t first_step, last_step;	/* numbers */
	uint64_t nsteps, nsteps_all;	/* that all devices with steps have */
	uint32_t nhosts, nhosts_all;	/* with events */
	uint64_t events, events_all;	/* `events` is an estimate if not all hosts are played back */
	double now_ps, now_all_ps;	/* a step's mean length; NAN: there are no two */
	bool *hosts;			/* by index */
	struct ss_played_window *windows; /* by device */
	struct ss_played_window all;	/* of all devices together */
};

/*
 * Choose at most `most` events. `host` is among the chosen hosts; SS_NO_HOST: any hosts. The caller holds
 * the cluster's lock, and frees the result also after a failure.
 */
bool ss_played_choose(struct ss_played *p, struct ss_cluster *c, uint64_t most, uint32_t host, struct ss_err *err);
void ss_played_free(struct ss_played *p);

static inline bool ss_played_has(const struct ss_played *p, uint32_t device, int64_t end_ps)
{
	return p->whole || (end_ps > p->windows[device].after_ps && end_ps <= p->windows[device].until_ps);
}

#endif
