/* units.c - choosing scales. */
#include "table/units.h"

#include "base/percent.h"

#include <math.h>
#include <stdio.h>

struct step {
	double from;		/* the smallest value, in the base unit, that takes this step */
	const char *suffix;
};

static const struct step times[] = { /* base: ps */
	{ 1e12, "s" }, { 1e9, "ms" }, { 1e6, "us" }, { 1e3, "ns" }, { 1, "ps" }
};
static const struct step sizes[] = { /* base: byte */
	{ 1099511627776.0, "TiB" }, { 1073741824.0, "GiB" }, { 1048576.0, "MiB" }, { 1024.0, "KiB" }, { 1, "B" }
};
static const struct step amounts[] = { /* base: one */
	{ 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 1, "" }
};

static struct ss_scale step_for(const struct step *steps, size_t n, double base, double max_abs)
{
	size_t i = 0;
	/* Nothing has no size: it is said in the unit it came in. */
	while (i + 1 < n && (max_abs > 0 ? max_abs * base < steps[i].from : base < steps[i].from))
		i++;
	return (struct ss_scale){ base / steps[i].from, steps[i].suffix, 0 };
}

#define STEP_FOR(steps, base, max_abs) step_for(steps, SS_COUNT(steps), base, max_abs)

static struct ss_scale scale_of(enum ss_unit unit, double max_abs)
{
	switch (unit) {
	case SS_UNIT_PS:
		return STEP_FOR(times, 1.0, max_abs);
	case SS_UNIT_NS:
		return STEP_FOR(times, 1e3, max_abs);
	case SS_UNIT_US:
		return STEP_FOR(times, 1e6, max_abs);
	case SS_UNIT_MS:
		return STEP_FOR(times, 1e9, max_abs);
	case SS_UNIT_S:
		return STEP_FOR(times, 1e12, max_abs);
	case SS_UNIT_BYTES:
		return STEP_FOR(sizes, 1.0, max_abs);
	case SS_UNIT_MIB:
		return STEP_FOR(sizes, 1048576.0, max_abs);
	case SS_UNIT_GIB:
		return STEP_FOR(sizes, 1073741824.0, max_abs);
	case SS_UNIT_FLOPS:
		return STEP_FOR(amounts, 1.0, max_abs);
	case SS_UNIT_FRAC:
		return (struct ss_scale){ 100, "%", 0 };
	case SS_UNIT_PERCENT:
		return (struct ss_scale){ 1, "%", 0 };
	case SS_UNIT_GFLOP_PER_S:
		return (struct ss_scale){ 1, "GFLOP/s", 0 };
	case SS_UNIT_TFLOP_PER_S:
		return (struct ss_scale){ 1, "TFLOP/s", 0 };
	case SS_UNIT_GIB_PER_S:
		return (struct ss_scale){ 1, "GiB/s", 0 };
	case SS_UNIT_GB_PER_S:
		return (struct ss_scale){ 1, "GB/s", 0 };
	case SS_UNIT_FLOP_PER_BYTE:
		return (struct ss_scale){ 1, "FLOP/B", 0 };
	case SS_UNIT_NJ:
		return (struct ss_scale){ 1, "nJ", 0 };
	default:	/* numbers without a scale */
		return (struct ss_scale){ 1, "", 0 };
	}
}

struct ss_scale ss_scale_for(enum ss_unit unit, double max_abs, bool whole)
{
	struct ss_scale s = scale_of(unit, max_abs);
	double shown = max_abs * s.factor;
	if (whole && s.factor == 1)
		s.decimals = 0;
	else if (s.factor == 100 || unit == SS_UNIT_PERCENT)
		s.decimals = 1;
	else if (max_abs == 0)
		s.decimals = 0;
	else	/* some four digits of the greatest value */
		s.decimals = shown >= 1000 ? 0 : shown >= 100 ? 1 : shown >= 10 ? 2 : 3;
	return s;
}

struct ss_scale ss_scale_among(enum ss_unit unit, double max_abs, double among, bool whole)
{
	struct ss_scale s = ss_scale_for(unit, among, whole);
	double shown = max_abs * s.factor;
	if (s.decimals && s.factor != 100 && unit != SS_UNIT_PERCENT && shown > 0)
		for (s.decimals = 0; s.decimals < 6 && shown < 1000; s.decimals++)
			shown *= 10;
	return s;
}

void ss_format_value(char *buf, size_t size, enum ss_unit unit, double value)
{
	if (isnan(value)) {
		snprintf(buf, size, "-");
		return;
	}
	if (unit == SS_UNIT_FRAC || unit == SS_UNIT_PERCENT) {
		snprintf(buf, size, "%s", ss_percent_of(unit == SS_UNIT_FRAC ? value : value / 100).s);
		return;
	}
	struct ss_scale s = ss_scale_for(unit, fabs(value), value == floor(value));
	/* What would be shown as zero with a point is zero. */
	if (value != 0 && fabs(value * s.factor) < 0.5 * pow(10, -s.decimals))
		s = ss_scale_for(unit, value = 0, true);
	bool glued = s.suffix[0] == '%' || !s.suffix[0];
	snprintf(buf, size, "%.*f%s%s", s.decimals, value * s.factor, glued ? "" : " ", s.suffix);
}

struct ss_str ss_unit_text(struct ss_arena *arena, enum ss_unit unit, double value)
{
	char buf[64];
	ss_format_value(buf, sizeof(buf), unit, value);
	return ss_arena_str(arena, ss_str_from(buf));
}
