/*
 * op_profile.c - where the device's time goes, as a tree: programs or scopes, categories,
 * operations, and what is fused into them, each with its share of the device's peaks
 * (op_profile.md).
 *
 * Two tables, with idle time and without, each a tree by the column `parent`; children follow their
 * parent, largest first.
 */
#include "base/cxx_name.h"

#include "hlo/kernel_metadata.h"
#include "model/device/env.h"
#include "model/host/opname.h"
#include "model/ops/op_tree.h"
#include "model/ops/roofline.h"
#include "model/program/tiling.h"
#include "tools/op_cells.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>

enum {
	COL_PARENT,
	COL_NAME,
	COL_TIME_PS,
	COL_OCCURRENCES,
	COL_AVG_PS,
	COL_FLOPS_UTIL,
	COL_FLOPS_UTIL_UNCAPPED,
	COL_HBM_UTIL,
	COL_ONCHIP_READ_UTIL,
	COL_ONCHIP_WRITE_UTIL,
	COL_MODEL_FLOPS,
	COL_FLOPS,
	COL_NORMALIZED_PS,
	COL_HBM_BYTES,
	COL_ONCHIP_READ_BYTES,
	COL_ONCHIP_WRITE_BYTES,
	COL_CHILDREN,
	COL_IS_OP,
	COL_CATEGORY,
	COL_EXPRESSION,
	COL_PROVENANCE,
	COL_PROGRAM,
	COL_FILE,
	COL_LINE,
	COL_STACK,
	COL_LAYOUT,
	COL_FILLED,
	COL_TIME_FRAC,
	COL_OWN_FLOPS_UTIL,
	COL_WASTED_FRAC,
	COL_FLOP_RATE,
	COL_HBM_BW,
	COL_KERNEL_METADATA,
};

static const struct ss_col cols[] = {
	INT("parent", "Parent", NONE, "Row of the parent node; -1: the root"),
	STR("name", "Name", NULL),
	INT("time_ps", "Time", PS,
	    "Self time of the operations below, by the device's clock where it was recorded; for the root, of the device"),
	INT("occurrences", "Occurrences", COUNT, NULL),
	NUM("avg_ps", "Avg. time", PS, "Time / occurrences"),
	NUM("flops_util", "FLOPS of the program", FRAC,
	    "FLOPS utilization x share of time; divide by the share for the node's own utilization"),
	NUM("flops_util_uncapped", "FLOPS of the program, uncapped", FRAC, "FLOPS utilization without the limit of 1"),
	NUM("hbm_util", "HBM utilization", FRAC, "Bandwidth / peak"),
	NUM("onchip_read_util", "On-chip read utilization", FRAC, "Bandwidth / peak"),
	NUM("onchip_write_util", "On-chip write utilization", FRAC, "Bandwidth / peak"),
	NUM("model_flops", "Model FLOPs", FLOPS, "FLOPs that the model requires"),
	NUM("normalized_flops", "Normalized FLOPs", FLOPS, "FLOPs that the hardware executes"),
	INT("normalized_ps", "Time at nominal clock", PS, "0 if the profile does not record it"),
	NUM("hbm_bytes", "HBM bytes", BYTES, NULL),
	NUM("onchip_read_bytes", "On-chip bytes read", BYTES, NULL),
	NUM("onchip_write_bytes", "On-chip bytes written", BYTES, NULL),
	INT("children", "Children", COUNT, "Number of children, including those that are left out because they are small"),
	FLAG("is_op", "Operation", "Number of identical operations merged into this one"),
	STR("category", "Category", NULL),
	STR("expression", "HLO text", NULL),
	STR("provenance", "Framework op", NULL),
	STR("program_id", "Program", NULL),
	STR("source_file", "Source file", NULL),
	INT("source_line", "Source line", NONE, NULL),
	STR("source_stack", "Source stack", NULL),
	STR("layout", "Layout", "Tiled tensors, minor dimension first: size/padded size"),
	NUM("layout_filled", "Tiles filled", FRAC,
	    "Elements / padded elements of the tensor that fills its tiles least"),
	NUM("time_frac", "Share of time", FRAC, "Time / time of the root"),
	NUM("own_flops_util", "FLOPS utilization", FRAC, "FLOP rate / peak of the device while it runs"),
	NUM("wasted_frac", "Wasted", FRAC,
	    "Share of time x (1 - max(FLOPS utilization, HBM utilization)): an upper bound of the saving"),
	NUM("flop_rate", "FLOP rate", GFLOP_PER_S, "Model FLOPs / time"),
	NUM("hbm_bw", "HBM bandwidth", GB_PER_S, "HBM bytes / time"),
	STR("kernel_metadata", "Kernel metadata", "JSON metadata that the author of a custom kernel attached"),
};

