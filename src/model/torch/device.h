/*
 * device.h - what the devices of a trace of PyTorch did with their time (torch.h), device by
 * device.
 */
#ifndef SS_MODEL_TORCH_DEVICE_H
#define SS_MODEL_TORCH_DEVICE_H

#include "model/torch/intervals.h"
#include "model/torch/torch.h"

/*
 * Unions over all streams. compute: kernels that are no collectives; communication: collectives;
 * memory: copies and fills. non_compute: busy with neither of these kernels. overlap: communication
 * that kernels hide.
 */
struct ss_torch_device {
	int32_t device;
	int64_t begin_ns, end_ns;
	int64_t busy_ns, compute_ns, communication_ns, memory_ns, overlap_ns;
	/*
	 * For all kernels in the window of the steps (by the device), and for the whole file. NAN:
	 * not recorded.
	 */
	double utilization_frac, sm_efficiency_frac, occupancy_pct, tensor_core_frac;
};

/* Gaps of a stream, by what it waited for: the host, the launch of a kernel, something else. */
struct ss_torch_gaps {
	int32_t device;
	int64_t stream;
	int64_t host_ns, kernel_ns, other_ns;
};

/*
 * Device events by device, stream, begin, and place in the file; the caller frees it. NULL when
 * memory is out.
 */
uint32_t *ss_torch_by_stream(const struct ss_torch *t);
/* By device ascending; the caller frees *out. False when memory is out. */
bool ss_torch_devices(const struct ss_torch *t, struct ss_torch_device **out, size_t *n);
bool ss_torch_gaps(const struct ss_torch *t, struct ss_torch_gaps **out, size_t *n);

/* All kernels of a device but collectives, united. False when memory is out. */
bool ss_torch_compute(const struct ss_torch *t, int32_t device, struct ss_intervals *out);
/* Memory of the device in bytes, as deviceProperties has it; 0: not said. `name`: "CUDA:0". */
int64_t ss_torch_capacity(const struct ss_torch *t, struct ss_str name);

#endif
