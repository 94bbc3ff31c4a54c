/*
 * api_facts.c - two small answers of the page's own interface that are sums over results: what a
 * run is in one line of a list, and how a table's total is divided (docs/api.md).
 */
#include "emit/json.h"
#include "model/device/env.h"
#include "serve/call.h"
#include "table/divide.h"
#include "tools/findings.h"
#include "tools/timeline.h"

#include <math.h>

static void text_member(struct ss_out *o, const char *name, struct ss_str value)
{
	ss_out_printf(o, ",\"%s\":", name);
	ss_out_json_str(o, value);
}

static void number_member(struct ss_out *o, const char *name, double v)
{
	ss_out_printf(o, ",\"%s\":", name);
	if (isfinite(v))
		ss_out_f64(o, v);
	else
		ss_out_lit(o, "null");
}

/* ---- a run ---- */

#define OLDEST_NS 1000000000000000000 /* 2001: what is earlier counts from the start of a machine */

static const struct ss_tool *overview_tool(struct ss_err *err)
{
	const struct ss_tool *t = ss_tool_find(SS_STR("overview_page"));
	if (!t)
		ss_fail(err, SS_ENOTFOUND, "there is no overview");
	return t;
}

/* Times in ms; NAN where they are not known. */
struct step_facts {
	size_t count;
	double mean_ms, deviation_ms, input_percent;
	struct ss_str limit;
};

static void put_steps(struct ss_out *o, const struct step_facts *f)
{
	number_member(o, "steps", (double)f->count);
	number_member(o, "step_ms", f->count ? f->mean_ms : NAN);
	number_member(o, "step_ms_deviation", f->count ? f->deviation_ms : NAN);
	number_member(o, "input_percent", f->count ? f->input_percent : NAN);
	text_member(o, "limit", f->limit);
}

static struct step_facts facts_of_verdict(const struct ss_verdict *v)
{
	double window_ps = (double)v->window_ps;
	return (struct step_facts){
		.count = v->steps,
		.mean_ms = v->mean_ps / 1e9,
		.deviation_ms = v->deviation_ps / 1e9,
		.input_percent = window_ps > 0 ? 100 * (double)v->class_ps[SS_TIME_INPUT] / window_ps : NAN,
		.limit = v->nfindings ? ss_cause_title(v->findings[0].cause) : SS_STR(""),
	};
}

/* `arg`: does somebody want to know the steps? That reads every event, the rest reads none. */
static bool make_run(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	const bool *steps = arg;
	struct ss_verdict v = { 0 };
	if (*steps && !ss_findings_of(&v, m, arena, err))
		return false;
	const struct ss_env *env = ss_model_env(m, err);
	if (!env)
		return false;
	ss_out_lit(o, "{\"device\":");
	ss_out_json_str(o, env->device_type);
	text_member(o, "hardware", ss_hardware_name(env->hardware));
	number_member(o, "cores", env->core_count);
	number_member(o, "hosts", env->hosts_unknown ? NAN : (double)env->host_count);
	ss_out_printf(o, ",\"training\":%s", env->is_training ? "true" : "false");
	int64_t start_ns = ss_timeline_start_unix_ns(m);
	number_member(o, "recorded_s", start_ns > OLDEST_NS ? (double)start_ns / 1e9 : NAN);
	if (*steps) {
		struct step_facts f = facts_of_verdict(&v);
		put_steps(o, &f);
	}
	ss_out_char(o, '}');
	return true;
}

/* Older overviews name the device alone. */
static struct ss_str hardware_of(struct ss_str device)
{
	bool tpu = ss_str_starts(device, SS_STR("TPU")), cpu = ss_str_starts(device, SS_STR("CPU"));
	bool gpu = ss_str_contains(device, SS_STR("GPU"));
	return ss_hardware_name(tpu ? SS_HW_TPU : gpu ? SS_HW_GPU : cpu ? SS_HW_CPU_ONLY : SS_HW_UNKNOWN);
}

/* "8 (Replica count = 8, num cores per replica = 1)" is 8. */
static double leading_number(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	size_t blank = p ? ss_str_chr(p->text, ' ') : SS_NPOS;
	double v = ss_result_number(r, id);
	if (isnan(v) && blank != SS_NPOS && !ss_str_to_f64(ss_str_sub(p->text, 0, blank), &v))
		v = NAN;
	return isfinite(v) ? v : 0;
}