struct ctx {
	struct ss_table *t;
	const struct ss_op_tree *tree;
	const struct ss_env *env;
	bool as_xprof;
};

/*
 * The start or the end of an asynchronous operation, or a category of them: its bytes move between
 * the two.
 */
static bool is_async_part(const struct ss_op_node *n)
{
	return ss_hlo_is_async_part(n->op ? n->op->category : n->name);
}

/* Is it known what it does during most of its time? Work that is not known is not zero. */
static bool has_rate(const struct ss_op_node *n)
{
	if (is_async_part(n) || n->unknown_ps > n->known_ps)
		return false;
	for (size_t i = 0; i < SS_MEM_COUNT; i++)
		if (n->cost.mem[i])
			return true;
	return n->cost.flops > 0;
}

/* XProf's clients are told 0 where the work or the peak is not known; others nothing. */
static double use_of(const struct ctx *c, const struct ss_op_node *n, double use, double peak)
{
	return c->as_xprof || (peak > 0 && has_rate(n)) ? use : NAN;
}

static void set_bandwidth(const struct ctx *c, const struct ss_op_node *n, size_t util_col, size_t bytes_col, uint64_t bytes,
			  double peak_gb_per_s)
{
	double gib_per_s = ss_giga_to_gibi(ss_ratio((double)bytes, (double)n->time_ps / 1000));
	double util = ss_ratio(gib_per_s, ss_giga_to_gibi(peak_gb_per_s));
	ss_set_f64(c->t, util_col, use_of(c, n, util < 1 ? util : 1, peak_gb_per_s));
	ss_set_f64(c->t, bytes_col, n->time_ps ? (double)bytes : 0);
}

static void set_memory(const struct ctx *c, const struct ss_op_node *n)
{
	const uint64_t *mem = n->cost.mem;
	const double *peak = c->env->peaks.bw_gb_per_s;
	set_bandwidth(c, n, COL_HBM_UTIL, COL_HBM_BYTES, mem[SS_MEM_HBM_READ] + mem[SS_MEM_HBM_WRITE], peak[SS_BW_HBM]);
	set_bandwidth(c, n, COL_ONCHIP_READ_UTIL, COL_ONCHIP_READ_BYTES,
		      mem[SS_MEM_CMEM_READ] + mem[SS_MEM_VMEM_READ] + mem[SS_MEM_OTHER_READ], peak[SS_BW_SRAM_RD]);
	set_bandwidth(c, n, COL_ONCHIP_WRITE_UTIL, COL_ONCHIP_WRITE_BYTES,
		      mem[SS_MEM_CMEM_WRITE] + mem[SS_MEM_VMEM_WRITE] + mem[SS_MEM_OTHER_WRITE], peak[SS_BW_SRAM_WR]);
}

static void set_metrics(const struct ctx *c, const struct ss_op_node *n)
{
	double time_ps = (double)n->time_ps, share = ss_ratio(time_ps, (double)c->tree->v[0].time_ps);
	double rate = ss_ratio(n->cost.flops, time_ps / 1000);
	if (n->normalized_ps)
		rate *= time_ps / (double)n->normalized_ps;
	double peak = c->env->peaks.tflops * 1000, util = ss_ratio(rate, peak);
	ss_set_i64(c->t, COL_TIME_PS, (int64_t)n->time_ps);
	ss_set_i64(c->t, COL_OCCURRENCES, (int64_t)n->occurrences);
	ss_set_f64(c->t, COL_AVG_PS, ss_ratio(time_ps, (double)n->occurrences));
	ss_set_f64(c->t, COL_FLOPS_UTIL, use_of(c, n, (util < 1 ? util : 1) * share, peak));
	ss_set_f64(c->t, COL_FLOPS_UTIL_UNCAPPED, use_of(c, n, util * share, peak));
	ss_set_f64(c->t, COL_MODEL_FLOPS, n->cost.model_flops);
	ss_set_f64(c->t, COL_FLOPS, n->cost.flops);
	ss_set_i64(c->t, COL_NORMALIZED_PS, (int64_t)n->normalized_ps);
	set_memory(c, n);
}

