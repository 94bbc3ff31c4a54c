/* test_opname.c - what operation names say: the rules of names and types, one row each. */
#include "unit/unit.h"

#include "model/host/opname.h"

static void parses_names(void **state)
{
	static const struct {
		const char *full;
		enum ss_op_category category;
		const char *name, *type;
	} cases[] = {
		{ "", SS_OP_UNKNOWN, "", "" },
		{ "main", SS_OP_UNKNOWN, "main", "" },
		{ "model/dense/MatMul:MatMul", SS_OP_TENSORFLOW, "model/dense/MatMul", "MatMul" },
		{ "model/dense/MatMul_1:", SS_OP_TENSORFLOW, "model/dense/MatMul_1", "MatMul" },
		{ "a.b->c:_Send", SS_OP_TENSORFLOW, "a.b->c", "_Send" },
		{ "Iterator::Root::Prefetch", SS_OP_TFDATA, "Iterator::Root::Prefetch", "Dataset" },
		{ "Iterators::Root", SS_OP_UNKNOWN, "Iterators::Root", "" },
		{ "jit(step)/dot_general:dot_general", SS_OP_JAX, "jit(step)/dot_general", "dot_general" },
		{ "jit(step)/conv[dims=(1, 2)]:conv[dims=(1, 2)]", SS_OP_JAX, "jit(step)/conv[dims=(1, 2)]", "conv" },
		{ "jit(step)/add_3:", SS_OP_JAX, "jit(step)/add_3", "add" },
		{ "nccl:all_reduce", SS_OP_UNKNOWN, "nccl:all_reduce", "" },
		{ "gloo:broadcast", SS_OP_UNKNOWN, "gloo:broadcast", "" },
		{ "MEMCPYHToD", SS_OP_MEMCPY_HTOD, "MEMCPYHToD", "MemcpyHToD" },
		{ "memcpydtoh something", SS_OP_MEMCPY_DTOH, "memcpydtoh something", "MemcpyDToH" },
		{ "MEMCPYDtoD", SS_OP_MEMCPY_DTOD, "MEMCPYDtoD", "MemcpyDToD" },
		{ "MemcpyHToH", SS_OP_MEMCPY_HTOH, "MemcpyHToH", "MemcpyHToH" },
		{ "MemcpyH2D", SS_OP_UNKNOWN, "MemcpyH2D", "" },
		{ "not a name:Type with blanks", SS_OP_UNKNOWN, "not a name:Type with blanks", "" },
		{ "a:b:c", SS_OP_UNKNOWN, "a:b:c", "" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_op_name op = ss_op_name_parse(ss_str_from(cases[i].full));

		assert_str(op.name, cases[i].name);
		assert_str(op.type, cases[i].type);
		assert_int_equal(op.category, cases[i].category);
	}
}

static void splits_scopes(void **state)
{
	struct ss_str rest = SS_STR("a//b/c"), part;
	(void)state;
	assert_true(ss_op_scope_next(&rest, &part));
	assert_str(part, "a");
	assert_true(ss_op_scope_next(&rest, &part));
	assert_str(part, "");
	assert_true(ss_op_scope_next(&rest, &part));
	assert_str(part, "b");
	assert_false(ss_op_scope_next(&rest, &part));
	assert_str(rest, "c");
	rest = SS_STR("x/");
	assert_true(ss_path_next(&rest, &part));
	assert_str(part, "x");
	assert_true(ss_path_next(&rest, &part));
	assert_str(part, "");
	assert_false(ss_path_next(&rest, &part));
}

static void knows_rematerialised_ops(void **state)
{
	(void)state;
	assert_true(ss_op_is_remat(SS_STR("%fusion.1.remat = f32[] fusion()"), SS_STR("")));
	assert_false(ss_op_is_remat(SS_STR("%fusion.1 = f32[] fusion(%a.remat)"), SS_STR("")));
	assert_true(ss_op_is_remat(SS_STR("%a = f32[] b()"), SS_STR("jit(f)/rematted_computation/mul")));
	assert_false(ss_op_is_remat(SS_STR(""), SS_STR("")));
}

static void knows_categories(void **state)
{
	(void)state;
	assert_true(ss_hlo_may_have_inner_ops(SS_STR("while")));
	assert_true(ss_hlo_may_have_inner_ops(SS_STR("megacore fusion")));
	assert_false(ss_hlo_may_have_inner_ops(SS_STR("loop fusion")));
	assert_true(ss_hlo_is_infeed_or_outfeed(SS_STR("infeed wait")));
	assert_true(ss_hlo_is_off_duty(SS_STR("host send-done")));
	assert_false(ss_hlo_is_off_duty(SS_STR("all-reduce")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_names),
		cmocka_unit_test(splits_scopes),
		cmocka_unit_test(knows_rematerialised_ops),
		cmocka_unit_test(knows_categories),
	};
	return RUN_TESTS(tests);
}
