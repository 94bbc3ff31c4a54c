/*
 * input_pipeline_analyzer.c - does the program wait for its input, and what is the host doing
 * meanwhile?
 *
 * Five tables: the core that waited longest in each step (TPU), the steps and where their time
 * went, input ops on the host, what to try, and problems. The classification and its thresholds are
 * in input_report.c, the host's side in model/steps/host_input.c.
 */
#include "base/percent.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"
#include "tools/findings.h"
#include "tools/input_report.h"
#include "tools/words.h"

static const struct ss_col op_cols[] = {
	STR("opName", "Input op", NULL),
	NUM("count", "Count", COUNT, NULL),
	NUM("timeInMs", "Total time (in ms)", MS, "Includes nested operations"),
	NUM("timeInPercent", "Total time (as % of total input-processing time)", FRAC, "Total time / self time of all input ops"),
	NUM("selfTimeInMs", "Total self time (in ms)", MS, "Excludes nested operations"),
	NUM("selfTimeInPercent", "Total self time (as % of total input-processing time)", FRAC,
	    "Self time / self time of all input ops"),
	STR("category", "Category", "Enqueue, file read (in advance or on demand) or preprocessing"),
};

static const struct ss_col advice_cols[] = {
	HTML("link", "What to try", NULL),
};

#define API "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#"
#define LINK(anchor, text) "<a href=\"" API anchor "\" target=\"_blank\">" text "</a>"

static const struct ss_str advice[] = {
	SS_STR_INIT(
		"Enqueueing: send fewer, larger pieces to the device instead of many small ones."),
	SS_STR_INIT("Preprocessing: let " LINK(
		"map", "map()") " run on more threads with num_parallel_calls, or do the work "
				"once, offline."),
	SS_STR_INIT("Reading in advance: tune the size of " LINK(
		"prefetch",
		"prefetch") ", the cycle_length of " LINK("interleave",
							  "interleave") " and the buffer_size of "
									"the file reader."),
	SS_STR_INIT("Reading on demand: read ahead, with " LINK("prefetch", "prefetch") ", " LINK(
		"interleave", "interleave") " or a buffer of the file reader."),
	SS_STR_INIT(
		"Other reading and processing: consider "
		"<a href=\"https://www.tensorflow.org/guide/data\" target=\"_blank\">tf.data</a>"
		", if it is not in use yet."),
};

/*
 * "<host>:<ordinal of the device>" of the core that waited longest, "unknown" if none waited or the
 * profile does not say which device it is.
 */
static struct ss_str core_name(const struct ss_request *q, const struct ss_step_core *c,
			       struct ss_arena *a)
{
	if (!c)
		return SS_STR("unknown");
	struct ss_str host = ss_host_shown(q->model->hosts[c->host], q->as_xprof);
	struct ss_core_details d = c->core->details;
	if (!d.present)
		return SS_STR("unknown");
	return ss_arena_printf(a, SS_FMT ":%u", SS_ARG(host), d.device_ordinal);
}

/* One column a step: its number, and the core. */
static bool max_infeed_core(const struct ss_request *q, const struct ss_input_report *r,
			    struct ss_result *out)
{
	size_t n = r->steps->by_category && (r->steps->n || r->as_xprof) ? r->steps->n + 1 : 0;
	struct ss_col *cols = SS_NEW_N(out->arena, struct ss_col, n + 1);
	struct ss_str *labels = SS_NEW_N(out->arena, struct ss_str, n + 1);
	if (!cols || !labels)
		return false;
	for (size_t i = 0; i < n; i++) {
		labels[i] = i ? ss_arena_printf(out->arena, "%zu", i - 1) : SS_STR("index");
		if (!labels[i].p)
			return false;
		cols[i] = (struct ss_col){ labels[i].p, i ? labels[i].p : "Index",
					   SS_TYPE_STR, SS_UNIT_NONE,
					   NULL,	NULL };
	}
	struct ss_table *t = ss_result_table(out, "max_infeed_core",
					     "Core that waited longest for input", cols, n);
	if (!t || n == 0)
		return t;
	ss_table_reserve(t, 2);
	ss_table_row(t);
	ss_set_str(t, 0, SS_STR("Step number"));
	for (size_t i = 1; i < n; i++) {
		struct ss_str num =
			ss_arena_printf(out->arena, "%lld", (long long)r->steps->v[i - 1].num);
		ss_set_str(t, i, num);
	}
	ss_table_row(t);
	ss_set_str(t, 0, SS_STR("Core name"));
	for (size_t i = 1; i < n; i++) {
		struct ss_str name = core_name(q, r->tpu[i - 1].infeed_core, out->arena);
		ss_set_str(t, i, name);
	}
	return true;
}

