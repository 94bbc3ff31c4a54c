/*
 * counters.c - hardware counters: get_perf_counters, get_utilization_viewer,
 * get_kernel_utilization.
 */
#include "base/regex.h"
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* --- get_perf_counters ------------------------------------------------------------------------- */

/*
 * A filter as XProf takes it: a regular expression, or where it is none, a part of the text; case
 * does not matter.
 */
struct filter {
	const char *text;
	struct ss_regex *regex; /* NULL: it is none */
};

static bool has_part(struct ss_str s, struct ss_str part)
{
	for (size_t i = 0; i + part.n <= s.n; i++)
		if (ss_str_ieq(ss_str_sub(s, i, i + part.n), part))
			return true;
	return false;
}

static bool open_filter(struct xcli *x, const char *name, struct filter *f)
{
	struct ss_err err = { 0 };
	f->text = xcli_text(x, name);
	struct ss_str fold = ss_arena_printf(&x->arena, "(?i)%s", f->text);
	if (!fold.p)
		return xcli_no_memory(x);
	f->regex = *f->text ? ss_regex_new(fold, &err) : NULL;
	return err.code != SS_ENOMEM || xcli_no_memory(x);
}

static bool matches(struct filter *f, struct ss_str text)
{
	if (!*f->text)
		return true;
	return f->regex ? ss_regex_search(f->regex, text, NULL, 0, NULL, NULL) == SS_REGEX_YES
			: has_part(text, ss_str_from(f->text));
}

enum { KERNEL, COUNTER, SET, FILTERS };

struct counters {
	const struct ss_table *t;
	struct filter filters[FILTERS];
	bool non_zero, has_chip;
	int64_t chip;
	const char *hosts;
};

static uint64_t value_of(const struct ss_table *t, size_t row)
{
	return (uint64_t)ss_cell_i64(t, row, "Value");
}

/* "[a,b]" or "a,b" or "a" names the host. */
static bool is_host(const char *list, struct ss_str host)
{
	struct ss_str rest = ss_str_from(list);
	while (rest.n)
		if (ss_str_eq(xcli_next_of_list(&rest, "[]'\" "), host))
			return true;
	return false;
}

static bool keeps(struct counters *c, size_t row)
{
	const struct ss_table *t = c->t;
	uint64_t v = value_of(t, row);
	if (c->non_zero && (v == 0 || v == UINT64_MAX))
		return false;
	if (*c->hosts && !is_host(c->hosts, ss_cell_str(t, row, "Host")))
		return false;
	if (c->has_chip && ss_cell_i64(t, row, "Chip") != c->chip)
		return false;
	return matches(&c->filters[KERNEL], ss_cell_str(t, row, "Kernel")) &&
	       (matches(&c->filters[COUNTER], ss_cell_str(t, row, "Counter")) ||
		matches(&c->filters[COUNTER], ss_cell_str(t, row, "Description"))) &&
	       matches(&c->filters[SET], ss_cell_str(t, row, "Set"));
}

struct counter_key {
	const struct ss_table *t;
	uint64_t value;
	uint32_t row;
};

/*
 * Real values before all ones, then the larger value, name and kernel first; equal ones as they
 * were.
 */
static int by_value(const void *a, const void *b)
{
	const struct counter_key *x = a, *y = b;
	return SS_CMP(x->value == UINT64_MAX, y->value == UINT64_MAX) ?: SS_CMP(y->value, x->value) ?:
	       ss_str_cmp(ss_cell_str(y->t, y->row, "Counter"), ss_cell_str(x->t, x->row, "Counter")) ?:
	       ss_str_cmp(ss_cell_str(y->t, y->row, "Kernel"), ss_cell_str(x->t, x->row, "Kernel")) ?: SS_CMP(x->row, y->row);
}

static bool put_names(struct xcli *x, const struct ss_table *t, const char *col, struct xv *counts,
		      const char *count_key, struct xv *list)
{
	struct ss_strmap names = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < t->nrows; i++)
		ok = !ss_cell_str(t, i, col).n ||
		     ss_strmap_add(&names, ss_cell_str(t, i, col)) != SS_NONE;
	if (count_key)
		xv_u64(counts, count_key, names.n);
	for (uint32_t done = 0; ok && list && done < names.n; done++) {
		uint32_t least = SS_NONE;
		for (uint32_t i = 0; i < names.n; i++)
			if (names.keys[i].p &&
			    (least == SS_NONE || ss_str_cmp(names.keys[i], names.keys[least]) < 0))
				least = i;
		xv_str(list, NULL, names.keys[least]);
		names.keys[least].p = NULL;
	}
	ss_strmap_free(&names);
	return ok || xcli_no_memory(x);
}

