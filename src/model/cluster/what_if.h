/*
 * what_if.h - the step time if some work were faster: the recording is replayed with changed durations,
 * and every other event begins as soon as the events for which it waited have ended.
 *
 * All answers are ceilings of the gain: dependencies that never bound are not all seen, and memory
 * bandwidth and power that overlapped work shares are not modelled. Gains of several scenarios do not
 * add up.
 */
#ifndef SS_MODEL_CLUSTER_WHAT_IF_H
#define SS_MODEL_CLUSTER_WHAT_IF_H

#include "model/cluster/played.h"

enum ss_scenario {
	SS_AS_RECORDED,		/* nothing is changed: how well the replay agrees with the recording */
	SS_FREE_COMMUNICATION,	/* transfers take no time; waiting for late participants stays */
	SS_PERFECT_INPUT,	/* input is always there */
	SS_OP_TWICE_AS_FAST,	/* all executions of an operation, on all devices, take half */
	SS_HOST_AS_MEDIAN,	/* operations, input, launches and gaps of a host take at most the median of the other hosts */
};
const char *ss_scenario_name(enum ss_scenario scenario);

struct ss_what_if;

/*
 * The graph of the recording, or of so much of it as has at most `most` events, with that host
 * (SS_NO_HOST: any). The caller holds the cluster's lock. NULL on failure.
 */
struct ss_what_if *ss_what_if_of(struct ss_cluster *c, uint64_t most, uint32_t host, struct ss_err *err);
/* The part of the recording that is replayed. */
const struct ss_played *ss_what_if_played(const struct ss_what_if *g);
/*
 * Mean time of a step in the scenario. `op`: its name, or what stands before "(" or "<" in it;
 * `host`: index. False when memory is out.
 */
bool ss_what_if_step_us(struct ss_what_if *g, enum ss_scenario scenario, struct ss_str op, uint32_t host, double *us);
/* The recorded mean step time; NAN: there are no two steps that all devices have. */
double ss_what_if_now_us(const struct ss_what_if *g);
/* Is there an operation of this name in the replayed steps? */
bool ss_what_if_has_op(const struct ss_what_if *g, struct ss_str op);
void ss_what_if_free(struct ss_what_if *g);

#endif
