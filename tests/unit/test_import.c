/* test_import.c - traces of other tools: what becomes of each word of theirs. */
#include "unit.h"

#include "import/chrome_args.h"
#include "import/chrome_trace.h"
#include "import/import.h"
#include "import/json_feed.h"
#include "import/kineto.h"
#include "import/names.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/opname.h"
#include "model/preprocess/flows.h"
#include "model/preprocess/load.h"
#include "model/preprocess/preprocess.h"
#include "model/timeline/trace.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdio.h>
#include <time.h>

static void reads_times_to_the_picosecond(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
		uint32_t ps;
	} good[] = {
		{ "0", 0, 0 }, { "1", 1000, 0 }, { "12.5", 12500, 0 }, { "1147415.8742829999", 1147415874, 283 },
		{ "1623142623460111", 1623142623460111000, 0 }, { "0.000001", 0, 1 }, { "1e-06", 0, 1 }, { "2.5e3", 2500000, 0 },
		{ "-1.5", -1500, 0 }, { "4390581013714.847", 4390581013714847, 0 },
	};
	static const char *const bad[] = { "", "x", "NaN", "1e300", "-1e300", "Infinity", "1.2.3" };
	struct ss_so_time t;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(good); i++) {
		assert_true(ss_chrome_time(ss_str_from(good[i].text), &t));
		assert_int_equal(t.ns, good[i].ns);
		assert_int_equal(t.ps, good[i].ps);
	}
	for (size_t i = 0; i < SS_COUNT(bad); i++)
		assert_false(ss_chrome_time(ss_str_from(bad[i]), &t));
	assert_int_equal(ss_chrome_dur_ps(SS_STR("10.5")), 10500000);
	assert_int_equal(ss_chrome_dur_ps(SS_STR("-3")), 0);
	assert_int_equal(ss_chrome_dur_ps(SS_STR("1e15")), 0);
}

static void tells_files_by_name(void **state)
{
	static const struct {
		const char *file, *host;
		bool profile;
	} cases[] = {
		{ "a.xplane.pb", "a", true },	  { "a.xplane.pb.gz", "a", true }, { "a.xplane.riegeli", "a", true },
		{ "w.1.pt.trace.json.gz", "w.1", true },
		{ "a.trace.json", "a", true },	  { "a.trace", "a", true },	   { "a.trace.gz", "a", true },
		{ "a.pftrace", "a", true },	  { "a.b.sqlite", "a.b", true },   { "a.perfetto-trace", "a", true },
		{ "4100_results.db", "4100", true }, { "results.db", "results.db", false }, { "a.db", "a.db", false },
		{ ".trace", ".trace", false },	  { "a.json", "a", false },	   { "a.memory_viewer.json", "a", false },
		{ "trace.json", "trace", false },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		assert_int_equal(ss_profile_rank(ss_str_from(cases[i].file)) != SS_NO_PROFILE, cases[i].profile);
		assert_str(ss_profile_host(ss_str_from(cases[i].file)), cases[i].host);
	}
	assert_true(ss_profile_rank(SS_STR("a.xplane.riegeli")) <= SS_LAST_XSPACE);
	assert_true(ss_profile_rank(SS_STR("a.xplane.pb.gz")) < ss_profile_rank(SS_STR("a.xplane.riegeli")));
	assert_true(ss_profile_rank(SS_STR("a.trace")) > SS_LAST_XSPACE);
	/* Without a host, in a run's directory. */
	assert_int_equal(ss_profile_rank_in_run(SS_STR("trace")), ss_profile_rank(SS_STR("a.trace")));
	assert_int_equal(ss_profile_rank_in_run(SS_STR(".trace")), ss_profile_rank(SS_STR("a.trace")));
	assert_int_equal(ss_profile_rank_in_run(SS_STR("trace.json.gz")), ss_profile_rank(SS_STR("a.trace.json.gz")));
	assert_int_equal(ss_profile_rank_in_run(SS_STR("a.trace")), ss_profile_rank(SS_STR("a.trace")));
	assert_int_equal(ss_profile_rank_in_run(SS_STR("xplane.pb")), SS_NO_PROFILE);
	assert_int_equal(ss_profile_rank_in_run(SS_STR("race")), SS_NO_PROFILE);
}

/* ---- traces ---- */

static struct ss_host host;

static void open_text(const char *text, const char *name)
{
	static struct ss_str bytes;
	bytes = ss_str_from(text);
	assert_ok(ss_host_open_bytes(&host, bytes, name, &err));
	assert_true(host.imported.any);
	assert_ok(ss_host_load(&host, &err));
}

static const struct ss_plane *plane(const char *name)
{
	for (uint32_t i = 0; i < host.nplanes; i++)
		if (ss_str_is(host.planes[i].name, name))
			return &host.planes[i];
	return NULL;
}

