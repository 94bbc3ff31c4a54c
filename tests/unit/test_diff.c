/*
 * test_diff.c - how often a comparison is wrong: false alarms and misses on steps that are drawn,
 * with fixed seeds; names.
 */
#include "unit/unit.h"

#include "diff/gate.h"
#include "diff/match.h"
#include "statistics/change_points.h"
#include "statistics/compare.h"

#include <math.h>

static uint64_t state_of_draws;

/* Normal, by the sum of twelve: exact enough, and the same everywhere. */
static double normal(void)
{
	double sum = -6;
	for (int i = 0; i < 12; i++) {
		state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(state_of_draws >> 11) / 9007199254740992.0;
	}
	return sum;
}

struct noise {
	size_t runs, steps;
	double sd, correlation, run_sd;
};

static struct ss_sample draw_run(const struct noise *n, double mean)
{
	double v[400], walk = normal(), run = 1 + n->run_sd * normal();
	for (size_t i = 0; i < n->steps; i++) {
		v[i] = mean * run * (1 + n->sd * walk);
		walk = n->correlation * walk + sqrt(1 - n->correlation * n->correlation) * normal();
	}
	return ss_sample_of(v, n->steps);
}

/* In how many of `trials` a change is seen, where there is one of `effect`. */
static double found(const struct noise *n, double effect, int trials)
{
	struct ss_sample base[8], new[8];
	int hits = 0;
	state_of_draws = 12345;
	for (int t = 0; t < trials; t++) {
		for (size_t i = 0; i < n->runs; i++) {
			base[i] = draw_run(n, 1000);
			new[i] = draw_run(n, 1000 * (1 + effect));
		}
		struct ss_comparison c =
			ss_compare((struct ss_runs){ base, n->runs }, (struct ss_runs){ new, n->runs }, 0.05);
		hits += ss_changed(&c, &(struct ss_rule){ 0.05, n->runs == 1 ? 20 : 10, n->runs == 1 });
	}
	return (double)hits / trials;
}

