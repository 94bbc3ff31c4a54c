/*
 * memory_cols.h - the tables of memory_profile: computed from a profile, or read from a stored
 * answer.
 */
#ifndef SS_TOOLS_MEMORY_COLS_H
#define SS_TOOLS_MEMORY_COLS_H

#include "table/table.h"

enum {
	A_ID, A_ALLOCATIONS, A_DEALLOCATIONS, A_LIFETIME_PEAK, A_PEAK, A_PEAK_TIME, A_PEAK_OFFSET, A_PEAK_STEP, A_STACK, A_HEAP,
	A_FREE, A_FRAGMENTATION, A_CAPACITY, A_RESERVED_PEAK, A_PAIRED, A_UNRELEASED, A_UNALLOCATED, A_COLS,
};

/* The columns after these are known only for PyTorch's allocators. */
#define NALLOCATOR_COLS A_RESERVED_PEAK

/* The columns of both a point of the timeline and a row of the breakdown. */
enum {
	E_ID, E_TIME, E_OFFSET, E_ACTIVITY, E_STACK, E_HEAP, E_FREE, E_FRAGMENTATION, E_LIFETIME_PEAK, E_REQUESTED, E_BYTES,
	E_ADDRESS, E_OP, E_STEP, E_REGION, E_TYPE, E_SHAPE, E_COUNT, E_MADE_UP, E_COLS,
};

/* The timeline has no use for the last two columns. */
#define NTIMELINE_COLS E_COUNT

enum { M_ID, M_NAME, M_PLANE, M_BEGIN, M_END, M_OFFSET, M_COLS };

extern const struct ss_col ss_memory_allocator_cols[A_COLS], ss_memory_event_cols[E_COLS], ss_memory_module_cols[M_COLS];

/* What recordings and XProf write where nothing is known ("INVALID") becomes an empty cell. */
void ss_memory_blank_unknown(struct ss_result *out);

#endif
