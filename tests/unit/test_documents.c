/* test_documents.c - documents of older programs as trees, and compiled programs written as JSON. */
#include "unit.h"

#include "legacy/files/hlo_json.h"
#include "wire/json_tree.h"
#include "wire/pb_out.h"
#include "xspace/xspace.h"

static void trees_of_both_forms(void **state)
{
	static const struct ss_pbt_field inner[] = { { 1, SS_PBT_STRING, "s", NULL }, { 0, SS_PBT_UINT, NULL, NULL } };
	static const struct ss_pbt_field fields[] = {
		{ 1, SS_PBT_UINT, "u", NULL },	  { 2, SS_PBT_UINTS, "list", NULL }, { 3, SS_PBT_DOUBLE, "d", NULL },
		{ 4, SS_PBT_MESSAGE, "m", inner }, { 0, SS_PBT_UINT, NULL, NULL },
	};
	struct ss_arena a = { 0 };
	struct ss_buf b = { 0 };
	struct ss_err why = { 0 };
	(void)state;
	ss_pbo_uint(&b, 1, 300);
	ss_pbo_bytes(&b, 2, SS_STR("\x01\x02\x03"));
	ss_pbo_double(&b, 3, 0.5);
	ss_pbo_bytes(&b, 4, SS_STR("\x0a\x02hi"));
	ss_pbo_bytes(&b, 4, SS_STR("\x0a\x02ho"));
	ss_pbo_uint(&b, 9, 1);
	const struct ss_jnode *n = ss_jtree_of_pb(ss_buf_get(&b), fields, &a, &why);
	assert_non_null(n);
	assert_int_equal(ss_jnode_int(n, "u", 0), 300);
	assert_int_equal(ss_jnode_count(n), 7);
	assert_true(ss_jnode_num(n, "d", 0) == 0.5);
	assert_str(ss_jnode_text(ss_jnode_again(ss_jnode_get(n, "m")), "s"), "ho");
	assert_null(ss_jtree_of_pb(SS_STR("\xff"), fields, &a, &why));
	assert_int_equal(why.code, SS_EFORMAT);
	why = (struct ss_err){ 0 };
	n = ss_jtree_of_json(SS_STR("{\"a\":[1,\"2\",{\"b\":null}],\"c\":{}}"), &a, &why);
	assert_non_null(n);
	assert_int_equal(ss_jnode_count(ss_jnode_get(n, "a")), 3);
	assert_true(ss_jnode_get(n, "a")->first->next->num == 2);
	assert_non_null(ss_jnode_get(n, "c"));
	static const char *const bad[] = { "", "{", "{\"a\":}", "[1,2", "{\"a\":1}x", "nul" };
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		assert_null(ss_jtree_of_json(ss_str_from(bad[i]), &a, &why));
		assert_int_equal(why.code, SS_EFORMAT);
	}
	ss_buf_free(&b);
	ss_arena_release(&a);
}

static void programs_keep_their_words(void **state)
{
	static const char text[] =
		"{\"hloModule\":{\"name\":\"m\",\"id\":\"5\",\"entryComputationName\":\"c\",\"computations\":[{\"name\":\"c\","
		"\"instructions\":["
		"{\"name\":\"i\",\"opcode\":\"add\",\"shape\":{\"elementType\":\"F32\",\"dimensions\":[\"4\",\"2\"]}}]}]}}";
	struct ss_buf space = { 0 };
	struct ss_xspace x;
	struct ss_xstat s;
	(void)state;
	assert_true(ss_hlo_json_is(ss_str_from(text)));
	assert_false(ss_hlo_json_is(SS_STR("{\"traceEvents\":[]}")));
	assert_ok(ss_hlo_json_read(ss_str_from(text), &space, &err));
	assert_ok(ss_xspace_open_bytes(&x, ss_buf_get(&space), "m", &err));
	assert_str(x.planes[0].name, "/host:metadata");
	assert_str(x.planes[0].event_meta[0].name, "m(5)");
	assert_true(ss_xstats_find(ss_xevent_meta_stats(&x.planes[0], 0), SS_STAT_HLO_PROTO, &s));
	/* hlo_module.name, then its id as a number: "5" was a text. */
	assert_true(ss_str_contains(s.s, SS_STR("\x0a\x01m\x28\x05\x12\x01" "c")));
	/* element_type F32, dimensions 4 and 2 */
	assert_true(ss_str_contains(s.s, SS_STR("\x10\x0b\x18\x04\x18\x02")));
	ss_xspace_close(&x);
	ss_buf_free(&space);
	assert_fails(ss_hlo_json_read(SS_STR("{}"), &space, &err), SS_EFORMAT);
	ss_buf_free(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_of_both_forms),
		cmocka_unit_test(programs_keep_their_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
