/* overview.c - get_overview and get_kpi_metrics: the program as a whole. */
#include "xprof/cli/overview.h"

#include <math.h>
#include <stdlib.h>

struct ss_str xcli_prop(const struct ss_result *r, const char *id)
{
	for (size_t i = r->ntables; i-- > 0;) {
		const struct ss_prop *p = ss_table_find_prop(&r->tables[i], id);
		if (p)
			return p->text;
	}
	return (struct ss_str){ NULL, 0 };
}

double xcli_prop_number(const struct ss_result *r, const char *id)
{
	struct ss_str text = xcli_prop(r, id);
	double v;
	return text.p && ss_str_to_f64(text, &v) && isfinite(v) ? v : 0;
}

struct xcli_whole_steps xcli_whole_steps(const struct ss_result *pod_viewer,
					 const struct ss_table *cores)
{
	struct xcli_whole_steps all = { INT64_MIN, INT64_MAX };
	struct ss_str type = pod_viewer ? xcli_prop(pod_viewer, "device_type") : SS_STR("");
	size_t steps = 0, n = cores ? cores->nrows : 0;
	int64_t last = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t number = ss_cell_i64(cores, i, "step_num");
		steps += !i || number != last;
		last = number;
	}
	if (steps <= 5 || ss_str_starts(type, SS_STR("TPU")))
		return all;
	return (struct xcli_whole_steps){ ss_cell_i64(cores, 0, "step_num") + 1, last - 1 };
}

static bool starts(const char *id, const char *prefix)
{
	return strncmp(id, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *id, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(id, *list) == 0)
			return true;
	return false;
}

static bool is_performance(const char *id)
{
	static const char *const keys[] = {
		"steptime_ms_average", "steptime_ms_standard_deviation", "active_steptime_ms_average",
		"tc_active_ms_average", "tc_idle_ms_average", "tc_infeed_ms_average", "tc_outfeed_ms_average",
		"host_transfer_ms_average", "mxu_utilization_percent", "flop_rate_utilization_relative_to_roofline",
		"device_duty_cycle_percent", "memory_bw_utilization_relative_to_hw_limit", "program_goodput_percent",
		"host_tf_op_percent", "device_tf_op_percent", "host_op_time_eager_percent",
		"device_op_time_eager_percent", "device_idle_time_percent", "hbm_bw_utilization_percent",
		"host_idle_time_percent",
		NULL,
	};
	return starts(id, "stat_") || starts(id, "sc_") || is_one_of(id, keys);
}

static bool is_environment(const char *id)
{
	static const char *const keys[] = {
		"is_training", "profile_start_time", "profile_duration_ms", "host_count", "task_count", "device_type",
		"device_core_count", "change_list", "build_time", "build_target",
		NULL,
	};
	return starts(id, "run_") || is_one_of(id, keys);
}

/* Missing or zero, as it is printed. */
static bool is_nothing(struct ss_str text)
{
	static const char *const zeros[] = { "", "0.0%", "0%", "0.0" };
	for (size_t i = 0; i < SS_COUNT(zeros); i++)
		if (ss_str_is(text, zeros[i]))
			return true;
	return false;
}

static void percent(struct xv *v, const char *key, double frac)
{
	xv_printf(v, key, "%.2f%%", 100 * frac);
}

/* The values that the overview leaves at zero, from the roofline model's program. */
static void put_roofline(struct xcli *x, struct xv *v)
{
	const struct ss_result *r = xcli_tool(x, "roofline_model", NULL);
	const struct ss_table *t = r ? ss_result_find(r, "records") : NULL;
	bool flops = is_nothing(xv_get_str(v, "flop_rate_utilization_relative_to_roofline"));
	bool memory = is_nothing(xv_get_str(v, "memory_bw_utilization_relative_to_hw_limit")) &&
		      is_nothing(xv_get_str(v, "hbm_bw_utilization_percent"));
	if (!t || !t->nrows)
		return;
	double efficiency = ss_cell_f64(t, 0, "roofline_efficiency"),
	       most = ss_cell_f64(t, 0, "max_mem_bw_utilization");
	if (flops) {
		percent(v, "roofline_efficiency_percent", efficiency);
		percent(v, "flop_rate_utilization_relative_to_roofline", efficiency);
		percent(v, "compute_efficiency_percent", ss_cell_f64(t, 0, "compute_efficiency"));
	}
	if (memory) {
		percent(v, "max_mem_bw_utilization_percent", most);
		percent(v, "memory_bw_utilization_relative_to_hw_limit", most);
		percent(v, "hbm_bw_utilization_percent", most);
	}
	if (flops || memory) {
		if (ss_cell_str(t, 0, "bound_by").n)
			xv_str(v, "bound_by", ss_cell_str(t, 0, "bound_by"));
		xv_rounded(v, "operational_intensity_flop_per_byte",
			   ss_cell_f64(t, 0, "operational_intensity"), 4);
	}
	double share = xcli_custom_call_share(t);
	if (share >= 10)
		xcli_put_custom_call_share(v, share);
}

/* --- steps of each host ------------------------------------------------------------------------ */

