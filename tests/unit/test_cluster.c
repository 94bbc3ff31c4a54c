/*
 * test_cluster.c - many hosts as one: groups, texts of collectives, packed skeletons, clocks and
 * joins.
 */
#include "unit/unit.h"

#include "base/natural.h"
#include "model/cluster/aligned.h"
#include "model/cluster/cluster.h"
#include "model/cluster/played.h"
#include "model/cluster/robust.h"
#include "model/cluster/skeleton_read.h"

#include <math.h>
#include <stdio.h>

/* ---- replica groups ---- */

static struct ss_members read_members(struct ss_arena *a, const char *text)
{
	struct ss_members m;
	assert_true(ss_members_read(&m, ss_str_from(text), a));
	return m;
}

static void groups_in_all_notations(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	struct ss_members m = read_members(&a, "{{0,1},{2,3}}");
	assert_true(m.known && !m.all);
	assert_int_equal(m.ngroups, 2);
	assert_int_equal(ss_members_group(&m, 3), 1);
	assert_int_equal(ss_members_size(&m, 1), 2);
	assert_int_equal(ss_members_group(&m, 4), UINT32_MAX);
	m = read_members(&a, "{}");
	assert_true(m.known && m.all);
	m = read_members(&a, "[2,4]<=[8]");
	assert_int_equal(m.ngroups, 2);
	assert_int_equal(ss_members_group(&m, 3), 0);
	assert_int_equal(ss_members_group(&m, 4), 1);
	/* 0..7 as 2 x 4, read by columns: 0 4 1 5 2 6 3 7. */
	m = read_members(&a, "[4,2]<=[2,4]T(1,0)");
	assert_int_equal(m.ngroups, 4);
	assert_int_equal(ss_members_group(&m, 0), 0);
	assert_int_equal(ss_members_group(&m, 4), 0);
	assert_int_equal(ss_members_group(&m, 1), 1);
	assert_int_equal(ss_members_group(&m, 7), 3);
	m = read_members(&a, "[8]<=[8]");
	assert_int_equal(m.ngroups, 1);
	assert_int_equal(ss_members_size(&m, 0), 8);
	ss_arena_release(&a);
}

static void groups_along_axes_of_a_mesh(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	struct ss_members m = read_members(&a, "mesh['x'=4,'y'=2] {'x'}");
	assert_int_equal(m.ngroups, 2);
	assert_int_equal(ss_members_group(&m, 0), 0);
	assert_int_equal(ss_members_group(&m, 2), 0);
	assert_int_equal(ss_members_group(&m, 1), 1);
	assert_int_equal(ss_members_size(&m, 0), 4);
	m = read_members(&a, "mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'y'}");
	assert_int_equal(m.ngroups, 2);
	assert_int_equal(ss_members_group(&m, 3), 0);
	assert_int_equal(ss_members_group(&m, 0), 1);
	m = read_members(&a, "mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}");
	assert_int_equal(ss_members_group(&m, 2), 0);
	assert_int_equal(ss_members_group(&m, 1), 1);
	ss_arena_release(&a);
}

static void pairs_have_sources(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	struct ss_members m = read_members(&a, "pairs{{0,1},{1,2},{2,0}}");
	assert_true(m.known && m.pairs);
	assert_int_equal(ss_members_size(&m, 0), 3);
	assert_int_equal(ss_members_source(&m, 0), 2);
	assert_int_equal(ss_members_source(&m, 1), 0);
	assert_int_equal(ss_members_source(&m, 3), UINT32_MAX);
	ss_arena_release(&a);
}

static void what_is_no_group_is_unknown(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "{{0,1",
					   "{{0,1}",
					   "[2,4]",
					   "[2,4]<=",
					   "[2,4]<=[9]",
					   "[4,2]<=[2,4]T(1,1)",
					   "[4,2]<=[2,4]T(1,2)",
					   "[0,1]<=[0]",
					   "[4294967296,4294967296]<=[1]",
					   "{{-1}}",
					   "{{99999999999999999999}}",
					   "mesh['x'=2] {'y'}",
					   "mesh['x'=2",
					   "mesh['x'=2], device_ids=(1) {'x'}",
					   "{{4294967295}}" };
	struct ss_arena a = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		struct ss_members m = read_members(&a, bad[i]);
		if (m.known)
			fail_msg("'%s' was understood", bad[i]);
	}
	ss_arena_release(&a);
}

/* ---- what texts say ---- */

static struct ss_comm_op read_op(struct ss_arena *a, const char *text, const char *category)
{
	struct ss_comm_op op;
	assert_true(ss_comm_op_read(&op, ss_str_from(text), SS_STR(""), ss_str_from(category), a));
	return op;
}

