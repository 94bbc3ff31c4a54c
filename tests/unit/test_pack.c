/* test_pack.c - facts of hosts as bytes: one description of a struct serves both ways, and what is damaged is refused. */
#include "unit/unit.h"

#include "model/reduced/pack.h"

struct row {
	int64_t begin_ps;
	uint64_t dur_ps;
	double share;
	struct ss_str name;
	bool marked;
};

struct sample {
	struct row *rows;
	size_t nrows;
	uint32_t small;
	uint64_t key;
	struct ss_str own;
};

static void both_ways(struct ss_pack *p, struct sample *s)
{
	PACK_ARRAY(p, s->rows, s->nrows, 5);
	size_t n = s->rows ? s->nrows : 0;
	PACK_TIMES(p, s->rows, n, begin_ps);
	PACK_COLUMN(p, PACK_U, s->rows, n, dur_ps);
	PACK_COLUMN(p, PACK_F, s->rows, n, share);
	PACK_COLUMN(p, PACK_S, s->rows, n, name);
	PACK_COLUMN(p, PACK_U, s->rows, n, marked);
	PACK_U(p, s->small);
	PACK_X(p, s->key);
	ss_pack_bytes(p, &s->own);
}

static struct row rows[] = {
	{ INT64_MIN, UINT64_MAX, -0.0, SS_STR_INIT("fusion.1"), true },
	{ INT64_MAX, 0, 1.0 / 3, SS_STR_INIT(""), false },
	{ 0, 1, 1e300, SS_STR_INIT("fusion.1"), true },
};

static struct ss_pack written(void)
{
	struct ss_pack p = { 0 };
	struct sample s = { rows, SS_COUNT(rows), UINT32_MAX, UINT64_MAX - 1, SS_STR("a\nb") };
	both_ways(&p, &s);
	assert_false(p.bad || p.no_memory || p.out.no_memory);
	return p;
}

static struct ss_pack reading(const struct ss_pack *of, size_t n, struct ss_arena *arena)
{
	const uint8_t *at = (const uint8_t *)of->out.p;
	return (struct ss_pack){ .reading = true, .at = at, .end = at + n, .known = of->texts.v, .nknown = of->texts.n,
				 .arena = arena };
}

static void reads_what_it_wrote(void **state)
{
	struct ss_pack out = written();
	struct ss_arena arena = { 0 };
	struct ss_pack in = reading(&out, out.out.n, &arena);
	struct sample s = { .nrows = 0 };
	(void)state;
	assert_int_equal(out.texts.n, 2);
	both_ways(&in, &s);
	assert_false(in.bad || in.no_memory);
	assert_true(in.at == in.end);
	assert_int_equal(s.nrows, SS_COUNT(rows));
	for (size_t i = 0; i < s.nrows; i++) {
		assert_true(s.rows[i].begin_ps == rows[i].begin_ps && s.rows[i].dur_ps == rows[i].dur_ps);
		assert_memory_equal(&s.rows[i].share, &rows[i].share, sizeof(double));
		assert_true(ss_str_eq(s.rows[i].name, rows[i].name) && s.rows[i].marked == rows[i].marked);
	}
	assert_true(s.small == UINT32_MAX && s.key == UINT64_MAX - 1);
	assert_str(s.own, "a\nb");
	ss_pack_free(&in);
	ss_pack_free(&out);
	ss_arena_release(&arena);
}

/* Cut anywhere, and with texts that are not there. */
static void refuses_what_is_cut(void **state)
{
	struct ss_pack out = written();
	struct ss_arena arena = { 0 };
	(void)state;
	for (size_t n = 0; n < out.out.n; n++) {
		struct ss_pack in = reading(&out, n, &arena);
		struct sample s = { .nrows = 0 };
		both_ways(&in, &s);
		assert_true(in.bad);
	}
	struct ss_pack in = reading(&out, out.out.n, &arena);
	struct sample s = { .nrows = 0 };
	in.nknown = 1;
	both_ways(&in, &s);
	assert_true(in.bad);
	ss_pack_free(&out);
	ss_arena_release(&arena);
}

static void refuses_numbers_that_do_not_fit(void **state)
{
	struct ss_pack out = { 0 }, in;
	uint64_t big = (uint64_t)UINT32_MAX + 1;
	uint32_t small = 0;
	(void)state;
	PACK_U(&out, big);
	in = reading(&out, out.out.n, NULL);
	PACK_U(&in, small);
	assert_true(in.bad);
	ss_pack_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_wrote),
		cmocka_unit_test(refuses_what_is_cut),
		cmocka_unit_test(refuses_numbers_that_do_not_fit),
	};
	return RUN_TESTS(tests);
}
