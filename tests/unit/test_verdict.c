/* test_verdict.c - what holds a program up: the words that names are read by, who waits for whom, and sums that add up. */
#include "unit/unit.h"

#include "model/attribution/attribution.h"
#include "model/attribution/frames.h"
#include "model/attribution/host_kinds.h"
#include "model/host/host.h"
#include "model/model.h"
#include "unit/build_pb.h"
#include "verdict/verdict.h"

#include <math.h>

#define SAY(want, got) assert_str(got, want)

static void frames_of_both_profilers(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_frame f;
	(void)state;
	SAY("fetch_rows (main.py:16)", ss_frame_text(SS_STR("$main.py:16 fetch_rows"), &a));
	SAY("time.sleep", ss_frame_text(SS_STR("$time sleep"), &a));
	SAY("acquire", ss_frame_text(SS_STR("$<unknown> acquire"), &a));
	SAY("step (adam.py:7)", ss_frame_text(SS_STR("torch/optim/adam.py(7): step"), &a));
	SAY("count", ss_frame_text(SS_STR("<built-in method count of list object at 0x7f>"), &a));
	SAY("sort", ss_frame_text(SS_STR("<method 'sort' of 'list' objects>"), &a));
	SAY("read_shard", ss_frame_text(SS_STR("read_shard"), &a));
	assert_false(ss_frame_parse(SS_STR("aten::mm"), &f));
	assert_false(ss_frame_parse(SS_STR("PyTorch Profiler (0)"), &f));
	assert_false(ss_frame_parse(SS_STR("$"), &f));
	assert_false(ss_frame_parse(SS_STR("("), &f));
	ss_arena_release(&a);
}

static void kinds_of_names(void **state)
{
	static const struct {
		const char *name;
		enum ss_host_kind kind;
	} cases[] = {
		{ "PjitFunction(train)", SS_KIND_FUNCTION },
		{ "train", SS_KIND_SKIP },
		{ "ProfilerStep#3", SS_KIND_SKIP },
		{ "EagerLocalExecute: Mul", SS_KIND_EAGER_OP },
		{ "EagerLocalExecute: __inference_damp_12", SS_KIND_FUNCTION },
		{ "IteratorGetNext:IteratorGetNext", SS_KIND_DEMAND },
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", SS_KIND_DEMAND },
		{ "backend_compile_and_load", SS_KIND_COMPILE },
		{ "EagerPyFunc:EagerPyFunc", SS_KIND_CALLBACK },
		{ "aten::mm", SS_KIND_EAGER_OP },
		{ "AddmmBackward0", SS_KIND_EAGER_OP },
		{ "c10d::allreduce_", SS_KIND_COLLECTIVE },
		{ "aten::item", SS_KIND_SYNC },
		{ "cudaLaunchKernel", SS_KIND_LAUNCH },
		{ "cudaStreamSynchronize", SS_KIND_SYNC },
		{ "$<unknown> acquire", SS_KIND_LOCK },
		{ "queue.py(154): get", SS_KIND_LOCK },
		{ "$gc collect", SS_KIND_GC },
		{ "$main.py:3 collect", SS_KIND_PYTHON },
		{ "$core.py:709 bind_with_trace", SS_KIND_LAUNCH },
		{ "$core.py:12 fetch", SS_KIND_PYTHON },
		{ "CommonPjRtClient::CreateOutputs", SS_KIND_LAUNCH },
		{ "read_shard", SS_KIND_OTHER },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		enum ss_host_kind kind = ss_host_kind_of_name(ss_str_from(cases[i].name));
		if (kind != cases[i].kind)
			print_error("%s: %d\n", cases[i].name, (int)kind);
		assert_int_equal(kind, cases[i].kind);
	}
	SAY("update", ss_called_name(SS_STR("PjitFunction(update)")));
	SAY("damp", ss_called_name(SS_STR("EagerLocalExecute: __inference_damp_12")));
	SAY("Mul", ss_called_name(SS_STR("EagerLocalExecute: Mul")));
}

static void widths_of_kernels(void **state)
{
	(void)state;
	assert_int_equal(ss_kernel_width(SS_STR("ampere_sgemm_128x64_tn")), SS_WIDTH_WIDE);
	assert_int_equal(ss_kernel_width(SS_STR("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64")),
			 SS_WIDTH_NARROW);
	assert_int_equal(ss_kernel_width(SS_STR("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>")),
			 SS_WIDTH_WIDE);
	assert_int_equal(ss_kernel_width(SS_STR("Cijk_Ailk_Bljk_BBS_BH_MT256x224x64")), SS_WIDTH_NARROW);
	/* Nothing is said of what does not tell, nor of what multiplies no matrices. */
	assert_int_equal(ss_kernel_width(SS_STR("gemm_fusion_kernel")), SS_WIDTH_UNKNOWN);
	assert_int_equal(ss_kernel_width(SS_STR("softmax_float")), SS_WIDTH_UNKNOWN);
}

