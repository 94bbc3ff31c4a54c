/* text.c - whole results for terminals: the conclusion, tables (text_table.c), notes. */
#include "emit/text.h"

#include "table/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void ss_emit_text_notes(struct ss_out *o, const struct ss_note *notes, size_t n, const struct ss_text_style *style)
{
	static const enum ss_tone tones[] = { [SS_INFO] = SS_TONE_DIM, [SS_WARNING] = SS_TONE_WARN, [SS_ERROR] = SS_TONE_BAD };
	static const char *const names[] = { [SS_INFO] = "note", [SS_WARNING] = "warning", [SS_ERROR] = "error" };
	for (size_t i = 0; i < n; i++) {
		ss_text_tone(o, style, tones[notes[i].severity]);
		ss_out_printf(o, "%s: ", names[notes[i].severity]);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		ss_text_wrap(o, style, notes[i].text, 2);
	}
}

#define VALUE 64

/* "Device compute (in ms)" without the unit: the value has its own. */
static struct ss_str bare_label(const struct ss_prop *p)
{
	struct ss_str s = ss_str_from(p->label ? p->label : p->id);
	size_t at = ss_str_find(s, SS_STR(" (in ms)"));
	return at == SS_NPOS ? s : ss_str_sub(s, 0, at);
}

/* Properties with a name for people, and those that are all a table has. */
static bool is_shown(const struct ss_table *t, const struct ss_prop *p)
{
	return (p->label || !t->ncols) && !(isnan(p->value) && !p->text.n);
}

static size_t count_props(const struct ss_table *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->nprops; i++)
		n += is_shown(t, &t->props[i]);
	return n;
}

static void put_props(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	size_t widest = 0;
	for (size_t i = 0; i < t->nprops; i++) {
		size_t cells = ss_text_cells(bare_label(&t->props[i]));
		if (is_shown(t, &t->props[i]) && cells > widest)
			widest = cells;
	}
	for (size_t i = 0; i < t->nprops; i++) {
		const struct ss_prop *p = &t->props[i];
		char buf[VALUE];
		if (!is_shown(t, p))
			continue;
		size_t cells = ss_text_put(o, bare_label(p), 0);
		ss_text_pad(o, widest - cells + 2);
		if (isnan(p->value)) {
			ss_text_wrap(o, style, p->text, widest + 2);
		} else {
			ss_format_value(buf, sizeof(buf), p->unit, p->value);
			ss_out_printf(o, "%s\n", buf);
		}
	}
	if (widest && t->nrows)
		ss_out_char(o, '\n');
}

void ss_emit_text_conclusion(struct ss_out *o, const struct ss_conclusion *a, const struct ss_text_style *style)
{
	static const enum ss_tone tones[] = {
		[SS_MOOD_PLAIN] = SS_TONE_BOLD, [SS_MOOD_GOOD] = SS_TONE_GOOD,
		[SS_MOOD_WARN] = SS_TONE_WARN, [SS_MOOD_BAD] = SS_TONE_BAD,
	};
	if (!a->text.n)
		return;
	ss_text_tone(o, style, tones[a->mood]);
	ss_text_wrap(o, style, a->text, 0);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	for (size_t i = 0; i < a->nmore; i++)
		ss_text_wrap(o, style, a->more[i], 0);
}

/* Tables without rows are named in one line. */
static void put_empty(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	struct ss_out names;
	ss_out_init(&names, NULL, NULL);
	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];
		if (t->nrows || !t->ncols)
			continue;
		ss_out_z(&names, names.n ? ", " : "No rows: ");
		ss_out_z(&names, t->title);
	}
	ss_text_tone(o, style, SS_TONE_DIM);
	if (r->ntables == 1 || !names.n)
		ss_out_z(o, names.n ? "(no rows)\n" : "");
	else
		ss_text_wrap(o, style, (struct ss_str){ names.buf, names.n }, 2);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	o->no_memory = o->no_memory || names.no_memory;
	ss_out_free(&names);
}

void ss_emit_text(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	bool any = r->conclusion.text.n > 0, empty = false;
	ss_emit_text_conclusion(o, &r->conclusion, style);
	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];
		empty = empty || (!t->nrows && t->ncols);
		if (!t->nrows && !count_props(t))
			continue;
		if (any)
			ss_out_char(o, '\n');
		any = true;
		if (r->ntables > 1) {
			ss_text_tone(o, style, SS_TONE_HEAD);
			ss_text_put(o, ss_str_from(t->title), 0);
			ss_text_tone(o, style, SS_TONE_PLAIN);
			ss_out_char(o, '\n');
		}
		put_props(o, t, style);
		if (t->nrows)
			ss_emit_text_table(o, t, style);
	}
	if (empty && any)
		ss_out_char(o, '\n');
	if (empty)
		put_empty(o, r, style);
	if (r->nnotes && (any || empty))
		ss_out_char(o, '\n');
	ss_emit_text_notes(o, r->notes, r->nnotes, style);
}
