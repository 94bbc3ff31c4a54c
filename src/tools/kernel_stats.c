/*
 * kernel_stats.c - GPU kernels by the time they took: one row for each kernel with one launch
 * geometry and one operation it belongs to. See model/ops/kernels.c for how they are told apart and
 * which of them use tensor cores.
 *
 * The same kernel on two hosts is two rows, as their times differ. XProf stops after 1000 rows;
 * here all are shown.
 */
#include "model/host/identity.h"

#include "base/cxx_name.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/host/plane.h"
#include "model/model.h"
#include "model/ops/ops.h"
#include "model/torch/kernel_name.h"
#include "model/torch/torch.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

enum {
	COL_RANK, COL_NAME, COL_REGS, COL_SHMEM, COL_BLOCK, COL_GRID, COL_OCCUPANCY, COL_ELIGIBLE, COL_USES, COL_OP,
	COL_OCCURRENCES, COL_TOTAL, COL_AVG, COL_MIN, COL_MAX, COL_SHORT, COLS
};

/* The last is ours, which XProf's clients do not get. */
static const struct ss_col cols[COLS] = {
	INT("rank", "Rank", NONE, "Rank by total duration"),
	STR("kernel_name", "Kernel Name", NULL),
	INT("registers_per_thread", "Registers per thread", COUNT, NULL),
	INT("shmem_bytes", "Shared Mem bytes", BYTES, "Per block, static and dynamic together"),
	STR("block_dim", "Block dim", "Threads of a block: x,y,z"),
	STR("grid_dim", "Grid dim", "Blocks of a launch: x,y,z"),
	NUM("occupancy_pct", "Theoretical Occupancy %", PERCENT,
	    "Theoretical occupancy: threads resident per multiprocessor at this launch geometry / maximum"),
	FLAG("is_op_tensor_core_eligible", "Op is TensorCore eligible", "The operation could run on tensor cores"),
	FLAG("is_kernel_using_tensor_core", "Kernel uses TensorCore", "Derived from the kernel's name"),
	STR("op_name", "Op Name", "Framework operation that launched it"),
	INT("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_duration_us", "Total Duration (μs)", US, NULL),
	NUM("avg_duration_us", "Avg Duration (μs)", US, "Total duration / occurrences, rounded to whole nanoseconds"),
	NUM("min_duration_us", "Min Duration (μs)", US, NULL),
	NUM("max_duration_us", "Max Duration (μs)", US, NULL),
	{ "kernel_short", "Kernel", SS_TYPE_STR, SS_UNIT_NONE, "Short form of the name; two kernels may share one",
	  "short:kernel_name" },
};

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

static void add_kernel(struct ss_table *t, const struct ss_kernel *k)
{
	struct ss_str block = ss_arena_printf(t->arena, "%u,%u,%u", k->block[0], k->block[1], k->block[2]);
	struct ss_str grid = ss_arena_printf(t->arena, "%u,%u,%u", k->grid[0], k->grid[1], k->grid[2]);
	ss_table_row(t);
	ss_set_i64(t, COL_RANK, (int64_t)t->nrows);
	ss_set_str(t, COL_NAME, k->name);
	ss_set_i64(t, COL_REGS, k->regs);
	ss_set_i64(t, COL_SHMEM, (int64_t)k->static_shmem_bytes + k->dynamic_shmem_bytes);
	ss_set_str(t, COL_BLOCK, block);
	ss_set_str(t, COL_GRID, grid);
	ss_set_f64(t, COL_OCCUPANCY, k->occupancy_pct);
	ss_set_bool(t, COL_ELIGIBLE, k->is_eligible);
	ss_set_bool(t, COL_USES, k->uses_tensor_core);
	ss_set_str(t, COL_OP, k->op_name);
	ss_set_i64(t, COL_OCCURRENCES, (int64_t)k->occurrences);
	ss_set_f64(t, COL_TOTAL, us(k->total_ns));
	ss_set_f64(t, COL_AVG, us(k->occurrences ? k->total_ns / k->occurrences : 0));
	ss_set_f64(t, COL_MIN, us(k->min_ns));
	ss_set_f64(t, COL_MAX, us(k->max_ns));
	if (t->ncols == COLS)
		ss_set_str(t, COL_SHORT, ss_cxx_short_name(k->name, t->arena));
}

/* ---- PyTorch: by name alone ---- */

enum { N_NAME, N_CALLS, N_TOTAL, N_BLOCKS, N_OCCUPANCY, N_TENSOR, N_PRECISION, N_COLS };

