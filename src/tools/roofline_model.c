/*
 * roofline_model.c - how close the program, its steps and its operations come to the limits of the
 * device (roofline_model.md).
 *
 * The rows stand twice, with infeed and outfeed and without (include_infeed_outfeed): the program
 * over the whole profile, its operations, the average step (TPU), and each step. Operations that
 * only contain others do not add to a program's costs. Other hardware has no limits to compare with
 * and no rows.
 */
#include "tools/input_report.h"

#include "model/host/opname.h"
#include "model/model.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"
#include "tools/op_cells.h"
#include "tools/words.h"

#include <inttypes.h>
#include <math.h>

#define MAX_OPS 1000

enum {
	COL_STEP,
	COL_RANK,
	COL_CATEGORY,
	COL_OPERATION,
	COL_OCCURRENCES,
	COL_TOTAL,
	COL_AVG,
	COL_SELF,
	COL_AVG_SELF,
	COL_SELF_FRAC,
	COL_CUMULATIVE,
	COL_DMA_STALL,
	COL_FLOP_RATE,
	COL_MODEL_FLOP_RATE,
	COL_MEMORY_BW,
	COL_HBM_BW,
	COL_CMEM_READ_BW,
	COL_CMEM_WRITE_BW,
	COL_VMEM_READ_BW,
	COL_VMEM_WRITE_BW,
	COL_INTENSITY,
	COL_HBM_INTENSITY,
	COL_CMEM_READ_INTENSITY,
	COL_CMEM_WRITE_INTENSITY,
	COL_VMEM_READ_INTENSITY,
	COL_VMEM_WRITE_INTENSITY,
	COL_BOUND_INTENSITY,
	COL_BOUND_BY,
	COL_PER_CORE,
	COL_TOTAL_FRAC,
	COL_OPTIMAL_FLOP_RATE,
	COL_EFFICIENCY,
	COL_COMPUTE_EFFICIENCY,
	COL_MAX_MEMORY,
	COL_INFEED,
	COL_PROGRAM,
	COL_SOURCE,
	COL_COUNT
};

