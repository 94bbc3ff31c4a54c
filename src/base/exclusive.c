/*
 * exclusive.c - one walk over the claims by their begin, with a heap of those that have begun. A claim leaves
 * the heap when it is on top and has ended, so each enters and leaves once.
 */
#include "base/exclusive.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct ss_claim *claims;
	uint32_t *heap; /* indices of claims; the winner is heap[0] */
	size_t n;
};

static int by_begin(const void *a, const void *b)
{
	const struct ss_claim *ca = a, *cb = b;
	if (ca->begin_ps != cb->begin_ps)
		return ca->begin_ps < cb->begin_ps ? -1 : 1;
	if (ca->end_ps != cb->end_ps)
		return ca->end_ps > cb->end_ps ? -1 : 1;
	if (ca->rank != cb->rank)
		return ca->rank > cb->rank ? -1 : 1;
	return ca->owner < cb->owner ? -1 : ca->owner > cb->owner;
}

/* Does a win against b? Of one rank the later index: it began later, or ends earlier. */
static bool wins(const struct walk *w, uint32_t a, uint32_t b)
{
	if (w->claims[a].rank != w->claims[b].rank)
		return w->claims[a].rank < w->claims[b].rank;
	return a > b;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;
	*a = *b;
	*b = t;
}

static void push(struct walk *w, uint32_t claim)
{
	size_t at = w->n++;
	w->heap[at] = claim;
	for (; at > 0 && wins(w, w->heap[at], w->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&w->heap[at], &w->heap[(at - 1) / 2]);
}

static void pop(struct walk *w)
{
	w->heap[0] = w->heap[--w->n];
	for (size_t at = 0;;) {
		size_t best = at, left = 2 * at + 1;
		for (size_t child = left; child < w->n && child <= left + 1; child++)
			best = wins(w, w->heap[child], w->heap[best]) ? child : best;
		if (best == at)
			return;
		swap(&w->heap[at], &w->heap[best]);
		at = best;
	}
}

/* The claim that has time t, NULL for none; those that ended before are dropped. */
static const struct ss_claim *winner_at(struct walk *w, int64_t t_ps)
{
	while (w->n && w->claims[w->heap[0]].end_ps <= t_ps)
		pop(w);
	return w->n ? &w->claims[w->heap[0]] : NULL;
}

static bool tile(struct walk *w, size_t n, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx)
{
	const struct ss_claim *current = NULL;
	int64_t begin_ps = from_ps;
	size_t next = 0;
	for (int64_t t_ps = from_ps; t_ps < to_ps;) {
		for (; next < n && w->claims[next].begin_ps <= t_ps; next++)
			push(w, (uint32_t)next);
		const struct ss_claim *winner = winner_at(w, t_ps);
		if (winner != current && t_ps > begin_ps) {
			if (!piece(ctx, begin_ps, t_ps, current))
				return false;
			begin_ps = t_ps;
		}
		current = winner;
		t_ps = winner && winner->end_ps < to_ps ? winner->end_ps : to_ps;
		if (next < n && w->claims[next].begin_ps < t_ps)
			t_ps = w->claims[next].begin_ps;
	}
	return to_ps <= begin_ps || piece(ctx, begin_ps, to_ps, current);
}

static void merge(struct ss_claim *to, const struct ss_claim *a, size_t na, const struct ss_claim *b, size_t nb)
{
	while (na && nb) {
		bool second = by_begin(b, a) < 0;
		*to++ = second ? *b : *a;
		b += second;
		nb -= second;
		a += !second;
		na -= !second;
	}
	memcpy(to, a, na * sizeof(*a));
	memcpy(to + na, b, nb * sizeof(*b));
}

static size_t run_at(const struct ss_claim *v, size_t n)
{
	size_t k = n > 0;
	while (k < n && by_begin(&v[k - 1], &v[k]) <= 0)
		k++;
	return k;
}

/*
 * What claims time comes thread by thread, each in order: a few runs, which are merged two by two until one is left.
 * False when memory is out.
 */
static bool sort_runs(struct ss_claim *claims, size_t n)
{
	size_t runs = 0, at = 0;
	if (run_at(claims, n) == n)
		return true;
	struct ss_claim *other = malloc(n * sizeof(*other)), *from = claims, *to = other;
	if (!other)
		return false;
	do {
		for (runs = 0, at = 0; at < n; runs++) {
			size_t first = run_at(from + at, n - at), second = run_at(from + at + first, n - at - first);
			merge(to + at, from + at, first, from + at + first, second);
			at += first + second;
		}
		struct ss_claim *swap = from;
		from = to;
		to = swap;
	} while (runs > 1);
	if (from != claims)
		memcpy(claims, from, n * sizeof(*claims));
	free(other);
	return true;
}

bool ss_exclusive(struct ss_claim *claims, size_t n, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx)
{
	struct walk w = { .claims = claims };
	if (n >= UINT32_MAX)
		return false;
	w.heap = malloc((n + 1) * sizeof(*w.heap));
	if (!w.heap || !sort_runs(claims, n)) {
		free(w.heap);
		return false;
	}
	bool done = tile(&w, n, from_ps, to_ps, piece, ctx);
	free(w.heap);
	return done;
}
