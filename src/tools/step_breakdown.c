/*
 * step_breakdown.c - the steps of a PyTorch training loop, and what each moment of them went to:
 * kernels, copies, communication that neither hides, calls of the device's library, the DataLoader,
 * operators, nothing. Rules: model/torch/steps.h.
 *
 * A file without ProfilerStep# marks is one step, number 0.
 */
#include "model/torch/steps.h"
#include "model/model.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

enum {
	S_STEP, S_TIME, S_KERNEL, S_MEMCPY, S_MEMSET, S_COMMUNICATION, S_RUNTIME, S_DATALOADER, S_CPU_OP, S_OTHER, S_COLS
};

#define STEP_COLS(communication, meaning)                                                                                    \
	{                                                                                                                    \
		INT("step", "Step", NONE, "N of ProfilerStep#N"),                                                            \
		NUM("step_us", "Step time", US, NULL),                                                                       \
		PART("kernel_us", "Kernels", US, "Time in which a kernel runs that is not a collective"),                     \
		PART("memcpy_us", "Copies", US, "Remaining time in which a copy runs"),                                       \
		PART("memset_us", "Fills", US, "Remaining time in which memory is set"),                                      \
		PART("communication_us", communication, US, meaning),                                                         \
		PART("runtime_us", "Runtime", US, "Remaining time in which a thread is in a call of the device's library"),   \
		PART("dataloader_us", "DataLoader", US, "Remaining time in which a thread waits for the DataLoader"),         \
		NUM("cpu_op_us", "CPU operators", US,                                                                        \
		    "Remaining time in which a thread is in an operator or in a range that the program marked"),             \
		NUM("other_us", "Other", US, "Remaining time"),                                                              \
	}

static const struct ss_col step_cols[S_COLS] = STEP_COLS("Exposed communication", "Remaining time in which a collective runs");
static const struct ss_col host_step_cols[S_COLS] =
	STEP_COLS("Communication", "Time in which a collective of gloo runs, with or without operators: 'distributed' shows "
	    "the part that no operator hides");

enum { A_CATEGORY, A_TIME, A_SHARE, A_COLS };

static const struct ss_col average_cols[A_COLS] = {
	STR("category", "Category", NULL),
	NUM("time_us", "Time in a step", US, "Mean over the steps"),
	NUM("share_frac", "Share of the step", FRAC, NULL),
};

static const char *const names[SS_TORCH_CLASSES] = { "kernel",	"memcpy",     "memset", "communication",
						     "runtime", "dataloader", "cpu_op", "other" };

static const struct ss_param params[] = {
	{ "extent", "host|device", "host", "end of a step: the end of the host's mark, or the end of its work on the device" },
};

static void fill_steps(struct ss_table *t, const struct ss_torch_step_time *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ss_table_row(t);
		ss_set_i64(t, S_STEP, v[i].step.number);
		ss_set_f64(t, S_TIME, ss_us(v[i].step.end_ns - v[i].step.begin_ns));
		for (size_t c = 0; c < SS_TORCH_CLASSES; c++)
			ss_set_f64(t, S_KERNEL + c, ss_us(v[i].class_ns[c]));
	}
}

static void fill_average(struct ss_table *t, const struct ss_torch_step_time *v, size_t n)
{
	int64_t sum[SS_TORCH_CLASSES] = { 0 }, all = 0;
	for (size_t i = 0; i < n; i++) {
		all += v[i].step.end_ns - v[i].step.begin_ns;
		for (size_t c = 0; c < SS_TORCH_CLASSES; c++)
			sum[c] += v[i].class_ns[c];
	}
	for (size_t c = 0; n && c < SS_TORCH_CLASSES; c++) {
		ss_table_row(t);
		ss_set_str(t, A_CATEGORY, ss_str_from(names[c]));
		ss_set_f64(t, A_TIME, ss_us(sum[c]) / (double)n);
		ss_set_f64(t, A_SHARE, all ? (double)sum[c] / (double)all : 0);
	}
}

/* A last step whose device work is not all there makes means too low. */
static void note_cut(const struct ss_torch *t, struct ss_result *out)
{
	if (!t->marked && t->steps.n)
		ss_result_note(out, SS_INFO,
			       t->kineto ? SS_STR("The program marked no steps, so the whole recording counts as one: "
						  "give torch.profiler a schedule and call prof.step() once per iteration") :
					   SS_STR("The program marked no steps, so the whole recording counts as one"));
}

const struct ss_tool ss_tool_step_breakdown;

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_str extent = ss_request_param(q, &ss_tool_step_breakdown, "extent");
	bool by_device = ss_str_is(extent, "device");
	struct ss_torch_step_time *v = NULL;
	if (!by_device && !ss_str_is(extent, "host"))
		return ss_fail(err, SS_EINVAL, "the parameter 'extent' must be 'host' or 'device', not '" SS_FMT "'",
			       SS_ARG(extent));
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	if (!t)
		return false;
	struct ss_torch_step *steps = SS_NEW_N(q->arena, struct ss_torch_step, t->steps.n + 1);
	if (!steps)
		return ss_fail_mem(err);
	if (t->steps.n)
		memcpy(steps, t->steps.v, t->steps.n * sizeof(*steps));
	bool ok = (!by_device || ss_torch_device_steps(t, steps)) && ss_torch_divide(t, steps, t->steps.n, &v);
	struct ss_table *table = ss_result_table(out, "steps", "Steps", t->device.n ? step_cols : host_step_cols, S_COLS);
	if (ok)
		fill_steps(table, v, t->steps.n);
	table = ss_result_table(out, "average", "Mean step", average_cols, A_COLS);
	if (ok)
		fill_average(table, v, t->steps.n);
	if (ok)
		note_cut(t, out);
	free(v);
	return ok || ss_fail_mem(err);
}

/* What takes the most time of an average step; of a recording without steps, of the whole. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *torch = q->model->nhosts == 1 ? ss_host_torch(q->model->hosts[0], err) : NULL;
	const struct ss_table *steps = ss_result_find(out, "steps"), *t = ss_result_find(out, "average");
	struct ss_greatest top = ss_greatest_row(t, "time_us", NULL, NULL);
	if (top.row == SS_NPOS || !steps->nrows)
		return true;
	ss_say(out, "'" SS_FMT "' takes the most time of %s: %s.", SS_ARG(ss_cell_str(t, top.row, "category")),
	       torch && !torch->marked ? "the recording" : "an average step",
	       ss_share_words(SS_UNIT_US, top.value, top.sum).s);
	if (torch && torch->marked)
		ss_say(out, "The profile has %s.", ss_count_words((double)steps->nrows, "whole step").s);
	return true;
}

const struct ss_tool ss_tool_step_breakdown = {
	.name = "step_breakdown",
	.title = "Step breakdown",
	.summary = "Steps divided into kernels, copies, calls, data loading and other kinds of time",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_host_is_torch,
	.run = run,
	.conclude = conclude,
};
