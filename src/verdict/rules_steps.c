/* rules_steps.c - time between the steps, and steps that take far longer than the others. */
#include "verdict/judge.h"
#include "model/attribution/frames.h"
#include "base/order.h"
#include "base/safe.h"
#include "verdict/limits.h"

#include <stdlib.h>

static double between_frac(const struct ss_judged_unit *u)
{
	double frac = 0;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		frac += ss_unit_frac(u, (enum ss_time_class)c, SS_REGION_BETWEEN);
	return frac;
}

static enum ss_time_class most_of(const struct ss_judged_unit *u, enum ss_time_region r)
{
	int best = 0;
	for (int c = 1; c < SS_TIME_COUNT; c++)
		if (u->u->ps[c][r] > u->u->ps[best][r])
			best = c;
	return (enum ss_time_class)best;
}

void ss_rule_outside_steps(struct ss_judge *j)
{
	const struct ss_judged_unit *worst = NULL;
	double max = 0, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++)
		if (between_frac(&j->units[i]) > max) {
			max = between_frac(&j->units[i]);
			worst = &j->units[i];
		}
	for (size_t i = 0; i < j->nunits; i++)
		if (between_frac(&j->units[i]) >= SS_AFFECTED_FRAC * max) {
			sum += between_frac(&j->units[i]);
			n++;
		}
	double frac = n ? sum / (double)n : 0;
	if (!worst || frac < SS_LEAST_SHARE)
		return;
	enum ss_time_class c = most_of(worst, SS_REGION_BETWEEN);
	const struct ss_time_subject *s = ss_largest(worst, c, true);
	struct ss_str class = ss_time_class_name(c),
		      stage = c == SS_TIME_INPUT && worst->h->input.name.n ? worst->h->input.name : SS_STR("");
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_OUTSIDE_STEPS, frac);
	if (!f)
		return;
	struct ss_str name = stage.n ? stage : s ? s->name : SS_STR("");
	f->subject = name.n ? ss_say(j, "between the steps: " SS_FMT, SS_ARG(ss_cut(name, 150)))
			    : SS_STR("between the steps");
	if (c == SS_TIME_UNKNOWN)
		f->text = ss_say(j,
				 "%s of the time passes between the steps, and what the program does there was not "
				 "recorded.",
				 ss_percent_of(frac).s);
	else
		f->text = ss_say(
			j, "%s of the time passes between the steps, mostly in " SS_FMT "%s" SS_FMT "%s" SS_FMT ".",
			ss_percent_of(frac).s, SS_ARG(class), name.n ? ": " : "", SS_ARG(name),
			s && s->caller.n ? ", called by " : "", SS_ARG(s ? s->caller : SS_STR("")));
	ss_prove(j, f, ss_say(j, SS_FMT " between steps", SS_ARG(ss_say_share(j, worst))).p, between_frac(worst), "share", worst,
		 "trace_viewer@");
	if (s)
		ss_point_at(j, f, worst, s->begin_ps, s->end_ps);
}

#define MOST_NUMBERS 8

/* "3, 7 and 11" of the steps that are `in`, n of them. */
static struct ss_str numbers_of(struct ss_judge *j, const struct ss_windows *w, const bool *in, size_t n)
{
	struct ss_str text = SS_STR("");
	size_t said = 0;
	for (size_t i = 0; i < w->n && said < MOST_NUMBERS; i++)
		if (in ? in[i] : w->v[i].outlier) {
			const char *before = !said ? "" : said + 1 == n ? " and " : ", ";
			text = ss_say(j, SS_FMT "%s%lld", SS_ARG(text), before, (long long)w->v[i].num);
			said++;
		}
	return n > said ? ss_say(j, SS_FMT " and %zu more", SS_ARG(text), n - said) : text;
}

