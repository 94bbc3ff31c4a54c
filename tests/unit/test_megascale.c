/* test_megascale.c - arrows and counters of transfers between slices, on the smallest trace that has them all. */
#include "model/host/host.h"
#include "unit/unit.h"

#include "model/megascale/megascale.h"
#include "model/megascale/perfetto.h"
#include "model/preprocess/load.h"
#include "unit/build_pb.h"

enum { STAT_GRAPH_KEY = 1, STAT_ACTION_INDEX, STAT_INPUT_SIZE, STAT_SIZES, STAT_LATENCY, STAT_RUN_ID };

static void put_names(struct bytes *plane)
{
	static const char *const stats[] = { "graph_key", "action_index", "input_size", "buffer_sizes",
					     "network_transport_latency_us", "run_id" };
	for (size_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(plane, 5, i + 1, stats[i]);
}

static void put_said(struct bytes *line, uint64_t meta, uint64_t begin_us, uint64_t dur_us, const struct bytes *stats)
{
	struct bytes e = { .n = 0 };
	put_num(&e, 1, meta);
	put_num(&e, 2, begin_us * 1000000);
	put_num(&e, 3, dur_us * 1000000);
	memcpy(e.p + e.n, stats->p, stats->n);
	e.n += stats->n;
	put_msg(line, 4, &e);
}

static void put_stat(struct bytes *stats, uint64_t id, uint64_t v)
{
	struct bytes s = { .n = 0 };
	put_num(&s, 1, id);
	put_num(&s, 4, v);
	put_msg(stats, 4, &s);
}

static void put_text_stat(struct bytes *stats, uint64_t id, const char *v)
{
	struct bytes s = { .n = 0 };
	put_num(&s, 1, id);
	put_text(&s, 5, v);
	put_msg(stats, 4, &s);
}

/* Metadata whose name is the instruction's text and whose display name is the operation. */
static void put_op(struct bytes *plane, uint64_t id, const char *display, bool says)
{
	struct bytes m = { .n = 0 }, entry = { .n = 0 };
	put_num(&m, 1, id);
	put_text(&m, 2, says ? "x, frontend_attributes={_xla_host_transfer_rendezvous=\"ar_1\"}" : "x");
	put_text(&m, 4, display);
	put_num(&entry, 1, id);
	put_msg(&entry, 2, &m);
	put_msg(plane, 4, &entry);
}

static void put_core(struct bytes *space)
{
	static const char *const ops[] = { "send.1", "send-done.1", "recv.1", "recv-done.1" };
	struct bytes plane = { .n = 0 }, modules = { .n = 0 }, line = { .n = 0 }, none = { .n = 0 };
	put_text(&plane, 2, "/device:TPU:0");
	put_names(&plane);
	put_meta(&plane, 4, 9, "jit_f(1)");
	put_text(&modules, 2, "XLA Modules");
	put_said(&modules, 9, 10, 100, &none);
	put_msg(&plane, 3, &modules);
	put_text(&line, 2, "XLA Ops");
	for (size_t i = 0; i < SS_COUNT(ops); i++) {
		put_op(&plane, i + 1, ops[i], i % 2 == 0);
		put_said(&line, i + 1, 20 + 10 * i, 2, &none);
	}
	put_msg(&plane, 3, &line);
	put_msg(space, 1, &plane);
}

static void put_runtime(struct bytes *space)
{
	static const struct {
		const char *name;
		uint64_t begin_us, dur_us;
	} events[] = {
		{ "device_5_gid_ar_1", 20, 50 }, { "DeviceToHost START", 21, 1 }, { "DeviceToHost END", 25, 1 },
		{ "NetworkReceive END", 45, 0 }, { "HostToDevice START", 46, 1 }, { "HostToDevice END", 50, 2 },
	};
	struct bytes plane = { .n = 0 }, line = { .n = 0 };
	put_text(&plane, 2, "/device:CUSTOM:Megascale Trace");
	put_names(&plane);
	for (size_t i = 0; i < SS_COUNT(events); i++) {
		struct bytes stats = { .n = 0 };
		put_text_stat(&stats, STAT_GRAPH_KEY, "device_5_gid_ar_1$x^i0");
		put_stat(&stats, STAT_ACTION_INDEX, 0);
		put_stat(&stats, STAT_INPUT_SIZE, 4096);
		put_text_stat(&stats, STAT_SIZES, "s0->1d|$c0=1000 s1->1d|$c0=7 s0->3d|$c4=1000000");
		put_stat(&stats, STAT_LATENCY, 5);
		put_meta(&plane, 4, i + 1, events[i].name);
		put_said(&line, i + 1, events[i].begin_us, events[i].dur_us, &stats);
	}
	put_msg(&plane, 3, &line);
	put_msg(space, 1, &plane);
}

static const struct ss_ms_rare_stats *more_of(const struct ss_megascale *m, const struct ss_ms_track *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (ss_str_is(ss_ms_name(m, t, &t->v[i]), name) && t->v[i].rare != SS_NONE)
			return &m->rare[t->v[i].rare];
	fail_msg("nothing more to say of %s", name);
	return NULL;
}

static void assert_arrow(const struct ss_ms_rare_stats *from, const struct ss_ms_rare_stats *to)
{
	for (size_t i = 0; i < from->nout; i++)
		for (size_t k = 0; k < to->nin; k++)
			if (from->out[i] == to->in[k])
				return;
	fail_msg("no arrow");
}

static void ties_both_sides_together(void **state)
{
	struct bytes space = { .n = 0 };
	struct ss_host h;
	struct ss_megascale m;
	struct ss_arena arena = { 0 };
	struct ss_str file;
	(void)state;
	put_core(&space);
	put_runtime(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_ok(ss_megascale_read(&m, &h, true, &err));
	assert_int_equal(m.ntpus, 1);
	assert_int_equal(m.tpus[0].nlines, 2);
	assert_int_equal(m.tpus[0].nruntime, 1);
	const struct ss_ms_track *ops = &m.tpus[0].lines[1], *run = &m.tpus[0].runtime[0];
	assert_str(run->name, "ar_1 (5)");
	assert_int_equal(run->v[0].run, 1);

	const struct ss_ms_rare_stats *send = more_of(&m, ops, "send.1"), *recv = more_of(&m, ops, "recv.1");
	const struct ss_ms_rare_stats *sent = more_of(&m, ops, "send-done.1"), *received = more_of(&m, ops, "recv-done.1");
	assert_arrow(send, sent);
	assert_arrow(send, received);
	assert_arrow(recv, received);
	assert_arrow(send, more_of(&m, run, "DeviceToHost START"));
	assert_arrow(recv, more_of(&m, run, "HostToDevice START"));
	assert_arrow(more_of(&m, run, "DeviceToHost END"), sent);
	assert_arrow(more_of(&m, run, "HostToDevice END"), more_of(&m, ops, "recv-done.1 END"));
	assert_arrow(received, more_of(&m, ops, "recv-done.1 END"));

	/*
	 * 1000 bytes and a million cross slices; 5 us before the end of the receive they are on their way. No link carries a
	 * million in that time: its rate does not count, that of the other buffer does.
	 */
	const struct ss_ms_series *rx = &m.counters[SS_MS_BYTES_RX];
	assert_int_equal(rx->n, 2);
	assert_true(rx->v[0].at_ps == 40 * 1000000 && rx->v[0].value == 1001000 && rx->v[1].value == 0);
	rx = &m.counters[SS_MS_GBPS_RX];
	assert_int_equal(rx->n, 2);
	assert_true(rx->v[0].value > 1.599 && rx->v[0].value < 1.601);
	assert_int_equal(m.counters[SS_MS_INFLIGHT].n, 2);
	assert_true(m.counters[SS_MS_INFLIGHT_BYTES].v[0].value == 4096);

	assert_ok(ss_perfetto_write(&m, &arena, &file, &err));
	assert_true(file.n > 20 && (uint8_t)file.p[0] == 0x1f && (uint8_t)file.p[1] == 0x8b);
	ss_arena_release(&arena);
	ss_megascale_release(&m);
	ss_host_close(&h);
}

static void reads_keys(void **state)
{
	int64_t device;
	struct ss_str collective;
	(void)state;
	assert_true(ss_ms_parse_key(SS_STR("device_12_gid_all-reduce_3$x^i1"), &device, &collective));
	assert_int_equal(device, 12);
	assert_str(collective, "all-reduce_3");
	assert_false(ss_ms_parse_key(SS_STR("device__gid_x"), &device, &collective));
	assert_false(ss_ms_parse_key(SS_STR("device_1_gid_"), &device, &collective));
	assert_true(ss_ms_is_execution(SS_STR("device_1_gid_all-reduce_3")));
	assert_false(ss_ms_is_execution(SS_STR("device_1_gid_all-reduce")));
	assert_false(ss_ms_is_execution(SS_STR("device_1_gid_all-reduce_3$x")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ties_both_sides_together),
		cmocka_unit_test(reads_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
