/*
 * overview_page.c - the first page: how long is a step, what limits it, what to do next.
 *
 * Seven tables in XProf's order: the ten framework ops that took most of the device's time with the
 * utilisation of the hardware, the steps, the run environment, a recommendation, latencies of
 * inference requests, an empty one, and problems. On TPUs XProf leaves the sentences of the
 * recommendation empty when there are steps; they are found with the steps there.
 */
#include "tools/findings.h"
#include "tools/input_report.h"
#include "tools/words.h"

#include "base/vec.h"
#include "model/device/duty.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"
#include "model/runtime/inference.h"

#include <math.h>
#include <stdlib.h>

#define TOP_OPS 10
/* Computation in 16 bit below this share of all is worth a word. */
#define FEW_16BIT_PERCENT 10.0

static const struct ss_col op_cols[] = {
	NUM("selfTimePercent", "Time (%)", FRAC, "Self time / self time of all ops of the device"),
	NUM("cumulativeTimePercent", "Cumulative time (%)", FRAC, "Running sum"),
	STR("category", "Category", "Type of the framework op"),
	STR("operation", "Operation", NULL),
	NUM("flopRate", "GFLOP/s", GFLOP_PER_S, "FLOPs that the hardware executes / total time"),
	FLAG("tcEligibility", "TensorCore eligibility", "Whether the op could run on tensor cores"),
	FLAG("tcUtilization", "Op is using TensorCore", "Whether at least one kernel of the op uses tensor cores"),
};

enum {
	COL_SELF,
	COL_CUMULATIVE,
	COL_CATEGORY,
	COL_OPERATION,
	COL_FLOP_RATE,
	COL_ELIGIBLE,
	COL_USING,
	COLS_WITHOUT_TC = COL_ELIGIBLE
};

/* "12.3%" of a share. */
static void share_prop(struct ss_table *t, const char *id, const char *label, double part,
		       double whole)
{
	ss_table_prop_num(t, id, label, SS_UNIT_PERCENT, 100 * ss_ratio(part, whole),
			  "%.1f%%");
}

static void percent_prop(struct ss_table *t, const char *id, const char *label, double percent)
{
	ss_table_prop_num(t, id, label, SS_UNIT_PERCENT, percent, "%.1f%%");
}

/* Self time of ops that ran eagerly, and of all. */
static void eager_time(const struct ss_op_db *db, double *eager, double *all)
{
	*eager = *all = 0;
	for (size_t i = 0; i < db->n; i++) {
		if (ss_op_is_idle(&db->v[i]))
			continue;
		*all += (double)db->v[i].self_ps;
		*eager += db->v[i].is_eager ? (double)db->v[i].self_ps : 0;
	}
}

static double occurrences(const struct ss_op_db *db)
{
	double n = 0;
	for (size_t i = 0; i < db->n; i++)
		n += (double)db->v[i].occurrences;
	return n;
}

/* Shares of what was recorded. XProf's clients get 0 for what was not. */
static void placement_props(struct ss_table *t, const struct ss_ops *ops,
			    const struct ss_op_db *framework, bool as_xprof)
{
	double host = occurrences(&ops->host), device = occurrences(framework), eager[2], all[2];
	eager_time(&ops->host, &eager[0], &all[0]);
	eager_time(framework, &eager[1], &all[1]);
	if (as_xprof || host + device > 0) {
		share_prop(t, "host_tf_op_percent", "Framework ops on the host", host, host + device);
		share_prop(t, "device_tf_op_percent", "Framework ops on the device", device, host + device);
	}
	if (as_xprof || all[0] > 0)
		share_prop(t, "host_op_time_eager_percent", "Eager time on the host", eager[0], all[0]);
	if (as_xprof || all[1] > 0)
		share_prop(t, "device_op_time_eager_percent", "Eager time on the device", eager[1], all[1]);
}

static void precision_props(struct ss_table *t, const struct ss_steps *steps)
{
	double low = (double)steps->compute_16bit_ps, high = (double)steps->compute_32bit_ps;
	share_prop(t, "device_compute_16bit_percent", "Computing in 16 bit", low,
		   low + high);
	share_prop(t, "device_compute_32bit_percent", "Computing in 32 bit", high,
		   low + high);
}

