/*
 * test_straggler.c - the rule of who holds up the others, on runs whose truth is known: one late
 * host in all its patterns, uneven work, accidents.
 */
#include "unit/unit.h"

#include "model/cluster/exposed.h"
#include "model/cluster/straggler.h"
#include "model/cluster/what_if.h"
#include "model/reduced/part.h"

#include <math.h>
#include <stdio.h>

#define US INT64_C(1000000)
#define STEPS 16
/* Steps that are recorded. */
static int recorded = STEPS;
#define MARK_LATE_PS (20 * US) /* a step is marked from its first work, not from the end of the one before */

/*
 * What a device computes longer in a step than the others, in us. Devices are counted over all
 * hosts.
 */
typedef int64_t excess_fn(int device, int step);

struct run {
	struct ss_shard shard;
	struct ss_buf packed[8];
	struct ss_str names[8];
	struct ss_model m;
};

/*
 * Is the excess idle time before the operation, which nothing explains, on all devices or on one?
 * Else the operation is longer.
 */
static bool idle;
static int idle_device = -1;

/* Of each host. */
static int devices = 1;

/*
 * The devices of each host first exchange something, and on this host that takes longer; -1: they
 * do not.
 */
static int slow_link = -1;
#define FAST_US 20
#define SLOW_US 60

/* Has each host a second device, which has nothing to do? */
static bool second;

/* Numbers of steps: how far apart, and at which step the program starts again with 0; 0: never. */
static int stride = 1, restart;

static int64_t number_of(int step)
{
	return (int64_t)stride * (restart && step >= restart ? step - restart : step + (restart ? 100 : 0));
}

/* A little of everything, the same on every machine. */
static int64_t noise(int host, int step)
{
	return (host * 7919 + step * 104729) % 5;
}

/* When the exchange within the host ends. */
static int64_t exchange(struct ss_skel_device *d, int host, int step, int64_t t)
{
	if (slow_link < 0)
		return t;
	int64_t end = t + (host == slow_link ? SLOW_US : FAST_US) * US;
	assert_true(ss_vec_push(&d->comms, ((struct ss_skel_comm){ .begin_ps = t, .end_ps = end, .step = number_of(step), .seq = -1,
								   .op = 2, .launch = SS_NO_LAUNCH, .waited = true })));
	return end;
}

static void add_device(struct ss_skeleton *s, int device, int all, excess_fn *excess)
{
	struct ss_skel_device d = { .ordinal = device % devices, .global = device };
	int64_t t = 0;
	for (int step = 0; step < recorded; step++) {
		int64_t own = 1000 + noise(device, step) + excess(device, step), most = 0;
		for (int i = 0; i < all; i++) {
			int64_t other = 1000 + noise(i, step) + excess(i, step);
			most = other > most ? other : most;
		}
		int64_t end = t + (most + 50 + (slow_link < 0 ? 0 : SLOW_US)) * US, marked = t + MARK_LATE_PS;
		t = exchange(&d, device / devices, step, t);
		int64_t begin = idle || device == idle_device ? t + excess(device, step) * US : t;
		assert_true(ss_vec_push(&d.spans, ((struct ss_skel_span){ begin, t + own * US, 1, SS_NO_LAUNCH, 0 })));
		assert_true(ss_vec_push(&d.comms,
					((struct ss_skel_comm){ .begin_ps = t + own * US, .end_ps = end, .step = number_of(step),
								.seq = -1, .launch = SS_NO_LAUNCH, .waited = true })));
		assert_true(ss_vec_push(&d.steps, ((struct ss_skel_step){ number_of(step), marked, end })));
		t = end;
	}
	assert_true(ss_vec_push(&s->devices, d));
}

