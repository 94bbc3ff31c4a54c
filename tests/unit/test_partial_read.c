/* test_partial_read.c - some lines and events of a host, read without the others and beside others. */
#include "unit/unit.h"

#include "model/host/host.h"
#include "model/host/partial_read.h"
#include "model/preprocess/load.h"
#include "unit/build_pb.h"
#include "xspace/xspace.h"

#include <pthread.h>

enum { RUN = 1, ADD, MULTIPLY };	/* event metadata */
enum { VALUE = 1 };			/* stat metadata */

/*
 * A TPU with programs (out of order; name and start stand behind the events), operations, of which
 * two have a stat, and a line without events; then a host with one operation.
 */
static void build(struct bytes *space)
{
	struct bytes plane = { .n = 0 }, line = { .n = 0 };

	put_text(&plane, 2, "/device:TPU:0");
	put_event(&line, RUN, 3000, 10, 0, 0);
	put_event(&line, RUN, 1000, 20, 0, 0);
	put_event(&line, RUN, 1000, 30, 0, 0);
	put_text(&line, 2, "XLA Modules");
	put_num(&line, 3, 2);
	put_msg(&plane, 3, &line);
	line.n = 0;
	put_text(&line, 2, "XLA Ops");
	for (uint64_t i = 0; i < 40; i++)
		put_event(&line, i % 4 ? ADD : MULTIPLY, 1000 + 100 * i, 7, i == 36 || i == 39 ? VALUE : 0, i);
	put_msg(&plane, 3, &line);
	line.n = 0;
	put_text(&line, 2, "Steps");
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, RUN, "jit_f(1)");
	put_meta(&plane, 4, ADD, "add");
	put_meta(&plane, 4, MULTIPLY, "multiply");
	put_meta(&plane, 5, VALUE, "counter_value");
	put_msg(space, 1, &plane);
	plane.n = line.n = 0;
	put_text(&plane, 2, "/host:CPU");
	put_event(&line, RUN, 5, 5, 0, 0);
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, RUN, "multiply");
	put_msg(space, 1, &plane);
}

static bool is_modules(struct ss_str line)
{
	return ss_str_is(line, "XLA Modules");
}

static bool is_multiply(const struct ss_plane *p, uint32_t meta)
{
	return ss_str_is(p->x->event_meta[meta].name, "multiply");
}

static bool is_tpu(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_TENSOR_CORE;
}

static const struct ss_partial_read modules = { .line = is_modules, .in_time = true };
static const struct ss_partial_read multiplications = { .event = is_multiply };
static const struct ss_partial_read counters = { .plane = is_tpu, .stat = SS_STAT_COUNTER_VALUE };

static void check_modules(const struct ss_plane *planes)
{
	static const uint64_t begin_ps[] = { 3000, 3000, 5000 }, dur_ps[] = { 30, 20, 10 };

	assert_int_equal(planes[0].nlines, 1);
	assert_int_equal(planes[1].nlines, 0);
	assert_str(planes[0].lines[0].name, "XLA Modules");
	assert_int_equal(planes[0].lines[0].ev.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(planes[0].lines[0].ev.begin_ps[i], begin_ps[i]);
		assert_int_equal(planes[0].lines[0].ev.dur_ps[i], dur_ps[i]);
		assert_str(ss_event_name(&planes[0], planes[0].lines[0].ev.meta[i]), "jit_f(1)");
	}
}

static void check_multiplications(const struct ss_plane *planes)
{
	const struct ss_line *ops = &planes[0].lines[1];
	struct ss_xstat s;

	assert_int_equal(planes[0].nlines, 3);
	assert_int_equal(planes[0].lines[0].ev.n, 0);
	assert_str(ops->name, "XLA Ops");
	assert_int_equal(ops->ev.n, 10);
	for (uint32_t i = 0; i < ops->ev.n; i++) {
		assert_int_equal(ops->ev.begin_ps[i], 1000 + 400 * i);
		assert_str(ss_event_name(&planes[0], ops->ev.meta[i]), "multiply");
		assert_int_equal(ss_xstats_find(ss_line_stats(&planes[0], ops, i), SS_STAT_COUNTER_VALUE, &s), i == 9);
	}
	assert_int_equal(planes[1].nlines, 1);
	assert_int_equal(planes[1].lines[0].ev.n, 1);
}

