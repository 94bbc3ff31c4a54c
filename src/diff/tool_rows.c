/*
 * tool_rows.c - tables of a tool whose rows have a name, joined by it. An operation of the new side
 * takes the name that the matching gave it on the base (match.h), since compilers number anew.
 */
#include "diff/tool_join.h"

#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

#define MOST_KEYS 8
#define UNCLEAR_ROW (SS_NONE - 1)
enum { BASE, NEW, SIDES };

struct joined {
	const struct ss_table *t[SIDES]; /* where it is seen first; NULL: the side does not have it */
	size_t at[SIDES];
	uint32_t parent; /* of a tree; SS_NONE */
};

/* A name of the new side, and what the base calls it. */
struct renamed {
	struct ss_str name;
	enum { KNOWN, ADDED, UNCLEAR } state;
};

struct join {
	struct ss_diff *d;
	const struct ss_join_spec *s;
	struct ss_tool_side side[SIDES];
	const struct ss_table *like;
	size_t nkeys, keys[MOST_KEYS], subject, parent; /* columns of `like`; SS_NPOS */
	size_t nfigures, *figures;			/* the tested one first */
	struct ss_strmap new_names, base_names;		/* of the subject, as the operations have them */
	SS_VEC(struct renamed) renamed;			/* by new name */
	struct ss_u64map known;
	SS_VEC(struct joined) rows;
	uint32_t **place; /* by run, base first: of each row of its table */
	double *sum[SIDES];
	uint32_t *count[SIDES]; /* of runs; rows x figures */
	struct ss_sample *samples[SIDES];
	struct ss_diff_row *tested;
};

static const struct ss_table *table_of(const struct join *j, int side, size_t run)
{
	return ss_result_find(&j->side[side].v[run], j->like->name);
}

/* Are the rows about the time of operations, so that the steps say how much that varies? */
static bool has_op_times(const struct join *j)
{
	return j->subject != SS_NPOS && j->s->subject != SS_SUBJECT_OP_NAME;
}

static const struct ss_diff_side *diff_side(const struct join *j, int side)
{
	return side == BASE ? &j->d->base : &j->d->new;
}

/* ---- columns ---- */

static bool is_zero(const struct ss_table *t, const char *id)
{
	size_t c = t ? ss_table_col(t, id) : SS_NPOS;
	for (size_t row = 0; c != SS_NPOS && row < t->nrows; row++)
		if (fabs(ss_join_number(t, row, c)) > 0)
			return false;
	return true;
}

/* The first of the declared figures that says anything. */
static size_t tested_column(const struct join *j)
{
	struct ss_str rest = ss_str_from(j->s->figures), word;
	const struct ss_table *b = ss_join_first(j->side[BASE], j->like->name), *n = ss_join_first(j->side[NEW], j->like->name);
	size_t first = SS_NPOS;
	while (ss_join_word(&rest, &word))
		for (size_t c = 0; c < j->like->ncols; c++) {
			if (!ss_str_is(word, j->like->cols[c].id))
				continue;
			if (!is_zero(b, j->like->cols[c].id) || !is_zero(n, j->like->cols[c].id))
				return c;
			first = first == SS_NPOS ? c : first;
		}
	return first;
}

static bool find_columns(struct join *j)
{
	size_t tested = tested_column(j);
	struct ss_str rest = ss_str_from(j->s->keys), word, last = SS_STR("");
	while (ss_join_word(&rest, &word))
		last = word;
	j->subject = j->parent = SS_NPOS;
	j->figures = calloc(j->like->ncols + 1, sizeof(*j->figures));
	if (j->figures && tested != SS_NPOS)
		j->figures[j->nfigures++] = tested;
	for (size_t c = 0; j->figures && c < j->like->ncols; c++) {
		const struct ss_col *col = &j->like->cols[c];
		if (ss_join_names_one_host(j->like, c, j->side[BASE], j->side[NEW]))
			continue;
		if (ss_join_has(j->s->keys, col->id) && j->nkeys < MOST_KEYS)
			j->keys[j->nkeys++] = c;
		else if (c != tested && ss_join_is_figure(j->s, col))
			j->figures[j->nfigures++] = c;
		if (ss_str_is(last, col->id) && j->s->subject != SS_SUBJECT_NOTHING)
			j->subject = c;
		if (strcmp(col->id, "parent") == 0 && col->type == SS_TYPE_I64)
			j->parent = c;
	}
	return j->figures;
}