/*
 * What the node did while it ran; empty where it has no time of its own, or nothing is known of its
 * work.
 */
static void set_own(const struct ctx *c, const struct ss_op_node *n)
{
	double time_ps = (double)n->time_ps, share = ss_ratio(time_ps, (double)c->tree->v[0].time_ps);
	double bytes = (double)n->cost.mem[SS_MEM_HBM_READ] + (double)n->cost.mem[SS_MEM_HBM_WRITE];
	double peak = c->env->peaks.bw_gb_per_s[SS_BW_HBM], bw = ss_ratio(bytes, time_ps / 1000);
	double rate = ss_ratio(n->cost.flops, (double)(n->normalized_ps ? n->normalized_ps : n->time_ps) / 1000);
	double flops = ss_ratio(rate, c->env->peaks.tflops * 1000), hbm = ss_ratio(bw, peak);
	double used = flops > hbm ? flops : hbm;
	bool known = n->time_ps && has_rate(n) && !(n->op && ss_op_is_idle(n->op));
	bool judged = known && (c->env->peaks.tflops > 0 || peak > 0);
	ss_set_f64(c->t, COL_TIME_FRAC, n->time_ps ? share : NAN);
	ss_set_f64(c->t, COL_OWN_FLOPS_UTIL, known && c->env->peaks.tflops > 0 ? flops : NAN);
	ss_set_f64(c->t, COL_WASTED_FRAC, judged ? share * (used < 1 ? 1 - used : 0) : NAN);
	ss_set_f64(c->t, COL_FLOP_RATE,
		   known ? ss_ratio(n->cost.model_flops, time_ps / 1000) : NAN);
	ss_set_f64(c->t, COL_HBM_BW, known ? bw : NAN);
}

/*
 * Copies of an operation are described by the first of them; where they are no fusions, with its
 * provenance as well.
 */
static void set_texts(const struct ctx *c, const struct ss_op_node *n)
{
	const struct ss_op *op = n->op;
	ss_set_str(c->t, COL_NAME, n->name);
	ss_set_i64(c->t, COL_CHILDREN, n->nchildren);
	ss_set_bool(c->t, COL_IS_OP, op);
	ss_set_f64(c->t, COL_FILLED, NAN);
	if (!op)
		return;
	double filled_frac;
	struct ss_str program = ss_program_cell(op, c->t->arena);
	struct ss_str metadata = ss_hlo_kernel_metadata(op->long_name, c->t->arena);
	struct ss_str layout = ss_tiling_text(op->long_name, c->t->arena, &filled_frac);
	ss_set_str(c->t, COL_CATEGORY, op->category);
	ss_set_str(c->t, COL_EXPRESSION, op->long_name);
	if (!n->is_copies || !ss_str_ends(op->category, SS_STR(" fusion")))
		ss_set_str(c->t, COL_PROVENANCE, op->provenance);
	ss_set_str(c->t, COL_PROGRAM, program);
	ss_set_str(c->t, COL_FILE, op->source_file);
	ss_set_i64(c->t, COL_LINE, ss_op_is_idle(op) ? 0 : op->source_line);
	ss_set_str(c->t, COL_STACK, op->source_stack);
	ss_set_str(c->t, COL_LAYOUT, layout);
	ss_set_f64(c->t, COL_FILLED, filled_frac);
	ss_set_str(c->t, COL_KERNEL_METADATA, metadata);
}

static void add_node(const struct ctx *c, uint32_t node, int64_t parent)
{
	ss_table_row(c->t);
	ss_set_i64(c->t, COL_PARENT, parent);
	set_metrics(c, &c->tree->v[node]);
	set_own(c, &c->tree->v[node]);
	set_texts(c, &c->tree->v[node]);
}

/*
 * The tree in the order of a book: a stack of the next sibling of each level, with its parent's
 * row.
 */
