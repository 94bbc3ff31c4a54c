/*
 * stats.c - stored tables of operations (TfStatsDatabase) and of GPU kernels (KernelStatsDb),
 * which the plug-ins of the time read as they stand.
 */
#include "legacy/combine.h"

/* ---- operations ---- */

static const struct ss_pbt_field record_fields[] = {
	{ 1, SS_PBT_UINT, "rank", NULL },
	{ 2, SS_PBT_STRING, "host_or_device", NULL },
	{ 3, SS_PBT_STRING, "type", NULL },
	{ 4, SS_PBT_STRING, "operation", NULL },
	{ 5, SS_PBT_INT, "occurrences", NULL },
	{ 6, SS_PBT_DOUBLE, "total_time", NULL },
	{ 7, SS_PBT_DOUBLE, "avg_time", NULL },
	{ 8, SS_PBT_DOUBLE, "total_self_time", NULL },
	{ 9, SS_PBT_DOUBLE, "avg_self_time", NULL },
	{ 10, SS_PBT_DOUBLE, "device_total_self_time_percent", NULL },
	{ 11, SS_PBT_DOUBLE, "device_cumulative_total_self_time_percent", NULL },
	{ 12, SS_PBT_DOUBLE, "host_total_self_time_percent", NULL },
	{ 13, SS_PBT_DOUBLE, "Host_cumulative_total_self_time_percent", NULL },
	{ 14, SS_PBT_DOUBLE, "measured_flop_rate", NULL },
	{ 15, SS_PBT_DOUBLE, "measured_memory_bw", NULL },
	{ 16, SS_PBT_DOUBLE, "operational_intensity", NULL },
	{ 17, SS_PBT_STRING, "bound_by", NULL },
	{ 18, SS_PBT_UINT, "eager", NULL },
	{ 19, SS_PBT_DOUBLE, "gpu_tensorcore_utilization", NULL },
	{ 20, SS_PBT_DOUBLE, "model_flop_rate", NULL },
	{ 0, SS_PBT_UINT, NULL, NULL },
};

static const struct ss_pbt_field table_fields[] = {
	{ 1, SS_PBT_MESSAGE, "record", record_fields },
	{ 0, SS_PBT_UINT, NULL, NULL },
};

static const struct ss_pbt_field stats_fields[] = {
	{ 4, SS_PBT_MESSAGE, "with_idle", table_fields },
	{ 5, SS_PBT_MESSAGE, "without_idle", table_fields },
	{ 6, SS_PBT_STRING, "device_type", NULL },
	{ 0, SS_PBT_UINT, NULL, NULL },
};

/* Ids are the names of the fields above; `eager` becomes words. */
static const struct ss_col op_cols[] = {
	NUM("rank", "Rank", COUNT, "By self time"),
	STR("host_or_device", "Host/device", NULL),
	STR("type", "Operation type", NULL),
	STR("operation", "Operation name", NULL),
	NUM("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_time", "Total time (us)", US, "Includes nested operations"),
	NUM("avg_time", "Avg. time (us)", US, "Total time / occurrences"),
	NUM("total_self_time", "Total self time (us)", US, "Excludes nested operations"),
	NUM("avg_self_time", "Avg. self time (us)", US, "Self time / occurrences"),
	NUM("device_total_self_time_percent", "Self time on device (%)", FRAC, "Self time / time of the device"),
	NUM("device_cumulative_total_self_time_percent", "Cumulative self time on device (%)", FRAC, "Running sum"),
	NUM("host_total_self_time_percent", "Self time on host (%)", FRAC, "Self time / time of all host threads"),
	NUM("Host_cumulative_total_self_time_percent", "Cumulative self time on host (%)", FRAC, "Running sum"),
	NUM("measured_flop_rate", "Normalized FLOP rate (GFLOP/s)", GFLOP_PER_S, NULL),
	NUM("model_flop_rate", "Model FLOP rate (GFLOP/s)", GFLOP_PER_S, "0 if the file is older than this figure"),
	NUM("measured_memory_bw", "Memory bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("operational_intensity", "Operational intensity (FLOP/byte)", FLOP_PER_BYTE, NULL),
	NUM("gpu_tensorcore_utilization", "GPU TensorCore utilization", FRAC, NULL),
	STR("bound_by", "Bound by", NULL),
	STR("eager", "Execution mode", "Eager, or part of a compiled function"),
};

static const char *const op_tables[][2] = { { "with_idle", "With idle time" }, { "without_idle", "Without idle time" } };

static void add_op(struct ss_table *t, const struct ss_jnode *record)
{
	ss_table_row(t);
	for (size_t i = 0; i < SS_COUNT(op_cols); i++) {
		if (op_cols[i].type == SS_TYPE_F64)
			ss_set_f64(t, i, ss_jnode_num(record, op_cols[i].id, 0));
		else
			ss_set_str(t, i, ss_jnode_text(record, op_cols[i].id));
	}
	ss_set_str(t, SS_COUNT(op_cols) - 1, ss_jnode_num(record, "eager", 0) > 0 ? SS_STR("Eager") : SS_STR("Function"));
}

/*
 * The time of which the rows of a side are shares, as a property: files do not name it. The row
 * with the longest time tells it best.
 */
static void set_side_total(struct ss_table *t, const char *prop, const char *share)
{
	size_t self = ss_table_col(t, "total_self_time"), col = ss_table_col(t, share);
	double max_us = 0, total_us = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double us = t->data[self].f64[i], frac = t->data[col].f64[i];
		if (frac > 0 && us > max_us) {
			max_us = us;
			total_us = us / frac;
		}
	}
	ss_table_prop_num(t, prop, NULL, SS_UNIT_US, total_us, "%.3f");
}

