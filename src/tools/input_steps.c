/*
 * input_steps.c - the table of steps of overview_page and input_pipeline_analyzer, in the shape for
 * TPUs or the general one.
 */
#include "tools/input_report.h"

#include "base/safe.h"
#include "xprof/quirks/quirks.h"

#include <math.h>

/* The general shape: GPU and CPU. */

static const struct ss_col part_cols[] = {
	STR("stepnum", "Step number", NULL),
	NUM("deviceComputeTimeMs", "Device compute", MS, "Time during which a kernel computes"),
	NUM("deviceToDeviceTimeMs", "Device to device", MS,
	    "Time of copies between devices that no computation hides"),
	NUM("deviceCollectivesTimeMs", "Device collective communication", MS,
	    "Time of collectives that no computation hides"),
	NUM("hostComputeTimeMs", "Host compute", MS, "Work on host threads"),
	NUM("kernelLaunchTimeMs", "Kernel launch", MS, "The host preparing kernels"),
	NUM("infeedTimeMs", "Input", MS, "Waiting for input, and copying it to the device"),
	NUM("outfeedTimeMs", "Output", MS, "Copies from the device to the host"),
	NUM("compileTimeMs", "Compilation", MS, NULL),
	NUM("otherTimeMs", "All others", MS, "The rest of the step"),
	{ "tooltip", "tooltip", SS_TYPE_STR, SS_UNIT_NONE, NULL, "tooltip" },
	NUM("stepTimeMs", "Step time", MS, NULL),
	/* Where the timeline has no steps of these numbers: the way to their moment. */
	INT("begin_ps", "Begin", PS, "On the first host, by its clock"),
	INT("end_ps", "End", PS, "Begin + the longest step of all cores"),
};

enum { COL_TOOLTIP = 10, COL_STEP_TIME, COL_BEGIN, COL_END, COL_COUNT };

/* Property ids by column: average and deviation. */
static const struct {
	const char *mean, *stddev;
} part_props[SS_STEP_PART_COUNT] = {
	[SS_STEP_PART_DEVICE_COMPUTE] = { "device_compute_time_ms_avg",
					  "device_compute_time_ms_sdv" },
	[SS_STEP_PART_DEVICE_TO_DEVICE] = { "device_to_device_time_ms_avg",
					    "device_to_device_time_ms_sdv" },
	[SS_STEP_PART_COLLECTIVES] = { "device_collectives_time_ms_avg",
				       "device_collectives_time_ms_sdv" },
	[SS_STEP_PART_HOST_COMPUTE] = { "host_compute_time_ms_avg", "host_compute_time_ms_sdv" },
	[SS_STEP_PART_KERNEL_LAUNCH] = { "kernel_launch_time_ms_avg", "kernel_launch_time_ms_sdv" },
	[SS_STEP_PART_INPUT] = { "infeed_time_ms_avg", "infeed_time_ms_sdv" },
	[SS_STEP_PART_OUTPUT] = { "outfeed_time_ms_avg", "outfeed_time_ms_sdv" },
	[SS_STEP_PART_COMPILE] = { "compile_time_ms_avg", "compile_time_ms_sdv" },
	[SS_STEP_PART_OTHER] = { "other_time_ms_avg", "other_time_ms_sdv" },
};

/* A number of ms or percent. */
static void prop(struct ss_table *t, const char *id, const char *label, enum ss_unit unit, double v,
		 const char *fmt)
{
	if (isnan(v)) {
		ss_table_prop(t, id, SS_STR(SS_QUIRK_NO_NUMBER));
		return;
	}
	ss_table_prop_num(t, id, label, unit, v, fmt);
}

static void summary_props(struct ss_table *t, const char *const ids[4], enum ss_unit unit,
			  struct ss_summary s, const char *fmt)
{
	prop(t, ids[0], NULL, unit, s.mean, fmt);
	prop(t, ids[1], NULL, unit, s.stddev, fmt);
	prop(t, ids[2], NULL, unit, s.min, fmt);
	prop(t, ids[3], NULL, unit, s.max, fmt);
}

