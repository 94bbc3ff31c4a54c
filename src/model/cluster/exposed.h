/*
 * exposed.h - how each device spent each step. Every moment belongs to one class, the first that
 * applies, so the classes add up to the step. Communication is exposed while nothing is computed, and
 * is divided into waiting for a late device and the transfer itself.
 *
 * A step's window reaches from the end of the previous step on this device to its own end, so a
 * step includes what delays it. The window of the first step of a recording, or after a gap, begins
 * with the step.
 *
 * Part of the model.
 */
#ifndef SS_MODEL_CLUSTER_EXPOSED_H
#define SS_MODEL_CLUSTER_EXPOSED_H

#include "model/cluster/cluster.h"

enum ss_exposed_class {
	SS_EXPOSED_COMPUTE,
	SS_EXPOSED_WAIT,
	SS_EXPOSED_TRANSFER,
	SS_EXPOSED_COPY,
	SS_EXPOSED_INPUT,	/* idle, while the host waited for input */
	SS_EXPOSED_HOST,	/* idle up to the end of the launch of what ends the gap */
	SS_EXPOSED_OTHER,	/* idle for no reason that is recorded */
	SS_EXPOSED_CLASSES
};

struct ss_device_step {
	uint32_t device;
	int64_t step;
	int64_t begin_ps, end_ps;
	int64_t class_ps[SS_EXPOSED_CLASSES];
	int64_t overlapped_ps;	/* computed while a collective was under way; part of SS_EXPOSED_COMPUTE */
};

/* One operation on all devices, over all steps. */
struct ss_exposed_op {
	int64_t wait_ps, transfer_ps, overlapped_ps;
};

struct ss_exposed {
	SS_VEC(struct ss_device_step) rows; /* by device, then step */
	uint32_t *first;		/* of each device in rows; one more at the end */
	struct ss_exposed_op *ops;	/* by the cluster's operations */
	uint64_t ngaps;			/* steps whose predecessor is missing */
};

/* NULL on failure. */
const struct ss_exposed *ss_model_exposed(struct ss_model *m, struct ss_err *err);
/* The time that the device itself needed for the step: all except exposed communication. */
static inline int64_t ss_device_step_own_ps(const struct ss_device_step *r)
{
	return r->end_ps - r->begin_ps - r->class_ps[SS_EXPOSED_WAIT] - r->class_ps[SS_EXPOSED_TRANSFER];
}

#endif
