/*
 * behind.c - steps of programs that are started and not waited for, where threads are the device.
 *
 * The mark of a step is then over before its work begins, and the mark in which the program waits
 * at last holds the work of many. XLA's CPU backend runs programs in the order of their starts: an
 * operation of one program that runs k times for each mark divides the work: the i-th k of its runs
 * are of the i-th step. Some runs before may be of programs that were started before the first mark;
 * or some marks have more runs than others, if the program waits for its work.
 */
#include "model/attribution/windows.h"

#include "base/bisect.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/host/stat_filter.h"

#include <stdlib.h>

/* Runs of an operation. */
struct runs {
	uint64_t n;
	int64_t first_ps;
};

struct work {
	const struct ss_plane *p;
	const struct ss_windows *w;
	struct ss_stat_filter hlo_op;
	uint8_t *known; /* by metadata: 1 an operation, 2 none */
	struct runs *runs;
	int64_t last_ps;
	SS_VEC(int64_t) begins; /* of the operation that divides the work */
	size_t skip, per_step;	/* of these */
	bool waits;		/* for the work of a step before the next: known where some are skipped */
};

#define MOST_EARLIER_FRAC 0.25 /* of as many as there are steps */
#define MOST_TRIES 16	       /* to find an operation of one program */

static bool is_op(struct work *k, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	struct ss_xstat s;
	if (meta >= k->p->x->nevent_meta || !l->ev.dur_ps[i] || l->ev.begin_ps[i] < k->w->v[0].begin_ps)
		return false;
	if (!k->known[meta])
		k->known[meta] = ss_stat_filter_line(&k->hlo_op, l, i) &&
						 ss_xstats_find(ss_line_stats(k->p, l, i), SS_STAT_HLO_OP, &s)
					 ? 1
					 : 2;
	return k->known[meta] == 1;
}

static void count_runs(struct work *k)
{
	for (uint32_t j = 0; j < k->p->nlines; j++) {
		const struct ss_line *l = &k->p->lines[j];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			if (!is_op(k, l, i))
				continue;
			struct runs *r = &k->runs[l->ev.meta[i]];
			int64_t end_ps = ss_xevents_end_ps(&l->ev, i);
			r->first_ps = r->n++ && r->first_ps < l->ev.begin_ps[i] ? r->first_ps : l->ev.begin_ps[i];
			k->last_ps = end_ps > k->last_ps ? end_ps : k->last_ps;
		}
	}
}

static bool is_regular(const struct work *k, uint64_t n)
{
	return n >= k->w->n && (double)(n % k->w->n) <= MOST_EARLIER_FRAC * (double)k->w->n;
}

/*
 * The one that begins first of those that run equally often in each step, without runs to spare if
 * there is any; SS_NONE.
 */
static uint32_t divider(const struct work *k)
{
	uint32_t best = SS_NONE;
	for (uint32_t i = 0; i < k->p->x->nevent_meta; i++) {
		if (!is_regular(k, k->runs[i].n))
			continue;
		bool exact = k->runs[i].n % k->w->n == 0, best_is = best != SS_NONE && k->runs[best].n % k->w->n == 0;
		if (best == SS_NONE || (exact == best_is ? k->runs[i].first_ps < k->runs[best].first_ps : exact))
			best = i;
	}
	return best;
}

/* Of the operation; *mixed: programs share its name. */
static bool list_begins(struct work *k, uint32_t meta, bool *mixed)
{
	uint64_t program = 0;
	*mixed = false;
	k->begins.n = 0;
	for (uint32_t j = 0; j < k->p->nlines; j++) {
		const struct ss_line *l = &k->p->lines[j];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			struct ss_xstat s;
			if (l->ev.meta[i] != meta || !is_op(k, l, i))
				continue;
			bool is_known = ss_xstats_find(ss_line_stats(k->p, l, i), SS_STAT_PROGRAM_ID, &s);
			uint64_t own = is_known ? (uint64_t)ss_xstat_int_or_uint(&s) : 0;
			*mixed |= k->begins.n && own != program;
			program = own;
			if (!ss_vec_push(&k->begins, l->ev.begin_ps[i]))
				return false;
		}
	}
	qsort(k->begins.v, k->begins.n, sizeof(*k->begins.v), ss_cmp_i64);
	k->skip = k->begins.n % k->w->n;
	k->per_step = k->begins.n / k->w->n;
	return true;
}

/* Lists the runs of an operation that divides the work; *any: there is one. */
static bool find_divider(struct work *k, bool *any)
{
	*any = false;
	for (int tries = 0; tries < MOST_TRIES && !*any; tries++) {
		bool mixed;
		uint32_t meta = divider(k);
		if (meta == SS_NONE)
			return true;
		if (!list_begins(k, meta, &mixed))
			return false;
		*any = !mixed;
		k->runs[meta].n = 0;
	}
	return true;
}

