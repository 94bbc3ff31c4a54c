/*
 * kernel_utilization.c - the units of a TPU in percent, one kernel (a line with counters) at a
 * time: what utilization_viewer.c shows core by core, summed over the cores of the chip.
 *
 * Which kernel was counted a plane says by what else it holds: its first operation, else its first
 * step. A core that counted no cycles ran as long as the kernel did.
 *
 * A percentage is 100 * sum of achieved / sum of peak over the rows of that name. Shares above 100
 * come from counters that were not read at the same moment: they are shown as 100, but for the
 * matrix units, where the excess is marked.
 */
#include "model/counters/tpu_counters.h"

#include "model/host/host.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

enum { DEV_ID, DEV_TYPE };

static const struct ss_col device_cols[] = {
	INT("device_id", "Device", NONE, "Number of the device on its host"),
	STR("device_type", "Device type", NULL),
};

enum { K_DEVICE, K_NAME, K_LINE, K_DURATION, K_MXU, K_ANOMALY, K_BF16, K_FP8, K_INT4, K_INT8 };

static const struct ss_col kernel_cols[] = {
	INT("device", "Device row", NONE, "Row of the table of devices"),
	STR("kernel_name", "Kernel", "First operation recorded with the counters"),
	STR("line", "Line", "Name of the line that holds the counters"),
	NUM("duration_us", "Duration", US,
	    "Duration of the counter sample; else of the kernel; else counted cycles of the busiest core / clock rate"),
	NUM("mxu_utilization", "Matrix units", PERCENT, "Mean share of cycles with a matrix unit busy"),
	FLAG("mxu_is_anomaly", "Impossible", "The counters give the matrix units more than 100%"),
	NUM("BF16", "bfloat16", PERCENT, "Share of this type in the cycles of the matrix units"),
	NUM("FP8", "8-bit float", PERCENT, "Share of this type in the cycles of the matrix units"),
	NUM("Int4", "int4", PERCENT, "Share of this type in the cycles of the matrix units"),
	NUM("Int8", "int8", PERCENT, "Share of this type in the cycles of the matrix units"),
};

enum { M_KERNEL, M_NAME, M_PERCENT };

static const struct ss_col metric_cols[] = {
	INT("kernel", "Kernel row", NONE, "Row of the table of kernels"),
	STR("name", "Unit", NULL),
	NUM("percent", "Utilization", PERCENT, "100 * achieved / peak, summed over cores, at most 100"),
};

static const struct ss_param params[] = {
	{ "device_id", "number", NULL, "only this device" },
	{ "kernel_name", "name", NULL, "only this kernel" },
	{ "kernel", "name", NULL, "the same" },
	{ "duration_us", "us", NULL, "duration of the kernel, if known; replaces cycles that were not counted" },
	{ "force_duration", "true|false", "false", "use duration_us instead of counted cycles" },
};

#define KERNEL_NAME "default_kernel"

/* Rows of one name, summed. */
struct sum {
	struct ss_str name;
	double achieved, peak;
};

struct sums {
	struct sum v[SS_TPU_MAX_USES];
	size_t n;
};

/* What ran while a plane's counters counted. */
struct kernel {
	struct ss_str name;
	uint64_t dur_ps; /* 0: not known */
	uint64_t longest_ps; /* of all runs of an operation of this name; 0: it is none */
};

struct ask {
	bool one_device;
	int64_t device;
	struct ss_str kernel; /* "": all */
	struct ss_tpu_use_options use;
};

static double percent(double part, double whole)
{
	return whole > 0 ? round(10000 * part / whole) / 100 : 0;
}

static struct sum *sum_of(struct sums *s, struct ss_str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (ss_str_eq(s->v[i].name, name))
			return &s->v[i];
	s->v[s->n] = (struct sum){ .name = name };
	return &s->v[s->n++];
}

