/* test_statistics.c - distributions beside SciPy 1.16, samples and comparisons beside figures worked out by hand. */
#include "unit/unit.h"

#include "statistics/compare.h"
#include "statistics/distribution.h"

#include <math.h>

static void close_to(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1e-12)))
		fail_msg("got %.15g, want %.15g", got, want);
}

static void student_as_in_scipy(void **state)
{
	static const struct {
		double t, df, two_sided;
	} tails[] = {
		{ 1, 1, 0.5 },
		{ 2.5, 3.3, 0.08005283630835447 },
		{ 0.1, 100, 0.9205445310958512 },
		{ -4, 12, 0.0017616962443950267 },
		{ 30, 2, 0.001109262681959659 },
		{ 1.96, 1e6, 0.04999606758526985 },
	};
	static const double quantiles[][3] = { { 0.975, 4, 2.7764451051977934 },
					       { 0.8, 3.7, 0.9498778242960849 },
					       { 0.9995, 2, 31.599054576445365 },
					       { 0.025, 10, -2.2281388519862753 },
					       { 0.6, 0.5, 0.3979754267847907 } };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(tails); i++)
		close_to(ss_student_two_sided(tails[i].t, tails[i].df), tails[i].two_sided, 1e-8);
	for (size_t i = 0; i < SS_COUNT(quantiles); i++)
		close_to(ss_student_quantile(quantiles[i][0], quantiles[i][1]), quantiles[i][2], 1e-8);
	assert_true(isnan(ss_student_two_sided(1, 0)));
	assert_true(isnan(ss_student_quantile(1, 5)));
	close_to(ss_student_two_sided(INFINITY, 5), 0, 0);
}

static void fisher_as_in_scipy(void **state)
{
	(void)state;
	close_to(ss_fisher_exact(3, 20, 9, 20), 0.08235877701951116, 1e-9);
	close_to(ss_fisher_exact(0, 10, 5, 10), 0.032507739938080496, 1e-9);
	close_to(ss_fisher_exact(1, 500, 30, 600), 1.4712745710631498e-07, 1e-7);
	close_to(ss_fisher_exact(2, 2, 0, 3), 0.1, 1e-9);
	close_to(ss_fisher_exact(0, 0, 1, 3), 1, 0);
}

static void outliers_are_few_and_far(void **state)
{
	double one[] = { 10, 10.1, 9.9, 10, 30, 10.2, 9.8, 10 }, modes[] = { 10, 10, 10, 10, 10, 15, 15, 15, 15 };
	double near[] = { 100, 100, 100, 100, 100, 109 }, scratch[16];
	bool out[16];
	(void)state;
	assert_int_equal(ss_mark_outliers(one, SS_COUNT(one), out, scratch), 1);
	assert_true(out[4]);
	assert_int_equal(ss_mark_outliers(modes, SS_COUNT(modes), out, scratch), 0);
	assert_false(out[8]);
	assert_int_equal(ss_mark_outliers(near, SS_COUNT(near), out, scratch), 0);
	assert_int_equal(ss_mark_outliers(near, 0, out, scratch), 0);
	assert_true(isnan(ss_median(scratch, 0)));
}

static void dependent_steps_are_worth_less(void **state)
{
	double free[] = { 1, 2, 1, 2, 1, 2, 1, 2 }, slow[] = { 1, 1, 1, 1, 2, 2, 2, 2 }, one[] = { 3 }, same[] = { 2, 2, 2 };
	struct ss_sample a = ss_sample_of(free, 8), b = ss_sample_of(slow, 8), c = ss_sample_of(one, 1), d = ss_sample_of(same, 3);
	(void)state;
	assert_true(a.correlation == 0);
	close_to(a.n_effective, 8, 0);
	close_to(a.mean, 1.5, 0);
	close_to(a.sd, sqrt(2.0 / 7), 1e-12);
	/* r = 1.25 / 2, corrected (1 + 3 x 0.625) / 8 more, which is cut at 1 - 2/9. */
	close_to(b.correlation, 7.0 / 9, 1e-12);
	close_to(b.n_effective, 1, 1e-12);
	assert_true(b.se > a.se);
	close_to(c.mean, 3, 0);
	close_to(c.df, 0, 0);
	close_to(d.sd, 2e-9, 1e-12);
	close_to(d.df, 2, 0);
}

