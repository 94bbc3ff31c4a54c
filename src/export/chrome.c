/* chrome.c - trace.json of the trace viewer: what XProf's page and chrome://tracing open. */
#include "export/export.h"
#include "request/request.h"

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct ss_tool_request ask = { .tool = ss_tool_find(SS_STR("trace_viewer")),
				       .model = x->model,
				       .format = SS_FORMAT_XPROF,
				       .run = x->name };
	if (x->plane || x->start_ps != INT64_MIN || x->end_ps != INT64_MAX)
		return ss_fail(err, SS_EINVAL,
			       "--plane, --start and --end are not for chrome: it is the trace "
			       "viewer's whole answer");
	bool ok = ss_tool_answer(&ask, o, err);
	ss_tool_request_release(&ask);
	x->nevents = x->d->nevents;
	return ok;
}

const struct ss_export_format ss_export_chrome = {
	"chrome", "trace.json of the trace viewer, for chrome://tracing", false, write, NULL
};
