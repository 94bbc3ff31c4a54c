/* test_spans.c - spans of derived events read back as they were set, however long and far apart. */
#include "unit/unit.h"

#include "model/host/spans.h"

enum { N = 1000, OPS = 30000 };

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* `widest` and `longest`: bits of gaps and durations; `behind`: how many spans may be open together. */
static void check(unsigned widest, unsigned longest, int64_t first_ps, uint32_t behind)
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
		assert_true(ss_spans_add(&s, i * 3, group[i]));
		/* Outer spans close after inner ones. */
		for (uint32_t k = i + 1; i % behind == behind - 1 && k-- > i + 1 - behind;)
			assert_true(ss_spans_set(&s, k, begin_ps[k], end_ps[k], SS_NONE, SS_NONE));
	}
	for (uint32_t i = N; i-- > N - N % behind;)
		assert_true(ss_spans_set(&s, i, begin_ps[i], end_ps[i], SS_NONE, SS_NONE));
	assert_true(ss_spans_finish(&s));
	for (uint32_t i = 0; i < N; i++) {
		assert_true(ss_spans_begin_ps(&s, i) == begin_ps[i]);
		assert_true(ss_spans_dur_ps(&s, i) == (uint64_t)(end_ps[i] - begin_ps[i]));
		assert_int_equal(ss_spans_meta(&s, i), i * 3);
		assert_int_equal(ss_runs_group(s.runs.v, s.runs.n, i), group[i]);
	}
	ss_spans_free(&s);
}

static void read_back(void **state)
{
	static const uint32_t behind[] = { 1, 7, 100, N };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(behind); i++) {
		check(10, 10, 0, behind[i]);
		check(31, 20, -5000, behind[i]);
		check(20, 40, INT64_C(1) << 60, behind[i]);
		check(31, 62, 0, behind[i]);
		check(0, 33, 7, behind[i]);
	}
}

/* The begin of a span that was never set may move forward, far away from its chunk. */
static void moves(void **state)
{
	struct ss_spans s = { 0 };
	(void)state;
	assert_true(ss_spans_add(&s, 2, 1));
	assert_true(ss_spans_set(&s, 0, INT64_C(1) << 50, (INT64_C(1) << 50) + 5, SS_NONE, SS_NONE));
	assert_true(ss_spans_finish(&s));
	assert_true(ss_spans_begin_ps(&s, 0) == INT64_C(1) << 50);
	assert_int_equal(ss_spans_dur_ps(&s, 0), 5);
	ss_spans_free(&s);
}

static int64_t op_begin_ps[OPS];
static uint64_t op_dur_ps[OPS];

static struct ss_xevents ops_of(uint64_t *state)
{
	int64_t at = 0;
	for (uint32_t i = 0; i < OPS; i++) {
		op_begin_ps[i] = at += (int64_t)(next(state) % 3000000);
		op_dur_ps[i] = next(state) % 2000000;
	}
	return (struct ss_xevents){ .begin_ps = op_begin_ps, .dur_ps = op_dur_ps, .n = OPS };
}

/* Spans from one op to the `most - 1`th behind it at most, some ns shorter, some told wrongly, some after a gap of ops. */
static size_t bytes_by_events(uint32_t most, unsigned ns, bool gaps, bool wrong)
{
	static struct ss_span_times times[OPS];
	uint64_t state = most + ns;
	struct ss_xevents ops = ops_of(&state);
	struct ss_spans s = { .of = &ops };
	uint32_t n = 0;
	for (uint32_t first = 0; first + most + 2 < OPS; n++) {
		uint32_t last = first + (uint32_t)(next(&state) % most);
		int64_t end_ps = ss_xevents_end_ps(&ops, last) - (int64_t)(ns ? next(&state) % ns * 1000 : 0);
		uint32_t told = wrong && n % 500 == 0 ? last + 1 : last;
		times[n] = (struct ss_span_times){ ops.begin_ps[first], (uint64_t)end_ps - (uint64_t)ops.begin_ps[first] };
		assert_true(ss_spans_add(&s, n % 90, 0));
		assert_true(ss_spans_set(&s, n, ops.begin_ps[first], end_ps, first, told));
		first = last + 1 + (gaps ? (uint32_t)(next(&state) % 3) : 0);
	}
	assert_true(ss_spans_finish(&s));
	for (uint32_t i = 0; i < n; i++) {
		assert_true(ss_spans_begin_ps(&s, i) == times[i].begin_ps);
		assert_true(ss_spans_dur_ps(&s, i) == times[i].dur_ps);
		assert_int_equal(ss_spans_meta(&s, i), i % 90);
	}
	size_t bytes = s.chunks.n * sizeof(*s.chunks.v) + s.words.n * sizeof(*s.words.v);
	ss_spans_free(&s);
	return bytes * 100 / n;
}

/* What goes by ops takes fewer bytes than times would. */
static void by_events(void **state)
{
	(void)state;
	assert_in_range(bytes_by_events(1, 0, false, false), 1, 200);
	assert_in_range(bytes_by_events(1, 0, true, false), 1, 300);
	assert_in_range(bytes_by_events(4, 3, true, false), 1, 400);
	assert_in_range(bytes_by_events(4, 3, true, true), 1, 700);
	assert_in_range(bytes_by_events(200, 0, false, false), 1, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_back),
		cmocka_unit_test(moves),
		cmocka_unit_test(by_events),
	};

	return RUN_TESTS(tests);
}
