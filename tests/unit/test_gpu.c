/* test_gpu.c - from CUPTI's records to planes of devices, without a CUPTI. */
#include "unit.h"

#include "cupti_abi.h"
#include "cupti_convert.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"
#include "ss_trace_gpu.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

static char logdir[64];

static int make_logdir(void **state)
{
	(void)state;
	snprintf(logdir, sizeof(logdir), "/tmp/gpu-test-XXXXXX");
	return mkdtemp(logdir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_logdir(void **state)
{
	(void)state;
	return nftw(logdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- occupancy ---------------------------------------------------------------------------------- */

static const struct device_caps pascal = { .warp = 32, .warps_per_sm = 64, .blocks_per_sm = 32, .shared_per_sm = 98304,
					    .registers_per_sm = 65536, .major = 6 };
static const struct device_caps unknown;
static const struct device_caps ampere = { .warp = 32, .warps_per_sm = 64, .blocks_per_sm = 32, .shared_per_sm = 167936,
					   .registers_per_sm = 65536, .major = 8 };

/* By hand from the rules; the first is what XLA wrote of a kernel on such a device. */
static void occupancy_by_the_rules(void **state)
{
	(void)state;
	static const struct {
		const struct device_caps *caps;
		uint32_t threads, registers, shared;
		double pct;
	} cases[] = {
		{ &pascal, 128, 12, 0, 100 },		/* 16 blocks of 4 warps */
		{ &pascal, 32, 16, 0, 50 },		/* 32 blocks are the most */
		{ &pascal, 256, 64, 0, 50 },		/* 8 warps take 16384 registers */
		{ &pascal, 256, 96, 0, 25 },		/* 5 warps a partition, 20 in all: 2 blocks */
		{ &pascal, 256, 32, 49152, 25 },	/* two blocks share the memory */
		{ &ampere, 256, 32, 49152, 37.5 },	/* 50176 bytes each: 3 blocks */
		{ &ampere, 1024, 32, 0, 100 },
		{ &ampere, 768, 32, 0, 75 },		/* 2 blocks of 24 warps */
		{ &pascal, 256, 32, 200000, 0 },	/* does not fit */
		{ &pascal, 0, 32, 0, 0 },
		{ &pascal, 4096, 32, 0, 0 },
		{ &pascal, 1024, 255, 0, 0 },		/* 8 warps of 8192 registers do not suffice */
		{ &pascal, 4294967295u, 65535, 4294967295u, 0 },
		{ &unknown, 128, 12, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double got = ss_occupancy_pct(cases[i].caps, cases[i].threads, cases[i].registers, cases[i].shared);
		if (got < cases[i].pct - 1e-9 || got > cases[i].pct + 1e-9)
			fail_msg("case %zu: got %g, wanted %g", i, got, cases[i].pct);
	}
}

/* --- planes ------------------------------------------------------------------------------------- */

static struct device_planes *new_planes(uint64_t max_bytes)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/h.xplane.pb", logdir);
	const struct device_planes_options o = { path, "h", 1700000000000000000u, max_bytes };
	struct device_planes *p = ss_device_planes_new(&o);
	assert_non_null(p);
	return p;
}

static void path_of(char *out, size_t n, const char *name)
{
	snprintf(out, n, "%s/%s", logdir, name);
}

static void open_host(struct ss_host *h, const char *path)
{
	assert_ok(ss_host_open(h, path, &err));
	assert_int_equal(h->x.nnotes, 0);
	assert_ok(ss_host_load(h, &err));
}

/* The planes as they come out at the end, loaded. */
static void load(struct ss_host *h, struct device_planes *p)
{
	char path[128];
	path_of(path, sizeof(path), "out.xplane.pb");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_true(ss_device_planes_write(p, fd));
	assert_int_equal(close(fd), 0);
	open_host(h, path);
}

static const struct ss_plane *device_plane(const struct ss_host *h, const char *name)
{
	for (size_t i = 0; i < h->nplanes; i++)
		if (ss_str_is(h->x.planes[i].name, name))
			return &h->planes[i];
	return NULL;
}

/* Events arrive in any order, of many buffers' worth, and leave in that of time. */
static void events_leave_in_order(void **state)
{
	(void)state;
	struct device_planes *p = new_planes((uint64_t)64 << 20);
	enum { N = 20000 };
	for (uint32_t i = 0; i < N; i++) {
		uint32_t at = i * 7919 % N;	/* a permutation */
		char name[32];
		snprintf(name, sizeof(name), "kernel %u", at % 300);
		const struct device_stat stats[] = {
			{ .key = "correlation_id", .kind = SS_TRACE_UINT, .v = { .u = at } },
			{ .key = "kernel_details", .kind = SS_TRACE_TEXT, .v = { .text = "regs:1 grid:1,1,1 block:1,1,1" } },
		};
		const struct device_event e = { .type = DEVICE_KERNEL, .device = 0, .stream = 7, .name = name,
						.begin_ns = (uint64_t)at * 100, .end_ns = (uint64_t)at * 100 + 50, .stats = stats,
						.nstats = 2 };
		assert_true(ss_device_planes_add(p, &e));
	}
	assert_int_equal(ss_device_planes_events(p), N);
	assert_int_equal(ss_device_planes_dropped(p), 0);
	struct ss_host h = { 0 };
	load(&h, p);
	const struct ss_plane *plane = device_plane(&h, "/device:GPU:0");
	assert_non_null(plane);
	struct ss_line *line = ss_plane_line(plane, SS_STR("Stream #7(Compute)"));
	assert_non_null(line);
	assert_int_equal(line->ev.n, N);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(line->ev.begin_ps[i], (uint64_t)i * 100000);
		assert_int_equal(line->ev.dur_ps[i], 50000);
	}
	ss_host_close(&h);
	ss_device_planes_free(p, true);
}

/* A spool is a profile before anything is put in order. */
static void spools_open_at_any_time(void **state)
{
	(void)state;
	struct device_planes *p = new_planes((uint64_t)16 << 20);
	const struct device_stat fact = { .key = "core_count", .kind = SS_TRACE_INT, .v = { .i = 132 } };
	const struct device_event e = { .type = DEVICE_MEMSET, .device = 3, .stream = 4294967295u, .name = "Memset", .end_ns = 5 };
	for (unsigned i = 0; i < 3; i++) {
		char path[128];
		assert_true(ss_device_planes_fact(p, 3, &fact));
		assert_true(ss_device_planes_add(p, &e));
		path_of(path, sizeof(path), "h.gpu3.xplane.pb");
		struct ss_host h = { 0 };
		open_host(&h, path);
		const struct ss_plane *plane = device_plane(&h, "/device:GPU:3");
		assert_non_null(plane);
		struct ss_line *line = ss_plane_line(plane, SS_STR("Stream #4294967295(Memset)"));
		assert_non_null(line);
		assert_int_equal(line->ev.n, i + 1);
		ss_host_close(&h);
	}
	ss_device_planes_free(p, true);
	char path[128];
	path_of(path, sizeof(path), "h.gpu3.xplane.pb");
	assert_int_not_equal(access(path, F_OK), 0);
}

static void what_finds_no_room_is_counted(void **state)
{
	(void)state;
	struct device_planes *p = new_planes((uint64_t)600 << 10);	/* a page, names, one line */
	struct device_event e = { .type = DEVICE_KERNEL, .name = "k" };
	uint64_t added = 0;
	for (unsigned i = 0; i < 20000; i++)
		added += ss_device_planes_add(p, &e);
	assert_true(added > 5000 && added < 20000);
	assert_int_equal(ss_device_planes_dropped(p), 20000 - added);
	/* Devices that no machine has come from damaged records. */
	e.device = 4294967295u;
	assert_false(ss_device_planes_add(p, &e));
	struct ss_host h = { 0 };
	load(&h, p);
	struct ss_line *line = ss_plane_line(device_plane(&h, "/device:GPU:0"), SS_STR("Stream #0(Compute)"));
	assert_non_null(line);
	assert_int_equal(line->ev.n, added);
	ss_host_close(&h);
	ss_device_planes_free(p, true);
}

/* --- records ------------------------------------------------------------------------------------ */

struct record {
	_Alignas(8) unsigned char bytes[256];
};

static void put32(struct record *r, size_t at, uint32_t v)
{
	memcpy(r->bytes + at, &v, sizeof(v));
}

static void put64(struct record *r, size_t at, uint64_t v)
{
	memcpy(r->bytes + at, &v, sizeof(v));
}

static struct record kernel(const char *name, uint64_t start, uint64_t end)
{
	struct record r = { { 0 } };
	put32(&r, 0, CUPTI_KIND_CONCURRENT_KERNEL);
	put64(&r, KERNEL_START, start);
	put64(&r, KERNEL_END, end);
	memcpy(r.bytes + KERNEL_NAME, &name, sizeof(name));
	return r;
}

/* Names of any length, and of none; times before the session, backwards, and far ahead; random bytes where no pointer is. */
static void odd_records_do_no_harm(void **state)
{
	(void)state;
	struct converter c = { .planes = new_planes((uint64_t)16 << 20), .start_ns = 1000000 };
	ss_converter_init(&c);
	char *longest = malloc(20001);
	assert_non_null(longest);
	memset(longest, 'n', 20000);
	longest[20000] = '\0';
	const struct record records[] = {
		kernel(NULL, 2000000, 2000001), kernel("", 2000002, 2000003), kernel(longest, 2000004, 2000005),
		kernel("_Z", 2000006, 2000007),	kernel("_ZN3foo3barEi", 2000008, 2000009),
		kernel("across the begin", 900000, 1000100), kernel("before", 10, 20), kernel("backwards", 3000000, 2999999),
		kernel("far", 1000000, (uint64_t)1 << 60),
	};
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		ss_convert(&c, &records[i]);
	assert_int_equal(c.early, 1);	/* "before" */
	assert_int_equal(c.untimed, 1);	/* "backwards" */
	assert_int_equal(ss_device_planes_events(c.planes), 7);
	uint32_t seed = 1;
	static const uint32_t kinds[] = { CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMCPY_PEER, CUPTI_KIND_MEMSET, CUPTI_KIND_MEMORY,
					  0, 9999 };
	for (unsigned i = 0; i < 3000; i++) {
		struct record r;
		for (size_t at = 0; at < sizeof(r.bytes); at++)
			r.bytes[at] = (unsigned char)((seed = seed * 1664525 + 1013904223) >> 24);
		put32(&r, 0, kinds[i % 6]);
		/* Some whose times and devices are sound. */
		if (i % 2) {
			put64(&r, MEMCPY_START, 2000000 + i);
			put64(&r, MEMCPY_END, 2000100 + i);
			put32(&r, MEMCPY_DEVICE, i / 6 % 3);
			put32(&r, MEMCPY_STREAM, i % 5);
		}
		ss_convert(&c, &r);
		ss_convert_end(&c);
	}
	struct ss_host h = { 0 };
	load(&h, c.planes);
	assert_non_null(device_plane(&h, "/device:GPU:2"));
	ss_host_close(&h);
	free(longest);
	ss_device_planes_free(c.planes, true);
	ss_converter_release(&c);
}

/* --- the library's call ------------------------------------------------------------------------- */

static void without_a_gpu_it_says_why(void **state)
{
	(void)state;
	struct ss_trace_gpu_report r = { .size = sizeof(r) };
	ss_trace_gpu_check(&r);
	assert_true(r.driver_text[0] && r.cupti_text[0] && r.permission_text[0]);
	assert_false(ss_trace_gpu_start());
	assert_non_null(strstr(ss_trace_gpu_error(), "call ss_trace_start first"));
	if (r.driver)
		return;		/* a machine that has one */
	const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = "none", .host = "h" };
	assert_true(ss_trace_start(&o));
	assert_false(ss_trace_gpu_start());
	assert_string_equal(ss_trace_gpu_error(), r.driver_text);
	const char *path = ss_trace_stop();
	assert_non_null(path);
	struct ss_host h = { 0 };
	open_host(&h, path);
	ss_host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(occupancy_by_the_rules),
		cmocka_unit_test(events_leave_in_order),
		cmocka_unit_test(spools_open_at_any_time),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(odd_records_do_no_harm),
		cmocka_unit_test(without_a_gpu_it_says_why),
	};
	return cmocka_run_group_tests(tests, make_logdir, remove_logdir);
}