static void add_up(struct sums *s, const struct ss_tpu_use *use, size_t n)
{
	s->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct ss_str name = ss_str_from(use[i].name);
		/* A core that counted no cycles says nothing about its share. */
		if (use[i].peak <= 0)
			continue;
		/* The cores of a chip share its memory. */
		if (ss_str_starts(name, SS_STR("HBM Rd+Wr - core ")))
			name = SS_STR("HBM Bandwidth Utilization");
		struct sum *to = sum_of(s, name);
		to->achieved += use[i].achieved;
		to->peak += use[i].peak;
	}
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct sum *)a)->name, ((const struct sum *)b)->name);
}

static void add_metrics(struct ss_table *t, int64_t kernel, struct sums *s)
{
	static const char *const elsewhere[] = { "Avg MXU Busy", "MXU BF16", "MXU I8", "MXU I4", "MXU E4M3 + E5M2" };
	qsort(s->v, s->n, sizeof(*s->v), by_name);
	for (size_t i = 0; i < s->n; i++) {
		bool shown = s->v[i].peak > 0;
		for (size_t k = 0; k < SS_COUNT(elsewhere); k++)
			shown = shown && !ss_str_is(s->v[i].name, elsewhere[k]);
		if (!shown)
			continue;
		ss_table_row(t);
		ss_set_i64(t, M_KERNEL, kernel);
		ss_set_str(t, M_NAME, s->v[i].name);
		ss_set_f64(t, M_PERCENT, fmin(percent(s->v[i].achieved, s->v[i].peak), 100));
	}
}

/*
 * The first event of a line that lasts, else its first. Of those that begin together the longest is
 * first.
 */
static bool first_event(const struct ss_plane *p, const struct ss_line *l, struct kernel *out)
{
	uint32_t best = SS_NONE;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		const struct ss_xevents *ev = &l->ev;
		bool lasts = ev->dur_ps[i] > 0, best_lasts = best != SS_NONE && ev->dur_ps[best] > 0;
		if (best == SS_NONE || (lasts && !best_lasts) ||
		    (lasts == best_lasts && (ev->begin_ps[i] < ev->begin_ps[best] ||
					     (ev->begin_ps[i] == ev->begin_ps[best] && ev->dur_ps[i] > ev->dur_ps[best]))))
			best = i;
	}
	if (best == SS_NONE)
		return false;
	*out = (struct kernel){ ss_event_name(p, l->ev.meta[best]), l->ev.dur_ps[best], 0 };
	return true;
}

/* Over all lines of operations: metadata of equal names may be several. */
static uint64_t longest_run(const struct ss_plane *p, struct ss_str name)
{
	uint64_t longest_ps = 0;
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		uint32_t meta = SS_NONE;
		bool same = false;
		for (uint32_t i = 0; ss_str_is(l->name, "XLA Ops") && i < l->ev.n; i++) {
			if (l->ev.dur_ps[i] <= longest_ps)
				continue;
			if (l->ev.meta[i] != meta)
				same = ss_str_eq(ss_event_name(p, meta = l->ev.meta[i]), name);
			if (same)
				longest_ps = l->ev.dur_ps[i];
		}
	}
	return longest_ps;
}

/* By the first line of operations, or of steps where no operation lasts. */
static struct kernel kernel_of(const struct ss_plane *p)
{
	static const char *const names[] = { "XLA Ops", "Steps" };
	struct kernel k = { SS_STR(KERNEL_NAME), 0, 0 };
	for (size_t n = 0; n < SS_COUNT(names) && !k.dur_ps; n++) {
		const struct ss_line *l = NULL;
		for (uint32_t i = 0; !l && i < p->nlines; i++)
			if (ss_str_is(p->lines[i].name, names[n]))
				l = &p->lines[i];
		if (l && first_event(p, l, &k))
			k.longest_ps = longest_run(p, k.name);
	}
	return k;
}

/*
 * The kernel of one line of counters: only lines that are named for nothing else have the plane's
 * kernel's name.
 */
static struct kernel kernel_of_line(const struct ss_line *l, struct kernel of_plane)
{
	uint64_t longest_ps = 0;
	for (uint32_t i = 0; i < l->ev.n; i++)
		longest_ps = l->ev.dur_ps[i] > longest_ps ? l->ev.dur_ps[i] : longest_ps;
	if (!ss_str_is(l->name, "_counters_") && !ss_str_is(l->name, "counters"))
		of_plane.name = SS_STR(KERNEL_NAME);
	else if (of_plane.longest_ps)
		of_plane.dur_ps = of_plane.longest_ps;
	if (longest_ps)
		of_plane.dur_ps = longest_ps;
	return of_plane;
}

