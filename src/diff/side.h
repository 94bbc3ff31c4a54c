/*
 * side.h - one side of a comparison: one or several runs of a program, and its operations over all
 * of them.
 */
#ifndef SS_DIFF_SIDE_H
#define SS_DIFF_SIDE_H

#include "diff/run.h"

struct ss_side_op {
	const struct ss_diff_op *op; /* of the first run that has it */
	double us, calls;	     /* means over the runs */
};

struct ss_side_function {
	struct ss_str name;
	double us, calls;
};

struct ss_diff_side {
	struct ss_diff_run *runs;
	size_t n;
	SS_VEC(struct ss_side_op) ops; /* in the order of first execution */
	struct ss_sample *op_us;       /* ops x runs; zeros where a run does not have it */
	SS_VEC(struct ss_side_function) functions;
	struct ss_sample *function_us; /* functions x runs */
};

/*
 * Make a side of runs that were read; the caller keeps the runs. False: out of memory.
 * ss_diff_side_free in any case.
 */
bool ss_diff_side_make(struct ss_diff_side *s);
void ss_diff_side_free(struct ss_diff_side *s);

#endif
