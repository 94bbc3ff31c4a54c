/* test_tiling.c - tensors and their padding, read off the text of instructions. */
#include "unit/unit.h"

#include "model/tiling.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_tiles) };
	return RUN_TESTS(tests);
}
