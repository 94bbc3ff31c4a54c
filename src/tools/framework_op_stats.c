/*
 * framework_op_stats.c - time per framework op, on the device and on the host ("TensorFlow stats").
 *
 * Two tables of the same shape: with the device's idle time, and without. Device ops are HLO
 * operations summed up by the framework op in their metadata; host ops are what ran on threads.
 * Each side is ranked by self time and cut after 500 ops. Host rows have zeros in columns of the
 * device and the other way round.
 */
#include "tools/op_cells.h"
#include "tools/tool.h"

#include "model/device/env.h"
#include "model/host/opname.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"
#include "tools/words.h"

#include <math.h>

#define MAX_OPS 500

enum {
	COL_RANK,
	COL_HOST_OR_DEVICE,
	COL_TYPE,
	COL_OPERATION,
	COL_OCCURRENCES,
	COL_TOTAL,
	COL_AVG,
	COL_SELF,
	COL_AVG_SELF,
	COL_DEVICE_FRAC,
	COL_DEVICE_CUMULATIVE,
	COL_HOST_FRAC,
	COL_HOST_CUMULATIVE,
	COL_FLOP_RATE,
	COL_MODEL_FLOP_RATE,
	COL_MEMORY_BW,
	COL_INTENSITY,
	COL_TENSOR_CORE,
	COL_BOUND_BY,
	COL_EAGER,
	COL_COUNT
};

static const struct ss_col all_cols[COL_COUNT] = {
	NUM("rank", "Rank", COUNT, "Rank by self time, device ops first"),
	STR("host_or_device", "Host/device", NULL),
	STR("type", "Operation type",
	    "Type of the framework op; Unknown where the instruction carries none"),
	STR("operation", "Operation name", NULL),
	NUM("occurrences", "Occurrences", COUNT,
	    "Number of executions; of an op that was compiled to several instructions the maximum over them"),
	NUM("total_time", "Total time (us)", US,
	    "Includes nested operations; by the device's clock (device_duration_ps) where it was recorded"),
	NUM("avg_time", "Avg. time (us)", US, "Total time / occurrences"),
	NUM("total_self_time", "Total self time (us)", US, "Excludes nested operations; by the same clock"),
	NUM("avg_self_time", "Avg. self time (us)", US, "Self time / occurrences"),
	NUM("device_total_self_time_percent", "Self time on device (%)", FRAC,
	    "Self time / time of the device"),
	NUM("device_cumulative_total_self_time_percent", "Cumulative self time on device (%)", FRAC,
	    "Running sum"),
	NUM("host_total_self_time_percent", "Self time on host (%)", FRAC,
	    "Self time / time of all host threads"),
	NUM("Host_cumulative_total_self_time_percent", "Cumulative self time on host (%)", FRAC,
	    "Running sum"),
	NUM("measured_flop_rate", "Normalized FLOP rate (GFLOP/s)", GFLOP_PER_S,
	    "FLOPs that the hardware executes / total time"),
	NUM("model_flop_rate", "Model FLOP rate (GFLOP/s)", GFLOP_PER_S,
	    "FLOPs that the model requires / total time"),
	NUM("measured_memory_bw", "Memory bandwidth (GiB/s)", GIB_PER_S,
	    "Bytes accessed / total time"),
	NUM("operational_intensity", "Operational intensity (FLOP/byte)", FLOP_PER_BYTE,
	    "FLOPs / bytes accessed"),
	NUM("gpu_tensorcore_utilization", "GPU TensorCore utilization", FRAC,
	    "Time of the op's kernels that use tensor cores / time of all its kernels"),
	STR("bound_by", "Bound by", "The hardware limit that is closest to the op's rate"),
	STR("eager", "Execution mode", "Whether the op ran eagerly or in a compiled function"),
};

/* The values that are the same for all rows of a table. */
struct ctx {
	const struct ss_op_db *db; /* what was computed */
	struct ss_table *t;
	const struct ss_env *env;
	const struct ss_tensor_core_uses *uses;
	bool gpu; /* has the column of tensor cores */
	bool training;
	double rank, device_cumulative, host_cumulative;
	double device_total_ps, host_total_ps;
	bool as_xprof;
};

/* Number of the column in this table: without tensor cores those behind move up. */
static size_t col(const struct ctx *c, size_t i)
{
	return i > COL_TENSOR_CORE && !c->gpu ? i - 1 : i;
}

