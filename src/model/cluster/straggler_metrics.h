/*
 * straggler_metrics.h - what the verdict of straggler.h is read from: the time that each host itself
 * needed for each step that all have, the steps that lost more than noise explains, the hosts that
 * came last to collectives, and the host with slow links.
 */
#ifndef SS_MODEL_CLUSTER_STRAGGLER_METRICS_H
#define SS_MODEL_CLUSTER_STRAGGLER_METRICS_H

#include "model/cluster/straggler.h"

struct ss_straggler_metrics {
	struct ss_cluster *c;
	const struct ss_exposed *x;
	struct ss_straggler *s;	/* gets hosts, steps and excess */
	double *scratch;	/* as many as there are collectives, or hosts, or twice the steps */
	double step_ps;		/* median length of a step */
	uint32_t *slow;		/* indices of slow steps */
	uint32_t nslow;
};

/* False: no memory. `scratch` and `slow` are the caller's to free either way. */
bool ss_straggler_measure(struct ss_straggler_metrics *j);

/* The row of a device in a step; NULL: it does not have the step. */
const struct ss_device_step *ss_straggler_row(const struct ss_exposed *x, uint32_t device, int64_t step);
/* The place of a host in `s->hosts`; SIZE_MAX: it is not compared. */
size_t ss_straggler_place_of(const struct ss_straggler_metrics *j, uint32_t host);
/*
 * What a host's excess has to be multiplied with to be the time lost. With two hosts, the median is
 * their mean: the loss of one is the difference, which is twice the excess.
 */
double ss_straggler_times_excess(const struct ss_straggler_metrics *j);
/*
 * The host whose groups' transfers are slow in most operations and steps that run in several groups
 * at once; SS_NO_HOST: there is none. False: no memory.
 */
bool ss_straggler_find_slow_link(struct ss_straggler_metrics *j, uint32_t *host);

#endif
