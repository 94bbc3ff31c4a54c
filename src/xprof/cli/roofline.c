/*
 * roofline.c - get_roofline_model: how near the program and its longest operations are to the
 * device's limits. The FLOPs of custom calls, which compilers do not count, are put in from their
 * shapes where these tell.
 */
#include "xprof/cli/modules.h"
#include "xprof/cli/overview.h"

#include <math.h>

/* Rates that differ by less are rounding. */
#define FLOPS_TOLERANCE 1e-3

struct row {
	uint32_t row;
	double self_us, compute, roofline, memory, intensity, bottleneck, optimal;
	double derived_flops, derived_bytes, replaced_flops;
	struct ss_str bound;
	const char *provenance;
};

struct roof {
	struct xcli *x;
	const struct ss_table *t;
	const struct ss_result *profile; /* expressions of operations; NULL: none */
	struct ss_strmap names;
	struct ss_u64map seen;
	uint32_t *expression_row;
	double peak_flop_rate;
	const char *rate; /* the column whose FLOPs are replaced */
	struct xv *info;
	struct row *v;
	size_t n;
};

static double cell(const struct roof *r, size_t row, const char *col)
{
	double v = ss_cell_f64(r->t, row, col);
	return isfinite(v) ? v : 0;
}

static void percent(struct xv *v, const char *key, double frac)
{
	xv_printf(v, key, "%.2f%%", 100 * frac);
}

/*
 * The rows stand twice, with infeed and outfeed and without: is this the first of its rank and
 * name?
 */
static bool is_new(struct ss_u64map *seen, const struct ss_table *t, size_t row)
{
	uint64_t key = ss_mix(ss_str_hash(ss_cell_str(t, row, "operation")),
			      (uint64_t)ss_cell_f64(t, row, "rank"));
	return ss_u64map_add(seen, key, (uint32_t)row) == row;
}

double xcli_custom_call_share(const struct ss_table *t)
{
	struct ss_u64map seen = { 0 };
	double total = t->nrows ? ss_cell_f64(t, 0, "total_self_time_percent") : 1, sum = 0;
	double scale = total <= 1 + 1e-6 ? 100 : 1;
	for (size_t i = 1; i < t->nrows; i++) {
		struct ss_str name = ss_cell_str(t, i, "operation"),
			      category = ss_cell_str(t, i, "category");
		if (!ss_str_starts(name, SS_STR("custom-call")) &&
		    !ss_str_ieq(category, SS_STR("custom-call")) &&
		    !ss_str_ieq(category, SS_STR("custom_call")))
			continue;
		if (is_new(&seen, t, i))
			sum += scale * ss_cell_f64(t, i, "total_self_time_percent");
	}
	ss_u64map_free(&seen);
	sum = xv_round(sum, 2);
	return sum < 100 ? sum : 100;
}

void xcli_put_custom_call_share(struct xv *v, double share)
{
	xv_f64(v, "custom_call_share_pct", share);
	xv_printf(v, "custom_call_warning",
		  "Custom calls take %.2f%% of the device's time. The compiler does not count "
		  "their FLOPs: 0 FLOPs "
		  "there does not mean that the device is idle. get_kernel_utilization looks into "
		  "them.",
		  share);
}

/* The peak by which the bound is decided. */
static void put_ridge(struct roof *r, struct xv *v, struct ss_str bound)
{
	static const struct {
		const char *bound, *key;
	} list[] = {
		{ "HBM", "hbm_ridge_point" },
		{ "CMEM Read", "cmem_read_ridge_point" },
		{ "CMEM Write", "cmem_write_ridge_point" },
		{ "VMEM Read", "vmem_read_ridge_point" },
		{ "VMEM Write", "vmem_write_ridge_point" },
	};
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_is(bound, list[i].bound) && xv_get(r->info, list[i].key)) {
			xv_rounded(v, "bound_by_ridge_point_flop_per_byte",
				   xv_get_f64(r->info, list[i].key, 0), 4);
			return;
		}
	xv_null(v, "bound_by_ridge_point_flop_per_byte");
}

static void put_bandwidth(struct roof *r, struct xv *v, const char *key, const char *bw,
			  const char *peak)
{
	double most = xv_get_f64(r->info, peak, 0);
	if (most > 0)
		percent(v, key, cell(r, 0, bw) / most);
	else
		xv_z(v, key, "N/A");
}

static struct ss_str bound_of(const struct roof *r, size_t row)
{
	struct ss_str bound = ss_cell_str(r->t, row, "bound_by");
	return bound.n ? bound : SS_STR("Unknown");
}

