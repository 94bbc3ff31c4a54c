/* test_tpu_counters.c - ids of TPU counters, their sets, and what repeated counters mean. */
#include "unit/unit.h"

#include "model/counters/tpu_counters.h"

static void knows_counters_of_every_unit(void **state)
{
	static const struct {
		enum ss_tpu_chip chip;
		uint64_t id;
		const char *set;
	} known[] = {
		{ SS_TPU_V6E, 0xc2290008, "cycle_counter_window" },
		{ SS_TPU_V6E, 0xc2290210, "activity cycles" },			/* one of two matrix units busy */
		{ SS_TPU_V6E, 0xb7e14018, "data_transfer" },			/* last memory controller */
		{ SS_TPU_V6E, 0xd5290008, "cycle_counter_window scalar" },	/* second SparseCore */
		{ SS_TPU_V6E, 0xd0080008 + 0x1e0, "activity issue scalar" },	/* tile */
		{ SS_TPU_V6E, 0xb00720b0, "insertion queue_stats" },		/* router */
		{ SS_TPU_V7X, 0xa668a008, "cycle_counter_window" },
		{ SS_TPU_V7X, 0xc668a008 + 0x730, "activity issue" },		/* second die */
		{ SS_TPU_V7X, 0xa9b94008, "activity misc" },			/* power manager */
		{ SS_TPU_V7X, 0xa7724008, "cycle_counter_window" },		/* vector unit of a tile */
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(known); i++)
		assert_str(ss_tpu_counter_set(known[i].chip, known[i].id), known[i].set);
}

static void does_not_guess(void **state)
{
	(void)state;
	assert_str(ss_tpu_counter_set(SS_TPU_OTHER, 0xc2290008), "");
	assert_str(ss_tpu_counter_set(SS_TPU_V7X, 0xc2290008), "");	/* the other chip's */
	assert_str(ss_tpu_counter_set(SS_TPU_V6E, 0xc229000c), "");	/* between two registers */
	assert_str(ss_tpu_counter_set(SS_TPU_V6E, 0), "");
	assert_str(ss_tpu_counter_set(SS_TPU_V6E, UINT64_MAX), "");
	assert_str(ss_tpu_counter_doc(SS_TPU_V6E, 0xc229000c), "");
	assert_true(ss_tpu_counter_doc(SS_TPU_V6E, 0xc2290008).n > 0);
	assert_int_equal(ss_tpu_chip_of(SS_STR("TPU v6 Lite")), SS_TPU_V6E);
	assert_int_equal(ss_tpu_chip_of(SS_STR("TPU v6e")), SS_TPU_OTHER);
}

static const struct ss_tpu_use *find(const struct ss_tpu_use *use, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(use[i].name, name) == 0)
			return &use[i];
	fail_msg("no row \"%s\"", name);
	return NULL;
}

/* 1750 cycles of v6e, of which both matrix units were busy in 875; read twice. */
static void adds_up_only_when_asked(void **state)
{
	struct ss_tpu_sample s = { 0 };
	uint64_t last[2] = { 1750, 875 }, sum[2] = { 3500, 1750 };
	struct ss_tpu_use use[SS_TPU_MAX_USES];
	double longest_s;
	(void)state;
	s.last = last;
	s.sum = sum;
	s.n = 2;
	assert_true(ss_u64map_put(&s.index, 0xc2290008, 0));
	assert_true(ss_u64map_put(&s.index, 0xc2290218, 1));

	struct ss_tpu_use_options plain = { 0 }, summed = { .summed = true };
	struct ss_tpu_use_options forced = { .duration_s = 2e-6, .force_duration = true };
	size_t n = ss_tpu_utilization(SS_TPU_V6E, &s, &plain, use, &longest_s);
	const struct ss_tpu_use *busy = find(use, n, "Avg MXU Busy");
	assert_true(busy->achieved == 875 && busy->peak == 1750);
	assert_true(longest_s > 0.999e-6 && longest_s < 1.001e-6);
	n = ss_tpu_utilization(SS_TPU_V6E, &s, &summed, use, &longest_s);
	assert_true(find(use, n, "Avg MXU Busy")->achieved == 1750);
	n = ss_tpu_utilization(SS_TPU_V6E, &s, &forced, use, &longest_s);
	assert_true(find(use, n, "Avg MXU Busy")->peak == 3500);
	ss_u64map_free(&s.index);
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct ss_tpu_counter_name *)a)->id, y = ((const struct ss_tpu_counter_name *)b)->id;

	return (x > y) - (x < y);
}

static void names_every_counter_once(void **state)
{
	static const struct {
		const char *version, *first;
		size_t n;
	} cases[] = { { "v6e", "tc_cycles", 684 }, { "v7x", "tc_0_cycles", 1744 } };

	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_arena a = { 0 };
		struct ss_tpu_counter_name *v;
		enum ss_tpu_chip chip = ss_tpu_chip_of_version(ss_str_from(cases[i].version));
		size_t n = 0;

		assert_true(ss_tpu_counter_names(chip, &a, &v, &n));
		assert_int_equal(n, cases[i].n);
		assert_str(v[0].name, cases[i].first);
		qsort(v, n, sizeof(*v), by_id);
		for (size_t k = 1; k < n; k++)
			assert_true(v[k - 1].id < v[k].id);
		ss_arena_release(&a);
	}
	assert_int_equal(ss_tpu_chip_of_version(SS_STR("v5e")), SS_TPU_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_every_counter_once),
		cmocka_unit_test(knows_counters_of_every_unit),
		cmocka_unit_test(does_not_guess),
		cmocka_unit_test(adds_up_only_when_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