static bool read_op_stats(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read(q, h, stats_fields, out, err);
	if (!root)
		return false;
	for (size_t i = 0; i < SS_COUNT(op_tables); i++) {
		const struct ss_jnode *records = ss_jnode_get(root, op_tables[i][0]);
		struct ss_table *t = ss_result_table(out, op_tables[i][0], op_tables[i][1], op_cols, SS_COUNT(op_cols));
		for (const struct ss_jnode *r = records ? records->first : NULL; r; r = r->next)
			add_op(t, r);
		ss_table_prop(t, "architecture_type", ss_jnode_text(root, "device_type"));
		set_side_total(t, "device_time_us", "device_total_self_time_percent");
		set_side_total(t, "host_time_us", "host_total_self_time_percent");
	}
	return true;
}

/* The share of a row in its side, and the running sum; 0 on the other side. */
static void set_shares(struct ss_table *t, size_t row, const char *const cols[2], double total_us, double *sum)
{
	double us = t->data[ss_table_col(t, "total_self_time")].f64[row];
	double frac = total_us > 0 ? us / total_us : 0;
	*sum += frac;
	t->data[ss_table_col(t, cols[0])].f64[row] = frac;
	t->data[ss_table_col(t, cols[1])].f64[row] = total_us > 0 ? *sum : 0;
}

/* Ranks, means and shares follow from the sums. */
static bool finish_ops(struct ss_table *t)
{
	static const char *const by[] = { "host_or_device", "-total_self_time", "type", "operation", NULL };
	static const char *const shares[2][2] = {
		{ "device_total_self_time_percent", "device_cumulative_total_self_time_percent" },
		{ "host_total_self_time_percent", "Host_cumulative_total_self_time_percent" },
	};
	const struct ss_prop *device = ss_table_find_prop(t, "device_time_us"), *host = ss_table_find_prop(t, "host_time_us");
	double total_us[2] = { device->value, host->value }, sum[2] = { 0, 0 };
	if (!ss_legacy_sort(t, by))
		return false;
	for (size_t i = 0; i < t->nrows; i++) {
		bool on_host = ss_str_is(t->data[ss_table_col(t, "host_or_device")].str[i], "Host");
		double n = t->data[ss_table_col(t, "occurrences")].f64[i];
		double gflops = t->data[ss_table_col(t, "measured_flop_rate")].f64[i];
		double gibs = t->data[ss_table_col(t, "measured_memory_bw")].f64[i];
		t->data[ss_table_col(t, "rank")].f64[i] = (double)i + 1;
		t->data[ss_table_col(t, "avg_time")].f64[i] = n > 0 ? t->data[ss_table_col(t, "total_time")].f64[i] / n : 0;
		t->data[ss_table_col(t, "avg_self_time")].f64[i] =
			n > 0 ? t->data[ss_table_col(t, "total_self_time")].f64[i] / n : 0;
		if (gibs > 0)
			t->data[ss_table_col(t, "operational_intensity")].f64[i] = gflops * 1e9 / (gibs * 1073741824);
		for (size_t side = 0; side < 2; side++)
			set_shares(t, i, shares[side], side == on_host ? total_us[side] : 0, &sum[side]);
	}
	return true;
}

