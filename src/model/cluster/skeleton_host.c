/*
 * skeleton_host.c - what is taken of the host's threads: step markers, input, launches, waits, and
 * operations that CPUs ran.
 */
#include "model/cluster/skeleton_read.h"

#include "base/bisect.h"
#include "model/host/forget.h"
#include "model/host/host.h"

#include <stdlib.h>

enum word { WORD_NONE, WORD_INPUT, WORD_WAIT, WORD_EXECUTE, WORD_CALL };

static bool is_sync(struct ss_str n)
{
	return (ss_str_starts(n, SS_STR("cu")) || ss_str_starts(n, SS_STR("hip"))) && ss_str_contains(n, SS_STR("Synchronize"));
}

/* The facts in the name of a host event. */
static enum word word_of(struct ss_str n)
{
	if (ss_str_istarts(n, SS_STR("IteratorGetNext")) || ss_str_starts(n, SS_STR("enumerate(Data")) ||
	    (ss_str_contains(n, SS_STR("DataLoader")) && ss_str_contains(n, SS_STR("next"))) ||
	    ss_str_istarts(n, SS_STR("InfeedEnqueue")))
		return WORD_INPUT;
	if (is_sync(n) || ss_str_contains(n, SS_STR("BlockUntilReady")) || ss_str_contains(n, SS_STR("block_until_ready")) ||
	    ss_str_ends(n, SS_STR("::Await")) || ss_str_is(n, "Await"))
		return WORD_WAIT;
	if (ss_str_contains(n, SS_STR("wait for completion")))
		return WORD_NONE;
	if (ss_str_starts(n, SS_STR("DoEnqueue")) || ss_str_contains(n, SS_STR("Executable::Execute")))
		return WORD_EXECUTE;
	if (ss_str_starts(n, SS_STR("cu")) || ss_str_starts(n, SS_STR("hip")))
		return WORD_CALL;
	return WORD_NONE;
}

/* An event with what ties it to the devices, before events are in order. */
struct found {
	struct ss_skel_host_event e;
	int64_t correlation, run, ordinal; /* -1 or 0: none */
	bool has_run;
};

struct threads {
	struct ss_skel_reading *r;
	struct ss_forget pages;
	SS_VEC(struct found) found;
	SS_VEC(struct ss_skel_marker) loose; /* steps that are numbered, but not marked as roots */
	uint32_t nthreads;
};

enum { W_STEP, W_ROOT, W_CORRELATION, W_RUN, W_ORDINAL, W_OP, W_MODULE, W_PROGRAM, W_COUNT };

static const enum ss_stat wanted_stats[W_COUNT] = {
	SS_STAT_STEP_NUM, SS_STAT_ROOT_LEVEL, SS_STAT_CORRELATION_ID, SS_STAT_RUN_ID,
	SS_STAT_DEVICE_ORDINAL, SS_STAT_HLO_OP, SS_STAT_HLO_MODULE, SS_STAT_PROGRAM_ID,
};

static bool add_cpu_op(struct threads *t, const struct ss_xstat *got, int64_t begin, int64_t end)
{
	struct ss_skel_cpu_op op = { .begin_ps = begin, .end_ps = end, .run = ss_xstat_int_or_uint(&got[W_RUN]),
				     .device = ss_xstat_int_or_uint(&got[W_ORDINAL]), .op = ss_xstat_str(&got[W_OP]),
				     .program = ss_xstat_str(&got[W_MODULE]),
				     .program_id = (uint64_t)ss_xstat_int_or_uint(&got[W_PROGRAM]) };
	return ss_vec_push(&t->r->cpu_ops, op);
}

static bool take_event(struct threads *t, enum word word, const struct ss_xstat *got, uint32_t has, int64_t begin, int64_t end)
{
	const uint32_t op = 1 << W_OP | 1 << W_RUN;
	if ((has & op) == op)
		return add_cpu_op(t, got, begin, end);
	if (has & 1 << W_STEP && word != WORD_INPUT) {
		struct ss_skel_marker m = { begin, end, ss_skel_held(ss_xstat_int_or_uint(&got[W_STEP])), t->nthreads, 0 };
		bool ok = has & 1 << W_ROOT ? ss_vec_push(&t->r->markers, m) : ss_vec_push(&t->loose, m);
		if (!ok)
			return false;
	}
	bool launch = (word == WORD_CALL && has & 1 << W_CORRELATION) || (word == WORD_EXECUTE && has & 1 << W_RUN);
	if (word != WORD_INPUT && word != WORD_WAIT && !launch)
		return true;
	struct found f = { .e = { begin, end, t->nthreads, launch ? SS_HOST_LAUNCH_EVENT :
				  word == WORD_INPUT ? SS_HOST_INPUT_EVENT : SS_HOST_WAIT_EVENT },
			   .correlation = has & 1 << W_CORRELATION ? ss_xstat_int_or_uint(&got[W_CORRELATION]) : -1,
			   .has_run = launch && has & 1 << W_RUN, .run = ss_xstat_int_or_uint(&got[W_RUN]),
			   .ordinal = has & 1 << W_ORDINAL ? ss_xstat_int_or_uint(&got[W_ORDINAL]) : -1 };
	return ss_vec_push(&t->found, f);
}