static const struct ss_time_subject *outlier_subject(const struct ss_judged_unit *u, enum ss_time_class c)
{
	const struct ss_windows *w = &u->h->windows;
	double ratio = (double)w->noutliers / (double)(w->n - w->noutliers), max = 0;
	const struct ss_time_subject *best = NULL;
	for (size_t i = 0; i < u->u->nsubjects; i++) {
		const struct ss_time_subject *s = &u->u->subjects[i];
		double excess = (double)s->ps[SS_REGION_OUTLIERS] - ratio * (double)s->ps[SS_REGION_STEPS];
		if (s->class == c && excess > max) {
			max = excess;
			best = s;
		}
	}
	return best;
}

/* Do usual steps spend their time on it, too? */
static bool is_usual(const struct ss_judged_unit *u, enum ss_time_class c, const struct ss_time_subject *s)
{
	double usual_frac = 0, frac = ss_unit_frac(u, c, SS_REGION_STEPS);
	uint64_t same_ps = 0;
	for (int k = 0; k < SS_TIME_COUNT; k++)
		usual_frac += ss_unit_frac(u, (enum ss_time_class)k, SS_REGION_STEPS);
	for (size_t i = 0; s && i < u->u->nsubjects; i++) {
		const struct ss_time_subject *o = &u->u->subjects[i];
		same_ps += o->class == c && ss_str_eq(o->name, s->name) ? o->ps[SS_REGION_STEPS] : 0;
	}
	/* At least half of the part that it has of slow steps. */
	double of_slow = s ? (double)s->ps[SS_REGION_OUTLIERS] / (double)u->u->ps[c][SS_REGION_OUTLIERS] : 0;
	return frac >= SS_SAME_FRAC * usual_frac && (double)same_ps >= of_slow / 2 * (double)u->u->ps[c][SS_REGION_STEPS];
}

/*
 * Do usual steps do the same, for some of that time? Then nothing shows extra work. An operation,
 * or a call that starts something, is the same whatever it takes.
 */
static bool all_do(const struct ss_judged_unit *u, const struct ss_time_subject *s)
{
	const struct ss_windows *w = &u->h->windows;
	double usual_ps = 0, slow_ps = 0;
	for (size_t i = 0; s && i < u->u->nsubjects; i++) {
		const struct ss_time_subject *o = &u->u->subjects[i];
		if (o->class == s->class && ss_str_eq(o->name, s->name)) {
			usual_ps += (double)o->ps[SS_REGION_STEPS] / (double)(w->n - w->noutliers);
			slow_ps += (double)o->ps[SS_REGION_OUTLIERS] / (double)w->noutliers;
		}
	}
	bool same = s && (s->class == SS_TIME_LAUNCH || s->class == SS_TIME_COMPUTE);
	return s && usual_ps >= (same ? SS_ALL_DO_SAME_FRAC : SS_ALL_DO_FRAC) * slow_ps;
}

