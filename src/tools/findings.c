/* findings.c - see findings.h. */
#include "tools/findings.h"

#include <math.h>

/* From this share on the first finding is bad news. */
#define BAD_SHARE 0.25

bool ss_findings_of(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	*out = (struct ss_verdict){ .framework = SS_STR(""), .device = SS_STR("") };
	return !m->nhosts || ss_host_is_raw(m->hosts[0]) || ss_verdict_make(out, m, arena, err);
}

const struct ss_verdict_finding *ss_finding_of_cause(const struct ss_verdict *v, enum ss_cause c)
{
	for (size_t i = 0; i < v->nfindings; i++)
		if (v->findings[i].cause == c)
			return &v->findings[i];
	return NULL;
}

static enum ss_mood mood_of(const struct ss_verdict_finding *f)
{
	if (f->cause == SS_CAUSE_COMPUTE || f->cause == SS_CAUSE_NONE)
		return SS_MOOD_GOOD;
	return f->share_frac >= BAD_SHARE ? SS_MOOD_BAD : SS_MOOD_WARN;
}

void ss_findings_say(struct ss_result *out, const struct ss_verdict *v)
{
	for (size_t i = 0; i < v->nfindings; i++)
		ss_result_say(out, v->findings[i].text);
	if (v->nfindings)
		out->conclusion.mood = mood_of(&v->findings[0]);
}

void ss_findings_say_steps(struct ss_result *out, const struct ss_verdict *v)
{
	const struct {
		const char *id, *label;
		double ps;
	} times[] = {
		{ "step_time_mean_ms", "Step time of the verdict", v->mean_ps },
		{ "step_time_deviation_ms", "Its standard deviation", v->deviation_ps },
		{ "step_time_min_ms", "Shortest step of the verdict", v->min_ps },
		{ "step_time_max_ms", "Longest step of the verdict", v->max_ps },
	};
	struct ss_table *t = NULL;
	for (size_t i = 0; i < out->ntables && !t; i++)
		t = strcmp(out->tables[i].name, "steps") == 0 ? ss_result_at(out, i) : NULL;
	if (!t || !v->hosts)
		return;
	ss_table_prop_num(t, "step_count", "Steps of the verdict", SS_UNIT_COUNT, (double)v->steps, "%.0f");
	for (size_t i = 0; i < SS_COUNT(times); i++)
		if (isfinite(times[i].ps))
			ss_table_prop_num(t, times[i].id, times[i].label, SS_UNIT_MS, times[i].ps / 1e9, "%.3f");
	if (v->steps)
		ss_table_prop(t, "step_source", ss_step_source_name(v->source));
	if (isfinite(v->confidence))
		ss_table_prop_num(t, "step_confidence_percent", "Confidence in the steps", SS_UNIT_PERCENT, 100 * v->confidence,
				  "%.0f%%");
}

void ss_findings_note_gaps(struct ss_result *out, const struct ss_verdict *v)
{
	for (size_t i = 0; i < v->ngaps; i++)
		if (!v->gaps[i].noted)
			ss_result_note(out, SS_INFO, v->gaps[i].text);
}
