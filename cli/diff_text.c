/* diff_text.c - a comparison for a terminal, and as Markdown for a pull request. */
#include "sides.h"

#include "table/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 15
#define BAR 16
#define ENVIRONMENT_CELLS 60 /* of a value on a side */

static struct ss_str refusal_note(void)
{
	return SS_STR("--anyway lists the operations nevertheless, without a verdict");
}

static bool is_refused(const struct cli_sides *s)
{
	return s->diff.verdict == SS_DIFF_NOT_COMPARABLE;
}

/* ---- numbers ---- */

static void put_us(char *buf, size_t n, double us, bool sign)
{
	char text[64];
	ss_format_value(text, sizeof(text), SS_UNIT_US, fabs(us));
	snprintf(buf, n, "%s%s", us < 0 ? "-" : sign && us > 0 ? "+" : "", text);
}

static void put_frac(char *buf, size_t n, double frac)
{
	if (isnan(frac))
		snprintf(buf, n, "-");
	else
		snprintf(buf, n, "%+.1f%%", 100 * frac);
}

/* ---- terminal ---- */

/* A bar to the left of the middle for less, to the right for more. */
static void bar(struct ss_out *o, const struct ss_text_style *style, double v, double most, bool significant)
{
	int cells = most > 0 ? (int)lrint(fabs(v) / most * BAR) : 0;
	cells = !cells && fabs(v) > 0 && significant ? 1 : cells;
	ss_text_pad(o, v < 0 ? (size_t)(BAR - cells) : BAR);
	ss_text_tone(o, style, !significant ? SS_TONE_DIM : v > 0 ? SS_TONE_BAD : SS_TONE_GOOD);
	if (v >= 0)
		ss_out_lit(o, "\xe2\x94\x82");
	for (int i = 0; i < cells; i++)
		ss_out_z(o, significant ? "\xe2\x96\x88" : "\xe2\x96\x91");
	if (v < 0)
		ss_out_lit(o, "\xe2\x94\x82");
	ss_text_tone(o, style, SS_TONE_PLAIN);
}

static void name_cell(struct ss_out *o, struct ss_str s, size_t width)
{
	size_t cells = ss_text_put(o, s, width);
	ss_text_pad(o, width > cells ? width - cells : 0);
}

static void breakdown(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	double most = 0;
	for (size_t i = 0; i < t->nrows; i++)
		most = fmax(most, fabs(ss_cell_f64(t, i, "delta_us")));
	cli_heading(o, style, "Where the difference is");
	for (size_t i = 0; i < t->nrows; i++) {
		double b = ss_cell_f64(t, i, "base_us"), n = ss_cell_f64(t, i, "new_us"), d = ss_cell_f64(t, i, "delta_us");
		char from[80], to[80], delta[80];
		if (fabs(b) < 0.0005 && fabs(n) < 0.0005)
			continue;
		put_us(from, sizeof(from), b, false);
		put_us(to, sizeof(to), n, false);
		put_us(delta, sizeof(delta), d, true);
		ss_out_lit(o, "  ");
		name_cell(o, ss_cell_str(t, i, "component"), 22);
		ss_out_printf(o, "%10s -> %10s %11s  ", from, to, delta);
		bar(o, style, d, most, ss_cell_bool(t, i, "significant"));
		ss_out_char(o, '\n');
	}
}

/* The key of a row of any of the tables that list what changed. */
static struct ss_str key_of(const struct ss_table *t, size_t i)
{
	static const char *const cols[] = { "new_name", "base_name", "function", "key", "what" };
	for (size_t c = 0; c < SS_COUNT(cols); c++) {
		struct ss_str s = ss_cell_str(t, i, cols[c]);
		if (s.n)
			return s;
	}
	return SS_STR("-");
}

