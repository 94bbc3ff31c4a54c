/*
 * combine.c - adding up tables by rules; see legacy/combine.h. Linear in rows, but for the sorting
 * at the end.
 */
#include "legacy/combine.h"

#include "base/assert.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* Facts about a row of the combination besides its cells. */
struct row_state {
	uint32_t hosts;		/* that have it */
	double max;		/* in the column `longest` */
};

struct table_state {
	const struct ss_legacy_table *rule;	/* NULL: nobody knows the table */
	struct ss_strmap rows;			/* by key */
	SS_VEC(struct row_state) state;
	struct ss_buf key;
};

struct combination {
	const struct ss_legacy_answer *a;
	struct ss_result *out;
	SS_VEC(struct table_state) tables;	/* by table of the combination */
	size_t nread;
	double worst;
	struct ss_str worst_host;
};

struct ss_table *ss_legacy_find(struct ss_result *r, const char *name)
{
	for (size_t i = 0; i < r->ntables; i++)
		if (strcmp(r->tables[i].name, name) == 0)
			return &r->tables[i];
	return NULL;
}

/* ---- copies ---- */

static const char *kept(struct ss_arena *a, const char *z)
{
	return z ? ss_arena_str(a, ss_str_from(z)).p : NULL;
}

/* Columns of a file's own live as long as the file's answer: copied. Docs are ours. */
static struct ss_table *copy_shape(struct ss_result *out, const struct ss_table *from)
{
	struct ss_col *cols = SS_NEW_N(out->arena, struct ss_col, from->ncols + 1);
	for (size_t i = 0; cols && i < from->ncols; i++) {
		cols[i] = from->cols[i];
		cols[i].id = kept(out->arena, cols[i].id);
		cols[i].label = kept(out->arena, cols[i].label);
		cols[i].role = kept(out->arena, cols[i].role);
		if (!cols[i].id || !cols[i].label || (from->cols[i].role && !cols[i].role))
			return NULL;
	}
	return cols ? ss_result_table(out, from->name, from->title, cols, from->ncols) : NULL;
}

/* A cell of another table of the same type to the last row of `t`, or to another row. */
static bool copy_cell(struct ss_table *t, size_t row, size_t col, const struct ss_table *from, size_t from_row,
		      size_t from_col)
{
	switch (t->cols[col].type) {
	case SS_TYPE_STR: {
		struct ss_str s = from->data[from_col].str[from_row];
		t->data[col].str[row] = s.n ? ss_arena_str(t->arena, s) : s;
		return t->data[col].str[row].p != NULL;
	}
	case SS_TYPE_F64:
		t->data[col].f64[row] = from->data[from_col].f64[from_row];
		return true;
	case SS_TYPE_I64:
		t->data[col].i64[row] = from->data[from_col].i64[from_row];
		return true;
	case SS_TYPE_BOOL:
		t->data[col].b[row] = from->data[from_col].b[from_row];
		return true;
	}
	return true;
}

/*
 * Number of the column of `from` that is column `col` of `t`; SS_NPOS where it has none of that
 * type.
 */
static size_t same_col(const struct ss_table *t, size_t col, const struct ss_table *from)
{
	size_t at = ss_table_col(from, t->cols[col].id);
	return at != SS_NPOS && from->cols[at].type == t->cols[col].type ? at : SS_NPOS;
}

/* ---- numbers ---- */

static double cell(const struct ss_table *t, size_t row, size_t col)
{
	if (col == SS_NPOS)
		return NAN;
	return t->cols[col].type == SS_TYPE_I64 ? (double)t->data[col].i64[row] :
	       t->cols[col].type == SS_TYPE_F64 ? t->data[col].f64[row] :
						  (double)NAN;
}

static int64_t add_i64(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* Combine two numbers with their weights `wa` and `wb`. An empty cell has no weight. */
static double together(enum ss_legacy_how how, double a, double wa, double b, double wb)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	switch (how) {
	case SS_LEGACY_SUM:
		return a + b;
	case SS_LEGACY_MIN:
		return b < a ? b : a;
	case SS_LEGACY_MAX:
		return b > a ? b : a;
	case SS_LEGACY_MEAN:
		return wa + wb > 0 ? (a * wa + b * wb) / (wa + wb) : a;
	}
	return a;
}

static const struct ss_legacy_col *rule_of(const struct ss_legacy_table *rule, const char *id)
{
	for (size_t i = 0; i < rule->ncols; i++)
		if (strcmp(rule->cols[i].id, id) == 0)
			return &rule->cols[i];
	return NULL;
}

