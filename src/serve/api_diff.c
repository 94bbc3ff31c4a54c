/*
 * api_diff.c - two sides of runs compared: /api/diff?base=RUN[,RUN]&new=RUN[,RUN]&host=H&by=op,
 * or &tool=NAME&k=v for the tables of a tool (docs/diff.md).
 */
#include "diff/result.h"
#include "diff/tool_tables.h"
#include "request/tool_answers.h"
#include "serve/call.h"

#include <stdlib.h>

#define MOST_RUNS 16 /* of a side */

struct side {
	struct ss_diff_run v[MOST_RUNS];
	size_t n;
	struct ss_tool_answers tool;
};

struct asked {
	enum ss_diff_by by;
	const struct ss_tool *tool; /* NULL: the comparison itself */
	struct ss_str host;	    /* as the request names it, or those that all runs have; "": all */
};

/* What the run's hosts have to say to the tool, which opens them as it wants them. */
static bool ask_tool(struct ss_call *c, const struct asked *q, const struct ss_run *run, struct side *to, struct ss_err *err)
{
	const struct ss_tool *tool = q->tool;
	struct ss_selection sel;
	struct ss_param_value *params = SS_NEW_N(c->req->arena, struct ss_param_value, tool->nparams + 1);
	size_t n = 0;
	for (size_t i = 0; params && i < tool->nparams; i++) {
		struct ss_str value = ss_call_arg(c, tool->params[i].name);
		if (value.n)
			params[n++] = (struct ss_param_value){ ss_str_from(tool->params[i].name), value };
	}
	if (!params)
		return ss_fail_mem(err);
	if (!ss_call_select(c, run, tool, q->host, &sel, err))
		return false;
	struct ss_session *session = (tool->flags & SS_TOOL_VISITS ? ss_session_open_visiting : ss_session_open)(
		c->srv->sessions, sel.files, sel.n, err);
	if (!session)
		return false;
	bool ok = ss_tool_answers_add(&to->tool, tool, ss_session_model(session), params, n, err) &&
		  ss_session_intact(session, err);
	ss_session_close(c->srv->sessions, session);
	return ok;
}

static bool read_run(struct ss_call *c, struct ss_str name, const struct asked *q, struct side *to, struct ss_err *err)
{
	static const struct ss_tool all = { .name = "", .flags = SS_TOOL_ALL_HOSTS | SS_TOOL_VISITS };
	const struct ss_diff_selection every = { 0 };
	const struct ss_run *run = ss_call_find_session(c, name, err);
	struct ss_selection sel;
	if (!run)
		return ss_fail(err, SS_ENOTFOUND, "there is no run '%.*s'", name.n > 100 ? 100 : (int)name.n,
			       name.n ? name.p : "");
	if (!ss_call_select(c, run, &all, q->host.n ? q->host : SS_STR(SS_ALL_HOSTS), &sel, err))
		return false;
	struct ss_session *session = ss_session_open_visiting(c->srv->sessions, sel.files, sel.n, err);
	if (!session)
		return false;
	size_t n = ++to->n;
	bool ok = ss_diff_run_read(&to->v[n - 1], ss_session_model(session), run->name, &every, err) &&
		  ss_session_intact(session, err) && (ss_diff_run_drop_copy(to->v, &to->n) || ss_fail_mem(err));
	ss_session_close(c->srv->sessions, session);
	return ok && (!q->tool || to->n < n || ask_tool(c, q, run, to, err));
}

static bool read_side(struct ss_call *c, const char *name, const struct asked *q, struct side *to, struct ss_err *err)
{
	struct ss_str list;
	if (!ss_call_need(c, name, &list, err))
		return false;
	for (size_t n = 0; list.n; n++) {	/* a copy costs a reading, too */
		if (n == MOST_RUNS)
			return ss_fail(err, SS_EINVAL, "a side has more than %d runs", MOST_RUNS);
		size_t comma = ss_str_chr(list, ',');
		size_t end = comma == SS_NPOS ? list.n : comma;
		if (!read_run(c, ss_str_sub(list, 0, end), q, to, err))
			return false;
		list = ss_str_sub(list, end + 1, list.n);
	}
	return true;
}

