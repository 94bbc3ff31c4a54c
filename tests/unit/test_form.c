/*
 * test_form.c - what a file is, by its name and its first bytes; and what becomes of the formats of
 * others.
 */
#include "unit.h"

#include "base/buf.h"
#include "import/form.h"
#include "import/perfetto_fields.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

static enum ss_form_id form(const char *name, struct ss_str head)
{
	return ss_form_of(ss_str_from(name), head)->id;
}

static void bytes_tell_before_names(void **state)
{
	(void)state;
	/* An XPlane with an id and a name, and one with a name alone. */
	assert_int_equal(form("a.xplane.pb", SS_STR("\x0a\x0d\x08\x01\x12\x09/host:CPU")), SS_FORM_XSPACE);
	assert_int_equal(form("x", SS_STR("\x0a\x0b\x12\x09/host:CPU")), SS_FORM_XSPACE);
	assert_int_equal(form("x.trace", SS_STR("\x0a\x02\x08\x01")), SS_FORM_TRACE);
	assert_int_equal(form("x", SS_STR("{\"traceEvents\": []}")), SS_FORM_JSON);
	assert_int_equal(form("x", SS_STR("[{\"ph\": \"X\"}]")), SS_FORM_JSON);
	assert_int_equal(form("x.json", SS_STR("\xef\xbb\xbf \n{\"schemaVersion\": 1, \"traceEvents\": [")), SS_FORM_JSON);
	assert_int_equal(form("x", SS_STR("{\"hloModule\": {}}")), SS_FORM_PROGRAM);
	/* A packet with a time and a sequence; its first one with a configuration alone. */
	assert_int_equal(form("x", SS_STR("\x0a\x04\x40\x05\x50\x01")), SS_FORM_PERFETTO);
	assert_int_equal(form("x", SS_STR("\x0a\x05\x8a\x02\x02\x08\x01\x0a\x04\x40\x05\x50\x01")), SS_FORM_PERFETTO);
	assert_int_equal(form("x.pftrace", SS_STR("\x0a\x02\x10\x01")), SS_FORM_PERFETTO);
}

/* Each is refused, with its own name and what to do. */
static void others_are_refused_by_name(void **state)
{
	static const struct {
		const char *file;
		struct ss_str head;
		const char *says, *advises;
	} cases[] = {
		{ "r.nsys-rep", SS_STR_INIT("\xaf\x53\0\1"), "Nsight Systems", "nsys export --type sqlite" },
		{ "r.qdrep", SS_STR_INIT("QD"), "Nsight Systems", "nsys export" },
		{ "r.ncu-rep", SS_STR_INIT("NVR\0"), "Nsight Compute", "nsys profile" },
		{ "m.ntff", SS_STR_INIT("NTFF\1\0"), "Neuron", "neuron-profile" },
		{ "et.json", SS_STR_INIT("{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": []}"),
		  "execution trace", "torch.profiler" },
		{ "et.json", SS_STR_INIT("{\"pid\": 1, \"schema\": \"1.0.1\", \"nodes\": []}"),
		  "execution trace", "torch.profiler" },
		{ "tl.json", SS_STR_INIT("[[1, 2, 3], [[0, 0]]]"), "memory_timeline", "_dump_snapshot" },
		{ "tl.raw.json", SS_STR_INIT("[[17, 0, 512, 1], [18, 1, 512, 1]]"), "memory_timeline", "_dump_snapshot" },
		{ "tl.html", SS_STR_INIT("<html><head></head></html>"), "HTML", "memory_timeline" },
		{ "s.json", SS_STR_INIT("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"}"),
		  "speedscope", "Chrome" },
		{ "perf.data", SS_STR_INIT("PERFILE2\0\0"), "perf", "perf report" },
		{ "c.pt", SS_STR_INIT("PK\3\4"), "zip", "unpack" },
		{ "x.pb.zst", SS_STR_INIT("\x28\xb5\x2f\xfd"), "zstd", "zstd -d" },
		{ "x.pb.xz", SS_STR_INIT("\xfd" "7zXZ\0"), "xz", "xz -d" },
		{ "x.csv", SS_STR_INIT("name,begin,end\nfirst,1,2\n"), "begins with 'name,begin,end'", "the directory" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_host h;
		struct ss_err err = { 0 };
		assert_in_range(form(cases[i].file, cases[i].head), SS_FORM_REFUSED, SS_FORM_REFUSED_LINE);
		assert_false(ss_host_open_bytes(&h, cases[i].head, cases[i].file, &err));
		assert_int_equal(err.code, SS_EFORMAT);
		if (!strstr(err.text, cases[i].says) || !strstr(err.text, cases[i].advises))
			fail_msg("%s: %s", cases[i].file, err.text);
	}
}

/* Packed, it is the same file. */
static void packed_ones_are_known(void **state)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_str packed;
	struct ss_host h;
	struct ss_err err = { 0 };
	(void)state;
	ss_gz_write(gz, SS_STR("[[1, 2, 3], [[0, 0]]]"));
	assert_true(ss_gz_finish(gz, &packed));
	assert_false(ss_host_open_bytes(&h, packed, "tl.json.gz", &err));
	assert_non_null(strstr(err.text, "memory_timeline"));
	ss_gz_close(gz);
}