/* Device ids of a host count from a thousand times its number; SparseCores from a million. */
#define CORES_PER_HOST 1000
#define FIRST_SPARSE_CORE 1000000

struct host_steps {
	struct ss_str host;
	int64_t number;
	double step, sum, square, least, most; /* ms; step: the longest core of the step at hand */
	size_t n;
};

struct all_steps {
	struct host_steps *v;
	size_t n;
};

static void end_step(struct all_steps *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct host_steps *h = &all->v[i];
		if (!(h->step > 0))
			continue;
		h->least = h->n ? fmin(h->least, h->step) : h->step;
		h->most = h->n ? fmax(h->most, h->step) : h->step;
		h->sum += h->step;
		h->square += h->step * h->step;
		h->n++;
		h->step = 0;
	}
}

static void add_core(struct all_steps *all, int64_t core, struct ss_str host, double ms)
{
	int64_t number = core > 0 ? core / CORES_PER_HOST : 0;
	size_t i = 0;
	if (core >= FIRST_SPARSE_CORE || !isfinite(ms) || !(ms > 0))
		return;
	while (i < all->n && (all->v[i].number != number || !ss_str_eq(all->v[i].host, host)))
		i++;
	if (i == all->n)
		all->v[all->n++] = (struct host_steps){ .host = host, .number = number };
	all->v[i].step = fmax(all->v[i].step, ms);
}

static int by_host(const void *a, const void *b)
{
	const struct host_steps *x = a, *y = b;
	return SS_CMP(x->number, y->number) ?: ss_str_cmp(x->host, y->host);
}

/*
 * The file's stem, if each host has a number of its own among the files; else what the host calls
 * itself.
 */
static struct ss_str label_of(struct xcli *x, const struct all_steps *all, size_t at)
{
	bool numbers = true, names = true;
	for (size_t i = 0; i < all->n; i++) {
		numbers = numbers && all->v[i].number < (int64_t)x->ntraces &&
			  (!i || all->v[i].number != all->v[i - 1].number);
		for (size_t k = 0; k < i; k++)
			names = names && !ss_str_eq(all->v[i].host, all->v[k].host);
		names = names && all->v[i].host.n;
	}
	const struct host_steps *h = &all->v[at];
	if (numbers)
		return x->traces[h->number].stem;
	if (names)
		return h->host;
	return ss_arena_printf(&x->arena, SS_FMT "_%lld",
			       SS_ARG(h->host.n ? h->host : SS_STR("host")), (long long)h->number);
}

static bool put_hosts(struct xcli *x, struct xv *v)
{
	const struct ss_result *r = xcli_tool_ours(x, "pod_viewer", NULL);
	const struct ss_table *t = r ? ss_result_find(r, "cores") : NULL;
	struct all_steps all = { 0 };
	if (!t || !t->nrows)
		return false;
	all.v = SS_NEW_N(&x->arena, struct host_steps, t->nrows + 1);
	if (!all.v)
		return xcli_no_memory(x);
	struct xcli_whole_steps whole = xcli_whole_steps(r, t);
	for (size_t i = 0; i < t->nrows; i++) {
		int64_t number = ss_cell_i64(t, i, "step_num");
		if (i && number != ss_cell_i64(t, i - 1, "step_num"))
			end_step(&all);
		if (number < whole.first || number > whole.last)
			continue;
		add_core(&all, ss_cell_i64(t, i, "core_id"), ss_cell_str(t, i, "host_name"),
			 ss_cell_f64(t, i, "total_us") / 1000);
	}
	end_step(&all);
	if (all.n < 2)
		return false;
	qsort(all.v, all.n, sizeof(*all.v), by_host);
	struct xv *hosts = xv_add_object(v, "per_host_step_time_ms");
	for (size_t i = 0; i < all.n; i++) {
		const struct host_steps *h = &all.v[i];
		struct xv *one = xv_object(&x->make);
		double mean = h->sum / (double)h->n, n = (double)h->n;
		double variance = n > 1 ? fmax(0, (h->square - n * mean * mean) / (n - 1)) : 0;
		xv_put_key(hosts, label_of(x, &all, i), one);
		xv_printf(one, "steptime_ms_average", "%.2f", mean);
		xv_printf(one, "steptime_ms_standard_deviation", "%.2f", sqrt(variance));
		xv_printf(one, "steptime_ms_minimum", "%.2f", h->least);
		xv_printf(one, "steptime_ms_maximum", "%.2f", h->most);
	}
	return true;
}

#define STEP_WARNING \
	"The step time of each step is that of the slowest core of all hosts. " \
	"per_host_step_time_ms has each host's own."

static void put_host_steps(struct xcli *x, struct xv *v)
{
	if (x->ntraces < 2)
		return;
	bool any = put_hosts(x, v);
	if (!any && !xv_get(v, "steptime_ms_average") &&
	    !xv_get(v, "steptime_ms_standard_deviation"))
		return;
	xv_z(v, "step_time_scope", "per_step_max_across_hosts");
	xv_z(v, "step_time_warning", STEP_WARNING);
}

/* --- get_overview ------------------------------------------------------------------------------ */

