/* json.c - a comparison as our JSON: a result (emit/json.h), and beside its tables the verdict and the sides. */
#include "diff/result.h"

#include "emit/json.h"

static void paths(struct ss_out *o, const char *key, const struct ss_diff_side *side)
{
	ss_out_printf(o, ",\"%s\":[", key);
	for (size_t i = 0; i < side->n; i++) {
		if (i)
			ss_out_char(o, ',');
		ss_out_json_str(o, side->runs[i].path);
	}
	ss_out_char(o, ']');
}

static void head(struct ss_out *o, const struct ss_diff *d)
{
	struct ss_str verdict = ss_diff_verdict_name(d->verdict);
	size_t n = 0;
	ss_out_printf(o, ",\"verdict\":\"" SS_FMT "\"", SS_ARG(verdict));
	paths(o, "base", &d->base);
	paths(o, "new", &d->new);
	ss_out_lit(o, ",\"refused\":[");
	for (size_t i = 0; i < d->nchecks; i++) {
		if (d->checks[i].state != SS_DIFF_REFUSED)
			continue;
		ss_out_printf(o, "%s{\"what\":\"%s\",\"why\":", n++ ? "," : "", d->checks[i].what);
		ss_out_json_str(o, d->checks[i].reason);
		ss_out_char(o, '}');
	}
	ss_out_char(o, ']');
}

bool ss_diff_emit_json(struct ss_out *o, const struct ss_diff *d, const struct ss_result *r, struct ss_str tool,
		       struct ss_str more)
{
	struct ss_out text;
	ss_out_init(&text, NULL, NULL);
	ss_out_str(&text, more);
	head(&text, d);
	struct ss_json_head h = { tool, SS_STR("Comparison"), SS_STR(""), SS_STR(""), { text.buf, text.n } };
	bool ok = !text.no_memory;
	if (ok)
		ss_emit_json(o, r, &h);
	ss_out_free(&text);
	return ok;
}
