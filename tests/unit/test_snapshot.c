/*
 * test_snapshot.c - memory snapshots of PyTorch and memory profiles of JAX: what is read, what is
 * refused, what it comes to.
 */
#include "unit.h"

#include "import/pprof.h"
#include "import/snapshot.h"
#include "model/runtime/snapshot.h"

#include <stdio.h>

#define MIB ((uint64_t)1 << 20)
#define TORCH SS_TEST_DATA "/memory/torch_snapshot/run/rank1.pickle"
#define JAX SS_TEST_DATA "/memory/jax_memory/run/memory.prof"

static struct ss_snapshot snap;

static bool read_text(struct ss_str bytes, struct ss_err *err)
{
	struct ss_file f = { .bytes = bytes, .borrowed = true };
	return ss_snapshot_read(&f, &snap, err);
}

static char bytes[8192];

static struct ss_str bytes_of(const char *path)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	struct ss_str s = { bytes, fread(bytes, 1, sizeof(bytes), f) };
	fclose(f);
	return s;
}

static void reads_every_record(void **state)
{
	(void)state;
	assert_ok(read_text(bytes_of(TORCH), &err));
	assert_false(snap.cut);
	assert_int_equal(snap.malformed, 0);
	assert_int_equal(snap.ndevices, 2);
	assert_int_equal(snap.segments.n, 2);
	assert_int_equal(snap.blocks.n, 10);
	assert_int_equal(snap.events.n, 17);
	assert_int_equal(snap.events_of[1], 0);
	/* Equal stacks are one, and so are equal frames. */
	assert_int_equal(snap.stacks.n, 3);
	assert_int_equal(snap.frames.n, 6);
	assert_int_equal(snap.segments.v[1].stream, 7);
	assert_int_equal(snap.segments.v[1].pool[1], 1);
	assert_true(snap.segments.v[1].small);
	assert_int_equal(snap.events.v[16].action, SS_SNAP_OOM);
	assert_int_equal(snap.events.v[16].addr, 2 * MIB);
	ss_snapshot_free(&snap);
}

static void replays_allocations(void **state)
{
	struct ss_snap_device d;
	(void)state;
	assert_ok(read_text(bytes_of(TORCH), &err));
	assert_true(ss_snap_replay(&snap, 1, false, &d));
	assert_int_equal(d.reserved, 18 * MIB);
	assert_int_equal(d.allocated, 3 * MIB);
	assert_int_equal(d.requested, 3 * MIB - 5 * 24);
	assert_int_equal(d.inactive, 15 * MIB);
	assert_int_equal(d.largest_inactive, 11 * MIB + MIB / 2);
	assert_int_equal(d.empty_cache, 2 * MIB);
	/* 1 MiB from before, four leaks of half a MiB, and 4 MiB in each step. */
	assert_int_equal(d.start, MIB);
	assert_int_equal(d.peak, 6 * MIB + MIB / 2);
	assert_int_equal(d.end, 3 * MIB);
	assert_int_equal(d.peak_event, 12);
	assert_int_equal(d.peak_blocks, 5);
	assert_int_equal(d.end_blocks, 5);
	assert_int_equal(d.ooms.n, 1);
	assert_int_equal(d.ooms.v[0].allocated, 3 * MIB);
	assert_int_equal(d.ooms.v[0].largest_free, 11 * MIB + MIB / 2);
	ss_snap_device_free(&d);
	/* Tensors are let go one event earlier; the peak is the same. */
	assert_true(ss_snap_replay(&snap, 1, true, &d));
	assert_int_equal(d.peak, 6 * MIB + MIB / 2);
	assert_int_equal(d.end, 3 * MIB);
	ss_snap_device_free(&d);
	ss_snapshot_free(&snap);
}

static void sums_by_stack(void **state)
{
	struct ss_snap_device d;
	struct ss_snap_sum *sums;
	uint64_t peak = 0, grown = 0;
	(void)state;
	assert_ok(read_text(bytes_of(TORCH), &err));
	assert_true(ss_snap_replay(&snap, 1, false, &d));
	sums = calloc(snap.stacks.n + 1, sizeof(*sums));
	ss_snap_sum(&snap, &d, sums);
	for (uint32_t i = 0; i <= snap.stacks.n; i++) {
		uint32_t frame = ss_snap_frame_of(&snap, i);
		peak += sums[i].peak_bytes;
		if (frame == SS_NONE || !ss_str_is(ss_snap_text(&snap, snap.frames.v[frame].name), "keep"))
			continue;
		assert_int_equal(sums[i].unfreed_bytes, 2 * MIB);
		assert_int_equal(sums[i].allocations, 4);
		for (int q = 0; q < 4; q++)
			assert_int_equal(sums[i].quarter_bytes[q], (uint64_t)(q + 1) * MIB / 2);
		grown++;
	}
	assert_int_equal(peak, d.peak);
	assert_int_equal(grown, 1);
	free(sums);
	ss_snap_device_free(&d);
	ss_snapshot_free(&snap);
}

