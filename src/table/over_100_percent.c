/*
 * over_100_percent.c - shares of more than the whole.
 *
 * A share above 100 % is either a mistake in what was counted or a peak that is not one: a cost
 * model that counts bytes which a cache served, a counter that wrapped, steps that overlap. The
 * number is shown as it is, for it is what the profile says, but never without a word.
 */
#include "table/table.h"

/* Rounding is no excess. */
#define TOLERANCE 1e-6

static double whole_of(enum ss_unit unit)
{
	return unit == SS_UNIT_PERCENT ? 100 : unit == SS_UNIT_FRAC ? 1 : 0;
}

/* In plain digits, however absurd it is. */
static struct ss_str percent(struct ss_arena *arena, double share)
{
	return ss_arena_printf(arena, 100 * share < 1000 ? "%.4g %%" : "%.0f %%", 100 * share);
}

static void note_column(struct ss_result *r, const struct ss_table *t, size_t c)
{
	double whole = whole_of(t->cols[c].unit), max = 0;
	size_t n = 0;
	if (!(whole > 0) || t->cols[c].type != SS_TYPE_F64)
		return;
	for (size_t i = 0; i < t->nrows; i++) {
		double share = t->data[c].f64[i] / whole; /* NaN: an empty cell, above nothing */
		n += share > 1 + TOLERANCE;
		max = share > max ? share : max;
	}
	if (!n)
		return;
	struct ss_str at_most = percent(r->arena, max);
	struct ss_str text =
		ss_arena_printf(r->arena,
				"%s: '%s' is above 100 %% in %zu row%s (at most " SS_FMT
				"): the count exceeds the limit, so the count or the limit is inexact there.",
				t->title, t->cols[c].label, n, n == 1 ? "" : "s", SS_ARG(at_most));
	ss_result_note(r, SS_WARNING, text);
}

static void note_prop(struct ss_result *r, const struct ss_table *t, const struct ss_prop *p)
{
	double whole = whole_of(p->unit);
	if (!(whole > 0) || !(p->value / whole > 1 + TOLERANCE))
		return;
	struct ss_str much = percent(r->arena, p->value / whole);
	struct ss_str text = ss_arena_printf(
		r->arena, "%s: '%s' is " SS_FMT ": the count exceeds the limit, so the count or the limit is inexact.",
		t->title, p->label ? p->label : p->id, SS_ARG(much));
	ss_result_note(r, SS_WARNING, text);
}

void ss_result_note_over_100_percent(struct ss_result *r)
{
	for (size_t k = 0; k < r->ntables; k++) {
		const struct ss_table *t = &r->tables[k];
		for (size_t c = 0; c < t->ncols; c++)
			note_column(r, t, c);
		for (size_t i = 0; i < t->nprops; i++)
			note_prop(r, t, &t->props[i]);
	}
}
