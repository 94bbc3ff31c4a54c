/* judge.c - see judge.h. */
#include "verdict/judge.h"

#include "base/cxx_name.h"
#include "base/safe.h"
#include "model/facts/facts.h"
#include "verdict/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct ss_str ss_cause_name(enum ss_cause c)
{
	static const struct ss_str names[] = {
#define CAUSE(id, name, title) SS_STR_INIT(name),
#include "verdict/causes.def"
#undef CAUSE
	};
	return names[c];
}

struct ss_str ss_cause_title(enum ss_cause c)
{
	static const struct ss_str titles[] = {
#define CAUSE(id, name, title) SS_STR_INIT(title),
#include "verdict/causes.def"
#undef CAUSE
	};
	return titles[c];
}

/* ---- shares ---- */

double ss_unit_frac(const struct ss_judged_unit *u, enum ss_time_class c, enum ss_time_region r)
{
	return u->u->window_ps ? (double)u->u->ps[c][r] / (double)u->u->window_ps : 0;
}

double ss_unit_step_frac(const struct ss_judged_unit *u, enum ss_time_class c)
{
	return ss_unit_frac(u, c, SS_REGION_STEPS) + ss_unit_frac(u, c, SS_REGION_OUTLIERS);
}

struct ss_befallen ss_befalls(const struct ss_judge *j, enum ss_time_class c)
{
	struct ss_befallen b = { 0 };
	double max = 0, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = ss_unit_step_frac(&j->units[i], c);
		if (frac > max) {
			max = frac;
			b.worst = &j->units[i];
		}
	}
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = ss_unit_step_frac(&j->units[i], c);
		if (frac >= SS_BEFALLEN_FRAC * max) {
			sum += frac;
			n++;
		}
	}
	b.frac = n ? sum / (double)n : 0;
	b.n = n;
	return b;
}

uint64_t ss_subject_ps(const struct ss_time_subject *s, bool between)
{
	return between ? s->ps[SS_REGION_BETWEEN] : s->ps[SS_REGION_STEPS] + s->ps[SS_REGION_OUTLIERS];
}

const struct ss_time_subject *ss_largest(const struct ss_judged_unit *u, enum ss_time_class c, bool between)
{
	const struct ss_time_subject *best = NULL;
	for (size_t i = 0; i < u->u->nsubjects; i++) {
		const struct ss_time_subject *s = &u->u->subjects[i];
		if (s->class == c && ss_subject_ps(s, between) &&
		    (!best || ss_subject_ps(s, between) > ss_subject_ps(best, between)))
			best = s;
	}
	return best;
}

/* ---- findings ---- */

struct ss_verdict_finding *ss_find(struct ss_judge *j, enum ss_cause c, double share_frac)
{
	struct ss_verdict_finding f = {
		.cause = c, .share_frac = share_frac > 1 ? 1 : share_frac, .subject = SS_STR(""), .text = SS_STR("")
	};
	if (ss_vec_push(&j->found, f))
		return &j->found.v[j->found.n - 1];
	j->no_memory = true;
	return NULL;
}

struct ss_str ss_shown_name(struct ss_judge *j, const struct ss_time_subject *s)
{
	return s->on_device ? ss_cxx_short_name(s->name, j->arena) : s->name;
}

struct ss_str ss_say_time(struct ss_judge *j, double ps)
{
	return ps >= 1e12  ? ss_say(j, "%.2f s", ps / 1e12)
	       : ps >= 1e9 ? ss_say(j, "%.2f ms", ps / 1e9)
			   : ss_say(j, "%.1f us", ps / 1e6);
}

struct ss_str ss_cut(struct ss_str s, size_t max)
{
	if (s.n <= max)
		return s;
	while (max && ((unsigned char)s.p[max] & 0xC0) == 0x80)
		max--;
	return ss_str_sub(s, 0, max);
}

