/*
 * stacks.h - where time went, by stack: each stack that differs once, with the time spent in its last frame itself.
 *
 * Of devices: plane, program, name scopes, operation; of hosts and other planes: plane, line, and events inside of events.
 * What is deeper than SS_STACK_DEPTH is counted in the frame at that depth: formats that write each stack out would grow with the
 * square of it.
 */
#ifndef SS_EXPORT_STACKS_H
#define SS_EXPORT_STACKS_H

#include "base/vec.h"
#include "export/export.h"

#define SS_STACK_DEPTH 1024u
#define SS_STACKS_OMIT "lines of devices without operations (steps, programs, asynchronous operations, counters)"

struct ss_stack {
	uint32_t parent;	/* of stacks, SS_NONE: outermost */
	uint32_t frame;		/* of frames.keys */
	uint32_t depth;		/* frames around it */
	int64_t self_ps;
	uint64_t count;
};

struct ss_stacks {
	SS_VEC(struct ss_stack) v;	/* parents before those inside */
	struct ss_strmap frames;
	struct ss_u64map children;	/* parent << 32 | frame: index into v */
	struct ss_arena arena;
	bool cut;		/* something was deeper */
};

/* False: memory is out. */
bool ss_stacks_of(struct ss_stacks *s, struct ss_export *x);
void ss_stacks_free(struct ss_stacks *s);

#endif
