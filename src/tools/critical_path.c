/*
 * critical_path.c - what a step had to wait for, one thing after the other. Of a PyTorch trace see
 * torch_critical_path.h.
 */
#include "tools/torch_critical_path.h"
#include "tools/torch_tool.h"

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	if (!t || !ss_torch_add_critical_path(q, out, err))
		return false;
	if (t->is_torch && !t->marked)
		return ss_result_note(out, SS_INFO, SS_STR("The program marked no steps: call prof.step() once an iteration")) ||
		       ss_fail_mem(err);
	return true;
}

const struct ss_tool ss_tool_critical_path = {
	.name = "critical_path",
	.title = "Critical path",
	.summary = "What each step had to wait for, on the host and on devices",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.run = run,
};