static void texts_of_collectives(void **state)
{
	struct ss_arena a = { 0 };
	(void)state;
	struct ss_comm_op op = read_op(&a, "%all-reduce.7 = f32[1000]{0} all-reduce(f32[1000]{0} %x), channel_id=1, "
					   "replica_groups={{0,1},{2,3}}, use_global_device_ids=true", "all-reduce");
	assert_int_equal(op.kind, SS_COMM_ALL_REDUCE);
	assert_int_equal(op.phase, SS_COMM_WHOLE);
	assert_str(op.name, "all-reduce.7");
	assert_str(op.groups, "{{0,1},{2,3}}");
	assert_int_equal(op.bytes, 4000);
	op = read_op(&a, "%all-gather-start.3 = (bf16[10,4]{1,0}, bf16[80,4]{1,0}) all-gather-start(bf16[10,4]{1,0} %x), "
			 "replica_groups=[1,8]<=[8], dimensions={0}", "all-gather-start");
	assert_int_equal(op.phase, SS_COMM_START);
	assert_str(op.name, "all-gather.3");
	assert_str(op.groups, "[1,8]<=[8]");
	assert_int_equal(op.bytes, 640);
	/* A done is called as its start is, whatever its own number. */
	op = read_op(&a,
		     "%all-gather-done.9 = bf16[80,4]{1,0} all-gather-done((bf16[10,4]{1,0}, bf16[80,4]{1,0}) "
		     "%all-gather-start.3)",
		     "all-gather-done");
	assert_int_equal(op.phase, SS_COMM_DONE);
	assert_str(op.name, "all-gather.3");
	op = read_op(&a, "%reduce-scatter.1 = f32[10]{0} reduce-scatter(f32[80]{0} %x), replica_groups={}", "reduce-scatter");
	assert_int_equal(op.bytes, 320);
	assert_str(op.groups, "{}");
	op = read_op(&a, "%collective-permute-start = (s8[100], s8[100], u32[], u32[]) collective-permute-start(s8[100] %x), "
			 "source_target_pairs={{0,1},{1,0}}", "collective-permute-start");
	assert_int_equal(op.kind, SS_COMM_PERMUTE);
	assert_str(op.groups, "pairs{{0,1},{1,0}}");
	assert_int_equal(op.bytes, 100);
	op = read_op(&a, "%ar = (f32[10]{0}, f32[5]{0}) all-reduce(f32[10]{0} %x, f32[5]{0} %y), to_apply=%add",
		     "all-reduce fusion");
	assert_int_equal(op.bytes, 60);
	assert_int_equal(read_op(&a, "%fusion.3 = f32[8] fusion(f32[8] %all-reduce.1)", "loop fusion").kind, SS_COMM_NONE);
	assert_int_equal(read_op(&a, "%send_buffer = f32[8] copy(f32[8] %x)", "copy").kind, SS_COMM_NONE);
	assert_int_equal(read_op(&a, "%a = f32[8", "").kind, SS_COMM_NONE);
	assert_int_equal(read_op(&a, "all-to-all.4", "").kind, SS_COMM_ALL_TO_ALL);
	ss_arena_release(&a);
}

static void kernels_and_words_of_pytorch(void **state)
{
	(void)state;
	assert_int_equal(ss_comm_of_kernel(SS_STR("void ncclDevKernel_AllGather_RING_LL(x)")), SS_COMM_ALL_GATHER);
	assert_int_equal(ss_comm_of_kernel(SS_STR("ncclKernel_ReduceScatter_RING_LL_Sum_half(x)")), SS_COMM_REDUCE_SCATTER);
	assert_int_equal(ss_comm_of_kernel(SS_STR("RCCL_AllReduce")), SS_COMM_ALL_REDUCE);
	assert_int_equal(ss_comm_of_kernel(SS_STR("gemm_AllReduce")), SS_COMM_NONE);
	assert_int_equal(ss_comm_of_torch(SS_STR("_reduce_scatter_base")), SS_COMM_REDUCE_SCATTER);
	assert_int_equal(ss_comm_of_torch(SS_STR("allreduce_coalesced")), SS_COMM_ALL_REDUCE);
	assert_int_equal(ss_torch_type_bytes(SS_STR("BFloat16")), 2);
}

/* ---- estimates ---- */

