/* duty.h - for how much of the time TPU chips had work. */
#ifndef SS_MODEL_DEVICE_DUTY_H
#define SS_MODEL_DEVICE_DUTY_H

#include "base/err.h"

#include <stdint.h>

struct ss_host;
struct ss_model;

/* TPU: time that chips had work, from the first program to the last. Of other hardware all is 0. */
struct ss_duty {
	uint64_t busy_ps, idle_ps;
	uint64_t busy_high_confidence_ps,
		idle_high_confidence_ps; /* counting custom-calls as work only where they state a cost */
};

/* The duty cycle of one host. */
const struct ss_duty *ss_host_duty(struct ss_host *h, struct ss_err *err);
/* The duty cycle of all hosts together. */
const struct ss_duty *ss_model_duty(struct ss_model *m, struct ss_err *err);

#endif