static void reads_what_is_asked_for(void **state)
{
	struct bytes space = { .n = 0 };
	const struct ss_plane *planes;
	struct ss_host h;
	struct ss_xstat s;

	(void)state;
	build(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok((planes = ss_host_read_partially(&h, SS_HOST_MODULES, &modules, &err)) != NULL);
	check_modules(planes);
	assert_ok((planes = ss_host_read_partially(&h, SS_HOST_PIPELINES, &multiplications, &err)) != NULL);
	check_multiplications(planes);
	/* Of lines with a stat the one that has it, whole. */
	assert_ok((planes = ss_host_read_partially(&h, SS_HOST_COUNTERS, &counters, &err)) != NULL);
	assert_int_equal(planes[0].nlines, 1);
	assert_int_equal(planes[1].nlines, 0);
	assert_int_equal(planes[0].lines[0].ev.n, 40);
	assert_true(ss_xstats_find(ss_line_stats(&planes[0], &planes[0].lines[0], 39), SS_STAT_COUNTER_VALUE, &s));
	assert_int_equal(s.u, 39);
	/* Made once; nothing was loaded for it. */
	assert_ptr_equal(ss_host_read_partially(&h, SS_HOST_COUNTERS, &counters, NULL), planes);
	assert_false(ss_part_is_built(&h.parts[SS_HOST_EVENTS]));
	ss_host_close(&h);
}

static void counts_what_cannot_be_read(void **state)
{
	struct bytes space = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };
	struct ss_host h;

	(void)state;
	put_text(&plane, 2, "/device:TPU:0");
	put_text(&line, 2, "XLA Modules");
	put_raw(&line, 4, SS_STR("\x08\x01\x10\xff"));
	put_msg(&plane, 3, &line);
	put_msg(&space, 1, &plane);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok(ss_host_read_partially(&h, SS_HOST_PIPELINES, &multiplications, &err) != NULL);
	assert_int_equal(h.ndropped, 0);
	assert_ok(ss_host_read_partially(&h, SS_HOST_MODULES, &modules, &err) != NULL);
	assert_int_equal(h.ndropped, 1);
	/* The same event again. */
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.ndropped, 1);
	ss_host_close(&h);
}

static bool is_host(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_HOST_CPU;
}

/* A host that is loaded has its events once: they are not read again, unless their order is asked for. */
static void takes_what_is_loaded(void **state)
{
	static const struct ss_partial_read threads = { .plane = is_host, .in_time = true };
	struct bytes space = { .n = 0 };
	struct ss_partial *once;
	struct ss_host h;

	(void)state;
	build(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok((once = ss_host_read_once(&h, &threads, &err)) != NULL);
	assert_int_equal(ss_partial_planes(once)[1].lines[0].ev.n, 1);
	ss_partial_free(once);
	assert_ok(ss_host_load(&h, &err));
	assert_ok((once = ss_host_read_once(&h, &threads, &err)) != NULL);
	assert_int_equal(ss_partial_planes(once)[1].nlines, 1);
	assert_ptr_equal(ss_partial_planes(once)[1].lines[0].ev.begin_ps, h.planes[1].lines[0].ev.begin_ps);
	ss_partial_free(once);
	assert_int_equal(h.planes[1].lines[0].ev.n, 1);
	/* Out of order in the file, and sorted here. */
	check_modules(ss_host_read_partially(&h, SS_HOST_MODULES, &modules, NULL));
	ss_host_close(&h);
}

static void *load(void *host)
{
	return (void *)(uintptr_t)ss_host_load(host, NULL);
}

static void *read_modules(void *host)
{
	return (void *)(uintptr_t)ss_host_read_partially(host, SS_HOST_MODULES, &modules, NULL);
}

static void *read_multiplications(void *host)
{
	return (void *)(uintptr_t)ss_host_read_partially(host, SS_HOST_PIPELINES, &multiplications, NULL);
}

/* Headers of lines are completed by each reader for itself. */
static void reads_beside_loading(void **state)
{
	struct bytes space = { .n = 0 };

	(void)state;
	build(&space);
	for (int i = 0; i < 20; i++) {
		static void *(*const work[])(void *) = { load, read_modules, read_multiplications, read_modules };
		pthread_t threads[SS_COUNT(work)];
		void *got[SS_COUNT(work)];
		struct ss_host h;

		assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
		for (size_t k = 0; k < SS_COUNT(work); k++)
			assert_int_equal(pthread_create(&threads[k], NULL, work[k], &h), 0);
		for (size_t k = 0; k < SS_COUNT(work); k++)
			pthread_join(threads[k], &got[k]);
		assert_non_null(got[0]);
		check_modules(got[1]);
		check_multiplications(got[2]);
		assert_ptr_equal(got[1], got[3]);
		assert_str(h.planes[0].lines[0].name, "XLA Modules");
		assert_int_equal(h.planes[0].lines[0].ev.begin_ps[0], 3000);
		ss_host_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_is_asked_for),
		cmocka_unit_test(counts_what_cannot_be_read),
		cmocka_unit_test(takes_what_is_loaded),
		cmocka_unit_test(reads_beside_loading),
	};
	return RUN_TESTS(tests);
}
