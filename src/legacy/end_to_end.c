/*
 * end_to_end.c - where the wall time of a whole program went: training, evaluation, prediction, and
 * what came before and between.
 *
 * The rules stand in legacy/model/end_to_end.h. The first table is the chart of TensorFlow 1.14's
 * tool of this name, a row for each category; the second holds what it was made from, also of the
 * evaluation's and prediction's own start, which that chart leaves out.
 */
#include "legacy/model/end_to_end.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>

enum { CA_FILE, CA_CATEGORY, CA_MS, CA_FRAC };

static const struct ss_col category_cols[] = {
	STR("file", "File", NULL),
	STR("category", "Category", NULL),
	NUM("duration_ms", "Duration", MS, "0 where the log lacks its begin or its end"),
	NUM("bar_frac", "Share of the bar", FRAC,
	    "duration_ms / sum of all ten phases. Some time counts twice: training includes the first five"),
};

enum { PH_FILE, PH_SESSION, PH_PHASE, PH_BEGIN, PH_MS };

static const struct ss_col phase_cols[] = {
	STR("file", "File", NULL),
	STR("session", "Session", "train, eval or predict; the last one of each"),
	STR("phase", "Phase", NULL),
	NUM("begin_ms", "Begin", MS, "Since the first begin in the file; empty: not in the log"),
	NUM("duration_ms", "Duration", MS, "end - begin; empty where either is not in the log"),
};

struct chart {
	const struct ss_request *q;
	struct ss_result *out;
	struct ss_table *categories, *phases;
};

/*
 * Wall times are doubles of seconds, good to a quarter of a microsecond; what is beyond that is
 * noise.
 */
static double rounded_ms(double ms)
{
	return floor(ms * 1000 + 0.5) / 1000;
}

static void add_categories(struct ss_table *t, struct ss_str file, const struct ss_end_to_end *e)
{
	double sum = 0;
	for (int c = 0; c < SS_E2E_CATEGORIES; c++)
		sum += e->category_ms[c];
	for (int c = 0; c < SS_E2E_CATEGORIES; c++) {
		ss_table_row(t);
		ss_set_str(t, CA_FILE, file);
		ss_set_str(t, CA_CATEGORY, ss_str_from(ss_e2e_category_name((enum ss_e2e_category)c)));
		ss_set_f64(t, CA_MS, rounded_ms(e->category_ms[c]));
		ss_set_f64(t, CA_FRAC, sum > 0 ? e->category_ms[c] / sum : 0);
	}
}

static void add_phases(struct ss_table *t, struct ss_str file, const struct ss_end_to_end *e)
{
	double first_ms = (double)INFINITY;
	for (int s = 0; s < SS_E2E_SESSIONS; s++)
		for (int p = 0; p < SS_E2E_PHASES; p++)
			if (e->span[s][p].begin_ms < first_ms)
				first_ms = e->span[s][p].begin_ms;
	for (int s = 0; s < SS_E2E_SESSIONS; s++)
		for (int p = 0; p < SS_E2E_PHASES; p++) {
			const struct ss_e2e_span *span = &e->span[s][p];
			if (isnan(span->begin_ms) && isnan(span->end_ms))
				continue;
			ss_table_row(t);
			ss_set_str(t, PH_FILE, file);
			ss_set_str(t, PH_SESSION, ss_str_from(ss_e2e_session_name((enum ss_e2e_session)s)));
			ss_set_str(t, PH_PHASE, ss_str_from(ss_e2e_phase_name((enum ss_e2e_phase)p)));
			ss_set_f64(t, PH_BEGIN, rounded_ms(span->begin_ms - first_ms));
			ss_set_f64(t, PH_MS, rounded_ms(span->end_ms - span->begin_ms));
		}
}

/* The time before the first step of the training session of the newest log, if it has one. */
static void set_props(struct ss_table *t, const struct ss_end_to_end *e)
{
	const double *ms = e->category_ms;
	double start = ms[SS_E2E_INIT] + ms[SS_E2E_MODEL] + ms[SS_E2E_INFEED], train = ms[SS_E2E_TRAINING];
	if (!(train > 0))
		return;
	ss_table_prop_num(t, "training_ms", "Training session", SS_UNIT_MS, rounded_ms(train), "%.3f");
	ss_table_prop_num(t, "start_ms", "of it system, model and infeed", SS_UNIT_MS, rounded_ms(start), "%.3f");
	ss_table_prop_num(t, "start_frac", "its share", SS_UNIT_FRAC, start / train, "%.3f");
}