/* 0 means that nothing was measured: then the property is not there. */
static void active_prop(struct ss_table *t, const char *id, const char *label, double ms)
{
	if (ms > 0)
		ss_table_prop_num(t, id, label, SS_UNIT_MS, ms, "%.2f");
}

static void tpu_props(struct ss_table *t, const struct ss_input_report *r, const struct ss_duty *d)
{
	const struct ss_op_db *dev = &r->ops->device, *host = &r->ops->host;
	bool tpu = r->env->hardware == SS_HW_TPU;
	double busy = (double)d->busy_ps, sure = (double)d->busy_high_confidence_ps;
	double device_idle =
		tpu ? 100 * (1 - ss_ratio((double)dev->op_ps, (double)dev->total_ps)) : 0;
	double host_idle =
		tpu ? 100 * (1 - ss_ratio((double)host->op_ps, (double)host->total_ps)) : 0;
	if (!tpu)
		busy = sure = 0;
	/* Against the best this program could do: limits that no profile states. */
	percent_prop(t, "flop_rate_utilization_relative_to_roofline", NULL, 0);
	percent_prop(t, "memory_bw_utilization_relative_to_hw_limit", NULL, 0);
	/* A device or a host of which no operation was recorded is not idle: what it did is not known. */
	if (!tpu || dev->op_ps || r->as_xprof) {
		percent_prop(t, "device_idle_time_percent", "Device idle", device_idle);
		share_prop(t, "device_duty_cycle_percent", "Device duty cycle", busy,
			   busy + (double)d->idle_ps);
		share_prop(t, "device_duty_cycle_high_confidence_percent",
			   "Device duty cycle (high confidence)", sure, sure + (double)d->idle_high_confidence_ps);
	}
	if (host->op_ps || r->as_xprof)
		percent_prop(t, "host_idle_time_percent", "Host idle", host_idle);
	if (d->idle_high_confidence_ps)
		ss_table_prop_num(t, "idle_time_high_confidence_ps", NULL, SS_UNIT_PS,
				  (double)d->idle_high_confidence_ps, "%g");
	active_prop(t, "tc_active_ms_average", "TensorCore active", r->tc_active_ms);
	active_prop(t, "sc_active_ms_average", "SparseCore active", r->sc_active_ms);
	active_prop(t, "active_steptime_ms_average", "Active step time", r->active_step_ms);
}

static void sparse_core_props(struct ss_table *t, const struct ss_input_report *r)
{
	if (!(r->sc_step_ms > 0))
		return;
	ss_table_prop_num(t, "sc_steptime_average", "SparseCore step", SS_UNIT_MS,
			  r->sc_step_ms, "%.1f");
	ss_table_prop_num(t, "sc_infeed_time_avg", "SparseCore input", SS_UNIT_MS, 0,
			  "%.1f");
	ss_table_prop_num(t, "sc_outfeed_time_avg", "SparseCore output", SS_UNIT_MS, 0,
			  "%.1f");
	ss_table_prop_num(t, "sc_idle_time_avg", "SparseCore idle", SS_UNIT_MS,
			  r->sc_idle_ms, "%.1f");
}

static void analysis_props(struct ss_table *t, const struct ss_input_report *r, const struct ss_duty *duty,
			   const struct ss_op_db *framework, bool gpu)
{
	bool tpu = r->env->hardware == SS_HW_TPU;
	ss_table_prop(t, "host_trace_level", SS_STR("0"));
	placement_props(t, r->ops, framework, r->as_xprof);
	ss_table_prop(t, "remark_text", SS_STR(""));
	ss_table_prop(t, "remark_color", SS_STR(""));
	percent_prop(t, "mxu_utilization_percent", r->env->mxu_percent > 0 ? "TPU matrix units" : NULL,
		     r->env->mxu_percent);
	percent_prop(t, "hbm_utilization_percent", r->env->hbm_percent > 0 ? "HBM" : NULL, r->env->hbm_percent);
	sparse_core_props(t, r);
	if (gpu)
		precision_props(t, r->steps);
	else if (tpu || r->as_xprof)
		tpu_props(t, r, duty);
}

