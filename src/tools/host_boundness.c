/*
 * host_boundness.c - how long devices wait for their host: by device and host, by cause, by step, and
 * what the host did meanwhile.
 *
 * One rule divides the time (model/attribution), that of the findings, so that both say the same. A device waits
 * for its host at a moment at which it neither computes nor communicates nor copies, while the thread
 * that starts the programs, or another one, does something that was recorded. Where nothing was recorded, the time is
 * not known to be the host's. On a host without devices the operations that threads run are what waits.
 *
 * XProf decides by the idle share of the steps and by hardware counters (stepscope xprof check_host_boundness); a
 * cause or a place in the program is not in its answer.
 */
#include "base/safe.h"
#include "model/attribution/attribution.h"
#include "tools/words.h"
#include "verdict/limits.h"

#define MOST_STEPS 10000u

enum { D_HOST, D_DEVICE, D_WINDOW, D_BUSY, D_WAIT, D_UNKNOWN, D_FRAC, D_BETWEEN, D_CAUSE, D_CAUSE_TIME };

static const struct ss_col device_cols[] = {
	STR("host", "Host", NULL),
	STR("device", "Device", "Name of the device; empty: operations that threads of a host without devices run"),
	INT("window_ps", "Time", PS, "Time from the begin of the first step to the end of the last; without steps the whole "
	    "recording"),
	INT("busy_ps", "Busy", PS, "Time in which the device computes, communicates or copies"),
	INT("host_wait_ps", "Waits for the host", PS, "Time in which the device is not busy and the recording shows what the "
	    "host does"),
	INT("unknown_ps", "Not recorded", PS, "Time in which the device is not busy and nothing was recorded"),
	NUM("host_wait_frac", "Share", FRAC, "Waits for the host / time"),
	INT("between_ps", "Between steps", PS, "Time outside of steps in which the device waits for the host"),
	STR("cause", "Largest cause", NULL),
	INT("cause_ps", "Its time", PS, NULL),
};

enum { C_HOST, C_DEVICE, C_CAUSE, C_TIME, C_FRAC, C_BETWEEN };

static const struct ss_col cause_cols[] = {
	STR("host", "Host", NULL),
	STR("device", "Device", NULL),
	STR("cause", "Cause", "What the host does while the device waits"),
	INT("host_wait_ps", "Waits for the host", PS, NULL),
	NUM("host_wait_frac", "Share", FRAC, "Share of the device's time"),
	INT("between_ps", "Between steps", PS, NULL),
};

enum { S_STEP, S_HOST, S_DEVICE, S_TIME, S_BUSY, S_WAIT, S_UNKNOWN, S_FRAC, S_CAUSE, S_CAUSE_TIME };

static const struct ss_col step_cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("host", "Host", NULL),
	STR("device", "Device", NULL),
	INT("step_ps", "Step time", PS, NULL),
	INT("busy_ps", "Busy", PS, NULL),
	INT("host_wait_ps", "Waits for the host", PS, NULL),
	INT("unknown_ps", "Not recorded", PS, NULL),
	NUM("host_wait_frac", "Share", FRAC, "Waits for the host / step time"),
	STR("cause", "Largest cause", NULL),
	INT("cause_ps", "Its time", PS, NULL),
};

enum { E_HOST, E_DEVICE, E_CAUSE, E_NAME, E_DETAIL, E_CALLER, E_TIME, E_FRAC, E_BEGIN, E_DUR };

static const struct ss_col evidence_cols[] = {
	STR("host", "Host", NULL),
	STR("device", "Device", NULL),
	STR("cause", "Cause", NULL),
	STR("name", "Where", "Function with its file and line, call, stage of the input, or infeed in which a TPU waits"),
	STR("detail", "Inside", NULL),
	STR("caller", "Called by", NULL),
	INT("host_wait_ps", "Waits for the host", PS, NULL),
	NUM("host_wait_frac", "Share", FRAC, "Share of the device's time"),
	INT("begin_ps", "Longest: begin", PS, "Since the begin of the host's session"),
	INT("dur_ps", "Longest: duration", PS, NULL),
};

