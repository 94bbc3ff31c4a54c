/*
 * op_profile.c - where the device's time goes, by operation, in groups, in a flat list or as a tree:
 * get_hlo_op_profile.
 */
#include "base/icontains.h"
#include "xprof/cli/modules.h"
#include "xprof/cli/op_tree.h"

/* Without one of its own: a word in the name. */
static struct ss_str category_of(const struct ss_table *t, size_t row)
{
	static const char *const words[] = { "custom-call", "fusion", "convolution", "dot",
					     "reduce",	    "copy",   "reshape",     "broadcast",
					     "while",	    "tuple" };
	struct ss_str category = ss_cell_str(t, row, "category"), name = xop_name(t, row);
	if (category.n && ss_cell_bool(t, row, "is_op"))
		return category;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_icontains(name, ss_str_from(words[i])))
			return ss_str_from(words[i]);
	if (!name.n || name.p[0] != '%')
		return SS_STR("unknown");
	name = ss_str_sub(name, 1, name.n);
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '.' || name.p[i] == '_')
			return ss_str_sub(name, 0, i);
	return name;
}

static bool collect(struct xcli *x, struct xops *o)
{
	if (!xop_alloc(x, o))
		return false;
	for (size_t row = 0; row < o->t->nrows;) {
		bool leaf = xop_is_leaf(o->t, row);
		if (leaf && xop_time_ps(o->t, row) > 0) {
			struct xop *op = &o->v[o->n++];
			op->row = (uint32_t)row;
			op->name = xop_path(x, o->t, row, xop_name(o->t, row), true);
			op->category = category_of(o->t, row);
			op->ms = xv_round((double)xop_time_ps(o->t, row) / 1e9, 4);
			op->occurrences = ss_cell_i64(o->t, row, "occurrences");
			op->occurrences = op->occurrences > 0 ? op->occurrences : 1;
			xop_set_cost(o->t, op, op->name, (double)op->occurrences);
		}
		row = leaf ? xop_end(o->t, row) : row + 1;
	}
	return o->n ||
	       xcli_fail(x, XCLI_PATH, "The profile '" SS_FMT "' has no operations of a device",
			 SS_ARG(x->input));
}

static struct xv *put_op(struct xv *list, const struct xops *o, const struct xop *op)
{
	struct xv *v = xv_add_object(list, NULL);
	struct ss_str file = ss_cell_str(o->t, op->row, "source_file"),
		      stack = ss_cell_str(o->t, op->row, "source_stack");
	int64_t line = ss_cell_i64(o->t, op->row, "source_line");
	xv_str(v, "name", op->name);
	xv_str(v, "category", op->category);
	xv_f64(v, "total_self_time_ms", op->ms);
	xv_i64(v, "occurrences", op->occurrences);
	xv_f64(v, "flops", op->flops);
	xv_f64(v, "bytes_accessed", op->bytes);
	xv_z(v, "flops_provenance", op->provenance);
	if (file.n)
		xv_str(v, "source_file", file);
	if (line > 0)
		xv_i64(v, "source_line", line);
	if (stack.n)
		xv_str(v, "stack_frame", stack);
	return v;
}

struct group {
	struct ss_str name;
	double ms, flops, bytes;
	uint32_t *ops; /* as they are sorted */
	size_t n;
};

struct groups {
	struct group *v;
	size_t n;
	uint32_t *order;
};

