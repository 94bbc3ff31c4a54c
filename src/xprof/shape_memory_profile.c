/*
 * shape_memory_profile.c - MemoryProfile as JSON: an object by memory id, whose snapshots at the
 * peak stand in the order of the breakdown and are referred to by their number in it; rows that are
 * no allocation are a list of their own.
 */
#include "xprof/shape.h"

static void counters(struct ss_json *j, const char *key, const struct ss_table *t, size_t row, int64_t peak_bytes)
{
	ss_json_key(j, key);
	ss_json_open(j, '{');
	ss_json_i64(j, "stackReservedBytes", ss_cell_i64(t, row, "stack_bytes"));
	ss_json_i64(j, "heapAllocatedBytes", ss_cell_i64(t, row, "heap_bytes"));
	ss_json_i64(j, "freeMemoryBytes", ss_cell_i64(t, row, "free_bytes"));
	ss_json_f64(j, "fragmentation", ss_cell_f64(t, row, "fragmentation_frac"));
	ss_json_i64(j, "peakBytesInUse", peak_bytes);
	ss_json_close(j, '}');
}

static void activity(struct ss_json *j, const struct ss_table *t, size_t row)
{
	ss_json_open(j, '{');
	ss_json_str(j, "memoryActivity", ss_cell_str(t, row, "activity"));
	ss_json_i64(j, "requestedBytes", ss_cell_i64(t, row, "requested_bytes"));
	ss_json_i64(j, "allocationBytes", ss_cell_i64(t, row, "allocation_bytes"));
	ss_json_u64(j, "address", (uint64_t)ss_cell_i64(t, row, "address"));
	ss_json_str(j, "tfOpName", ss_cell_str(t, row, "tf_op"));
	ss_json_i64(j, "stepId", ss_cell_i64(t, row, "step"));
	ss_json_str(j, "regionType", ss_cell_str(t, row, "region_type"));
	ss_json_str(j, "dataType", ss_cell_str(t, row, "data_type"));
	ss_json_str(j, "tensorShape", ss_cell_str(t, row, "shape"));
	ss_json_close(j, '}');
}

static void snapshot(struct ss_json *j, const struct ss_table *t, size_t row)
{
	ss_json_key(j, NULL);
	ss_json_open(j, '{');
	ss_json_i64(j, "timeOffsetPs", ss_cell_i64(t, row, "offset_ps"));
	counters(j, "aggregationStats", t, row, ss_cell_i64(t, row, "lifetime_peak_bytes"));
	ss_json_key(j, "activityMetadata");
	activity(j, t, row);
	ss_json_close(j, '}');
}

static void summary(struct ss_json *j, const struct ss_table *t, size_t row)
{
	ss_json_key(j, "profileSummary");
	ss_json_open(j, '{');
	ss_json_i64(j, "peakBytesUsageLifetime", ss_cell_i64(t, row, "lifetime_peak_bytes"));
	counters(j, "peakStats", t, row, ss_cell_i64(t, row, "peak_bytes"));
	ss_json_i64(j, "peakStatsTimePs", ss_cell_i64(t, row, "peak_offset_ps"));
	ss_json_i64(j, "memoryCapacity", ss_cell_i64(t, row, "capacity_bytes"));
	ss_json_close(j, '}');
}

/* The stack stands behind the memory that was held before, where there are both. */
static int64_t special_index(const struct ss_table *t, size_t first, size_t end, size_t row)
{
	if (!ss_str_eq(ss_cell_str(t, row, "region_type"), SS_STR("stack")))
		return 0;
	int64_t others = 0;
	for (size_t i = first; i < end; i++)
		others += ss_cell_bool(t, i, "made_up");
	return others - 1;
}