static bool is_host(enum ss_time_class c)
{
	return c >= SS_TIME_CALLBACK && c <= SS_TIME_SYNC;
}

static uint64_t in_all(const struct ss_time_unit *u, enum ss_time_class c)
{
	uint64_t ps = 0;
	for (int r = 0; r < SS_REGION_COUNT; r++)
		ps += u->ps[c][r];
	return ps;
}

/* Times by class as busy, waiting for the host, and unknown; with the class that waits most. */
struct division {
	uint64_t busy_ps, wait_ps, unknown_ps, cause_ps;
	enum ss_time_class cause;
};

static struct division divide(const uint64_t ps[SS_TIME_COUNT])
{
	struct division d = { .unknown_ps = ps[SS_TIME_UNKNOWN] };
	for (int c = 0; c < SS_TIME_UNKNOWN; c++) {
		if (!is_host((enum ss_time_class)c)) {
			d.busy_ps += ps[c];
			continue;
		}
		d.wait_ps += ps[c];
		if (ps[c] > d.cause_ps) {
			d.cause_ps = ps[c];
			d.cause = (enum ss_time_class)c;
		}
	}
	return d;
}

static double frac(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static struct ss_str cause_of(const struct division *d)
{
	return d->cause_ps ? ss_time_class_name(d->cause) : SS_STR("");
}

static int64_t i64(uint64_t ps)
{
	return ss_safe_i64((double)ps);
}

static void put_device(struct ss_table *t, const struct ss_time_host *h, const struct ss_time_unit *u)
{
	uint64_t ps[SS_TIME_COUNT], between = 0;
	for (int c = 0; c < SS_TIME_COUNT; c++) {
		ps[c] = in_all(u, (enum ss_time_class)c);
		between += is_host((enum ss_time_class)c) ? u->ps[c][SS_REGION_BETWEEN] : 0;
	}
	const struct division d = divide(ps);
	ss_table_row(t);
	ss_set_str(t, D_HOST, h->name);
	ss_set_str(t, D_DEVICE, u->device);
	ss_set_i64(t, D_WINDOW, i64(u->window_ps));
	ss_set_i64(t, D_BUSY, i64(d.busy_ps));
	ss_set_i64(t, D_WAIT, i64(d.wait_ps));
	ss_set_i64(t, D_UNKNOWN, i64(d.unknown_ps));
	ss_set_f64(t, D_FRAC, frac(d.wait_ps, u->window_ps));
	ss_set_i64(t, D_BETWEEN, h->windows.n ? i64(between) : 0);
	ss_set_str(t, D_CAUSE, cause_of(&d));
	ss_set_i64(t, D_CAUSE_TIME, i64(d.cause_ps));
}

static void put_causes(struct ss_table *t, const struct ss_time_host *h, const struct ss_time_unit *u)
{
	bool said[SS_TIME_COUNT] = { false };
	for (;;) {
		int most = -1;
		for (int c = 0; c < SS_TIME_COUNT; c++)
			if (is_host((enum ss_time_class)c) && !said[c] && in_all(u, (enum ss_time_class)c) &&
			    (most < 0 || in_all(u, (enum ss_time_class)c) > in_all(u, (enum ss_time_class)most)))
				most = c;
		if (most < 0)
			return;
		said[most] = true;
		uint64_t ps = in_all(u, (enum ss_time_class)most);
		ss_table_row(t);
		ss_set_str(t, C_HOST, h->name);
		ss_set_str(t, C_DEVICE, u->device);
		ss_set_str(t, C_CAUSE, ss_time_class_name((enum ss_time_class)most));
		ss_set_i64(t, C_TIME, i64(ps));
		ss_set_f64(t, C_FRAC, frac(ps, u->window_ps));
		ss_set_i64(t, C_BETWEEN, h->windows.n ? i64(u->ps[most][SS_REGION_BETWEEN]) : 0);
	}
}

/* False: rows were left out. */
static bool put_steps(struct ss_table *t, const struct ss_time_host *h, const struct ss_time_unit *u)
{
	for (size_t i = 0; u->steps && i < h->windows.n; i++) {
		const struct ss_window *w = &h->windows.v[i];
		const struct division d = divide(u->steps[i].ps);
		uint64_t whole = d.busy_ps + d.wait_ps + d.unknown_ps;
		if (t->nrows >= MOST_STEPS)
			return false;
		ss_table_row(t);
		ss_set_i64(t, S_STEP, w->num);
		ss_set_str(t, S_HOST, h->name);
		ss_set_str(t, S_DEVICE, u->device);
		ss_set_i64(t, S_TIME, i64(whole));
		ss_set_i64(t, S_BUSY, i64(d.busy_ps));
		ss_set_i64(t, S_WAIT, i64(d.wait_ps));
		ss_set_i64(t, S_UNKNOWN, i64(d.unknown_ps));
		ss_set_f64(t, S_FRAC, frac(d.wait_ps, whole));
		ss_set_str(t, S_CAUSE, cause_of(&d));
		ss_set_i64(t, S_CAUSE_TIME, i64(d.cause_ps));
	}
	return !h->windows.n || u->steps;
}

static uint64_t subject_ps(const struct ss_time_subject *s)
{
	uint64_t ps = 0;
	for (int r = 0; r < SS_REGION_COUNT; r++)
		ps += s->ps[r];
	return ps;
}

static uint64_t length_ps(const struct ss_time_subject *s)
{
	return ss_safe_between(s->begin_ps, s->end_ps);
}

static bool is_same(const struct ss_time_subject *a, const struct ss_time_subject *b)
{
	return a->class == b->class && ss_str_eq(a->name, b->name) && ss_str_eq(a->detail, b->detail) &&
	       ss_str_eq(a->caller, b->caller);
}

/* Of those that look the same, the i-th for all: their time, and where one took longest. 0: an earlier one has said it. */
static uint64_t joined(const struct ss_time_unit *u, size_t i, const struct ss_time_subject **longest)
{
	uint64_t ps = 0;
	*longest = &u->subjects[i];
	for (size_t k = 0; k < u->nsubjects; k++) {
		const struct ss_time_subject *s = &u->subjects[k];
		if (!is_same(s, &u->subjects[i]))
			continue;
		if (k < i)
			return 0;
		ps += subject_ps(s);
		if (length_ps(s) > length_ps(*longest))
			*longest = s;
	}
	return ps;
}

static void put_evidence(struct ss_table *t, const struct ss_time_host *h, const struct ss_time_unit *u)
{
	for (size_t i = 0; i < u->nsubjects; i++) {
		const struct ss_time_subject *s = &u->subjects[i], *longest;
		uint64_t ps = is_host(s->class) ? joined(u, i, &longest) : 0;
		if (!ps)
			continue;
		ss_table_row(t);
		ss_set_str(t, E_HOST, h->name);
		ss_set_str(t, E_DEVICE, u->device);
		ss_set_str(t, E_CAUSE, ss_time_class_name(s->class));
		ss_set_str(t, E_NAME, s->name);
		ss_set_str(t, E_DETAIL, s->on_device ? SS_STR("") : s->detail);
		ss_set_str(t, E_CALLER, s->caller);
		ss_set_i64(t, E_TIME, i64(ps));
		ss_set_f64(t, E_FRAC, frac(ps, u->window_ps));
		ss_set_i64(t, E_BEGIN, longest->begin_ps);
		ss_set_i64(t, E_DUR, i64(length_ps(longest)));
	}
}

/* Devices can show it themselves: by what they run, or by the launches of it. */
static bool any_cause(const struct ss_time_host *h)
{
	for (size_t i = 0; i < h->nunits; i++)
		for (int c = 0; c < SS_TIME_COUNT; c++)
			if (is_host((enum ss_time_class)c) && in_all(&h->units[i], (enum ss_time_class)c))
				return true;
	return false;
}

/* Notes on what the tables cannot show, and why. */
static void put_notes(struct ss_result *out, const struct ss_time_host *h)
{
	struct ss_str text = SS_STR("");
	if (h->nunits && !h->has_host && !any_cause(h))
		text = ss_arena_printf(out->arena,
				       "The recording of host '" SS_FMT "' has no thread that starts programs, so it does not "
				       "show what the devices wait for. Record the host as well", SS_ARG(h->name));
	else if (h->nunits && h->silent_thread)
		text = ss_arena_printf(out->arena,
				       "The thread that starts programs on host '" SS_FMT "' recorded only marks of steps and "
				       "calls. Record Python or annotations to see what it does between them", SS_ARG(h->name));
	if (text.n)
		ss_result_note(out, SS_INFO, text);
	if (!h->units_left_out)
		return;
	text = ss_arena_printf(out->arena, "the tables have the first %d devices of host '" SS_FMT "' and leave out %zu",
			       SS_MOST_UNITS, SS_ARG(h->name), h->units_left_out);
	ss_result_note(out, SS_INFO, text);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_attribution *a = ss_model_attribution(q->model, err);
	bool whole = true;
	if (!a)
		return false;
	static void (*const fill[])(struct ss_table *t, const struct ss_time_host *h, const struct ss_time_unit *u) = {
		put_device, put_causes, NULL, put_evidence,
	};
	struct ss_table *t[] = {
		ss_result_table(out, "devices", "Devices", device_cols, SS_COUNT(device_cols)),
		ss_result_table(out, "causes", "What the host does meanwhile", cause_cols, SS_COUNT(cause_cols)),
		ss_result_table(out, "steps", "Steps", step_cols, SS_COUNT(step_cols)),
		ss_result_table(out, "evidence", "Evidence", evidence_cols, SS_COUNT(evidence_cols)),
	};
	for (size_t k = 0; k < SS_COUNT(t); k++) {
		t[k] = ss_result_at(out, k);
		for (size_t i = 0; i < a->nhosts; i++)
			for (size_t u = 0; u < a->hosts[i].nunits; u++)
				if (fill[k])
					fill[k](t[k], &a->hosts[i], &a->hosts[i].units[u]);
				else
					whole = put_steps(t[k], &a->hosts[i], &a->hosts[i].units[u]) && whole;
	}
	for (size_t k = 0; k < SS_COUNT(t); k++)
		ss_table_sort_naturally(ss_result_at(out, k), "host", NULL);
	for (size_t i = 0; i < a->nhosts; i++)
		put_notes(out, &a->hosts[i]);
	if (!whole)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena, "the table steps has the first %zu rows", ss_result_at(out, 2)->nrows));
	return true;
}