/* Frames of PyTorch and of C++ are passed over. */
static void stacks_are_called_by_own_code(void **state)
{
	(void)state;
	assert_ok(read_text(
		SS_STR("{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 18446744073709551000, "
		       "\"size\": 512, \"time_us\": 5, \"frames\": ["
		       "{\"filename\": \"??\", \"line\": 0, \"name\": \"c10::alloc\"},"
		       "{\"filename\": \"/x/torch/nn/a.py\", \"line\": 1, \"name\": \"f\"},"
		       "{\"filename\": \"m\\u0079.py\", \"line\": 2, \"name\": \"g\"}]}]]}"),
		&err));
	assert_int_equal(snap.events.n, 1);
	assert_int_equal(snap.events.v[0].addr, UINT64_C(18446744073709551000));
	uint32_t frame = ss_snap_frame_of(&snap, snap.events.v[0].stack);
	assert_str(ss_snap_text(&snap, snap.frames.v[frame].file), "my.py");
	ss_snapshot_free(&snap);
}

/* Of a file that is cut anywhere, what stands before is there; nothing is invented. */
static void cut_files_show_what_is_whole(void **state)
{
	struct ss_str all = bytes_of(TORCH);
	size_t events = 0, segments = 0;
	(void)state;
	for (size_t n = 2; n < all.n; n++) {
		struct ss_err why = { 0 };
		if (!read_text(ss_str_sub(all, 0, n), &why)) {
			assert_int_equal(why.code, SS_EFORMAT);
			assert_int_equal(snap.events.n + snap.segments.n, 0);
		} else {
			assert_true(snap.cut);
			/* An event or a segment more or less: the one that is cut. */
			assert_true(snap.events.n + 1 >= events && snap.segments.n + 1 >= segments);
			events = snap.events.n;
			segments = snap.segments.n;
			for (uint32_t d = 0; d < snap.ndevices; d++) {
				struct ss_snap_device device;
				assert_true(ss_snap_replay(&snap, d, false, &device));
				ss_snap_device_free(&device);
			}
		}
		ss_snapshot_free(&snap);
	}
	assert_true(events >= 16 && segments == 2);
}

/* Code in a pickle is named and never run. */
static void code_is_refused(void **state)
{
	static const struct {
		struct ss_str pickle;
		const char *opcode;
	} cases[] = {
		{ SS_STR_INIT("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R."), "STACK_GLOBAL" },
		{ SS_STR_INIT("\x80\x02" "cposix\nsystem\n(U\x04truetR."), "GLOBAL" },
		{ SS_STR_INIT("\x80\x04}\x94(\x8c\x08segments]R."), "REDUCE" },
		{ SS_STR_INIT("\x80\x04}\x94\x8c\x01x\x81."), "NEWOBJ" },
		{ SS_STR_INIT("\x80\x04}b."), "BUILD" },
		{ SS_STR_INIT("\x80\x04(iposix\nsystem\n."), "INST" },
		{ SS_STR_INIT("\x80\x04(o."), "OBJ" },
		{ SS_STR_INIT("\x80\x04\x82\x01."), "EXT1" },
		{ SS_STR_INIT("\x80\x04NQ."), "BINPERSID" },
		{ SS_STR_INIT("\x80\x05\x97."), "NEXT_BUFFER" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_err why = { 0 };
		assert_false(read_text(cases[i].pickle, &why));
		assert_int_equal(why.code, SS_EFORMAT);
		if (!strstr(why.text, cases[i].opcode) || !strstr(why.text, "not executed"))
			fail_msg("%s: %s", cases[i].opcode, why.text);
		ss_snapshot_free(&snap);
	}
}

/* What stands before it is shown, and the note says where it was. */
static void code_after_data_ends_the_reading(void **state)
{
	struct ss_str all = bytes_of(TORCH);
	(void)state;
	assert_int_equal(bytes[all.n - 1], '.');
	memcpy(bytes + all.n - 1, "cos\nsystem\n.", 12);
	assert_ok(read_text((struct ss_str){ bytes, all.n + 11 }, &err));
	assert_int_equal(snap.events.n, 17);
	assert_true(ss_str_contains(snap.stopped, SS_STR("GLOBAL")));
	ss_snapshot_free(&snap);
}

/* A machine that is asked for what is not there, or for too much, stops. */
static void stacks_and_memos_are_bounded(void **state)
{
	static const struct ss_str cases[] = {
		SS_STR_INIT("\x80\x04h\x05."),		  SS_STR_INIT("\x80\x04u."),		SS_STR_INIT("\x80\x04}e."),
		SS_STR_INIT("\x80\x04]s."),		  SS_STR_INIT("\x80\x04\x87."),		SS_STR_INIT("\x80\x04t."),
		SS_STR_INIT("\x80\x04}r\xff\xff\xff\x7f."), SS_STR_INIT("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx"),
		SS_STR_INIT("\x80\x04\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x01."), SS_STR_INIT("\x80\x04" "0."),
	};
	static char deep[200000];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		assert_fails(read_text(cases[i], &err), SS_EFORMAT);
		ss_snapshot_free(&snap);
	}
	memset(deep, ']', sizeof(deep));
	memcpy(deep, "\x80\x04", 2);
	assert_fails(read_text((struct ss_str){ deep, sizeof(deep) }, &err), SS_EFORMAT);
	ss_snapshot_free(&snap);
	/* A list that holds itself. */
	assert_fails(read_text(SS_STR("\x80\x04]\x94h\x00" "a."), &err), SS_EFORMAT);
	ss_snapshot_free(&snap);
}