static const char *ordinal(int64_t n)
{
	int64_t ten = n % 100;
	return ten >= 11 && ten <= 13 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

/* What outlying steps have of a class beyond as many usual ones. */
static double excess_ps(const struct ss_judged_unit *u, enum ss_time_class c)
{
	const struct ss_windows *w = &u->h->windows;
	double ratio = (double)w->noutliers / (double)(w->n - w->noutliers);
	return (double)u->u->ps[c][SS_REGION_OUTLIERS] - ratio * (double)u->u->ps[c][SS_REGION_STEPS];
}

/* The class of which outlying steps have most beyond usual ones. */
static enum ss_time_class excess_class(const struct ss_judged_unit *u)
{
	double max = 0;
	int best = SS_TIME_UNKNOWN;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		if (excess_ps(u, (enum ss_time_class)c) > max) {
			max = excess_ps(u, (enum ss_time_class)c);
			best = c;
		}
	return (enum ss_time_class)best;
}

/* Slow steps stall where nothing was recorded in most of their extra time. */
static bool stalls(const struct ss_judged_unit *u)
{
	double all_ps = 0;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		all_ps += fmax(excess_ps(u, (enum ss_time_class)c), 0);
	return excess_ps(u, SS_TIME_UNKNOWN) >= SS_STALL_FRAC * all_ps;
}

/* The share of it that is not spent with others, who may be late. */
static double own_frac(const struct ss_judged_unit *u)
{
	double all_ps = 0;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		all_ps += fmax(excess_ps(u, (enum ss_time_class)c), 0);
	return all_ps > 0 ? 1 - fmax(excess_ps(u, SS_TIME_COLLECTIVE), 0) / all_ps : 0;
}

/*
 * Collective operations make a step equally long for all: of those with as many outlying steps, the
 * one that others wait for.
 */
static const struct ss_judged_unit *with_outliers(const struct ss_judge *j)
{
	const struct ss_judged_unit *best = NULL;
	for (size_t i = 0; i < j->nunits; i++) {
		const struct ss_judged_unit *u = &j->units[i];
		size_t n = u->h->windows.noutliers, most = best ? best->h->windows.noutliers : 0;
		if (n > most || (n && n == most && own_frac(u) > own_frac(best)))
			best = u;
	}
	return best;
}

/* "host3", where it alone has this, and others have steps as long. */
static struct ss_str where(struct ss_judge *j, const struct ss_judged_unit *u, enum ss_time_class c)
{
	bool alone = j->out->nhosts > 1 && c != SS_TIME_COLLECTIVE && own_frac(u) > 0.5;
	for (size_t i = 0; alone && i < j->nunits; i++)
		alone = j->units[i].h == u->h || (j->units[i].h->windows.noutliers && own_frac(&j->units[i]) < 0.5);
	return alone ? ss_say(j, " on %s " SS_FMT, ss_recording_word(j), SS_ARG(u->h->name)) : SS_STR("");
}

/* "they stall: nothing computes in the extra time ...", or less where something does. */
static struct ss_str what_of_unknown(struct ss_judge *j, const struct ss_judged_unit *u, bool one)
{
	struct ss_str at = where(j, u, SS_TIME_UNKNOWN);
	if (!stalls(u))
		return ss_say(j, "what %s meanwhile" SS_FMT " was not recorded", one ? "it does" : "they do", SS_ARG(at));
	return ss_say(j, "%s" SS_FMT ": nothing computes in the extra time, and %s", one ? "it stalls" : "they stall", SS_ARG(at),
		      u->h->has_host ? "the thread that starts the programs records no event then"
				     : "no event of the host says why");
}

/* "28 times", "once", "not". */
static struct ss_str times(struct ss_judge *j, uint64_t n)
{
	return n == 0 ? SS_STR("not") : n == 1 ? SS_STR("once") : ss_say(j, "%llu times", (unsigned long long)n);
}

/*
 * "; aten::copy_ runs 28 times in each of these steps and 4 times in most others, which takes 60 ms
 * more a step"; "" where nothing does.
 */
static struct ss_str what_is_more(struct ss_judge *j, const struct ss_judged_unit *u, enum ss_time_class c)
{
	const struct ss_more_often *m = &u->h->more_often;
	size_t n = u->h->windows.noutliers;
	if (!m->name.n || c == SS_TIME_COMPILE)
		return SS_STR("");
	struct ss_str more = m->more_ps ? ss_say(j, ", which takes " SS_FMT " more%s",
						 SS_ARG(ss_say_time(j, (double)m->more_ps / (double)n)), n == 1 ? "" : " a step")
					: SS_STR("");
	return ss_say(j, "; " SS_FMT " %s %s" SS_FMT " in %s and " SS_FMT " in most others" SS_FMT,
		      SS_ARG(ss_shorten(j, m->name, 100)), m->more_ps ? "runs" : "is called", m->varies ? "at least " : "",
		      SS_ARG(times(j, m->slow)), n == 1 ? "this step" : "each of these steps", SS_ARG(times(j, m->usual)),
		      SS_ARG(more));
}

/* "; evaluate runs in these steps alone, for 350 ms each"; "" where the time goes to just that. */
static struct ss_str what_is_extra(struct ss_judge *j, const struct ss_judged_unit *u, enum ss_time_class c,
				   const struct ss_time_subject *s)
{
	struct ss_str extra = ss_shorten(j, u->h->extra, 100);
	size_t n = u->h->windows.noutliers;
	const char *these = n == 1 ? "it" : "these steps";
	bool called = s && (ss_str_eq(s->name, u->h->extra) || ss_str_eq(s->caller, u->h->extra));
	/* What a compiler calls its work, and the program its own, is named once. */
	if (!extra.n || c == SS_TIME_COMPILE || (called && s->class != SS_TIME_COMPUTE))
		return SS_STR("");
	if (!u->h->extra_ps)
		return ss_say(j, "; " SS_FMT " is called in %s alone", SS_ARG(extra), these);
	return ss_say(j, "; " SS_FMT " runs in %s alone, for " SS_FMT "%s", SS_ARG(extra), these,
		      SS_ARG(ss_say_time(j, (double)u->h->extra_ps / (double)n)), n == 1 ? "" : " each");
}

void ss_rule_outlier_steps(struct ss_judge *j)
{
	const struct ss_judged_unit *u = with_outliers(j);
	if (!u)
		return;
	const struct ss_windows *w = &u->h->windows;
	uint64_t excess_ps = 0, longest_ps = 0;
	const struct ss_window *longest = NULL;
	for (size_t i = 0; i < w->n; i++) {
		uint64_t dur_ps = ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps);
		if (!w->v[i].outlier)
			continue;
		excess_ps += dur_ps - w->typical_ps;
		if (dur_ps > longest_ps) {
			longest_ps = dur_ps;
			longest = &w->v[i];
		}
	}
	double frac = (double)excess_ps / (double)ss_safe_between(w->begin_ps, w->end_ps);
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_OUTLIER_STEPS, frac);
	if (!f || !longest)
		return;
	int64_t period = ss_windows_period(w);
	struct ss_str numbers = numbers_of(j, w, NULL, w->noutliers),
		      every = period ? ss_say(j, " (every %lld%s)", (long long)period, ordinal(period)) : SS_STR("");
	enum ss_time_class c = excess_class(u);
	const struct ss_time_subject *s = outlier_subject(u, c);
	struct ss_str class = ss_time_class_name(c), doing, at = where(j, u, c);
	const char *called_by = !s || !s->caller.n				? ""
				: ss_str_is(s->name, SS_AUTOMATIC_COLLECTION) ? " in "
									      : ", called by ";
	/* Of several participants a stay in a collective operation is waiting as well. */
	const char *waits = c == SS_TIME_COLLECTIVE && j->nunits > 1 ? ", waiting for others included" : "";
	if (c == SS_TIME_UNKNOWN)
		doing = what_of_unknown(j, u, w->noutliers == 1);
	else if (s)
		doing = ss_say(j, "the time goes to " SS_FMT SS_FMT ": " SS_FMT "%s" SS_FMT "%s", SS_ARG(class), SS_ARG(at),
			       SS_ARG(ss_shorten(j, s->name, 120)), called_by,
			       SS_ARG(ss_shorten(j, s->caller, 60)), waits);
	else
		doing = ss_say(j, "the time goes to " SS_FMT SS_FMT "%s", SS_ARG(class), SS_ARG(at), waits);
	bool extra = u->h->extra.n != 0, more_often = u->h->more_often.name.n != 0 && c != SS_TIME_COMPILE;
	struct ss_str more = extra ? what_is_extra(j, u, c, s) : what_is_more(j, u, c);
	bool named = extra || more_often;
	f->traits |= (is_usual(u, c, s) && !named ? SS_TRAIT_MORE_OF_SAME : 0) |
		     (all_do(u, s) && !named && !period ? SS_TRAIT_ALL_DO : 0) | (c == SS_TIME_COMPILE ? SS_TRAIT_COMPILES : 0) |
		     (c == SS_TIME_GC ? SS_TRAIT_COLLECTS : 0) |
		     (c == SS_TIME_UNKNOWN && !named ? SS_TRAIT_EXTRA_UNKNOWN : 0);
	f->subject = ss_say(j, "step%s " SS_FMT SS_FMT, w->noutliers == 1 ? "" : "s", SS_ARG(numbers), SS_ARG(every));
	f->text = ss_say(j,
			 "%zu of %zu steps %s far longer than the others: up to " SS_FMT " instead of " SS_FMT ". This costs "
			 "%s of the time: " SS_FMT "; " SS_FMT SS_FMT ".",
			 w->noutliers, w->n, w->noutliers == 1 ? "takes" : "take",
			 SS_ARG(ss_say_time(j, (double)longest_ps)), SS_ARG(ss_say_time(j, (double)w->typical_ps)),
			 ss_percent_of(frac).s, SS_ARG(f->subject), SS_ARG(doing), SS_ARG(more));
	ss_prove(j, f, "share of the time that slow steps take beyond typical ones", frac, "share", u, "overview_page");
	ss_prove(j, f, "longest step", (double)longest_ps, "ps", u, "trace_viewer@");
	ss_point_at(j, f, u, longest->begin_ps, longest->end_ps);
	ss_prove(j, f, "typical step", (double)w->typical_ps, "ps", u, "overview_page");
	if (u->h->extra_ps)
		ss_prove(j, f, ss_say(j, "slow steps alone: " SS_FMT, SS_ARG(ss_shorten(j, u->h->extra, 100))).p,
			 (double)u->h->extra_ps, "ps", u, "trace_viewer@");
	else if (extra)
		ss_prove_words(j, f, "called in slow steps alone", u->h->extra, u, "trace_viewer@");
	if (!more_often)
		return;
	struct ss_str name = ss_shorten(j, u->h->more_often.name, 100);
	ss_prove(j, f, ss_say(j, SS_FMT " in a slow step, at least", SS_ARG(name)).p, (double)u->h->more_often.slow, "count", u,
		 "trace_viewer@");
	ss_prove(j, f, ss_say(j, SS_FMT " in most others", SS_ARG(name)).p, (double)u->h->more_often.usual, "count", u,
		 "trace_viewer@");
	if (u->h->more_often.more_ps)
		ss_prove(j, f, ss_say(j, SS_FMT ": more in a slow step", SS_ARG(name)).p,
			 (double)u->h->more_often.more_ps / (double)w->noutliers, "ps", u, "trace_viewer@");
}

