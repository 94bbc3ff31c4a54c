/* test_api.c - the C interface as a program outside uses it, on a sample profile. */
#include "unit/unit.h"

#include "stepscope/stepscope.h"

#include <stdio.h>

static const char *sample(void)
{
	return "tests/data/profiles/synth_tpu_3hosts";
}

static void lists_what_there_is(void **state)
{
	char why[200] = "";
	bool planes = false;
	(void)state;
	assert_true(strlen(stepscope_version()) > 2);
	for (size_t i = 0; stepscope_tool_name(i); i++) {
		assert_non_null(stepscope_tool_title(i));
		assert_non_null(stepscope_tool_summary(i));
		planes = planes || strcmp(stepscope_tool_name(i), "plane_stats") == 0;
	}
	assert_true(planes);
	struct stepscope *s = stepscope_open(sample(), why, sizeof(why));
	assert_non_null(s);
	assert_string_equal(stepscope_run_name(s, 0), "run");
	assert_null(stepscope_run_name(s, 1));
	assert_string_equal(stepscope_newest_run(s), "run");
	assert_string_equal(stepscope_host_name(s, "run", 2), "host2");
	assert_null(stepscope_host_name(s, NULL, 3));
	assert_null(stepscope_host_name(s, "nope", 0));
	assert_true(stepscope_has(s, NULL, "plane_stats"));
	assert_false(stepscope_has(s, NULL, "nope"));
	assert_false(stepscope_has(s, "nope", "plane_stats"));
	stepscope_close(s);
}

static bool count(void *arg, const char *data, size_t bytes)
{
	(void)data;
	*(size_t *)arg += bytes;
	return true;
}

static bool refuse(void *arg, const char *data, size_t bytes)
{
	(void)arg;
	(void)data;
	(void)bytes;
	return false;
}

static void answers_in_every_format(void **state)
{
	static const char *const begins[] = { "{\"tool\":\"plane_stats\"",
					      "[{\"cols\":", "\"host\",", "" };
	struct stepscope_question q = STEPSCOPE_QUESTION;
	struct stepscope_answer a = STEPSCOPE_ANSWER;
	char why[200] = "";
	size_t sum = 0;
	(void)state;
	struct stepscope *s = stepscope_open(sample(), why, sizeof(why));
	assert_non_null(s);
	q.tool = "plane_stats";
	for (int f = STEPSCOPE_JSON; f <= STEPSCOPE_TEXT; f++) {
		q.format = (enum stepscope_format)f;
		assert_true(stepscope_ask(s, &q, &a, why, sizeof(why)));
		assert_memory_equal(a.data, begins[f], strlen(begins[f]));
		assert_int_equal(strlen(a.data), a.data_bytes);
		assert_true(strchr(a.type, '/') != NULL);
	}
	assert_true(strstr(a.data, " events in ") &&
		    strstr(a.data, "\n\nHost")); /* what it comes to, then the table */
	q.write = count;
	q.write_arg = &sum;
	size_t bytes = a.data_bytes;
	assert_true(stepscope_ask(s, &q, &a, why, sizeof(why)));
	assert_int_equal(sum, bytes);
	assert_null(a.data);
	q.write = refuse;
	assert_false(stepscope_ask(s, &q, &a, why, sizeof(why)));
	assert_true(why[0] != '\0');
	stepscope_answer_clear(&a);
	stepscope_close(s);
}

static void says_what_is_wrong(void **state)
{
	static const char *const unknown[] = { "colour=red", NULL };
	char why[200] = "";
	(void)state;
	assert_null(stepscope_open("/nowhere/at/all", why, sizeof(why)));
	assert_non_null(strstr(why, "/nowhere/at/all"));
	assert_null(stepscope_open("/nowhere/at/all", NULL, 0));
	struct stepscope *s = stepscope_open(sample(), why, sizeof(why));
	assert_non_null(s);
	struct stepscope_answer a = STEPSCOPE_ANSWER;
	const struct {
		const char *tool, *run, *host, *word;
		const char *const *params;
		int format;
	} cases[] = {
		{ "nope", NULL, NULL, "nope", NULL, 0 },
		{ NULL, NULL, NULL, "tool", NULL, 0 },
		{ "plane_stats", "other", NULL, "other", NULL, 0 },
		{ "plane_stats", NULL, "host9", "host9", NULL, 0 },
		{ "plane_stats", NULL, NULL, "colour", unknown, 0 },
		{ "plane_stats", NULL, NULL, "format", NULL, 17 },
	};
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct stepscope_question q = STEPSCOPE_QUESTION;
		q.tool = cases[i].tool;
		q.run = cases[i].run;
		q.host = cases[i].host;
		q.params = cases[i].params;
		q.format = (enum stepscope_format)cases[i].format;
		assert_false(stepscope_ask(s, &q, &a, why, sizeof(why)));
		assert_non_null(strstr(why, cases[i].word));
	}
	struct stepscope_question blank = { 0 };
	assert_false(stepscope_ask(s, &blank, &a, why, sizeof(why)));
	/* A program built when the question ended with the tool's name. */
	struct stepscope_question older = STEPSCOPE_QUESTION;
	older.size = offsetof(struct stepscope_question, run);
	older.tool = "plane_stats";
	older.run = "not looked at";
	assert_true(stepscope_ask(s, &older, &a, why, sizeof(why)));
	stepscope_answer_clear(&a);
	stepscope_close(s);
}

