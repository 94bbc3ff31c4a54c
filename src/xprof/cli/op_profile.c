/*
 * op_profile.c - where the device's time goes, by operation: get_hlo_op_profile, get_top_hlo_ops,
 * get_profile_summary.
 */
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <stdlib.h>

struct op {
	struct ss_str name, category;
	double ms, flops, bytes;
	int64_t occurrences;
	const char *provenance;
	bool opaque;
	uint32_t row;
};

struct ops {
	struct op *v;
	size_t n;
	double *key;
	const struct ss_table *t;
	double total_ms;
	bool gpu;
};

static struct ss_str name_of(const struct ss_table *t, size_t row)
{
	return ss_cell_str(t, row, "name");
}

static int64_t time_of(const struct ss_table *t, size_t row)
{
	return ss_cell_i64(t, row, "time_ps");
}

/*
 * The tree that XProf reads: by category where it has time, else by program. NULL: there is none.
 */
static const struct ss_table *find_tree(const struct ss_result *r)
{
	static const char *const names[] = { "by_category", "by_program" };
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		const struct ss_table *t = ss_result_find(r, names[i]);
		if (t->nrows && time_of(t, 0) > 0)
			return t;
	}
	return NULL;
}

static const struct ss_table *tree_of(struct xcli *x, bool *gpu)
{
	struct ss_err err;
	if (!xcli_open(x))
		return NULL;
	const struct ss_result *r = xcli_tool(x, "op_profile", &err);
	if (!r && err.code != SS_ENODATA) {
		xcli_failed(x, &err);
		return NULL;
	}
	const struct ss_table *t = r ? find_tree(r) : NULL;
	const struct ss_prop *type = t ? ss_table_find_prop(&r->tables[0], "device_type") : NULL;
	*gpu = type && ss_str_is(type->text, "GPU");
	if (!t)
		xcli_fail(x, XCLI_PATH, "The profile '" SS_FMT "' has no operations of a device",
			  SS_ARG(x->input));
	return t;
}

/* Rows after `row` that stand below it end here. */
static size_t end_of(const struct ss_table *t, size_t row)
{
	size_t next = row + 1;
	while (next < t->nrows && ss_cell_i64(t, next, "parent") >= (int64_t)row)
		next++;
	return next;
}

static bool is_wrapper(const struct ss_table *t, size_t row)
{
	return ss_str_ends(name_of(t, row), SS_STR(" and its duplicate(s)"));
}

/* A leaf: nothing below it has time of its own. */
static bool is_leaf(const struct ss_table *t, size_t row)
{
	size_t end = end_of(t, row);
	if (ss_cell_bool(t, row, "is_op") && !is_wrapper(t, row))
		return true;
	for (size_t i = row + 1; i < end; i++)
		if (ss_cell_i64(t, i, "parent") == (int64_t)row && time_of(t, i) > 0)
			return false;
	return true;
}

/*
 * Names of the nodes from the root to this one, with slashes; wrappers of copies may be left out.
 */
static struct ss_str path_of(struct xcli *x, const struct ss_table *t, size_t row,
			     struct ss_str last, bool wrappers)
{
	struct ss_str path = last;
	for (int64_t p = ss_cell_i64(t, row, "parent"); p >= 0 && path.p;
	     p = ss_cell_i64(t, (size_t)p, "parent"))
		if (wrappers || !is_wrapper(t, (size_t)p))
			path = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT,
					       SS_ARG(name_of(t, (size_t)p)), SS_ARG(path));
	if (!path.p)
		x->make.no_memory = true;
	return path;
}

static double bytes_of(const struct ss_table *t, size_t row)
{
	return ss_cell_f64(t, row, "hbm_bytes") + ss_cell_f64(t, row, "onchip_read_bytes") +
	       ss_cell_f64(t, row, "onchip_write_bytes");
}