/* --- the conclusion ---------------------------------------------------------------------------- */

static double sum(const struct ss_table *t, const char *col)
{
	double v = 0;
	for (size_t i = 0; i < t->nrows; i++)
		v += ss_cell_f64(t, i, col);
	return v;
}

/* A cause, and where the places of its rows go. */
struct places {
	struct ss_str cause;
	struct ss_arena *arena;
};

/*
 * "'fetch (main.py:3)'", "'time.sleep' within 'fetch (main.py:3)'": the row's time is that of what
 * is inside.
 */
static struct ss_str place_of(const struct ss_table *e, size_t row, const void *arg)
{
	const struct places *p = arg;
	struct ss_str name = ss_cell_str(e, row, "name"), detail = ss_cell_str(e, row, "detail");
	if (!ss_str_eq(ss_cell_str(e, row, "cause"), p->cause))
		return (struct ss_str){ NULL, 0 };
	return detail.n ? ss_arena_printf(p->arena, "'" SS_FMT "' within '" SS_FMT "'", SS_ARG(detail), SS_ARG(name))
			: ss_arena_printf(p->arena, "'" SS_FMT "'", SS_ARG(name));
}

/* What most of the waiting is for, and who. */
static void say_cause(struct ss_result *out, double wait)
{
	const struct ss_table *c = ss_result_find(out, "causes"), *e = ss_result_find(out, "evidence");
	struct ss_greatest top = ss_greatest_kind(c, "host_wait_ps", ss_kind_of_column, "cause");
	if (top.row == SS_NPOS)
		return;
	struct ss_str cause = ss_cell_str(c, top.row, "cause");
	ss_say(out, "The largest cause is " SS_FMT ": %s.", SS_ARG(cause), ss_share_words(SS_UNIT_PS, top.value, wait).s);
	if (ss_str_eq(cause, ss_time_class_name(SS_TIME_INPUT)))
		out->conclusion.see = "input_pipeline_analyzer";
	struct places places = { cause, out->arena };
	struct ss_greatest most = ss_greatest_kind(e, "host_wait_ps", place_of, &places);
	if (most.row != SS_NPOS)
		ss_say(out, "The largest part of that is in " SS_FMT ": %s.", SS_ARG(place_of(e, most.row, &places)),
		       ss_value_words(SS_UNIT_PS, most.value).s);
}