static void asks_in_sql(void **state)
{
	char why[200] = "";
	size_t bytes, rows = 0;
	(void)state;
	struct stepscope *s = stepscope_open(sample(), why, sizeof(why));
	assert_non_null(s);
	struct stepscope_rows *r = stepscope_sql(
		s, NULL, NULL, "SELECT host, events, events / 2.0 AS half, NULL AS none FROM hosts",
		30000, why, sizeof(why));
	assert_non_null(r);
	assert_int_equal(stepscope_sql_columns(r), 4);
	assert_string_equal(stepscope_sql_name(r, 2), "half");
	for (; stepscope_sql_next(r, why, sizeof(why)) == 1; rows++) {
		const char *host = stepscope_sql_text(r, 0, &bytes);
		assert_int_equal(bytes, 5);
		assert_memory_equal(host, "host", 4);
		assert_int_equal(stepscope_sql_type(r, 1), STEPSCOPE_INT);
		assert_true(stepscope_sql_int(r, 1) > 0);
		assert_true(stepscope_sql_real(r, 2) * 2 == (double)stepscope_sql_int(r, 1));
		assert_int_equal(stepscope_sql_type(r, 3), STEPSCOPE_NULL);
	}
	assert_int_equal(rows, 3);
	stepscope_sql_close(r);
	assert_null(stepscope_sql(s, NULL, NULL, "PRAGMA user_version = 1", 0, why, sizeof(why)));
	assert_non_null(strstr(why, "may only read"));
	assert_null(stepscope_sql(s, "none", NULL, "SELECT 1", 0, why, sizeof(why)));
	assert_null(stepscope_sql(s, NULL, "none", "SELECT 1", 0, why, sizeof(why)));
	r = stepscope_sql(s, NULL, "host1",
			  "SELECT COUNT(*) FROM events AS a, events AS b, events AS c, events AS d",
			  50, why, sizeof(why));
	assert_non_null(r);
	assert_int_equal(stepscope_sql_next(r, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "was stopped"));
	stepscope_sql_close(r);
	stepscope_sql_close(NULL);
	int stop = 0;
	r = stepscope_sql_until(s, NULL, NULL, "SELECT COUNT(*) FROM events AS a, events AS b, events AS c", 0, &stop, why,
				sizeof(why));
	assert_non_null(r);
	stop = 1;
	assert_int_equal(stepscope_sql_next(r, why, sizeof(why)), -1);
	assert_string_equal(why, "the query was stopped");
	stepscope_sql_close(r);
	stepscope_close(s);
}

static void gives_tables(void **state)
{
	char why[200] = "";
	(void)state;
	struct stepscope *s = stepscope_open(sample(), why, sizeof(why));
	assert_non_null(s);
	struct stepscope_rows *r = stepscope_sql(
		s, NULL, NULL,
		"SELECT 1 AS i, 1 AS r, 1 AS t, NULL AS n UNION ALL SELECT NULL, 2.5, 'ab', NULL",
		0, why, sizeof(why));
	assert_non_null(r);
	struct stepscope_table *t = stepscope_sql_table(r, why, sizeof(why));
	stepscope_close(s);
	assert_non_null(t);
	assert_int_equal(stepscope_table_rows(t), 2);
	assert_int_equal(stepscope_table_columns(t), 4);
	assert_string_equal(stepscope_table_name(t, 3), "n");
	assert_int_equal(stepscope_table_type(t, 0), STEPSCOPE_INT);
	assert_int_equal(stepscope_table_type(t, 1), STEPSCOPE_REAL);
	assert_int_equal(stepscope_table_type(t, 2), STEPSCOPE_TEXT_VALUE);
	assert_int_equal(((const int64_t *)stepscope_table_cells(t, 0))[0], 1);
	assert_int_equal(*stepscope_table_valid(t, 0), 1);
	assert_true(((const double *)stepscope_table_cells(t, 1))[0] == 1 &&
		    ((const double *)stepscope_table_cells(t, 1))[1] == 2.5);
	assert_null(stepscope_table_valid(t, 1));
	assert_memory_equal(stepscope_table_cells(t, 2), "1ab", 3);
	assert_int_equal(stepscope_table_ends(t, 2)[1], 1);
	assert_int_equal(stepscope_table_ends(t, 2)[2], 3);
	assert_null(stepscope_table_ends(t, 0));
	stepscope_table_free(t);
	stepscope_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_what_there_is), cmocka_unit_test(answers_in_every_format),
		cmocka_unit_test(asks_in_sql),	       cmocka_unit_test(gives_tables),
		cmocka_unit_test(says_what_is_wrong),
	};
	return RUN_TESTS(tests);
}