static bool lower_has(struct ss_str s, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= s.n; i++)
		if (ss_str_ieq(ss_str_sub(s, i, i + n), ss_str_from(word)))
			return true;
	return false;
}

/* Without one of its own: a word in the name. */
static struct ss_str category_of(const struct ss_table *t, size_t row)
{
	static const char *const words[] = { "custom-call", "fusion", "convolution", "dot",
					     "reduce",	    "copy",   "reshape",     "broadcast",
					     "while",	    "tuple" };
	struct ss_str category = ss_cell_str(t, row, "category"), name = name_of(t, row);
	if (category.n && ss_cell_bool(t, row, "is_op"))
		return category;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (lower_has(name, words[i]))
			return ss_str_from(words[i]);
	if (!name.n || name.p[0] != '%')
		return SS_STR("unknown");
	name = ss_str_sub(name, 1, name.n);
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '.' || name.p[i] == '_')
			return ss_str_sub(name, 0, i);
	return name;
}

static void set_cost(const struct ss_table *t, struct op *op, struct ss_str custom_name,
		     double times)
{
	struct ss_str expression = ss_cell_str(t, op->row, "expression");
	op->flops = ss_cell_f64(t, op->row, "model_flops");
	op->bytes = bytes_of(t, op->row);
	op->provenance = "xla_cost_model";
	if (!xcli_is_custom_call(expression, op->category, custom_name))
		return;
	struct xcli_custom_call c = { 0 };
	if (expression.n)
		c = xcli_custom_call(expression, op->category, custom_name);
	op->opaque = !c.derived;
	op->flops = c.derived ? c.flops * times : 0;
	op->bytes = c.derived ? c.bytes * times : 0;
	op->provenance = c.derived ? "derived_from_shapes" : "opaque_custom_call";
}

static bool make_ops(struct xcli *x, struct ops *o)
{
	o->v = SS_NEW_N(&x->arena, struct op, o->t->nrows + 1);
	o->key = SS_NEW_N(&x->arena, double, o->t->nrows + 1);
	o->total_ms = (double)time_of(o->t, 0) / 1e9;
	return (o->v && o->key) || xcli_no_memory(x);
}

/* --- get_hlo_op_profile ------------------------------------------------------------------------ */

static bool collect(struct xcli *x, struct ops *o)
{
	if (!make_ops(x, o))
		return false;
	for (size_t row = 0; row < o->t->nrows;) {
		bool leaf = is_leaf(o->t, row);
		if (leaf && time_of(o->t, row) > 0) {
			struct op *op = &o->v[o->n++];
			op->row = (uint32_t)row;
			op->name = path_of(x, o->t, row, name_of(o->t, row), true);
			op->category = category_of(o->t, row);
			op->ms = xv_round((double)time_of(o->t, row) / 1e9, 4);
			op->occurrences = ss_cell_i64(o->t, row, "occurrences");
			op->occurrences = op->occurrences > 0 ? op->occurrences : 1;
			set_cost(o->t, op, op->name, (double)op->occurrences);
		}
		row = leaf ? end_of(o->t, row) : row + 1;
	}
	return o->n ||
	       xcli_fail(x, XCLI_PATH, "The profile '" SS_FMT "' has no operations of a device",
			 SS_ARG(x->input));
}

static struct xv *put_op(struct xv *list, const struct ops *o, const struct op *op)
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

static double key_of(const char *sort, double ms, double flops, double bytes)
{
	return strcmp(sort, "flops") == 0 ? flops : strcmp(sort, "bytes") == 0 ? bytes : ms;
}

/* Operations by category, both sorted. */
static bool make_groups(struct xcli *x, const struct ops *o, const char *sort, struct groups *g)
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
		key[i] = key_of(sort, xv_round(g->v[i].ms, 4), g->v[i].flops, g->v[i].bytes);
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

static void put_summary(struct xv *list, const struct ops *o, const struct groups *g)
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