static void put_semantics(struct xv *v)
{
	struct xv *s = xv_add_object(v, "metric_semantics");
	xv_z(s, "measured_memory_bw_gibs",
	     "Bytes of all kinds of memory together, per second of operations: it can exceed the "
	     "HBM's peak.");
	xv_z(s, "max_mem_bw_utilization_percent",
	     "The largest of the utilizations of the kinds of memory.");
	xv_z(s, "operational_intensity_flop_per_byte",
	     "FLOPs / bytes of all kinds of memory together.");
	xv_z(s, "bound_by",
	     "The most utilized resource. Compare the bottleneck's intensity with its ridge "
	     "point.");
	xv_z(s, "flops_provenance",
	     "xla_cost_model: the compiler's. derived_from_shapes: those of custom calls from "
	     "their shapes. mixed: "
	     "both. opaque_custom_call: FLOPs of custom calls are not known.");
	xv_z(s, "derived_flops_fraction",
	     "Share of the FLOPs that come from shapes of custom calls.");
	xv_z(s, "has_opaque_custom_calls", "There are custom calls whose FLOPs are not known.");
}

static struct xv *put_program(struct roof *r)
{
	struct xv *v = xv_object(&r->x->make);
	xv_str(v, "bound_by", bound_of(r, 0));
	put_ridge(r, v, bound_of(r, 0));
	xv_rounded(v, "operational_intensity_flop_per_byte", cell(r, 0, "operational_intensity"),
		   4);
	xv_rounded(v, "bottleneck_operational_intensity_flop_per_byte",
		   cell(r, 0, "bottleneck_operational_intensity"), 4);
	percent(v, "roofline_efficiency_percent", cell(r, 0, "roofline_efficiency"));
	percent(v, "compute_efficiency_percent", cell(r, 0, "compute_efficiency"));
	percent(v, "max_mem_bw_utilization_percent", cell(r, 0, "max_mem_bw_utilization"));
	xv_rounded(v, "optimal_flop_rate_gflops", cell(r, 0, "optimal_flop_rate"), 2);
	percent(v, "dma_stall_percent", cell(r, 0, "dma_stall_percent"));
	xv_rounded(v, "measured_flop_rate_gflops", cell(r, 0, "measured_flop_rate"), 2);
	xv_rounded(v, "model_flop_rate_gflops", cell(r, 0, "model_flop_rate"), 2);
	xv_rounded(v, "measured_memory_bw_gibs", cell(r, 0, "measured_memory_bw"), 2);
	xv_rounded(v, "hbm_bw_gibs", cell(r, 0, "hbm_bw"), 2);
	put_bandwidth(r, v, "hbm_bw_utilization_percent", "hbm_bw", "peak_hbm_bw_gibs");
	put_bandwidth(r, v, "cmem_read_bw_utilization_percent", "cmem_read_bw",
		      "peak_cmem_read_bw_gibs");
	put_bandwidth(r, v, "cmem_write_bw_utilization_percent", "cmem_write_bw",
		      "peak_cmem_write_bw_gibs");
	put_bandwidth(r, v, "vmem_read_bw_utilization_percent", "vmem_read_bw",
		      "peak_vmem_read_bw_gibs");
	put_bandwidth(r, v, "vmem_write_bw_utilization_percent", "vmem_write_bw",
		      "peak_vmem_write_bw_gibs");
	xv_rounded(v, "total_time_ms", cell(r, 0, "total_time") / 1000, 3);
	xv_z(v, "flops_provenance", "xla_cost_model");
	put_semantics(v);
	return v;
}

/* --- operations -------------------------------------------------------------------------------- */

/* The text of the operation of this name, the last one's; "" where there is none. */
static struct ss_str expression_of(const struct roof *r, struct ss_str name)
{
	const struct ss_table *t;
	while (name.n && name.p[0] == '%')
		name = ss_str_sub(name, 1, name.n);
	uint32_t at = ss_strmap_get(&r->names, name);
	if (at == SS_NONE || !r->profile)
		return SS_STR("");
	t = ss_result_find(r->profile, "by_program");
	return ss_cell_str(t, r->expression_row[at], "expression");
}