static void add_cell(struct ss_table *t, size_t row, size_t col, enum ss_legacy_how how, double wa, double b, double wb)
{
	if (t->cols[col].type == SS_TYPE_F64) {
		t->data[col].f64[row] = together(how, t->data[col].f64[row], wa, b, wb);
		return;
	}
	if (t->cols[col].type != SS_TYPE_I64 || isnan(b))
		return;
	int64_t *v = &t->data[col].i64[row], other = b >= 9.2e18 ? INT64_MAX : b <= -9.2e18 ? INT64_MIN : (int64_t)b;
	if (how == SS_LEGACY_SUM)
		*v = add_i64(*v, other);
	else if (how == SS_LEGACY_MEAN)
		*v = (int64_t)together(how, (double)*v, wa, b, wb);
	else if ((how == SS_LEGACY_MIN) == (other < *v))
		*v = other;
}

/* ---- rows ---- */

/* The cells of the key, each with its length before it. */
static struct ss_str key_of(struct table_state *s, const struct ss_table *t, size_t row)
{
	s->key.n = 0;
	for (size_t i = 0; i < SS_COUNT(s->rule->key) && s->rule->key[i]; i++) {
		size_t col = ss_table_col(t, s->rule->key[i]);
		if (col == SS_NPOS)
			continue;
		if (t->cols[col].type == SS_TYPE_STR) {
			ss_buf_u64(&s->key, t->data[col].str[row].n);
			ss_buf_char(&s->key, ':');
			ss_buf_str(&s->key, t->data[col].str[row]);
		} else if (t->cols[col].type == SS_TYPE_BOOL) {
			ss_buf_char(&s->key, t->data[col].b[row] ? 'y' : 'n');
		} else {
			ss_buf_printf(&s->key, "%.17g;", cell(t, row, col));
		}
	}
	return ss_buf_get(&s->key);
}

static double longest(const struct ss_legacy_table *rule, const struct ss_table *t, size_t row)
{
	for (size_t i = 0; i < SS_COUNT(rule->longest) && rule->longest[i]; i++) {
		double v = cell(t, row, ss_table_col(t, rule->longest[i]));
		if (!isnan(v))
			return v;
	}
	return -INFINITY;
}

/* Means first: they are weighted by sums as these were before. */
static void add_numbers(struct table_state *s, struct ss_table *t, size_t row, const struct ss_table *from, size_t from_row,
			bool means)
{
	for (size_t i = 0; i < s->rule->ncols; i++) {
		const struct ss_legacy_col *r = &s->rule->cols[i];
		size_t col = ss_table_col(t, r->id), at = col == SS_NPOS ? SS_NPOS : same_col(t, col, from);
		if (at == SS_NPOS || (r->how == SS_LEGACY_MEAN) != means)
			continue;
		double wa = s->state.v[row].hosts, wb = 1;
		if (r->by) {
			wa = cell(t, row, ss_table_col(t, r->by));
			wb = cell(from, from_row, ss_table_col(from, r->by));
		}
		add_cell(t, row, col, r->how, wa, cell(from, from_row, at), wb);
	}
}

/* The default without a rule. */
static bool copy_rest(const struct ss_legacy_table *rule, struct ss_table *t, size_t row, const struct ss_table *from,
		      size_t from_row, bool all)
{
	for (size_t col = 0; col < t->ncols; col++) {
		size_t at = same_col(t, col, from);
		if (at != SS_NPOS && (all || !rule_of(rule, t->cols[col].id)) && !copy_cell(t, row, col, from, from_row, at))
			return false;
	}
	return true;
}

static bool new_row(struct table_state *s, struct ss_table *t, const struct ss_table *from, size_t from_row)
{
	ss_table_row(t);
	if (t->arena->no_memory || !ss_vec_push(&s->state, (struct row_state){ 1, longest(s->rule, from, from_row) }))
		return false;
	for (size_t col = 0; col < t->ncols; col++)
		if (t->cols[col].type == SS_TYPE_F64)
			ss_set_f64(t, col, (double)NAN);
	return copy_rest(s->rule, t, t->nrows - 1, from, from_row, true);
}

static bool add_row(struct table_state *s, struct ss_table *t, const struct ss_table *from, size_t from_row, size_t nread)
{
	struct ss_str key = key_of(s, from, from_row);
	if (s->key.no_memory)
		return false;
	uint32_t row = ss_strmap_get(&s->rows, key);
	if (row == SS_NONE) {
		/* A row that an earlier host lacks cannot be everywhere any more. */
		if (s->rule->everywhere && nread)
			return true;
		key = ss_arena_str(t->arena, key);
		return key.p && ss_strmap_add(&s->rows, key) != SS_NONE && new_row(s, t, from, from_row);
	}
	add_numbers(s, t, row, from, from_row, true);
	add_numbers(s, t, row, from, from_row, false);
	double max = longest(s->rule, from, from_row);
	s->state.v[row].hosts++;
	if (!(max > s->state.v[row].max))
		return true;
	s->state.v[row].max = max;
	return copy_rest(s->rule, t, row, from, from_row, false);
}