/* ---- names of operations ---- */

static struct ss_str name_of(const struct join *j, const struct ss_diff_op *o)
{
	/* An operation without a path is there by its name. */
	return j->s->subject == SS_SUBJECT_PATH && o->path.n ? o->path : j->s->subject == SS_SUBJECT_KERNEL ? o->kernel : o->name;
}

/*
 * Of each row of the matching the operations whose rows stand beside each other: those of equal names, else the first of each
 * side. What an operation was split into besides, or was merged with, stands alone.
 */
struct partners {
	uint32_t base, new; /* SS_NONE */
	bool equal;
};

static bool rename_op(struct join *j, const struct partners *of_row, size_t at)
{
	struct ss_str name = name_of(j, j->d->new.ops.v[at].op);
	const struct partners *p = &of_row[j->d->match.new_row[at]];
	struct renamed r = { SS_STR(""), ADDED };
	if (!name.n)
		return true;
	if (p->base != SS_NONE && ss_str_eq(name_of(j, j->d->new.ops.v[p->new].op), name))
		r = (struct renamed){ name_of(j, j->d->base.ops.v[p->base].op), KNOWN };
	/* A path or a kernel is what it is called, where both have it; only numbers of operations say nothing. */
	bool numbered = j->s->subject == SS_SUBJECT_OP || j->s->subject == SS_SUBJECT_OP_NAME;
	if (!numbered && ss_strmap_get(&j->base_names, name) != SS_NONE)
		r = (struct renamed){ name, KNOWN };
	uint32_t k = ss_strmap_add(&j->new_names, name);
	if (k == SS_NONE)
		return false;
	if (k == j->renamed.n)
		return ss_vec_push(&j->renamed, r);
	if (j->renamed.v[k].state != r.state || !ss_str_eq(j->renamed.v[k].name, r.name))
		j->renamed.v[k] = (struct renamed){ name, UNCLEAR };
	return true;
}

/* `first`: of each base name, the first operation that has it. */
static void pair_up(const struct join *j, struct partners *of_row, const uint32_t *first)
{
	const struct ss_diff *d = j->d;
	for (size_t i = 0; i < d->match.rows; i++)
		of_row[i] = (struct partners){ SS_NONE, SS_NONE, false };
	for (size_t i = d->base.ops.n; i-- > 0;)
		of_row[d->match.base_row[i]].base = (uint32_t)i;
	for (size_t i = 0; i < d->new.ops.n; i++) {
		struct partners *p = &of_row[d->match.new_row[i]];
		uint32_t k = ss_strmap_get(&j->base_names, name_of(j, d->new.ops.v[i].op));
		bool equal = k != SS_NONE && d->match.base_row[first[k]] == d->match.new_row[i];
		if (p->new == SS_NONE || (equal && !p->equal)) {
			p->base = equal ? first[k] : p->base;
			p->new = (uint32_t)i;
			p->equal = equal;
		}
	}
}

static bool find_names(struct join *j)
{
	const struct ss_diff *d = j->d;
	if (j->subject == SS_NPOS)
		return true;
	struct partners *of_row = malloc((d->match.rows + 1) * sizeof(*of_row));
	uint32_t *first = malloc((d->base.ops.n + 1) * sizeof(*first));
	bool ok = of_row && first;
	for (size_t i = 0; ok && i < d->base.ops.n; i++) {
		uint32_t known = j->base_names.n, k = ss_strmap_add(&j->base_names, name_of(j, d->base.ops.v[i].op));
		ok = k != SS_NONE;
		if (ok && k == known)
			first[k] = (uint32_t)i;
	}
	if (ok)
		pair_up(j, of_row, first);
	for (size_t i = 0; ok && i < d->new.ops.n; i++)
		ok = rename_op(j, of_row, i);
	free(of_row);
	free(first);
	return ok;
}

