/*
 * views.c - operations summed by their scope, module, kernel or source line: the same time in other
 * rows.
 */
#include "diff/result.h"

#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

enum { V_KEY, V_BASE, V_NEW, V_DELTA, V_FRAC, V_LOW, V_HIGH, V_ADJUSTED, V_SIGNIFICANT };

static const struct ss_col view_cols[] = {
	STR("key", "Name", "Of the new side, or of the base where that has none"),
	NUM("base_us", "Base", US, "Per step and device"),
	LIKE("new_us", "New", US, "base_us", NULL),
	LIKE("delta_us", "Delta", US, "base_us", NULL),
	NUM("delta_frac", "Delta (%)", FRAC, NULL),
	LIKE("ci_low_us", "95 % from", US, "base_us", NULL),
	LIKE("ci_high_us", "95 % to", US, "base_us", NULL),
	NUM("p_adjusted", "p adjusted", NONE, NULL),
	FLAG("significant", "Significant", NULL),
};

static struct ss_str key_of(const struct ss_diff_op *o, enum ss_diff_by by)
{
	size_t slash = ss_str_rchr(o->path, '/');
	switch (by) {
	case SS_DIFF_BY_SCOPE:
		return slash == SS_NPOS ? SS_STR("") : ss_str_sub(o->path, 0, slash);
	case SS_DIFF_BY_MODULE:
		return o->module;
	case SS_DIFF_BY_KERNEL:
		return o->kernel.n ? o->kernel : o->name;
	case SS_DIFF_BY_SOURCE:
		return o->source;
	case SS_DIFF_BY_OP:
	case SS_DIFF_BY_HOST:
	case SS_DIFF_BY_MEMORY:
	case SS_DIFF_BY_COUNT:
		break;
	}
	return SS_STR("");
}

struct view {
	struct ss_strmap keys;
	uint32_t *group; /* by row of the matching */
	struct ss_diff_row *rows;
	struct placed {
		double size;
		uint32_t at;
	} * order;
};

static int by_size(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return SS_CMP(y->size, x->size) ?: SS_CMP(x->at, y->at);
}

static bool group_ops(struct ss_diff *d, enum ss_diff_by by, struct view *v)
{
	for (size_t i = 0; i < d->match.rows; i++) {
		const struct ss_diff_op_row *o = &d->ops[i];
		const struct ss_diff_op *op =
			o->first_new != SS_NONE ? d->new.ops.v[o->first_new].op : d->base.ops.v[o->first_base].op;
		struct ss_str key = key_of(op, by);
		v->group[i] = ss_strmap_add(&v->keys, key.n ? key : SS_STR("(unknown)"));
		if (v->group[i] == SS_NONE)
			return false;
	}
	return true;
}

static void fill(struct ss_diff *d, struct ss_table *t, struct view *v)
{
	for (uint32_t i = 0; i < v->keys.n; i++)
		v->order[i] = (struct placed){ fabs(v->rows[i].c.delta), i };
	if (v->keys.n)
		qsort(v->order, v->keys.n, sizeof(*v->order), by_size);
	for (uint32_t i = 0; i < v->keys.n; i++) {
		const struct ss_diff_row *r = &v->rows[v->order[i].at];
		ss_table_row(t);
		ss_set_str(t, V_KEY, v->keys.keys[v->order[i].at]);
		ss_set_f64(t, V_BASE, r->c.base);
		ss_set_f64(t, V_NEW, r->c.new);
		ss_set_f64(t, V_DELTA, r->c.delta);
		ss_set_f64(t, V_FRAC, r->c.base > 0 ? r->c.delta / r->c.base : NAN);
		ss_set_f64(t, V_LOW, r->c.low);
		ss_set_f64(t, V_HIGH, r->c.high);
		ss_set_f64(t, V_ADJUSTED, r->p_adjusted);
		ss_set_bool(t, V_SIGNIFICANT, r->significant && !ss_diff_is_refused(d));
	}
}

bool ss_diff_add_view(struct ss_diff *d, enum ss_diff_by by, struct ss_result *out)
{
	static const char *const titles[SS_DIFF_BY_COUNT] = { [SS_DIFF_BY_SCOPE] = "Scopes",
							      [SS_DIFF_BY_MODULE] = "Modules",
							      [SS_DIFF_BY_KERNEL] = "Kernels",
							      [SS_DIFF_BY_SOURCE] = "Source lines" };
	struct view v = { 0 };
	if (!titles[by])
		return true;
	struct ss_table *t = ss_result_table(out, ss_diff_by_table(by), titles[by], view_cols, SS_COUNT(view_cols));
	v.group = calloc(d->match.rows + 1, sizeof(*v.group));
	bool ok = v.group && group_ops(d, by, &v);
	v.rows = calloc(v.keys.n + 1, sizeof(*v.rows));
	v.order = calloc(v.keys.n + 1, sizeof(*v.order));
	ok = ok && v.rows && v.order && ss_diff_compare_groups(d, v.group, v.keys.n, v.rows);
	if (ok)
		fill(d, t, &v);
	ss_strmap_free(&v.keys);
	free(v.group);
	free(v.rows);
	free(v.order);
	return ok;
}

const char *ss_diff_by_table(enum ss_diff_by by)
{
	static const char *const tables[] = {
#define BY(id, word, table) table,
		SS_DIFF_VIEWS(BY)
#undef BY
	};
	return tables[by];
}
