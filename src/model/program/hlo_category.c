/*
 * hlo_category.c - the kind of work an HLO instruction is, as XProf names it
 * (docs/tools/op_profile.md).
 */
#include "model/program/hlo_op.h"

bool ss_hlo_is_fusion_blocker(struct ss_str opcode)
{
	static const char *const list[] = { "bitcast", "copy", "reshape", "convert", "transpose" };
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_ieq(opcode, ss_str_from(list[i])))
			return true;
	return false;
}

bool ss_hlo_is_elementwise(struct ss_str opcode)
{
	static const struct ss_str list[] = {
		SS_STR_INIT("abs"), SS_STR_INIT("acos"), SS_STR_INIT("acosh"), SS_STR_INIT("add"), SS_STR_INIT("and"),
		SS_STR_INIT("asin"), SS_STR_INIT("asinh"), SS_STR_INIT("atan2"), SS_STR_INIT("atanh"),
		SS_STR_INIT("bitcast-convert"), SS_STR_INIT("cbrt"), SS_STR_INIT("ceil"), SS_STR_INIT("clamp"),
		SS_STR_INIT("compare"), SS_STR_INIT("complex"), SS_STR_INIT("constant"), SS_STR_INIT("convert"),
		SS_STR_INIT("cosh"), SS_STR_INIT("cosine"), SS_STR_INIT("count-leading-zeros"), SS_STR_INIT("divide"),
		SS_STR_INIT("erf"), SS_STR_INIT("exponential"), SS_STR_INIT("exponential-minus-one"),
		SS_STR_INIT("floor"), SS_STR_INIT("imag"), SS_STR_INIT("is-finite"), SS_STR_INIT("log"),
		SS_STR_INIT("log-plus-one"), SS_STR_INIT("logistic"), SS_STR_INIT("map"), SS_STR_INIT("maximum"),
		SS_STR_INIT("minimum"), SS_STR_INIT("multiply"), SS_STR_INIT("negate"), SS_STR_INIT("not"),
		SS_STR_INIT("or"), SS_STR_INIT("popcnt"), SS_STR_INIT("power"), SS_STR_INIT("real"),
		SS_STR_INIT("reduce-precision"), SS_STR_INIT("remainder"), SS_STR_INIT("rng"),
		SS_STR_INIT("round-nearest-afz"), SS_STR_INIT("round-nearest-even"), SS_STR_INIT("rsqrt"),
		SS_STR_INIT("select"), SS_STR_INIT("shift-left"), SS_STR_INIT("shift-right-arithmetic"),
		SS_STR_INIT("shift-right-logical"), SS_STR_INIT("sign"), SS_STR_INIT("sine"), SS_STR_INIT("sinh"),
		SS_STR_INIT("sqrt"), SS_STR_INIT("stochastic-convert"), SS_STR_INIT("subtract"), SS_STR_INIT("tan"),
		SS_STR_INIT("tanh"), SS_STR_INIT("xor"),
	};
	return ss_str_find_in_order(list, SS_COUNT(list), opcode) != SS_NPOS;
}

static struct ss_str fusion_category(struct ss_str kind)
{
	static const struct {
		struct ss_str kind, category;
	} table[] = {
		{ SS_STR_INIT("kLoop"), SS_STR_INIT("loop fusion") },
		{ SS_STR_INIT("kInput"), SS_STR_INIT("input fusion") },
		{ SS_STR_INIT("kOutput"), SS_STR_INIT("output fusion") },
		{ SS_STR_INIT("kCustom"), SS_STR_INIT("custom fusion") },
	};
	for (size_t i = 0; i < SS_COUNT(table); i++)
		if (ss_str_eq(kind, table[i].kind))
			return table[i].category;
	return SS_STR("unknown fusion");
}

static struct ss_str convolution_category(struct ss_str instruction)
{
	static const struct ss_str names[] = {
		SS_STR_INIT("convolution"),
		SS_STR_INIT("convolution base-dilated"),
		SS_STR_INIT("convolution window-dilated"),
		SS_STR_INIT("convolution base-dilated window-dilated"),
	};
	struct ss_hlo_window w = ss_hlo_window_of(instruction);
	struct ss_hlo_window_dim d;
	unsigned which = 0;
	while (ss_hlo_window_next(&w, &d))
		which |= (d.base_dilation != 1 ? 1u : 0u) | (d.window_dilation != 1 ? 2u : 0u);
	return names[which];
}

struct ss_str ss_hlo_category(const struct ss_hlo_instr *in)
{
	static const struct ss_str formatting[] = {
		SS_STR_INIT("transpose"),
		SS_STR_INIT("copy"),
		SS_STR_INIT("reshape"),
		SS_STR_INIT("dynamic-reshape"),
	};
	if (ss_str_is(in->opcode, "fusion"))
		return fusion_category(in->fusion_kind);
	for (size_t i = 0; i < SS_COUNT(formatting); i++)
		if (ss_str_eq(in->opcode, formatting[i]))
			return SS_STR("data formatting");
	if (ss_str_is(in->opcode, "convolution"))
		return convolution_category(in->body);
	if (ss_hlo_is_elementwise(in->opcode))
		return SS_STR("non-fusion elementwise");
	if (ss_str_is(in->opcode, "custom-call-start"))
		return SS_STR("async-start");
	if (ss_str_is(in->opcode, "custom-call-done"))
		return SS_STR("async-done");
	return in->opcode;
}