static void add_op(struct ss_table *t, const struct ss_op *op, const struct ss_op_db *db,
		   const struct ss_tensor_core_uses *uses, double *cumulative, bool gpu)
{
	ss_table_row(t);
	double self = ss_ratio((double)op->self_ps, (double)db->op_ps);
	*cumulative += self;
	ss_set_f64(t, COL_SELF, self);
	ss_set_f64(t, COL_CUMULATIVE, *cumulative);
	ss_set_str(t, COL_CATEGORY, op->category);
	ss_set_str(t, COL_OPERATION, op->name);
	ss_set_f64(t, COL_FLOP_RATE, ss_ratio(op->cost.flops, (double)op->time_ps / 1000));
	const struct ss_tensor_core_use *u = gpu ? ss_tensor_core_use_of(uses, op->name) : NULL;
	if (gpu) {
		ss_set_bool(t, COL_ELIGIBLE, u && u->is_eligible);
		ss_set_bool(t, COL_USING, u && u->tensor_core_ns);
	}
}

static bool analysis_rows(struct ss_table *t, const struct ss_op_db *framework,
			  const struct ss_tensor_core_uses *uses, bool gpu, bool as_xprof)
{
	const struct ss_op **ops = ss_ops_by_self_time(framework, t->arena);
	double cumulative = 0;
	if (!ops)
		return false;
	for (size_t i = 0; i < framework->n && i < TOP_OPS; i++) {
		add_op(t, ops[i], framework, uses, &cumulative, gpu);
		/* No cost: the work is not known. */
		if (!as_xprof && !(ops[i]->cost.flops > 0) && !ops[i]->cost.bytes)
			ss_set_f64(t, COL_FLOP_RATE, NAN);
	}
	return true;
}

static bool analysis(const struct ss_input_report *r, const struct ss_duty *duty, struct ss_result *out)
{
	bool gpu = ss_str_contains(r->env->device_type, SS_STR("GPU"));
	struct ss_op_db framework;
	struct ss_tensor_core_uses uses;
	struct ss_table *t = ss_result_table(out, "analysis", "Performance summary", op_cols,
					     gpu ? SS_COUNT(op_cols) : COLS_WITHOUT_TC);
	if (!ss_framework_ops(&framework, ss_ops_computed(r->ops, r->as_xprof), false))
		return false;
	bool ok = ss_tensor_core_uses(&uses, &r->ops->kernels);
	if (ok) {
		analysis_props(t, r, duty, &framework, gpu);
		ok = analysis_rows(t, &framework, &uses, gpu, r->as_xprof);
		ss_tensor_core_uses_free(&uses);
	}
	ss_op_db_free(&framework);
	return ok;
}

static const struct ss_col environment_cols[] = {
	STR("host_id", "host_id", NULL),
	STR("command_line", "command_line", NULL),
	STR("start_time", "start_time", NULL),
	STR("bns_address", "bns_address", NULL),
};

static void environment(const struct ss_env *env, bool as_xprof, struct ss_result *out)
{
	bool known = as_xprof || !env->hosts_unknown;
	struct ss_table *t = ss_result_table(out, "run_environment", "Run environment",
					     environment_cols, SS_COUNT(environment_cols));
	struct ss_str tasks =
		known ? ss_arena_printf(out->arena, "%u (num tasks per host = %u)", env->task_count,
					env->host_count ? env->task_count / env->host_count : 0)
		      : ss_arena_printf(out->arena, "%u", env->task_count);
	if (known)
		ss_table_prop_num(t, "host_count", "Hosts", SS_UNIT_COUNT, env->host_count,
				  "%.0f");
	ss_table_prop(t, "task_count", tasks);
	ss_table_prop(t, "device_type", env->device_type);
	ss_table_prop_num(t, "device_core_count", "Device cores", SS_UNIT_COUNT,
			  env->core_count, "%.0f");
	ss_table_prop(t, "is_training", env->is_training ? SS_STR("true") : SS_STR("false"));
}