/* Instead of the rows there were, those of a host that is worse off. */
static bool replace_rows(struct ss_table *t, const struct ss_table *from)
{
	t->nrows = 0;
	for (size_t i = 0; i < from->nrows; i++) {
		ss_table_row(t);
		if (t->arena->no_memory)
			return false;
		for (size_t col = 0; col < t->ncols; col++) {
			size_t at = same_col(t, col, from);
			if (at != SS_NPOS && !copy_cell(t, t->nrows - 1, col, from, i, at))
				return false;
		}
	}
	return true;
}

/* ---- properties ---- */

static struct ss_prop *find_prop(struct ss_table *t, const char *id)
{
	for (size_t i = 0; i < t->nprops; i++)
		if (strcmp(t->props[i].id, id) == 0)
			return &t->props[i];
	return NULL;
}

void ss_legacy_set_prop(struct ss_table *t, const char *id, enum ss_unit unit, double v, const char *fmt)
{
	struct ss_prop *p = find_prop(t, id);
	const char *label = p ? p->label : NULL;
	size_t before = t->nprops;
	ss_table_prop_num(t, id, label, unit, v, fmt);
	p = find_prop(t, id);
	/* Without memory there is no other one. */
	if (t->nprops > before && p != &t->props[before])
		*p = t->props[--t->nprops];
}

static bool copy_prop(struct ss_table *t, const struct ss_prop *from)
{
	struct ss_prop *p = find_prop(t, from->id);
	struct ss_str text = ss_arena_str(t->arena, from->text);
	if (!p) {
		const char *id = kept(t->arena, from->id);
		if (!id)
			return false;
		ss_table_prop(t, id, text);
		p = find_prop(t, id);
		if (!p)
			return false;
		p->label = kept(t->arena, from->label);
		if (from->label && !p->label)
			return false;
	}
	p->text = text;
	p->unit = from->unit;
	p->value = from->value;
	return text.p != NULL;
}

static double number_of(const struct ss_prop *p)
{
	double v;
	if (!isnan(p->value))
		return p->value;
	return ss_str_to_f64(p->text, &v) ? v : (double)NAN;
}

static void add_prop(const struct ss_legacy_table *rule, struct ss_table *t, const struct ss_prop *from, size_t nread)
{
	struct ss_prop *p = find_prop(t, from->id);
	const struct ss_legacy_col *r = NULL;
	for (size_t i = 0; i < rule->nprops && !r; i++)
		r = strcmp(rule->props[i].id, from->id) == 0 ? &rule->props[i] : NULL;
	if (!r || !p)
		return;
	double v = together(r->how, number_of(p), (double)nread, number_of(from), 1);
	size_t percent = p->text.n && p->text.p[p->text.n - 1] == '%';
	if (!isnan(v))
		ss_legacy_set_prop(t, p->id, p->unit, v, percent ? "%.1f%%" : "%.10g");
}

/* ---- tables ---- */

static struct ss_table *shape_of(struct combination *j, const struct ss_table *from)
{
	struct ss_table *t = ss_legacy_find(j->out, from->name);
	struct table_state s = { .rule = NULL };
	if (t)
		return t;
	for (size_t i = 0; i < j->a->ntables; i++)
		if (strcmp(j->a->tables[i].name, from->name) == 0)
			s.rule = &j->a->tables[i];
	t = copy_shape(j->out, from);
	return t && ss_vec_push(&j->tables, s) ? t : NULL;
}

/* Rows that belong together are added up by key; a table without a key is that of the host that is worst off. */
static bool add_rows(const struct combination *j, struct table_state *s, struct ss_table *t, const struct ss_table *from,
		     bool worst)
{
	if (!s->rule || !s->rule->key[0])
		return (!worst && t->nrows) || replace_rows(t, from);
	for (size_t i = 0; i < from->nrows; i++)
		if (!add_row(s, t, from, i, j->nread))
			return false;
	return true;
}

static bool is_ruled(const struct ss_legacy_table *rule, const char *id)
{
	for (size_t k = 0; rule && k < rule->nprops; k++)
		if (strcmp(rule->props[k].id, id) == 0)
			return true;
	return false;
}

/* Properties with a rule are added up; the others are those of the host that is worst off. */
static bool add_props(const struct combination *j, const struct table_state *s, struct ss_table *t, const struct ss_table *from,
		      bool worst)
{
	bool ok = true;
	for (size_t i = 0; ok && i < from->nprops; i++) {
		const struct ss_prop *p = &from->props[i];
		bool ruled = is_ruled(s->rule, p->id);
		if (!find_prop(t, p->id) || (worst && !ruled))
			ok = copy_prop(t, p);
		else if (ruled)
			add_prop(s->rule, t, p, j->nread);
	}
	return ok;
}

