/*
 * messages.c - see legacy/messages.h. Tables, columns and properties are those that the tools
 * compute now.
 */
#include "legacy/messages.h"

#include "legacy/combine.h"
#include "model/steps/step_stats.h"

/* ---- what the messages hold ---- */

#define END { 0, SS_PBT_UINT, NULL, NULL }

static const struct ss_pbt_field summary_fields[] = {
	{ 1, SS_PBT_DOUBLE, "average", NULL },
	{ 2, SS_PBT_DOUBLE, "standard_deviation", NULL },
	{ 3, SS_PBT_DOUBLE, "minimum", NULL },
	{ 4, SS_PBT_DOUBLE, "maximum", NULL },
	END,
};

/*
 * A step, of a TPU or of other hardware: which, the type beside it says. They share two numbers,
 * whose meaning therefore depends on it.
 */
static const struct ss_pbt_field step_fields[] = {
	{ 1, SS_PBT_INT, "1", NULL },	   { 2, SS_PBT_DOUBLE, "2", NULL },   { 3, SS_PBT_DOUBLE, "3", NULL },
	{ 4, SS_PBT_DOUBLE, "4", NULL },   { 5, SS_PBT_DOUBLE, "5", NULL },   { 6, SS_PBT_DOUBLE, "6", NULL },
	{ 7, SS_PBT_DOUBLE, "7", NULL },   { 8, SS_PBT_DOUBLE, "8", NULL },   { 9, SS_PBT_DOUBLE, "9", NULL },
	{ 10, SS_PBT_DOUBLE, "10", NULL }, { 11, SS_PBT_DOUBLE, "11", NULL }, { 12, SS_PBT_DOUBLE, "12", NULL },
	{ 13, SS_PBT_DOUBLE, "13", NULL }, { 14, SS_PBT_DOUBLE, "14", NULL }, { 15, SS_PBT_DOUBLE, "15", NULL },
	{ 16, SS_PBT_DOUBLE, "16", NULL }, { 17, SS_PBT_DOUBLE, "17", NULL }, { 18, SS_PBT_DOUBLE, "18", NULL },
	END,
};

static const struct ss_pbt_field any_step_fields[] = {
	{ 1, SS_PBT_STRING, "type", NULL },
	{ 2, SS_PBT_MESSAGE, "value", step_fields },
	END,
};

static const struct ss_pbt_field verdict_fields[] = {
	{ 1, SS_PBT_STRING, "input", NULL },
	{ 2, SS_PBT_STRING, "input_statement", NULL },
	END,
};

static const struct ss_pbt_field any_verdict_fields[] = {
	{ 2, SS_PBT_MESSAGE, "value", verdict_fields },
	END,
};

static const struct ss_pbt_field advice_fields[] = {
	{ 1, SS_PBT_STRING, "detail", NULL },
	{ 2, SS_PBT_MESSAGE, "verdict", any_verdict_fields },
	{ 3, SS_PBT_STRING, "next", NULL },
	END,
};

static const struct ss_pbt_field input_time_fields[] = {
	{ 1, SS_PBT_DOUBLE, "demanded_file_read_us", NULL },
	{ 2, SS_PBT_DOUBLE, "advanced_file_read_us", NULL },
	{ 3, SS_PBT_DOUBLE, "preprocessing_us", NULL },
	{ 4, SS_PBT_DOUBLE, "enqueue_us", NULL },
	{ 5, SS_PBT_DOUBLE, "unclassified_nonequeue_us", NULL },
	END,
};

static const struct ss_pbt_field input_op_fields[] = {
	{ 1, SS_PBT_STRING, "opName", NULL },
	{ 2, SS_PBT_UINT, "count", NULL },
	{ 3, SS_PBT_DOUBLE, "timeInMs", NULL },
	{ 4, SS_PBT_DOUBLE, "timeInPercent", NULL },
	{ 5, SS_PBT_DOUBLE, "selfTimeInMs", NULL },
	{ 6, SS_PBT_DOUBLE, "selfTimeInPercent", NULL },
	{ 7, SS_PBT_STRING, "category", NULL },
	END,
};

