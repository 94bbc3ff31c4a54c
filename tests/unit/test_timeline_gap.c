/*
 * test_timeline_gap.c - a gap of a device is explained, steps are listed, and search lists names
 * with their durations.
 */
#include "unit/build_pb.h"
#include "model/model.h"

#include "emit/slices.h"
#include "model/attribution/idle.h"
#include "model/host/host.h"
#include "tools/timeline.h"
#include "unit/unit.h"

enum { CALL = 1, LOAD, MARK, KERNEL, SHORT };

#define US UINT64_C(1000000)

static void put_us(struct bytes *line, uint64_t meta, uint64_t begin_us, uint64_t dur_us)
{
	put_event(line, meta, begin_us * US, dur_us * US, 0, 0);
}

static void put_plane(struct bytes *space, const char *name, const char *line_name, struct bytes *line)
{
	static const char *const names[] = { "PjitFunction(f)", "$data.py:3 read", "ProfilerStep#1", "matmul_kernel",
					     "add_kernel" };
	struct bytes plane = { .n = 0 };

	put_text(&plane, 2, name);
	put_text(line, 2, line_name);
	put_msg(&plane, 3, line);
	for (size_t i = 0; i < SS_COUNT(names); i++)
		put_meta(&plane, 4, i + 1, names[i]);
	put_msg(space, 1, &plane);
}

struct fixture {
	struct bytes bytes;
	struct ss_host host;
	struct ss_model model;
	struct ss_arena arena;
	struct ss_out out;
};

/*
 * One step of 1000 us: a call, a kernel from 100 to 300, reading from 300 to 800, a kernel at 950.
 */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct bytes thread = { .n = 0 }, stream = { .n = 0 };
	struct ss_host *hosts[1];

	assert_non_null(f);
	put_num(&thread, 1, 1);
	put_num(&stream, 1, 1);
	put_us(&thread, MARK, 0, 1000);
	put_us(&thread, CALL, 0, 100);
	put_us(&thread, LOAD, 200, 600);
	put_us(&stream, KERNEL, 100, 200);
	put_us(&stream, SHORT, 950, 10);
	put_plane(&f->bytes, "/host:CPU", "python", &thread);
	put_plane(&f->bytes, "/device:GPU:0", "Stream #1", &stream);
	assert_ok(ss_host_open_bytes(&f->host, bytes_str(&f->bytes), "h", &err));
	hosts[0] = &f->host;
	assert_ok(ss_model_init(&f->model, hosts, 1, &err));
	ss_out_init(&f->out, NULL, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ss_out_free(&f->out);
	ss_arena_release(&f->arena);
	ss_model_release(&f->model);
	ss_host_close(&f->host);
	free(f);
	return 0;
}

static const char *printed(struct fixture *f)
{
	ss_out_char(&f->out, '\0');
	assert_ok(ss_out_finish(&f->out, &err));
	f->out.n = 0;
	return f->out.buf;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in %s", part, text);
}

static struct ss_tl_gap gap_at(struct fixture *f, uint64_t at_ps, enum ss_gap_where where, uint64_t least_ps)
{
	struct ss_timeline_gap_query q = { .at_ps = at_ps, .track = SS_NONE, .where = where, .least_ps = least_ps };
	struct ss_tl_gap g;

	assert_ok(ss_timeline_gap(&g, &f->model, &q, &f->arena, &err));
	return g;
}

static void gaps_tile_what_is_not_work(void **state)
{
	struct fixture *f = *state;
	const struct ss_idle *idle = ss_host_idle(&f->host, NULL);

	assert_non_null(idle);
	assert_int_equal(idle->nunits, 1);
	assert_int_equal(idle->units[0].n, 3);
	assert_int_equal(idle->units[0].v[0].begin_ps, 0);
	assert_int_equal(idle->units[0].v[0].end_ps, 100 * US);
	assert_int_equal(idle->units[0].v[0].class, SS_TIME_LAUNCH);
	assert_int_equal(idle->units[0].v[1].begin_ps, 300 * US);
	assert_int_equal(idle->units[0].v[1].end_ps, 950 * US);
	assert_int_equal(idle->units[0].v[1].class, SS_TIME_HOST_CODE);
	assert_int_equal(idle->units[0].v[1].class_ps, 500 * US);
	assert_int_equal(idle->units[0].v[2].end_ps, 1000 * US);
	assert_int_equal(idle->units[0].ps[SS_TIME_HOST_CODE], 650 * US);
	assert_int_equal(idle->units[0].count[SS_TIME_HOST_CODE], 1);
}

