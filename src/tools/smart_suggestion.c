/*
 * smart_suggestion.c - what to change first: the findings of the verdict, each with what helps and
 * the figures that prove it.
 *
 * XProf's clients get its one rule first, on cores that wait at barriers, where it fires.
 */
#include "model/steps/event_share.h"
#include "table/units.h"
#include "tools/findings.h"
#include "tools/words.h"

#include <math.h>

enum { SUG_RULE, SUG_TITLE, SUG_PERCENT, SUG_SUBJECT, SUG_FINDING };

static const struct ss_col suggestion_cols[] = {
	STR("rule", "Cause", "One word for each kind of cause: docs/verdicts.md lists them"),
	STR("title", "Suggestion", NULL),
	NUM("percent", "Share", PERCENT, "Share of the recorded time; absent if it takes no time or the time is not known"),
	STR("subject", "Subject", "Host, device or thread that the finding is about"),
	STR("finding", "Finding", NULL),
};

enum { ADV_SUGGESTION, ADV_TEXT };

static const struct ss_col advice_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("text", "What to do", NULL),
};

enum { EV_SUGGESTION, EV_FIGURE, EV_VALUE, EV_NUMBER, EV_UNIT, EV_HOST, EV_TOOL, EV_LINK };

static const struct ss_col evidence_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("figure", "Figure", NULL),
	STR("value", "Value", "Value as text, with its unit"),
	NUM("number", "Number", NONE, "Value as a number in its unit; absent if the value is a word"),
	STR("unit", "Unit", "share: 1 is the whole; ps, bytes, count, per step"),
	STR("host", "Host", NULL),
	STR("tool", "Tool", "Tool that shows the figure"),
	STR("link", "Link", "Query of the page that shows it; for the timeline with the time range in which it takes longest"),
};

enum { NJ_CAUSE, NJ_WHY };

static const struct ss_col not_judged_cols[] = {
	STR("rule", "Cause", NULL),
	STR("why", "Why not", "Data that the recording does not hold"),
};

#define BARRIER_PERCENT 10.0

static struct ss_str shown(const struct ss_proof *p, struct ss_arena *a)
{
	char text[32];
	if (isnan(p->value))
		return p->words;
	if (strcmp(p->unit, "share") == 0)
		return ss_arena_printf(a, "%s", ss_value_words(SS_UNIT_FRAC, p->value).s);
	enum ss_unit unit = strcmp(p->unit, "ps") == 0	    ? SS_UNIT_MS
			    : strcmp(p->unit, "bytes") == 0 ? SS_UNIT_BYTES
							    : SS_UNIT_COUNT;
	ss_format_value(text, sizeof(text), unit, unit == SS_UNIT_MS ? p->value / 1e9 : p->value);
	return strcmp(p->unit, "per step") == 0 ? ss_arena_printf(a, "%s per step", text) : ss_arena_str(a, ss_str_from(text));
}

static void add_advice(struct ss_table *t, int64_t row, struct ss_str text)
{
	ss_table_row(t);
	ss_set_i64(t, ADV_SUGGESTION, row);
	ss_set_str(t, ADV_TEXT, text);
}

static void add_proof(struct ss_table *t, int64_t row, const struct ss_proof *p)
{
	struct ss_str value = shown(p, t->arena);
	/* What is not known proves nothing. */
	if (ss_str_is(value, "unknown"))
		return;
	ss_table_row(t);
	ss_set_i64(t, EV_SUGGESTION, row);
	/* Other programs know it by its key, people by words. */
	ss_set_str(t, EV_FIGURE, ss_str_is(p->what, "bound_by") ? SS_STR("nearest limit of the device") : p->what);
	ss_set_str(t, EV_VALUE, value);
	ss_set_f64(t, EV_NUMBER, p->value);
	ss_set_str(t, EV_UNIT, ss_str_from(p->unit));
	ss_set_str(t, EV_HOST, p->host);
	ss_set_str(t, EV_TOOL, p->tool);
	ss_set_str(t, EV_LINK, p->link);
}

