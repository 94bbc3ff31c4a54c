/* api.c - the C interface: a store, a cache of opened profiles, and questions to tools. */
#include "api/api.h"

#include "model/model.h"
#include "request/recorded.h"
#include "request/request.h"

#include <stdio.h>
#include <stdlib.h>

#define KEEP_BYTES ((uint64_t)1 << 40)	/* the caller decides when to close */
#define KEEP_S 3600

void ss_api_explain(const struct ss_err *err, char *why, size_t why_bytes)
{
	if (why && why_bytes)
		snprintf(why, why_bytes, "%s", err->text);
}

const char *stepscope_version(void)
{
	return SS_VERSION;
}

static const struct ss_tool *nth_tool(size_t i)
{
	for (size_t k = 0; ss_tools[k]; k++)
		if (k == i)
			return ss_tools[k];
	return NULL;
}

const char *stepscope_tool_name(size_t i)
{
	const struct ss_tool *t = nth_tool(i);
	return t ? t->name : NULL;
}

const char *stepscope_tool_title(size_t i)
{
	const struct ss_tool *t = nth_tool(i);
	return t ? t->title : NULL;
}

const char *stepscope_tool_summary(size_t i)
{
	const struct ss_tool *t = nth_tool(i);
	return t ? t->summary : NULL;
}

static bool keep_name(struct stepscope *s, const char *path, struct ss_err *err)
{
	s->named = strdup(path);
	return s->named || ss_fail_mem(err);
}

struct stepscope *stepscope_open(const char *path, char *why, size_t why_bytes)
{
	struct ss_err err = { 0 };
	struct stepscope *s = calloc(1, sizeof(*s));
	bool ok = s || ss_fail_mem(&err);
	ok = ok && keep_name(s, path, &err) && ss_location_open(&s->location, s->named, &err) &&
	     ss_location_scan(&s->location, &s->store, &err);
	if (ok)
		s->sessions = ss_sessions_new(KEEP_BYTES, KEEP_S);
	if (ok && s->sessions)
		return s;
	if (ok)
		ss_fail_mem(&err);
	ss_api_explain(&err, why, why_bytes);
	stepscope_close(s);
	return NULL;
}

void stepscope_close(struct stepscope *s)
{
	if (!s)
		return;
	ss_sessions_free(s->sessions);
	ss_store_free(&s->store);
	ss_location_close(&s->location);
	free(s->named);
	free(s);
}

const char *stepscope_run_name(const struct stepscope *s, size_t i)
{
	return i < s->store.nruns ? s->store.runs[i].name.p : NULL;
}

const char *stepscope_newest_run(const struct stepscope *s)
{
	const struct ss_run *run = ss_store_newest(&s->store);
	return run ? run->name.p : NULL;
}

const struct ss_run *ss_api_run(const struct stepscope *s, const char *name, struct ss_err *err)
{
	const struct ss_run *run = name ? ss_store_run(&s->store, ss_str_from(name)) : ss_store_newest(&s->store);
	if (!run && name)
		ss_fail(err, SS_ENOTFOUND, "there is no run '%s' in '" SS_FMT "'", name, SS_ARG(s->store.named));
	else if (!run)
		ss_fail(err, SS_ENOTFOUND, "there is no profile in '" SS_FMT "'", SS_ARG(s->store.named));
	return run;
}

const char *stepscope_host_name(const struct stepscope *s, const char *run, size_t i)
{
	const struct ss_run *r = ss_api_run(s, run, NULL);
	return r && i < r->nhosts ? r->hosts[i].name.p : NULL;
}

struct ss_session *ss_api_session(struct stepscope *s, const struct ss_run *run, const char *kind, struct ss_str host,
				       bool all, bool visits, struct ss_selection *sel, struct ss_arena *arena,
				       struct ss_err *err)
{
	const struct ss_run *whole = kind ? run : ss_recorded_run(&s->store, run, arena);
	if (!whole) {
		ss_fail_mem(err);
		return NULL;
	}
	if (!ss_run_select(whole, kind, host, all, arena, sel, err))
		return NULL;
	ss_selection_fetch(sel);
	return (visits ? ss_session_open_visiting : ss_session_open)(s->sessions, sel->files, sel->n, err);
}

bool stepscope_has(struct stepscope *s, const char *run_name, const char *tool_name)
{
	struct ss_arena arena = { 0 };
	struct ss_selection sel;
	const struct ss_tool *tool = ss_tool_find(ss_str_from(tool_name));
	const struct ss_run *run = ss_api_run(s, run_name, NULL);
	struct ss_session *session = NULL;
	if (tool && run && ss_request_file_kind(tool, run))
		return ss_run_has(run, ss_request_file_kind(tool, run));
	if (tool && run)
		session = ss_api_session(s, run, NULL, SS_STR(""), false, false, &sel, &arena, NULL);
	const struct ss_host *first = session ? ss_session_model(session)->hosts[0] : NULL;
	bool has = first && ss_request_present(tool, run, first, ss_request_met(run, first, tool->needs | SS_NEEDS_HLO));
	if (session)
		ss_session_close(s->sessions, session);
	ss_arena_release(&arena);
	return has;
}

