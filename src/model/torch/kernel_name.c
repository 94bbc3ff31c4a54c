/* kernel_name.c - see kernel_name.h. */
#include "model/torch/kernel_name.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(char c)
{
	c = lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * Where `part`, which is in small letters, begins at or behind `from`, whatever the case; SS_NPOS:
 * nowhere.
 */
static size_t find_from(struct ss_str s, struct ss_str part, size_t from)
{
	for (size_t i = from; i + part.n <= s.n; i++) {
		size_t k = 0;
		while (k < part.n && lower(s.p[i + k]) == part.p[k])
			k++;
		if (k == part.n)
			return i;
	}
	return SS_NPOS;
}

/* As Perl's \b before (`before`) and behind (`behind`) the part. */
struct pattern {
	struct ss_str part;
	bool before, behind;
};

static bool matches(struct ss_str s, const struct pattern *p)
{
	for (size_t at = 0; (at = find_from(s, p->part, at)) != SS_NPOS; at++) {
		size_t end = at + p->part.n;
		if (p->before && at && is_word(s.p[at - 1]))
			continue;
		if (!p->behind || end == s.n || !is_word(s.p[end]))
			return true;
	}
	return false;
}

bool ss_torch_uses_tensor_core(struct ss_str kernel)
{
	static const struct ss_str parts[] = {
		SS_STR_INIT("h884"), SS_STR_INIT("s884"), SS_STR_INIT("h1688"), SS_STR_INIT("s1688"),
		SS_STR_INIT("hmma"), SS_STR_INIT("i8816"), SS_STR_INIT("16816"), SS_STR_INIT("dgrad_1x1_stride_2x2"),
		SS_STR_INIT("first_layer_wgrad_kernel"), SS_STR_INIT("conv1x1"), SS_STR_INIT("conv2d_c1_k1"),
		SS_STR_INIT("direct_group"), SS_STR_INIT("xmma_implicit_gemm"), SS_STR_INIT("xmma_sparse_conv"),
		SS_STR_INIT("xmma_warp_specialized_implicit_gemm"), SS_STR_INIT("xmma_gemm"),
		SS_STR_INIT("xmma_sparse_gemm"), SS_STR_INIT("c1688"), SS_STR_INIT("tensorop"), SS_STR_INIT("gmma"),
		SS_STR_INIT("nvjet"), SS_STR_INIT("mfma"), SS_STR_INIT("_MI16x16"), SS_STR_INIT("_MI32x32"),
		SS_STR_INIT("flash_fwd"), SS_STR_INIT("flash_bwd"), SS_STR_INIT("fmha"),
	};
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		if (ss_str_contains(kernel, parts[i]))
			return true;
	return false;
}

const char *ss_torch_precision(struct ss_str kernel)
{
	/*
	 * The first that fits decides: "bfloat16" holds "float16". `_BBS_`, `_HHS_` and `_SB_` are
	 * Tensile's.
	 */
	static const struct {
		const char *precision;
		struct pattern pattern;
	} rules[] = {
		{ "fp8", { SS_STR_INIT("fp8"), false, false } },
		{ "fp8", { SS_STR_INIT("float8"), false, false } },
		{ "fp8", { SS_STR_INIT("e4m3"), false, false } },
		{ "fp8", { SS_STR_INIT("e5m2"), false, false } },
		{ "bf16", { SS_STR_INIT("bf16"), false, false } },
		{ "bf16", { SS_STR_INIT("bfloat16"), false, false } },
		{ "bf16", { SS_STR_INIT("_bbs_"), false, false } },
		{ "bf16", { SS_STR_INIT("_bss_"), false, false } },
		{ "fp16", { SS_STR_INIT("c10::half"), false, false } },
		{ "fp16", { SS_STR_INIT("__half"), false, false } },
		{ "fp16", { SS_STR_INIT("half"), true, true } },
		{ "fp16", { SS_STR_INIT("fp16"), false, false } },
		{ "fp16", { SS_STR_INIT("float16"), false, false } },
		{ "fp16", { SS_STR_INIT("f16"), false, false } },
		{ "fp16", { SS_STR_INIT("_hhs_"), false, false } },
		{ "fp16", { SS_STR_INIT("_hss_"), false, false } },
		{ "fp16", { SS_STR_INIT("hgemm"), false, false } },
		{ "fp16", { SS_STR_INIT("hmma"), false, false } },
		{ "fp16", { SS_STR_INIT("_h884"), false, false } },
		{ "fp16", { SS_STR_INIT(" h884"), false, false } },
		{ "fp16", { SS_STR_INIT("_h1688"), false, false } },
		{ "fp16", { SS_STR_INIT(" h1688"), false, false } },
		{ "fp16", { SS_STR_INIT("_h16816"), false, false } },
		{ "fp16", { SS_STR_INIT(" h16816"), false, false } },
		{ "tf32", { SS_STR_INIT("tf32"), false, false } },
		{ "fp32", { SS_STR_INIT("float"), false, true } },
		{ "fp32", { SS_STR_INIT("sgemm"), false, false } },
		{ "fp32", { SS_STR_INIT("_sb_"), false, false } },
		{ "fp32", { SS_STR_INIT("fp32"), false, false } },
		{ "fp32", { SS_STR_INIT("f32"), false, false } },
	};
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (matches(kernel, &rules[i].pattern))
			return rules[i].precision;
	return "other";
}

bool ss_torch_could_use_tensor_core(struct ss_str op)
{
	static const struct ss_str parts[] = {
		SS_STR_INIT("conv1d"),	 SS_STR_INIT("conv2d"),	  SS_STR_INIT("conv3d"),   SS_STR_INIT("convolution"),
		SS_STR_INIT("conv_tr"),	 SS_STR_INIT("conv_tbc"), SS_STR_INIT("linear"),   SS_STR_INIT("matmul"),
		SS_STR_INIT("addmm"),	 SS_STR_INIT("addbmm"),	  SS_STR_INIT("addmv"),	   SS_STR_INIT("addr"),
		SS_STR_INIT("::mm"),	 SS_STR_INIT("::mv"),	  SS_STR_INIT("bmm"),	   SS_STR_INIT("_scaled_mm"),
		SS_STR_INIT("lstm"),	 SS_STR_INIT("gru_cell"), SS_STR_INIT("rnn_tanh"), SS_STR_INIT("rnn_relu"),
		SS_STR_INIT("prelu"),	 SS_STR_INIT("mmbackward"), SS_STR_INIT("scaled_dot_product"),
	};
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		if (find_from(op, parts[i], 0) != SS_NPOS)
			return true;
	return false;
}
