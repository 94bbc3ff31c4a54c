/*
 * extra.c - what threads do in those steps alone that take far longer than most, or more often
 * there.
 */
#include "model/attribution/build.h"

#include "base/map.h"
#include "base/order.h"
#include "base/safe.h"
#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"
#include "model/host/event_order.h"

#include <stdlib.h>

/* Numbers of names: what is recorded with other shapes has metadata of its own. */
struct numbers {
	uint32_t *of_meta, nmeta;
	size_t n;
};

static bool number_names(const struct ss_plane *p, struct numbers *out)
{
	struct ss_strmap known = { 0 };
	uint32_t n = p->x->nevent_meta;
	*out = (struct numbers){ .of_meta = malloc(((size_t)n + 1) * sizeof(*out->of_meta)), .nmeta = n };
	bool ok = out->of_meta;
	for (uint32_t m = 0; ok && m < n; m++)
		ok = (out->of_meta[m] = ss_strmap_add(&known, ss_event_name(p, m))) != SS_NONE;
	out->n = known.n;
	ss_strmap_free(&known);
	return ok;
}

/* Of an event that takes time; SS_NONE. */
static uint32_t number_of(const struct numbers *names, const struct ss_xevents *e, uint32_t i)
{
	return e->meta[i] < names->nmeta && e->dur_ps[i] ? names->of_meta[e->meta[i]] : SS_NONE;
}

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
	bool own = kind != SS_KIND_GC_MARK && kind != SS_KIND_LAUNCH &&
		   kind != SS_KIND_SKIP && kind != SS_KIND_LOCK && kind != SS_KIND_SYNC;
	if (long_enough && (frame ? f.line != 0 && own : kind == SS_KIND_OTHER && !ss_is_step_marker_name(name)))
		return ss_frame_text(name, b->arena);
	if (long_enough && kind == SS_KIND_EAGER_OP)
		return ss_called_name(name);
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

static bool find_on(struct ss_attr_build *b, const struct ss_line *l, const struct numbers *numbers)
{
	const struct ss_windows *w = b->w;
	struct named *names = calloc(numbers->n + 1, sizeof(*names)), *best = NULL;
	size_t at = 0;
	for (uint32_t i = 0, k; names && i < l->ev.n; i++)
		if ((k = number_of(numbers, &l->ev, i)) != SS_NONE)
			note(&names[k], w, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), &at);
	uint64_t least_ps = excess_ps(w) / 2;
	bool chance = 1 / ss_ways_to_choose(w->n, w->noutliers) > SS_CHANCE, ok = names;
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		uint32_t number = number_of(numbers, &l->ev, i);
		struct named *k = number != SS_NONE ? &names[number] : NULL;
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
static bool find_on_other(struct ss_attr_build *b, const struct ss_line *l, const struct numbers *numbers, struct named *names)
{
	const struct ss_windows *w = b->w;
	size_t at = 0;
	bool ok = true;
	for (uint32_t i = 0, k; i < l->ev.n; i++)
		if ((k = number_of(numbers, &l->ev, i)) != SS_NONE)
			note_other(&names[k], w, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), &at);
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t number = number_of(numbers, &l->ev, i);
		struct named *k = number != SS_NONE ? &names[number] : NULL;
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

static bool find_on_others(struct ss_attr_build *b, const struct ss_line *own, const struct numbers *numbers)
{
	struct named *names = calloc(numbers->n + 1, sizeof(*names));
	bool ok = names;
	for (uint32_t k = 0; ok && k < b->host->nlines; k++)
		if (&b->host->lines[k] != own && !b->host->lines[k].derived)
			ok = find_on_other(b, &b->host->lines[k], numbers, names);
	free(names);
	return ok;
}

/* ---- more often ---- */

#define MOST_CANDIDATES 8

/* The events of one name that lie within steps, without those within another of the name. */
struct repeated {
	uint64_t slow_ps, usual_ps;
	uint64_t slow, usual; /* how many */
	int64_t end_ps;	      /* of the last one */
	uint32_t event;	      /* the first one */
	bool any;
};

