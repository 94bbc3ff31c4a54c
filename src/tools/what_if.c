/*
 * what_if.c - what a step would take if transfers were free, input always there, an operation twice
 * as fast, or a host like the others: the recording played again. All are ceilings of the gain;
 * model/cluster/what_if.h says why.
 */
#include "model/cluster/what_if.h"

#include "model/cluster/critical_path.h"
#include "model/cluster/straggler.h"
#include "tools/cluster_notes.h"
#include "tools/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define AGREES_FRAC 0.01 /* the replay of what was recorded may differ by this from the recording */

enum { COL_SCENARIO, COL_TARGET, COL_NOW, COL_STEP, COL_GAIN };

static const struct ss_col cols[] = {
	STR("scenario", "Scenario", "Name of the scenario; as_recorded: the replay without changes"),
	STR("target", "Target", "Operation or host that the scenario changes"),
	NUM("step_now_us", "Step now (us)", US, "Mean of the recorded steps that are replayed"),
	NUM("step_us", "Step then (us)", US, "Lower bound of the step time after the change: another limit may then apply"),
	NUM("gain_frac", "Gain at most", FRAC, "Gains of several scenarios do not add up"),
};

static const struct ss_param params[] = {
	{ "op", "name", "", "operation of op_twice_as_fast (default: the longest on the critical path)" },
	{ "target_host", "name", "", "host of host_as_median (default: the host that holds up the others)" },
	{ "scenario", "free_communication|perfect_input|op_twice_as_fast|host_as_median", NULL,
	  "scenario of the first sentence (default: the scenario of op or target_host, else the change that gains most)" },
};

extern const struct ss_tool ss_tool_what_if;

/* The operation that takes most of the critical paths of what is played back. */
static bool longest_op(const struct ss_cluster *c, const struct ss_path *p, const struct ss_played *played, struct ss_str *op,
		       struct ss_err *err)
{
	int64_t best = 0, *sum = calloc((size_t)p->names.n + 1, sizeof(*sum));
	if (!sum)
		return ss_fail_mem(err);
	for (size_t i = 0; i < p->steps.n; i++) {
		const struct ss_path_step *st = &p->steps.v[i];
		bool is_played = played->whole || (st->step >= played->first_step && st->step <= played->last_step);
		for (size_t k = 0; is_played && k < st->n; k++) {
			struct ss_path_segment s = ss_path_segment(c, p, st, k);
			sum[s.op] += s.category == SS_PATH_COMPUTE ? s.end_ps - s.begin_ps : 0;
		}
	}
	*op = SS_STR("");
	for (uint32_t i = 0; i < p->names.n; i++)
		if (sum[i] > best) {
			best = sum[i];
			*op = p->names.keys[i];
		}
	free(sum);
	return true;
}

static uint32_t find_host(const struct ss_cluster *c, struct ss_str name)
{
	for (uint32_t i = 0; i < c->hosts.n; i++)
		if (name.n && ss_str_eq(c->hosts.v[i].name, name))
			return i;
	return SS_NO_HOST;
}

struct asked {
	struct ss_str op, host;
	uint32_t host_index;
};

static bool check_params(const struct ss_what_if *g, const struct asked *a, struct ss_err *err)
{
	if (a->host.n && a->host_index == SS_NO_HOST)
		return ss_fail(err, SS_ENOTFOUND, "there is no host '" SS_FMT "'", SS_ARG(a->host));
	if (!a->op.n || isnan(ss_what_if_now_us(g)) || ss_what_if_has_op(g, a->op))
		return true;
	return ss_fail(err, SS_ENOTFOUND, "no operation '" SS_FMT "' ran%s", SS_ARG(a->op),
		       ss_what_if_played(g)->whole ? "" : " in the steps that are played back");
}

