/*
 * pages.c - stored overview pages and input pipeline analyses in JSON: lists of DataTables.
 *
 * Which table is which is told by its columns and properties: their order and number changed with
 * the years.
 */
#include "legacy/combine.h"
#include "legacy/messages.h"
#include "model/host/host.h"

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
	NUM("infeedPercentMin", "Waiting for input, min (%)", PERCENT, NULL),
	NUM("infeedPercentMax", "Waiting for input, max (%)", PERCENT, NULL),
	STR("opName", "Input op", NULL),
	NUM("count", "Count", COUNT, NULL),
	NUM("timeInMs", "Total time (in ms)", MS, "Includes nested operations"),
	NUM("timeInPercent", "Total time (as % of total input-processing time)", FRAC, NULL),
	NUM("selfTimeInMs", "Total self time (in ms)", MS, "Excludes nested operations"),
	NUM("selfTimeInPercent", "Total self time (as % of total input-processing time)", FRAC, NULL),
	HTML("link", "link", NULL),
};

static const char *const names[] = { "noninfeedTimeMs", "computeTimeMs", "infeedTimeMs", "inputTimeMs", NULL };

/* The column or property by which a table is recognized. */
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
static void add_conclusion(struct ss_table *t)
{
	const struct ss_prop *old = ss_table_find_prop(t, "summary_conclusion");
	if (old && !ss_table_find_prop(t, "input_conclusion"))
		ss_table_prop(t, "input_conclusion", old->text);
}

static bool read_tables(const struct ss_jnode *root, const struct rule *rules, size_t n, struct ss_result *out)
{
	/* In our order, whatever the file's. */
	for (size_t i = 0; i < n; i++)
		for (const struct ss_jnode *t = root->kind == SS_J_ARRAY ? root->first : NULL; t; t = t->next) {
			const struct ss_jnode *p = ss_jnode_get(t, "p");
			if (!has_col(t, rules[i].col) && !(rules[i].prop && ss_jnode_get(p, rules[i].prop)))
				continue;
			if (!ss_legacy_table(t, rules[i].name, rules[i].title, known, SS_COUNT(known), names, out))
				return false;
			add_conclusion(ss_result_at(out, out->ntables - 1));
			break;
		}
	return true;
}

static bool read_pages(const struct ss_request *q, const struct ss_host *h, const struct rule *rules, size_t n,
		       struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read(q, h, NULL, out, err);
	if (!root)
		return false;
	if (!read_tables(root, rules, n, out))
		return ss_fail_mem(err);
	return out->ntables || ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds no table of a known kind",
				       SS_ARG(h->x.path));
}

static bool read_overview(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	return ss_legacy_is_json(h) ? read_pages(q, h, overview_rules, SS_COUNT(overview_rules), out, err)
				 : ss_legacy_overview_message(q, h, out, err);
}

static bool read_input(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	return ss_legacy_is_json(h) ? read_pages(q, h, input_rules, SS_COUNT(input_rules), out, err)
				 : ss_legacy_input_message(q, h, out, err);
}

/* ---- several hosts ---- */

static const struct ss_legacy_col step_cols[] = {
	{ "infeedPercentAverage", SS_LEGACY_MEAN, NULL },
	{ "infeedPercentMin", SS_LEGACY_MIN, NULL },
	{ "infeedPercentMax", SS_LEGACY_MAX, NULL },
};

static const struct ss_legacy_col step_props[] = {
	{ "steptime_ms_average", SS_LEGACY_MAX, NULL },	  { "steptime_ms_minimum", SS_LEGACY_MIN, NULL },
	{ "steptime_ms_maximum", SS_LEGACY_MAX, NULL },	  { "infeed_percent_average", SS_LEGACY_MEAN, NULL },
	{ "infeed_percent_minimum", SS_LEGACY_MIN, NULL }, { "infeed_percent_maximum", SS_LEGACY_MAX, NULL },
	{ "compute_ms_average", SS_LEGACY_MEAN, NULL },	  { "input_ms_average", SS_LEGACY_MEAN, NULL },
	{ "idle_ms_average", SS_LEGACY_MEAN, NULL },	  { "tc_compute_ms_average", SS_LEGACY_MEAN, NULL },
	{ "tc_infeed_ms_average", SS_LEGACY_MEAN, NULL },	  { "tc_outfeed_ms_average", SS_LEGACY_MEAN, NULL },
	{ "tc_idle_ms_average", SS_LEGACY_MEAN, NULL },	  { "host_transfer_ms_average", SS_LEGACY_MEAN, NULL },
};