static struct step_facts facts_of_overview(const struct ss_result *r)
{
	const struct ss_prop *level = ss_result_find_prop(r, "bottleneck");
	bool waits = level && ss_str_is(level->text, "host");
	struct step_facts f = {
		.mean_ms = ss_result_number(r, "steptime_ms_average"),
		.deviation_ms = ss_result_number(r, "steptime_ms_standard_deviation"),
		.input_percent = ss_result_number(r, "infeed_percent_average"),
		.limit = waits ? ss_cause_title(SS_CAUSE_INPUT) : SS_STR(""),
	};
	for (size_t i = 0; i < r->ntables; i++)
		if (strcmp(r->tables[i].name, "steps") == 0)
			f.count = r->tables[i].nrows;
	/* XProf's table holds the smallest double instead of 0. */
	if (fabs(f.input_percent) < 1e-9)
		f.input_percent = 0;
	return f;
}

/* The same of an overview that was stored when the profile was taken: it says all at once. */
static bool make_stored_run(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	const struct ss_tool *overview = overview_tool(err);
	struct ss_request q = { .model = m, .arena = arena };
	struct ss_result r;
	(void)arg;
	ss_result_init(&r, arena);
	if (!overview || !ss_legacy_reader(overview)(&q, &r, err) || !ss_result_is_whole(&r, err))
		return false;
	const struct ss_prop *device = ss_result_find_prop(&r, "device_type"), *training = ss_result_find_prop(&r, "is_training");
	struct ss_str name = device ? device->text : SS_STR("");
	ss_out_lit(o, "{\"device\":");
	ss_out_json_str(o, name);
	text_member(o, "hardware", hardware_of(name));
	number_member(o, "cores", leading_number(&r, "device_core_count"));
	number_member(o, "hosts", leading_number(&r, "host_count"));
	ss_out_printf(o, ",\"training\":%s", training && ss_str_ieq(training->text, SS_STR("true")) ? "true" : "false");
	struct step_facts f = facts_of_overview(&r);
	put_steps(o, &f);
	ss_out_char(o, '}');
	return true;
}

/* Neither a profile nor a stored overview: a graph, say. */
static bool reply_unknown(struct ss_call *c, struct ss_err *err)
{
	const struct step_facts none = { .limit = SS_STR("") };
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "{\"device\":\"\"");
	text_member(&o, "hardware", ss_hardware_name(SS_HW_UNKNOWN));
	ss_out_lit(&o, ",\"cores\":0,\"hosts\":0,\"training\":false");
	put_steps(&o, &none);
	ss_out_char(&o, '}');
	return ss_reply_out(c, 200, "application/json", &o, err);
}

bool ss_route_api_run(struct ss_call *c, struct ss_err *err)
{
	static const struct ss_tool all = { .name = "", .flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS };
	struct ss_selection sel;
	const struct ss_run *run = ss_call_session(c, err);
	const struct ss_tool *overview = run ? overview_tool(err) : NULL;
	bool steps = ss_str_is(ss_call_arg(c, "steps"), "1");
	if (!overview)
		return false;
	bool stored = ss_legacy_reader(overview) && ss_request_file_kind(overview, run);
	if (!stored && !run->nhosts)
		return reply_unknown(c, err);
	struct ss_str key = stored ? SS_STR("run|stored") : steps ? SS_STR("run|steps") : SS_STR("run");
	return ss_call_select(c, run, stored ? overview : &all, SS_STR(""), &sel, err) &&
	       ss_reply_visit(c, &sel, key, "application/json", stored ? make_stored_run : make_run, &steps, sizeof(steps), err);
}

/* ---- shares ---- */

#define MAX_DIVISIONS 16
#define MAX_NAMES 100

struct shares_arg {
	const struct ss_tool *tool;
	uint64_t table, max;
	/* Texts of the request, which may be gone before the job is done: copied. */
	char by[512], value[64], name[64], where[64], is[256], props[512];
};

static bool take_text(const struct ss_call *c, const char *name, char *to, size_t room, struct ss_err *err)
{
	struct ss_str v = ss_call_arg(c, name);
	if (v.n >= room)
		return ss_fail(err, SS_EINVAL, "the parameter '%s' is too long", name);
	if (v.n)
		memcpy(to, v.p, v.n);
	to[v.n] = '\0';
	return true;
}