static const struct ss_col name_cols[N_COLS] = {
	STR("kernel_name", "Kernel Name", NULL),
	INT("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_duration_us", "Total Duration (μs)", US, NULL),
	NUM("blocks_per_sm", "Blocks per SM", NONE, "Mean by duration; 0: not recorded"),
	NUM("est_occupancy_pct", "Estimated occupancy", PERCENT, "Achieved, mean by duration; 0: not recorded"),
	FLAG("tensor_core", "Tensor cores", "From the kernel's name"),
	STR("precision", "Precision", "Number format, from the kernel's name"),
};

struct by_name {
	uint32_t name;
	int64_t occurrences, total_ns;
	double blocks, occupancy; /* times ns */
	double plain_blocks, plain_occupancy; /* sums, for kernels that took no time */
};

static double or_zero(float v)
{
	return isnan(v) ? 0 : (double)v;
}

static int longest_first(const void *a, const void *b)
{
	const struct by_name *x = a, *y = b;
	return SS_CMP(y->total_ns, x->total_ns) ?: SS_CMP(x->name, y->name);
}

static void put_name(struct ss_table *table, const struct ss_torch *t, const struct by_name *r)
{
	struct ss_str name = ss_torch_text(t, r->name);
	double weight = r->total_ns ? (double)r->total_ns : (double)r->occurrences;
	ss_table_row(table);
	ss_set_str(table, N_NAME, name);
	ss_set_i64(table, N_CALLS, r->occurrences);
	ss_set_f64(table, N_TOTAL, (double)r->total_ns / 1000);
	ss_set_f64(table, N_BLOCKS, (r->total_ns ? r->blocks : r->plain_blocks) / weight);
	ss_set_f64(table, N_OCCUPANCY, (r->total_ns ? r->occupancy : r->plain_occupancy) / weight);
	ss_set_bool(table, N_TENSOR, ss_torch_uses_tensor_core(name));
	ss_set_str(table, N_PRECISION, ss_str_from(ss_torch_precision(name)));
}

static bool add_by_name(struct ss_result *out, const struct ss_torch *t)
{
	SS_VEC(struct by_name) rows = { 0 };
	struct ss_u64map at = { 0 };
	struct ss_table *table = ss_result_table(out, "by_name", "Kernels by name", name_cols, N_COLS);
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *d = &t->device.v[i];
		if (!ss_torch_is_kernel(d))
			continue;
		uint32_t k = ss_u64map_add(&at, d->name, (uint32_t)rows.n);
		ok = k != SS_NONE && (k < rows.n || ss_vec_push(&rows, ((struct by_name){ .name = d->name })));
		if (!ok)
			break;
		double ns = (double)(d->end_ns - d->begin_ns);
		rows.v[k].occurrences++;
		rows.v[k].total_ns += d->end_ns - d->begin_ns;
		rows.v[k].blocks += or_zero(d->blocks_per_sm) * ns;
		rows.v[k].occupancy += or_zero(d->occupancy_pct) * ns;
		rows.v[k].plain_blocks += or_zero(d->blocks_per_sm);
		rows.v[k].plain_occupancy += or_zero(d->occupancy_pct);
	}
	if (ok && rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), longest_first);
	for (size_t i = 0; ok && i < rows.n; i++)
		put_name(table, t, &rows.v[i]);
	ss_vec_free(&rows);
	ss_u64map_free(&at);
	return ok;
}

/* A second table, of one recording of PyTorch's. XProf's clients know of one table only. */
static bool add_torch(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_host *h = q->model->nhosts == 1 ? q->model->hosts[0] : NULL;
	if (q->as_xprof || !h || ss_host_is_described(h) || !ss_host_is_torch(h))
		return true;
	const struct ss_torch *t = ss_host_torch(h, err);
	return t && (add_by_name(out, t) || ss_fail_mem(err));
}

static bool present(const struct ss_host *first)
{
	return ss_host_plane(first, SS_PLANE_GPU) != NULL;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(out, "kernel_stats", "GPU kernels", cols, q->as_xprof ? COL_SHORT : COLS);
	const struct ss_ops *ops = ss_model_ops(q->model, err);
	if (!ops)
		return false;
	for (size_t i = 0; i < ops->kernels.n; i++)
		add_kernel(t, &ops->kernels.v[i]);
	if (!t->nrows)
		ss_result_note(out, SS_INFO, SS_STR("the profile holds no GPU kernels with launch geometry"));
	return add_torch(q, out, err);
}