static const struct ss_col tip_cols[] = {
	STR("tip_type", "About", NULL),
	HTML("link", "What to open", NULL),
	STR("description", "What for", NULL),
};

static void add_tip(struct ss_table *t, const char *type, const char *description,
		    struct ss_str link)
{
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(type));
	ss_set_str(t, 1, link);
	ss_set_str(t, 2, ss_str_from(description));
}

static void resources(const struct ss_input_report *r, struct ss_table *t)
{
	static const char title[] = "Other useful resources";
	if (r->kineto) {
		add_tip(t, "doc", title,
			SS_STR("<a href=\"https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html\" "
			       "target=\"_blank\">Performance tuning guide of PyTorch</a>"));
		add_tip(t, "doc", title,
			SS_STR("<a href=\"https://docs.pytorch.org/docs/stable/data.html\" target=\"_blank\">"
			       "torch.utils.data: loading data with worker processes</a>"));
		return;
	}
	/* About what the program does not use, nobody wants to read. */
	if (!r->as_xprof && !r->host.uses_tf_data)
		return;
	add_tip(t, "doc", title,
		SS_STR("<a href=\"https://www.tensorflow.org/guide/data_performance_analysis\" "
		       "target=\"_blank\">Finding what is slow in a tf.data pipeline</a>"));
	add_tip(t, "doc", title,
		SS_STR("<a href=\"https://www.tensorflow.org/guide/data_performance\" target=\"_blank\">"
		       "Making a tf.data pipeline fast</a>"));
}

static void tips(const struct ss_input_report *r, struct ss_table *t)
{
	static const char on_host[] = "Where the time of the host goes",
			  on_device[] = "Where the time of the device goes";
	struct ss_str hw = r->env->hardware == SS_HW_CPU_ONLY ? SS_STR("CPU")
							      : ss_hardware_name(r->env->hardware);
	bool tpu = r->env->hardware == SS_HW_TPU;
	add_tip(t, "faq", "Tool troubleshooting / FAQ",
		SS_STR("docs/tools/overview_page.md explains every figure of this page"));
	add_tip(t, "host", on_host,
		SS_STR("input_pipeline_analyzer: the input work of the host, by op"));
	add_tip(t, "host", on_host,
		SS_STR("trace_viewer: what each host thread was doing, and when"));
	add_tip(t, "device", on_device,
		ss_arena_printf(t->arena, "%s: the ops that took the most time on the " SS_FMT,
				tpu ? "op_profile" : "framework_op_stats", SS_ARG(hw)));
	add_tip(t, "device", on_device,
		ss_arena_printf(t->arena,
				"trace_viewer: what each " SS_FMT "%s was doing, and when",
				SS_ARG(hw), tpu ? " core" : ""));
	resources(r, t);
}

static struct ss_str precision_text(const struct ss_input_report *r, struct ss_arena *a)
{
	double low = (double)r->steps->compute_16bit_ps;
	double all = low + (double)r->steps->compute_32bit_ps;
	double percent = 100 * ss_ratio(low, all);
	if (!(all > 0) || percent >= FEW_16BIT_PERCENT)
		return SS_STR("");
	return ss_arena_printf(a,
			       "Only %.1f%% of the device's computation is in 16 bit. Use lower precision where accuracy "
			       "allows: it is faster.",
			       percent);
}

/*
 * The sentences. With steps of TPU cores they stand with the steps; XProf's clients expect them
 * empty here.
 */
static void statements(const struct ss_input_report *r, struct ss_table *t)
{
	static const struct ss_statement none = { "", { "", 0 } };
	bool hide = r->steps->by_category && r->steps->n;
	const struct ss_statement *input = hide ? &none : &r->input,
				*launch = hide ? &none : &r->launch;
	const struct ss_statement *other = hide ? &none : &r->other,
				*collectives = hide ? &none : &r->collectives;
	const char *less = strcmp(input->level, "host") == 0	 ? "device"
			   : strcmp(input->level, "device") == 0 ? "host"
								 : "";
	ss_table_prop(t, "bottleneck", ss_str_from(input->level));
	ss_table_prop(t, "statement", input->text);
	ss_table_prop(t, "kernel_launch_bottleneck", ss_str_from(launch->level));
	ss_table_prop(t, "kernel_launch_statement", launch->text);
	ss_table_prop(t, "all_other_bottleneck", ss_str_from(other->level));
	ss_table_prop(t, "all_other_statement", other->text);
	ss_table_prop(t, "device_collectives_bottleneck", ss_str_from(collectives->level));
	ss_table_prop(t, "device_collectives_statement", collectives->text);
	ss_table_prop(t, "non_bottleneck_tip_types", ss_str_from(less));
	ss_table_prop(t, "precision_statement", precision_text(r, t->arena));
}

