/*
 * stragglers.c - which host holds up the others, how often, what it costs them, and why; or that
 * the work is uneven, the network slow, nobody late, or nothing can be said. The rule is
 * model/cluster/straggler.h's.
 */
#include "model/cluster/straggler.h"

#include "model/model.h"
#include "tools/cluster_notes.h"
#include "tools/words.h"

#include <math.h>

enum { V_KIND, V_HOST, V_DEVICE, V_CAUSE, V_PATTERN, V_FRAC, V_LOST, V_CONFIDENCE, V_NOISE };

static const struct ss_col verdict_cols[] = {
	STR("kind", "Verdict",
	    "straggler: one host; uneven: several hosts or devices have more work; rotating: changing hosts; network: transfers; "
	    "balanced: nobody; "
	    "inconclusive: too few figures; one_host: there is no other to compare it with"),
	STR("host", "Host", "Host that the verdict names; for an inconclusive verdict the candidate"),
	ID("device", "Device", "Device of the host, if one device is the cause; -1: all devices"),
	STR("cause", "Cause",
	    "Part of its time that is longer than on other hosts: compute (some operations), slower_clock (all operations "
	    "alike), input, host, copy; or transfer"),
	STR("pattern", "Pattern", "constant, periodic, drifting or intermittent"),
	NUM("steps_frac", "Steps", FRAC, "Share of the steps that the host held up"),
	NUM("lost_us_per_step", "Lost a step (us)", US, "Time that it adds to all steps: an upper bound of the gain"),
	NUM("confidence_frac", "Confidence", FRAC, "Probability that it is not the same host by chance"),
	NUM("noise_us", "Noise (us)", US, "Standard deviation of a host's own time between steps"),
};

enum { S_STEP, S_HOST, S_DEVICE, S_LOST, S_STEP_US, S_SLOW, S_ROUND };

static const struct ss_col step_cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("host", "Longest host", "The host with the longest own time in the step"),
	INT("device", "Device", NONE, "Slowest device of the host"),
	NUM("lost_us", "Lost (us)", US, "Own time minus that of the median host"),
	NUM("step_us", "Step (us)", US, "Longest window of the step on any host"),
	FLAG("slow", "Slow", "Whether the loss exceeds the noise and 2 % of a step"),
	SS_STEP_ROUND_COL,
};

enum { H_HOST, H_LAST, H_OWN, H_EXCESS, H_NOISE, H_STEPS };

static const struct ss_col host_cols[] = {
	STR("host", "Host", NULL),
	NUM("last_frac", "Last", FRAC, "Share of the collectives over several hosts at which it arrived last"),
	NUM("own_us", "Own time (us)", US,
	    "Mean time of a step without exposed communication, on the slowest device of the host"),
	NUM("excess_us", "Excess (us)", US, "Median of the difference to the median host"),
	NUM("excess_noise_us", "Excess noise (us)", US, "Standard deviation of the excess"),
	INT("culprit_steps", "Held up", COUNT, "Slow steps in which the host had the longest own time"),
};

static void fill_verdict(struct ss_result *out, const struct ss_straggler_verdict *v)
{
	struct ss_table *t = ss_result_table(out, "verdict", "Verdict", verdict_cols, SS_COUNT(verdict_cols));
	ss_table_row(t);
	ss_set_str(t, V_KIND, ss_str_from(ss_straggler_kind_name(v->kind)));
	ss_set_str(t, V_HOST, v->host);
	ss_set_i64(t, V_DEVICE, v->device);
	ss_set_str(t, V_CAUSE, ss_str_from(ss_straggler_cause_name(v->cause)));
	ss_set_str(t, V_PATTERN, ss_str_from(ss_straggler_pattern_name(v->pattern)));
	ss_set_f64(t, V_FRAC, v->steps_frac);
	ss_set_f64(t, V_LOST, v->lost_us_per_step);
	ss_set_f64(t, V_CONFIDENCE, v->confidence_frac);
	ss_set_f64(t, V_NOISE, v->noise_us);
}