static const struct ss_pbt_field input_fields[] = {
	{ 2, SS_PBT_MESSAGE, "steptime", summary_fields },
	{ 3, SS_PBT_MESSAGE, "infeed", summary_fields },
	{ 4, SS_PBT_MESSAGE, "step", any_step_fields },
	{ 5, SS_PBT_MESSAGE, "input_time", input_time_fields },
	{ 6, SS_PBT_MESSAGE, "op", input_op_fields },
	{ 7, SS_PBT_MESSAGE, "advice", advice_fields },
	{ 9, SS_PBT_STRING, "hardware_type", NULL },
	END,
};

static const struct ss_pbt_field top_op_fields[] = {
	{ 1, SS_PBT_STRING, "operation", NULL },
	{ 2, SS_PBT_STRING, "category", NULL },
	{ 3, SS_PBT_DOUBLE, "selfTimePercent", NULL },
	{ 4, SS_PBT_DOUBLE, "cumulativeTimePercent", NULL },
	{ 5, SS_PBT_DOUBLE, "flopRate", NULL },
	END,
};

static const struct ss_pbt_field analysis_fields[] = {
	{ 1, SS_PBT_DOUBLE, "mxu_utilization_percent", NULL },
	{ 2, SS_PBT_DOUBLE, "device_idle_time_percent", NULL },
	{ 3, SS_PBT_DOUBLE, "host_idle_time_percent", NULL },
	{ 4, SS_PBT_MESSAGE, "op", top_op_fields },
	{ 5, SS_PBT_STRING, "remark_text", NULL },
	{ 7, SS_PBT_DOUBLE, "flop_rate_utilization_relative_to_roofline", NULL },
	{ 8, SS_PBT_DOUBLE, "memory_bw_utilization_relative_to_hw_limit", NULL },
	{ 9, SS_PBT_DOUBLE, "device_compute_16bit_percent", NULL },
	{ 10, SS_PBT_DOUBLE, "device_compute_32bit_percent", NULL },
	{ 11, SS_PBT_DOUBLE, "host_tf_op_percent", NULL },
	{ 12, SS_PBT_DOUBLE, "device_tf_op_percent", NULL },
	{ 14, SS_PBT_DOUBLE, "host_op_time_eager_percent", NULL },
	{ 15, SS_PBT_DOUBLE, "device_op_time_eager_percent", NULL },
	{ 17, SS_PBT_DOUBLE, "device_duty_cycle_percent", NULL },
	END,
};

static const struct ss_pbt_field tip_fields[] = { { 1, SS_PBT_STRING, "link", NULL }, END };

static const struct ss_pbt_field generic_fields[] = {
	{ 1, SS_PBT_STRING, "kernel_launch_bottleneck", NULL },
	{ 2, SS_PBT_STRING, "kernel_launch_statement", NULL },
	{ 3, SS_PBT_STRING, "all_other_bottleneck", NULL },
	{ 4, SS_PBT_STRING, "all_other_statement", NULL },
	{ 5, SS_PBT_STRING, "precision_statement", NULL },
	{ 6, SS_PBT_STRING, "device_collectives_bottleneck", NULL },
	{ 7, SS_PBT_STRING, "device_collectives_statement", NULL },
	END,
};

static const struct ss_pbt_field any_generic_fields[] = { { 2, SS_PBT_MESSAGE, "value", generic_fields }, END };

static const struct ss_pbt_field recommendation_fields[] = {
	{ 1, SS_PBT_STRING, "bottleneck", NULL },
	{ 2, SS_PBT_STRING, "statement", NULL },
	{ 3, SS_PBT_MESSAGE, "host", tip_fields },
	{ 4, SS_PBT_MESSAGE, "device", tip_fields },
	{ 5, SS_PBT_MESSAGE, "doc", tip_fields },
	{ 6, SS_PBT_MESSAGE, "generic", any_generic_fields },
	{ 7, SS_PBT_MESSAGE, "faq", tip_fields },
	{ 8, SS_PBT_MESSAGE, "inference", tip_fields },
	{ 11, SS_PBT_MESSAGE, "input", tip_fields },
	END,
};

