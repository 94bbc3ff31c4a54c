/*
 * steps.c - get_step_trace: each step and what its time went to, from the first of three tools that
 * knows: pod viewer, input pipeline, overview (which has no single steps).
 */
#include "xprof/cli/modules.h"
#include "xprof/cli/overview.h"

#include <ctype.h>
#include <math.h>

struct step {
	bool has_number;
	int64_t number;
	struct ss_str name; /* of a step without a number; p NULL: it has none either */
	double ms, compute, communication, infeed, outfeed, idle;
	double infeed_percent; /* NAN: of the times */
	struct ss_str bottleneck;
	bool has_parts;
	double all_reduce;
};

struct steps {
	struct step *v;
	size_t n;
};

static double share(double part, double whole)
{
	return whole > 0 ? xv_round(part / whole * 100, 2) : 0;
}

static double infeed_share(const struct step *s)
{
	return isnan(s->infeed_percent) ? share(s->infeed, s->ms) : s->infeed_percent;
}

/* The most frequent text; of equally frequent ones the one that came first. */
static struct ss_str most_common(const struct ss_str *v, size_t n, size_t stride)
{
	struct ss_strmap names = { 0 };
	struct ss_str best = SS_STR("");
	size_t counts[64] = { 0 }, most = 0;
	for (size_t i = 0; i < n; i++) {
		struct ss_str one =
			*(const struct ss_str *)(const void *)((const char *)v + i * stride);
		uint32_t at = one.n ? ss_strmap_add(&names, one) : SS_NONE;
		if (at < SS_COUNT(counts))
			counts[at]++;
	}
	for (uint32_t i = 0; i < names.n && i < SS_COUNT(counts); i++)
		if (counts[i] > most) {
			most = counts[i];
			best = names.keys[i];
		}
	ss_strmap_free(&names);
	return best;
}

/* --- pod viewer -------------------------------------------------------------------------------- */

static double mean_ms(const struct ss_table *t, const uint32_t *rows, size_t n, const char *col)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		double v = ss_cell_f64(t, rows[i], col);
		sum += isfinite(v) ? v : 0;
	}
	return n ? xv_round(sum / (double)n / 1000, 4) : 0;
}

/* XProf's pages name the parts otherwise than this. */
static struct ss_str pod_bottleneck(const struct ss_table *t, const uint32_t *rows, size_t n,
				    struct ss_str *names)
{
	static const struct {
		const char *part, *name;
	} list[] = {
		{ "Device compute", "Compute" },
		{ "Device collective communication", "Communication" },
		{ "Device to device", "Communication" },
		{ "Input", "Input / Infeed" },
		{ "Output", "Output / Outfeed" },
		{ "All others", "Idle / Other" },
		{ "Host compute", "Idle / Other" },
		{ "Kernel launch", "Idle / Other" },
		{ "Compilation", "Idle / Other" },
	};
	for (size_t i = 0; i < n; i++) {
		names[i] = ss_cell_str(t, rows[i], "bottleneck");
		for (size_t k = 0; k < SS_COUNT(list); k++)
			if (ss_str_is(names[i], list[k].part))
				names[i] = ss_str_from(list[k].name);
	}
	return most_common(names, n, sizeof(*names));
}

static bool pod_step(const struct ss_table *t, const uint32_t *rows, size_t n, struct ss_str *names,
		     struct step *s)
{
	*s = (struct step){ .has_number = true,
			    .number = ss_cell_i64(t, rows[0], "step_num"),
			    .has_parts = true,
			    .infeed_percent = NAN };
	s->ms = mean_ms(t, rows, n, "total_us");
	s->compute = mean_ms(t, rows, n, "device_compute_us");
	s->all_reduce = mean_ms(t, rows, n, "collectives_us");
	s->communication = xv_round(s->all_reduce + mean_ms(t, rows, n, "device_to_device_us"), 4);
	s->infeed = mean_ms(t, rows, n, "input_us");
	s->outfeed = mean_ms(t, rows, n, "output_us");
	if (s->compute == 0 && s->communication == 0 && s->infeed == 0 && s->outfeed == 0)
		return false;
	s->idle = xv_round(
		fmax(0, s->ms - (s->compute + s->communication + s->infeed + s->outfeed)), 4);
	s->bottleneck = pod_bottleneck(t, rows, n, names);
	if (s->bottleneck.n)
		return true;
	double compute = share(s->compute, s->ms), comm = share(s->communication, s->ms),
	       in = share(s->infeed, s->ms);
	double out = share(s->outfeed, s->ms);
	s->bottleneck = comm > compute && comm > in && comm > out ? SS_STR("Communication")
			: in > compute && in > out		  ? SS_STR("Input / Infeed")
			: out > compute				  ? SS_STR("Output / Outfeed")
								  : SS_STR("Compute");
	return true;
}

