/*
 * result.h - a comparison as tables, and in words: what the command line, the server and the page
 * show.
 */
#ifndef SS_DIFF_RESULT_H
#define SS_DIFF_RESULT_H

#include "base/buf.h"
#include "diff/compare.h"
#include "emit/out.h"
#include "table/table.h"

/* BY(identifier, word, table) */
#define SS_DIFF_VIEWS(BY) \
	BY(OP, "op", "ops") \
	BY(SCOPE, "scope", "scopes") \
	BY(MODULE, "module", "modules") BY(KERNEL, "kernel", "kernels") BY(SOURCE, "source", "sources") \
		BY(HOST, "host", "host") BY(MEMORY, "memory", "memory")

enum ss_diff_by {
#define BY(id, word, table) SS_DIFF_BY_##id,
	SS_DIFF_VIEWS(BY)
#undef BY
		SS_DIFF_BY_COUNT
};

bool ss_diff_by_of(struct ss_str word, enum ss_diff_by *out);
/* The table that it is about: "ops". */
const char *ss_diff_by_table(enum ss_diff_by by);

/*
 * Fills `out`: all tables of docs/diff.md, those of `by` besides; conclusion and notes. Texts are
 * the arena's or of the runs.
 */
bool ss_diff_result(struct ss_diff *d, enum ss_diff_by by, struct ss_result *out, struct ss_err *err);

/* Write the comparison as JSON; `more` holds further members: ",\"exit\":0". False: out of memory. */
bool ss_diff_emit_json(struct ss_out *o, const struct ss_diff *d, const struct ss_result *r, struct ss_str tool,
		       struct ss_str more);

/* words.c */
bool ss_diff_say(struct ss_diff *d, struct ss_result *out);
/* hosts.c: means over the runs of each side that have the host, NAN where none has it. */
struct ss_diff_host_pair {
	struct ss_str name;
	double us[2][SS_DIFF_COMPONENTS]; /* base, new */
};
/* The hosts of the base's first run; of one host on each side names do not matter. The caller's to free; NULL: no memory. */
struct ss_diff_host_pair *ss_diff_host_pairs(const struct ss_diff *d, size_t *n);
/* The host whose own work made the step longer or shorter, where one did. False: no memory. */
bool ss_diff_say_hosts(struct ss_diff *d, struct ss_buf *b);
const char *ss_diff_part_words(int part);
/* views.c: sums of operations by scope, module, kernel or source line. */
bool ss_diff_add_view(struct ss_diff *d, enum ss_diff_by by, struct ss_result *out);
/* ops.c. Texts of so many operations are joined. */
#define SS_DIFF_JOINED 8
/*
 * Rows of the operations in the order of |delta|, the largest first. NULL: no memory. The caller's
 * to free.
 */
uint32_t *ss_diff_ops_in_order(const struct ss_diff *d);
/*
 * Names, or other texts, of a row's operations on a side, joined by " + ", each once; "" where
 * there are none.
 */
struct ss_str ss_diff_names(struct ss_arena *a, const struct ss_diff_side *s, uint32_t first, const uint32_t *next);

#endif