static void a_gap_says_what_it_waits_for(void **state)
{
	struct fixture *f = *state;
	struct ss_tl_gap g = gap_at(f, 500 * US, SS_GAP_HERE, 0);
	const char *text;

	assert_true(g.found);
	assert_int_equal(g.begin_ps, 300 * US);
	assert_int_equal(g.end_ps, 950 * US);
	assert_int_equal(g.launch, SIZE_MAX);
	ss_emit_timeline_gap(&f->out, &g);
	text = printed(f);
	assert_has(text, "/device:GPU:0 does nothing for 650.0 us. For 500.0 us of this, the program's own code runs on the host.");
	assert_has(text, "'add_kernel' ends it.");
	assert_has(text, "'python', is mostly in '$data.py:3 read'.");
	assert_has(text, "No other of 3 gaps has this main cause (host code). It is 65.0% of the time that was searched.");
	assert_has(text, "\"ended_by\":{\"event\":");
	assert_has(text, "\"launch\":null");
}

static const char *said_of(struct fixture *f, uint64_t at_ps, enum ss_gap_where where, uint64_t least_ps)
{
	struct ss_tl_gap g = gap_at(f, at_ps, where, least_ps);

	ss_emit_timeline_gap(&f->out, &g);
	return printed(f);
}

static void a_gap_names_what_it_knows(void **state)
{
	struct fixture *f = *state;
	struct ss_idle *idle = (struct ss_idle *)(uintptr_t)ss_host_idle(&f->host, NULL);

	assert_non_null(idle);
	idle->starter = SS_STR("");
	assert_has(said_of(f, 500 * US, SS_GAP_HERE, 0),
		   "Meanwhile the thread that starts programs is mostly in '$data.py:3 read'.");
	assert_has(said_of(f, 50 * US, SS_GAP_HERE, 0), "the host starts work");
	assert_has(said_of(f, 300 * US, SS_GAP_NEXT, 100 * US),
		   "at least 100.0 us on /device:GPU:0. Zoom in to find shorter ones.");
	assert_has(said_of(f, 960 * US, SS_GAP_NEXT, 0), "There is no later gap on /device:GPU:0.");
}

static void gaps_follow_each_other(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(gap_at(f, 0, SS_GAP_NEXT, 0).begin_ps, 300 * US);
	assert_int_equal(gap_at(f, 300 * US, SS_GAP_NEXT, 0).begin_ps, 960 * US);
	assert_false(gap_at(f, 300 * US, SS_GAP_NEXT, 100 * US).found);
	assert_int_equal(gap_at(f, 960 * US, SS_GAP_PREVIOUS, 0).begin_ps, 300 * US);
	assert_int_equal(gap_at(f, 300 * US, SS_GAP_PREVIOUS, 0).begin_ps, 0);
	assert_false(gap_at(f, 200 * US, SS_GAP_HERE, 0).found);
}

static void steps_are_listed(void **state)
{
	struct fixture *f = *state;
	struct ss_tl_steps steps;

	assert_ok(ss_timeline_steps(&steps, &f->model, &f->arena, &err));
	ss_emit_timeline_steps(&f->out, &steps);
	assert_string_equal(printed(f), "{\"source\":\"marked\",\"slowest\":0,\"median\":0,\"steps\":["
					"{\"num\":1,\"begin_ps\":0,\"end_ps\":1000000000}]}");
}

static struct ss_tl_names *find(struct fixture *f, struct ss_str text, enum ss_names_how how)
{
	struct ss_timeline_names_query q = { .text = text, .how = how, .end_ps = INT64_MAX, .limit = 10 };

	return ss_timeline_names(&f->model, &q, &f->arena, NULL);
}

