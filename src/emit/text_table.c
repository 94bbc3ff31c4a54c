/*
 * text_table.c - one table for a terminal.
 *
 * A column's scale and width come from all rows that are shown: one pass to measure, one to print.
 * Cells are formatted twice, which costs less than keeping them.
 *
 * Where the line is too narrow, that is done which costs the reader least, one after the other
 * until it fits: heads are broken into lines, long texts cut, columns left out that say nothing or
 * the same in all rows, texts cut further, texts left out but for the first ones, and at last
 * columns from the right. What was left out is named. Rows of a tree are indented below their
 * parents.
 */
#include "emit/text.h"

#include "base/html.h"
#include "table/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD_LINES 3
#define MAX_STR_CELLS 28	/* cut to this while anything else can be left out, */
#define MIN_STR_CELLS 14	/* then to this */
#define KEPT_STR 3		/* texts that stay while numbers can be left out */
#define MAX_DEPTH 30
#define PROSE_ROWS 20		/* of a table of at most so many the last text is wrapped, not cut */

struct column {
	struct ss_scale scale;
	size_t cells;		/* width */
	size_t body;		/* of its cells alone */
	bool left, hidden;
	enum { VARIED, SAME, EMPTY } says; /* the same in all rows; 0 or nothing */
	bool dropped;		/* hidden for want of room */
	char head[96];
};

#define CELL 64
#define MARKDOWN_CELL 120 /* bytes of a text */

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
		if (t->data[c].i64[row] < 0 && t->cols[c].role && strcmp(t->cols[c].role, "id") == 0)
			return SS_STR("");
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

struct table {
	const struct ss_table *t;
	struct column *cols;
	uint8_t *depth;		/* of the rows of a tree, NULL: it is none */
	size_t nrows, name;	/* name: the column that is indented */
	size_t head_lines;
};

static bool is_number(const struct ss_col *c)
{
	return c->type == SS_TYPE_F64 || c->type == SS_TYPE_I64;
}

static double greatest(const struct ss_table *t, size_t c, size_t nrows, bool *whole)
{
	double max_abs = 0;
	for (size_t row = 0; row < nrows; row++) {
		double v = t->cols[c].type == SS_TYPE_I64 ? (double)t->data[c].i64[row] : t->data[c].f64[row];
		if (!isfinite(v))
			continue;
		*whole = *whole && v == floor(v);
		max_abs = fmax(max_abs, fabs(v));
	}
	return max_abs;
}

/* Columns that share a scale have the same of these. */
static const char *scale_of(const struct ss_col *c)
{
	return c->role && strncmp(c->role, "scale:", 6) == 0 ? c->role + 6 : c->id;
}

static struct ss_scale measure_scale(const struct ss_table *t, size_t c, size_t nrows, enum ss_unit unit)
{
	bool whole = true;
	double max_abs = greatest(t, c, nrows, &whole), among = max_abs;
	for (size_t i = 0; i < t->ncols; i++)
		if (i != c && is_number(&t->cols[i]) && strcmp(scale_of(&t->cols[i]), scale_of(&t->cols[c])) == 0)
			among = fmax(among, greatest(t, i, nrows, &whole));
	return among > max_abs ? ss_scale_among(unit, max_abs, among, whole) : ss_scale_for(unit, max_abs, whole);
}

/* Rows of a tree stand behind their parents. False when memory is out. */
static bool measure_tree(struct table *x)
{
	size_t parent = ss_table_col(x->t, "parent");
	x->name = SS_NPOS;
	for (size_t c = x->t->ncols; c-- > 0;)
		x->name = x->t->cols[c].type == SS_TYPE_STR && !x->t->cols[c].role ? c : x->name;
	if (parent == SS_NPOS || x->t->cols[parent].type != SS_TYPE_I64 || x->name == SS_NPOS)
		return true;
	x->depth = calloc(x->nrows + 1, 1);
	for (size_t row = 0; x->depth && row < x->nrows; row++) {
		int64_t p = x->t->data[parent].i64[row];
		unsigned depth = p >= 0 && (uint64_t)p < row ? x->depth[p] + 1u : 0;
		x->depth[row] = (uint8_t)(depth > MAX_DEPTH ? MAX_DEPTH : depth);
	}
	x->cols[parent].hidden = x->depth != NULL;
	return x->depth;
}

static size_t indent_of(const struct table *x, size_t c, size_t row)
{
	return x->depth && c == x->name ? 2u * x->depth[row] : 0;
}