/* Two meetings: the second participant is late to both, the third is in one alone. */
static void who_comes_last(void **state)
{
	struct ss_meeting early[] = { { 1, 900 }, { 2, 800 } }, late[] = { { 1, 100 }, { 2, 100 } },
			  other[] = { { 1, 500 }, { 7, 400 } };
	struct ss_collectives c[] = { { early, 2, 1700 }, { late, 2, 200 }, { other, 2, 900 } };
	const struct ss_collectives *who[] = { &c[0], &c[1], &c[2] };
	struct ss_wait w[3];
	(void)state;
	assert_true(ss_collectives_join(who, 3, w));
	assert_int_equal(w[0].wait_ps, 1500);
	assert_int_equal(w[1].wait_ps, 0);
	assert_int_equal(w[2].wait_ps, 400);
	assert_int_equal(w[1].last, 2);
	assert_int_equal(w[0].last + w[2].last, 0);
	assert_int_equal(w[1].caused_ps, 1900);
	assert_int_equal(w[2].meetings, 1);
	assert_true(ss_collectives_join(who, 0, w));
}

enum { CALL = 1, LOAD, MARK, KERNEL };

static void put_us(struct bytes *line, uint64_t meta, uint64_t begin_us, uint64_t dur_us)
{
	put_event(line, meta, begin_us * 1000000, dur_us * 1000000, 0, 0);
}

static void put_plane(struct bytes *space, const char *name, const char *line_name, struct bytes *line)
{
	static const char *const names[] = { "PjitFunction(f)", "$data.py:3 read", "ProfilerStep#1", "matmul_kernel" };
	struct bytes plane = { .n = 0 };
	put_text(&plane, 2, name);
	put_text(line, 2, line_name);
	put_msg(&plane, 3, line);
	for (size_t i = 0; i < SS_COUNT(names); i++)
		put_meta(&plane, 4, i + 1, names[i]);
	put_msg(space, 1, &plane);
}

/* One step of 1000 us: 100 of a call, 600 of reading, 200 of a kernel beside nothing, 100 of nothing. */
static void each_moment_belongs_to_one_class(void **state)
{
	struct bytes space = { .n = 0 }, thread = { .n = 0 }, stream = { .n = 0 };
	struct ss_err err = { 0 };
	struct ss_host h;
	(void)state;
	put_num(&thread, 1, 1);
	put_num(&stream, 1, 1);
	put_us(&thread, MARK, 0, 1000);
	put_us(&thread, CALL, 0, 100);
	put_us(&thread, LOAD, 200, 600);
	put_us(&stream, KERNEL, 100, 200);
	put_plane(&space, "/host:CPU", "python", &thread);
	put_plane(&space, "/device:GPU:0", "Stream #1", &stream);
	assert_true(ss_host_open_bytes(&h, bytes_str(&space), "h", &err));
	const struct ss_time_host *t = ss_host_attribution(&h, &err);
	assert_non_null(t);
	assert_int_equal(t->nunits, 1);
	const struct ss_time_unit *u = &t->units[0];
	uint64_t sum_ps = 0;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		for (int r = 0; r < SS_REGION_COUNT; r++)
			sum_ps += u->ps[c][r];
	assert_int_equal(u->window_ps, UINT64_C(1000000000));
	assert_int_equal(sum_ps, u->window_ps);
	assert_int_equal(u->ps[SS_TIME_COMPUTE][SS_REGION_STEPS], UINT64_C(200000000));
	assert_int_equal(u->ps[SS_TIME_HOST_CODE][SS_REGION_STEPS], UINT64_C(500000000));
	assert_int_equal(u->ps[SS_TIME_LAUNCH][SS_REGION_STEPS], UINT64_C(100000000));
	assert_int_equal(u->ps[SS_TIME_UNKNOWN][SS_REGION_STEPS], UINT64_C(200000000));
	ss_host_close(&h);
}

/* What is said of that: the reading, and what runs; nothing of what no event shows. */
static void findings_have_their_proof(void **state)
{
	struct bytes space = { .n = 0 }, thread = { .n = 0 }, stream = { .n = 0 };
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_host h;
	struct ss_host *hosts[] = { &h };
	struct ss_model m;
	struct ss_verdict v;
	(void)state;
	put_num(&thread, 1, 1);
	put_num(&stream, 1, 1);
	put_us(&thread, MARK, 0, 1000);
	put_us(&thread, CALL, 0, 100);
	put_us(&thread, LOAD, 200, 790);
	put_us(&stream, KERNEL, 100, 100);
	put_plane(&space, "/host:CPU", "python", &thread);
	put_plane(&space, "/device:GPU:0", "Stream #1", &stream);
	assert_true(ss_host_open_bytes(&h, bytes_str(&space), "h", &err));
	assert_true(ss_model_init(&m, hosts, 1, &err));
	assert_true(ss_verdict_make(&v, &m, &arena, &err));
	assert_int_equal(v.steps, 1);
	assert_true(v.nfindings > 1);
	assert_int_equal(v.findings[0].cause, SS_CAUSE_HOST_CODE);
	SAY("read (data.py:3)", v.findings[0].subject);
	assert_true(fabs(v.findings[0].share_frac - 0.79) < 1e-9);
	for (size_t i = 0; i < v.nfindings; i++) {
		assert_true(v.findings[i].nevidence > 0);
		assert_true(v.findings[i].nadvice > 0);
		assert_int_not_equal(v.findings[i].cause, SS_CAUSE_SYNC);
	}
	ss_model_release(&m);
	ss_arena_release(&arena);
	ss_host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_both_profilers),
		cmocka_unit_test(kinds_of_names),
		cmocka_unit_test(widths_of_kernels),
		cmocka_unit_test(who_comes_last),
		cmocka_unit_test(each_moment_belongs_to_one_class),
		cmocka_unit_test(findings_have_their_proof),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
