/* hlo_stats.c - get_hlo_stats: a record for each operation of each program. */
#include "xprof/cli/modules.h"

#include <ctype.h>

/* The name in "%name = ...", else the text's first 80 bytes. */
static struct ss_str op_name(struct ss_str expression)
{
	size_t percent = ss_str_chr(expression, '%'), eq;
	struct ss_str rest =
		percent == SS_NPOS ? SS_STR("") : ss_str_sub(expression, percent + 1, expression.n);
	eq = ss_str_find(rest, SS_STR(" ="));
	if (percent != SS_NPOS && eq != SS_NPOS)
		return ss_str_sub(rest, 0, eq);
	return ss_str_sub(expression, 0, 80);
}

/* What stands before the last colon of the source cell is the file for XProf, HTML and all. */
static void put_source(struct xv *v, struct ss_str cell)
{
	size_t colon = ss_str_rchr(cell, ':');
	int64_t line = 0;
	struct ss_str file = cell;
	if (colon != SS_NPOS) {
		file = ss_str_sub(cell, 0, colon);
		if (!ss_str_to_i64(ss_str_sub(cell, colon + 1, cell.n), &line) || line < 0)
			line = 0;
	}
	xv_str(v, "source_file", file);
	xv_i64(v, "source_line", line);
}

static void put_record(struct xv *list, const struct ss_table *t, size_t row)
{
	struct xv *v = xv_add_object(list, NULL);
	struct ss_str program = ss_cell_str(t, row, "program_id"),
		      bound = ss_cell_str(t, row, "bound_by");
	uint64_t id = 0;
	if (!program.n)
		id = (uint64_t)ss_cell_i64(t, row, "program_id");
	else if (!ss_str_to_u64(program, &id))
		id = 0;
	xv_i64(v, "rank", (int64_t)ss_cell_f64(t, row, "rank"));
	xv_u64(v, "program_id", id);
	xv_str(v, "category", ss_cell_str(t, row, "category"));
	xv_str(v, "op_name", op_name(ss_cell_str(t, row, "hlo_op_expression")));
	xv_str(v, "tf_op_name", ss_cell_str(t, row, "tf_op_name"));
	xv_i64(v, "occurrences", (int64_t)ss_cell_f64(t, row, "occurrences"));
	xv_f64(v, "total_time_us", ss_cell_f64(t, row, "total_time"));
	xv_f64(v, "total_self_time_us", ss_cell_f64(t, row, "total_self_time"));
	xv_f64(v, "self_time_percent", ss_cell_f64(t, row, "total_self_time_percent"));
	xv_f64(v, "measured_flop_rate", ss_cell_f64(t, row, "model_flop_rate"));
	xv_f64(v, "flops", 0);
	xv_f64(v, "measured_memory_bw_gbs", ss_cell_f64(t, row, "measured_memory_bw"));
	xv_str(v, "bound_by", bound.n ? bound : SS_STR("Unknown"));
	put_source(v, ss_cell_str(t, row, "source_info"));
	xv_str(v, "core_type", ss_cell_str(t, row, "core_type"));
	xv_str(v, "parent_op_name", ss_cell_str(t, row, "parent_op_name"));
}

static bool is_nested(const struct ss_table *t, size_t row)
{
	return ss_cell_str(t, row, "parent_op_name").n && ss_cell_f64(t, row, "rank") == 0;
}

static bool matches(struct ss_str category, struct ss_str filter)
{
	while (filter.n && isspace((unsigned char)filter.p[0]))
		filter = ss_str_sub(filter, 1, filter.n);
	while (filter.n && isspace((unsigned char)filter.p[filter.n - 1]))
		filter.n--;
	for (size_t i = 0; i + filter.n <= category.n; i++)
		if (ss_str_ieq(ss_str_sub(category, i, i + filter.n), filter))
			return true;
	return false;
}

static double key_of(struct xcli *x, const struct ss_table *t, size_t row)
{
	const char *sort = xcli_text(x, "sort_by");
	if (strcasecmp(sort, "total_time") == 0)
		return ss_cell_f64(t, row, "total_time");
	if (strcasecmp(sort, "occurrences") == 0)
		return ss_cell_f64(t, row, "occurrences");
	if (strcasecmp(sort, "flops") == 0)
		return 0;
	return ss_cell_f64(t, row,
			   strcasecmp(sort, "bandwidth") == 0 ? "measured_memory_bw"
							      : "total_self_time");
}

static struct xv *no_data(struct xcli *x, size_t nested)
{
	struct xv *v = xv_object(&x->make);
	xv_z(v, "status", "NO_DATA");
	if (nested)
		xv_printf(v, "message",
			  "Only %zu nested operations match; --include_nested lists them.", nested);
	else
		xv_z(v, "message", "The profile has no operation that matches.");
	xv_add_array(v, "records");
	xcli_put_counts(v, 0, 0);
	xv_i64(v, "top_level_records", 0);
	xv_f64(v, "total_self_time_ms_all_records", 0);
	if (!nested)
		xv_z(v, "guidance",
		     "The profile could be read, but holds no operations of a device. Where "
		     "tracing of custom calls filled the "
		     "device's buffer, record again without it.");
	return v;
}

bool xcli_get_hlo_stats(struct xcli *x, struct xv **out)
{
	struct ss_str filter = ss_str_from(xcli_text(x, "category_filter"));
	struct ss_err err;
	int64_t limit;
	uint32_t *order;
	if (!xcli_int(x, "limit", &limit) || !xcli_open(x))
		return false;
	const struct ss_result *r = xcli_tool(x, "hlo_stats", &err);
	if (!r && err.code != SS_ENODATA)
		return xcli_failed(x, &err);
	const struct ss_table *t = r ? ss_result_find(r, "ops") : NULL;
	size_t n = 0, nested = 0, top = 0, rows = t ? t->nrows : 0;
	double *key = SS_NEW_N(&x->arena, double, rows + 1), self_us = 0;
	uint32_t *kept = SS_NEW_N(&x->arena, uint32_t, rows + 1);
	if (!key || !kept)
		return xcli_no_memory(x);
	for (size_t row = 0; row < rows; row++) {
		if (filter.n && !matches(ss_cell_str(t, row, "category"), filter))
			continue;
		bool inner = is_nested(t, row);
		nested += inner;
		if (inner && !xcli_flag(x, "include_nested"))
			continue;
		top += !inner;
		self_us += inner ? 0 : ss_cell_f64(t, row, "total_self_time");
		key[n] = key_of(x, t, row);
		kept[n++] = (uint32_t)row;
	}
	if (!n) {
		*out = no_data(x, nested);
		return true;
	}
	if (!xcli_rank(x, key, n, &order))
		return false;
	*out = xv_object(&x->make);
	struct xv *records = xv_add_array(*out, "records");
	for (size_t i = 0; i < xcli_limited(n, limit); i++)
		put_record(records, t, kept[order[i]]);
	xcli_put_counts(*out, n, xv_length(records));
	xv_u64(*out, "top_level_records", top);
	xv_rounded(*out, "total_self_time_ms_all_records", self_us / 1000, 4);
	return true;
}