static void put_chips(const struct ss_table *t, struct xv *list)
{
	int64_t last = -1;
	for (bool more = true; more;) {
		int64_t least = INT64_MAX;
		for (size_t i = 0; i < t->nrows; i++) {
			int64_t chip = ss_cell_i64(t, i, "Chip");
			least = chip > last && chip < least ? chip : least;
		}
		more = least != INT64_MAX;
		if (more)
			xv_i64(list, NULL, least);
		last = least;
	}
}

static void put_counter(struct xv *list, const struct ss_table *t, size_t row)
{
	struct xv *v = xv_add_object(list, NULL);
	xv_str(v, "host", ss_cell_str(t, row, "Host"));
	xv_i64(v, "chip", ss_cell_i64(t, row, "Chip"));
	xv_str(v, "kernel", ss_cell_str(t, row, "Kernel"));
	xv_i64(v, "sample", ss_cell_i64(t, row, "Sample"));
	xv_str(v, "counter", ss_cell_str(t, row, "Counter"));
	xv_u64(v, "value", value_of(t, row));
	xv_printf(v, "value_hex", "0x%llx", (unsigned long long)value_of(t, row));
	xv_str(v, "description", ss_cell_str(t, row, "Description"));
	xv_str(v, "set", ss_cell_str(t, row, "Set"));
}

static bool answer_counters(struct xcli *x, struct counters *c, int64_t limit, struct xv **out)
{
	const struct ss_table *t = c->t;
	size_t n = 0, non_zero = 0, ones = 0;
	struct counter_key *kept = SS_NEW_N(&x->arena, struct counter_key, t->nrows + 1);
	if (!kept)
		return xcli_no_memory(x);
	for (size_t i = 0; i < t->nrows; i++) {
		uint64_t v = value_of(t, i);
		non_zero += v && v != UINT64_MAX;
		ones += v == UINT64_MAX;
		if (keeps(c, i))
			kept[n++] = (struct counter_key){ t, v, (uint32_t)i };
	}
	qsort(kept, n, sizeof(*kept), by_value);
	size_t shown = limit < 0 || (uint64_t)limit > n ? n : (size_t)limit;
	struct xv *v = *out = xv_object(&x->make), *s, *list;
	xv_z(v, "status", t->nrows ? "OK" : "NO_PERF_COUNTERS");
	s = xv_add_object(v, "summary");
	xv_u64(s, "total_rows", t->nrows);
	xv_u64(s, "non_zero_rows", non_zero);
	xv_u64(s, "sentinel_all_ones_rows", ones);
	xv_u64(s, "matched_rows", n);
	xv_u64(s, "returned_rows", shown);
	if (!put_names(x, t, "Kernel", s, "unique_kernels", NULL) ||
	    !put_names(x, t, "Counter", s, "unique_counters", NULL) ||
	    !put_names(x, t, "Host", s, NULL, xv_add_array(s, "hosts")))
		return false;
	put_chips(t, xv_add_array(s, "chips"));
	list = xv_add_array(v, "counters");
	for (size_t i = 0; i < shown; i++)
		put_counter(list, t, kept[i].row);
	return true;
}

bool xcli_get_perf_counters(struct xcli *x, struct xv **out)
{
	static const char *const names[FILTERS] = { "kernel_filter", "counter_filter",
						    "set_filter" };
	struct counters c = { .non_zero = xcli_flag(x, "non_zero_only"),
			      .has_chip = xcli_given(x, "chip_id"),
			      .hosts = xcli_text(x, "hosts") };
	struct ss_err err;
	int64_t limit;
	bool ok = xcli_int(x, "limit", &limit) &&
		  (!c.has_chip || xcli_int(x, "chip_id", &c.chip)) && xcli_open(x);
	const struct ss_result *r = ok ? xcli_tool(x, "perf_counters", &err) : NULL;
	struct ss_table none = { .name = "" };
	if (ok && !r && err.code != SS_ENODATA)
		ok = xcli_failed(x, &err);
	c.t = r ? ss_result_find(r, "perf_counters") : &none;
	for (size_t i = 0; i < FILTERS; i++)
		ok = ok && open_filter(x, names[i], &c.filters[i]);
	ok = ok && answer_counters(x, &c, limit, out);
	for (size_t i = 0; i < FILTERS; i++)
		ss_regex_free(c.filters[i].regex);
	return ok;
}