/*
 * "k=v" strings as the tool takes them; a name that it does not know is a failure, not a silence.
 */
static bool read_params(const struct stepscope_question *q, struct ss_tool_request *ask, struct ss_arena *arena,
			struct ss_err *err)
{
	size_t n = 0;
	while (q->params && q->params[n])
		n++;
	struct ss_param_value *v = SS_NEW_N(arena, struct ss_param_value, n);
	if (!v)
		return ss_fail_mem(err);
	for (size_t i = 0; i < n; i++) {
		struct ss_str text = ss_str_from(q->params[i]);
		size_t eq = ss_str_chr(text, '=');
		bool known = false;
		v[i].name = ss_str_sub(text, 0, eq);
		v[i].value = ss_str_sub(text, eq == SS_NPOS ? text.n : eq + 1, text.n);
		for (size_t k = 0; k < ask->tool->nparams; k++)
			known = known || ss_str_is(v[i].name, ask->tool->params[k].name);
		if (eq == SS_NPOS || !known)
			return ss_fail(err, SS_EINVAL, "%s has no parameter '" SS_FMT "'", ask->tool->name, SS_ARG(v[i].name));
	}
	ask->params = v;
	ask->nparams = n;
	return true;
}

static bool write_answer(struct ss_tool_request *ask, struct ss_session *session, const struct stepscope_question *q,
			 struct stepscope_answer *a, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, q->write, q->write_arg);
	bool ok = ss_tool_answer(ask, &o, err);
	if (!q->write)
		ss_out_char(&o, '\0');
	ok = ss_out_finish(&o, err) && ok && ss_session_intact(session, err);
	if (!ok || q->write) {
		ss_out_free(&o);
		return ok;
	}
	a->data = o.buf;
	a->data_bytes = o.n - 1;
	a->owned = o.buf;
	a->type = ask->content_type;
	return true;
}

static bool answer(struct stepscope *s, const struct stepscope_question *q, struct stepscope_answer *a,
		   struct ss_arena *arena, struct ss_err *err)
{
	static const enum ss_format formats[] = {
		[STEPSCOPE_JSON] = SS_FORMAT_JSON,
		[STEPSCOPE_XPROF] = SS_FORMAT_XPROF,
		[STEPSCOPE_CSV] = SS_FORMAT_CSV_IDS,
		[STEPSCOPE_TEXT] = SS_FORMAT_TEXT,
	};
	struct ss_tool_request ask = { .tool = ss_tool_find(ss_str_from(q->tool)), .table = ss_str_from(q->table) };
	struct ss_selection sel;
	if (!ask.tool)
		return ss_fail(err, SS_ENOTFOUND, "there is no tool '%s'", q->tool ? q->tool : "");
	if ((unsigned)q->format >= SS_COUNT(formats))
		return ss_fail(err, SS_EINVAL, "there is no such format");
	const struct ss_run *run = ss_api_run(s, q->run, err);
	if (!run || !read_params(q, &ask, arena, err))
		return false;
	if (ss_request_lacks_profiles(ask.tool, run))
		return ss_request_refuse_parts(ask.tool, err);
	struct ss_session *session = ss_api_session(s, run, ss_request_file_kind(ask.tool, run), ss_str_from(q->host),
						  ss_request_combines(ask.tool, run), ask.tool->flags & SS_TOOL_VISITS, &sel,
						  arena, err);
	if (!session)
		return false;
	ask.model = ss_session_model(session);
	ask.format = formats[q->format];
	ask.run = run->name;
	ask.host = sel.name;
	bool ok = write_answer(&ask, session, q, a, err);
	ss_tool_request_release(&ask);
	ss_session_close(s->sessions, session);
	return ok;
}

bool stepscope_ask(struct stepscope *s, const struct stepscope_question *q, struct stepscope_answer *a, char *why,
		   size_t why_bytes)
{
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	struct stepscope_question whole = STEPSCOPE_QUESTION;
	/* An older program's question is shorter: what it does not have is as in the macro. */
	bool sane = q->size >= offsetof(struct stepscope_question, run) && a->size >= sizeof(*a);
	if (sane)
		memcpy(&whole, q, q->size < sizeof(whole) ? q->size : sizeof(whole));
	stepscope_answer_clear(a);
	bool ok = sane ? answer(s, &whole, a, &arena, &err) :
			 ss_fail(&err, SS_EINVAL, "the request or the answer struct is not initialised");
	if (!ok)
		ss_api_explain(&err, why, why_bytes);
	ss_arena_release(&arena);
	return ok;
}

void stepscope_answer_clear(struct stepscope_answer *a)
{
	free(a->owned);
	a->owned = NULL;
	a->data = NULL;
	a->data_bytes = 0;
	a->type = NULL;
}