static bool add_nodes(const struct ctx *c)
{
	struct level {
		uint32_t node;
		int64_t parent_row;
	} *stack = SS_NEW_N(c->t->arena, struct level, c->tree->n + 1);
	size_t depth = 0;
	if (!stack)
		return false;
	stack[depth++] = (struct level){ 0, -1 };
	while (depth) {
		struct level at = stack[--depth];
		const struct ss_op_node *n = &c->tree->v[at.node];
		add_node(c, at.node, at.parent_row);
		if (n->next != SS_NONE && at.node != 0)
			stack[depth++] = (struct level){ n->next, at.parent_row };
		if (n->first_child != SS_NONE)
			stack[depth++] = (struct level){ n->first_child, (int64_t)c->t->nrows - 1 };
	}
	return true;
}

/*
 * The operation with the most time to save: where to begin. Copies count together; -1 without any.
 */
static int64_t largest_target(const struct ss_table *t)
{
	int64_t best = -1;
	double max = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		int64_t up = t->data[COL_PARENT].i64[i];
		bool own = t->data[COL_IS_OP].b[i] && (up < 0 || !t->data[COL_IS_OP].b[up]);
		bool idle = ss_str_is(t->data[COL_CATEGORY].str[i], "IDLE");
		double wasted = t->data[COL_WASTED_FRAC].f64[i];
		if (own && !idle && wasted > max) {
			max = wasted;
			best = (int64_t)i;
		}
	}
	return best;
}

static const struct ss_param params[] = {
	{ "group_by", "program|category|provenance", "program", "how the tree is grouped" },
};

static enum ss_op_grouping grouping(struct ss_str by)
{
	if (ss_str_is(by, "category"))
		return SS_BY_CATEGORY;
	return ss_str_is(by, "provenance") ? SS_BY_PROVENANCE : SS_BY_PROGRAM;
}

static bool add_tree(const struct ss_request *q, struct ss_result *out, const struct ss_env *env,
		     enum ss_op_grouping by, bool idle, struct ss_err *err)
{
	static const char *const names[][2] = {
		[SS_BY_PROGRAM] = { "by_program_exclude_idle", "by_program" },
		[SS_BY_CATEGORY] = { "by_category_exclude_idle", "by_category" },
		[SS_BY_PROVENANCE] = { "by_provenance_exclude_idle", "by_provenance" },
	};
	struct ss_op_tree tree;
	if (!ss_op_tree_build(&tree, q->model, by, idle, q->as_xprof, q->arena, err))
		return false;
	struct ss_table *t = ss_result_table(out, names[by][idle], idle ? "With idle time" : "Without idle time",
					     cols, SS_COUNT(cols));
	struct ctx c = { t, &tree, env, q->as_xprof };
	bool ok = add_nodes(&c);
	if (ok)
		ss_table_prop_num(t, "largest_target", "Row of the op with the largest possible saving", SS_UNIT_NONE,
				  (double)largest_target(t), "%.0f");
	ss_op_tree_free(&tree);
	return ok || ss_fail_mem(err);
}

extern const struct ss_tool ss_tool_op_profile;

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_env *env = ss_model_env(q->model, err);
	const struct ss_ops *ops = env ? ss_model_ops(q->model, err) : NULL;
	enum ss_op_grouping by = grouping(ss_request_param(q, &ss_tool_op_profile, "group_by"));
	if (!ops || !add_tree(q, out, env, by, true, err))
		return false;
	const struct ss_op_db *db = ss_ops_computed(ops, q->as_xprof);
	double scale = ss_ratio((double)db->normalized_op_ps, (double)db->op_ps);
	ss_table_prop(ss_result_at(out, 0), "device_type", ss_hardware_name(env->hardware));
	ss_table_prop_num(ss_result_at(out, 0), "time_scale_multiplier", "Clock / nominal clock", SS_UNIT_NONE,
			  scale, "%.17g");
	return add_tree(q, out, env, by, false, err) || ss_fail_mem(err);
}

/* The operation with the most time; -1: none. */
static int64_t longest_op(const struct ss_table *t)
{
	int64_t best = -1;
	double max = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double time = ss_cell_f64(t, i, "time_ps");
		if (time > max && ss_cell_bool(t, i, "is_op") &&
		    !ss_str_is(ss_cell_str(t, i, "category"), "IDLE")) {
			max = time;
			best = (int64_t)i;
		}
	}
	return best;
}

/*
 * "aten::mm/void gemm<float>(float*)", an operator of PyTorch and its kernel, as
 * "aten::mm/gemm<FP32>".
 */
