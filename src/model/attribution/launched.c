/*
 * launched.c - steps of programs that are started and not waited for, where GPUs do the work.
 *
 * The host runs ahead: kernels that a step's mark launches run while the next steps are launched,
 * and the last mark is over while the work of several steps is still to be done. A step is then
 * the time in which the devices do its work, which the launches of that work tell.
 */
#include "model/attribution/windows.h"

#include "base/bisect.h"
#include "base/map.h"
#include "base/safe.h"
#include "model/host/host.h"
#include "model/host/stat_filter.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

/* The work of devices for one step. */
struct work {
	int64_t begin_ps, end_ps;
	bool any;
};

struct launched {
	const struct ss_host *h;
	const struct ss_windows *w;
	struct ss_u64map step_of; /* by correlation id */
	struct work *v;
};

/* Work that goes on behind the last mark for longer than this share of a step is that of steps before. */
#define BACKLOG_FRAC 0.25

/* The step whose mark a moment lies in; SS_NONE. */
static uint32_t marked_at(const struct ss_windows *w, int64_t t_ps)
{
	size_t lo = 0, hi = w->n;
	SS_BISECT(lo, hi, mid, w->v[mid].begin_ps <= t_ps);
	return lo && t_ps < w->v[lo - 1].end_ps ? (uint32_t)(lo - 1) : SS_NONE;
}

static bool correlation_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, uint64_t *id)
{
	struct ss_xstat s;
	bool known = ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_CORRELATION_ID, &s);
	*id = known ? (uint64_t)ss_xstat_int_or_uint(&s) : 0;
	return known;
}

static bool read_launches(struct launched *k, const struct ss_plane *p)
{
	static const enum ss_stat stats[] = { SS_STAT_CORRELATION_ID };
	struct ss_stat_filter f = ss_stat_filter_of(p->x, stats, SS_COUNT(stats));
	bool ok = true;
	for (uint32_t j = 0; j < p->nlines; j++) {
		const struct ss_line *l = &p->lines[j];
		for (uint32_t i = 0; ok && !l->derived && i < l->ev.n; i++) {
			uint32_t step = marked_at(k->w, l->ev.begin_ps[i]);
			uint64_t id;
			if (step != SS_NONE && ss_stat_filter_line(&f, l, i) && correlation_of(p, l, i, &id))
				ok = ss_u64map_add(&k->step_of, id, step) != SS_NONE;
		}
	}
	return ok;
}

static void read_work(struct launched *k, const struct ss_plane *p, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint64_t id;
		uint32_t step = correlation_of(p, l, i, &id) ? ss_u64map_get(&k->step_of, id) : SS_NONE;
		if (step == SS_NONE || !l->ev.dur_ps[i])
			continue;
		struct work *s = &k->v[step];
		int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
		s->begin_ps = s->any && s->begin_ps < begin_ps ? s->begin_ps : begin_ps;
		s->end_ps = s->any && s->end_ps > end_ps ? s->end_ps : end_ps;
		s->any = true;
	}
}

/*
 * Does the work of most steps last beyond the mark of the next? Work must be known of all, in their
 * order: else which is whose is not known.
 */
static bool runs_ahead(const struct launched *k)
{
	const struct ss_window *w = k->w->v;
	size_t ahead = 0, n = k->w->n;
	for (size_t i = 0; i < n; i++) {
		if (!k->v[i].any || (i && k->v[i].begin_ps <= k->v[i - 1].begin_ps))
			return false;
		ahead += i + 1 < n ? k->v[i].end_ps > w[i + 1].end_ps : k->v[i].begin_ps >= w[i].end_ps;
	}
	return 2 * ahead > n;
}

static void divide(struct ss_windows *w, const struct launched *k)
{
	for (size_t i = 1; i < w->n; i++) {
		w->v[i].begin_ps = k->v[i].begin_ps;
		w->v[i - 1].end_ps = k->v[i].begin_ps;
	}
	w->v[w->n - 1].end_ps = k->v[w->n - 1].end_ps;
}

static bool read_devices(struct launched *k)
{
	const struct ss_plane *host = ss_host_plane(k->h, SS_PLANE_HOST_CPU);
	if (!host || !read_launches(k, host))
		return !host;
	for (uint32_t i = 0; i < k->h->nplanes; i++) {
		const struct ss_plane *p = &k->h->planes[i];
		for (uint32_t j = 0; p->kind == SS_PLANE_GPU && j < p->nlines; j++)
			if (ss_is_work_line(p, &p->lines[j]))
				read_work(k, p, &p->lines[j]);
	}
	return true;
}

bool ss_windows_follow_launches(struct ss_windows *w, const struct ss_host *h, int64_t last_ps)
{
	if (w->n < 2)
		return true;
	const struct ss_window *last = &w->v[w->n - 1];
	double step_ps = (double)ss_safe_between(w->v[0].begin_ps, last->begin_ps) / (double)(w->n - 1);
	if ((double)ss_safe_between(last->end_ps, last_ps) < BACKLOG_FRAC * step_ps)
		return true;
	struct launched k = { .h = h, .w = w, .v = calloc(w->n, sizeof(*k.v)) };
	bool ok = k.v && read_devices(&k);
	if (ok && runs_ahead(&k))
		divide(w, &k);
	ss_u64map_free(&k.step_of);
	free(k.v);
	return ok;
}
