/*
 * group.h - the parts of grouping, in the order in which ss_preprocess_group runs them. Internal to
 * group*.c.
 */
#ifndef SS_MODEL_PREPROCESS_GROUP_H
#define SS_MODEL_PREPROCESS_GROUP_H

#include "model/host/forget.h"
#include "model/preprocess/added.h"
#include "model/preprocess/forest.h"

struct ss_host;

struct ss_grouping {
	struct ss_host *h;
	struct ss_forest forest;
	SS_VEC(struct ss_group) groups;	/* index = group id; strings in the host's arena */
	/* Pairs of groups where the root of one led into the other: parent << 32 | child, without repetition. */
	SS_VEC(uint64_t) relations;
	struct ss_u64map related;
	size_t max_relations;		/* more than there are events are of no use, and could be 60 times as many */
	SS_VEC(struct ss_node) work;	/* of spreading a group */
	struct ss_added added;
	struct ss_forget passed;	/* of reading what names groups */
};

/* Room for the group ids of a line's events, all SS_NO_GROUP at first. */
bool ss_line_need_groups(struct ss_line *l);

/* Spread group `id`, which is new or the last, from a root and name it after the root. */
bool ss_group_begin(struct ss_grouping *g, struct ss_node root, int32_t id, struct ss_err *err);
/* Events between ThreadpoolListener::StartRegion and StopRegion, added to the lines of all planes. */
bool ss_add_pool_regions(struct ss_host *h, struct ss_err *err);
/* Mark operations and kernels as run eagerly or not. */
bool ss_group_eager(struct ss_grouping *g, struct ss_err *err);
/* Steps of TPU cores: numbers, merging, and the group ids of the other lines. */
bool ss_group_tpu(struct ss_grouping *g, struct ss_err *err);

#endif
