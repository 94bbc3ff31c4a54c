/* tests/unit/test_legacy_answers.c - stored answers of older tools: packed, marked, of several hosts at once. */
#include "model/host/host.h"

#include "base/buf.h"
#include "legacy/combine.h"
#include "legacy/files/unpack.h"
#include "model/model.h"
#include "unit/build_pb.h"
#include "unit/unit.h"
#include "wire/json_tree.h"

#include <math.h>
#include <stdio.h>
#include <zlib.h>

/* ---- fixtures ---- */

struct hosts {
	struct ss_host v[3];
	struct ss_host *list[3];
	struct ss_model model;
	size_t n;
	struct ss_arena arena;
	struct ss_result r;
};

static void open_hosts(struct hosts *h, const struct ss_str *bytes, size_t n, const char *suffix)
{
	char name[64];
	*h = (struct hosts){ .n = n };
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "h%zu.%s", i, suffix);
		assert_ok(ss_host_open_raw_bytes(&h->v[i], bytes[i], name, &err));
		h->list[i] = &h->v[i];
	}
	assert_ok(ss_model_init(&h->model, h->list, n, &err));
	ss_result_init(&h->r, &h->arena);
}

static bool ask(struct hosts *h, ss_legacy_fn *fn, struct ss_err *err)
{
	struct ss_request q = { .model = &h->model, .arena = &h->arena };
	return fn(&q, &h->r, err);
}

static void close_hosts(struct hosts *h)
{
	ss_model_release(&h->model);
	for (size_t i = 0; i < h->n; i++)
		ss_host_close(&h->v[i]);
	ss_arena_release(&h->arena);
}

static double number(struct ss_result *r, const char *table, size_t row, const char *col)
{
	struct ss_table *t = ss_legacy_find(r, table);
	assert_non_null(t);
	size_t c = ss_table_col(t, col);
	assert_true(c != SS_NPOS && row < t->nrows);
	return t->cols[c].type == SS_TYPE_I64 ? (double)t->data[c].i64[row] : t->data[c].f64[row];
}

static struct ss_str text(struct ss_result *r, const char *table, size_t row, const char *col)
{
	struct ss_table *t = ss_legacy_find(r, table);
	assert_non_null(t);
	size_t c = ss_table_col(t, col);
	assert_true(c != SS_NPOS && row < t->nrows);
	return t->data[c].str[row];
}

static bool says(const struct ss_result *r, const char *what)
{
	for (size_t i = 0; i < r->nnotes; i++)
		if (ss_str_contains(r->notes[i].text, ss_str_from(what)))
			return true;
	return false;
}

/* ---- packed ---- */

static struct ss_str packed(struct ss_str s, char *to, size_t room)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)s.p, .avail_in = (uInt)s.n };
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)room;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return (struct ss_str){ to, room - z.avail_out };
}

static void unpacks_what_is_packed(void **state)
{
	char once[256], twice[256];
	struct ss_arena a = { 0 };
	struct ss_str out, plain = SS_STR("{\"a\":[1,2,3]}"), one = packed(plain, once, sizeof(once)),
		      two = packed(one, twice, sizeof(twice));
	(void)state;
	assert_ok(ss_unpack(plain, &a, &out, &err));
	assert_ptr_equal(out.p, plain.p);
	assert_ok(ss_unpack(one, &a, &out, &err));
	assert_str(out, plain.p);
	assert_ok(ss_unpack(two, &a, &out, &err));
	assert_str(out, plain.p);
	for (size_t n = 3; n < one.n; n++)
		assert_fails(ss_unpack(ss_str_sub(one, 0, n), &a, &out, &err), SS_EFORMAT);
	ss_arena_release(&a);
}

