/*
 * op_profile.c - stored op profiles: trees of operations in JSON, each node with its share of
 * the time and of the FLOPS that the device could have done.
 */
#include "legacy/answers.h"

#include "model/host/host.h"
#include "model/model.h"

#include <math.h>

enum {
	COL_PARENT,
	COL_NAME,
	COL_TIME_FRAC,
	COL_TIME_PS,
	COL_OCCURRENCES,
	COL_FLOPS_UTIL,
	COL_OWN_FLOPS_UTIL,
	COL_WASTED_FRAC,
	COL_HBM_UTIL,
	COL_FLOPS,
	COL_CHILDREN,
	COL_IS_OP,
	COL_CATEGORY,
	COL_EXPRESSION,
	COL_PROVENANCE,
	COL_OPCODE,
	COL_LAYOUT,
	COL_FILLED,
};

static const struct ss_col cols[] = {
	INT("parent", "Parent", NONE, "Row of the parent node; -1: the root"),
	STR("name", "Name", NULL),
	NUM("time_frac", "Share of time", FRAC, "Time / time of the root"),
	INT("time_ps", "Time", PS, "0 if the file holds only shares"),
	INT("occurrences", "Occurrences", COUNT, "0 if the file does not record it"),
	NUM("flops_util", "FLOPS of the program", FRAC, "FLOPS utilization x share of time"),
	NUM("own_flops_util", "FLOPS utilization", FRAC, "FLOP rate / peak of the device while it runs"),
	NUM("wasted_frac", "Wasted", FRAC, "Share of time x (1 - utilization)"),
	NUM("hbm_util", "HBM utilization", FRAC, "Bandwidth / peak, if the file records it"),
	NUM("model_flops", "FLOPs", FLOPS, "If the file records them"),
	INT("children", "Children", COUNT, NULL),
	FLAG("is_op", "Operation", NULL),
	STR("category", "Category", NULL),
	STR("expression", "HLO text", NULL),
	STR("provenance", "Framework op", NULL),
	STR("opcode", "Opcode", NULL),
	STR("layout", "Layout", "Minor dimension first: size/padded size, and its role"),
	NUM("layout_filled", "Tiles filled", FRAC, "Elements / padded elements"),
};

/* Dimensions with the multiple they are padded to. */
static void set_layout(struct ss_table *t, const struct ss_jnode *layout)
{
	const struct ss_jnode *dims = ss_jnode_get(layout, "dimensions");
	struct ss_str text = SS_STR("");
	double filled = 1;
	if (!dims || !dims->first)
		return;
	for (const struct ss_jnode *d = dims->first; d && text.p; d = d->next) {
		double size = ss_jnode_num(d, "size", 0), alignment = ss_jnode_num(d, "alignment", 0);
		double padded = alignment > 0 ? ceil(size / alignment) * alignment : size;
		struct ss_str what = ss_jnode_text(d, "semantics");
		filled *= padded > 0 ? size / padded : 1;
		text = ss_arena_printf(t->arena, SS_FMT "%s%.0f/%.0f%s" SS_FMT, SS_ARG(text), text.n ? ", " : "", size, padded,
				       what.n ? " " : "", SS_ARG(what));
	}
	ss_set_str(t, COL_LAYOUT, text);
	ss_set_f64(t, COL_FILLED, filled);
}

static void set_metrics(struct ss_table *t, const struct ss_jnode *m, double root_ps)
{
	double time_ps = ss_jnode_num(m, "rawTime", 0), flops = ss_jnode_num(m, "flops", 0);
	double share = ss_jnode_num(m, "time", root_ps > 0 ? time_ps / root_ps : NAN);
	const struct ss_jnode *bandwidths = ss_jnode_get(m, "bandwidthUtils");
	double hbm = bandwidths && bandwidths->first ? bandwidths->first->num : ss_jnode_num(m, "memoryBandwidth", NAN);
	double own = share > 0 ? flops / share : NAN;
	double used = hbm > own ? hbm : own;
	ss_set_f64(t, COL_TIME_FRAC, share);
	ss_set_i64(t, COL_TIME_PS, time_ps >= 0 && time_ps < 9e18 ? (int64_t)time_ps : 0);
	ss_set_i64(t, COL_OCCURRENCES, ss_jnode_int(m, "occurrences", 0));
	ss_set_f64(t, COL_FLOPS_UTIL, flops);
	ss_set_f64(t, COL_OWN_FLOPS_UTIL, own);
	ss_set_f64(t, COL_WASTED_FRAC, used < 1 ? share * (1 - used) : used >= 1 ? 0 : NAN);
	ss_set_f64(t, COL_HBM_UTIL, hbm);
	ss_set_f64(t, COL_FLOPS, ss_jnode_num(m, "rawFlops", NAN));
}

