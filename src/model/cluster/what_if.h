/*
 * what_if.h - what a step would take if something were faster: the recording is played again with
 * changed durations, everything else beginning as soon as what it waited for has ended.
 *
 * All answers are ceilings of the gain: dependencies that never bound are not all seen, and memory
 * bandwidth and power that overlapped work shares are not modelled. Gains of several scenarios do
 * not add up.
 */
#ifndef SS_MODEL_CLUSTER_WHAT_IF_H
#define SS_MODEL_CLUSTER_WHAT_IF_H

#include "model/cluster/cluster.h"

enum ss_scenario {
	SS_AS_RECORDED,		/* nothing is changed: how well the replay agrees with the recording */
	SS_FREE_COMMUNICATION,	/* transfers take no time; waiting for who is late stays */
	SS_PERFECT_INPUT,	/* input is always there */
	SS_OP_TWICE_AS_FAST,	/* all executions of an operation, on all devices, take half */
	SS_HOST_AS_MEDIAN,	/* operations, input, launches and gaps of a host take at most the median of the other hosts */
};
const char *ss_scenario_name(enum ss_scenario scenario);

struct ss_what_if;

/*
 * The graph of the recording, for who holds the cluster's lock. NULL on failure; SS_EINVAL where it
 * is too large.
 */
struct ss_what_if *ss_what_if_of(struct ss_cluster *c, struct ss_err *err);
/*
 * Mean time of a step in the scenario. `op`: its name, or what stands before "(" or "<" in it;
 * `host`: index. False when memory is out.
 */
bool ss_what_if_step_us(struct ss_what_if *g, enum ss_scenario scenario, struct ss_str op, uint32_t host, double *us);
/* As recorded; NAN: there are no two steps that all devices have. */
double ss_what_if_now_us(const struct ss_what_if *g);
/* Is there an operation of this name? */
bool ss_what_if_has_op(const struct ss_what_if *g, struct ss_str op);
void ss_what_if_free(struct ss_what_if *g);

#endif
