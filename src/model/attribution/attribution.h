/*
 * attribution.h - where the time of a program went: each moment of the recording belongs to exactly
 * one class.
 *
 * It covers the recording from the begin of the first step to the end of the last (all of it if no
 * steps are known), once for each device, and once for the program if a host has no device
 * (XLA:CPU, TensorFlow and PyTorch on a CPU: their operations on threads count as computing). A
 * moment belongs to what the device computes; else to exposed communication; else to a copy; else
 * to what the host does that the device waits for: the innermost event, that is no step marker, of
 * the thread that starts the programs. Time without an explanation is unknown. The classes of a
 * step, and those between the steps, add up to the whole.
 *
 * Part of struct ss_host; for all hosts a fold (fold.h): hosts are visited, not held. Memory for
 * one host is linear in the events that claim time; the memory of a host is bounded (the limits
 * below).
 */
#ifndef SS_MODEL_ATTRIBUTION_ATTRIBUTION_H
#define SS_MODEL_ATTRIBUTION_ATTRIBUTION_H

#include "model/attribution/collectives.h"
#include "model/attribution/memory_trend.h"
#include "model/attribution/precision.h"
#include "model/program/recompiled.h"
#include "model/attribution/windows.h"
#include "model/device/env.h"

struct ss_host;
struct ss_model;

enum ss_time_class {
	SS_TIME_COMPUTE,    /* operations; between those of one program on a CPU, the pause of its threads too */
	SS_TIME_COLLECTIVE, /* communication while nothing computes */
	SS_TIME_COPY,	    /* between host and device or between memories, likewise */
	SS_TIME_CALLBACK,   /* a compiled program is in Python */
	SS_TIME_INPUT,	    /* waiting for data */
	SS_TIME_COMPILE,    /* tracing, compiling, and the call that needed it */
	SS_TIME_GC,	    /* Python's garbage collector */
	SS_TIME_LOCK,	    /* waiting for another thread of the program */
	SS_TIME_HOST_CODE,  /* the program's own code on the thread that starts programs */
	SS_TIME_LAUNCH,	    /* the framework's cost of starting an operation, kernel or program */
	SS_TIME_SYNC,	    /* the host waits for a result, and nothing computes */
	SS_TIME_UNKNOWN,    /* nothing was recorded */
	SS_TIME_COUNT
};

struct ss_str ss_time_class_name(enum ss_time_class c);

/* The place in the recording. */
enum ss_time_region {
	SS_REGION_STEPS,    /* in steps that take their usual time */
	SS_REGION_OUTLIERS, /* in those that take far longer */
	SS_REGION_BETWEEN,  /* between steps */
	SS_REGION_COUNT
};

#define SS_MOST_SUBJECTS 8  /* kept of each class of a unit */
#define SS_MOST_KEPT_STEPS 100000
/*
 * The limit of attributed devices of one host: each is combined with all events of the host's
 * threads.
 */
#define SS_MOST_UNITS 128

/* The name of a subject whose events have none, as in a file that is cut before its names. */
#define SS_NAMELESS "operations without a name"

/* The owner of time of a class: a function, an operation or a host. */
struct ss_time_subject {
	enum ss_time_class class;
	struct ss_str name;   /* "fetch_rows (main.py:16)", "fusion.31", "nudge", "Iterator::Root::MapAndBatch" */
	struct ss_str detail; /* inside of it, "time.sleep"; or what the op is, its source; or "" */
	struct ss_str caller; /* around it; or "" */
	uint64_t ps[SS_REGION_COUNT];
	bool on_device;	      /* an operation of a device: `detail` gives its kind and its source */
	uint64_t count;	      /* calls, operations, kernels; 0: not counted */
	double flops_frac, bytes_frac; /* of an op: of the device's peaks, NAN: unknown */
	int64_t begin_ps, end_ps; /* where it took longest at a stretch, to be shown */
};