/* ---- Perfetto ---- */

static struct ss_buf trace, packet, inner;

static void put_packet(void)
{
	ss_pbo_bytes(&trace, TRACE_PACKET, ss_buf_get(&packet));
	packet.n = inner.n = 0;
}

static void put_thread(uint64_t uuid, uint64_t parent, uint64_t pid, uint64_t tid, const char *name)
{
	struct ss_buf thread = { 0 };
	ss_pbo_uint(&thread, THREAD_PID, pid);
	ss_pbo_uint(&thread, THREAD_TID, tid);
	ss_pbo_bytes(&thread, THREAD_NAME, ss_str_from(name));
	ss_pbo_uint(&inner, TRACK_UUID, uuid);
	ss_pbo_uint(&inner, TRACK_PARENT, parent);
	ss_pbo_bytes(&inner, TRACK_THREAD, ss_buf_get(&thread));
	ss_pbo_bytes(&packet, PACKET_TRACK_DESCRIPTOR, ss_buf_get(&inner));
	ss_buf_free(&thread);
	put_packet();
}

static void put_track(uint64_t uuid, uint64_t parent, const char *name)
{
	ss_pbo_uint(&inner, TRACK_UUID, uuid);
	ss_pbo_uint(&inner, TRACK_PARENT, parent);
	ss_pbo_bytes(&inner, TRACK_NAME, ss_str_from(name));
	ss_pbo_bytes(&packet, PACKET_TRACK_DESCRIPTOR, ss_buf_get(&inner));
	put_packet();
}

static void put_event(uint64_t time, uint64_t type, uint64_t track, uint64_t name_iid, const char *name)
{
	ss_pbo_uint(&packet, PACKET_TIMESTAMP, time);
	ss_pbo_uint(&packet, PACKET_SEQUENCE, 1);
	ss_pbo_uint(&inner, EVENT_TYPE, type);
	ss_pbo_uint(&inner, EVENT_TRACK, track);
	if (name_iid)
		ss_pbo_uint(&inner, EVENT_NAME_IID, name_iid);
	if (name)
		ss_pbo_bytes(&inner, EVENT_NAME, ss_str_from(name));
	ss_pbo_bytes(&packet, PACKET_TRACK_EVENT, ss_buf_get(&inner));
	put_packet();
}