static const struct ss_pbt_field environment_fields[] = {
	{ 1, SS_PBT_INT, "host_count", NULL },
	{ 2, SS_PBT_INT, "task_count", NULL },
	{ 4, SS_PBT_STRING, "device_type", NULL },
	{ 5, SS_PBT_INT, "device_core_count", NULL },
	END,
};

static const struct ss_pbt_field overview_fields[] = {
	{ 2, SS_PBT_MESSAGE, "input", input_fields },
	{ 3, SS_PBT_MESSAGE, "analysis", analysis_fields },
	{ 4, SS_PBT_MESSAGE, "recommendation", recommendation_fields },
	{ 6, SS_PBT_MESSAGE, "environment", environment_fields },
	END,
};

/* ---- tables ---- */

/* A column of steps, and the fields whose sum it is. */
struct part {
	const char *fields[3];
};

static const struct ss_col generic_cols[] = {
	STR("stepnum", "Step number", NULL),
	NUM("deviceComputeTimeMs", "Device compute", MS, NULL),
	NUM("deviceToDeviceTimeMs", "Device to device", MS, NULL),
	NUM("deviceCollectivesTimeMs", "Device collective communication", MS, NULL),
	NUM("hostComputeTimeMs", "Host compute", MS, NULL),
	NUM("kernelLaunchTimeMs", "Kernel launch", MS, NULL),
	NUM("infeedTimeMs", "Input", MS, "Waiting for input, and copying it to the device"),
	NUM("outfeedTimeMs", "Output", MS, NULL),
	NUM("compileTimeMs", "Compilation", MS, NULL),
	NUM("otherTimeMs", "All others", MS, NULL),
	NUM("stepTimeMs", "Step time", MS, NULL),
};

static const struct part generic_parts[SS_COUNT(generic_cols) - 1] = {
	{ { "6" } }, { { "7" } }, { { "13" } }, { { "8" } }, { { "9" } },
	{ { "11", "12" } }, { { "5" } }, { { "10" } }, { { "3" } }, { { "2" } },
};

static const struct ss_col tpu_cols[] = {
	STR("stepnum", "Step number", NULL),
	NUM("tcComputeTimeMs", "TensorCore compute", MS, NULL),
	NUM("scv0ComputeTimeMs", "SparseCore compute", MS, NULL),
	NUM("scv0InfeedTimeMs", "SparseCore input", MS, NULL),
	NUM("tcInfeedTimeMs", "TensorCore input", MS, NULL),
	NUM("tcOutfeedTimeMs", "TensorCore output", MS, NULL),
	NUM("tcIdleTimeMs", "TensorCore idle", MS, NULL),
	NUM("hostTransferTimeMs", "Host transfer", MS, NULL),
	NUM("infeedPercentAverage", "Waiting for input, average (%)", PERCENT, NULL),
	NUM("infeedPercentMin", "Waiting for input, min (%)", PERCENT, NULL),
	NUM("infeedPercentMax", "Waiting for input, max (%)", PERCENT, NULL),
};

static const struct part tpu_parts[SS_COUNT(tpu_cols) - 1] = {
	{ { "13", "11", "12" } }, { { "16" } }, { { "17" } }, { { "3" } }, { { "15" } },
	{ { "14" } }, { { "18" } }, { { "4" } }, { { "5" } }, { { "6" } },
};

static bool is_tpu(const struct ss_jnode *input)
{
	return ss_str_ends(ss_jnode_text(ss_jnode_get(input, "step"), "type"), SS_STR("PerTpuStepDetails"));
}

