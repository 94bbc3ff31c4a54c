/* extra.c - what threads do in those steps alone that take far longer than most. */
#include "model/attribution/build.h"

#include "base/safe.h"
#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

/* The events of one name. */
struct named {
	uint64_t slow_ps; /* in outlying steps, without those within another of the name */
	int64_t end_ps;	  /* of the last one */
	size_t nslow, last; /* outlying steps that have it, the last of them from 1 on */
	bool usual;	  /* a usual step has it, too, or the time between steps */
};

static void note(struct named *k, const struct ss_windows *w, int64_t begin_ps, int64_t end_ps, size_t *at)
{
	size_t i = ss_window_at(w, begin_ps, at);
	if (i == SIZE_MAX || !w->v[i].outlier || end_ps > w->v[i].end_ps) {
		k->usual = true;
		return;
	}
	k->nslow += k->last != i + 1;
	k->last = i + 1;
	if (k->nslow == 1 && !k->slow_ps)
		k->end_ps = begin_ps;
	int64_t from_ps = begin_ps > k->end_ps ? begin_ps : k->end_ps;
	k->slow_ps += end_ps > from_ps ? ss_safe_between(from_ps, end_ps) : 0;
	k->end_ps = end_ps > k->end_ps ? end_ps : k->end_ps;
}

/*
 * What the program does by the event: annotations and functions with a file say it, if they take so
 * much. A program that is started takes its time elsewhere.
 */
static struct ss_str what_it_does(struct ss_attr_build *b, const struct ss_line *l, uint32_t i, bool long_enough)
{
	struct ss_str name = ss_event_name(b->host, l->ev.meta[i]);
	enum ss_host_kind kind = ss_host_kinds_of(&b->kinds, l, i);
	struct ss_frame f;
	bool frame = ss_frame_parse(name, &f);
	bool own = kind != SS_KIND_LAUNCH && kind != SS_KIND_SKIP && kind != SS_KIND_LOCK && kind != SS_KIND_SYNC;
	if (long_enough && (frame ? f.line != 0 && own : kind == SS_KIND_OTHER && !ss_is_step_marker_name(name)))
		return ss_frame_text(name, b->arena);
	if (frame || kind != SS_KIND_FUNCTION)
		return SS_STR("");
	return ss_arena_printf(b->arena, SS_FMT "()", SS_ARG(ss_called_name(name)));
}

static uint64_t excess_ps(const struct ss_windows *w)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < w->n; i++)
		sum_ps += w->v[i].outlier ? ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps) - w->typical_ps : 0;
	return sum_ps;
}

static bool find_on(struct ss_attr_build *b, const struct ss_line *l)
{
	const struct ss_windows *w = b->w;
	struct named *names = calloc((size_t)b->host->x->nevent_meta + 1, sizeof(*names)), *best = NULL;
	size_t at = 0;
	for (uint32_t i = 0; names && i < l->ev.n; i++)
		if (l->ev.meta[i] < b->host->x->nevent_meta && l->ev.dur_ps[i])
			note(&names[l->ev.meta[i]], w, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), &at);
	uint64_t least_ps = excess_ps(w) / 2;
	bool chance = 1 / ss_ways_to_choose(w->n, w->noutliers) > SS_CHANCE, ok = names;
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		struct named *k = l->ev.meta[i] < b->host->x->nevent_meta ? &names[l->ev.meta[i]] : NULL;
		bool long_enough = k && k->slow_ps >= least_ps;
		if (!k || k->usual || k->nslow < w->noutliers || (!long_enough && (chance || b->out->extra_ps)) ||
		    (best && k->slow_ps <= best->slow_ps))
			continue;
		struct ss_str what = what_it_does(b, l, i, long_enough);
		ok = what.p;
		if (!what.n)
			continue;
		best = k;
		b->out->extra = what;
		b->out->extra_ps = long_enough ? k->slow_ps : 0;
	}
	free(names);
	return ok;
}

/* ---- other threads ---- */

