/*
 * kineto.h - the words of PyTorch's profiler: which kind of event a category is, and which event of
 * an operator's category is no operator but a range of the program.
 *
 * Categories changed with the versions (`Operator` became `cpu_op`, `Kernel` became `kernel`); they
 * are compared without case.
 */
#ifndef SS_IMPORT_KINETO_H
#define SS_IMPORT_KINETO_H

#include "base/str.h"

enum ss_kineto {
	SS_KINETO_OTHER,	   /* no category of PyTorch's, or one that says nothing of time */
	SS_KINETO_OPERATOR,	   /* cpu_op; ranges among them: ss_kineto_is_range */
	SS_KINETO_ANNOTATION,	   /* user_annotation: a range of the program */
	SS_KINETO_CALL,		   /* of the device's library: CUDA runtime, driver, HIP ... */
	SS_KINETO_PYTHON,	   /* a Python function */
	SS_KINETO_INSTANT,	   /* cpu_instant_event: the allocator's */
	SS_KINETO_KERNEL,
	SS_KINETO_MEMCPY,
	SS_KINETO_MEMSET,
	SS_KINETO_GPU_ANNOTATION, /* a range drawn over a stream: never work */
	SS_KINETO_SYNC,		   /* a stream or event waited for: never work */
};

enum ss_kineto ss_kineto_of(struct ss_str category);
static inline bool ss_kineto_is_device_work(enum ss_kineto k)
{
	return k == SS_KINETO_KERNEL || k == SS_KINETO_MEMCPY || k == SS_KINETO_MEMSET;
}
/* Drawn over a device, but nothing that it did. */
static inline bool ss_kineto_is_device_mark(enum ss_kineto k)
{
	return k == SS_KINETO_GPU_ANNOTATION || k == SS_KINETO_SYNC;
}

/*
 * The mark of a step, "ProfilerStep#7"; the importer leaves "ProfilerStep", the number is a stat.
 */
bool ss_kineto_is_step(struct ss_str name);
/* A DataLoader's or DataPipe's turn. */
bool ss_kineto_is_dataloader(struct ss_str name);
/*
 * An event of an operator's category that is a range of the program: a step, an optimizer, a
 * DataLoader, DDP.
 */
bool ss_kineto_is_range(struct ss_str name);

/*
 * Is a file that begins so a trace of PyTorch's, whatever its name? `head`: its first bytes, packed
 * or not; some ten thousand are enough.
 */
bool ss_kineto_is_trace(struct ss_str head);

#endif
