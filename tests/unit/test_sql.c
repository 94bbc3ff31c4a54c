/* test_sql.c - functions of SQL whose time is up: they ask, whatever their arguments are. */
#include "sql/engine.h"

#include "unit/unit.h"

#include <stdlib.h>

/* A set of GLOB is read for each letter of the text: its length counts among the steps. */
static void a_long_set_ends(void **state)
{
	(void)state;
	enum { LONG = 1 << 20 };
	static char pattern[LONG + 3];
	struct ss_sql s = { .deadline_ns = 1 };
	memset(pattern, 'b', sizeof(pattern));
	pattern[0] = '*';
	pattern[1] = '[';
	pattern[LONG + 2] = ']';
	assert_false(ss_sql_glob(&s, (struct ss_str){ pattern, sizeof(pattern) }, SS_STR("aaaaaaaaaaaaaaaa")));
	assert_int_equal(s.end, SS_SQL_TIME_UP);
}

static void letters(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t bytes;
	} cases[] = {
		{ "a", 1 }, { "\xc3\xa4x", 2 }, { "\xe2\x82\xac", 3 }, { "\xf0\x9f\x98\x80", 4 },
		{ "\xc3", 1 }, { "\xc3x", 1 }, { "\xa4", 1 }, { "\xff\xff", 1 }, { "\xe2\x82", 1 },
	};
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_int_equal(ss_sql_letter_bytes(cases[i].text, cases[i].text + strlen(cases[i].text)), cases[i].bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_set_ends),
		cmocka_unit_test(letters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