static uint64_t subject_hash(const struct join *j, int side, struct ss_str name)
{
	uint32_t k = side == NEW ? ss_strmap_get(&j->new_names, name) : SS_NONE;
	if (k == SS_NONE || j->renamed.v[k].state == UNCLEAR)
		return ss_str_hash(name);
	return j->renamed.v[k].state == KNOWN ? ss_str_hash(j->renamed.v[k].name) : ~ss_str_hash(name);
}

/* ---- rows ---- */

/* A category may be called as an operation is: of a tree only the rows that are operations are known by those names. */
static bool is_of_subject(const struct ss_table *t, size_t row)
{
	size_t c = ss_table_col(t, "is_op");
	return c == SS_NPOS || t->cols[c].type != SS_TYPE_BOOL || t->data[c].b[row];
}

static uint64_t row_hash(const struct join *j, int side, const struct ss_table *t, size_t row, uint32_t parent)
{
	uint64_t h = ss_mix(1, parent);
	for (size_t k = 0; k < j->nkeys; k++) {
		size_t c = ss_table_col(t, j->like->cols[j->keys[k]].id);
		if (c == SS_NPOS)
			continue;
		h = ss_mix(h, j->keys[k] == j->subject && t->cols[c].type == SS_TYPE_STR && is_of_subject(t, row)
				      ? subject_hash(j, side, ss_join_text(t, row, c))
				      : ss_join_cell_hash(t, row, c));
	}
	return h;
}

/*
 * Single steps of a table that has the whole, too: the third step of a recording is nobody's
 * partner.
 */
static bool is_of_a_step(const struct ss_table *t, size_t col, size_t row)
{
	int64_t ignored;
	return col != SS_NPOS && t->cols[col].type == SS_TYPE_STR && ss_str_to_i64(t->data[col].str[row], &ignored);
}

/*
 * The n-th row of equal keys is the n-th on the other side; a tree's row stands below its parent.
 */
static bool place_run(struct join *j, int side, const struct ss_table *t, uint32_t *place)
{
	struct ss_u64map nth = { 0 };
	size_t parent_col = j->parent == SS_NPOS ? SS_NPOS : ss_table_col(t, "parent");
	size_t step_col = ss_table_col(t, "step");
	bool ok = true;
	for (size_t row = 0; ok && row < t->nrows; row++) {
		place[row] = SS_NONE;
		if (is_of_a_step(t, step_col, row))
			continue;
		int64_t up = parent_col == SS_NPOS ? -1 : t->data[parent_col].i64[row];
		uint32_t parent = up >= 0 && (size_t)up < row ? place[up] : SS_NONE;
		uint64_t key = row_hash(j, side, t, row, parent);
		uint32_t n = ss_u64map_get(&nth, key);
		n = n == SS_NONE ? 0 : n;
		ok = ss_u64map_put(&nth, key, n + 1);
		uint32_t at = ok ? ss_u64map_add(&j->known, ss_mix(key, n + 1), (uint32_t)j->rows.n) : SS_NONE;
		ok = at != SS_NONE && (at < j->rows.n || ss_vec_push(&j->rows, ((struct joined){ .parent = parent })));
		if (!ok)
			break;
		place[row] = at;
		if (!j->rows.v[at].t[side]) {
			j->rows.v[at].t[side] = t;
			j->rows.v[at].at[side] = row;
		}
	}
	ss_u64map_free(&nth);
	return ok;
}