static void say_wait(struct ss_result *out, const struct ss_table *t, double wait, double window)
{
	struct ss_words share = ss_share_words(SS_UNIT_PS, wait, window);
	bool much = wait >= SS_LEAST_SHARE * window, device = ss_cell_str(t, 0, "device").n;
	if (!device)
		ss_say(out, "The program's operations wait for other work on the host for %s%s.", share.s,
		       t->nrows > 1 ? ", summed over hosts" : "");
	else if (t->nrows == 1)
		ss_say(out, "The device waits for the host for %s.", share.s);
	else
		ss_say(out, "%zu devices wait for their hosts for a total of %s.", t->nrows, share.s);
	if (much && device && t->nrows > 1)
		ss_say(out, "This equals %.2g idle devices.", wait / window * (double)t->nrows);
	if (much)
		say_cause(out, wait);
}

/* How long they wait, for what, and what is not known. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "devices");
	double wait = sum(t, "host_wait_ps"), window = sum(t, "window_ps"), unknown = sum(t, "unknown_ps");
	(void)q;
	(void)err;
	if (!(window > 0)) {
		ss_result_say(out, t->nrows ?
			SS_STR("No operation of a device was recorded, so it is not known how long devices wait.") :
			SS_STR("The profile has no device and no operation of a program that could wait for the host."));
		return true;
	}
	bool much = wait >= SS_LEAST_SHARE * window, dark = unknown >= SS_LEAST_SHARE * window;
	out->conclusion.mood = much ? SS_MOOD_WARN : dark ? SS_MOOD_PLAIN : SS_MOOD_GOOD;
	bool silent = ss_cell_str(t, 0, "device").n && !(wait > 0);
	if (!silent)
		say_wait(out, t, wait, window);
	else if (!dark)
		ss_result_say(out, SS_STR("No device was recorded to wait for its host."));
	if (dark)
		ss_say(out, "Nothing runs for %s, and the recording shows no cause.",
		       ss_share_words(SS_UNIT_PS, unknown, window).s);
	return true;
}

const struct ss_tool ss_tool_host_boundness = {
	.name = "host_boundness",
	.title = "Waiting for the host",
	.summary = "How long devices wait for their host, by device, cause and step, and what the host does meanwhile",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_ATTRIBUTION,
	.run = run,
	.conclude = conclude,
};
