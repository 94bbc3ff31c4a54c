/* test_wire.c - the protobuf cursor, on good bytes and on hostile ones. */
#include "unit/unit.h"

#include "wire/gz_in.h"
#include "wire/gz_out.h"
#include "wire/pb.h"

/* A literal as bytes, NULs included. */
#define BYTES(lit) { ("" lit), sizeof(lit) - 1 }

static void reads_each_wire_type(void **state)
{
	struct ss_pb c = ss_pb_of(SS_STR("\x08\x96\x01" "\x12\x03" "abc"
		"\x19\x00\x00\x00\x00\x00\x00\xf8\x3f" "\x25\x01\x02\x03\x04" "\xd8\x04\x05"));
	struct ss_pb_field f;
	(void)state;
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, PB_VAR(1));
	assert_int_equal(f.u, 150);
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, PB_LEN(2));
	assert_str(f.bytes, "abc");
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, PB_I64(3));
	assert_true(ss_pb_double(f.u) == 1.5);
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, PB_I32(4));
	assert_int_equal(f.u, 0x04030201);
	assert_true(ss_pb_next(&c, &f));	/* a field number of two bytes */
	assert_int_equal(f.key, PB_VAR(75));
	assert_false(ss_pb_next(&c, &f));
	assert_false(c.bad);
}

static void reads_varints(void **state)
{
	static const struct {
		struct ss_str bytes;
		bool ok;
		uint64_t value;
	} cases[] = {
		{ BYTES("\x00"), true, 0 },
		{ BYTES("\x7f"), true, 127 },
		{ BYTES("\x80\x01"), true, 128 },
		{ BYTES("\x80\x00"), true, 0 },	/* padded */
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true, UINT64_MAX },
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), true, INT64_MAX },
		{ BYTES(""), false, 0 },
		{ BYTES("\x80"), false, 0 },
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false, 0 },	/* never ends */
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false, 0 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		const uint8_t *begin = (const uint8_t *)cases[i].bytes.p, *p = begin;
		uint64_t v = 0;
		bool ok = ss_pb_varint(&p, begin + cases[i].bytes.n, &v);

		assert_int_equal(ok, cases[i].ok);
		assert_int_equal(p - begin, ok ? cases[i].bytes.n : 0);
		if (ok)
			assert_true(v == cases[i].value);
	}
}

static void skips_groups(void **state)
{
	/* group 1 { group 2 { 3: 1; 4: "ab"; 5: fixed64; 6: fixed32 } } then 7: 7 */
	struct ss_pb c = ss_pb_of(SS_STR("\x0b\x13\x18\x01\x22\x02" "ab\x29........\x35....\x14\x0c\x38\x07"));
	struct ss_pb_field f;
	(void)state;
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, 1 << 3 | 3);
	assert_true(ss_pb_next(&c, &f));
	assert_int_equal(f.key, PB_VAR(7));
	assert_int_equal(f.u, 7);
	assert_false(ss_pb_next(&c, &f));
	assert_false(c.bad);
}

static void refuses_malformed_bytes(void **state)
{
	static const struct ss_str cases[] = {
		BYTES("\x08"),			/* value missing */
		BYTES("\x80"),			/* key cut */
		BYTES("\x00\x01"),		/* field number 0 */
		BYTES("\x0e"),			/* wire type 6 */
		BYTES("\x0f"),			/* wire type 7 */
		BYTES("\x0c"),			/* end of a group that was not begun */
		BYTES("\x12\x05" "abc"),	/* length past the end */
		BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "abc"),
		BYTES("\x12"),			/* length missing */
		BYTES("\x19" "1234567"),	/* fixed64 cut */
		BYTES("\x25" "123"),		/* fixed32 cut */
		BYTES("\x0b\x08\x01"),		/* group not ended */
		BYTES("\x0b\x14"),		/* group ended by another */
		BYTES("\xf8\xff\xff\xff\xff\x0f\x01"),	/* field number beyond 32 bits */
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_pb c = ss_pb_of(cases[i]);
		struct ss_pb_field f;
		unsigned n = 0;

		while (ss_pb_next(&c, &f))
			assert_true(++n < 10);
		if (!c.bad)
			fail_msg("case %zu was taken for protobuf", i);
		assert_false(ss_pb_next(&c, &f) && !c.bad);
	}
}

