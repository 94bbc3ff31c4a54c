/* test_table_out.c - cells as they reach clients, where a format has more than one way to print them. */
#include "unit/unit.h"

#include "emit/csv.h"
#include "xprof/datatable.h"

static const struct ss_col cols[] = {
	{ .id = "v", .label = "V", .type = SS_TYPE_I64, .unit = SS_UNIT_HEX },
};

static void prints_unsigned_numbers(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	struct ss_out o;
	(void)state;
	ss_result_init(&r, &a);
	struct ss_table *t = ss_result_table(&r, "t", "T", cols, SS_COUNT(cols));
	assert_non_null(t);
	ss_table_row(t);
	ss_set_i64(t, 0, -1);
	ss_out_init(&o, NULL, NULL);
	ss_emit_xprof_table(&o, t);
	ss_emit_csv(&o, t, NULL);
	assert_ok(ss_out_finish(&o, &err));
	struct ss_str text = { o.buf, o.n };
	/* The double is 2^64: what XProf's own clients get beside the exact text. */
	assert_true(ss_str_contains(text, SS_STR("{\"f\":\"0xffffffffffffffff\",\"v\":1.8446744073709552e+19}")));
	assert_true(ss_str_contains(text, SS_STR("\"18446744073709551615\"")));
	ss_out_free(&o);
	ss_arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_unsigned_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