/* --- get_utilization_viewer -------------------------------------------------------------------- */

/* A register that could not be read has all bits set. */
#define ALL_ONES (18446744073709551615.0 * .999)

struct use {
	const struct ss_table *t;
	uint32_t *rows;
	size_t n;
	struct ss_strmap names; /* of metrics, in the order of the rows */
};

struct sum {
	double achieved, peak, most; /* most: of one sample, in percent */
	size_t samples;
};

static void add_sample(const struct use *u, size_t row, struct sum *s)
{
	double achieved = ss_cell_f64(u->t, row, "achieved"), peak = ss_cell_f64(u->t, row, "peak");
	achieved = isfinite(achieved) ? achieved : 0;
	peak = isfinite(peak) ? peak : 0;
	if (achieved >= ALL_ONES || peak >= ALL_ONES || peak < 0)
		return;
	s->samples++;
	s->achieved += achieved;
	s->peak += peak;
	if (peak > 0)
		s->most = fmax(s->most, achieved * 100 / peak);
}

/* Percent of the peak over all samples; NAN: not known. */
static double percent_of(const struct sum *s)
{
	if (!s->samples || (!(s->peak > 0) && s->achieved != 0))
		return NAN;
	return s->peak > 0 ? xv_round(s->achieved * 100 / s->peak, 2) : 0;
}

/* A metric by its name, or of single cores: "HBM Rd+Wr - core 0". */
static double metric(const struct use *u, const char *name)
{
	struct sum s = { 0 };
	size_t n = strlen(name);
	for (size_t i = 0; i < u->n; i++) {
		struct ss_str one = ss_cell_str(u->t, u->rows[i], "name");
		struct ss_str rest = ss_str_sub(one, n, one.n);
		if (ss_str_starts(one, ss_str_from(name)) &&
		    (!rest.n || ss_str_starts(rest, SS_STR(" - core "))))
			add_sample(u, u->rows[i], &s);
	}
	return percent_of(&s);
}

static bool has_metric(const struct use *u, const char *name)
{
	size_t n = strlen(name);
	for (uint32_t i = 0; i < u->names.n; i++) {
		struct ss_str one = u->names.keys[i], rest = ss_str_sub(one, n, one.n);
		if (ss_str_starts(one, ss_str_from(name)) &&
		    (!rest.n || ss_str_starts(rest, SS_STR(" - core "))))
			return true;
	}
	return false;
}

/* Mean, or largest, over metrics of this name with a number: MXU0, MXU1. */
static double numbered(const struct use *u, const char *prefix, bool largest)
{
	double sum = 0, most = NAN;
	size_t n = 0;
	for (uint32_t i = 0; i < u->names.n; i++) {
		struct ss_str name = u->names.keys[i];
		char text[32];
		bool digits = ss_str_starts(name, ss_str_from(prefix)) && name.n > strlen(prefix) &&
			      name.n < sizeof(text);
		for (size_t k = strlen(prefix); digits && k < name.n; k++)
			digits = isdigit((unsigned char)name.p[k]);
		if (!digits)
			continue;
		memcpy(text, name.p, name.n);
		text[name.n] = '\0';
		double v = metric(u, text);
		if (isnan(v))
			continue;
		sum += v;
		most = isnan(most) ? v : fmax(most, v);
		n++;
	}
	if (!n)
		return NAN;
	return largest ? most : xv_round(sum / (double)n, 2);
}

static double mxu(const struct use *u)
{
	double v = metric(u, "Avg MXU Busy");
	return isnan(v) ? numbered(u, "MXU", false) : v;
}

static double idleness(const struct use *u)
{
	double most = numbered(u, "MXU", true), mean = metric(u, "Avg MXU Busy");
	if (has_metric(u, "No MXU Busy"))
		return metric(u, "No MXU Busy");
	if (!isnan(most))
		return fmax(0, xv_round(100 - most, 2));
	return isnan(mean) ? 100 : xv_round(100 - mean, 2);
}