static void op_props(const struct ss_host_input *h, struct ss_table *t)
{
	/* "nonequeue" is how the name is spelled. */
	ss_table_prop_num(t, "enqueue_us", "Enqueueing data", SS_UNIT_US, h->enqueue_us,
			  "%.3f");
	ss_table_prop_num(t, "demanded_file_read_us", "Reading files on demand", SS_UNIT_US,
			  h->demanded_read_us, "%.3f");
	ss_table_prop_num(t, "advanced_file_read_us", "Reading files in advance", SS_UNIT_US,
			  h->advanced_read_us, "%.3f");
	ss_table_prop_num(t, "preprocessing_us", "Preprocessing", SS_UNIT_US,
			  h->preprocessing_us, "%.3f");
	ss_table_prop_num(t, "unclassified_nonequeue_us", "Other reading or processing",
			  SS_UNIT_US, h->unclassified_us, "%.3f");
}

static void host_ops(const struct ss_input_report *r, struct ss_result *out)
{
	const struct ss_host_input *h = &r->host;
	struct ss_table *t = ss_result_table(out, "host_ops", "Input ops on the host", op_cols,
					     SS_COUNT(op_cols));
	ss_table_reserve(t, h->nops);
	op_props(h, t);
	for (size_t i = 0; i < h->nops; i++) {
		const struct ss_op *op = h->ops[i].op;
		ss_table_row(t);
		ss_set_str(t, 0, op->name);
		ss_set_f64(t, 1, (double)op->occurrences);
		ss_set_f64(t, 2, (double)op->time_ps / 1e9);
		ss_set_f64(t, 3, ss_ratio((double)op->time_ps, (double)h->self_ps));
		ss_set_f64(t, 4, (double)op->self_ps / 1e9);
		ss_set_f64(t, 5, ss_ratio((double)op->self_ps, (double)h->self_ps));
		ss_set_str(t, 6, ss_input_kind_name(h->ops[i].kind));
	}
}

static void recommendation(struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "recommendation", "What to try", advice_cols,
					     SS_COUNT(advice_cols));
	for (size_t i = 0; i < SS_COUNT(advice); i++) {
		ss_table_row(t);
		ss_set_str(t, 0, advice[i]);
	}
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_input_report r;
	if (!ss_input_report_make(&r, q, err))
		return false;
	if (!max_infeed_core(q, &r, out) || !ss_input_steps_table(&r, out))
		return ss_fail_mem(err);
	host_ops(&r, out);
	recommendation(out);
	return ss_input_diagnostics(&r, q, out, false) || ss_fail_mem(err);
}

/* What a stored answer says itself stands with its steps. */
static void conclude_stored(struct ss_result *out)
{
	static const char *const ids[] = { "input_conclusion", "output_conclusion", "device_collectives_statement",
					   "kernel_launch_statement", "all_other_statement" };
	ss_say_props(out, ids, SS_COUNT(ids));
}

/* The share of the time in steps that goes to waiting for data, where that is no finding. */
static void say_little_input(struct ss_result *out, const struct ss_verdict *v)
{
	if (v->class_ps[SS_TIME_INPUT] && v->window_ps)
		ss_say(out, "%s for an input pipeline during %s of the time.", v->steps ? "Steps wait" : "The program waits",
		       ss_percent_of((double)v->class_ps[SS_TIME_INPUT] / (double)v->window_ps).s);
	else if (v->window_ps)
		ss_say(out, "No waiting for an input pipeline was recorded.");
	else
		ss_say(out, "No time was recorded in which the program could wait for data.");
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_verdict v;
	if (!ss_findings_of(&v, q->model, q->arena, err))
		return false;
	ss_findings_say_steps(out, &v);
	const struct ss_verdict_finding *input = ss_finding_of_cause(&v, SS_CAUSE_INPUT);
	if (!v.hosts)
		conclude_stored(out);
	else if (input)
		ss_result_say(out, input->text);
	else
		say_little_input(out, &v);
	for (size_t i = 0; input && i < input->nadvice; i++)
		ss_result_say(out, input->advice[i]);
	/* What limits it then. */
	if (v.nfindings && &v.findings[0] != input)
		ss_result_say(out, v.findings[0].text);
	if (input)
		out->conclusion.mood = input == &v.findings[0] ? SS_MOOD_BAD : SS_MOOD_WARN;
	out->conclusion.see = v.nfindings ? "smart_suggestion" : NULL;
	return true;
}

const struct ss_tool ss_tool_input_pipeline_analyzer = {
	.name = "input_pipeline_analyzer",
	.title = "Input pipeline analyzer",
	.summary = "How long steps wait for input, and which input operations on the host take that time",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_STEPS | SS_FACTS_INFERRED_STEPS,
	.run = run,
	.conclude = conclude,
	.conclude_facts = SS_FINDINGS_FACTS,
};