/* A bomb: far more than a file of that size should hold. */
static void refuses_bombs(void **state)
{
	size_t n = 16 << 20;
	char *zeros = calloc(1, n), *to = malloc(n);
	struct ss_arena a = { 0 };
	struct ss_str out, bomb = packed((struct ss_str){ zeros, n }, to, n);
	(void)state;
	assert_true(bomb.n < 20000);
	assert_fails(ss_unpack(bomb, &a, &out, &err), SS_EFORMAT);
	assert_true(a.used_bytes < 1000);
	free(zeros);
	free(to);
	ss_arena_release(&a);
}

/* ---- trees ---- */

static void leaves_what_lies_deep(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_err err = { 0 };
	const struct ss_str file = SS_STR("\xef\xbb\xbf{\"a\":{\"b\":[ {\"c\":[1]} , 7]},\"d\":\"9223372036854775809\"}");
	const struct ss_jnode *root = ss_jtree_of_json_to(file, 2, &a, &err);
	(void)state;
	assert_non_null(root);
	const struct ss_jnode *b = ss_jnode_get(ss_jnode_get(root, "a"), "b");
	assert_int_equal(b->kind, SS_J_ARRAY);
	assert_null(b->first);
	assert_str(b->text, "[ {\"c\":[1]} , 7]");
	assert_true((uint64_t)ss_jnode_i64(root, "d") == UINT64_C(9223372036854775809));
	assert_null(ss_jtree_of_json_to(SS_STR("{\"a\":{\"b\":[{]}}}"), 2, &a, &err));
	assert_int_equal(err.code, SS_EFORMAT);
	ss_arena_release(&a);
}

/* ---- several hosts ---- */

#define STEPS(rows) "[{\"cols\":[{\"id\":\"stepnum\",\"type\":\"string\"},{\"id\":\"infeedTimeMs\",\"type\":\"number\"}," \
		    "{\"id\":\"noninfeedTimeMs\",\"type\":\"number\"},{\"id\":\"infeedPercentMin\",\"type\":\"number\"}]," rows "}]"
#define ROW(step, in, out, min) "{\"c\":[{\"v\":\"" step "\"},{\"v\":" in "},{\"v\":" out "},{\"v\":" min "}]}"

static void keeps_the_steps_that_all_have(void **state)
{
	struct hosts h;
	const struct ss_str files[] = {
		SS_STR(STEPS("\"p\":{\"infeed_percent_average\":\"10\",\"summary_conclusion\":\"fine\"},"
			     "\"rows\":[" ROW("1", "1", "9", "10") ","
			     ROW("2", "1", "9", "10") "," ROW("3", "5", "5", "50") "]")),
		SS_STR(STEPS("\"p\":{\"infeed_percent_average\":\"40\",\"summary_conclusion\":\"slow\"},"
			     "\"rows\":[" ROW("2", "4", "7", "36") ","
			     ROW("3", "4", "6", "40") "," ROW("4", "4", "6", "40") "]")),
	};
	(void)state;
	open_hosts(&h, files, 2, "input_pipeline.json");
	assert_ok(ask(&h, ss_legacy_input_pipeline, &err));
	assert_int_equal(ss_legacy_find(&h.r, "steps")->nrows, 2);
	assert_str(text(&h.r, "steps", 0, "stepnum"), "2");
	/* The host that waited longest, and the least of all. */
	assert_true(number(&h.r, "steps", 0, "inputTimeMs") == 4 && number(&h.r, "steps", 0, "computeTimeMs") == 7);
	assert_true(number(&h.r, "steps", 0, "infeedPercentMin") == 10);
	assert_true(number(&h.r, "steps", 1, "inputTimeMs") == 5 && number(&h.r, "steps", 1, "computeTimeMs") == 5);
	assert_true(number(&h.r, "steps", 1, "infeedPercentMin") == 40);
	assert_str(ss_table_find_prop(ss_legacy_find(&h.r, "steps"), "input_conclusion")->text, "slow");
	assert_true(ss_result_number(&h.r, "infeed_percent_average") == 25);
	assert_true(says(&h.r, "Sentences come from h1"));
	assert_null(h.r.content_type);
	close_hosts(&h);
}

