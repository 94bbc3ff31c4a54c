/* test_results.c - one result in every format, byte by byte. */
#include "unit/unit.h"

#include "emit/csv.h"
#include "emit/json.h"
#include "emit/text.h"
#include "table/units.h"
#include "xprof/datatable.h"

#include <math.h>
#include <stdio.h>

static const struct ss_col cols[] = {
	{ .id = "op", .label = "Op", .type = SS_TYPE_STR },
	{ .id = "time_ps", .label = "Time", .type = SS_TYPE_I64, .unit = SS_UNIT_PS, .doc = "Summed" },
	{ .id = "share", .label = "Share", .type = SS_TYPE_F64, .unit = SS_UNIT_FRAC },
	{ .id = "eager", .label = "Eager", .type = SS_TYPE_BOOL },
	{ .id = "tip", .label = "Tip", .type = SS_TYPE_STR, .role = "tooltip" },
};

struct fixture {
	struct ss_arena arena;
	struct ss_result r;
	struct ss_out o;
};

static void add_row(struct ss_table *t, const char *op, int64_t time_ps, double share, bool eager)
{
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(op));
	ss_set_i64(t, 1, time_ps);
	ss_set_f64(t, 2, share);
	ss_set_bool(t, 3, eager);
	ss_set_str(t, 4, SS_STR("<b>tip</b>"));
}

static int make_result(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	ss_result_init(&f->r, &f->arena);
	struct ss_table *t = ss_result_table(&f->r, "ops", "Ops", cols, SS_COUNT(cols));
	add_row(t, "dot \"a\"", 1500000000, 0.75, true);
	add_row(t, "add", 2000000, NAN, false);
	ss_table_prop_num(t, "step_ms", "Step time", SS_UNIT_MS, 1.5, "%.1f");
	ss_table_prop(t, "a_text", SS_STR("words"));
	ss_result_table(&f->r, "nothing", "", NULL, 0);
	ss_result_note(&f->r, SS_WARNING, SS_STR("host0: cut short"));
	ss_out_init(&f->o, NULL, NULL);
	*state = f;
	return 0;
}

static int free_result(void **state)
{
	struct fixture *f = *state;
	ss_out_free(&f->o);
	ss_arena_release(&f->arena);
	free(f);
	return 0;
}

static struct ss_str written(struct fixture *f)
{
	assert_ok(ss_out_finish(&f->o, &err));
	return (struct ss_str){ f->o.buf, f->o.n };
}

static const char xprof_table[] =
	"{\"cols\":[{\"id\":\"op\",\"label\":\"Op\",\"type\":\"string\"},"
	"{\"id\":\"time_ps\",\"label\":\"Time\",\"type\":\"number\"},"
	"{\"id\":\"share\",\"label\":\"Share\",\"type\":\"number\"},"
	"{\"id\":\"eager\",\"label\":\"Eager\",\"type\":\"boolean\"},"
	"{\"id\":\"tip\",\"label\":\"Tip\",\"p\":{\"role\":\"tooltip\"},\"type\":\"string\"}],"
	"\"p\":{\"a_text\":\"words\",\"step_ms\":\"1.5\"},"
	"\"rows\":[{\"c\":[{\"v\":\"dot \\\"a\\\"\"},{\"v\":1500000000.0},{\"v\":0.75},{\"v\":true},"
	"{\"v\":\"\\u003cb\\u003etip\\u003c/b\\u003e\"}]},"
	"{\"c\":[{\"v\":\"add\"},{\"v\":2000000.0},{\"v\":\"\"},{\"v\":false},"
	"{\"v\":\"\\u003cb\\u003etip\\u003c/b\\u003e\"}]}]}";

static void prints_data_tables(void **state)
{
	struct fixture *f = *state;
	char want[sizeof(xprof_table) + 8];
	snprintf(want, sizeof(want), "[%s,{}]", xprof_table);
	ss_emit_xprof(&f->o, &f->r, false);
	assert_str(written(f), want);
}

static void prints_one_data_table(void **state)
{
	struct fixture *f = *state;
	ss_emit_xprof(&f->o, &f->r, true);
	assert_str(written(f), xprof_table);
}

