/*
 * torch.h - what a trace of PyTorch's profiler (Kineto) says, as columns of things rather than of
 * events: operators, calls of the device's library, what ran on devices, ranges of the program,
 * modules, allocations; which of them belong together; and their times.
 *
 * Times are whole nanoseconds since the start of the profile, so that sums are exact. A thread is a
 * line of a host's plane. Texts are numbers of `texts`.
 *
 * Operators are ordered by thread, then begin, longer first: a parent stands before its children.
 * An operator whose only child has its name is one with it (autograd's wrappers): `head` names the
 * outer one, and all times, calls and device events are the head's.
 *
 * A device event belongs to the call with its correlation; a call to the operator that its External
 * id names, if that one is around the call on its thread, else to the innermost operator around it.
 * An External id that equals the event's own correlation says nothing (PyTorch 1.12 to 2.2).
 *
 * Part of struct ss_host; reads the file's events itself, without loading the host. A profile that
 * is no such trace gives an empty one.
 */
#ifndef SS_MODEL_TORCH_TORCH_H
#define SS_MODEL_TORCH_TORCH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/kineto.h"

struct ss_host;
struct ss_model;

struct ss_torch_thread {
	uint32_t plane, line;
	int64_t id;
	/* The first of this thread, for each kind; they end at the first of the next thread. */
	uint32_t ops, calls, modules, memory;
};

/* A trace has millions of these three, so they hold no more than they must. */
struct ss_torch_op {
	int64_t begin_ns, end_ns;
	uint32_t name;
	uint32_t shape;	   /* of `shapes` */
	uint32_t stack;	   /* a text (PyTorch 1.8 to 1.11), or a frame, see stack_is_frame */
	uint32_t sequence; /* Sequence number, SS_NONE: none */
	uint32_t parent;   /* the operator around it as recorded, SS_NONE: none */
	uint32_t head;	   /* itself, or what it is one with */
	uint32_t module;   /* the innermost around its begin, SS_NONE: none */
	uint32_t thread : 31;
	uint32_t backward : 1; /* has a Fwd thread id: runs in the backward pass */
};

/* Members of a head. */
struct ss_torch_op_times {
	int64_t cpu_self_ns, device_self_ns, device_total_ns;
};

/* The arguments of operators, as texts. */
struct ss_torch_shape {
	uint32_t dims, types; /* dims: Input Dims without blanks; 0: "" */
};

/* The arguments of an operator that describe a collective. */
struct ss_torch_op_comm {
	uint32_t op, comm; /* of `ops`, of `comms` */
};

struct ss_torch_call {
	int64_t begin_ns, end_ns;
	uint32_t name, thread;
	uint32_t op;	 /* head, SS_NONE: none */
	uint32_t module; /* the innermost around its begin */
	uint32_t first;	 /* of `by_call`: what it launched */
	uint32_t ndevice : 31;
	uint32_t nested : 1; /* inside another call on its thread */
};

enum ss_torch_kind { SS_TORCH_KERNEL, SS_TORCH_MEMCPY, SS_TORCH_MEMSET, SS_TORCH_COLLECTIVE };

struct ss_torch_device_event {
	int64_t begin_ns, end_ns;
	int64_t stream, bytes;
	uint32_t name;	/* of a copy as PyTorch calls it: "Memcpy HtoD (Pinned -> Device)" */
	uint32_t call, op, comm; /* SS_NONE: none; op is a head */
	uint32_t line, event; /* where it stands in the file, on its plane */
	uint32_t plane : 24;
	uint32_t kind : 8; /* enum ss_torch_kind */
	int32_t device;
	float blocks_per_sm, occupancy_pct; /* NAN: not said */
};

/* A range that the program or a library marked. */
struct ss_torch_range {
	int64_t begin_ns, end_ns;
	uint32_t name, thread;
	uint32_t dims, types;
	int64_t step;	/* number of ProfilerStep#, else INT64_MIN */
	uint32_t mark;	/* of a step: its name in the file, a text */
	bool operators;	/* recorded in the category of operators */
};

#define SS_TORCH_MODULE "nn.Module: " /* begins the name of a module's call */

/* A call of an nn.Module. `path`: a text, "Outer_0/Inner_2". */
struct ss_torch_module {
	int64_t begin_ns, end_ns;
	uint32_t path, thread;
	uint32_t parent; /* SS_NONE: none */
};

/* A Python function and what called it, by names. */
struct ss_torch_frame {
	uint32_t name, parent; /* of `texts`; of `frames`, SS_NONE: none */
};

