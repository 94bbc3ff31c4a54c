/*
 * steps.h - the steps of a program and where their time went: of one host (SS_HOST_STEPS) and of
 * all hosts (SS_MODEL_STEPS).
 *
 * A step is an event group with a marker: an event of the "Steps" line of a device, or the user's
 * own on the host. On TPUs its time is split by HLO category per core; on GPUs and CPUs by kind of
 * work, all streams or threads of a host together. Formulae: docs/model/steps.md.
 */
#ifndef SS_MODEL_STEPS_STEPS_H
#define SS_MODEL_STEPS_STEPS_H

#include "base/intern.h"
#include "model/device/env.h"
#include "model/ops/tpu.h"

struct ss_host;
struct ss_model;

/* Kinds of work on GPUs and CPUs; of two at the same time the later in this list counts. */
enum ss_work {
	SS_WORK_UNKNOWN,
	SS_WORK_HOST_COMPUTE,
	SS_WORK_HOST_PREPROCESS,
	SS_WORK_HOST_POSTPROCESS,
	SS_WORK_HOST_BATCH_FORMATION,
	SS_WORK_HOST_RUNTIME,
	SS_WORK_HOST_COMPILE,
	SS_WORK_HOST_TO_HOST,
	SS_WORK_HOST_TO_DEVICE,
	SS_WORK_HOST_PREPARE,
	SS_WORK_COLLECTIVES,
	SS_WORK_HOST_WAIT_INPUT,
	SS_WORK_DEVICE_TO_DEVICE,
	SS_WORK_DEVICE_TO_HOST,
	SS_WORK_DEVICE_COMPUTE_32,
	SS_WORK_DEVICE_COMPUTE_16,
	SS_WORK_DEVICE_WAIT_DEVICE,
	SS_WORK_DEVICE_WAIT_HOST,
	SS_WORK_COUNT
};

enum ss_step_kind { SS_STEP_BY_WORK, SS_STEP_TENSOR_CORE, SS_STEP_SPARSE_CORE };

/* One core's share of a step; a whole host's where kind is SS_STEP_BY_WORK. */
struct ss_step_core {
	enum ss_step_kind kind;
	uint32_t core_id; /* unique within a model: 1000 * host + core */
	uint32_t host;	  /* index into the model's hosts */
	int64_t begin_ps;
	uint64_t dur_ps;
	/* BY_WORK: sums to dur_ps; SS_WORK_COUNT numbers. */
	const uint64_t *work_ps;
	/* TENSOR_CORE: self time by category; the rest of dur_ps is idle. */
	const struct ss_tpu_core *core;
	const struct ss_core_step *step;
	uint64_t idle_ps;
	uint64_t host_input_ps; /* taken from idle: waiting for input that the host prepared */
	/* SPARSE_CORE */
	uint64_t busy_ps;
};

struct ss_step {
	int64_t num;
	struct ss_str name;		  /* "train 3", or ""; of several hosts that of the first */
	bool mixed;			  /* on other hosts it has another name: clocks are a step apart */
	int64_t begin_ps;		  /* on the first host */
	uint64_t dur_ps;		  /* longest of all cores */
	const struct ss_step_core *cores; /* by core_id ascending */
	size_t ncores;
};

/* The source of steps that the program did not mark: inferred.h. */
enum ss_inferred_from {
	SS_INFERRED_NOT,	   /* they are marked */
	SS_INFERRED_FROM_PROGRAMS, /* runs of a program on a device */
	SS_INFERRED_FROM_CALLS,	   /* calls of a program on a thread */
	SS_INFERRED_FROM_KERNELS,  /* the order of a device's operations */
	SS_INFERRED_FROM_OPS,	   /* the order of operations on all threads */
	SS_INFERRED_FROM_OUTERMOST /* the outermost events of a thread */
};

struct ss_inferred {
	enum ss_inferred_from how;
	struct ss_str name;  /* what a step begins with */
	struct ss_str place; /* of the device or thread */
	double confidence_frac;
};

struct ss_steps {
	struct ss_step *v; /* by num ascending */
	size_t n;
	bool by_category; /* TPU */
	bool no_common;	  /* several hosts had steps, but none at the same time */
	bool own_numbers; /* num is the program's own, as in the timeline: ss_request_steps */
	uint64_t compute_16bit_ps, compute_32bit_ps; /* GPU: of all groups, steps or not */
	struct ss_inferred inferred;
};