static struct ss_str place_of(const struct ss_table *t, size_t i)
{
	struct ss_str path = ss_cell_str(t, i, "new_path");
	path = path.n ? path : ss_cell_str(t, i, "base_path");
	return path.n ? path : ss_cell_str(t, i, "source");
}

/* Rows that are worth a line: those that changed; of a comparison that is listed anyway, all. */
static size_t changed_rows(const struct ss_table *t, bool all, size_t *rows, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < t->nrows; i++)
		if (all || ss_cell_bool(t, i, "significant")) {
			if (n < max)
				rows[n] = i;
			n++;
		}
	return n;
}

static void changes(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style, bool all)
{
	size_t rows[MOST_ROWS], n = changed_rows(t, all, rows, MOST_ROWS), shown = n < MOST_ROWS ? n : MOST_ROWS;
	char title[120];
	snprintf(title, sizeof(title), "%s%s", t->title, all ? "" : " that changed");
	cli_heading(o, style, title);
	if (!n)
		ss_out_lit(o, "  none\n");
	for (size_t k = 0; k < shown; k++) {
		size_t i = rows[k];
		char from[80], to[80], delta[80], frac[40];
		double b = ss_cell_f64(t, i, "base_us"), d = ss_cell_f64(t, i, "delta_us");
		struct ss_str match = ss_cell_str(t, i, "match");
		put_us(from, sizeof(from), b, false);
		put_us(to, sizeof(to), ss_cell_f64(t, i, "new_us"), false);
		put_us(delta, sizeof(delta), d, true);
		put_frac(frac, sizeof(frac), b > 0 ? d / b : NAN);
		ss_out_printf(o, "  %10s -> %10s %11s %8s  ", from, to, delta, frac);
		if (ss_str_is(match, "added") || ss_str_is(match, "removed"))
			ss_out_printf(o, SS_FMT ": ", SS_ARG(match));
		ss_text_put(o, key_of(t, i), 60);
		struct ss_str place = place_of(t, i);
		if (place.n) {
			ss_out_lit(o, "  ");
			ss_text_tone(o, style, SS_TONE_DIM);
			ss_text_put(o, place, 80);
			ss_text_tone(o, style, SS_TONE_PLAIN);
		}
		ss_out_char(o, '\n');
	}
	if (n > shown)
		ss_out_printf(o, "  and %zu more: --format csv lists all\n", n - shown);
}

/*
 * Two long values from where they part: the item of the list that differs, and what follows. The part that is left out is
 * "...".
 */
static struct ss_str from_difference(struct ss_arena *a, struct ss_str s, struct ss_str other)
{
	size_t n = 0, item = 0;
	for (; n < s.n && n < other.n && s.p[n] == other.p[n]; n++)
		item = s.p[n] == ' ' ? n + 1 : item;
	if (item < 20 || s.n <= ENVIRONMENT_CELLS)
		return s;
	struct ss_str cut = ss_arena_printf(a, "\xe2\x80\xa6 " SS_FMT, SS_ARG(ss_str_sub(s, item, s.n)));
	return cut.p ? cut : s;
}

static void environment(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	struct ss_arena a = { 0 };
	bool any = false;
	for (size_t i = 0; i < t->nrows; i++) {
		if (!ss_cell_bool(t, i, "differs"))
			continue;
		if (!any)
			cli_heading(o, style, "Environments that differ");
		any = true;
		struct ss_str b = ss_cell_str(t, i, "base"), n = ss_cell_str(t, i, "new");
		ss_out_lit(o, "  ");
		name_cell(o, ss_cell_str(t, i, "key"), 22);
		ss_text_put(o, b.n ? from_difference(&a, b, n) : SS_STR("-"), ENVIRONMENT_CELLS);
		ss_out_lit(o, " -> ");
		ss_text_put(o, n.n ? from_difference(&a, n, b) : SS_STR("-"), ENVIRONMENT_CELLS);
		ss_out_char(o, '\n');
	}
	ss_arena_release(&a);
}