static const struct ss_col all_cols[COL_COUNT] = {
	STR("step", "Step", "Total: the whole profile; Average: mean over steps; else the step number"),
	NUM("rank", "Rank", COUNT, "Rank by self time; 0: the whole program"),
	STR("category", "Category", NULL),
	STR("operation", "Operation", NULL),
	NUM("occurrences", "Occurrences", COUNT, NULL),
	NUM("total_time", "Total time (us)", US, "Summed over cores; by the device's clock where it was recorded"),
	NUM("avg_time", "Avg. time (us)", US, "Total time / occurrences"),
	NUM("total_self_time", "Total self time (us)", US, "Excludes nested operations; by the same clock"),
	NUM("avg_self_time", "Avg. self time (us)", US, NULL),
	NUM("total_self_time_percent", "Self time (%)", FRAC, "Self time / time of the device"),
	NUM("cumulative_total_self_time_percent", "Cumulative self time (%)", FRAC, "Running sum"),
	NUM("dma_stall_percent", "Stalled by DMA", FRAC, NULL),
	NUM("measured_flop_rate", "Normalized FLOP rate (GFLOP/s)", GFLOP_PER_S,
	    "FLOPs that the hardware executes / total time"),
	NUM("model_flop_rate", "Model FLOP rate (GFLOP/s)", GFLOP_PER_S,
	    "FLOPs that the model requires / total time"),
	NUM("measured_memory_bw", "Memory bandwidth (GiB/s)", GIB_PER_S, "Bytes of all memory types / total time"),
	NUM("hbm_bw", "HBM bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("cmem_read_bw", "CMEM read bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("cmem_write_bw", "CMEM write bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("vmem_read_bw", "VMEM read bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("vmem_write_bw", "VMEM write bandwidth (GiB/s)", GIB_PER_S, NULL),
	NUM("operational_intensity", "Operational intensity (FLOP/byte)", FLOP_PER_BYTE, "FLOPs / all bytes"),
	NUM("hbm_operational_intensity", "HBM intensity (FLOP/byte)", FLOP_PER_BYTE, "FLOPs / bytes of HBM"),
	NUM("cmem_read_operational_intensity", "CMEM read intensity (FLOP/byte)", FLOP_PER_BYTE, NULL),
	NUM("cmem_write_operational_intensity", "CMEM write intensity (FLOP/byte)", FLOP_PER_BYTE, NULL),
	NUM("vmem_read_operational_intensity", "VMEM read intensity (FLOP/byte)", FLOP_PER_BYTE, NULL),
	NUM("vmem_write_operational_intensity", "VMEM write intensity (FLOP/byte)", FLOP_PER_BYTE, NULL),
	NUM("bottleneck_operational_intensity", "Intensity at the limit (FLOP/byte)", FLOP_PER_BYTE,
	    "FLOPs / bytes of the memory that bounds it"),
	STR("bound_by", "Bound by", "The hardware limit that is closest to its rate"),
	NUM("total_time_per_core", "Total time per core (us)", US, "Total time / cores"),
	NUM("total_time_in_percentage", "Total time (%)", FRAC, "Total time / time of the device"),
	NUM("optimal_flop_rate", "Optimal FLOP rate (GFLOP/s)", GFLOP_PER_S,
	    "FLOP rate that its intensity allows: FLOP rate / roofline efficiency"),
	NUM("roofline_efficiency", "Roofline efficiency", FRAC, "Largest ratio to any hardware limit"),
	NUM("compute_efficiency", "FLOP rate / peak", FRAC, NULL),
	NUM("max_mem_bw_utilization", "Memory bandwidth / peak", FRAC, "Largest ratio to any memory's peak bandwidth"),
	FLAG("include_infeed_outfeed", "With infeed and outfeed", NULL),
	STR("hlo_module_id", "Program", "Program ID"),
	HTML("source_info", "Source", NULL),
};

/* Of CPUs neither peaks nor kinds of memory are known, and threads are no cores. */
static bool on_cpu(size_t i)
{
	return i < COL_DMA_STALL || i == COL_FLOP_RATE || i == COL_MODEL_FLOP_RATE || i == COL_MEMORY_BW || i == COL_INTENSITY ||
	       i == COL_TOTAL_FRAC || i >= COL_INFEED;
}

/* GPUs have no such memories and do not tell stalls; their VMEM writes are the shared memory's. */
static bool on_gpu(size_t i)
{
	switch (i) {
	case COL_DMA_STALL:
	case COL_CMEM_READ_BW:
	case COL_CMEM_WRITE_BW:
	case COL_VMEM_READ_BW:
	case COL_CMEM_READ_INTENSITY:
	case COL_CMEM_WRITE_INTENSITY:
	case COL_VMEM_READ_INTENSITY:
		return false;
	}
	return true;
}

struct ctx {
	struct ss_table *t;
	const struct ss_env *env;
	const struct ss_ops *ops;
	const struct ss_op_db *db; /* what was computed */
	bool cpu; /* threads: what their operations cost is known, not what each does in a step, nor any peak */
	const struct ss_steps *steps;
	bool gpu, infeed;
	bool as_xprof;
	bool mean; /* XProf has it of TPUs, and empty of GPUs of several hosts */
	uint64_t total_ps; /* the device's time, of this pass */
	size_t at[COL_COUNT]; /* number in the table; SS_NPOS: not a column here */
};

/* The peaks that count: memories that the device does not have, or does not share, are 0. GiB/s. */
struct limits {
	double gflops, hbm, cmem_read, cmem_write, vmem_read, vmem_write;
};

static struct limits limits_of(const struct ctx *c)
{
	const struct ss_peaks *p = &c->env->peaks;
	struct limits l = { .gflops = p->tflops * 1000, .hbm = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_HBM]) };
	if (c->gpu) {
		l.vmem_read = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_SRAM_RD]);
		l.vmem_write = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_SRAM_WR]);
	} else if (p->has_cmem) {
		l.cmem_read = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_CMEM_RD]);
		l.cmem_write = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_CMEM_WR]);
	} else if (p->has_merged_vmem) {
		l.vmem_read = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_VMEM_RD]);
		l.vmem_write = ss_giga_to_gibi(p->bw_gb_per_s[SS_BW_VMEM_WR]);
	}
	return l;
}

