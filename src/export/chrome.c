/* chrome.c - trace.json of the trace viewer: what XProf's page and chrome://tracing open. */
#include "export/export.h"
#include "request/request.h"

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct ss_tool_request ask = { .tool = ss_tool_find(SS_STR("trace_viewer")),
				       .model = x->model,
				       .format = SS_FORMAT_XPROF,
				       .run = x->name };
	bool ok = ss_tool_answer(&ask, o, err);
	ss_tool_request_release(&ask);
	x->nevents = x->d->nevents;
	return ok;
}

const struct ss_export_format ss_export_chrome = {
	.name = "chrome",
	.doc = "trace.json of the trace viewer, for chrome://tracing",
	.whole = "it is the trace viewer's whole answer",
	.one_host = true,
	.write = write,
};