/*
 * Does any kernel of this operation use matrix units? An operation launches others besides:
 * transposes, fills.
 */
static bool operation_uses_them(const struct ss_table *t, struct ss_str op)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_cell_bool(t, i, "is_kernel_using_tensor_core") &&
		    ss_str_eq(ss_cell_str(t, i, "op_name"), op))
			return true;
	return false;
}

/* They are told by the names of kernels: where none is known to use them, nothing is said. */
static void say_tensor_cores(struct ss_result *out, const struct ss_table *t,
			     const struct ss_greatest *top)
{
	double using_us = 0;
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_cell_bool(t, i, "is_kernel_using_tensor_core"))
			using_us += ss_cell_f64(t, i, "total_duration_us");
	if (!(using_us > 0))
		return;
	if (ss_cell_bool(t, top->row, "is_op_tensor_core_eligible") &&
	    !operation_uses_them(t, ss_cell_str(t, top->row, "op_name")))
		ss_result_say(out, SS_STR("This operation could use matrix units (Tensor Cores, Matrix Cores), but none of "
		    "its kernels is known to use them."));
	ss_say(out, "Kernels that are known to use matrix units (Tensor Cores, Matrix Cores) take %s.",
	       ss_share_words(SS_UNIT_US, using_us, top->sum).s);
}

/* Those that launch a kernel of the full name `kernel`: two kernels may share a short one. */
static struct ss_str launcher(const struct ss_table *t, size_t row, const void *arg)
{
	const struct ss_str *kernel = arg;
	return ss_str_eq(ss_cell_str(t, row, "kernel_name"), *kernel) ? ss_cell_str(t, row, "op_name") :
									(struct ss_str){ NULL, 0 };
}

static double launches(const struct ss_table *t, struct ss_str kernel)
{
	double n = 0;
	for (size_t i = 0; i < t->nrows; i++)
		if (launcher(t, i, &kernel).p)
			n += ss_cell_f64(t, i, "occurrences");
	return n;
}

/* The chart of the page sums by short names. */
static void say_namesakes(struct ss_result *out, const struct ss_table *t, struct ss_str kernel, struct ss_str brief)
{
	struct ss_strmap others = { 0 };
	for (size_t i = 0; i < t->nrows; i++) {
		struct ss_str name = ss_cell_str(t, i, "kernel_name");
		if (!ss_str_eq(name, kernel) && ss_str_eq(ss_cxx_short_name(name, out->arena), brief))
			out->arena->no_memory |= ss_strmap_add(&others, name) == SS_NONE;
	}
	if (others.n)
		ss_say(out, "%s %s the same short name.", ss_count_words(others.n, "other kernel").s,
		       others.n == 1 ? "has" : "have");
	ss_strmap_free(&others);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)q;
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	/* Rows of a kernel differ in the operation and the grid. */
	struct ss_greatest top = ss_greatest_kind(t, "total_duration_us", ss_kind_of_column, "kernel_name");
	if (top.row == SS_NPOS)
		return true;
	struct ss_str kernel = ss_cell_str(t, top.row, "kernel_name"), brief = ss_cxx_short_name(kernel, out->arena);
	ss_say(out, "The kernel '" SS_FMT "' takes the most time: %s of all kernels, in %s.", SS_ARG(brief),
	       ss_share_words(SS_UNIT_US, top.value, top.sum).s, ss_count_words(launches(t, kernel), "launch").s);
	say_namesakes(out, t, kernel, brief);
	struct ss_greatest op = ss_greatest_kind(t, "total_duration_us", launcher, &kernel);
	struct ss_str name = ss_cell_str(t, op.row, "op_name");
	if (name.n && op.value == op.sum)
		ss_say(out, "The operation '" SS_FMT "' launches it.", SS_ARG(name));
	else if (name.n)
		ss_say(out, "Of the operations that launch it, '" SS_FMT "' has the most of this time: %s.", SS_ARG(name),
		       ss_share_words(SS_UNIT_US, op.value, op.sum).s);
	top.row = op.row;
	say_tensor_cores(out, t, &top);
	return true;
}

const struct ss_tool ss_tool_kernel_stats = {
	.name = "kernel_stats",
	.title = "Kernel stats",
	.summary = "GPU kernels by time, with registers, shared memory, occupancy and use of "
		   "tensor cores",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONE_TABLE | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_OPS,
	.present = present,
	.run = run,
	.conclude = conclude,
};
