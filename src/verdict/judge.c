/* judge.c - see judge.h. */
#include "verdict/judge.h"

#include "base/cxx_name.h"
#include "base/safe.h"
#include "verdict/limits.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- shares ---- */

double ss_unit_frac(const struct ss_judged_unit *u, enum ss_time_class c, enum ss_time_region r)
{
	return u->u->window_ps ? (double)u->u->ps[c][r] / (double)u->u->window_ps : 0;
}

double ss_unit_step_frac(const struct ss_judged_unit *u, enum ss_time_class c)
{
	return ss_unit_frac(u, c, SS_REGION_STEPS) + ss_unit_frac(u, c, SS_REGION_OUTLIERS);
}

struct ss_affected ss_affected_by(const struct ss_judge *j, enum ss_time_class c)
{
	struct ss_affected affected = { 0 };
	double max = 0, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = ss_unit_step_frac(&j->units[i], c);
		if (frac > max) {
			max = frac;
			affected.worst = &j->units[i];
		}
	}
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = ss_unit_step_frac(&j->units[i], c);
		if (frac >= SS_AFFECTED_FRAC * max) {
			sum += frac;
			n++;
		}
	}
	affected.frac = n ? sum / (double)n : 0;
	affected.n = n;
	return affected;
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

struct ss_str ss_shorten(struct ss_judge *j, struct ss_str s, size_t max)
{
	return s.n <= max ? s : ss_say(j, SS_FMT "…", SS_ARG(ss_cut(s, max - 1)));
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

struct ss_str ss_say_share(struct ss_judge *j, const struct ss_judged_unit *u)
{
	bool several = u->h->nunits > 1 && u->u->device.n;
	return several ? ss_say(j, "share of the recorded time of " SS_FMT, SS_ARG(u->u->device))
		       : SS_STR("share of the recorded time");
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
	p->link = ss_say(j, "tool=trace_viewer@&host=" SS_FMT "&view=%lld-%lld&marks=%lld-%lld", SS_ARG(u->h->name),
			 (long long)from_ps, (long long)ss_safe_end(end_ps, margin_ps), (long long)begin_ps, (long long)end_ps);
}

void ss_cannot_judge(struct ss_judge *j, enum ss_cause c, const char *why)
{
	if (!ss_vec_push(&j->unknown, ((struct ss_not_judged){ c, ss_str_from(why) })))
		j->no_memory = true;
}

const char *ss_recording_word(const struct ss_judge *j)
{
	return j->out->of_processes ? "process" : "host";
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
