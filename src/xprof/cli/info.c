/*
 * info.c - what is in the capture: hosts, planes and lines, programs, the device's peaks, and what
 * is said of LLO data.
 */
#include "model/host/host.h"

#include "model/program/hlo_map.h"
#include "tools/module_pick.h"
#include "xprof/cli/modules.h"
#include "xprof/cli/xcli.h"
#include "xspace/events.h"

#include <ctype.h>
#include <stdlib.h>

bool xcli_get_hosts(struct xcli *x, struct xv **out)
{
	*out = xv_object(&x->make);
	struct xv *hosts = xv_add_array(*out, "hosts");
	for (size_t i = 0; i < x->ntraces; i++)
		xv_str(xv_add_object(hosts, NULL), "hostname", x->traces[i].host);
	return true;
}

/* --- planes and lines -------------------------------------------------------------------------- */

struct capture {
	bool device, llo, counters;
};

static bool is_one_of(struct ss_str name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_is(name, list[i]))
			return true;
	return false;
}

static void judge_line(struct capture *c, struct ss_str plane, struct ss_str line, uint64_t events)
{
	static const char *const device[] = { "XLA Modules", "XLA Ops", "XLA TraceMe" };
	static const char *const llo[] = {
		"Pallas Primitives", "Source Lines",	  "Source code",      "LLO Instructions",
		"SALU Instructions", "VALU Instructions", "EUP Instructions", "XLU Instructions",
		"VLD Instructions",  "VST Instructions",
	};
	static const char *const stats[] = { "TC Stats", "SC Stats", "CMN Stats" };
	if (!events)
		return;
	bool on_device = ss_str_contains(plane, SS_STR("/device:")) ||
			 ss_str_contains(plane, SS_STR("TPU:")) ||
			 ss_str_contains(plane, SS_STR("GPU:"));
	c->device = c->device || (on_device && is_one_of(line, device, SS_COUNT(device)));
	c->llo = c->llo || is_one_of(line, llo, SS_COUNT(llo)) ||
		 ss_str_contains(line, SS_STR("MXU"));
	c->counters = c->counters || ss_str_contains(line, SS_STR("_counters_")) ||
		      is_one_of(line, stats, SS_COUNT(stats));
}

/* Has the plane, by its names, kernels at the level of LLO? */
static bool has_llo(const struct ss_xplane *p)
{
	bool llo = false;
	for (uint32_t i = 0; ss_str_is(p->name, "/host:metadata") && i < p->nstat_meta; i++)
		llo = llo || ss_str_is(p->stat_meta[i].name, "llo_proto");
	return llo;
}

static bool add_plane(struct xcli *x, struct xv *planes, struct ss_host *h, struct ss_xplane *p,
		      struct capture *c)
{
	struct xv *o = xv_add_object(planes, NULL);
	xv_str(o, "name", p->name);
	struct xv *lines = xv_add_array(o, "lines");
	int64_t total = 0;
	for (uint32_t i = 0; i < p->nlines; i++) {
		struct ss_xevents e = { 0 };
		struct ss_err err = { 0 };
		if (!ss_xevents_load(&e, &h->x, p, &p->lines[i], &err))
			return xcli_failed(x, &err);
		struct xv *l = xv_add_object(lines, NULL);
		struct ss_str name =
			p->lines[i].display_name.n ? p->lines[i].display_name : p->lines[i].name;
		xv_str(l, "name", name);
		xv_i64(l, "event_count", e.n);
		total += e.n;
		judge_line(c, p->name, name, e.n);
		ss_xevents_free(&e);
	}
	xv_i64(o, "total_events", total);
	c->llo = c->llo || has_llo(p);
	return true;
}

