/*
 * exclusive.c - one walk over the claims by their begin, with a heap of those that have begun. A
 * claim leaves the heap when it is on top and has ended, so each enters and leaves once. Most need
 * not enter: nothing else begins until they end.
 *
 * Claims come thread by thread, each in order: the walk takes the next of the runs' heads, which
 * stand in a heap, too.
 */
#include "base/exclusive.h"

#include "base/vec.h"

#include <stdlib.h>

/* A run of claims in the order of their begin. */
struct run {
	int64_t begin_ps;	      /* of the next one */
	const struct ss_claim *at, *end; /* the next one, and where the run ends */
	struct ss_claims *stream;	 /* what follows then; NULL */
};

struct walk {
	SS_VEC(struct run) runs;      /* the one that begins first is runs.v[0] */
	SS_VEC(struct ss_claim) open; /* the winner is open.v[0] */
};

/* ---- claims by begin ---- */

static void sink(struct run *v, size_t n, size_t at)
{
	struct run r = v[at];
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && v[child + 1].begin_ps < v[child].begin_ps;
		if (r.begin_ps <= v[child].begin_ps)
			break;
		v[at] = v[child];
	}
	v[at] = r;
}

static bool add_run(struct walk *w, const struct ss_claim *v, size_t n, struct ss_claims *stream)
{
	return ss_vec_push(&w->runs, ((struct run){ v->begin_ps, v, v + n, stream }));
}

static bool find_runs(struct walk *w, struct ss_claims *c)
{
	size_t first = 0;
	if (c->more)
		return c->more(c) && (!c->n || add_run(w, c->v, c->n, c));
	for (size_t i = 1; i <= c->n; i++)
		if (i == c->n || c->v[i].begin_ps < c->v[i - 1].begin_ps) {
			if (!add_run(w, c->v + first, i - first, NULL))
				return false;
			first = i;
		}
	return true;
}

/* Past the claim that begins first. */
static bool go_on(struct walk *w)
{
	struct run *first = &w->runs.v[0];
	if (++first->at == first->end && first->stream) {
		if (!first->stream->more(first->stream))
			return false;
		first->at = first->stream->v;
		first->end = first->at + first->stream->n;
	}
	if (first->at != first->end)
		first->begin_ps = first->at->begin_ps;
	else
		*first = w->runs.v[--w->runs.n];
	if (w->runs.n > 1)
		sink(w->runs.v, w->runs.n, 0);
	return true;
}

/* ---- claims that have begun ---- */

/* Does x win against y? Of one rank the one that began later, or ends earlier. */
static bool wins(const struct ss_claim *x, const struct ss_claim *y)
{
	if (x->rank != y->rank)
		return x->rank < y->rank;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps > y->begin_ps;
	return x->end_ps != y->end_ps ? x->end_ps < y->end_ps : x->owner > y->owner;
}

static bool same(const struct ss_claim *x, const struct ss_claim *y)
{
	return x->begin_ps == y->begin_ps && x->end_ps == y->end_ps && x->rank == y->rank && x->owner == y->owner;
}

static void swap(struct ss_claim *a, struct ss_claim *b)
{
	struct ss_claim t = *a;
	*a = *b;
	*b = t;
}

