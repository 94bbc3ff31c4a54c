/* test_period.c - what repeats in a sequence, by sequences of which we know. */
#include "unit/unit.h"

#include "model/steps/inferred.h"
#include "model/steps/period.h"

enum { MAX_COUNT = 20000 };

/* A sequence in the making: spans of 10 ps, 1 ps between them. */
struct seq {
	struct ss_occurrence v[MAX_COUNT];
	size_t n;
	int64_t now_ps;
};

static struct seq seq;

static void start(void)
{
	seq.n = 0;
	seq.now_ps = 0;
}

static void add_long(uint32_t name, int64_t dur_ps)
{
	assert_true(seq.n < MAX_COUNT);
	seq.v[seq.n++] = (struct ss_occurrence){ seq.now_ps, seq.now_ps + dur_ps, name };
	seq.now_ps += dur_ps + 1;
}

static void add(uint32_t name)
{
	add_long(name, 10);
}

static void pause(int64_t ps)
{
	seq.now_ps += ps;
}

static struct ss_period find(enum ss_period_by by)
{
	struct ss_period p;
	assert_true(ss_period_find(&p, seq.v, seq.n, by));
	for (size_t i = 0; i < p.n; i++) {
		assert_true(p.begin_ps[i] < p.end_ps[i]);
		assert_true(i == 0 || p.end_ps[i - 1] <= p.begin_ps[i]);
	}
	return p;
}

static void nothing_repeats(void **state)
{
	(void)state;
	start();
	assert_int_equal(find(SS_PERIOD_BY_ORDER).n, 0);
	for (uint32_t i = 0; i < 50; i++)
		add(i);
	assert_int_equal(find(SS_PERIOD_BY_ORDER).n, 0);
}

static void the_same_again_and_again(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 10; i++) {
		add(7);
		add(8);
		add(9);
		pause(5);
	}
	struct ss_period p = find(SS_PERIOD_BY_ORDER);
	assert_int_equal(p.n, 10);
	assert_int_equal(p.name, 7); /* what begins after the pause */
	assert_int_equal(p.end_ps[0] - p.begin_ps[0], 38);
	assert_int_equal(p.end_ps[9] - p.begin_ps[9], 32); /* nobody knows how long it paused */
	assert_true(p.alike_frac == 1 && p.regular_frac == 1);
	ss_period_free(&p);
}

/* Layers repeat more often than steps, but not at the end of a step. */
static void a_network_of_layers(void **state)
{
	(void)state;
	start();
	for (int step = 0; step < 5; step++) {
		pause(20);
		add(1);
		for (int layer = 0; layer < 80; layer++)
			for (uint32_t k = 10; k < 16; k++)
				add(k);
		add(2);
		add(3);
	}
	struct ss_period p = find(SS_PERIOD_BY_ORDER);
	assert_int_equal(p.n, 5);
	assert_int_equal(p.name, 1);
	ss_period_free(&p);
}

/* What happens every fourth step does not make steps four times as long. */
static void a_log_now_and_then(void **state)
{
	(void)state;
	start();
	for (int step = 0; step < 24; step++) {
		for (uint32_t k = 0; k < 60; k++)
			add(k);
		if (step % 4 == 3)
			add(99);
		pause(30);
	}
	struct ss_period p = find(SS_PERIOD_BY_ORDER);
	assert_int_equal(p.n, 24);
	assert_int_equal(p.name, 0);
	ss_period_free(&p);
}

/* Programs: the one that takes most time is the step, though another comes now and then. */
static void evaluation_every_ten_steps(void **state)
{
	(void)state;
	start();
	for (int step = 1; step <= 50; step++) {
		add_long(1, 1000);
		if (step % 10 == 0)
			add_long(2, 300);
	}
	struct ss_period p = find(SS_PERIOD_BY_TIME);
	assert_int_equal(p.n, 50);
	assert_int_equal(p.name, 1);
	assert_true(p.alike_frac > 0.9 && p.alike_frac < 1);
	ss_period_free(&p);
}

/* Gradients are gathered four times, then applied: that is one step. */
static void accumulated_gradients(void **state)
{
	(void)state;
	start();
	for (int step = 0; step < 12; step++) {
		for (int k = 0; k < 4; k++)
			add_long(1, 100);
		add_long(2, 50);
	}
	struct ss_period p = find(SS_PERIOD_BY_TIME);
	assert_int_equal(p.n, 12);
	assert_int_equal(p.name, 2);
	ss_period_free(&p);
}

static void a_call_inside_of_itself(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 6; i++) {
		int64_t begin_ps = seq.now_ps;
		add_long(1, 100);
		seq.v[seq.n] = (struct ss_occurrence){ begin_ps + 10, begin_ps + 90, 1 };
		seq.n++;
	}
	struct ss_period p = find(SS_PERIOD_BY_TIME);
	assert_int_equal(p.n, 6);
	ss_period_free(&p);
}

/* A long pause belongs to no step. */
static void a_long_pause(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 8; i++) {
		add(1);
		add(2);
		if (i == 4)
			pause(100000);
	}
	struct ss_period p = find(SS_PERIOD_BY_ORDER);
	assert_int_equal(p.n, 8);
	for (size_t i = 0; i < p.n; i++)
		assert_true(p.end_ps[i] - p.begin_ps[i] <= 22);
	ss_period_free(&p);
}