struct ss_unit_step {
	uint64_t ps[SS_TIME_COUNT];
};

/* A device, or the program on a host without one. */
struct ss_time_unit {
	struct ss_str device; /* "/device:TPU:0"; "" for the program on a CPU */
	uint32_t host;
	uint64_t window_ps;   /* from the begin of the first step to the end of the last */
	uint64_t ps[SS_TIME_COUNT][SS_REGION_COUNT]; /* sums to window_ps */
	struct ss_time_subject *subjects; /* by class, then time descending */
	size_t nsubjects;
	uint64_t ops;	      /* operations or kernels within the window */
	uint64_t op_ps;	      /* their own time, summed */
	int64_t first_ps, last_ps; /* of a device: when its first one begins and its last one ends; without ops 0 */
	uint64_t calls;	      /* of functions and operations by the thread that starts them, in steps where marks tell */
	struct ss_unit_step *steps; /* parallel to the host's windows; NULL where they are too many to keep */
	struct ss_collectives collectives;
};

/* What runs more often in each step that takes far longer than in most others. */
struct ss_more_often {
	struct ss_str name;   /* "aten::copy_", "evaluate (main.py:9)"; "": nothing that is known */
	uint64_t slow, usual; /* times in a step: in slow ones at least, in most others */
	bool varies;	      /* in some slow steps more than that */
	uint64_t more_ps;     /* its time in slow steps beyond that in as many usual ones; 0: of a program that is started there */
};

struct ss_time_host {
	struct ss_str name;
	enum ss_hardware hardware;
	struct ss_str device_type; /* "TPU v6 Lite"; "" */
	unsigned frameworks;	   /* bits of enum ss_framework */
	unsigned habits;	   /* bits of enum ss_habit */
	bool has_python;	   /* Python's frames were recorded */
	bool has_host;		   /* a thread starts programs */
	bool silent_thread;	   /* that thread records nothing but step markers and calls */
	struct ss_str thread;	   /* which; "" */
	struct ss_windows windows;
	struct ss_time_unit *units;
	size_t nunits;
	size_t units_left_out;	   /* devices behind the first SS_MOST_UNITS */
	struct ss_memory_trend memory;
	struct ss_precision precision;
	struct ss_str extra;	   /* runs in each step that takes far longer, and in no other: "evaluate (main.py:9)"; "" */
	uint64_t extra_ps;	   /* all its time; 0: of a program that is started there, "score()": its time is elsewhere */
	struct ss_more_often more_often; /* where `extra` is "" */
	struct ss_recompiled recompiled; /* of the function that compiling takes longest for */
	struct ss_time_subject input; /* the slowest stage of the input, name "" for unknown; detail: "num_parallel_calls=1" */
	bool python_input;	   /* a stage of it calls Python */
	uint64_t dropped;	   /* events that could not be read */
};

enum ss_framework { SS_FW_JAX = 1, SS_FW_TENSORFLOW = 2, SS_FW_PYTORCH = 4, SS_FW_TORCH_XLA = 8 };
/*
 * Measures that the program takes already, so that no advice recommends them: torch.compile,
 * DataLoader workers; Keras runs its loop.
 */
enum ss_habit {
	SS_HABIT_COMPILED = 1,
	SS_HABIT_WORKERS = 2,
	SS_HABIT_KERAS = 4,
	SS_HABIT_OTHER_PROFILER = 8, /* a program of PyTorch, recorded by another profiler than its own */
	SS_HABIT_NO_PYTHON = 16,     /* nothing in the recording of such a profiler shows that the program is one of Python */
};

/* A part of the host, made in O(n log n) of its events. */
const struct ss_time_host *ss_host_attribution(struct ss_host *h, struct ss_err *err);

struct ss_attribution {
	struct ss_time_host *hosts; /* in the model's order; those that could not be read have no units */
	size_t nhosts;
};

const struct ss_attribution *ss_model_attribution(struct ss_model *m, struct ss_err *err);

#endif