static bool place_all(struct join *j)
{
	size_t n = 0;
	bool ok = (j->place = calloc(j->side[BASE].n + j->side[NEW].n + 1, sizeof(*j->place)));
	for (int side = 0; ok && side < SIDES; side++)
		for (size_t i = 0; ok && i < j->side[side].n; i++, n++) {
			const struct ss_table *t = table_of(j, side, i);
			j->place[n] = malloc((t->nrows + 1) * sizeof(**j->place));
			ok = j->place[n] && place_run(j, side, t, j->place[n]);
		}
	return ok;
}

/* ---- figures ---- */

static bool is_sum(const struct join *j, size_t f)
{
	return ss_join_has(j->s->sums, j->like->cols[j->figures[f]].id);
}

/* The factor from a sum over the recording to a value per step; for rows of operations also per device, as their times are. */
static double share_of_sum(const struct join *j, int side, size_t run)
{
	const struct ss_diff_run *r = &diff_side(j, side)->runs[run];
	size_t devices = has_op_times(j) && r->ndevices ? r->ndevices : 1;
	return 1 / ((double)(r->recorded_steps ? r->recorded_steps : 1) * (double)devices);
}

static void add_run(struct join *j, int side, size_t run, const uint32_t *place)
{
	const struct ss_table *t = table_of(j, side, run);
	for (size_t f = 0; f < j->nfigures; f++) {
		size_t c = ss_table_col(t, j->like->cols[j->figures[f]].id);
		double scale = is_sum(j, f) ? share_of_sum(j, side, run) : 1;
		for (size_t row = 0; c != SS_NPOS && row < t->nrows; row++) {
			double v = ss_join_number(t, row, c) * scale;
			size_t at = place[row] * j->nfigures + f;
			if (!isfinite(v) || place[row] == SS_NONE)
				continue;
			j->sum[side][at] += v;
			j->count[side][at]++;
		}
	}
}

static bool add_all(struct join *j)
{
	size_t cells = j->rows.n * j->nfigures, n = 0;
	for (int side = 0; side < SIDES; side++) {
		j->sum[side] = calloc(cells + 1, sizeof(double));
		j->count[side] = calloc(cells + 1, sizeof(uint32_t));
		if (!j->sum[side] || !j->count[side])
			return false;
		for (size_t i = 0; i < j->side[side].n; i++, n++)
			add_run(j, side, i, j->place[n]);
	}
	return true;
}

/* Mean over the runs. A sum that a run does not have is 0 there, any other figure unknown. */
static double mean_of(const struct join *j, int side, size_t row, size_t f)
{
	size_t at = row * j->nfigures + f;
	if (is_sum(j, f))
		return j->sum[side][at] / (double)j->side[side].n;
	return j->count[side][at] ? j->sum[side][at] / j->count[side][at] : NAN;
}

/* ---- samples ---- */

static bool all_unknown(struct ss_sample **v, size_t n)
{
	*v = calloc(n + 1, sizeof(**v));
	for (size_t i = 0; *v && i < n; i++)
		(*v)[i] = (struct ss_sample){ .n = 1, .mean = NAN };
	return *v;
}

static void sample_runs(struct join *j)
{
	size_t n = 0;
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < j->side[side].n; i++, n++) {
			const struct ss_table *t = table_of(j, side, i);
			size_t c = ss_table_col(t, j->like->cols[j->figures[0]].id);
			double scale = is_sum(j, 0) ? share_of_sum(j, side, i) : 1;
			for (size_t row = 0; c != SS_NPOS && row < t->nrows; row++)
				if (j->place[n][row] != SS_NONE)
					j->samples[side][j->place[n][row] * j->side[side].n + i].mean =
						ss_join_number(t, row, c) * scale;
		}
}

/*
 * The row that carries each name. Where several do, the name says which one only if they say the
 * same of it, as a table does that lists everything twice.
 */