static bool read_line(struct threads *t, const struct ss_plane *p, const struct ss_line *l, const struct ss_stat_projection *w,
		      const uint8_t *words)
{
	bool any = ss_projection_in(w, &l->ev);
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i];
		enum word word = meta < p->x->nevent_meta ? (enum word)words[meta] : WORD_NONE;
		if (!any && word != WORD_INPUT && word != WORD_WAIT)
			continue;
		struct ss_xstat got[W_COUNT] = { 0 }, s;
		struct ss_projection_walk walk = ss_projection_event(w, ss_xevents_body(&l->ev, l->src, i));
		uint32_t has = 0;
		unsigned which;
		ss_forget_passed(&t->pages, l, i);
		while (any && ss_projection_next(&walk, &which, &s)) {
			got[which] = s;
			has |= 1u << which;
		}
		int64_t end = ss_skel_end_ps(l, i);
		if ((has || word != WORD_NONE) && !take_event(t, word, got, has, ss_skel_begin_ps(l, i), end))
			return false;
	}
	ss_forget_line(&t->pages, l);
	t->nthreads++;
	return true;
}

static bool read_plane(struct threads *t, const struct ss_plane *p)
{
	struct ss_stat_projection w;
	uint8_t *words = SS_NEW_N(&t->r->arena, uint8_t, p->x->nevent_meta + 1);
	bool ok = words && ss_projection_init(&w, p->x, wanted_stats, W_COUNT, &t->r->arena);
	for (uint32_t i = 0; ok && i < p->x->nevent_meta; i++)
		words[i] = (uint8_t)word_of(p->x->event_meta[i].name);
	for (uint32_t i = 0; ok && i < p->nlines; i++)
		ok = read_line(t, p, &p->lines[i], &w, words);
	return ok;
}

static int by_time(const void *a, const void *b)
{
	const struct ss_skel_host_event *x = &((const struct found *)a)->e, *y = &((const struct found *)b)->e;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->end_ps, x->end_ps) ?: SS_CMP(x->thread, y->thread);
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_skel_marker *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->thread, y->thread);
}

static uint64_t run_key(int64_t run, int64_t ordinal)
{
	return ss_mix((uint64_t)run, (uint64_t)ordinal);
}

/*
 * Into order; then launches are found by what they launched: the first of a correlation id, the
 * last of a run.
 */
static bool finish(struct threads *t)
{
	struct ss_skel_reading *r = t->r;
	bool ok = true;
	if (t->found.n)
		qsort(t->found.v, t->found.n, sizeof(*t->found.v), by_time);
	for (size_t i = 0; ok && i < t->found.n; i++) {
		const struct found *f = &t->found.v[i];
		ok = ss_vec_push(&r->s->events, f->e);
		if (ok && f->e.cls == SS_HOST_LAUNCH_EVENT && f->correlation >= 0)
			ok = ss_u64map_add(&r->by_correlation, (uint64_t)f->correlation, (uint32_t)i) != SS_NONE;
		if (ok && f->has_run)
			ok = ss_u64map_put(&r->by_run, run_key(f->run, f->ordinal), (uint32_t)i);
	}
	for (size_t i = 0; ok && !r->markers.n && i < t->loose.n; i++)
		ok = ss_vec_push(&r->markers, t->loose.v[i]);
	if (r->markers.n)
		qsort(r->markers.v, r->markers.n, sizeof(*r->markers.v), by_begin);
	return ok && ss_skel_tell_steps(r);
}

bool ss_skel_read_threads(struct ss_skel_reading *r)
{
	struct threads t = { .r = r, .pages = { .h = r->h } };
	bool ok = true;
	for (uint32_t i = 0; ok && i < r->h->nplanes; i++)
		if (ss_plane_is_host(&r->planes[i]) && r->planes[i].kind != SS_PLANE_METADATA) {
			ok = read_plane(&t, &r->planes[i]);
			ss_partial_forget(r->partial, i);
		}
	ss_forget_rest(&t.pages);
	ok = ok && finish(&t);
	ss_vec_free(&t.found);
	ss_vec_free(&t.loose);
	return ok;
}

uint32_t ss_skel_launch_of_run(const struct ss_skel_reading *r, int64_t run, int64_t ordinal)
{
	uint32_t k = ss_u64map_get(&r->by_run, run_key(run, ordinal));
	if (k == SS_NONE)
		k = ss_u64map_get(&r->by_run, run_key(run, -1));
	return k == SS_NONE ? SS_NO_LAUNCH : k;
}

const struct ss_skel_marker *ss_skel_marker_at(const struct ss_skel_reading *r, int64_t at_ps)
{
	size_t lo = 0, hi = r->markers.n;
	SS_BISECT(lo, hi, mid, r->markers.v[mid].begin_ps <= at_ps);
	/* Markers hardly nest: a few back is far enough. */
	for (size_t k = 0; k < 8 && k < lo; k++)
		if (r->markers.v[lo - 1 - k].end_ps > at_ps)
			return &r->markers.v[lo - 1 - k];
	return NULL;
}
