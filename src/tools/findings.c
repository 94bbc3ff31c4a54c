/* findings.c - see findings.h. */
#include "tools/findings.h"

#include "model/host/identity.h"
#include "model/model.h"


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

static void say_part(struct ss_table *t, const char *id, struct ss_str class, double frac)
{
	struct ss_str label = ss_arena_printf(t->arena, "Time of the verdict: " SS_FMT, SS_ARG(class));
	if (frac > 0 && label.p)
		ss_table_prop_num(t, id, label.p, SS_UNIT_PERCENT, 100 * frac, "%.1f%%");
}

/* Where the time goes by the attribution that the findings are made of: its parts add up to the whole. */
static void say_parts(struct ss_table *t, const struct ss_verdict *v)
{
	static const char *const ids[SS_TIME_COUNT] = {
		[SS_TIME_COMPUTE] = "time_compute_percent",	[SS_TIME_COLLECTIVE] = "time_communication_percent",
		[SS_TIME_COPY] = "time_copies_percent",		[SS_TIME_CALLBACK] = "time_callback_percent",
		[SS_TIME_INPUT] = "time_input_percent",		[SS_TIME_COMPILE] = "time_compilation_percent",
		[SS_TIME_GC] = "time_gc_percent",		[SS_TIME_LOCK] = "time_locks_percent",
		[SS_TIME_HOST_CODE] = "time_host_code_percent", [SS_TIME_LAUNCH] = "time_launching_percent",
		[SS_TIME_SYNC] = "time_sync_percent",		[SS_TIME_UNKNOWN] = "time_not_recorded_percent",
	};
	double whole = (double)v->window_ps;
	if (!(whole > 0))
		return;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		say_part(t, ids[c], ss_time_class_name((enum ss_time_class)c), (double)v->class_ps[c] / whole);
	say_part(t, "time_between_steps_percent", SS_STR("between steps"), (double)v->between_ps / whole);
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
	if (t->nrows)
		t->title = "Steps, as XProf counts";
	ss_table_prop_num(t, "step_count", "Steps of the verdict", SS_UNIT_COUNT, (double)v->steps, "%.0f");
	for (size_t i = 0; i < SS_COUNT(times); i++)
		if (isfinite(times[i].ps))
			ss_table_prop_num(t, times[i].id, times[i].label, SS_UNIT_MS, times[i].ps / 1e9, "%.3f");
	if (v->steps)
		ss_table_prop(t, "step_source", ss_step_source_name(v->source));
	if (isfinite(v->confidence))
		ss_table_prop_num(t, "step_confidence_percent", "Confidence in the steps", SS_UNIT_PERCENT, 100 * v->confidence,
				  "%.0f%%");
	say_parts(t, v);
}

void ss_findings_note_gaps(struct ss_result *out, const struct ss_verdict *v)
{
	for (size_t i = 0; i < v->ngaps; i++)
		if (!v->gaps[i].noted)
			ss_result_note(out, SS_INFO, v->gaps[i].text);
}