static void recommendation(const struct ss_input_report *r, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "recommendation", "Recommendation", tip_cols,
					     SS_COUNT(tip_cols));
	if (r->as_xprof)
		statements(r, t);
	tips(r, t);
}

static const struct ss_col latency_cols[] = {
	STR("percentile", "percentile", "Share of requests that took this long or less"),
	NUM("hostTimeMs", "Host time (in ms)", MS, "Total - device - communication"),
	NUM("deviceTimeMs", "Device time (in ms)", MS, NULL),
	NUM("communicationTimeMs", "Host-device communication time (in ms)", MS, NULL),
	NUM("totalTimeMs", "Total latency (in ms)", MS, "From the begin to the end of the request"),
};

static void latency_row(struct ss_table *t, const char *name, struct ss_latency l)
{
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(name));
	ss_set_f64(t, 1, l.total - l.device - l.communication);
	ss_set_f64(t, 2, l.device);
	ss_set_f64(t, 3, l.communication);
	ss_set_f64(t, 4, l.total);
}

static struct ss_latency mean(const struct ss_latencies *l)
{
	struct ss_latency m = { .total = 0 };
	for (size_t i = 0; i < l->n; i++) {
		m.total += l->v[i].total / (double)l->n;
		m.device += l->v[i].device / (double)l->n;
		m.communication += l->v[i].communication / (double)l->n;
	}
	return m;
}

/* XProf shows the median as the average; here it is the average. */
static bool latency_rows(struct ss_table *t, const struct ss_latencies *l)
{
	static const struct {
		const char *name;
		double percent;
	} rows[] = { { "50.0%", 50 },
		     { "75.0%", 75 },
		     { "90.0%", 90 },
		     { "99.0%", 99 },
		     { "99.9%", 99.9 } };
	if (l->n == 0)
		return true;
	latency_row(t, "Avg", mean(l));
	for (size_t i = 0; i < SS_COUNT(rows); i++)
		latency_row(t, rows[i].name,
			    l->v[(size_t)(rows[i].percent / 100 * (double)l->n)]);
	return true;
}

/* A model that is being trained serves no requests. */
static bool latencies(const struct ss_request *q, bool training, struct ss_result *out,
		      struct ss_err *err)
{
	struct ss_table *t = ss_result_table(out, "inference_latency", "Latency of requests",
					     latency_cols, SS_COUNT(latency_cols));
	if (training)
		return true;
	const struct ss_latencies *l = ss_model_latencies(q->model, err);
	return l && (latency_rows(t, l) || ss_fail_mem(err));
}

static bool is_zero(const struct ss_table *t, const char *id)
{
	const struct ss_prop *p = ss_table_find_prop(t, id);
	return !p || p->value == 0;
}

static void drop(struct ss_table *t, const char *id)
{
	const struct ss_prop *p = ss_table_find_prop(t, id);
	if (!p)
		return;
	size_t at = (size_t)(p - t->props);
	memmove(&t->props[at], &t->props[at + 1], (t->nprops - at - 1) * sizeof(t->props[0]));
	t->nprops--;
}

/*
 * XProf's clients get 0 for what was not measured. Others get nothing: shares of a whole are
 * unknown where all of them are 0.
 */