static void measure_head(struct column *col, const struct ss_col *def, bool named)
{
	struct ss_str label = ss_str_from(def->label[0] ? def->label : def->id);
	if (col->scale.suffix[0] && !named && !ss_str_ends(label, ss_str_from(col->scale.suffix)))
		snprintf(col->head, sizeof(col->head), SS_FMT " (%s)", SS_ARG(label), col->scale.suffix);
	else
		snprintf(col->head, sizeof(col->head), SS_FMT, SS_ARG(label));
}

/* The same in all rows, and not for being alone; or nothing at all. */
static void judge(struct table *x, size_t c, struct room *r)
{
	struct column *col = &x->cols[c];
	struct ss_buf first = { 0 };
	bool same = true, empty = true;
	for (size_t row = 0; row < x->nrows && same; row++) {
		struct ss_str text = cell_text(r, x->t, c, row, col);
		if (!row)
			ss_buf_str(&first, text);
		same = ss_str_eq(text, ss_buf_get(&first));
		empty = empty && (!text.n || ss_str_is(text, "0") || ss_str_is(text, "0.0") || ss_str_is(text, "-") ||
				  ss_str_is(text, "no"));
	}
	col->says = same && empty ? EMPTY : same && x->nrows > 1 ? SAME : VARIED;
	r->plain.no_memory = r->plain.no_memory || first.no_memory;
	ss_buf_free(&first);
}

static void measure(struct table *x, size_t c, struct room *r)
{
	struct column *col = &x->cols[c];
	const struct ss_col *def = &x->t->cols[c];
	bool number = is_number(def);
	/*
	 * XProf's labels name their unit, "Total time (us)": then that is the scale, except that
	 * fractions are always percents.
	 */
	bool named = strchr(def->label, '(');
	enum ss_unit unit = named && def->unit != SS_UNIT_FRAC ? SS_UNIT_NONE : def->unit;
	col->scale = (struct ss_scale){ 1, "", 0 };
	col->left = !number;
	/* A tip, or the short form of a column that is printed. */
	col->hidden = col->hidden || (def->role && (strcmp(def->role, "tooltip") == 0 || strncmp(def->role, "short:", 6) == 0));
	if (number)
		col->scale = measure_scale(x->t, c, x->nrows, unit);
	measure_head(col, def, named);
	for (size_t row = 0; row < x->nrows && !col->hidden; row++) {
		size_t cells = ss_text_cells(cell_text(r, x->t, c, row, col)) + indent_of(x, c, row);
		col->body = cells > col->body ? cells : col->body;
	}
	size_t head = ss_text_cells(ss_str_from(col->head));
	col->cells = col->body > head ? col->body : head;
	/* If a column holds only decorative HTML, it is empty. */
	col->hidden = col->hidden || (def->unit == SS_UNIT_HTML && !col->body);
}

/* Cells of the whole line: two blanks between columns. */
static size_t line_cells(const struct table *x)
{
	size_t sum = 0;
	for (size_t i = 0; i < x->t->ncols; i++)
		if (!x->cols[i].hidden)
			sum += x->cols[i].cells + (sum ? 2 : 0);
	return sum;
}

/* The next line of a head, at most `cells` wide unless one word is wider: taken off its front. */
static struct ss_str head_line(struct ss_str *rest, size_t cells)
{
	size_t end = 0;
	for (size_t at = 0; at < rest->n;) {
		size_t blank = ss_str_chr(ss_str_sub(*rest, at, rest->n), ' ');
		size_t until = blank == SS_NPOS ? rest->n : at + blank;
		if (end && ss_text_cells(ss_str_sub(*rest, 0, until)) > cells)
			break;
		end = until;
		at = until + 1;
	}
	struct ss_str line = ss_str_sub(*rest, 0, end);
	*rest = ss_str_sub(*rest, end < rest->n ? end + 1 : rest->n, rest->n);
	return line;
}

static bool head_fits(const char *head, size_t cells)
{
	struct ss_str rest = ss_str_from(head);
	for (int i = 0; i < HEAD_LINES && rest.n; i++)
		if (ss_text_cells(head_line(&rest, cells)) > cells)
			return false;
	return !rest.n;
}

static void break_heads(struct table *x)
{
	for (size_t c = 0; c < x->t->ncols; c++) {
		struct column *col = &x->cols[c];
		size_t cells = col->body ? col->body : 1;
		while (cells < col->cells && !head_fits(col->head, cells))
			cells++;
		col->cells = cells < col->cells ? cells : col->cells;
	}
	x->head_lines = HEAD_LINES;
}

/* Indented names need their room. */
static bool is_tree_name(const struct table *x, size_t c)
{
	return x->depth && c == x->name && x->cols[c].cells <= MAX_STR_CELLS;
}