static void set(const struct ctx *c, size_t i, double v)
{
	if (c->at[i] != SS_NPOS)
		ss_set_f64(c->t, c->at[i], v);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void set_rates(const struct ctx *c, const struct ss_roofline *r)
{
	struct limits l = limits_of(c);
	double compute = ss_ratio(r->flop_rate, l.gflops), memory = ss_ratio(r->hbm_bw, l.hbm);
	memory = larger(memory, larger(ss_ratio(r->cmem_read_bw, l.cmem_read), ss_ratio(r->cmem_write_bw, l.cmem_write)));
	memory = larger(memory, larger(ss_ratio(r->vmem_read_bw, l.vmem_read), ss_ratio(r->vmem_write_bw, l.vmem_write)));
	double efficiency = larger(memory, compute);
	const struct {
		size_t col;
		double v;
	} cells[] = {
		{ COL_FLOP_RATE, r->flop_rate },
		{ COL_MODEL_FLOP_RATE, r->model_flop_rate },
		{ COL_MEMORY_BW, r->memory_bw },
		{ COL_HBM_BW, r->hbm_bw },
		{ COL_CMEM_READ_BW, r->cmem_read_bw },
		{ COL_CMEM_WRITE_BW, r->cmem_write_bw },
		{ COL_VMEM_READ_BW, r->vmem_read_bw },
		{ COL_VMEM_WRITE_BW, r->vmem_write_bw },
		{ COL_INTENSITY, r->intensity },
		{ COL_HBM_INTENSITY, r->hbm_intensity },
		{ COL_CMEM_READ_INTENSITY, r->cmem_read_intensity },
		{ COL_CMEM_WRITE_INTENSITY, r->cmem_write_intensity },
		{ COL_VMEM_READ_INTENSITY, r->vmem_read_intensity },
		{ COL_VMEM_WRITE_INTENSITY, r->vmem_write_intensity },
		{ COL_BOUND_INTENSITY, r->bound_intensity },
		{ COL_OPTIMAL_FLOP_RATE, ss_ratio(r->flop_rate, efficiency) },
		{ COL_EFFICIENCY, efficiency },
		{ COL_COMPUTE_EFFICIENCY, compute },
		{ COL_MAX_MEMORY, memory },
	};
	for (size_t i = 0; i < SS_COUNT(cells); i++)
		set(c, cells[i].col, cells[i].v);
	if (c->at[COL_BOUND_BY] != SS_NPOS)
		ss_set_str(c->t, c->at[COL_BOUND_BY], r->bound_by);
}

/*
 * A program: over the whole profile, the average step, or one step. `steps`: how many it is over.
 */
static void add_program(const struct ctx *c, struct ss_str step, const struct ss_cost *cost, uint64_t time_ps,
			double steps)
{
	ss_table_row(c->t);
	double us = (double)time_ps / 1e6, total_us = ss_ratio(us, steps);
	ss_set_str(c->t, c->at[COL_STEP], step);
	ss_set_str(c->t, c->at[COL_CATEGORY], SS_STR("Program"));
	ss_set_str(c->t, c->at[COL_OPERATION], SS_STR("Program"));
	ss_set_str(c->t, c->at[COL_PROGRAM], SS_STR("0"));
	ss_set_bool(c->t, c->at[COL_INFEED], c->infeed);
	set(c, COL_OCCURRENCES, 1);
	set(c, COL_TOTAL, total_us);
	set(c, COL_AVG, us);
	set(c, COL_PER_CORE, ss_ratio(total_us, c->env->core_count));
	set(c, COL_TOTAL_FRAC, time_ps ? 1 : 0);
	struct ss_roofline r = ss_roofline_of(cost, time_ps, 0, &c->env->peaks, c->env->hardware);
	set_rates(c, &r);
}

static void set_rates_unknown(const struct ctx *c)
{
	static const size_t rates[] = {
		COL_FLOP_RATE,	   COL_MODEL_FLOP_RATE, COL_MEMORY_BW,		COL_HBM_BW,
		COL_CMEM_READ_BW,  COL_CMEM_WRITE_BW,	COL_VMEM_READ_BW,	COL_VMEM_WRITE_BW,
		COL_OPTIMAL_FLOP_RATE, COL_EFFICIENCY,	COL_COMPUTE_EFFICIENCY, COL_MAX_MEMORY,
	};
	for (size_t i = 0; i < SS_COUNT(rates); i++)
		set(c, rates[i], NAN);
	if (c->at[COL_BOUND_BY] != SS_NPOS)
		ss_set_str(c->t, c->at[COL_BOUND_BY], SS_STR("Unknown"));
}

static void add_total(struct ctx *c)
{
	struct ss_cost sum = { 0 };
	uint64_t known_ps = 0, unknown_ps = 0;
	c->total_ps = c->db->total_ps;
	for (size_t i = 0; i < c->db->n; i++) {
		const struct ss_op *op = &c->db->v[i];
		bool feed = ss_hlo_is_infeed_or_outfeed(op->category);
		if (!ss_op_is_idle(op))
			*(ss_op_work_is_known(op) ? &known_ps : &unknown_ps) += op->self_ps;
		if (feed && !c->infeed)
			c->total_ps -= op->time_ps < c->total_ps ? op->time_ps : c->total_ps;
		if (!ss_hlo_may_have_inner_ops(op->category) && (c->infeed || !feed))
			ss_cost_add(&sum, &op->cost, 1);
	}
	add_program(c, SS_STR("Total"), &sum, c->total_ps, 1);
	if (!c->as_xprof && unknown_ps > known_ps)
		set_rates_unknown(c);
}

static void add_op(const struct ctx *c, const struct ss_op *op, double rank, double *cumulative)
{
	struct ss_str program = ss_program_cell(op, c->t->arena), source = ss_source_cell(op, c->t->arena);
	double n = (double)op->occurrences, total_us = (double)op->time_ps / 1e6, self_us = (double)op->self_ps / 1e6;
	double frac = ss_ratio((double)op->self_ps, (double)c->total_ps);
	ss_table_row(c->t);
	ss_set_str(c->t, c->at[COL_STEP], SS_STR("Total"));
	ss_set_str(c->t, c->at[COL_CATEGORY], op->category.n ? op->category : SS_STR("unknown"));
	ss_set_str(c->t, c->at[COL_OPERATION], op->name);
	ss_set_str(c->t, c->at[COL_PROGRAM], program);
	ss_set_str(c->t, c->at[COL_SOURCE], source);
	ss_set_bool(c->t, c->at[COL_INFEED], c->infeed);
	set(c, COL_RANK, rank);
	set(c, COL_OCCURRENCES, n);
	set(c, COL_TOTAL, total_us);
	set(c, COL_AVG, ss_ratio(total_us, n));
	set(c, COL_SELF, self_us);
	set(c, COL_AVG_SELF, ss_ratio(self_us, n));
	set(c, COL_SELF_FRAC, frac);
	set(c, COL_CUMULATIVE, *cumulative += frac);
	set(c, COL_DMA_STALL, ss_ratio((double)op->dma_stall_ps, (double)op->time_ps));
	set(c, COL_PER_CORE, ss_ratio(total_us, c->env->core_count));
	set(c, COL_TOTAL_FRAC, ss_ratio((double)op->time_ps, (double)c->total_ps));
	struct ss_roofline r = ss_roofline_of(&op->cost, op->time_ps, 0, &c->env->peaks, c->env->hardware);
	set_rates(c, &r);
	bool async = r.memory_bw > 0 && ss_hlo_is_async_part(op->category);
	if (!c->as_xprof && (async || !ss_cost_is_known(&op->cost)))
		set_rates_unknown(c);
}

/* IDLE takes its place among the thousand although it is no row. */
static bool add_ops(const struct ctx *c)
{
	const struct ss_op **ops = ss_ops_by_self_time(c->db, c->t->arena);
	double rank = 0, cumulative = 0;
	if (!ops)
		return false;
	for (size_t i = 0; i < c->db->n && i < MAX_OPS; i++) {
		if (ops[i]->occurrences == 0 || (!c->infeed && ss_hlo_is_infeed_or_outfeed(ops[i]->category)))
			continue;
		add_op(c, ops[i], ++rank, &cumulative);
	}
	return true;
}

/* A step is at least as long as what ran in it: operations may go on beyond its marker. */
static uint64_t time_of_step(const struct ss_step_core *core)
{
	uint64_t sum_ps = 0;
	for (uint32_t i = 0; i < core->step->ncats; i++)
		sum_ps += core->core->cats[core->step->first_cat + i].self_ps;
	return sum_ps > core->dur_ps ? sum_ps : core->dur_ps;
}

/* Costs and time of one step, all cores together. */
static void add_step(const struct ctx *c, const struct ss_step *s, struct ss_cost *cost, uint64_t *time_ps)
{
	for (size_t k = 0; k < s->ncores; k++) {
		const struct ss_step_core *core = &s->cores[k];
		if (core->kind != SS_STEP_TENSOR_CORE)
			continue;
		const struct ss_program_cost *p = &core->step->cost;
		struct ss_cost one = p->all;
		uint64_t dur_ps = time_of_step(core);
		if (!c->infeed) {
			ss_cost_subtract(&one, &p->infeed_outfeed);
			dur_ps -= p->infeed_outfeed_ps < dur_ps ? p->infeed_outfeed_ps : dur_ps;
		}
		ss_cost_add(cost, &one, 1);
		*time_ps += dur_ps;
	}
}

static void add_mean(const struct ctx *c)
{
	struct ss_cost cost = { 0 };
	uint64_t time_ps = 0;
	for (size_t i = 0; i < c->steps->n; i++)
		add_step(c, &c->steps->v[i], &cost, &time_ps);
	add_program(c, SS_STR("Average"), &cost, time_ps, (double)c->steps->n);
}

static void add_steps(const struct ctx *c)
{
	for (size_t i = 0; i < c->steps->n; i++) {
		struct ss_cost cost = { 0 };
		uint64_t time_ps = 0;
		struct ss_str num = ss_arena_printf(c->t->arena, "%" PRId64, c->steps->v[i].num);
		add_step(c, &c->steps->v[i], &cost, &time_ps);
		add_program(c, num, &cost, time_ps, 1);
	}
}

static bool add_pass(struct ctx *c, bool infeed)
{
	c->infeed = infeed;
	add_total(c);
	if (!add_ops(c))
		return false;
	if (!c->cpu) {
		if (c->mean)
			add_mean(c);
		add_steps(c);
	}
	return true;
}

static void flag(struct ss_table *t, const char *id, bool v)
{
	ss_table_prop_num(t, id, NULL, SS_UNIT_NONE, v, "%g");
}

/* 0 stands for unknown with XProf's clients; nobody else is shown it. */
static void number(struct ss_table *t, const char *id, const char *label, enum ss_unit unit, double v)
{
	ss_table_prop_num(t, id, v > 0 ? label : NULL, unit, v, "%.6g");
}

/* FLOP/byte from which on the device, not this memory, is the limit. */
static double ridge(const struct limits *l, double gib_per_s)
{
	return ss_ratio(l->gflops, gib_per_s * 1.073741824);
}

static void properties(const struct ctx *c, bool has_device)
{
	static const struct limits none;
	struct ss_table *t = c->t;
	if (c->cpu)
		return;
	struct limits l = has_device ? limits_of(c) : none;
	const struct ss_peaks *p = &c->env->peaks;
	ss_table_prop(t, "device_type", has_device ? c->env->device_type : SS_STR(""));
	number(t, "peak_flop_rate", "Peak FLOP rate", SS_UNIT_GFLOP_PER_S, l.gflops);
	number(t, "peak_hbm_bw", "Peak HBM bandwidth", SS_UNIT_GIB_PER_S, l.hbm);
	number(t, "peak_vmem_write_bw", c->gpu ? "Peak shared memory bandwidth" : "Peak VMEM write bandwidth",
	       SS_UNIT_GIB_PER_S, l.vmem_write);
	number(t, "hbm_ridge_point", "HBM ridge point", SS_UNIT_FLOP_PER_BYTE, ridge(&l, l.hbm));
	number(t, "vmem_write_ridge_point", c->gpu ? "Shared memory ridge point" : NULL, SS_UNIT_FLOP_PER_BYTE,
	       ridge(&l, l.vmem_write));
	if (c->gpu)
		return;
	double scale = ss_ratio((double)c->db->normalized_op_ps, (double)c->db->op_ps);
	flag(t, "megacore", has_device && p->has_megacore);
	flag(t, "has_cmem", has_device && p->has_cmem);
	flag(t, "has_merged_vmem", has_device && p->has_merged_vmem);
	number(t, "peak_cmem_read_bw", "Peak CMEM read bandwidth", SS_UNIT_GIB_PER_S, l.cmem_read);
	number(t, "peak_cmem_write_bw", "Peak CMEM write bandwidth", SS_UNIT_GIB_PER_S, l.cmem_write);
	number(t, "peak_vmem_read_bw", "Peak VMEM read bandwidth", SS_UNIT_GIB_PER_S, l.vmem_read);
	number(t, "cmem_read_ridge_point", NULL, SS_UNIT_FLOP_PER_BYTE, ridge(&l, l.cmem_read));
	number(t, "cmem_write_ridge_point", NULL, SS_UNIT_FLOP_PER_BYTE, ridge(&l, l.cmem_write));
	number(t, "vmem_read_ridge_point", NULL, SS_UNIT_FLOP_PER_BYTE, ridge(&l, l.vmem_read));
	number(t, "time_scale_multiplier", "Clock / nominal clock", SS_UNIT_NONE, has_device ? scale : 0);
}

/* Without any, the rows without infeed and outfeed are those with them. */
static bool has_feed(const struct ss_op_db *db)
{
	for (size_t i = 0; i < db->n; i++)
		if (db->v[i].occurrences && ss_hlo_is_infeed_or_outfeed(db->v[i].category))
			return true;
	return false;
}

/* The columns of the device at hand, and where each is. */
static bool begin_table(struct ctx *c, struct ss_result *out)
{
	struct ss_col *v = SS_NEW_N(out->arena, struct ss_col, COL_COUNT);
	size_t n = 0;
	for (size_t i = 0; v && i < COL_COUNT; i++) {
		bool shown = c->gpu ? on_gpu(i) : c->cpu ? on_cpu(i) : true;
		c->at[i] = shown ? n : SS_NPOS;
		if (!shown)
			continue;
		v[n] = all_cols[i];
		if (c->gpu && i == COL_VMEM_WRITE_BW)
			v[n].label = "Shared memory and L1 bandwidth (GiB/s)";
		if (c->gpu && i == COL_VMEM_WRITE_INTENSITY)
			v[n].label = "Shared memory and L1 intensity (FLOP/byte)";
		n++;
	}
	c->t = v ? ss_result_table(out, "records", "Roofline", v, n) : NULL;
	return c->t;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ctx c = { .env = ss_model_env(q->model, err) };
	c.ops = c.env ? ss_model_ops(q->model, err) : NULL;
	c.db = c.ops ? ss_ops_computed(c.ops, q->as_xprof) : NULL;
	c.steps = c.ops ? ss_request_marked_steps(q, true, err) : NULL;
	if (!c.steps)
		return false;
	c.as_xprof = q->as_xprof;
	c.gpu = ss_str_contains(c.env->device_type, SS_STR("GPU"));
	c.mean = !c.gpu || q->model->nhosts > 1;
	bool has_device = c.gpu || c.env->hardware == SS_HW_TPU;
	c.cpu = !has_device && c.db->n;
	struct ss_input_report said = { .env = c.env, .steps = c.steps, .marked_only = !q->as_xprof };
	if (!begin_table(&c, out))
		return ss_fail_mem(err);
	properties(&c, has_device);
	bool twice = q->as_xprof || has_feed(c.db);
	if ((has_device || c.cpu) && (!add_pass(&c, true) || (twice && !add_pass(&c, false))))
		return ss_fail_mem(err);
	return ss_input_diagnostics(&said, q, out, false) || ss_fail_mem(err);
}

#define MOST_FRAC 1.0005
#define SMALLEST_GFLOPS 0.001 /* below, the program does not compute */
#define NEAR_LIMIT_FRAC \
	0.6 /* of what a limit allows: from here on the limit is what holds an operation up */

static size_t program_row(const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_str_is(ss_cell_str(t, i, "category"), "Program"))
			return i;
	return SS_NPOS;
}