static bool add_table(struct combination *j, const struct ss_table *from, bool worst)
{
	struct ss_table *t = shape_of(j, from);
	if (!t)
		return false;
	size_t i = (size_t)(t - j->out->tables);
	ss_assert(i < j->tables.n);
	struct table_state *s = &j->tables.v[i];
	return add_rows(j, s, t, from, worst) && add_props(j, s, t, from, worst);
}

/* The answer of one host to those of the hosts before. */
static bool add_host(struct combination *j, const struct ss_host *h, const struct ss_result *r)
{
	double bad = j->a->worst ? j->a->worst(r) : 0;
	bool worst = !j->nread || bad > j->worst, ok = true;
	if (worst) {
		j->worst = isnan(bad) ? -INFINITY : bad;
		j->worst_host = h->name;
	}
	for (size_t i = 0; ok && i < r->ntables; i++)
		ok = add_table(j, &r->tables[i], worst);
	/* Notes of a file of its own; that it is a stored answer is said once. */
	for (size_t i = 1; ok && i < r->nnotes; i++)
		ss_result_note(j->out, r->notes[i].severity,
			       ss_arena_printf(j->out->arena, SS_FMT ": " SS_FMT, SS_ARG(h->name),
					       SS_ARG(r->notes[i].text)));
	j->nread += ok;
	return ok;
}

/* Take rows away that some host lacks. */
static void drop_rare(struct combination *j)
{
	for (size_t i = 0; i < j->tables.n; i++) {
		struct table_state *s = &j->tables.v[i];
		struct ss_table *t = &j->out->tables[i];
		size_t n = 0;
		if (!s->rule || !s->rule->everywhere)
			continue;
		for (size_t row = 0; row < t->nrows; row++) {
			if (s->state.v[row].hosts < j->nread)
				continue;
			/* Texts are in the arena already: a move within the table. */
			for (size_t col = 0; col < t->ncols; col++)
				switch (t->cols[col].type) {
				case SS_TYPE_STR:
					t->data[col].str[n] = t->data[col].str[row];
					break;
				case SS_TYPE_BOOL:
					t->data[col].b[n] = t->data[col].b[row];
					break;
				case SS_TYPE_F64:
				case SS_TYPE_I64:
					t->data[col].i64[n] = t->data[col].i64[row];
					break;
				}
			n++;
		}
		t->nrows = n;
	}
}

static void note_all(struct combination *j)
{
	struct ss_str text = ss_arena_printf(
		j->out->arena, "These figures were not computed here: each of %zu hosts stored its own. %s",
		j->nread, j->a->says);
	if (text.p && j->a->worst)
		text = ss_arena_printf(j->out->arena, SS_FMT " Sentences come from " SS_FMT ".", SS_ARG(text),
				       SS_ARG(j->worst_host));
	ss_result_note(j->out, SS_INFO, text);
}

/* One host after the other, each in memory of its own. */
static bool add_hosts(struct combination *j, const struct ss_request *q, struct ss_err *err)
{
	struct ss_err first = { 0 };
	for (size_t i = 0; i < q->model->nhosts; i++) {
		const struct ss_host *h = q->model->hosts[i];
		struct ss_arena arena = { 0 };
		struct ss_request one = *q;
		struct ss_result r;
		struct ss_err why = { 0 };
		one.arena = &arena;
		ss_result_init(&r, &arena);
		bool read = j->a->read(&one, h, &r, &why) && ss_result_is_whole(&r, &why), ok = true;
		if (read)
			ok = add_host(j, h, &r);
		else if (why.code != SS_ENOMEM)
			ss_result_note(j->out, SS_WARNING, ss_arena_str(j->out->arena, ss_str_from(why.text)));
		ss_arena_release(&arena);
		ss_file_forget(&h->x.file, h->x.file.bytes);
		if (!ok || why.code == SS_ENOMEM)
			return ss_fail_mem(err);
		if (!first.code)
			first = why;
	}
	return j->nread || ss_fail(err, first.code, "%s", first.text);
}

bool ss_legacy_combine(const struct ss_request *q, const struct ss_legacy_answer *a, struct ss_result *out, struct ss_err *err)
{
	struct combination j = { .a = a, .out = out };
	if (q->model->nhosts == 1)
		return a->read(q, q->model->hosts[0], out, err) && (!a->end || a->end(out, 1) || ss_fail_mem(err));
	bool ok = add_hosts(&j, q, err);
	if (ok) {
		drop_rare(&j);
		ok = (!a->end || a->end(out, j.nread)) || ss_fail_mem(err);
		if (ok)
			note_all(&j);
	}
	for (size_t i = 0; i < j.tables.n; i++) {
		ss_strmap_free(&j.tables.v[i].rows);
		ss_vec_free(&j.tables.v[i].state);
		ss_buf_free(&j.tables.v[i].key);
	}
	ss_vec_free(&j.tables);
	return ok;
}