static struct xv *view_grouped(struct xcli *x, const struct ops *o, const struct groups *g,
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
			const struct op *op = &o->v[one->ops[k]];
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

static struct xv *view_categories(struct xcli *x, const struct ops *o, const struct groups *g)
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
		if (!lower_has(name, words[i % SS_COUNT(words)]))
			continue;
		put_hint(x, hints, "drill_down_into_communication",
			 "xprof get_hlo_op_profile <trace> --category='", name, "'");
		break;
	}
	return v;
}

static bool view_category(struct xcli *x, const struct ops *o, const struct groups *g, int64_t top,
			  struct xv **out)
{
	struct ss_str want = ss_str_from(xcli_text(x, "category"));
	const struct group *one = NULL;
	for (int exact = 1; exact >= 0 && !one; exact--)
		for (size_t i = 0; i < g->n && !one; i++) {
			const struct group *c = &g->v[g->order[i]];
			if (exact ? ss_str_ieq(c->name, want)
				  : lower_has(c->name, xcli_text(x, "category")))
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
		const struct op *op = &o->v[one->ops[k]];
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

static bool view_flat(struct xcli *x, const struct ops *o, int64_t top, struct xv **out)
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
	size_t end = end_of(t, row), n = 0;
	*rows = SS_NEW_N(&tree->x->arena, uint32_t, end - row + 1);
	if (!*rows) {
		tree->x->make.no_memory = true;
		return 0;
	}
	if (tree->gpu && ss_cell_bool(t, row, "is_op") && !is_wrapper(t, row))
		return 0;
	for (size_t i = row + 1; i < end; i++)
		if (ss_cell_i64(t, i, "parent") == (int64_t)row)
			(*rows)[n++] = (uint32_t)i;
	return n;
}

static struct ss_str shown_name(const struct ss_table *t, size_t row)
{
	struct ss_str name = name_of(t, row);
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
		key[i] = (double)time_of(tree->t, rows[i]);
	if (depth < tree->depth && depth < MAX_TREE_DEPTH && xcli_rank(x, key, n, &order))
		for (size_t i = 0; i < n; i++)
			if (key[order[i]] > 0)
				xv_put(list, NULL,
				       tree_node(tree, rows[order[i]], depth + 1, path));
	xv_str(v, "name", name);
	xv_str(v, "path", path);
	xv_rounded(v, "total_self_time_ms", (double)time_of(tree->t, row) / 1e9, 4);
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
		while (at < n && !lower_has(name_of(tree->t, rows[at]), word))
			at++;
		if (at == n)
			return xcli_fail(x, XCLI_PATH, "The tree has no node '" SS_FMT "'",
					 SS_ARG(part));
		*row = rows[at];
		*found = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(*found),
					 SS_ARG(name_of(tree->t, *row)));
	}
	return true;
}

static bool view_tree(struct xcli *x, const struct ops *o, struct xv **out)
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
	xv_rounded(v, "total_self_time_ms", (double)time_of(o->t, row) / 1e9, 4);
	xv_put(v, "tree", tree_node(&tree, row, 1, SS_STR("")));
	size_t n = children_of(&tree, row, &rows);
	for (size_t i = 0; i < n; i++)
		if (time_of(o->t, rows[i]) > 0)
			xv_str(paths, NULL,
			       ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(path),
					       SS_ARG(name_of(o->t, rows[i]))));
	struct xv *hints = xv_add_object(v, "navigation_hints");
	if (xv_length(paths) && paths->m.v[0].value)
		xv_str(hints, "navigate_deeper_into_child",
		       ss_arena_printf(
			       &x->arena,
			       "xprof get_hlo_op_profile <trace> --view=tree --path='" SS_FMT
			       "' --depth=%lld",
			       SS_ARG(paths->m.v[0].value->s), (long long)tree.depth));
	else
		xv_z(hints, "navigate_deeper_into_child", "There are no nodes below.");
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
	struct ops o = { 0 };
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
	if (!xcli_int(x, "top_n", &top) || !(o.t = tree_of(x, &o.gpu)) || !collect(x, &o))
		return false;
	for (size_t i = 0; i < o.n; i++)
		o.key[i] = key_of(sort, o.v[i].ms, o.v[i].flops, o.v[i].bytes);
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

