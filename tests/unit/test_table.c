/* test_table.c - results: rows, cells, properties, notes. */
#include "unit/unit.h"

#include "table/table.h"

static const struct ss_col cols[] = {
	{ .id = "name", .label = "Name", .type = SS_TYPE_STR },
	{ .id = "time_ps", .label = "Time", .type = SS_TYPE_I64, .unit = SS_UNIT_PS },
	{ .id = "share", .label = "Share", .type = SS_TYPE_F64, .unit = SS_UNIT_FRAC },
	{ .id = "eager", .label = "Eager", .type = SS_TYPE_BOOL },
};

static void holds_rows_of_every_type(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	struct ss_table *t = ss_result_table(&r, "ops", "Ops", cols, SS_COUNT(cols));
	assert_non_null(t);
	for (int i = 0; i < 1000; i++) {
		ss_table_row(t);
		if (i % 2)
			continue;	/* cells that nobody sets are empty */
		ss_set_str(t, 0, ss_arena_printf(&a, "op.%d", i));
		ss_set_i64(t, 1, -i);
		ss_set_f64(t, 2, i / 4.0);
		ss_set_bool(t, 3, true);
	}
	assert_int_equal(t->nrows, 1000);
	for (size_t i = 0; i < 1000; i++) {
		bool set = i % 2 == 0;

		assert_int_equal(t->data[0].str[i].n > 0, set);
		assert_int_equal(t->data[1].i64[i], set ? -(int64_t)i : 0);
		assert_true(t->data[2].f64[i] == (set ? (double)i / 4 : 0));
		assert_int_equal(t->data[3].b[i], set);
	}
	assert_str(t->data[0].str[998], "op.998");
	assert_int_equal(ss_table_col(t, "share"), 2);
	assert_int_equal(ss_table_col(t, "nothing"), SS_NPOS);
	ss_arena_release(&a);
}

static void keeps_tables_and_notes(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	for (int i = 0; i < 100; i++) {
		struct ss_table *t = ss_result_table(&r, "t", "T", cols, (size_t)i % 5);

		assert_non_null(t);
		assert_int_equal(t->nrows, 0);
		ss_table_row(t);	/* also without columns */
		ss_result_note(&r, SS_WARNING, ss_arena_printf(&a, "note %d", i));
	}
	assert_int_equal(r.ntables, 100);
	assert_int_equal(r.nnotes, 100);
	assert_int_equal(r.tables[99].ncols, 4);
	assert_str(r.notes[42].text, "note 42");
	ss_result_note(&r, SS_INFO, (struct ss_str){ NULL, 0 });	/* text that memory was out for */
	assert_int_equal(r.nnotes, 100);
	ss_arena_release(&a);
}

/* Nothing is checked while a table is built: the arena tells at the end. */
static void builds_nothing_without_memory(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	struct ss_table *whole = ss_result_table(&r, "whole", "Whole", cols, SS_COUNT(cols));
	ss_table_row(whole);
	ss_set_i64(whole, 1, 7);
	assert_false(a.no_memory);
	assert_null(ss_arena_alloc(&a, SIZE_MAX));
	assert_true(a.no_memory);
	struct ss_table *t = ss_result_table(&r, "ops", "Ops", cols, SS_COUNT(cols));
	for (int i = 0; i < 100; i++) {
		ss_table_row(t);
		ss_set_str(t, 0, SS_STR("an op"));
		ss_set_f64(t, 2, 0.5);
	}
	assert_int_equal(t->nrows, 0);
	assert_int_equal(whole->nrows, 1);
	assert_int_equal(whole->data[1].i64[0], 7);
	assert_ptr_equal(ss_result_at(&r, 0), whole);
	assert_int_equal(ss_result_at(&r, 5)->nrows, 0);
	ss_arena_release(&a);
	assert_false(a.no_memory);
}

static void prints_properties(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	struct ss_table *t = ss_result_table(&r, "t", "T", cols, 1);
	ss_table_prop(t, "hardware_type", SS_STR("TPU"));
	ss_table_prop_num(t, "idle", "Idle", SS_UNIT_PERCENT, 12.34, "%.1f%%");
	for (int i = 0; i < 50; i++)
		ss_table_prop(t, "filler", SS_STR("x"));
	assert_str(ss_table_find_prop(t, "hardware_type")->text, "TPU");
	assert_str(ss_table_find_prop(t, "idle")->text, "12.3%");
	assert_true(ss_table_find_prop(t, "idle")->value == 12.34);
	assert_true(ss_table_find_prop(t, "hardware_type")->value != ss_table_find_prop(t, "hardware_type")->value);
	assert_null(ss_table_find_prop(t, "nothing"));
	ss_arena_release(&a);
}

static void names_every_unit(void **state)
{
	(void)state;
	for (int i = 0; i < SS_UNIT_COUNT_; i++) {
		const char *name = ss_unit_name((enum ss_unit)i);

		assert_non_null(name);
		assert_int_equal(name[0] == '\0', i == SS_UNIT_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_rows_of_every_type),
		cmocka_unit_test(keeps_tables_and_notes),
		cmocka_unit_test(builds_nothing_without_memory),
		cmocka_unit_test(prints_properties),
		cmocka_unit_test(names_every_unit),
	};
	return RUN_TESTS(tests);
}