static bool end_ops(struct ss_result *out, size_t nhosts)
{
	for (size_t i = 0; nhosts > 1 && i < out->ntables; i++)
		if (!finish_ops(ss_result_at(out, i)))
			return false;
	return true;
}

bool ss_legacy_framework_op_stats(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_col cols[] = {
		{ "occurrences", SS_LEGACY_SUM, NULL },
		{ "total_time", SS_LEGACY_SUM, NULL },
		{ "total_self_time", SS_LEGACY_SUM, NULL },
		{ "measured_flop_rate", SS_LEGACY_MEAN, "total_time" },
		{ "model_flop_rate", SS_LEGACY_MEAN, "total_time" },
		{ "measured_memory_bw", SS_LEGACY_MEAN, "total_time" },
		{ "gpu_tensorcore_utilization", SS_LEGACY_MEAN, "total_self_time" },
	};
	static const struct ss_legacy_col props[] = { { "device_time_us", SS_LEGACY_SUM, NULL },
						      { "host_time_us", SS_LEGACY_SUM, NULL } };
#define OPS(table)                                                                                              \
	{ .name = table, .key = { "host_or_device", "type", "operation" }, .cols = cols, .ncols = SS_COUNT(cols), \
	  .longest = { "total_time" }, .props = props, .nprops = SS_COUNT(props) }
	static const struct ss_legacy_table tables[] = { OPS("with_idle"), OPS("without_idle") };
#undef OPS
	static const struct ss_legacy_answer answer = {
		.read = read_op_stats, .tables = tables, .ntables = SS_COUNT(tables), .end = end_ops,
		.says = "Times of equal operations are summed; rates are means weighted by time.",
	};
	return ss_legacy_combine(q, &answer, out, err);
}

/* ---- kernels ---- */

static const struct ss_pbt_field report_fields[] = {
	{ 1, SS_PBT_STRING, "name", NULL },
	{ 2, SS_PBT_UINT, "registers", NULL },
	{ 3, SS_PBT_UINT, "static_shmem", NULL },
	{ 4, SS_PBT_UINT, "dynamic_shmem", NULL },
	{ 5, SS_PBT_UINTS, "block", NULL },
	{ 6, SS_PBT_UINTS, "grid", NULL },
	{ 7, SS_PBT_UINT, "total_ns", NULL },
	{ 8, SS_PBT_UINT, "min_ns", NULL },
	{ 9, SS_PBT_UINT, "max_ns", NULL },
	{ 10, SS_PBT_UINT, "uses_tensor_core", NULL },
	{ 11, SS_PBT_UINT, "eligible", NULL },
	{ 12, SS_PBT_STRING, "op_name", NULL },
	{ 13, SS_PBT_UINT, "occurrences", NULL },
	{ 14, SS_PBT_FLOAT, "occupancy", NULL },
	{ 0, SS_PBT_UINT, NULL, NULL },
};

static const struct ss_pbt_field kernels_fields[] = {
	{ 1, SS_PBT_MESSAGE, "report", report_fields },
	{ 0, SS_PBT_UINT, NULL, NULL },
};

static const struct ss_col kernel_cols[] = {
	INT("rank", "Rank", NONE, "By total duration"),
	STR("kernel_name", "Kernel Name", NULL),
	INT("registers_per_thread", "Registers per thread", COUNT, NULL),
	INT("shmem_bytes", "Shared Mem bytes", BYTES, "Per block, static and dynamic together"),
	STR("block_dim", "Block dim", "Threads of a block: x,y,z"),
	STR("grid_dim", "Grid dim", "Blocks of a launch: x,y,z"),
	NUM("occupancy_pct", "Theoretical Occupancy %", PERCENT, NULL),
	FLAG("is_op_tensor_core_eligible", "Op is TensorCore eligible", NULL),
	FLAG("is_kernel_using_tensor_core", "Kernel uses TensorCore", NULL),
	STR("op_name", "Op Name", "Framework operation that launched it"),
	INT("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_duration_us", "Total Duration (\xce\xbcs)", US, NULL),
	NUM("avg_duration_us", "Avg Duration (\xce\xbcs)", US, NULL),
	NUM("min_duration_us", "Min Duration (\xce\xbcs)", US, NULL),
	NUM("max_duration_us", "Max Duration (\xce\xbcs)", US, NULL),
};

