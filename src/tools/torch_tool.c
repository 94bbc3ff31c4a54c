/* torch_tool.c - see torch_tool.h. */
#include "tools/torch_tool.h"

#include "model/host/identity.h"
#include "model/model.h"



const struct ss_torch *ss_torch_asked(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (q->model->nhosts != 1) {
		ss_fail(err, SS_EINVAL, "this is shown for one recording at a time: choose one of the %zu", q->model->nhosts);
		return NULL;
	}
	const struct ss_torch *t = ss_host_torch(q->model->hosts[0], err);
	if (t && !t->is_torch)
		ss_result_note(out, SS_INFO,
			       SS_STR("This is not a trace of PyTorch's profiler: record one with torch.profiler.profile "
				      "and export_chrome_trace"));
	return t;
}

bool ss_torch_is_asked(const struct ss_request *q)
{
	return q->model->nhosts == 1 && !ss_host_is_described(q->model->hosts[0]) && ss_host_is_torch(q->model->hosts[0]);
}