/* Operations by category, both sorted. */
static bool make_groups(struct xcli *x, const struct xops *o, const char *sort, struct groups *g)
{
	struct ss_strmap names = { 0 };
	double *key = SS_NEW_N(&x->arena, double, o->n + 1);
	uint32_t *order;
	g->v = SS_NEW_N(&x->arena, struct group, o->n + 1);
	bool ok = g->v && key && xcli_rank(x, o->key, o->n, &order);
	for (size_t i = 0; ok && i < o->n; i++) {
		uint32_t at = ss_strmap_add(&names, o->v[i].category);
		ok = at != SS_NONE;
		if (!ok)
			break;
		struct group *one = &g->v[at];
		one->name = o->v[i].category;
		one->ms += o->v[i].ms;
		one->flops += o->v[i].flops;
		one->bytes += o->v[i].bytes;
		one->n++;
	}
	g->n = names.n;
	for (size_t i = 0; ok && i < g->n; i++) {
		key[i] = xop_key(sort, xv_round(g->v[i].ms, 4), g->v[i].flops, g->v[i].bytes);
		g->v[i].ops = SS_NEW_N(&x->arena, uint32_t, g->v[i].n + 1);
		ok = g->v[i].ops;
		g->v[i].n = 0;
	}
	for (size_t i = 0; ok && i < o->n; i++) {
		struct group *one = &g->v[ss_strmap_get(&names, o->v[order[i]].category)];
		one->ops[one->n++] = order[i];
	}
	ss_strmap_free(&names);
	return ok ? xcli_rank(x, key, g->n, &g->order) : xcli_no_memory(x);
}

static struct ss_str last_name(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

static void put_summary(struct xv *list, const struct xops *o, const struct groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct group *one = &g->v[g->order[i]];
		struct xv *v = xv_add_object(list, NULL);
		xv_str(v, "category", one->name);
		xv_rounded(v, "total_self_time_ms", one->ms, 4);
		xv_rounded(v, "fraction_of_total_time", o->total_ms > 0 ? one->ms / o->total_ms : 0,
			   4);
		xv_f64(v, "total_flops", one->flops);
		xv_f64(v, "bytes_accessed", one->bytes);
		xv_u64(v, "op_count", one->n);
		xv_str(v, "top_op", last_name(o->v[one->ops[0]].name));
	}
}

static void put_categories(struct xv *hints, const struct groups *g)
{
	struct xv *list = xv_add_array(hints, "available_categories");
	for (size_t i = 0; i < g->n; i++)
		xv_str(list, NULL, g->v[g->order[i]].name);
}

static void put_hint(struct xcli *x, struct xv *hints, const char *key, const char *before,
		     struct ss_str name, const char *after)
{
	struct ss_str text =
		ss_arena_printf(&x->arena, "%s" SS_FMT "%s", before, SS_ARG(name), after);
	if (text.p)
		xv_str(hints, key, text);
}

static struct xv *view_grouped(struct xcli *x, const struct xops *o, const struct groups *g,
			       int64_t top)
{
	struct xv *v = xv_object(&x->make);
	xv_rounded(v, "total_profile_time_ms", o->total_ms, 4);
	put_summary(xv_add_array(v, "category_summary"), o, g);
	struct xv *by = xv_add_object(v, "grouped_operations");
	for (size_t i = 0; i < g->n; i++) {
		const struct group *one = &g->v[g->order[i]];
		struct xv *list = xv_array(&x->make);
		double ms = xv_round(one->ms, 4);
		xv_put_key(by, one->name, list);
		for (size_t k = 0; k < xcli_limited(one->n, top > 5 ? 5 : top); k++) {
			const struct xop *op = &o->v[one->ops[k]];
			xv_rounded(put_op(list, o, op), "category_fraction",
				   ms > 0 ? op->ms / ms : 0, 4);
		}
	}
	struct xv *hints = xv_add_object(v, "navigation_hints");
	xv_z(hints, "drill_down_category",
	     "xprof get_hlo_op_profile <trace> --category='<category_name>'");
	xv_z(hints, "inspect_op_neighborhood",
	     "xprof get_hlo_neighborhood <trace> --instruction_name='<op_name>'");
	xv_z(hints, "inspect_roofline", "xprof get_roofline_model <trace>");
	xv_z(hints, "explore_tree",
	     "xprof get_hlo_op_profile <trace> --view=tree --path='by_category' --depth=2");
	put_categories(hints, g);
	return v;
}

