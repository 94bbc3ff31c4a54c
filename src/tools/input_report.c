/*
 * input_report.c - judging the input pipeline from steps (docs/tools/input_pipeline_analyzer.md).
 *
 * Shares are of the summed time of all steps. On TPUs the time of collectives stands both inside
 * the computation and for itself, as in XProf; shares there are of a sum that counts it twice.
 */
#include "tools/input_report.h"

#include "base/cxx_name.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "model/ops/ops.h"
#include "model/steps/inferred.h"
#include "model/torch/torch.h"

#include <stdlib.h>

/* Shares in percent from which on a limit is worth a word. */
#define HIGH_INPUT 20.0
#define SOME_INPUT 5.0
#define HIGH_OTHER 15.0
#define SOME_OTHER 3.0
#define SOME_IDLE 3.0
#define SOME_COLLECTIVES 6.0

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static struct ss_str input_text(struct ss_arena *a, const char *level, double input)
{
	const char *advice = strcmp(level, "host") == 0	  ? "the input pipeline is the bottleneck. Speed it up first."
			     : strcmp(level, "both") == 0 ? "improve it as well as the computation."
							  : "input is not the bottleneck. Look at the operations.";
	return ss_arena_printf(a, "%.1f%% of the step time is spent waiting for input: %s", input, advice);
}

static const char *input_level(double input)
{
	return input >= HIGH_INPUT ? "host" : input >= SOME_INPUT ? "both" : "device";
}

static const char *other_level(double share)
{
	return share >= HIGH_OTHER ? "high" : share >= SOME_OTHER ? "moderate" : "no";
}

static struct ss_statement unknown_input(void)
{
	return (struct ss_statement){
		"unknown",
		SS_STR("No step was measured, so it is not known whether the program waits for "
		       "input. "
		       "Mark the steps of your program, or profile for longer than one step."),
	};
}

static struct ss_statement no_statement(const char *level)
{
	return (struct ss_statement){ level, SS_STR("") };
}

/* GPU and CPU. */
static void judge_parts(struct ss_input_report *r, struct ss_arena *a)
{
	double sum[SS_STEP_PART_COUNT] = { 0 }, whole = 0;
	for (size_t i = 0; i < r->steps->n; i++) {
		for (size_t k = 0; k < SS_STEP_PART_COUNT; k++)
			sum[k] += r->parts[i].part_ms[k];
		whole += r->parts[i].step_ms;
	}
	r->input = unknown_input();
	r->collectives = r->launch = r->other = no_statement("no");
	if (!(whole > 0))
		return;
	double input = percent(sum[SS_STEP_PART_INPUT], whole),
	       other = percent(sum[SS_STEP_PART_OTHER], whole);
	double collectives = percent(sum[SS_STEP_PART_COLLECTIVES], whole),
	       launch = percent(sum[SS_STEP_PART_KERNEL_LAUNCH], whole);
	r->input = (struct ss_statement){ input_level(input), SS_STR("") };
	r->other.level = other_level(other);
	if (input < SOME_INPUT && other >= SOME_OTHER) {
		r->input = (struct ss_statement){
			"both",
			ss_arena_printf(a,
					"%.1f%% of the step time is not computing, communicating or launching. It may be "
					"reading of data or Python code: look at the threads of the host in the timeline.",
					other),
		};
		r->other.level = "no";
	} else {
		r->input.text = input_text(a, r->input.level, input);
	}
	if (strcmp(r->other.level, "no") != 0)
		r->other.text = ss_arena_printf(
			a,
			"%.1f %% of the step time belongs to no known kind of work. It may be overhead of Python code on the host.",
			other);
	r->collectives.level = other_level(collectives);
	if (strcmp(r->collectives.level, "no") != 0)
		r->collectives.text = ss_arena_printf(a,
						      "%.1f %% of the step time goes to collective "
						      "communication between devices. "
						      "Overlap it with computation, or send less.",
						      collectives);
	r->launch.level = other_level(launch);
	if (strcmp(r->launch.level, "no") != 0)
		r->launch.text = ss_arena_printf(
			a, "%.1f %% of the step time goes to launching kernels.%s", launch,
			r->host.uses_tf_data
				? " Threads of tf.data may be in the way: "
				  "TF_GPU_THREAD_MODE=gpu_private gives launches their own."
				: "");
}

