/*
 * compare.h - two sides compared: what changed, by how much, and how sure that is. docs/diff.md has
 * the formulas.
 *
 * All deltas are new minus base, times in microseconds per step.
 */
#ifndef SS_DIFF_COMPARE_H
#define SS_DIFF_COMPARE_H

#include "diff/match.h"
#include "statistics/compare.h"

enum ss_diff_verdict {
	SS_DIFF_SLOWER,
	SS_DIFF_FASTER,
	SS_DIFF_NO_SIGNIFICANT_CHANGE,
	SS_DIFF_TOO_NOISY,
	SS_DIFF_NOT_COMPARABLE,
};

struct ss_str ss_diff_verdict_name(enum ss_diff_verdict v);

/* An operation with a share of the step up to this is not mentioned. */
#define SS_DIFF_LEAST_OP_FRAC 0.001

/* Options of the user; 0: the default. */
struct ss_diff_options {
	double band_frac; /* 0.02 with one run a side, else 0.01 */
	double alpha;	  /* 0.05 */
	bool per_example; /* divide by the batch where the sides differ in it */
	bool anyway;	  /* list what cannot be compared, without a verdict */
	struct ss_str hosts_note; /* of ss_diff_common_hosts, where the runs were read again */
};

/* The rows of the breakdown: components, then these. */
enum { SS_DIFF_OUTLIERS = SS_DIFF_COMPONENTS, SS_DIFF_OUTSIDE, SS_DIFF_PARTS };

struct ss_str ss_diff_part_name(int part);

struct ss_diff_row {
	struct ss_comparison c; /* p, low, high: NAN without a test */
	double p_adjusted;
	double detectable; /* of a figure: ss_detectable; NAN */
	bool significant;
};

struct ss_diff_op_row {
	struct ss_diff_row r;
	enum ss_match how;
	uint32_t first_base, first_new; /* operations of the row, SS_NONE; the next ones by next_base, next_new */
	enum ss_diff_component component;
};

enum ss_diff_state { SS_DIFF_COMPARED, SS_DIFF_NORMALISED, SS_DIFF_REFUSED };

struct ss_diff_check {
	const char *what; /* "device_type" */
	enum ss_diff_state state;
	struct ss_str reason;
};

struct ss_diff {
	struct ss_diff_side base, new;
	struct ss_diff_options options; /* as they came to be */
	bool one_run;			/* on each side */
	enum ss_diff_verdict verdict;
	bool outliers_decide; /* the verdict is that of steps that are no typical ones */
	struct ss_diff_row step, mean_step, period;
	struct ss_diff_row parts[SS_DIFF_PARTS];
	uint64_t needed; /* steps, or runs a side, that would find a change of 3 %; 0: unknown */
	struct ss_matching match;
	struct ss_diff_op_row *ops;	/* match.rows */
	uint32_t *next_base, *next_new; /* by operation: the next of its row */
	struct ss_diff_function_row {
		struct ss_diff_row r;
		uint32_t base, new; /* SS_NONE: the side does not have it */
	} * functions;
	size_t nfunctions;
	struct ss_diff_check checks[8];
	size_t nchecks;
	double batch_factor;			/* new / base, where the batch differs; else 0 */
	double base_peak_bytes, new_peak_bytes; /* means over the runs; NAN: not recorded */
	struct ss_arena arena;
};

/*
 * Compare sides whose runs were read; `d` holds `base.runs` and `new.runs`, which stay with the caller
 * and outlive it. ss_diff_free in any case.
 */
bool ss_diff_compare(struct ss_diff *d, struct ss_err *err);
void ss_diff_free(struct ss_diff *d);

/*
 * Sums of operation rows: `group` of each row of the matching, below n; out[n]. False: no memory.
 */
bool ss_diff_compare_groups(struct ss_diff *d, const uint32_t *group, size_t n, struct ss_diff_row *out);

/*
 * Rows of the caller: n x runs samples a side, those of a row one after the other. A sample of n 0
 * is one of a run that spends no time on it; a sample with mean NAN is unknown. `least`: a smaller
 * delta is not reported; above 0 for times, which are never negative.
 */
bool ss_diff_compare_samples(struct ss_diff *d, const struct ss_sample *base, const struct ss_sample *new, size_t n, double least,
			     struct ss_diff_row *out);
/*
 * Operations of one row, by run: steps that are slow are slow for all of them, so their errors add
 * up.
 */
void ss_diff_add_samples(struct ss_sample *to, const struct ss_sample *from, size_t n);

/* Choose the hosts that can be compared if the runs have different hosts. */
struct ss_diff_hosts {
	struct ss_str names; /* "host0,host1", as a selection takes them; "": all runs have the same, or none in common */
	struct ss_str note;  /* for ss_diff_options, when the runs were read again with these hosts alone */
};

/* hosts.c: the texts are in `arena`. False: no memory. */
bool ss_diff_common_hosts(const struct ss_diff_side *base, const struct ss_diff_side *new, struct ss_arena *arena,
			  struct ss_diff_hosts *out);

/* Are times of new divided by the batch factor? */
static inline bool ss_diff_is_per_example(const struct ss_diff *d)
{
	return d->options.per_example && d->batch_factor > 0;
}

/* comparable.c: fills checks. False: no memory. */
void ss_diff_check_all(struct ss_diff *d);
bool ss_diff_is_refused(const struct ss_diff *d);
/* The value of a fact, "" where the run does not have it. */
struct ss_str ss_diff_fact_of(const struct ss_diff_run *r, struct ss_str key);

#endif
