/*
 * gpu_elementwise.c - floating point operations per element of elementwise instructions.
 *
 * What a GPU needs for one element, in units of a multiply or add that takes a third of the preset:
 * figures that XLA ships, measured through XProf's answers.
 */
#include "model/program/gpu_elementwise.h"

#include "hlo/shape.h"

#define PRESET 3

struct cost {
	const char *opcode;
	float flops;
};

static const struct cost f32_costs[] = {
	{ "atan2", 486 },
	{ "cbrt", 867 },
	{ "cosine", 662 },
	{ "exponential", 86 },
	{ "exponential-minus-one", 381 },
	{ "log", 244 },
	{ "log-plus-one", 262 },
	{ "logistic", 176 },
	{ "power", 925 },
	{ "rsqrt", 75 },
	{ "sine", 662 },
	{ "sqrt", 75 },
	{ "tanh", 190 },
	{ NULL, 0 },
};

static const struct cost f16_costs[] = {
	{ "atan2", 482 },
	{ "cbrt", 925 },
	{ "cosine", 691 },
	{ "exponential", 108 },
	{ "exponential-minus-one", 396 },
	{ "log", 266 },
	{ "log-plus-one", 284 },
	{ "logistic", 226 },
	{ "power", 975 },
	{ "rsqrt", 97 },
	{ "sqrt", 97 },
	{ "tanh", 212 },
	{ NULL, 0 },
};

static const struct cost f64_costs[] = {
	{ "add", 97 },
	{ "atan2", 3747 },
	{ "cbrt", 6339 },
	{ "cosine", 1717 },
	{ "divide", 2016 },
	{ "exponential", 1652 },
	{ "exponential-minus-one", 1900 },
	{ "log", 608 },
	{ "log-plus-one", 2073 },
	{ "logistic", 2412 },
	{ "multiply", 97 },
	{ "power", 5511 },
	{ "rsqrt", 698 },
	{ "sine", 1789 },
	{ "sqrt", 986 },
	{ "subtract", 97 },
	{ "tanh", 1609 },
	{ NULL, 0 },
};

static const struct cost c64_costs[] = {
	{ "divide", 687 }, { "exponential", 1360 }, { "exponential-minus-one", 1400 },
	{ "log", 950 },	   { "log-plus-one", 842 }, { "power", 3351 },
	{ "rsqrt", 2383 }, { "sqrt", 3193 },	    { NULL, 0 },
};

/* Integers differ in dividing and raising to powers alone. */
static float integer_cost(uint64_t type, struct ss_str opcode)
{
	static const struct {
		uint64_t type;
		float divide, power;
	} table[] = {
		{ SS_HLO_S8, 370, 392 },  { SS_HLO_S16, 367, 396 }, { SS_HLO_S32, 306, 3 },
		{ SS_HLO_S64, 918, 601 }, { SS_HLO_U8, 306, 388 },  { SS_HLO_U16, 302, 399 },
		{ SS_HLO_U32, 115, 3 },	  { SS_HLO_U64, 838, 604 },
	};
	for (size_t i = 0; i < SS_COUNT(table); i++) {
		if (table[i].type != type)
			continue;
		if (ss_str_is(opcode, "divide"))
			return table[i].divide;
		if (ss_str_is(opcode, "power"))
			return table[i].power;
	}
	return PRESET;
}

float ss_gpu_elementwise_flops(uint64_t type, struct ss_str opcode)
{
	const struct cost *c;
	switch (type) {
	case SS_HLO_F32:
		c = f32_costs;
		break;
	case SS_HLO_F16:
		c = f16_costs;
		break;
	case SS_HLO_F64:
		c = f64_costs;
		break;
	case SS_HLO_C64:
		c = c64_costs;
		break;
	default:
		return integer_cost(type, opcode);
	}
	for (; c->opcode; c++)
		if (ss_str_is(opcode, c->opcode))
			return c->flops;
	return PRESET;
}
