/*
 * routes.c - the routes of XProf 2.24.2, with its parameters, shapes and statuses, so that its
 * page, TensorBoard's plugin and people's scripts work unchanged. Differences: errors are JSON,
 * missing parameters are status 400 where XProf drops the connection, and no route reads or writes
 * outside of the log directory.
 */
#include "base/vec.h"

#include "model/model.h"
#include "model/program/hlo_map.h"
#include "model/visit.h"
#include "serve/call.h"
#include "serve/warm.h"

#include <ctype.h>
#include <stdlib.h>

/* The release whose interface this is; XProf's page shows it and compares it with nothing. */
#define XPROF_VERSION "2.24.2"

bool ss_route_version(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, XPROF_VERSION);
	return ss_reply_out(c, 200, "text/plain", &o, err);
}

bool ss_route_config(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_printf(&o, "{\"enableTabNameLabel\": false, \"hideCaptureProfileButton\": %s, \"srcPathPrefix\": ",
		      c->srv->capture_dir ? "false" : "true");
	if (c->srv->src_prefix)
		ss_out_json_str(&o, ss_str_from(c->srv->src_prefix));
	else
		ss_out_lit(&o, "null");
	ss_out_char(&o, '}');
	return ss_reply_out(c, 200, "application/json", &o, err);
}

/* ["a", "b"] as Python prints it. */
static void string_list(struct ss_out *o, const struct ss_str *v, size_t n)
{
	ss_out_char(o, '[');
	for (size_t i = 0; i < n; i++) {
		ss_out_z(o, i ? ", " : "");
		ss_out_json_str(o, v[i]);
	}
	ss_out_char(o, ']');
}

bool ss_route_runs(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	const struct ss_store *s = ss_call_store(c, 0, err);
	if (!s)
		return false;
	ss_out_init(&o, NULL, NULL);
	ss_out_char(&o, '[');
	for (size_t i = 0, any = 0; i < s->nruns; i++) {
		if (s->runs[i].aside)
			continue;
		ss_out_z(&o, any++ ? ", " : "");
		ss_out_json_str(&o, s->runs[i].name);
	}
	ss_out_char(&o, ']');
	return ss_reply_out(c, 200, "application/json", &o, err);
}

/* A run that must be named but need not exist: then *run is NULL. */
static bool maybe_run(struct ss_call *c, const struct ss_run **run, struct ss_err *err)
{
	struct ss_str name;
	struct ss_err why = { 0 };
	if (!ss_call_need(c, "run", &name, err))
		return false;
	*run = ss_call_find_run(c, name, &why);
	return !why.code || ss_fail(err, why.code, "%s", why.text);
}

/* Where XProf's list has a place for a tool; the others follow in the order of their names. */
static size_t place_of(const char *name)
{
	static const char *const order[] = {
		"overview_page", "trace_viewer",   "trace_viewer@",	      "graph_viewer",
		"op_profile",	 "hlo_op_profile", "input_pipeline_analyzer", "input_pipeline",
		"kernel_stats",	 "memory_profile", "memory_viewer",	      "roofline_model",
		"perf_counters", "pod_viewer",	   "framework_op_stats",      "tensorflow_stats",
		"hlo_op_stats",	 "hlo_stats",	   "inference_profile",	      "megascale_stats",
	};
	size_t i = 0;
	while (i < SS_COUNT(order) && strcmp(order[i], name) != 0)
		i++;
	return i;
}

static int by_place(const void *a, const void *b)
{
	const struct ss_tool *ta = *(const struct ss_tool *const *)a, *tb = *(const struct ss_tool *const *)b;
	size_t pa = place_of(ta->name), pb = place_of(tb->name);
	return SS_CMP(pa, pb) ?: strcmp(ta->name, tb->name);
}

/* Which tools the run has files of their own for: stored answers, and without a profile whatever else they read. */
struct own_tools {
	bool has[64];	/* by number of the tool */
};

static struct own_tools own_tools(const struct ss_run *run)
{
	struct own_tools own = { { false } };
	for (size_t i = 0; ss_tools[i] && i < SS_COUNT(own.has); i++) {
		const struct ss_tool *t = ss_tools[i];
		const char *answers = ss_legacy_answers(t), *files = ss_legacy_files(t);
		own.has[i] = (answers && ss_run_has(run, answers)) || (!run->nhosts && files && ss_run_has(run, files));
	}
	return own;
}

