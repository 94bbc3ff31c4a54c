/* test_json.c - the pull parser: what it accepts, what it refuses, what it decodes. */
#include "unit/unit.h"

#include "wire/json.h"

/* The walk as one line: { [ } k:text s:text n:text t f z, and ! when it is malformed. */
static void walk(const char *text, char *out, size_t room)
{
	static const char kinds[] = "{[}ksntfz";
	struct ss_jsonr r = ss_jsonr_of(ss_str_from(text));
	struct ss_jtok t;
	size_t n = 0;

	while (ss_jsonr_next(&r, &t) && n + t.text.n + 3 < room) {
		out[n++] = kinds[t.kind];
		memcpy(out + n, t.text.p, t.text.n);
		n += t.text.n;
		out[n++] = ' ';
	}
	if (r.bad)
		out[n++] = '!';
	out[n] = '\0';
}

static void walks(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "!" },
		{ "1", "n1 " },
		{ " [1, -2.5e3 ,\"a\\\"b\",true,false,null] ", "[ n1 n-2.5e3 sa\\\"b ttrue ffalse znull } " },
		{ "{}", "{ } " },
		{ "[[],{}]", "[ [ } { } } " },
		{ "{\"a\":{\"b\":[]},\"c\":1}", "{ ka { kb [ } } kc n1 } " },
		{ "[1 2]", "[ n1 !" },
		{ "[1,]", "[ n1 !" },
		{ "{\"a\"}", "{ !" },
		{ "{\"a\":}", "{ ka !" },
		{ "{1:2}", "{ !" },
		{ "[1", "[ n1 !" },
		{ "[1}", "[ n1 !" },
		{ "\"open", "!" },
		{ "\"open\\", "!" },
		{ "1 2", "n1 !" },
		{ "[NaN,-Infinity]", "[ nNaN n-Infinity } " },
	};
	char got[200];

	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		walk(cases[i].text, got, sizeof(got));
		assert_string_equal(got, cases[i].want);
	}
}

static void decodes(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "plain", "plain" },
		{ "a\\n\\t\\\\\\/\\\"", "a\n\t\\/\"" },
		{ "\\u00e9\\u20ac", "\xc3\xa9\xe2\x82\xac" },
		{ "\\ud83d\\ude00", "\xf0\x9f\x98\x80" },
		{ "\\ud83dx", "\xef\xbf\xbdx" },
		{ "\\u12", "?12" },
	};
	struct ss_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_jtok t = { .kind = SS_J_STRING, .text = ss_str_from(cases[i].text), .escaped = true };

		assert_str(ss_jtok_str(&t, &arena), cases[i].want);
	}
	ss_arena_release(&arena);
}

static void reads_numbers(void **state)
{
	struct ss_jtok t = { .kind = SS_J_STRING, .text = SS_STR("9223372036854775807") };
	int64_t i;
	double d;

	(void)state;
	assert_true(ss_jtok_i64(&t, &i));
	assert_int_equal(i, INT64_MAX);
	t.text = SS_STR("2.5e1");
	assert_true(ss_jtok_f64(&t, &d) && d == 25);
	assert_true(ss_jtok_i64(&t, &i) && i == 25);
	t.text = SS_STR("x");
	assert_false(ss_jtok_i64(&t, &i));
	t.kind = SS_J_NULL;
	assert_false(ss_jtok_f64(&t, &d));
}

static void skips(void **state)
{
	struct ss_jsonr r = ss_jsonr_of(SS_STR("{\"a\":[1,{\"b\":[2]}],\"c\":3}"));
	struct ss_jtok t;

	(void)state;
	assert_true(ss_jsonr_next(&r, &t) && t.kind == SS_J_OBJECT);
	assert_true(ss_jsonr_next(&r, &t) && ss_jtok_is(&t, "a"));
	assert_true(ss_jsonr_skip(&r, &t));
	assert_true(ss_jsonr_next(&r, &t) && ss_jtok_is(&t, "c"));
}

static void takes_members(void **state)
{
	struct ss_jsonr r = ss_jsonr_of(SS_STR("{\"a\":1 , \"a name of more than sixteen bytes\" : \"x\",\"c\":[2]}"));
	struct ss_jtok name, t;

	(void)state;
	assert_true(ss_jsonr_next(&r, &t));
	assert_true(ss_jsonr_member(&r, &name, &t) && ss_jtok_is(&name, "a") && t.kind == SS_J_NUMBER);
	assert_true(ss_jsonr_member(&r, &name, &t) && ss_jtok_is(&t, "x"));
	assert_true(ss_jtok_is(&name, "a name of more than sixteen bytes"));
	assert_true(ss_jsonr_member(&r, &name, &t) && t.kind == SS_J_ARRAY && ss_jsonr_skip(&r, &t));
	assert_false(ss_jsonr_member(&r, &name, &t));
	assert_true(r.done && !r.bad);
	/* No object, no colon, no value. */
	const struct ss_str wrong[] = { SS_STR_INIT("[1]"), SS_STR_INIT("{\"a\" 1}"), SS_STR_INIT("{\"a\":"),
					SS_STR_INIT("{1:2}") };
	for (size_t i = 0; i < SS_COUNT(wrong); i++) {
		r = ss_jsonr_of(wrong[i]);
		assert_true(ss_jsonr_next(&r, &t));
		assert_false(ss_jsonr_member(&r, &name, &t));
		assert_true(r.bad);
	}
}

static void bounds_the_depth(void **state)
{
	char text[2 * SS_JSON_DEPTH + 2];
	struct ss_jsonr r;
	struct ss_jtok t;
	size_t n = 0;

	(void)state;
	memset(text, '[', sizeof(text));
	r = ss_jsonr_of((struct ss_str){ text, sizeof(text) });
	while (ss_jsonr_next(&r, &t))
		n++;
	assert_true(r.bad);
	assert_int_equal(n, SS_JSON_DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks),	   cmocka_unit_test(decodes), cmocka_unit_test(reads_numbers),
		cmocka_unit_test(skips),	   cmocka_unit_test(bounds_the_depth), cmocka_unit_test(takes_members),
	};
	return RUN_TESTS(tests);
}
