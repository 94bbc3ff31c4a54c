/* verdict.c - see verdict.h. */
#include "verdict/judge.h"

#include "base/safe.h"
#include "model/facts/facts.h"
#include "model/model.h"
#include "verdict/limits.h"

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
		j->no_python = (!i || j->no_python) && h->habits & SS_HABIT_NO_PYTHON;
		j->has_device = j->has_device || (h->nunits && h->units[0].device.n);
	}
	if (!ss_collectives_join(who, j->nunits, waits))
		return false;
	for (size_t i = 0; i < j->nunits; i++) {
		struct ss_judged_unit *u = &j->units[i];
		/* The part of the wait during which nothing computed. */
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

static double deviation_ps(const struct ss_all_windows *all, double mean_ps, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->v[i].n; k++) {
			double d = dur_ps(&all->v[i].v[k]) - mean_ps;
			sum += d * d;
		}
	return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static void describe_steps(struct ss_verdict *v, const struct ss_all_windows *all)
{
	double sum_ps = 0;
	size_t n = 0, min = SIZE_MAX;
	v->steps = v->steps_cut = 0;
	v->source = SS_STEPS_NONE;
	v->confidence = v->mean_ps = v->min_ps = v->max_ps = NAN;
	for (size_t i = 0; i < all->n; i++) {
		const struct ss_windows *w = &all->v[i];
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
	v->deviation_ps = deviation_ps(all, v->mean_ps, n);
}

bool ss_verdict_steps(struct ss_verdict *out, struct ss_model *m, struct ss_err *err)
{
	*out = (struct ss_verdict){ .framework = SS_STR(""), .device = SS_STR("") };
	const struct ss_all_windows *all = ss_model_windows(m, err);
	if (all)
		describe_steps(out, all);
	return all;
}

/* PyTorch writes a file for each process: "host3_1000" is one of "host3", "rank-3" one of a host that nobody names. */
static bool are_processes(const struct ss_cluster *c)
{
	bool any = c->of_ranks;
	for (uint32_t i = 0; i < c->nparts; i++) {
		const struct ss_cluster_part *p = &c->parts[i];
		any |= p->is_rank && p->host < c->hosts.n && !ss_str_eq(c->hosts.v[p->host].name, p->file);
	}
	return any;
}

static bool describe(struct ss_judge *j, const struct ss_all_windows *steps)
{
	struct ss_verdict *v = j->out;
	v->hosts = SS_NEW_N(j->arena, struct ss_str, j->a->nhosts + 1);
	if (!v->hosts)
		return false;
	for (size_t i = 0; i < j->a->nhosts; i++)
		v->hosts[v->nhosts++] = j->a->hosts[i].name;
	describe_steps(v, steps);
	v->device = j->env->device_type.n ? j->env->device_type : SS_STR("");
	v->framework = j->frameworks & SS_FW_TORCH_XLA	  ? SS_STR("torch-xla")
		       : j->frameworks & SS_FW_PYTORCH	  ? SS_STR("pytorch")
		       : j->frameworks & SS_FW_JAX	  ? SS_STR("jax")
		       : j->frameworks & SS_FW_TENSORFLOW ? SS_STR("tensorflow")
							  : SS_STR("");
	return true;
}

/* The share is that of the affected units: say so where these are not all. */
static void say_scope(struct ss_judge *j, struct ss_verdict_finding *f)
{
	if (!f->affected || f->affected == j->nunits || !f->text.n)
		return;
	struct ss_str text = ss_cut(ss_str_sub(f->text, 0, f->text.n - 1), SS_MOST_TEXT_BYTES - 60);
	f->text = ss_say(j, SS_FMT ". This holds for %zu of %zu %s.", SS_ARG(text), f->affected, j->nunits,
			 j->has_device ? "devices" : j->out->of_processes ? "processes" : "hosts");
}

/*
 * How many devices take part in the collectives, where all that do are recorded; 0: some are
 * elsewhere, or the recording does not say who takes part (it has no compiled program).
 */
static uint32_t present(const struct ss_cluster *c)
{
	uint32_t most = 0;
	for (size_t i = 0; i < c->collectives.n; i++) {
		if (!c->collectives.v[i].is_told || c->collectives.v[i].n < c->collectives.v[i].expected)
			return 0;
		most = c->collectives.v[i].n > most ? c->collectives.v[i].n : most;
	}
	return most > 1 ? most : 0;
}

/* Of all steps of the device that has most of it. */
static double exposed_transfer_frac(const struct ss_exposed *e, size_t ndevices)
{
	double most = 0;
	for (size_t d = 0; d < ndevices; d++) {
		double transfer = 0, all = 0;
		for (uint32_t i = e->first[d]; i < e->first[d + 1]; i++) {
			transfer += (double)e->rows.v[i].class_ps[SS_EXPOSED_TRANSFER];
			all += (double)ss_safe_between(e->rows.v[i].begin_ps, e->rows.v[i].end_ps);
		}
		most = all > 0 ? fmax(most, transfer / all) : most;
	}
	return most;
}

/*
 * One host is never late for itself, but those it works with may have no recording here: nothing of
 * what its devices wait for each other is then known. The devices of a program on a CPU are one
 * unit, and may be all that take part.
 */
static bool count_participants(struct ss_judge *j, struct ss_model *m, struct ss_err *err)
{
	struct ss_straggler_verdict late;
	const struct ss_cluster *c;
	bool meets = false, of_threads = false;
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = ss_unit_step_frac(&j->units[i], SS_TIME_COLLECTIVE);
		meets |= j->units[i].wait.meetings && frac >= SS_LEAST_SHARE;
		of_threads |= !j->has_device && frac > 0;
	}
	if (m->nhosts != 1 || !(meets || of_threads))
		return true;
	if (!ss_straggler_verdict(m, &late, err) || !(c = ss_model_cluster(m, err)))
		return false;
	j->late.nabsent = late.nabsent;
	j->of_threads = of_threads;
	j->npresent = of_threads ? present(c) : 0;
	const struct ss_exposed *e = j->npresent ? ss_model_exposed(m, err) : NULL;
	j->transfer_frac = e ? exposed_transfer_frac(e, c->devices.n) : 0;
	return e || !j->npresent;
}

static bool judge(struct ss_judge *j, const struct ss_all_windows *steps, struct ss_model *m, struct ss_err *err)
{
	static ss_rule_fn *const rules[] = {
#define RULE(name) ss_rule_##name,
#include "verdict/rules.def"
#undef RULE
	};
	if (!list_units(j) || !describe(j, steps))
		return ss_fail_mem(err);
	if (!count_participants(j, m, err))
		return false;
	sum_classes(j);
	for (size_t i = 0; i < SS_COUNT(rules) && !j->no_memory; i++)
		rules[i](j);
	for (size_t i = 0; i < j->found.n && !j->no_memory; i++) {
		ss_advise(j, &j->found.v[i]);
		ss_say_steps(j, &j->found.v[i]);
		say_scope(j, &j->found.v[i]);
	}
	ss_rank(j);
	j->out->findings = SS_NEW_N(j->arena, struct ss_verdict_finding, j->found.n + 1);
	j->out->not_judged = SS_NEW_N(j->arena, struct ss_not_judged, j->unknown.n + 1);
	if (j->no_memory || !j->out->findings || !j->out->not_judged)
		return ss_fail_mem(err);
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
	return SS_FACTS_WINDOWS | SS_FACTS_ATTRIBUTION | SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_MEMORY_PEAK |
	       (m->nhosts > 1 ? SS_FACTS_CLUSTER : 0);
}

bool ss_verdict_make(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_judge j = { .arena = arena, .out = out };
	*out = (struct ss_verdict){ .framework = SS_STR(""), .device = SS_STR("") };
	const struct ss_all_windows *steps;
	if (!ss_model_gather(m, ss_verdict_facts(m), err) || !(steps = ss_model_windows(m, err)) ||
	    !(j.a = ss_model_attribution(m, err)) || !(j.env = ss_model_env(m, err)) || !(j.peak = ss_model_memory_peak(m, err)) ||
	    (m->nhosts > 1 && !ss_straggler_verdict(m, &j.late, err)))
		return false;
	const struct ss_cluster *c = m->nhosts > 1 ? ss_model_cluster(m, err) : NULL; /* made for the verdict on late hosts */
	out->of_processes = c && are_processes(c);
	bool ok = judge(&j, steps, m, err) && ss_find_gaps(&j, m, err);
	ss_vec_free(&j.found);
	ss_vec_free(&j.unknown);
	ss_vec_free(&j.gaps);
	return ok;
}