static void medians_and_slopes(void **state)
{
	double v[] = { 5, 1, 4, 2, 3 }, w[] = { 4, 1, 3, 2 }, x[100], y[100], scratch[SS_THEIL_SEN_SCRATCH];
	(void)state;
	assert_true(ss_median(v, 5) == 3);
	assert_true(ss_median(w, 4) == 2.5);
	assert_true(isnan(ss_median(w, 0)));
	for (int i = 0; i < 100; i++) {
		x[i] = i;
		y[i] = 3.0 * i + 7 + (i % 10 == 0 ? 1000 : 0);
	}
	assert_true(fabs(ss_theil_sen(x, y, 100, 25, scratch) - 3) < 1e-9);
	uint32_t seed = 5;
	for (int round = 0; round < 200; round++) {
		double r[41], sorted[41];
		size_t n = 1 + (size_t)round % 41;
		for (size_t i = 0; i < n; i++)
			r[i] = sorted[i] = (double)((seed = seed * 1664525u + 1013904223u) >> 20) / 64;
		double q = ss_quantile(sorted, n, 0.5);
		assert_true(fabs(ss_median(r, n) - q) < 1e-9);
	}
}

static void names_in_natural_order(void **state)
{
	(void)state;
	assert_true(ss_natural_cmp(SS_STR("host2"), SS_STR("host10")) < 0);
	assert_true(ss_natural_cmp(SS_STR("host10"), SS_STR("host2")) > 0);
	assert_true(ss_natural_cmp(SS_STR("host02"), SS_STR("host2")) != 0);
	assert_true(ss_natural_cmp(SS_STR("a"), SS_STR("a")) == 0);
	assert_true(ss_natural_cmp(SS_STR("a"), SS_STR("ab")) < 0);
	assert_true(ss_natural_cmp(SS_STR("a1b2"), SS_STR("a1b10")) < 0);
}

/* ---- skeletons, made by hand ---- */

#define US INT64_C(1000000)

struct made {
	struct ss_skeleton s;
	struct ss_buf packed;
};

static void begin_host(struct made *m, int number, int64_t start_unix_ns)
{
	*m = (struct made){ .s = { .start_unix_ns = start_unix_ns } };
	m->s.host = ss_arena_printf(&m->s.arena, "host%d", number);
	m->s.hostname = m->s.note = SS_STR("");
	m->s.run = SS_STR("run");
	assert_true(ss_vec_push(&m->s.devices, ((struct ss_skel_device){ .global = number })));
	assert_true(ss_vec_push(&m->s.ops, ((struct ss_skel_op){ .name = SS_STR("all-reduce.1"), .program = SS_STR("jit"),
				.groups = SS_STR("{}"), .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_REDUCE, .bytes = 4000 })));
	assert_true(ss_vec_push(&m->s.ops, ((struct ss_skel_op){ .name = SS_STR("fusion.1"), .program = SS_STR("jit"),
				.groups = SS_STR("") })));
}

/*
 * A step of 1000 us: compute up to `arrive`, and a collective that ends at 900 us of the step, by
 * the host's clock. `at`: how many steps are before it.
 */
static void add_step_at(struct made *m, int64_t at, int64_t num, int64_t run, int64_t arrive_us, int64_t offset_us)
{
	struct ss_skel_device *d = &m->s.devices.v[0];
	int64_t t = (at * 1000 + offset_us) * US;
	assert_true(ss_vec_push(&d->steps, ((struct ss_skel_step){ num, t, t + 1000 * US })));
	assert_true(ss_vec_push(&d->spans, ((struct ss_skel_span){ t, t + arrive_us * US, 1, SS_NO_LAUNCH, 0 })));
	assert_true(ss_vec_push(&d->spans, ((struct ss_skel_span){ t + 900 * US, t + 1000 * US, 1, SS_NO_LAUNCH, 0 })));
	assert_true(ss_vec_push(&d->comms, ((struct ss_skel_comm){ .begin_ps = t + arrive_us * US,
								   .end_ps = t + 900 * US,
								   .step = num,
								   .run = run,
								   .seq = -1,
								   .launch = SS_NO_LAUNCH,
								   .waited = true })));
}

static void add_step(struct made *m, int64_t num, int64_t arrive_us, int64_t offset_us)
{
	add_step_at(m, num, num, 0, arrive_us, offset_us);
}

static void end_host(struct made *m)
{
	assert_ok(ss_skeleton_pack(&m->s, &m->packed, &err));
	ss_skeleton_free(&m->s);
}

static struct ss_cluster *cluster_of(struct made *hosts, size_t n)
{
	struct ss_str packed[8];
	struct ss_err err = { 0 };
	for (size_t i = 0; i < n; i++)
		packed[i] = ss_buf_get(&hosts[i].packed);
	struct ss_cluster *c = ss_cluster_of(packed, n, NULL, &err);
	if (!c)
		fail_msg("%s", err.text);
	return c;
}

static void free_hosts(struct made *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ss_buf_free(&hosts[i].packed);
}