static void names_of_cxx_have_a_short_form(void **state)
{
	struct fixture *f = *state;
	struct ss_tl_sum rows[] = { { .name = SS_STR("jit_f(17)"), .count = 1 },
				    { .name = SS_STR("PjitFunction(train)"), .count = 1 },
				    { .name = SS_STR("aten::mm"), .count = 1 },
				    { .name = SS_STR("<built-in method f of a::b>(3)"), .count = 1 },
				    { .name = SS_STR("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, "
						     "c10::BFloat16, float>(c10::BFloat16*)"),
				      .count = 1 } };
	struct ss_tl_summary s = { .count = 2, .nnames = 2, .rows = rows, .nrows = SS_COUNT(rows) };

	const char *text, *first;

	ss_emit_timeline_summary(&f->out, &s);
	text = printed(f);
	assert_has(text, "\"short\":\"cunn_SoftMaxForward");
	first = strstr(text, "\"short\"");
	assert_ptr_equal(strstr(first + 1, "\"short\""), NULL);
}

static void names_are_found_by_text_and_expression(void **state)
{
	struct fixture *f = *state;
	struct ss_tl_names *n = find(f, SS_STR("KERNEL"), SS_NAMES_WITHIN);

	assert_non_null(n);
	assert_int_equal(n->nnames, 2);
	assert_str(n->rows[0].name, "matmul_kernel");
	assert_int_equal(n->rows[0].total_ps, 200 * US);
	assert_int_equal(n->rows[0].p50_ps, 200 * US);
	assert_int_equal(n->rows[0].p99_ps, 200 * US);
	assert_non_null(n = find(f, SS_STR("^(add|mul)_kernel$"), SS_NAMES_REGEX));
	assert_int_equal(n->nnames, 1);
	assert_str(n->rows[0].name, "add_kernel");
	assert_non_null(n = find(f, SS_STR("kernel"), SS_NAMES_EXACT));
	assert_int_equal(n->nnames, 0);
	assert_null(find(f, SS_STR("("), SS_NAMES_REGEX));
}

/*
 * 1000 events of 1 to 1000 us: the middle and the last hundredth are told to one part in a
 * thousand.
 */
static void quantiles_are_true(void **state)
{
	struct bytes *space = calloc(1, sizeof(*space)), *stream = calloc(1, sizeof(*stream));
	struct ss_timeline_names_query q = { .text = SS_STR("add"), .end_ps = INT64_MAX, .limit = 1 };
	struct ss_arena arena = { 0 };
	struct ss_host host, *hosts[] = { &host };
	struct ss_model m;
	uint64_t at_us = 0;
	uint32_t sum = 0;
	(void)state;

	assert_true(space && stream);
	put_num(stream, 1, 1);
	for (uint64_t i = 1; i <= 200; at_us += i * 5 + 1, i++)
		put_us(stream, SHORT, at_us, i * 5);
	put_plane(space, "/device:GPU:0", "Stream #1", stream);
	assert_ok(ss_host_open_bytes(&host, bytes_str(space), "h", &err));
	assert_ok(ss_model_init(&m, hosts, 1, &err));
	struct ss_tl_names *n = ss_timeline_names(&m, &q, &arena, NULL);
	assert_non_null(n);
	assert_int_equal(n->rows[0].count, 200);
	assert_true(n->rows[0].p50_ps > 499 * US && n->rows[0].p50_ps < 501 * US);
	assert_true(n->rows[0].p99_ps > 989 * US && n->rows[0].p99_ps < 991 * US);
	assert_int_equal(n->rows[0].max_ps, 1000 * US);
	for (size_t i = 0; i < SS_TL_WHEN_BINS; i++)
		sum += n->rows[0].when[i];
	assert_int_equal(sum, 200);
	assert_true(n->rows[0].when[0] > n->rows[0].when[SS_TL_WHEN_BINS - 1]);
	ss_arena_release(&arena);
	ss_model_release(&m);
	ss_host_close(&host);
	free(space);
	free(stream);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gaps_tile_what_is_not_work), TEST(a_gap_says_what_it_waits_for), TEST(a_gap_names_what_it_knows),
		TEST(gaps_follow_each_other),
		TEST(steps_are_listed), TEST(names_of_cxx_have_a_short_form), TEST(names_are_found_by_text_and_expression),
		cmocka_unit_test(quantiles_are_true),
	};

	return RUN_TESTS(tests);
}
