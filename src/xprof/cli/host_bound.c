/*
 * host_bound.c - check_host_boundness: is the device idle because the host does not keep it busy? As
 * XProf decides it: the idle share of the steps' time, and the hardware counters; without counters it
 * never says yes.
 */
#include "model/host/event_query.h"
#include "model/host/host.h"
#include "xprof/cli/overview.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* Percent. */
#define IDLE_HIGH 10.0
#define MXU_IDLE_HIGH 70.0
#define UTILIZATION_LOW 30.0
#define DUTY_HIGH 50.0
#define MOST_HOSTS 32

struct bound {
	struct xcli *x;
	double duty, step_ms, total_ms, compute_ms, hbm_ms, ici_ms, barrier_ms, idle_ms;
	double idle_percent, mxu_idle, hbm, ici_read, ici_write;
	int64_t cores, hosts;
	size_t steps;
	bool has_ops;
};

/* The first number in a text, with its decimals. */
static double number_in(struct ss_str s)
{
	size_t from = 0, end;
	double v = 0;
	while (from < s.n && !isdigit((unsigned char)s.p[from]))
		from++;
	end = from;
	while (end < s.n && (isdigit((unsigned char)s.p[end]) || s.p[end] == '.'))
		end++;
	return ss_str_to_f64(ss_str_sub(s, from, end), &v) ? v : 0;
}

static struct ss_str text_of(const struct ss_result *r, const char *table, const char *id)
{
	const struct ss_prop *p = ss_table_find_prop(ss_result_find(r, table), id);
	return p ? p->text : SS_STR("");
}

static bool read_overview(struct bound *b)
{
	struct ss_err err;
	const struct ss_result *r = xcli_tool(b->x, "overview_page", &err);
	if (!r)
		return xcli_failed(b->x, &err);
	struct ss_str step = text_of(r, "steps", "steptime_ms_average");
	b->duty = number_in(text_of(r, "analysis", "device_duty_cycle_percent"));
	b->step_ms =
		number_in(step.n ? step : text_of(r, "steps", "sc_step_time_ms_average"));
	b->steps = ss_result_find(r, "steps")->nrows;
	b->cores = (int64_t)fmax(1, number_in(text_of(r, "run_environment", "device_core_count")));
	b->hosts = (int64_t)fmax(1, number_in(text_of(r, "run_environment", "host_count")));
	b->total_ms = b->step_ms * (double)b->steps;
	return true;
}

static bool has_word(struct ss_str s, const char *const *words)
{
	for (; *words; words++)
		for (size_t i = 0, n = strlen(*words); i + n <= s.n; i++)
			if (ss_str_ieq(ss_str_sub(s, i, i + n), ss_str_from(*words)))
				return true;
	return false;
}

/* Operations by what they wait for: other chips, memory, or nothing but their own computation. */
static void read_ops(struct bound *b)
{
	static const char *const ici[] = { "all-reduce",	  "all-gather",		"all-to-all", "reduce-scatter",
					   "collective-broadcast", "collective-permute", NULL };
	static const char *const hbm[] = { "copy", NULL };
	static const struct ss_param_value by_category = { SS_STR_INIT("group_by"), SS_STR_INIT("category") };
	const struct ss_result *r = xcli_tool_of(b->x, "op_profile", &by_category, 1, NULL);
	const struct ss_table *t = r ? ss_result_find(r, "by_category") : NULL;
	const struct ss_prop *type = r && r->ntables ? ss_table_find_prop(&r->tables[0], "device_type") : NULL;
	bool gpu = type && ss_str_is(type->text, "GPU");
	double compute_ps = 0, hbm_ps = 0, ici_ps = 0;
	b->has_ops = t && t->nrows;
	for (size_t i = 0, next; t && i < t->nrows; i = next) {
		/* XProf does not look into the fusions of GPUs. */
		bool copies = ss_str_ends(ss_cell_str(t, i, "name"), SS_STR(" and its duplicate(s)"));
		bool closed = gpu && ss_cell_bool(t, i, "is_op") && !copies;
		next = i + 1;
		bool leaf = closed || next == t->nrows || ss_cell_i64(t, next, "parent") != (int64_t)i;
		while (closed && next < t->nrows && ss_cell_i64(t, next, "parent") >= (int64_t)i)
			next++;
		if (!leaf || ss_cell_i64(t, i, "occurrences") <= 0)
			continue;
		struct ss_str name = ss_cell_str(t, i, "name"), category = SS_STR("");
		double ps = (double)ss_cell_i64(t, i, "time_ps");
		if (ss_cell_bool(t, i, "is_op"))
			category = ss_cell_str(t, i, "category");
		if (has_word(name, ici) || has_word(category, ici))
			ici_ps += ps;
		else if (has_word(name, hbm) || has_word(category, hbm))
			hbm_ps += ps;
		else
			compute_ps += ps;
	}
	b->ici_ms = ici_ps / 1e9 / (double)b->cores;
	b->hbm_ms = hbm_ps / 1e9 / (double)b->cores;
	b->compute_ms = compute_ps / 1e9 / (double)b->cores;
}

