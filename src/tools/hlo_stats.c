/*
 * hlo_stats.c - every HLO operation that ran on a device: time, rates, what bounds it, where it
 * comes from (hlo_stats.md).
 *
 * One row an operation, by self time. Rates are over the total time of the operation, costs those
 * of all its executions. Idle time is no row, but it is part of the whole that percentages are of.
 */
#include "tools/op_cells.h"

#include "model/device/env.h"
#include "model/host/opname.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>

enum {
	COL_RANK,
	COL_PROGRAM,
	COL_CATEGORY,
	COL_NAME,
	COL_EXPRESSION,
	COL_FRAMEWORK_OP,
	COL_OCCURRENCES,
	COL_TOTAL,
	COL_AVG,
	COL_SELF,
	COL_AVG_SELF,
	COL_SELF_PERCENT,
	COL_CUMULATIVE,
	COL_DMA_STALL,
	COL_MODEL_FLOP_RATE,
	COL_FLOP_RATE,
	COL_MEMORY_BW,
	COL_HBM_BW,
	COL_CMEM_READ_BW,
	COL_CMEM_WRITE_BW,
	COL_INTENSITY,
	COL_BOUND_BY,
	COL_REMAT,
	COL_OUTSIDE,
	COL_AUTOTUNED,
	COL_SOURCE,
	COL_CORE_TYPE,
	COL_PARENT,
	COL_ENERGY,
	COL_COUNT
};