struct wanted {
	bool step, core, is_number;
	int64_t step_num, device_core;
	struct ss_str step_name;
};

static bool is_wanted(const struct wanted *w, bool has_number, int64_t number, struct ss_str name)
{
	if (!w->step)
		return true;
	return w->is_number ? has_number && number == w->step_num
			    : !has_number && ss_str_eq(name, w->step_name);
}

static bool from_pod_viewer(struct xcli *x, const struct wanted *w, struct steps *out)
{
	const struct ss_result *r = xcli_tool(x, "pod_viewer", NULL);
	const struct ss_table *t = r ? ss_result_find(r, "cores") : NULL;
	size_t nrows = t ? t->nrows : 0;
	uint32_t *rows = SS_NEW_N(&x->arena, uint32_t, nrows + 1);
	struct ss_str *names = SS_NEW_N(&x->arena, struct ss_str, nrows + 1);
	out->v = SS_NEW_N(&x->arena, struct step, nrows + 1);
	out->n = 0;
	if (!rows || !names || !out->v)
		return xcli_no_memory(x);
	struct xcli_whole_steps whole = xcli_whole_steps(r, t);
	for (size_t i = 0; i < nrows;) {
		int64_t number = ss_cell_i64(t, i, "step_num");
		size_t n = 0;
		for (; i < nrows && ss_cell_i64(t, i, "step_num") == number; i++)
			if (number >= whole.first && number <= whole.last &&
			    is_wanted(w, true, number, SS_STR("")) &&
			    (!w->core || ss_cell_i64(t, i, "core_id") == w->device_core))
				rows[n++] = (uint32_t)i;
		if (n)
			out->n += pod_step(t, rows, n, names, &out->v[out->n]);
	}
	return true;
}

/* --- input pipeline ---------------------------------------------------------------------------- */

enum { COMPUTE, COMMUNICATION, INFEED, OUTFEED, OTHER, TOTAL, PARTS };

static bool is_part(struct ss_str id, int part)
{
	static const char *const ids[PARTS][7] = {
		[COMPUTE] = { "tcComputeTimeMs", "scv0ComputeTimeMs", "bcComputeTimeMs",
			      "deviceComputeTimeMs", "nonInfeedTimeMs", NULL },
		[COMMUNICATION] = { "deviceToDeviceTimeMs", "deviceCollectivesTimeMs", NULL },
		[INFEED] = { "tcInfeedTimeMs", "scv0InfeedTimeMs", "bcInfeedTimeMs", "infeedTimeMs",
			     NULL },
		[OUTFEED] = { "tcOutfeedTimeMs", "outfeedTimeMs", NULL },
		[OTHER] = { "tcIdleTimeMs", "hostTransferTimeMs", "hostComputeTimeMs",
			    "kernelLaunchTimeMs", "compileTimeMs", "otherTimeMs", NULL },
		[TOTAL] = { "stepTimeMs", NULL },
	};
	for (size_t i = 0; ids[part][i]; i++)
		if (ss_str_ieq(id, ss_str_from(ids[part][i])))
			return true;
	return false;
}

static double number_in(const struct ss_table *t, size_t row, const char *id)
{
	double v = ss_cell_f64(t, row, id);
	struct ss_str text = ss_cell_str(t, row, id);
	if (text.n && !ss_str_to_f64(text, &v))
		v = 0;
	return isfinite(v) ? v : 0;
}