static void says_when_no_step_is_common(void **state)
{
	struct hosts h;
	const struct ss_str files[] = { SS_STR(STEPS("\"rows\":[" ROW("1", "1", "9", "10") "]")),
					SS_STR(STEPS("\"rows\":[" ROW("2", "1", "9", "10") "]")) };
	(void)state;
	open_hosts(&h, files, 2, "input_pipeline.json");
	assert_ok(ask(&h, ss_legacy_input_pipeline, &err));
	assert_int_equal(ss_legacy_find(&h.r, "steps")->nrows, 0);
	assert_true(says(&h.r, "no step in common"));
	close_hosts(&h);
}

static void does_without_a_file_that_is_broken(void **state)
{
	struct hosts h;
	const struct ss_str good = SS_STR(STEPS("\"rows\":[" ROW("1", "1", "9", "10") "]"));
	const struct ss_str files[] = { SS_STR("[{"), good, SS_STR("[]") }, bad[] = { SS_STR("[{"), SS_STR("nothing") };
	(void)state;
	open_hosts(&h, files, 3, "input_pipeline.json");
	assert_ok(ask(&h, ss_legacy_input_pipeline, &err));
	assert_int_equal(ss_legacy_find(&h.r, "steps")->nrows, 1);
	assert_true(says(&h.r, "h0.input_pipeline.json"));
	close_hosts(&h);
	open_hosts(&h, bad, 2, "input_pipeline.json");
	assert_fails(ask(&h, ss_legacy_input_pipeline, &err), SS_EFORMAT);
	close_hosts(&h);
}

static void put_real(struct bytes *b, unsigned field, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof(bits));
	put_varint(b, field << 3 | 1);
	for (unsigned i = 0; i < 8; i++)
		b->p[b->n++] = (char)(bits >> 8 * i);
}

/* TfStatsDatabase with one table of one device operation. */
static void put_op(struct bytes *table, const char *name, double self_us, double share, double rate)
{
	struct bytes op = { .n = 0 };
	put_text(&op, 2, "Device");
	put_text(&op, 3, "MatMul");
	put_text(&op, 4, name);
	put_num(&op, 5, 2);
	put_real(&op, 6, self_us);
	put_real(&op, 8, self_us);
	put_real(&op, 10, share);
	put_real(&op, 14, rate);
	put_msg(table, 1, &op);
}

static void adds_operations_up(void **state)
{
	struct hosts h;
	struct bytes table[2] = { { .n = 0 }, { .n = 0 } }, file[2] = { { .n = 0 }, { .n = 0 } };
	(void)state;
	put_op(&table[0], "a", 60, 0.6, 10);
	put_op(&table[0], "b", 40, 0.4, 0);
	put_op(&table[1], "b", 300, 1, 4);
	put_msg(&file[0], 4, &table[0]);
	put_msg(&file[1], 4, &table[1]);
	open_hosts(&h, (const struct ss_str[]){ bytes_str(&file[0]), bytes_str(&file[1]) }, 2, "tensorflow_stats.pb");
	assert_ok(ask(&h, ss_legacy_framework_op_stats, &err));
	assert_int_equal(ss_legacy_find(&h.r, "with_idle")->nrows, 2);
	assert_str(text(&h.r, "with_idle", 0, "operation"), "b");
	assert_true(number(&h.r, "with_idle", 0, "rank") == 1);
	assert_true(number(&h.r, "with_idle", 0, "total_self_time") == 340);
	assert_true(number(&h.r, "with_idle", 0, "occurrences") == 4 && number(&h.r, "with_idle", 0, "avg_self_time") == 85);
	assert_true(fabs(number(&h.r, "with_idle", 0, "device_total_self_time_percent") - 340.0 / 400) < 1e-12);
	/* Rates are weighted by time: 0 for 40 us, 4 for 300 us. */
	assert_true(fabs(number(&h.r, "with_idle", 0, "measured_flop_rate") - 1200.0 / 340) < 1e-12);
	assert_true(fabs(number(&h.r, "with_idle", 1, "device_cumulative_total_self_time_percent") - 1) < 1e-12);
	close_hosts(&h);
}

