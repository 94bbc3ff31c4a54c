/*
 * units.h - numbers for people: a value with its unit in the scale that suits it.
 *
 * A scale is chosen for the greatest value of a column, so that the column's numbers can be
 * compared by eye.
 */
#ifndef SS_TABLE_UNITS_H
#define SS_TABLE_UNITS_H

#include "table/table.h"

struct ss_scale {
	double factor;		/* shown = value * factor */
	const char *suffix;	/* "ms", "GiB", "%", or "" */
	int decimals;
};

/* The scale for values up to `max_abs` of this unit; `whole`: all values are whole numbers. */
struct ss_scale ss_scale_for(enum ss_unit unit, double max_abs, bool whole);
/* The scale of values up to `among`, with the digits that values up to `max_abs` <= among need: for a column that
 * is shown beside others. */
struct ss_scale ss_scale_among(enum ss_unit unit, double max_abs, double among, bool whole);
/* "12.3 ms", "45.1%"; always NUL-terminated. "-" for NaN. */
void ss_format_value(char *buf, size_t size, enum ss_unit unit, double value);
/* The same in an arena; p is NULL when memory is out. */
struct ss_str ss_unit_text(struct ss_arena *arena, enum ss_unit unit, double value);

#endif