static const struct ss_line *line(const char *of, const char *name)
{
	const struct ss_plane *p = plane(of);
	assert_non_null(p);
	return ss_plane_line(p, ss_str_from(name));
}

static struct ss_xstat stat_of(const char *of, const struct ss_line *l, uint32_t i, const char *name)
{
	const struct ss_plane *p = plane(of);
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (ss_str_is(p->x->stat_meta[s.meta].name, name))
			return s;
	return (struct ss_xstat){ .kind = SS_X_NONE };
}

/* By members of the object itself: a description of traces has them deeper, and texts may name them. */
static void tells_traces_of_pytorch_by_content(void **state)
{
	static const struct {
		const char *text;
		bool trace;
	} cases[] = {
		{ "{\"schemaVersion\": 1", true },
		{ " \n{\"a\": {\"b\": [1]}, \"distributedInfo\": {", true },
		{ "{\"traceEvents\": [{\"cat\": \"cpu_op\"", true },
		{ "[{\"cat\": \"cpu_op\"", true },
		{ "{\"t.json\": {\"distributedInfo\": {\"rank\": 0}}}", false },
		{ "{\"a\": \"{\\\"\", \"b\": [{\"schemaVersion\": 1}]}", false },
		{ "{\"a\": \"\\\\\", \"schemaVersion\": 1}", true },
		{ "{\"a", false },
		{ "\"schemaVersion\"", false },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_int_equal(ss_kineto_is_trace(ss_str_from(cases[i].text)), cases[i].trace);
}

static void events_of_each_phase(void **state)
{
	(void)state;
	open_text("{\"other\": {\"a\": [1, \"}\"]}, \"traceEvents\": [\n"
		  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"/host:CPU\"}},\n"
		  "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":5,\"args\":{\"name\":\"main\"}},\n"
		  "{\"ph\":\"X\",\"name\":\"late\",\"pid\":1,\"tid\":\"5\",\"ts\":30,\"dur\":5,\"args\":"
		  "{\"n\":3,\"f\":0.5,\"s\":\"tex\\u0074\",\"l\":[1,2]}},\n"
		  "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":5,\"ts\":10},\n"
		  "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":5,\"ts\":11},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":12.25},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":20},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":21},\n"
		  "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":5,\"ts\":22},\n"
		  "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"args\":{\"a\":1,\"b\":\"2\"}},\n"
		  "{\"ph\":\"O\",\"name\":\"snapshot\",\"pid\":1,\"ts\":1},\n"
		  "{\"ph\":\"X\",\"name\":\"no time\",\"pid\":1,\"tid\":5},\n"
		  "{}]}", "h.trace.json");
	const struct ss_line *l = line("/host:CPU", "main"), *c = line("/host:CPU", "_counters_");
	assert_non_null(l);
	assert_int_equal(l->id, 5);
	assert_int_equal(l->ev.n, 4);
	assert_true(l->ev.sorted);
	static const char *const names[] = { "open", "inner", "mark", "late" };
	static const int64_t begin_ps[] = { 10000000, 11000000, 22000000, 30000000 };
	static const uint64_t dur_ps[] = { 10000000, 1250000, 0, 5000000 };
	for (uint32_t i = 0; i < 4; i++) {
		assert_str(ss_event_name(plane("/host:CPU"), l->ev.meta[i]), names[i]);
		assert_int_equal(l->ev.begin_ps[i], begin_ps[i]);
		assert_int_equal(l->ev.dur_ps[i], dur_ps[i]);
	}
	assert_int_equal(stat_of("/host:CPU", l, 3, "n").u, 3);
	assert_int_equal(stat_of("/host:CPU", l, 3, "f").kind, SS_X_DOUBLE);
	assert_str(stat_of("/host:CPU", l, 3, "s").s, "text");
	assert_str(stat_of("/host:CPU", l, 3, "l").s, "[1,2]");
	assert_non_null(c);
	assert_int_equal(c->ev.n, 2);
	/* One event without time, one phase unknown, one end too many: three notes. */
	assert_int_equal(host.x.nnotes, 3);
	ss_host_close(&host);
}