/* Cut the widest column of text again and again, none below `least`. */
static void cut_texts(struct table *x, size_t width, size_t min)
{
	for (size_t cells; (cells = line_cells(x)) > width;) {
		struct column *widest = NULL;
		for (size_t i = 0; i < x->t->ncols; i++)
			if (!x->cols[i].hidden && x->cols[i].left && !is_tree_name(x, i) &&
			    (!widest || x->cols[i].cells > widest->cells))
				widest = &x->cols[i];
		if (!widest || widest->cells <= min)
			return;
		size_t room = widest->cells - min, over = cells - width;
		widest->cells -= over < room ? over : room;
	}
}

static void drop(struct column *col)
{
	col->hidden = col->dropped = true;
}

/* Drop columns that add no information, from the right. */
static void drop_dull(struct table *x, size_t width, int says)
{
	for (size_t i = x->t->ncols; i-- > 0 && line_cells(x) > width;)
		if (!x->cols[i].hidden && (int)x->cols[i].says == says && i != x->name)
			drop(&x->cols[i]);
}

/* From the right, those behind the first few: these name the row. */
static void drop_texts(struct table *x, size_t width)
{
	size_t before = 0;
	for (size_t i = 0; i < x->t->ncols; i++)
		before += !x->cols[i].hidden && x->t->cols[i].type == SS_TYPE_STR;
	for (size_t i = x->t->ncols; i-- > 0 && before > KEPT_STR && line_cells(x) > width;) {
		if (x->cols[i].hidden || x->t->cols[i].type != SS_TYPE_STR)
			continue;
		before--;
		drop(&x->cols[i]);
	}
}

static void drop_right(struct table *x, size_t width)
{
	size_t shown = 0;
	for (size_t i = 0; i < x->t->ncols; i++)
		shown += !x->cols[i].hidden;
	for (size_t i = x->t->ncols; i-- > 0 && shown > 1 && line_cells(x) > width;)
		if (!x->cols[i].hidden) {
			drop(&x->cols[i]);
			shown--;
		}
}

/* See the head of this file. */
static void fit(struct table *x, size_t width)
{
	x->head_lines = 1;
	if (!width || line_cells(x) <= width)
		return;
	break_heads(x);
	cut_texts(x, width, MAX_STR_CELLS);
	drop_dull(x, width, EMPTY);
	drop_dull(x, width, SAME);
	cut_texts(x, width, MIN_STR_CELLS);
	drop_texts(x, width);
	drop_right(x, width);
}

static void put_cell(struct ss_out *o, const struct column *col, struct ss_str text, size_t indent, bool last)
{
	size_t room = col->cells > indent ? col->cells - indent : 1;
	if (col->left) {
		ss_text_pad(o, indent);
		size_t cells = ss_text_put(o, text, room);
		if (!last)
			ss_text_pad(o, room - (cells < room ? cells : room));
	} else {
		size_t cells = ss_text_cells(text);
		ss_text_pad(o, col->cells - (cells < col->cells ? cells : col->cells));
		ss_text_put(o, text, col->cells);
	}
}

/* The n-th line from below of a head stands on the n-th line from below. */
static struct ss_str head_at(const struct table *x, size_t c, size_t line, size_t lines)
{
	struct ss_str parts[HEAD_LINES], rest = ss_str_from(x->cols[c].head);
	size_t n = 0;
	if (x->head_lines == 1)
		return rest;
	while (rest.n && n < HEAD_LINES)
		parts[n++] = head_line(&rest, x->cols[c].cells);
	return line + n < lines ? SS_STR("") : parts[line + n - lines];
}

static size_t count_head_lines(const struct table *x)
{
	size_t max = 1;
	for (size_t c = 0; c < x->t->ncols && x->head_lines > 1; c++) {
		struct ss_str rest = ss_str_from(x->cols[c].head);
		size_t n = 0;
		for (; rest.n && !x->cols[c].hidden; n++)
			head_line(&rest, x->cols[c].cells);
		max = n > max ? n : max;
	}
	return max;
}