static struct xv *view_categories(struct xcli *x, const struct xops *o, const struct groups *g)
{
	static const char *const words[] = { "all-gather", "all-reduce", "reduce-scatter",
					     "collective" };
	struct xv *v = xv_object(&x->make);
	xv_rounded(v, "total_profile_time_ms", o->total_ms, 4);
	put_summary(xv_add_array(v, "category_summary"), o, g);
	struct xv *hints = xv_add_object(v, "navigation_hints");
	put_hint(x, hints, "drill_down_into_top_category",
		 "xprof get_hlo_op_profile <trace> --category='", g->v[g->order[0]].name, "'");
	xv_z(hints, "view_grouped_ops", "xprof get_hlo_op_profile <trace> --view=grouped");
	put_categories(hints, g);
	for (size_t i = 0; i < g->n * SS_COUNT(words); i++) {
		struct ss_str name = g->v[g->order[i / SS_COUNT(words)]].name;
		if (!ss_str_icontains(name, ss_str_from(words[i % SS_COUNT(words)])))
			continue;
		put_hint(x, hints, "drill_down_into_communication",
			 "xprof get_hlo_op_profile <trace> --category='", name, "'");
		break;
	}
	return v;
}

static bool view_category(struct xcli *x, const struct xops *o, const struct groups *g, int64_t top,
			  struct xv **out)
{
	struct ss_str want = ss_str_from(xcli_text(x, "category"));
	const struct group *one = NULL;
	for (int exact = 1; exact >= 0 && !one; exact--)
		for (size_t i = 0; i < g->n && !one; i++) {
			const struct group *c = &g->v[g->order[i]];
			if (exact ? ss_str_ieq(c->name, want)
				  : ss_str_icontains(c->name, ss_str_from(xcli_text(x, "category"))))
				one = c;
		}
	if (!one)
		return xcli_fail(x, XCLI_PATH,
				 "The profile has no category '" SS_FMT
				 "'; --view=category lists them",
				 SS_ARG(want));
	struct xv *v = *out = xv_object(&x->make);
	xv_str(v, "category", one->name);
	xv_rounded(v, "total_self_time_ms", one->ms, 4);
	xv_rounded(v, "fraction_of_total_time", o->total_ms > 0 ? one->ms / o->total_ms : 0, 4);
	struct xv *list = xv_add_array(v, "operations");
	for (size_t k = 0; k < xcli_limited(one->n, top); k++) {
		const struct xop *op = &o->v[one->ops[k]];
		xv_rounded(put_op(list, o, op), "category_fraction",
			   one->ms > 0 ? op->ms / one->ms : 0, 4);
	}
	struct ss_str first = last_name(o->v[one->ops[0]].name);
	struct xv *hints = xv_add_object(v, "navigation_hints");
	put_hint(x, hints, "inspect_top_op_ast",
		 "xprof get_hlo_neighborhood <trace> --instruction_name='", first, "'");
	put_hint(x, hints, "inspect_graph", "xprof get_graph_viewer <trace> --node_name='", first,
		 "'");
	xv_z(hints, "back_to_categories", "xprof get_hlo_op_profile <trace> --view=category");
	return true;
}

static bool view_flat(struct xcli *x, const struct xops *o, int64_t top, struct xv **out)
{
	uint32_t *order;
	if (!xcli_rank(x, o->key, o->n, &order))
		return false;
	*out = xv_array(&x->make);
	for (size_t i = 0; i < xcli_limited(o->n, top); i++)
		put_op(*out, o, &o->v[order[i]]);
	return true;
}

/* --- the tree ---------------------------------------------------------------------------------- */

#define MAX_TREE_DEPTH 200

struct tree {
	struct xcli *x;
	const struct ss_table *t;
	bool gpu;
	int64_t depth;
};

