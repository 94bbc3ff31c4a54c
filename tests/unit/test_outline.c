/* test_outline.c - outlines of skeletons: what they unite, what they keep, and that it does not matter who made them. */
#include "unit/unit.h"

#include "model/cluster/outline.h"

#include <stdlib.h>

enum { FUSION, MATMUL, COPY, START, REDUCE };

static void begin(struct ss_skeleton *s)
{
	*s = (struct ss_skeleton){ .host = SS_STR("host7"), .hostname = SS_STR("vm"), .run = SS_STR("run"), .note = SS_STR("cut"),
				   .state = SS_SKEL_CUT, .is_rank = true, .start_unix_ns = -5, .world = 16, .file_bytes = 1234 };
	static const struct ss_skel_op ops[] = {
		[FUSION] = { .name = SS_STR_INIT("fusion.1"), .program = SS_STR_INIT("jit"), .groups = SS_STR_INIT("") },
		[MATMUL] = { .name = SS_STR_INIT("dot.2"), .program = SS_STR_INIT("jit"), .groups = SS_STR_INIT("") },
		[COPY] = { .name = SS_STR_INIT("copy"), .program = SS_STR_INIT("jit"), .groups = SS_STR_INIT(""),
			   .cls = SS_SPAN_COPY },
		[START] = { .name = SS_STR_INIT("all-gather.3"), .program = SS_STR_INIT("jit"), .groups = SS_STR_INIT("{}"),
			    .cls = SS_SPAN_COMM, .kind = SS_COMM_ALL_GATHER },
		[REDUCE] = { .name = SS_STR_INIT("all-reduce.4"), .program = SS_STR_INIT("jit"), .program_id = 42,
			     .groups = SS_STR_INIT("{{0,1}}"), .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_REDUCE, .bytes = 4000,
			     .expected = 2 },
	};
	for (size_t i = 0; i < SS_COUNT(ops); i++)
		assert_true(ss_vec_push(&s->ops, ops[i]));
	assert_true(ss_vec_push(&s->devices, ((struct ss_skel_device){ .ordinal = 3, .global = -1 })));
}

static void add_span(struct ss_skeleton *s, int64_t begin_ps, int64_t end_ps, uint32_t op, uint32_t launch)
{
	assert_true(ss_vec_push(&s->devices.v[0].spans, ((struct ss_skel_span){ begin_ps, end_ps, op, launch, 5 })));
}

static void add_event(struct ss_skeleton *s, int64_t begin_ps, int64_t end_ps, enum ss_skel_host_class cls)
{
	assert_true(ss_vec_push(&s->events, ((struct ss_skel_host_event){ begin_ps, end_ps, 1, cls })));
}

static void open_outline(struct ss_outlines *o, const struct ss_skeleton *s, struct ss_outline *out)
{
	struct ss_buf packed = { 0 };
	assert_ok(ss_skeleton_pack(s, &packed, &err));
	assert_ok(ss_outline_open(o, 0, ss_buf_get(&packed), out, &err));
	ss_buf_free(&packed);
}

static void assert_span(const struct ss_outline *o, size_t i, int64_t begin_ps, int64_t end_ps, enum ss_span_class cls,
			uint32_t launch)
{
	const struct ss_skel_span *s = &o->s.devices.v[0].spans.v[i];
	assert_int_equal(s->begin_ps, begin_ps);
	assert_int_equal(s->end_ps, end_ps);
	assert_int_equal(o->s.ops.v[s->op].cls, cls);
	assert_int_equal(s->launch, launch);
}