/* `first` NULL: a run without a profile, which XProf would not see. */
static bool tool_names(const struct own_tools *own, const struct ss_host *first, struct ss_arena *arena, struct ss_out *o,
		       struct ss_err *err)
{
	size_t n = 0, all = 0;
	while (ss_tools[all])
		all++;
	const struct ss_tool **v = SS_NEW_N(arena, const struct ss_tool *, all + 1);
	struct ss_str *names = SS_NEW_N(arena, struct ss_str, all + 1);
	if (!v || !names)
		return ss_fail_mem(err);
	for (size_t i = 0; i < all; i++) {
		const struct ss_tool *t = ss_tools[i];
		bool computed = first && !ss_legacy_files(t) && !(t->flags & (SS_TOOL_UNLISTED | SS_TOOL_OURS));
		if ((i < SS_COUNT(own->has) && own->has[i]) || (computed && ss_tool_present(t, first)))
			v[n++] = t;
	}
	qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++)
		names[i] = ss_str_from(v[i]->name);
	string_list(o, names, n);
	return true;
}

/* The first host alone is asked what there is, opened but not read: as XProf does. */
static bool list_tools(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	return tool_names(arg, m->hosts[0], arena, o, err);
}

static bool empty_list(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "[]");
	return ss_reply_out(c, 200, "application/json", &o, err);
}

static bool other_tools(struct ss_call *c, const struct ss_run *run, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	struct own_tools own = own_tools(run);
	return tool_names(&own, NULL, c->req->arena, &o, err) && ss_reply_out(c, 200, "application/json", &o, err);
}

/* The run's first host as a selection. */
static bool first_host(struct ss_call *c, const struct ss_run *run, struct ss_selection *sel,
		       struct ss_err *err)
{
	static const struct ss_tool any = { .name = "" };
	return ss_call_select(c, run, &any, SS_STR(""), sel, err);
}

bool ss_route_run_tools(struct ss_call *c, struct ss_err *err)
{
	const struct ss_run *run;
	struct ss_selection sel;
	if (!maybe_run(c, &run, err))
		return false;
	if (!run || !run->nhosts)
		return run ? other_tools(c, run, err) : empty_list(c, err);
	struct own_tools own = own_tools(run);
	char key[16 + SS_COUNT(own.has)] = "run_tools ";
	for (size_t i = 0; i < SS_COUNT(own.has); i++)
		key[10 + i] = own.has[i] ? '1' : '0';
	return first_host(c, run, &sel, err) &&
	       ss_reply_model(c, &sel, (struct ss_str){ key, 10 + SS_COUNT(own.has) }, "application/json", list_tools, &own,
			      sizeof(own), err);
}

bool ss_route_hosts(struct ss_call *c, struct ss_err *err)
{
	const struct ss_run *run;
	struct ss_out o;
	size_t n;
	if (!maybe_run(c, &run, err))
		return false;
	if (!run)
		return empty_list(c, err);
	const struct ss_tool *tool = ss_tool_find(ss_call_arg(c, "tag"));
	bool combines = tool && ss_request_combines(tool, run);
	bool only_all = combines && ss_request_only_combined(tool, run, true);
	/* A timeline draws any selection, but XProf's page makes that selection itself. */
	bool all = combines && tool->flags & SS_TOOL_ALL_HOSTS && tool->kind != SS_KIND_TIMELINE;
	struct ss_str *names = ss_call_hosts(c, run, tool ? ss_request_file_kind(tool, run) : NULL, all, only_all, &n);
	if (!names)
		return ss_fail_mem(err);
	ss_out_init(&o, NULL, NULL);
	ss_out_char(&o, '[');
	for (size_t i = 0; i < n; i++) {
		ss_out_z(&o, i ? ", {\"hostname\": " : "{\"hostname\": ");
		ss_out_json_str(&o, names[i]);
		ss_out_char(&o, '}');
	}
	ss_out_char(&o, ']');
	return ss_reply_out(c, 200, "application/json", &o, err);
}