static const struct ss_col cols[COL_COUNT] = {
	NUM("rank", "Rank", COUNT, "By self time"),
	STR("program_id", "Program", "Program ID"),
	STR("category", "HLO category", "Category that the compiler assigns"),
	STR("hlo_op_name", "HLO op", NULL),
	STR("hlo_op_expression", "HLO text", "HLO instruction with shapes and operands"),
	STR("tf_op_name", "Framework op", "Framework operation it was compiled from, or that launched it"),
	NUM("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_time", "Total time (us)", US,
	    "Includes nested operations; by the device's clock (device_duration_ps) where it was recorded"),
	NUM("avg_time", "Avg. time (us)", US, "Total time / occurrences"),
	NUM("total_self_time", "Total self time (us)", US, "Excludes nested operations; by the same clock"),
	NUM("avg_self_time", "Avg. self time (us)", US, "Self time / occurrences"),
	NUM("total_self_time_percent", "Self time (%)", PERCENT, "Self time / device time, idle time included"),
	NUM("cumulative_total_self_time_percent", "Cumulative self time (%)", PERCENT, "Running sum"),
	NUM("dma_stall_percent", "Stalled by DMA", FRAC, "Time waiting for memory transfers / total time"),
	NUM("model_flop_rate", "Model GFLOP/s", GFLOP_PER_S, "FLOPs that the model requires / total time"),
	NUM("normalized_flop_rate", "Normalized GFLOP/s", GFLOP_PER_S,
	    "FLOPs that the hardware executes / total time"),
	NUM("measured_memory_bw", "Memory bandwidth (GiB/s)", GIB_PER_S, "Bytes accessed / total time"),
	NUM("hbm_bw", "HBM bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("cmem_read_bw", "CMEM read bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("cmem_write_bw", "CMEM write bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("operational_intensity", "Operational intensity (FLOP/byte)", FLOP_PER_BYTE,
	    "FLOPs / bytes accessed"),
	STR("bound_by", "Bound by", "The hardware limit that the op comes closest to"),
	STR("hlo_rematerialization", "Rematerialization", "Recomputed to save memory (rematerialization)"),
	STR("outside_compilation", "Outside compilation", "Runs on the host, outside the XLA program"),
	STR("autotuned", "Autotuned", NULL),
	HTML("source_info", "Source", "File and line; hover for the call stack"),
	STR("core_type", "TPU core", NULL),
	STR("parent_op_name", "Parent op", "The operation that offloaded this one to a SparseCore"),
	NUM("vdd_energy", "Energy (J)", NONE, "Energy of the core's power supply, where the device measures it"),
};

static struct ss_str yes_no(bool v)
{
	return v ? SS_STR("Yes") : SS_STR("No");
}

static struct ss_str core_name(const struct ss_op *op)
{
	static const struct ss_str names[] = { [SS_CORE_UNSPECIFIED] = SS_STR_INIT(""),
					       [SS_CORE_TENSOR] = SS_STR_INIT("TensorCore"),
					       [SS_CORE_SPARSE] = SS_STR_INIT("SparseCore") };
	return names[op->core_type];
}

static void set_times(struct ss_table *t, const struct ss_op *op)
{
	double n = (double)op->occurrences, total_us = (double)op->time_ps / 1e6,
	       self_us = (double)op->self_ps / 1e6;
	ss_set_f64(t, COL_OCCURRENCES, n);
	ss_set_f64(t, COL_TOTAL, total_us);
	ss_set_f64(t, COL_AVG, ss_ratio(total_us, n));
	ss_set_f64(t, COL_SELF, self_us);
	ss_set_f64(t, COL_AVG_SELF, ss_ratio(self_us, n));
	ss_set_f64(t, COL_DMA_STALL, ss_ratio((double)op->dma_stall_ps, (double)op->time_ps));
	ss_set_f64(t, COL_ENERGY, op->vdd_energy_j);
}

/* XProf's clients get XProf's rates. */
static void set_rates(struct ss_table *t, const struct ss_op *op, const struct ss_env *env, bool as_xprof)
{
	struct ss_roofline r = ss_roofline_of(&op->cost, op->time_ps, 0, &env->peaks, env->hardware);
	ss_set_f64(t, COL_MODEL_FLOP_RATE, r.model_flop_rate);
	ss_set_f64(t, COL_FLOP_RATE, r.flop_rate);
	ss_set_f64(t, COL_MEMORY_BW, r.memory_bw);
	ss_set_f64(t, COL_HBM_BW, r.hbm_bw);
	ss_set_f64(t, COL_CMEM_READ_BW, r.cmem_read_bw);
	ss_set_f64(t, COL_CMEM_WRITE_BW, r.cmem_write_bw);
	ss_set_f64(t, COL_INTENSITY, r.intensity);
	ss_set_str(t, COL_BOUND_BY, r.bound_by);
	bool known = ss_cost_is_known(&op->cost), async = r.memory_bw > 0 && ss_hlo_is_async_part(op->category);
	if (as_xprof || (known && !async))
		return;
	static const size_t rates[] = { COL_MEMORY_BW,	   COL_HBM_BW,	  COL_CMEM_READ_BW, COL_CMEM_WRITE_BW,
					COL_MODEL_FLOP_RATE, COL_FLOP_RATE, COL_INTENSITY };
	for (size_t i = 0; i < (known ? 4 : SS_COUNT(rates)); i++)
		ss_set_f64(t, rates[i], NAN);
	ss_set_str(t, COL_BOUND_BY, SS_STR("Unknown"));
}

static void set_texts(struct ss_table *t, const struct ss_op *op)
{
	struct ss_str expression = op->long_name.n ? op->long_name : op->name;
	struct ss_str program = ss_program_cell(op, t->arena), source = ss_source_cell(op, t->arena);
	ss_set_str(t, COL_PROGRAM, program);
	ss_set_str(t, COL_CATEGORY, op->category);
	ss_set_str(t, COL_NAME, ss_instruction_name(expression));
	ss_set_str(t, COL_EXPRESSION, expression);
	ss_set_str(t, COL_FRAMEWORK_OP, op->provenance);
	ss_set_str(t, COL_REMAT, yes_no(ss_op_is_remat(op->long_name, op->provenance)));
	ss_set_str(t, COL_OUTSIDE, yes_no(ss_op_is_outside_compilation(op)));
	ss_set_str(t, COL_AUTOTUNED, yes_no(false));
	ss_set_str(t, COL_SOURCE, source);
	ss_set_str(t, COL_CORE_TYPE, core_name(op));
}

static void add_row(struct ss_table *t, const struct ss_op *op, const struct ss_env *env, bool as_xprof)
{
	ss_table_row(t);
	set_texts(t, op);
	set_times(t, op);
	set_rates(t, op, env, as_xprof);
}

/*
 * What a SparseCore ran for the operation of the last row: without rank or share, for its time is
 * not the TensorCore's.
 */
static bool add_offloaded(struct ss_table *t, const struct ss_op *parent, const struct ss_env *env, bool as_xprof)
{
	const struct ss_op **ops = ss_ops_by_self_time(parent->offloaded, t->arena);
	struct ss_str name = ss_instruction_name(parent->long_name.n ? parent->long_name : parent->name);
	for (size_t i = 0; ops && i < parent->offloaded->n; i++) {
		if (ops[i]->core_type != SS_CORE_SPARSE)
			continue;
		add_row(t, ops[i], env, as_xprof);
		ss_set_str(t, COL_PARENT, name);
	}
	return ops;
}

static bool add_rows(struct ss_table *t, const struct ss_op_db *db, const struct ss_env *env, bool as_xprof)
{
	const struct ss_op **ops = ss_ops_by_self_time(db, t->arena);
	double rank = 0, cumulative = 0;
	if (!ops)
		return false;
	ss_table_reserve(t, db->n);
	for (size_t i = 0; i < db->n; i++) {
		if (ops[i]->occurrences == 0)
			continue;
		double percent = 100 * ss_ratio((double)ops[i]->self_ps, (double)db->total_ps);
		add_row(t, ops[i], env, as_xprof);
		ss_set_f64(t, COL_RANK, ++rank);
		ss_set_f64(t, COL_SELF_PERCENT, percent);
		ss_set_f64(t, COL_CUMULATIVE, cumulative += percent);
		if (ops[i]->offloaded && !add_offloaded(t, ops[i], env, as_xprof))
			return false;
	}
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_env *env = ss_model_env(q->model, err);
	const struct ss_ops *ops = env ? ss_model_ops(q->model, err) : NULL;
	if (!ops)
		return false;
	struct ss_table *t = ss_result_table(out, "ops", "HLO operations", cols, SS_COUNT(cols));
	return add_rows(t, ss_ops_computed(ops, q->as_xprof), env, q->as_xprof) || ss_fail_mem(err);
}

/* None of a loop or a call: what was recorded in it has rows of its own, and op_profile leaves it out. */
static struct ss_str own_category(const struct ss_table *t, size_t row, const void *arg)
{
	struct ss_str category = ss_kind_of_column(t, row, arg);
	bool holds = category.p && ss_hlo_may_have_inner_ops(category) &&
		     ss_cell_f64(t, row, "total_time") > ss_cell_f64(t, row, "total_self_time");
	return holds ? (struct ss_str){ NULL, 0 } : category;
}

/* The operation with most self time of those that hold no others. SS_NPOS: there are none. */
static size_t longest_op(const struct ss_table *t)
{
	size_t best = SS_NPOS;
	double most = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double us = ss_cell_f64(t, i, "total_self_time");
		if (us > most && own_category(t, i, "category").p) {
			best = i;
			most = us;
		}
	}
	return best;
}