static void fill_steps(struct ss_result *out, const struct ss_cluster *c, const struct ss_straggler *s)
{
	struct ss_table *t = ss_result_table(out, "steps", "Steps", step_cols, ss_step_columns(c, SS_COUNT(step_cols)));
	for (size_t i = 0; i < s->steps.n; i++) {
		ss_table_row(t);
		const struct ss_straggler_step *st = &s->steps.v[i];
		ss_set_step(t, c, S_STEP, S_ROUND, st->step);
		ss_set_str(t, S_HOST, c->hosts.v[st->host].name);
		ss_set_i64(t, S_DEVICE, c->devices.v[st->device].ordinal);
		ss_set_f64(t, S_LOST, ss_ps_us(st->lost_ps));
		ss_set_f64(t, S_STEP_US, ss_ps_us(st->length_ps));
		ss_set_bool(t, S_SLOW, st->slow);
	}
}

static void fill_hosts(struct ss_result *out, const struct ss_cluster *c, const struct ss_straggler *s)
{
	struct ss_table *t = ss_result_table(out, "hosts", "Hosts", host_cols, SS_COUNT(host_cols));
	for (size_t i = 0; i < s->hosts.n; i++) {
		ss_table_row(t);
		const struct ss_straggler_host *h = &s->hosts.v[i];
		ss_set_str(t, H_HOST, c->hosts.v[h->host].name);
		ss_set_f64(t, H_LAST, h->last_frac);
		ss_set_f64(t, H_OWN, s->steps.n ? h->own_us : NAN);
		ss_set_f64(t, H_EXCESS, s->steps.n ? h->excess_us : NAN);
		ss_set_f64(t, H_NOISE, s->steps.n ? h->noise_us : NAN);
		ss_set_i64(t, H_STEPS, h->culprit_steps);
	}
}

/* What would decide between one host and chance. */
static void say_more_steps(struct ss_result *out, const struct ss_straggler_verdict *v)
{
	if (!v->more_steps)
		return;
	struct ss_str text = ss_arena_printf(out->arena,
					     "'" SS_FMT "' held up the others in %.0f of %u steps, which may be chance: record at "
					     "least %u more step%s to learn whether it is always the same host",
					     SS_ARG(v->host), v->steps_frac * v->nsteps, v->nsteps, v->more_steps,
					     v->more_steps == 1 ? "" : "s");
	ss_result_note(out, SS_INFO, text);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_straggler *s = ss_model_straggler(q->model, err);
	const struct ss_cluster *c = s ? ss_model_cluster(q->model, err) : NULL;
	if (!c)
		return false;
	fill_verdict(out, &s->verdict);
	fill_steps(out, c, s);
	fill_hosts(out, c, s);
	if (s->verdict.why)
		ss_result_note(out, SS_INFO, ss_str_from(s->verdict.why));
	say_more_steps(out, &s->verdict);
	bool ok = ss_cluster_notes_of_whole(c, out);
	return ok || ss_fail_mem(err);
}

struct cause_words {
	const char *cause, *says;
};

static void say_of_cause(struct ss_result *out, const struct cause_words *words, size_t n, struct ss_str cause)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_eq(cause, ss_str_from(words[i].cause)))
			ss_result_say(out, ss_str_from(words[i].says));
}

/* What the late host does longer than the others, in a sentence. */
static void say_cause(struct ss_result *out, struct ss_str cause)
{
	static const struct cause_words says[] = {
		{ "compute", "Some of its operations take longer there than on the other hosts." },
		{ "slower_clock", "All its operations take longer by the same factor: its clock, its power limit or another "
				  "program slows it down." },
		{ "input", "It waits longer for its input than the other hosts do." },
		{ "host", "Its devices wait longer for the host to launch their work than those of the other hosts do." },
		{ "copy", "Its copies between host and device take longer than on the other hosts." },
	};
	say_of_cause(out, says, SS_COUNT(says), cause);
}