static const char *const step_time_ids[4] = { "steptime_ms_average",
					      "steptime_ms_standard_deviation",
					      "steptime_ms_minimum", "steptime_ms_maximum" };

static bool step_time_props(const struct ss_input_report *r, struct ss_table *t, const char *fmt)
{
	double *v = SS_NEW_N(t->arena, double, r->steps->n + 1);
	if (!v)
		return false;
	for (size_t i = 0; i < r->steps->n; i++)
		v[i] = ss_step_longest_ms(&r->steps->v[i]);
	summary_props(t, step_time_ids, SS_UNIT_MS, ss_summary_of(v, r->steps->n), fmt);
	return true;
}

static void statement_props(struct ss_table *t, const char *bottleneck, const char *statement,
			    struct ss_str text)
{
	ss_table_prop(t, bottleneck, text);
	ss_table_prop(t, statement, text);
}

/* XProf's clients find the sentence under both names. */
static void part_statements(const struct ss_input_report *r, struct ss_table *t)
{
	ss_table_prop(t, "input_conclusion", r->input.text);
	statement_props(t, "device_collectives_bottleneck", "device_collectives_statement",
			r->collectives.text);
	statement_props(t, "kernel_launch_bottleneck", "kernel_launch_statement", r->launch.text);
	statement_props(t, "all_other_bottleneck", "all_other_statement", r->other.text);
	ss_table_prop(t, "summary_nextstep", r->next_step);
}

/* XProf's clients get 0 where no step was measured, others nothing. */
static bool is_measured(const struct ss_input_report *r)
{
	return r->steps->n || r->as_xprof;
}

static bool part_time_props(const struct ss_input_report *r, struct ss_table *t)
{
	double *v = SS_NEW_N(t->arena, double, r->steps->n + 1);
	if (!v || !step_time_props(r, t, "%.1f"))
		return false;
	for (size_t k = 0; k < SS_STEP_PART_COUNT; k++) {
		for (size_t i = 0; i < r->steps->n; i++)
			v[i] = r->parts[i].part_ms[k];
		struct ss_summary s = ss_summary_of(v, r->steps->n);
		prop(t, part_props[k].mean, part_cols[k + 1].label, SS_UNIT_MS, s.mean,
		     "%.1f");
		prop(t, part_props[k].stddev, NULL, SS_UNIT_MS, s.stddev, "%.1f");
	}
	return true;
}

/* A page may lead from a step of the table to that step of the timeline. */
static void timeline_prop(const struct ss_input_report *r, struct ss_table *t)
{
	if (r->in_timeline)
		ss_table_prop(t, "step_numbers", SS_STR("timeline"));
}

static bool part_props_of(const struct ss_input_report *r, struct ss_table *t)
{
	ss_table_prop(t, "hardware_type", ss_hardware_name(r->env->hardware));
	timeline_prop(r, t);
	if (is_measured(r) && !part_time_props(r, t))
		return false;
	/* The blank before "tooltip" is that of XProf's clients. */
	if (r->as_xprof)
		part_statements(r, t);
	ss_table_prop(t, "step_time_graph_column_ids",
		      SS_STR("stepnum,deviceComputeTimeMs,deviceToDeviceTimeMs,"
			     "deviceCollectivesTimeMs,hostComputeTimeMs,"
			     "kernelLaunchTimeMs,infeedTimeMs,outfeedTimeMs,compileTimeMs,"
			     "otherTimeMs, tooltip"));
	return true;
}

static struct ss_str step_name(const struct ss_step *s, bool named, struct ss_arena *a)
{
	if (named && s->name.n)
		return s->name;
	return ss_arena_printf(a, "%lld", (long long)s->num);
}

