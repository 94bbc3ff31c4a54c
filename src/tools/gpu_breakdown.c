/*
 * gpu_breakdown.c - what the GPUs of a PyTorch program did with their time: compute, communication,
 * memory, and what hides behind what; how well kernels fill the device; and what streams waited for
 * while they stood idle. Rules: model/torch/device.h.
 */
#include "model/torch/device.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

enum {
	D_DEVICE, D_SPAN, D_IDLE, D_COMPUTE, D_NON_COMPUTE, D_COMMUNICATION, D_MEMORY, D_OVERLAP, D_EXPOSED, D_OVERLAP_FRAC, D_COLS
};

static const struct ss_col device_cols[D_COLS] = {
	INT("device", "Device", NONE, NULL),
	NUM("span_us", "Span", US, "From the first begin to the last end on the device"),
	NUM("idle_us", "Idle", US, "Nothing runs"),
	NUM("compute_us", "Compute", US, "Time in which a kernel runs that is not a collective"),
	NUM("non_compute_us", "Busy without compute", US, "Time in which the device is busy, but runs no such kernel"),
	NUM("communication_us", "Communication", US, "Time in which a collective runs"),
	NUM("memory_us", "Memory", US, "Time in which a copy or a fill runs"),
	NUM("overlap_us", "Hidden communication", US, "Time in which a collective and another kernel run"),
	NUM("exposed_communication_us", "Exposed communication", US, "Time in which a collective runs and no other kernel"),
	NUM("overlap_frac", "Hidden share", FRAC, "Share of the communication"),
};

enum { M_DEVICE, M_UTILIZATION, M_EFFICIENCY, M_OCCUPANCY, M_TENSOR, M_COLS };

static const struct ss_col metric_cols[M_COLS] = {
	INT("device", "Device", NONE, NULL),
	NUM("utilization_frac", "GPU utilization", FRAC, "Share of the steps' time in which a kernel runs"),
	NUM("sm_efficiency_frac", "SM efficiency", FRAC,
	    "Blocks per multiprocessor of the running kernels, at most 1, over that time"),
	NUM("est_occupancy_pct", "Estimated occupancy", PERCENT, "Mean over the kernels, weighted by their time"),
	NUM("tensor_core_frac", "Tensor cores", FRAC, "Time of kernels that use tensor cores / time of all kernels"),
};

enum { I_DEVICE, I_STREAM, I_HOST, I_KERNEL, I_OTHER, I_COLS };

static const struct ss_col idle_cols[I_COLS] = {
	INT("device", "Device", NONE, NULL),
	INT("stream", "Stream", NONE, NULL),
	NUM("host_wait_us", "Waits for the host", US, "The next launch came after the stream had become free"),
	NUM("kernel_wait_us", "Between kernels", US, "Gaps under 30 us: the cost of launching"),
	NUM("other_us", "Other waits", US, "The stream waits for another stream, an event or a copy"),
};

static void put_times(struct ss_table *t, const struct ss_torch_device *d)
{
	ss_table_row(t);
	int64_t span_ns = d->end_ns - d->begin_ns;
	ss_set_i64(t, D_DEVICE, d->device);
	ss_set_f64(t, D_SPAN, ss_us(span_ns));
	ss_set_f64(t, D_IDLE, ss_us(span_ns - d->busy_ns));
	ss_set_f64(t, D_COMPUTE, ss_us(d->compute_ns));
	ss_set_f64(t, D_NON_COMPUTE, ss_us(d->busy_ns - d->compute_ns));
	ss_set_f64(t, D_COMMUNICATION, ss_us(d->communication_ns));
	ss_set_f64(t, D_MEMORY, ss_us(d->memory_ns));
	ss_set_f64(t, D_OVERLAP, ss_us(d->overlap_ns));
	ss_set_f64(t, D_EXPOSED, ss_us(d->communication_ns - d->overlap_ns));
	ss_set_f64(t, D_OVERLAP_FRAC, d->communication_ns ? (double)d->overlap_ns / (double)d->communication_ns : 0);
}