/* The values in the sentences about a TPU. */
struct tpu_shares {
	double input, output, idle, compute, sync, scv0, whole_ms;
};

static struct tpu_shares tpu_shares(const struct ss_input_report *r)
{
	struct ss_tpu_row s = { 0 };
	struct tpu_shares out = { 0 };
	for (size_t i = 0; i < r->steps->n; i++) {
		const struct ss_tpu_row *t = &r->tpu[i];
		s.tc_infeed_ms += t->tc_infeed_ms + t->scv0_infeed_ms;
		s.tc_outfeed_ms += t->tc_outfeed_ms;
		s.tc_idle_ms += t->tc_idle_ms;
		s.all_reduce_compute_ms += t->all_reduce_compute_ms;
		s.all_reduce_sync_ms += t->all_reduce_sync_ms;
		s.scv0_compute_ms += t->scv0_compute_ms + t->scv0_infeed_ms;
		out.whole_ms += t->total_ms;
	}
	out.input = percent(s.tc_infeed_ms, out.whole_ms);
	out.output = percent(s.tc_outfeed_ms, out.whole_ms);
	out.idle = percent(s.tc_idle_ms, out.whole_ms);
	out.compute = percent(s.all_reduce_compute_ms, out.whole_ms);
	out.sync = percent(s.all_reduce_sync_ms, out.whole_ms);
	out.scv0 = percent(s.scv0_compute_ms, out.whole_ms);
	return out;
}

static void judge_tpu(struct ss_input_report *r, struct ss_arena *a)
{
	struct tpu_shares s = tpu_shares(r);
	r->input = unknown_input();
	r->output = r->collectives = r->other = r->launch = no_statement("no");
	if (!(s.whole_ms > 0))
		return;
	r->input.level = input_level(s.input);
	r->input.text = input_text(a, r->input.level, s.input);
	if (s.output >= SOME_INPUT)
		r->output = (struct ss_statement){
			s.output >= HIGH_INPUT ? "host" : "both",
			ss_arena_printf(a,
					"%.1f%% of the step time is spent sending results to the "
					"host: send less, or less often.",
					s.output),
		};
	if (s.idle >= SOME_IDLE)
		r->other = (struct ss_statement){
			"yes",
			ss_arena_printf(a,
					"The TensorCores are idle for %.1f %% of the step time for reasons other than input: "
					"this is overhead of the host. Run several steps per call, so that the host starts "
					"programs less often.",
					s.idle),
		};
	if (s.compute + s.sync - s.input >= SOME_COLLECTIVES)
		r->collectives = (struct ss_statement){
			"yes",
			ss_arena_printf(a,
					"%.1f %% of the step time goes to waiting for other cores "
					"in collectives, "
					"and %.1f %% to the collectives themselves.",
					s.sync, s.compute),
		};
}

/* What to read next. */
static struct ss_str next_step(const struct ss_input_report *r)
{
	bool bound = strcmp(r->input.level, "host") == 0 || strcmp(r->input.level, "both") == 0;
	if (!bound)
		return SS_STR("You may skip the rest of this page, because input is not the limit.");
	if (r->host.uses_tf_data)
		return SS_STR("See the breakdown of input work on the host below for the op to improve.");
	return SS_STR("No input pipeline was recorded on the host, so the breakdown below is empty. Profiles record input "
	    "pipelines that use <a href=\"https://www.tensorflow.org/guide/data\" target=\"_blank\">tf.data</a>.");
}

static bool read_tpu_rows(struct ss_input_report *r, struct ss_arena *a)
{
	size_t n = r->steps->n;
	r->tpu = SS_NEW_N(a, struct ss_tpu_row, n + 1);
	if (!r->tpu)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct ss_tpu_row *t = &r->tpu[i];
		if (!ss_tpu_row_of(&r->steps->v[i], t))
			return false;
		r->sparse_in_steps |= t->has_sparse_core;
		r->tc_active_ms += t->tc_active_ms / (double)n;
		r->sc_active_ms += t->sc_active_ms / (double)n;
		r->active_step_ms +=
			(t->tc_active_ms > t->sc_active_ms ? t->tc_active_ms : t->sc_active_ms) /
			(double)n;
		r->sc_step_ms += t->sc_step_ms / (double)n;
		r->sc_idle_ms += t->sc_idle_ms / (double)n;
		r->sc_compute_ms += t->sc_compute_ms / (double)n;
	}
	return true;
}