static void note(const struct chart *j, struct ss_str file, struct ss_str text)
{
	ss_result_note(j->out, SS_WARNING, ss_arena_printf(j->q->arena, SS_FMT ": " SS_FMT, SS_ARG(file), SS_ARG(text)));
}

static void add_notes(const struct chart *j, struct ss_str file, const struct ss_end_to_end *e)
{
	struct ss_arena *a = j->q->arena;
	if (e->ndamaged)
		note(j, file, ss_arena_printf(a, "%llu damaged records were skipped", (unsigned long long)e->ndamaged));
	if (e->bad)
		note(j, file, SS_STR("the file is damaged: nothing after the last intact record could be read"));
	if (e->cut)
		note(j, file, SS_STR("the file ends inside a record: it is still being written, or it is truncated"));
	if (e->nstray)
		note(j, file, ss_arena_printf(a, "%llu event%s to no session and %s not counted",
					      (unsigned long long)e->nstray, e->nstray == 1 ? " belongs" : "s belong",
					      e->nstray == 1 ? "is" : "are"));
	for (int s = 0; !e->from_json && s < SS_E2E_SESSIONS; s++)
		if (isnan(e->span[s][SS_E2E_WHOLE].begin_ms) != isnan(e->span[s][SS_E2E_WHOLE].end_ms))
			note(j, file, ss_arena_printf(a, "%s has no %s: the program was still running or ended early",
						      ss_e2e_session_name((enum ss_e2e_session)s),
						      isnan(e->span[s][SS_E2E_WHOLE].begin_ms) ? "begin" : "end"));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct chart j = { .q = q, .out = out };
	struct ss_err first = { 0 };
	struct ss_end_to_end last = { 0 };
	bool any = false;
	if (!ss_result_table(out, "breakdown", "Runtime breakdown", category_cols, SS_COUNT(category_cols)) ||
	    !ss_result_table(out, "phases", "Sessions and phases", phase_cols, SS_COUNT(phase_cols)))
		return ss_fail_mem(err);
	j.categories = ss_result_at(out, 0);
	j.phases = ss_result_at(out, 1);
	for (size_t i = 0; i < q->model->nhosts; i++) {
		const struct ss_host *h = q->model->hosts[i];
		struct ss_end_to_end e;
		struct ss_err why = { 0 };
		if (!ss_end_to_end_read(h, &e, &why)) {
			if (why.code == SS_ENOMEM)
				return ss_fail_mem(err);
			if (!first.code)
				first = why;
			continue;
		}
		any = true;
		last = e;
		add_categories(j.categories, ss_host_name(h), &e);
		if (!e.from_json)
			add_phases(j.phases, ss_host_name(h), &e);
		add_notes(&j, ss_host_name(h), &e);
	}
	if (!any)
		return ss_fail(err, first.code ? first.code : SS_ENODATA, "%s",
			       first.code ? first.text : "the directory holds no log of program phases");
	set_props(j.categories, &last);
	if (first.code)
		ss_result_note(out, SS_WARNING, ss_arena_str(q->arena, ss_str_from(first.text)));
	return true;
}

static double of_category(const struct ss_table *t, struct ss_str file, const char *category)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_str_eq(ss_cell_str(t, i, "file"), file) &&
		    ss_str_is(ss_cell_str(t, i, "category"), category))
			return ss_cell_f64(t, i, "duration_ms");
	return 0;
}

/* Use the newest log. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "breakdown");
	double train = ss_result_number(out, "training_ms"),
	       start = ss_result_number(out, "start_ms");
	(void)q;
	if (!t->nrows)
		return true;
	struct ss_str file = ss_cell_str(t, t->nrows - 1, "file");
	double eval = of_category(t, file, "eval"), predict = of_category(t, file, "predict");
	if (train > 0)
		ss_say(out,
		       "The training session takes %s. Starting the system, building "
		       "the model and filling the infeed "
		       "take %s of it.",
		       ss_value_words(SS_UNIT_MS, train).s,
		       ss_share_words(SS_UNIT_MS, start, train).s);
	else
		ss_result_say(out, SS_STR("The log has no whole training session."));
	if (eval > 0)
		ss_say(out, "Evaluation takes %s.", ss_value_words(SS_UNIT_MS, eval).s);
	if (predict > 0)
		ss_say(out, "Prediction takes %s.", ss_value_words(SS_UNIT_MS, predict).s);
	return true;
}

const struct ss_tool ss_tool_end_to_end = {
	.name = "end_to_end",
	.title = "End-to-End",
	.summary = "Wall time of a whole program: start, training, evaluation, prediction",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS,
	.run = run,
	.conclude = conclude,
};