static bool take_number(const struct ss_call *c, const char *name, uint64_t preset, uint64_t max, uint64_t *out,
			struct ss_err *err)
{
	struct ss_str v = ss_call_arg(c, name);
	*out = preset;
	if (!v.n || (ss_str_to_u64(v, out) && *out <= max))
		return true;
	return ss_fail(err, SS_EINVAL, "the parameter '%s' is not a whole number up to %llu", name, (unsigned long long)max);
}

static bool column(const struct ss_table *t, const char *id, size_t *out, struct ss_err *err)
{
	*out = ss_table_col(t, id);
	return *out != SS_NPOS || ss_fail(err, SS_ENOTFOUND, "the table '%s' has no column '%.100s'", t->name, id);
}

static void put_division(struct ss_out *o, struct ss_str by, const struct ss_division *d)
{
	ss_out_lit(o, "{\"by\":");
	ss_out_json_str(o, by);
	number_member(o, "total", d->total);
	number_member(o, "groups", (double)d->ngroups);
	number_member(o, "rest", d->rest);
	number_member(o, "rest_frac", d->rest_frac);
	ss_out_lit(o, ",\"top\":[");
	for (size_t i = 0; i < d->n; i++) {
		ss_out_z(o, i ? ",{\"name\":" : "{\"name\":");
		ss_out_json_str(o, d->top[i].name);
		number_member(o, "sum", d->top[i].sum);
		number_member(o, "frac", d->top[i].frac);
		ss_out_char(o, '}');
	}
	ss_out_lit(o, "]}");
}

/* The row that takes most, as {"name":..,"value":..,"frac":..}; null without one. */
static bool put_greatest(struct ss_out *o, const struct ss_table *t, const struct ss_divide *all, size_t name,
			 struct ss_arena *arena)
{
	struct ss_division whole;
	size_t row = ss_table_greatest(t, all->value, name);
	if (row == SS_NPOS) {
		ss_out_lit(o, ",\"greatest\":null");
		return true;
	}
	if (!ss_table_divide(t, all, arena, &whole))
		return false;
	double v = ss_table_number(t, row, all->value);
	ss_out_lit(o, ",\"greatest\":{\"name\":");
	ss_out_json_str(o, t->cols[name].type == SS_TYPE_STR ? t->data[name].str[row] : SS_STR(""));
	number_member(o, "value", v);
	number_member(o, "frac", v / whole.total);
	ss_out_char(o, '}');
	return true;
}

static bool put_divisions(struct ss_out *o, const struct ss_table *t, struct ss_divide *how, const char *list,
			  struct ss_arena *arena, struct ss_err *err)
{
	size_t n = 0;
	ss_out_lit(o, ",\"divisions\":[");
	for (struct ss_str rest = ss_str_from(list); rest.n; n++) {
		char id[64];
		struct ss_division d;
		size_t comma = ss_str_chr(rest, ',');
		struct ss_str by = ss_str_sub(rest, 0, comma == SS_NPOS ? rest.n : comma);
		rest = ss_str_sub(rest, comma == SS_NPOS ? rest.n : comma + 1, rest.n);
		if (by.n >= sizeof(id) || n == MAX_DIVISIONS)
			return ss_fail(err, SS_EINVAL, "the parameter 'by' names no columns, or too many");
		memcpy(id, by.p, by.n);
		id[by.n] = '\0';
		if (!column(t, id, &how->by, err))
			return false;
		if (!ss_table_divide(t, how, arena, &d))
			return ss_fail_mem(err);
		ss_out_z(o, n ? "," : "");
		put_division(o, by, &d);
	}
	ss_out_char(o, ']');
	return true;
}

/*
 * The parts of a whole that stand as properties, in the order asked for; what is absent counts as
 * nothing.
 */
