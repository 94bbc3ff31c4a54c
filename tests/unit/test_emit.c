/* test_emit.c - the writer: numbers, strings, buffering, failure. */
#include "unit/unit.h"

#include "emit/number.h"
#include "emit/out.h"

#include <math.h>
#include <stdio.h>

/* Text of what was written; static, until the next call. */
static const char *text(struct ss_out *o)
{
	static char buf[4096];

	assert_ok(ss_out_finish(o, &err));
	snprintf(buf, sizeof(buf), "%.*s", (int)o->n, o->n ? o->buf : "");
	ss_out_free(o);
	return buf;
}

static void prints_integers(void **state)
{
	static const uint64_t us[] = { 0, 9, 10, 99, 100, 12345, 1234567890123456789u, UINT64_MAX };
	static const int64_t is[] = { 0, -1, 99, -100, INT64_MAX, INT64_MIN };
	char want[32];
	struct ss_out o;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(us); i++) {
		ss_out_init(&o, NULL, NULL);
		ss_out_u64(&o, us[i]);
		snprintf(want, sizeof(want), "%llu", (unsigned long long)us[i]);
		assert_string_equal(text(&o), want);
	}
	for (size_t i = 0; i < SS_COUNT(is); i++) {
		ss_out_init(&o, NULL, NULL);
		ss_out_i64(&o, is[i]);
		snprintf(want, sizeof(want), "%lld", (long long)is[i]);
		assert_string_equal(text(&o), want);
	}
}

/* Numbers of all lengths, held against the C library. */
static void prints_numbers_of_all_lengths(void **state)
{
	uint64_t v = 1, seed = 7;
	char want[40], got[SS_PUT_ROOM + 1];
	(void)state;
	for (int i = 0; i < 20000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		v = i < 64 ? UINT64_C(1) << i : i < 84 ? v * 10 - (i & 1) : seed >> (seed & 63);
		*ss_put_u64(got, v) = '\0';
		snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
		assert_string_equal(got, want);
		*ss_put_us(got, v) = '\0';
		size_t n = (size_t)snprintf(want, sizeof(want), "%llu.%06llu", (unsigned long long)(v / 1000000),
					    (unsigned long long)(v % 1000000));
		while (want[n - 1] == '0')
			want[--n] = '\0';
		if (want[n - 1] == '.')
			want[n - 1] = '\0';
		assert_string_equal(got, want);
	}
}

static void prints_floats_that_read_back(void **state)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {
		{ 0, "0.0" }, { -0.0, "-0.0" }, { 1, "1.0" }, { -3, "-3.0" }, { 0.1, "0.1" }, { 12.34, "12.34" },
		{ 1e15, "1e+15" }, { 123456789012345, "123456789012345.0" }, { 1e-7, "1e-07" },
		{ 0.1 + 0.2, "0.30000000000000004" }, { 1e300, "1e+300" },
		{ (double)NAN, "\"NaN\"" }, { (double)INFINITY, "\"Infinity\"" }, { -(double)INFINITY, "\"-Infinity\"" },
	};
	struct ss_out o;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		ss_out_init(&o, NULL, NULL);
		ss_out_f64(&o, cases[i].v);
		assert_string_equal(text(&o), cases[i].want);
	}
	for (double v = 1e-12; v < 1e18; v *= 7.31) {
		ss_out_init(&o, NULL, NULL);
		ss_out_f64(&o, v);
		assert_true(strtod(text(&o), NULL) == v);
	}
}

static void prints_microseconds_exactly(void **state)
{
	static const struct {
		uint64_t ps;
		const char *want;
	} cases[] = {
		{ 0, "0" }, { 1, "0.000001" }, { 10, "0.00001" }, { 100000, "0.1" }, { 999999, "0.999999" },
		{ 1000000, "1" }, { 1234500, "1.2345" }, { 10000001, "10.000001" },
		{ UINT64_MAX, "18446744073709.551615" },
	};
	struct ss_out o;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		ss_out_init(&o, NULL, NULL);
		ss_out_us(&o, cases[i].ps);
		assert_string_equal(text(&o), cases[i].want);
	}
}