/* A name that may run more often in slow steps. */
struct candidate {
	uint32_t name;
	uint64_t more_ps;   /* its time in slow steps beyond that in as many usual ones; 0: less than half of all of that */
	uint64_t more;	    /* its events, likewise */
	uint64_t *of_steps; /* how often it runs in each step */
};

/*
 * Each outermost event of its name that lies within a step; `at` walks along. False: another one.
 */
static bool is_outermost(struct repeated *k, const struct ss_windows *w, const struct ss_xevents *e, uint32_t i, size_t *at,
			 size_t *step)
{
	int64_t end_ps = ss_xevents_end_ps(e, i);
	*step = ss_window_at(w, e->begin_ps[i], at);
	if (*step == SIZE_MAX || end_ps > w->v[*step].end_ps || (k->any && e->begin_ps[i] < k->end_ps))
		return false;
	k->end_ps = end_ps;
	k->any = true;
	return true;
}

/* What slow steps have of it beyond as many usual ones. */
static uint64_t beyond_usual(const struct ss_windows *w, uint64_t slow, uint64_t usual)
{
	double expected = (double)usual * (double)w->noutliers / (double)(w->n - w->noutliers);
	return (double)slow > expected ? slow - (uint64_t)expected : 0;
}

static bool has_more(const struct candidate *a, const struct candidate *b)
{
	return a->more_ps != b->more_ps ? a->more_ps > b->more_ps : a->more > b->more;
}

/*
 * The names with most additional time in slow steps, then those with most additional calls; their
 * number.
 */
static size_t candidates(struct ss_attr_build *b, const struct ss_line *l, const struct repeated *names, size_t nnames,
			 struct candidate *v)
{
	uint64_t least_ps = excess_ps(b->w) / 2;
	size_t n = 0;
	for (uint32_t k = 0; k < nnames; k++) {
		struct candidate c = { .name = k,
				       .more_ps = beyond_usual(b->w, names[k].slow_ps, names[k].usual_ps),
				       .more = beyond_usual(b->w, names[k].slow, names[k].usual) };
		size_t to = n;
		c.more_ps = c.more_ps >= least_ps ? c.more_ps : 0;
		if (!names[k].any || !c.more || !what_it_does(b, l, names[k].event, c.more_ps != 0).n)
			continue;
		for (; to && has_more(&c, &v[to - 1]); to--)
			if (to < MOST_CANDIDATES)
				v[to] = v[to - 1];
		if (to < MOST_CANDIDATES)
			v[to] = c;
		n += n < MOST_CANDIDATES;
	}
	return n;
}

static int by_count(const void *a, const void *b)
{
	return SS_CMP(*(const uint64_t *)a, *(const uint64_t *)b);
}

/*
 * How often it runs in slow steps and in most others. False: not more often in each, or others
 * differ.
 */
static bool compare(const struct ss_windows *w, const uint64_t *of_steps, uint64_t *usual, struct ss_more_often *more)
{
	size_t n = 0, same = 0;
	uint64_t most = 0;
	more->slow = UINT64_MAX;
	for (size_t i = 0; i < w->n; i++) {
		if (!w->v[i].outlier) {
			usual[n++] = of_steps[i];
			continue;
		}
		more->slow = of_steps[i] < more->slow ? of_steps[i] : more->slow;
		most = of_steps[i] > most ? of_steps[i] : most;
	}
	qsort(usual, n, sizeof(*usual), by_count);
	more->usual = usual[n / 2];
	more->varies = most > more->slow;
	for (size_t i = 0; i < n; i++)
		same += usual[i] == more->usual;
	return more->slow > more->usual && 2 * same > n;
}

/*
 * Of the candidates the one with most time; without so much time a program that is started more
 * often than in any usual step.
 */
