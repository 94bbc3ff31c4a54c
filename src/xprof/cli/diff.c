/*
 * diff.c - diff_sessions: two runs beside each other. As in XProf, only the ten longest kernels of
 * each side take part, so a kernel that is the eleventh of one side reads 0 there. `stepscope diff`
 * compares all of them.
 */
#include "xprof/cli/modules.h"

#include <math.h>

#define MOST_SHOWN 20

struct side {
	const char *session;
	struct xv *kernels, *kpi, *hlo;
	double total_us;
};

/* The contents of the side's answers; an answer that fails is empty. */
static bool read_side(struct xcli *x, struct side *s)
{
	struct xcli *o = xcli_other(x, s->session);
	struct ss_str error = SS_STR("");
	if (!o)
		return xcli_fail(x, XCLI_INTERNAL, "Cannot read '%s': " SS_FMT, s->session,
				 SS_ARG(x->others && x->others->error.n ? x->others->error
									: SS_STR("out of memory")));
	if (!xcli_ask(o, "get_device_time_attribution", &s->kernels, &error))
		return xcli_fail(x, XCLI_INTERNAL, "Cannot read '%s': " SS_FMT, s->session,
				 SS_ARG(error));
	if (!xcli_ask(o, "get_kpi_metrics", &s->kpi, NULL))
		s->kpi = xv_object(&x->make);
	if (!xcli_ask(o, "get_hlo_stats", &s->hlo, NULL))
		s->hlo = xv_object(&x->make);
	s->total_us = xv_get_f64(s->kernels, "total_device_duration_us", 0);
	return true;
}

struct pair {
	struct ss_str name;
	double us[2];
};

static bool pair_kernels(struct xcli *x, const struct side *sides, struct pair *pairs, size_t *n)
{
	struct ss_strmap names = { 0 };
	bool ok = true;
	for (int side = 0; ok && side < 2; side++) {
		struct xv *list = xv_get(sides[side].kernels, "kernel_records");
		for (size_t i = 0; ok && i < xv_length(list); i++) {
			struct ss_str name = xv_get_str(list->m.v[i].value, "kernel_name");
			uint32_t at = ss_strmap_add(&names, name);
			ok = at != SS_NONE;
			if (!ok)
				break;
			pairs[at].name = name;
			pairs[at].us[side] = xv_get_f64(list->m.v[i].value, "total_duration_us", 0);
		}
	}
	*n = names.n;
	ss_strmap_free(&names);
	return ok || xcli_no_memory(x);
}

static double percent(double part, double whole)
{
	return whole != 0 ? xv_round(part / whole * 100, 2) : 0;
}

static bool put_kernels(struct xcli *x, const struct side *sides, struct xv *list)
{
	size_t most = xv_length(xv_get(sides[0].kernels, "kernel_records")) +
		      xv_length(xv_get(sides[1].kernels, "kernel_records"));
	struct pair *pairs = SS_NEW_N(&x->arena, struct pair, most + 1);
	double *key = SS_NEW_N(&x->arena, double, most + 1);
	uint32_t *order;
	size_t n;
	if (!pairs || !key)
		return xcli_no_memory(x);
	if (!pair_kernels(x, sides, pairs, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		key[i] = fabs(pairs[i].us[1] - pairs[i].us[0]);
	if (!xcli_rank(x, key, n, &order))
		return false;
	for (size_t i = 0; i < n && i < MOST_SHOWN; i++) {
		const struct pair *p = &pairs[order[i]];
		struct xv *v = xv_add_object(list, NULL);
		double delta = xv_round(p->us[1] - p->us[0], 4);
		xv_str(v, "kernel_name", p->name);
		xv_f64(v, "baseline_duration_us", p->us[0]);
		xv_f64(v, "optimized_duration_us", p->us[1]);
		xv_f64(v, "delta_duration_us", delta);
		xv_f64(v, "delta_percent", percent(delta, p->us[0]));
	}
	return true;
}

static void put_both(struct xv *v, const char *key, struct xv *baseline, struct xv *optimized)
{
	struct xv *o = xv_add_object(v, key);
	xv_put(o, "baseline", baseline);
	xv_put(o, "optimized", optimized);
}

bool xcli_diff_sessions(struct xcli *x, struct xv **out)
{
	struct side sides[2] = { { .session = xcli_text(x, "baseline_session_id") },
				 { .session = xcli_text(x, "optimized_session_id") } };
	for (size_t i = 0; i < 2; i++)
		if (!*sides[i].session)
			return xcli_fail(x, XCLI_INVALID, "A session must not be an empty text");
	if (!read_side(x, &sides[0]) || !read_side(x, &sides[1]))
		return false;
	struct xv *v = *out = xv_object(&x->make);
	double delta = xv_round(sides[1].total_us - sides[0].total_us, 4);
	xv_z(v, "baseline_session_id", sides[0].session);
	xv_z(v, "optimized_session_id", sides[1].session);
	xv_f64(v, "baseline_total_device_duration_us", sides[0].total_us);
	xv_f64(v, "optimized_total_device_duration_us", sides[1].total_us);
	xv_f64(v, "total_device_duration_delta_us", delta);
	xv_f64(v, "total_device_duration_delta_pct", percent(delta, sides[0].total_us));
	if (!put_kernels(x, sides, xv_add_array(v, "kernel_diffs")))
		return false;
	put_both(v, "kpi_metrics", sides[0].kpi, sides[1].kpi);
	put_both(v, "hlo_stats", sides[0].hlo, sides[1].hlo);
	xv_printf(v, "markdown_summary",
		  "Time in which any device ran: %.2f us before, %.2f us after (%+.2f%%).",
		  sides[0].total_us, sides[1].total_us, percent(delta, sides[0].total_us));
	return true;
}
