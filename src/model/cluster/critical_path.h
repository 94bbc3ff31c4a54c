/*
 * critical_path.h - the chain of events that determines the length of a step: from its last end back to
 * the last end of the previous step, over devices, hosts and the network. Shortening an event on the
 * chain shortens the step. A wait is never on it; the work that was waited for is.
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

/* A segment in memory; there may be as many as operations. It ends where the previous one begins. */
struct ss_path_point {
	int64_t begin_ps;
	uint32_t op : 29;	/* its number */
	uint32_t category : 3;	/* enum ss_path_category */
	uint32_t where;		/* index of the device; SS_PATH_ON_HOST and the host's; SS_PATH_NETWORK */
};
#define SS_PATH_ON_HOST UINT32_C(0x80000000)
#define SS_PATH_NETWORK UINT32_MAX

struct ss_path_segment {
	uint32_t host;		/* SS_NO_HOST: on the network */
	int32_t device;		/* its ordinal, -1: none */
	uint32_t op;		/* its number: ss_path_op */
	enum ss_path_category category;
	int64_t begin_ps, end_ps;
};

struct ss_path_step {
	int64_t step, begin_ps, end_ps;
	size_t first, n;	/* of points, the last of the step first: together they are as long as the step */
};

#define SS_PATH_OPS (UINT32_C(1) << 29)

struct ss_path {
	SS_VEC(struct ss_path_step) steps;
	SS_VEC(struct ss_path_point) points;
	struct ss_strmap names;
	struct ss_arena arena;	/* of names */
};

/* The name of the operation; "input", "launch", "host" or "idle" if it is none. Lives as long as the path. */
static inline struct ss_str ss_path_op(const struct ss_path *p, const struct ss_path_segment *s)
{
	return p->names.keys[s->op];
}

/* The segment of a step with this number, from its end. */
static inline struct ss_path_segment ss_path_segment(const struct ss_cluster *c, const struct ss_path *p,
						     const struct ss_path_step *st, size_t k)
{
	const struct ss_path_point *at = &p->points.v[st->first + k];
	struct ss_path_segment s = { .host = SS_NO_HOST,
				     .device = -1,
				     .op = at->op,
				     .category = (enum ss_path_category)at->category,
				     .begin_ps = at->begin_ps,
				     .end_ps = k ? at[-1].begin_ps : st->end_ps };
	if (at->where < SS_PATH_ON_HOST) {
		s.host = c->devices.v[at->where].host;
		s.device = c->devices.v[at->where].ordinal;
	} else if (at->where != SS_PATH_NETWORK) {
		s.host = at->where - SS_PATH_ON_HOST;
	}
	return s;
}

/* Compute the paths of all steps that have a predecessor; takes the cluster's lock. NULL on failure. */
const struct ss_path *ss_model_path(struct ss_model *m, struct ss_err *err);

#endif
