/* overview_words.c - see overview_words.h. */
#include "tools/overview_words.h"

#include "tools/finding.h"
#include "tools/words.h"

/* A stored overview comes without a profile to find anything in; and an overview is worth showing without a finding. */
static bool find(struct ss_finding *f, const struct ss_request *q, struct ss_str bottleneck, struct ss_err *err)
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

bool ss_overview_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const char *const more[] = {
		"output_conclusion", "kernel_launch_statement", "device_collectives_statement", "all_other_statement",
		"precision_statement", "tf_function_statement", "eager_statement", "outside_compilation_statement",
	};
	struct ss_str bottleneck = ss_prop_words(out, "bottleneck"), verdict = ss_prop_words(out, "statement");
	struct ss_str other = ss_prop_words(out, "all_other_statement");
	struct ss_finding finding;
	if (!bottleneck.p || !find(&finding, q, bottleneck, err))
		return bottleneck.p ? false : ss_fail_mem(err);
	if (verdict.p && !verdict.n)
		verdict = ss_prop_words(out, "input_conclusion");
	bool ok = verdict.p && other.p && ss_result_say(out, finding.text);
	if (ok && !verdict.n && !finding.text.n)
		ok = ss_result_say(out, SS_STR("This profile has no steps from which a bottleneck could be told."));
	if (ok && !(finding.about_gaps && !other.n))
		ok = ss_result_say(out, verdict);
	for (size_t i = 0; ok && i < SS_COUNT(more); i++)
		if (!finding.about_gaps || strcmp(more[i], "all_other_statement") != 0)
			ok = ss_result_say(out, ss_prop_words(out, more[i]));
	out->conclusion.mood = finding.text.n ? SS_MOOD_WARN : mood_of(bottleneck);
	out->conclusion.see = finding.text.n ? "smart_suggestion" : NULL;
	return ok || ss_fail_mem(err);
}
