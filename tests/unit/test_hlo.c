/* test_hlo.c - compiled programs: what is found by name and id, and what damage leaves. */
#include "unit/build_pb.h"
#include "unit/unit.h"

#include "hlo/hlo.h"
#include "hlo/links.h"

static void put_instr(struct bytes *computation, const char *name, int64_t id, const char *op_name, bool packed)
{
	struct bytes i = { .n = 0 }, meta = { .n = 0 };

	put_text(&i, HLO_INSTRUCTION_NAME, name);
	put_text(&i, HLO_INSTRUCTION_OPCODE, "add");
	put_num(&i, HLO_INSTRUCTION_ID, (uint64_t)id);
	put_text(&meta, OP_METADATA_OP_NAME, op_name);
	put_num(&meta, OP_METADATA_SOURCE_LINE, 7);
	put_msg(&i, HLO_INSTRUCTION_METADATA, &meta);
	if (packed) {
		put_raw(&i, HLO_INSTRUCTION_OPERAND_IDS, SS_STR("\x01\x80\x02"));
	} else {
		put_num(&i, HLO_INSTRUCTION_OPERAND_IDS, 1);
		put_num(&i, HLO_INSTRUCTION_OPERAND_IDS, 256);
	}
	put_msg(computation, HLO_COMPUTATION_INSTRUCTIONS, &i);
}

static void put_module(struct bytes *proto)
{
	struct bytes module = { .n = 0 };

	put_text(&module, HLO_MODULE_NAME, "jit_step");
	put_num(&module, HLO_MODULE_ID, 5);
	for (uint64_t c = 1; c <= 2; c++) {
		struct bytes comp = { .n = 0 };

		put_text(&comp, HLO_COMPUTATION_NAME, c == 1 ? "fused" : "main");
		put_num(&comp, HLO_COMPUTATION_ID, c * 10);
		put_instr(&comp, c == 1 ? "add.1" : "fusion.2", (int64_t)c * 100, "jit(step)/add", c == 1);
		put_instr(&comp, "twice", (int64_t)c * 100 + 1, c == 1 ? "first" : "second", false);
		put_msg(&module, HLO_MODULE_COMPUTATIONS, &comp);
	}
	put_msg(proto, HLO_PROTO_MODULE, &module);
}

static void finds_by_name_and_id(void **state)
{
	struct bytes b = { .n = 0 };
	struct ss_hlo_module m;
	struct ss_hlo_instr i;
	(void)state;
	put_module(&b);
	ss_hlo_open(&m, bytes_str(&b));
	assert_str(m.name, "jit_step");
	assert_int_equal(m.id, 5);
	assert_ok(ss_hlo_index(&m, &err));
	assert_int_equal(m.ncomputations, 2);
	assert_int_equal(m.ninstrs, 4);
	assert_str(m.computations[ss_hlo_computation_by_id(&m, 20)].name, "main");
	assert_int_equal(ss_hlo_computation_by_id(&m, 99), SS_NONE);
	uint32_t at = ss_hlo_instr_by_name(&m, SS_STR("fusion.2"));
	assert_int_equal(at, ss_hlo_instr_by_id(&m, 200));
	assert_int_equal(ss_hlo_instr_by_name(&m, SS_STR("fusion")), SS_NONE);
	ss_hlo_instr_read(m.instrs[at], &i);
	assert_str(i.op_name, "jit(step)/add");
	assert_int_equal(i.source_line, 7);
	ss_hlo_instr_read(m.instrs[ss_hlo_instr_by_name(&m, SS_STR("twice"))], &i);
	assert_str(i.op_name, "first");	/* of equal names the first counts */
	ss_hlo_close(&m);
}

static void walks_repeated_ids(void **state)
{
	struct bytes b = { .n = 0 };
	struct ss_hlo_module m;
	(void)state;
	put_module(&b);
	ss_hlo_open(&m, bytes_str(&b));
	assert_ok(ss_hlo_index(&m, &err));
	for (uint32_t k = 0; k < m.ninstrs; k++) {	/* packed or not */
		struct ss_hlo_ids it = ss_hlo_ids_of(m.instrs[k], HLO_INSTRUCTION_OPERAND_IDS);
		int64_t id = 0;

		assert_true(ss_hlo_ids_next(&it, &id) && id == 1);
		assert_true(ss_hlo_ids_next(&it, &id) && id == 256);
		assert_false(ss_hlo_ids_next(&it, &id));
	}
	ss_hlo_close(&m);
}

