/*
 * step_stats.h - statistics over steps: how long they took and on what, per step and on average
 * (docs/tools/input_pipeline_analyzer.md, docs/tools/overview_page.md). Times in ms, shares in percent.
 */
#ifndef SS_MODEL_STEPS_STEP_STATS_H
#define SS_MODEL_STEPS_STEP_STATS_H

#include "model/steps/steps.h"

/*
 * Statistics of samples: all members are 0 without samples. The maximum of zeros and the deviation of a
 * single 0 are those of XProf (ss_quirk_first_max).
 */
struct ss_summary {
	double mean, stddev, min, max;
};

struct ss_summary ss_summary_of(const double *v, size_t n);

/* Time of a GPU's or CPU's step by what a user can act on. The order is that of the columns. */
enum ss_step_part {
	SS_STEP_PART_DEVICE_COMPUTE,
	SS_STEP_PART_DEVICE_TO_DEVICE,
	SS_STEP_PART_COLLECTIVES,
	SS_STEP_PART_HOST_COMPUTE,
	SS_STEP_PART_KERNEL_LAUNCH,
	SS_STEP_PART_INPUT,
	SS_STEP_PART_OUTPUT,
	SS_STEP_PART_COMPILE,
	SS_STEP_PART_OTHER,
	SS_STEP_PART_COUNT
};

/* The parts of one host's step, whose kind is SS_STEP_BY_WORK. */
void ss_step_parts(const struct ss_step_core *c, uint64_t part_ps[SS_STEP_PART_COUNT]);

/* A step of the first host; with several hosts the others only count for the length of steps. */
struct ss_part_row {
	double part_ms[SS_STEP_PART_COUNT];
	double step_ms;
	double host_to_device_ms; /* within input */
};

struct ss_part_row ss_part_row_of(const struct ss_step *s);

/* A step of TPU cores: of each part the core that shows it most. */
struct ss_tpu_row {
	double tc_compute_ms, tc_infeed_ms, tc_outfeed_ms, tc_idle_ms, host_transfer_ms;
	double scv0_compute_ms, scv0_infeed_ms;
	double all_reduce_compute_ms, all_reduce_sync_ms;
	double infeed_percent_mean, infeed_percent_min, infeed_percent_max;
	const struct ss_step_core *infeed_core; /* waited longest for input; NULL: none waited */
	double step_ms;				/* longest TensorCore */
	double total_ms;			/* sum of the parts above */
	double tc_active_ms; /* mean over TensorCores: neither idle nor waiting for the host */
	/* SparseCores; all 0 without. */
	bool has_sparse_core;
	double sc_step_ms, sc_compute_ms, sc_idle_ms, sc_active_ms;
};

/* False when memory is out. */
bool ss_tpu_row_of(const struct ss_step *s, struct ss_tpu_row *out);

/* Longest step over all hosts and cores that count, in ms. */
double ss_step_longest_ms(const struct ss_step *s);

#endif