static bool rows_by_name(const struct join *j, int side, struct ss_strmap *names, uint32_t *first, uint32_t *next)
{
	for (uint32_t row = 0; row < j->rows.n; row++) {
		const struct ss_table *t = j->rows.v[row].t[side];
		next[row] = SS_NONE;
		if (!t || !is_of_subject(t, j->rows.v[row].at[side]))
			continue;
		size_t c = ss_table_col(t, j->like->cols[j->subject].id);
		uint32_t k = c == SS_NPOS ? SS_NONE : ss_strmap_add(names, t->data[c].str[j->rows.v[row].at[side]]);
		if (k == SS_NONE)
			return c == SS_NPOS;
		if (first[k] == UNCLEAR_ROW)
			continue;
		double was = first[k] == SS_NONE ? mean_of(j, side, row, 0) : mean_of(j, side, first[k], 0);
		bool same = fabs(was - mean_of(j, side, row, 0)) <= 1e-9 * fabs(was);
		next[row] = first[k];
		first[k] = same ? row : UNCLEAR_ROW;
	}
	return true;
}

static void set_known(struct join *j, int side, size_t row)
{
	size_t n = j->side[side].n;
	for (size_t i = 0; i < n; i++)
		if (isnan(j->samples[side][row * n + i].mean))
			j->samples[side][row * n + i] = (struct ss_sample){ 0 };
}

static void add_op(struct join *j, int side, size_t op, size_t row)
{
	size_t n = j->side[side].n;
	set_known(j, side, row);
	ss_diff_add_samples(j->samples[side] + row * n, diff_side(j, side)->op_us + op * n, n);
}

static bool sample_ops(struct join *j, int side)
{
	const struct ss_diff_side *s = diff_side(j, side);
	struct ss_strmap names = { 0 };
	uint32_t *first = malloc((j->rows.n + 1) * sizeof(*first)), *next = malloc((j->rows.n + 1) * sizeof(*next));
	bool ok = first && next;
	if (ok) {
		memset(first, 0xff, (j->rows.n + 1) * sizeof(*first));
		ok = rows_by_name(j, side, &names, first, next);
	}
	for (size_t i = 0; ok && i < s->ops.n; i++) {
		struct ss_str name = name_of(j, s->ops.v[i].op);
		uint32_t k = name.n ? ss_strmap_get(&names, name) : SS_NONE;
		for (uint32_t row = k == SS_NONE ? SS_NONE : first[k]; row < UNCLEAR_ROW; row = next[row])
			add_op(j, side, i, row);
	}
	/* A row that one side does not have takes no time there. */
	for (size_t row = 0; ok && row < j->rows.n; row++) {
		const struct joined *r = &j->rows.v[row];
		if (!r->t[side] && is_of_subject(r->t[!side], r->at[!side]))
			set_known(j, side, row);
	}
	ss_strmap_free(&names);
	free(first);
	free(next);
	return ok;
}

static bool test(struct join *j)
{
	for (int side = 0; side < SIDES; side++)
		if (!all_unknown(&j->samples[side], j->rows.n * j->side[side].n))
			return false;
	bool ops = has_op_times(j);
	double least = ops ? SS_DIFF_LEAST_OP_FRAC * j->d->step.c.base : 0;
	j->tested = calloc(j->rows.n + 1, sizeof(*j->tested));
	if (!j->tested || (ops && (!sample_ops(j, BASE) || !sample_ops(j, NEW))))
		return false;
	if (!ops)
		sample_runs(j);
	return ss_diff_compare_samples(j->d, j->samples[BASE], j->samples[NEW], j->rows.n, least, j->tested);
}

/* ---- the table ---- */

enum { O_BASE, O_NEW, O_DELTA, O_COLS };
enum { S_BASE, S_NEW, S_DELTA, S_COLS };

static const struct ss_col op_cols[S_COLS] = {
	NUM("base_step_us", "Base: Device Time per Step and Device", US,
	    "Time of a typical step, in which each moment belongs to one operation"),
	LIKE("new_step_us", "New: Device Time per Step and Device", US, "base_step_us", NULL),
	LIKE("delta_step_us", "Delta: Device Time per Step and Device", US, "base_step_us", "What is tested"),
};

