/*
 * tool_tables.c - see tool_tables.h: which tables are compared and how; tables whose rows are
 * steps. tool_rows.c joins rows.
 */
#include "diff/result.h"
#include "diff/tool_join.h"
#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

static const struct ss_join_spec specs[] = {
#define ROWS(tool, table, keys, subject, figures, sums) \
	{ tool, table, keys, "", figures, sums, SS_SUBJECT_##subject, SS_JOIN_ROWS },
#define STEPS(tool, table, step, keys) { tool, table, keys, step, "", "", SS_SUBJECT_NOTHING, SS_JOIN_STEPS },
#define APART(tool, table) { tool, table, "", "", "", "", SS_SUBJECT_NOTHING, SS_JOIN_APART },
#include "diff/tool_tables.def"
#undef ROWS
#undef STEPS
#undef APART
};

static bool is_named(const char *pattern, struct ss_str name)
{
	struct ss_str p = ss_str_from(pattern);
	if (ss_str_ends(p, SS_STR("*")))
		return ss_str_starts(name, ss_str_sub(p, 0, p.n - 1));
	return ss_str_eq(p, name);
}

static const struct ss_join_spec *spec_of(struct ss_str tool, struct ss_str table)
{
	for (size_t i = 0; i < SS_COUNT(specs); i++)
		if (ss_str_is(tool, specs[i].tool) && is_named(specs[i].table, table))
			return &specs[i];
	return NULL;
}

/* ---- tables whose rows are steps ---- */

enum { T_FIGURE, T_UNIT, T_BASE, T_NEW, T_DELTA, T_FRAC, T_LOW, T_HIGH, T_ADJUSTED, T_VERDICT, T_COLS };

static const struct ss_col step_cols[T_COLS] = {
	STR("figure", "Figure", "A column of the tool's table"),
	STR("unit", "Unit", "Unit of base, new, delta and the interval"),
	NUM("base", "Base", NONE, "Mean over the steps; a step that does not list the row counts as 0"),
	NUM("new", "New", NONE, NULL),
	NUM("delta", "Delta", NONE, "New minus base"),
	NUM("delta_frac", "Delta (%)", FRAC, "Delta divided by base"),
	NUM("ci_low", "95 % from", NONE, "The interval that holds the true delta with 95 % confidence"),
	NUM("ci_high", "95 % to", NONE, NULL),
	NUM("p_adjusted", "p Adjusted", NONE,
	    "p value, adjusted for the number of rows (Benjamini-Hochberg); empty if the row was not tested"),
	STR("verdict", "Verdict", "more, less, no_change; empty: no test"),
};

/* A figure of a group of rows ("all-reduce" of each step), over the steps of a run. */
struct step_rows {
	struct ss_diff *d;
	const struct ss_join_spec *s;
	const struct ss_table *like; /* its columns */
	struct ss_u64map groups;
	SS_VEC(const struct ss_table *) table; /* by group: where it is seen first, */
	SS_VEC(size_t) row;		       /* and in which row */
	size_t nkeys, keys[8];
	size_t nfigures, *figures;
	struct ss_sample *samples[2]; /* (group, figure) x runs */
};

static bool step_number(const struct ss_table *t, const char *col, size_t row, uint64_t *out)
{
	size_t c = ss_table_col(t, col);
	int64_t v = 0;
	if (c == SS_NPOS || (t->cols[c].type == SS_TYPE_STR && !ss_str_to_i64(t->data[c].str[row], &v)))
		return false;
	*out = t->cols[c].type == SS_TYPE_STR ? (uint64_t)v : ss_join_cell_hash(t, row, c);
	return true;
}

static uint64_t group_hash(const struct step_rows *j, const struct ss_table *t, size_t row)
{
	uint64_t h = 1;
	for (size_t k = 0; k < j->nkeys; k++) {
		size_t c = ss_table_col(t, j->like->cols[j->keys[k]].id);
		h = ss_mix(h, c == SS_NPOS ? 0 : ss_join_cell_hash(t, row, c));
	}
	return h;
}

static bool find_groups(struct step_rows *j, struct ss_tool_side side)
{
	uint64_t step;
	for (size_t i = 0; i < side.n; i++) {
		const struct ss_table *t = ss_result_find(&side.v[i], j->like->name);
		for (size_t row = 0; row < t->nrows; row++) {
			if (!step_number(t, j->s->step, row, &step))
				continue;
			uint32_t g = ss_u64map_add(&j->groups, group_hash(j, t, row), (uint32_t)j->row.n);
			if (g == SS_NONE || (g == j->row.n && (!ss_vec_push(&j->table, t) || !ss_vec_push(&j->row, row))))
				return false;
		}
	}
	return true;
}

/* Rows of a table by group, those of a group by step. */
struct by_group {
	uint32_t group, step;
	size_t row;
};

static int compare_by_group(const void *a, const void *b)
{
	const struct by_group *x = a, *y = b;
	return SS_CMP(x->group, y->group) ?: SS_CMP(x->step, y->step);
}

/* Steps that do not list the group are zeros in its sample. */
static void sample_group(struct step_rows *j, const struct ss_table *t, const struct by_group *v, size_t n, size_t nsteps,
			 double *scratch, struct ss_sample *out, size_t stride)
{
	for (size_t f = 0; f < j->nfigures; f++) {
		size_t c = ss_table_col(t, j->like->cols[j->figures[f]].id);
		bool known = c != SS_NPOS;
		memset(scratch, 0, nsteps * sizeof(*scratch));
		for (size_t i = 0; known && i < n; i++) {
			double x = ss_join_number(t, v[i].row, c);
			known = isfinite(x);
			scratch[v[i].step] += x;
		}
		out[f * stride] = known ? ss_sample_of(scratch, nsteps) : (struct ss_sample){ .n = 1, .mean = NAN };
	}
}

static bool sample_run(struct step_rows *j, const struct ss_table *t, struct ss_sample *out, size_t stride)
{
	struct ss_u64map steps = { 0 };
	struct by_group *v = calloc(t->nrows + 1, sizeof(*v));
	double *scratch = calloc(t->nrows + 1, sizeof(*scratch));
	size_t n = 0;
	bool ok = v && scratch;
	for (size_t row = 0; ok && row < t->nrows; row++) {
		uint64_t num;
		if (!step_number(t, j->s->step, row, &num))
			continue;
		uint32_t step = ss_u64map_add(&steps, num, (uint32_t)steps.n);
		v[n++] = (struct by_group){ ss_u64map_get(&j->groups, group_hash(j, t, row)), step, row };
		ok = step != SS_NONE;
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), compare_by_group);
	for (size_t i = 0, end; ok && i < n; i = end) {
		for (end = i + 1; end < n && v[end].group == v[i].group; end++)
			continue;
		sample_group(j, t, v + i, end - i, steps.n, scratch, out + v[i].group * j->nfigures * stride, stride);
	}
	ss_u64map_free(&steps);
	free(v);
	free(scratch);
	return ok;
}