/* Ends before their begins, and what an end says. */
static void ends_in_any_order(void **state)
{
	static const struct {
		const char *name;
		uint64_t dur_us;
	} want[] = { { "outer", 43 }, { "inner", 5 }, { "again", 4 }, { "open", 15 } };
	(void)state;
	open_text("[{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":40},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":17},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":5},\n"
		  "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":5,\"ts\":12},\n"
		  "{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":5,\"ts\":10,\"args\":{\"a\":1}},\n"
		  "{\"ph\":\"B\",\"name\":\"again\",\"pid\":1,\"tid\":5,\"ts\":20,\"args\":{\"b\":2}},\n"
		  "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":5,\"ts\":21,\"args\":{\"m\":9}},\n"
		  "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":24,\"args\":{\"c\":3}},\n"
		  "{\"ph\":\"X\",\"name\":\"last\",\"pid\":1,\"tid\":5,\"ts\":50,\"dur\":3},\n"
		  "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":5,\"ts\":25}]", "h.trace.json");
	const struct ss_line *l = line("/host:CPU", "");
	assert_int_equal(l->ev.n, 6);
	for (uint32_t i = 0, k = 0; i < l->ev.n; i++) {
		struct ss_str name = ss_event_name(plane("/host:CPU"), l->ev.meta[i]);
		if (ss_str_is(name, "again")) {
			assert_int_equal(stat_of("/host:CPU", l, i, "b").u, 2);
			assert_int_equal(stat_of("/host:CPU", l, i, "c").u, 3);
			assert_int_equal(stat_of("/host:CPU", l, i, "m").kind, SS_X_NONE);
		}
		if (ss_str_is(name, "mark"))
			assert_int_equal(stat_of("/host:CPU", l, i, "m").u, 9);
		if (ss_str_is(name, "mark") || ss_str_is(name, "last"))
			continue;
		assert_str(name, want[k].name);
		assert_int_equal(l->ev.dur_ps[i], want[k++].dur_us * 1000000);
	}
	assert_int_equal(host.x.nnotes, 1);	/* the end at 5 */
	ss_host_close(&host);
}

static void marks_of_byte_order_are_passed_over(void **state)
{
	static const char *const texts[] = {
		"\xef\xbb\xbf{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}",
		"\xef\xbb\xbf [{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]",
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(texts); i++) {
		open_text(texts[i], "h.json");
		assert_int_equal(line("/host:CPU", "")->ev.n, 1);
		assert_int_equal(host.x.nnotes, 0);
		ss_host_close(&host);
	}
}

static void a_list_without_its_end(void **state)
{
	(void)state;
	open_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":3,\"tid\":1,\"ts\":1,\"dur\":2},\n{\"ph\":\"X\",\"name\":\"b\"", "h.json");
	assert_int_equal(line("/host:CPU", "")->ev.n, 1);
	assert_int_equal(host.x.nnotes, 1);
	ss_host_close(&host);
	assert_fails(ss_host_open_bytes(&host, SS_STR("{\"a\": 1}"), "h.json", &err), SS_EFORMAT);
	assert_fails(ss_host_open_bytes(&host, SS_STR("{\"traceEvents\": 7}"), "h.json", &err), SS_EFORMAT);
}

static void clocks_of_the_epoch_begin_near_zero(void **state)
{
	struct ss_xstat s;
	(void)state;
	open_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1700000000000001.5,\"dur\":1},"
		  "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1700000000000011,\"dur\":1},"
		  "{\"ph\":\"X\",\"name\":\"damaged\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}]", "h.json");
	const struct ss_line *l = line("/host:CPU", "");
	assert_int_equal(l->ev.n, 2);
	assert_int_equal(l->ev.begin_ps[0], 500000);
	assert_int_equal(l->ev.begin_ps[1], 10000000);
	assert_true(ss_xstats_find(ss_xplane_stats(plane("Task Environment")->x), SS_STAT_PROFILE_START_TIME, &s));
	assert_int_equal(ss_xstat_int_or_uint(&s), 1700000000000001000);
	ss_host_close(&host);
}

static void flows_bind_to_events_around_them(void **state)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100},"
		"{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":20},"
		"{\"ph\":\"X\",\"name\":\"to\",\"pid\":1,\"tid\":2,\"ts\":50,\"dur\":20},"
		"{\"ph\":\"s\",\"cat\":\"x\",\"id\":7,\"pid\":1,\"tid\":1,\"ts\":15},"
		"{\"ph\":\"f\",\"cat\":\"x\",\"id\":7,\"pid\":1,\"tid\":2,\"ts\":40}]";
	(void)state;
	open_text(text, "h.json");
	const struct ss_plane *p = plane("/host:CPU");
	const struct ss_line *from = &p->lines[0], *to = &p->lines[1];
	struct ss_xstat out = stat_of("/host:CPU", from, 1, "flow"), in = stat_of("/host:CPU", to, 0, "flow");
	assert_int_equal(stat_of("/host:CPU", from, 0, "flow").kind, SS_X_NONE);
	assert_int_equal(out.u & 3, SS_FLOW_OUT);
	assert_int_equal(in.u & 3, SS_FLOW_IN);
	assert_int_equal(out.u >> 2, in.u >> 2);
	ss_host_close(&host);
}