static void survives_damage(void **state)
{
	struct bytes b = { .n = 0 };
	(void)state;
	put_module(&b);
	for (size_t n = 0; n < b.n; n++) {
		struct bytes bad = b;
		struct ss_hlo_module m;
		struct ss_err err = { 0 };

		bad.n = n;
		ss_hlo_open(&m, bytes_str(&bad));
		assert_true(ss_hlo_index(&m, &err) || err.text[0]);
		ss_hlo_close(&m);
		bad.n = b.n;
		bad.p[n] = (char)(bad.p[n] ^ 0x55);
		ss_hlo_open(&m, bytes_str(&bad));
		if (ss_hlo_index(&m, NULL))
			assert_true(m.ninstrs <= b.n);
		ss_hlo_close(&m);
	}
}

static void counts_what_is_damaged(void **state)
{
	struct bytes b = { .n = 0 }, module = { .n = 0 }, computation = { .n = 0 };
	struct ss_hlo_module m;
	(void)state;
	put_module(&b);
	ss_hlo_open(&m, bytes_str(&b));
	assert_ok(ss_hlo_index(&m, &err));
	assert_int_equal(m.ndamaged, 0);
	ss_hlo_close(&m);

	put_instr(&computation, "add.1", 1, "add", false);
	put_raw(&computation, HLO_COMPUTATION_INSTRUCTIONS, SS_STR("\x0a\x7f"));	/* a name of 127 bytes that are not there */
	put_raw(&module, HLO_MODULE_COMPUTATIONS, SS_STR("\x12\x7f"));
	put_msg(&module, HLO_MODULE_COMPUTATIONS, &computation);
	b.n = 0;
	put_msg(&b, HLO_PROTO_MODULE, &module);
	ss_hlo_open(&m, bytes_str(&b));
	assert_ok(ss_hlo_index(&m, &err));
	assert_int_equal(m.ndamaged, 2);
	assert_int_equal(m.ninstrs, 2);
	ss_hlo_close(&m);
}

/* Names that the file does not give are empty texts, not none: tables take them. */
static void nameless_has_empty_names(void **state)
{
	static const char bytes[] = { 0x0a, 0x04, 0x1a, 0x02, 0x28, 0x01 }; /* a module with a computation of id 1 */
	struct ss_hlo_module m;

	(void)state;
	ss_hlo_open(&m, (struct ss_str){ bytes, sizeof(bytes) });
	assert_ok(ss_hlo_index(&m, &err));
	assert_int_equal(m.ncomputations, 1);
	assert_non_null(m.name.p);
	assert_non_null(m.entry_name.p);
	assert_non_null(m.computations[0].name.p);
	ss_hlo_close(&m);
}

/* What an indexed module says does not change with the file that it was read from. */
static void stays_what_was_indexed(void **state)
{
	struct bytes b = { .n = 0 };
	struct ss_hlo_module m;
	struct ss_hlo_links links;
	struct ss_arena arena = { 0 };

	(void)state;
	put_module(&b);
	ss_hlo_open(&m, bytes_str(&b));
	assert_ok(ss_hlo_index(&m, &err));
	memset(b.p, 0x12, b.n);	/* fields that hold fields, wherever one begins to read */
	assert_str(m.name, "jit_step");
	assert_int_equal(ss_hlo_instr_by_name(&m, SS_STR("fusion.2")), ss_hlo_instr_by_id(&m, 200));
	assert_true(ss_hlo_links_of(&links, &m, &arena));
	for (uint32_t i = 0; i < m.ninstrs; i++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(m.instrs[i], HLO_INSTRUCTION_OPERAND_IDS);
		int64_t id;

		assert_true(ss_hlo_ids_next(&it, &id) && id == 1);
	}
	ss_arena_release(&arena);
	ss_hlo_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_name_and_id),
		cmocka_unit_test(walks_repeated_ids),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(counts_what_is_damaged),
		cmocka_unit_test(nameless_has_empty_names),
		cmocka_unit_test(stays_what_was_indexed),
	};
	return RUN_TESTS(tests);
}
