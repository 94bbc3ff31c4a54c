/*
 * template.c - copy this file to begin a tool. It is complete and correct, only not in tools.def:
 * rename it, declare your columns, write run(), add TOOL(my_tool) to tools.def and
 * docs/tools/my_tool.md.
 *
 * Say here what the tool answers, by which formula and from where, what was left out, and what it
 * deliberately does not answer.
 */
#include "tools/tool.h"

enum { COL_HOST, COL_EVENTS };

static const struct ss_col cols[] = {
	{ "host", "Host", SS_TYPE_STR, SS_UNIT_NONE, NULL, NULL },
	{ "events", "Events", SS_TYPE_I64, SS_UNIT_COUNT, "Events of all planes", NULL },
};

static bool add_host(struct ss_table *t, const struct ss_host *h)
{
	if (!ss_table_row(t))
		return false;
	ss_set_str(t, COL_HOST, h->name);
	ss_set_i64(t, COL_EVENTS, (int64_t)h->nevents);
	return true;
}

static bool run(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(out, "hosts", "Hosts", cols, SS_COUNT(cols));
	if (!t)
		return ss_fail_mem(err);
	if (!ss_model_load(q->model, err))
		return false;
	for (size_t i = 0; i < q->model->nhosts; i++)
		if (!add_host(t, q->model->hosts[i]))
			return ss_fail_mem(err);
	return true;
}

const struct ss_tool ss_tool_template = {
	.name = "template",
	.title = "Template",
	.summary = "Events of each host",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS,
	.run = run,
};
