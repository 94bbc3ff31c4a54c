/* overview_words.c - see overview_words.h. */
#include "tools/overview_words.h"

#include "base/html.h"
#include "tools/finding.h"

/* The text of a property without its links, "" when it is absent or empty; p is NULL when memory is out. */
static struct ss_str words_of(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	struct ss_buf plain = { 0 };
	if (!p || !p->text.n)
		return SS_STR("");
	ss_html_plain(&plain, p->text);
	struct ss_str out = plain.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(r->arena, ss_buf_get(&plain));
	ss_buf_free(&plain);
	return out;
}

/* A stored overview comes without a profile to find anything in; and an overview is worth showing without a finding. */
static bool find(struct ss_finding *f, const struct ss_query *q, struct ss_str bottleneck, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool stored = q->model->nhosts && q->model->hosts[0]->raw;
	*f = (struct ss_finding){ .text = SS_STR("") };
	if (stored || ss_str_is(bottleneck, "host") || ss_finding_first(f, q, &why))
		return true;
	*f = (struct ss_finding){ .text = SS_STR("") };
	return why.code != SS_ENOMEM || ss_fail_mem(err);
}

static enum ss_mood mood_of(struct ss_str bottleneck)
{
	return ss_str_is(bottleneck, "host") ? SS_MOOD_BAD : ss_str_is(bottleneck, "device") ? SS_MOOD_GOOD :
	       bottleneck.n ? SS_MOOD_WARN : SS_MOOD_PLAIN;
}

bool ss_overview_conclude(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	static const char *const more[] = {
		"output_conclusion", "kernel_launch_statement", "device_collectives_statement", "all_other_statement",
		"precision_statement", "tf_function_statement", "eager_statement", "outside_compilation_statement",
	};
	struct ss_str bottleneck = words_of(out, "bottleneck"), verdict = words_of(out, "statement");
	struct ss_str other = words_of(out, "all_other_statement");
	struct ss_finding finding;
	if (!bottleneck.p || !find(&finding, q, bottleneck, err))
		return bottleneck.p ? false : ss_fail_mem(err);
	if (verdict.p && !verdict.n)
		verdict = words_of(out, "input_conclusion");
	bool ok = verdict.p && other.p && ss_result_say(out, finding.text);
	if (ok && !verdict.n && !finding.text.n)
		ok = ss_result_say(out, SS_STR("This profile has no steps from which a bottleneck could be told."));
	if (ok && !(finding.about_gaps && !other.n))
		ok = ss_result_say(out, verdict);
	for (size_t i = 0; ok && i < SS_COUNT(more); i++)
		if (!finding.about_gaps || strcmp(more[i], "all_other_statement") != 0)
			ok = ss_result_say(out, words_of(out, more[i]));
	out->conclusion.mood = finding.text.n ? SS_MOOD_WARN : mood_of(bottleneck);
	out->conclusion.see = finding.text.n ? "smart_suggestion" : NULL;
	return ok || ss_fail_mem(err);
}