static struct ss_str shown_name(struct ss_result *out, struct ss_str name)
{
	size_t at = ss_str_find(name, SS_STR("/"));
	if (at == SS_NPOS)
		return ss_cxx_short_name(name, out->arena);
	struct ss_str kernel = { name.p + at + 1, name.n - at - 1 };
	name.n = at + 1;
	return ss_arena_printf(out->arena, SS_FMT SS_FMT, SS_ARG(name), SS_ARG(ss_cxx_short_name(kernel, out->arena)));
}

/* May an operation whose work is not known save more? At most all of its time. */
static bool may_save_more(const struct ss_table *t, double than_frac)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_cell_bool(t, i, "is_op") && !ss_str_is(ss_cell_str(t, i, "category"), "IDLE") &&
		    ss_cell_f64(t, i, "time_frac") > than_frac && isnan(ss_cell_f64(t, i, "wasted_frac")))
			return true;
	return false;
}

static bool say_target(struct ss_result *out, const struct ss_table *t)
{
	int64_t best = longest_op(t);
	const struct ss_prop *p = ss_table_find_prop(t, "largest_target");
	double target = p ? p->value : -1;
	if (best < 0)
		return true;
	double time = ss_cell_f64(t, (size_t)best, "time_ps"), whole = ss_cell_f64(t, 0, "time_ps");
	struct ss_str program = ss_program_words(t, (size_t)best, "name");
	ss_say(out, "'" SS_FMT "'" SS_FMT " takes the most time of all operations: %s.",
	       SS_ARG(shown_name(out, ss_cell_str(t, (size_t)best, "name"))), SS_ARG(program),
	       ss_share_words(SS_UNIT_PS, time, whole).s);
	bool ok = true;
	if (!ok || !(target >= 0) || !(target < (double)t->nrows))
		return ok;
	double wasted = ss_cell_f64(t, (size_t)target, "wasted_frac");
	if (!(wasted > 0))
		return ok;
	program = ss_program_words(t, (size_t)target, "name");
	ss_say(out,
	       "The largest possible saving%s is at '" SS_FMT "'" SS_FMT
	       ": if it ran at the limits of the device, at most %s of the time would be saved.",
	       may_save_more(t, wasted) ? " among the operations whose work (FLOPs, bytes) is known" : "",
	       SS_ARG(shown_name(out, ss_cell_str(t, (size_t)target, "name"))), SS_ARG(program),
	       ss_value_words(SS_UNIT_FRAC, wasted).s);
	return true;
}

static void say_utilization(struct ss_result *out, const struct ss_table *t)
{
	double flops = ss_cell_f64(t, 0, "own_flops_util"), hbm = ss_cell_f64(t, 0, "hbm_util");
	if (flops > 0 && hbm > 0) {
		ss_say(out,
		       "While operations run, the device does %s of its peak FLOP rate and "
		       "moves %s of what the bandwidth of "
		       "its memory allows.",
		       ss_value_words(SS_UNIT_FRAC, flops).s,
		       ss_value_words(SS_UNIT_FRAC, hbm).s);
		return;
	}
	if (flops > 0)
		ss_say(out, "While operations run, the device does %s of its peak FLOP rate.",
		       ss_value_words(SS_UNIT_FRAC, flops).s);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = &out->tables[out->ntables > 1 ? 1 : 0];
	(void)q;
	/* The root of the tree is a row of its own. */
	if (t->nrows && longest_op(t) < 0 && !out->nnotes)
		ss_result_note(out, SS_INFO, ss_str_from(ss_tool_op_profile.missing));
	if (!say_target(out, t))
		return ss_fail_mem(err);
	if (t->nrows)
		say_utilization(out, t);
	return true;
}

const struct ss_tool ss_tool_op_profile = {
	.name = "op_profile",
	.title = "Op profile",
	.summary = "Device time as a tree of programs, categories, ops and fused ops",
	.kind = SS_KIND_TREE,
	.flags = SS_TOOL_SUMS_HOSTS | SS_TOOL_VISITS,
	.facts = SS_FACTS_ENV | SS_FACTS_OPS,
	.params = params,
	.nparams = SS_COUNT(params),
	.needs = SS_NEEDS_OPS,
	.missing = "the recording holds no operations of a device or of a compiled program",
	.run = run,
	.conclude = conclude,
};
