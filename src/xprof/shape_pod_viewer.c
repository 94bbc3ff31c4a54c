/*
 * shape_pod_viewer.c - PodViewerDatabase as JSON: steps, in them cores by id, in them parts by
 * number. Channels, replicas and all-reduce operations are empty there, as in XProf.
 */
#include "xprof/shape.h"

#include <stdio.h>

static const char *const parts[] = {
	"device_compute_us", "device_to_device_us", "collectives_us", "host_compute_us", "kernel_launch_us",
	"input_us",	     "output_us",	    "compile_us",     "other_us",
};

static void core(struct ss_json *j, const struct ss_table *t, size_t row)
{
	char number[24];
	snprintf(number, sizeof(number), "%lld", (long long)ss_cell_i64(t, row, "core_id"));
	ss_json_key(j, number);
	ss_json_open(j, '{');
	ss_json_str(j, "hostName", ss_cell_str(t, row, "host_name"));
	ss_json_int(j, "chipId", 0);
	ss_json_int(j, "nodeId", 0);
	ss_json_int(j, "stepNum", ss_cell_i64(t, row, "step_num"));
	ss_json_f64(j, "totalDurationUs", ss_cell_f64(t, row, "total_us"));
	ss_json_str(j, "bottleneck", ss_cell_str(t, row, "bottleneck"));
	ss_json_key(j, "stepBreakdownUs");
	ss_json_open(j, '{');
	for (size_t i = 0; i < SS_COUNT(parts); i++) {
		snprintf(number, sizeof(number), "%zu", i + 1);
		ss_json_f64(j, number, ss_cell_f64(t, row, parts[i]));
	}
	ss_json_close(j, '}');
	ss_json_close(j, '}');
}

/* A member that holds nothing. */
static void empty(struct ss_json *j, const char *key, char open, char close)
{
	ss_json_key(j, key);
	ss_json_open(j, open);
	ss_json_close(j, close);
}

/* One step and its cores, whose rows are those from `row` on; returns the row after them. */
static size_t step(struct ss_json *j, const struct ss_table *t, int64_t num, size_t row)
{
	ss_json_key(j, NULL);
	ss_json_open(j, '{');
	ss_json_int(j, "stepNum", num);
	ss_json_key(j, "podStatsPerCore");
	ss_json_open(j, '{');
	for (; row < t->nrows && ss_cell_i64(t, row, "step_num") == num; row++)
		core(j, t, row);
	ss_json_close(j, '}');
	empty(j, "channelDb", '[', ']');
	empty(j, "coreIdToReplicaIdMap", '{', '}');
	empty(j, "allReduceOpDb", '[', ']');
	ss_json_close(j, '}');
	return row;
}

static void diagnostics(struct ss_json *j, const struct ss_table *t)
{
	static const struct {
		const char *key, *severity;
	} kinds[] = { { "info", "INFO" }, { "warnings", "WARNING" }, { "errors", "ERROR" } };
	ss_json_key(j, "diagnostics");
	ss_json_open(j, '{');
	for (size_t k = 0; k < SS_COUNT(kinds); k++) {
		ss_json_key(j, kinds[k].key);
		ss_json_open(j, '[');
		for (size_t row = 0; row < t->nrows; row++)
			if (ss_str_is(ss_cell_str(t, row, "severity"), kinds[k].severity))
				ss_json_str(j, NULL, ss_cell_str(t, row, "message"));
		ss_json_close(j, ']');
	}
	ss_json_close(j, '}');
}

static void part_names(struct ss_json *j, const struct ss_table *t)
{
	ss_json_key(j, "stepBreakdownEvents");
	ss_json_open(j, '[');
	for (size_t i = 0; i < SS_COUNT(parts); i++) {
		size_t col = ss_table_col(t, parts[i]);
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		ss_json_int(j, "id", (int64_t)i + 1);
		ss_json_str(j, "name", ss_str_from(col == SS_NPOS ? "" : t->cols[col].label));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

void ss_shape_pod_viewer(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *t = ss_result_find(r, "cores"), *steps = ss_result_find(r, "steps");
	ss_json_open(&j, '{');
	ss_json_key(&j, "podStatsSequence");
	ss_json_open(&j, '{');
	ss_json_key(&j, "podStatsMap");
	ss_json_open(&j, '[');
	for (size_t i = 0, row = 0; i < steps->nrows; i++)
		row = step(&j, t, ss_cell_i64(steps, i, "step_num"), row);
	ss_json_close(&j, ']');
	ss_json_close(&j, '}');
	diagnostics(&j, ss_result_find(r, "diagnostics"));
	part_names(&j, t);
	ss_json_str(&j, "deviceType", ss_shape_prop_text(t, "device_type"));
	ss_json_close(&j, '}');
}
