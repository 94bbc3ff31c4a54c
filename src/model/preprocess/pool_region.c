/*
 * pool_region.c - what a thread pool ran, and when.
 *
 * A pool marks the begin and the end of a piece of work with two instants. A span between them is
 * added to the line, for people to see; it takes part in nothing else.
 */
#include "model/preprocess/group.h"

#include "base/safe.h"
#include "model/host/host.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

struct span {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t from;		/* index of the old event, SS_NONE: a region */
};

struct spans {
	SS_VEC(struct span) all;
};

/* A region lasts from the last start that somebody asked for (it has a consumer id) to a stop. */
static bool find_regions(const struct ss_plane *p, const struct ss_line *l, uint32_t start, uint32_t stop, struct spans *out)
{
	int64_t begin = 0;
	struct ss_xstat s;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		if (l->ev.meta[i] == start) {
			if (ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_CONSUMER_ID, &s))
				begin = l->ev.begin_ps[i];
		} else if (l->ev.meta[i] == stop && begin) {
			if (!ss_vec_push(&out->all, (struct span){ begin, ss_safe_between(begin, l->ev.begin_ps[i]), SS_NONE }))
				return false;
		}
	}
	return true;
}

/* By time, longer first, regions before others of the same span. */
static int by_time(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->dur_ps, x->dur_ps) ?: SS_CMP(x->from + 1, y->from + 1);
}

/*
 * Where each event of the line with its regions comes from. Both are in order mostly: then merging
 * is enough.
 */
static void merge(const struct ss_xevents *e, const struct spans *regions, uint32_t *from)
{
	size_t k = 0, r = 0;
	for (uint32_t i = 0; i < e->n; i++) {
		const struct span own = { e->begin_ps[i], e->dur_ps[i], i };
		while (r < regions->all.n && by_time(&regions->all.v[r], &own) < 0) {
			r++;
			from[k++] = SS_NONE;
		}
		from[k++] = i;
	}
	while (r++ < regions->all.n)
		from[k++] = SS_NONE;
}

static bool insert(struct ss_line *l, struct spans *regions, uint32_t meta)
{
	size_t n = regions->all.n + l->ev.n;
	uint32_t *from = NULL, *order = NULL;
	qsort(regions->all.v, regions->all.n, sizeof(*regions->all.v), by_time);
	bool ok = n < SS_NONE && (l->ev.sorted || ss_xevents_sort(&l->ev, &order));
	free(order);
	ok = ok && (from = malloc((n + 1) * sizeof(*from)));
	if (ok) {
		merge(&l->ev, regions, from);
		ok = ss_xevents_rebuild(&l->ev, from, (uint32_t)n);
	}
	for (size_t k = 0, r = 0; ok && k < n; k++)
		if (from[k] == SS_NONE) {
			l->ev.begin_ps[k] = regions->all.v[r].begin_ps;
			l->ev.dur_ps[k] = regions->all.v[r++].dur_ps;
			l->ev.meta[k] = meta;
		}
	free(from);
	if (ok)
		ss_xevents_check_order(&l->ev);
	return ok;
}

/* The metadata of a name, SS_NONE if there is none. */
static uint32_t meta_of(const struct ss_xplane *x, struct ss_str name)
{
	for (uint32_t i = 0; i < x->nevent_meta; i++)
		if (ss_str_eq(x->event_meta[i].name, name))
			return i;
	return SS_NONE;
}

static bool add_regions(struct ss_host *h, struct ss_plane *p)
{
	uint32_t start = meta_of(p->x, SS_STR("ThreadpoolListener::StartRegion"));
	uint32_t stop = meta_of(p->x, SS_STR("ThreadpoolListener::StopRegion"));
	uint32_t region = meta_of(p->x, SS_STR("ThreadpoolListener::Region"));
	if (start == SS_NONE || stop == SS_NONE)
		return true;
	if (region == SS_NONE) {
		region = ss_plane_add_synthetic_name(&h->arena, p, SS_STR("ThreadpoolListener::Region"), SS_STR(""));
		if (region == SS_NONE)
			return false;
	}
	for (uint32_t i = 0; i < p->nlines; i++) {
		struct spans spans = { 0 };
		bool ok = find_regions(p, &p->lines[i], start, stop, &spans);
		ok = ok && (!spans.all.n || insert(&p->lines[i], &spans, region));
		ss_vec_free(&spans.all);
		if (!ok)
			return false;
	}
	return true;
}

bool ss_add_pool_regions(struct ss_host *h, struct ss_err *err)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (!add_regions(h, &h->planes[i]))
			return ss_fail_mem(err);
	return true;
}