static void spans_that_touch_are_one(void **state)
{
	struct ss_skeleton s;
	struct ss_outline o;
	struct ss_outlines *all = ss_outlines_new(NULL, 0);
	(void)state;
	begin(&s);
	add_event(&s, 1, 2, SS_HOST_WAIT_EVENT); /* nobody refers to it */
	add_event(&s, 3, 4, SS_HOST_LAUNCH_EVENT);
	add_event(&s, 5, 9, SS_HOST_INPUT_EVENT);
	add_event(&s, 6, 7, SS_HOST_LAUNCH_EVENT);
	add_span(&s, 10, 20, FUSION, 1);
	add_span(&s, 15, 40, COPY, SS_NO_LAUNCH);
	add_span(&s, 20, 30, MATMUL, 3);
	add_span(&s, 31, 35, FUSION, SS_NO_LAUNCH); /* a gap */
	add_span(&s, 40, 45, START, 3);
	add_span(&s, 45, 45, FUSION, 3); /* no time */
	add_span(&s, 50, 70, FUSION, 3);
	add_span(&s, 50, 60, MATMUL, 1); /* of two that begin together, the one that ends first has the moment */
	add_span(&s, 55, 58, FUSION, 3);
	open_outline(all, &s, &o);
	assert_int_equal(o.s.devices.v[0].spans.n, 5);
	assert_span(&o, 0, 10, 30, SS_SPAN_COMPUTE, 0);
	assert_span(&o, 1, 15, 40, SS_SPAN_COPY, SS_NO_LAUNCH);
	assert_span(&o, 2, 31, 35, SS_SPAN_COMPUTE, SS_NO_LAUNCH);
	assert_span(&o, 3, 40, 45, SS_SPAN_COMM, 2);
	assert_span(&o, 4, 50, 70, SS_SPAN_COMPUTE, 0);
	assert_str(o.s.ops.v[o.s.devices.v[0].spans.v[3].op].name, "all-gather.3");
	assert_int_equal(o.s.events.n, 3);
	assert_int_equal(o.s.events.v[0].end_ps, 4);
	assert_int_equal(o.s.events.v[1].cls, SS_HOST_INPUT_EVENT);
	ss_outline_close(&o);
	ss_outlines_free(all);
	ss_skeleton_free(&s);
}

static void add_comm(struct ss_skeleton *s, int64_t begin_ps, int64_t step, uint32_t launch)
{
	struct ss_skel_comm m = { .begin_ps = begin_ps, .end_ps = begin_ps + 7, .step = step, .run = 3 - begin_ps, .seq = -1,
				  .op = REDUCE, .launch = launch, .waited = begin_ps % 2 };
	assert_true(ss_vec_push(&s->devices.v[0].comms, m));
}

static void assert_comms(const struct ss_skeleton *s, const struct ss_outline *o)
{
	const struct ss_skel_device *d = &s->devices.v[0], *e = &o->s.devices.v[0];
	assert_int_equal(e->comms.n, d->comms.n);
	for (size_t i = 0; i < d->comms.n; i++) {
		assert_int_equal(e->comms.v[i].begin_ps, d->comms.v[i].begin_ps);
		assert_int_equal(e->comms.v[i].end_ps, d->comms.v[i].end_ps);
		assert_int_equal(e->comms.v[i].step, d->comms.v[i].step);
		assert_int_equal(e->comms.v[i].run, d->comms.v[i].run);
		assert_int_equal(e->comms.v[i].seq, d->comms.v[i].seq);
		assert_int_equal(e->comms.v[i].waited, d->comms.v[i].waited);
		assert_int_equal(e->comms.v[i].async, d->comms.v[i].async);
		assert_int_equal(e->comms.v[i].launch, d->comms.v[i].launch);
		assert_str(o->s.ops.v[e->comms.v[i].op].name, "all-reduce.4");
	}
	const struct ss_skel_op *op = &o->s.ops.v[e->comms.v[0].op];
	assert_str(op->groups, "{{0,1}}");
	assert_int_equal(op->program_id, 42);
	assert_int_equal(op->bytes, 4000);
	assert_int_equal(op->expected, 2);
}

