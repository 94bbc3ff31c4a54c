/*
 * test_hlo_text.c - programs as text, byte for byte as XProf 2.24.2 printed them (tests/data/hlo):
 * "short" without, "long" with metadata.
 */
#include "unit/unit.h"

#include "base/file.h"
#include "hlo/literal.h"
#include "hlo/text.h"

#include <stdio.h>

static const char *const names[] = {
	"asynchronous", "attributes", "collectives", "control", "convolutions", "layouts", "literals", "operations", "train_step",
};

static void open_data(struct ss_file *f, const char *name, const char *suffix)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/hlo/%s%s", SS_TEST_DATA, name, suffix);
	assert_ok(ss_file_open(f, path, &err));
}

/* The first line that differs is worth more than two long texts. */
static void assert_same(const char *name, struct ss_str got, struct ss_str want)
{
	size_t i = 0, line = 1, begin = 0;

	while (i < got.n && i < want.n && got.p[i] == want.p[i]) {
		if (got.p[i++] == '\n') {
			line++;
			begin = i;
		}
	}
	if (i < got.n || i < want.n)
		fail_msg("%s, line %zu: got\n%.200s\nwanted\n%.200s", name, line, got.p + begin, want.p + begin);
}

static void prints_as(enum ss_hlo_style style, bool metadata, const char *suffix)
{
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		struct ss_file proto, want;
		struct ss_hlo_module m;
		struct ss_buf b = { 0 };

		open_data(&proto, names[i], ".pb");
		open_data(&want, names[i], suffix);
		ss_hlo_open(&m, proto.bytes);
		assert_ok(ss_hlo_index(&m, &err));
		assert_ok(ss_hlo_text(&b, &m, style, metadata, &err));
		assert_same(names[i], ss_buf_get(&b), want.bytes);
		ss_buf_free(&b);
		ss_hlo_close(&m);
		ss_file_close(&proto);
		ss_file_close(&want);
	}
}

static void prints_short(void **state)
{
	(void)state;
	prints_as(SS_HLO_SHORT, false, ".short.txt");
}

static void prints_long(void **state)
{
	(void)state;
	prints_as(SS_HLO_LONG, true, ".long.txt");
}

static void prints_expressions(void **state)
{
	struct ss_file proto;
	struct ss_hlo_module m;
	struct ss_buf b = { 0 };

	(void)state;
	open_data(&proto, "control", ".pb");
	ss_hlo_open(&m, proto.bytes);
	assert_ok(ss_hlo_index(&m, &err));
	assert_true(ss_hlo_instr_text(&b, &m, ss_hlo_instr_by_name(&m, SS_STR("w")), SS_HLO_EXPRESSION));
	assert_str(ss_buf_get(&b), "%w = (s32[], f32[4]{0}) while((s32[], f32[4]{0}) %t.1), condition=%cond, body=%body");
	ss_buf_free(&b);
	ss_hlo_close(&m);
	ss_file_close(&proto);
}

