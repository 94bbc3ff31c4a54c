/* skeleton_read.h - reading a skeleton: what its files share. */
#ifndef SS_MODEL_CLUSTER_SKELETON_READ_H
#define SS_MODEL_CLUSTER_SKELETON_READ_H

#include "base/safe.h"
#include "base/sort.h"
#include "model/cluster/skeleton.h"
#include "model/host/plane.h"
#include "model/host/partial_read.h"
#include "model/host/stat_projection.h"
#include "model/program/hlo_map.h"

/* A step that is marked on a host thread. */
struct ss_skel_marker {
	int64_t begin_ps, end_ps, num;
	uint32_t thread;
	uint32_t step;	/* equal for markers of one step: a number that comes again behind others is another step */
};

/* An operation of a program that a CPU ran, on a thread of the host. */
struct ss_skel_cpu_op {
	int64_t begin_ps, end_ps;
	int64_t run, device;
	struct ss_str op, program;
	uint64_t program_id;
};

/* Facts that the name of an operation gives. */
struct ss_skel_named {
	bool known;
	uint32_t op;		/* of the span */
	uint32_t collective;	/* of the whole collective; SS_NONE: not a collective */
	enum ss_comm_phase phase;
	enum ss_comm kind;
};

struct ss_skel_reading {
	struct ss_skeleton *s;
	struct ss_host *h;
	struct ss_partial *partial;
	const struct ss_plane *planes; /* its planes, as many as the host has; each is forgotten when it was read */
	struct ss_hlo_map *hlo;
	struct ss_strmap op_keys;	/* by index of s->ops */
	struct ss_strmap texts;		/* of operations of TPUs, which are the same on all cores: by index of `named` */
	SS_VEC(struct ss_skel_named) named;
	struct ss_arena arena;		/* of this reading */
	/* Read the host's threads. */
	SS_VEC(struct ss_skel_marker) markers; /* by begin */
	SS_VEC(struct ss_skel_cpu_op) cpu_ops;
	struct ss_u64map by_correlation, by_run; /* launches, as indices into s->events */
	bool torch;	/* collectives are PyTorch's: the file is of one rank */
};

/* Markers, launches, input and waits, and what CPUs ran. skeleton_host.c */
bool ss_skel_read_threads(struct ss_skel_reading *r);
/* The launch of a run on a device; SS_NO_LAUNCH. */
uint32_t ss_skel_launch_of_run(const struct ss_skel_reading *r, int64_t run, int64_t ordinal);
/* The marker around this moment, the innermost; NULL: there is none. */
const struct ss_skel_marker *ss_skel_marker_at(const struct ss_skel_reading *r, int64_t at_ps);
/* Tells markers of one step from those of other steps; they are in order. skeleton_markers.c */
bool ss_skel_tell_steps(struct ss_skel_reading *r);

/* Devices, by kind. skeleton_tpu.c, skeleton_gpu.c */
bool ss_skel_read_tpu(struct ss_skel_reading *r, const struct ss_plane *p);
bool ss_skel_read_gpu(struct ss_skel_reading *r, const struct ss_plane *p, struct ss_err *err);
bool ss_skel_read_cpus(struct ss_skel_reading *r, struct ss_err *err);

/* Index of an operation, added when it is new; SS_NONE: memory is out. Texts are copied. */
uint32_t ss_skel_op(struct ss_skel_reading *r, const struct ss_skel_op *op);
/*
 * The device of this ordinal, added when it is new; NULL: memory is out. Good until the next call.
 */
struct ss_skel_device *ss_skel_device_at(struct ss_skel_reading *r, int64_t ordinal);
/* By begin, then end, then operation. */
void ss_skel_sort_comms(struct ss_skel_device *d);
/* The step of a device around a moment; SS_NO_STEP. */
int64_t ss_skel_device_step(const struct ss_skel_device *d, int64_t at_ps);

/*
 * Facts about an instruction from the text of its program: kind, group, bytes. Without the program only
 * the name is used. Texts live in r->arena. False: memory is out, or the program cannot be read.
 */
bool ss_skel_instruction(struct ss_skel_reading *r, uint64_t program_id, struct ss_str name, struct ss_comm_op *out,
			 struct ss_err *err);

/*
 * Times are held within 26 days of the recording's start, and numbers of steps within as many: differences and sums of
 * any two then fit, whatever a file says. What lies beyond is at that limit.
 */
#define SS_SKEL_MAX (INT64_C(1) << 61)

static inline int64_t ss_skel_held(int64_t v)
{
	return v > SS_SKEL_MAX ? SS_SKEL_MAX : v < -SS_SKEL_MAX ? -SS_SKEL_MAX : v;
}

static inline int64_t ss_skel_begin_ps(const struct ss_line *l, uint32_t i)
{
	return ss_skel_held(l->ev.begin_ps[i]);
}

static inline int64_t ss_skel_end_ps(const struct ss_line *l, uint32_t i)
{
	return ss_skel_held(ss_safe_end(l->ev.begin_ps[i], l->ev.dur_ps[i]));
}

#endif
