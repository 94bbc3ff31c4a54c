/* test_exclusive.c - attribution of time: against a walk over every moment, and the order of winners. */
#include "unit/unit.h"

#include "base/exclusive.h"

#include <string.h>

struct sums {
	int64_t by_owner[16], none, end;
	const struct ss_claim *last;
	size_t pieces;
	bool contiguous;
};

static bool add(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner)
{
	struct sums *s = ctx;
	s->contiguous = s->contiguous && begin_ps == s->end && end_ps > begin_ps && (!s->pieces || winner != s->last);
	*(winner ? &s->by_owner[winner->owner] : &s->none) += end_ps - begin_ps;
	s->end = end_ps;
	s->last = winner;
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
		cmocka_unit_test(innermost_of_a_rank_wins),
		cmocka_unit_test(empty_windows_and_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