static void memory(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	cli_heading(o, style, "Memory");
	if (!t->nrows)
		ss_out_lit(o, "  no allocation was recorded\n");
	for (size_t i = 0; i < t->nrows; i++) {
		char from[64], to[64];
		ss_format_value(from, sizeof(from), SS_UNIT_BYTES, ss_cell_f64(t, i, "base_bytes"));
		ss_format_value(to, sizeof(to), SS_UNIT_BYTES, ss_cell_f64(t, i, "new_bytes"));
		ss_out_lit(o, "  ");
		name_cell(o, ss_cell_str(t, i, "what"), 40);
		ss_out_printf(o, "%12s -> %12s\n", from, to);
	}
}

void cli_diff_text(struct ss_out *o, const struct cli_sides *s, enum ss_diff_by by, const struct ss_text_style *style)
{
	const struct ss_result *r = &s->result;
	ss_emit_text_conclusion(o, &r->conclusion, style);
	if (!is_refused(s))
		breakdown(o, ss_result_find(r, "breakdown"), style);
	if (by == SS_DIFF_BY_MEMORY)
		memory(o, ss_result_find(r, "memory"), style);
	else if (!is_refused(s) || s->anyway)
		changes(o, ss_result_find(r, ss_diff_by_table(by)), style, is_refused(s));
	if (!is_refused(s) && by != SS_DIFF_BY_HOST)
		changes(o, ss_result_find(r, "host"), style, false);
	environment(o, ss_result_find(r, "environment"), style);
	ss_out_char(o, '\n');
	ss_emit_text_notes(o, r->notes, r->nnotes, style);
	if (is_refused(s) && !s->anyway) {
		struct ss_note n = { SS_INFO, refusal_note() };
		ss_emit_text_notes(o, &n, 1, style);
	}
}

/* ---- Markdown ---- */

static void md_changes(struct ss_out *o, const struct ss_table *t, bool all)
{
	size_t rows[MOST_ROWS], n = changed_rows(t, all, rows, MOST_ROWS), shown = n < MOST_ROWS ? n : MOST_ROWS;
	if (!n)
		return;
	ss_out_printf(o, "\n### %s%s\n\n| | base | new | delta | |\n|---|---:|---:|---:|---:|\n", t->title,
		      all ? "" : " that changed");
	for (size_t k = 0; k < shown; k++) {
		size_t i = rows[k];
		char from[80], to[80], delta[80], frac[40];
		double b = ss_cell_f64(t, i, "base_us"), d = ss_cell_f64(t, i, "delta_us");
		put_us(from, sizeof(from), b, false);
		put_us(to, sizeof(to), ss_cell_f64(t, i, "new_us"), false);
		put_us(delta, sizeof(delta), d, true);
		put_frac(frac, sizeof(frac), b > 0 ? d / b : NAN);
		ss_out_lit(o, "| ");
		ss_text_put_markdown(o, key_of(t, i), 100);
		struct ss_str place = place_of(t, i);
		if (place.n) {
			ss_out_lit(o, " (");
			ss_text_put_markdown(o, place, 120);
			ss_out_lit(o, ")");
		}
		ss_out_printf(o, " | %s | %s | %s | %s |\n", from, to, delta, frac);
	}
	if (n > shown)
		ss_out_printf(o, "\n%zu more changed.\n", n - shown);
}