static void kernels_get_the_operation_that_launched_them(void **state)
{
	static const char text[] =
		"[{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 1\"}},"
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":9,\"args\":{\"labels\":\"CPU\"}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":50,\"dur\":9,\"args\":"
		"{\"correlation\":5,\"grid\":[2,1,1],\"block\":[8,1,1],\"registers per thread\":16,\"shared memory\":64}},"
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":9,\"tid\":1,\"ts\":12,\"dur\":3,"
		"\"args\":{\"correlation\":5}},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":1,\"ts\":10,\"dur\":20},"
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":9,\"tid\":1,\"ts\":0,\"dur\":40}]";
	(void)state;
	open_text(text, "h.pt.trace.json");
	const struct ss_line *gpu = line("/device:GPU:1", "stream 7"), *cpu = &plane("/host:CPU")->lines[0];
	assert_str(stat_of("/device:GPU:1", gpu, 0, "tf_op").s, "aten::mm");
	assert_int_equal(stat_of("/device:GPU:1", gpu, 0, "correlation_id").u, 5);
	assert_str(stat_of("/device:GPU:1", gpu, 0, "kernel_details").s,
		   "regs:16 static_shared:64 dynamic_shared:0 grid:2,1,1 block:8,1,1 occ_pct:0");
	assert_str(ss_event_name(plane("/host:CPU"), cpu->ev.meta[0]), "ProfilerStep");
	assert_str(ss_event_label(plane("/host:CPU"), cpu->ev.meta[0]), "ProfilerStep#3");
	assert_str(ss_event_kind_label(plane("/host:CPU"), cpu->ev.meta[0]), "ProfilerStep");
	assert_int_equal(ss_event_display_name(plane("/host:CPU"), cpu->ev.meta[0]).n, 0);
	assert_int_equal(stat_of("/host:CPU", cpu, 0, "step_num").u, 3);
	assert_int_equal(ss_event_group(plane("/device:GPU:1"), gpu, 0), 0);
	ss_host_close(&host);
}

/* They are told by their names, in which PyTorch has a blank. */
static void copies_of_pytorch_are_copies(void **state)
{
	static const struct {
		const char *theirs, *ours;
		enum ss_op_category category;
	} cases[] = {
		{ "Memcpy HtoD (Pinned -> Device)", "MemcpyHtoD (Pinned -> Device)", SS_OP_MEMCPY_HTOD },
		{ "Memcpy DtoH (Device -> Pageable)", "MemcpyDtoH (Device -> Pageable)", SS_OP_MEMCPY_DTOH },
		{ "Memcpy PtoP (Device -> Device)", "MemcpyDtoD PtoP (Device -> Device)", SS_OP_MEMCPY_DTOD },
		{ "Memcpy", "Memcpy", SS_OP_UNKNOWN },
	};
	struct ss_arena a = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_chrome_args args = { .n = 0 };
		struct ss_str name = ss_str_from(cases[i].theirs);
		assert_true(ss_chrome_args_kineto(SS_STR("gpu_memcpy"), SS_KINETO_MEMCPY, &name, &a, &args));
		assert_str(name, cases[i].ours);
		assert_int_equal(ss_op_name_parse(name).category, cases[i].category);
		assert_int_equal(ss_op_name_parse(ss_str_from(cases[i].theirs)).category, cases[i].category);
		name = ss_str_from(cases[i].theirs);
		assert_true(ss_chrome_args_kineto(SS_STR("cpu_op"), SS_KINETO_OPERATOR, &name, &a, &args));
		assert_str(name, cases[i].theirs);
	}
	ss_arena_release(&a);
}

/* Of two members of one name the last counts, under that name: it stood in memory that was given back. */
static void members_that_come_twice(void **state)
{
	(void)state;
	open_text("{\"torch_version\":\"2.1\",\"schemaVersion\":1,\"torch_version\":\"2.9\",\"schemaVersion\":2,\"traceEvents\":["
		  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":1,\"ts\":10,\"dur\":20}]}",
		  "h.pt.trace.json");
	const struct ss_xplane *about = NULL;
	for (uint32_t i = 0; i < host.x.nplanes; i++)
		if (ss_str_is(host.x.planes[i].name, "Task Environment"))
			about = &host.x.planes[i];
	assert_non_null(about);
	struct ss_xstats it = ss_xplane_stats(about);
	struct ss_xstat s;
	unsigned seen = 0, all = 0;
	while (ss_xstats_next(&it, &s)) {
		struct ss_str name = about->stat_meta[s.meta].name;
		all += ss_str_is(name, "torch_version") || ss_str_is(name, "schemaVersion");
		seen += ss_str_is(name, "torch_version") && ss_str_is(ss_xstat_str(&s), "2.9");
		seen += ss_str_is(name, "schemaVersion") && s.u == 2;
	}
	assert_int_equal(seen, 2);
	assert_int_equal(all, 2);
	ss_host_close(&host);
}