/* --- get_profile_summary ----------------------------------------------------------------------- */

#define SUMMARY_OPS 10

static struct ss_str share_line(struct xcli *x, struct ss_str text, struct ss_str name, double s,
				double share)
{
	return ss_arena_printf(&x->arena, SS_FMT "\n| " SS_FMT " | %.4f | %.1f%% |", SS_ARG(text),
			       SS_ARG(name), s, 100 * share);
}

bool xcli_get_profile_summary(struct xcli *x, struct xv **out)
{
	bool gpu;
	const struct ss_table *t = tree_of(x, &gpu);
	uint32_t rows[SUMMARY_OPS], *order;
	double key[SUMMARY_OPS];
	size_t n = 0;
	if (!t && x->status != XCLI_PATH)
		return false;
	/* Without operations of a device the summary is an empty one. */
	x->status = XCLI_OK;
	double total = t ? (double)time_of(t, 0) : 0;
	for (size_t row = 0; t && row < t->nrows && n < SUMMARY_OPS; row++)
		if (time_of(t, row) > 0) {
			key[n] = (double)time_of(t, row);
			rows[n++] = (uint32_t)row;
		}
	if (!xcli_rank(x, key, n, &order))
		return false;
	struct xv *v = *out = xv_object(&x->make);
	xv_z(v, "status", "SUCCESS");
	xv_str(v, "session_id", x->input);
	xv_rounded(v, "total_time_s", total / 1e12, 6);
	struct xv *list = xv_add_array(v, "top_operations");
	struct ss_str text =
		ss_arena_printf(&x->arena,
				"Profile of " SS_FMT
				"\nTime: %.4f s\n\n| Name | Self time (s) | Share |\n|---|---|---|",
				SS_ARG(x->input), total / 1e12);
	for (size_t i = 0; i < n && text.p; i++) {
		double s = key[order[i]] / 1e12, share = key[order[i]] / total;
		struct ss_str name = name_of(t, rows[order[i]]);
		struct xv *op = xv_add_object(list, NULL);
		name = name.n ? name : SS_STR("Unknown");
		xv_str(op, "name", name);
		xv_rounded(op, "self_time_s", s, 6);
		xv_rounded(op, "fraction", share, 6);
		text = share_line(x, text, name, s, share);
	}
	if (!text.p)
		return xcli_no_memory(x);
	xv_str(v, "summary_markdown", text);
	xv_str(v, "markdown_summary", text);
	xv_bool(v, "truncated", false);
	xv_add_array(v, "notes");
	return true;
}

/* --- get_top_hlo_ops --------------------------------------------------------------------------- */

static bool is_idle(const struct op *op)
{
	struct ss_str n = op->name;
	return ss_str_ieq(op->category, SS_STR("idle")) || ss_str_ieq(n, SS_STR("idle")) ||
	       (n.n >= 5 && ss_str_ieq(ss_str_sub(n, n.n - 5, n.n), SS_STR("/idle"))) ||
	       lower_has(n, "/idle/");
}

/*
 * The name that the operation is shown under: with its framework op where the name alone says
 * little.
 */
