/* tool.c - what a tool asks of its request and of the hosts; whether a profile has data for it. */
#include "tools/tool.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/model.h"

#include "base/safe.h"

#include <math.h>

bool ss_tool_visit(const struct ss_request *q, struct ss_result *out, const struct ss_visit *v, struct ss_err *err)
{
	out->texts.copies = q->model->visited;
	bool ok = ss_model_visit(q->model, v, err);
	ok = ok && (!out->texts.no_memory || ss_fail_mem(err));
	ss_intern_release(&out->texts);
	out->texts.into = out->arena;
	return ok;
}

struct ss_str ss_request_param(const struct ss_request *q, const struct ss_tool *tool, const char *name)
{
	for (size_t i = 0; i < q->nparams; i++)
		if (ss_str_is(q->params[i].name, name))
			return q->params[i].value;
	for (size_t i = 0; i < tool->nparams; i++)
		if (strcmp(tool->params[i].name, name) == 0 && tool->params[i].preset)
			return ss_str_from(tool->params[i].preset);
	return SS_STR("");
}

bool ss_request_time_ps(const struct ss_request *q, const struct ss_tool *tool, const char *name, int64_t *ps, struct ss_err *err)
{
	struct ss_str v = ss_request_param(q, tool, name);
	double ms;
	if (!v.n)
		return true;
	if (!ss_str_to_f64(v, &ms) || isnan(ms))
		return ss_fail(err, SS_EINVAL, "%s must be a time in ms, not '" SS_FMT "'", name, SS_ARG(v));
	*ps = ms > 0 ? ss_safe_i64(round(ms * 1e9)) : 0;
	return true;
}

static bool any_stat(const struct ss_host *h, const enum ss_stat *stats, size_t n)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (size_t k = 0; k < n; k++)
			if (ss_xplane_has(h->planes[i].x, stats[k]))
				return true;
	return false;
}

/*
 * Tools that say something of any profile, if only that there was nothing: what a trace must hold
 * for that.
 */
static bool in_trace(const struct ss_tool *t, const struct ss_host *h)
{
	static const enum ss_stat ops[] = { SS_STAT_HLO_CATEGORY, SS_STAT_HLO_OP, SS_STAT_TF_OP };
	static const enum ss_stat steps[] = { SS_STAT_STEP_NUM, SS_STAT_GROUP_ID };
	static const enum ss_stat memory[] = { SS_STAT_ALLOCATION_BYTES };
	bool device = ss_host_plane(h, SS_PLANE_TENSOR_CORE) || ss_host_plane(h, SS_PLANE_GPU);
	static const struct {
		const char *tool;
		bool device;
		const enum ss_stat *stats;
		size_t n;
	} rules[] = {
		{ "op_profile", true, ops, SS_COUNT(ops) },
		{ "hlo_stats", true, ops, 1 },
		{ "roofline_model", true, ops, 1 },
		{ "input_pipeline_analyzer", true, steps, SS_COUNT(steps) },
		{ "memory_profile", false, memory, SS_COUNT(memory) },
	};
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (strcmp(t->name, rules[i].tool) == 0)
			return (device || !rules[i].device) && any_stat(h, rules[i].stats, rules[i].n);
	return true;
}

/* A compiled program that nobody ran: what reads programs has something to say of it. */
static bool is_program_alone(const struct ss_host *h)
{
	bool events = false, program = false;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		events = events || h->planes[i].nlines > 0;
		program = program || (h->planes[i].kind == SS_PLANE_METADATA && ss_xplane_has(h->planes[i].x, SS_STAT_HLO_PROTO));
	}
	return program && !events && h->imported.any;
}

bool ss_tool_present(const struct ss_tool *t, const struct ss_host *first)
{
	if (!t->present && is_program_alone(first))
		return false;
	return (!t->present || t->present(first)) && (!first->imported.any || in_trace(t, first));
}