struct ss_str ss_say(struct ss_judge *j, const char *fmt, ...)
{
	char text[SS_MOST_TEXT_BYTES + 4];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	struct ss_str s = { text, n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1 };
	s = ss_arena_str(j->arena, ss_cut(s, SS_MOST_TEXT_BYTES));
	j->no_memory = j->no_memory || !s.p;
	return s.p ? s : SS_STR("");
}

static struct ss_proof *new_proof(struct ss_verdict_finding *f, const char *what, const struct ss_judged_unit *u,
				  const char *tool)
{
	if (!f || f->nevidence == SS_MOST_EVIDENCE)
		return NULL;
	struct ss_proof *p = &f->evidence[f->nevidence++];
	*p = (struct ss_proof){ .what = ss_str_from(what),
				.value = NAN,
				.words = SS_STR(""),
				.unit = "",
				.host = u ? u->h->name : SS_STR(""),
				.tool = ss_str_from(tool),
				.link = SS_STR("") };
	return p;
}

void ss_prove(struct ss_judge *j, struct ss_verdict_finding *f, const char *what, double value, const char *unit,
	      const struct ss_judged_unit *u, const char *tool)
{
	struct ss_proof *p = new_proof(f, what, u, tool);
	if (!p)
		return;
	p->value = value;
	p->unit = unit;
	p->link = u ? ss_say(j, "tool=%s&host=" SS_FMT, tool, SS_ARG(u->h->name)) : ss_say(j, "tool=%s", tool);
}

void ss_prove_words(struct ss_judge *j, struct ss_verdict_finding *f, const char *what, struct ss_str words,
		    const struct ss_judged_unit *u, const char *tool)
{
	struct ss_proof *p = new_proof(f, what, u, tool);
	if (!p)
		return;
	p->words = words;
	p->link = u ? ss_say(j, "tool=%s&host=" SS_FMT, tool, SS_ARG(u->h->name)) : ss_say(j, "tool=%s", tool);
}

void ss_point_at(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_judged_unit *u, int64_t begin_ps,
		 int64_t end_ps)
{
	if (!f || !f->nevidence || end_ps <= begin_ps)
		return;
	struct ss_proof *p = &f->evidence[f->nevidence - 1];
	uint64_t margin_ps = ss_safe_between(begin_ps, end_ps) / 2;
	int64_t from_ps = begin_ps < 0 && margin_ps > (uint64_t)begin_ps - (uint64_t)INT64_MIN ? INT64_MIN
											      : begin_ps - (int64_t)margin_ps;
	p->tool = SS_STR("trace_viewer@");
	p->link = ss_say(j, "tool=trace_viewer@&host=" SS_FMT "&view=%lld-%lld", SS_ARG(u->h->name),
			 (long long)from_ps, (long long)ss_safe_end(end_ps, margin_ps));
}

void ss_cannot_judge(struct ss_judge *j, enum ss_cause c, const char *why)
{
	if (!ss_vec_push(&j->unknown, ((struct ss_not_judged){ c, ss_str_from(why) })))
		j->no_memory = true;
}

struct ss_str ss_judged_name(struct ss_judge *j, const struct ss_judged_unit *u)
{
	size_t hosts = 0, same = 0;
	for (size_t i = 0; i < j->a->nhosts; i++)
		hosts += j->a->hosts[i].nunits > 0;
	for (size_t i = 0; i < j->nunits; i++)
		same += j->units[i].h == u->h;
	if (hosts > 1 && (same == 1 || !u->u->device.n))
		return u->h->name;
	return hosts > 1  ? ss_say(j, SS_FMT " of " SS_FMT, SS_ARG(u->u->device), SS_ARG(u->h->name))
	       : same > 1 ? u->u->device
			  : SS_STR("");
}

/* ---- all ---- */

