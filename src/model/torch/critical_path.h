/*
 * critical_path.h - the critical path of each step of a PyTorch program: a walk backwards in time over
 * host and devices (torch.h).
 *
 * From the end of the step it goes from a device event to what the event waited for: the one before
 * it on its stream, an event of another stream of the device, or its launch; on the host back to
 * the last call that waited for the device, and on from what that waited for. Each moment of the
 * step is passed once, so the parts add up to the path. Linear in what it passes, and it never
 * fails.
 */
#ifndef SS_MODEL_TORCH_CRITICAL_PATH_H
#define SS_MODEL_TORCH_CRITICAL_PATH_H

#include "model/torch/torch.h"

enum ss_torch_on_path {
	SS_TORCH_PATH_COMPUTE, SS_TORCH_PATH_COMMUNICATION, SS_TORCH_PATH_MEMORY, SS_TORCH_PATH_KERNEL_DELAY,
	SS_TORCH_PATH_LAUNCH_DELAY, SS_TORCH_PATH_RUNTIME, SS_TORCH_PATH_DATALOADER, SS_TORCH_PATH_CPU_OP, SS_TORCH_PATH_OTHER,
	SS_TORCH_PATH_PARTS
};

struct ss_torch_path {
	int64_t step, path_ns, part_ns[SS_TORCH_PATH_PARTS];
};

/*
 * The path of each marked step; none if the program marks no steps. The caller frees *out. False when
 * memory is out.
 */
bool ss_torch_critical_path(const struct ss_torch *t, struct ss_torch_path **out, size_t *n);

#endif
