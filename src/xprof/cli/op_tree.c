/* op_tree.c - the rows of op_profile, read as XProf's command line reads its tree. */
#include "xprof/cli/op_tree.h"

#include "xprof/cli/modules.h"

struct ss_str xop_name(const struct ss_table *t, size_t row)
{
	return ss_cell_str(t, row, "name");
}

int64_t xop_time_ps(const struct ss_table *t, size_t row)
{
	return ss_cell_i64(t, row, "time_ps");
}

/*
 * The tree that XProf reads: by category where it has time, else by program. NULL: there is none.
 */
const struct ss_table *xop_find_tree(const struct ss_result *r)
{
	static const char *const names[] = { "by_category", "by_program" };
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		const struct ss_table *t = ss_result_find(r, names[i]);
		if (t->nrows && xop_time_ps(t, 0) > 0)
			return t;
	}
	return NULL;
}

const struct ss_table *xop_tree(struct xcli *x, bool *gpu)
{
	struct ss_err err;
	if (!xcli_open(x))
		return NULL;
	const struct ss_result *r = xcli_tool(x, "op_profile", &err);
	if (!r && err.code != SS_ENODATA) {
		xcli_failed(x, &err);
		return NULL;
	}
	const struct ss_table *t = r ? xop_find_tree(r) : NULL;
	const struct ss_prop *type = t ? ss_table_find_prop(&r->tables[0], "device_type") : NULL;
	*gpu = type && ss_str_is(type->text, "GPU");
	if (!t)
		xcli_fail(x, XCLI_PATH, "The profile '" SS_FMT "' has no operations of a device",
			  SS_ARG(x->input));
	return t;
}

/* Rows after `row` that stand below it end here. */
size_t xop_end(const struct ss_table *t, size_t row)
{
	size_t next = row + 1;
	while (next < t->nrows && ss_cell_i64(t, next, "parent") >= (int64_t)row)
		next++;
	return next;
}

bool xop_is_wrapper(const struct ss_table *t, size_t row)
{
	return ss_str_ends(xop_name(t, row), SS_STR(" and its duplicate(s)"));
}

/* A leaf: nothing below it has time of its own. */
bool xop_is_leaf(const struct ss_table *t, size_t row)
{
	size_t end = xop_end(t, row);
	for (size_t i = row + 1; i < end; i++)
		if (ss_cell_i64(t, i, "parent") == (int64_t)row && xop_time_ps(t, i) > 0)
			return false;
	return true;
}

/*
 * Names of the nodes from the root to this one, with slashes; wrappers of copies may be left out.
 */
struct ss_str xop_path(struct xcli *x, const struct ss_table *t, size_t row,
			     struct ss_str last, bool wrappers)
{
	struct ss_str path = last;
	for (int64_t p = ss_cell_i64(t, row, "parent"); p >= 0 && path.p;
	     p = ss_cell_i64(t, (size_t)p, "parent"))
		if (wrappers || !xop_is_wrapper(t, (size_t)p))
			path = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT,
					       SS_ARG(xop_name(t, (size_t)p)), SS_ARG(path));
	if (!path.p)
		x->make.no_memory = true;
	return path;
}

static double bytes_of(const struct ss_table *t, size_t row)
{
	return ss_cell_f64(t, row, "hbm_bytes") + ss_cell_f64(t, row, "onchip_read_bytes") +
	       ss_cell_f64(t, row, "onchip_write_bytes");
}

void xop_set_cost(const struct ss_table *t, struct xop *op, struct ss_str custom_name,
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

bool xop_alloc(struct xcli *x, struct xops *o)
{
	o->v = SS_NEW_N(&x->arena, struct xop, o->t->nrows + 1);
	o->key = SS_NEW_N(&x->arena, double, o->t->nrows + 1);
	o->total_ms = (double)xop_time_ps(o->t, 0) / 1e9;
	return (o->v && o->key) || xcli_no_memory(x);
}

double xop_key(const char *sort, double ms, double flops, double bytes)
{
	return strcmp(sort, "flops") == 0 ? flops : strcmp(sort, "bytes") == 0 ? bytes : ms;
}