static void add_kernel(struct ss_result *out, const struct ss_line *l, enum ss_tpu_chip chip, const struct ss_tpu_sample *sample,
		       struct kernel kernel, const struct ask *ask)
{
	struct ss_table *devices = ss_result_at(out, 0), *t = ss_result_at(out, 1);
	struct ss_tpu_use use[SS_TPU_MAX_USES];
	struct ss_tpu_use_options opt = ask->use;
	struct sums s;
	double longest_s, again_s;
	/* Said by the user, or by the profile: then it stands for cycles that were not counted. */
	if (opt.duration_s <= 0) {
		opt.duration_s = (double)kernel.dur_ps / 1e12;
		opt.force_duration = false;
	}
	size_t n = ss_tpu_utilization(chip, sample, &opt, use, &longest_s);
	/* Cores run equally long: the longest count stands for a core that counted no cycles. */
	if (opt.duration_s <= 0) {
		opt.duration_s = longest_s;
		opt.force_duration = false;
		n = ss_tpu_utilization(chip, sample, &opt, use, &again_s);
	}
	add_up(&s, use, n);
	const struct sum *busy = sum_of(&s, SS_STR("Avg MXU Busy"));
	double type[] = { sum_of(&s, SS_STR("MXU BF16"))->achieved, sum_of(&s, SS_STR("MXU E4M3 + E5M2"))->achieved,
			  sum_of(&s, SS_STR("MXU I4"))->achieved, sum_of(&s, SS_STR("MXU I8"))->achieved };
	ss_table_row(t);
	ss_set_i64(t, K_DEVICE, (int64_t)devices->nrows - 1);
	ss_set_str(t, K_NAME, kernel.name);
	ss_set_str(t, K_LINE, l->name);
	ss_set_f64(t, K_DURATION, opt.duration_s * 1e6);
	ss_set_f64(t, K_MXU, percent(busy->achieved, busy->peak));
	ss_set_bool(t, K_ANOMALY, busy->achieved > busy->peak);
	for (size_t i = 0; i < SS_COUNT(type); i++)
		ss_set_f64(t, K_BF16 + i, percent(type[i], type[0] + type[1] + type[2] + type[3]));
	add_metrics(ss_result_at(out, 2), (int64_t)t->nrows - 1, &s);
}

/*
 * The number of a device: as its plane says, or else from a name that ends in nothing but the
 * number.
 */
static bool device_of(const struct ss_plane *p, int64_t *device)
{
	const struct ss_str prefix = SS_STR("/device:TPU:");
	if (!ss_str_starts(p->name, prefix))
		return false;
	return ss_plane_int_stat(p, SS_STAT_DEVICE_ID, device) ||
	       (p->kind == SS_PLANE_TENSOR_CORE && ss_str_to_i64(ss_str_sub(p->name, prefix.n, p->name.n), device));
}

/* `ran`: the same plane with what ran on it. */
static bool add_plane(struct ss_result *out, const struct ss_plane *p, const struct ss_plane *ran, const struct ask *ask)
{
	struct ss_str type = ss_plane_str_stat(p, SS_STAT_DEVICE_TYPE_STRING);
	enum ss_tpu_chip chip = ss_tpu_chip_of(type);
	int64_t device;
	if (chip == SS_TPU_OTHER || !device_of(p, &device) || (ask->one_device && ask->device != device))
		return true;
	ss_table_row(ss_result_at(out, 0));
	ss_set_i64(ss_result_at(out, 0), DEV_ID, device);
	ss_set_str(ss_result_at(out, 0), DEV_TYPE, type);
	bool ok = true;
	struct kernel of_plane = kernel_of(ran);
	for (uint32_t i = 0; ok && i < p->nlines; i++) {
		struct ss_tpu_sample s;
		ok = ss_tpu_sample_read(&s, p, &p->lines[i]);
		struct kernel kernel = ok && s.n ? kernel_of_line(&p->lines[i], of_plane) : of_plane;
		if (ok && s.n && (!ask->kernel.n || ss_str_eq(ask->kernel, kernel.name)))
			add_kernel(out, &p->lines[i], chip, &s, kernel, ask);
		ss_tpu_sample_free(&s);
	}
	return ok;
}