bool xcli_inspect_capture(struct xcli *x, struct xv **out)
{
	struct capture c = { false, false, false };
	if (!xcli_open(x))
		return false;
	*out = xv_object(&x->make);
	xv_str(*out, "session_id", x->input);
	struct xv *planes = xv_add_array(*out, "planes");
	for (size_t i = 0; i < x->nhosts; i++)
		for (uint32_t p = 0; p < x->hosts[i].x.nplanes; p++)
			if (!add_plane(x, planes, &x->hosts[i], &x->hosts[i].x.planes[p], &c))
				return false;
	xv_bool(*out, "capture_valid_for_device_analysis", c.device);
	xv_bool(*out, "capture_valid_for_llo_analysis", c.llo);
	xv_bool(*out, "capture_valid_for_counter_sampling", c.counters);
	return true;
}

/* --- programs ---------------------------------------------------------------------------------- */

bool xcli_modules(struct xcli *x, struct xcli_modules *list)
{
	struct ss_err err = { 0 };
	size_t n = 0;
	*list = (struct xcli_modules){ 0 };
	if (!xcli_open(x))
		return false;
	for (size_t i = 0; i < x->nhosts; i++) {
		struct ss_hlo_map *map = ss_host_hlo(&x->hosts[i], &err);
		uint32_t k = 0;
		if (!map)
			return xcli_failed(x, &err);
		ss_hlo_map_entries(map, &k);
		n += k;
	}
	list->v = SS_NEW_N(&x->arena, struct ss_str, n + 1);
	if (!list->v)
		return xcli_no_memory(x);
	for (size_t i = 0; i < x->nhosts; i++) {
		uint32_t k = 0;
		const struct ss_hlo_entry *e =
			ss_hlo_map_entries(ss_host_hlo(&x->hosts[i], &err), &k);
		for (uint32_t m = 0; m < k; m++) {
			list->v[list->n] = ss_hlo_entry_file(&e[m], &x->arena);
			if (!list->v[list->n++].p)
				return xcli_no_memory(x);
		}
	}
	qsort(list->v, list->n, sizeof(*list->v), ss_cmp_str);
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++)
		if (!kept || !ss_str_eq(list->v[kept - 1], list->v[i]))
			list->v[kept++] = list->v[i];
	list->n = kept;
	return true;
}

bool xcli_list_hlo_modules(struct xcli *x, struct xv **out)
{
	struct xcli_modules list;
	if (!xcli_modules(x, &list))
		return false;
	*out = xv_object(&x->make);
	xv_z(*out, "status", "SUCCESS");
	xv_u64(*out, "count", list.n);
	struct xv *names = xv_add_array(*out, "modules");
	for (size_t i = 0; i < list.n; i++)
		xv_str(names, NULL, list.v[i]);
	return true;
}

/* --- the device -------------------------------------------------------------------------------- */

/* XProf's word for a property of the roofline model, and its unit; NULL: it has none. */
static const char *info_name(const char *id, const char **unit)
{
	static const struct {
		const char *id, *name, *unit;
	} list[] = {
		{ "peak_hbm_bw", "peak_hbm_bw_gibs", "GiB/s" },
		{ "peak_vmem_read_bw", "peak_vmem_read_bw_gibs", "GiB/s" },
		{ "peak_vmem_write_bw", "peak_vmem_write_bw_gibs", "GiB/s" },
		{ "peak_cmem_read_bw", "peak_cmem_read_bw_gibs", "GiB/s" },
		{ "peak_cmem_write_bw", "peak_cmem_write_bw_gibs", "GiB/s" },
		{ "peak_flop_rate", NULL, "GFLOP/s" },
		{ "hbm_ridge_point", NULL, "FLOP/byte" },
		{ "vmem_read_ridge_point", NULL, "FLOP/byte" },
		{ "vmem_write_ridge_point", NULL, "FLOP/byte" },
		{ "cmem_read_ridge_point", NULL, "FLOP/byte" },
		{ "cmem_write_ridge_point", NULL, "FLOP/byte" },
	};
	*unit = NULL;
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (strcmp(id, list[i].id) == 0) {
			*unit = list[i].unit;
			return list[i].name ? list[i].name : id;
		}
	return id;
}