/* What several hosts have more of than the others, in a sentence. */
static void say_uneven(struct ss_result *out, struct ss_str cause)
{
	static const struct cause_words says[] = {
		{ "compute", "The work is uneven: several hosts, or devices of them, have more of it in each step than the "
			     "others." },
		{ "input", "Several hosts wait longer for their input in each step than the others." },
		{ "host", "The devices of several hosts wait longer for the host to launch their work in each step than the "
			  "others." },
		{ "copy", "Several hosts, or devices of them, need longer for copies in each step than the others." },
		{ "", "Several hosts, or devices of them, are idle for longer in each step than the others; the recordings do "
		      "not show why." },
	};
	say_of_cause(out, says, SS_COUNT(says), cause);
}

/* The verdict of the table in a sentence. */
static void say_kind(struct ss_result *out, const struct ss_table *t, struct ss_str kind)
{
	struct ss_str host = ss_cell_str(t, 0, "host"), cause = ss_cell_str(t, 0, "cause");
	double frac = ss_cell_f64(t, 0, "steps_frac"), lost = ss_cell_f64(t, 0, "lost_us_per_step");
	if (ss_str_is(kind, "straggler")) {
		ss_say(out,
		       "'" SS_FMT "' holds up the other hosts in %s of the steps; without this delay a step would be at most "
		       "%s shorter.",
		       SS_ARG(host), ss_value_words(SS_UNIT_FRAC, frac).s,
		       ss_value_words(SS_UNIT_US, lost).s);
		say_cause(out, cause);
		return;
	}
	if (ss_str_is(kind, "uneven")) {
		say_uneven(out, cause);
		ss_say(out, "If all were alike, a step would be at most %s shorter.", ss_value_words(SS_UNIT_US, lost).s);
		return;
	}
	if (ss_str_is(kind, "rotating")) {
		ss_say(out,
		       "Different hosts hold up the others in %s of the steps; without these delays a step would be at most %s "
		       "shorter.",
		       ss_value_words(SS_UNIT_FRAC, frac).s, ss_value_words(SS_UNIT_US, lost).s);
		return;
	}
	if (ss_str_is(kind, "network")) {
		if (host.n)
			ss_say(out,
			       "The transfers of '" SS_FMT
			       "' are slower than those of the other hosts.",
			       SS_ARG(host));
		else
			ss_result_say(out, SS_STR("Transfers hold up the hosts; no host is "
						  "later than the others."));
		return;
	}
	if (ss_str_is(kind, "inconclusive")) {
		ss_result_say(out, frac > 0 ? SS_STR("Some steps are longer than others, but the "
						     "figures do not say which host is the cause.")
					    : SS_STR("The figures do not say whether a host holds up the others."));
		if (host.n)
			ss_say(out, "The candidate is '" SS_FMT "'.", SS_ARG(host));
		return;
	}
	ss_result_say(out, SS_STR("No host holds up the others."));
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "verdict"),
			      *hosts = ss_result_find(out, "hosts");
	struct ss_str kind = ss_cell_str(t, 0, "kind");
	if (!t->nrows || !hosts->nrows)
		return true;
	if (ss_str_is(kind, "one_host")) {
		if (q->model->nhosts > 1)
			ss_say(out, "No other host of the recordings can be compared with '" SS_FMT "'.",
			       SS_ARG(ss_cell_str(hosts, 0, "host")));
		else
			ss_result_say(out, SS_STR("This is the recording of one host, so there is no other host to compare it "
						  "with."));
		return true;
	}
	if (!ss_str_is(kind, "balanced"))
		out->conclusion.mood = SS_MOOD_WARN;
	say_kind(out, t, kind);
	return true;
}

const struct ss_tool ss_tool_stragglers = {
	.name = "stragglers",
	.title = "Stragglers",
	.summary = "The host that holds up the others: how often, at what cost, and why",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_CLUSTER,
	.run = run,
	.conclude = conclude,
};