/*
 * The steps of one host; core ids are those of the host alone. The begin and the end of the profile
 * may cut the first and the last step.
 */
struct ss_host_steps {
	struct ss_steps steps;
	struct ss_step_core *cores;
	uint64_t *work_ps;
	struct ss_arena arena;
};

const struct ss_host_steps *ss_host_steps(struct ss_host *h, struct ss_err *err);

/*
 * Steps of each host of a model (SS_MODEL_HOST_STEPS, SS_MODEL_HOST_INFERRED_STEPS), as they are
 * combined. Where hosts are visited they are copies, in the keeper's arena: their cores have no
 * plane and no operations.
 */
struct ss_each_steps {
	const struct ss_host_steps **v; /* NULL: the host takes no part */
	enum ss_hardware *hardware;
	size_t n;
	struct ss_intern intern;
};

/* steps_intern.c: a copy of everything. False when memory is out. */
bool ss_host_steps_intern(struct ss_host_steps *to, const struct ss_host_steps *from, struct ss_intern *intern);

/*
 * Steps that all hosts have in common, as XProf joins and numbers them. `whole`: without the first and last step of a host with
 * more than five on GPUs and CPUs, which the profile may have cut.
 */
const struct ss_steps *ss_model_steps(struct ss_model *m, bool whole, struct ss_err *err);
/*
 * The same with the program's own numbers, by which they are joined: those of the timeline and of the tools over many hosts. As
 * above where the program does not number all of them, or the hosts have no number in common.
 */
const struct ss_steps *ss_model_numbered_steps(struct ss_model *m, bool whole, struct ss_err *err);

/* steps_generic.c, steps_tpu.c: fill `out`; on failure the caller releases the partial result. */
bool ss_steps_by_work(struct ss_host_steps *out, struct ss_host *h, bool has_device,
		      struct ss_err *err);
bool ss_steps_by_category(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err);

/* steps_torch.c: of a trace of PyTorch with marked steps. */
bool ss_steps_of_torch(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err);

/* inferred.c. */
bool ss_steps_infer(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err);

/* host_marks.c: what the host's threads say about steps. */
struct ss_host_mark {
	int64_t group;
	struct ss_str name; /* stat step_name, or "" */
	int64_t begin_ps;   /* longest marker; dur_ps 0: none */
	uint64_t dur_ps;
	uint64_t input_ps; /* summed durations of waiting for input and of copies to the device */
};

struct ss_host_marks {
	struct ss_host_mark *v; /* by group ascending */
	size_t n;
};

/* The timespan of one kind of work in one group. */
struct ss_work_span {
	int64_t begin_ps, end_ps;
	uint32_t group; /* index into a list of groups */
	uint32_t work;	/* enum ss_work */
};

struct ss_work_spans {
	struct ss_work_span *v;
	size_t n, cap;
	int64_t *groups; /* group ids in the order of first appearance */
	size_t ngroups, group_cap;
	struct ss_u64map by_group;
};

bool ss_work_spans_add(struct ss_work_spans *s, int64_t group, int64_t begin_ps, int64_t end_ps,
		       enum ss_work work);
void ss_work_spans_free(struct ss_work_spans *s);

/* `spans`: also collect what the threads do; NULL: markers and input only. */
bool ss_host_marks_read(struct ss_host_marks *out, struct ss_work_spans *spans,
			const struct ss_host *h, struct ss_err *err);

/*
 * Give each moment to one kind of work: work_ps[SS_WORK_COUNT] of group `k` within [from_ps,
 * to_ps), and the sums of all its time in whole_ps. work_sweep.c. Spans must have been sorted by
 * ss_work_spans_sort, which gives first[k] .. first[k + 1].
 */
struct ss_sweep {
	struct ss_work_spans *spans;
	size_t *first; /* per group index into order; ngroups + 1 */
	struct ss_work_span *sorted;
	void *scratch;
	size_t scratch_cap;
};

bool ss_sweep_init(struct ss_sweep *w, struct ss_work_spans *spans);
bool ss_sweep_group(struct ss_sweep *w, uint32_t group, int64_t from_ps, int64_t to_ps,
		    uint64_t *work_ps, uint64_t *whole_ps);
void ss_sweep_free(struct ss_sweep *w);

#endif
