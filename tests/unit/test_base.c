/* test_base.c - strings, HTML, errors, vectors, arenas, maps, threads, files. */
#include "unit/unit.h"

#include "base/fingerprint.h"
#include "base/safe.h"
#include "base/sha1.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/hold.h"
#include "base/html.h"
#include "base/huge.h"
#include "base/ids.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/spill.h"
#include "base/vec.h"

#include <math.h>

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* --- str -------------------------------------------------------------------------------------- */

static void str_compares(void **state)
{
	static const struct {
		const char *a, *b;
		bool eq, starts, ends, contains, ieq;
		int cmp;
	} cases[] = {
		{ "", "", true, true, true, true, true, 0 },
		{ "a", "", false, true, true, true, false, 1 },
		{ "", "a", false, false, false, false, false, -1 },
		{ "fusion.1", "fusion", false, true, false, true, false, 1 },
		{ "fusion.1", ".1", false, false, true, true, false, 1 },
		{ "XLA Ops", "xla ops", false, false, false, false, true, -1 },
		{ "abc", "abd", false, false, false, false, false, -1 },
		{ "\xff", "a", false, false, false, false, false, 1 },
		{ "aab", "ab", false, false, true, true, false, -1 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_str a = ss_str_from(cases[i].a), b = ss_str_from(cases[i].b);
		int cmp = ss_str_cmp(a, b);

		assert_int_equal(ss_str_eq(a, b), cases[i].eq);
		assert_int_equal(ss_str_starts(a, b), cases[i].starts);
		assert_int_equal(ss_str_ends(a, b), cases[i].ends);
		assert_int_equal(ss_str_contains(a, b), cases[i].contains);
		assert_int_equal(ss_str_ieq(a, b), cases[i].ieq);
		assert_int_equal((cmp > 0) - (cmp < 0), cases[i].cmp);
	}
}

static void str_finds(void **state)
{
	struct ss_str s = SS_STR("a/b/c");
	(void)state;
	assert_int_equal(ss_str_chr(s, '/'), 1);
	assert_int_equal(ss_str_rchr(s, '/'), 3);
	assert_int_equal(ss_str_chr(s, 'x'), SS_NPOS);
	assert_int_equal(ss_str_rchr(SS_STR(""), '/'), SS_NPOS);
	assert_int_equal(ss_str_find(s, SS_STR("b/")), 2);
	assert_int_equal(ss_str_find(s, SS_STR("")), 0);
	assert_int_equal(ss_str_find(s, SS_STR("a/b/c/d")), SS_NPOS);
	assert_str(ss_str_sub(s, 2, 3), "b");
	assert_str(ss_str_sub(s, 2, 99), "b/c");
	assert_str(ss_str_sub(s, 99, 2), "");
	assert_str(ss_str_sub((struct ss_str){ NULL, 0 }, 0, 1), "");
}

static void str_reads_integers(void **state)
{
	static const struct {
		const char *text;
		bool i_ok, u_ok;
		int64_t i;
		uint64_t u;
	} cases[] = {
		{ "0", true, true, 0, 0 },
		{ "007", true, true, 7, 7 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", false, true, 0, (uint64_t)INT64_MAX + 1 },
		{ "-9223372036854775808", true, false, INT64_MIN, 0 },
		{ "-9223372036854775809", false, false, 0, 0 },
		{ "18446744073709551615", false, true, 0, UINT64_MAX },
		{ "18446744073709551616", false, false, 0, 0 },
		{ "", false, false, 0, 0 },
		{ "-", false, false, 0, 0 },
		{ "1 ", false, false, 0, 0 },
		{ " 1", false, false, 0, 0 },
		{ "1e3", false, false, 0, 0 },
		{ "0x10", false, false, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		int64_t si = 0;
		uint64_t ui = 0;

		assert_int_equal(ss_str_to_i64(ss_str_from(cases[i].text), &si), cases[i].i_ok);
		assert_true(si == cases[i].i);
		assert_int_equal(ss_str_to_u64(ss_str_from(cases[i].text), &ui), cases[i].u_ok);
		assert_true(ui == cases[i].u);
	}
}

static void str_reads_floats(void **state)
{
	double d = 7;
	(void)state;
	assert_true(ss_str_to_f64(SS_STR("82.4988"), &d) && d == 82.4988);
	assert_true(ss_str_to_f64(SS_STR("-1e-3"), &d) && d == -1e-3);
	/* Short decimals are read without strtod: the same bits. */
	for (uint64_t i = 0; i < 100000; i++) {
		char text[32];
		uint64_t digits = i * UINT64_C(2654435761) * 97 % UINT64_C(1000000000000000);
		int n = snprintf(text, sizeof(text), "%s%llu.%llu", i % 3 ? "" : "-", (unsigned long long)(digits / 1000000),
				 (unsigned long long)(digits % 1000000 + 1));
		double want = strtod(text, NULL);
		assert_true(ss_str_to_f64((struct ss_str){ text, (size_t)n }, &d));
		assert_memory_equal(&d, &want, sizeof(d));
	}
	assert_true(ss_str_to_f64(SS_STR("-0"), &d) && d == 0 && signbit(d));
	assert_true(ss_str_to_f64(SS_STR("5."), &d) && d == 5);
	assert_true(ss_str_to_f64(SS_STR("9007199254740993"), &d) && d == 9007199254740992.0);
	d = 7;
	assert_false(ss_str_to_f64(SS_STR("1.2.3"), &d));
	assert_false(ss_str_to_f64(SS_STR("-"), &d));
	assert_false(ss_str_to_f64(SS_STR(""), &d));
	assert_false(ss_str_to_f64(SS_STR("1.5ms"), &d));
	assert_false(ss_str_to_f64(SS_STR(" 1"), &d));
	assert_false(ss_str_to_f64(SS_STR("."), &d));
	assert_true(d == 7);
}

static void str_hashes_by_content(void **state)
{
	char a[64], b[64];
	(void)state;
	for (size_t n = 0; n < 40; n++) {
		memset(a, 'x', sizeof(a));
		memset(b, 'x', sizeof(b));
		b[n] = 'y';	/* beyond the string: must not count */
		struct ss_str sa = { a, n }, sb = { b, n };
		assert_true(ss_str_hash(sa) == ss_str_hash(sb));
		if (n) {
			b[n - 1] = 'z';
			assert_true(ss_str_hash(sa) != ss_str_hash(sb));
		}
	}
}

/* --- html ------------------------------------------------------------------------------------- */

/* Examples of FIPS 180, and lengths around a block. */
static void sha1_is_that_of_others(void **state)
{
	static const struct {
		struct ss_str text;
		const char *hex;
	} cases[] = { { SS_STR_INIT(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		      { SS_STR_INIT("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d" },
		      { SS_STR_INIT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
			"84983e441c3bd26ebaae4aa1f95129e5e54670f1" } };
	char hex[SS_SHA1_HEX_BYTES], a[1000];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		ss_sha1_hex(cases[i].text, hex);
		assert_string_equal(hex, cases[i].hex);
	}
	memset(a, 'a', sizeof(a));
	ss_sha1_hex((struct ss_str){ a, 64 }, hex);
	assert_string_equal(hex, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
	ss_sha1_hex((struct ss_str){ a, 55 }, hex);
	assert_string_equal(hex, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
	ss_sha1_hex((struct ss_str){ a, 1000 }, hex);
	assert_string_equal(hex, "291e9a6c66994949b57ba5e650361e98fc36b1ba");
}

static void html_escapes_what_it_reads(void **state)
{
	char all[256], bold[] = "<b>\"R&D\"</b> isn't";
	struct ss_buf html = { 0 }, plain = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	ss_html_escape(&html, (struct ss_str){ all, sizeof(all) });
	assert_false(ss_str_contains(ss_buf_get(&html), SS_STR("<")));
	ss_html_plain(&plain, ss_buf_get(&html));
	assert_true(ss_str_eq(ss_buf_get(&plain), (struct ss_str){ all, sizeof(all) }));
	html.n = plain.n = 0;
	ss_html_escape(&html, ss_str_from(bold));
	assert_true(ss_str_is(ss_buf_get(&html), "&lt;b&gt;&quot;R&amp;D&quot;&lt;/b&gt; isn&#39;t"));
	ss_buf_free(&html);
	ss_buf_free(&plain);
}

static void html_becomes_text(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "see <a href=\"x?a=1&b=2\">the page</a>.", "see the page." },
		{ "1 < 2", "1 < 2" },
		{ "&lt;b&gt; &amp;lt; &nbsp; &", "<b> &lt; &nbsp; &" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_buf out = { 0 };
		ss_html_plain(&out, ss_str_from(cases[i][0]));
		if (!ss_str_is(ss_buf_get(&out), cases[i][1]))
			fail_msg("%s: '%.*s'", cases[i][0], (int)out.n, out.p);
		ss_buf_free(&out);
	}
}

/* --- err -------------------------------------------------------------------------------------- */

static void err_names_a_path_as_the_user_does(void **state)
{
	(void)state;
	struct ss_path_name archive = { .path = "/var/tmp/x/members/a", .shown = "a.tgz", .between = ':' },
			    bucket = { .path = "/cache/t1", .shown = "s3://b/a-much-longer-name", .between = '/' };
	struct ss_err err = { 0 };
	ss_path_name_add(&archive);
	ss_path_name_add(&bucket);
	ss_fail(&err, SS_EIO, "cannot read '%s': see '%s' and '%s'", "/var/tmp/x/members/a/run/vm.pb", "/cache/t1/vm.pb",
		"/var/tmp/x/members/a");
	assert_string_equal(err.text, "cannot read 'a.tgz:run/vm.pb': see 's3://b/a-much-longer-name/vm.pb' and 'a.tgz'");
	/* A text that grows beyond its room is cut. */
	char many[sizeof(err.text)];
	memset(many, 0, sizeof(many));
	while (strlen(many) + strlen("/cache/t1 ") < sizeof(many))
		strcat(many, "/cache/t1 ");
	err = (struct ss_err){ 0 };
	ss_fail(&err, SS_EIO, "%s", many);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	ss_path_name_remove(&archive);
	err = (struct ss_err){ 0 };
	ss_fail(&err, SS_EIO, "%s, %s", "/var/tmp/x/members/a", "/cache/t1");
	assert_string_equal(err.text, "/var/tmp/x/members/a, s3://b/a-much-longer-name");
	ss_path_name_remove(&bucket);
}

static void err_keeps_the_first(void **state)
{
	struct ss_err err = { 0 };
	(void)state;
	assert_false(ss_fail(&err, SS_EFORMAT, "bad byte at %d", 7));
	assert_false(ss_fail(&err, SS_EIO, "later"));
	assert_int_equal(err.code, SS_EFORMAT);
	assert_string_equal(err.text, "bad byte at 7");
	assert_false(ss_fail(NULL, SS_EIO, "nobody listens"));
	err = (struct ss_err){ 0 };
	assert_false(ss_fail_mem(&err));
	assert_int_equal(err.code, SS_ENOMEM);
}

static void err_clips_long_texts(void **state)
{
	struct ss_err err = { 0 };
	char big[2000];
	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ss_fail(&err, SS_EIO, "%s", big);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

/* --- vec -------------------------------------------------------------------------------------- */

static void vec_grows(void **state)
{
	SS_VEC(uint32_t) v = { 0 };
	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(ss_vec_push(&v, i * 3));
	assert_int_equal(v.n, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(v.v[i] == i * 3);
	ss_vec_free(&v);
	assert_null(v.v);
	assert_int_equal(v.n, 0);
}

static void vec_refuses_what_cannot_be(void **state)
{
	SS_VEC(uint64_t) v = { 0 };
	(void)state;
	assert_false(ss_vec_reserve(&v, SIZE_MAX / 4));
	assert_null(v.v);
	assert_int_equal(v.cap, 0);
}

/* --- arena ------------------------------------------------------------------------------------ */

static void arena_hands_out_aligned_memory(void **state)
{
	struct ss_arena a = { 0 };
	unsigned char *prev = NULL;
	(void)state;
	for (size_t n = 0; n < 3000; n += 7) {
		unsigned char *p = ss_arena_alloc(&a, n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		memset(p, 0xa5, n);
		if (prev && n > 7)
			assert_int_equal(prev[n - 8], 0xa5);
		prev = p;
	}
	assert_non_null(ss_arena_alloc(&a, 10u << 20));
	assert_true(a.used_bytes >= 10u << 20);
	ss_arena_release(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_non_null(ss_arena_alloc(&a, 1));
	ss_arena_release(&a);
}

static void arena_clears_and_checks(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	for (int round = 0; round < 3; round++) {
		unsigned char *p = ss_arena_zalloc(&a, 33, 7);

		assert_non_null(p);
		for (int i = 0; i < 33 * 7; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, 33 * 7);
	}
	assert_null(ss_arena_zalloc(&a, SIZE_MAX / 2, 3));
	assert_null(ss_arena_alloc(&a, SIZE_MAX - 8));
	ss_arena_release(&a);
}

static void arena_copies_strings(void **state)
{
	struct ss_arena a = { 0 };
	char source[] = "volatile";
	struct ss_str s = ss_arena_str(&a, ss_str_from(source));
	(void)state;
	source[0] = 'X';
	assert_str(s, "volatile");
	assert_int_equal(s.p[s.n], '\0');
	s = ss_arena_str(&a, SS_STR(""));
	assert_non_null(s.p);
	assert_int_equal(s.p[0], '\0');
	assert_str(ss_arena_printf(&a, "%s-%d", "fusion", 42), "fusion-42");
	ss_arena_release(&a);
}

/* --- map -------------------------------------------------------------------------------------- */

static void u64map_keeps_every_key(void **state)
{
	struct ss_u64map m = { 0 };
	(void)state;
	assert_int_equal(ss_u64map_get(&m, 0), SS_NONE);
	for (uint32_t i = 0; i < 50000; i++)	/* keys that collide in their low bits, 0 and ~0 among them */
		assert_int_equal(ss_u64map_add(&m, (uint64_t)i << 32, i), i);
	assert_int_equal(ss_u64map_add(&m, UINT64_MAX, 7), 7);
	assert_int_equal(ss_u64map_add(&m, UINT64_MAX, 8), 7);
	assert_true(ss_u64map_put(&m, UINT64_MAX, 9));
	assert_int_equal(ss_u64map_get(&m, UINT64_MAX), 9);
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(ss_u64map_get(&m, (uint64_t)i << 32), i);
	assert_int_equal(ss_u64map_get(&m, 1), SS_NONE);
	assert_int_equal(m.n, 50001);
	ss_u64map_free(&m);
	assert_int_equal(ss_u64map_get(&m, 0), SS_NONE);
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double time_of_adding(const uint64_t *keys, uint32_t n)
{
	struct ss_u64map m = { 0 };
	double begin = seconds();
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(ss_u64map_add(&m, keys[i], i), i);
	double took = seconds() - begin;
	ss_u64map_free(&m);
	return took;
}

enum { HOSTILE = 65536 };

/*
 * Keys that differ in their top bits alone, and keys whose product with the golden ratio does: all
 * in one slot, if that is all a map looks at.
 */
static void u64map_stands_hostile_keys(void **state)
{
	static uint64_t plain[HOSTILE], top[HOSTILE], product[HOSTILE];
	(void)state;
	for (uint64_t i = 0; i < HOSTILE; i++) {
		plain[i] = i;
		top[i] = i << 48;
		product[i] = (i << 48) * 0xf1de83e19937733du; /* the inverse of the golden ratio */
	}
	double usual = time_of_adding(plain, HOSTILE) + 1e-3;
	assert_true(time_of_adding(top, HOSTILE) < 30 * usual);
	assert_true(time_of_adding(product, HOSTILE) < 30 * usual);
}

static void add_all(const uint64_t *words, size_t words_of_key)
{
	struct ss_strmap m = { 0 };
	double begin = seconds();
	for (uint32_t i = 0; i < HOSTILE; i++) {
		struct ss_str key = { (const char *)(words + i * words_of_key), 8 * words_of_key };
		assert_int_equal(ss_strmap_add(&m, key), i);
	}
	assert_true(seconds() - begin < 2); /* some ms; all in one slot: more than ten seconds */
	ss_strmap_free(&m);
}

/*
 * Against a hash h = (h ^ word) * k, h ^= h >> 29. Two words each: the second undoes what the first did to a
 * hash that begins with a known number. Sixteen pairs of words each: the second of a pair undoes a change of
 * the first whatever the hash was before, since the highest bit stays alone in a product with an odd number.
 */
static void strmap_stands_hostile_keys(void **state)
{
	static uint64_t two[HOSTILE][2], pairs[HOSTILE][32];
	const uint64_t k = 0x9e3779b97f4a7c15u, high = UINT64_C(1) << 63;
	(void)state;
	for (uint64_t i = 0; i < HOSTILE; i++) {
		uint64_t h = ((k ^ 16) ^ i) * k;
		two[i][0] = i;
		two[i][1] = h ^ (h >> 29);
		for (int bit = 0; bit < 16; bit++)
			if (i >> bit & 1) {
				pairs[i][2 * bit] = high;
				pairs[i][2 * bit + 1] = high ^ high >> 29;
			}
	}
	add_all(two[0], 2);
	add_all(pairs[0], 32);
}

static void strmap_interns(void **state)
{
	struct ss_strmap m = { 0 };
	static char names[20000][16];
	(void)state;
	assert_int_equal(ss_strmap_get(&m, SS_STR("a")), SS_NONE);
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(names[i], sizeof(names[i]), "op.%u", i);
		assert_int_equal(ss_strmap_add(&m, ss_str_from(names[i])), i);
	}
	assert_int_equal(ss_strmap_add(&m, SS_STR("op.77")), 77);
	assert_int_equal(m.n, 20000);
	assert_str(m.keys[19999], "op.19999");
	assert_int_equal(ss_strmap_add(&m, SS_STR("")), 20000);
	assert_int_equal(ss_strmap_get(&m, SS_STR("")), 20000);
	assert_int_equal(ss_strmap_get(&m, SS_STR("op")), SS_NONE);
	ss_strmap_free(&m);
}

/* --- pool ------------------------------------------------------------------------------------- */

static bool mark(void *arg, size_t i, struct ss_err *err)
{
	(void)err;
	((unsigned char *)arg)[i]++;
	return true;
}

static bool fail_from(void *arg, size_t i, struct ss_err *err)
{
	atomic_fetch_add((atomic_size_t *)arg, 1);
	return i < 10 || ss_fail(err, SS_EFORMAT, "piece %zu", i);
}

static void pool_does_each_piece_once(void **state)
{
	static unsigned char done[1000];
	(void)state;
	for (unsigned threads = 0; threads < 20; threads += 3) {
		memset(done, 0, sizeof(done));
		assert_ok(ss_parallel(SS_COUNT(done), threads, mark, done, &err));
		for (size_t i = 0; i < SS_COUNT(done); i++)
			assert_int_equal(done[i], 1);
	}
	assert_ok(ss_parallel(0, 0, mark, NULL, &err));
}

static void pool_reports_and_stops(void **state)
{
	atomic_size_t runs = 0;
	struct ss_err first = { 0 };
	(void)state;
	assert_false(ss_parallel(1000000, 1, fail_from, &runs, &first));
	assert_string_equal(first.text, "piece 10");
	assert_int_equal(runs, 11);
	runs = 0;
	assert_fails(ss_parallel(1000000, 8, fail_from, &runs, &err), SS_EFORMAT);
	assert_true(runs < 1000000);
}

/* --- file ------------------------------------------------------------------------------------- */

static void file_maps(void **state)
{
	char path[] = "/tmp/stepscope-unit-XXXXXX";
	int fd = mkstemp(path);
	struct ss_file f;
	(void)state;
	assert_true(fd >= 0);
	assert_ok(ss_file_open(&f, path, &err));	/* empty */
	assert_int_equal(f.bytes.n, 0);
	ss_file_close(&f);
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_ok(ss_file_open(&f, path, &err));
	assert_str(f.bytes, "12345");
	ss_file_forget(&f, f.bytes);
	assert_str(f.bytes, "12345");
	close(fd);
	unlink(path);
	ss_file_close(&f);
}

static void file_refuses(void **state)
{
	struct ss_file f;
	(void)state;
	assert_fails(ss_file_open(&f, "/nowhere/at all", &err), SS_ENOTFOUND);
	assert_fails(ss_file_open(&f, "/tmp", &err), SS_EIO);
	assert_fails(ss_file_open(&f, "/dev/null", &err), SS_EIO);
}

/* Whatever a file says: nothing overflows, and no end is before its begin. */
static void adds_what_may_be_anything(void **state)
{
	static const int64_t begins[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	static const uint64_t lengths[] = { 0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(begins); i++)
		for (size_t k = 0; k < SS_COUNT(lengths); k++) {
			int64_t end = ss_safe_end(begins[i], lengths[k]);
			assert_true(end >= begins[i]);
			assert_true(ss_safe_clips(begins[i], lengths[k]) ? end == INT64_MAX
									 : ss_safe_between(begins[i], end) == lengths[k]);
		}
	assert_true(ss_safe_between(INT64_MIN, INT64_MAX) == UINT64_MAX);
	assert_true(ss_safe_between(5, 4) == 0);
	assert_true(ss_safe_add(UINT64_MAX, 1) == UINT64_MAX && ss_safe_add(2, 3) == 5);
	assert_true(ss_safe_u64(-1) == 0 && ss_safe_u64(1e300) == UINT64_MAX && ss_safe_u64(7.9) == 7);
	assert_true(ss_safe_u64(__builtin_nan("")) == 0 && ss_safe_i64(__builtin_nan("")) == 0);
	assert_true(ss_safe_i64(-1e300) == INT64_MIN && ss_safe_i64(1e300) == INT64_MAX && ss_safe_i64(-7.9) == -7);
}

/*
 * Close together or far apart: the first value of an id stays, and what was not added is not there.
 */
static void ids_are_found(void **state)
{
	static const uint64_t steps[] = { 1, 3, 1000, UINT64_C(1) << 40 };
	(void)state;
	for (size_t k = 0; k < SS_COUNT(steps); k++) {
		struct ss_ids m;
		uint64_t least = 7, most = least + 999 * steps[k];
		assert_true(ss_ids_open(&m, least, most, 1000));
		assert_true((m.dense != NULL) == (steps[k] < 4));
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(ss_ids_add(&m, least + i * steps[k], i), i);
		assert_int_equal(ss_ids_add(&m, least, 5), 0);
		assert_int_equal(ss_ids_get(&m, most), 999);
		assert_int_equal(ss_ids_get(&m, most + 1), SS_NONE);
		assert_int_equal(ss_ids_get(&m, least - 1), SS_NONE);
		assert_int_equal(ss_ids_add(&m, most + 1, 1000), 1000);
		ss_ids_free(&m);
	}
	struct ss_ids none;
	assert_true(ss_ids_open(&none, UINT64_MAX, 0, 0));
	assert_int_equal(ss_ids_get(&none, 1), SS_NONE);
	ss_ids_free(&none);
}

static void idset_tells_what_it_had(void **state)
{
	struct ss_idset s = { 0 };
	bool had;
	(void)state;
	for (uint64_t pass = 0; pass < 2; pass++)
		for (uint64_t kind = 0; kind < 3; kind++)
			for (uint64_t id = 0; id < 2000; id++) {
				assert_true(ss_idset_add(&s, kind, id * (kind + 1), &had));
				assert_true(had == (pass == 1));
			}
	assert_true(ss_idset_add(&s, 0, UINT64_MAX, &had) && !had);
	assert_true(ss_idset_add(&s, 0, UINT64_MAX, &had) && had);
	ss_idset_free(&s);
}

/* What is too much to hold reads the same out of its file; without a place for one it stays. */
static void spilled_bytes_are_read_back(void **state)
{
	struct ss_buf b = { 0 };
	struct ss_file f;
	(void)state;
	for (int i = 0; i < 3000000; i++)
		ss_buf_char(&b, (char)(i % 251));
	setenv("TMPDIR", "/nowhere/at all", 1);
	assert_false(ss_spill(&f, &b));
	assert_int_equal(b.n, 3000000);
	unsetenv("TMPDIR");
	assert_true(ss_spill(&f, &b));
	assert_null(b.p);
	assert_int_equal(f.bytes.n, 3000000);
	ss_file_forget(&f, f.bytes);
	for (int i = 0; i < 3000000; i++)
		assert_int_equal(f.bytes.p[i], (char)(i % 251));
	ss_file_close(&f);
}

static void released_memory_ends_at_a_page(void **state)
{
	size_t n = (size_t)1 << 20;
	char *p = malloc(n);
	(void)state;
	assert_non_null(p);
	memset(p, 7, n);
	ss_huge_release(p, n / 2);
	for (size_t i = n / 2; i < n; i++)
		assert_int_equal(p[i], 7);
	ss_huge_release(p, 0);
	free(p);
}

/* ---- holds ---- */

static void holds_share_a_budget(void **state)
{
	struct ss_hold *a = ss_hold_open(1000), *b = ss_hold_open(1000);
	const uint64_t own = 1000 * SS_HOLD_PER_FILE_BYTE, half = SS_HOLD_BUDGET_BYTES / 2;
	struct ss_err why = { 0 };
	(void)state;
	assert_true(ss_hold_take(NULL, UINT64_MAX));
	assert_true(ss_hold_take(a, own));
	assert_int_equal(ss_hold_spent_bytes(), 0);
	assert_true(ss_hold_take(a, half + 1));
	assert_int_equal(ss_hold_spent_bytes(), half + 1);
	/* The other file has its own bytes, and of the budget what is left. */
	assert_true(ss_hold_take(b, own));
	assert_false(ss_hold_take(b, half));
	assert_false(ss_hold_take(b, UINT64_MAX));
	assert_true(ss_hold_take(b, half - 1));
	assert_false(ss_hold_take(a, 1));
	ss_hold_give(a, 1);
	assert_true(ss_hold_take(b, 1));
	ss_hold_give(a, half + own);
	assert_int_equal(ss_hold_spent_bytes(), half);
	ss_hold_close(a);
	ss_hold_close(b);
	ss_hold_close(NULL);
	assert_int_equal(ss_hold_spent_bytes(), 0);
	assert_false(ss_hold_fail(SS_STR("'x.gz'"), &why));
	assert_int_equal(why.code, SS_ENOMEM);
	assert_true(strstr(why.text, "'x.gz' needs more memory"));
}

static bool takes_and_gives(void *arg, size_t i, struct ss_err *e)
{
	struct ss_hold *h = arg;
	uint64_t n = SS_HOLD_BUDGET_BYTES / 5 + i;
	(void)e;
	for (int k = 0; k < 2000; k++)
		if (ss_hold_take(h, n))
			ss_hold_give(h, n);
	return true;
}

static void holds_count_among_threads(void **state)
{
	struct ss_hold *h = ss_hold_open(SS_HOLD_BUDGET_BYTES / 2 / SS_HOLD_PER_FILE_BYTE);
	(void)state;
	assert_ok(ss_parallel(64, 8, takes_and_gives, h, &err));
	assert_int_equal(ss_hold_spent_bytes(), 0);
	ss_hold_close(h);
}

static void an_arena_closes_its_holds(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(ss_hold_take(ss_arena_hold(&a, 0), 100));
	assert_int_equal(ss_hold_spent_bytes(), 300);
	ss_arena_release(&a);
	assert_int_equal(ss_hold_spent_bytes(), 0);
	ss_arena_release(&a);
}

/* By FarmHash itself: of so many letters of the alphabet, over and over. */
static void fingerprints_are_farmhashs(void **state)
{
	static const struct {
		size_t n;
		uint64_t want;
	} known[] = {
		{ 0, 11160318154034397263u },	{ 1, 12917804110809363939u },	{ 3, 2640714258260161385u },
		{ 4, 1897425971756105985u },	{ 7, 4341691227789030229u },	{ 8, 18368443631171807497u },
		{ 16, 6080716761534418621u },	{ 17, 11394395984755135400u },	{ 32, 18417110746069939610u },
		{ 33, 2004761416539416594u },	{ 64, 11261912070464707578u },	{ 65, 2608948203458330154u },
		{ 128, 14061449006046005066u }, { 129, 11176984671211548628u }, { 300, 10612737130197260944u },
	};
	char letters[300];
	(void)state;
	for (size_t i = 0; i < sizeof(letters); i++)
		letters[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < SS_COUNT(known); i++)
		assert_true(ss_fingerprint64((struct ss_str){ letters, known[i].n }) == known[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fingerprints_are_farmhashs),
		cmocka_unit_test(ids_are_found),
		cmocka_unit_test(idset_tells_what_it_had),
		cmocka_unit_test(spilled_bytes_are_read_back),
		cmocka_unit_test(released_memory_ends_at_a_page),
		cmocka_unit_test(str_compares),
		cmocka_unit_test(str_finds),
		cmocka_unit_test(str_reads_integers),
		cmocka_unit_test(str_reads_floats),
		cmocka_unit_test(str_hashes_by_content),
		cmocka_unit_test(sha1_is_that_of_others),
		cmocka_unit_test(html_escapes_what_it_reads),
		cmocka_unit_test(html_becomes_text),
		cmocka_unit_test(err_names_a_path_as_the_user_does),
		cmocka_unit_test(err_keeps_the_first),
		cmocka_unit_test(err_clips_long_texts),
		cmocka_unit_test(vec_grows),
		cmocka_unit_test(vec_refuses_what_cannot_be),
		cmocka_unit_test(arena_hands_out_aligned_memory),
		cmocka_unit_test(arena_clears_and_checks),
		cmocka_unit_test(arena_copies_strings),
		cmocka_unit_test(u64map_keeps_every_key),
		cmocka_unit_test(u64map_stands_hostile_keys),
		cmocka_unit_test(strmap_stands_hostile_keys),
		cmocka_unit_test(strmap_interns),
		cmocka_unit_test(pool_does_each_piece_once),
		cmocka_unit_test(pool_reports_and_stops),
		cmocka_unit_test(file_maps),
		cmocka_unit_test(adds_what_may_be_anything),
		cmocka_unit_test(file_refuses),
		cmocka_unit_test(holds_share_a_budget),
		cmocka_unit_test(holds_count_among_threads),
		cmocka_unit_test(an_arena_closes_its_holds),
	};
	return RUN_TESTS(tests);
}
