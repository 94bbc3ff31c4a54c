/* api.c - the page's own interface: runs, tools and results (docs/api.md). */
#include "emit/json.h"
#include "location/tree.h"
#include "model/model.h"
#include "serve/call.h"

static void member(struct ss_out *o, const char *name, struct ss_str value)
{
	ss_out_printf(o, "\"%s\":", name);
	ss_out_json_str(o, value);
}

static void string_list(struct ss_out *o, const struct ss_str *v, size_t n)
{
	ss_out_char(o, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			ss_out_char(o, ',');
		ss_out_json_str(o, v[i]);
	}
	ss_out_char(o, ']');
}

static void run_object(struct ss_call *c, struct ss_out *o, const struct ss_run *run)
{
	ss_out_char(o, '{');
	member(o, "run", run->name);
	ss_out_char(o, ',');
	member(o, "path", ss_location_shown(c->srv->catalog.place, run->dir, c->req->arena));
	ss_out_printf(o, ",\"time_s\":%lld,\"bytes\":%llu,\"hosts\":[", (long long)(run->mtime_ns / 1000000000),
		      (unsigned long long)run->bytes);
	for (size_t i = 0; i < run->nhosts; i++) {
		if (i)
			ss_out_char(o, ',');
		ss_out_json_str(o, run->hosts[i].name);
	}
	/* Stored answers have hosts as well. */
	struct ss_str host = SS_STR("");
	for (size_t at = 0, any = 0; !run->nhosts && ss_run_answer_host(run, &at, &host); any++) {
		ss_out_z(o, any ? "," : "");
		ss_out_json_str(o, host);
	}
	ss_out_lit(o, "]}");
}

/* Newest first; of equal age, as XProf lists them. */
static const struct ss_run **by_age(struct ss_call *c, const struct ss_store *s, size_t *n)
{
	const struct ss_run **v = SS_NEW_N(c->req->arena, const struct ss_run *, s->nruns + 1);
	*n = 0;
	for (size_t i = 0; v && i < s->nruns; i++)
		if (ss_run_holds(&s->runs[i]))
			v[(*n)++] = &s->runs[i];
	/* Names mostly carry the date, so the list is nearly sorted already. */
	for (size_t i = 1; v && i < *n; i++) {
		const struct ss_run *r = v[i];
		size_t k = i;
		for (; k > 0 && v[k - 1]->mtime_ns < r->mtime_ns; k--)
			v[k] = v[k - 1];
		v[k] = r;
	}
	return v;
}

/* The cost so far of reading the bucket, if the log directory is one. */
static void bucket_object(struct ss_call *c, struct ss_out *o)
{
	const struct ss_location *place = c->srv->catalog.place;
	if (!place->tree)
		return;
	struct ss_tree_cost cost = ss_tree_cost(place->tree);
	ss_out_printf(o, ",\"bucket\":{\"objects\":%zu,\"files\":%zu,\"requests\":%u,\"lists\":%u,", cost.nlisted,
		      cost.nshown, cost.requests, cost.nlists);
	ss_out_printf(o, "\"fetched_files\":%zu,\"cached_files\":%zu,\"fetched_bytes\":%llu}", cost.nfetched, cost.nkept,
		      (unsigned long long)cost.fetched_bytes);
}

bool ss_route_api_runs(struct ss_call *c, struct ss_err *err)
{
	struct ss_out o;
	size_t n;
	const struct ss_store *s = ss_call_store(c, 0, err);
	const struct ss_run **runs = s ? by_age(c, s, &n) : NULL;
	if (!runs)
		return s ? ss_fail_mem(err) : false;
	ss_out_init(&o, NULL, NULL);
	ss_out_char(&o, '{');
	member(&o, "version", SS_STR(SS_VERSION));
	ss_out_char(&o, ',');
	member(&o, "logdir", s->named);
	ss_out_z(&o, c->srv->capture_dir ? ",\"capture\":true" : "");
	ss_out_z(&o, c->srv->history ? ",\"history\":true" : "");
	bucket_object(c, &o);
	ss_out_lit(&o, ",\"runs\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			ss_out_char(&o, ',');
		run_object(c, &o, runs[i]);
	}
	ss_out_lit(&o, "],\"skipped\":[");
	for (size_t i = 0; i < s->nskipped; i++) {
		ss_out_z(&o, i ? ",{" : "{");
		member(&o, "path", s->skipped[i].path);
		ss_out_char(&o, ',');
		member(&o, "why", ss_str_from(s->skipped[i].why));
		ss_out_char(&o, '}');
	}
	ss_out_lit(&o, "]}");
	return ss_reply_out(c, 200, "application/json", &o, err);
}

/* The choices of "a|b|c"; of free values what they are, as "ms". */
static void param_object(struct ss_out *o, const struct ss_param *p)
{
	struct ss_str values = ss_str_from(p->values ? p->values : "");
	bool choices = ss_str_chr(values, '|') != SS_NPOS;
	ss_out_char(o, '{');
	member(o, "name", ss_str_from(p->name));
	ss_out_lit(o, ",\"values\":[");
	for (size_t i = 0; choices && values.n; i++) {
		size_t bar = ss_str_chr(values, '|');
		if (i)
			ss_out_char(o, ',');
		ss_out_json_str(o, ss_str_sub(values, 0, bar == SS_NPOS ? values.n : bar));
		values = ss_str_sub(values, bar == SS_NPOS ? values.n : bar + 1, values.n);
	}
	ss_out_lit(o, "],");
	if (!choices && p->values) {
		member(o, "takes", ss_str_from(p->values));
		ss_out_char(o, ',');
	}
	member(o, "preset", ss_str_from(p->preset ? p->preset : ""));
	ss_out_char(o, ',');
	member(o, "doc", ss_str_from(p->doc ? p->doc : ""));
	ss_out_char(o, '}');
}

