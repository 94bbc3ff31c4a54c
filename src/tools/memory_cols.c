/* memory_cols.c - see memory_cols.h. */
#include "tools/memory_cols.h"

#include "table/cols.h"

const struct ss_col ss_memory_allocator_cols[A_COLS] = {
	STR("memory_id", "Memory ID", "Device or allocator"),
	INT("allocations", "Allocations", COUNT, "Allocations during the profile"),
	INT("deallocations", "Deallocations", COUNT, "Deallocations during the profile"),
	INT("lifetime_peak_bytes", "Lifetime peak", BYTES, "Peak use since the program started, of the last event"),
	INT("peak_bytes", "Peak in the profile", BYTES, "Greatest stack + heap during the profile"),
	INT("peak_time_ps", "Time of the peak", PS, "Since the start of the profile"),
	INT("peak_offset_ps", "Time of the peak on its line", PS, "Since the start of its line"),
	INT("peak_step", "Step of the peak", NONE, NULL),
	INT("stack_bytes", "Stack at the peak", BYTES, "Reserved by programs on the device"),
	INT("heap_bytes", "Heap at the peak", BYTES, "Allocated buffers"),
	INT("free_bytes", "Free at the peak", BYTES, NULL),
	NUM("fragmentation_frac", "Fragmentation at the peak", FRAC,
	    "Free memory outside the largest free block / free memory"),
	INT("capacity_bytes", "Capacity", BYTES,
	    "Capacity of the device if recorded, else stack + heap + free at the peak"),
	INT("reserved_peak_bytes", "Reserved peak", BYTES, "PyTorch: most memory of the device that its allocator held; 0: "
	    "not recorded"),
	INT("paired", "Released", COUNT, "PyTorch: allocations in the profile that were released in the profile"),
	INT("unreleased", "Not released", COUNT, "PyTorch: allocations in the profile that were not released in the profile"),
	INT("unallocated", "Allocated before", COUNT, "PyTorch: releases of memory that was allocated before the profile"),
};

const struct ss_col ss_memory_event_cols[E_COLS] = {
	STR("memory_id", "Memory ID", "Device or allocator"),
	INT("time_ps", "Time", PS, "Since the start of the profile"),
	INT("offset_ps", "Time on its line", PS, "Since the start of the event's line"),
	STR("activity", "Activity", "ALLOCATION or DEALLOCATION"),
	INT("stack_bytes", "Stack", BYTES, "Reserved by programs on the device, after the event"),
	INT("heap_bytes", "Heap", BYTES, "Allocated buffers, after the event"),
	INT("free_bytes", "Free", BYTES, "Free memory after the event"),
	NUM("fragmentation_frac", "Fragmentation", FRAC, "Free memory outside the largest free block / free memory"),
	INT("lifetime_peak_bytes", "Lifetime peak", BYTES, "Peak use since the program started"),
	INT("requested_bytes", "Requested size", BYTES, "Bytes that the operation requested"),
	INT("allocation_bytes", "Allocation size", BYTES, "Bytes that the allocator returned"),
	INT("address", "Address", NONE, NULL),
	STR("tf_op", "Op name", "Framework operation that requested the memory"),
	INT("step", "Step", NONE, "Number of the step; for allocations outside of steps the last step + 1"),
	STR("region_type", "Region type", "output, temp, persist/dynamic ..."),
	STR("data_type", "Data type", NULL),
	STR("shape", "Shape", NULL),
	INT("occurrences", "Occurrences", COUNT, "Number of identical allocations in this row"),
	FLAG("made_up", "Not an allocation", "The stack, or memory held since before the step of the peak"),
};

const struct ss_col ss_memory_module_cols[M_COLS] = {
	INT("id", "ID", NONE, NULL),
	STR("name", "HLO module", NULL),
	STR("plane", "Device", NULL),
	INT("begin_ps", "Start", PS, "Since the start of the profile"),
	INT("end_ps", "End", PS, NULL),
	INT("offset_ps", "Start on its line", PS, "Since the start of its line"),
};

static void blank(struct ss_table *t, size_t col, const char *text)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_str_is(t->data[col].str[i], text))
			t->data[col].str[i] = SS_STR("");
}

void ss_memory_blank_unknown(struct ss_result *out)
{
	for (size_t i = 0; i < out->ntables; i++) {
		struct ss_table *t = &out->tables[i];
		if (t->cols != ss_memory_event_cols)
			continue;
		blank(t, E_OP, "(null)");
		blank(t, E_REGION, "(null)");
		blank(t, E_TYPE, "INVALID");
		blank(t, E_SHAPE, "unknown");
	}
}
