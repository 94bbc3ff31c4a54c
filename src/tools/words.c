/* words.c - see words.h. */
#include "tools/words.h"

#include "base/html.h"
#include "base/map.h"
#include "table/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ss_str ss_plain_words(struct ss_arena *arena, struct ss_str html)
{
	struct ss_buf plain = { 0 };
	if (!html.n)
		return SS_STR("");
	ss_html_plain(&plain, html);
	return ss_buf_to_arena(&plain, arena);
}

struct ss_str ss_prop_words(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	return p ? ss_plain_words(r->arena, p->text) : SS_STR("");
}

static bool is_said(const struct ss_conclusion *c, struct ss_str text)
{
	bool said = ss_str_eq(c->text, text);
	for (size_t i = 0; i < c->nmore; i++)
		said = said || ss_str_eq(c->more[i], text);
	return said;
}

/* Older programs stored one sentence under several names. */
void ss_say_props(struct ss_result *r, const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ss_str text = ss_prop_words(r, ids[i]);
		if (!is_said(&r->conclusion, text))
			ss_result_say(r, text);
	}
}

struct ss_words ss_value_words(enum ss_unit unit, double value)
{
	struct ss_words w;
	ss_format_value(w.s, sizeof(w.s), unit, value);
	return w;
}

static void append(struct ss_words *w, const char *text)
{
	size_t n = strlen(w->s), left = sizeof(w->s) - 1 - n, more = strlen(text);
	more = more < left ? more : left;
	memcpy(w->s + n, text, more);
	w->s[n + more] = 0;
}

struct ss_words ss_count_words(double n, const char *noun)
{
	struct ss_words w = ss_value_words(SS_UNIT_COUNT, n);
	append(&w, " ");
	append(&w, noun);
	if (n != 1)
		append(&w, noun[strlen(noun) - 1] == 'h' ? "es" : "s");
	return w;
}

struct ss_words ss_share_words(enum ss_unit unit, double part, double whole)
{
	struct ss_words w = ss_value_words(unit, part);
	if (!(whole > 0))
		return w;
	append(&w, " of ");
	append(&w, ss_value_words(unit, whole).s);
	append(&w, " (");
	append(&w, ss_value_words(SS_UNIT_FRAC, part / whole).s);
	append(&w, ")");
	return w;
}

struct ss_str ss_program_words(const struct ss_table *t, size_t row, const char *name_col)
{
	struct ss_str name = ss_cell_str(t, row, name_col), program = ss_cell_str(t, row, "program_id");
	for (size_t i = 0; i < t->nrows && program.n; i++) {
		struct ss_str other = ss_cell_str(t, i, "program_id");
		if (other.n && !ss_str_eq(other, program) && ss_str_eq(ss_cell_str(t, i, name_col), name))
			return ss_arena_printf(t->arena, " of program " SS_FMT, SS_ARG(program));
	}
	return SS_STR("");
}

static bool counts(const struct ss_table *t, size_t row, const char *where, const char *is)
{
	if (ss_str_is(ss_cell_str(t, row, "type"), "IDLE") || ss_str_is(ss_cell_str(t, row, "category"), "IDLE"))
		return false;
	return !where || ss_str_is(ss_cell_str(t, row, where), is);
}

struct ss_greatest ss_greatest_row(const struct ss_table *t, const char *col, const char *where, const char *is)
{
	struct ss_greatest g = { SS_NPOS, 0, 0 };
	for (size_t i = 0; i < t->nrows; i++) {
		double v = ss_cell_f64(t, i, col);
		if (!(v > 0) || !counts(t, i, where, is))
			continue;
		g.sum += v;
		if (v > g.value) {
			g.value = v;
			g.row = i;
		}
	}
	return g;
}

struct ss_str ss_kind_of_column(const struct ss_table *t, size_t row, const void *arg)
{
	return counts(t, row, NULL, NULL) ? ss_cell_str(t, row, arg) : (struct ss_str){ NULL, 0 };
}

struct ss_greatest ss_greatest_kind(const struct ss_table *t, const char *col, ss_kind_fn *kind, const void *arg)
{
	struct ss_strmap known = { 0 };
	struct ss_greatest *kinds = calloc(t->nrows + 1, sizeof(*kinds)), g = { SS_NPOS, 0, 0 };
	for (size_t i = 0; kinds && i < t->nrows; i++) {
		double v = ss_cell_f64(t, i, col);
		struct ss_str of = v > 0 ? kind(t, i, arg) : (struct ss_str){ NULL, 0 };
		if (!of.p)
			continue;
		uint32_t k = ss_strmap_add(&known, of);
		if (k == SS_NONE) {
			t->arena->no_memory = true;
			break;
		}
		/* `sum` is the greatest number of the kind so far. */
		if (v > kinds[k].sum) {
			kinds[k].sum = v;
			kinds[k].row = i;
		}
		kinds[k].value += v;
		g.sum += v;
	}
	for (size_t k = 0; kinds && k < known.n; k++)
		if (kinds[k].value > g.value) {
			g.row = kinds[k].row;
			g.value = kinds[k].value;
		}
	t->arena->no_memory |= !kinds;
	ss_strmap_free(&known);
	free(kinds);
	return g;
}
