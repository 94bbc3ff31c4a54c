/* test_tiling.c - what the text of instructions says: tensors and their padding, sources of transfers. */
#include "unit/unit.h"

#include "model/device/transfers.h"
#include "model/program/tiling.h"

#include <math.h>

static void reads_tiles(void **state)
{
	static const struct {
		const char *expression, *text;
		double frac; /* below 0: unknown */
	} cases[] = {
		{ "", "", -1 },
		{ "%a = f32[] add(f32[] %b, f32[] %c)", "", -1 },
		{ "%a = f32[16,3]{1,0} negate(f32[16,3]{1,0} %b)", "", -1 },
		{ "%a = f32[16,3]{1,0:T(8,128)} negate(f32[16,3]{0,1:T(8,128)} %b)",
		  "result f32 3/128 16/16; operand 1 f32 16/128 3/8", 3.0 / 128 },
		{ "%a = bf16[128,256]{1,0:T(8,128)(2,1)S(1)} fusion(bf16[4]{0:T(256)} %p.1), calls=%f",
		  "result bf16 256/256 128/128; operand 1 bf16 4/256", 4.0 / 256 },
		/* The result's number is said where there are several; layouts of attributes do not count. */
		{ "%t = (f32[8]{0:T(128)}, s32[]) custom-call(f32[8]{0} %x), operand_layout_constraints={f32[9]{0:T(128)}}",
		  "result 1 f32 8/128", 8.0 / 128 },
		{ "%a = f32[2,3,9]{2,1,0:T(8,128)} add(f32[<=5,3]{1,0:T(8,128)} %b)",
		  "result f32 9/128 3/8 2/2; operand 1 f32 3/128 5/8", 3.0 / 128 * 5 / 8 },
		/* Damage is passed over. */
		{ "%a = f32[2,3]{2,1:T(8,128)} f(f32[2,3]{1,0:T(8,128} %b)", "", -1 },
		{ "%a = f32[2,3]{1,0:T(*,128)} f(f32[18446744073709551615]{0:T(128)} %b)",
		  "operand 1 f32 18446744073709551615/18446744073709551615", 1 },
		{ "%a = f32[2", "", -1 },
		{ "%a = f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]{0} f()", "", -1 },
	};
	struct ss_arena arena = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		double frac;
		struct ss_str text = ss_tiling_text(ss_str_from(cases[i].expression), &arena, &frac);
		assert_str(text, cases[i].text);
		if (cases[i].frac < 0)
			assert_true(isnan(frac));
		else
			assert_true(fabs(frac - cases[i].frac) < 1e-12);
	}
	ss_arena_release(&arena);
}

static void counts_bytes(void **state)
{
	static const struct {
		const char *expression;
		uint64_t bytes;
	} cases[] = {
		{ "%a = f32[16,3]{1,0} f()", 192 },	  { "%a = bf16[5]{0} f()", 10 },
		{ "%a = f8e4m3fn[5]{0} f()", 5 },	  { "%a = pred[5]{0} f()", 5 },
		{ "%a = s4[5]{0} f()", 3 },		  { "%a = token[5]{0} f()", 0 },
		{ "%a = f32[18446744073709551615]{0} f()", 0 }, { "%a = (f64[2]{0}, u32[]) send()", 16 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_tiling all = ss_tiling_of(ss_str_from(cases[i].expression));
		struct ss_tiled t;
		assert_true(ss_tiling_next(&all, &t));
		assert_int_equal(ss_tiled_bytes(&t), cases[i].bytes);
	}
}

static void finds_sources(void **state)
{
	static const struct {
		const char *expression;
		uint64_t target;
		enum ss_transfer_source said;
		uint64_t source;
	} cases[] = {
		{ "", 0, SS_SOURCE_UNSAID, 0 },
		{ "f(), channel_id=1", 0, SS_SOURCE_UNSAID, 0 },
		{ "f(), source_target_pairs={{0,1},{1,2}}", 2, SS_SOURCE_SAID, 1 },
		{ "f(), source_target_pairs={{0,1}, {1,2}}", 1, SS_SOURCE_SAID, 0 },
		{ "x={_xla_send_recv_source_target_pairs=\"{{10,11}}\"}", 11, SS_SOURCE_SAID, 10 },
		{ "f(), source_target_pairs={{0,1},{1,2}}", 0, SS_SOURCE_NONE, 0 },
		{ "f(), source_target_pairs={{0,1", 1, SS_SOURCE_UNSAID, 0 },
		{ "f(), source_target_pairs={{99999999999999999999,1}}", 1, SS_SOURCE_UNSAID, 0 },
		{ "f(), source_target_pairs={}", 1, SS_SOURCE_UNSAID, 0 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		uint64_t source = 0;
		assert_int_equal(ss_transfer_source(ss_str_from(cases[i].expression), cases[i].target, &source),
				 cases[i].said);
		assert_int_equal(source, cases[i].source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_tiles), cmocka_unit_test(counts_bytes),
					   cmocka_unit_test(finds_sources) };
	return RUN_TESTS(tests);
}