static struct ss_str label_of(struct xcli *x, const struct ss_table *t, size_t row,
			      struct ss_str category)
{
	struct ss_str name = name_of(t, row), more = ss_cell_str(t, row, "provenance"),
		      text = ss_cell_str(t, row, "expression");
	bool custom = ss_str_ieq(category, SS_STR("custom-call")) ||
		      ss_str_ieq(category, SS_STR("custom_call"));
	if (more.n) {
		if (!custom && !ss_str_is(name, "IDLE") && !ss_str_is(name, "idle") &&
		    !ss_str_is(name, "unknown") && name.n)
			return name;
	} else if (custom) {
		size_t at = ss_str_find(text, SS_STR("custom_call_target=\""));
		more = at == SS_NPOS
			       ? SS_STR("")
			       : ss_str_sub(text, at + strlen("custom_call_target=\""), text.n);
		size_t quote = ss_str_chr(more, '"');
		more = ss_str_sub(more, 0, quote == SS_NPOS ? 0 : quote);
	}
	if (!more.n || ss_str_eq(more, name))
		return name;
	return ss_arena_printf(&x->arena, SS_FMT " [" SS_FMT "]", SS_ARG(name), SS_ARG(more));
}

static bool ends_as_path(struct ss_str path, struct ss_str end)
{
	return ss_str_eq(path, end) ||
	       (path.n > end.n && ss_str_ends(path, end) && path.p[path.n - end.n - 1] == '/');
}

/*
 * The name that was asked for: whole, the end of a path, or without its number; - and _ are alike.
 */
static bool is_asked(struct ss_str full, struct ss_str raw, struct ss_str leaf, const char *want)
{
	char tries[3][512];
	while (leaf.n && leaf.p[0] == '%')
		leaf = ss_str_sub(leaf, 1, leaf.n);
	for (int i = 0; i < 3; i++) {
		size_t n = 0;
		for (const char *p = want; *p && n < sizeof(tries[i]) - 1; p++)
			tries[i][n++] = i == 1 && *p == '_' ? '-' : i == 2 && *p == '-' ? '_' : *p;
		struct ss_str one = { tries[i], n };
		if (ends_as_path(full, one) || ends_as_path(raw, one))
			return true;
		while (one.n && one.p[0] == '%')
			one = ss_str_sub(one, 1, one.n);
		if (ss_str_eq(leaf, one) ||
		    (leaf.n > one.n && ss_str_starts(leaf, one) && leaf.p[one.n] == '.'))
			return true;
	}
	return false;
}

static bool collect_top(struct xcli *x, struct ops *o)
{
	struct ss_str want = ss_str_from(xcli_text(x, "category_filter"));
	const char *asked = xcli_text(x, "op_name");
	if (!make_ops(x, o))
		return false;
	for (size_t row = 0; row < o->t->nrows;) {
		bool leaf = is_leaf(o->t, row);
		if (leaf && ss_cell_bool(o->t, row, "is_op") &&
		    (time_of(o->t, row) > 0 || *asked)) {
			struct op *op = &o->v[o->n];
			struct ss_str name = name_of(o->t, row);
			op->row = (uint32_t)row;
			op->category = ss_cell_str(o->t, row, "category");
			op->name =
				path_of(x, o->t, row, label_of(x, o->t, row, op->category), false);
			op->ms = (double)time_of(o->t, row) / 1e9;
			op->occurrences = ss_cell_i64(o->t, row, "occurrences");
			set_cost(o->t, op, name, 1);
			o->n += (!want.n || ss_str_ieq(op->category, want)) &&
				(!*asked || is_asked(op->name, path_of(x, o->t, row, name, false),
						     name, asked));
		}
		row = leaf ? end_of(o->t, row) : row + 1;
	}
	return true;
}