static double sum(const struct ss_jnode *step, const struct part *p)
{
	double v = 0;
	for (size_t i = 0; i < SS_COUNT(p->fields) && p->fields[i]; i++)
		v += ss_jnode_num(step, p->fields[i], 0);
	return v;
}

/*
 * The mean of a column of times as a property, under the name that pages look for:
 * tc_compute_ms_average for tcComputeTimeMs.
 */
static void add_mean(struct ss_table *t, size_t col, bool tpu)
{
	char id[64];
	size_t n = 0;
	double all = 0;
	for (const char *p = t->cols[col].id; *p && n < 32 && strncmp(p, "TimeMs", 6) != 0; p++) {
		if (*p >= 'A' && *p <= 'Z')
			id[n++] = '_';
		id[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	}
	id[n] = '\0';
	for (size_t i = 0; i < t->nrows; i++)
		all += t->data[col].f64[i];
	struct ss_str name = ss_arena_printf(t->arena, "%s%s", id, tpu ? "_ms_average" : "_time_ms_avg");
	double mean = t->nrows ? all / (double)t->nrows : 0;
	if (ss_table_find_prop(t, name.p ? name.p : "")) {
		ss_legacy_set_prop(t, name.p, SS_UNIT_MS, mean, "%.2f");
		return;
	}
	ss_table_prop_num(t, name.p, t->cols[col].label, SS_UNIT_MS, mean, "%.2f");
}

static void add_means(struct ss_table *t, bool tpu)
{
	for (size_t i = 1; i < t->ncols && t->cols[i].unit == SS_UNIT_MS; i++)
		if (strcmp(t->cols[i].id, "stepTimeMs") != 0)
			add_mean(t, i, tpu);
}

static void summary_props(struct ss_table *t, const struct ss_jnode *s, const char *prefix, enum ss_unit unit)
{
	static const char *const keys[] = { "average", "standard_deviation", "minimum", "maximum" };
	for (size_t i = 0; s && i < SS_COUNT(keys); i++) {
		struct ss_str id = ss_arena_printf(t->arena, "%s_%s", prefix, keys[i]);
		ss_table_prop_num(t, id.p, NULL, unit, ss_jnode_num(s, keys[i], 0), "%.1f");
	}
}

static void steps_table(const struct ss_jnode *input, struct ss_result *out)
{
	bool tpu = is_tpu(input);
	const struct ss_col *cols = tpu ? tpu_cols : generic_cols;
	const struct part *parts = tpu ? tpu_parts : generic_parts;
	size_t ncols = tpu ? SS_COUNT(tpu_cols) : SS_COUNT(generic_cols);
	const struct ss_jnode *advice = ss_jnode_get(input, "advice");
	struct ss_table *t = ss_result_table(out, "steps", "Steps", cols, ncols);
	for (const struct ss_jnode *s = ss_jnode_get(input, "step"); s; s = ss_jnode_again(s)) {
		const struct ss_jnode *step = ss_jnode_get(s, "value");
		struct ss_str num = ss_arena_printf(out->arena, "%lld", (long long)ss_jnode_int(step, "1", 0));
		ss_table_row(t);
		ss_set_str(t, 0, num);
		for (size_t i = 1; i < ncols; i++)
			ss_set_f64(t, i, sum(step, &parts[i - 1]));
	}
	add_means(t, tpu);
	struct ss_str said = ss_jnode_text(ss_jnode_get(ss_jnode_get(advice, "verdict"), "value"), "input_statement");
	summary_props(t, ss_jnode_get(input, "steptime"), "steptime_ms", SS_UNIT_MS);
	summary_props(t, ss_jnode_get(input, "infeed"), "infeed_percent", SS_UNIT_PERCENT);
	ss_table_prop(t, "hardware_type", ss_jnode_text(input, "hardware_type"));
	ss_table_prop(t, "input_conclusion", said);
	ss_table_prop(t, "summary_nextstep", ss_jnode_text(advice, "next"));
}

/* Average, deviation, least and most as the properties that a summary has. */
static void set_summary(struct ss_table *t, const char *prefix, enum ss_unit unit, const double *v, size_t n)
{
	struct ss_summary s = ss_summary_of(v, n);
	const struct {
		const char *id;
		double v;
	} props[] = {
		{ "average", s.mean }, { "standard_deviation", s.stddev }, { "minimum", s.min }, { "maximum", s.max },
	};
	for (size_t i = 0; i < SS_COUNT(props); i++) {
		struct ss_str id = ss_arena_printf(t->arena, "%s_%s", prefix, props[i].id);
		ss_legacy_set_prop(t, id.p, unit, props[i].v, "%.1f");
	}
}

bool ss_legacy_sum_up_steps(struct ss_table *steps)
{
	size_t time = ss_table_col(steps, "stepTimeMs"), input = ss_table_col(steps, "infeedTimeMs"), n = steps->nrows;
	double *v = time != SS_NPOS && input != SS_NPOS ? SS_NEW_N(steps->arena, double, n + 1) : NULL;
	if (time == SS_NPOS || input == SS_NPOS)
		return true;	/* what a file for TPUs does not tell of a step is not made up */
	for (size_t i = 0; v && i < n; i++)
		v[i] = steps->data[time].f64[i];
	if (!v)
		return false;
	set_summary(steps, "steptime_ms", SS_UNIT_MS, v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] > 0 ? 100 * steps->data[input].f64[i] / v[i] : 0;
	set_summary(steps, "infeed_percent", SS_UNIT_PERCENT, v, n);
	add_means(steps, false);
	return true;
}

static const struct ss_col input_cols[] = {
	STR("opName", "Input op", NULL),
	NUM("count", "Count", COUNT, NULL),
	NUM("timeInMs", "Total time (in ms)", MS, "Includes nested operations"),
	NUM("timeInPercent", "Total time (as % of total input-processing time)", FRAC, NULL),
	NUM("selfTimeInMs", "Total self time (in ms)", MS, "Excludes nested operations"),
	NUM("selfTimeInPercent", "Total self time (as % of total input-processing time)", FRAC, NULL),
	STR("category", "Category", NULL),
};

static const struct ss_col link_cols[] = { HTML("link", "link", NULL) };

static void input_ops(const struct ss_jnode *input, struct ss_result *out)
{
	const struct ss_jnode *times = ss_jnode_get(input, "input_time");
	struct ss_table *t = ss_result_table(out, "host_ops", "Input ops on the host", input_cols, SS_COUNT(input_cols));
	for (size_t i = 0; i + 1 < SS_COUNT(input_time_fields); i++)
		ss_table_prop_num(t, input_time_fields[i].name, NULL, SS_UNIT_US,
				  ss_jnode_num(times, input_time_fields[i].name, 0), "%.3f");
	for (const struct ss_jnode *op = ss_jnode_get(input, "op"); op; op = ss_jnode_again(op)) {
		ss_table_row(t);
		for (size_t i = 0; i < SS_COUNT(input_cols); i++) {
			/* The message has percents, the table parts of one. */
			double scale = input_cols[i].unit == SS_UNIT_FRAC ? 0.01 : 1;
			if (input_cols[i].type == SS_TYPE_F64)
				ss_set_f64(t, i, ss_jnode_num(op, input_cols[i].id, 0) * scale);
			else
				ss_set_str(t, i, ss_jnode_text(op, input_cols[i].id));
		}
	}
}

static void input_advice(const struct ss_jnode *input, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "recommendation", "What to try", link_cols, SS_COUNT(link_cols));
	for (const struct ss_jnode *d = ss_jnode_get(ss_jnode_get(input, "advice"), "detail"); d; d = ss_jnode_again(d)) {
		ss_table_row(t);
		ss_set_str(t, 0, d->text);
	}
}