static void packed_skeletons_come_back(void **state)
{
	struct made m;
	struct ss_skeleton s;
	(void)state;
	begin_host(&m, 3, 1790000000000000000);
	for (int i = 5; i < 20; i++)
		add_step(&m, i, 700 + i, -3);
	assert_true(ss_vec_push(&m.s.events, ((struct ss_skel_host_event){ 5, 9, 2, SS_HOST_WAIT_EVENT })));
	end_host(&m);
	assert_ok(ss_skeleton_unpack(&s, ss_buf_get(&m.packed), &err));
	assert_str(s.host, "host3");
	assert_int_equal(s.devices.n, 1);
	assert_int_equal(s.devices.v[0].spans.n, 30);
	assert_int_equal(s.devices.v[0].spans.v[28].end_ps, (19000 - 3 + 719) * US);
	assert_int_equal(s.devices.v[0].comms.v[14].step, 19);
	assert_int_equal(s.devices.v[0].comms.v[14].launch, SS_NO_LAUNCH);
	assert_int_equal(s.events.v[0].cls, SS_HOST_WAIT_EVENT);
	ss_skeleton_free(&s);
	/*
	 * Cut anywhere, or with another byte: refused, or read as what it then says, never worse.
	 */
	for (size_t n = 0; n < m.packed.n; n++)
		assert_fails(ss_skeleton_unpack(&s, (struct ss_str){ m.packed.p, n }, &err), SS_EFORMAT);
	for (size_t i = 0; i < m.packed.n; i++) {
		struct ss_err err = { 0 };
		m.packed.p[i] ^= 0x41;
		if (ss_skeleton_unpack(&s, ss_buf_get(&m.packed), &err))
			ss_skeleton_free(&s);
		m.packed.p[i] ^= 0x41;
	}
	free_hosts(&m, 1);
}

static uint64_t random_state;

/* Mostly small, sometimes anything. */
static int64_t any(int64_t most)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t v = random_state >> 33;
	return (int64_t)(v % 16 ? v % 5 : v) % most;
}

static void add_any_device(struct ss_skeleton *s, int64_t unit, size_t n)
{
	struct ss_skel_device d = { .ordinal = (int32_t)any(9), .global = any(99) - 1 };
	int64_t t = any(1000000), at = 0;
	for (size_t i = 0; i < n; i++) {
		t += any(100000);
		at += any(100000);
		struct ss_skel_span span = { t * unit, (t + any(100000)) * unit, (uint32_t)(i % 7 ? (int64_t)(i % 3) : any(3)),
					     (uint32_t)any((int64_t)s->events.n), (uint32_t)any(200) };
		int64_t begin = any(2) && d.spans.n ? d.spans.v[d.spans.n - 1].begin_ps : at * unit;
		struct ss_skel_comm m = { .begin_ps = begin, .end_ps = begin + any(100000) * unit,
					  .step = any(4) ? any(1 << 30) : SS_NO_STEP,
					  .run = any(2) ? INT64_MIN + any(1 << 30) : any(1 << 30), .seq = any(1 << 30) - 1,
					  .op = 3 + (uint32_t)any(2), .launch = any(3) ? SS_NO_LAUNCH : 0,
					  .stream = (uint32_t)any(200), .waited = any(2), .async = any(2) };
		assert_true(ss_vec_push(&d.spans, span));
		assert_true(!any(3) || ss_vec_push(&d.comms, m));
		if (!any(5))
			assert_true(ss_vec_push(&d.steps, ((struct ss_skel_step){ any(1 << 30), t * unit, (t + any(99)) * unit })));
	}
	assert_true(ss_vec_push(&s->devices, d));
}

static void assert_same_device(const struct ss_skel_device *a, const struct ss_skel_device *b)
{
	assert_int_equal(a->ordinal, b->ordinal);
	assert_int_equal(a->global, b->global);
	assert_int_equal(a->steps.n, b->steps.n);
	assert_int_equal(a->spans.n, b->spans.n);
	assert_int_equal(a->comms.n, b->comms.n);
	for (size_t i = 0; i < a->steps.n; i++)
		assert_true(a->steps.v[i].num == b->steps.v[i].num && a->steps.v[i].begin_ps == b->steps.v[i].begin_ps &&
			    a->steps.v[i].end_ps == b->steps.v[i].end_ps);
	for (size_t i = 0; i < a->spans.n; i++) {
		const struct ss_skel_span *x = &a->spans.v[i], *y = &b->spans.v[i];
		assert_true(x->begin_ps == y->begin_ps && x->end_ps == y->end_ps && x->op == y->op && x->launch == y->launch &&
			    x->stream == y->stream);
	}
	for (size_t i = 0; i < a->comms.n; i++) {
		const struct ss_skel_comm *x = &a->comms.v[i], *y = &b->comms.v[i];
		assert_true(x->begin_ps == y->begin_ps && x->end_ps == y->end_ps && x->step == y->step && x->run == y->run);
		assert_true(x->seq == y->seq && x->op == y->op && x->launch == y->launch && x->stream == y->stream &&
			    x->waited == y->waited && x->async == y->async);
	}
}