static bool read_part_rows(struct ss_input_report *r, struct ss_arena *a, double *transfer_ratio)
{
	double copy_ms = 0, step_ms = 0;
	r->parts = SS_NEW_N(a, struct ss_part_row, r->steps->n + 1);
	if (!r->parts)
		return false;
	for (size_t i = 0; i < r->steps->n; i++) {
		r->parts[i] = ss_part_row_of(&r->steps->v[i]);
		copy_ms += r->parts[i].host_to_device_ms;
		step_ms += ss_step_longest_ms(&r->steps->v[i]);
	}
	*transfer_ratio = step_ms > 0 ? copy_ms / step_ms : 0;
	return true;
}

const struct ss_steps *ss_request_marked_steps(const struct ss_request *q, bool whole_only, struct ss_err *err)
{
	return q->as_xprof ? ss_model_steps(q->model, whole_only, err) : ss_model_numbered_steps(q->model, whole_only, err);
}

const struct ss_steps *ss_request_steps(const struct ss_request *q, bool whole_only, struct ss_err *err)
{
	const struct ss_steps *marked = ss_request_marked_steps(q, whole_only, err);
	if (!marked || marked->n || marked->no_common || q->as_xprof)
		return marked;
	const struct ss_steps *inferred = ss_model_inferred_steps(q->model, err);
	return !inferred || ss_steps_are_sure(inferred) ? inferred : marked;
}

static bool is_of_kineto(const struct ss_request *q)
{
	for (uint32_t i = 0; i < q->model->nhosts; i++)
		if (!ss_host_is_described(q->model->hosts[i]) && ss_host_is_kineto(q->model->hosts[i]))
			return true;
	return false;
}

bool ss_input_report_make(struct ss_input_report *r, const struct ss_request *q, struct ss_err *err)
{
	double transfer_ratio = 0;
	*r = (struct ss_input_report){ .env = ss_model_env(q->model, err), .as_xprof = q->as_xprof };
	r->kineto = is_of_kineto(q);
	r->ops = r->env ? ss_model_ops(q->model, err) : NULL;
	r->steps = r->ops ? ss_request_steps(q, true, err) : NULL;
	if (!r->steps)
		return false;
	r->in_timeline = r->steps->own_numbers || (r->steps->inferred.how != SS_INFERRED_NOT && q->model->nhosts == 1);
	bool by_category = r->steps->by_category;
	if (!(by_category ? read_tpu_rows(r, q->arena)
			  : read_part_rows(r, q->arena, &transfer_ratio)) ||
	    !ss_host_input_of(&r->host, &r->ops->host, transfer_ratio, q->arena))
		return ss_fail_mem(err);
	if (!q->as_xprof)
		return true;
	if (by_category)
		judge_tpu(r, q->arena);
	else
		judge_parts(r, q->arena);
	r->next_step = next_step(r);
	const struct ss_statement *all[] = { &r->input, &r->output, &r->collectives, &r->launch,
					   &r->other };
	for (size_t i = 0; i < SS_COUNT(all); i++)
		if (all[i]->level && !all[i]->text.p)
			return ss_fail_mem(err);
	return true;
}

static const struct ss_col diagnostics_cols[] = {
	STR("severity", "Severity", NULL),
	STR("message", "Message", NULL),
};

static void add_message(struct ss_table *t, const char *severity, struct ss_str text)
{
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(severity));
	ss_set_str(t, 1, text);
}

static bool add_errors(const struct ss_input_report *r, struct ss_table *t)
{
	const struct ss_env *env = r->env;
	if (env->nerrors == 0 && !ss_str_is(env->device_type, "CPU") && env->core_count == 0) {
		add_message(t, "ERROR",
			    SS_STR("The profile holds no data of a TensorCore. Profile "
				   "again, for longer or while the "
				   "program is computing."));
		return true;
	}
	struct ss_str *sorted = SS_NEW_N(t->arena, struct ss_str, env->nerrors + 1);
	if (!sorted)
		return false;
	for (size_t i = 0; i < env->nerrors; i++)
		sorted[i] = env->errors[i];
	qsort(sorted, env->nerrors, sizeof(*sorted), ss_cmp_str);
	for (size_t i = 0; i < env->nerrors; i++)
		add_message(t, "ERROR", sorted[i]);
	return true;
}

