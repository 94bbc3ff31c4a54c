/* rules_compute.c - what computes, what bounds it, and in which types. */
#include "verdict/judge.h"

#include "base/cxx_name.h"
#include "base/map.h"
#include "verdict/limits.h"

#include <stdlib.h>

static const char *bound_of(const struct ss_time_subject *s)
{
	if (!s || isnan(s->flops_frac) || isnan(s->bytes_frac) || (s->flops_frac <= 0 && s->bytes_frac <= 0))
		return "unknown";
	/* Far below both peaks neither is what bounds it. */
	if (fmax(s->flops_frac, s->bytes_frac) < SS_MIN_PEAK_FRAC)
		return "unknown";
	return s->flops_frac > s->bytes_frac ? "flops" : "memory";
}

static void prove_peaks(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_time_subject *s,
			const struct ss_judged_unit *u)
{
	ss_prove_words(j, f, "bound_by", ss_str_from(bound_of(s)), u, "roofline_model");
	if (s && !isnan(s->flops_frac))
		ss_prove(j, f, "share of the peak FLOP rate", s->flops_frac, "share", u, "roofline_model");
	if (s && !isnan(s->bytes_frac))
		ss_prove(j, f, "share of the peak memory bandwidth", s->bytes_frac, "share", u, "roofline_model");
}

/* " reaches 45% of the peak FLOP rate and 20% of the memory bandwidth". */
static struct ss_str reach(struct ss_judge *j, const struct ss_time_subject *s)
{
	if (!s || strcmp(bound_of(s), "unknown") == 0)
		return SS_STR("");
	return ss_say(
		j, " It reaches %.0f%% of the peak FLOP rate and %.0f%% of the peak memory bandwidth, so it is %s-bound.",
		100 * s->flops_frac, 100 * s->bytes_frac,
		s->flops_frac > s->bytes_frac ? "compute" : "memory");
}

static double mean_of_all(const struct ss_judge *j, enum ss_time_class c)
{
	double sum = 0;
	for (size_t i = 0; i < j->nunits; i++)
		sum += ss_unit_step_frac(&j->units[i], c);
	return j->nunits ? sum / (double)j->nunits : 0;
}

static bool names_largest(const struct ss_judged_unit *u)
{
	const struct ss_time_subject *s = ss_largest(u, SS_TIME_COMPUTE, false);
	return s && !ss_str_is(s->name, SS_NAMELESS);
}

/* Of those whose recording names its operations the one that computes most; `worst` if none does. */
static const struct ss_judged_unit *named_unit(const struct ss_judge *j, const struct ss_judged_unit *worst)
{
	const struct ss_judged_unit *best = names_largest(worst) ? worst : NULL;
	for (size_t i = 0; best != worst && i < j->nunits; i++) {
		const struct ss_judged_unit *u = &j->units[i];
		double frac = ss_unit_step_frac(u, SS_TIME_COMPUTE);
		if (names_largest(u) && (!best || frac > ss_unit_step_frac(best, SS_TIME_COMPUTE)))
			best = u;
	}
	return best ? best : worst;
}

/* An operation, the device where it takes most, and its share in the computing of all devices whose operations are named. */
struct largest {
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s; /* NULL: no operation is named */
	double ps, share;
};

static bool add_named(struct ss_strmap *names, struct largest *sums, const struct ss_judged_unit *u)
{
	for (size_t i = 0; i < u->u->nsubjects; i++) {
		const struct ss_time_subject *s = &u->u->subjects[i];
		double ps = s->class == SS_TIME_COMPUTE ? (double)ss_subject_ps(s, false) : 0;
		if (!(ps > 0))
			continue;
		uint32_t k = ss_strmap_add(names, s->name);
		if (k == SS_NONE)
			return false;
		sums[k].ps += ps;
		if (ps > sums[k].share) {
			sums[k].share = ps; /* until all are known: on one device */
			sums[k].u = u;
			sums[k].s = s;
		}
	}
	return true;
}

static struct largest largest_of_all(struct ss_judge *j)
{
	struct ss_strmap names = { 0 };
	struct largest *sums, best = { 0 };
	double compute_ps = 0;
	size_t most = 0;
	for (size_t i = 0; i < j->nunits; i++)
		most += j->units[i].u->nsubjects;
	sums = calloc(most + 1, sizeof(*sums));
	bool ok = sums;
	for (size_t i = 0; ok && i < j->nunits; i++) {
		const struct ss_judged_unit *u = &j->units[i];
		if (!names_largest(u))
			continue;
		compute_ps += ss_unit_step_frac(u, SS_TIME_COMPUTE) * (double)u->u->window_ps;
		ok = add_named(&names, sums, u);
	}
	j->no_memory |= !ok;
	for (uint32_t k = 0; ok && k < names.n; k++)
		best = sums[k].ps > best.ps && !ss_str_is(sums[k].s->name, SS_NAMELESS) ? sums[k] : best;
	best.share = compute_ps > 0 ? best.ps / compute_ps : 0;
	ss_strmap_free(&names);
	free(sums);
	return best;
}

