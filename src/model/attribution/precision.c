/* precision.c - see precision.h. */
#include "model/attribution/precision.h"

static bool any_part(struct ss_str name, const struct ss_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_contains(name, v[i]))
			return true;
	return false;
}

enum ss_width ss_kernel_width(struct ss_str kernel)
{
	static const struct ss_str products[] = {
		SS_STR_INIT("gemm"), SS_STR_INIT("Gemm"),  SS_STR_INIT("GEMM"),	 SS_STR_INIT("cutlass"),
		SS_STR_INIT("conv"), SS_STR_INIT("Cijk_"), SS_STR_INIT("wgrad"), SS_STR_INIT("dgrad"),
		SS_STR_INIT("xmma"), SS_STR_INIT("gemv"),
	};
	static const struct ss_str narrow[] = {
		SS_STR_INIT("bf16"), SS_STR_INIT("BFloat16"), SS_STR_INIT("bfloat16"), SS_STR_INIT("f16"),
		SS_STR_INIT("fp16"), SS_STR_INIT("half"),     SS_STR_INIT("Half"),     SS_STR_INIT("hgemm"),
		SS_STR_INIT("h16"),  SS_STR_INIT("fp8"),      SS_STR_INIT("e4m3"),     SS_STR_INIT("e5m2"),
		SS_STR_INIT("f8"),   SS_STR_INIT("s8"),	      SS_STR_INIT("int8"),     SS_STR_INIT("s16816"),
		SS_STR_INIT("h884"), SS_STR_INIT("h1688"),    SS_STR_INIT("_BB"),      SS_STR_INIT("_HB"),
		SS_STR_INIT("_BH"),  SS_STR_INIT("_HH"),      SS_STR_INIT("_HS"),      SS_STR_INIT("_BS"),
		SS_STR_INIT("_F8"),  SS_STR_INIT("_I8"),
	};
	static const struct ss_str wide[] = {
		SS_STR_INIT("sgemm"),
		SS_STR_INIT("dgemm"),
		SS_STR_INIT("simt_s"),
		SS_STR_INIT("f32f32_f32f32"),
		SS_STR_INIT("scudnn"),
		SS_STR_INIT("_SB_"),
		SS_STR_INIT("gemm_fp32"),
		SS_STR_INIT("gemm_f32"),
		SS_STR_INIT("gemmSN_NN_kernel<float, float"),
		SS_STR_INIT("gemv2T_kernel_val<int, int, float, float"),
	};
	if (!any_part(kernel, products, SS_COUNT(products)))
		return SS_WIDTH_UNKNOWN;
	if (any_part(kernel, narrow, SS_COUNT(narrow)))
		return SS_WIDTH_NARROW;
	return any_part(kernel, wide, SS_COUNT(wide)) ? SS_WIDTH_WIDE : SS_WIDTH_UNKNOWN;
}