bool ss_legacy_input_message(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *input = ss_legacy_read(q, h, input_fields, out, err);
	if (!input)
		return false;
	steps_table(input, out);
	input_ops(input, out);
	input_advice(input, out);
	return true;
}

/* ---- overview ---- */

static const struct ss_col top_op_cols[] = {
	NUM("selfTimePercent", "Time (%)", FRAC, "Self time / time of the device"),
	NUM("cumulativeTimePercent", "Cumulative time (%)", FRAC, "Running sum"),
	STR("category", "Category", NULL),
	STR("operation", "Operation", NULL),
	NUM("flopRate", "GFLOP/s", GFLOP_PER_S, NULL),
};

static void analysis_table(const struct ss_jnode *analysis, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "analysis", "Performance summary", top_op_cols, SS_COUNT(top_op_cols));
	for (size_t i = 0; analysis_fields[i].number; i++)
		if (analysis_fields[i].type == SS_PBT_DOUBLE)
			ss_table_prop_num(t, analysis_fields[i].name, NULL, SS_UNIT_PERCENT,
					  ss_jnode_num(analysis, analysis_fields[i].name, 0), "%.1f%%");
	ss_table_prop(t, "remark_text", ss_jnode_text(analysis, "remark_text"));
	for (const struct ss_jnode *op = ss_jnode_get(analysis, "op"); op; op = ss_jnode_again(op)) {
		ss_table_row(t);
		for (size_t i = 0; i < SS_COUNT(top_op_cols); i++) {
			if (top_op_cols[i].type == SS_TYPE_F64)
				ss_set_f64(t, i, ss_jnode_num(op, top_op_cols[i].id, 0));
			else
				ss_set_str(t, i, ss_jnode_text(op, top_op_cols[i].id));
		}
	}
}