/* ---- work.c: what threads and ranges are ---- */

static void names_of_threads(void **state)
{
	static const struct {
		const char *name;
		enum ss_thread_event want;
	} cases[] = {
		{ "", SS_THREAD_NOTHING },
		{ "$train.py:10 main", SS_THREAD_NOTHING },
		{ "ThreadpoolListener::StartRegion", SS_THREAD_NOTHING },
		{ "cudaLaunchKernel", SS_THREAD_DRIVER_CALL },
		{ "custom_step", SS_THREAD_OTHER },
		{ "model.predict", SS_THREAD_OTHER },
		{ "PjitFunction(f)", SS_THREAD_CALL },
		{ "EagerLocalExecute: __inference_f_17", SS_THREAD_CALL },
		{ "EagerLocalExecute: MatMul", SS_THREAD_OP_CALL },
		{ "EagerExecute", SS_THREAD_ANY_CALL },
		{ "TfrtCpuExecutable::Execute", SS_THREAD_ANY_CALL },
		{ "FunctionRun", SS_THREAD_ANY_CALL },
		{ "backend_compile", SS_THREAD_COMPILE },
		{ "IteratorGetNext:IteratorGetNext", SS_THREAD_INPUT },
		{ "dense/MatMul:MatMul", SS_THREAD_OP },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		if (ss_thread_event_of(ss_str_from(cases[i].name)) != cases[i].want)
			fail_msg("'%s' is %d", cases[i].name, (int)ss_thread_event_of(ss_str_from(cases[i].name)));
}

static void time_is_shared_once(void **state)
{
	struct ss_busy b = { 0 };
	const int64_t begin_ps[] = { 100, 200 }, end_ps[] = { 200, 300 };
	uint64_t work_ps[2][SS_WORK_COUNT] = { { 0 } };
	(void)state;
	assert_true(ss_busy_add(&b, 50, 250, SS_WORK_HOST_PREPARE));
	ss_busy_begin_line(&b);
	assert_true(ss_busy_add(&b, 120, 180, SS_WORK_HOST_COMPUTE));
	assert_true(ss_busy_add(&b, 150, 220, SS_WORK_HOST_COMPUTE)); /* joined */
	ss_busy_begin_line(&b);
	assert_true(ss_busy_add(&b, 160, 170, SS_WORK_HOST_WAIT_INPUT));
	assert_int_equal(b.n, 3);
	ss_busy_unite(&b);
	assert_true(ss_busy_share(&b, begin_ps, end_ps, 2, work_ps[0]));
	assert_int_equal(work_ps[0][SS_WORK_HOST_WAIT_INPUT], 10);
	assert_int_equal(work_ps[0][SS_WORK_HOST_COMPUTE], 70);
	assert_int_equal(work_ps[0][SS_WORK_HOST_PREPARE], 20);
	assert_int_equal(work_ps[1][SS_WORK_HOST_COMPUTE], 20);
	assert_int_equal(work_ps[1][SS_WORK_HOST_PREPARE], 30);
	free(b.v);
}

/* A hundred threads that do the same at the same time take no more memory than a few. */
static void lines_alike_share_spans(void **state)
{
	enum { LINES = 100, SPANS = 5000 };
	struct ss_busy b = { 0 };
	const int64_t begin_ps = 0, end_ps = 100 * SPANS;
	uint64_t work_ps[SS_WORK_COUNT] = { 0 };
	(void)state;
	for (int64_t line = 0; line < LINES; line++) {
		ss_busy_begin_line(&b);
		for (int64_t i = 0; i < SPANS; i++)
			assert_true(ss_busy_add(&b, 100 * i + line % 10, 100 * i + 40 + line % 7, SS_WORK_HOST_COMPUTE));
		assert_true(ss_busy_add(&b, line, line + 1, SS_WORK_HOST_PREPARE));
	}
	assert_in_range(b.cap, SPANS, 10 * SPANS);
	ss_busy_unite(&b);
	assert_int_equal(b.n, SPANS + 1);
	assert_true(ss_busy_share(&b, &begin_ps, &end_ps, 1, work_ps));
	assert_int_equal(work_ps[SS_WORK_HOST_COMPUTE], 46 * SPANS);
	assert_int_equal(work_ps[SS_WORK_HOST_PREPARE], LINES - 46);
	assert_in_range(b.work_ps[SS_WORK_HOST_COMPUTE], 30 * LINES * SPANS, 46 * LINES * SPANS);
	assert_int_equal(b.work_ps[SS_WORK_HOST_PREPARE], LINES);
	free(b.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_repeats),
		cmocka_unit_test(the_same_again_and_again),
		cmocka_unit_test(a_network_of_layers),
		cmocka_unit_test(a_log_now_and_then),
		cmocka_unit_test(evaluation_every_ten_steps),
		cmocka_unit_test(accumulated_gradients),
		cmocka_unit_test(a_call_inside_of_itself),
		cmocka_unit_test(a_long_pause),
		cmocka_unit_test(names_of_threads),
		cmocka_unit_test(time_is_shared_once),
		cmocka_unit_test(lines_alike_share_spans),
	};
	return RUN_TESTS(tests);
}
