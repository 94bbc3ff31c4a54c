/*
 * match.h - finds for each operation of one program its counterpart in another, even if the compiler
 * gave other numbers, a scope has another name, or one operation became several.
 *
 * It works level by level, each on the operations that the earlier levels did not match. Operations with
 * equal keys are paired in the order of first execution. The rows have the same order, base's first.
 * Numbers at the end of names are never part of a key. O(n log n).
 */
#ifndef SS_DIFF_MATCH_H
#define SS_DIFF_MATCH_H

#include "diff/side.h"

enum ss_match {
	SS_MATCH_PATH,	 /* the same place in the user's program */
	SS_MATCH_NAME,	 /* the same name but for its number */
	SS_MATCH_GRAPH,	 /* the same end of the path and source, operands, or neighbours */
	SS_MATCH_SPLIT,	 /* one became several */
	SS_MATCH_MERGED, /* several became one */
	SS_MATCH_ADDED,
	SS_MATCH_REMOVED,
};

struct ss_str ss_match_name(enum ss_match m);

struct ss_matching {
	uint32_t *base_row, *new_row; /* by operation of the side */
	enum ss_match *how;	      /* by row */
	size_t rows;
	double matched_base_frac, matched_new_frac; /* of the side's operation time; NAN where it has none */
};

/* ss_matching_free in any case. False: no memory. */
bool ss_match_ops(struct ss_matching *m, const struct ss_diff_side *base, const struct ss_diff_side *new);
void ss_matching_free(struct ss_matching *m);

/*
 * "fusion" of "fusion.31", "copy" of "copy.1.remat2"; a kernel without template arguments, tile
 * sizes, hashes.
 */
struct ss_str ss_name_stem(struct ss_str name);
uint64_t ss_kernel_key(struct ss_str kernel);

#endif
