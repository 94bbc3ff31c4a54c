/*
 * text.c - tables for terminals.
 *
 * A column's scale and width come from all rows that are shown: one pass to measure, one to print.
 * Cells are formatted twice, which costs less than keeping them.
 */
#include "emit/text.h"

#include "base/html.h"
#include "table/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MIN_STR_CELLS 12

/*
 * One character: its bytes, code point and cells. Broken bytes and controls are one character of
 * one cell, U+FFFD.
 */
struct glyph {
	size_t bytes, cells;
	bool replaced;
};

static bool wide(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd }
	};
	for (size_t i = 0; i < SS_COUNT(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static bool combining(uint32_t c)
{
	return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) || (c >= 0xfe00 && c <= 0xfe0f) ||
	       (c >= 0x20d0 && c <= 0x20ff);
}

/* Characters that act on the terminal or reorder the text around them. */
static bool acts(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static struct glyph glyph_at(struct ss_str s, size_t i)
{
	unsigned char c = (unsigned char)s.p[i];
	size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	struct ss_str one = ss_str_sub(s, i, i + n);
	if (one.n < n || !ss_utf8_valid(one))
		return (struct glyph){ 1, 1, true };
	uint32_t code = n == 1 ? c : c & (0xffu >> (n + 1));
	for (size_t k = 1; k < n; k++)
		code = code << 6 | ((unsigned char)one.p[k] & 0x3f);
	if (acts(code))
		return (struct glyph){ n, 1, true };
	return (struct glyph){ n, combining(code) ? 0 : wide(code) ? 2 : 1, false };
}

size_t ss_text_cells(struct ss_str s)
{
	size_t cells = 0;
	for (size_t i = 0; i < s.n;) {
		struct glyph g = glyph_at(s, i);
		cells += g.cells;
		i += g.bytes;
	}
	return cells;
}

size_t ss_text_put(struct ss_out *o, struct ss_str s, size_t max)
{
	bool cut = max && s.n > max && ss_text_cells(s) > max;
	size_t cells = 0;
	for (size_t i = 0; i < s.n;) {
		struct glyph g = glyph_at(s, i);
		if (cut && cells + g.cells > max - 1) {
			ss_out_lit(o, "\xe2\x80\xa6");
			return cells + 1;
		}
		if (g.replaced)
			ss_out_lit(o, "\xef\xbf\xbd");
		else
			ss_out_str(o, ss_str_sub(s, i, i + g.bytes));
		cells += g.cells;
		i += g.bytes;
	}
	return cells;
}

void ss_text_tone(struct ss_out *o, const struct ss_text_style *style, enum ss_tone tone)
{
	static const char *const codes[] = {
		[SS_TONE_PLAIN] = "\x1b[0m", [SS_TONE_BOLD] = "\x1b[1m", [SS_TONE_DIM] = "\x1b[2m",
		[SS_TONE_GOOD] = "\x1b[32m", [SS_TONE_WARN] = "\x1b[33m", [SS_TONE_BAD] = "\x1b[31m",
		[SS_TONE_HEAD] = "\x1b[1;36m"
	};
	if (style->colour)
		ss_out_z(o, codes[tone]);
}

void ss_text_pad(struct ss_out *o, size_t cells)
{
	while (cells--)
		ss_out_char(o, ' ');
}

void ss_text_wrap(struct ss_out *o, const struct ss_text_style *style, struct ss_str s, size_t indent)
{
	size_t width = style->width && style->width < 40 ? 40 : style->width, at = indent;
	while (s.n) {
		size_t end = ss_str_chr(s, ' ');
		struct ss_str word = ss_str_sub(s, 0, end == SS_NPOS ? s.n : end);
		size_t cells = ss_text_cells(word);
		if (width && at > indent && at + 1 + cells > width) {
			ss_out_char(o, '\n');
			ss_text_pad(o, indent);
			at = indent;
		} else if (at > indent && cells) {
			ss_out_char(o, ' ');
			at++;
		}
		ss_text_put(o, word, 0);
		at += cells;
		s = ss_str_sub(s, end == SS_NPOS ? s.n : end + 1, s.n);
	}
	ss_out_char(o, '\n');
}

struct column {
	struct ss_scale scale;
	size_t cells;		/* width */
	bool left, hidden;
	char head[96];
};

#define CELL 64

/* Room for the text of one cell at a time. */
struct room {
	char number[CELL];
	struct ss_buf plain;
};

static struct ss_str plain_text(struct room *r, struct ss_str html)
{
	r->plain.n = 0;
	ss_html_plain(&r->plain, html);
	return ss_buf_get(&r->plain);
}

/* A cell's text: in `r` for numbers and what was HTML, in place for other strings. */
static struct ss_str cell_text(struct room *r, const struct ss_table *t, size_t c, size_t row, const struct column *col)
{
	char *buf = r->number;
	double v;
	switch (t->cols[c].type) {
	case SS_TYPE_STR:
		return t->cols[c].unit == SS_UNIT_HTML ? plain_text(r, t->data[c].str[row]) : t->data[c].str[row];
	case SS_TYPE_BOOL:
		return ss_str_from(t->data[c].b[row] ? "yes" : "no");
	case SS_TYPE_I64:
		if (t->cols[c].unit == SS_UNIT_HEX) {
			snprintf(buf, CELL, "0x%llx", (unsigned long long)t->data[c].i64[row]);
			return ss_str_from(buf);
		}
		if (col->scale.factor == 1 && col->scale.decimals == 0) {
			snprintf(buf, CELL, "%lld", (long long)t->data[c].i64[row]);
			return ss_str_from(buf);
		}
		v = (double)t->data[c].i64[row];
		break;
	default:
		v = t->data[c].f64[row];
		break;
	}
	if (isnan(v))
		return SS_STR("-");
	if (fabs(v) >= 1e30)
		snprintf(buf, CELL, "%.3g", v * col->scale.factor);
	else
		snprintf(buf, CELL, "%.*f", col->scale.decimals, v * col->scale.factor);
	return ss_str_from(buf);
}

static struct ss_scale measure_scale(const struct ss_table *t, size_t c, size_t nrows, enum ss_unit unit)
{
	double max_abs = 0;
	bool whole = true;
	for (size_t row = 0; row < nrows; row++) {
		double v = t->cols[c].type == SS_TYPE_I64 ? (double)t->data[c].i64[row] : t->data[c].f64[row];
		if (!isfinite(v))
			continue;
		whole = whole && v == floor(v);
		max_abs = fmax(max_abs, fabs(v));
	}
	return ss_scale_for(unit, max_abs, whole);
}

static void measure(struct column *col, const struct ss_table *t, size_t c, size_t nrows, struct room *r)
{
	const struct ss_col *def = &t->cols[c];
	bool number = def->type == SS_TYPE_F64 || def->type == SS_TYPE_I64;
	const char *label = def->label[0] ? def->label : def->id;
	/*
	 * XProf's labels name their unit, "Total time (us)": then that is the scale, except that
	 * fractions are always percents.
	 */
	bool named = strchr(label, '(');
	enum ss_unit unit = named && def->unit != SS_UNIT_FRAC ? SS_UNIT_NONE : def->unit;
	*col = (struct column){ .scale = { 1, "", 0 }, .left = !number };
	col->hidden = def->role && strcmp(def->role, "tooltip") == 0;
	if (number)
		col->scale = measure_scale(t, c, nrows, unit);
	if (col->scale.suffix[0] && !named && !ss_str_ends(ss_str_from(label), ss_str_from(col->scale.suffix)))
		snprintf(col->head, sizeof(col->head), "%s (%s)", label, col->scale.suffix);
	else
		snprintf(col->head, sizeof(col->head), "%s", label);
	col->cells = ss_text_cells(ss_str_from(col->head));
	size_t most = 0;
	for (size_t row = 0; row < nrows && !col->hidden; row++) {
		size_t cells = ss_text_cells(cell_text(r, t, c, row, col));
		most = cells > most ? cells : most;
	}
	col->cells = most > col->cells ? most : col->cells;
	/* Where all that was HTML was for the eye, the column says nothing. */
	col->hidden = col->hidden || (def->unit == SS_UNIT_HTML && !most);
}

/* Cells of the whole line: two blanks between columns. */
static size_t line_cells(const struct column *cols, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		if (!cols[i].hidden)
			sum += cols[i].cells + (sum ? 2 : 0);
	return sum;
}

/*
 * Make it fit: cut the widest column of text again and again, then hide from the right. Returns the
 * columns hidden for width.
 */
static size_t fit(struct column *cols, size_t n, size_t width)
{
	size_t hidden = 0;
	if (!width)
		return 0;
	for (size_t over; (over = line_cells(cols, n)) > width;) {
		struct column *widest = NULL;
		for (size_t i = 0; i < n; i++)
			if (!cols[i].hidden && cols[i].left && (!widest || cols[i].cells > widest->cells))
				widest = &cols[i];
		over -= width;
		if (widest && widest->cells > MIN_STR_CELLS) {
			size_t room = widest->cells - MIN_STR_CELLS;
			widest->cells -= over < room ? over : room;
			continue;
		}
		size_t last = n;
		while (last > 0 && cols[last - 1].hidden)
			last--;
		if (last <= 1)
			break;
		cols[last - 1].hidden = true;
		hidden++;
	}
	return hidden;
}

static void put_cell(struct ss_out *o, const struct column *col, struct ss_str text, bool last)
{
	if (col->left) {
		size_t cells = ss_text_put(o, text, col->cells);
		if (!last)
			ss_text_pad(o, col->cells - (cells < col->cells ? cells : col->cells));
	} else {
		size_t cells = ss_text_cells(text);
		ss_text_pad(o, col->cells - (cells < col->cells ? cells : col->cells));
		ss_text_put(o, text, col->cells);
	}
}

static void put_rows(struct ss_out *o, const struct ss_table *t, const struct column *cols, size_t nrows,
		     const struct ss_text_style *style, struct room *r)
{
	size_t last = t->ncols;
	while (last > 0 && cols[last - 1].hidden)
		last--;
	ss_text_tone(o, style, SS_TONE_BOLD);
	for (size_t c = 0, any = 0; c < last; c++)
		if (!cols[c].hidden) {
			ss_text_pad(o, any++ ? 2 : 0);
			put_cell(o, &cols[c], ss_str_from(cols[c].head), c + 1 == last);
		}
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_char(o, '\n');
	for (size_t row = 0; row < nrows; row++) {
		for (size_t c = 0, any = 0; c < last; c++) {
			if (cols[c].hidden)
				continue;
			ss_text_pad(o, any++ ? 2 : 0);
			put_cell(o, &cols[c], cell_text(r, t, c, row, &cols[c]), c + 1 == last);
		}
		ss_out_char(o, '\n');
	}
}

void ss_emit_text_table(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	size_t nrows = style->max_rows && style->max_rows < t->nrows ? style->max_rows : t->nrows;
	struct column *cols = calloc(t->ncols + 1, sizeof(*cols));
	struct room room = { .plain = { 0 } };
	if (!cols) {
		o->no_memory = true;
		return;
	}
	for (size_t c = 0; c < t->ncols; c++)
		measure(&cols[c], t, c, nrows, &room);
	size_t hidden = fit(cols, t->ncols, style->width);
	if (t->ncols)
		put_rows(o, t, cols, nrows, style, &room);
	free(cols);
	o->no_memory = o->no_memory || room.plain.no_memory;
	ss_buf_free(&room.plain);
	ss_text_tone(o, style, SS_TONE_DIM);
	if (nrows < t->nrows)
		ss_out_printf(o, "... %zu more row%s\n", t->nrows - nrows, t->nrows - nrows == 1 ? "" : "s");
	if (hidden)
		ss_out_printf(o, "(%zu column%s too many to fit; --format csv has all)\n", hidden, hidden == 1 ? "" : "s");
	ss_text_tone(o, style, SS_TONE_PLAIN);
}

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

/* Properties with a name for people, and those that are all a table has. */
static void put_props(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	size_t widest = 0, shown = 0;
	for (size_t i = 0; i < t->nprops; i++) {
		size_t cells = ss_text_cells(ss_str_from(t->props[i].label ? t->props[i].label : t->props[i].id));
		if ((t->props[i].label || !t->ncols) && cells > widest)
			widest = cells;
	}
	for (size_t i = 0; i < t->nprops; i++) {
		const struct ss_prop *p = &t->props[i];
		char buf[CELL];
		if ((!p->label && t->ncols) || (isnan(p->value) && !p->text.n))
			continue;
		size_t cells = ss_text_put(o, ss_str_from(p->label ? p->label : p->id), 0);
		ss_text_pad(o, widest - cells + 2);
		if (isnan(p->value)) {
			ss_text_wrap(o, style, p->text, widest + 2);
		} else {
			ss_format_value(buf, sizeof(buf), p->unit, p->value);
			ss_out_printf(o, "%s\n", buf);
		}
		shown++;
	}
	if (shown && t->nrows)
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

void ss_emit_text(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	bool any = r->conclusion.text.n > 0;
	ss_emit_text_conclusion(o, &r->conclusion, style);
	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];
		if (!t->ncols && !t->nprops)
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
		else if (t->ncols)
			ss_out_lit(o, "(no rows)\n");
	}
	if (r->nnotes && any)
		ss_out_char(o, '\n');
	ss_emit_text_notes(o, r->notes, r->nnotes, style);
}