/* Whatever stands in a skeleton comes back, expected or not. */
static void any_skeleton_comes_back(void **state)
{
	static const struct ss_skel_op ops[] = {
		{ .name = SS_STR_INIT("fusion"), .program = SS_STR_INIT(""), .groups = SS_STR_INIT("") },
		{ .name = SS_STR_INIT("all-gather.1"), .program = SS_STR_INIT(""), .groups = SS_STR_INIT(""), .cls = SS_SPAN_COMM,
		  .kind = SS_COMM_ALL_GATHER },
		{ .name = SS_STR_INIT("copy"), .program = SS_STR_INIT(""), .groups = SS_STR_INIT(""), .cls = SS_SPAN_COPY },
		{ .name = SS_STR_INIT("all-gather.1"), .program = SS_STR_INIT(""), .groups = SS_STR_INIT("{}"),
		  .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_GATHER },
		{ .name = SS_STR_INIT("all-reduce.9"), .program = SS_STR_INIT("p"), .groups = SS_STR_INIT("{}"),
		  .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_REDUCE, .program_id = UINT64_MAX },
	};
	(void)state;
	for (random_state = 1; random_state < 60; random_state++) {
		uint64_t seed = random_state;
		int64_t unit = seed % 3 ? 1000 : 1;
		struct ss_skeleton a = { .host = SS_STR("h"), .run = SS_STR("r"), .hostname = SS_STR("n"), .note = SS_STR(""),
					 .start_unix_ns = -5, .world = UINT64_MAX }, b;
		struct ss_buf packed = { 0 };
		for (size_t i = 0; i < SS_COUNT(ops); i++)
			assert_true(ss_vec_push(&a.ops, ops[i]));
		for (int64_t i = 0, t = 0; i < 20; i++) {
			t += any(9999);
			struct ss_skel_host_event ev = { t * unit, (t + any(99)) * unit, (uint32_t)any(300),
							 (enum ss_skel_host_class)any(3) };
			assert_true(ss_vec_push(&a.events, ev));
		}
		for (size_t i = 0; i < 3; i++)
			add_any_device(&a, unit, i * 100);
		assert_ok(ss_skeleton_pack(&a, &packed, &err));
		assert_ok(ss_skeleton_unpack(&b, ss_buf_get(&packed), &err));
		assert_int_equal(b.devices.n, 3);
		for (size_t i = 0; i < 3; i++)
			assert_same_device(&a.devices.v[i], &b.devices.v[i]);
		for (size_t i = 0; i < 20; i++)
			assert_true(a.events.v[i].begin_ps == b.events.v[i].begin_ps &&
				    a.events.v[i].end_ps == b.events.v[i].end_ps &&
				    a.events.v[i].thread == b.events.v[i].thread && a.events.v[i].cls == b.events.v[i].cls);
		ss_skeleton_free(&a);
		ss_skeleton_free(&b);
		ss_buf_free(&packed);
		random_state = seed;
	}
}

/* Replaying divides by durations. */
static void what_ends_before_it_begins_is_refused(void **state)
{
	struct ss_skel_device d = { .ordinal = 0 };
	(void)state;
	for (int what = 0; what < 5; what++) {
		static const struct ss_skel_op op = { .name = SS_STR_INIT("all-gather.1"), .program = SS_STR_INIT(""),
						      .groups = SS_STR_INIT(""), .cls = SS_SPAN_COLLECTIVE };
		struct ss_skeleton a = { .host = SS_STR("h"), .run = SS_STR("r"), .hostname = SS_STR("n"), .note = SS_STR("") };
		struct ss_skeleton b;
		struct ss_skel_span span = { 10, what == 1 ? 9 : 10, 0, SS_NO_LAUNCH, 0 };
		struct ss_skel_comm comm = { .begin_ps = 10, .end_ps = what == 2 ? 9 : 10, .launch = SS_NO_LAUNCH, .async = true };
		struct ss_skel_step step = { 1, 10, what == 3 ? 9 : 10 };
		struct ss_skel_host_event event = { 10, what == 4 ? 9 : 10, 1, SS_HOST_INPUT_EVENT };
		struct ss_buf packed = { 0 };
		assert_true(ss_vec_push(&a.ops, op) && ss_vec_push(&a.events, event) && ss_vec_push(&a.devices, d));
		assert_true(ss_vec_push(&a.devices.v[0].spans, span) && ss_vec_push(&a.devices.v[0].comms, comm) &&
			    ss_vec_push(&a.devices.v[0].steps, step));
		assert_ok(ss_skeleton_pack(&a, &packed, &err));
		if (what) {
			assert_fails(ss_skeleton_unpack(&b, ss_buf_get(&packed), &err), SS_EFORMAT);
		} else {
			assert_ok(ss_skeleton_unpack(&b, ss_buf_get(&packed), &err));
			ss_skeleton_free(&b);
		}
		ss_skeleton_free(&a);
		ss_buf_free(&packed);
	}
}

