/* test_sort.c - the order of equal values, recorded from std::sort of libstdc++ 12. */
#include "unit/unit.h"

#include "base/sort.h"

static bool larger(const void *ctx, uint32_t a, uint32_t b)
{
	const uint32_t *key = ctx;

	return key[a] > key[b];
}

static void orders_equal_ones(void **state)
{
	static const uint32_t keys[] = { 1, 3, 3, 3, 4, 3, 2, 4, 4, 2, 1, 3, 1, 3, 4, 1, 4, 3, 4, 1,
					 4, 1, 2, 2, 1, 2, 4, 3, 3, 3, 4, 1, 3, 3, 1, 4, 1, 2, 3, 3 };
	static const uint32_t want[] = { 8,  16, 18, 14, 20, 26, 7,  30, 4,  35, 39, 29, 28, 27, 32, 33, 38, 3,	 1,  13,
					 5,  17, 11, 2,	 25, 6,	 9,  23, 22, 37, 10, 36, 34, 0,	 31, 12, 24, 21, 19, 15 };
	uint32_t v[SS_COUNT(keys)];

	(void)state;
	for (uint32_t i = 0; i < SS_COUNT(v); i++)
		v[i] = i;
	ss_sort_gnu(v, SS_COUNT(v), larger, keys);
	assert_memory_equal(v, want, sizeof(want));
}

/* Against keys that drive the pivots into corners the heap sort takes over; all must come out sorted. */
static void sorts(void **state)
{
	enum { N = 5000 };
	static uint32_t keys[N], v[N];

	(void)state;
	for (int shape = 0; shape < 4; shape++) {
		for (uint32_t i = 0; i < N; i++) {
			keys[i] = shape == 0 ? i : shape == 1 ? N - i : shape == 2 ? i % 7 : (i < N / 2 ? i : N - i);
			v[i] = i;
		}
		ss_sort_gnu(v, N, larger, keys);
		for (uint32_t i = 1; i < N; i++)
			assert_true(keys[v[i - 1]] >= keys[v[i]]);
	}
}

/* Runs of every number and length, many of them equal: ascending, and equal ones as they stood. */
static void merges_runs(void **state)
{
	enum { N = 3000 };
	static uint32_t keys[N], v[N];

	(void)state;
	for (uint32_t run = 1; run <= N; run = run * 3 + 1) {
		for (uint32_t i = 0; i < N; i++) {
			keys[i] = UINT32_MAX - (i % run) / 2;
			v[i] = i;
		}
		assert_true(ss_sort_runs(v, N, larger, keys));
		for (uint32_t i = 1; i < N; i++)
			assert_true(keys[v[i - 1]] > keys[v[i]] || (keys[v[i - 1]] == keys[v[i]] && v[i - 1] < v[i]));
	}
	assert_true(ss_sort_runs(v, 0, larger, keys));
}

static bool contradiction(const void *ctx, uint32_t a, uint32_t b)
{
	(void)ctx, (void)a, (void)b;
	return true;
}

static void survives_contradictions(void **state)
{
	uint32_t v[100], seen[100] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < SS_COUNT(v); i++)
		v[i] = i;
	ss_sort_gnu(v, SS_COUNT(v), contradiction, NULL);
	for (uint32_t i = 0; i < SS_COUNT(v); i++)
		seen[v[i]]++;
	for (uint32_t i = 0; i < SS_COUNT(v); i++)
		assert_int_equal(seen[i], 1);
	for (uint32_t i = 0; i < 64; i++)
		v[i] = 63 - i;
	assert_true(ss_sort_runs(v, 64, contradiction, NULL));
	ss_sort_gnu(v, 0, contradiction, NULL);
	ss_sort_gnu(v, 1, contradiction, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_equal_ones),
		cmocka_unit_test(sorts),
		cmocka_unit_test(merges_runs),
		cmocka_unit_test(survives_contradictions),
	};
	return RUN_TESTS(tests);
}