static void assert_head(const struct ss_outline *o)
{
	assert_str(o->s.host, "host7");
	assert_str(o->s.hostname, "vm");
	assert_str(o->s.note, "cut");
	assert_int_equal(o->s.state, SS_SKEL_CUT);
	assert_true(o->s.is_rank && !o->s.on_cpu);
	assert_int_equal(o->s.start_unix_ns, -5);
	assert_int_equal(o->s.world, 16);
	assert_int_equal(o->s.file_bytes, 1234);
	assert_int_equal(o->s.devices.v[0].ordinal, 3);
	assert_int_equal(o->s.devices.v[0].global, -1);
	assert_int_equal(o->s.devices.v[0].steps.v[1].num, 12);
	assert_int_equal(o->s.devices.v[0].steps.v[1].end_ps, 90);
}

/* Made where there is no room for them, kept when somebody has unpacked the skeleton, made and kept. */
static void it_does_not_matter_who_made_it(void **state)
{
	struct ss_skeleton s;
	struct ss_str one = SS_STR("");
	struct ss_outlines *all[] = { ss_outlines_new(NULL, 0), ss_outlines_new(&one, 1), ss_outlines_new(&one, 1) };
	struct ss_outline o;
	(void)state;
	begin(&s);
	add_event(&s, 3, 4, SS_HOST_LAUNCH_EVENT);
	for (int i = 0; i < 2; i++)
		assert_true(ss_vec_push(&s.devices.v[0].steps, ((struct ss_skel_step){ 11 + i, 10 + 40 * i, 50 + 40 * i })));
	add_comm(&s, 20, 11, 0);
	add_comm(&s, 35, SS_NO_STEP, SS_NO_LAUNCH);
	add_comm(&s, 60, 12, 0);
	ss_outlines_keep(all[1], 0, &s);
	for (size_t i = 0; i < SS_COUNT(all); i++)
		for (int again = 0; again < 2; again++) {
			open_outline(all[i], &s, &o);
			assert_head(&o);
			assert_comms(&s, &o);
			ss_outline_close(&o);
		}
	/* Kept: the skeleton is not looked at. */
	assert_ok(ss_outline_open(all[2], 0, SS_STR("gone"), &o, &err));
	assert_comms(&s, &o);
	ss_outline_close(&o);
	assert_fails(ss_outline_open(all[0], 0, SS_STR("gone"), &o, &err), SS_EFORMAT);
	for (size_t i = 0; i < SS_COUNT(all); i++)
		ss_outlines_free(all[i]);
	ss_skeleton_free(&s);
}

static bool any_at(const struct ss_skeleton *s, enum ss_span_class cls, int64_t at_ps)
{
	for (size_t i = 0; i < s->devices.v[0].spans.n; i++) {
		const struct ss_skel_span *v = &s->devices.v[0].spans.v[i];
		if (s->ops.v[v->op].cls == cls && v->begin_ps <= at_ps && at_ps < v->end_ps)
			return true;
	}
	return false;
}

static void each_moment_has_its_classes(void **state)
{
	uint32_t seed = 7;
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ss_skeleton s;
		struct ss_outline o;
		struct ss_outlines *all = ss_outlines_new(NULL, 0);
		begin(&s);
		for (int64_t at = 0; at < 60; at += (seed = seed * 1664525u + 1013904223u) >> 30)
			add_span(&s, at, at + (seed >> 20) % 9, (seed >> 25) % (START + 1), SS_NO_LAUNCH);
		open_outline(all, &s, &o);
		assert_true(o.s.devices.v[0].spans.n <= s.devices.v[0].spans.n);
		for (int64_t at = -1; at < 75; at++)
			for (enum ss_span_class cls = SS_SPAN_COMPUTE; cls <= SS_SPAN_COMM; cls++)
				assert_int_equal(any_at(&o.s, cls, at), any_at(&s, cls, at));
		for (size_t i = 1; i < o.s.devices.v[0].spans.n; i++)
			assert_true(o.s.devices.v[0].spans.v[i].begin_ps >= o.s.devices.v[0].spans.v[i - 1].begin_ps);
		ss_outline_close(&o);
		ss_outlines_free(all);
		ss_skeleton_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_that_touch_are_one),
		cmocka_unit_test(it_does_not_matter_who_made_it),
		cmocka_unit_test(each_moment_has_its_classes),
	};
	return RUN_TESTS(tests);
}