/* ---- other findings ---- */

struct step_share {
	uint64_t ps;
	size_t at;
};

static int by_share(const void *a, const void *b)
{
	const struct step_share *x = a, *y = b;
	return SS_CMP(y->ps, x->ps) ?: SS_CMP(x->at, y->at);
}

/* The class of time that the finding is about; SS_TIME_COUNT: none. */
static enum ss_time_class class_of(const struct ss_verdict_finding *f)
{
	switch (f->cause) {
	case SS_CAUSE_INPUT:
		return SS_TIME_INPUT;
	case SS_CAUSE_COMPILE:
		return SS_TIME_COMPILE;
	case SS_CAUSE_CALLBACK:
		return SS_TIME_CALLBACK;
	case SS_CAUSE_TRANSFER:
		return SS_TIME_COPY;
	case SS_CAUSE_LOCK:
		return SS_TIME_LOCK;
	case SS_CAUSE_GC:
		return SS_TIME_GC;
	case SS_CAUSE_HOST_CODE:
		return f->traits & SS_TRAIT_FRAMEWORK_CALLS ? SS_TIME_LAUNCH : SS_TIME_HOST_CODE;
	case SS_CAUSE_DISPATCH:
		return SS_TIME_LAUNCH;
	case SS_CAUSE_SYNC:
		return SS_TIME_SYNC;
	case SS_CAUSE_IDLE:
		return SS_TIME_UNKNOWN;
	case SS_CAUSE_COMPUTE:
		return SS_TIME_COMPUTE;
	default:
		return SS_TIME_COUNT;
	}
}

