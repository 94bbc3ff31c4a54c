/* test_spans.c - spans of derived events read back as they were set, however long and far apart. */
#include "unit/unit.h"

#include "model/host/spans.h"

enum { N = 1000 };

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* `widest` and `longest`: bits of gaps and durations. */
static void check(unsigned widest, unsigned longest, int64_t first_ps)
{
	static int64_t begin_ps[N], end_ps[N];
	static int32_t group[N];
	struct ss_spans s = { 0 };
	uint64_t state = widest * 100 + longest;
	int64_t at = first_ps;
	for (uint32_t i = 0; i < N; i++) {
		at += (int64_t)(next(&state) & ((UINT64_C(1) << widest) - 1));
		begin_ps[i] = at;
		end_ps[i] = at + (int64_t)(((next(&state) << 31) | next(&state)) & ((UINT64_C(1) << longest) - 1));
		group[i] = (int32_t)(i / 7 % 3) - 1;
		assert_true(ss_spans_add(&s, begin_ps[i], i, group[i]));
	}
	/* Outer spans close after inner ones. */
	for (uint32_t i = N; i-- > 0;)
		assert_true(ss_spans_set(&s, i, begin_ps[i], end_ps[i]));
	ss_spans_finish(&s);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(ss_spans_begin_ps(&s, i) == begin_ps[i]);
		assert_true(ss_spans_dur_ps(&s, i) == (uint64_t)(end_ps[i] - begin_ps[i]));
		assert_int_equal(s.v[i].meta, i);
		assert_int_equal(ss_runs_group(s.runs.v, s.runs.n, i), group[i]);
	}
	ss_spans_free(&s);
}

static void read_back(void **state)
{
	(void)state;
	check(10, 10, 0);
	check(31, 20, -5000);
	check(20, 40, INT64_C(1) << 60);
	check(31, 62, 0);
	check(0, 33, 7);
}

/* The begin of a span that was never set may move forward, far away from its chunk. */
static void moves(void **state)
{
	struct ss_spans s = { 0 };
	(void)state;
	assert_true(ss_spans_add(&s, 0, 2, 1));
	assert_true(ss_spans_set(&s, 0, INT64_C(1) << 50, (INT64_C(1) << 50) + 5));
	ss_spans_finish(&s);
	assert_true(ss_spans_begin_ps(&s, 0) == INT64_C(1) << 50);
	assert_int_equal(ss_spans_dur_ps(&s, 0), 5);
	ss_spans_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_back),
		cmocka_unit_test(moves),
	};

	return RUN_TESTS(tests);
}