static bool index_expressions(struct roof *r)
{
	r->profile = xcli_tool(r->x, "op_profile", NULL);
	const struct ss_table *t = r->profile ? ss_result_find(r->profile, "by_program") : NULL;
	r->expression_row = SS_NEW_N(&r->x->arena, uint32_t, t ? t->nrows + 1 : 1);
	if (!r->expression_row)
		return false;
	for (size_t i = 0; t && i < t->nrows; i++) {
		struct ss_str name = ss_cell_str(t, i, "name");
		if (!ss_cell_str(t, i, "expression").n)
			continue;
		while (name.n && name.p[0] == '%')
			name = ss_str_sub(name, 1, name.n);
		uint32_t at = ss_strmap_add(&r->names, name);
		if (at == SS_NONE)
			return false;
		r->expression_row[at] = (uint32_t)i;
	}
	return true;
}

static double gibi_to_giga(double v)
{
	return v * 1073741824 / 1e9;
}

/* The intensity of the bound memory, after the FLOPs changed. */
static double new_bottleneck(const struct roof *r, size_t row, struct ss_str bound, double rate,
			     double intensity, double scale)
{
	static const struct {
		const char *bound, *bw, *intensity;
	} list[] = {
		{ "HBM", "hbm_bw", "hbm_operational_intensity" },
		{ "CMEM Read", "cmem_read_bw", "cmem_read_operational_intensity" },
		{ "CMEM Write", "cmem_write_bw", "cmem_write_operational_intensity" },
		{ "VMEM Read", "vmem_read_bw", "vmem_read_operational_intensity" },
		{ "VMEM Write", "vmem_write_bw", "vmem_write_operational_intensity" },
	};
	if (ss_str_is(bound, "Compute"))
		return intensity;
	for (size_t i = 0; i < SS_COUNT(list); i++) {
		if (!ss_str_is(bound, list[i].bound))
			continue;
		if (cell(r, row, list[i].bw) > 0)
			return rate / gibi_to_giga(cell(r, row, list[i].bw));
		if (scale > 0 && cell(r, row, list[i].intensity) > 0)
			return cell(r, row, list[i].intensity) * scale;
	}
	return cell(r, row, "bottleneck_operational_intensity");
}

/* The bound after the compute utilization changed: the larger, compute where they are equal. */
static struct ss_str new_bound(double compute, double memory, struct ss_str had)
{
	if (compute >= memory)
		return SS_STR("Compute");
	return ss_str_is(had, "Compute") || ss_str_is(had, "Unknown") ? SS_STR("HBM") : had;
}

static void set_custom_call(struct roof *r, struct row *o, const struct xcli_custom_call *c,
			    double replaced)
{
	o->provenance = "opaque_custom_call";
	o->replaced_flops = replaced;
	if (!c->derived) {
		o->derived_flops = c->known ? c->flops : 0;
		o->derived_bytes = c->known ? c->bytes : 0;
		o->bound = SS_STR("CustomCall (opaque)");
		o->compute = o->intensity = o->bottleneck = o->optimal = 0;
		o->roofline = o->memory;
		return;
	}
	double rate = c->flops / (o->self_us * 1e3);
	o->provenance = "derived_from_shapes";
	o->derived_flops = c->flops;
	o->derived_bytes = c->bytes;
	if (r->peak_flop_rate > 0)
		o->compute = rate / r->peak_flop_rate;
	o->roofline = fmax(o->compute, o->memory);
	if (c->bytes > 0)
		o->intensity = c->flops / c->bytes;
	o->bound = new_bound(o->compute, o->memory, o->bound);
	o->bottleneck = new_bottleneck(r, o->row, o->bound, rate, o->intensity,
				       replaced > 0 ? c->flops / replaced : 0);
	if (o->roofline > 0)
		o->optimal = rate / o->roofline;
}

static bool add_operation(struct roof *r, size_t row)
{
	struct row *o = &r->v[r->n];
	struct ss_str name = ss_cell_str(r->t, row, "operation"),
		      category = ss_cell_str(r->t, row, "category");
	struct ss_str text = expression_of(r, name);
	*o = (struct row){ .row = (uint32_t)row,
			   .self_us = cell(r, row, "total_self_time"),
			   .provenance = "xla_cost_model" };
	if (!(o->self_us > 0))
		return true;
	if (!is_new(&r->seen, r->t, row))
		return true;
	o->compute = cell(r, row, "compute_efficiency");
	o->roofline = cell(r, row, "roofline_efficiency");
	o->memory = cell(r, row, "max_mem_bw_utilization");
	o->intensity = cell(r, row, "operational_intensity");
	o->bottleneck = cell(r, row, "bottleneck_operational_intensity");
	o->optimal = cell(r, row, "optimal_flop_rate");
	o->bound = bound_of(r, row);
	text = text.n ? text : name;
	if (xcli_is_custom_call(text, category, name)) {
		struct xcli_custom_call c = xcli_custom_call(text, category, name);
		set_custom_call(r, o, &c, cell(r, row, r->rate) * o->self_us * 1e3);
	}
	r->n++;
	return true;
}