static void drop_unknown(struct ss_table *t, enum ss_hardware hardware)
{
	static const char *const wholes[][2] = {
		{ "host_tf_op_percent", "device_tf_op_percent" },
		{ "host_op_time_eager_percent", "device_op_time_eager_percent" },
		/* Told by the names of kernels: where none tells 16 bit, the others tell nothing. */
		{ "device_compute_16bit_percent", "device_compute_16bit_percent" },
		{ "mxu_utilization_percent", "mxu_utilization_percent" },
		{ "hbm_utilization_percent", "hbm_utilization_percent" },
		{ "flop_rate_utilization_relative_to_roofline", "flop_rate_utilization_relative_to_roofline" },
		{ "memory_bw_utilization_relative_to_hw_limit", "memory_bw_utilization_relative_to_hw_limit" },
	};
	static const char *const of_tpus[] = {
		"device_idle_time_percent", "host_idle_time_percent", "device_duty_cycle_percent",
		"device_duty_cycle_high_confidence_percent",
	};
	static const char *const of_devices[] = { "host_tf_op_percent", "device_tf_op_percent", "device_op_time_eager_percent" };
	/*
	 * Without a device nothing was placed on one: XProf counts what a compiled program ran on the CPU as that. Kernels
	 * that name no operation were placed on one.
	 */
	bool kernels = !is_zero(t, "device_compute_16bit_percent") || !is_zero(t, "device_compute_32bit_percent");
	bool unknown = hardware == SS_HW_CPU_ONLY || (kernels && is_zero(t, "device_tf_op_percent"));
	for (size_t i = 0; unknown && i < SS_COUNT(of_devices); i++)
		drop(t, of_devices[i]);
	for (size_t i = 0; i < SS_COUNT(wholes); i++)
		if (is_zero(t, wholes[i][0]) && is_zero(t, wholes[i][1])) {
			drop(t, wholes[i][0]);
			drop(t, wholes[i][1]);
		}
	if (is_zero(t, "device_compute_16bit_percent"))
		drop(t, "device_compute_32bit_percent");
	for (size_t i = 0; hardware != SS_HW_TPU && i < SS_COUNT(of_tpus); i++)
		drop(t, of_tpus[i]);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_input_report r;
	const struct ss_duty *duty;
	if (!ss_input_report_make(&r, q, err) || !(duty = ss_model_duty(q->model, err)))
		return false;
	if (!analysis(&r, duty, out))
		return ss_fail_mem(err);
	if (!q->as_xprof)
		drop_unknown(ss_result_at(out, 0), r.env->hardware);
	if (!ss_input_steps_table(&r, out))
		return ss_fail_mem(err);
	environment(r.env, q->as_xprof, out);
	recommendation(&r, out);
	if (!latencies(q, r.env->is_training, out, err))
		return false;
	return (ss_result_table(out, "normalized", "", NULL, 0) &&
		ss_input_diagnostics(&r, q, out, true)) ||
	       ss_fail_mem(err);
}

/* What an overview that was stored says itself. */
static void conclude_stored(struct ss_result *out)
{
	static const char *const ids[] = {
		"statement", "input_conclusion", "output_conclusion", "kernel_launch_statement",
		"device_collectives_statement", "all_other_statement", "precision_statement", "tf_function_statement",
		"eager_statement", "outside_compilation_statement",
	};
	ss_say_props(out, ids, SS_COUNT(ids));
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_verdict v;
	if (!ss_findings_of(&v, q->model, q->arena, err))
		return false;
	if (v.hosts)
		ss_findings_say(out, &v);
	else
		conclude_stored(out);
	ss_findings_say_steps(out, &v);
	ss_findings_note_gaps(out, &v);
	if (!out->conclusion.text.n)
		ss_result_say(out, SS_STR("This profile has no events that show a bottleneck."));
	out->conclusion.see = v.nfindings ? "smart_suggestion" : NULL;
	return true;
}

const struct ss_tool ss_tool_overview_page = {
	.name = "overview_page",
	.title = "Overview",
	.summary = "Step time, its limit, and the ops that take most of it",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_XPROF_ALL_HOSTS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_STEPS | SS_FACTS_INFERRED_STEPS | SS_FACTS_REQUESTS | SS_FACTS_DUTY,
	.run = run,
	.conclude = conclude,
	.conclude_facts = SS_FINDINGS_FACTS,
};