static void refuses_deep_groups(void **state)
{
	char bytes[100000];
	struct ss_pb c = ss_pb_of((struct ss_str){ bytes, sizeof(bytes) });
	struct ss_pb_field f;
	(void)state;
	memset(bytes, '\x0b', sizeof(bytes) / 2);
	memset(bytes + sizeof(bytes) / 2, '\x0c', sizeof(bytes) / 2);
	assert_false(ss_pb_next(&c, &f));
	assert_true(c.bad);
}

static void lenient_cursor_shows_what_is_left(void **state)
{
	struct ss_pb c = ss_pb_lenient(SS_STR("\x12\x7f" "abc"));
	struct ss_pb_field f;
	(void)state;
	assert_true(ss_pb_next(&c, &f));
	assert_str(f.bytes, "abc");
	assert_true(c.cut);
	assert_false(ss_pb_next(&c, &f));
	assert_false(c.bad);
}

static void reads_map_entries(void **state)
{
	uint64_t key = 7;
	struct ss_str value;
	(void)state;
	assert_true(ss_pb_map_entry(SS_STR("\x08\x05\x12\x01v"), &key, &value));
	assert_int_equal(key, 5);
	assert_str(value, "v");
	assert_true(ss_pb_map_entry(SS_STR("\x12\x01v\x08\x05"), &key, &value));	/* any order */
	assert_int_equal(key, 5);
	assert_true(ss_pb_map_entry(SS_STR(""), &key, &value));
	assert_int_equal(key, 0);
	assert_str(value, "");
	assert_false(ss_pb_map_entry(SS_STR("\x08"), &key, &value));
}

static void judges_utf8(void **state)
{
	static const struct {
		struct ss_str s;
		bool valid;
	} cases[] = {
		{ BYTES(""), true },
		{ BYTES("plain"), true },
		{ BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), true },
		{ BYTES("\xf4\x8f\xbf\xbf"), true },
		{ BYTES("\x80"), false },
		{ BYTES("\xc3"), false },
		{ BYTES("\xc0\x80"), false },		/* overlong */
		{ BYTES("\xe0\x9f\xbf"), false },	/* overlong */
		{ BYTES("\xed\xa0\x80"), false },	/* surrogate */
		{ BYTES("\xf4\x90\x80\x80"), false },	/* beyond U+10FFFF */
		{ BYTES("\xff"), false },
		{ BYTES("ab\xe2\x82"), false },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_int_equal(ss_utf8_valid(cases[i].s), cases[i].valid);
}

static void unpacks_one_member(void **state)
{
	char text[5000];
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_str packed;
	struct ss_err err = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * i >> 3);
	assert_non_null(gz);
	ss_gz_write(gz, (struct ss_str){ text, sizeof(text) });
	assert_true(ss_gz_finish(gz, &packed));
	for (size_t n = 0; n <= packed.n; n++) {
		struct ss_buf out = { .limit_bytes = 1 << 20 };
		bool whole;
		assert_true(ss_gz_in_one(ss_str_sub(packed, 0, n), &out, &whole, &err));
		assert_int_equal(whole, n == packed.n);
		assert_int_equal(out.n, whole ? sizeof(text) : 0);
		assert_true(!whole || memcmp(out.p, text, sizeof(text)) == 0);
		ss_buf_free(&out);
	}
	struct ss_buf out = { .limit_bytes = sizeof(text) - 1 };
	bool whole;
	assert_true(ss_gz_in_one(packed, &out, &whole, &err));
	assert_true(out.over && !whole);
	ss_buf_free(&out);
	ss_gz_close(gz);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_wire_type),
		cmocka_unit_test(reads_varints),
		cmocka_unit_test(skips_groups),
		cmocka_unit_test(refuses_malformed_bytes),
		cmocka_unit_test(refuses_deep_groups),
		cmocka_unit_test(lenient_cursor_shows_what_is_left),
		cmocka_unit_test(reads_map_entries),
		cmocka_unit_test(judges_utf8),
		cmocka_unit_test(unpacks_one_member),
	};
	return RUN_TESTS(tests);
}
