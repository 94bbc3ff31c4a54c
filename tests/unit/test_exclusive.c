/* test_exclusive.c - attribution of time: against a walk over every moment, and the order of winners. */
#include "unit/unit.h"

#include "base/exclusive.h"

#include <stdlib.h>
#include <string.h>

struct sums {
	int64_t by_owner[16], none, end;
	uint32_t last; /* owner, one for nobody */
	size_t pieces;
	bool contiguous;
};

static bool add(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner)
{
	struct sums *s = ctx;
	uint32_t owner = winner ? winner->owner : UINT32_MAX;
	s->contiguous = s->contiguous && begin_ps == s->end && end_ps > begin_ps && (!s->pieces || owner != s->last);
	*(winner ? &s->by_owner[winner->owner] : &s->none) += end_ps - begin_ps;
	s->end = end_ps;
	s->last = owner;
	s->pieces++;
	return true;
}

static bool stop(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner)
{
	(void)begin_ps, (void)end_ps, (void)winner;
	++*(int *)ctx;
	return false;
}

/* Who has time t, by the words of the header. */
static const struct ss_claim *at_moment(const struct ss_claim *c, size_t n, int64_t t)
{
	const struct ss_claim *best = NULL;
	for (size_t i = 0; i < n; i++) {
		if (c[i].begin_ps > t || c[i].end_ps <= t)
			continue;
		if (!best || c[i].rank < best->rank || (c[i].rank == best->rank && c[i].begin_ps > best->begin_ps) ||
		    (c[i].rank == best->rank && c[i].begin_ps == best->begin_ps && c[i].end_ps <= best->end_ps))
			best = &c[i];
	}
	return best;
}

static void pieces_add_up_to_the_window(void **state)
{
	uint32_t seed = 7;
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ss_claim c[16];
		size_t n = (size_t)round % 17;
		for (size_t i = 0; i < n; i++) {
			int64_t v[3];
			for (size_t k = 0; k < 3; k++)
				v[k] = (int64_t)((seed = seed * 1664525u + 1013904223u) >> 16) % 60;
			c[i] = (struct ss_claim){ v[0] - 5, v[0] - 5 + v[1] - 3, (uint32_t)v[2] % 4, (uint32_t)i };
		}
		struct sums got = { .contiguous = true }, want = { 0 };
		assert_true(ss_exclusive(c, n, 0, 50, add, &got));
		assert_true(got.contiguous);
		assert_int_equal(got.end, 50);
		for (int64_t t = 0; t < 50; t++) {
			const struct ss_claim *best = at_moment(c, n, t);
			++*(best ? &want.by_owner[best->owner] : &want.none);
		}
		assert_int_equal(got.none, want.none);
		/* Claims that are equal but for their owner may share their time otherwise. */
		int64_t by_rank[2][4] = { { 0 } };
		for (size_t i = 0; i < n; i++) {
			by_rank[0][c[i].rank] += got.by_owner[c[i].owner];
			by_rank[1][c[i].rank] += want.by_owner[c[i].owner];
		}
		assert_memory_equal(by_rank[0], by_rank[1], sizeof(by_rank[0]));
	}
}

struct stream {
	const struct ss_claim *v;
	size_t n, at, batch;
};

static bool more(struct ss_claims *c)
{
	struct stream *s = c->arg;
	s->at += c->n;
	c->v = s->v + s->at;
	c->n = s->n - s->at < s->batch ? s->n - s->at : s->batch;
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_claim *x = a, *y = b;
	return x->begin_ps < y->begin_ps ? -1 : x->begin_ps > y->begin_ps;
}

/* Claims that come in batches get what they would get as an array. */
static void streams_are_as_good_as_arrays(void **state)
{
	uint32_t seed = 11;
	(void)state;
	for (int round = 0; round < 400; round++) {
		struct ss_claim c[24];
		size_t n = (size_t)round % 25, half = n / 2;
		bool disjoint = round % 2;
		for (size_t i = 0; i < n; i++) {
			int64_t v[3];
			for (size_t k = 0; k < 3; k++)
				v[k] = (int64_t)((seed = seed * 1664525u + 1013904223u) >> 16) % 60;
			if (disjoint) {
				v[0] = 4 * (int64_t)(i < half ? i : i - half) + v[0] % 2;
				v[1] = 1 + v[1] % 3;
			}
			c[i] = (struct ss_claim){ v[0], v[0] + v[1], (uint32_t)v[2] % 4, (uint32_t)i % 16 };
		}
		qsort(c, half, sizeof(*c), by_begin);
		qsort(c + half, n - half, sizeof(*c), by_begin);
		struct sums want = { .contiguous = true }, got = { .contiguous = true };
		struct stream s[2] = { { c, half, 0, 1 + (size_t)round % 5 }, { c + half, n - half, 0, 7 } };
		struct ss_claims sources[2] = { { .more = more, .arg = &s[0] }, { .more = more, .arg = &s[1] } };
		assert_true(ss_exclusive(c, n, 0, 50, add, &want));
		assert_true(ss_exclusive_of(sources, 2, 0, 50, add, &got));
		assert_int_equal(got.end, 50);
		assert_memory_equal(got.by_owner, want.by_owner, sizeof(got.by_owner));
		assert_int_equal(got.none, want.none);
	}
}

static void innermost_of_a_rank_wins(void **state)
{
	struct ss_claim c[] = { { 0, 100, 1, 0 }, { 20, 60, 1, 1 }, { 30, 40, 1, 2 }, { 50, 55, 0, 3 }, { 20, 90, 2, 4 } };
	struct sums got = { .contiguous = true };
	(void)state;
	assert_true(ss_exclusive(c, SS_COUNT(c), 0, 120, add, &got));
	assert_int_equal(got.by_owner[0], 60);
	assert_int_equal(got.by_owner[1], 25);
	assert_int_equal(got.by_owner[2], 10);
	assert_int_equal(got.by_owner[3], 5);
	assert_int_equal(got.by_owner[4], 0);
	assert_int_equal(got.none, 20);
}

static void empty_windows_and_stops(void **state)
{
	struct ss_claim c[] = { { 0, 100, 0, 0 } };
	struct sums got = { .contiguous = true };
	int calls = 0;
	(void)state;
	assert_true(ss_exclusive(c, 1, 50, 50, add, &got));
	assert_true(ss_exclusive(c, 1, 50, 10, add, &got));
	assert_int_equal(got.pieces, 0);
	assert_false(ss_exclusive(c, 1, 0, 200, stop, &calls));
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_add_up_to_the_window),
		cmocka_unit_test(streams_are_as_good_as_arrays),
		cmocka_unit_test(innermost_of_a_rank_wins),
		cmocka_unit_test(empty_windows_and_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