/*
 * Whom a tool is about where nobody is named: all hosts of those that combine them, else the first;
 * "": there is none.
 */
static struct ss_str preset_host(const struct ss_str *hosts, size_t n, bool combines)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_is(hosts[i], SS_ALL_HOSTS) == combines)
			return hosts[i];
	return n ? hosts[0] : SS_STR("");
}

/*
 * The tool with the hosts that it may be asked for; those of profiles are the same for most tools,
 * and few.
 */
static bool tool_object(struct ss_call *c, struct ss_out *o, const struct ss_run *run, const struct ss_tool *t,
			bool available)
{
	size_t nhosts;
	static const char *const kinds[] = { [SS_KIND_TABLES] = "tables",
					     [SS_KIND_TIMELINE] = "timeline",
					     [SS_KIND_TREE] = "tree",
					     [SS_KIND_GRAPH] = "graph" };
	bool combines = ss_request_combines(t, run);
	struct ss_str *hosts = ss_call_hosts(c, run, ss_request_file_kind(t, run), combines || ss_request_sums(t, run),
					     ss_request_only_combined(t, run, false), &nhosts);
	if (!hosts)
		return false;
	ss_out_char(o, '{');
	member(o, "name", ss_str_from(t->name));
	ss_out_char(o, ',');
	member(o, "title", ss_str_from(t->title));
	ss_out_char(o, ',');
	member(o, "summary", ss_str_from(t->summary));
	ss_out_printf(o, ",\"kind\":\"%s\",", kinds[t->kind]);
	member(o, "preset_host", preset_host(hosts, nhosts, combines));
	ss_out_lit(o, ",\"hosts\":");
	string_list(o, hosts, nhosts);
	ss_out_lit(o, ",\"params\":[");
	for (size_t i = 0; i < t->nparams; i++) {
		if (i)
			ss_out_char(o, ',');
		param_object(o, &t->params[i]);
	}
	ss_out_printf(o, "],\"available\":%s,", available ? "true" : "false");
	member(o, "why", ss_str_from(available ? "" : "this profile holds no data for it"));
	ss_out_char(o, '}');
	return true;
}

/*
 * All that are listed for the run. `first` NULL: it has no profile, so those that read one are left
 * out.
 */
static bool tool_objects(struct ss_call *c, struct ss_out *o, const struct ss_run *run, const struct ss_host *first)
{
	unsigned met = ss_request_met(run, first, ~0u);
	for (size_t i = 0, any = 0; ss_tools[i]; i++) {
		if (!ss_request_listed(ss_tools[i], run))
			continue;
		ss_out_z(o, any++ ? "," : "");
		if (!tool_object(c, o, run, ss_tools[i], ss_request_present(ss_tools[i], run, first, met)))
			return false;
	}
	return true;
}

#define HOSTS_TRIED 16u

/* The first host, or the first of the next that can be read; `err` says why the first cannot. */
static struct ss_session *open_one(struct ss_call *c, const struct ss_run *run, struct ss_err *err)
{
	static const struct ss_tool any = { .name = "" };
	struct ss_session *session = NULL;
	struct ss_selection sel;
	struct ss_err other;
	for (size_t i = 0; !session && i < HOSTS_TRIED && (i == 0 || i < run->nhosts); i++) {
		struct ss_err *why = i ? &other : err;
		if (ss_call_select(c, run, &any, i ? run->hosts[i].name : SS_STR(""), &sel, why))
			session = ss_session_open(c->srv->sessions, sel.files, sel.n, why);
	}
	return session;
}

bool ss_route_api_tools(struct ss_call *c, struct ss_err *err)
{
	struct ss_session *session = NULL;
	struct ss_out o;
	const struct ss_run *run = ss_call_session(c, err);
	if (!run)
		return false;
	if (run->nhosts || !ss_run_holds(run)) {
		session = open_one(c, run, err);
		if (!session)
			return false;
	}
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "{\"tools\":[");
	bool ok = tool_objects(c, &o, run, session ? ss_session_model(session)->hosts[0] : NULL) || ss_fail_mem(err);
	ss_out_lit(&o, "]}");
	ok = ok && (!session || ss_session_intact(session, err));
	if (session)
		ss_session_close(c->srv->sessions, session);
	if (!ok) {
		ss_out_free(&o);
		return false;
	}
	return ss_reply_out(c, 200, "application/json", &o, err);
}

bool ss_route_api_tool(struct ss_call *c, struct ss_err *err)
{
	struct ss_selection sel;
	const struct ss_tool *tool = ss_tool_find(c->rest);
	if (!tool)
		return ss_fail(err, SS_ENOTFOUND, "there is no tool '%.*s'",
			       c->rest.n > 100 ? 100 : (int)c->rest.n, c->rest.p);
	const struct ss_run *run = ss_call_session(c, err);
	return run && ss_call_select(c, run, tool, ss_call_arg(c, "host"), &sel, err) &&
	       ss_reply_tool(c, tool, run, &sel, SS_FORMAT_JSON, err);
}