static struct ss_str part_tooltip(const struct ss_part_row *p, struct ss_str name,
				  struct ss_arena *a)
{
	const double *v = p->part_ms;
	return ss_arena_printf(
		a,
		"Step " SS_FMT
		": %.2f ms\nDevice compute %.2f\nDevice to device %.2f\nCollectives %.2f\n"
		"Host compute %.2f\nKernel launch %.2f\nInput %.2f\nOutput %.2f\nCompilation "
		"%.2f\nOther %.2f",
		SS_ARG(name), p->step_ms, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
}

static bool part_table(const struct ss_input_report *r, struct ss_result *out)
{
	bool moments = !r->in_timeline && !r->as_xprof;
	struct ss_table *t = ss_result_table(out, "steps", "Steps", part_cols, moments ? COL_COUNT : COL_BEGIN);
	ss_table_reserve(t, r->steps->n);
	if (!part_props_of(r, t))
		return false;
	for (size_t i = 0; i < r->steps->n; i++) {
		const struct ss_part_row *p = &r->parts[i];
		struct ss_str name =
			step_name(&r->steps->v[i], r->env->hardware != SS_HW_GPU, t->arena);
		struct ss_str tip = name.p ? part_tooltip(p, name, t->arena) : name;
		ss_table_row(t);
		ss_set_str(t, 0, name);
		for (size_t k = 0; k < SS_STEP_PART_COUNT; k++)
			ss_set_f64(t, 1 + k, p->part_ms[k]);
		ss_set_str(t, COL_TOOLTIP, tip);
		ss_set_f64(t, COL_STEP_TIME, p->step_ms);
		if (!moments)
			continue;
		const struct ss_step *s = &r->steps->v[i];
		ss_set_i64(t, COL_BEGIN, s->begin_ps);
		ss_set_i64(t, COL_END, ss_safe_end(s->begin_ps, s->dur_ps));
	}
	return true;
}

/* The shape for TPUs. The columns of the old SparseCore stand where no new one is known. */

enum {
	TPU_STEP,
	TPU_COMPUTE,
	TPU_SCV0_COMPUTE,
	TPU_SCV0_INFEED,
	TPU_INFEED,
	TPU_OUTFEED,
	TPU_IDLE,
	TPU_HOST,
	TPU_TOOLTIP,
	TPU_PERCENT,
	TPU_PERCENT_MIN,
	TPU_PERCENT_MAX,
	TPU_COUNT
};

static const struct ss_col tpu_cols[TPU_COUNT] = {
	[TPU_STEP] = STR("stepnum", "Step number", NULL),
	[TPU_COMPUTE] = NUM("tcComputeTimeMs", "TensorCore compute (in ms)", MS,
			    "Compute time on the core that computes least"),
	[TPU_SCV0_COMPUTE] = NUM("scv0ComputeTimeMs", "SparseCoreV0 compute (in ms)", MS,
				 "TensorCore waiting for the embedding core"),
	[TPU_SCV0_INFEED] = NUM("scv0InfeedTimeMs", "SparseCoreV0 input (in ms)", MS, NULL),
	[TPU_INFEED] = NUM("tcInfeedTimeMs", "TensorCore input (in ms)", MS,
			   "Input time on the core that waits longest for input"),
	[TPU_OUTFEED] = NUM("tcOutfeedTimeMs", "TensorCore output (in ms)", MS, "Mean over cores"),
	[TPU_IDLE] = NUM("tcIdleTimeMs", "TensorCore idle (in ms)", MS,
			 "Step time - compute - input - output"),
	[TPU_HOST] = NUM("hostTransferTimeMs", "Host transfer (in ms)", MS,
			 "Sending to and receiving from the host; maximum over cores"),
	[TPU_TOOLTIP] = { "tooltip", "tooltip", SS_TYPE_STR, SS_UNIT_NONE, NULL, "tooltip" },
	[TPU_PERCENT] = NUM("infeedPercentAverage", "% step time waiting for input data", PERCENT,
			    "Mean over cores"),
	[TPU_PERCENT_MIN] = { "infeedPercentMin", "Infeed percent min", SS_TYPE_F64,
			      SS_UNIT_PERCENT, NULL, "interval" },
	[TPU_PERCENT_MAX] = { "infeedPercentMax", "Infeed percent max", SS_TYPE_F64,
			      SS_UNIT_PERCENT, NULL, "interval" },
};

static bool is_scv0(size_t col)
{
	return col == TPU_SCV0_COMPUTE || col == TPU_SCV0_INFEED;
}

static bool shows_scv0(const struct ss_input_report *r)
{
	return !r->env->has_sparse_core && !r->sparse_in_steps;
}

static double tpu_cell(const struct ss_tpu_row *t, size_t col)
{
	switch (col) {
	case TPU_COMPUTE:
		return t->tc_compute_ms;
	case TPU_SCV0_COMPUTE:
		return t->scv0_compute_ms;
	case TPU_SCV0_INFEED:
		return t->scv0_infeed_ms;
	case TPU_INFEED:
		return t->tc_infeed_ms;
	case TPU_OUTFEED:
		return t->tc_outfeed_ms;
	case TPU_IDLE:
		return t->tc_idle_ms;
	case TPU_HOST:
		return t->host_transfer_ms;
	case TPU_PERCENT:
		return t->infeed_percent_mean;
	case TPU_PERCENT_MIN:
		return t->infeed_percent_min;
	default:
		return t->infeed_percent_max;
	}
}

static void mean_prop(const struct ss_input_report *r, struct ss_table *t, const char *id,
			 size_t col)
{
	double sum = 0;
	for (size_t i = 0; i < r->steps->n; i++)
		sum += tpu_cell(&r->tpu[i], col);
	prop(t, id, tpu_cols[col].label, SS_UNIT_MS, r->steps->n ? sum / (double)r->steps->n : 0, "%.2f");
}

static bool infeed_props(const struct ss_input_report *r, struct ss_table *t)
{
	static const char *const ids[4] = { "infeed_percent_average",
					    "infeed_percent_standard_deviation",
					    "infeed_percent_minimum", "infeed_percent_maximum" };
	double *v = SS_NEW_N(t->arena, double, r->steps->n + 1);
	if (!v)
		return false;
	for (size_t i = 0; i < r->steps->n; i++)
		v[i] = r->tpu[i].infeed_percent_max;
	summary_props(t, ids, SS_UNIT_PERCENT, ss_summary_of(v, r->steps->n), "%.1f");
	return true;
}

static void sparse_core_props(const struct ss_input_report *r, struct ss_table *t)
{
	if (!(r->sc_step_ms > 0))
		return;
	prop(t, "sc_compute_ms_average", "SparseCore compute", SS_UNIT_MS, r->sc_compute_ms,
	     "%.2f");
	prop(t, "sc_infeed_ms_average", "SparseCore input", SS_UNIT_MS, 0, "%.2f");
	prop(t, "sc_outfeed_ms_average", "SparseCore output", SS_UNIT_MS, 0, "%.2f");
	prop(t, "sc_idle_ms_average", "SparseCore idle", SS_UNIT_MS, r->sc_idle_ms,
	     "%.2f");
	prop(t, "sc_step_time_ms_average", "SparseCore step", SS_UNIT_MS, r->sc_step_ms,
	     "%.1f");
}

static void active_props(const struct ss_input_report *r, struct ss_table *t)
{
	if (r->sparse_in_steps)
		prop(t, "sc_active_ms_average", "SparseCore active",
			  SS_UNIT_MS, r->sc_active_ms, "%.2f");
	prop(t, "tc_active_ms_average", "TensorCore active", SS_UNIT_MS, r->tc_active_ms,
	     "%.2f");
	prop(t, "active_steptime_ms_average", "Active step time", SS_UNIT_MS,
	     r->active_step_ms, "%.2f");
}

static bool tpu_time_props(const struct ss_input_report *r, struct ss_table *t)
{
	if (!step_time_props(r, t, "%.2f") || !infeed_props(r, t))
		return false;
	if (shows_scv0(r)) {
		mean_prop(r, t, "scv0_compute_ms_average", TPU_SCV0_COMPUTE);
		mean_prop(r, t, "scv0_infeed_ms_average", TPU_SCV0_INFEED);
	}
	mean_prop(r, t, "tc_compute_ms_average", TPU_COMPUTE);
	mean_prop(r, t, "tc_infeed_ms_average", TPU_INFEED);
	mean_prop(r, t, "tc_outfeed_ms_average", TPU_OUTFEED);
	mean_prop(r, t, "tc_idle_ms_average", TPU_IDLE);
	mean_prop(r, t, "host_transfer_ms_average", TPU_HOST);
	sparse_core_props(r, t);
	active_props(r, t);
	return true;
}

static bool tpu_props(const struct ss_input_report *r, struct ss_table *t)
{
	ss_table_prop(t, "hardware_type", ss_hardware_name(r->env->hardware));
	timeline_prop(r, t);
	if (is_measured(r) && !tpu_time_props(r, t))
		return false;
	if (r->as_xprof) {
		ss_table_prop(t, "input_conclusion", r->input.text);
		ss_table_prop(t, "output_conclusion", r->output.text);
		ss_table_prop(t, "summary_nextstep", r->next_step);
	}
	ss_table_prop(
		t, "step_time_graph_column_ids",
		shows_scv0(r)
			? SS_STR("stepnum,tcComputeTimeMs,scv0ComputeTimeMs,"
				 "scv0InfeedTimeMs,tcInfeedTimeMs,"
				 "tcOutfeedTimeMs,tcIdleTimeMs,hostTransferTimeMs,tooltip")
			: SS_STR("stepnum,tcComputeTimeMs,tcInfeedTimeMs,tcOutfeedTimeMs,"
				 "tcIdleTimeMs,"
				 "hostTransferTimeMs,tooltip"));
	return true;
}

static void tpu_row(struct ss_table *t, const struct ss_step *s, const struct ss_tpu_row *row,
		    bool scv0)
{
	struct ss_str name = step_name(s, false, t->arena);
	struct ss_str tip = ss_arena_printf(
		t->arena, "Step %lld: %.3f ms, of which %.3f ms waiting for input",
		(long long)s->num,
		row->total_ms - row->all_reduce_compute_ms - row->all_reduce_sync_ms,
		row->tc_infeed_ms + row->scv0_infeed_ms);
	ss_table_row(t);
	for (size_t k = 0, at = 0; k < TPU_COUNT; k++) {
		if (!scv0 && is_scv0(k))
			continue;
		if (k == TPU_STEP)
			ss_set_str(t, at, name);
		else if (k == TPU_TOOLTIP)
			ss_set_str(t, at, tip);
		else
			ss_set_f64(t, at, tpu_cell(row, k));
		at++;
	}
}

static bool tpu_table(const struct ss_input_report *r, struct ss_result *out)
{
	bool scv0 = shows_scv0(r);
	struct ss_col *cols = SS_NEW_N(out->arena, struct ss_col, TPU_COUNT);
	size_t n = 0;
	for (size_t k = 0; cols && k < TPU_COUNT; k++)
		if (scv0 || !is_scv0(k))
			cols[n++] = tpu_cols[k];
	struct ss_table *t = cols ? ss_result_table(out, "steps", "Steps", cols, n) : NULL;
	if (!t)
		return false;
	ss_table_reserve(t, r->steps->n);
	if (!tpu_props(r, t))
		return false;
	for (size_t i = 0; i < r->steps->n; i++)
		tpu_row(t, &r->steps->v[i], &r->tpu[i], scv0);
	return true;
}

bool ss_input_steps_table(const struct ss_input_report *r, struct ss_result *out)
{
	return r->steps->by_category ? tpu_table(r, out) : part_table(r, out);
}
