/*
 * template.c - copy this file to begin a tool. It is complete and correct, only not in tools.def:
 * rename it, declare your columns, write run(), add TOOL(my_tool) to tools.def and
 * docs/tools/my_tool.md.
 *
 * Say here what the tool answers, by which formula and from where, what was left out, and what it
 * deliberately does not answer.
 */
#include "model/host/host.h"
#include "model/model.h"
#include "model/preprocess/load.h"
#include "tools/tool.h"

enum { COL_HOST, COL_EVENTS };

static const struct ss_col cols[] = {
	STR("host", "Host", NULL),
	INT("events", "Events", COUNT, "Events of all planes"),
};

struct host_rows {
	struct ss_model *m;
	struct ss_table *t;
};

/* Several hosts at a time, in any order: what takes long. */
static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_load(h, err);
}

/* One host at a time, in order. It may be closed behind us: the tables keep its texts. */
static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct host_rows *j = arg;
	(void)err;
	ss_table_row(j->t);
	ss_set_str(j->t, COL_HOST, j->m->hosts[i]->name);
	ss_set_i64(j->t, COL_EVENTS, (int64_t)h->nevents);
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct host_rows j = { .m = q->model, .t = ss_result_table(out, "hosts", "Hosts", cols, SS_COUNT(cols)) };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &j };
	return ss_tool_visit(q, out, &visit, err);
}

const struct ss_tool ss_tool_template = {
	.name = "template",
	.title = "Template",
	.summary = "Events of each host",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS,
	.run = run,
};
