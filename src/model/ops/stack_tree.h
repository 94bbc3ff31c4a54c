/*
 * stack_tree.h - time by stack: each distinct stack once, with the time and the events of its last
 * frame.
 *
 * Stacks deeper than `most_depth`, or beyond the number `most`, count in the enclosing stack, and
 * `cut` is set.
 */
#ifndef SS_MODEL_OPS_STACK_TREE_H
#define SS_MODEL_OPS_STACK_TREE_H

#include "base/intern.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/host/plane.h"

struct ss_stack {
	uint32_t parent;	/* of stacks, SS_NONE: outermost */
	uint32_t frame;		/* of frames.keys */
	uint32_t depth;		/* frames around it */
	int64_t self_ps;
	uint64_t count;
};

struct ss_stack_tree {
	SS_VEC(struct ss_stack) v;	/* parents before those inside */
	struct ss_strmap frames;
	struct ss_u64map children;	/* parent << 32 | frame: index into v */
	struct ss_intern *texts;	/* keeps the frames; NULL: they outlive the tree */
	uint32_t most_depth;
	size_t most;		/* outermost ones apart */
	struct ss_arena arena;	/* of frames that no other owner keeps */
	bool cut;
};

/* The stack with one frame more, SS_NONE around the outermost. SS_NONE: memory is out. */
uint32_t ss_stack_push(struct ss_stack_tree *t, uint32_t parent, struct ss_str frame);
/*
 * The stack of a device's operation: below its program, if it has one, and a frame for each part of its name scope. What is no
 * scope, as an operator of PyTorch or an NVTX range ("a/b: c"), is one frame: ss_host_names_ranges. SS_NONE: memory is out.
 */
uint32_t ss_stack_of_op(struct ss_stack_tree *t, uint32_t root, struct ss_str program, const struct ss_plane *p,
			const struct ss_line *l, uint32_t event, bool names_ranges);
/* A text of the event, or of its name. */
struct ss_str ss_stack_text(const struct ss_plane *p, const struct ss_line *l, uint32_t event, enum ss_stat which);
/*
 * The event of a line without overlaps that runs at a moment, its last that began by then; SS_NONE. `in_time`: its events by
 * begin, NULL: they are.
 */
uint32_t ss_stack_running(const struct ss_line *l, const uint32_t *in_time, int64_t at_ps);
void ss_stack_tree_free(struct ss_stack_tree *t);

static inline void ss_stack_count(struct ss_stack_tree *t, uint32_t at, int64_t self_ps)
{
	t->v.v[at].self_ps = ss_safe_sum(t->v.v[at].self_ps, self_ps);
	t->v.v[at].count++;
}

#endif
