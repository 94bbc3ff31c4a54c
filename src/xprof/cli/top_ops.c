/*
 * top_ops.c - the operations that take the longest, compute the most and move the most bytes:
 * get_top_hlo_ops; the first rows of the tree as a text: get_profile_summary.
 */
#include "base/icontains.h"
#include "xprof/cli/modules.h"
#include "xprof/cli/op_tree.h"

static bool is_idle(const struct xop *op)
{
	struct ss_str n = op->name;
	return ss_str_ieq(op->category, SS_STR("idle")) || ss_str_ieq(n, SS_STR("idle")) ||
	       (n.n >= 5 && ss_str_ieq(ss_str_sub(n, n.n - 5, n.n), SS_STR("/idle"))) ||
	       ss_str_icontains(n, SS_STR("/idle/"));
}

/*
 * The name that the operation is shown under: with its framework op where the name alone says
 * little.
 */
static struct ss_str label_of(struct xcli *x, const struct ss_table *t, size_t row,
			      struct ss_str category)
{
	struct ss_str name = xop_name(t, row), more = ss_cell_str(t, row, "provenance"),
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

static bool collect_top(struct xcli *x, struct xops *o)
{
	struct ss_str want = ss_str_from(xcli_text(x, "category_filter"));
	const char *asked = xcli_text(x, "op_name");
	if (!xop_alloc(x, o))
		return false;
	for (size_t row = 0; row < o->t->nrows;) {
		bool leaf = xop_is_leaf(o->t, row);
		if (leaf && ss_cell_bool(o->t, row, "is_op") &&
		    (xop_time_ps(o->t, row) > 0 || *asked)) {
			struct xop *op = &o->v[o->n];
			struct ss_str name = xop_name(o->t, row);
			op->row = (uint32_t)row;
			op->category = ss_cell_str(o->t, row, "category");
			op->name =
				xop_path(x, o->t, row, label_of(x, o->t, row, op->category), false);
			op->ms = (double)xop_time_ps(o->t, row) / 1e9;
			op->occurrences = ss_cell_i64(o->t, row, "occurrences");
			xop_set_cost(o->t, op, name, 1);
			o->n += (!want.n || ss_str_ieq(op->category, want)) &&
				(!*asked || is_asked(op->name, xop_path(x, o->t, row, name, false),
						     name, asked));
		}
		row = leaf ? xop_end(o->t, row) : row + 1;
	}
	return true;
}

/* The longest by a key; the second and third list leave out idle time and what is not known. */
static bool put_top(struct xcli *x, struct xv *answer, const char *key, struct xops *o,
		    const char *sort, int64_t limit, bool *cut)
{
	struct xv *list = xv_add_array(answer, key);
	uint32_t *order;
	size_t kept = 0, all = 0;
	bool timed = strcmp(sort, "time") == 0;
	for (size_t i = 0; i < o->n; i++)
		o->key[i] = xop_key(sort, o->v[i].ms, o->v[i].flops, o->v[i].bytes);
	if (!xcli_rank(x, o->key, o->n, &order))
		return false;
	for (size_t i = 0; i < o->n; i++) {
		const struct xop *op = &o->v[order[i]];
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
	struct xops o = { 0 };
	int64_t limit;
	struct ss_err err;
	bool cut = false;
	if (!xcli_int(x, "limit", &limit) || !xcli_open(x))
		return false;
	const struct ss_result *r = xcli_tool(x, "op_profile", &err);
	if (!r && err.code != SS_ENODATA)
		return xcli_failed(x, &err);
	o.t = r ? xop_find_tree(r) : NULL;
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
	const struct ss_table *t = xop_tree(x, &gpu);
	uint32_t rows[SUMMARY_OPS], *order;
	double key[SUMMARY_OPS];
	size_t n = 0;
	if (!t && x->status != XCLI_PATH)
		return false;
	/* Without operations of a device the summary is an empty one. */
	x->status = XCLI_OK;
	double total = t ? (double)xop_time_ps(t, 0) : 0;
	for (size_t row = 0; t && row < t->nrows && n < SUMMARY_OPS; row++)
		if (xop_time_ps(t, row) > 0) {
			key[n] = (double)xop_time_ps(t, row);
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
		struct ss_str name = xop_name(t, rows[order[i]]);
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
