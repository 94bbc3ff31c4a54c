/* test_groups.c - which events belong to one step: roots, what lies inside them, and ties between threads. */
#include "unit/unit.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"
#include "model/preprocess/nest.h"
#include "unit/build_pb.h"

enum { TRAIN = 1, RUN, OP, PLAIN };			/* event metadata */
enum { ROOT = 1, STEP, PRODUCER_TYPE, PRODUCER, CONSUMER_TYPE, CONSUMER, UNSIGNED = 1 << 8 }; /* stat metadata */

struct stat {
	uint64_t id, value;
};

/* An event with up to two stats; id 0: none. */
static void put(struct bytes *line, uint64_t meta, uint64_t begin_us, uint64_t dur_us, struct stat a, struct stat b)
{
	struct bytes e = { .n = 0 };
	const struct stat stats[] = { a, b };

	put_num(&e, 1, meta);
	put_num(&e, 2, begin_us * 1000000);
	put_num(&e, 3, dur_us * 1000000);
	for (size_t i = 0; i < SS_COUNT(stats); i++) {
		struct bytes s = { .n = 0 };

		if (!stats[i].id)
			continue;
		put_num(&s, 1, stats[i].id & ~(uint64_t)UNSIGNED);
		put_num(&s, stats[i].id & UNSIGNED ? 3 : 4, stats[i].value);
		put_msg(&e, 4, &s);
	}
	put_msg(line, 4, &e);
}

static const struct stat none = { 0, 0 };

/* Two steps on one thread, work of the first handed over to another, and something that is of none. */
static void build(struct bytes *space)
{
	static const char *const stats[] = { "_r", "step_num", "_pt", "_p", "_ct", "_c" };
	struct bytes plane = { .n = 0 }, line = { .n = 0 };

	put_text(&plane, 2, "/host:CPU");
	put_num(&line, 1, 1);
	put(&line, TRAIN, 0, 100, (struct stat){ ROOT, 1 }, (struct stat){ STEP, 3 });
	put(&line, RUN, 10, 40, (struct stat){ PRODUCER_TYPE, 2 }, (struct stat){ PRODUCER, 77 });
	put(&line, OP, 20, 10, none, none);
	put(&line, PLAIN, 150, 10, none, none);
	put(&line, TRAIN, 200, 100, (struct stat){ ROOT, 1 }, (struct stat){ STEP | UNSIGNED, 4 });
	put(&line, OP, 210, 10, none, none);
	put_msg(&plane, 3, &line);
	line.n = 0;
	put_num(&line, 1, 2);
	put(&line, RUN, 120, 30, (struct stat){ CONSUMER_TYPE, 2 }, (struct stat){ CONSUMER, 77 });
	put(&line, OP, 130, 10, none, none);
	put(&line, OP, 170, 10, none, none);
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, TRAIN, "train");
	put_meta(&plane, 4, RUN, "FunctionRun");
	put_meta(&plane, 4, OP, "dense/MatMul:MatMul");
	put_meta(&plane, 4, PLAIN, "plain");
	for (size_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(&plane, 5, i + 1, stats[i]);
	put_msg(space, 1, &plane);
}

static void events_follow_their_root(void **state)
{
	static const int64_t want[2][6] = { { 0, 0, 0, SS_NO_GROUP, 1, 1 }, { 0, 0, SS_NO_GROUP } };
	static struct bytes space;
	struct ss_host h;

	(void)state;
	build(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.ngroups, 2);
	assert_str(h.groups[0].name, "train 3");
	assert_str(h.groups[1].name, "train 4");
	assert_false(h.groups[0].implicit);
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < h.planes[0].lines[k].ev.n; i++)
			if (ss_event_group(&h.planes[0], &h.planes[0].lines[k], i) != want[k][i])
				fail_msg("line %u event %u is in group %lld", k, i,
					 (long long)ss_event_group(&h.planes[0], &h.planes[0].lines[k], i));
	ss_host_close(&h);
}