static bool sample_side(struct step_rows *j, struct ss_tool_side side, struct ss_sample **out)
{
	bool ok = (*out = calloc(j->row.n * j->nfigures * side.n + 1, sizeof(**out)));
	for (size_t i = 0; ok && i < side.n; i++)
		ok = sample_run(j, ss_result_find(&side.v[i], j->like->name), *out + i, side.n);
	return ok;
}

static void put_steps(struct step_rows *j, struct ss_table *to, const struct ss_diff_row *rows)
{
	for (size_t i = 0; i < j->row.n * j->nfigures; i++) {
		const struct ss_diff_row *r = &rows[i];
		const struct ss_col *figure = &j->like->cols[j->figures[i % j->nfigures]];
		const struct ss_table *from = j->table.v[i / j->nfigures];
		if (isnan(r->c.delta) || (r->c.base == 0 && r->c.new == 0))
			continue;
		ss_table_row(to);
		for (size_t k = 0; k < j->nkeys; k++)
			ss_join_copy_cell(to, k, from, j->row.v[i / j->nfigures], ss_table_col(from, j->like->cols[j->keys[k]].id));
		ss_set_str(to, j->nkeys + T_FIGURE, ss_str_from(figure->label));
		ss_set_str(to, j->nkeys + T_UNIT, ss_str_from(ss_unit_name(figure->unit)));
		ss_set_f64(to, j->nkeys + T_BASE, r->c.base);
		ss_set_f64(to, j->nkeys + T_NEW, r->c.new);
		ss_set_f64(to, j->nkeys + T_DELTA, r->c.delta);
		ss_set_f64(to, j->nkeys + T_FRAC, r->c.base > 0 ? r->c.delta / r->c.base : NAN);
		ss_set_f64(to, j->nkeys + T_LOW, r->c.low);
		ss_set_f64(to, j->nkeys + T_HIGH, r->c.high);
		ss_set_f64(to, j->nkeys + T_ADJUSTED, r->p_adjusted);
		ss_set_str(to, j->nkeys + T_VERDICT, ss_join_verdict(j->d, r));
	}
}

static bool join_steps(struct ss_diff *d, const struct ss_join_spec *s, const struct ss_table *like, struct ss_tool_side base,
		       struct ss_tool_side new, struct ss_result *out)
{
	struct step_rows j = { .d = d, .s = s, .like = like };
	struct ss_col *cols = SS_NEW_N(out->arena, struct ss_col, SS_COUNT(j.keys) + T_COLS);
	struct ss_diff_row *rows = NULL;
	bool ok = cols && (j.figures = calloc(like->ncols + 1, sizeof(*j.figures)));
	for (size_t c = 0; ok && c < like->ncols; c++) {
		if (ss_join_names_one_host(like, c, base, new))
			continue;
		if (ss_join_has(s->keys, like->cols[c].id) && j.nkeys < SS_COUNT(j.keys)) {
			cols[j.nkeys] = like->cols[c];
			j.keys[j.nkeys++] = c;
		} else if (ss_join_is_figure(s, &like->cols[c])) {
			j.figures[j.nfigures++] = c;
		}
	}
	ok = ok && find_groups(&j, base) && find_groups(&j, new) && sample_side(&j, base, &j.samples[0]) &&
	     sample_side(&j, new, &j.samples[1]) && (rows = calloc(j.row.n * j.nfigures + 1, sizeof(*rows))) &&
	     ss_diff_compare_samples(d, j.samples[0], j.samples[1], j.row.n * j.nfigures, 0, rows);
	if (ok && j.row.n && j.nfigures) {
		memcpy(cols + j.nkeys, step_cols, sizeof(step_cols));
		put_steps(&j, ss_result_table(out, like->name, like->title, cols, j.nkeys + T_COLS), rows);
	}
	ss_u64map_free(&j.groups);
	ss_vec_free(&j.table);
	ss_vec_free(&j.row);
	free(j.figures);
	free(j.samples[0]);
	free(j.samples[1]);
	free(rows);
	return ok;
}

