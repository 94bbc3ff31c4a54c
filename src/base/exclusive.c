/*
 * exclusive.c - one walk over the claims by their begin, with a heap of those that have begun. A
 * claim leaves the heap when it is on top and has ended, so each enters and leaves once.
 *
 * Claims come thread by thread, each in order: the walk takes the next of the runs' heads, which
 * stand in a heap, too.
 */
#include "base/exclusive.h"

#include "base/vec.h"

#include <stdlib.h>

/* A run of claims in the order of their begin: the next one, and where the run ends. */
struct run {
	int64_t begin_ps;
	uint32_t at, end;
};

struct walk {
	const struct ss_claim *claims;
	SS_VEC(struct run) runs; /* the one that begins first is runs.v[0] */
	SS_VEC(uint32_t) open;	 /* indices of claims; the winner is open.v[0] */
};

/* ---- claims by begin ---- */

static bool sooner(const struct run *a, const struct run *b)
{
	return a->begin_ps != b->begin_ps ? a->begin_ps < b->begin_ps : a->at < b->at;
}

static void sink(struct run *v, size_t n, size_t at)
{
	struct run r = v[at];
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && sooner(&v[child + 1], &v[child]);
		if (!sooner(&v[child], &r))
			break;
		v[at] = v[child];
	}
	v[at] = r;
}

static bool find_runs(struct walk *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct run *last = w->runs.n ? &w->runs.v[w->runs.n - 1] : NULL;
		if (last && w->claims[i].begin_ps >= w->claims[i - 1].begin_ps)
			last->end++;
		else if (!ss_vec_push(&w->runs,
				      ((struct run){ w->claims[i].begin_ps, (uint32_t)i, (uint32_t)i + 1 })))
			return false;
	}
	for (size_t i = w->runs.n / 2; i-- > 0;)
		sink(w->runs.v, w->runs.n, i);
	return true;
}

/* Past the claim that begins first. */
static void go_on(struct walk *w)
{
	struct run *first = &w->runs.v[0];
	if (++first->at < first->end)
		first->begin_ps = w->claims[first->at].begin_ps;
	else
		*first = w->runs.v[--w->runs.n];
	if (w->runs.n > 1)
		sink(w->runs.v, w->runs.n, 0);
}

/* ---- claims that have begun ---- */

/* Does a win against b? Of one rank the one that began later, or ends earlier. */
static bool wins(const struct walk *w, uint32_t a, uint32_t b)
{
	const struct ss_claim *x = &w->claims[a], *y = &w->claims[b];
	if (x->rank != y->rank)
		return x->rank < y->rank;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps > y->begin_ps;
	if (x->end_ps != y->end_ps)
		return x->end_ps < y->end_ps;
	return x->owner != y->owner ? x->owner > y->owner : a > b;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;
	*a = *b;
	*b = t;
}

/* Put the first of them into its place. */
static void settle(struct walk *w)
{
	uint32_t *v = w->open.v;
	for (size_t at = 0;;) {
		size_t best = at, left = 2 * at + 1;
		for (size_t child = left; child < w->open.n && child <= left + 1; child++)
			best = wins(w, v[child], v[best]) ? child : best;
		if (best == at)
			return;
		swap(&v[at], &v[best]);
		at = best;
	}
}

static bool push(struct walk *w, uint32_t claim, int64_t t_ps)
{
	/* Mostly one thing follows another: it takes the place of what has ended. */
	if (w->open.n && w->claims[w->open.v[0]].end_ps <= t_ps) {
		w->open.v[0] = claim;
		settle(w);
		return true;
	}
	if (!ss_vec_push(&w->open, claim))
		return false;
	uint32_t *v = w->open.v;
	for (size_t at = w->open.n - 1; at > 0 && wins(w, v[at], v[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&v[at], &v[(at - 1) / 2]);
	return true;
}

/* Those that begin until t begin. */
static bool begin_until(struct walk *w, int64_t t_ps)
{
	for (; w->runs.n && w->runs.v[0].begin_ps <= t_ps; go_on(w))
		if (w->claims[w->runs.v[0].at].end_ps > t_ps && !push(w, w->runs.v[0].at, t_ps))
			return false;
	return true;
}

/* The claim that has time t, NULL for none; those that ended before are dropped. */
static const struct ss_claim *winner_at(struct walk *w, int64_t t_ps)
{
	while (w->open.n && w->claims[w->open.v[0]].end_ps <= t_ps) {
		w->open.v[0] = w->open.v[--w->open.n];
		settle(w);
	}
	return w->open.n ? &w->claims[w->open.v[0]] : NULL;
}

static bool tile(struct walk *w, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx)
{
	const struct ss_claim *current = NULL;
	int64_t begin_ps = from_ps;
	for (int64_t t_ps = from_ps; t_ps < to_ps;) {
		if (!begin_until(w, t_ps))
			return false;
		const struct ss_claim *winner = winner_at(w, t_ps);
		if (winner != current && t_ps > begin_ps) {
			if (!piece(ctx, begin_ps, t_ps, current))
				return false;
			begin_ps = t_ps;
		}
		current = winner;
		t_ps = winner && winner->end_ps < to_ps ? winner->end_ps : to_ps;
		if (w->runs.n && w->runs.v[0].begin_ps < t_ps)
			t_ps = w->runs.v[0].begin_ps;
	}
	return to_ps <= begin_ps || piece(ctx, begin_ps, to_ps, current);
}

bool ss_exclusive(const struct ss_claim *claims, size_t n, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece,
		  void *ctx)
{
	struct walk w = { .claims = claims };
	bool done = n < UINT32_MAX && find_runs(&w, n) && tile(&w, from_ps, to_ps, piece, ctx);
	ss_vec_free(&w.runs);
	ss_vec_free(&w.open);
	return done;
}