/* The first mark that begins at the moment or after it. */
static size_t mark_from(const struct ss_windows *w, int64_t at_ps)
{
	size_t lo = 0, hi = w->n;
	SS_BISECT(lo, hi, mid, w->v[mid].begin_ps < at_ps);
	return lo;
}

struct mark_work {
	int64_t busy; /* operations that run when it begins, less those when the one before it begins */
	bool began;   /* an operation begins before the next mark */
};

static void add_work(struct work *k, struct mark_work *v)
{
	for (uint32_t j = 0; j < k->p->nlines; j++) {
		const struct ss_line *l = &k->p->lines[j];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			if (!is_op(k, l, i))
				continue;
			size_t next = mark_from(k->w, l->ev.begin_ps[i] + 1), after = mark_from(k->w, ss_xevents_end_ps(&l->ev, i));
			v[next - 1].began = true; /* operations begin with the first mark or later */
			v[next].busy += after > next;
			v[after].busy -= after > next;
		}
	}
}

/*
 * Does the work of most marks begin in them, after all work before is over? Then runs to spare are
 * no earlier ones: some steps do more.
 */
static bool waits(struct work *k, bool *yes)
{
	struct mark_work *v = calloc(k->w->n + 1, sizeof(*v));
	int64_t busy = 0;
	size_t own = 0;
	if (!v)
		return false;
	add_work(k, v);
	for (size_t i = 0; i < k->w->n; i++) {
		busy += v[i].busy;
		own += !busy && v[i].began;
	}
	free(v);
	*yes = 2 * own >= k->w->n;
	return true;
}

/*
 * Do most runs begin before the next mark? Then the program waits for each step, in its mark or behind it. Those of the last
 * step must as well: what has piled up by then is the work of the steps.
 */
static bool keeps_up(const struct work *k)
{
	size_t own = 0, n = k->w->n;
	const struct ss_window *v = k->w->v, *last = &v[n - 1];
	int64_t due_ps = ss_safe_end(last->begin_ps, ss_safe_between(v[0].begin_ps, last->begin_ps) / (n - 1));
	due_ps = due_ps > last->end_ps ? due_ps : last->end_ps;
	if (k->begins.v[k->skip + n * k->per_step - 1] >= due_ps)
		return false;
	if (k->skip && k->waits)
		return true;
	for (size_t i = 0; i < k->w->n; i++) {
		int64_t next_ps = i + 1 < k->w->n ? k->w->v[i + 1].begin_ps : INT64_MAX;
		const int64_t *begins = k->begins.v + k->skip + i * k->per_step;
		own += begins[0] >= k->w->v[i].begin_ps && begins[k->per_step - 1] < next_ps;
	}
	return 2 * own >= k->w->n;
}

static void divide(struct ss_windows *w, const struct work *k)
{
	w->as_marked = false;
	/* The first waits for the work of programs that were started before. */
	if (k->skip && k->begins.v[k->skip] > w->v[0].begin_ps)
		w->v[0].begin_ps = k->begins.v[k->skip];
	for (size_t i = 1; i < w->n; i++) {
		int64_t begin_ps = k->begins.v[k->skip + i * k->per_step];
		w->v[i].begin_ps = begin_ps > w->v[i - 1].begin_ps ? begin_ps : w->v[i - 1].begin_ps;
		w->v[i - 1].end_ps = w->v[i].begin_ps;
	}
	struct ss_window *last = &w->v[w->n - 1];
	last->end_ps = k->last_ps > last->end_ps ? k->last_ps : last->end_ps;
}

bool ss_windows_follow_work(struct ss_windows *w, const struct ss_plane *p)
{
	static const enum ss_stat stats[] = { SS_STAT_HLO_OP };
	struct work k = { .p = p, .w = w, .hlo_op = ss_stat_filter_of(p->x, stats, SS_COUNT(stats)) };
	if (w->n < 2 || !k.hlo_op.line_ids)
		return true;
	k.known = calloc((size_t)p->x->nevent_meta + 1, 1);
	k.runs = calloc((size_t)p->x->nevent_meta + 1, sizeof(*k.runs));
	bool ok = k.known && k.runs;
	if (ok)
		count_runs(&k);
	bool any = false;
	ok = ok && find_divider(&k, &any) && (!any || !k.skip || waits(&k, &k.waits));
	if (ok && any && !keeps_up(&k))
		divide(w, &k);
	free(k.known);
	free(k.runs);
	ss_vec_free(&k.begins);
	return ok;
}
