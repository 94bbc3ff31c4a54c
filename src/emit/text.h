/*
 * text.h - results for a terminal: aligned columns, scaled units, colours.
 *
 * Text from a profile never reaches the terminal as control characters. Widths are counted in
 * terminal cells. On a narrow terminal long names are cut ("…"), then columns are left out, which the
 * last line names (text_table.c).
 */
#ifndef SS_EMIT_TEXT_H
#define SS_EMIT_TEXT_H

#include "base/buf.h"
#include "emit/out.h"
#include "table/table.h"

struct ss_text_style {
	bool colour;
	size_t width;		/* cells of a line, 0: no limit */
	size_t max_rows;	/* of each table, 0: all */
	bool markdown;		/* tables for a pull request; neither width nor colour */
};

enum ss_tone { SS_TONE_PLAIN, SS_TONE_BOLD, SS_TONE_DIM, SS_TONE_GOOD, SS_TONE_WARN, SS_TONE_BAD, SS_TONE_HEAD };

/* Cells that `s` takes as ss_text_put writes it. */
size_t ss_text_cells(struct ss_str s);
/*
 * Write `s`, cut to `max` cells (0: whole), control characters and broken UTF-8 replaced. Returns
 * the cells written.
 */
size_t ss_text_put(struct ss_out *o, struct ss_str s, size_t max);
/* The same within a line of Markdown, at most `max` bytes (0: whole): what would end a cell or mean something is escaped. */
void ss_text_put_markdown(struct ss_out *o, struct ss_str s, size_t max);
/* Switch the colour on or back; nothing without style->colour. */
void ss_text_tone(struct ss_out *o, const struct ss_text_style *style, enum ss_tone tone);
void ss_text_pad(struct ss_out *o, size_t cells);
/*
 * Words of `s` in lines of the style's width (at least 40), the second line on indented by
 * `indent`; ends the line.
 */
void ss_text_wrap(struct ss_out *o, const struct ss_text_style *style, struct ss_str s, size_t indent);

void ss_emit_text_table(struct ss_out *o, const struct ss_table *t, const struct ss_text_style *style);
void ss_emit_text_notes(struct ss_out *o, const struct ss_note *notes, size_t n, const struct ss_text_style *style);
/* Print the sentences of the conclusion, the first in the colour of its mood; print nothing without sentences. */
void ss_emit_text_conclusion(struct ss_out *o, const struct ss_conclusion *a, const struct ss_text_style *style);
/* The conclusion, all tables with their headings and properties, then the notes. */
void ss_emit_text(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style);

#endif