static void make_host(struct run *r, int host, int hosts, excess_fn *excess)
{
	struct ss_skeleton s = { .hostname = SS_STR(""), .note = SS_STR(""), .run = SS_STR("run"),
				 .start_unix_ns = 1790000000000000000 };
	s.host = ss_arena_printf(&s.arena, "host%d", host);
	assert_true(ss_vec_push(&s.ops, ((struct ss_skel_op){ .name = SS_STR("all-reduce.1"), .program = SS_STR("jit"),
			.groups = SS_STR("{}"), .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_REDUCE, .bytes = 4000 })));
	assert_true(ss_vec_push(&s.ops,
				((struct ss_skel_op){ .name = SS_STR("fusion"), .program = SS_STR("jit"), .groups = SS_STR("") })));
	struct ss_skel_op within = { .name = SS_STR("all-reduce.2"), .program = SS_STR("jit"), .groups = SS_STR("[2,2]<=[4]"),
				     .cls = SS_SPAN_COLLECTIVE, .kind = SS_COMM_ALL_REDUCE, .bytes = 4000 };
	if (slow_link >= 0)
		assert_true(ss_vec_push(&s.ops, within));
	for (int i = 0; i < devices; i++)
		add_device(&s, host * devices + i, hosts * devices, excess);
	if (second)
		assert_true(ss_vec_push(&s.devices, ((struct ss_skel_device){ .ordinal = 1, .global = hosts + host })));
	assert_ok(ss_skeleton_pack(&s, &r->packed[host], &err));
	ss_skeleton_free(&s);
}

static void make_run(struct run *r, int hosts, excess_fn *excess)
{
	struct ss_err err = { 0 };
	*r = (struct run){ .shard = { .count = 1, .run = SS_STR("run"), .label = SS_STR("run"), .nhosts = (uint64_t)hosts } };
	r->shard.hosts = r->names;
	for (int h = 0; h < hosts; h++) {
		make_host(r, h, hosts, excess);
		struct ss_str path = ss_arena_printf(&r->shard.arena, "run/host%d.xplane.pb", h);
		r->names[h] = ss_arena_printf(&r->shard.arena, "host%d", h);
		assert_true(ss_vec_push(&r->shard.v, ((struct ss_part_host){ .index = (uint64_t)h, .path = path,
									      .packed = ss_buf_get(&r->packed[h]) })));
	}
	assert_true(ss_model_init_shard(&r->m, &r->shard, &err));
}

static void free_run(struct run *r, int hosts)
{
	ss_model_release(&r->m);
	ss_shard_free(&r->shard);
	for (int h = 0; h < hosts; h++)
		ss_buf_free(&r->packed[h]);
}

static void assert_verdict(int hosts, excess_fn *excess, enum ss_straggler_kind kind, const char *host,
			   enum ss_straggler_pattern pattern)
{
	struct run r;
	struct ss_straggler_verdict v;
	struct ss_err err = { 0 };
	make_run(&r, hosts, excess);
	assert_true(ss_straggler_verdict(&r.m, &v, &err));
	assert_string_equal(ss_straggler_kind_name(v.kind), ss_straggler_kind_name(kind));
	assert_string_equal(ss_straggler_pattern_name(v.pattern), ss_straggler_pattern_name(pattern));
	assert_str(v.host, host);
	if (second)
		assert_int_equal(v.device, -1);
	if (kind == SS_STRAGGLER_ONE || kind == SS_STRAGGLER_UNEVEN)
		assert_true((v.cause == SS_LATE_BY_NONE) == (idle || idle_device >= 0));
	free_run(&r, hosts);
}

static int64_t nobody(int host, int step)
{
	(void)host;
	(void)step;
	return 0;
}

static int64_t always(int host, int step)
{
	(void)step;
	return host == 2 ? 200 : 0;
}

static int64_t every_fourth(int host, int step)
{
	return host == 1 && step % 4 == 3 ? 300 : 0;
}

static int64_t growing(int host, int step)
{
	return host == 1 ? 20 * step : 0;
}

static int64_t growing_quickly(int host, int step)
{
	return host == 1 ? 200 * step : 0;
}

/* Hidden at first, then growing to the end. */
static int64_t growing_late(int host, int step)
{
	return host == 3 && step > 8 ? 60 * (step - 8) : 0;
}

static int64_t uneven(int host, int step)
{
	static const int64_t more[] = { 0, 8, 68, -56, -77 };
	(void)step;
	return more[host % 5];
}

/* As few hosts may have it: the first is as far from the next as that is from the least. */
static int64_t uneven_steeply(int host, int step)
{
	static const int64_t more[] = { 120, 60, 0, 10 };
	(void)step;
	return more[host % 4];
}

