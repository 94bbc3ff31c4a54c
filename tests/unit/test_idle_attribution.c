/* test_idle_attribution.c - what a thread did while a device was idle, by profiles of which we know. */
#include "unit/unit.h"

#include "model/steps/idle_attribution.h"
#include "unit/build_pb.h"

#include <math.h>

enum { CALL = 1, LOAD, READ, KERNEL };

enum { PERIODS = 10, PERIOD_US = 1000 };

static void put_us(struct bytes *line, uint64_t meta, uint64_t begin_us, uint64_t dur_us)
{
	put_event(line, meta, begin_us * 1000000, dur_us * 1000000, 0, 0);
}

/* A plane with one line. */
static void put_plane(struct bytes *space, const char *name, const char *line_name, struct bytes *line)
{
	static const char *const names[] = { "PjitFunction(f)", "load_batch", "$data.py:3 read", "matmul_kernel" };
	struct bytes plane = { .n = 0 };

	put_text(&plane, 2, name);
	put_text(line, 2, line_name);
	put_msg(&plane, 3, line);
	for (size_t i = 0; i < SS_COUNT(names); i++)
		put_meta(&plane, 4, i + 1, names[i]);
	put_msg(space, 1, &plane);
}

/*
 * Of each period of 1000 us the thread calls for 100, does nothing for 100, loads for 700, of which it
 * reads 500, and does nothing for 100. The kernel runs in the first pause.
 */
static void build(struct bytes *space, bool device, bool backwards)
{
	struct bytes thread = { .n = 0 }, stream = { .n = 0 };

	put_num(&thread, 1, 1);
	put_num(&stream, 1, 1);
	for (uint64_t k = 0; k < PERIODS; k++) {
		uint64_t at_us = (backwards ? PERIODS - 1 - k : k) * PERIOD_US;
		put_us(&thread, CALL, at_us, 100);
		put_us(&thread, LOAD, at_us + 200, 700);
		put_us(&thread, READ, at_us + 300, 500);
		put_us(&stream, KERNEL, at_us + 100, 100);
	}
	put_plane(space, "/host:CPU", "python", &thread);
	if (device)
		put_plane(space, "/device:GPU:0", "Stream #1", &stream);
}

static void expect_row(const struct ss_idle_attribution *m, size_t i, const char *event, const char *caller, double frac)
{
	assert_true(i < m->nrows);
	assert_str(m->rows[i].event, event);
	assert_str(m->rows[i].caller, caller);
	assert_true(fabs((double)m->rows[i].self_ps / (double)m->idle_ps - frac) < 1e-9);
}

static void expect_loading(struct ss_host *h)
{
	const struct ss_idle_attribution *m;

	assert_ok(m = ss_host_idle_attribution(h, &err));
	assert_str(m->thread, "python");
	assert_true(m->steps_ps >= 8 * PERIOD_US * 1000000ull && m->steps_ps % (PERIOD_US * 1000000ull) == 0);
	assert_int_equal(m->idle_ps, m->steps_ps / 10 * 9);
	assert_str(m->inside, "$data.py:3 read");
	assert_str(m->inside_caller, "load_batch");
	assert_true(fabs(m->inside_frac - 5.0 / 9) < 1e-9);
	assert_int_equal(m->nrows, 4);
	expect_row(m, 0, "$data.py:3 read", "load_batch", 5.0 / 9);
	expect_row(m, 1, "load_batch", "", 2.0 / 9);
	expect_row(m, 2, "", "", 1.0 / 9);
	expect_row(m, 3, "PjitFunction(f)", "", 1.0 / 9);
}

static void idle_time_goes_to_the_innermost_event(void **state)
{

	(void)state;
	for (int backwards = 0; backwards < 2; backwards++) {
		struct bytes space = { .n = 0 };
		struct ss_host h;
		build(&space, true, backwards);
		assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
		expect_loading(&h);
		ss_host_close(&h);
	}
}

/* Nothing is known to compute: all of the steps is idle. */
static void without_a_device_all_is_idle(void **state)
{
	struct bytes space = { .n = 0 };
	struct ss_host h;
	const struct ss_idle_attribution *m;

	(void)state;
	build(&space, false, false);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok(m = ss_host_idle_attribution(&h, &err));
	assert_true(m->idle_ps > 0 && m->idle_ps == m->steps_ps);
	expect_row(m, 0, "$data.py:3 read", "load_batch", 0.5);
	ss_host_close(&h);
}

static void hosts_are_summed(void **state)
{
	struct bytes space = { .n = 0 };
	struct ss_host a, b, *hosts[] = { &a, &b };
	struct ss_model model;
	const struct ss_idle_attribution *one, *both;

	(void)state;
	build(&space, true, false);
	assert_ok(ss_host_open_bytes(&a, bytes_str(&space), "a", &err));
	assert_ok(ss_host_open_bytes(&b, bytes_str(&space), "b", &err));
	assert_ok(ss_model_init(&model, hosts, 2, &err));
	assert_ok(one = ss_host_idle_attribution(&a, &err));
	assert_ok(both = ss_model_idle_attribution(&model, &err));
	assert_int_equal(both->idle_ps, 2 * one->idle_ps);
	assert_int_equal(both->nrows, one->nrows);
	expect_row(both, 0, "$data.py:3 read", "load_batch", 5.0 / 9);
	assert_str(both->inside, "$data.py:3 read");
	ss_model_release(&model);
	ss_host_close(&a);
	ss_host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_time_goes_to_the_innermost_event),
		cmocka_unit_test(without_a_device_all_is_idle),
		cmocka_unit_test(hosts_are_summed),
	};
	return RUN_TESTS(tests);
}