/* The arguments of a collective's own event. */
struct ss_torch_comm {
	uint32_t name, group, dtype; /* texts */
	int64_t group_size, in_elements, out_elements; /* 0: not said */
	int64_t sequence; /* -1: not said */
};

struct ss_torch_memory {
	int64_t time_ns, bytes; /* bytes below 0: a release */
	int64_t allocated_bytes, reserved_bytes; /* -1: not said */
	uint64_t address;
	uint32_t device;  /* a text: "CPU", "CUDA:0" */
	uint32_t op;	  /* head of the innermost operator around, SS_NONE: none */
	uint32_t module;  /* the innermost around, SS_NONE: none */
	uint32_t thread, event;
	bool addressed;
};

struct ss_torch_step {
	int64_t number, begin_ns, end_ns;
	uint32_t mark; /* its name in the file, a text */
};

/* A GPU of the machine, as deviceProperties has it; most were never used. */
struct ss_torch_gpu {
	int64_t id, memory_bytes, sms, major, minor;
	struct ss_str name;
};

struct ss_torch {
	bool is_torch;	/* it is a trace of PyTorch */
	bool kineto;	/* its own profiler recorded it: what it can be asked for helps */
	bool record_shapes, profile_memory, with_stack, with_modules, with_flops;
	bool stack_is_frame, any_frame;
	bool marked;	/* steps are the program's ProfilerStep# */
	int64_t rank, world_size; /* -1: not said */
	int64_t groups; /* process groups of this rank's process, -1: not said */
	struct ss_strmap texts; /* 0: "" */
	SS_VEC(struct ss_torch_thread) threads; /* and one behind them, to end the last */
	SS_VEC(struct ss_torch_op) ops;
	SS_VEC(struct ss_torch_shape) shapes;
	SS_VEC(struct ss_torch_op_comm) op_comms; /* by operator */
	SS_VEC(struct ss_torch_call) calls;
	SS_VEC(struct ss_torch_device_event) device; /* by plane and line, in time */
	SS_VEC(uint32_t) by_call; /* device events of calls */
	SS_VEC(struct ss_torch_range) ranges;
	SS_VEC(struct ss_torch_module) modules;
	SS_VEC(struct ss_torch_frame) frames;
	SS_VEC(struct ss_torch_comm) comms;
	SS_VEC(struct ss_torch_memory) memory;
	SS_VEC(struct ss_torch_step) steps; /* by begin; without marks one, number 0, unless there is nothing */
	SS_VEC(struct ss_torch_gpu) gpus;
	struct ss_arena arena;
};

const struct ss_torch *ss_host_torch(struct ss_host *h, struct ss_err *err);
/* May it be such a trace, or one of another profiler that is read as such? Looks at names only. */
bool ss_host_is_torch(const struct ss_host *h);
/* Do its events include calls of nn.Modules? */
bool ss_host_names_torch_modules(const struct ss_host *h);
/* Did torch.profiler write it, whose arguments it has? */
bool ss_host_is_kineto(const struct ss_host *h);
/* Are the operations that its kernels name no paths of name scopes: operators of PyTorch, ranges around launches? */
bool ss_host_names_ranges(const struct ss_host *h);

static inline struct ss_str ss_torch_text(const struct ss_torch *t, uint32_t text)
{
	return t->texts.keys[text];
}

static inline bool ss_torch_is_kernel(const struct ss_torch_device_event *e)
{
	return e->kind == SS_TORCH_KERNEL || e->kind == SS_TORCH_COLLECTIVE;
}

static inline const struct ss_torch_shape *ss_torch_shape(const struct ss_torch *t, uint32_t op)
{
	return &t->shapes.v[t->ops.v[op].shape];
}

/* Number of the collective that an operator names, SS_NONE: none. */
uint32_t ss_torch_op_comm(const struct ss_torch *t, uint32_t op);
/* The times of all operators, by number, for the caller to free; NULL when memory is out. */
struct ss_torch_op_times *ss_torch_op_times(const struct ss_torch *t);

/* The operator around a head, itself a head; SS_NONE: none. */
static inline uint32_t ss_torch_above(const struct ss_torch *t, uint32_t op)
{
	uint32_t parent = t->ops.v[op].parent;
	return parent == SS_NONE ? SS_NONE : t->ops.v[parent].head;
}

/* The frames of a stack, the innermost first, joined by ";"; p is NULL when memory is out. */
struct ss_str ss_torch_stack(const struct ss_torch *t, uint32_t stack, struct ss_arena *arena);

#endif