static void put_known(struct xv *v, const char *key, double value)
{
	if (!isnan(value))
		xv_f64(v, key, value);
}

static double first_of(const struct use *u, const char *one, const char *other)
{
	return metric(u, has_metric(u, one) ? one : other);
}

static void put_window(struct xv *v, size_t samples)
{
	struct xv *w = xv_add_object(v, "measurement_window");
	xv_z(w, "basis", "whole_capture");
	xv_u64(w, "samples_per_metric", samples);
	xv_z(w, "aggregation", "cycle_weighted_sum_achieved_over_sum_peak");
	xv_z(w, "note", "Percentages are of the whole capture, idle time included.");
	xv_z(w, "for_per_kernel_utilization_use", "get_kernel_utilization");
	xv_z(w, "peak_sample_percent_note", "Each value is that of the metric's busiest sample.");
}

static bool answer_use(struct xcli *x, struct use *u, struct xv **out)
{
	struct sum *sums = SS_NEW_N(&x->arena, struct sum, u->names.n + 1);
	struct xv *v = *out = xv_object(&x->make), *metrics = xv_object(&x->make),
		  *peaks = xv_object(&x->make);
	size_t samples = 0;
	if (!sums)
		return xcli_no_memory(x);
	for (size_t i = 0; i < u->n; i++)
		add_sample(u, u->rows[i],
			   &sums[ss_strmap_get(&u->names, ss_cell_str(u->t, u->rows[i], "name"))]);
	put_known(v, "hbm_bandwidth_utilization_percent",
		  first_of(u, "HBM Rd+Wr (per chip)", "HBM Rd+Wr"));
	put_known(v, "ici_read_utilization_percent", metric(u, "ICI (Read)"));
	put_known(v, "ici_write_utilization_percent", metric(u, "ICI (Write)"));
	put_known(v, "vector_alu_utilization_percent", metric(u, "Vector ALUs"));
	put_known(v, "scalar_unit_utilization_percent", metric(u, "Scalar Unit"));
	put_known(v, "vmem_cmem_stores_utilization_percent",
		  first_of(u, "Vmem Stores", "Vmem/Cmem Stores"));
	put_known(v, "vmem_loads_utilization_percent", metric(u, "Vmem Loads"));
	put_known(v, "cmem_loads_utilization_percent", metric(u, "Cmem Loads"));
	put_known(v, "xlu_utilization_percent", numbered(u, "XLU", false));
	put_known(v, "mxu_utilization_percent", mxu(u));
	put_known(v, "idleness_percent", idleness(u));
	for (uint32_t i = 0; i < u->names.n; i++) {
		struct xv *one = xv_array(&x->make);
		double percent = percent_of(&sums[i]);
		if (isnan(percent))
			continue;
		xv_f64(one, NULL, percent);
		xv_rounded(one, NULL, sums[i].most, 2);
		if (xv_length(one) != 2)
			continue;
		xv_put_key(metrics, u->names.keys[i], one->m.v[0].value);
		xv_put_key(peaks, u->names.keys[i], one->m.v[1].value);
		samples = sums[i].samples > samples ? sums[i].samples : samples;
	}
	put_window(v, samples);
	xv_put(v, "metrics", metrics);
	xv_put(v, "peak_sample_percent", peaks);
	return true;
}

static void say_no_data(struct xcli *x, struct xv **out, const char *why)
{
	*out = xv_object(&x->make);
	xv_z(*out, "status", "NO_DATA");
	xv_z(*out, "message", why);
}