static void prints_columns(void **state)
{
	struct fixture *f = *state;
	struct ss_json_head head = { SS_STR("top"), SS_STR("Top"), SS_STR("a/r"), SS_STR("h"), SS_STR("") };
	ss_emit_json(&f->o, &f->r, &head);
	assert_str(written(f),
		   "{\"tool\":\"top\",\"title\":\"Top\",\"run\":\"a/r\",\"host\":\"h\",\"conclusion\":null,"
		   "\"notes\":[{\"severity\":\"warning\",\"text\":\"host0: cut short\"}],"
		   "\"tables\":[{\"name\":\"ops\",\"title\":\"Ops\","
		   "\"props\":{\"step_ms\":{\"label\":\"Step time\",\"unit\":\"ms\",\"value\":1.5,\"text\":\"1.5\"},"
		   "\"a_text\":{\"label\":\"a_text\",\"unit\":\"\",\"value\":null,\"text\":\"words\"}},"
		   "\"cols\":[{\"id\":\"op\",\"label\":\"Op\",\"type\":\"str\",\"unit\":\"\",\"doc\":\"\"},"
		   "{\"id\":\"time_ps\",\"label\":\"Time\",\"type\":\"i64\",\"unit\":\"ps\",\"doc\":\"Summed\"},"
		   "{\"id\":\"share\",\"label\":\"Share\",\"type\":\"f64\",\"unit\":\"frac\",\"doc\":\"\"},"
		   "{\"id\":\"eager\",\"label\":\"Eager\",\"type\":\"bool\",\"unit\":\"\",\"doc\":\"\"},"
		   "{\"id\":\"tip\",\"label\":\"Tip\",\"type\":\"str\",\"unit\":\"\",\"doc\":\"\",\"role\":\"tooltip\"}],"
		   "\"nrows\":2,\"data\":[[\"dot \\\"a\\\"\",\"add\"],[1500000000,2000000],[0.75,null],[true,false],"
		   "[\"\\u003cb\\u003etip\\u003c/b\\u003e\",\"\\u003cb\\u003etip\\u003c/b\\u003e\"]]},"
		   "{\"name\":\"nothing\",\"title\":\"\",\"props\":{},\"cols\":[],\"nrows\":0,\"data\":[]}]}");
}

static void prints_csv(void **state)
{
	struct fixture *f = *state;
	ss_emit_csv(&f->o, &f->r.tables[0], ss_xprof_label);
	ss_out_char(&f->o, '|');
	ss_emit_csv(&f->o, &f->r.tables[0], NULL);
	assert_str(written(f), "\"Op\",\"Time\",\"Share\",\"Eager\",\"Tip\"\n"
			       "\"dot \"\"a\"\"\",\"1500000000.0\",\"0.75\",\"True\",\"<b>tip</b>\"\n"
			       "\"add\",\"2000000.0\",\"\",\"False\",\"<b>tip</b>\"\n"
			       "|\"op\",\"time_ps\",\"share\",\"eager\",\"tip\"\n"
			       "\"dot \"\"a\"\"\",\"1500000000\",\"0.75\",\"True\",\"<b>tip</b>\"\n"
			       "\"add\",\"2000000\",\"\",\"False\",\"<b>tip</b>\"\n");
}

static void prints_text(void **state)
{
	struct fixture *f = *state;
	struct ss_text_style plain = { 0 };
	ss_emit_text(&f->o, &f->r, &plain);
	assert_str(written(f), "Ops\n"
			       "Step time  1.500 ms\n"
			       "\n"
			       "Op       Time (ms)  Share (%)  Eager\n"
			       "dot \"a\"      1.500       75.0  yes\n"
			       "add          0.002          -  no\n"
			       "\n"
			       "warning: host0: cut short\n");
}

static void says_what_it_comes_to(void **state)
{
	struct fixture *f = *state;
	struct ss_text_style colours = { .colour = true, .width = 40 };
	ss_result_say(&f->r, SS_STR(""));
	ss_result_say(&f->r, SS_STR("The device \"waits\"."));
	for (size_t i = 0; i < SS_CONCLUSION_MORE + 2; i++)
		ss_result_say(&f->r, SS_STR("That is why."));
	ss_result_say(&f->r, (struct ss_str){ NULL, 0 });
	assert_int_equal(f->r.conclusion.nmore, SS_CONCLUSION_MORE);
	f->r.conclusion.nmore = 2;
	f->r.conclusion.mood = SS_MOOD_BAD;
	f->r.conclusion.see = "op_profile";
	ss_emit_json_conclusion(&f->o, &f->r.conclusion);
	ss_out_char(&f->o, '|');
	ss_emit_text_conclusion(&f->o, &f->r.conclusion, &colours);
	assert_str(written(f), "{\"text\":\"The device \\\"waits\\\".\",\"more\":[\"That is why.\",\"That is why.\"],"
			       "\"mood\":\"bad\",\"see\":\"op_profile\"}|"
			       "\x1b[31mThe device \"waits\".\n\x1b[0mThat is why.\nThat is why.\n");
}

