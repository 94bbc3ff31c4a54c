/*
 * run.h - what a comparison knows of one run: its steps, where the time of a step goes, by operation
 * and by function of the host, its memory and its environment.
 *
 * All times are microseconds per step; of several devices and hosts the mean over devices and hosts.
 * Hosts are read one after the other and closed; memory grows with steps and distinct operations, not
 * with events.
 */
#ifndef SS_DIFF_RUN_H
#define SS_DIFF_RUN_H

#include "base/err.h"
#include "base/vec.h"
#include "model/attribution/windows.h"
#include "statistics/sample.h"

struct ss_model;

/* Parts of the time of a step: each instant belongs to one part. */
enum ss_diff_component {
	SS_DIFF_COMPUTE,
	SS_DIFF_COMMUNICATION,
	SS_DIFF_COPIES,
	SS_DIFF_INPUT,
	SS_DIFF_OUTPUT,
	SS_DIFF_COMPILE,
	SS_DIFF_HOST,
	SS_DIFF_IDLE,
	SS_DIFF_COMPONENTS
};

/* "compute", "exposed_communication" ... */
struct ss_str ss_diff_component_name(enum ss_diff_component c);

struct ss_diff_step {
	int64_t num;
	double begin_us, us;
	bool outlier;
};

/* An operation, a kernel, or what lies between operations. */
struct ss_diff_op {
	struct ss_str name, path;    /* "fusion.3"; "jit(step)/mul", "" */
	struct ss_str opcode, shape; /* "fusion", "bf16[256,1024]"; or "" */
	struct ss_str source, module, kernel;
	enum ss_diff_component component;
	uint64_t graph;	       /* of the operation with its operands, two levels deep; 0: unknown */
	const uint64_t *inner; /* of a fusion: hashes of the paths of its instructions */
	size_t ninner;
	double calls; /* of a step and device */
	struct ss_sample us;
};

struct ss_diff_function {
	struct ss_str name;
	double calls;
	struct ss_sample us; /* its own time, without the functions that it calls */
};

struct ss_diff_host {
	struct ss_str name;
	double us[SS_DIFF_COMPONENTS]; /* of a step and device */
};

struct ss_diff_fact {
	struct ss_str key, value;
};

struct ss_diff_memory {
	struct ss_str what;
	double bytes;
};

struct ss_diff_run {
	struct ss_str path;
	enum ss_step_source steps_from;
	bool device_alone; /* see ss_windows */
	SS_VEC(struct ss_diff_step) steps; /* without those that are left out: see docs/diff.md */
	size_t typical;			   /* steps that are no outliers */
	size_t recorded_steps;		   /* of the first host, those that are left out as well */
	struct ss_sample step, all;	   /* over typical steps; over all */
	struct ss_sample components[SS_DIFF_COMPONENTS];
	struct ss_sample outside;      /* from the end of a step to the begin of the next */
	SS_VEC(struct ss_diff_op) ops; /* in the order of first execution */
	SS_VEC(struct ss_diff_function) functions;
	SS_VEC(struct ss_diff_host) hosts;
	SS_VEC(struct ss_diff_memory) memory;
	SS_VEC(struct ss_diff_fact) facts; /* the environment */
	SS_VEC(struct ss_str) parameters;  /* of the program that takes most time: "f32[256,1024]" */
	struct ss_str device_type;
	size_t ndevices, nhosts;
	bool on_cpu;
	bool has_functions, has_python; /* of the thread that starts programs; of Python among them */
	SS_VEC(struct ss_str) notes; /* what could not be read */
	struct ss_intern texts;
};

/* The selected hosts and steps; zeros select all. */
struct ss_diff_selection {
	bool some_steps;
	int64_t first_step, last_step; /* by number, when some */
};

/*
 * Visits the hosts of the model. SS_ENODATA where it has no steps. ss_diff_run_release in any case.
 */
bool ss_diff_run_read(struct ss_diff_run *out, struct ss_model *m, struct ss_str path, const struct ss_diff_selection *only,
		      struct ss_err *err);
/* The source of the begin and the end of a step: "marked", "derived from the device alone". */
struct ss_str ss_diff_steps_from(const struct ss_diff_run *r);
/*
 * A copy of a recording does not show how much runs differ: if the last of n runs of a side is the same recording as another, it is
 * released, the other notes it, and *n is one less. False: no memory.
 */
bool ss_diff_run_drop_copy(struct ss_diff_run *v, size_t *n);
/* Every time of the run times `factor`. */
void ss_diff_run_scale(struct ss_diff_run *r, double factor);
void ss_diff_run_release(struct ss_diff_run *r);

#endif