static void allocations_and_devices_of_pytorch(void **state)
{
	static const char text[] =
		"{\"deviceProperties\":[{\"id\":3,\"name\":\"AMD Instinct MI300X\",\"numSms\":304},"
		"{\"id\":1,\"name\":\"NVIDIA H100\",\"numSms\":132,\"computeMajor\":9,\"computeMinor\":0,"
		"\"totalGlobalMem\":85000000000}],\"traceEvents\":["
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 1\"}},"
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":9,\"args\":{\"labels\":\"CPU\"}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":9},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":1,\"ts\":10,\"dur\":20},"
		"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":9,\"tid\":1,\"ts\":12,\"args\":{\"Bytes\":512,\"Addr\":77,"
		"\"Total Allocated\":600,\"Total Reserved\":1000,\"Device Type\":1,\"Device Id\":1}},"
		"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":9,\"tid\":1,\"ts\":40,\"args\":{\"Bytes\":-512,\"Device Type\":0}}]}";
	(void)state;
	open_text(text, "h.pt.trace.json");
	const struct ss_line *cpu = &plane("/host:CPU")->lines[0];
	const char *host_plane = "/host:CPU";
	assert_str(ss_event_name(plane(host_plane), cpu->ev.meta[1]), "MemoryAllocation");
	assert_str(ss_event_name(plane(host_plane), cpu->ev.meta[2]), "MemoryDeallocation");
	assert_int_equal(stat_of(host_plane, cpu, 1, "allocation_bytes").u, 512);
	assert_int_equal(stat_of(host_plane, cpu, 1, "bytes_allocated").u, 600);
	assert_int_equal(stat_of(host_plane, cpu, 1, "bytes_available").u, 400);
	assert_int_equal(stat_of(host_plane, cpu, 1, "addr").u, 77);
	assert_str(stat_of(host_plane, cpu, 1, "allocator_name").s, "CUDA:1");
	assert_str(stat_of(host_plane, cpu, 1, "tf_op_name").s, "aten::mm");
	assert_int_equal(stat_of(host_plane, cpu, 2, "allocation_bytes").u, 512);
	assert_str(stat_of(host_plane, cpu, 2, "allocator_name").s, "CPU");
	struct ss_xstats it = ss_xplane_stats(plane("/device:GPU:1")->x);
	struct ss_xstat s;
	unsigned seen = 0;
	while (ss_xstats_next(&it, &s)) {
		seen += s.stat == SS_STAT_CORE_COUNT && s.u == 132;
		seen += s.stat == SS_STAT_DEVICE_VENDOR && ss_str_is(ss_xstat_str(&s), "Nvidia");
	}
	assert_int_equal(seen, 2);
	ss_host_close(&host);
}

static void operations_get_their_program(void **state)
{
	static const char text[] =
		"{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1003,\"args\":{\"name\":\"vm /device:TPU:2\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1003,\"tid\":2,\"args\":{\"name\":\"XLA Modules\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1003,\"tid\":3,\"args\":{\"name\":\"XLA Ops\"}},"
		"{\"ph\":\"X\",\"name\":\"jit_f(11)\",\"pid\":1003,\"tid\":2,\"ts\":0,\"dur\":10,\"args\":{\"run_id\":\"4\"}},"
		"{\"ph\":\"X\",\"name\":\"jit_g(22)\",\"pid\":1003,\"tid\":2,\"ts\":20,\"dur\":10},"
		"{\"ph\":\"X\",\"name\":\"copy\",\"pid\":1003,\"tid\":3,\"ts\":1,\"dur\":2,\"args\":{\"hlo_category\":\"copy\","
		"\"long_name\":\"%copy = f32[]\",\"model_flops\":\"12\"}},"
		"{\"ph\":\"X\",\"name\":\"copy\",\"pid\":1003,\"tid\":3,\"ts\":21,\"dur\":2,\"args\":{\"hlo_category\":\"copy\","
		"\"long_name\":\"%copy = f32[]\",\"model_flops\":\"12\"}}]}";
	static const uint64_t programs[] = { 11, 22 };
	(void)state;
	open_text(text, "h.trace.json");
	assert_str(ss_host_hostname(&host), "vm");
	const struct ss_plane *p = plane("/device:TPU:2");
	const struct ss_line *ops = line("/device:TPU:2", "XLA Ops");
	assert_int_equal(p->id, 2);
	assert_int_equal(stat_of("/device:TPU:2", line("/device:TPU:2", "XLA Modules"), 0, "run_id").u, 4);
	for (uint32_t i = 0; i < 2; i++) {
		struct ss_xstat s;
		assert_str(ss_event_name(p, ops->ev.meta[i]), "%copy = f32[]");
		assert_str(ss_event_display_name(p, ops->ev.meta[i]), "copy");
		assert_true(ss_xstats_find(ss_xevent_meta_stats(p->x, ops->ev.meta[i]), SS_STAT_PROGRAM_ID, &s));
		assert_int_equal(ss_xstat_int_or_uint(&s), programs[i]);
		assert_true(ss_xstats_find(ss_xevent_meta_stats(p->x, ops->ev.meta[i]), SS_STAT_FLOPS, &s));
		assert_int_equal(ss_xstat_int_or_uint(&s), 12);
	}
	ss_host_close(&host);
}