static void set_times(struct ctx *c, const struct ss_op *op)
{
	double total_us = (double)op->time_ps / 1e6, self_us = (double)op->self_ps / 1e6,
	       n = (double)op->occurrences;
	ss_set_f64(c->t, COL_OCCURRENCES, n);
	ss_set_f64(c->t, COL_TOTAL, total_us);
	ss_set_f64(c->t, COL_AVG, ss_ratio(total_us, n));
	ss_set_f64(c->t, COL_SELF, self_us);
	ss_set_f64(c->t, COL_AVG_SELF, ss_ratio(self_us, n));
}

static void set_rates(struct ctx *c, const struct ss_op *op)
{
	struct ss_roofline r =
		ss_roofline_of(&op->cost, op->time_ps, 0, &c->env->peaks, c->env->hardware);
	/* XProf's clients are told 0 where the work is not known. */
	bool known = c->as_xprof || ss_cost_is_known(&op->cost);
	ss_set_f64(c->t, COL_FLOP_RATE, known ? r.flop_rate : NAN);
	ss_set_f64(c->t, COL_MODEL_FLOP_RATE, known ? r.model_flop_rate : NAN);
	ss_set_f64(c->t, COL_MEMORY_BW, known ? r.memory_bw : NAN);
	ss_set_f64(c->t, COL_INTENSITY, known ? r.intensity : NAN);
	ss_set_str(c->t, col(c, COL_BOUND_BY), r.bound_by);
}

static void add_row(struct ctx *c, const struct ss_op *op, bool device)
{
	ss_table_row(c->t);
	ss_set_f64(c->t, COL_RANK, ++c->rank);
	ss_set_str(c->t, COL_HOST_OR_DEVICE, device ? SS_STR("Device") : SS_STR("Host"));
	ss_set_str(c->t, COL_TYPE, op->category);
	ss_set_str(c->t, COL_OPERATION, op->name);
	set_times(c, op);
	set_rates(c, op);
	if (device) {
		double frac = ss_ratio((double)op->self_ps, c->device_total_ps);
		c->device_cumulative += frac;
		ss_set_f64(c->t, COL_DEVICE_FRAC, frac);
		ss_set_f64(c->t, COL_DEVICE_CUMULATIVE, c->device_cumulative);
	} else {
		double frac = ss_ratio((double)op->self_ps, c->host_total_ps);
		c->host_cumulative += frac;
		ss_set_f64(c->t, COL_HOST_FRAC, frac);
		ss_set_f64(c->t, COL_HOST_CUMULATIVE, c->host_cumulative);
	}
	if (c->gpu) {
		const struct ss_tensor_core_use *u =
			device ? ss_tensor_core_use_of(c->uses, op->name) : NULL;
		ss_set_f64(c->t, COL_TENSOR_CORE,
			   u ? ss_ratio((double)u->tensor_core_ns, (double)u->total_ns) : 0);
	}
	ss_set_str(c->t, col(c, COL_EAGER), op->is_eager ? SS_STR("Eager") : SS_STR("Function"));
	c->training |= ss_op_is_gradient(op->name, op->category);
}

/* The first ops of one side; IDLE takes its place among the 500 even where it is not shown. */
static bool add_side(struct ctx *c, const struct ss_op_db *db, bool device, bool idle)
{
	const struct ss_op **ops = ss_ops_by_self_time(db, c->t->arena);
	if (!ops)
		return false;
	for (size_t i = 0; i < db->n && i < MAX_OPS; i++)
		if ((idle || !ss_op_is_idle(ops[i])))
			add_row(c, ops[i], device);
	return true;
}

/* The columns: on GPUs all, else without that of tensor cores. */
static const struct ss_col *columns(bool gpu, struct ss_arena *arena, size_t *n)
{
	*n = COL_COUNT;
	if (gpu)
		return all_cols;
	struct ss_col *v = SS_NEW_N(arena, struct ss_col, COL_COUNT);
	*n = 0;
	for (size_t i = 0; v && i < COL_COUNT; i++)
		if (i != COL_TENSOR_CORE)
			v[(*n)++] = all_cols[i];
	return v;
}