struct barriers {
	double ps;
	uint64_t n;
};

static bool add_barrier(void *arg, const struct ss_event_record *e)
{
	struct barriers *b = arg;
	b->ps += e->dur_ps;
	b->n++;
	return true;
}

/* The mean wait of a core for the others, once a step; of the first host. */
static bool read_barriers(struct bound *b)
{
	struct ss_event_query q = { .from_ps = NAN, .to_ps = NAN, .least_ps = NAN, .most_ps = NAN };
	struct ss_event_query_text t = { SS_STR(""), SS_STR("^barrier-cores$"), SS_STR(""),
					 SS_STR("containment") };
	struct barriers found = { 0 };
	struct ss_err err = { 0 };
	bool ok = ss_event_query_compile(&q, &t, &err) &&
		  ss_event_query_run(&q, &b->x->hosts[0], add_barrier, &found, &err);
	ss_event_query_free(&q);
	if (!ok)
		return xcli_failed(b->x, &err);
	if (found.n)
		b->barrier_ms = found.ps / 1e9 / (double)found.n * (double)b->steps;
	return true;
}

/* The first host that has counters. */
static bool read_counters(struct bound *b)
{
	int64_t most = b->hosts < MOST_HOSTS ? b->hosts : MOST_HOSTS;
	for (int64_t host = 0; host < most; host++) {
		struct xv *use;
		if (!xcli_utilization(b->x, host, 0, 0, &use))
			return false;
		if (ss_str_is(xv_get_str(use, "status"), "NO_DATA"))
			continue;
		b->mxu_idle = xv_get_f64(use, "idleness_percent", 0);
		b->hbm = xv_get_f64(use, "hbm_bandwidth_utilization_percent", 0);
		b->ici_read = xv_get_f64(use, "ici_read_utilization_percent", 0);
		b->ici_write = xv_get_f64(use, "ici_write_utilization_percent", 0);
		return true;
	}
	return true;
}

static void put_metrics(const struct bound *b, struct xv *v)
{
	double active = b->total_ms - b->idle_ms;
	xv_rounded(v, "tpu_duty_cycle_percent", b->duty, 2);
	xv_rounded(v, "idle_time_ratio_percent", b->idle_percent, 2);
	xv_rounded(v, "idle_to_active_compute_ratio",
		   b->has_ops && active > 0 ? b->idle_ms / active : 0, 4);
	xv_rounded(v, "equivalent_idle_chips", (double)b->cores * b->idle_percent / 100, 2);
	xv_rounded(v, "mxu_idleness_percent", b->mxu_idle, 2);
	xv_rounded(v, "hbm_bandwidth_utilization_percent", b->hbm, 2);
	xv_rounded(v, "ici_read_utilization_percent", b->ici_read, 2);
	xv_rounded(v, "ici_write_utilization_percent", b->ici_write, 2);
	xv_rounded(v, "scaled_compute_time_ms", b->compute_ms, 2);
	xv_rounded(v, "scaled_hbm_time_ms", b->hbm_ms, 2);
	xv_rounded(v, "scaled_ici_time_ms", b->ici_ms, 2);
	xv_rounded(v, "scaled_barrier_time_ms", b->barrier_ms, 2);
	xv_rounded(v, "pure_idle_time_ms", b->idle_ms, 2);
	xv_rounded(v, "total_duration_ms", b->total_ms, 2);
	xv_u64(v, "number_of_steps", b->steps);
	xv_i64(v, "core_count", b->cores);
}