/* "64,2,1" */
static struct ss_str dims(const struct ss_jnode *report, const char *key, struct ss_arena *arena)
{
	struct ss_str s = SS_STR("");
	const struct ss_jnode *d = ss_jnode_get(report, key);
	for (size_t i = 0; d && s.p && i < 3; d = ss_jnode_again(d), i++)
		s = ss_arena_printf(arena, SS_FMT "%s%.0f", SS_ARG(s), i ? "," : "", d->num);
	return s;
}

static void add_kernel(struct ss_table *t, const struct ss_jnode *k)
{
	struct ss_str block = dims(k, "block", t->arena), grid = dims(k, "grid", t->arena);
	double n = ss_jnode_num(k, "occurrences", 0), total_us = ss_jnode_num(k, "total_ns", 0) / 1000;
	ss_table_row(t);
	ss_set_i64(t, 0, (int64_t)t->nrows);
	ss_set_str(t, 1, ss_jnode_text(k, "name"));
	ss_set_i64(t, 2, ss_jnode_int(k, "registers", 0));
	double shmem = ss_jnode_num(k, "static_shmem", 0) + ss_jnode_num(k, "dynamic_shmem", 0);
	ss_set_i64(t, 3, shmem < 1e18 ? (int64_t)shmem : 0);
	ss_set_str(t, 4, block);
	ss_set_str(t, 5, grid);
	ss_set_f64(t, 6, ss_jnode_num(k, "occupancy", 0));
	ss_set_bool(t, 7, ss_jnode_num(k, "eligible", 0) > 0);
	ss_set_bool(t, 8, ss_jnode_num(k, "uses_tensor_core", 0) > 0);
	ss_set_str(t, 9, ss_jnode_text(k, "op_name"));
	ss_set_i64(t, 10, ss_jnode_int(k, "occurrences", 0));
	ss_set_f64(t, 11, total_us);
	ss_set_f64(t, 12, n > 0 ? total_us / n : 0);
	ss_set_f64(t, 13, ss_jnode_num(k, "min_ns", 0) / 1000);
	ss_set_f64(t, 14, ss_jnode_num(k, "max_ns", 0) / 1000);
}

static bool read_kernels(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read(q, h, kernels_fields, out, err);
	struct ss_table *t = root ? ss_result_table(out, "kernel_stats", "GPU kernels", kernel_cols, SS_COUNT(kernel_cols)) : NULL;
	if (!root)
		return false;
	for (const struct ss_jnode *k = root->first; t && k; k = k->next)
		add_kernel(t, k);
	return t || ss_fail_mem(err);
}

static bool end_kernels(struct ss_result *out, size_t nhosts)
{
	static const char *const by[] = { "-total_duration_us", "kernel_name", NULL };
	struct ss_table *t = nhosts > 1 ? ss_legacy_find(out, "kernel_stats") : NULL;
	if (t && !ss_legacy_sort(t, by))
		return false;
	for (size_t i = 0; t && i < t->nrows; i++) {
		int64_t n = t->data[ss_table_col(t, "occurrences")].i64[i];
		double total_us = t->data[ss_table_col(t, "total_duration_us")].f64[i];
		t->data[ss_table_col(t, "rank")].i64[i] = (int64_t)i + 1;
		t->data[ss_table_col(t, "avg_duration_us")].f64[i] = n > 0 ? total_us / (double)n : 0;
	}
	return true;
}

bool ss_legacy_kernel_stats(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_col cols[] = {
		{ "occurrences", SS_LEGACY_SUM, NULL },
		{ "total_duration_us", SS_LEGACY_SUM, NULL },
		{ "min_duration_us", SS_LEGACY_MIN, NULL },
		{ "max_duration_us", SS_LEGACY_MAX, NULL },
	};
	static const struct ss_legacy_table tables[] = {
		{ .name = "kernel_stats",
		  .key = { "kernel_name", "registers_per_thread", "shmem_bytes", "block_dim", "grid_dim",
			   "is_kernel_using_tensor_core", "op_name" },
		  .cols = cols, .ncols = SS_COUNT(cols), .longest = { "total_duration_us" } },
	};
	static const struct ss_legacy_answer answer = {
		.read = read_kernels, .tables = tables, .ntables = SS_COUNT(tables), .end = end_kernels,
		.says = "Equal kernels of several hosts share one row.",
	};
	return ss_legacy_combine(q, &answer, out, err);
}