static bool add_table(struct ctx *c, struct ss_result *out, const struct ss_ops *ops,
		      const struct ss_op_db *device, bool idle)
{
	size_t ncols;
	const struct ss_col *cols = columns(c->gpu, out->arena, &ncols);
	c->t = cols ? ss_result_table(out, idle ? "with_idle" : "without_idle",
				      idle ? "With idle time" : "Without idle time", cols, ncols)
		    : NULL;
	if (!c->t)
		return false;
	c->rank = c->device_cumulative = c->host_cumulative = 0;
	c->training = false;
	c->device_total_ps = (double)(idle ? c->db->total_ps : c->db->op_ps);
	c->host_total_ps = (double)(idle ? ops->host.total_ps : ops->host.op_ps);
	if (!add_side(c, device, true, idle) || !add_side(c, &ops->host, false, idle))
		return false;
	ss_table_prop(c->t, "architecture_type", SS_STR("Unknown"));
	ss_table_prop(c->t, "task_type",
		      c->training ? SS_STR("Training") : SS_STR("Inference"));
	return true;
}

/* A recording says "(null)" where an event has no operation. */
static void blank_unnamed(struct ss_result *out)
{
	for (size_t k = 0; k < out->ntables; k++)
		for (size_t i = 0; i < out->tables[k].nrows; i++)
			if (ss_str_is(out->tables[k].data[COL_OPERATION].str[i], "(null)"))
				out->tables[k].data[COL_OPERATION].str[i] = SS_STR("");
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_env *env = ss_model_env(q->model, err);
	const struct ss_ops *ops = env ? ss_model_ops(q->model, err) : NULL;
	struct ss_tensor_core_uses uses;
	struct ss_op_db device;
	if (!ops)
		return false;
	if (!ss_tensor_core_uses(&uses, &ops->kernels))
		return ss_fail_mem(err);
	struct ctx c = { .env = env,
			 .db = ss_ops_computed(ops, q->as_xprof),
			 .uses = &uses,
			 .as_xprof = q->as_xprof,
			 .gpu = ss_str_contains(env->device_type, SS_STR("GPU")) };
	bool ok = ss_framework_ops(&device, c.db, true);
	if (ok) {
		ok = add_table(&c, out, ops, &device, true) &&
		     add_table(&c, out, ops, &device, false);
		ss_op_db_free(&device);
	}
	ss_tensor_core_uses_free(&uses);
	if (ok && !q->as_xprof)
		blank_unnamed(out);
	return ok || ss_fail_mem(err);
}

/* What takes most on the device and on the host, idle time left aside. */
static void say_side(struct ss_result *out, const struct ss_table *t, const char *side, const char *whose)
{
	struct ss_greatest top = ss_greatest_row(t, "total_self_time", "host_or_device", side);
	if (top.row == SS_NPOS)
		return;
	ss_say(out, "'" SS_FMT "' takes the most time of the %s operations: %s, in %s.",
	       SS_ARG(ss_cell_str(t, top.row, "operation")), whose, ss_share_words(SS_UNIT_US, top.value, top.sum).s,
	       ss_count_words(ss_cell_f64(t, top.row, "occurrences"), "run").s);
}

static void say_idle(struct ss_result *out, const struct ss_table *t, bool kernels_alone)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_str_is(ss_cell_str(t, i, "type"), "IDLE") && ss_str_is(ss_cell_str(t, i, "host_or_device"), "Device")) {
			double frac = ss_cell_f64(t, i, "device_total_self_time_percent");
			double idle = ss_cell_f64(t, i, "total_self_time");
			if (!(frac > 0 && frac < 1))
				return;
			const char *words = kernels_alone ? "The device is idle, or runs kernels of no operation, for %s "
							    "of its time, which is not part of these shares."
							  : "No operation runs on the device for %s of its time, which is not "
							    "part of these shares.";
			ss_say(out, words, ss_share_words(SS_UNIT_US, idle, idle / frac).s);
			return;
		}
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = &out->tables[out->ntables > 1 ? 1 : 0];
	const struct ss_ops *ops = ss_model_ops(q->model, err);
	if (!ops)
		return false;
	bool device = ss_greatest_row(t, "total_self_time", "host_or_device", "Device").row != SS_NPOS;
	say_side(out, t, "Device", "device's");
	say_side(out, t, "Host", "host's");
	if (device)
		say_idle(out, ss_result_at(out, 0), ss_has_kernels_alone(&ops->kernels));
	else if (t->nrows)
		ss_result_say(out, SS_STR("No operation of a framework was traced on a device."));
	return true;
}

const struct ss_tool ss_tool_framework_op_stats = {
	.name = "framework_op_stats",
	.title = "Framework op stats",
	.summary = "Time of each framework op on device and host, with FLOP rate and bandwidth",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS,
	.needs = SS_NEEDS_FRAMEWORK_OPS,
	.missing = "the recording names no operations of a framework",
	.run = run,
	.conclude = conclude,
};
