/* memory_snapshot_rows.h - the tables of the tool memory_snapshot, one function each. */
#ifndef SS_TOOLS_MEMORY_SNAPSHOT_ROWS_H
#define SS_TOOLS_MEMORY_SNAPSHOT_ROWS_H

#include "model/runtime/snapshot.h"
#include "table/table.h"

struct ss_snap_answer {
	struct ss_result *out;
	struct ss_arena *arena;
	const struct ss_snapshot *s;
	const struct ss_snap_device *devices;
	size_t ndevices;
	int64_t first_us;	/* of all events */
};

/* False when memory is out. */
void ss_snap_add_summary(struct ss_snap_answer *a);
void ss_snap_add_kinds(struct ss_snap_answer *a);
bool ss_snap_add_timeline(struct ss_snap_answer *a);
bool ss_snap_add_by_whom(struct ss_snap_answer *a);	/* frames, stacks, growth, flame */
bool ss_snap_add_allocations(struct ss_snap_answer *a);
bool ss_snap_add_segments(struct ss_snap_answer *a);
bool ss_snap_add_blocks(struct ss_snap_answer *a);
void ss_snap_add_oom(struct ss_snap_answer *a);

/* A cell that JAX's profile leaves empty: it tells what is in use at one moment, without an allocator or events. */
void ss_snap_set_pytorch(struct ss_table *t, const struct ss_snap_answer *a, size_t col, double v);

/* Microseconds since the first event; NAN for SS_NONE. */
double ss_snap_since_us(const struct ss_snap_answer *a, uint32_t event);
/*
 * "file:line:function", in the answer's arena; of a file without a name the function. p is NULL
 * when memory is out.
 */
struct ss_str ss_snap_frame_text(const struct ss_snap_answer *a, uint32_t frame);
/* The text of the frame after which the stack is named; "(no stack)". */
struct ss_str ss_snap_stack_name(const struct ss_snap_answer *a, uint32_t stack);

#endif