/* Children of a node by time, into *order; XProf does not look into the fusions of GPUs. */
static size_t children_of(const struct tree *tree, size_t row, uint32_t **rows)
{
	const struct ss_table *t = tree->t;
	size_t end = xop_end(t, row), n = 0;
	*rows = SS_NEW_N(&tree->x->arena, uint32_t, end - row + 1);
	if (!*rows) {
		tree->x->make.no_memory = true;
		return 0;
	}
	if (tree->gpu && ss_cell_bool(t, row, "is_op") && !xop_is_wrapper(t, row))
		return 0;
	for (size_t i = row + 1; i < end; i++)
		if (ss_cell_i64(t, i, "parent") == (int64_t)row)
			(*rows)[n++] = (uint32_t)i;
	return n;
}

static struct ss_str shown_name(const struct ss_table *t, size_t row)
{
	struct ss_str name = xop_name(t, row);
	return name.n ? name : SS_STR("root");
}

static struct xv *tree_node(const struct tree *tree, size_t row, int64_t depth,
			    struct ss_str prefix)
{
	struct xcli *x = tree->x;
	struct xv *v = xv_object(&x->make), *list = xv_array(&x->make);
	uint32_t *rows, *order;
	struct ss_str name = shown_name(tree->t, row), path = name;
	size_t n = children_of(tree, row, &rows);
	double *key = SS_NEW_N(&x->arena, double, n + 1);
	if (prefix.n)
		path = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(prefix), SS_ARG(name));
	if (!key || !path.p || !rows)
		return NULL;
	for (size_t i = 0; i < n; i++)
		key[i] = (double)xop_time_ps(tree->t, rows[i]);
	if (depth < tree->depth && depth < MAX_TREE_DEPTH && xcli_rank(x, key, n, &order))
		for (size_t i = 0; i < n; i++)
			if (key[order[i]] > 0)
				xv_put(list, NULL,
				       tree_node(tree, rows[order[i]], depth + 1, path));
	xv_str(v, "name", name);
	xv_str(v, "path", path);
	xv_rounded(v, "total_self_time_ms", (double)xop_time_ps(tree->t, row) / 1e9, 4);
	if (ss_cell_bool(tree->t, row, "is_op")) {
		if (ss_cell_str(tree->t, row, "category").n)
			xv_str(v, "category", ss_cell_str(tree->t, row, "category"));
		if (ss_cell_f64(tree->t, row, "model_flops") > 0)
			xv_f64(v, "flops", ss_cell_f64(tree->t, row, "model_flops"));
	}
	if (xv_length(list))
		xv_put(v, "children", list);
	if (n) {
		xv_u64(v, "child_count", n);
		xv_bool(v, "has_children", true);
	}
	return v;
}

/* Go down the path, each part being a child's name or a part of it. */
static bool find_path(const struct tree *tree, struct ss_str path, size_t *row,
		      struct ss_str *found)
{
	struct xcli *x = tree->x;
	bool first = true;
	*row = 0;
	*found = shown_name(tree->t, 0);
	while (path.n) {
		size_t slash = ss_str_chr(path, '/'), n;
		struct ss_str part = ss_str_sub(path, 0, slash == SS_NPOS ? path.n : slash);
		path = ss_str_sub(path, slash == SS_NPOS ? path.n : slash + 1, path.n);
		bool root = first &&
			    (ss_str_ieq(part, SS_STR("root")) ||
			     ss_str_ieq(part, SS_STR("by_category")) ||
			     ss_str_ieq(part, SS_STR("by_program")) || ss_str_ieq(part, *found));
		first = first && !part.n;
		if (!part.n || root)
			continue;
		uint32_t *rows;
		size_t at = 0;
		char word[512];
		n = children_of(tree, *row, &rows);
		memcpy(word, part.p, part.n < sizeof(word) - 1 ? part.n : sizeof(word) - 1);
		word[part.n < sizeof(word) - 1 ? part.n : sizeof(word) - 1] = '\0';
		while (at < n && !ss_str_icontains(xop_name(tree->t, rows[at]), ss_str_from(word)))
			at++;
		if (at == n)
			return xcli_fail(x, XCLI_PATH, "The tree has no node '" SS_FMT "'",
					 SS_ARG(part));
		*row = rows[at];
		*found = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(*found),
					 SS_ARG(xop_name(tree->t, *row)));
	}
	return true;
}

