/*
 * tpu_counters.h - the known hardware counters of TPUs: ids, sets, and utilization derived from them.
 *
 * A profile with counters has, on a TPU's plane, one line per sample and one event per counter. The
 * id of a counter is the address of its register (tpu_counters.def). Chips other than those listed have
 * counters too, but nothing is known about them here.
 */
#ifndef SS_MODEL_COUNTERS_TPU_COUNTERS_H
#define SS_MODEL_COUNTERS_TPU_COUNTERS_H

#include "model/host/plane.h"

enum ss_tpu_chip { SS_TPU_OTHER, SS_TPU_V6E, SS_TPU_V7X };

/* By the plane stat device_type_string: exactly "TPU v6 Lite" or "TPU v7x". */
enum ss_tpu_chip ss_tpu_chip_of(struct ss_str device_type);
/*
 * The plane's description of its device; false without that stat. The number may be an int64 or a
 * uint64; if there are several, the last one counts.
 */
bool ss_plane_int_stat(const struct ss_plane *p, enum ss_stat stat, int64_t *value);
struct ss_str ss_plane_str_stat(const struct ss_plane *p, enum ss_stat stat); /* "" without it */

/* Has a TPU of this host hardware counters? Needs the host opened only. */
bool ss_host_has_tpu_counters(const struct ss_host *h);
/*
 * The host's planes, as many and in its order, with the lines of devices that have counters; other
 * planes have no lines. Reads only those lines (partial_read.h). NULL on failure.
 */
const struct ss_plane *ss_host_counters(struct ss_host *h, struct ss_err *err);
/* The same with other lines of those devices: "XLA Ops" and "Steps", as the file has them. */
const struct ss_plane *ss_host_counted(struct ss_host *h, struct ss_err *err);
/*
 * The value of a stat counter_value: 64 bits unsigned, a double without its fraction and held
 * between 0 and 2^64.
 */
uint64_t ss_counter_value(const struct ss_xstat *s);

/* Set tokens of a counter, separated by spaces; "" if it is not known. */
struct ss_str ss_tpu_counter_set(enum ss_tpu_chip chip, uint64_t id);
/* A description of the counted event; "" if it is not known. */
struct ss_str ss_tpu_counter_doc(enum ss_tpu_chip chip, uint64_t id);

/* "v6e", "v7x", as XProf's clients name chips. */
enum ss_tpu_chip ss_tpu_chip_of_version(struct ss_str version);
/*
 * Every counter of a chip, in the order of tpu_counters.def: ids and names of ours, "hbm_1_3_read" for
 * the fourth controller of the second stack. False when memory is out.
 */
struct ss_tpu_counter_name {
	struct ss_str name;
	uint64_t id;
};
bool ss_tpu_counter_names(enum ss_tpu_chip chip, struct ss_arena *a, struct ss_tpu_counter_name **out, size_t *n);

/*
 * The counters of one line. When an id repeats, `last` has the later value and `sum` all of them
 * together.
 */
struct ss_tpu_sample {
	struct ss_u64map index;	/* id to position */
	uint64_t *last, *sum;
	uint32_t n;
};

/* Free with ss_tpu_sample_free, whatever is returned. False when memory is out. */
bool ss_tpu_sample_read(struct ss_tpu_sample *s, const struct ss_plane *p, const struct ss_line *l);
void ss_tpu_sample_free(struct ss_tpu_sample *s);

/*
 * Achieved and possible work of one unit. Units: "cycles", "instructions", "bytes", "percent" (a
 * ratio: achieved / peak of two counts). Utilisation is achieved / peak.
 */
struct ss_tpu_use {
	uint32_t node;		/* TensorCore or SparseCore; 0 for what the cores share */
	const char *name, *unit;
	double achieved, peak;
};

#define SS_TPU_MAX_USES 160	/* v7x has 120 */

struct ss_tpu_use_options {
	bool summed;		/* add repeated counters up instead of taking the last */
	double duration_s;	/* > 0: stands for the cycles of a core that counted none */
	bool force_duration;	/* ... and of every other core */
};

/*
 * Fill `out` with the rows of one sample in their fixed order; their number. `longest_s`: time of
 * the core that counted longest.
 */
size_t ss_tpu_utilization(enum ss_tpu_chip chip, const struct ss_tpu_sample *s, const struct ss_tpu_use_options *opt,
			  struct ss_tpu_use out[SS_TPU_MAX_USES], double *longest_s);

#endif