static void clocks_are_found_from_ends(void **state)
{
	struct made h[3];
	const int64_t offset_us[] = { 0, 250, -40 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		begin_host(&h[i], i, 1790000000000000000);
		for (int s = 0; s < 12; s++)
			add_step(&h[i], s, i == 1 ? 800 : 600, offset_us[i]);
		end_host(&h[i]);
	}
	struct ss_cluster *c = cluster_of(h, 3);
	assert_int_equal(c->collectives.n, 12);
	for (int i = 0; i < 3; i++) {
		assert_true(fabs(c->hosts.v[i].clock.offset_ps * 1e-6 - (double)offset_us[i]) < 1e-6);
		assert_true(c->hosts.v[i].clock.drift == 0);
		assert_int_equal(c->hosts.v[i].clock.state, offset_us[i] ? SS_CLOCK_CORRECTED : SS_CLOCK_GOOD);
	}
	const struct ss_collective *k = &c->collectives.v[4];
	assert_int_equal(k->n, 3);
	assert_int_equal(k->expected, 3);
	assert_int_equal(k->step, 4);
	assert_int_equal(c->devices.v[c->members.v[k->last].device].host, 1);
	assert_int_equal(k->transfer_ps, 100 * US);
	assert_int_equal(ss_member_wait_ps(c, k, &c->members.v[c->order[k->first]]), 200 * US);
	ss_cluster_free(c);
	free_hosts(h, 3);
}

/*
 * Recordings that begin at different steps are joined by step, not by place; a gap in the names is
 * a missing host.
 */
static void times_go_to_the_common_clock_and_back(void **state)
{
	(void)state;
	struct ss_clock_map plain = { .shift_ps = 5000 };
	assert_int_equal(ss_clock_shown(&plain, 7), 5007);
	assert_int_equal(ss_clock_own(&plain, 5007), 7);
	assert_int_equal(ss_clock_shown(&plain, INT64_MAX - 1), INT64_MAX);
	/* Fast by 100 ppm: 1 s of its own is 100 us less. */
	struct ss_clock_map fast = { .shift_ps = -3000, .drift = 100e-6, .about_ps = 2000000 };
	assert_int_equal(ss_clock_shown(&fast, 2000000), 1997000);
	assert_int_equal(ss_clock_shown(&fast, 1000002000000), 999901997000);
	uint64_t r = 1;
	for (int i = 0; i < 20000; i++) {
		r = r * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		struct ss_clock_map m = { .shift_ps = (int64_t)(r >> 20) - (INT64_C(1) << 43),
					  .drift = ((double)(r >> 54) - 512) * 1e-6, .about_ps = (int64_t)(r >> 24) };
		int64_t shown = (int64_t)(r >> 17), own = ss_clock_own(&m, shown);
		assert_true(ss_clock_shown(&m, own) >= shown);
		assert_true(ss_clock_shown(&m, own - 1) < shown);
		assert_true(ss_clock_own(&m, ss_clock_shown(&m, shown)) <= shown);
	}
}

static void late_and_missing_hosts(void **state)
{
	struct made h[3];
	const int number[] = { 0, 1, 3 }, first[] = { 0, 2, 1 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		begin_host(&h[i], number[i], 1790000000000000000);
		for (int s = first[i]; s < 8; s++)
			add_step(&h[i], s, 500, 0);
		end_host(&h[i]);
	}
	struct ss_cluster *c = cluster_of(h, 3);
	assert_int_equal(c->hosts.n, 4);
	assert_str(c->hosts.v[2].name, "host2");
	assert_int_equal(c->hosts.v[2].state, SS_HOST_MISSING);
	assert_int_equal(c->nmissing, 1);
	assert_int_equal(c->hosts.v[1].first_step, 2);
	for (size_t i = 0; i < c->collectives.n; i++)
		assert_int_equal(c->collectives.v[i].n, 1 + (c->collectives.v[i].step >= 1) + (c->collectives.v[i].step >= 2));
	ss_cluster_free(c);
	free_hosts(h, 3);
}

/* The same host twice: one counts, and it is said. */
static void repeated_hosts_are_left_out(void **state)
{
	struct made h[2];
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_host(&h[i], 0, 1790000000000000000);
		add_step(&h[i], 1, 500, 0);
		end_host(&h[i]);
	}
	struct ss_cluster *c = cluster_of(h, 2);
	assert_int_equal(c->hosts.n, 1);
	assert_int_equal(c->devices.n, 1);
	assert_true(c->notes.n >= 1);
	assert_true(ss_str_contains(c->notes.v[0].text, SS_STR("host0")));
	ss_cluster_free(c);
	free_hosts(h, 2);
}

