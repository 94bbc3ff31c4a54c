/* html.c - see html.h. */
#include "base/html.h"

static const struct {
	struct ss_str name;
	char c;
} entities[] = { { SS_STR_INIT("&lt;"), '<' },	{ SS_STR_INIT("&gt;"), '>' },  { SS_STR_INIT("&quot;"), '"' },
		 { SS_STR_INIT("&#39;"), '\'' }, { SS_STR_INIT("&amp;"), '&' } };

struct ss_str ss_html_entity(char c)
{
	for (size_t k = 0; k < SS_COUNT(entities); k++)
		if (entities[k].c == c)
			return entities[k].name;
	return SS_STR("");
}

void ss_html_escape(struct ss_buf *out, struct ss_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		struct ss_str entity = ss_html_entity(text.p[i]);
		if (entity.n)
			ss_buf_str(out, entity);
		else
			ss_buf_char(out, text.p[i]);
	}
}

void ss_html_plain(struct ss_buf *out, struct ss_str html)
{
	size_t last = ss_str_rchr(html, '>');
	for (size_t i = 0; i < html.n;) {
		struct ss_str rest = ss_str_sub(html, i, html.n);
		size_t k = 0;
		if (rest.p[0] == '<' && last != SS_NPOS && last > i) {
			size_t close = ss_str_chr(rest, '>');
			i = close == SS_NPOS ? html.n : i + close + 1;
			continue;
		}
		while (k < SS_COUNT(entities) && !ss_str_starts(rest, entities[k].name))
			k++;
		ss_buf_char(out, k < SS_COUNT(entities) ? entities[k].c : rest.p[0]);
		i += k < SS_COUNT(entities) ? entities[k].name.n : 1;
	}
}
