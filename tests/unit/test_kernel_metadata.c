/* test_kernel_metadata.c - what authors of kernels leave in the text of an instruction. */
#include "unit.h"

#include "hlo/kernel_metadata.h"

#define CALL "%a = f32[] custom-call(), custom_call_target=\"tpu_custom_call\", "

static void finds_the_json(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":\"{\\\"x\\\":1}\"}}", "{\"x\":1}" },
		{ CALL "frontend_attributes={a=\"b\",kernel_metadata={\"k\":[2],\"xprof_metadata\": "
		       "\"{ \\\"x y\\\" : 1 }\"},z=\"q\"}",
		  "{\"x y\":1}" },
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":{\"x\": 1}}}", "{\"x\":1}" },
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":\"[1]\"}}, backend_config={}", "[1]" },
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":\"plain\"}}", "" },
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":\"{\"}}", "" },
		{ CALL "frontend_attributes={xkernel_metadata={\"xprof_metadata\":\"{}\"}}", "" },
		{ CALL "kernel_metadata={\"xprof_metadata\":\"{}\"}", "" },
		{ CALL "frontend_attributes={kernel_metadata={\"xprof_metadata\":", "" },
		{ "%a = f32[] fusion(), frontend_attributes={kernel_metadata={\"xprof_metadata\":\"{}\"}}", "" },
		{ "", "" },
	};
	struct ss_arena arena = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_str(ss_hlo_kernel_metadata(ss_str_from(cases[i].text), &arena), cases[i].want);
	ss_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_the_json) };
	return RUN_TESTS(tests);
}