/*
 * The fewest steps that hold most of a class, marked in `in`; 0: more than a third of them, and of
 * a few steps more than half. All of the time that they hold in *frac.
 */
static size_t steps_with_most(struct ss_judge *j, const struct ss_judged_unit *u, enum ss_time_class c, bool *in, double *frac)
{
	size_t n = u->h->windows.n, k = 0;
	struct step_share *v = SS_NEW_N(j->arena, struct step_share, n);
	uint64_t all_ps = 0, held_ps = 0;
	j->no_memory |= !v;
	for (size_t i = 0; v && i < n; i++) {
		v[i] = (struct step_share){ u->u->steps[i].ps[c], i };
		all_ps += v[i].ps;
	}
	if (!v || !all_ps)
		return 0;
	qsort(v, n, sizeof(*v), by_share);
	size_t most = n / 3 > 2 ? n / 3 : n / 2 < 2 ? n / 2 : 2;
	for (; k < most && (double)held_ps < SS_MOST_OF_CLASS_FRAC * (double)all_ps; k++) {
		held_ps += v[k].ps;
		in[v[k].at] = true;
	}
	*frac = (double)held_ps / (double)all_ps;
	return *frac >= SS_MOST_OF_CLASS_FRAC ? k : 0;
}

/* The one that waits most. */
static const struct ss_judged_unit *waits_most(const struct ss_judge *j)
{
	const struct ss_judged_unit *most = j->nunits ? j->units : NULL;
	for (size_t i = 1; i < j->nunits; i++)
		most = j->units[i].wait_frac > most->wait_frac ? &j->units[i] : most;
	return most;
}