static const struct ss_legacy_col op_cols[] = {
	{ "selfTimePercent", SS_LEGACY_SUM, NULL },
	{ "flopRate", SS_LEGACY_MEAN, "selfTimePercent" },
};

static const struct ss_legacy_col analysis_props[] = {
	{ "mxu_utilization_percent", SS_LEGACY_MEAN, NULL },
	{ "device_idle_time_percent", SS_LEGACY_MEAN, NULL },
	{ "host_idle_time_percent", SS_LEGACY_MEAN, NULL },
	{ "flop_rate_utilization_relative_to_roofline", SS_LEGACY_MEAN, NULL },
	{ "memory_bw_utilization_relative_to_hw_limit", SS_LEGACY_MEAN, NULL },
	{ "device_compute_16bit_percent", SS_LEGACY_MEAN, NULL },
	{ "device_compute_32bit_percent", SS_LEGACY_MEAN, NULL },
	{ "host_tf_op_percent", SS_LEGACY_MEAN, NULL },
	{ "device_tf_op_percent", SS_LEGACY_MEAN, NULL },
	{ "host_op_time_eager_percent", SS_LEGACY_MEAN, NULL },
	{ "device_op_time_eager_percent", SS_LEGACY_MEAN, NULL },
	{ "device_duty_cycle_percent", SS_LEGACY_MEAN, NULL },
};

/* Of counts the mean first: what it is multiplied by is known at the end. */
static const struct ss_legacy_col environment_props[] = {
	{ "host_count", SS_LEGACY_MAX, NULL },
	{ "task_count", SS_LEGACY_MEAN, NULL },
	{ "device_core_count", SS_LEGACY_MEAN, NULL },
};

static const struct ss_legacy_col input_cols[] = {
	{ "count", SS_LEGACY_SUM, NULL },
	{ "timeInMs", SS_LEGACY_SUM, NULL },
	{ "selfTimeInMs", SS_LEGACY_SUM, NULL },
};

static const struct ss_legacy_col input_props[] = {
	{ "enqueue_us", SS_LEGACY_SUM, NULL },		 { "demanded_file_read_us", SS_LEGACY_SUM, NULL },
	{ "advanced_file_read_us", SS_LEGACY_SUM, NULL },	 { "preprocessing_us", SS_LEGACY_SUM, NULL },
	{ "unclassified_nonequeue_us", SS_LEGACY_SUM, NULL },
};

#define COLS(c) .cols = c, .ncols = SS_COUNT(c)
#define PROPS(p) .props = p, .nprops = SS_COUNT(p)
#define STEPS { .name = "steps", .key = { "stepnum" }, COLS(step_cols), PROPS(step_props), .everywhere = true, \
		.longest = { "stepTimeMs", "tcInfeedTimeMs", "inputTimeMs" } }

static double waits(const struct ss_result *r)
{
	return ss_result_number(r, "infeed_percent_average");
}

/*
 * Hosts are as long as each other, so a share of all is the mean; an operation that is not among a
 * host's ten is 0 there.
 */
static bool finish_analysis(struct ss_table *t, size_t nhosts)
{
	static const char *const by[] = { "-selfTimePercent", NULL };
	size_t self = ss_table_col(t, "selfTimePercent"), all = ss_table_col(t, "cumulativeTimePercent");
	double sum = 0;
	if (self == SS_NPOS || t->cols[self].type != SS_TYPE_F64)
		return true;
	if (!ss_legacy_sort(t, by))
		return false;
	for (size_t i = 0; i < t->nrows; i++) {
		sum += t->data[self].f64[i] /= (double)nhosts;
		if (all != SS_NPOS && t->cols[all].type == SS_TYPE_F64)
			t->data[all].f64[i] = sum;
	}
	return true;
}