#define CORE(id, host, us) "\"" id "\":{\"hostName\":\"" host "\",\"chipId\":" id ",\"totalDurationUs\":" us "}"
#define POD(cores) "{\"podStatsSequence\":{\"podStatsMap\":[{\"stepNum\":5,\"podStatsPerCore\":{" cores "}}]}}"

static void gathers_cores(void **state)
{
	struct hosts h;
	const struct ss_str files[] = { SS_STR(POD(CORE("10", "b", "7") "," CORE("9", "b", "6"))),
					SS_STR(POD(CORE("2", "a", "9") "," CORE("9", "b", "6"))) };
	(void)state;
	open_hosts(&h, files, 2, "pod_viewer.json");
	assert_ok(ask(&h, ss_legacy_pod_viewer, &err));
	assert_int_equal(ss_legacy_find(&h.r, "cores")->nrows, 3);
	assert_true(number(&h.r, "cores", 0, "core_id") == 2 && number(&h.r, "cores", 2, "core_id") == 10);
	assert_int_equal(ss_legacy_find(&h.r, "steps")->nrows, 1);
	assert_true(number(&h.r, "steps", 0, "cores") == 3 && number(&h.r, "steps", 0, "total_us") == 9);
	assert_int_equal(ss_legacy_find(&h.r, "topology")->nrows, 3);
	close_hosts(&h);
}

/* ---- memory ---- */

#define POINT(at, heap) "{\"timeOffsetPs\":\"" at "\",\"aggregationStats\":{\"heapAllocatedBytes\":\"" heap "\"}," \
			"\"activityMetadata\":{\"memoryActivity\":\"ALLOCATION\",\"stepId\":\"3\"," \
			"\"address\":\"18446744073709551615\"}}"
#define MEMORY(lists, version) "{\"memoryProfilePerAllocator\":{\"gpu\":{" lists "\"profileSummary\":{\"peakStats\":" \
			       "{\"heapAllocatedBytes\":\"20\",\"peakBytesInUse\":\"20\"},\"peakStatsTimePs\":\"200\"}," \
			       "\"activeAllocations\":[{\"snapshotIndex\":\"-1\",\"specialIndex\":\"0\"}," \
			       "{\"snapshotIndex\":\"0\",\"specialIndex\":\"-1\",\"numOccurrences\":\"2\"}," \
			       "{\"snapshotIndex\":\"99\"},{\"snapshotIndex\":\"-9\"}]," \
			       "\"specialAllocations\":[{\"allocationBytes\":\"5\",\"tfOpName\":\"stack\"}]}}" version "}"

static void tells_versions_of_memory_profiles(void **state)
{
	static const struct {
		struct ss_str file;
		size_t points;
	} cases[] = {
		{ SS_STR_INIT(MEMORY("\"memoryProfileSnapshots\":[" POINT("100", "10") "," POINT("200", "20") "],", "")), 2 },
		{ SS_STR_INIT(MEMORY("\"memoryProfileSnapshots\":[" POINT("100", "10") "],"
				     "\"sampledTimelineSnapshots\":[" POINT("100", "10") ","
				     POINT("200", "20") "," POINT("300", "15") "],", ",\"version\":1")), 3 },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct hosts h;
		open_hosts(&h, &cases[i].file, 1, "memory_profile.json");
		assert_ok(ask(&h, ss_legacy_memory_profile, &err));
		assert_int_equal(ss_legacy_find(&h.r, "timeline")->nrows, cases[i].points);
		assert_true(number(&h.r, "timeline", 1, "heap_bytes") == 20 && number(&h.r, "timeline", 1, "time_ps") == 200);
		assert_true(number(&h.r, "timeline", 0, "address") == -1);	/* all 64 bits */
		assert_true(number(&h.r, "allocators", 0, "peak_bytes") == 20);
		assert_true(number(&h.r, "allocators", 0, "peak_step") == 3);
		/* What refers to nothing is left out. */
		assert_int_equal(ss_legacy_find(&h.r, "breakdown")->nrows, 2);
		assert_str(text(&h.r, "breakdown", 0, "tf_op"), "stack");
		assert_true(number(&h.r, "breakdown", 1, "occurrences") == 2 && number(&h.r, "breakdown", 1, "heap_bytes") == 10);
		close_hosts(&h);
	}
}

