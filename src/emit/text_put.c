/* text_put.c - words for terminals: their width in cells, what is printed of them, and line breaks. */
#include "emit/text.h"

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
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static struct glyph glyph_at(struct ss_str s, size_t i)
{
	unsigned char c = (unsigned char)s.p[i];
	struct ss_str one = ss_str_sub(s, i, s.n);
	size_t n = ss_utf8_first(one);
	if (!n)
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

void ss_text_put_markdown(struct ss_out *o, struct ss_str s, size_t max)
{
	struct ss_str shown = max ? ss_utf8_front(s, max) : s;
	for (size_t i = 0; i < shown.n;) {
		struct glyph g = glyph_at(shown, i);
		char c = shown.p[i];
		if (c == '|' || c == '`' || c == '<' || c == '\\' || c == '*' || c == '_' || c == '[')
			ss_out_char(o, '\\');
		if (g.replaced)
			ss_out_z(o, g.bytes == 1 && (unsigned char)c < 0x20 ? " " : "\xef\xbf\xbd");
		else
			ss_out_str(o, ss_str_sub(shown, i, i + g.bytes));
		i += g.bytes;
	}
	ss_out_z(o, shown.n < s.n ? "..." : "");
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