/*
 * Of other threads' events, which need not begin and end with a step, this share of each lies in
 * slow steps.
 */
#define OF_OTHERS_FRAC 0.8
/* An event of more steps is of none. */
#define MOST_STEPS_OF_EVENT 3

/*
 * The same, of one name on one thread: within each of the steps for half of what that takes beyond
 * a usual one.
 */
static void note_other(struct named *k, const struct ss_windows *w, int64_t begin_ps, int64_t end_ps, size_t *at)
{
	uint64_t slow_ps = 0;
	ss_window_at(w, begin_ps, at);
	for (size_t i = *at; i < w->n && w->v[i].begin_ps < end_ps && i < *at + MOST_STEPS_OF_EVENT; i++) {
		int64_t from_ps = w->v[i].begin_ps > begin_ps ? w->v[i].begin_ps : begin_ps;
		int64_t to_ps = w->v[i].end_ps < end_ps ? w->v[i].end_ps : end_ps;
		uint64_t dur_ps = ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps), own_ps = ss_safe_between(from_ps, to_ps);
		if (!w->v[i].outlier || to_ps <= from_ps)
			continue;
		slow_ps += own_ps;
		k->nslow += k->last != i + 1 && 2 * own_ps >= dur_ps - w->typical_ps;
		k->last = 2 * own_ps >= dur_ps - w->typical_ps ? i + 1 : k->last;
	}
	k->usual |= (double)slow_ps < OF_OTHERS_FRAC * (double)ss_safe_between(begin_ps, end_ps);
	k->slow_ps += slow_ps;
}

/* "pack_shards on thread 'packer'"; "" where the program does not say what it is. */
static struct ss_str what_other_does(struct ss_attr_build *b, const struct ss_line *l, uint32_t i)
{
	struct ss_str what = what_it_does(b, l, i, true);
	bool named = l->name.n && !ss_str_eq(l->name, b->starter ? b->starter->name : SS_STR(""));
	if (!what.n)
		return what;
	return named ? ss_arena_printf(b->arena, SS_FMT " on thread '" SS_FMT "'", SS_ARG(what), SS_ARG(l->name))
		     : ss_arena_printf(b->arena, SS_FMT " on another thread", SS_ARG(what));
}

/* `names` is clear before and after. */
static bool find_on_other(struct ss_attr_build *b, const struct ss_line *l, struct named *names)
{
	const struct ss_windows *w = b->w;
	size_t at = 0;
	bool ok = true;
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (l->ev.meta[i] < b->host->x->nevent_meta && l->ev.dur_ps[i])
			note_other(&names[l->ev.meta[i]], w, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), &at);
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct named *k = l->ev.meta[i] < b->host->x->nevent_meta ? &names[l->ev.meta[i]] : NULL;
		if (k && ok && !k->usual && k->nslow == w->noutliers && k->slow_ps > b->out->extra_ps) {
			struct ss_str what = what_other_does(b, l, i);
			ok = what.p;
			b->out->extra = what.n ? what : b->out->extra;
			b->out->extra_ps = what.n ? k->slow_ps : b->out->extra_ps;
		}
		if (k)
			*k = (struct named){ 0 };
	}
	return ok;
}

static bool find_on_others(struct ss_attr_build *b, const struct ss_line *own)
{
	struct named *names = calloc((size_t)b->host->x->nevent_meta + 1, sizeof(*names));
	bool ok = names;
	for (uint32_t k = 0; ok && k < b->host->nlines; k++)
		if (&b->host->lines[k] != own && !b->host->lines[k].derived)
			ok = find_on_other(b, &b->host->lines[k], names);
	free(names);
	return ok;
}

bool ss_find_extra(struct ss_attr_build *b)
{
	const struct ss_line *l = b->w->line ? b->w->line : b->starter;
	if (!b->w->noutliers || !l || !b->host)
		return true;
	return find_on(b, l) && (b->out->extra.n || find_on_others(b, l));
}