/* The same packed, in pieces of all sizes: the window moves over many values. */
static void packed_texts_are_the_same(void **state)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_buf text = { 0 };
	struct ss_str packed;
	(void)state;
	ss_buf_z(&text, "{\"traceEvents\":[");
	for (unsigned i = 0; i < 20000; i++)
		ss_buf_printf(&text,
			      "%s{\"ph\":\"X\",\"name\":\"e%u\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":1,\"args\":{\"k\":\"%0*u\"}}",
			      i ? "," : "", i % 50, i, (int)(i % 97 + 1), i);
	ss_buf_z(&text, "]}");
	ss_gz_write(gz, ss_buf_get(&text));
	assert_true(ss_gz_finish(gz, &packed));
	assert_ok(ss_host_open_bytes(&host, packed, "h.trace.json.gz", &err));
	assert_ok(ss_host_load(&host, &err));
	assert_int_equal(line("/host:CPU", "")->ev.n, 20000);
	assert_int_equal(host.x.nnotes, 0);
	ss_host_close(&host);
	/* Cut short: what is whole, and a note. */
	assert_ok(ss_host_open_bytes(&host, ss_str_sub(packed, 0, packed.n / 2), "h.trace.json.gz", &err));
	assert_ok(ss_host_load(&host, &err));
	assert_true(line("/host:CPU", "")->ev.n > 1000 && line("/host:CPU", "")->ev.n < 20000);
	assert_int_equal(host.x.nnotes, 1);
	ss_host_close(&host);
	ss_gz_close(gz);
	ss_buf_free(&text);
}

/*
 * Packed twice is read all the same, three times is refused; so is a damaged outer layer read as
 * far as it goes.
 */
/* Each kind of damage has a sentence of its own, and what could be read is there. */
static void damage_is_told_apart(void **state)
{
	static const struct {
		const char *events, *says;
		uint64_t shown;
	} cases[] = {
		{ "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\"ts\":NaN,\"dur\":1}", "not a number", 1 },
		{ "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\"ts\":7,\"dur\":Infinity}", "not a number", 2 },
		{ "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\"ts\":7,\"dur\":-4}", "negative duration", 2 },
		{ "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\"ts\":1700000000000000000,\"dur\":4}", "nanoseconds", 1 },
		{ "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"cat\":\"cuda_runtime\",\"name\":\"l\",\"ts\":7,\"dur\":1,\"args\":{"
		  "\"correlation\":5}},"
		  "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"cat\":\"cuda_runtime\",\"name\":\"l\",\"ts\":9,\"dur\":1,\"args\":{"
		  "\"correlation\":5}}",
		  "correlation id", 3 },
		{ "{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"id\":3,\"ts\":1},{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"id\":3,\"ts\":1}",
		  "id of another arrow", 1 },
	};
	char text[2000];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		snprintf(text, sizeof(text),
			 "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"good\",\"ts\":1,\"dur\":2},%s]}",
			 cases[i].events);
		open_text(text, "x.json");
		assert_int_equal(host.nevents, cases[i].shown);
		assert_int_equal(host.x.nnotes, 1);
		if (!ss_str_contains(host.x.notes[0], ss_str_from(cases[i].says)))
			fail_msg("%s: " SS_FMT, cases[i].says, SS_ARG(host.x.notes[0]));
		ss_host_close(&host);
	}
}

/*
 * A text of 20 MiB is no name: it is passed over, packed or not, and the events around it are
 * there.
 */
static void long_values_are_passed_over(void **state)
{
	const char *begin = "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\"ts\":1,\"dur\":2},"
			    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":3,\"name\":\"\\\"}";
	const char *end = "\"},{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"b\",\"ts\":5,\"dur\":2}]}";
	struct ss_buf text = { 0 };
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_str packed;
	(void)state;
	ss_buf_z(&text, begin);
	for (size_t i = 0; i < 20 << 10; i++)
		ss_buf_printf(&text, "%1024s", "x");
	ss_buf_z(&text, end);
	ss_gz_write(gz, ss_buf_get(&text));
	assert_true(ss_gz_finish(gz, &packed));
	for (int i = 0; i < 2; i++) {
		assert_ok(ss_host_open_bytes(&host, i ? packed : ss_buf_get(&text), "x.json", &err));
		assert_ok(ss_host_load(&host, &err));
		assert_int_equal(host.nevents, 2);
		assert_true(ss_str_contains(host.x.notes[0], SS_STR("longer than 16 MiB")));
		ss_host_close(&host);
	}
	ss_gz_close(gz);
	ss_buf_free(&text);
}