void ss_rule_compute(struct ss_judge *j)
{
	struct ss_affected affected = ss_affected_by(j, SS_TIME_COMPUTE);
	/* To compute is what all are for: the mean of all. */
	if (affected.worst)
		affected.frac = mean_of_all(j, SS_TIME_COMPUTE);
	if (!affected.worst || affected.frac < SS_LEAST_SHARE)
		return;
	affected.worst = named_unit(j, affected.worst);
	const struct largest largest = largest_of_all(j);
	const struct ss_time_subject *s = largest.s;
	double op_frac = affected.frac * largest.share;
	bool well = s && affected.frac >= SS_WELL_USED_SHARE && s->flops_frac >= SS_WELL_USED_FLOPS && op_frac >= affected.frac / 2;
	struct ss_verdict_finding *f = ss_find(j, well ? SS_CAUSE_NONE : SS_CAUSE_COMPUTE, affected.frac);
	if (!f)
		return;
	f->subject = s ? ss_cut(ss_shown_name(j, s), SS_MOST_SUBJECT_BYTES) : SS_STR("operations");
	struct ss_str detail = s && s->detail.n ? ss_say(j, " (" SS_FMT ")", SS_ARG(ss_shorten(j, s->detail, 160)))
						: SS_STR(""),
		      how = reach(j, s);
	bool spread = op_frac < SS_LEAST_NAMED && !how.n;
	bool copies = ss_str_is(f->subject, "copy") || ss_str_starts(f->subject, SS_STR("copy."));
	bool hooks = ss_str_is(f->subject, "torch::autograd::AccumulateGrad") && !affected.worst->h->has_python;
	f->traits |= (spread ? SS_TRAIT_SPREAD : 0) | (copies ? SS_TRAIT_COPY : 0) | (hooks ? SS_TRAIT_HOOKS : 0);
	if (!s)
		f->text = ss_say(j, "Operations take %s of the time. The recording does not name them.",
				 ss_percent_of(affected.frac).s);
	else if (spread)
		f->text = ss_say(j, "Operations take %s of the time, spread over many: the largest takes %.3f%%.",
				 ss_percent_of(affected.frac).s, 100 * op_frac);
	else
		f->text = ss_say(j, "%sperations take %s of the time; the largest is " SS_FMT SS_FMT " at %s." SS_FMT,
				 well ? "The device is well used: o" : "O", ss_percent_of(affected.frac).s, SS_ARG(f->subject),
				 SS_ARG(detail), ss_percent_of(op_frac).s, SS_ARG(how));
	ss_prove(j, f, ss_say(j, SS_FMT ": compute", SS_ARG(ss_say_share(j, affected.worst))).p,
		 ss_unit_step_frac(affected.worst, SS_TIME_COMPUTE), "share", affected.worst, "overview_page");
	if (s) {
		ss_prove(j, f, j->nunits > 1 ? "of all devices' time, the largest operation" : "of that, the largest operation",
			 op_frac, "share", largest.u, "hlo_stats");
		ss_point_at(j, f, largest.u, s->begin_ps, s->end_ps);
	}
	prove_peaks(j, f, s, s ? largest.u : affected.worst);
}

void ss_rule_precision(struct ss_judge *j)
{
	uint64_t wide_ps = 0, narrow_ps = 0, window_ps = 0;
	struct ss_str kernel = SS_STR("");
	for (size_t i = 0; i < j->a->nhosts; i++) {
		const struct ss_precision *p = &j->a->hosts[i].precision;
		wide_ps += p->wide_ps;
		narrow_ps += p->narrow_ps;
		kernel = kernel.n ? kernel : p->wide_kernel;
	}
	for (size_t i = 0; i < j->nunits; i++)
		window_ps += j->units[i].u->window_ps;
	double frac = window_ps ? (double)wide_ps / (double)window_ps : 0;
	if (!wide_ps && !narrow_ps)
		ss_cannot_judge(j, SS_CAUSE_PRECISION, "no name of a GPU kernel shows the types of its matrix products");
	if (!kernel.n || frac < SS_WIDE_SHARE || (double)wide_ps < SS_WIDE_FRAC * (double)(wide_ps + narrow_ps))
		return;
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_PRECISION, NAN);
	if (!f)
		return;
	f->subject = ss_cut(ss_cxx_short_name(kernel, j->arena), SS_MOST_SUBJECT_BYTES);
	f->text = ss_say(j,
			 "Matrix products in 32 bit take %s of the time, mostly in " SS_FMT
			 ". Narrower types run on faster units.",
			 ss_percent_of(frac).s, SS_ARG(f->subject));
	ss_prove(j, f, "share of the recorded time in matrix products of wide types", frac, "share", NULL,
		 "kernel_stats");
}
