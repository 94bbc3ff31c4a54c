/*
 * metrics.h - the handful of numbers by which one watches a running job, out of a short profile of
 * it: what the profiler of a Cloud TPU answers to Monitor, computed here because the open ones
 * answer nothing.
 */
#ifndef SS_CLI_METRICS_H
#define SS_CLI_METRICS_H

#include "capture_words.h"

/* NAN: the profile does not say. */
struct cli_metrics {
	char device[64];		/* "TPU v4", "CPU", "" */
	double cores;
	double mxu_percent;		/* of the matrix units' peak */
	double idle_percent;		/* of the device's time */
	double step_ms_mean, step_ms_min, step_ms_max;
	double infeed_percent_mean, infeed_percent_min, infeed_percent_max; /* of the step time */
	char finding[520];		/* the first finding: what holds the program up; "" */
};

/* The lines of monitoring level 1 or 2, each with `indent` before it. */
void cli_metrics_print(const struct cli_metrics *f, unsigned level, const char *indent);

/* One look at a job: a short profile of all hosts into a directory that is removed again. */
struct cli_sample {
	bool ok;
	char target[280];
	char why[300];		/* when it is not, */
	enum ss_grpc_code code;	/* and the call's status, if it was that */
	struct cli_metrics metrics;
	bool straggler;			/* it holds up the others, as the tool stragglers says of all of them */
};
/* The verdict of the tool stragglers for a sample of several hosts; "" for one host. */
#define CLI_VERDICT_BYTES 520
/* Profiles worth keeping: when `wanted` says so, what was looked at is copied to a new run of `logdir`. */
struct cli_keep {
	const char *logdir;
	bool (*wanted)(void *arg, const struct cli_sample *samples, size_t n);
	void *arg;
	char run[300];			/* the last run kept; "" when the last look was not */
};
/*
 * Fills looks[0 .. n), in the order of the targets, of which there are at most `cap`. False when the
 * whole of it makes no sense or was cancelled, or what should be kept cannot be. `keep` may be NULL; so
 * may `verdict`: then no host is judged.
 */
bool cli_sample(const struct ss_capture_config *config, struct cli_sample *samples, size_t cap, size_t *n, struct cli_keep *keep,
	      char verdict[CLI_VERDICT_BYTES], struct ss_err *err);

#endif