static void impossible_numbers_are_counted(void **state)
{
	(void)state;
	assert_ok(read_text(SS_STR("{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": -5},"
				   "{\"action\": \"alloc\", \"addr\": 2, \"size\": 9223372036854775807},"
				   "{\"action\": \"alloc\", \"addr\": 3, \"size\": 7, \"time_us\": -9223372036854775808},"
				   "{\"action\": \"alloc\", \"addr\": 3, \"size\": 7, \"time_us\": 9223372036854775807},"
				   "{\"action\": \"free_completed\", \"addr\": 3, \"size\": 7}]]}"),
			    &err));
	assert_int_equal(snap.malformed, 2);
	assert_int_equal(snap.events.n, 3);
	struct ss_snap_device d;
	assert_true(ss_snap_replay(&snap, 0, false, &d));
	/* The second allocation of an address ends the first. */
	assert_int_equal(d.peak, 7);
	assert_int_equal(d.end, 0);
	ss_snap_device_free(&d);
	ss_snapshot_free(&snap);
}

static void reads_profiles_of_jax(void **state)
{
	struct ss_file f;
	(void)state;
	assert_ok(ss_file_open(&f, JAX, &err));
	assert_ok(ss_pprof_read(&f, &snap, &err));
	assert_int_equal(snap.devices.n, 2);
	assert_str(snap.devices.keys[0], "cuda:0");
	assert_int_equal(snap.kinds.n, 2);
	assert_str(snap.kinds.v[0].kind, "buffer");
	assert_int_equal(snap.kinds.v[0].bytes, 4 * MIB);
	assert_int_equal(snap.kinds.v[0].count, 4);
	assert_int_equal(snap.kinds.v[1].bytes, 4096);
	struct ss_snap_device d;
	assert_true(ss_snap_replay(&snap, 0, false, &d));
	assert_int_equal(d.peak, 4 * MIB);
	assert_int_equal(d.peak_blocks, 4);
	uint32_t frame = ss_snap_frame_of(&snap, d.allocs.v[0].stack);
	assert_str(ss_snap_text(&snap, snap.frames.v[frame].name), "loss");
	ss_snap_device_free(&d);
	ss_snapshot_free(&snap);
	ss_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_record),
		cmocka_unit_test(replays_allocations),
		cmocka_unit_test(sums_by_stack),
		cmocka_unit_test(stacks_are_called_by_own_code),
		cmocka_unit_test(cut_files_show_what_is_whole),
		cmocka_unit_test(code_is_refused),
		cmocka_unit_test(code_after_data_ends_the_reading),
		cmocka_unit_test(stacks_and_memos_are_bounded),
		cmocka_unit_test(impossible_numbers_are_counted),
		cmocka_unit_test(reads_profiles_of_jax),
	};
	return RUN_TESTS(tests);
}