static const struct ss_col test_cols[] = {
	NUM("p_adjusted", "p Adjusted", NONE,
	    "p value, adjusted for the number of rows (Benjamini-Hochberg); empty without repeated samples"),
	STR("verdict", "Verdict", "more, less, no_change; empty: no repeated samples"),
};

static const struct ss_col on_col =
	STR("on", "On", "both; base or new where the other side does not have the row");

static const char *const ids[O_COLS] = { "base", "new", "delta" };

/* "Total self time" of "Total self time (us)": the column says its unit itself. */
static struct ss_str without_unit(const struct ss_col *c)
{
	struct ss_str s = ss_str_from(c->label);
	size_t open = ss_str_rchr(s, '(');
	bool says = c->unit != SS_UNIT_NONE && c->unit != SS_UNIT_COUNT;
	if (!says || open == SS_NPOS || !open || !ss_str_ends(s, SS_STR(")")))
		return s;
	return ss_str_sub(s, 0, open - (s.p[open - 1] == ' '));
}

static struct ss_col figure_col(struct ss_arena *a, const struct join *j, size_t f, const char *side, const char *label)
{
	struct ss_col c = j->like->cols[j->figures[f]];
	bool sum = is_sum(j, f);
	bool devices = has_op_times(j);
	struct ss_str name = without_unit(&c);
	const char *per = !sum ? "" : devices ? " per Step and Device" : " per Step",
		   *of = devices ? "Value of the whole recording, divided by its steps and devices"
				 : "Value of the whole recording, divided by its steps";
	c.role = side == ids[0] ? NULL : ss_arena_printf(a, "scale:%s_%s", ids[0], c.id).p;
	c.id = ss_arena_printf(a, "%s_%s", side, c.id).p;
	c.label = ss_arena_printf(a, "%s: " SS_FMT "%s", label, SS_ARG(name), per).p;
	c.doc = sum && !c.doc ? of : sum ? ss_arena_printf(a, "%s. %s", c.doc, of).p : c.doc;
	c.type = SS_TYPE_F64;
	c.unit = c.unit == SS_UNIT_HEX ? SS_UNIT_COUNT : c.unit;
	return c;
}

static void put_figure(struct ss_table *to, const struct join *j, size_t row, size_t f, size_t col)
{
	double b = mean_of(j, BASE, row, f), n = mean_of(j, NEW, row, f);
	ss_set_f64(to, col + O_BASE, b);
	ss_set_f64(to, col + O_NEW, n);
	ss_set_f64(to, col + O_DELTA, n - b);
}

/* The columns of the answer: parent, keys, on, the tested figure, the test, the other figures. */
static struct ss_col *columns(const struct join *j, struct ss_arena *a, size_t *n)
{
	static const char *const labels[] = { "Base", "New", "Delta" };
	struct ss_col *v = SS_NEW_N(a, struct ss_col, 1 + j->nkeys + 1 + S_COLS + SS_COUNT(test_cols) + O_COLS * j->nfigures);
	size_t k = 0;
	if (!v)
		return NULL;
	if (j->parent != SS_NPOS)
		v[k++] = j->like->cols[j->parent];
	for (size_t i = 0; i < j->nkeys; i++)
		v[k++] = j->like->cols[j->keys[i]];
	v[k++] = on_col;
	for (size_t f = 0; f < j->nfigures; f++) {
		for (int o = 0; o < O_COLS; o++)
			v[k++] = figure_col(a, j, f, ids[o], labels[o]);
		for (size_t o = 0; !f && has_op_times(j) && o < S_COLS; o++)
			v[k++] = op_cols[o];
		for (size_t o = 0; !f && o < SS_COUNT(test_cols); o++)
			v[k++] = test_cols[o];
	}
	*n = k;
	return v;
}