static void rounding_is_no_variation(void **state)
{
	double v[60], w[60];
	(void)state;
	for (size_t i = 0; i < 60; i++) {
		v[i] = 2600 + (i > 30 ? 4.5e-13 : 0); /* as if each depended on the one before */
		w[i] = 3120;
	}
	struct ss_sample a = ss_sample_of(v, 60), b = ss_sample_of(w, 60);
	struct ss_comparison c = ss_compare((struct ss_runs){ &a, 1 }, (struct ss_runs){ &b, 1 }, 0.05);
	close_to(a.df, 59, 0);
	assert_true(c.p < 1e-9 && c.low < c.delta && c.low > 519.999 && c.high < 520.001);
	c = ss_compare((struct ss_runs){ &a, 1 }, (struct ss_runs){ &a, 1 }, 0.05);
	assert_true(c.p > 0.9);
}

/* Ten noisy steps that look dependent: the interval stays one, and the number of steps does not depend on its width. */
static void few_steps_leave_two_degrees_of_freedom(void **state)
{
	double v[] = { 90, 93, 95, 97, 99, 101, 103, 105, 107, 110 };
	struct ss_sample a = ss_sample_of(v, 10);
	struct ss_comparison c = ss_compare((struct ss_runs){ &a, 1 }, (struct ss_runs){ &a, 1 }, 0.05);
	struct ss_rule rule = { 0.05, 0, true };
	(void)state;
	close_to(a.df, 2, 0);
	close_to(ss_sample_of(v, 2).df, 1, 0);
	assert_true(c.high < 30 && c.low > -30);
	assert_true((double)ss_samples_needed(&c, 10, 3, &rule) < 10 * 2.9 * 2.9 * c.se * c.se / 9 + 10);
}

static struct ss_sample run(double mean, double se)
{
	return (struct ss_sample){ .n = 20, .mean = mean, .sd = se * sqrt(20), .n_effective = 20, .se = se, .df = 19 };
}

static void several_runs_are_the_sample(void **state)
{
	struct ss_sample base[] = { run(10, 0.1), run(10.2, 0.1), run(9.8, 0.1) };
	struct ss_sample new[] = { run(11, 0.1), run(11.2, 0.1), run(10.8, 0.1) };
	struct ss_sample luck[] = { run(10, 0.5), run(10, 0.5), run(10, 0.5) };
	struct ss_comparison c = ss_compare((struct ss_runs){ base, 3 }, (struct ss_runs){ new, 3 }, 0.05);
	(void)state;
	close_to(c.delta, 1, 1e-12);
	close_to(c.se, sqrt(0.04 / 3 * 2), 1e-9);
	close_to(c.df, 4, 1e-9);
	assert_true(c.p < 0.01 && c.low > 0.5 && c.high < 1.5);
	assert_true(ss_changed(&c, &(struct ss_rule){ 0.05, 0.1, false }));
	assert_false(ss_changed(&c, &(struct ss_rule){ 0.05, 2, false }));
	/* Runs that agree by luck are as sure as their steps let them be. */
	c = ss_compare((struct ss_runs){ luck, 3 }, (struct ss_runs){ luck, 3 }, 0.05);
	close_to(c.se, sqrt(0.25 / 3 * 2), 1e-9);
	/* One run varies from run to run as the other side does. */
	c = ss_compare((struct ss_runs){ base, 3 }, (struct ss_runs){ new, 1 }, 0.05);
	close_to(c.se, sqrt(0.04 / 3 + 0.04), 1e-9);
	assert_true(c.p > 0.015 && c.p < 0.03);
}

static void one_run_a_side_needs_the_band(void **state)
{
	struct ss_sample base = run(100, 0.5), new = run(103, 0.5);
	struct ss_comparison c = ss_compare((struct ss_runs){ &base, 1 }, (struct ss_runs){ &new, 1 }, 0.05);
	(void)state;
	assert_true(c.p < 0.001);
	assert_false(ss_changed(&c, &(struct ss_rule){ 0.05, 2, true })); /* the interval begins at 1.57 */
	assert_true(ss_changed(&c, &(struct ss_rule){ 0.05, 1, true }));
	assert_true(c.mde > 1.9 && c.mde < 2.1);
	/* Four times as many for half, a little less as their degrees of freedom grow. */
	uint64_t needed = ss_samples_needed(&c, 20, c.mde / 2, &(struct ss_rule){ 0.05, 0, true });
	assert_true(needed > 74 && needed < 80);
	struct ss_rule one = { 0.05, 2, true }, several = { 0.05, 2, false };
	close_to(ss_detectable(&c, &one), c.mde + 2, 1e-12);
	close_to(ss_detectable(&c, &several), c.mde + 2 - (c.high - c.delta), 1e-12);
	assert_int_equal(ss_samples_needed(&c, 20, 2, &one), 0);
	needed = ss_samples_needed(&c, 20, c.mde / 2 + 2, &one);
	assert_true(needed > 74 && needed < 80);
	base.df = 0;
	c = ss_compare((struct ss_runs){ &base, 1 }, (struct ss_runs){ &new, 1 }, 0.05);
	assert_true(isnan(c.p) && isnan(c.mde));
	assert_false(ss_changed(&c, &(struct ss_rule){ 0.05, 0, true }));
}