static struct xv *environment(struct xcli *x, const struct ss_result *r)
{
	struct xv *v = xv_object(&x->make);
	const struct ss_table *t = ss_result_find(r, "run_environment");
	bool command = xcli_flag(x, "include_command");
	for (size_t i = 0; i < r->ntables; i++)
		for (size_t k = 0; k < r->tables[i].nprops; k++) {
			const struct ss_prop *p = &r->tables[i].props[k];
			if (is_environment(p->id) && (command || strcmp(p->id, "run_command") != 0))
				xv_str(v, p->id, p->text);
		}
	if (!t->nrows)
		return v;
	struct ss_str host = ss_cell_str(t, 0, "host_id"), bns = ss_cell_str(t, 0, "bns_address");
	struct ss_str line = ss_cell_str(t, 0, "command_line");
	if (host.n)
		xv_str(v, "hostname", host);
	if (bns.n)
		xv_str(v, "bns", bns);
	if (command && line.n && !xv_get(v, "run_command"))
		xv_str(v, "run_command", line);
	return v;
}

bool xcli_get_overview(struct xcli *x, struct xv **out)
{
	struct ss_err err;
	if (!xcli_open(x))
		return false;
	const struct ss_result *r = xcli_tool(x, "overview_page", &err);
	if (!r)
		return xcli_failed(x, &err);
	struct xv *v = *out = xv_object(&x->make),
		  *performance = xv_add_object(v, "performance_summary");
	for (size_t i = 0; i < r->ntables; i++)
		for (size_t k = 0; k < r->tables[i].nprops; k++)
			if (is_performance(r->tables[i].props[k].id))
				xv_str(performance, r->tables[i].props[k].id,
				       r->tables[i].props[k].text);
	put_roofline(x, performance);
	put_host_steps(x, performance);
	xv_put(v, "run_environment", environment(x, r));
	return true;
}

/* --- get_kpi_metrics --------------------------------------------------------------------------- */

static void put_or_none(struct xv *v, const char *key, const struct xv *from, const char *name)
{
	struct xv *had = xv_get(from, name);
	if (had)
		xv_put(v, key, had);
	else
		xv_z(v, key, "N/A");
}

static void put_step_scope(struct xv *v, const struct xv *performance)
{
	const struct xv *hosts = xv_get(performance, "per_host_step_time_ms");
	if (xv_get(performance, "step_time_scope")) {
		xv_put(v, "step_time_scope", xv_get(performance, "step_time_scope"));
		xv_z(v, "step_time_warning", STEP_WARNING);
	}
	if (!hosts)
		return;
	struct xv *means = xv_add_object(v, "per_host_step_time_ms");
	for (size_t i = 0; i < hosts->m.n; i++)
		xv_put_key(means, hosts->m.v[i].key,
			   xv_get(hosts->m.v[i].value, "steptime_ms_average"));
}

bool xcli_get_kpi_metrics(struct xcli *x, struct xv **out)
{
	struct xv *overview, *memory, *roofline;
	struct ss_str error = SS_STR("");
	if (!xcli_open(x))
		return false;
	if (!xcli_ask(x, "get_overview", &overview, &error))
		return xcli_fail(x, XCLI_INTERNAL, SS_FMT, SS_ARG(error));
	bool has_memory = xcli_ask(x, "get_memory_profile", &memory, NULL);
	bool has_roofline = xcli_ask(x, "get_roofline_model", &roofline, NULL);
	const struct xv *performance = xv_get(overview, "performance_summary"),
			*run = xv_get(overview, "run_environment");
	const struct xv *program = has_roofline ? xv_get(roofline, "program") : NULL;
	struct ss_str provenance = xv_get_str(program, "flops_provenance");
	struct xv *v = *out = xv_object(&x->make);
	put_or_none(v, "step_time_ms", performance, "steptime_ms_average");
	put_or_none(v, "duty_cycle_percent", performance, "device_duty_cycle_percent");
	put_or_none(v, "mxu_utilization_percent", performance, "mxu_utilization_percent");
	if (ss_str_is(provenance, "derived_from_shapes") || ss_str_is(provenance, "mixed"))
		put_or_none(v, "roofline_utilization", program, "roofline_efficiency_percent");
	else
		put_or_none(v, "roofline_utilization", performance,
			    "flop_rate_utilization_relative_to_roofline");
	xv_str(v, "flops_provenance", provenance.n ? provenance : SS_STR("xla_cost_model"));
	xv_f64(v, "derived_flops_fraction", xv_get_f64(program, "derived_flops_fraction", 0));
	put_or_none(v, "peak_hbm_gib", has_memory ? memory : NULL, "peak_memory_usage_gib");
	struct xv *device = xv_add_object(v, "accelerator_info");
	put_or_none(device, "device_type", run, "device_type");
	put_or_none(device, "device_core_count", run, "device_core_count");
	if (xv_get(performance, "custom_call_warning")) {
		xv_put(v, "custom_call_share_pct", xv_get(performance, "custom_call_share_pct"));
		xv_put(v, "custom_call_warning", xv_get(performance, "custom_call_warning"));
	}
	put_step_scope(v, performance);
	return true;
}