static bool data(struct ss_call *c, enum ss_format format, struct ss_err *err)
{
	struct ss_str tag, hosts = SS_STR("");
	struct ss_selection sel;
	const struct ss_run *run = ss_call_run(c, err);
	if (!run || !ss_call_need(c, "tag", &tag, err))
		return false;
	/* Older pages ask for the streaming form of a tool by a trailing "^". */
	if (ss_str_ends(tag, SS_STR("^")))
		tag.n--;
	const struct ss_tool *tool = ss_tool_find(tag);
	if (!tool)
		return ss_fail(err, SS_ENOTFOUND, "there is no tool '%.*s'", tag.n > 100 ? 100 : (int)tag.n,
			       tag.p);
	if (tool->kind == SS_KIND_TIMELINE)
		hosts = ss_call_arg(c, "hosts");
	if (!hosts.n)
		hosts = ss_call_arg(c, "host");
	/* XProf finds a program whatever host is named. */
	if (tool->flags & SS_TOOL_OF_PROGRAM && format == SS_FORMAT_XPROF)
		hosts = SS_STR("");
	/* Without a host XProf takes all, even where it then fails. */
	return ss_call_select(c, run, tool, hosts, &sel, err) && ss_reply_tool(c, tool, run, &sel, format, err);
}

/* "&name=value", if the request has it. */
static void pass_on(struct ss_out *o, const struct ss_call *c, const char *name)
{
	struct ss_str value = ss_call_arg(c, name);
	if (!value.n)
		return;
	ss_out_printf(o, "&%s=", name);
	for (size_t i = 0; i < value.n; i++)
		ss_out_printf(o, isalnum((unsigned char)value.p[i]) ? "%c" : "%%%02X", (unsigned char)value.p[i]);
}

/* XProf draws the allocations of a program in a document of its own, with a program from the network; our page draws them. */
static bool lead_to_allocations(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "run", "host", "module_name", "program_id", "memory_space",
					     "view_memory_allocation_timeline" };
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	/* From /data/plugin/profile/data, wherever that is mounted. */
	ss_out_lit(&o, "../../../?tool=memory_viewer");
	for (size_t i = 0; i < SS_COUNT(names); i++)
		pass_on(&o, c, names[i]);
	ss_out_char(&o, '\0');
	struct ss_str location = { NULL, 0 };
	if (ss_out_finish(&o, NULL))
		location = ss_arena_str(c->req->arena, (struct ss_str){ o.buf, o.n });
	ss_out_free(&o);
	if (!location.p)
		return ss_fail_mem(err);
	c->reply->status = 303;
	c->reply->type = "text/html; charset=utf-8";
	c->reply->location = location.p;
	return true;
}

bool ss_route_data(struct ss_call *c, struct ss_err *err)
{
	if (ss_str_is(ss_call_arg(c, "tag"), "memory_viewer") && ss_call_arg(c, "view_memory_allocation_timeline").n)
		return lead_to_allocations(c, err);
	return data(c, SS_FORMAT_XPROF, err);
}

/* Letters, digits, - and _ of `s`, anything else as _. */
static void plain_name(struct ss_out *o, struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];
		bool ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
			  ch == '-' || ch == '_';
		ss_out_char(o, ok ? ch : '_');
	}
}

static struct ss_str csv_disposition(struct ss_call *c)
{
	struct ss_out o;
	struct ss_str host = ss_call_arg(c, "host"),
		      parts[3] = { ss_call_arg(c, "tag"), ss_call_arg(c, "run") };
	size_t dash = ss_str_rchr(host, '-');
	parts[2] = dash == SS_NPOS ? host : ss_str_sub(host, dash + 1, host.n);
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "attachment; filename=\"");
	for (size_t i = 0, any = 0; i < SS_COUNT(parts); i++)
		if (parts[i].n) {
			ss_out_z(&o, any++ ? "_" : "");
			plain_name(&o, parts[i]);
		}
	ss_out_lit(&o, ".csv\"");
	struct ss_str s = { NULL, 0 };
	if (ss_out_finish(&o, NULL))
		s = ss_arena_str(c->req->arena, (struct ss_str){ o.buf, o.n });
	ss_out_free(&o);
	return s;
}

bool ss_route_data_csv(struct ss_call *c, struct ss_err *err)
{
	if (!data(c, SS_FORMAT_CSV, err))
		return false;
	struct ss_str d = csv_disposition(c);
	if (d.p)
		c->reply->disposition = d;
	return true;
}

struct module_names {
	SS_VEC(struct ss_str) v;
	struct ss_arena *arena;
};

static bool read_modules(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_hlo(h, err) != NULL;
}