static void put_row(const struct join *j, struct ss_table *to, size_t row, const uint32_t *order_of)
{
	const struct joined *r = &j->rows.v[row];
	int side = r->t[NEW] ? NEW : BASE;
	const struct ss_diff_row *test = &j->tested[row];
	size_t k = 0;
	ss_table_row(to);
	if (j->parent != SS_NPOS)
		ss_set_i64(to, k++, r->parent == SS_NONE ? -1 : (int64_t)order_of[r->parent]);
	for (size_t i = 0; i < j->nkeys; i++)
		ss_join_copy_cell(to, k++, r->t[side], r->at[side], ss_table_col(r->t[side], j->like->cols[j->keys[i]].id));
	ss_set_str(to, k++, r->t[BASE] && r->t[NEW] ? SS_STR("both") : r->t[NEW] ? SS_STR("new") : SS_STR("base"));
	for (size_t f = 0; f < j->nfigures; f++) {
		put_figure(to, j, row, f, k);
		k += O_COLS;
		if (f)
			continue;
		bool refused = ss_diff_is_refused(j->d);
		if (has_op_times(j)) {
			ss_set_f64(to, k + S_BASE, test->c.base);
			ss_set_f64(to, k + S_NEW, test->c.new);
			ss_set_f64(to, k + S_DELTA, test->c.delta);
			k += S_COLS;
		}
		ss_set_f64(to, k++, refused ? NAN : test->p_adjusted);
		ss_set_str(to, k++, ss_join_verdict(j->d, test));
	}
}

struct placed {
	double size;
	uint32_t at;
};

static int by_size(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return SS_CMP(y->size, x->size) ?: SS_CMP(x->at, y->at);
}

/* The largest |delta| first; a tree as it stands. */
static bool put_rows(const struct join *j, struct ss_result *out)
{
	size_t n = j->rows.n, ncols;
	struct ss_col *cols = columns(j, out->arena, &ncols);
	struct placed *order = calloc(n + 1, sizeof(*order));
	uint32_t *order_of = calloc(n + 1, sizeof(*order_of));
	bool ok = cols && order && order_of;
	for (size_t i = 0; ok && i < n; i++) {
		double delta = mean_of(j, NEW, i, 0) - mean_of(j, BASE, i, 0);
		order[i] = (struct placed){ j->parent == SS_NPOS && isfinite(delta) ? fabs(delta) : 0, (uint32_t)i };
	}
	if (ok && n)
		qsort(order, n, sizeof(*order), by_size);
	for (size_t i = 0; ok && i < n; i++)
		order_of[order[i].at] = (uint32_t)i;
	struct ss_table *t = ok ? ss_result_table(out, j->like->name, j->like->title, cols, ncols) : NULL;
	for (size_t i = 0; ok && i < n; i++)
		put_row(j, t, order[i].at, order_of);
	free(order);
	free(order_of);
	return ok;
}

static void join_free(struct join *j)
{
	for (size_t i = 0; j->place && i < j->side[BASE].n + j->side[NEW].n; i++)
		free(j->place[i]);
	free(j->place);
	free(j->figures);
	ss_strmap_free(&j->new_names);
	ss_strmap_free(&j->base_names);
	ss_vec_free(&j->renamed);
	ss_u64map_free(&j->known);
	ss_vec_free(&j->rows);
	for (int side = 0; side < SIDES; side++) {
		free(j->sum[side]);
		free(j->count[side]);
		free(j->samples[side]);
	}
	free(j->tested);
}

bool ss_join_rows(struct ss_diff *d, const struct ss_join_spec *s, const struct ss_table *like, struct ss_tool_side base,
		  struct ss_tool_side new, struct ss_result *out)
{
	struct join j = { .d = d, .s = s, .like = like, .side = { base, new } };
	bool ok = find_columns(&j);
	if (ok && j.nfigures)
		ok = find_names(&j) && place_all(&j) && add_all(&j) && test(&j) && (!j.rows.n || put_rows(&j, out));
	join_free(&j);
	return ok;
}