static bool view_tree(struct xcli *x, const struct xops *o, struct xv **out)
{
	struct tree tree = { x, o->t, o->gpu, 0 };
	struct ss_str path;
	uint32_t *rows;
	size_t row;
	if (!xcli_int(x, "depth", &tree.depth) ||
	    !find_path(&tree, ss_str_from(xcli_text(x, "path")), &row, &path))
		return false;
	tree.depth = tree.depth > 0 ? tree.depth : 2;
	struct xv *v = *out = xv_object(&x->make), *paths = xv_array(&x->make);
	xv_str(v, "current_path", path);
	xv_i64(v, "depth_limit", tree.depth);
	xv_rounded(v, "total_self_time_ms", (double)xop_time_ps(o->t, row) / 1e9, 4);
	xv_put(v, "tree", tree_node(&tree, row, 1, SS_STR("")));
	size_t n = children_of(&tree, row, &rows);
	for (size_t i = 0; i < n; i++)
		if (xop_time_ps(o->t, rows[i]) > 0)
			xv_str(paths, NULL,
			       ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(path),
					       SS_ARG(xop_name(o->t, rows[i]))));
	struct xv *hints = xv_add_object(v, "navigation_hints");
	if (xv_length(paths) && paths->m.v[0].value)
		xv_str(hints, "navigate_deeper_into_child",
		       ss_arena_printf(
			       &x->arena,
			       "xprof get_hlo_op_profile <trace> --view=tree --path='" SS_FMT
			       "' --depth=%lld",
			       SS_ARG(paths->m.v[0].value->s), (long long)tree.depth));
	else
		xv_z(hints, "navigate_deeper_into_child", "There are no child nodes.");
	xv_z(hints, "switch_to_program_tree",
	     "xprof get_hlo_op_profile <trace> --view=tree --path='by_program' --depth=2");
	xv_put(hints, "available_child_paths", paths);
	return true;
}

/* The word in small letters, if it is one of the list. */
static const char *word_of(const char *text, const char *const *list)
{
	while (*text == ' ')
		text++;
	for (; *list; list++)
		if (ss_str_ieq(ss_str_from(text), ss_str_from(*list)))
			return *list;
	return NULL;
}

bool xcli_get_hlo_op_profile(struct xcli *x, struct xv **out)
{
	static const char *const views[] = {
		"grouped", "category", "summary", "flat", "tree", NULL
	};
	static const char *const sorts[] = { "time", "flops", "bytes", NULL };
	const char *view = word_of(xcli_text(x, "view"), views),
		   *sort = word_of(xcli_text(x, "sort_by"), sorts);
	struct xops o = { 0 };
	struct groups g = { 0 };
	int64_t top;
	if (!view)
		return xcli_fail(
			x, XCLI_INVALID,
			"There is no view '%.100s': use grouped, category, summary, flat or tree",
			xcli_text(x, "view"));
	if (!sort)
		return xcli_fail(x, XCLI_INVALID,
				 "Operations are not sorted by '%.100s': use time, flops or bytes",
				 xcli_text(x, "sort_by"));
	if (!xcli_int(x, "top_n", &top) || !(o.t = xop_tree(x, &o.gpu)) || !collect(x, &o))
		return false;
	for (size_t i = 0; i < o.n; i++)
		o.key[i] = xop_key(sort, o.v[i].ms, o.v[i].flops, o.v[i].bytes);
	if (!make_groups(x, &o, sort, &g))
		return false;
	if (xcli_given(x, "category"))
		return view_category(x, &o, &g, top, out);
	if (strcmp(view, "flat") == 0)
		return view_flat(x, &o, top, out);
	if (strcmp(view, "tree") == 0)
		return view_tree(x, &o, out);
	*out = strcmp(view, "grouped") == 0 ? view_grouped(x, &o, &g, top)
					    : view_categories(x, &o, &g);
	return true;
}
