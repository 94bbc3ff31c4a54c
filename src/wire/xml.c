/* xml.c - see xml.h. */
#include "wire/xml.h"

#include "base/buf.h"

struct ss_xml ss_xml_of(struct ss_str text)
{
	if (ss_str_starts(text, SS_STR("\xef\xbb\xbf")))
		text = ss_str_sub(text, 3, text.n);
	return (struct ss_xml){ .at = text.p, .end = text.p + text.n };
}

static struct ss_str rest(const struct ss_xml *x)
{
	return (struct ss_str){ x->at, (size_t)(x->end - x->at) };
}

static bool fail(struct ss_xml *x)
{
	x->bad = true;
	x->at = x->end;
	return false;
}

/* Go behind the next `mark`; what stood before it. */
static bool skip_to(struct ss_xml *x, struct ss_str mark, struct ss_str *before)
{
	size_t at = ss_str_find(rest(x), mark);
	if (at == SS_NPOS)
		return fail(x);
	*before = ss_str_sub(rest(x), 0, at);
	x->at += at + mark.n;
	return true;
}

/* The end of a tag: ">" that is in no quotes. */
static bool take_tag(struct ss_xml *x, struct ss_str *inside)
{
	char quote = 0;
	const char *begin = x->at;
	for (; x->at < x->end; x->at++) {
		if (quote)
			quote = *x->at == quote ? 0 : quote;
		else if (*x->at == '"' || *x->at == '\'')
			quote = *x->at;
		else if (*x->at == '>')
			break;
	}
	if (x->at == x->end)
		return fail(x);
	*inside = (struct ss_str){ begin, (size_t)(x->at++ - begin) };
	return true;
}

static struct ss_str name_in(struct ss_str inside)
{
	size_t n = 0;
	while (n < inside.n && (unsigned char)inside.p[n] > ' ' && inside.p[n] != '/')
		n++;
	size_t colon = ss_str_chr(ss_str_sub(inside, 0, n), ':');
	return ss_str_sub(inside, colon == SS_NPOS ? 0 : colon + 1, n);
}

static bool take_element(struct ss_xml *x, struct ss_xmltok *t)
{
	struct ss_str inside;
	if (!take_tag(x, &inside))
		return false;
	bool closes = ss_str_take(&inside, SS_STR("/"));
	*t = (struct ss_xmltok){ closes ? SS_XML_CLOSE : SS_XML_OPEN, name_in(inside), false };
	if (!t->text.n || (closes && !x->depth) || (!closes && x->depth == SS_XML_DEPTH))
		return fail(x);
	x->depth += closes ? -1U : 1;
	if (!closes && inside.p[inside.n - 1] == '/')
		x->closes = t->text;
	return true;
}

bool ss_xml_next(struct ss_xml *x, struct ss_xmltok *t)
{
	struct ss_str passed;
	if (x->closes.n) {
		*t = (struct ss_xmltok){ SS_XML_CLOSE, x->closes, false };
		x->closes.n = 0;
		x->depth--;
		return true;
	}
	while (x->at < x->end) {
		struct ss_str r = rest(x);
		if (r.p[0] != '<') {
			size_t n = ss_str_chr(r, '<');
			*t = (struct ss_xmltok){ SS_XML_TEXT, ss_str_sub(r, 0, n), false };
			x->at += t->text.n;
			return true;
		}
		if (ss_str_starts(r, SS_STR("<![CDATA["))) {
			x->at += 9;
			*t = (struct ss_xmltok){ SS_XML_TEXT, { NULL, 0 }, true };
			return skip_to(x, SS_STR("]]>"), &t->text);
		}
		bool comment = ss_str_starts(r, SS_STR("<!--"));
		if (!comment && ss_str_starts(r, SS_STR("<!")))
			return fail(x);
		if (!comment && !ss_str_starts(r, SS_STR("<?"))) {
			x->at++;
			return take_element(x, t);
		}
		if (!skip_to(x, comment ? SS_STR("-->") : SS_STR("?>"), &passed))
			return false;
	}
	x->bad |= x->depth > 0;
	return false;
}

static void put_utf8(struct ss_buf *b, uint64_t c)
{
	if (c < 0x80) {
		ss_buf_char(b, (char)c);
	} else if (c < 0x800) {
		ss_buf_char(b, (char)(0xc0 | c >> 6));
		ss_buf_char(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		ss_buf_char(b, (char)(0xe0 | c >> 12));
		ss_buf_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		ss_buf_char(b, (char)(0x80 | (c & 0x3f)));
	} else {
		ss_buf_char(b, (char)(0xf0 | c >> 18));
		ss_buf_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		ss_buf_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		ss_buf_char(b, (char)(0x80 | (c & 0x3f)));
	}
}

/* "#38" or "#x26". */
static bool number_of(struct ss_str s, uint64_t *c)
{
	if (!ss_str_take(&s, SS_STR("#x")))
		return ss_str_take(&s, SS_STR("#")) && s.n < 8 && ss_str_to_u64(s, c) && *c && *c < 0x110000;
	*c = 0;
	for (size_t i = 0; i < s.n && s.n < 7; i++) {
		int v = ss_hex_digit(s.p[i]);
		if (v < 0)
			return false;
		*c = *c << 4 | (uint64_t)v;
	}
	return *c && *c < 0x110000;
}

/* "&amp;" and the like; an unknown one is malformed. */
static bool put_entity(struct ss_buf *b, struct ss_str name)
{
	static const struct {
		const char *name;
		char c;
	} known[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };
	uint64_t c;
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(name, known[i].name)) {
			ss_buf_char(b, known[i].c);
			return true;
		}
	if (!number_of(name, &c))
		return false;
	put_utf8(b, c);
	return true;
}

static bool put_text(struct ss_buf *b, const struct ss_xmltok *t)
{
	struct ss_str s = t->text;
	while (s.n) {
		size_t amp = t->plain ? SS_NPOS : ss_str_chr(s, '&'), end;
		ss_buf_str(b, ss_str_sub(s, 0, amp));
		if (amp == SS_NPOS)
			return true;
		s = ss_str_sub(s, amp + 1, s.n);
		end = ss_str_chr(ss_str_sub(s, 0, 12), ';');
		if (end == SS_NPOS || !put_entity(b, ss_str_sub(s, 0, end)))
			return false;
		s = ss_str_sub(s, end + 1, s.n);
	}
	return true;
}

struct ss_str ss_xml_text(struct ss_xml *x, struct ss_arena *arena)
{
	struct ss_buf b = { 0 };
	struct ss_xmltok t;
	unsigned own = x->depth;
	while (x->depth >= own && ss_xml_next(x, &t))
		if (t.kind == SS_XML_TEXT && x->depth == own && !put_text(&b, &t))
			fail(x);
	return ss_buf_to_arena(&b, arena);
}

struct ss_str ss_xml_find(struct ss_str document, const char *name, struct ss_arena *arena)
{
	struct ss_xml x = ss_xml_of(document);
	struct ss_xmltok t;
	while (ss_xml_next(&x, &t))
		if (t.kind == SS_XML_OPEN && ss_str_is(t.text, name))
			return ss_xml_text(&x, arena);
	return SS_STR("");
}
