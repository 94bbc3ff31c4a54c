/*
 * critical_path.h - the chain of events that a step's length consists of: from its last end back to
 * the last end of the step before, over devices, hosts and the network. What is on it makes the
 * step shorter when it gets shorter; waiting is never on it, for somebody else's work is what was
 * waited for.
 */
#ifndef SS_MODEL_CLUSTER_CRITICAL_PATH_H
#define SS_MODEL_CLUSTER_CRITICAL_PATH_H

#include "model/cluster/cluster.h"

enum ss_path_category {
	SS_PATH_COMPUTE,
	SS_PATH_TRANSFER,
	SS_PATH_COPY,
	SS_PATH_INPUT,
	SS_PATH_HOST,
	SS_PATH_IDLE,
	SS_PATH_CATEGORIES
};
const char *ss_path_category_name(enum ss_path_category category);

struct ss_path_segment {
	uint32_t host;		/* SS_NO_HOST: on the network */
	int32_t device;		/* its ordinal, -1: none */
	uint32_t op : 29;	/* its number: ss_path_op */
	uint32_t category : 3;	/* enum ss_path_category */
	int64_t begin_ps, end_ps;
};

struct ss_path_step {
	int64_t step, begin_ps, end_ps;
	size_t first, n;	/* of segments, the last of the step first */
};

#define SS_PATH_OPS (UINT32_C(1) << 29)

struct ss_path {
	SS_VEC(struct ss_path_step) steps;
	SS_VEC(struct ss_path_segment) segments;
	struct ss_strmap names;
	struct ss_arena arena;	/* of names */
};

/* The operation; "input", "launch", "host", "idle" of what is none. Lives as long as the path. */
static inline struct ss_str ss_path_op(const struct ss_path *p, const struct ss_path_segment *s)
{
	return p->names.keys[s->op];
}

/* Of all steps that have a predecessor; takes the cluster's lock. NULL on failure. */
const struct ss_path *ss_model_path(struct ss_model *m, struct ss_err *err);

#endif