static void add_node(struct ss_table *t, const struct ss_jnode *n, int64_t parent, double root_ps)
{
	const struct ss_jnode *xla = ss_jnode_get(n, "xla"), *children = ss_jnode_get(n, "children");
	ss_table_row(t);
	ss_set_i64(t, COL_PARENT, parent);
	ss_set_str(t, COL_NAME, ss_jnode_text(n, "name"));
	set_metrics(t, ss_jnode_get(n, "metrics"), root_ps);
	ss_set_i64(t, COL_CHILDREN, ss_jnode_int(n, "numChildren", (int64_t)ss_jnode_count(children)));
	ss_set_bool(t, COL_IS_OP, xla != NULL);
	ss_set_str(t, COL_CATEGORY, ss_jnode_text(xla, "category"));
	ss_set_str(t, COL_EXPRESSION, ss_jnode_text(xla, "expression"));
	ss_set_str(t, COL_PROVENANCE, ss_jnode_text(xla, "provenance"));
	ss_set_str(t, COL_OPCODE, ss_jnode_text(xla, "op"));
	ss_set_f64(t, COL_FILLED, NAN);
	set_layout(t, ss_jnode_get(xla, "layout"));
}

/*
 * In the order of a book; a JSON tree is at most some hundred levels deep, the stack is of that
 * size.
 */
static bool add_tree(struct ss_table *t, const struct ss_jnode *root)
{
	struct level {
		const struct ss_jnode *node;
		int64_t parent;
	} *stack = SS_NEW_N(t->arena, struct level, SS_JSON_DEPTH);
	double root_ps = ss_jnode_num(ss_jnode_get(root, "metrics"), "rawTime", 0);
	size_t depth = 0;
	if (!stack)
		return false;
	stack[depth++] = (struct level){ root, -1 };
	while (depth) {
		struct level at = stack[--depth];
		const struct ss_jnode *children = ss_jnode_get(at.node, "children");
		add_node(t, at.node, at.parent, root_ps);
		if (at.node->next && at.parent >= 0)
			stack[depth++] = (struct level){ at.node->next, at.parent };
		if (children && children->first)
			stack[depth++] = (struct level){ children->first, (int64_t)t->nrows - 1 };
	}
	return true;
}

bool ss_legacy_op_profile(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct {
		const char *key, *name, *group, *title;
	} trees[] = {
		{ "byProgram", "by_program", "program", "By program" },
		{ "byProgramExcludeIdle", "by_program_exclude_idle", "program", "By program, without idle" },
		{ "byCategory", "by_category", "category", "By category" },
		{ "byCategoryExcludeIdle", "by_category_exclude_idle", "category", "By category, without idle" },
		{ "byProvenance", "by_provenance", "provenance", "By provenance" },
		{ "byProvenanceExcludeIdle", "by_provenance_exclude_idle", "provenance", "By provenance, without idle" },
	};
	const struct ss_jnode *root = ss_legacy_read(q, q->model->hosts[0], NULL, out, err);
	struct ss_str group = SS_STR("");
	if (!root)
		return false;
	/*
	 * The first files tell shares of their own time only, and XProf combines no op profiles
	 * either.
	 */
	if (q->model->nhosts > 1)
		ss_result_note(out, SS_WARNING,
			       ss_arena_printf(out->arena,
					       "Op profiles of several hosts are not combined. This is the one of " SS_FMT,
					       SS_ARG(q->model->hosts[0]->name)));
	for (size_t i = 0; i < q->nparams; i++)
		if (ss_str_is(q->params[i].name, "group_by"))
			group = q->params[i].value;
	/* Files of the first years hold one tree: it is shown whatever was asked for. */
	for (int any = 0; any < 2 && !out->ntables; any++)
		for (size_t i = 0; i < SS_COUNT(trees); i++) {
			const struct ss_jnode *tree = ss_jnode_get(root, trees[i].key);
			if (!tree || (!any && group.n && !ss_str_is(group, trees[i].group)))
				continue;
			struct ss_table *t = ss_result_table(out, trees[i].name, trees[i].title, cols, SS_COUNT(cols));
			ss_table_prop(t, "device_type", ss_jnode_text(root, "deviceType"));
			if (!add_tree(t, tree))
				return ss_fail_mem(err);
		}
	return out->ntables || ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds no op profile",
				       SS_ARG(q->model->hosts[0]->x.path));
}