/* The longest by a key; the second and third list leave out idle time and what is not known. */
static bool put_top(struct xcli *x, struct xv *answer, const char *key, struct ops *o,
		    const char *sort, int64_t limit, bool *cut)
{
	struct xv *list = xv_add_array(answer, key);
	uint32_t *order;
	size_t kept = 0, all = 0;
	bool timed = strcmp(sort, "time") == 0;
	for (size_t i = 0; i < o->n; i++)
		o->key[i] = key_of(sort, o->v[i].ms, o->v[i].flops, o->v[i].bytes);
	if (!xcli_rank(x, o->key, o->n, &order))
		return false;
	for (size_t i = 0; i < o->n; i++) {
		const struct op *op = &o->v[order[i]];
		if (!timed && (is_idle(op) || op->opaque))
			continue;
		all++;
		if (limit > 0 && kept == (uint64_t)limit)
			continue;
		struct ss_str stack = ss_cell_str(o->t, op->row, "source_stack");
		struct xv *v = xv_add_object(list, NULL);
		xv_str(v, "name", op->name);
		xv_str(v, "category", op->category);
		xv_f64(v, "total_self_time_ms", op->ms);
		xv_i64(v, "occurrences", op->occurrences);
		if (op->opaque) {
			xv_null(v, "flops");
			xv_null(v, "bytes_accessed");
		} else {
			xv_f64(v, "flops", op->flops);
			xv_f64(v, "bytes_accessed", op->bytes);
		}
		xv_z(v, "flops_provenance", op->provenance);
		xv_str(v, "source_file", ss_cell_str(o->t, op->row, "source_file"));
		xv_i64(v, "source_line", ss_cell_i64(o->t, op->row, "source_line"));
		if (stack.n)
			xv_str(v, "stack_frame", stack);
		kept++;
	}
	*cut = *cut || kept < all;
	return true;
}

static void put_semantics(struct xv *v)
{
	struct xv *s = xv_add_object(v, "metric_semantics");
	xv_z(s, "source", "op_profile");
	xv_z(s, "total_self_time_ms", "Time that the operation took on its core.");
	xv_z(s, "flops",
	     "FLOPs of the compiler's cost model, or of the shapes of a custom call "
	     "(flops_provenance).");
	xv_z(s, "bytes_accessed", "Sum over the kinds of memory that the profile tells apart.");
	xv_z(s, "comparability_with_get_roofline_model",
	     "get_roofline_model counts FLOPs and bytes otherwise: take intensities from there, "
	     "and ranks by time from here.");
}

bool xcli_get_top_hlo_ops(struct xcli *x, struct xv **out)
{
	struct ops o = { 0 };
	int64_t limit;
	struct ss_err err;
	bool cut = false;
	if (!xcli_int(x, "limit", &limit) || !xcli_open(x))
		return false;
	const struct ss_result *r = xcli_tool(x, "op_profile", &err);
	if (!r && err.code != SS_ENODATA)
		return xcli_failed(x, &err);
	o.t = r ? find_tree(r) : NULL;
	if (o.t && !collect_top(x, &o))
		return false;
	struct xv *v = *out = xv_object(&x->make);
	if (!put_top(x, v, "top_by_time", &o, "time", limit, &cut) ||
	    !put_top(x, v, "top_by_flops", &o, "flops", limit, &cut) ||
	    !put_top(x, v, "top_by_bytes_accessed", &o, "bytes", limit, &cut))
		return false;
	double total = 0;
	bool opaque = false;
	struct xv *first = xv_get(v, "top_by_time");
	for (size_t i = 0; i < o.n; i++)
		total += o.v[i].ms;
	for (size_t i = 0; i < xv_length(first); i++)
		opaque = opaque || ss_str_is(xv_get_str(first->m.v[i].value, "flops_provenance"),
					     "opaque_custom_call");
	xv_u64(v, "total_matched", o.n);
	xv_bool(v, "truncated", cut);
	xv_u64(v, "total_records", o.n);
	xv_u64(v, "returned_records", xv_length(first));
	xv_rounded(v, "total_self_time_ms_all_records", total, 4);
	if (!o.n) {
		xv_bool(v, "has_by_program", r && ss_result_find(r, "by_program")->nrows > 0);
		return true;
	}
	put_semantics(v);
	if (opaque)
		xv_z(v, "guidance",
		     "The FLOPs and bytes of some custom calls are not known, so the second and "
		     "third list leave them out. "
		     "get_kernel_utilization and get_llo_analysis look into such kernels.");
	return true;
}