static void put_name(uint64_t iid, const char *name, uint64_t flags)
{
	struct ss_buf entry = { 0 };
	ss_pbo_uint(&entry, INTERNED_IID, iid);
	ss_pbo_bytes(&entry, INTERNED_TEXT, ss_str_from(name));
	ss_pbo_bytes(&inner, INTERNED_NAMES, ss_buf_get(&entry));
	ss_pbo_uint(&packet, PACKET_SEQUENCE, 1);
	ss_pbo_uint(&packet, PACKET_SEQUENCE_FLAGS, flags);
	ss_pbo_bytes(&packet, PACKET_INTERNED_DATA, ss_buf_get(&inner));
	ss_buf_free(&entry);
	put_packet();
}

static void free_trace(void)
{
	ss_buf_free(&trace);
	ss_buf_free(&packet);
	ss_buf_free(&inner);
}

static struct ss_line *line_of(struct ss_host *h, const char *plane, const char *line)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_str_is(h->planes[i].name, plane))
			return ss_plane_line(&h->planes[i], ss_str_from(line));
	return NULL;
}

static void slices_nest_by_track(void **state)
{
	struct ss_host h;
	(void)state;
	put_event(1000, TYPE_BEGIN, 7, 0, "outer");
	put_thread(7, 0, 12, 34, "main");
	put_track(8, 0, "COMPUTE GPU [2] QUEUE [0]");
	put_name(5, "inner", 1);
	put_event(1100, TYPE_BEGIN, 7, 5, NULL);
	put_event(1150, TYPE_BEGIN, 8, 0, "gemm");
	put_event(1200, TYPE_END, 7, 0, NULL);
	put_event(1250, TYPE_END, 8, 0, NULL);
	put_event(1400, TYPE_END, 7, 0, NULL);
	/* A name of a sequence that began anew is another. */
	put_name(5, "again", 1);
	put_event(1500, TYPE_INSTANT, 7, 5, NULL);
	assert_ok(ss_host_open_bytes(&h, ss_buf_get(&trace), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	struct ss_line *main = line_of(&h, "/host:CPU", "main"), *gpu = line_of(&h, "/device:GPU:2", "COMPUTE GPU [2] QUEUE [0]");
	assert_non_null(main);
	assert_non_null(gpu);
	assert_int_equal(main->ev.n, 3);
	assert_int_equal(main->id, 34);
	assert_int_equal(main->ev.dur_ps[0], 400000);
	assert_int_equal(main->ev.dur_ps[1], 100000);
	assert_str(ss_event_name(ss_host_plane(&h, SS_PLANE_HOST_CPU), main->ev.meta[1]), "inner");
	assert_str(ss_event_name(ss_host_plane(&h, SS_PLANE_HOST_CPU), main->ev.meta[2]), "again");
	assert_int_equal(gpu->ev.dur_ps[0], 100000);
	assert_int_equal(gpu->ev.begin_ps[0] - main->ev.begin_ps[0], 150000);
	ss_host_close(&h);
	free_trace();
}

static struct ss_xstat stat_of(struct ss_host *h, const char *plane, const char *line, const char *name)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		struct ss_xstats it;
		struct ss_xstat s;
		if (!ss_str_is(p->name, plane))
			continue;
		it = ss_line_stats(p, ss_plane_line(p, ss_str_from(line)), 0);
		while (ss_xstats_next(&it, &s))
			if (ss_str_is(p->x->stat_meta[s.meta].name, name))
				return s;
	}
	return (struct ss_xstat){ .kind = SS_X_NONE };
}

