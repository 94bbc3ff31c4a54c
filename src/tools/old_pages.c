/*
 * old_pages.c - stored overview pages and input pipeline analyses in JSON: lists of DataTables.
 *
 * Which table is which is told by its columns and properties: their order and number changed with
 * the years.
 */
#include "tools/old_answers.h"
#include "tools/old_messages.h"

static const struct ss_col known[] = {
	NUM("selfTimePercent", "Time (%)", FRAC, "Self time / time of the device"),
	NUM("cumulativeTimePercent", "Cumulative time (%)", FRAC, "Running sum"),
	STR("category", "Category", NULL),
	STR("operation", "Operation", NULL),
	NUM("flopRate", "GFLOP/s", GFLOP_PER_S, NULL),
	STR("stepnum", "Step number", NULL),
	NUM("computeTimeMs", "Compute", MS, "Computing on the device"),
	NUM("inputTimeMs", "Input", MS, "Waiting for input"),
	NUM("idleTimeMs", "Idle", MS, NULL),
	NUM("infeedPercentAverage", "Waiting for input, average (%)", PERCENT, "Mean over the cores"),
	NUM("infeedPercentMin", "Waiting for input, least (%)", PERCENT, NULL),
	NUM("infeedPercentMax", "Waiting for input, most (%)", PERCENT, NULL),
	STR("opName", "Input op", NULL),
	NUM("count", "Count", COUNT, NULL),
	NUM("timeInMs", "Total time (in ms)", MS, "Including ops inside"),
	NUM("timeInPercent", "Total time (as % of total input-processing time)", FRAC, NULL),
	NUM("selfTimeInMs", "Total self time (in ms)", MS, "Without ops inside"),
	NUM("selfTimeInPercent", "Total self time (as % of total input-processing time)", FRAC, NULL),
	HTML("link", "link", NULL),
};

static const char *const names[] = { "noninfeedTimeMs", "computeTimeMs", "infeedTimeMs", "inputTimeMs", NULL };

/* What a table must have, a column or a property, to be this one. */
struct rule {
	const char *col, *prop, *name, *title;
};

static const struct rule overview_rules[] = {
	{ "selfTimePercent", "mxu_utilization_percent", "analysis", "Performance summary" },
	{ "stepnum", "steptime_ms_average", "steps", "Steps" },
	{ "host_id", "device_core_count", "run_environment", "Run environment" },
	{ "tip_type", "statement", "recommendation", "Recommendation" },
	{ "percentile", "percentile", "inference_latency", "Latency of requests" },
};

static const struct rule input_rules[] = {
	{ "index", NULL, "max_infeed_core", "Core that waited longest for input" },
	{ "stepnum", "steptime_ms_average", "steps", "Steps" },
	{ "opName", "enqueue_us", "host_ops", "Input ops on the host" },
	{ "link", NULL, "recommendation", "What to try" },
};

static bool has_col(const struct ss_jnode *t, const char *id)
{
	const struct ss_jnode *cols = ss_jnode_get(t, "cols");
	for (const struct ss_jnode *c = cols ? cols->first : NULL; c; c = c->next)
		if (ss_str_is(ss_jnode_text(c, "id"), id))
			return true;
	return false;
}

/* The verdict stands in another property now. */
static bool add_conclusion(struct ss_table *t)
{
	const struct ss_prop *old = ss_table_find_prop(t, "summary_conclusion");
	return !old || ss_table_find_prop(t, "input_conclusion") || ss_table_prop(t, "input_conclusion", old->text);
}

static bool read_tables(const struct ss_jnode *root, const struct rule *rules, size_t n, struct ss_result *out)
{
	/* In our order, whatever the file's. */
	for (size_t i = 0; i < n; i++)
		for (const struct ss_jnode *t = root->kind == SS_J_ARRAY ? root->first : NULL; t; t = t->next) {
			const struct ss_jnode *p = ss_jnode_get(t, "p");
			if (!has_col(t, rules[i].col) && !(rules[i].prop && ss_jnode_get(p, rules[i].prop)))
				continue;
			if (!ss_old_table(t, rules[i].name, rules[i].title, known, SS_COUNT(known), names, out) ||
			    !add_conclusion(&out->tables[out->ntables - 1]))
				return false;
			break;
		}
	return true;
}

static bool is_message(const struct ss_query *q)
{
	return ss_str_ends(q->model->hosts[0]->x.path, SS_STR(".pb"));
}

static bool run(const struct ss_query *q, const struct rule *rules, size_t n, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_old_read(q, NULL, out, err);
	if (!root)
		return false;
	if (!read_tables(root, rules, n, out))
		return ss_fail_mem(err);
	return out->ntables || ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds none of the tables of such a file",
				       SS_ARG(q->model->hosts[0]->x.path));
}

bool ss_old_overview_page(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	if (is_message(q))
		return ss_old_overview_message(q, out, err);
	return run(q, overview_rules, SS_COUNT(overview_rules), out, err);
}

bool ss_old_input_pipeline(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	if (is_message(q))
		return ss_old_input_message(q, out, err);
	return run(q, input_rules, SS_COUNT(input_rules), out, err);
}