/* What helps against a limit that is near. */
static struct ss_str advice_for(struct ss_str bound)
{
	if (ss_str_contains(bound, SS_STR("ompute")))
		return SS_STR(
			"Narrower number types or less arithmetic make it faster; fewer bytes do not.");
	return bound.n && !ss_str_is(bound, "Unknown")
		       ? SS_STR("Fewer bytes make it faster; less arithmetic does not.")
		       : SS_STR("");
}

static void say_op(struct ss_result *out, const struct ss_table *t, size_t first)
{
	struct ss_str step = ss_cell_str(t, first, "step");
	size_t top = SS_NPOS;
	double max = 0;
	for (size_t i = first + 1; i < t->nrows && ss_str_eq(ss_cell_str(t, i, "step"), step);
	     i++) {
		double v = ss_cell_f64(t, i, "total_self_time");
		if (v > max && ss_cell_f64(t, i, "roofline_efficiency") > 0 &&
		    !ss_str_is(ss_cell_str(t, i, "category"), "IDLE")) {
			max = v;
			top = i;
		}
	}
	if (top == SS_NPOS)
		return;
	double near = ss_cell_f64(t, top, "roofline_efficiency");
	struct ss_str bound = ss_cell_str(t, top, "bound_by");
	ss_say(out,
	       "'" SS_FMT "' takes the most time of the operations whose rate is known (%s); it "
			  "does %s of what its nearest limit, " SS_FMT ", allows.",
	       SS_ARG(ss_cell_str(t, top, "operation")), ss_value_words(SS_UNIT_US, max).s,
	       ss_value_words(SS_UNIT_FRAC, near).s, SS_ARG(bound));
	if (near >= NEAR_LIMIT_FRAC && near <= MOST_FRAC)
		ss_result_say(out, advice_for(bound));
	if (near > MOST_FRAC)
		ss_result_say(out, SS_STR("More than 100 % is impossible: the compiler's estimate of the work is too high, or "
		    "the device is faster than its known peak."));
}