static void permutations_as_in_scipy(void **state)
{
	double base[] = { 10.1, 10.3, 9.8, 10.0, 10.2 }, new[] = { 10.9, 10.4, 10.8, 11.2, 10.25 };
	double many_base[20], many_new[20];
	struct ss_sample a[5], b[5];
	(void)state;
	close_to(ss_permutation_test(base, 5, new, 5), 0.015873015873015872, 1e-12);
	for (size_t i = 0; i < 5; i++) {
		a[i] = run(base[i], 0);
		b[i] = run(new[i], 0);
	}
	struct ss_comparison c = ss_compare((struct ss_runs){ a, 5 }, (struct ss_runs){ b, 5 }, 0.05);
	close_to(c.p, 0.015873015873015872, 1e-12);
	close_to(c.u, 24, 0);
	for (size_t i = 0; i < 20; i++) {
		many_base[i] = 10 + (double)(i % 5);
		many_new[i] = 13 + (double)(i % 5);
	}
	double drawn = ss_permutation_test(many_base, 20, many_new, 20);
	assert_true(drawn > 0 && drawn < 1e-3);
	assert_true(drawn == ss_permutation_test(many_base, 20, many_new, 20));
}

static void many_rows_are_adjusted(void **state)
{
	double p[] = { 0.01, 0.04, NAN, 0.03, 0.005, 0.8 }, want[] = { 0.025, 0.05, NAN, 0.05, 0.025, 0.8 };
	(void)state;
	assert_true(ss_adjust_p(p, SS_COUNT(p)));
	for (size_t i = 0; i < SS_COUNT(p); i++)
		if (isnan(want[i]))
			assert_true(isnan(p[i]));
		else
			close_to(p[i], want[i], 1e-12);
	assert_true(ss_adjust_p(p, 0));
}

static void rows_share_their_variance(void **state)
{
	double quiet[] = { 100, 100.01, 99.99 }, noisy[] = { 100, 110, 90 }, more[] = { 104, 104.01, 103.99 };
	struct ss_log_row rows[3], lucky;
	(void)state;
	assert_true(ss_log_row_of(quiet, 3, more, 3, &rows[0]));
	assert_true(ss_log_row_of(noisy, 3, noisy, 3, &rows[1]));
	assert_true(ss_log_row_of(noisy, 3, noisy, 3, &rows[2]));
	lucky = rows[0];
	struct ss_moderation m = ss_moderation_of(rows, 3);
	close_to(m.prior_variance, rows[1].variance, 1e-12);
	struct ss_comparison c = ss_compare_logs(&lucky, &m, 3, 3, 0.05);
	close_to(c.delta, 4, 1e-3);
	assert_true(c.p > 0.05 && c.low < 0 && c.high > 4);
	assert_false(ss_log_row_of(noisy, 1, (double[]){ 0, 1 }, 2, &lucky));
	assert_false(ss_log_row_of(noisy, 1, noisy, 1, &lucky));
	assert_true(ss_moderation_of(rows, 0).prior_df == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_as_in_scipy),
		cmocka_unit_test(fisher_as_in_scipy),
		cmocka_unit_test(outliers_are_few_and_far),
		cmocka_unit_test(dependent_steps_are_worth_less),
		cmocka_unit_test(rounding_is_no_variation),
		cmocka_unit_test(few_steps_leave_two_degrees_of_freedom),
		cmocka_unit_test(several_runs_are_the_sample),
		cmocka_unit_test(one_run_a_side_needs_the_band),
		cmocka_unit_test(permutations_as_in_scipy),
		cmocka_unit_test(many_rows_are_adjusted),
		cmocka_unit_test(rows_share_their_variance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