/* What takes most, where it comes from, and what is computed again to save memory. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_at(out, 0);
	struct ss_greatest top = ss_greatest_row(t, "total_self_time", NULL, NULL);
	struct ss_greatest kind = ss_greatest_kind(t, "total_self_time", own_category, "category");
	struct ss_greatest again =
		ss_greatest_row(t, "total_self_time", "hlo_rematerialization", "Yes");
	const struct ss_ops *ops = ss_model_ops(q->model, err);
	if (!ops)
		return false;
	if (top.row == SS_NPOS)
		return true;
	size_t longest = longest_op(t);
	bool held = longest != SS_NPOS && longest != top.row;
	top.row = held ? longest : top.row;
	top.value = ss_cell_f64(t, top.row, "total_self_time");
	/* The whole of the table's percentages: idle time is part of it. */
	double percent = ss_cell_f64(t, top.row, "total_self_time_percent");
	double whole_us = percent > 0 ? 100 * top.value / percent : top.sum;
	struct ss_str op = ss_cell_str(t, top.row, "tf_op_name"), name = ss_cell_str(t, top.row, "hlo_op_name");
	struct ss_str program = ss_program_words(t, top.row, "hlo_op_name");
	/* "aten::mm/gemm": a kernel that an operator launched. */
	bool launched = op.n && op.n < name.n && ss_str_starts(name, op) && name.p[op.n] == '/';
	ss_say(out, "'" SS_FMT "'" SS_FMT " takes the most time of %s: %s, in %s.",
	       SS_ARG(name), SS_ARG(program),
	       held ? "the operations that hold no others" : "all operations",
	       ss_share_words(SS_UNIT_US, top.value, whole_us).s,
	       ss_count_words(ss_cell_f64(t, top.row, "occurrences"), "run").s);
	if (op.n)
		ss_say(out, "It was %s '" SS_FMT "'.", launched ? "launched by" : "compiled from", SS_ARG(op));
	if (kind.row != SS_NPOS &&
	    !ss_str_is(ss_cell_str(t, kind.row, "category"), "unknown"))
		ss_say(out, "%s category with the most time is '" SS_FMT "': %s.", held ? "Their" : "The",
		       SS_ARG(ss_cell_str(t, kind.row, "category")),
		       ss_share_words(SS_UNIT_US, kind.value, whole_us).s);
	if (again.row != SS_NPOS)
		ss_say(out,
		       "Operations that are computed again to save memory (rematerialization) "
		       "take %s.",
		       ss_share_words(SS_UNIT_US, again.sum, whole_us).s);
	if (whole_us - top.sum > 0.0005 * whole_us) {
		const char *words = ss_has_kernels_alone(&ops->kernels)
					    ? "The devices are idle, or run kernels of no operation, for %s of their time."
					    : "No operation runs for %s of the devices' time.";
		ss_say(out, words, ss_share_words(SS_UNIT_US, whole_us - top.sum, whole_us).s);
	}
	return true;
}

const struct ss_tool ss_tool_hlo_stats = {
	.name = "hlo_stats",
	.title = "HLO op stats",
	.summary = "Each HLO operation of the device: time, FLOP rate, bandwidth, limit, source",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ONE_TABLE | SS_TOOL_SUMS_HOSTS | SS_TOOL_VISITS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS,
	.needs = SS_NEEDS_HLO_OPS,
	.missing = "the recording of the devices names no operations of compiled programs",
	.run = run,
	.conclude = conclude,
};