static void put_metrics(struct ss_table *t, const struct ss_torch_device *d)
{
	ss_table_row(t);
	ss_set_i64(t, M_DEVICE, d->device);
	ss_set_f64(t, M_UTILIZATION, d->utilization_frac);
	ss_set_f64(t, M_EFFICIENCY, d->sm_efficiency_frac);
	ss_set_f64(t, M_OCCUPANCY, d->occupancy_pct);
	ss_set_f64(t, M_TENSOR, d->tensor_core_frac);
}

static bool fill_idle(struct ss_result *out, const struct ss_torch *t)
{
	struct ss_torch_gaps *gaps = NULL;
	size_t n = 0;
	struct ss_table *table = ss_result_table(out, "idle", "Gaps of streams", idle_cols, I_COLS);
	bool ok = ss_torch_gaps(t, &gaps, &n);
	for (size_t i = 0; ok && i < n; i++) {
		ss_table_row(table);
		if (!ok)
			break;
		ss_set_i64(table, I_DEVICE, gaps[i].device);
		ss_set_i64(table, I_STREAM, gaps[i].stream);
		ss_set_f64(table, I_HOST, ss_us(gaps[i].host_ns));
		ss_set_f64(table, I_KERNEL, ss_us(gaps[i].kernel_ns));
		ss_set_f64(table, I_OTHER, ss_us(gaps[i].other_ns));
	}
	free(gaps);
	return ok;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_torch_device *d = NULL;
	size_t n = 0;
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	if (!t)
		return false;
	bool ok = ss_torch_devices(t, &d, &n);
	struct ss_table *table = ss_result_table(out, "devices", "Time of devices", device_cols, D_COLS);
	for (size_t i = 0; ok && i < n; i++)
		put_times(table, &d[i]);
	table = ss_result_table(out, "metrics", "Use of devices", metric_cols, M_COLS);
	for (size_t i = 0; ok && i < n; i++)
		put_metrics(table, &d[i]);
	ok = ok && fill_idle(out, t);
	if (ok && t->is_torch && !n)
		ss_result_note(out, SS_INFO, SS_STR("No GPU activity was recorded: profile with "
						    "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"));
	free(d);
	return ok || ss_fail_mem(err);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "devices");
	struct ss_greatest idle = ss_greatest_row(t, "idle_us", NULL, NULL);
	struct ss_greatest exposed = ss_greatest_row(t, "exposed_communication_us", NULL, NULL);
	(void)q;
	if (!t->nrows)
		return true;
	size_t row = idle.row == SS_NPOS ? 0 : idle.row;
	double span_us = ss_cell_f64(t, row, "span_us");
	ss_say(out, "GPU %lld is idle for %s between its first event and its last%s.",
	       (long long)ss_cell_i64(t, row, "device"),
	       ss_share_words(SS_UNIT_US, ss_cell_f64(t, row, "idle_us"), span_us).s,
	       t->nrows > 1 ? "; it is the GPU with the most idle time" : "");
	ss_say(out, "It computes for %s.",
	       ss_share_words(SS_UNIT_US, ss_cell_f64(t, row, "compute_us"), span_us).s);
	if (exposed.row != SS_NPOS)
		ss_say(out, "Exposed communication takes %s on GPU %lld.",
		       ss_share_words(SS_UNIT_US, exposed.value, ss_cell_f64(t, exposed.row, "span_us")).s,
		       (long long)ss_cell_i64(t, exposed.row, "device"));
	return true;
}

const struct ss_tool ss_tool_gpu_breakdown = {
	.name = "gpu_breakdown",
	.title = "GPU breakdown",
	.summary = "Compute, communication, memory and idle time of GPUs, occupancy, and why streams wait",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_DEVICE_WORK,
	.run = run,
	.conclude = conclude,
};
