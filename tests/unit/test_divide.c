/* test_divide.c - sums by group, and the rows that do not count. */
#include "unit/unit.h"

#include "table/divide.h"

#include <math.h>

static const struct ss_col cols[] = {
	{ "name", "Name", SS_TYPE_STR, SS_UNIT_NONE, NULL, NULL },
	{ "ms", "Time", SS_TYPE_F64, SS_UNIT_MS, NULL, NULL },
	{ "runs", "Runs", SS_TYPE_I64, SS_UNIT_COUNT, NULL, NULL },
	{ "core", "Uses it", SS_TYPE_BOOL, SS_UNIT_NONE, NULL, NULL },
};

static void fill(struct ss_result *r)
{
	static const struct {
		const char *name;
		double ms;
		int64_t runs;
		bool core;
	} rows[] = { { "b", 2, 1, true },    { "a", 1, 2, false }, { "a", 3, 2, true },	    { "IDLE", 10, 1, false },
		     { "c", NAN, 1, true },  { "c", -1, 1, true }, { "c", INFINITY, 1, true }, { "d", 2, 1, false } };
	struct ss_table *t = ss_result_table(r, "t", "", cols, SS_COUNT(cols));
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		ss_table_row(t);
		ss_set_str(t, 0, ss_str_from(rows[i].name));
		ss_set_f64(t, 1, rows[i].ms);
		ss_set_i64(t, 2, rows[i].runs);
		ss_set_bool(t, 3, rows[i].core);
	}
}

static void divides(void **state)
{
	struct ss_arena arena = { 0 };
	struct ss_result r;
	struct ss_division d;
	(void)state;
	ss_result_init(&r, &arena);
	fill(&r);
	const struct ss_table *t = &r.tables[0];
	assert_true(ss_table_divide(t, &(struct ss_divide){ 0, 1, SS_NPOS, SS_STR(""), 2 }, &arena, &d));
	assert_int_equal(d.ngroups, 4);
	assert_int_equal(d.n, 2);
	assert_str(d.top[0].name, "IDLE");
	assert_str(d.top[1].name, "a");
	assert_true(d.total == 18 && d.top[1].sum == 4 && d.rest == 4);
	assert_true(fabs(d.top[0].frac - 10.0 / 18) < 1e-15 && fabs(d.rest_frac - 4.0 / 18) < 1e-15);
	/* Only where a column says so; by whole numbers; equal sums by name. */
	assert_true(ss_table_divide(t, &(struct ss_divide){ 0, 1, 3, SS_STR("yes"), 9 }, &arena, &d));
	assert_int_equal(d.n, 2);
	assert_true(d.total == 5);
	assert_true(ss_table_divide(t, &(struct ss_divide){ 2, 2, SS_NPOS, SS_STR(""), 9 }, &arena, &d));
	assert_str(d.top[0].name, "1");
	assert_true(d.top[0].sum == 6 && d.top[1].sum == 4);
	assert_true(ss_table_divide(t, &(struct ss_divide){ 0, 1, 0, SS_STR("none"), 9 }, &arena, &d));
	assert_true(d.n == 0 && d.total == 0 && d.rest_frac == 0);
	/* The greatest row that is no idling. */
	assert_int_equal(ss_table_greatest(t, 1, 0), 2);
	assert_int_equal(ss_table_greatest(t, 2, 0), 1);
	ss_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(divides) };
	return RUN_TESTS(tests);
}
