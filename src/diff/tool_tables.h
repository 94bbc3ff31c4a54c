/*
 * tool_tables.h - the tables of one tool, of two sides: each row beside its partner, with the delta
 * and, where there are repeated samples, whether it is more than noise.
 *
 * Samples are the steps of the runs for rows that name an operation, its path or a kernel, and for
 * tables whose rows are steps; else the runs themselves, where a side has several. Without samples
 * nothing is said about significance. tool_tables.def says how each table is compared.
 */
#ifndef SS_DIFF_TOOL_TABLES_H
#define SS_DIFF_TOOL_TABLES_H

#include "diff/compare.h"
#include "table/table.h"

/* The answers of the tool for the runs of the side, in the order of the runs. */
struct ss_tool_side {
	const struct ss_result *v;
	size_t n;
};

/*
 * Make the tables of sides that were compared (ss_diff_compare), with the comparison's conclusion and
 * notes. Texts of `out` are those of the answers, which outlive it. False: out of memory.
 */
bool ss_diff_tool_result(struct ss_diff *d, struct ss_str tool, struct ss_tool_side base, struct ss_tool_side new,
			 struct ss_result *out, struct ss_err *err);

#endif