/* All-reduces of PyTorch without numbers or steps, of the sizes given, one behind the other. */
static void make_counted(struct made *m, int rank, const uint64_t *bytes, size_t n)
{
	*m = (struct made){ .s = { .hostname = SS_STR(""), .note = SS_STR(""), .run = SS_STR("run"), .is_rank = true } };
	m->s.host = ss_arena_printf(&m->s.arena, "host%d_7", rank);
	assert_true(ss_vec_push(&m->s.devices, ((struct ss_skel_device){ .global = rank })));
	for (size_t i = 0; i < n; i++) {
		int64_t t = (int64_t)i * 100 * US;
		assert_true(ss_vec_push(&m->s.ops, ((struct ss_skel_op){ .name = SS_STR("allreduce"), .program = SS_STR(""),
					.groups = SS_STR("torch:0/2/[0, 1]"), .cls = SS_SPAN_COLLECTIVE,
					.kind = SS_COMM_ALL_REDUCE, .bytes = bytes[i], .expected = 2 })));
		assert_true(ss_vec_push(&m->s.devices.v[0].comms, ((struct ss_skel_comm){ .begin_ps = t, .end_ps = t + 50 * US,
					.step = SS_NO_STEP, .seq = -1, .op = (uint32_t)i, .launch = SS_NO_LAUNCH,
					.waited = true })));
	}
	end_host(m);
}

/*
 * What nothing but a count joins is joined from the end, with the size of each; and not at all
 * where sizes tell that the counts do not meet.
 */
static void counted_collectives_are_alike(void **state)
{
	static const uint64_t sizes[] = { 64, 4, 8, 4, 16, 4 }, others[] = { 4, 8, 4, 16, 4, 64 };
	struct made h[2];
	(void)state;
	make_counted(&h[0], 0, sizes, 6);
	make_counted(&h[1], 1, sizes + 1, 5);
	struct ss_cluster *c = cluster_of(h, 2);
	assert_int_equal(c->collectives.n, 6);
	size_t whole = 0, sum = 0;
	for (size_t i = 0; i < c->collectives.n; i++) {
		whole += c->collectives.v[i].n == 2;
		sum += c->collectives.v[i].bytes;
	}
	assert_int_equal(whole, 5);
	assert_int_equal(sum, 100);
	ss_cluster_free(c);
	free_hosts(&h[1], 1);
	make_counted(&h[1], 1, others, 6);
	c = cluster_of(h, 2);
	assert_int_equal(c->collectives.n, 0);
	bool said = false;
	for (size_t i = 0; i < c->notes.n; i++)
		said |= ss_str_contains(c->notes.v[i].text, SS_STR("the same kind and size"));
	assert_true(said);
	ss_cluster_free(c);
	free_hosts(h, 2);
}

/* ---- steps whose numbers repeat ---- */

/* Steps 10 to 14, and, as of a job that restarts at 12, 12 to 16, from the step `from` on; host 1 comes last. */
static void make_restarted(struct made *h, int number, int from, bool runs)
{
	begin_host(h, number, 1790000000000000000);
	for (int i = from; i < 10; i++) {
		int64_t num = i < 5 ? 10 + i : 7 + i;
		add_step_at(h, i, num, runs ? 100 + num : 0, number == 1 ? 800 : 600, 0);
	}
	end_host(h);
}

static bool says(const struct ss_cluster *c, const char *words)
{
	for (size_t i = 0; i < c->notes.n; i++)
		if (ss_str_contains(c->notes.v[i].text, ss_str_from(words)))
			return true;
	return false;
}

/* The mean step is that of steps that follow one another. */
static void assert_mean_step(struct ss_cluster *c, int64_t first, uint64_t n)
{
	struct ss_played p;
	assert_ok(ss_played_choose(&p, c, UINT64_MAX, SS_NO_HOST, &err));
	assert_int_equal(ss_step_number(&c->rounds, p.first_step), first);
	assert_int_equal(p.nsteps, n);
	assert_true(fabs(p.now_ps - (double)(1000 * US)) < 1);
	ss_played_free(&p);
}