/* Of many points the one of each stretch with most in use; counted are all. */
static void samples_long_timelines(void **state)
{
	struct ss_buf b = { 0 };
	struct hosts h;
	(void)state;
	ss_buf_z(&b, "{\"memoryProfilePerAllocator\":{\"gpu\":{\"profileSummary\":{\"peakStats\":{\"peakBytesInUse\":\"9000\"}},"
		     "\"memoryProfileSnapshots\":[");
	for (unsigned i = 0; i < 2500; i++)
		ss_buf_printf(&b, "%s{\"timeOffsetPs\":\"%u\",\"aggregationStats\":{\"heapAllocatedBytes\":\"%u\"},"
				  "\"activityMetadata\":{\"memoryActivity\":\"%sALLOCATION\",\"stepId\":\"%u\"}}",
			      i ? "," : "", i, i % 100 == 37 ? 9000 : i % 7, i % 5 ? "" : "DE", i / 100);
	ss_buf_z(&b, "]}}}");
	struct ss_str text = ss_buf_get(&b);
	open_hosts(&h, &text, 1, "memory_profile.json");
	assert_ok(ask(&h, ss_legacy_memory_profile, &err));
	struct ss_table *t = ss_legacy_find(&h.r, "timeline");
	assert_int_equal(t->nrows, 1000);
	unsigned peaks = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		peaks += number(&h.r, "timeline", i, "heap_bytes") == 9000;
		assert_true(!i || number(&h.r, "timeline", i, "time_ps") > number(&h.r, "timeline", i - 1, "time_ps"));
	}
	assert_int_equal(peaks, 25);
	assert_true(number(&h.r, "allocators", 0, "allocations") == 2000 && number(&h.r, "allocators", 0, "deallocations") == 500);
	assert_true(number(&h.r, "allocators", 0, "peak_step") == 24);
	close_hosts(&h);
	ss_buf_free(&b);
}

static void refuses_other_json(void **state)
{
	static const struct ss_str files[] = {
		SS_STR_INIT("{}"), SS_STR_INIT("[]"), SS_STR_INIT("7"), SS_STR_INIT("{\"version\":1}"), SS_STR_INIT(""),
		SS_STR_INIT("\x1f\x8b\x08"),
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(files); i++) {
		struct hosts h;
		open_hosts(&h, &files[i], 1, "memory_profile.json.gz");
		assert_fails(ask(&h, ss_legacy_memory_profile, &err), SS_EFORMAT);
		assert_fails(ask(&h, ss_legacy_tf_data, &err), SS_EFORMAT);
		close_hosts(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_what_is_packed),
		cmocka_unit_test(refuses_bombs),
		cmocka_unit_test(leaves_what_lies_deep),
		cmocka_unit_test(keeps_the_steps_that_all_have),
		cmocka_unit_test(says_when_no_step_is_common),
		cmocka_unit_test(does_without_a_file_that_is_broken),
		cmocka_unit_test(adds_operations_up),
		cmocka_unit_test(gathers_cores),
		cmocka_unit_test(tells_versions_of_memory_profiles),
		cmocka_unit_test(samples_long_timelines),
		cmocka_unit_test(refuses_other_json),
	};
	return RUN_TESTS(tests);
}