static void packed_twice(void **state)
{
	struct ss_str layer = SS_STR("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]");
	struct ss_gz_out *gz[3];
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		gz[i] = ss_gz_open(SS_GZ_FAST);
		ss_gz_write(gz[i], layer);
		assert_true(ss_gz_finish(gz[i], &layer));
		if (i == 2) {
			assert_fails(ss_host_open_bytes(&host, layer, "h.trace.json.gz", &err), SS_EFORMAT);
			continue;
		}
		assert_ok(ss_host_open_bytes(&host, layer, "h.trace.json.gz", &err));
		assert_ok(ss_host_load(&host, &err));
		assert_int_equal(line("/host:CPU", "")->ev.n, 1);
		ss_host_close(&host);
	}
	for (size_t i = 0; i < 3; i++)
		ss_gz_close(gz[i]);
}

/* Whether a plane has programs was looked up among all of its lines for each of them: 120,000 threads took 29 s. */
static void many_threads_cost_no_square(void **state)
{
	struct timespec begin, end;
	struct ss_buf b = { 0 };
	char event[64];
	(void)state;
	ss_buf_lit(&b, "[");
	for (int i = 0; i < 120000; i++) {
		snprintf(event, sizeof(event), "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":1,\"dur\":1},", i);
		ss_buf_str(&b, ss_str_from(event));
	}
	ss_buf_lit(&b, "{}]");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_ok(ss_host_open_bytes(&host, ss_buf_get(&b), "h.trace.json", &err));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 5);	/* 0.3 s; some times that with sanitizers */
	ss_host_close(&host);
	ss_buf_free(&b);
}

/* Names of all streams were looked at anew for each of them: 20,000 took 12 s. */
static void many_streams_cost_no_square(void **state)
{
	struct timespec begin, end;
	struct ss_buf b = { 0 };
	char event[160];
	uint64_t nflows = 0;
	(void)state;
	ss_buf_lit(&b, "[");
	for (int i = 0; i < 20000; i++) {
		snprintf(event, sizeof(event),
			 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":9,"
			 "\"args\":{\"correlation\":%d,\"stream\":%d,\"device\":0}},", i, i, i, i, i);
		ss_buf_str(&b, ss_str_from(event));
	}
	ss_buf_lit(&b, "{}]");
	assert_ok(ss_host_open_bytes(&host, ss_buf_get(&b), "h.trace.json", &err));
	assert_ok(ss_host_load(&host, &err));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (uint32_t k = 0; k < host.nplanes; k++)
		for (uint32_t i = 0; i < host.planes[k].nlines; i++) {
			struct ss_flow *flows;
			size_t n;
			assert_ok(ss_preprocess_flows(&host, &host.planes[k], &host.planes[k].lines[i], &flows, &n, &err));
			nflows += n;
			free(flows);
		}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(nflows, 20000);
	assert_true(end.tv_sec - begin.tv_sec < 3);	/* 0.1 s; some times that with sanitizers */
	ss_host_close(&host);
	ss_buf_free(&b);
}

/* `head`, then `times` times `piece`, packed. */
static struct ss_gz_out *bomb(struct ss_str head, struct ss_str piece, size_t times, struct ss_str *packed)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_buf block = { 0 };
	size_t each = 65536 / piece.n + 1;
	for (size_t i = 0; i < each; i++)
		ss_buf_str(&block, piece);
	ss_gz_write(gz, head);
	for (size_t i = 0; i < times / each; i++)
		ss_gz_write(gz, ss_buf_get(&block));
	assert_true(ss_gz_finish(gz, packed));
	ss_buf_free(&block);
	return gz;
}

/* The head of an XSpace with one plane of one line of `n` bytes of events. */
static void head_of_events(struct ss_buf *b, size_t n)
{
	struct ss_buf line = { 0 };
	ss_pbo_varint(&line, PB_LEN(3));
	ss_pbo_varint(&line, n);
	ss_pbo_varint(b, PB_LEN(1));
	ss_pbo_varint(b, line.n + n);
	ss_buf_str(b, ss_buf_get(&line));
	ss_buf_free(&line);
}

struct bomb {
	const char *name;
	struct ss_str head, piece;
	unsigned mib;
	const char *says;	/* a note; "": loading fails */
};