/* What was left out, and how much it is alike. */
static bool note_played(const struct ss_cluster *c, const struct ss_played *p, struct ss_result *out)
{
	if (c->rounds.span && p->nsteps > 1)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena,
					       "the mean step is that of steps %lld to %lld of round %llu, the longest sequence of "
					       "steps",
					       (long long)ss_step_cell(c, p->first_step), (long long)ss_step_cell(c, p->last_step),
					       (unsigned long long)ss_step_round(&c->rounds, p->first_step)));
	if (p->whole || isnan(p->now_ps))
		return true;
	struct ss_str hosts = SS_STR("");
	if (p->nhosts < p->nhosts_all)
		hosts = ss_arena_printf(out->arena,
					", with the %" PRIu32 " of %" PRIu32 " hosts for which others waited most often; the "
					"delays that other hosts add to theirs are kept",
					p->nhosts, p->nhosts_all);
	struct ss_str text = ss_arena_printf(
		out->arena,
		"%" PRIu64 " events are too many to replay: only %" PRIu64 " of the %" PRIu64
		" steps that all devices have are replayed, %lld to %lld" SS_FMT ". They take %.1f us on average, all steps %.1f "
		"us",
		p->events_all, p->nsteps, p->nsteps_all,
		(long long)ss_step_cell(c, p->first_step), (long long)ss_step_cell(c, p->last_step), SS_ARG(hosts),
		p->now_ps * 1e-6, p->now_all_ps * 1e-6);
	return text.p && hosts.p && (ss_result_note(out, SS_INFO, text), true);
}

static void add_row(struct ss_table *t, const char *scenario, struct ss_str target, double now, double then)
{
	ss_table_row(t);
	ss_set_str(t, COL_SCENARIO, ss_str_from(scenario));
	ss_set_str(t, COL_TARGET, target);
	ss_set_f64(t, COL_NOW, now);
	ss_set_f64(t, COL_STEP, then);
	ss_set_f64(t, COL_GAIN, now > 0 ? (now - then) / now : NAN);
}

static bool fill(struct ss_result *out, struct ss_what_if *g, const struct asked *a)
{
	struct ss_table *t = ss_result_table(out, "scenarios", "Scenarios and their largest possible gain", cols, SS_COUNT(cols));
	const struct {
		enum ss_scenario scenario;
		struct ss_str target;
		bool asked;
	} all[] = { { SS_FREE_COMMUNICATION, SS_STR_INIT(""), true },
		    { SS_PERFECT_INPUT, SS_STR_INIT(""), true },
		    { SS_OP_TWICE_AS_FAST, a->op, a->op.n > 0 },
		    { SS_HOST_AS_MEDIAN, a->host, a->host.n > 0 } };
	double now = ss_what_if_now_us(g), then;
	if (!ss_what_if_step_us(g, SS_AS_RECORDED, a->op, a->host_index, &then))
		return false;
	if (isnan(now)) {
		ss_result_note(out, SS_INFO,
			       SS_STR("there are no two steps that all devices have: nothing can be replayed"));
		return true;
	}
	add_row(t, ss_scenario_name(SS_AS_RECORDED), SS_STR(""), now, then);
	if (!(fabs(then / now - 1) <= AGREES_FRAC)) {
		struct ss_str text = ss_arena_printf(out->arena,
						     "the replay without changes takes %.1f us per step instead of %.1f: it is off "
						     "by more than 1 %%, so no gain is given",
						     then, now);
		ss_result_note(out, SS_WARNING, text);
		return true;
	}
	for (size_t i = 0; i < SS_COUNT(all); i++) {
		if (!all[i].asked)
			continue;
		if (!ss_what_if_step_us(g, all[i].scenario, a->op, a->host_index, &then))
			return false;
		/* Less work lengthens no step: what binds a node may be another one in the replay, by some ns. */
		add_row(t, ss_scenario_name(all[i].scenario), all[i].target, now, then < now ? then : now);
	}
	return true;
}

/* Whom the question is about: who was named, or who holds up the others. */
static bool choose_host(const struct ss_request *q, const struct ss_cluster *c, struct asked *a, struct ss_err *err)
{
	a->host = ss_request_param(q, &ss_tool_what_if, "target_host");
	if (!a->host.n) {
		struct ss_straggler_verdict v;
		if (!ss_straggler_verdict(q->model, &v, err))
			return false;
		a->host = ss_arena_str(q->arena, v.kind == SS_STRAGGLER_ONE ? v.host : SS_STR(""));
		if (!a->host.p)
			return ss_fail_mem(err);
	}
	a->host_index = find_host(c, a->host);
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_cluster *c = ss_model_cluster(q->model, err);
	struct asked a = { .op = ss_request_param(q, &ss_tool_what_if, "op") };
	const struct ss_path *p = c && !a.op.n ? ss_model_path(q->model, err) : NULL;
	if (!c || (!a.op.n && !p) || !choose_host(q, c, &a, err))
		return false;
	ss_cluster_lock(c);
	struct ss_what_if *g = ss_what_if_of(c, SS_PLAYED_MOST, a.host_index, err);
	bool ok = g && (a.op.n || longest_op(c, p, ss_what_if_played(g), &a.op, err)) && check_params(g, &a, err);
	ss_cluster_unlock(c);
	ok = ok && ((fill(out, g, &a) && note_played(c, ss_what_if_played(g), out) && ss_cluster_notes(c, out)) ||
		    ss_fail_mem(err));
	ss_what_if_free(g);
	return ok;
}

