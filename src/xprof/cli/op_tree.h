/*
 * op_tree.h - the tool op_profile as XProf's command line reads it: one tree, its leaves as
 * operations. For the subcommands that list operations.
 */
#ifndef SS_XPROF_CLI_OP_TREE_H
#define SS_XPROF_CLI_OP_TREE_H

#include "xprof/cli/xcli.h"

/* A leaf of the tree. */
struct xop {
	struct ss_str name, category;
	double ms, flops, bytes;
	int64_t occurrences;
	const char *provenance; /* of flops and bytes */
	bool opaque;		/* a custom call whose flops and bytes are not known */
	uint32_t row;
};

struct xops {
	struct xop *v;
	size_t n;
	double *key; /* room for one of each operation, to sort by */
	const struct ss_table *t;
	double total_ms;
	bool gpu;
};

struct ss_str xop_name(const struct ss_table *t, size_t row);
int64_t xop_time_ps(const struct ss_table *t, size_t row);

/*
 * The tree that XProf reads: by category where it has time, else by program. NULL: there is none.
 */
const struct ss_table *xop_find_tree(const struct ss_result *r);
/* The same of the session. NULL: the subcommand has failed, with XCLI_PATH where there is none. */
const struct ss_table *xop_tree(struct xcli *x, bool *gpu);

/* Rows after `row` that stand below it end here. */
size_t xop_end(const struct ss_table *t, size_t row);
/* A node that stands for an operation and its copies. */
bool xop_is_wrapper(const struct ss_table *t, size_t row);
/* Nothing below it has time of its own. */
bool xop_is_leaf(const struct ss_table *t, size_t row);
/*
 * Names of the nodes from the root to this one, with slashes; wrappers of copies may be left out.
 */
struct ss_str xop_path(struct xcli *x, const struct ss_table *t, size_t row, struct ss_str last,
		       bool wrappers);

/* Room for an operation of each row of o->t. */
bool xop_alloc(struct xcli *x, struct xops *o);
/*
 * Flops and bytes of op->row; those of a custom call are derived from its text, for one execution,
 * and multiplied by `times`.
 */
void xop_set_cost(const struct ss_table *t, struct xop *op, struct ss_str custom_name,
		  double times);
/* The value that `sort` names: "flops", "bytes", else the time. */
double xop_key(const char *sort, double ms, double flops, double bytes);

#endif