/* One is late, another half as much; all others are alike. */
static int64_t late_and_less_so(int host, int step)
{
	(void)step;
	return host == 3 ? 200 : host == 1 ? 80 : 0;
}

/* Nobody is far above the median, but one has far less to do. */
static int64_t uneven_below(int host, int step)
{
	static const int64_t more[] = { 26, 13, 0, 4, -80, -140 };
	(void)step;
	return more[host % 6];
}

/* One grows beside others that have more and less to do, always the same. */
static int64_t growing_beside_uneven(int host, int step)
{
	static const int64_t more[] = { 60, 0, -56, -20, 30 };
	return host == 1 ? 60 + 12 * step : more[host % 5];
}

/* The first waits; of the others, each computes for another time. */
static int64_t waiting_beside_uneven(int host, int step)
{
	static const int64_t more[] = { 220, 0, -100, -180 };
	(void)step;
	return more[host % 4];
}

/* Four devices of three hosts: all of the last one need longest. */
static int64_t all_of_a_host(int device, int step)
{
	static const int64_t more[] = { 50, -18, -11, 50, -20, 0, 26, -9, 148, 104, 149, 97 };
	(void)step;
	return more[device % 12];
}

/* Two devices of three hosts: those of one are alike by chance. */
static int64_t some_devices(int device, int step)
{
	static const int64_t more[] = { 0, 1, 371, -64, -59, 173 };
	(void)step;
	return more[device % 6];
}

/* In one step noise hides it. */
static int64_t nearly_always(int host, int step)
{
	return host == 2 ? step % 4 == 1 ? 20 : 30 : 0;
}

static int64_t slightly(int host, int step)
{
	(void)step;
	return host == 1 ? 35 : 0;
}

/* Only the last three steps are slow, each more than the one before. */
static int64_t growing_at_the_end(int host, int step)
{
	return host == 3 && step > 12 ? 80 * (step - 12) : 0;
}

/* Late at the end only; before, what hosts differ by is noise, though it is always the same. */
static int64_t late_at_the_end(int host, int step)
{
	static const int64_t more[] = { 0, 10, 0, 8 };
	return host == 2 && step > 10 ? 300 : more[host % 4];
}

static int64_t changing(int host, int step)
{
	return step % 2 && host == step / 2 % 4 ? 300 : 0;
}

/* In two steps of sixteen, by little. */
static int64_t seldom(int host, int step)
{
	return (host == 1 && step == 5) || (host == 3 && step == 11) ? 45 : 0;
}

static int64_t once(int host, int step)
{
	return host == 2 && step == 7 ? 400 : 0;
}

