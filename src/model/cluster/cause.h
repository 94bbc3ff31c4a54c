/*
 * cause.h - why a device was late: which class of its time is longer than the others' in the same
 * steps.
 */
#ifndef SS_MODEL_CLUSTER_CAUSE_H
#define SS_MODEL_CLUSTER_CAUSE_H

#include "model/cluster/straggler.h"

/*
 * The cause in the slow steps that `host` held up (SS_NO_HOST: any host). The caller holds the
 * cluster's lock. Time in which other hosts wait for it is not counted as a cause. False on failure.
 */
bool ss_straggler_find_cause(struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s, uint32_t host,
			     enum ss_straggler_cause *cause, struct ss_err *err);

/* The same of uneven work: by what the device that has the most exceeds the others in all steps. */
bool ss_uneven_find_cause(struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s, uint32_t device,
			  enum ss_straggler_cause *cause, struct ss_err *err);

/* The class of a device's time that such a cause makes longer. */
enum ss_exposed_class ss_straggler_class_of(enum ss_straggler_cause cause);

#endif
