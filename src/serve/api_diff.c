/* api_diff.c - two sides of runs compared: /api/diff?base=RUN[,RUN]&new=RUN[,RUN]&host=H&by=op (docs/diff.md). */
#include "diff/result.h"
#include "serve/call.h"

#include <stdlib.h>

#define MOST_RUNS 16 /* of a side */

struct side {
	struct ss_diff_run v[MOST_RUNS];
	size_t n;
};

static bool read_run(struct ss_call *c, struct ss_str name, struct side *to, struct ss_err *err)
{
	static const struct ss_tool all = { .name = "", .flags = SS_TOOL_ALL_HOSTS | SS_TOOL_VISITS };
	const struct ss_diff_selection every = { 0 };
	const struct ss_run *run = ss_call_find_run(c, name, err);
	struct ss_str host = ss_call_arg(c, "host");
	struct ss_selection sel;
	if (!run)
		return ss_fail(err, SS_ENOTFOUND, "there is no run '%.*s'", name.n > 100 ? 100 : (int)name.n,
			       name.n ? name.p : "");
	if (to->n == MOST_RUNS)
		return ss_fail(err, SS_EINVAL, "a side has more than %d runs", MOST_RUNS);
	if (!ss_call_select(c, run, &all, host.n ? host : SS_STR(SS_ALL_HOSTS), &sel, err))
		return false;
	struct ss_session *session = ss_session_open_visiting(c->srv->sessions, sel.files, sel.n, err);
	if (!session)
		return false;
	bool ok = ss_diff_run_read(&to->v[to->n++], ss_session_model(session), run->name, &every, err) &&
		  ss_session_intact(session, err);
	ss_session_close(c->srv->sessions, session);
	return ok;
}

static bool read_side(struct ss_call *c, const char *name, struct side *to, struct ss_err *err)
{
	struct ss_str list;
	if (!ss_call_need(c, name, &list, err))
		return false;
	while (list.n) {
		size_t comma = ss_str_chr(list, ',');
		size_t end = comma == SS_NPOS ? list.n : comma;
		if (!read_run(c, ss_str_sub(list, 0, end), to, err))
			return false;
		list = ss_str_sub(list, end + 1, list.n);
	}
	return true;
}

static void release(struct side *s)
{
	for (size_t i = 0; i < s->n; i++)
		ss_diff_run_release(&s->v[i]);
	free(s);
}

static bool answer(struct ss_call *c, struct ss_diff *d, enum ss_diff_by by, struct ss_err *err)
{
	struct ss_result r;
	struct ss_out o;
	ss_result_init(&r, c->req->arena);
	if (!ss_diff_compare(d, err) || !ss_diff_result(d, by, &r, err))
		return false;
	ss_out_init(&o, NULL, NULL);
	if (!ss_diff_emit_json(&o, d, &r, SS_STR("diff"), SS_STR(""))) {
		ss_out_free(&o);
		return ss_fail_mem(err);
	}
	return ss_reply_out(c, 200, "application/json", &o, err);
}

static bool compare(struct ss_call *c, struct ss_err *err)
{
	struct ss_diff d = { .options.per_example = ss_str_is(ss_call_arg(c, "per_example"), "1") };
	struct side *base = calloc(1, sizeof(*base)), *new = calloc(1, sizeof(*new));
	struct ss_str word = ss_call_arg(c, "by");
	enum ss_diff_by by = SS_DIFF_BY_OP;
	bool ok = (base && new) || ss_fail_mem(err);
	if (ok && word.n && !ss_diff_by_of(word, &by))
		ok = ss_fail(err, SS_EINVAL, "by is op, scope, module, kernel, source, host or memory");
	ok = ok && read_side(c, "base", base, err) && read_side(c, "new", new, err);
	if (ok) {
		d.base.runs = base->v;
		d.base.n = base->n;
		d.new.runs = new->v;
		d.new.n = new->n;
		ok = answer(c, &d, by, err);
	}
	ss_diff_free(&d);
	if (base)
		release(base);
	if (new)
		release(new);
	return ok;
}

bool ss_route_api_diff(struct ss_call *c, struct ss_err *err)
{
	uint64_t turn = ss_turns_take(&c->srv->diff_turns);
	if (!turn)
		return ss_fail(err, SS_EBUSY, "this server compares other runs; ask again");
	bool ok = compare(c, err);
	ss_turns_give(&c->srv->diff_turns, turn);
	return ok;
}