static void pipeline_step(const struct ss_table *t, size_t row, struct step *s)
{
	static const char *const names[] = { "Compute", "Communication", "Input / Infeed",
					     "Output / Outfeed", "Idle / Other" };
	double parts[PARTS] = { 0 };
	bool total = false, percent = false;
	*s = (struct step){ .infeed_percent = NAN };
	for (size_t c = 0; c < t->ncols; c++) {
		struct ss_str id = ss_str_from(t->cols[c].id);
		for (int p = 0; p < PARTS; p++)
			if (is_part(id, p)) {
				parts[p] += number_in(t, row, t->cols[c].id);
				total = total || p == TOTAL;
			}
		percent = percent || ss_str_ieq(id, SS_STR("infeedPercentAverage"));
	}
	size_t col = ss_table_col(t, "stepnum");
	s->name = ss_cell_str(t, row, "stepnum");
	s->has_number = ss_str_to_i64(s->name, &s->number);
	if (col != SS_NPOS && t->cols[col].type != SS_TYPE_STR) {
		s->has_number = true;
		s->number = ss_cell_i64(t, row, "stepnum");
	}
	s->compute = parts[COMPUTE];
	s->communication = parts[COMMUNICATION];
	s->infeed = parts[INFEED];
	s->outfeed = parts[OUTFEED];
	double known = s->compute + s->communication + s->infeed + s->outfeed;
	s->ms = xv_round(total ? parts[TOTAL] : known + parts[OTHER], 4);
	s->idle = xv_round(fmax(parts[OTHER], s->ms - known), 4);
	if (percent)
		s->infeed_percent = xv_round(number_in(t, row, "infeedPercentAverage"), 2);
	int most = 0;
	for (int p = 1; p <= OTHER; p++)
		most = parts[p] > parts[most] ? p : most;
	s->bottleneck = ss_str_from(names[most]);
}

/* XProf takes the first table with steps in it. */
static const struct ss_table *step_table(const struct ss_result *r)
{
	return r ? ss_result_find(r, "steps") : NULL;
}

static bool from_pipeline(struct xcli *x, const struct wanted *w, struct steps *out)
{
	const struct ss_table *t = step_table(xcli_tool(x, "input_pipeline_analyzer", NULL));
	size_t nrows = t ? t->nrows : 0;
	out->v = SS_NEW_N(&x->arena, struct step, nrows + 1);
	out->n = 0;
	if (!out->v)
		return xcli_no_memory(x);
	for (size_t i = 0; i < nrows; i++) {
		struct step *s = &out->v[out->n];
		pipeline_step(t, i, s);
		out->n += is_wanted(w, s->has_number, s->number, s->name);
	}
	return true;
}

/* --- answers ----------------------------------------------------------------------------------- */

static void put_times(struct xv *v, const char *suffix, double whole, double compute, double comm,
		      double infeed, double outfeed)
{
	const double times[] = { compute, comm, infeed, outfeed };
	static const char *const names[] = { "compute", "communication", "infeed", "outfeed" };
	static const char *const keys[2][4] = {
		{ "compute_time_ms", "communication_time_ms", "infeed_time_ms", "outfeed_time_ms" },
		{ "compute_time_ms_average", "communication_time_ms_average",
		  "infeed_time_ms_average", "outfeed_time_ms_average" },
	};
	static const char *const percents[] = { "compute_percent", "communication_percent",
						"infeed_percent", "outfeed_percent" };
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		xv_rounded(v, keys[*suffix != '\0'][i], times[i], 4);
		xv_f64(v, percents[i], share(times[i], whole));
	}
}

static void put_step(struct xv *list, const struct step *s)
{
	struct xv *v = xv_add_object(list, NULL);
	if (s->has_number)
		xv_i64(v, "step_num", s->number);
	else if (s->name.p)
		xv_str(v, "step_num", s->name);
	else
		xv_null(v, "step_num");
	xv_f64(v, "step_time_ms", s->ms);
	put_times(v, "", s->ms, s->compute, s->communication, s->infeed, s->outfeed);
	xv_f64(v, "infeed_percent", infeed_share(s));
	xv_str(v, "bottleneck", s->bottleneck);
	xv_f64(v, "idle_time_ms", s->idle);
	xv_f64(v, "idle_percent", share(s->idle, s->ms));
	if (!s->has_parts)
		return;
	struct xv *parts = xv_add_object(v, "communication_breakdown_ms");
	xv_f64(parts, "all_reduce_ms", s->all_reduce);
	xv_f64(parts, "send_ms", 0);
	xv_f64(parts, "recv_ms", 0);
}

static double mean_of(const struct steps *all, size_t offset)
{
	double sum = 0;
	for (size_t i = 0; i < all->n; i++)
		sum += *(const double *)(const void *)((const char *)&all->v[i] + offset);
	return xv_round(sum / (double)all->n, 4);
}