static void finds_cells_by_name(void **state)
{
	struct fixture *f = *state;
	const struct ss_table *t = ss_result_find(&f->r, "ops"), *none = ss_result_find(&f->r, "no such table");
	assert_str(ss_cell_str(t, 1, "op"), "add");
	assert_int_equal(ss_cell_i64(t, 1, "time_ps"), 2000000);
	assert_true(ss_cell_f64(t, 1, "time_ps") == 2000000);
	assert_true(ss_cell_f64(t, 0, "share") == 0.75);
	assert_true(ss_cell_bool(t, 0, "eager"));
	assert_str(ss_cell_str(t, 2, "op"), "");	/* no such row, column, type, table */
	assert_str(ss_cell_str(t, 0, "nothing"), "");
	assert_int_equal(ss_cell_i64(t, 0, "op"), 0);
	assert_true(ss_cell_f64(none, 0, "share") == 0 && !ss_cell_bool(none, 0, "eager"));
}

static void fits_a_terminal(void **state)
{
	struct fixture *f = *state;
	struct ss_table *t = &f->r.tables[0];
	struct ss_text_style narrow = { .width = 38, .max_rows = 2 };
	add_row(t, "a third row", 1, 0, false);
	ss_set_str(t, 0, SS_STR("never shown"));
	t->data[0].str[1] = SS_STR("jit(train_step)/transpose/dot_general");
	ss_emit_text_table(&f->o, t, &narrow);
	struct ss_str text = written(f);
	assert_true(ss_str_contains(text, SS_STR("jit(train_")) && ss_str_contains(text, SS_STR("\xe2\x80\xa6")));
	assert_true(ss_str_contains(text, SS_STR("1 more row\n")));
	for (struct ss_str rest = text; rest.n;) {
		size_t end = ss_str_chr(rest, '\n');
		assert_true(ss_text_cells(ss_str_sub(rest, 0, end)) <= 38);
		rest = ss_str_sub(rest, end + 1, rest.n);
	}
}

/* Heads are broken, zeros left out before anything else, rows stand below their parents, the last text is wrapped. */
static void leaves_out_what_says_least(void **state)
{
	static const struct ss_col tree[] = {
		{ "parent", "Parent", SS_TYPE_I64, SS_UNIT_NONE, NULL, NULL },
		{ "name", "Name", SS_TYPE_STR, SS_UNIT_NONE, NULL, NULL },
		{ "zero", "Nothing that was ever measured", SS_TYPE_I64, SS_UNIT_COUNT, NULL, NULL },
		{ "n", "Number of executions", SS_TYPE_I64, SS_UNIT_COUNT, NULL, NULL },
		{ "why", "Why", SS_TYPE_STR, SS_UNIT_NONE, NULL, NULL },
	};
	struct fixture *f = *state;
	struct ss_text_style narrow = { .width = 46 };
	struct ss_table *t = ss_result_table(&f->r, "tree", "Tree", tree, SS_COUNT(tree));
	static const char *const names[] = { "whole", "part", "deeper" };
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		ss_table_row(t);
		ss_set_i64(t, 0, (int64_t)i - 1);
		ss_set_str(t, 1, ss_str_from(names[i]));
		ss_set_i64(t, 3, (int64_t)i + 7);
		ss_set_str(t, 4, i ? SS_STR("because it was asked for again") : SS_STR("first"));
	}
	ss_emit_text_table(&f->o, t, &narrow);
	assert_str(written(f), "             Number of  \n"
			       "Name        executions  Why\n"
			       "whole                7  first\n"
			       "  part               8  because it was asked\n"
			       "                        for again\n"
			       "    deeper           9  because it was asked\n"
			       "                        for again\n"
			       "(left out to fit: Nothing that was ever\n measured; --format csv has all)\n");
}