static bool push(struct walk *w, const struct ss_claim *c)
{
	if (!ss_vec_push(&w->open, *c))
		return false;
	struct ss_claim *v = w->open.v;
	for (size_t at = w->open.n - 1; at > 0 && wins(&v[at], &v[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&v[at], &v[(at - 1) / 2]);
	return true;
}

static void pop(struct walk *w)
{
	struct ss_claim *v = w->open.v;
	v[0] = v[--w->open.n];
	for (size_t at = 0;;) {
		size_t best = at, left = 2 * at + 1;
		for (size_t child = left; child < w->open.n && child <= left + 1; child++)
			best = wins(&v[child], &v[best]) ? child : best;
		if (best == at)
			return;
		swap(&v[at], &v[best]);
		at = best;
	}
}

/* ---- who gets the time ---- */

/* The winner from a moment on, and until when nothing changes. */
struct turn {
	struct ss_claim winner;
	bool any;
	int64_t end_ps;
};

static bool next_turn(struct walk *w, int64_t t_ps, struct turn *out)
{
	while (w->open.n && w->open.v[0].end_ps <= t_ps)
		pop(w);
	while (w->runs.n && w->runs.v[0].begin_ps <= t_ps) {
		struct ss_claim c = *w->runs.v[0].at;
		if (!go_on(w))
			return false;
		if (c.end_ps <= t_ps)
			continue;
		bool undisturbed = !w->runs.n || w->runs.v[0].begin_ps >= c.end_ps;
		if (undisturbed && (!w->open.n || wins(&c, &w->open.v[0]))) {
			*out = (struct turn){ c, true, c.end_ps };
			return true;
		}
		if (!push(w, &c))
			return false;
	}
	*out = (struct turn){ .any = w->open.n, .end_ps = INT64_MAX };
	if (out->any) {
		out->winner = w->open.v[0];
		out->end_ps = out->winner.end_ps;
	}
	if (w->runs.n && w->runs.v[0].begin_ps < out->end_ps)
		out->end_ps = w->runs.v[0].begin_ps;
	return true;
}

/* Is the run's next claim a piece as it is? No other one begins before its end. */
static bool stands_alone(const struct run *r, int64_t t_ps, int64_t to_ps)
{
	const struct ss_claim *c = r->at;
	return c + 1 < r->end && c->begin_ps >= t_ps && c->end_ps > c->begin_ps && c->end_ps <= c[1].begin_ps &&
	       c->end_ps <= to_ps;
}

static bool tile_alone(struct walk *w, int64_t *t_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx)
{
	struct run *r = &w->runs.v[0];
	for (; stands_alone(r, *t_ps, to_ps); r->at++) {
		const struct ss_claim *c = r->at;
		if (c->begin_ps > *t_ps && !piece(ctx, *t_ps, c->begin_ps, NULL))
			return false;
		if (!piece(ctx, c->begin_ps, c->end_ps, c))
			return false;
		*t_ps = c->end_ps;
	}
	r->begin_ps = r->at->begin_ps;
	return true;
}

static bool tile(struct walk *w, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx)
{
	struct turn now = { .any = false }, next;
	int64_t begin_ps = from_ps;
	for (int64_t t_ps = from_ps; t_ps < to_ps; t_ps = next.end_ps) {
		if (w->runs.n == 1 && !w->open.n && w->runs.v[0].begin_ps == t_ps &&
		    stands_alone(&w->runs.v[0], t_ps, to_ps)) {
			if (t_ps > begin_ps && !piece(ctx, begin_ps, t_ps, now.any ? &now.winner : NULL))
				return false;
			if (!tile_alone(w, &t_ps, to_ps, piece, ctx))
				return false;
			begin_ps = t_ps;
			now.any = false;
		}
		if (!next_turn(w, t_ps, &next))
			return false;
		if (next.any == now.any && (!next.any || same(&next.winner, &now.winner)))
			continue;
		if (t_ps > begin_ps && !piece(ctx, begin_ps, t_ps, now.any ? &now.winner : NULL))
			return false;
		begin_ps = t_ps;
		now = next;
	}
	return to_ps <= begin_ps || piece(ctx, begin_ps, to_ps, now.any ? &now.winner : NULL);
}

bool ss_exclusive_of(struct ss_claims *sources, size_t nsources, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece,
		     void *ctx)
{
	struct walk w = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < nsources; i++)
		ok = find_runs(&w, &sources[i]);
	for (size_t i = w.runs.n / 2; i-- > 0;)
		sink(w.runs.v, w.runs.n, i);
	ok = ok && tile(&w, from_ps, to_ps, piece, ctx);
	ss_vec_free(&w.runs);
	ss_vec_free(&w.open);
	return ok;
}

bool ss_exclusive(const struct ss_claim *claims, size_t n, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece,
		  void *ctx)
{
	struct ss_claims all = { .v = claims, .n = n };
	return ss_exclusive_of(&all, 1, from_ps, to_ps, piece, ctx);
}