static bool is_imported(const struct ss_request *q)
{
	for (uint32_t i = 0; i < q->model->nhosts; i++)
		if (!ss_host_is_described(q->model->hosts[i]) && ss_host_is_torch(q->model->hosts[i]))
			return true;
	return false;
}

/* What marks steps, in the words of what was profiled. A profiler of GPUs alone knows ranges (NVTX, ROCTX, track events). */
static const char *marker(const struct ss_request *q)
{
	const char *form = q->model->nhosts ? q->model->hosts[0]->imported.form : NULL;
	if (form && strstr(form, "Nsight Systems"))
		return "an NVTX range that is named 'step 7' does";
	if (form && strstr(form, "rocprofv3"))
		return "a ROCTx range that is named 'step 7' does";
	bool perfetto = form && strstr(form, "Perfetto");
	return is_of_kineto(q) ? "step() of a torch.profiler with a schedule does" :
	       perfetto || is_imported(q) ? "a range around each that is called 'ProfilerStep#7' does" :
					    "Keras and JAX's StepTraceAnnotation do";
}

/* How unmarked steps were inferred, and with which confidence. */
static struct ss_str inferred_text(const struct ss_request *q, const struct ss_inferred *f, size_t nsteps, struct ss_arena *a)
{
	static const struct {
		const char *what, *where;
	} words[] = {
		[SS_INFERRED_NOT] = { "", "" },
		[SS_INFERRED_FROM_PROGRAMS] = { "run of the program", "" },
		[SS_INFERRED_FROM_CALLS] = { "call", "host thread: " },
		[SS_INFERRED_FROM_KERNELS] = { "operation", "" },
		[SS_INFERRED_FROM_OPS] = { "operation", "the host: " },
		[SS_INFERRED_FROM_OUTERMOST] = { "event", "host thread: " },
	};
	/* Of a kernel the name may be thousands of letters of C++. */
	struct ss_str name = f->how == SS_INFERRED_FROM_KERNELS ? ss_cxx_short_name(f->name, a) : f->name;
	return ss_arena_printf(a,
			       "No step marker was found. The %zu steps shown were inferred from what repeats: from each %s "
			       "'" SS_FMT "' on %s" SS_FMT " to the next (confidence %.0f%%). To be sure, mark the steps "
			       "of your program (%s).",
			       nsteps, words[f->how].what, SS_ARG(name), words[f->how].where, SS_ARG(f->place),
			       100 * f->confidence_frac, marker(q));
}

static void add_inferred(const struct ss_input_report *r, const struct ss_request *q, struct ss_table *t)
{
	const struct ss_inferred *f = &r->steps->inferred;
	if (f->how == SS_INFERRED_NOT)
		return;
	struct ss_str text = inferred_text(q, f, r->steps->n, t->arena);
	ss_table_prop(t, "steps_found_by", ss_inferred_from_name(f->how));
	ss_table_prop_num(t, "steps_confidence", "Confidence in the steps", SS_UNIT_PERCENT,
			  100 * f->confidence_frac, "%.0f%%");
	add_message(t, "WARNING", text);
}

static struct ss_str no_marks(const struct ss_input_report *r, const struct ss_request *q, struct ss_arena *a)
{
	if (r->marked_only)
		return ss_arena_printf(a,
				       "No step marker was found, so these figures are of the whole profile. For those of each "
				       "step, mark the steps of your program (%s).",
				       marker(q));
	return ss_arena_printf(a,
			       "No step marker was found, so step times are unknown. Mark the steps of your program (%s), or "
			       "profile for longer than one step.",
			       marker(q));
}

bool ss_input_diagnostics(const struct ss_input_report *r, const struct ss_request *q, struct ss_result *out, bool profile)
{
	struct ss_table *t = ss_result_table(out, "diagnostics", "Diagnostics", diagnostics_cols,
					     SS_COUNT(diagnostics_cols));
	for (size_t i = 0; profile && i < r->env->nwarnings; i++)
		add_message(t, "WARNING", r->env->warnings[i]);
	if (r->steps->n == 0)
		add_message(t, "WARNING",
			    r->steps->no_common ?
				    SS_STR("The hosts have no step in common: they were not profiled at the same time, "
					   "or the profile is shorter than a step. Profile all hosts together, for "
					   "longer.") :
				    no_marks(r, q, t->arena));
	add_inferred(r, q, t);
	return !profile || add_errors(r, t);
}