static void counts_cells_and_disarms(void **state)
{
	static const struct {
		const char *text, *shown;
		size_t max, cells;
	} cases[] = {
		{ "plain", "plain", 0, 5 },
		{ "\x1b[31mred", "\xef\xbf\xbd[31mred", 0, 8 },		/* no escape sequences from profiles */
		{ "a\nb\tc", "a\xef\xbf\xbd" "b\xef\xbf\xbd" "c", 0, 5 },
		{ "\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97", 0, 4 },	/* wide */
		{ "e\xcc\x81", "e\xcc\x81", 0, 1 },			/* combining */
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", 0, 2 },	/* not UTF-8 */
		{ "\xe2\x80\xaexyz", "\xef\xbf\xbdxyz", 0, 4 },		/* would turn the line around */
		{ "abcdef", "abc\xe2\x80\xa6", 4, 4 },
		{ "\xe6\xbc\xa2\xe5\xad\x97\xe5\xad\x97", "\xe6\xbc\xa2\xe2\x80\xa6", 4, 3 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_out o;
		ss_out_init(&o, NULL, NULL);
		assert_int_equal(ss_text_put(&o, ss_str_from(cases[i].text), cases[i].max), cases[i].cells);
		assert_ok(ss_out_finish(&o, &err));
		assert_str(((struct ss_str){ o.buf, o.n }), cases[i].shown);
		ss_out_free(&o);
	}
}

static void wraps_words(void **state)
{
	struct ss_text_style style = { .width = 40 };
	struct ss_out o;
	(void)state;
	ss_out_init(&o, NULL, NULL);
	ss_text_wrap(&o, &style, SS_STR("one two three four five six seven eight nine"), 2);
	assert_ok(ss_out_finish(&o, &err));
	assert_str(((struct ss_str){ o.buf, o.n }), "one two three four five six seven\n  eight nine\n");
	ss_out_free(&o);
}

static void scales_values(void **state)
{
	static const struct {
		enum ss_unit unit;
		double value;
		const char *text;
	} cases[] = {
		{ SS_UNIT_PS, 1.5e12, "1.500 s" },	{ SS_UNIT_PS, 12345, "12.35 ns" },
		{ SS_UNIT_MS, 12.34, "12.34 ms" },	{ SS_UNIT_MS, 0, "0 ms" },
		{ SS_UNIT_BYTES, 1536, "1.500 KiB" },	{ SS_UNIT_GIB, 0.5, "512.0 MiB" },
		{ SS_UNIT_FRAC, 0.4567, "45.7%" },	{ SS_UNIT_PERCENT, 45.67, "45.7%" },
		{ SS_UNIT_COUNT, 17, "17" },		{ SS_UNIT_FLOPS, 2.5e12, "2.500 T" },
		{ SS_UNIT_US, -3.25, "-3.250 us" },	{ SS_UNIT_NONE, NAN, "-" },
		/* What is there is not nothing, and what lacks something is not all. */
		{ SS_UNIT_FRAC, 0, "0.0%" },		{ SS_UNIT_FRAC, 1, "100.0%" },
		{ SS_UNIT_FRAC, 0.0004, "<0.1%" },	{ SS_UNIT_PERCENT, 99.96, ">99.9%" },
		{ SS_UNIT_FRAC, 0.0006, "0.1%" },	{ SS_UNIT_PERCENT, 99.94, "99.9%" },
		{ SS_UNIT_FRAC, -0.0004, "-<0.1%" },	{ SS_UNIT_PERCENT, 104.2, "104.2%" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		char buf[40];
		ss_format_value(buf, sizeof(buf), cases[i].unit, cases[i].value);
		assert_string_equal(buf, cases[i].text);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_result, free_result)
	const struct CMUnitTest tests[] = {
		TEST(prints_data_tables),
		TEST(prints_one_data_table),
		TEST(prints_columns),
		TEST(prints_csv),
		TEST(prints_text),
		TEST(says_what_it_comes_to),
		TEST(finds_cells_by_name),
		TEST(fits_a_terminal),
		TEST(leaves_out_what_says_least),
		cmocka_unit_test(counts_cells_and_disarms),
		cmocka_unit_test(wraps_words),
		cmocka_unit_test(scales_values),
	};
	return RUN_TESTS(tests);
}