struct xv *xcli_device_info(struct xcli *x, const struct ss_table *t)
{
	struct xv *o = xv_object(&x->make), *units = xv_object(&x->make);
	for (size_t i = 0; i < t->nprops; i++) {
		const char *unit, *name = info_name(t->props[i].id, &unit);
		double v;
		if (ss_str_to_f64(t->props[i].text, &v))
			xv_f64(o, name, v);
		else
			xv_str(o, name, t->props[i].text);
		if (unit)
			xv_z(units, name, unit);
	}
	if (xv_length(units))
		xv_put(o, "units", units);
	return o;
}

bool xcli_get_device_information(struct xcli *x, struct xv **out)
{
	struct ss_err err;
	if (!xcli_open(x))
		return false;
	const struct ss_result *r = xcli_tool(x, "roofline_model", &err);
	if (!r)
		return xcli_failed(x, &err);
	*out = xcli_device_info(x, ss_result_find(r, "records"));
	return true;
}

/* --- LLO --------------------------------------------------------------------------------------- */

#define LLO_FLAG "--xla_xprof_register_llo_debug_info=true"

/* Nobody has published the numbers of its fields, and no profile was there to find them out. */
#define LLO_NOT_READ "The trace holds LLO data of its kernels, which stepscope does not read: its format is not published."

static bool llo_carried(const struct xcli *x)
{
	bool carried = false;
	for (size_t h = 0; h < x->nhosts; h++)
		for (uint32_t p = 0; p < x->hosts[h].x.nplanes; p++)
			carried = carried || has_llo(&x->hosts[h].x.planes[p]);
	return carried;
}

static struct xv *llo_unavailable(struct xcli *x)
{
	struct xv *o = xv_object(&x->make);
	if (llo_carried(x)) {
		xv_z(o, "status", "UNAVAILABLE");
		xv_z(o, "reason", "LLO_DATA_NOT_READ");
		xv_z(o, "error", LLO_NOT_READ);
		return o;
	}
	xv_z(o, "status", "UNAVAILABLE");
	xv_z(o, "reason", "LLO_DATA_ABSENT");
	xv_z(o, "error", "The trace holds no LLO data of its kernels.");
	xv_z(o, "remediation",
	     "Set LIBTPU_INIT_ARGS=\"" LLO_FLAG
	     "\" before the program loads libtpu, and record again. "
	     "--xla_xprof_enable_custom_call_tracing=true adds what runs inside of custom calls.");
	xv_z(xv_add_array(o, "required_flags"), NULL, LLO_FLAG);
	xv_z(xv_add_array(o, "optional_flags"), NULL,
	     "--xla_xprof_enable_custom_call_tracing=true");
	return o;
}

bool xcli_get_llo_analysis(struct xcli *x, struct xv **out)
{
	if (!xcli_open(x))
		return false;
	*out = llo_unavailable(x);
	return true;
}

bool xcli_get_llo_debug_string(struct xcli *x, struct xv **out)
{
	if (!xcli_open(x))
		return false;
	*out = llo_unavailable(x);
	return true;
}

bool xcli_get_llo_static_analysis(struct xcli *x, struct xv **out)
{
	static const char *const modes[] = {
		"region_tree", "list_ops",	    "bundle_util",
		"opcodes",     "register_pressure", "spills",
		"bdi_stalls",  "target_info",	    "source_for_bundle",
	};
	const char *mode = xcli_text(x, "mode");
	bool known = false;
	for (size_t i = 0; i < SS_COUNT(modes); i++)
		known = known || strcmp(mode, modes[i]) == 0;
	if (x->ntraces && !xcli_open(x))
		return false;
	/* XProf looks at the mode only where there is data. */
	known = known || !llo_carried(x);
	*out = xv_object(&x->make);
	xv_z(*out, "status", known ? "ERROR" : "UNIMPLEMENTED");
	xv_z(*out, "semantics", "static_modelled_schedule");
	xv_z(*out, "mode", mode);
	const char *why = llo_carried(x) ? LLO_NOT_READ : "The trace holds no LLO modules.";
	xv_z(*out, "error", known ? why : "There is no such mode.");
	return true;
}