/* Each reason why it is not the host. */
static void put_reasons(const struct bound *b, struct xv *v, bool idle, bool mxu)
{
	if (!idle)
		xv_printf(v, NULL, "The device is idle for %.1f%% of the steps' time, not more than %.0f%%.",
			  b->idle_percent, IDLE_HIGH);
	if (!mxu)
		xv_printf(v, NULL, "The matrix units are idle for %.1f%% of the time, not more than %.0f%%, or "
			  "the profile has no counters.", b->mxu_idle, MXU_IDLE_HIGH);
	if (b->hbm >= UTILIZATION_LOW)
		xv_printf(v, NULL, "The HBM is used at %.1f%% of its bandwidth.", b->hbm);
	if (b->ici_read >= UTILIZATION_LOW || b->ici_write >= UTILIZATION_LOW)
		xv_printf(v, NULL, "The links to other chips are used at %.1f%% (read) and %.1f%% (write).",
			  b->ici_read, b->ici_write);
}

static void answer(const struct bound *b, struct xv *v)
{
	bool idle = b->idle_percent > IDLE_HIGH, mxu = b->mxu_idle > MXU_IDLE_HIGH;
	bool host = idle && mxu && b->hbm < UTILIZATION_LOW && b->ici_read < UTILIZATION_LOW &&
		    b->ici_write < UTILIZATION_LOW;
	bool unknown = !host && b->duty > DUTY_HIGH && !b->has_ops;
	xv_z(v, "status", host ? "HOST_BOUND" : unknown ? "UNKNOWN" : "NOT_HOST_BOUND");
	put_metrics(b, xv_add_object(v, "metrics"));
	struct xv *reasons = xv_add_array(v, "reasons"), *advice = xv_add_array(v, "recommendations");
	if (host) {
		xv_printf(reasons, NULL, "The device is idle for %.1f%% of the steps' time, and neither memory "
			  "nor links are busy.", b->idle_percent);
		xv_printf(advice, NULL, "Idle time is worth %.1f chips: look at the input pipeline first "
			  "(get_step_trace, list_xplane_events).", (double)b->cores * b->idle_percent / 100);
	} else if (unknown) {
		xv_printf(reasons, NULL, "The duty cycle is %.1f%%, but the profile has no operations of the "
			  "device.", b->duty);
	} else {
		put_reasons(b, reasons, idle, mxu);
	}
}

bool xcli_check_host_boundness(struct xcli *x, struct xv **out)
{
	struct bound b = { .x = x };
	if (!xcli_open(x) || !read_overview(&b))
		return false;
	struct xv *v = *out = xv_object(&x->make);
	if (!(b.total_ms > 0)) {
		xv_z(v, "status", "INSUFFICIENT_DATA");
		xv_z(xv_add_array(v, "reasons"), NULL, "The profile has no step time.");
		xv_z(xv_add_array(v, "recommendations"), NULL, "Record a profile with marked steps.");
		return true;
	}
	read_ops(&b);
	if (!read_barriers(&b) || !read_counters(&b))
		return false;
	if (b.has_ops) {
		b.idle_ms = fmax(0, b.total_ms - (b.compute_ms + b.hbm_ms + b.ici_ms));
		b.idle_ms = fmax(0, b.idle_ms - b.barrier_ms);
		b.idle_percent = 100 * fmin(1, b.idle_ms / b.total_ms);
	}
	answer(&b, v);
	return true;
}
