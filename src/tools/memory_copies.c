/*
 * memory_copies.c - copies and fills of memory that GPUs made under PyTorch's profiler, by kind and
 * direction as PyTorch names them ("Memcpy HtoD (Pageable -> Device)"), with the bandwidth reached.
 */
#include "tools/torch_tool.h"
#include "tools/words.h"

#include <math.h>

enum { C_KIND, C_CALLS, C_BYTES, C_TOTAL, C_BANDWIDTH, C_COLS };

static const struct ss_col cols[C_COLS] = {
	STR("kind", "Kind", NULL),
	INT("calls", "Calls", COUNT, NULL),
	INT("bytes", "Bytes", BYTES, NULL),
	NUM("total_us", "Time", US, NULL),
	NUM("bandwidth_gb_per_s", "Bandwidth", GB_PER_S, "Bytes / time; 0 if the trace does not record bytes"),
};

struct row {
	uint32_t name;
	int64_t calls, bytes, total_ns;
};

static int longest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return SS_CMP(y->total_ns, x->total_ns) ?: SS_CMP(x->name, y->name);
}

static void put(struct ss_table *table, const struct ss_torch *t, const struct row *r)
{
	ss_table_row(table);
	ss_set_str(table, C_KIND, ss_torch_text(t, r->name));
	ss_set_i64(table, C_CALLS, r->calls);
	ss_set_i64(table, C_BYTES, r->bytes);
	ss_set_f64(table, C_TOTAL, ss_us(r->total_ns));
	ss_set_f64(table, C_BANDWIDTH, r->bytes > 0 && r->total_ns > 0 ? (double)r->bytes / (double)r->total_ns : 0);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	struct ss_table *table = ss_result_table(out, "copies", "Copies and fills", cols, C_COLS);
	SS_VEC(struct row) rows = { 0 };
	struct ss_u64map by_name = { 0 };
	if (!t)
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (ss_torch_is_kernel(e))
			continue;
		uint32_t at = ss_u64map_add(&by_name, e->name, (uint32_t)rows.n);
		ok = at != SS_NONE && (at < rows.n || ss_vec_push(&rows, ((struct row){ .name = e->name })));
		if (!ok)
			break;
		rows.v[at].calls++;
		rows.v[at].bytes += e->bytes > 0 ? e->bytes : 0;
		rows.v[at].total_ns += e->end_ns - e->begin_ns;
	}
	if (ok && rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), longest_first);
	for (size_t i = 0; ok && i < rows.n; i++)
		put(table, t, &rows.v[i]);
	if (ok && t->is_torch && !rows.n)
		ss_result_note(out, SS_INFO, SS_STR("No copy or fill of a GPU was recorded"));
	ss_vec_free(&rows);
	ss_u64map_free(&by_name);
	return ok || ss_fail_mem(err);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	struct ss_greatest top = ss_greatest_row(t, "total_us", NULL, NULL);
	(void)q;
	if (top.row == SS_NPOS)
		return true;
	double bw = ss_cell_f64(t, top.row, "bandwidth_gb_per_s"), bytes = ss_cell_f64(t, top.row, "bytes");
	ss_say(out, "'" SS_FMT "' takes the most time of all copies and fills: %s, in %s.",
	       SS_ARG(ss_cell_str(t, top.row, "kind")), ss_share_words(SS_UNIT_US, top.value, top.sum).s,
	       ss_count_words(ss_cell_f64(t, top.row, "calls"), "call").s);
	if (bw > 0 && bytes > 0)
		ss_say(out, "They move %s, at %s on average.", ss_value_words(SS_UNIT_BYTES, bytes).s,
		       ss_value_words(SS_UNIT_GB_PER_S, bw).s);
	return true;
}

const struct ss_tool ss_tool_memory_copies = {
	.name = "memory_copies",
	.title = "Memory copies",
	.summary = "Copies and fills by direction, with their bandwidth",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_COPIES,
	.run = run,
	.conclude = conclude,
};