#define KNOWN_FRAC 0.5 /* of the operations' time: less known work says too little about the whole */

/*
 * Share of the operations' time that goes to those with known work, in the rows behind the
 * program's.
 */
static double known_frac(const struct ss_table *t, size_t first)
{
	struct ss_str step = ss_cell_str(t, first, "step");
	double all = 0, known = 0;
	for (size_t i = first + 1; i < t->nrows && ss_str_eq(ss_cell_str(t, i, "step"), step); i++) {
		double us = ss_cell_f64(t, i, "total_self_time");
		if (ss_str_is(ss_cell_str(t, i, "category"), "IDLE") || !(us > 0))
			continue;
		struct ss_str category = ss_cell_str(t, i, "category");
		bool counted = ss_cell_f64(t, i, "measured_flop_rate") > 0 || ss_cell_f64(t, i, "roofline_efficiency") > 0;
		/* Neither computes. */
		if (!counted && (ss_hlo_is_async_part(category) || ss_hlo_is_infeed_or_outfeed(category)))
			continue;
		all += us;
		known += counted ? us : 0;
	}
	return all > 0 ? known / all : 0;
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_at(out, 0);
	size_t row = program_row(t);
	(void)q;
	(void)err;
	if (row == SS_NPOS)
		return true;
	double near = ss_cell_f64(t, row, "roofline_efficiency"),
	       rate = ss_cell_f64(t, row, "measured_flop_rate");
	double known = known_frac(t, row);
	if (known > 0 && known < KNOWN_FRAC)
		ss_say(out,
		       "Only operations with %s of the operations' time have a known amount of work (FLOPs, bytes), so it is "
		       "not known how close the whole program comes to the limits of the device.",
		       ss_value_words(SS_UNIT_FRAC, known).s);
	else if (near > 0 && rate > 0)
		ss_say(out,
		       "The program computes at %s, %s of what its nearest limit, " SS_FMT
		       ", allows; idle time of the device "
		       "counts.",
		       ss_value_words(SS_UNIT_GFLOP_PER_S, rate).s,
		       ss_value_words(SS_UNIT_FRAC, near).s,
		       SS_ARG(ss_cell_str(t, row, "bound_by")));
	else if (near > 0)
		ss_say(out,
		       "The program comes to %s of what its nearest limit, " SS_FMT ", allows; idle time of the device counts. No "
		       "FLOPs of its operations are known.",
		       ss_value_words(SS_UNIT_FRAC, near).s, SS_ARG(ss_cell_str(t, row, "bound_by")));
	else if (rate >= SMALLEST_GFLOPS)
		ss_say(out,
		       "The operations compute at %s. The peaks of the device are not known, so their share of the peak is "
		       "unknown.",
		       ss_value_words(SS_UNIT_GFLOP_PER_S, rate).s);
	else
		ss_result_say(out, SS_STR("The work of the program's operations (FLOPs, bytes) is not known, so it is not "
		    "known how close they come to the limits of the device."));
	say_op(out, t, row);
	return true;
}

const struct ss_tool ss_tool_roofline_model = {
	.name = "roofline_model",
	.title = "Roofline",
	.summary = "How close the program, its steps and its ops come to the hardware limits",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_SUMS_HOSTS | SS_TOOL_VISITS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_STEPS | SS_FACTS_INFERRED_STEPS,
	.needs = SS_NEEDS_OPS,
	.missing = "the recording holds no operations of a device or of a compiled program",
	.run = run,
	.conclude = conclude,
};