extern const struct ss_tool ss_tool_kernel_utilization;

static bool read_params(const struct ss_request *q, struct ask *ask, struct ss_err *err)
{
	const struct ss_tool *tool = &ss_tool_kernel_utilization;
	struct ss_str device = ss_request_param(q, tool, "device_id"), kernel = ss_request_param(q, tool, "kernel_name");
	struct ss_str duration = ss_request_param(q, tool, "duration_us");
	double us = 0;
	ask->one_device = device.n > 0;
	if (device.n && !ss_str_to_i64(device, &ask->device))
		return ss_fail(err, SS_EINVAL, "device_id=" SS_FMT " is not a number", SS_ARG(device));
	if (duration.n && (!ss_str_to_f64(duration, &us) || !(us >= 0)))
		return ss_fail(err, SS_EINVAL, "duration_us=" SS_FMT " is not a duration", SS_ARG(duration));
	ask->kernel = kernel.n ? kernel : ss_request_param(q, tool, "kernel");
	ask->use = (struct ss_tpu_use_options){ .summed = true, .duration_s = us / 1e6 };
	ask->use.force_duration = ss_str_eq(ss_request_param(q, tool, "force_duration"), SS_STR("true"));
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ask ask = { 0 };
	if (!read_params(q, &ask, err))
		return false;
	if (!ss_result_table(out, "devices", "Devices", device_cols, SS_COUNT(device_cols)) ||
	    !ss_result_table(out, "kernels", "Kernels", kernel_cols, SS_COUNT(kernel_cols)) ||
	    !ss_result_table(out, "metrics", "Utilization", metric_cols, SS_COUNT(metric_cols)))
		return ss_fail_mem(err);
	for (size_t i = 0; i < q->model->nhosts; i++) {
		struct ss_host *h = q->model->hosts[i];
		const struct ss_plane *planes = ss_host_counters(h, err), *ran = planes ? ss_host_counted(h, err) : NULL;
		if (!ran)
			return false;
		for (uint32_t k = 0; k < h->nplanes; k++)
			if (!add_plane(out, &planes[k], &ran[k], &ask))
				return ss_fail_mem(err);
	}
	if (!ss_result_at(out, 1)->nrows)
		ss_result_note(out, SS_INFO, SS_STR("the profile holds no hardware counters of a TPU v6e or v7x"));
	return true;
}

/* The longest kernel, and how busy it keeps the matrix units. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "kernels");
	struct ss_greatest top = ss_greatest_row(t, "duration_us", NULL, NULL);
	(void)q;
	if (!t->nrows)
		return true;
	size_t row = top.row == SS_NPOS ? 0 : top.row;
	struct ss_str name = ss_cell_str(t, row, "line");
	bool odd = ss_cell_bool(t, row, "mxu_is_anomaly");
	name = name.n ? name : ss_cell_str(t, row, "kernel_name");
	ss_say(out, "'" SS_FMT "' ran for %s and kept the matrix units busy for %s of the cycles.",
	       SS_ARG(name), ss_value_words(SS_UNIT_US, ss_cell_f64(t, row, "duration_us")).s,
	       ss_value_words(SS_UNIT_PERCENT, ss_cell_f64(t, row, "mxu_utilization")).s);
	if (odd) {
		out->conclusion.mood = SS_MOOD_WARN;
		ss_result_say(out, SS_STR("Its counters give the matrix units more than 100 %, because they were not read at "
		    "the same moment."));
	}
	return true;
}

const struct ss_tool ss_tool_kernel_utilization = {
	.name = "kernel_utilization",
	.title = "Kernel utilization",
	.summary = "Utilization of each TPU unit by kernel, from hardware counters",
	.kind = SS_KIND_TABLES,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_host_has_tpu_counters,
	.run = run,
	.conclude = conclude,
};