static struct xv *summary_of(struct xcli *x, const struct steps *all)
{
	struct xv *v = xv_object(&x->make);
	double least = INFINITY, most = -INFINITY, sum = 0, square = 0, n = (double)all->n;
	for (size_t i = 0; i < all->n; i++) {
		least = fmin(least, all->v[i].ms);
		most = fmax(most, all->v[i].ms);
		sum += all->v[i].ms;
	}
	for (size_t i = 0; i < all->n; i++)
		square += (all->v[i].ms - sum / n) * (all->v[i].ms - sum / n);
#define MEAN(field) mean_of(all, offsetof(struct step, field))
	double ms = MEAN(ms);
	xv_u64(v, "total_steps", all->n);
	xv_f64(v, "step_time_ms_average", ms);
	xv_rounded(v, "step_time_ms_min", least, 4);
	xv_rounded(v, "step_time_ms_max", most, 4);
	xv_rounded(v, "step_time_ms_stddev", n > 1 ? sqrt(square / (n - 1)) : 0, 4);
	put_times(v, "average", ms, MEAN(compute), MEAN(communication), MEAN(infeed),
		  MEAN(outfeed));
	xv_str(v, "primary_bottleneck",
	       most_common(&all->v[0].bottleneck, all->n, sizeof(struct step)));
	xv_f64(v, "idle_time_ms_average", MEAN(idle));
	xv_f64(v, "idle_percent", share(MEAN(idle), ms));
#undef MEAN
	xv_bool(v, "is_aggregate", false);
	return v;
}

/* Without single steps: the averages of the overview; NULL where it has no step time. */
static struct xv *summary_of_overview(struct xcli *x)
{
	const struct ss_result *r = xcli_tool(x, "overview_page", NULL);
	double ms = r ? xcli_prop_number(r, "steptime_ms_average") : 0;
	if (!(ms > 0))
		return NULL;
	bool tc = xcli_prop(r, "tc_infeed_ms_average").p,
	     tc_out = xcli_prop(r, "tc_outfeed_ms_average").p;
	bool tc_idle = xcli_prop(r, "tc_idle_ms_average").p;
	double in = xcli_prop_number(r, tc ? "tc_infeed_ms_average" : "sc_infeed_ms_average");
	double out =
		xcli_prop_number(r, tc_out ? "tc_outfeed_ms_average" : "sc_outfeed_ms_average");
	double idle = xcli_prop_number(r, tc_idle ? "tc_idle_ms_average" : "sc_idle_ms_average");
	struct xv *v = xv_object(&x->make);
	size_t steps = ss_result_find(r, "steps")->nrows;
	if (steps)
		xv_u64(v, "total_steps", steps);
	else
		xv_null(v, "total_steps");
	xv_rounded(v, "step_time_ms_average", ms, 4);
	xv_rounded(v, "step_time_ms_min", ms, 4);
	xv_rounded(v, "step_time_ms_max", ms, 4);
	xv_rounded(v, "step_time_ms_stddev", xcli_prop_number(r, "steptime_ms_standard_deviation"),
		   4);
	put_times(v, "average", ms, fmax(0, ms - in - out - idle), 0, in, out);
	xv_z(v, "primary_bottleneck", share(in, ms) > 50 ? "Input / Infeed" : "Compute");
	xv_rounded(v, "idle_time_ms_average", idle, 4);
	xv_f64(v, "idle_percent", share(idle, ms));
	xv_bool(v, "is_aggregate", true);
	xv_z(v, "note", "These are averages: the profile does not tell single steps.");
	return v;
}

bool xcli_get_step_trace(struct xcli *x, struct xv **out)
{
	struct wanted w = { .step = xcli_given(x, "step_num"),
			    .core = xcli_given(x, "device_core") };
	w.step_name = ss_str_from(xcli_text(x, "step_num"));
	w.is_number = ss_str_to_i64(w.step_name, &w.step_num);
	struct steps all = { 0 };
	struct xv *summary;
	int64_t limit;
	if (!xcli_int(x, "limit", &limit) ||
	    (w.core && !xcli_int(x, "device_core", &w.device_core)) || !xcli_open(x) ||
	    !from_pod_viewer(x, &w, &all) || (!all.n && !from_pipeline(x, &w, &all)))
		return false;
	summary = all.n ? summary_of(x, &all) : summary_of_overview(x);
	*out = xv_object(&x->make);
	if (!summary) {
		xv_z(*out, "status", "NO_DATA");
		xv_z(*out, "message",
		     "The profile has no steps. list_xplane_events shows its events.");
		xv_add_array(*out, "step_breakdown");
		xcli_put_counts(*out, 0, 0);
		return true;
	}
	if (xcli_flag(x, "include_summary"))
		xv_put(*out, "summary", summary);
	struct xv *list = xv_add_array(*out, "step_breakdown");
	for (size_t i = 0; i < xcli_limited(all.n, limit); i++)
		put_step(list, &all.v[i]);
	xcli_put_counts(*out, all.n, xv_length(list));
	return true;
}
