/*
 * shape_smart_suggestion.c - SmartSuggestionReport as JSON: a rule and a piece of HTML each. Names
 * of hosts stand in that HTML, so everything in it is escaped.
 */
#include "base/html.h"
#include "xprof/shape.h"

/* Text for HTML inside of a JSON string. */
static void html(struct ss_out *o, struct ss_str s)
{
	size_t from = 0;
	for (size_t i = 0; i < s.n; i++) {
		struct ss_str e = ss_html_entity(s.p[i]);
		if (!e.n)
			continue;
		ss_out_json_escaped(o, ss_str_sub(s, from, i));
		ss_out_json_escaped(o, e);
		from = i + 1;
	}
	ss_out_json_escaped(o, ss_str_sub(s, from, s.n));
}

static void markup(struct ss_out *o, struct ss_str s)
{
	ss_out_json_escaped(o, s);
}

void ss_shape_smart_suggestion(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *t = ss_result_find(r, "suggestions"), *advice = ss_result_find(r, "advice");
	size_t a = 0;
	ss_json_open(&j, '{');
	ss_json_key(&j, "suggestions");
	ss_json_open(&j, '[');
	for (size_t i = 0; i < t->nrows; i++) {
		ss_json_key(&j, NULL);
		ss_json_open(&j, '{');
		ss_json_str(&j, "ruleName", ss_cell_str(t, i, "rule"));
		ss_json_key(&j, "suggestionText");
		ss_out_char(o, '"');
		markup(o, SS_STR("<p>"));
		html(o, ss_cell_str(t, i, "finding"));
		markup(o, SS_STR("</p><ul>"));
		for (; a < advice->nrows && (size_t)ss_cell_i64(advice, a, "suggestion") == i; a++) {
			markup(o, SS_STR("<li>"));
			html(o, ss_cell_str(advice, a, "text"));
			markup(o, SS_STR("</li>"));
		}
		markup(o, SS_STR("</ul>"));
		ss_out_char(o, '"');
		ss_json_close(&j, '}');
	}
	ss_json_close(&j, ']');
	ss_json_close(&j, '}');
}