static void put_rows(struct ss_out *o, const struct table *x, const struct ss_text_style *style, struct room *r)
{
	size_t last = x->t->ncols, lines = count_head_lines(x);
	while (last > 0 && x->cols[last - 1].hidden)
		last--;
	ss_text_tone(o, style, SS_TONE_BOLD);
	for (size_t line = 0; line < lines; line++) {
		for (size_t c = 0, any = 0; c < last; c++)
			if (!x->cols[c].hidden) {
				ss_text_pad(o, any++ ? 2 : 0);
				put_cell(o, &x->cols[c], head_at(x, c, line, lines), 0, c + 1 == last);
			}
		if (line + 1 == lines)
			ss_text_tone(o, style, SS_TONE_PLAIN);
		ss_out_char(o, '\n');
	}
	bool prose = style->width && last && x->nrows <= PROSE_ROWS && x->cols[last - 1].body > x->cols[last - 1].cells;
	for (size_t row = 0; row < x->nrows; row++) {
		for (size_t c = 0, any = 0; c < last; c++) {
			if (x->cols[c].hidden)
				continue;
			ss_text_pad(o, any++ ? 2 : 0);
			if (prose && c + 1 == last)
				break;
			put_cell(o, &x->cols[c], cell_text(r, x->t, c, row, &x->cols[c]), indent_of(x, c, row), c + 1 == last);
		}
		if (prose)
			ss_text_wrap(o, style, cell_text(r, x->t, last - 1, row, &x->cols[last - 1]),
				     line_cells(x) - x->cols[last - 1].cells);
		else
			ss_out_char(o, '\n');
	}
}

static void put_left_out(struct ss_out *o, const struct table *x, const struct ss_text_style *style)
{
	struct ss_out names;
	ss_out_init(&names, NULL, NULL);
	for (size_t c = 0; c < x->t->ncols; c++)
		if (x->cols[c].dropped) {
			ss_out_z(&names, names.n ? ", " : "(left out to fit: ");
			ss_out_z(&names, x->cols[c].head);
		}
	if (names.n) {
		ss_out_lit(&names, "; --format csv has all)");
		ss_text_wrap(o, style, (struct ss_str){ names.buf, names.n }, 1);
	}
	o->no_memory = o->no_memory || names.no_memory;
	ss_out_free(&names);
}

/* A depth of the tree is an em space, which Markdown keeps. */
static void put_markdown(struct ss_out *o, const struct table *x, struct room *r)
{
	for (size_t c = 0; c < x->t->ncols; c++)
		if (!x->cols[c].hidden) {
			ss_out_lit(o, "| ");
			ss_text_put_markdown(o, ss_str_from(x->cols[c].head), 0);
			ss_out_char(o, ' ');
		}
	ss_out_lit(o, "|\n");
	for (size_t c = 0; c < x->t->ncols; c++)
		if (!x->cols[c].hidden)
			ss_out_z(o, x->cols[c].left ? "|---" : "|---:");
	ss_out_lit(o, "|\n");
	for (size_t row = 0; row < x->nrows; row++) {
		for (size_t c = 0; c < x->t->ncols; c++) {
			if (x->cols[c].hidden)
				continue;
			ss_out_lit(o, "| ");
			for (size_t i = 0; i < indent_of(x, c, row) / 2; i++)
				ss_out_lit(o, "\xe2\x80\x83");
			ss_text_put_markdown(o, cell_text(r, x->t, c, row, &x->cols[c]), MARKDOWN_CELL);
			ss_out_char(o, ' ');
		}
		ss_out_lit(o, "|\n");
	}
}

void ss_emit_text_table(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style)
{
	struct table x = { .t = t, .nrows = style->max_rows && style->max_rows < t->nrows ? style->max_rows : t->nrows };
	struct room room = { .plain = { 0 } };
	x.cols = calloc(t->ncols + 1, sizeof(*x.cols));
	if (!x.cols || !measure_tree(&x)) {
		free(x.cols);
		o->no_memory = true;
		return;
	}
	for (size_t c = 0; c < t->ncols; c++)
		measure(&x, c, &room);
	for (size_t c = 0; c < t->ncols; c++) {
		bool part = t->cols[c].role && strcmp(t->cols[c].role, "part") == 0;
		if (!part && !style->width && !style->markdown)
			continue;
		judge(&x, c, &room);
		x.cols[c].hidden = x.cols[c].hidden || ((part || style->markdown) && x.cols[c].says == EMPTY && x.nrows);
	}
	fit(&x, style->markdown ? 0 : style->width);
	if (t->ncols && style->markdown)
		put_markdown(o, &x, &room);
	else if (t->ncols)
		put_rows(o, &x, style, &room);
	ss_text_tone(o, style, SS_TONE_DIM);
	if (x.nrows < t->nrows)
		ss_out_printf(o, "%s... %zu more row%s\n", style->markdown ? "\n" : "", t->nrows - x.nrows,
			      t->nrows - x.nrows == 1 ? "" : "s");
	put_left_out(o, &x, style);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	o->no_memory = o->no_memory || room.plain.no_memory;
	ss_buf_free(&room.plain);
	free(x.depth);
	free(x.cols);
}