static bool list_units(struct ss_judge *j)
{
	size_t n = 0;
	for (size_t i = 0; i < j->a->nhosts; i++)
		n += j->a->hosts[i].nunits;
	const struct ss_collectives **who = SS_NEW_N(j->arena, const struct ss_collectives *, n + 1);
	struct ss_wait *waits = SS_NEW_N(j->arena, struct ss_wait, n + 1);
	j->units = SS_NEW_N(j->arena, struct ss_judged_unit, n + 1);
	if (!who || !waits || !j->units)
		return false;
	for (size_t i = 0; i < j->a->nhosts; i++) {
		const struct ss_time_host *h = &j->a->hosts[i];
		for (size_t k = 0; k < h->nunits; k++) {
			if (!h->units[k].window_ps)
				continue;
			who[j->nunits] = &h->units[k].collectives;
			j->units[j->nunits++] = (struct ss_judged_unit){ .u = &h->units[k], .h = h };
		}
		j->frameworks |= h->frameworks;
		j->habits |= h->habits;
		j->has_python = j->has_python || h->has_python;
		j->has_device = j->has_device || (h->nunits && h->units[0].device.n);
	}
	if (!ss_collectives_join(who, j->nunits, waits))
		return false;
	for (size_t i = 0; i < j->nunits; i++) {
		struct ss_judged_unit *u = &j->units[i];
		/* Of what was waited, the part beside which nothing computed. */
		double exposed = ss_unit_step_frac(u, SS_TIME_COLLECTIVE), all_ps = (double)u->u->collectives.dur_ps;
		u->wait = waits[i];
		u->wait_frac = all_ps > 0 ? exposed * fmin((double)waits[i].wait_ps / all_ps, 1) : 0;
	}
	return true;
}

static void sum_classes(struct ss_judge *j)
{
	struct ss_verdict *v = j->out;
	for (size_t i = 0; i < j->nunits; i++) {
		const struct ss_time_unit *u = j->units[i].u;
		v->window_ps += u->window_ps / j->nunits;
		for (int c = 0; c < SS_TIME_COUNT; c++)
			for (int r = 0; r < SS_REGION_COUNT; r++)
				*(r == SS_REGION_BETWEEN ? &v->between_ps : &v->class_ps[c]) += u->ps[c][r] / j->nunits;
	}
}

static double dur_ps(const struct ss_window *w)
{
	return (double)ss_safe_between(w->begin_ps, w->end_ps);
}

static double deviation_ps(const struct ss_attribution *a, double mean_ps, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < a->nhosts; i++)
		for (size_t k = 0; k < a->hosts[i].windows.n; k++) {
			double d = dur_ps(&a->hosts[i].windows.v[k]) - mean_ps;
			sum += d * d;
		}
	return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static void describe_steps(struct ss_verdict *v, const struct ss_attribution *a)
{
	double sum_ps = 0;
	size_t n = 0, min = SIZE_MAX;
	v->steps = v->steps_cut = 0;
	v->source = SS_STEPS_NONE;
	v->confidence = v->mean_ps = v->min_ps = v->max_ps = NAN;
	for (size_t i = 0; i < a->nhosts; i++) {
		const struct ss_windows *w = &a->hosts[i].windows;
		if (!w->n)
			continue;
		v->source = w->source;
		v->confidence = w->source == SS_STEPS_INFERRED ? w->confidence_frac : NAN;
		v->steps_cut = w->ncut > v->steps_cut ? w->ncut : v->steps_cut;
		min = w->n < min ? w->n : min;
		for (size_t k = 0; k < w->n; k++, n++) {
			double ps = dur_ps(&w->v[k]);
			sum_ps += ps;
			v->min_ps = fmin(v->min_ps, ps);
			v->max_ps = fmax(v->max_ps, ps);
		}
	}
	v->steps = n ? min : 0;
	v->mean_ps = n ? sum_ps / (double)n : NAN;
	v->deviation_ps = deviation_ps(a, v->mean_ps, n);
}

bool ss_verdict_steps(struct ss_verdict *out, struct ss_model *m, struct ss_err *err)
{
	*out = (struct ss_verdict){ .framework = SS_STR(""), .device = SS_STR("") };
	const struct ss_attribution *a = ss_model_gather(m, SS_FACTS_ATTRIBUTION, err) ? ss_model_attribution(m, err) : NULL;
	if (a)
		describe_steps(out, a);
	return a;
}