static void md_breakdown(struct ss_out *o, const struct ss_table *t, bool per_example)
{
	ss_out_printf(o, "\n| %s | base | new | delta | 95 %% | significant |\n|---|---:|---:|---:|---:|---|\n",
		      per_example ? "for the base's batch" : "per step");
	for (size_t i = 0; i < t->nrows; i++) {
		double b = ss_cell_f64(t, i, "base_us"), n = ss_cell_f64(t, i, "new_us");
		double low = ss_cell_f64(t, i, "ci_low_us"), high = ss_cell_f64(t, i, "ci_high_us");
		char from[80], to[80], delta[80], from95[80], to95[80];
		if (fabs(b) < 0.0005 && fabs(n) < 0.0005)
			continue;
		put_us(from, sizeof(from), b, false);
		put_us(to, sizeof(to), n, false);
		put_us(delta, sizeof(delta), ss_cell_f64(t, i, "delta_us"), true);
		put_us(from95, sizeof(from95), low, true);
		put_us(to95, sizeof(to95), high, true);
		ss_out_lit(o, "| ");
		ss_text_put_markdown(o, ss_cell_str(t, i, "component"), 40);
		ss_out_printf(o, " | %s | %s | %s | %s%s%s | %s |\n", from, to, delta, isnan(low) ? "" : from95,
			      isnan(low) ? "" : " to ", isnan(low) ? "" : to95,
			      ss_cell_bool(t, i, "significant") ? "yes" : "");
	}
}

static void md_environment(struct ss_out *o, const struct ss_table *t)
{
	struct ss_arena a = { 0 };
	bool any = false;
	for (size_t i = 0; i < t->nrows; i++) {
		if (!ss_cell_bool(t, i, "differs"))
			continue;
		ss_out_z(o, any ? "" : "\n| environment | base | new |\n|---|---|---|\n");
		any = true;
		struct ss_str b = ss_cell_str(t, i, "base"), n = ss_cell_str(t, i, "new");
		ss_out_lit(o, "| ");
		ss_text_put_markdown(o, ss_cell_str(t, i, "key"), 60);
		ss_out_lit(o, " | ");
		ss_text_put_markdown(o, from_difference(&a, b, n), 120);
		ss_out_lit(o, " | ");
		ss_text_put_markdown(o, from_difference(&a, n, b), 120);
		ss_out_lit(o, " |\n");
	}
	ss_arena_release(&a);
}

static void md_conclusion(struct ss_out *o, const struct ss_conclusion *c)
{
	ss_out_lit(o, "## stepscope diff\n\n**");
	ss_text_put_markdown(o, c->text, 1000);
	ss_out_lit(o, "**\n");
	for (size_t i = 0; i < c->nmore; i++) {
		ss_out_lit(o, "\n- ");
		ss_text_put_markdown(o, c->more[i], 1000);
	}
	ss_out_char(o, '\n');
}

static void md_notes(struct ss_out *o, const struct ss_result *r)
{
	for (size_t i = 0; i < r->nnotes; i++) {
		ss_out_lit(o, "\n> ");
		ss_text_put_markdown(o, r->notes[i].text, 1000);
		ss_out_char(o, '\n');
	}
}

void cli_diff_tool_markdown(struct ss_out *o, const struct ss_result *r)
{
	const struct ss_text_style style = { .markdown = true, .max_rows = MOST_ROWS };
	md_conclusion(o, &r->conclusion);
	for (size_t i = 0; i < r->ntables; i++) {
		if (!r->tables[i].nrows)
			continue;
		ss_out_printf(o, "\n### %s\n\n", r->tables[i].title);
		ss_emit_text_table(o, &r->tables[i], &style);
	}
	md_notes(o, r);
}

void cli_diff_markdown(struct ss_out *o, const struct cli_sides *s, enum ss_diff_by by)
{
	const struct ss_result *r = &s->result;
	md_conclusion(o, &r->conclusion);
	if (!is_refused(s))
		md_breakdown(o, ss_result_find(r, "breakdown"), ss_diff_is_per_example(&s->diff));
	if (by != SS_DIFF_BY_MEMORY && (!is_refused(s) || s->anyway))
		md_changes(o, ss_result_find(r, ss_diff_by_table(by)), is_refused(s));
	if (!is_refused(s) && by != SS_DIFF_BY_HOST)
		md_changes(o, ss_result_find(r, "host"), false);
	md_environment(o, ss_result_find(r, "environment"));
	md_notes(o, r);
}
