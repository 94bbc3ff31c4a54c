/*
 * steps.h - the steps of a training loop under PyTorch's profiler, and how their time divides.
 *
 * Steps are the program's ProfilerStep#N with the numbers that they have. By the host a step is its
 * mark. By the device it lasts until the last thing is done that was launched in it, and begins no
 * sooner than the one before ends (as PyTorch's TensorBoard plug-in had it).
 *
 * Each moment of a step belongs to one class: of those that something runs in, the first in the
 * order of the enumeration. So the classes add up to the step, and communication is what neither
 * kernels nor copies hide.
 */
#ifndef SS_MODEL_TORCH_STEPS_H
#define SS_MODEL_TORCH_STEPS_H

#include "model/torch/torch.h"

enum ss_torch_class {
	SS_TORCH_IN_KERNEL, SS_TORCH_IN_MEMCPY, SS_TORCH_IN_MEMSET, SS_TORCH_IN_COMMUNICATION, SS_TORCH_IN_RUNTIME,
	SS_TORCH_IN_DATALOADER, SS_TORCH_IN_CPU_OP, SS_TORCH_IN_OTHER, SS_TORCH_CLASSES
};

struct ss_torch_step_time {
	struct ss_torch_step step;
	int64_t class_ns[SS_TORCH_CLASSES];
	int64_t kernel_16bit_ns;	   /* of kernels: those in 16 bit or fewer */
	int64_t to_device_ns, to_host_ns; /* of copies: by direction */
};

/* The step that a call begins and ends in; SS_NPOS: none. */
size_t ss_torch_step_of_call(const struct ss_torch *t, const struct ss_torch_call *c);
/*
 * The same steps as t->steps, by the device; `out` has room for as many. False when memory is out.
 */
bool ss_torch_device_steps(const struct ss_torch *t, struct ss_torch_step *out);
/* Make the windows of `n` steps; the caller frees *out. False: out of memory. */
bool ss_torch_divide(const struct ss_torch *t, const struct ss_torch_step *steps, size_t n, struct ss_torch_step_time **out);
/*
 * The same of what threads of the host were in, whatever devices did: any stretches of time, by
 * begin.
 */
bool ss_torch_divide_host(const struct ss_torch *t, const struct ss_torch_step *steps, size_t n,
			  struct ss_torch_step_time **out);
/*
 * All kernels but collectives, by the width that their names tell, or else the inputs of their operators: time in 16
 * bit or fewer, and the rest. False when memory is out.
 */
bool ss_torch_precision_ns(const struct ss_torch *t, int64_t *narrow_ns, int64_t *wide_ns);
/* Is the range work of the communication library's on a run without devices? */
bool ss_torch_is_gloo(const struct ss_torch *t, const struct ss_torch_range *r);

#endif