static bool take_modules(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct module_names *names = arg;
	struct ss_hlo_map *map = ss_host_hlo(h, err);
	uint32_t n;
	(void)i;
	if (!map)
		return false;
	const struct ss_hlo_entry *e = ss_hlo_map_entries(map, &n);
	for (uint32_t k = 0; k < n; k++) {
		struct ss_str name = ss_hlo_entry_file(&e[k], names->arena);
		if (!name.p || !ss_vec_push(&names->v, name))
			return ss_fail_mem(err);
	}
	return true;
}

/* The modules of all hosts by name, each once; "NO_MODULE" where there is none. */
static bool list_modules(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o,
			 struct ss_err *err)
{
	struct module_names names = { .arena = arena };
	const struct ss_visit visit = { .read = read_modules, .take = take_modules, .arg = &names };
	bool ok = ss_model_visit(m, &visit, err);
	(void)arg;
	if (ok && !names.v.n)
		ok = ss_vec_push(&names.v, SS_STR("NO_MODULE")) || ss_fail_mem(err);
	if (ok)
		qsort(names.v.v, names.v.n, sizeof(*names.v.v), ss_cmp_str);
	for (size_t i = 0, any = 0; ok && i < names.v.n; i++)
		if (i == 0 || !ss_str_eq(names.v.v[i], names.v.v[i - 1])) {
			ss_out_z(o, any++ ? "," : "");
			ss_out_str(o, names.v.v[i]);
		}
	ss_vec_free(&names.v);
	return ok;
}

bool ss_route_module_list(struct ss_call *c, struct ss_err *err)
{
	static const struct ss_tool all_hosts = { .name = "", .flags = SS_TOOL_ALL_HOSTS };
	const struct ss_run *run;
	struct ss_selection sel;
	struct ss_out o;
	if (!maybe_run(c, &run, err))
		return false;
	if (!run || !run->nhosts) {
		ss_out_init(&o, NULL, NULL);
		return ss_reply_out(c, 200, "text/plain", &o, err);
	}
	return ss_call_select(c, run, &all_hosts, SS_STR(""), &sel, err) &&
	       ss_reply_visit(c, &sel, SS_STR("module_list"), "text/plain", list_modules, "", 0, err);
}

/* The tools of a list that are known, or those that a page opens with. */
static size_t wanted_tools(struct ss_str list, const struct ss_tool **tools, size_t cap)
{
	size_t n = 0;
	if (!list.n)
		list = SS_STR("overview_page,trace_viewer@");
	while (list.n && n < cap) {
		size_t comma = ss_str_chr(list, ',');
		const struct ss_tool *t = ss_tool_find(ss_str_sub(list, 0, comma == SS_NPOS ? list.n : comma));
		if (t && !ss_legacy_files(t))
			tools[n++] = t;
		list = ss_str_sub(list, comma == SS_NPOS ? list.n : comma + 1, list.n);
	}
	return n;
}

/* XProf computes files beside the profile; we keep the same in memory, for as long as it is asked for. */
bool ss_route_generate_cache(struct ss_call *c, struct ss_err *err)
{
	static const struct ss_tool all_hosts = { .name = "", .flags = SS_TOOL_ALL_HOSTS };
	const struct ss_tool *tools[SS_WARM_TOOLS];
	struct ss_str path, list = ss_call_arg(c, "tools");
	struct ss_selection sel;
	struct ss_out o;
	if (!ss_call_need(c, "session_path", &path, err))
		return false;
	const struct ss_store *s = ss_call_store(c, 0, err);
	if (!s || !s->nruns || !s->runs[0].nhosts)
		return s ? ss_fail(err, SS_ENOTFOUND, "there is no *.xplane.pb file in '" SS_FMT "'", SS_ARG(path)) : false;
	size_t n = wanted_tools(list, tools, SS_COUNT(tools));
	if (!n)
		return ss_fail(err, SS_EINVAL, "none of the tools '" SS_FMT "' is known", SS_ARG(list));
	if (!ss_call_select(c, &s->runs[0], &all_hosts, SS_STR(""), &sel, err) ||
	    !ss_warm(c->srv, &sel, tools, n, err))
		return false;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "{\"message\": \"Cache generation started\", \"status\": \"ACCEPTED\"}");
	return ss_reply_out(c, 202, "application/json", &o, err);
}