/* ---- properties ---- */

enum { P_TABLE, P_FIGURE, P_UNIT, P_BASE, P_NEW, P_DELTA, P_FRAC };

static const struct ss_col prop_cols[] = {
	STR("table", "Table", NULL),
	STR("figure", "Figure", NULL),
	STR("unit", "Unit", "Unit of base, new and delta"),
	NUM("base", "Base", NONE, "Of the first run"),
	NUM("new", "New", NONE, NULL),
	NUM("delta", "Delta", NONE, "New minus base"),
	NUM("delta_frac", "Delta (%)", FRAC, "Delta divided by base"),
};

/* Numbers that stand beside a table; that of a row is none. */
static bool is_figure(const struct ss_prop *p)
{
	return isfinite(p->value) && strcmp(p->id, "largest_target") != 0;
}

static void put_props(struct ss_table *to, const struct ss_table *b, const struct ss_table *n)
{
	for (size_t i = 0; i < b->nprops; i++) {
		const struct ss_prop *p = &b->props[i], *other = ss_table_find_prop(n, p->id);
		if (!other || !is_figure(p) || !is_figure(other) ||
		    (p->value == 0 && other->value == 0))
			continue;
		ss_table_row(to);
		ss_set_str(to, P_TABLE, ss_str_from(b->title ? b->title : b->name));
		ss_set_str(to, P_FIGURE, ss_str_from(p->label ? p->label : p->id));
		ss_set_str(to, P_UNIT, ss_str_from(ss_unit_name(p->unit)));
		ss_set_f64(to, P_BASE, p->value);
		ss_set_f64(to, P_NEW, other->value);
		ss_set_f64(to, P_DELTA, other->value - p->value);
		ss_set_f64(to, P_FRAC, p->value > 0 ? (other->value - p->value) / p->value : NAN);
	}
}

static bool has_props(const struct ss_table *t)
{
	for (size_t i = 0; i < t->nprops; i++)
		if (is_figure(&t->props[i]))
			return true;
	return false;
}

static void add_props(struct ss_tool_side base, struct ss_tool_side new, struct ss_result *out)
{
	bool any = false;
	for (size_t i = 0; base.n && new.n && i < base.v[0].ntables; i++)
		any = any || has_props(&base.v[0].tables[i]);
	struct ss_table *t =
		any ? ss_result_table(out, "properties", "Figures of the whole", prop_cols, SS_COUNT(prop_cols)) : NULL;
	for (size_t i = 0; any && i < base.v[0].ntables; i++)
		put_props(t, &base.v[0].tables[i], ss_result_find(&new.v[0], base.v[0].tables[i].name));
}

/* ---- all ---- */

static bool join_table(struct ss_diff *d, struct ss_str tool, const struct ss_table *like, struct ss_tool_side base,
		       struct ss_tool_side new, struct ss_result *out)
{
	const struct ss_join_spec *s = spec_of(tool, ss_str_from(like->name));
	if (!s && like->ncols)
		ss_result_note(out, SS_WARNING, ss_arena_printf(out->arena, "the table '%s' is not compared", like->name));
	if (!s || s->kind == SS_JOIN_APART || !like->ncols)
		return true;
	return s->kind == SS_JOIN_STEPS ? join_steps(d, s, like, base, new, out) : ss_join_rows(d, s, like, base, new, out);
}

bool ss_diff_tool_result(struct ss_diff *d, struct ss_str tool, struct ss_tool_side base, struct ss_tool_side new,
			 struct ss_result *out, struct ss_err *err)
{
	bool ok = true;
	for (size_t i = 0; ok && base.n && i < base.v[0].ntables; i++)
		ok = join_table(d, tool, &base.v[0].tables[i], base, new, out);
	for (size_t i = 0; ok && new.n && i < new.v[0].ntables; i++)
		if (!base.n || !ss_result_find(&base.v[0], new.v[0].tables[i].name)->ncols)
			ok = join_table(d, tool, &new.v[0].tables[i], base, new, out);
	if (!ok)
		return ss_fail_mem(err);
	add_props(base, new, out);
	if (!out->ntables)
		ss_result_note(out, SS_WARNING, SS_STR("there is nothing to compare in the answers of this tool"));
	return (ss_diff_say(d, out) || ss_fail_mem(err)) && ss_result_is_whole(out, err);
}