static void escapes_strings(void **state)
{
	static const struct {
		struct ss_str s;
		const char *want;
	} cases[] = {
		{ SS_STR_INIT(""), "\"\"" },
		{ SS_STR_INIT("plain"), "\"plain\"" },
		{ SS_STR_INIT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"" },
		{ SS_STR_INIT("\b\f\n\r\t\x01\x1f\x7f"), "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"" },
		{ SS_STR_INIT("a\0b"), "\"a\\u0000b\"" },
		{ SS_STR_INIT("</script>&"), "\"\\u003c/script\\u003e\\u0026\"" },
		{ SS_STR_INIT("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ SS_STR_INIT("x\xff\xc3"), "\"x\\ufffd\\ufffd\"" },
		{ SS_STR_INIT("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"" },
		{ SS_STR_INIT("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), "\"\\u2028\\u2029\xe2\x80\xaa\"" },
	};
	struct ss_out o;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		ss_out_init(&o, NULL, NULL);
		ss_out_json_str(&o, cases[i].s);
		assert_string_equal(text(&o), cases[i].want);
	}
}

struct sink {
	size_t bytes, calls, refuse_after;
	uint64_t sum;
};

static bool take(void *arg, const char *p, size_t n)
{
	struct sink *s = arg;

	s->calls++;
	s->bytes += n;
	for (size_t i = 0; i < n; i++)
		s->sum = s->sum * 31 + (unsigned char)p[i];
	return !s->refuse_after || s->bytes < s->refuse_after;
}

static void streams_in_pieces(void **state)
{
	struct sink got = { 0 };
	struct ss_out o;
	uint64_t sum = 0;
	char big[5000];
	(void)state;
	memset(big, 'x', sizeof(big));
	ss_out_init(&o, take, &got);
	for (int i = 0; i < 1000; i++) {
		ss_out_str(&o, (struct ss_str){ big, (size_t)i * 5 });
		for (int k = 0; k < i * 5; k++)
			sum = sum * 31 + 'x';
	}
	assert_ok(ss_out_finish(&o, &err));
	assert_int_equal(got.bytes, 999 * 1000 / 2 * 5);
	assert_int_equal(o.total_bytes, got.bytes);
	assert_true(got.sum == sum);
	assert_true(got.calls < 200);
	ss_out_free(&o);
}

static void stops_when_the_reader_goes(void **state)
{
	struct sink got = { .refuse_after = 100000 };
	struct ss_out o;
	(void)state;
	ss_out_init(&o, take, &got);
	for (int i = 0; i < 1000000; i++)
		ss_out_lit(&o, "0123456789");
	assert_fails(ss_out_finish(&o, &err), SS_EIO);
	assert_true(got.bytes < 300000);
	ss_out_free(&o);
}

/* What printf and strtod say of it. */
static size_t fewest_digits(char *out, double v)
{
	int n = 0;
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(out, SS_NUMBER_BYTES, "%.*g", digits, v);
		if (strtod(out, NULL) == v)
			break;
	}
	return (size_t)n;
}

/* Any bits, all sizes, decimals, ratios, and the neighbours of powers of two and ten. */
static double some_number(uint64_t r, unsigned kind)
{
	double v;
	switch (kind) {
	case 0:
		memcpy(&v, &r, sizeof(v));
		return v;
	case 1:
		return (double)(r >> 11) / 9007199254740992.0 * pow(10, (double)(r % 20) - 5);
	case 2:
		return (double)(r % 100000000) / 1000;
	case 3:
		return (double)(r % 1000000) / (double)(1 + (r >> 40) % 1000);
	case 4:
		return ldexp(1, (int)(r % 70) - 20) * (1 + (double)(r % 3) * 0x1p-52);
	default:
		return nextafter(pow(10, (double)(r % 22) - 6), r >> 63 ? 0 : 1e300);
	}
}

static void prints_numbers_like_printf(void **state)
{
	char got[SS_NUMBER_BYTES], want[SS_NUMBER_BYTES];
	uint64_t r = 88172645463325252u;
	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		double v = some_number(r, i % 6);
		if (!isfinite(v))
			continue;
		v = i % 7 ? v : -v;
		size_t n = ss_put_number(got, v), m = fewest_digits(want, v);
		if (n != m || memcmp(got, want, n) != 0)
			fail_msg("%.*s, not %s", (int)n, got, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_numbers_like_printf),
		cmocka_unit_test(prints_integers),
		cmocka_unit_test(prints_numbers_of_all_lengths),
		cmocka_unit_test(prints_floats_that_read_back),
		cmocka_unit_test(prints_microseconds_exactly),
		cmocka_unit_test(escapes_strings),
		cmocka_unit_test(streams_in_pieces),
		cmocka_unit_test(stops_when_the_reader_goes),
	};
	return RUN_TESTS(tests);
}
