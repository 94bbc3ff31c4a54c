/* The template of a tool, over many hosts that are closed before anybody reads its tables. */
#include "model/host/host.h"

#include "emit/json.h"
#include "model/host/plane.h"
#include "model/model.h"
#include "tools/tool.h"
#include "unit.h"

extern const struct ss_tool ss_tool_template;

static const char sample[] = SS_TEST_DATA "/profiles/synth_tpu1/plugins/profile/run/host0.xplane.pb";

static void counts_the_events_of_each_host(void **state)
{
	const struct ss_host_file_at files[] = { { .path = sample, .bytes = 1 << 20 }, { .path = sample, .bytes = 1 << 20 } };
	struct ss_arena arena = { 0 };
	struct ss_model m;
	struct ss_result r;
	(void)state;
	assert_ok(ss_model_init_visited(&m, files, SS_COUNT(files), &err));
	struct ss_request q = { .model = &m, .arena = &arena };
	ss_result_init(&r, &arena);
	assert_ok(ss_tool_run(&ss_tool_template, &q, &r, &err));
	const struct ss_table *t = ss_result_find(&r, "hosts");
	assert_int_equal(t->nrows, 2);
	for (size_t i = 0; i < t->nrows; i++) {
		assert_true(ss_str_is(ss_cell_str(t, i, "host"), "host0"));
		assert_true(ss_cell_i64(t, i, "events") > 0);
	}
	ss_model_release(&m);
	ss_arena_release(&arena);
}

/* A text that is set while a host is open is read after it was closed: planes have names of their own. */
static bool take_plane(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct ss_table *t = arg;
	(void)i;
	(void)err;
	ss_table_row(t);
	ss_set_str(t, 0, h->planes[0].name);
	return true;
}

static void cells_outlive_the_hosts_they_come_from(void **state)
{
	static const struct ss_col cols[] = { { .id = "plane", .label = "Plane", .type = SS_TYPE_STR } };
	const struct ss_host_file_at files[] = { { .path = sample, .bytes = 1 << 20 }, { .path = sample, .bytes = 1 << 20 } };
	struct ss_arena arena = { 0 };
	struct ss_model m;
	struct ss_result r;
	(void)state;
	assert_ok(ss_model_init_visited(&m, files, SS_COUNT(files), &err));
	struct ss_request q = { .model = &m, .arena = &arena };
	ss_result_init(&r, &arena);
	struct ss_table *t = ss_result_table(&r, "planes", "Planes", cols, SS_COUNT(cols));
	assert_non_null(t);
	const struct ss_visit visit = { .take = take_plane, .arg = t };
	assert_ok(ss_tool_visit(&q, &r, &visit, &err));
	ss_model_release(&m);
	assert_int_equal(t->nrows, 2);
	assert_true(ss_cell_str(t, 0, "plane").n > 0);
	/* The same text is held once. */
	assert_ptr_equal(ss_cell_str(t, 0, "plane").p, ss_cell_str(t, 1, "plane").p);
	assert_true(ss_str_starts(ss_cell_str(t, 0, "plane"), SS_STR("/")));
	ss_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_the_events_of_each_host),
		cmocka_unit_test(cells_outlive_the_hosts_they_come_from),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