static bool choose(struct ss_attr_build *b, const struct ss_line *l, const struct repeated *names, const struct candidate *v,
		   size_t n)
{
	const struct ss_windows *w = b->w;
	uint64_t *usual = calloc(w->n, sizeof(*usual));
	bool chance = 1 / ss_ways_to_choose(w->n, w->noutliers) > SS_CHANCE, ok = usual;
	for (size_t i = 0; ok && i < n && !b->out->more_often.name.n; i++) {
		struct ss_more_often more = { .more_ps = v[i].more_ps };
		if (!compare(w, v[i].of_steps, usual, &more) ||
		    (!more.more_ps && (chance || more.slow <= usual[w->n - w->noutliers - 1])))
			continue;
		more.name = what_it_does(b, l, names[v[i].name].event, more.more_ps != 0);
		ok = more.name.p;
		if (more.name.n)
			b->out->more_often = more;
	}
	free(usual);
	return ok;
}

/* The events of a thread in the order of time, outer events first. */
struct calls {
	const struct ss_line *line;
	const struct numbers *numbers;
	uint32_t *order; /* NULL: as they stand */
	size_t n;
};

static bool count_on(struct ss_attr_build *b, const struct calls *c, struct repeated *names, uint32_t *places)
{
	const struct ss_windows *w = b->w;
	const struct ss_xevents *e = &c->line->ev;
	struct candidate v[MOST_CANDIDATES];
	size_t at = 0, step, found;
	for (size_t i = 0; i < c->n; i++) {
		uint32_t event = c->order ? c->order[i] : (uint32_t)i, k = number_of(c->numbers, e, event);
		if (k == SS_NONE)
			continue;
		names[k].event = names[k].any ? names[k].event : event;
		if (!is_outermost(&names[k], w, e, event, &at, &step))
			continue;
		*(w->v[step].outlier ? &names[k].slow_ps : &names[k].usual_ps) += e->dur_ps[event];
		*(w->v[step].outlier ? &names[k].slow : &names[k].usual) += 1;
	}
	found = candidates(b, c->line, names, c->numbers->n, v);
	uint64_t *counts = calloc(found * w->n + 1, sizeof(*counts));
	for (size_t i = 0; counts && i < found; i++) {
		v[i].of_steps = counts + i * w->n;
		places[v[i].name] = (uint32_t)i + 1;
		names[v[i].name].any = false;
	}
	at = 0;
	for (size_t i = 0; counts && i < c->n; i++) {
		uint32_t event = c->order ? c->order[i] : (uint32_t)i, k = number_of(c->numbers, e, event);
		if (k != SS_NONE && places[k] && is_outermost(&names[k], w, e, event, &at, &step))
			v[places[k] - 1].of_steps[step]++;
	}
	bool ok = counts && choose(b, c->line, names, v, found);
	free(counts);
	return ok;
}

/* What slow steps run more often than most others do. */
static bool find_more_often(struct ss_attr_build *b, const struct ss_line *l, const struct numbers *numbers)
{
	struct calls c = { .line = l, .numbers = numbers, .n = l->ev.n };
	c.order = l->ev.sorted ? NULL : ss_events_outer_first(&l->ev, &c.n);
	struct repeated *names = calloc(numbers->n + 1, sizeof(*names));
	uint32_t *places = calloc(numbers->n + 1, sizeof(*places));
	bool ok = names && places && (l->ev.sorted || c.order) && count_on(b, &c, names, places);
	free(names);
	free(places);
	free(c.order);
	return ok;
}

bool ss_find_extra(struct ss_attr_build *b)
{
	const struct ss_line *l = b->w->line ? b->w->line : b->starter;
	struct numbers numbers;
	if (!b->w->noutliers || !l || !b->host)
		return true;
	bool ok = number_names(b->host, &numbers) && find_on(b, l, &numbers) &&
		  (b->out->extra.n || find_on_others(b, l, &numbers)) && (b->out->extra.n || find_more_often(b, l, &numbers));
	free(numbers.of_meta);
	return ok;
}