static void open_bomb(const struct bomb *b)
{
	struct ss_str packed;
	struct ss_gz_out *gz = bomb(b->head, b->piece, ((size_t)b->mib << 20) / b->piece.n, &packed);
	struct ss_host second;
	struct ss_err why = { 0 };
	bool said = !*b->says;
	assert_ok(ss_host_open_bytes(&host, packed, b->name, &err));
	for (uint32_t k = 0; k < host.x.nnotes; k++)
		said |= ss_str_contains(host.x.notes[k], ss_str_from(b->says));
	if (!said)
		fail_msg("%s: no note says '%s'", b->name, b->says);
	/* One that is opened beside it has the rest of the budget. */
	bool both = ss_host_open_bytes(&second, packed, b->name, &why);
	assert_true(both || why.code == SS_ENOMEM || why.code == SS_EFORMAT);
	assert_true(host.imported.space.n + (both ? second.imported.space.n : 0) <=
		    SS_HOLD_BUDGET_BYTES + 2 * SS_HOLD_PER_FILE_BYTE * packed.n);
	if (both)
		ss_host_close(&second);
	if (!*b->says) {
		why = (struct ss_err){ 0 };
		assert_false(ss_host_load(&host, &why));
		assert_int_equal(why.code, SS_ENOMEM);
		assert_true(strstr(why.text, b->name) && strstr(why.text, "needs more memory"));
	}
	ss_host_close(&host);
	ss_gz_close(gz);
}

/*
 * What a few bytes decompress to is not all taken in, whatever the format is, and whatever else is
 * open.
 */
static void a_bomb_is_bounded(void **state)
{
	const struct ss_str event = SS_STR("\x22\x06\x08\x01\x10\x64\x18\x01");
	const struct ss_str op = SS_STR("{\"ph\":\"X\",\"ts\":1,\"dur\":1},");
	const char *more = "decompresses to more than";
	/* Rows and events are few where the text alone is too much, and short where what is made of it is. */
	struct ss_buf events = { 0 }, row = { 0 };
	(void)state;
	ss_buf_lit(&row, "\"KERNEL_DISPATCH\",\"");
	for (int i = 0; i < 4096; i++)
		ss_buf_char(&row, 'k');
	ss_buf_lit(&row, "\",1,100,200\n");
	head_of_events(&events, (size_t)100 << 20);
	const struct bomb bombs[] = {
		{ "a.xplane.pb.gz", SS_STR("\x0a\x85\x80\x80\x64\x12\x80\x80\x80\x64"), SS_STR("a"), 100, more },
		{ "b.xplane.pb.gz", ss_buf_get(&events), event, 100, "" },
		{ "c.xplane.pb.gz", SS_STR(""), SS_STR("\x22\x01\x61"), 100, "host names and messages are left out" },
		{ "d.trace.json.gz", SS_STR("{\"traceEvents\":["), op, 80, "exceed the memory limit" },
		{ "e.trace.json.gz", SS_STR("["), SS_STR(" "), 80, "truncated" },
		{ "f.pftrace.gz", SS_STR(""), SS_STR("\x0a\x0a\x40\x64\x50\x01\x5a\x04\x48\x01\x58\x07"), 80, more },
		{ "g_kernel_trace.csv.gz",
		  SS_STR("\"Kind\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"),
		  ss_buf_get(&row), 100, more },
	};
	uint64_t spent = ss_hold_spent_bytes();
	for (size_t i = 0; i < SS_COUNT(bombs); i++) {
		open_bomb(&bombs[i]);
		assert_int_equal(ss_hold_spent_bytes(), spent);
	}
	ss_buf_free(&events);
	ss_buf_free(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_times_to_the_picosecond),
		cmocka_unit_test(tells_files_by_name),
		cmocka_unit_test(tells_traces_of_pytorch_by_content),
		cmocka_unit_test(events_of_each_phase),
		cmocka_unit_test(ends_in_any_order),
		cmocka_unit_test(marks_of_byte_order_are_passed_over),
		cmocka_unit_test(copies_of_pytorch_are_copies),
		cmocka_unit_test(damage_is_told_apart),
		cmocka_unit_test(long_values_are_passed_over),
		cmocka_unit_test(packed_twice),
		cmocka_unit_test(a_list_without_its_end),
		cmocka_unit_test(clocks_of_the_epoch_begin_near_zero),
		cmocka_unit_test(flows_bind_to_events_around_them),
		cmocka_unit_test(kernels_get_the_operation_that_launched_them),
		cmocka_unit_test(members_that_come_twice),
		cmocka_unit_test(allocations_and_devices_of_pytorch),
		cmocka_unit_test(operations_get_their_program),
		cmocka_unit_test(packed_texts_are_the_same),
		cmocka_unit_test(many_threads_cost_no_square),
		cmocka_unit_test(many_streams_cost_no_square),
		cmocka_unit_test(a_bomb_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