static void add_suggestion(struct ss_table *t, struct ss_str rule, struct ss_str title, double percent, struct ss_str subject,
			   struct ss_str finding)
{
	ss_table_row(t);
	ss_set_str(t, SUG_RULE, rule);
	ss_set_str(t, SUG_TITLE, title);
	ss_set_f64(t, SUG_PERCENT, percent);
	ss_set_str(t, SUG_SUBJECT, subject);
	ss_set_str(t, SUG_FINDING, finding);
}

static void add_finding(struct ss_result *out, const struct ss_verdict_finding *f)
{
	struct ss_table *t = ss_result_at(out, 0), *advice = ss_result_at(out, 1), *evidence = ss_result_at(out, 2);
	int64_t row = (int64_t)t->nrows;
	add_suggestion(t, ss_cause_name(f->cause), ss_cause_title(f->cause), 100 * f->share_frac, f->subject, f->text);
	for (size_t i = 0; i < f->nadvice; i++)
		add_advice(advice, row, f->advice[i]);
	for (size_t i = 0; i < f->nevidence; i++)
		add_proof(evidence, row, &f->evidence[i]);
}

/* Hosts far from the others. */
static void add_far_hosts(struct ss_table *t, const struct ss_event_shares *s)
{
	for (size_t i = 0; i < s->nhosts; i++) {
		const struct ss_host_share *h = &s->hosts[i];
		if (h->straggler)
			add_advice(t, 0, ss_arena_printf(t->arena, "Look at " SS_FMT ": it spends %.1f%% of its step time at "
			    "barriers, which differs much from the other hosts. The others wait for the host that waits least.",
							 SS_ARG(h->hostname), 100 * h->mean_frac));
	}
}

static void add_barriers(struct ss_result *out, const struct ss_event_shares *s)
{
	struct ss_table *t = ss_result_at(out, 0), *advice = ss_result_at(out, 1);
	double percent = s->n ? 100 * s->mean_frac : 0;
	if (percent < BARRIER_PERCENT)
		return;
	struct ss_str text = ss_arena_printf(out->arena,
					     "TPU barrier-cores operations take an average of %.1f%% of each step time: cores "
					     "wait there until all others have arrived.",
					     percent);
	add_suggestion(t, SS_STR("BarrierCoresRule"), SS_STR("Cores wait for each other"), percent, SS_STR("barrier-cores"),
		       text);
	add_far_hosts(advice, s);
	add_advice(advice, 0, SS_STR("Balance the work: uneven shards, or one host with a slower input pipeline, make all "
				     "others wait."));
}

static void add_not_judged(struct ss_table *t, const struct ss_verdict *v)
{
	for (size_t i = 0; i < v->nnot_judged; i++) {
		ss_table_row(t);
		ss_set_str(t, NJ_CAUSE, ss_cause_name(v->not_judged[i].cause));
		ss_set_str(t, NJ_WHY, v->not_judged[i].why);
	}
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_verdict v;
	const struct ss_event_shares *barriers = q->as_xprof ? ss_model_barriers(q->model, err) : NULL;
	if ((q->as_xprof && !barriers) || !ss_findings_of(&v, q->model, q->arena, err))
		return false;
	ss_result_table(out, "suggestions", "Suggestions", suggestion_cols, SS_COUNT(suggestion_cols));
	ss_result_table(out, "advice", "What to do", advice_cols, SS_COUNT(advice_cols));
	ss_result_table(out, "evidence", "Why", evidence_cols, SS_COUNT(evidence_cols));
	struct ss_table *t = ss_result_table(out, "not_judged", "What this recording cannot show", not_judged_cols,
					     SS_COUNT(not_judged_cols));
	if (barriers)
		add_barriers(out, barriers);
	for (size_t i = 0; i < v.nfindings; i++)
		add_finding(out, &v.findings[i]);
	add_not_judged(t, &v);
	return true;
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_at(out, 0);
	(void)q;
	(void)err;
	if (!t->nrows) {
		ss_result_say(out, SS_STR("This profile has no events that show a bottleneck."));
		return true;
	}
	for (size_t i = 0; i < t->nrows; i++)
		ss_result_say(out, ss_cell_str(t, i, "finding"));
	return true;
}

const struct ss_tool ss_tool_smart_suggestion = {
	.name = "smart_suggestion",
	.title = "Suggestions",
	.summary = "What to change first, with the figures that prove it",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_UNLISTED | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FINDINGS_FACTS,
	.run = run,
	.conclude = conclude,
};