void ss_say_steps(struct ss_judge *j, struct ss_verdict_finding *f)
{
	bool waits = f->cause == SS_CAUSE_STRAGGLER, several = j->nunits > 1, outliers = false;
	enum ss_time_class c = waits ? SS_TIME_COLLECTIVE : class_of(f);
	if (c == SS_TIME_COUNT)
		return;
	const struct ss_judged_unit *u = waits ? waits_most(j) : ss_affected_by(j, c).worst;
	for (size_t i = 0; i < j->nunits; i++)
		outliers |= j->units[i].h->windows.noutliers > 0;
	/* Slow steps have a finding of their own. */
	if (!u || !u->u->steps || (outliers && !waits) || u->h->windows.n < 2)
		return;
	const struct ss_windows *w = &u->h->windows;
	double frac;
	bool *in = SS_NEW_N(j->arena, bool, w->n);
	size_t n = in ? steps_with_most(j, u, c, in, &frac) : 0;
	j->no_memory |= !in;
	struct ss_str numbers = n ? numbers_of(j, w, in, n) : SS_STR(""), name = several ? ss_judged_name(j, u) : SS_STR("");
	if (!n || f->text.n + numbers.n + name.n + 80 > SS_MOST_TEXT_BYTES)
		return;
	ss_prove(j, f, waits ? "of its exposed communication, in the steps that have most of it"
			     : "of that, in the steps that have most of it", frac, "share", u, "overview_page");
	struct ss_str at = several && !waits ? ss_say(j, "On " SS_FMT ", step", SS_ARG(name)) : SS_STR("Step"),
		      what = waits ? ss_say(j, "the exposed communication of " SS_FMT, SS_ARG(name)) : SS_STR("this time");
	f->text = ss_say(j, SS_FMT " " SS_FMT "%s " SS_FMT " (%zu of %zu) %s %s of " SS_FMT ".", SS_ARG(f->text), SS_ARG(at),
			 n == 1 ? "" : "s", SS_ARG(numbers), n, w->n, n == 1 ? "has" : "have", ss_percent_of(frac).s,
			 SS_ARG(what));
}
