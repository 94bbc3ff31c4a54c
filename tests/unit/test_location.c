/* test_location.c - what buckets answer with: XML, times, addresses; and files that are brought when they are opened. */
#include "unit/unit.h"

#include "base/file.h"
#include "base/provide.h"
#include "location/bucket.h"
#include "wire/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void finds_texts(void **state)
{
	static const struct {
		const char *document, *code;
	} cases[] = {
		{ "<Error><Code>NoSuchKey</Code></Error>", "NoSuchKey" },
		{ "\xef\xbb\xbf<?xml?><!-- <Code>no</Code> --><a:E xmlns:a='>'><a:Code x=\"/>\">b</a:Code></a:E>", "b" },
		{ "<E><Code/><Code>x</Code></E>", "" },
		{ "<E><Code>&lt;&#65;&#x42;&#233;&amp;<![CDATA[&lt;]]><i>no</i></Code></E>", "<AB\xc3\xa9&&lt;" },
		{ "<E><Code>&#x1F600;&#x20AC;</Code></E>", "\xf0\x9f\x98\x80\xe2\x82\xac" },
		{ "<!DOCTYPE E [<!ENTITY x 'y'>]><E><Code>x</Code></E>", "" },
		{ "</Code>", "" },
		{ "", "" },
		{ "<", "" },
	};
	struct ss_arena a = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_true(ss_str_is(ss_xml_find(ss_str_from(cases[i].document), "Code", &a), cases[i].code));
	ss_arena_release(&a);
}

static bool is_malformed(const char *document)
{
	struct ss_xml x = ss_xml_of(ss_str_from(document));
	struct ss_xmltok t;
	struct ss_arena a = { 0 };
	while (ss_xml_next(&x, &t))
		if (t.kind == SS_XML_OPEN && ss_str_is(t.text, "t"))
			(void)ss_xml_text(&x, &a);
	ss_arena_release(&a);
	return x.bad;
}

static void tells_what_is_malformed(void **state)
{
	static const char *const bad[] = { "<a>", "<a", "<a b='>", "</a>", "<>", "<!x>", "<!--", "<?xml", "<![CDATA[", "<t>&x;</t>",
					   "<t>&#0;</t>", "<t>&#x110000;</t>", "<t>&amp</t>", "<t>&#xg;</t>" };
	char deep[4 * (SS_XML_DEPTH + 1) + 1] = "";
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++)
		assert_true(is_malformed(bad[i]));
	for (size_t i = 0; i <= SS_XML_DEPTH; i++)
		memcpy(deep + 3 * i, "<a>", 4);
	assert_true(is_malformed(deep));
	assert_false(is_malformed("<a><b/><c>d</c></a>"));
}

static void reads_times(void **state)
{
	(void)state;
	assert_int_equal(ss_utc_ns(SS_STR("1970-01-02T00:00:01Z")), 86401 * INT64_C(1000000000));
	assert_int_equal(ss_utc_ns(SS_STR("2026-11-23T10:00:00.25Z")), INT64_C(1795428000250000000));
	assert_int_equal(ss_utc_ns(SS_STR("2026-11-23T10:00:00+00:00")), INT64_C(1795428000000000000));
	assert_int_equal(ss_utc_ns(SS_STR("2026-11-23T11:30:00+01:30")), INT64_C(1795428000000000000));
	assert_int_equal(ss_utc_ns(SS_STR("2026-11-23T04:30:00-05:30")), INT64_C(1795428000000000000));
	assert_int_equal(ss_utc_ns(SS_STR("2026-11-23T10:00:00UTC")), INT64_C(1795428000000000000));
	static const char *const none[] = { "", "2026-11-23", "2026-11-23T10:00:00+1", "2026-11-23T10:00:00+24:00",
					    "2026-11-23T10:00:00 01:00",
					    "2026-13-01T00:00:00Z", "2026-11-23T10:00:00", "1960-01-01T00:00:00Z",
					    "99999999999999999999-01-01T00:00:00Z" };
	for (size_t i = 0; i < SS_COUNT(none); i++)
		assert_int_equal(ss_utc_ns(ss_str_from(none[i])), 0);
}

static void writes_paths(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_str_is(ss_percent(SS_STR("a b/\xc3\xa9+~"), true, &a), "a%20b/%C3%A9%2B~"));
	assert_true(ss_str_is(ss_percent(SS_STR("a/b"), false, &a), "a%2Fb"));
	ss_arena_release(&a);
}

/* ---- files that are brought ---- */

static bool bring(void *arg, const char *path, uint64_t bytes, struct ss_err *err)
{
	uint64_t *asked = arg;
	*asked = bytes;
	return strstr(path, "none") == NULL || ss_fail(err, SS_EIO, "not today");
}

static void brings_files(void **state)
{
	char dir[] = "/tmp/location-XXXXXX", path[64];
	uint64_t asked = 0;
	struct ss_file f;
	struct ss_err err = { 0 };
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct ss_provider p = { .below = ss_str_from(dir), .provide = bring, .arg = &asked };
	snprintf(path, sizeof(path), "%s/file", dir);
	FILE *made = fopen(path, "w");
	assert_non_null(made);
	fclose(made);
	assert_false(ss_provides(ss_str_from(path)));
	ss_provider_add(&p);
	assert_true(ss_provides(ss_str_from(path)));
	assert_true(ss_provides(ss_str_from(dir)));
	assert_false(ss_provides(SS_STR("/tmp/location-other/file")));
	assert_true(ss_file_open(&f, path, &err));
	ss_file_close(&f);
	assert_true(asked == SS_WHOLE_FILE);
	assert_true(ss_file_open_begin(&f, NULL, path, 100, &err));
	ss_file_close(&f);
	assert_int_equal(asked, 100);
	asked = 7;
	assert_false(ss_file_open(&f, "/tmp/location-other/file", NULL));
	assert_int_equal(asked, 7);	/* somebody else's directory */
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_false(ss_file_open(&f, path, &err));
	assert_string_equal(err.text, "not today");
	ss_provider_remove(&p);
	assert_false(ss_provides(ss_str_from(path)));
	snprintf(path, sizeof(path), "%s/file", dir);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_texts), cmocka_unit_test(tells_what_is_malformed), cmocka_unit_test(reads_times),
		cmocka_unit_test(writes_paths), cmocka_unit_test(brings_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