/*
 * Hosts that know of themselves alone make up the whole; what each says of the whole is the same.
 */
static void finish_environment(struct ss_table *t, size_t nhosts)
{
	static const char *const counts[] = { "device_core_count", "task_count", "host_count" };
	const struct ss_prop *hosts = ss_table_find_prop(t, "host_count");
	if (!hosts || !(hosts->value <= 1))
		return;
	for (size_t i = 0; i < SS_COUNT(counts); i++) {
		const struct ss_prop *p = ss_table_find_prop(t, counts[i]);
		if (p && p->value == p->value)
			ss_legacy_set_prop(t, counts[i], SS_UNIT_COUNT, p->value * (double)nhosts, "%.0f");
	}
}

static bool finish_input(struct ss_table *t)
{
	static const char *const by[] = { "-selfTimeInMs", "opName", NULL };
	static const char *const pairs[][2] = { { "timeInMs", "timeInPercent" }, { "selfTimeInMs", "selfTimeInPercent" } };
	size_t self = ss_table_col(t, "selfTimeInMs");
	double all = 0;
	if (self == SS_NPOS || t->cols[self].type != SS_TYPE_F64)
		return true;
	for (size_t i = 0; i < t->nrows; i++)
		all += t->data[self].f64[i] > 0 ? t->data[self].f64[i] : 0;
	for (size_t k = 0; k < SS_COUNT(pairs); k++) {
		size_t from = ss_table_col(t, pairs[k][0]), to = ss_table_col(t, pairs[k][1]);
		bool there = from != SS_NPOS && to != SS_NPOS && t->cols[from].type == SS_TYPE_F64 &&
			     t->cols[to].type == SS_TYPE_F64;
		for (size_t i = 0; there && i < t->nrows; i++)
			t->data[to].f64[i] = all > 0 ? t->data[from].f64[i] / all : 0;
	}
	return ss_legacy_sort(t, by);
}

static bool end_pages(struct ss_result *out, size_t nhosts)
{
	if (nhosts < 2)
		return true;
	struct ss_table *analysis = ss_legacy_find(out, "analysis"), *steps = ss_legacy_find(out, "steps"),
			*env = ss_legacy_find(out, "run_environment"), *ops = ss_legacy_find(out, "host_ops");
	if (steps && !steps->nrows)
		ss_result_note(out, SS_WARNING, SS_STR("The hosts have no step in common: select one host at a time"));
	if ((analysis && !finish_analysis(analysis, nhosts)) || (steps && !ss_legacy_sum_up_steps(steps)))
		return false;
	if (env)
		finish_environment(env, nhosts);
	return !ops || finish_input(ops);
}

#define SAYS "Steps are those that all of them have, each as it was on the host that took longest (on TPUs: that waited " \
	     "longest for input); shares are means over hosts."

bool ss_legacy_overview_page(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_table tables[] = {
		{ .name = "analysis", .key = { "operation", "category" }, COLS(op_cols), PROPS(analysis_props) },
		STEPS,
		{ .name = "run_environment", .key = { "host_id", "command_line" }, PROPS(environment_props) },
		{ .name = "recommendation" },
		{ .name = "inference_latency" },
	};
	static const struct ss_legacy_answer answer = { .read = read_overview, .tables = tables, .ntables = SS_COUNT(tables),
						     .worst = waits, .end = end_pages, .says = SAYS };
	return ss_legacy_combine(q, &answer, out, err);
}

bool ss_legacy_input_pipeline(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_table tables[] = {
		{ .name = "max_infeed_core" },
		STEPS,
		{ .name = "host_ops", .key = { "opName", "category" }, COLS(input_cols), PROPS(input_props) },
		{ .name = "recommendation" },
	};
	static const struct ss_legacy_answer answer = { .read = read_input, .tables = tables, .ntables = SS_COUNT(tables),
						     .worst = waits, .end = end_pages,
						     .says = SAYS " Times of equal input operations are added up." };
	return ss_legacy_combine(q, &answer, out, err);
}