static void false_alarms_are_few(void **state)
{
	static const struct noise cases[] = {
		{ 1, 15, 0.02, 0.0, 0.003 },  { 1, 40, 0.02, 0.3, 0.003 }, { 1, 40, 0.02, 0.6, 0.003 },
		{ 1, 200, 0.02, 0.8, 0.003 }, { 1, 40, 0.05, 0.3, 0.005 }, { 1, 12, 0.10, 0.3, 0.003 },
		{ 3, 15, 0.02, 0.0, 0.003 },  { 3, 40, 0.02, 0.3, 0.003 }, { 3, 200, 0.02, 0.8, 0.003 },
		{ 2, 15, 0.02, 0.0, 0.003 },  { 2, 40, 0.02, 0.3, 0.003 }, { 2, 40, 0.02, 0.3, 0.010 },
		{ 2, 40, 0.02, 0.3, 0.020 },  { 2, 200, 0.02, 0.8, 0.003 }, { 2, 12, 0.10, 0.3, 0.003 },
		{ 3, 40, 0.05, 0.3, 0.005 },  { 3, 40, 0.02, 0.3, 0.015 }, { 3, 12, 0.10, 0.3, 0.003 },
		{ 5, 40, 0.02, 0.3, 0.003 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		double rate = found(&cases[i], 0, cases[i].runs < 5 ? 1000 : 200);
		if (rate > 0.05)
			fail_msg("case %zu: %g of comparisons without a change see one", i, rate);
	}
}

static void changes_of_5_percent_are_found(void **state)
{
	static const struct noise cases[] = {
		{ 1, 40, 0.02, 0.3, 0.003 }, { 1, 60, 0.02, 0.3, 0.003 }, { 1, 200, 0.02, 0.8, 0.003 },
		{ 2, 40, 0.02, 0.3, 0.003 }, { 2, 60, 0.02, 0.3, 0.003 },
		{ 3, 15, 0.02, 0.0, 0.003 }, { 3, 40, 0.02, 0.3, 0.003 }, { 3, 200, 0.02, 0.8, 0.003 },
		{ 5, 15, 0.02, 0.3, 0.003 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			double rate = found(&cases[i], sign * 0.05, cases[i].runs < 5 ? 1000 : 200);
			if (rate < 0.95)
				fail_msg("case %zu: 5 %% is seen in %g of comparisons", i, rate);
		}
}

/* Where runs differ by more, more of them are needed: what docs/diff.md says of it. */
static void runs_that_differ_need_more_runs(void **state)
{
	static const struct {
		struct noise noise;
		double from, to;
	} cases[] = {
		{ { 2, 40, 0.02, 0.3, 0.010 }, 0.55, 0.72 }, { { 2, 40, 0.02, 0.3, 0.020 }, 0.20, 0.35 },
		{ { 3, 40, 0.02, 0.3, 0.010 }, 0.93, 1 },    { { 3, 40, 0.02, 0.3, 0.020 }, 0.43, 0.58 },
		{ { 5, 40, 0.02, 0.3, 0.020 }, 0.84, 0.96 }, { { 6, 40, 0.02, 0.3, 0.020 }, 0.93, 1 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		double rate = found(&cases[i].noise, 0.05, cases[i].noise.runs < 5 ? 1000 : 200);
		if (rate < cases[i].from || rate > cases[i].to)
			fail_msg("case %zu: 5 %% is seen in %g of comparisons", i, rate);
	}
}

static void one_run_a_side_cannot_see_other_runs(void **state)
{
	static const struct noise n = { 1, 40, 0.02, 0.3, 0.015 };
	(void)state;
	double rate = found(&n, 0, 1000); /* what the warning says: one in seven */
	if (rate < 0.08 || rate > 0.20)
		fail_msg("%g of comparisons are false alarms, not one in seven", rate);
}

static void names_without_numbers(void **state)
{
	static const char *const names[][2] = {
		{ "fusion.31", "fusion" },
		{ "copy.1.remat2", "copy" },
		{ "fusion", "fusion" },
		{ "all-reduce.7", "all-reduce" },
		{ "loop_fusion_12", "loop_fusion" },
		{ "x2", "x2" },
		{ "dot.3.clone", "dot" },
		{ "7", "7" },
		{ "", "" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(names); i++)
		assert_true(ss_str_is(ss_name_stem(ss_str_from(names[i][0])), names[i][1]));
	uint64_t a = ss_kernel_key(SS_STR("void gemm_128x64_nn<float, 4>(Params, 0x7f12ab)"));
	assert_true(a == ss_kernel_key(SS_STR("void gemm_64x64_nn<half, 8>(Params, 0x1)")));
	assert_false(a == ss_kernel_key(SS_STR("void gemm_128x64_tn<float, 4>(Params, 0x7f12ab)")));
}

static void limits_are_read(void **state)
{
	static const char *const bad[] = { "",
					   "step_time",
					   "step_time=3%",
					   "step_time=+",
					   "step_time=+3",
					   "step_time=+3 %",
					   "step_time=+-3%",
					   "step_time=+inf%",
					   "step_time=+1e3%",
					   "=+3%",
					   "speed=+3%",
					   "op:=+3%",
					   "op:(=+3%",
					   "peak_memory=+3ms",
					   "compute=+3MiB",
					   "step_time=+3%,",
					   "step_time=+3%,,x=+1%" };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		struct ss_gate g = { 0 };
		struct ss_err err = { 0 };
		bool ok = ss_gate_add_limits(&g, ss_str_from(bad[i]), &err);
		if (ok && strcmp(bad[i], "step_time=+3%,") != 0)
			fail_msg("'%s' was taken", bad[i]);
		ss_gate_free(&g);
	}
	struct ss_gate g = { 0 };
	struct ss_err err = { 0 };
	assert_true(ss_gate_add_limits(
		&g, SS_STR("step_time=+2.5%,op:fusion\\.[0-9]{1,3}=+10us,peak_memory=+1GiB,host:a b=+1s"), &err));
	assert_int_equal(g.limits.n, 4);
	assert_true(g.limits.v[0].relative && fabs(g.limits.v[0].value - 0.025) < 1e-12);
	assert_true(ss_str_is(g.limits.v[1].metric, "op:fusion\\.[0-9]{1,3}") && g.limits.v[1].value == 10);
	assert_true(g.limits.v[2].bytes && g.limits.v[2].value == 1073741824.0);
	assert_true(g.limits.v[3].value == 1e6);
	assert_int_equal(ss_gate_verdict(&g), SS_GATE_NO_VERDICT); /* not judged yet */
	ss_gate_free(&g);
	assert_int_equal(ss_gate_verdict(&g), SS_GATE_NO_VERDICT);
}

static void changes_of_a_history(void **state)
{
	struct ss_change_point c[64];
	double v[60];
	int alarms = 0, found = 0, exact = 0;
	(void)state;
	state_of_draws = 777;
	for (int trial = 0; trial < 200; trial++) {
		for (size_t i = 0; i < 60; i++)
			v[i] = 100 + normal();
		v[trial % 60] *= 1.5; /* one value is no level */
		alarms += ss_change_points(v, 60, 0.001, 0.01, c) > 0;
		for (size_t i = 30; i < 60; i++)
			v[i] *= 1.03;
		size_t n = ss_change_points(v, 60, 0.001, 0.01, c);
		found += n == 1;
		exact += n == 1 && c[0].at >= 28 && c[0].at <= 32;
	}
	if (alarms > 10 || found < 190 || exact < 180)
		fail_msg("of 200: %d false alarms, %d changes of 3 %% found, %d at their place", alarms, found, exact);
	/* Neighbours that are alike are no change: of 400 histories each. */
	static const struct {
		size_t n;
		double correlation;
	} cases[] = { { 20, 0 }, { 40, 0 }, { 200, 0 }, { 20, 0.3 }, { 40, 0.3 }, { 200, 0.3 }, { 40, 0.6 }, { 200, 0.6 } };
	for (size_t k = 0; k < SS_COUNT(cases); k++) {
		double long_v[200], r = cases[k].correlation;
		struct ss_change_point long_c[200];
		int false_ones = 0, seen = 0;
		for (int trial = 0; trial < 400; trial++) {
			double walk = normal();
			for (size_t i = 0; i < cases[k].n; i++) {
				long_v[i] = 100 * (1 + 0.01 * walk);
				walk = r * walk + sqrt(1 - r * r) * normal();
			}
			false_ones += ss_change_points(long_v, cases[k].n, 0.001, 0.01, long_c) > 0;
			for (size_t i = cases[k].n / 2; i < cases[k].n; i++)
				long_v[i] *= 1.05;
			seen += ss_change_points(long_v, cases[k].n, 0.001, 0.01, long_c) > 0;
		}
		if (false_ones > 20 || seen < (r > 0 ? 300 : 380))
			fail_msg("%zu runs, correlation %g, of 400: %d false alarms, %d changes found", cases[k].n, r, false_ones,
				 seen);
	}
	for (size_t i = 0; i < 60; i++) /* a drift of 10 % over all */
		v[i] = (100 + normal()) * (1 + 0.1 * (double)i / 60);
	assert_true(ss_change_points(v, 60, 0.001, 0.01, c) >= 1);
	assert_int_equal(ss_change_points(v, 0, 0.001, 0.01, c), 0);
	assert_int_equal(ss_change_points(v, 7, 0.001, 0.01, c), 0);
	for (size_t i = 0; i < 60; i++) /* without noise */
		v[i] = i < 20 ? 5 : i < 40 ? 7 : 6;
	assert_int_equal(ss_change_points(v, 60, 0.001, 0.01, c), 2);
	assert_true(c[0].at == 20 && c[1].at == 40 && fabs(c[1].before - 7) < 1e-9 && fabs(c[1].after - 6) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms_are_few),
		cmocka_unit_test(changes_of_5_percent_are_found),
		cmocka_unit_test(runs_that_differ_need_more_runs),
		cmocka_unit_test(one_run_a_side_cannot_see_other_runs),
		cmocka_unit_test(names_without_numbers),
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(changes_of_a_history),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