static bool put_props(struct ss_out *o, const struct ss_result *r, const char *list, struct ss_err *err)
{
	struct ss_share v[MAX_DIVISIONS];
	struct ss_division d = { .top = v };
	for (struct ss_str rest = ss_str_from(list); rest.n; d.n++) {
		char id[64];
		size_t comma = ss_str_chr(rest, ',');
		struct ss_str name = ss_str_sub(rest, 0, comma == SS_NPOS ? rest.n : comma);
		rest = ss_str_sub(rest, comma == SS_NPOS ? rest.n : comma + 1, rest.n);
		if (name.n >= sizeof(id) || d.n == MAX_DIVISIONS)
			return ss_fail(err, SS_EINVAL, "the parameter 'props' names no properties, or too many");
		memcpy(id, name.p, name.n);
		id[name.n] = '\0';
		double x = ss_result_number(r, id);
		/* A difference of equal sums is no part. */
		v[d.n] = (struct ss_share){ name, isfinite(x) && x > 1e-6 ? x : 0, 0 };
		d.total += v[d.n].sum;
	}
	for (size_t i = 0; i < d.n; i++)
		v[i].frac = d.total > 0 ? v[i].sum / d.total : 0;
	d.ngroups = d.n;
	ss_out_lit(o, "{\"unit\":\"\",\"greatest\":null,\"divisions\":[");
	put_division(o, SS_STR(""), &d);
	ss_out_lit(o, "]}");
	return true;
}

static bool make_shares(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	const struct shares_arg *a = arg;
	struct ss_request q = { .model = m, .arena = arena };
	struct ss_divide how = { .where = SS_NPOS, .is = ss_str_from(a->is), .max = (size_t)a->max };
	struct ss_result r;
	size_t name;
	ss_result_init(&r, arena);
	if (!ss_request_tables(a->tool, &q, &r, err))
		return false;
	if (a->props[0])
		return put_props(o, &r, a->props, err);
	if (a->table >= r.ntables)
		return ss_fail(err, SS_ENOTFOUND, "%s has %zu tables here", a->tool->name, r.ntables);
	const struct ss_table *t = &r.tables[a->table];
	if (!column(t, a->value, &how.value, err) || !column(t, a->name[0] ? a->name : a->value, &name, err) ||
	    (a->where[0] && !column(t, a->where, &how.where, err)))
		return false;
	if (t->cols[how.value].type != SS_TYPE_F64 && t->cols[how.value].type != SS_TYPE_I64)
		return ss_fail(err, SS_EINVAL, "the column '%s' holds no numbers", a->value);
	ss_out_lit(o, "{\"unit\":");
	ss_out_json_str(o, ss_str_from(ss_unit_name(t->cols[how.value].unit)));
	how.by = name;
	if (!put_greatest(o, t, &how, name, arena))
		return ss_fail_mem(err);
	if (!put_divisions(o, t, &how, a->by, arena, err))
		return false;
	ss_out_char(o, '}');
	return true;
}

bool ss_route_api_shares(struct ss_call *c, struct ss_err *err)
{
	struct shares_arg a = { 0 };
	struct ss_selection sel;
	struct ss_str tool;
	if (!ss_call_need(c, "tool", &tool, err))
		return false;
	a.tool = ss_tool_find(tool);
	if (!a.tool || a.tool->kind == SS_KIND_TIMELINE || ss_legacy_files(a.tool))
		return ss_fail(err, SS_ENOTFOUND, "there is no table '" SS_FMT "'", SS_ARG(tool));
	if (!take_number(c, "table", 0, 1000, &a.table, err) || !take_number(c, "most", 6, MAX_NAMES, &a.max, err) ||
	    !take_text(c, "by", a.by, sizeof(a.by), err) || !take_text(c, "value", a.value, sizeof(a.value), err) ||
	    !take_text(c, "name", a.name, sizeof(a.name), err) || !take_text(c, "where", a.where, sizeof(a.where), err) ||
	    !take_text(c, "is", a.is, sizeof(a.is), err) || !take_text(c, "props", a.props, sizeof(a.props), err))
		return false;
	const struct ss_run *run = ss_call_session(c, err);
	struct ss_str key = ss_arena_printf(c->req->arena, "shares|%s|%llu|%llu|%s|%s|%s|%s|%s|%s", a.tool->name,
					    (unsigned long long)a.table, (unsigned long long)a.max, a.by, a.value, a.name,
					    a.where, a.is, a.props);
	if (!key.p)
		return ss_fail_mem(err);
	return run && ss_call_select(c, run, a.tool, ss_call_arg(c, "host"), &sel, err) &&
	       (a.tool->flags & SS_TOOL_VISITS ? ss_reply_visit : ss_reply_model)(c, &sel, key, "application/json", make_shares,
										  &a, sizeof(a), err);
}