static void active(struct ss_json *j, const struct ss_table *t, size_t first, size_t end)
{
	int64_t snapshots = 0;
	ss_json_key(j, "activeAllocations");
	ss_json_open(j, '[');
	for (size_t i = first; i < end; i++) {
		bool special = ss_cell_bool(t, i, "made_up");
		int64_t index = special ? special_index(t, first, end, i) : -1;
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		ss_json_i64(j, "snapshotIndex", special ? -index - 1 : snapshots++);
		ss_json_i64(j, "specialIndex", index);
		ss_json_i64(j, "numOccurrences", ss_cell_i64(t, i, "occurrences"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

static void specials(struct ss_json *j, const struct ss_table *t, size_t first, size_t end)
{
	ss_json_key(j, "specialAllocations");
	ss_json_open(j, '[');
	for (int64_t want = 0; want < 2; want++)
		for (size_t i = first; i < end; i++)
			if (ss_cell_bool(t, i, "made_up") && special_index(t, first, end, i) == want) {
				ss_json_key(j, NULL);
				activity(j, t, i);
			}
	ss_json_close(j, ']');
}

/* Rows of one allocator stand together, in the order of the allocators. */
static size_t end_of(const struct ss_table *t, size_t at, struct ss_str id)
{
	while (at < t->nrows && ss_str_eq(ss_cell_str(t, at, "memory_id"), id))
		at++;
	return at;
}

static void allocators(struct ss_json *j, const struct ss_result *r)
{
	const struct ss_table *t = ss_result_find(r, "allocators");
	const struct ss_table *breakdown = ss_result_find(r, "breakdown"), *timeline = ss_result_find(r, "timeline");
	size_t b = 0, s = 0;
	for (size_t row = 0; row < t->nrows; row++) {
		struct ss_str id = ss_cell_str(t, row, "memory_id");
		size_t bend = end_of(breakdown, b, id), send = end_of(timeline, s, id);
		ss_json_str(j, NULL, id);
		ss_out_char(j->o, ':');
		ss_json_open(j, '{');
		ss_json_key(j, "memoryProfileSnapshots");
		ss_json_open(j, '[');
		for (size_t i = b; i < bend; i++)
			if (!ss_cell_bool(breakdown, i, "made_up"))
				snapshot(j, breakdown, i);
		ss_json_close(j, ']');
		summary(j, t, row);
		active(j, breakdown, b, bend);
		specials(j, breakdown, b, bend);
		ss_json_key(j, "sampledTimelineSnapshots");
		ss_json_open(j, '[');
		for (; s < send; s++)
			snapshot(j, timeline, s);
		ss_json_close(j, ']');
		ss_json_close(j, '}');
		b = bend;
	}
}

static void modules(struct ss_json *j, const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows; i++) {
		int64_t begin = ss_cell_i64(t, i, "offset_ps");
		uint64_t dur = (uint64_t)ss_cell_i64(t, i, "end_ps") - (uint64_t)ss_cell_i64(t, i, "begin_ps");
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		ss_json_str(j, "name", ss_cell_str(t, i, "name"));
		ss_json_i64(j, "startTimePs", begin);
		ss_json_i64(j, "endTimePs", (int64_t)((uint64_t)begin + dur));
		ss_json_i64(j, "id", ss_cell_i64(t, i, "id"));
		ss_json_str(j, "planeName", ss_cell_str(t, i, "plane"));
		ss_json_close(j, '}');
	}
}

void ss_shape_memory_profile(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *t = ss_result_find(r, "allocators");
	/* For a profile without the host's events, XProf's answer is empty. */
	if (ss_str_eq(ss_shape_prop_text(t, "host_plane"), SS_STR("missing")))
		return;
	ss_json_open(&j, '{');
	ss_json_key(&j, "memoryProfilePerAllocator");
	ss_json_open(&j, '{');
	allocators(&j, r);
	ss_json_close(&j, '}');
	ss_json_int(&j, "numHosts", 1);
	ss_json_key(&j, "memoryIds");
	ss_json_open(&j, '[');
	for (size_t i = 0; i < t->nrows; i++)
		ss_json_str(&j, NULL, ss_cell_str(t, i, "memory_id"));
	ss_json_close(&j, ']');
	ss_json_int(&j, "version", 1);
	ss_json_key(&j, "hloModules");
	ss_json_open(&j, '[');
	modules(&j, ss_result_find(r, "modules"));
	ss_json_close(&j, ']');
	ss_json_close(&j, '}');
}