static void forget(struct side *s)
{
	for (size_t i = 0; i < s->n; i++)
		ss_diff_run_release(&s->v[i]);
	s->n = 0;
	ss_tool_answers_free(&s->tool);
}

static bool read_sides(struct ss_call *c, const struct asked *q, struct side *base, struct side *new, struct ss_err *err)
{
	return read_side(c, "base", q, base, err) && read_side(c, "new", q, new, err);
}

/* Where hosts are missing on a side and none was chosen, those that both have are read alone. */
static bool read_common_hosts(struct ss_call *c, struct asked *q, struct side *base, struct side *new, struct ss_str *note,
			      struct ss_err *err)
{
	struct ss_diff_side b = { .runs = base->v, .n = base->n }, n = { .runs = new->v, .n = new->n };
	struct ss_diff_hosts common;
	if (q->host.n)
		return true;
	if (!ss_diff_common_hosts(&b, &n, c->req->arena, &common))
		return ss_fail_mem(err);
	if (!common.names.n)
		return true;
	q->host = common.names;
	*note = common.note;
	forget(base);
	forget(new);
	return read_sides(c, q, base, new, err);
}

static bool fill(struct ss_diff *d, const struct asked *q, struct side *base, struct side *new, struct ss_result *r,
		 struct ss_err *err)
{
	if (!q->tool)
		return ss_diff_result(d, q->by, r, err);
	return ss_diff_tool_result(d, ss_str_from(q->tool->name), (struct ss_tool_side){ base->tool.v.v, base->tool.v.n },
				   (struct ss_tool_side){ new->tool.v.v, new->tool.v.n }, r, err);
}

static bool answer(struct ss_call *c, const struct asked *q, struct side *base, struct side *new, struct ss_str hosts_note,
		   struct ss_err *err)
{
	struct ss_diff d = { .options.per_example = ss_str_is(ss_call_arg(c, "per_example"), "1") };
	struct ss_result r;
	struct ss_out o;
	d.options.hosts_note = hosts_note;
	d.base.runs = base->v;
	d.base.n = base->n;
	d.new.runs = new->v;
	d.new.n = new->n;
	ss_result_init(&r, c->req->arena);
	ss_out_init(&o, NULL, NULL);
	bool ok = ss_diff_compare(&d, err) && fill(&d, q, base, new, &r, err) &&
		  (ss_diff_emit_json(&o, &d, &r, SS_STR("diff"), SS_STR("")) || ss_fail_mem(err));
	ss_diff_free(&d);
	if (ok)
		return ss_reply_out(c, 200, "application/json", &o, err);
	ss_out_free(&o);
	return false;
}

static bool what_is_asked(const struct ss_call *c, struct asked *q, struct ss_err *err)
{
	struct ss_str word = ss_call_arg(c, "by"), tool = ss_call_arg(c, "tool");
	*q = (struct asked){ SS_DIFF_BY_OP, tool.n ? ss_tool_find(tool) : NULL, ss_call_arg(c, "host") };
	if (word.n && !ss_diff_by_of(word, &q->by))
		return ss_fail(err, SS_EINVAL, "the parameter 'by' must be op, scope, module, kernel, source, host or memory");
	if (tool.n && !q->tool)
		return ss_fail(err, SS_ENOTFOUND, "there is no tool '%.*s'", tool.n > 100 ? 100 : (int)tool.n, tool.p);
	return true;
}

static bool compare(struct ss_call *c, struct ss_err *err)
{
	struct side *base = calloc(1, sizeof(*base)), *new = calloc(1, sizeof(*new));
	struct ss_str note = SS_STR("");
	struct asked q;
	bool ok = ((base && new) || ss_fail_mem(err)) && what_is_asked(c, &q, err) && read_sides(c, &q, base, new, err) &&
		  read_common_hosts(c, &q, base, new, &note, err) && answer(c, &q, base, new, note, err);
	if (base)
		forget(base);
	if (new)
		forget(new);
	free(base);
	free(new);
	return ok;
}

bool ss_route_api_diff(struct ss_call *c, struct ss_err *err)
{
	uint64_t turn = ss_turns_take(&c->srv->diff_turns);
	if (!turn)
		return ss_fail(err, SS_EBUSY, "this server is busy with other comparisons: try again later");
	bool ok = compare(c, err);
	ss_turns_give(&c->srv->diff_turns, turn);
	return ok;
}