static bool describe(struct ss_judge *j)
{
	struct ss_verdict *v = j->out;
	v->hosts = SS_NEW_N(j->arena, struct ss_str, j->a->nhosts + 1);
	if (!v->hosts)
		return false;
	for (size_t i = 0; i < j->a->nhosts; i++)
		v->hosts[v->nhosts++] = j->a->hosts[i].name;
	describe_steps(v, j->a);
	v->device = j->env->device_type.n ? j->env->device_type : SS_STR("");
	v->framework = j->frameworks & SS_FW_TORCH_XLA	  ? SS_STR("torch-xla")
		       : j->frameworks & SS_FW_PYTORCH	  ? SS_STR("pytorch")
		       : j->frameworks & SS_FW_JAX	  ? SS_STR("jax")
		       : j->frameworks & SS_FW_TENSORFLOW ? SS_STR("tensorflow")
							  : SS_STR("");
	return true;
}

/* A share is that of those whom the cause befalls: say so where it is not all. */
static void say_scope(struct ss_judge *j, struct ss_verdict_finding *f)
{
	if (!f->befallen || f->befallen == j->nunits || !f->text.n)
		return;
	struct ss_str text = ss_cut(ss_str_sub(f->text, 0, f->text.n - 1), SS_MOST_TEXT_BYTES - 60);
	f->text = ss_say(j, SS_FMT ". This holds for %zu of %zu %s.", SS_ARG(text), f->befallen, j->nunits,
			 j->has_device ? "devices" : "hosts");
}

static bool judge(struct ss_judge *j)
{
	static ss_rule_fn *const rules[] = {
#define RULE(name) ss_rule_##name,
#include "verdict/rules.def"
#undef RULE
	};
	if (!list_units(j) || !describe(j))
		return false;
	sum_classes(j);
	for (size_t i = 0; i < SS_COUNT(rules) && !j->no_memory; i++)
		rules[i](j);
	for (size_t i = 0; i < j->found.n && !j->no_memory; i++) {
		ss_advise(j, &j->found.v[i]);
		say_scope(j, &j->found.v[i]);
	}
	ss_rank(j);
	j->out->findings = SS_NEW_N(j->arena, struct ss_verdict_finding, j->found.n + 1);
	j->out->not_judged = SS_NEW_N(j->arena, struct ss_not_judged, j->unknown.n + 1);
	if (j->no_memory || !j->out->findings || !j->out->not_judged)
		return false;
	if (j->found.n)
		memcpy(j->out->findings, j->found.v, j->found.n * sizeof(*j->found.v));
	if (j->unknown.n)
		memcpy(j->out->not_judged, j->unknown.v, j->unknown.n * sizeof(*j->unknown.v));
	j->out->nfindings = j->found.n;
	j->out->nnot_judged = j->unknown.n;
	return true;
}

unsigned ss_verdict_facts(const struct ss_model *m)
{
	return SS_FACTS_ATTRIBUTION | SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_MEMORY_PEAK | (m->nhosts > 1 ? SS_FACTS_CLUSTER : 0);
}

bool ss_verdict_make(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_judge j = { .arena = arena, .out = out };
	*out = (struct ss_verdict){ .framework = SS_STR(""), .device = SS_STR("") };
	if (!ss_model_gather(m, ss_verdict_facts(m), err) || !(j.a = ss_model_attribution(m, err)) ||
	    !(j.env = ss_model_env(m, err)) || !(j.peak = ss_model_memory_peak(m, err)) ||
	    (m->nhosts > 1 && !ss_straggler_verdict(m, &j.late, err)))
		return false;
	bool ok = (judge(&j) || ss_fail_mem(err)) && ss_find_gaps(&j, m, err);
	ss_vec_free(&j.found);
	ss_vec_free(&j.unknown);
	ss_vec_free(&j.gaps);
	return ok;
}