bool xcli_utilization(struct xcli *x, int64_t host, int64_t device, int64_t node, struct xv **out)
{
	struct ss_err err;
	struct use u = { 0 };
	const struct ss_result *r = xcli_tool(x, "utilization_viewer", &err);
	bool ok = true;
	if (!r && err.code != SS_ENODATA)
		return xcli_failed(x, &err);
	u.t = r ? ss_result_find(r, "utilization_viewer") : NULL;
	if (!u.t || !u.t->nrows) {
		say_no_data(x, out, "The trace holds no hardware counters.");
		return true;
	}
	u.rows = SS_NEW_N(&x->arena, uint32_t, u.t->nrows);
	if (!u.rows)
		return xcli_no_memory(x);
	for (size_t i = 0; ok && i < u.t->nrows; i++) {
		if (ss_cell_i64(u.t, i, "host") != host ||
		    ss_cell_i64(u.t, i, "device") != device || ss_cell_i64(u.t, i, "node") != node)
			continue;
		u.rows[u.n++] = (uint32_t)i;
		ok = ss_strmap_add(&u.names, ss_cell_str(u.t, i, "name")) != SS_NONE ||
		     xcli_no_memory(x);
	}
	if (ok && !u.n)
		say_no_data(x, out, "This host, device and node have no hardware counters.");
	else if (ok)
		ok = answer_use(x, &u, out);
	ss_strmap_free(&u.names);
	return ok;
}

bool xcli_get_utilization_viewer(struct xcli *x, struct xv **out)
{
	int64_t host = 0, device, node;
	if (x->host && !ss_str_to_i64(ss_str_from(x->host), &host))
		return xcli_fail(x, XCLI_INVALID, "--host: '%.100s' is not a number", x->host);
	return xcli_int(x, "device", &device) && xcli_int(x, "node", &node) && xcli_open(x) &&
	       xcli_utilization(x, host, device, node, out);
}

/* --- get_kernel_utilization -------------------------------------------------------------------- */

static double clamped(double v)
{
	return isnan(v) ? 0 : fmin(100, fmax(0, v));
}

static double named(const struct ss_table *t, size_t from, size_t end, const char *name)
{
	for (size_t i = from; i < end; i++)
		if (ss_str_is(ss_cell_str(t, i, "name"), name))
			return ss_cell_f64(t, i, "percent");
	return NAN;
}

/* What is not busy is what is left of what is. */
static void put_metrics(struct xv *v, const struct ss_table *t, size_t from, size_t end, double use)
{
	struct xv *o = xv_add_object(v, "other_metrics");
	double avg = named(t, from, end, "Avg MXU Busy"), xlu = named(t, from, end, "Avg XLU Busy");
	double one = named(t, from, end, "1 XLU Busy"), two = named(t, from, end, "2 XLUs Busy");
	double busy = isnan(avg) ? use : fmax(use, clamped(avg));
	if (isnan(xlu)) {
		one = isnan(one) ? 0 : one;
		two = isnan(two) ? 0 : two;
		xlu = one > 0 || two > 0 ? .5 * one + two : 0;
	}
	for (size_t i = from; i < end; i++) {
		struct ss_str name = ss_cell_str(t, i, "name");
		double percent = ss_cell_f64(t, i, "percent");
		if (ss_str_is(name, "No MXU Busy"))
			percent = 100 - busy;
		else if (ss_str_is(name, "No XLU Busy"))
			percent = 100 - clamped(xlu);
		struct xv *held = o ? xv_array(o->make) : NULL;
		xv_f64(held, NULL, clamped(percent));
		if (xv_length(held))
			xv_put_key(o, name, held->m.v[0].value);
	}
}

static void put_breakdown(struct xv *v, const struct ss_table *t, size_t row)
{
	static const char *const types[] = { "BF16", "FP8", "Int4", "Int8" };
	struct xv *o = xv_add_object(v, "mxu_cycles_breakdown");
	for (size_t i = 0; i < SS_COUNT(types); i++)
		xv_f64(o, types[i], ss_cell_f64(t, row, types[i]));
}