/*
 * "a.py:3 -> b.py:7" of the cell's title, whose lines are the frames; without one the cell's text.
 */
static struct ss_str source_of(struct xcli *x, struct ss_str html)
{
	size_t at = ss_str_find(html, SS_STR("title='"));
	struct ss_buf b = { 0 };
	struct ss_str title = ss_str_sub(html, at == SS_NPOS ? html.n : at + 7, html.n);
	size_t quote = ss_str_chr(title, '\'');
	title = ss_str_sub(title, 0, quote == SS_NPOS ? 0 : quote);
	for (size_t i = 0; i < title.n; i++)
		if (title.p[i] == '\n')
			ss_buf_lit(&b, " -> ");
		else
			ss_buf_char(&b, title.p[i]);
	bool tag = false;
	for (size_t i = 0; !title.n && i < html.n; i++) {
		tag = tag || html.p[i] == '<';
		if (!tag)
			ss_buf_char(&b, html.p[i]);
		tag = tag && html.p[i] != '>';
	}
	struct ss_str s =
		b.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(&x->arena, ss_buf_get(&b));
	x->make.no_memory = x->make.no_memory || !s.p;
	ss_buf_free(&b);
	return s;
}

static void put_operation(struct roof *r, struct xv *list, const struct row *o)
{
	struct xv *v = xv_add_object(list, NULL);
	xv_i64(v, "rank", (int64_t)cell(r, o->row, "rank"));
	xv_str(v, "name", ss_cell_str(r->t, o->row, "operation"));
	xv_str(v, "category", ss_cell_str(r->t, o->row, "category"));
	xv_rounded(v, "total_self_time_ms", o->self_us / 1000, 3);
	percent(v, "total_self_time_percent", cell(r, o->row, "total_self_time_percent"));
	xv_rounded(v, "operational_intensity_flop_per_byte", o->intensity, 4);
	xv_rounded(v, "bottleneck_operational_intensity_flop_per_byte", o->bottleneck, 4);
	percent(v, "roofline_efficiency_percent", o->roofline);
	percent(v, "compute_efficiency_percent", o->compute);
	percent(v, "max_mem_bw_utilization_percent", o->memory);
	xv_rounded(v, "optimal_flop_rate_gflops", o->optimal, 2);
	percent(v, "dma_stall_percent", cell(r, o->row, "dma_stall_percent"));
	xv_str(v, "bound_by", o->bound);
	xv_z(v, "flops_provenance", o->provenance);
	xv_str(v, "hlo_module_id", ss_cell_str(r->t, o->row, "hlo_module_id"));
	xv_str(v, "source_info", source_of(r->x, ss_cell_str(r->t, o->row, "source_info")));
}

/* --- the program, with the FLOPs of custom calls ----------------------------------------------- */

struct sums {
	double derived_flops, derived_bytes, replaced_flops;
	bool opaque;
};

static void put_replaced(struct roof *r, struct xv *v, const struct sums *s)
{
	double ns = cell(r, 0, "total_time") * 1e3;
	if (!(ns > 0) || !(s->derived_flops > 0))
		return;
	double had = cell(r, 0, r->rate) * ns, slack = FLOPS_TOLERANCE * had;
	bool odd = s->replaced_flops - had > slack;
	double counted = fmax(0, had - s->replaced_flops);
	counted = counted <= slack ? 0 : counted;
	double flops = counted + s->derived_flops, rate = flops / ns,
	       scale = had > 0 ? flops / had : 0;
	const char *provenance = counted > 0 || odd || s->opaque ? "mixed" : "derived_from_shapes";
	double compute =
		r->peak_flop_rate > 0 ? rate / r->peak_flop_rate : cell(r, 0, "compute_efficiency");
	double memory = cell(r, 0, "max_mem_bw_utilization"), bw = cell(r, 0, "measured_memory_bw");
	double intensity = cell(r, 0, "operational_intensity");
	if (bw > 0)
		intensity = rate / gibi_to_giga(bw);
	else if (intensity > 0 && scale > 0)
		intensity *= scale;
	else if (provenance[0] == 'd' && s->derived_bytes > 0)
		intensity = flops / s->derived_bytes;
	struct ss_str bound = new_bound(compute, memory, bound_of(r, 0));
	double roofline = fmax(compute, memory);
	xv_rounded(v, "measured_flop_rate_gflops", rate, 2);
	percent(v, "compute_efficiency_percent", compute);
	percent(v, "roofline_efficiency_percent", roofline);
	xv_rounded(v, "operational_intensity_flop_per_byte", intensity, 4);
	xv_rounded(v, "bottleneck_operational_intensity_flop_per_byte",
		   new_bottleneck(r, 0, bound, rate, intensity, scale), 4);
	if (roofline > 0)
		xv_rounded(v, "optimal_flop_rate_gflops", rate / roofline, 2);
	xv_str(v, "bound_by", bound);
	put_ridge(r, v, bound);
	xv_z(v, "bound_by_provenance", "recomputed_from_derived_custom_call_flops");
	xv_z(v, "flops_provenance", provenance);
	xv_rounded(v, "derived_flops_fraction", flops > 0 ? s->derived_flops / flops : 0, 4);
}

