/* torch_critical_path.c - see torch_critical_path.h. */
#include "tools/torch_critical_path.h"

#include "model/model.h"
#include "model/torch/critical_path.h"
#include "tools/torch_tool.h"

#include <stdlib.h>

enum { P_STEP, P_PATH, P_COMPUTE, P_COLS = P_COMPUTE + SS_TORCH_PATH_PARTS };

static const struct ss_col cols[P_COLS] = {
	INT("step", "Step", NONE, "N of ProfilerStep#N"),
	NUM("path_us", "Path", US, "Time from the begin of the step until host and device have finished it"),
	NUM("compute_us", "Compute", US, "Kernels"),
	NUM("communication_us", "Communication", US, "Collectives"),
	NUM("memory_us", "Memory", US, "Copies and fills"),
	NUM("kernel_delay_us", "Between kernels", US, "Time from the end of the awaited operation on the device to the begin "
	    "of the next"),
	NUM("launch_delay_us", "Launch", US, "Time from the begin of a call until the device begins the operation that it "
	    "launched"),
	NUM("runtime_us", "Runtime", US, "Time of the host in a call of the device's library"),
	NUM("dataloader_us", "DataLoader", US, "Time of the host in the DataLoader"),
	NUM("cpu_op_us", "CPU operators", US, "Time of the host in an operator or a marked range"),
	NUM("other_us", "Other", US, "Time of the host elsewhere"),
};

static bool fill(struct ss_result *out, const struct ss_torch *t)
{
	struct ss_torch_path *v = NULL;
	size_t n = 0;
	struct ss_table *table = ss_result_table(out, "by_step", "Critical path of the steps of this recording", cols, P_COLS);
	bool ok = ss_torch_critical_path(t, &v, &n);
	for (size_t i = 0; ok && i < n; i++) {
		ss_table_row(table);
		if (!ok)
			break;
		ss_set_i64(table, P_STEP, v[i].step);
		ss_set_f64(table, P_PATH, (double)v[i].path_ns / 1000);
		for (size_t k = 0; k < SS_TORCH_PATH_PARTS; k++)
			ss_set_f64(table, P_COMPUTE + k, (double)v[i].part_ns[k] / 1000);
	}
	free(v);
	return ok;
}

/*
 * Of PyTorch's own profiler alone. In traces of Nsight Systems this walk stays on the host, and
 * says that steps compute nothing where 'categories' shows the work of the device.
 */
bool ss_torch_add_critical_path(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (!ss_torch_is_asked(q))
		return true;
	const struct ss_torch *t = ss_host_torch(q->model->hosts[0], err);
	return t && (!t->kineto || fill(out, t) || ss_fail_mem(err));
}