static struct xv *kernels_of(struct xcli *x, const struct ss_result *r)
{
	const struct ss_table *devices = ss_result_find(r, "devices"),
			      *kernels = ss_result_find(r, "kernels");
	const struct ss_table *metrics = ss_result_find(r, "metrics");
	struct xv *v = xv_object(&x->make), *list = xv_add_array(v, "devices");
	size_t k = 0, m = 0;
	for (size_t d = 0; d < devices->nrows; d++) {
		struct xv *device = xv_add_object(list, NULL);
		xv_i64(device, "device_id", ss_cell_i64(devices, d, "device_id"));
		xv_str(device, "device_type", ss_cell_str(devices, d, "device_type"));
		struct xv *of = xv_add_array(device, "kernels");
		for (; k < kernels->nrows && (size_t)ss_cell_i64(kernels, k, "device") == d; k++) {
			struct xv *one = xv_add_object(of, NULL);
			size_t from = m;
			double use = clamped(ss_cell_f64(kernels, k, "mxu_utilization"));
			while (m < metrics->nrows && (size_t)ss_cell_i64(metrics, m, "kernel") == k)
				m++;
			xv_f64(one, "duration_us", ss_cell_f64(kernels, k, "duration_us"));
			xv_str(one, "kernel_name", ss_cell_str(kernels, k, "kernel_name"));
			put_breakdown(one, kernels, k);
			xv_bool(one, "mxu_is_anomaly", ss_cell_bool(kernels, k, "mxu_is_anomaly"));
			xv_f64(one, "mxu_utilization", use);
			put_metrics(one, metrics, from, m, use);
		}
	}
	xv_z(v, "status", "SUCCESS");
	return v;
}

struct kernel_ask {
	struct ss_param_value v[4];
	size_t n;
};

static void add_param(struct kernel_ask *a, const char *name, const char *value)
{
	if (*value)
		a->v[a->n++] = (struct ss_param_value){ ss_str_from(name), ss_str_from(value) };
}

static bool lacks_duration(const struct ss_result *r)
{
	const struct ss_table *t = ss_result_find(r, "kernels");
	for (size_t i = 0; i < t->nrows; i++)
		if (!(ss_cell_f64(t, i, "duration_us") > 0))
			return true;
	return false;
}

/* The kernel's time in the trace, where its counters do not tell one. */
static double duration_of(struct xcli *x, const struct ss_result *r)
{
	const struct ss_table *t = ss_result_find(r, "kernels");
	struct ss_str name = ss_str_from(xcli_text(x, "kernel_name"));
	struct xv *all;
	for (size_t i = 0; !name.n && i < t->nrows; i++)
		if (!ss_str_is(ss_cell_str(t, i, "kernel_name"), "default_kernel"))
			name = ss_cell_str(t, i, "kernel_name");
	if (!xcli_ask(x, "get_kernel_stats", &all, NULL) || all->kind != XV_ARRAY ||
	    !xv_length(all))
		return 0;
	for (size_t i = 0; i < all->m.n; i++)
		if (ss_str_eq(xv_get_str(all->m.v[i].value, "kernel_name"), name))
			return xv_get_f64(all->m.v[i].value, "total_duration_us", 0);
	return xv_get_f64(all->m.v[0].value, "total_duration_us", 0);
}

bool xcli_get_kernel_utilization(struct xcli *x, struct xv **out)
{
	struct kernel_ask *a = SS_NEW(&x->arena, struct kernel_ask);
	struct ss_err err;
	if (!xcli_open(x))
		return false;
	if (!a)
		return xcli_no_memory(x);
	add_param(a, "kernel", xcli_text(x, "kernel_name"));
	add_param(a, "duration_us", xcli_text(x, "duration_us"));
	add_param(a, "force_duration", xcli_flag(x, "force_duration") ? "true" : "");
	add_param(a, "device_id", xcli_text(x, "device"));
	const struct ss_result *r = xcli_tool_of(x, "kernel_utilization", a->v, a->n, &err);
	if (!r)
		return xcli_fail(x, XCLI_INTERNAL, "%s", err.text);
	if (lacks_duration(r)) {
		double us = xcli_given(x, "duration_us") ? 0 : duration_of(x, r);
		if (!(us > 0))
			return xcli_fail(x, XCLI_INTERNAL,
					 "The counters have no duration: give --duration_us and "
					 "--force_duration");
		struct ss_str text = ss_arena_printf(&x->arena, "%.17g", us);
		a = SS_NEW(&x->arena, struct kernel_ask);
		if (!text.p || !a)
			return xcli_no_memory(x);
		add_param(a, "kernel", xcli_text(x, "kernel_name"));
		add_param(a, "duration_us", text.p);
		add_param(a, "force_duration", "true");
		add_param(a, "device_id", xcli_text(x, "device"));
		r = xcli_tool_of(x, "kernel_utilization", a->v, a->n, &err);
		if (!r || lacks_duration(r))
			return xcli_fail(x, XCLI_INTERNAL, "%s",
					 r ? "The counters have no duration" : err.text);
	}
	*out = kernels_of(x, r);
	return true;
}