static bool finish(struct roof *r, struct xv **out)
{
	struct xcli *x = r->x;
	struct sums s = { 0 };
	double *key = SS_NEW_N(&x->arena, double, r->n + 1);
	uint32_t *order;
	int64_t top;
	if (!key || !xcli_int(x, "top_n", &top))
		return key ? false : xcli_no_memory(x);
	for (size_t i = 0; i < r->n; i++) {
		key[i] = xv_round(r->v[i].self_us / 1000, 3);
		s.derived_flops += r->v[i].derived_flops;
		s.derived_bytes += r->v[i].derived_bytes;
		s.replaced_flops += r->v[i].replaced_flops;
		s.opaque = s.opaque || strcmp(r->v[i].provenance, "opaque_custom_call") == 0;
	}
	if (!xcli_rank(x, key, r->n, &order))
		return false;
	struct xv *v = *out = xv_object(&x->make), *program = put_program(r), *list;
	double share = xcli_custom_call_share(r->t);
	xv_bool(program, "has_opaque_custom_calls", s.opaque);
	xv_f64(program, "derived_flops_fraction", 0);
	put_replaced(r, program, &s);
	if (s.opaque && !(s.derived_flops > 0)) {
		if (ss_str_is(xv_get_str(program, "flops_provenance"), "xla_cost_model"))
			xv_z(program, "flops_provenance", "opaque_custom_call");
		if (ss_str_is(xv_get_str(program, "bound_by"), "Unknown"))
			xv_z(program, "bound_by", "CustomCall (opaque)");
	}
	xv_put(v, "program", program);
	xv_put(v, "device_info", r->info);
	list = xv_add_array(v, "top_operations");
	/* As of a Python slice: a negative number leaves so many out. */
	size_t n = top < 0		  ? ((uint64_t)-top < r->n ? r->n - (size_t)-top : 0)
		   : (uint64_t)top < r->n ? (size_t)top
					  : r->n;
	for (size_t i = 0; i < n; i++)
		put_operation(r, list, &r->v[order[i]]);
	xv_u64(v, "total_operations_analyzed", r->n);
	if (s.opaque || share >= 10) {
		xcli_put_custom_call_share(v, share);
		xv_z(v, "guidance",
		     "The figures of custom calls are not known. get_llo_analysis and "
		     "aggregate_xplane_events look into them.");
	}
	return true;
}

bool xcli_get_roofline_model(struct xcli *x, struct xv **out)
{
	struct roof r = { .x = x };
	struct ss_err err;
	if (!xcli_open(x))
		return false;
	const struct ss_result *answer = xcli_tool(x, "roofline_model", &err);
	if (!answer)
		return xcli_failed(x, &err);
	r.t = ss_result_find(answer, "records");
	r.info = xcli_device_info(x, r.t);
	r.peak_flop_rate = xv_get_f64(r.info, "peak_flop_rate", 0);
	if (!r.t->nrows) {
		*out = xv_object(&x->make);
		xv_z(*out, "status", "NO_DATA");
		xv_z(*out, "message",
		     "The profile has no operations of a device with a known peak.");
		xv_put(*out, "device_info", r.info);
		return true;
	}
	r.rate = cell(&r, 0, "measured_flop_rate") > 0 ? "measured_flop_rate" : "model_flop_rate";
	r.v = SS_NEW_N(&x->arena, struct row, r.t->nrows + 1);
	bool ok = r.v && index_expressions(&r);
	for (size_t i = 1; ok && i < r.t->nrows; i++)
		ok = add_operation(&r, i);
	ss_strmap_free(&r.names);
	ss_u64map_free(&r.seen);
	return ok ? finish(&r, out) : xcli_no_memory(x);
}