/* Each time of a number is a step of its own, and its collective is joined with that of the same time. */
static void repeated_steps_are_steps_of_their_own(void **state)
{
	struct made h[3];
	(void)state;
	for (int runs = 0; runs < 2; runs++) {
		for (int i = 0; i < 3; i++)
			make_restarted(&h[i], i, 0, runs);
		struct ss_cluster *c = cluster_of(h, 3);
		assert_int_equal(c->collectives.n, 10);
		assert_int_equal(c->by_run, runs);
		for (size_t i = 0; i < 10; i++) {
			const struct ss_collective *k = &c->collectives.v[i];
			assert_int_equal(k->n, 3);
			assert_int_equal(ss_step_number(&c->rounds, k->step), i < 5 ? 10 + i : 7 + i);
			assert_int_equal(ss_step_round(&c->rounds, k->step), i < 5 ? 0 : 1);
			assert_int_equal(k->last_ps, (int64_t)(i * 1000 + 800) * US);
			assert_int_equal(c->devices.v[c->members.v[k->last].device].host, 1);
		}
		assert_int_equal(c->devices.v[2].nsteps, 10);
		assert_true(says(c, "step numbers repeat (steps 12 to 14 ran twice)"));
		assert_false(says(c, "left out"));
		assert_mean_step(c, 10, 5);
		/* 15 comes behind the second 14. */
		assert_true(ss_cluster_follows(c, c->steps.v[8].num, c->steps.v[7].num));
		assert_false(ss_cluster_follows(c, c->steps.v[5].num, c->steps.v[4].num));
		ss_cluster_free(c);
		free_hosts(h, 3);
	}
}

/* A recording that begins after the restart has 12 to 14 once: which time that is, nothing tells. */
static void what_cannot_be_told_apart_is_left_out(void **state)
{
	struct made h[3];
	(void)state;
	for (int runs = 0; runs < 2; runs++) {
		for (int i = 0; i < 3; i++)
			make_restarted(&h[i], i, i == 2 ? 6 : 0, runs);
		struct ss_cluster *c = cluster_of(h, 3);
		/* 13 and 14 are on both sides unequally often; the others are joined, 12 without host 2. */
		assert_int_equal(c->devices.v[0].nsteps, 6);
		assert_int_equal(c->devices.v[2].nsteps, 2);
		assert_int_equal(c->collectives.n, 6);
		for (size_t i = 0; i < c->collectives.n; i++) {
			const struct ss_collective *k = &c->collectives.v[i];
			int64_t num = ss_step_number(&c->rounds, k->step);
			assert_true(num < 13 || num > 14);
			assert_int_equal(k->n, num < 13 ? 2 : 3);
			assert_int_equal(ss_step_round(&c->rounds, k->step), i < 3 ? 0 : 1);
		}
		assert_true(says(c, "10 steps of devices are left out"));
		assert_mean_step(c, 15, 2);
		for (size_t i = 0; i < c->hosts.n; i++)
			assert_false(c->hosts.v[i].stranger);
		ss_cluster_free(c);
		free_hosts(h, 3);
	}
}

/* Numbers as far apart as can be leave no room for rounds: what repeats is left out. */
static void numbers_without_room_for_rounds(void **state)
{
	static const int64_t nums[] = { -SS_SKEL_MAX, 5, SS_SKEL_MAX, 5, 6 };
	struct made h;
	(void)state;
	begin_host(&h, 0, 1790000000000000000);
	for (size_t i = 0; i < SS_COUNT(nums); i++)
		add_step_at(&h, (int64_t)i, nums[i], 0, 600, 0);
	end_host(&h);
	struct ss_cluster *c = cluster_of(&h, 1);
	assert_int_equal(c->rounds.span, 0);
	assert_int_equal(c->devices.v[0].nsteps, 3);
	assert_int_equal(c->collectives.n, 3);
	assert_int_equal(c->collectives.v[0].step, -SS_SKEL_MAX);
	assert_true(says(c, "step 5 ran twice") && says(c, "2 steps of devices are left out"));
	ss_cluster_free(c);
	free_hosts(&h, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_in_all_notations),
		cmocka_unit_test(groups_along_axes_of_a_mesh),
		cmocka_unit_test(pairs_have_sources),
		cmocka_unit_test(what_is_no_group_is_unknown),
		cmocka_unit_test(texts_of_collectives),
		cmocka_unit_test(kernels_and_words_of_pytorch),
		cmocka_unit_test(medians_and_slopes),
		cmocka_unit_test(names_in_natural_order),
		cmocka_unit_test(packed_skeletons_come_back),
		cmocka_unit_test(any_skeleton_comes_back),
		cmocka_unit_test(what_ends_before_it_begins_is_refused),
		cmocka_unit_test(clocks_are_found_from_ends),
		cmocka_unit_test(times_go_to_the_common_clock_and_back),
		cmocka_unit_test(late_and_missing_hosts),
		cmocka_unit_test(repeated_hosts_are_left_out),
		cmocka_unit_test(counted_collectives_are_alike),
		cmocka_unit_test(repeated_steps_are_steps_of_their_own),
		cmocka_unit_test(what_cannot_be_told_apart_is_left_out),
		cmocka_unit_test(numbers_without_room_for_rounds),
	};
	return RUN_TESTS(tests);
}