/* The scenario as the begin of a sentence. */
static struct ss_str words_of(struct ss_result *out, struct ss_str scenario, struct ss_str target)
{
	if (ss_str_is(scenario, "free_communication"))
		return SS_STR("With communication that takes no time");
	if (ss_str_is(scenario, "perfect_input"))
		return SS_STR("With input that never makes a step wait,");
	return ss_arena_printf(out->arena, "If '" SS_FMT "' were %s,", SS_ARG(target),
			       ss_str_is(scenario, "op_twice_as_fast") ? "twice as fast" : "like the other hosts");
}

/* The scenario that was asked for, by name or by what it changes; "": none. */
static struct ss_str scenario_of(const struct ss_request *q)
{
	struct ss_str asked = ss_request_param(q, &ss_tool_what_if, "scenario");
	if (asked.n)
		return asked;
	if (ss_request_param(q, &ss_tool_what_if, "target_host").n)
		return SS_STR("host_as_median");
	return ss_request_param(q, &ss_tool_what_if, "op").n ? SS_STR("op_twice_as_fast") : SS_STR("");
}

static void say_row(struct ss_result *out, const struct ss_table *t, size_t row)
{
	struct ss_str scenario = ss_cell_str(t, row, "scenario"), target = ss_cell_str(t, row, "target");
	double now = ss_cell_f64(t, row, "step_now_us"), then = ss_cell_f64(t, row, "step_us");
	ss_say(out, SS_FMT " a step would take %s in place of %s, at best.", SS_ARG(words_of(out, scenario, target)),
	       ss_value_words(SS_UNIT_US, then).s, ss_value_words(SS_UNIT_US, now).s);
	ss_say(out, "That is %s of the step. Gains of several changes do not add up.",
	       ss_value_words(SS_UNIT_FRAC, ss_cell_f64(t, row, "gain_frac")).s);
}

static bool say_asked(struct ss_result *out, const struct ss_table *t, struct ss_str asked, struct ss_err *err)
{
	size_t row = SS_NPOS;
	for (size_t i = 1; i < t->nrows; i++)
		row = ss_str_eq(ss_cell_str(t, i, "scenario"), asked) ? i : row;
	if (row != SS_NPOS)
		say_row(out, t, row);
	else if (ss_str_is(asked, "host_as_median") && t->nrows > 1)
		ss_result_say(out, SS_STR("No host holds up the others: name one with target_host."));
	else if (ss_str_is(asked, "op_twice_as_fast") && t->nrows > 1)
		ss_result_say(out, SS_STR("No operation is on the critical path: name one with op."));
	else if (!ss_str_is(asked, "free_communication") && !ss_str_is(asked, "perfect_input"))
		return ss_fail(err, SS_EINVAL, "there is no scenario '" SS_FMT "'", SS_ARG(asked));
	return true;
}

/* The requested change, or the change that gains most. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "scenarios");
	struct ss_str asked = scenario_of(q);
	if (!t->nrows)
		return true;
	if (asked.n)
		return say_asked(out, t, asked, err);
	struct ss_greatest top = ss_greatest_row(t, "gain_frac", NULL, NULL);
	if (top.row == SS_NPOS)
		ss_result_say(out, SS_STR("None of the changes that were tried makes a step shorter in the replay, which keeps "
					  "gaps whose reason is not recorded."));
	else
		say_row(out, t, top.row);
	return true;
}

const struct ss_tool ss_tool_what_if = {
	.name = "what_if",
	.title = "What if",
	.summary = "Step time with free communication, perfect input, a faster operation or a host like the others",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.facts = SS_FACTS_CLUSTER,
	.needs = SS_NEEDS_PROGRAMS | SS_NEEDS_TWO_STEPS,
	.run = run,
	.conclude = conclude,
};