static void rules(void **state)
{
	(void)state;
	assert_verdict(4, nobody, SS_STRAGGLER_BALANCED, "", SS_PATTERN_NONE);
	assert_verdict(4, always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	assert_verdict(4, every_fourth, SS_STRAGGLER_ONE, "host1", SS_PATTERN_PERIODIC);
	assert_verdict(4, growing, SS_STRAGGLER_ONE, "host1", SS_PATTERN_DRIFTING);
	assert_verdict(2, growing, SS_STRAGGLER_ONE, "host1", SS_PATTERN_DRIFTING);
	assert_verdict(4, growing_late, SS_STRAGGLER_ONE, "host3", SS_PATTERN_DRIFTING);
	assert_verdict(4, late_at_the_end, SS_STRAGGLER_ONE, "host2", SS_PATTERN_INTERMITTENT);
	assert_verdict(5, uneven, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
	assert_verdict(4, uneven_steeply, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
	assert_verdict(6, uneven_below, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
	assert_verdict(6, late_and_less_so, SS_STRAGGLER_ONE, "host3", SS_PATTERN_CONSTANT);
	assert_verdict(4, nearly_always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	/* Of two hosts the difference is lost, not what the slower exceeds their mean by. */
	assert_verdict(2, slightly, SS_STRAGGLER_ONE, "host1", SS_PATTERN_CONSTANT);
	assert_verdict(4, growing_at_the_end, SS_STRAGGLER_ONE, "host3", SS_PATTERN_DRIFTING);
	assert_verdict(4, changing, SS_STRAGGLER_ROTATING, "", SS_PATTERN_NONE);
	assert_verdict(4, seldom, SS_STRAGGLER_BALANCED, "", SS_PATTERN_NONE);
	/* One step is an accident; who it was is said all the same. */
	assert_verdict(4, once, SS_STRAGGLER_INCONCLUSIVE, "host2", SS_PATTERN_NONE);
	/* Of one host nothing is said. */
	assert_verdict(1, nobody, SS_STRAGGLER_ONE_HOST, "", SS_PATTERN_NONE);
	/* What grows quickly is noise to so few steps; it is the same host in all of them. */
	recorded = 5;
	assert_verdict(2, growing_quickly, SS_STRAGGLER_INCONCLUSIVE, "host1", SS_PATTERN_NONE);
	recorded = STEPS;
}

/*
 * Steps are as long as the member with the most needs: even work would take that to the mean of
 * all.
 */
static void uneven_work_costs_what_evening_saves(void **state)
{
	(void)state;
	struct run r;
	struct ss_straggler_verdict v;
	struct ss_err err = { 0 };
	make_run(&r, 4, uneven_steeply);
	assert_true(ss_straggler_verdict(&r.m, &v, &err));
	assert_true(fabs(v.lost_us_per_step - (120 - 190.0 / 4)) < 5);
	free_run(&r, 4);
}

/* Who is late is told all the same, and no cause is made up. */
static void unexplained_idle_time(void **state)
{
	(void)state;
	idle = true;
	assert_verdict(4, always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	assert_verdict(4, uneven_steeply, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
	idle = false;
}

/* What makes one late, and what others differ by, are two matters. */
static void one_late_beside_uneven_work(void **state)
{
	(void)state;
	assert_verdict(5, growing_beside_uneven, SS_STRAGGLER_ONE, "host1", SS_PATTERN_DRIFTING);
	idle_device = 0;
	assert_verdict(4, waiting_beside_uneven, SS_STRAGGLER_ONE, "host0", SS_PATTERN_CONSTANT);
	idle_device = -1;
	assert_verdict(4, waiting_beside_uneven, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
}

/* Chance hardly ever makes the four slowest of twelve devices those of one host. */
static void devices_or_hosts(void **state)
{
	(void)state;
	devices = 4;
	assert_verdict(3, all_of_a_host, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	devices = 2;
	assert_verdict(3, some_devices, SS_STRAGGLER_UNEVEN, "", SS_PATTERN_NONE);
	devices = 1;
}

/* The other group of the same operation shows how long it takes; so few steps may be chance. */
static void one_of_two_links(void **state)
{
	(void)state;
	devices = 2;
	slow_link = 1;
	assert_verdict(2, nobody, SS_STRAGGLER_NETWORK, "host1", SS_PATTERN_NONE);
	recorded = 4;
	assert_verdict(2, nobody, SS_STRAGGLER_BALANCED, "", SS_PATTERN_NONE);
	recorded = STEPS;
	slow_link = 2;
	assert_verdict(2, nobody, SS_STRAGGLER_BALANCED, "", SS_PATTERN_NONE);
	slow_link = -1;
	devices = 1;
}

/*
 * With a device that has no steps there is nothing to compare: it is not said that one device of
 * the host is to blame.
 */
static void device_without_steps(void **state)
{
	(void)state;
	second = true;
	assert_verdict(4, always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	second = false;
}

/*
 * What a host loses is what the replay gains without it, be it longer work or idle time that
 * nothing explains.
 */
static void replay_and_rule_agree(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		struct run r;
		struct ss_straggler_verdict v;
		struct ss_err err = { 0 };
		double us = 0;
		idle = k;
		make_run(&r, 4, always);
		assert_true(ss_straggler_verdict(&r.m, &v, &err));
		struct ss_what_if *w = ss_what_if_of(ss_model_cluster(&r.m, &err), SS_PLAYED_MOST, SS_NO_HOST, &err);
		assert_non_null(w);
		assert_true(ss_what_if_step_us(w, SS_HOST_AS_MEDIAN, SS_STR(""), 2, &us));
		assert_true(v.lost_us_per_step > 100);
		assert_true(fabs(ss_what_if_now_us(w) - us - v.lost_us_per_step) < 0.02 * us);
		ss_what_if_free(w);
		free_run(&r, 4);
	}
	idle = false;
}

/* At most so many events: the recorded steps are found again, and what the late host costs. */
static void assert_played(struct run *r, uint64_t most, uint64_t steps, uint32_t hosts)
{
	struct ss_err err = { 0 };
	double as_recorded, as_median;
	struct ss_what_if *w = ss_what_if_of(ss_model_cluster(&r->m, &err), most, 2, &err);
	assert_non_null(w);
	const struct ss_played *p = ss_what_if_played(w);
	assert_int_equal(p->whole, steps == STEPS);
	assert_int_equal(p->nsteps, steps);
	assert_int_equal(p->nsteps_all, STEPS);
	assert_int_equal(p->nhosts, hosts);
	assert_true(p->hosts[2]);
	assert_true(p->events <= most || hosts == 2);
	assert_int_equal(p->last_step - p->first_step, steps - 1);
	assert_true(ss_what_if_step_us(w, SS_AS_RECORDED, SS_STR(""), 2, &as_recorded));
	assert_true(ss_what_if_step_us(w, SS_HOST_AS_MEDIAN, SS_STR(""), 2, &as_median));
	assert_true(fabs(as_recorded - ss_what_if_now_us(w)) < 0.01 * as_recorded);
	assert_true(fabs(p->now_ps - p->now_all_ps) < 0.1 * p->now_all_ps);
	assert_true(as_recorded - as_median > 0.02 * as_recorded);
	ss_what_if_free(w);
}

/*
 * Of a run that is too large some steps are played back, and of steps that are too large some
 * hosts.
 */
static void part_of_a_run(void **state)
{
	(void)state;
	struct run r;
	struct ss_err err = { 0 };
	make_run(&r, 4, always);
	struct ss_what_if *w = ss_what_if_of(ss_model_cluster(&r.m, &err), SS_PLAYED_MOST, SS_NO_HOST, &err);
	assert_non_null(w);
	uint64_t all = ss_what_if_played(w)->events_all, step = all / STEPS;
	ss_what_if_free(w);
	assert_played(&r, all, STEPS, 4);
	assert_played(&r, step * 5, 5, 4);
	assert_played(&r, step * 2, 2, 4);
	assert_played(&r, step * 3 / 2, 2, 3);
	assert_played(&r, 1, 2, 2);
	free_run(&r, 4);
}

/* Steps that last from the end of the one before, and those of which only the mark is known. */
static void assert_lengths(size_t whole, size_t marked)
{
	struct run r;
	struct ss_err err = { 0 };
	size_t n[2] = { 0 };
	make_run(&r, 4, nobody);
	const struct ss_exposed *x = ss_model_exposed(&r.m, &err);
	assert_non_null(x);
	for (size_t i = 0; i < x->rows.n; i++) {
		int64_t length = x->rows.v[i].end_ps - x->rows.v[i].begin_ps;
		n[length < 1050 * US]++;
		assert_in_range(length, 1030 * US, 1060 * US);
	}
	assert_int_equal(n[0], 4 * whole);
	assert_int_equal(n[1], 4 * marked);
	assert_int_equal(x->ngaps, 4 * (marked - 1));
	free_run(&r, 4);
}

/* A program may number its steps by twos; what it does again after a restart follows nothing. */
static void steps_by_their_numbers(void **state)
{
	(void)state;
	assert_lengths(STEPS - 1, 1);
	stride = 2;
	assert_lengths(STEPS - 1, 1);
	assert_verdict(4, always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	restart = STEPS / 2;
	assert_lengths(STEPS - 2, 2);
	assert_verdict(4, always, SS_STRAGGLER_ONE, "host2", SS_PATTERN_CONSTANT);
	stride = 1;
	assert_lengths(STEPS - 2, 2);
	restart = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(part_of_a_run),
		cmocka_unit_test(steps_by_their_numbers),
		cmocka_unit_test(uneven_work_costs_what_evening_saves),
		cmocka_unit_test(unexplained_idle_time),
		cmocka_unit_test(one_late_beside_uneven_work),
		cmocka_unit_test(devices_or_hosts),
		cmocka_unit_test(one_of_two_links),
		cmocka_unit_test(device_without_steps),
		cmocka_unit_test(replay_and_rule_agree),
	};
	return RUN_TESTS(tests);
}