/* A queue is the stream of its number, and a slice named as a step is one for every tool. */
static void queues_and_steps_have_their_words(void **state)
{
	struct ss_host h;
	(void)state;
	put_thread(7, 0, 12, 34, "main");
	put_track(8, 0, "COMPUTE GPU [2] QUEUE [4]");
	put_event(1000, TYPE_BEGIN, 7, 0, "ProfilerStep#3");
	put_event(1150, TYPE_BEGIN, 8, 0, "gemm");
	put_event(1250, TYPE_END, 8, 0, NULL);
	put_event(1400, TYPE_END, 7, 0, NULL);
	assert_ok(ss_host_open_bytes(&h, ss_buf_get(&trace), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_str(stat_of(&h, "/host:CPU", "main", "category").s, "user_annotation");
	assert_int_equal(stat_of(&h, "/device:GPU:2", "COMPUTE GPU [2] QUEUE [4]", "stream").u, 4);
	ss_host_close(&h);
	free_trace();
}

/* Clocks that count from the event before, as Perfetto's SDK has them. */
static void clocks_of_a_sequence(void **state)
{
	struct ss_host h;
	struct ss_buf clock = { 0 };
	(void)state;
	put_thread(7, 0, 12, 34, "main");
	static const uint64_t clocks[][4] = { { 6, 5000000, 0, 0 }, { 64, 0, 1, 1000 } };
	for (size_t i = 0; i < SS_COUNT(clocks); i++) {
		clock.n = 0;
		ss_pbo_uint(&clock, CLOCK_ID, clocks[i][0]);
		ss_pbo_uint(&clock, CLOCK_TIMESTAMP, clocks[i][1]);
		ss_pbo_uint(&clock, CLOCK_INCREMENTAL, clocks[i][2]);
		if (clocks[i][3])
			ss_pbo_uint(&clock, CLOCK_UNIT_NS, clocks[i][3]);
		ss_pbo_bytes(&inner, SNAPSHOT_CLOCKS, ss_buf_get(&clock));
	}
	ss_pbo_uint(&packet, PACKET_SEQUENCE, 1);
	ss_pbo_bytes(&packet, PACKET_CLOCK_SNAPSHOT, ss_buf_get(&inner));
	inner.n = 0;
	ss_pbo_uint(&inner, DEFAULTS_CLOCK_ID, 64);
	ss_pbo_bytes(&packet, PACKET_DEFAULTS, ss_buf_get(&inner));
	put_packet();
	put_event(10, TYPE_BEGIN, 7, 0, "a");
	put_event(3, TYPE_END, 7, 0, NULL);
	put_event(2, TYPE_BEGIN, 7, 0, "b");
	put_event(1, TYPE_END, 7, 0, NULL);
	assert_ok(ss_host_open_bytes(&h, ss_buf_get(&trace), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	struct ss_line *main = line_of(&h, "/host:CPU", "main");
	assert_int_equal(main->ev.dur_ps[0], 3000000);
	assert_int_equal(main->ev.begin_ps[1] - main->ev.begin_ps[0], 5000000);
	assert_int_equal(main->ev.dur_ps[1], 1000000);
	ss_host_close(&h);
	ss_buf_free(&clock);
	free_trace();
}

static void a_cut_trace_shows_what_is_whole(void **state)
{
	struct ss_host h;
	(void)state;
	put_thread(7, 0, 12, 34, "main");
	put_event(1000, TYPE_INSTANT, 7, 0, "seen");
	put_event(2000, TYPE_INSTANT, 7, 0, "cut off");
	assert_ok(ss_host_open_bytes(&h, ss_str_sub(ss_buf_get(&trace), 0, trace.n - 3), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(line_of(&h, "/host:CPU", "main")->ev.n, 1);
	assert_int_equal(h.x.nnotes, 1);
	assert_true(ss_str_contains(h.x.notes[0], SS_STR("truncated")));
	ss_host_close(&h);
	free_trace();
}

/* ---- RunMetadata ---- */

/* A node of a device: microseconds alone, as older files have them. */
static void put_node(struct ss_buf *device, const char *name, uint64_t begin_us, uint64_t dur_us)
{
	struct ss_buf node = { 0 };
	ss_pbo_bytes(&node, 1, ss_str_from(name));
	ss_pbo_uint(&node, 2, begin_us);
	ss_pbo_uint(&node, 5, dur_us);
	ss_pbo_bytes(device, 2, ss_buf_get(&node));
	ss_buf_free(&node);
}

static void put_device(struct ss_buf *step, const char *name, const char *node, uint64_t begin_us, uint64_t dur_us)
{
	struct ss_buf device = { 0 };
	ss_pbo_bytes(&device, 1, ss_str_from(name));
	put_node(&device, node, begin_us, dur_us);
	ss_pbo_bytes(step, 1, ss_buf_get(&device));
	ss_buf_free(&device);
}

/* Recorded with TensorFlow 2.21, on a CPU. */
static void run_metadata_is_a_profile(void **state)
{
	struct ss_host h;
	uint32_t found = 0;
	(void)state;
	assert_ok(ss_host_open(&h, SS_TEST_DATA "/../fuzz/seeds/formats/run_metadata.pb", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.x.nnotes, 0);
	const struct ss_line *l = line_of(&h, "/host:CPU", "thread 0 of /job:localhost/replica:0/task:0/device:CPU:0");
	const struct ss_xplane *p = ss_xspace_plane(&h.x, SS_STR("/host:CPU"));
	assert_non_null(l);
	assert_non_null(p);
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (ss_str_is(ss_xevent_meta_name(p, l->ev.meta[i]), "layer/mm:_MklMatMul")) {
			found++;
			assert_true(l->ev.dur_ps[i] > 1000000 && l->ev.dur_ps[i] < UINT64_C(1000000000000));
		}
	assert_int_equal(found, 1);
	ss_host_close(&h);
}

/* A GPU's streams are lines of it, and what the device "stream:all" repeats is left out. */
static void run_metadata_has_streams(void **state)
{
	struct ss_buf step = { 0 }, all = { 0 };
	struct ss_host h;
	(void)state;
	put_device(&step, "/job:localhost/replica:0/task:0/device:GPU:0", "mm", 1000, 2);
	put_device(&step, "/device:GPU:0/stream:all", "mm:MatMul", 1005, 7);
	put_device(&step, "/device:GPU:0/stream:14", "mm:MatMul", 1005, 7);
	put_device(&step, "/gpu:1/stream:all", "add:Add", 1010, 3);
	put_device(&step, "/gpu:1/memcpy", "edge", 1014, 3);
	ss_pbo_bytes(&all, 1, ss_buf_get(&step));
	assert_ok(ss_host_open_bytes(&h, ss_buf_get(&all), "x", &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.x.nnotes, 0);
	assert_int_equal(line_of(&h, "/device:GPU:0", "Stream #14")->ev.n, 1);
	assert_null(line_of(&h, "/device:GPU:0", "Stream #all"));
	assert_int_equal(line_of(&h, "/device:GPU:1", "Stream #all")->ev.n, 1);
	assert_int_equal(line_of(&h, "/device:GPU:1", "Copies")->ev.n, 1);
	const struct ss_line *host = line_of(&h, "/host:CPU", "thread 0 of /job:localhost/replica:0/task:0/device:GPU:0");
	assert_int_equal(host->ev.n, 1);
	assert_int_equal(host->ev.dur_ps[0], 2000000);
	ss_host_close(&h);
	/* Cut short: what stands before, and a note. */
	assert_ok(ss_host_open_bytes(&h, ss_str_sub(ss_buf_get(&all), 0, all.n - 4), "x", &err));
	assert_true(h.x.nnotes >= 1 && h.imported.cut);
	ss_host_close(&h);
	ss_buf_free(&step);
	ss_buf_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_tell_before_names),
		cmocka_unit_test(others_are_refused_by_name),
		cmocka_unit_test(packed_ones_are_known),
		cmocka_unit_test(slices_nest_by_track),
		cmocka_unit_test(queues_and_steps_have_their_words),
		cmocka_unit_test(clocks_of_a_sequence),
		cmocka_unit_test(a_cut_trace_shows_what_is_whole),
		cmocka_unit_test(run_metadata_is_a_profile),
		cmocka_unit_test(run_metadata_has_streams),
	};
	return RUN_TESTS(tests);
}
