/* test_regex.c - expressions, what they find, and those that are refused; and the questions in SQL that are said in another way. */
#include "unit/unit.h"

#include "base/regex.h"
#include "sql/rewrite.h"

#include <stdlib.h>

static const struct {
	const char *pattern, *text, *whole, *group; /* whole NULL: no match */
} cases[] = {
	{ "a*b", "xaaab", "aaab", NULL },
	{ "(a|ab)(c|bcd)(d*)", "abcd", "abcd", "a" },
	{ "([a-z0-9_]+)[)]*/[a-z_]+$", "jit(f)/transpose(jvp(dense))/dot", "dense))/dot", "dense" },
	{ "x{2,3}", "axxxxb", "xxx", NULL },
	{ "x{0,2}y", "xxxy", "xxy", NULL },
	{ "x{2,}?", "xxxx", "xx", NULL },
	{ "a.c",
	  "a\xc3\xa4"
	  "c",
	  "a\xc3\xa4"
	  "c",
	  NULL },
	{ "(a*)*$", "aaa", "aaa", "aaa" },
	{ "()*", "", "", NULL },
	{ "a|", "b", "", NULL },
	{ "^b", "ab", NULL, NULL },
	{ "\\bfoo\\b", "a foo b", "foo", NULL },
	{ "\\Boo", "foo", "oo", NULL },
	{ "(?i)HeL+o", "say heLLO", "heLLO", NULL },
	{ "(?i)[x-z]+", "aXYz", "XYz", NULL },
	{ "[^a-c[:digit:]]+", "ab12xyz", "xyz", NULL },
	{ "[]a]+", "x]a", "]a", NULL },
	{ "\\d+\\s\\w", "n 12 k", "12 k", NULL },
	{ "a{,2}", "a{,2}", "a{,2}", NULL },
	{ "(?:ab)+", "xababa", "abab", NULL },
	{ "(a?){30}a{30}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "" },
};

static void finds(void **state)
{
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_err err = { 0 };
		struct ss_str groups[2];
		struct ss_regex *r = ss_regex_new(ss_str_from(cases[i].pattern), &err);
		assert_non_null(r);
		enum ss_regex_found found =
			ss_regex_search(r, ss_str_from(cases[i].text), groups, 2, NULL, NULL);
		assert_int_equal(found, cases[i].whole ? SS_REGEX_YES : SS_REGEX_NO);
		assert_int_equal(
			ss_regex_search(r, ss_str_from(cases[i].text), NULL, 0, NULL, NULL), found);
		if (cases[i].whole)
			assert_true(ss_str_is(groups[0], cases[i].whole));
		if (cases[i].group)
			assert_true(groups[1].p && ss_str_is(groups[1], cases[i].group));
		ss_regex_free(r);
	}
}

static void refuses(void **state)
{
	static const char *const patterns[] = { "(",
						")",
						"[a",
						"*",
						"a{3,2}",
						"a{1001}",
						"\\",
						"\\1",
						"(?=x)",
						"[b-a]",
						"(((x{1000}){1000}){1000})",
						"(?:){1000}{1000}{1000}" };
	char deep[2001];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(patterns); i++) {
		struct ss_err err = { 0 };
		assert_null(ss_regex_new(ss_str_from(patterns[i]), &err));
		assert_int_equal(err.code, SS_EINVAL);
	}
	memset(deep, '(', 1000);
	memset(deep + 1000, ')', 1000);
	deep[2000] = 0;
	struct ss_err err = { 0 };
	assert_null(ss_regex_new(ss_str_from(deep), &err));
	assert_int_equal(err.code, SS_EINVAL);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* What would take a machine that goes back for ever takes a moment; and whoever waits may stop it. */
static void ends(void **state)
{
	enum { N = 100000 };
	static char text[N];
	struct ss_err err = { 0 };
	(void)state;
	memset(text, 'a', N);
	struct ss_regex *r = ss_regex_new(SS_STR("(a*)*(a*)*(a*)*b"), &err);
	assert_non_null(r);
	assert_int_equal(ss_regex_search(r, (struct ss_str){ text, 2000 }, NULL, 0, NULL, NULL),
			 SS_REGEX_NO);
	assert_int_equal(ss_regex_search(r, (struct ss_str){ text, N }, NULL, 0, never, NULL),
			 SS_REGEX_STOPPED);
	ss_regex_free(r);
}

static void rewrites(void **state)
{
	static const struct {
		const char *query, *want; /* NULL: as it is */
	} queries[] = {
		{ "SELECT 1 FROM events AS e WHERE stat(e.event_id, 'correlation_id') = 3",
		  "SELECT 1 FROM events AS e WHERE e.correlation_id = 3" },
		{ "select stat(e.event_id,'correlation_id') from events e where STAT ( e . "
		  "event_id , 'correlation_id' ) > 0",
		  "select stat(e.event_id,'correlation_id') from events e where e.correlation_id > "
		  "0" },
		{ "SELECT 1 FROM events WHERE stat(event_id, 'correlation_id') = 3", NULL },
		{ "SELECT 1 FROM events e WHERE stat(e.event_id, 'run_id') = 3", NULL },
		{ "SELECT (SELECT 1) FROM events e WHERE stat(e.event_id, 'correlation_id') = 3",
		  NULL },
		{ "SELECT 1 FROM events e WHERE 'stat(e.event_id, ''correlation_id'')' /* "
		  "stat(e.event_id, 'correlation_id') */ = 3 --'",
		  NULL },
		{ "SELECT 1 FROM events e WHERE stat(e.event_id, 'correlation_id', 1) = "
		  "'correlation_id",
		  NULL },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(queries); i++) {
		char *out;
		assert_true(ss_sql_rewrite(ss_str_from(queries[i].query), &out));
		assert_int_equal(out == NULL, queries[i].want == NULL);
		if (out)
			assert_string_equal(out, queries[i].want);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),
		cmocka_unit_test(refuses),
		cmocka_unit_test(ends),
		cmocka_unit_test(rewrites),
	};
	return RUN_TESTS(tests);
}
