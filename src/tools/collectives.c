/*
 * collectives.c - operations that all devices of a group take part in. Of a PyTorch trace see
 * torch_collectives.h.
 */
#include "tools/torch_collectives.h"
#include "tools/torch_tool.h"

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	return ss_torch_asked(q, out, err) && ss_torch_collectives(q, out, err);
}

const struct ss_tool ss_tool_collectives = {
	.name = "collectives",
	.title = "Collectives",
	.summary = "Collectives by kind, group and size, with their bandwidth",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.run = run,
};