/* Two steps of a core and 40 ops each, four more between them, of which some name a group themselves. */
static void build_core(struct bytes *space, bool ids)
{
	struct bytes host = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };

	put_text(&host, 2, "/host:CPU");
	put_msg(space, 1, &host);
	put_text(&plane, 2, "/device:TPU:0");
	put_num(&line, 1, 1);
	put_text(&line, 2, "Steps");
	put(&line, TRAIN, 0, 400, none, none);
	put(&line, TRAIN, 500, 400, none, none);
	put_msg(&plane, 3, &line);
	line.n = 0;
	put_num(&line, 1, 2);
	put_text(&line, 2, "XLA Ops");
	for (uint64_t i = 0; i < 84; i++) {
		uint64_t begin_us = i < 40 ? i * 10 : i < 44 ? 410 + (i - 40) * 10 : 500 + (i - 44) * 10;

		put(&line, OP, begin_us, 5, ids && i % 2 ? (struct stat){ ROOT, 70 + i } : none, none);
	}
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, TRAIN, "0");
	put_meta(&plane, 4, OP, "fusion");
	put_meta(&plane, 5, ROOT, ids ? "group_id" : "other");
	put_msg(space, 1, &plane);
}

/* Groups that seldom change are runs, also where some events keep the group that the file says. */
static void ops_follow_their_step(void **state)
{
	(void)state;
	for (int ids = 0; ids < 2; ids++) {
		static struct bytes space;
		struct ss_host h;

		space.n = 0;
		build_core(&space, ids);
		assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
		assert_ok(ss_host_load(&h, &err));
		const struct ss_line *ops = ss_plane_line(&h.planes[1], SS_STR("XLA Ops"));
		assert_int_equal(ops->ev.n, 84);
		assert_true(ops->runs && !ops->group);
		for (uint32_t i = 0; i < 84; i++) {
			int64_t between = ids && i % 2 ? 70 + (int64_t)i : SS_NO_GROUP;

			assert_int_equal(ss_line_group(ops, i), i < 40 ? 0 : i < 44 ? between : 1);
		}
		ss_host_close(&h);
	}
}

/* ---- nesting of derived lines ---- */

static void add(struct ss_nest *nest, uint32_t outer, uint32_t inner, int64_t begin_ns, int64_t end_ns, int64_t group)
{
	const uint32_t metas[] = { outer, inner };
	const struct ss_nest_item item = { .metas = metas, .nmetas = 2, .begin_ps = begin_ns * 1000,
					   .end_ps = end_ns * 1000, .group = group };

	assert_true(ss_nest_add(nest, &item));
}

static void expect(const struct ss_nest *nest, uint32_t i, uint32_t meta, int64_t begin_ns, uint64_t dur_ns)
{
	assert_true(i < nest->spans.n);
	assert_int_equal(ss_spans_meta(&nest->spans, i), meta);
	assert_int_equal(ss_spans_begin_ps(&nest->spans, i), begin_ns * 1000);
	assert_int_equal(ss_spans_dur_ps(&nest->spans, i), dur_ns * 1000);
}

static void equal_names_become_one_span(void **state)
{
	struct ss_nest nest;

	(void)state;
	ss_nest_init(&nest, false, 10);
	add(&nest, 1, 2, 100, 200, 0);
	add(&nest, 1, 3, 200, 300, 0);	/* the outer goes on, the inner is another */
	add(&nest, 1, 3, 300, 400, 1);	/* another group: both are others */
	assert_true(ss_nest_close(&nest) && ss_spans_finish(&nest.spans));
	assert_int_equal(nest.spans.n, 5);
	expect(&nest, 0, 1, 100, 200);
	expect(&nest, 1, 2, 100, 100);
	expect(&nest, 2, 3, 200, 100);
	expect(&nest, 3, 1, 300, 100);
	expect(&nest, 4, 3, 300, 99);	/* begins and ends with the outer one: 1 ns shorter, so that it is seen inside */
	ss_nest_free(&nest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_follow_their_root),
		cmocka_unit_test(ops_follow_their_step),
		cmocka_unit_test(equal_names_become_one_span),
	};
	return RUN_TESTS(tests);
}
