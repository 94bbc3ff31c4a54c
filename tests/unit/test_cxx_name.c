/* test_cxx_name.c - short forms of kernel names, as recorded on GPUs of several makers; and of names that are odd. */
#include "unit/unit.h"

#include "base/cxx_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void kernels_have_short_names(void **state)
{
	static const char *const rows[][2] = {
		{ "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
		  "std::array<char*, 3ul> >"
		  "(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
		  "vectorized_elementwise_kernel<CUDAFunctor_add<BF16>, array>" },
		{ "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, "
		  "float const*, int)",
		  "softmax_warp_forward<FP32>" },
		{ "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, "
		  "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, int)",
		  "cunn_SoftMaxForward<BF16, FP32, …>" },
		{ "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>"
		  "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8::Params)",
		  "Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>" },
		{ "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float "
		  "const*)", "dgrad_engine<FP32>" },
		{ "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
		  "at::native::templates::cuda::uniform_kernel<at::CUDAGeneratorImpl*>(at::TensorIteratorBase&, "
		  "double)::{lambda()#1}"
		  "::operator()() const::{lambda()#2}>(at::Tensor)",
		  "distribution_elementwise_grid_stride_kernel<FP32, uniform_kernel<CUDAGeneratorImpl>>" },
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
		  "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
		{ "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1_SN_1LDSB1_APM1", "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64" },
		{ "_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47GridwiseGemm_bk0mk1_"
		  "bk0nk1_mn_xdlops_bwd_weightILi64E",
		  "kernel_batched_gemm_xdlops_bwd_weight<GridwiseGemm_bk0mk1_bk0nk1_mn_xdlops_bwd_weight, …>" },
		{ "_Z9my_kernelIfLi3EEvPT_i", "my_kernel<FP32, …>" },
		{ "sm80_xmma_fprop_f32", "sm80_xmma_fprop_f32" },
		{ "triton_poi_fused_add_0", "triton_poi_fused_add_0" },
		{ "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)" },
	};
	struct ss_arena arena = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct ss_str got = ss_cxx_short_name(ss_str_from(rows[i][0]), &arena);
		if (!ss_str_eq(got, ss_str_from(rows[i][1])))
			fail_msg("%s\n   got %.*s\n  want %s", rows[i][0], (int)got.n, got.p, rows[i][1]);
	}
	ss_arena_release(&arena);
}

static void odd_names_stay_bounded(void **state)
{
	static const char pieces[] = "<>(){}[],: *&_ZN3SIfa0\xe2\x80\xa6::void";
	struct ss_arena arena = { 0 };
	uint32_t seed = 1;
	char *deep = malloc(100000);
	(void)state;
	assert_non_null(deep);
	memset(deep, '<', 50000);
	memset(deep + 50000, '>', 50000);
	deep[0] = 'f';
	struct ss_str got = ss_cxx_short_name((struct ss_str){ deep, 100000 }, &arena);
	assert_true(got.n <= 96);
	for (int round = 0; round < 20000; round++) {
		size_t n = (seed >> 8) % 60;
		for (size_t i = 0; i < n; i++)
			deep[i] = pieces[(seed = seed * 1664525u + 1013904223u) >> 16 & 31];
		seed = seed * 1664525u + 1013904223u;
		char *exact = malloc(n + 1); /* the sanitizer sees a read beyond it */
		assert_non_null(exact);
		memcpy(exact, deep, n);
		got = ss_cxx_short_name((struct ss_str){ exact, n }, &arena);
		assert_true(got.n <= (n > 96 ? 96 : n));
		free(exact);
	}
	free(deep);
	ss_arena_release(&arena);
}

/* Names whose short form ends at any place of the bound, also within the brackets that close. */
static void brackets_close_at_the_bound(void **state)
{
	struct ss_arena arena = { 0 };
	(void)state;
	for (int n = 1; n < 120; n++) {
		char name[400], filler[121];
		memset(filler, 'x', sizeof(filler));
		int len = snprintf(name, sizeof(name), "void k<a<b<%.*s, c<d> >, e<f> >, g<h<i> >, j>(int, int, int, int)", n,
				   filler);
		struct ss_str got = ss_cxx_short_name((struct ss_str){ name, (size_t)len }, &arena);
		assert_true(got.n && got.n <= 96);
		size_t opened = 0, closed = 0;
		for (size_t i = 0; i < got.n; i++) {
			opened += got.p[i] == '<';
			closed += got.p[i] == '>';
		}
		assert_true(closed <= opened);
	}
	ss_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(kernels_have_short_names), cmocka_unit_test(odd_names_stay_bounded),
					    cmocka_unit_test(brackets_close_at_the_bound) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
