/*
 * shape_op_profile.c - Profile as JSON: two trees of nodes, each with metrics, and for operations
 * what they are.
 */
#include "xprof/shape.h"

static void triple(struct ss_json *j, const char *key, const struct ss_table *t, size_t row, const char *const cols[3])
{
	ss_json_key(j, key);
	ss_json_open(j, '[');
	for (size_t i = 0; i < 3; i++)
		ss_json_f64(j, NULL, ss_cell_f64(t, row, cols[i]));
	ss_json_close(j, ']');
}

static void metrics(struct ss_json *j, const struct ss_table *t, size_t row)
{
	static const char *const utils[] = { "hbm_util", "onchip_read_util", "onchip_write_util" };
	static const char *const bytes[] = { "hbm_bytes", "onchip_read_bytes", "onchip_write_bytes" };
	ss_json_key(j, "metrics");
	ss_json_open(j, '{');
	ss_json_f64(j, "flops", ss_cell_f64(t, row, "flops_util"));
	ss_json_f64(j, "uncappedFlops", ss_cell_f64(t, row, "flops_util_uncapped"));
	triple(j, "bandwidthUtils", t, row, utils);
	ss_json_int(j, "rawTime", ss_cell_i64(t, row, "time_ps"));
	ss_json_f64(j, "rawFlops", ss_cell_f64(t, row, "model_flops"));
	ss_json_f64(j, "bf16Flops", ss_cell_f64(t, row, "normalized_flops"));
	ss_json_int(j, "normalizedTimePs", ss_cell_i64(t, row, "normalized_ps"));
	triple(j, "rawBytesAccessedArray", t, row, bytes);
	ss_json_int(j, "occurrences", ss_cell_i64(t, row, "occurrences"));
	ss_json_f64(j, "avgTimePs", ss_cell_f64(t, row, "avg_ps"));
	ss_json_close(j, '}');
}

static void operation(struct ss_json *j, const struct ss_table *t, size_t row)
{
	ss_json_key(j, "xla");
	ss_json_open(j, '{');
	ss_json_str(j, "op", SS_STR(""));
	ss_json_str(j, "expression", ss_cell_str(t, row, "expression"));
	ss_json_str(j, "provenance", ss_cell_str(t, row, "provenance"));
	ss_json_str(j, "category", ss_cell_str(t, row, "category"));
	ss_json_int(j, "computationPrimitiveSize", 0);
	ss_json_str(j, "fingerprint", SS_STR("0"));
	ss_json_str(j, "programId", ss_cell_str(t, row, "program_id"));
	ss_json_key(j, "sourceInfo");
	ss_json_open(j, '{');
	ss_json_str(j, "fileName", ss_cell_str(t, row, "source_file"));
	ss_json_int(j, "lineNumber", ss_cell_i64(t, row, "source_line"));
	ss_json_str(j, "stackFrame", ss_cell_str(t, row, "source_stack"));
	ss_json_close(j, '}');
	ss_json_str(j, "xprofKernelMetadata", ss_cell_str(t, row, "kernel_metadata"));
	ss_json_close(j, '}');
}

/* An operation, not several copies of one: what stands below it is fused into it. */
static bool is_single(const struct ss_table *t, size_t row)
{
	return ss_cell_bool(t, row, "is_op") &&
	       !ss_str_ends(ss_cell_str(t, row, "name"), SS_STR(" and its duplicate(s)"));
}

/*
 * Rows stand in the order of a book: the rows after `row` whose parent is `row` or below are inside.
 * XProf does not look into the fusions of GPUs.
 */
static size_t node(struct ss_json *j, const struct ss_table *t, size_t row, bool gpu)
{
	size_t next = row + 1;
	bool closed = gpu && is_single(t, row);
	ss_json_open(j, '{');
	ss_json_str(j, "name", ss_cell_str(t, row, "name"));
	metrics(j, t, row);
	ss_json_key(j, "children");
	ss_json_open(j, '[');
	while (closed && next < t->nrows && ss_cell_i64(t, next, "parent") >= (int64_t)row)
		next++;
	while (next < t->nrows && ss_cell_i64(t, next, "parent") == (int64_t)row) {
		ss_json_key(j, NULL);
		next = node(j, t, next, gpu);
	}
	ss_json_close(j, ']');
	if (ss_cell_bool(t, row, "is_op"))
		operation(j, t, row);
	ss_json_int(j, "numChildren", closed ? 0 : ss_cell_i64(t, row, "children"));
	ss_json_close(j, '}');
	return next;
}

void ss_shape_op_profile(struct ss_out *o, const struct ss_result *r)
{
	static const struct {
		const char *table, *key;
	} trees[] = {
		{ "by_program", "byProgram" },	 { "by_program_exclude_idle", "byProgramExcludeIdle" },
		{ "by_category", "byCategory" }, { "by_category_exclude_idle", "byCategoryExcludeIdle" },
		{ "by_provenance", "byProvenance" },
		{ "by_provenance_exclude_idle", "byProvenanceExcludeIdle" },
	};
	struct ss_json j = { o, true };
	const struct ss_table *first = r->ntables ? &r->tables[0] : ss_result_find(r, "");
	bool gpu = ss_str_is(ss_shape_prop_text(first, "device_type"), "GPU");
	ss_json_open(&j, '{');
	for (size_t i = 0; i < SS_COUNT(trees); i++) {
		const struct ss_table *t = ss_result_find(r, trees[i].table);
		if (t->nrows == 0)
			continue;
		ss_json_key(&j, trees[i].key);
		node(&j, t, 0, gpu);
	}
	ss_json_str(&j, "deviceType", ss_shape_prop_text(first, "device_type"));
	ss_json_f64(&j, "aggDvfsTimeScaleMultiplier", ss_shape_prop(first, "time_scale_multiplier"));
	ss_json_close(&j, '}');
}