/* Without names, with the bodies of what is called. */
static void prints_canonical(void **state)
{
	struct ss_file proto;
	struct ss_hlo_module m;
	struct ss_hlo_canonical c;
	struct ss_arena arena = { 0 };
	struct ss_buf b = { 0 };
	struct ss_str text;

	(void)state;
	open_data(&proto, "control", ".pb");
	ss_hlo_open(&m, proto.bytes);
	assert_ok(ss_hlo_index(&m, &err));
	assert_ok(ss_hlo_canonical_open(&c, &m, &arena, &err));
	assert_true(ss_hlo_canonical_text(&c, ss_hlo_instr_by_name(&m, SS_STR("w")), &b, &text));
	assert_str(text,
			 "(s32[], f32[4]{0}) while((s32[], f32[4]{0})), condition=\n"
			 "{\n"
			 "  tmp_0 = (s32[], f32[4]{0}) parameter(0)\n"
			 "  tmp_1 = s32[] get-tuple-element((s32[], f32[4]{0}) tmp_0), index=0\n"
			 "  tmp_2 = s32[] constant(10)\n"
			 "  ROOT tmp_3 = pred[] compare(s32[] tmp_1, s32[] tmp_2), direction=LT\n"
			 "}, body=\n"
			 "{\n"
			 "  tmp_0 = (s32[], f32[4]{0}) parameter(0)\n"
			 "  tmp_1 = s32[] get-tuple-element((s32[], f32[4]{0}) tmp_0), index=0\n"
			 "  tmp_2 = s32[] constant(1)\n"
			 "  tmp_3 = s32[] add(s32[] tmp_1, s32[] tmp_2)\n"
			 "  tmp_4 = f32[4]{0} get-tuple-element((s32[], f32[4]{0}) tmp_0), index=1\n"
			 "  tmp_5 = f32[4]{0} multiply(f32[4]{0} tmp_4, f32[4]{0} tmp_4)\n"
			 "  ROOT tmp_6 = (s32[], f32[4]{0}) tuple(s32[] tmp_3, f32[4]{0} tmp_5)\n"
			 "}");
	c.left_bytes = 10;
	assert_true(ss_hlo_canonical_text(&c, ss_hlo_instr_by_name(&m, SS_STR("w")), &b, &text));
	assert_true(!text.n && b.n <= 10);
	ss_buf_free(&b);
	ss_arena_release(&arena);
	ss_hlo_close(&m);
	ss_file_close(&proto);
}

/* A text that its parts' references make longer than allowed is refused, not written. */
static void bounds_the_text(void **state)
{
	struct ss_file proto;
	struct ss_hlo_module m;
	struct ss_buf b = { .limit_bytes = 1000 };

	(void)state;
	open_data(&proto, "operations", ".pb");
	ss_hlo_open(&m, proto.bytes);
	assert_ok(ss_hlo_index(&m, &err));
	assert_fails(ss_hlo_text(&b, &m, SS_HLO_LONG, false, &err), SS_EFORMAT);
	assert_true(b.n <= 1000);
	ss_buf_free(&b);
	ss_hlo_close(&m);
	ss_file_close(&proto);
}

/* Cut anywhere, a module is printed as far as it goes. */
static void survives_cuts(void **state)
{
	struct ss_file proto;

	(void)state;
	open_data(&proto, "attributes", ".pb");
	for (size_t n = 0; n < proto.bytes.n; n += 7) {
		struct ss_hlo_module m;
		struct ss_hlo_canonical c;
		struct ss_arena arena = { 0 };
		struct ss_buf b = { .limit_bytes = 1 << 20 };
		struct ss_str text;

		ss_hlo_open(&m, ss_str_sub(proto.bytes, 0, n));
		assert_ok(ss_hlo_index(&m, &err));
		assert_ok(ss_hlo_text(&b, &m, SS_HLO_LONG, true, &err));
		assert_ok(ss_hlo_canonical_open(&c, &m, &arena, &err));
		for (uint32_t i = 0; i < m.ninstrs; i++)
			assert_true(ss_hlo_canonical_text(&c, i, &b, &text));
		ss_buf_free(&b);
		ss_arena_release(&arena);
		ss_hlo_close(&m);
	}
	ss_file_close(&proto);
}

static void escapes(void **state)
{
	struct ss_buf b = { 0 };

	(void)state;
	ss_hlo_print_escaped(&b, SS_STR("a\"b'c\\d\n\t\r\x01\xc3\xa9z"));
	assert_str(ss_buf_get(&b), "a\\\"b\\'c\\\\d\\n\\t\\r\\001\\303\\251z");
	ss_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_short),	   cmocka_unit_test(prints_long),   cmocka_unit_test(prints_expressions),
		cmocka_unit_test(prints_canonical),
		cmocka_unit_test(bounds_the_text), cmocka_unit_test(survives_cuts), cmocka_unit_test(escapes),
	};
	return RUN_TESTS(tests);
}