static void environment_table(const struct ss_jnode *env, struct ss_result *out)
{
	static const struct ss_col cols[] = { STR("host_id", "host_id", NULL), STR("command_line", "command_line", NULL) };
	static const char *const counts[] = { "host_count", "task_count", "device_core_count" };
	struct ss_table *t = ss_result_table(out, "run_environment", "Run environment", cols, SS_COUNT(cols));
	for (size_t i = 0; i < SS_COUNT(counts); i++)
		ss_table_prop_num(t, counts[i], NULL, SS_UNIT_COUNT, ss_jnode_num(env, counts[i], 0), "%.0f");
	ss_table_prop(t, "device_type", ss_jnode_text(env, "device_type"));
}

static void recommendation_table(const struct ss_jnode *r, struct ss_result *out)
{
	static const struct ss_col cols[] = {
		STR("tip_type", "tip_type", NULL),
		HTML("link", "link", NULL),
	};
	static const char *const kinds[] = { "host", "device", "doc", "faq", "inference", "input" };
	const struct ss_jnode *generic = ss_jnode_get(ss_jnode_get(r, "generic"), "value");
	struct ss_table *t = ss_result_table(out, "recommendation", "Recommendation", cols, SS_COUNT(cols));
	ss_table_prop(t, "bottleneck", ss_jnode_text(r, "bottleneck"));
	ss_table_prop(t, "statement", ss_jnode_text(r, "statement"));
	for (size_t i = 0; generic_fields[i].number; i++)
		ss_table_prop(t, generic_fields[i].name, ss_jnode_text(generic, generic_fields[i].name));
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		for (const struct ss_jnode *tip = ss_jnode_get(r, kinds[i]); tip; tip = ss_jnode_again(tip)) {
			ss_table_row(t);
			ss_set_str(t, 0, ss_str_from(kinds[i]));
			ss_set_str(t, 1, ss_jnode_text(tip, "link"));
		}
}

bool ss_legacy_overview_message(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read(q, h, overview_fields, out, err);
	if (!root)
		return false;
	analysis_table(ss_jnode_get(root, "analysis"), out);
	steps_table(ss_jnode_get(root, "input"), out);
	environment_table(ss_jnode_get(root, "environment"), out);
	recommendation_table(ss_jnode_get(root, "recommendation"), out);
	return true;
}
