/* rewrite.c - see rewrite.h. */
#include "sql/rewrite.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdlib.h>

/*
 * Words, numbers, quoted names and texts, single signs; comments and blanks are none. "" at the
 * end.
 */
static struct ss_str token(struct ss_str *rest)
{
	const char *p = rest->p, *end = p + rest->n, *from;
	for (;;) {
		while (p < end && isspace((unsigned char)*p))
			p++;
		if (end - p >= 2 && p[0] == '-' && p[1] == '-') {
			while (p < end && *p != '\n')
				p++;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
			size_t close = ss_str_find((struct ss_str){ p + 2, (size_t)(end - p - 2) },
						   SS_STR("*/"));
			p = close == SS_NPOS ? end : p + close + 4;
		} else {
			break;
		}
	}
	from = p;
	if (p < end && strchr("'\"`[", *p)) {
		char close = *p == '[' ? ']' : *p;
		for (p++;
		     p < end && (*p != close || (close != ']' && p + 1 < end && p[1] == close));
		     p++)
			p += *p == close;
		p += p < end;
	} else if (p < end && (isalnum((unsigned char)*p) || *p == '_' || (*p & 0x80))) {
		while (p < end &&
		       (isalnum((unsigned char)*p) || *p == '_' || *p == '$' || (*p & 0x80)))
			p++;
	} else if (p < end) {
		p++;
	}
	*rest = (struct ss_str){ p, (size_t)(end - p) };
	return (struct ss_str){ from, (size_t)(p - from) };
}

static bool has_one_select(struct ss_str query)
{
	unsigned n = 0;
	for (struct ss_str t; (t = token(&query)).n;)
		n += ss_str_ieq(t, SS_STR("select"));
	return n == 1;
}

/* Behind the word `stat`: the rest of the call. *table is then the word before the dot. */
static bool is_call(struct ss_str *rest, struct ss_str *table)
{
	static const char *const words[] = { "(", NULL, ".", "event_id", ",", "'correlation_id'",
					     ")" };
	struct ss_str at = *rest;
	for (size_t i = 0; i < SS_COUNT(words); i++) {
		struct ss_str t = token(&at);
		if (!words[i])
			*table = t;
		else if (!(i == 5 ? ss_str_is(t, words[i]) : ss_str_ieq(t, ss_str_from(words[i]))))
			return false;
	}
	*rest = at;
	return table->n && (isalpha((unsigned char)*table->p) || *table->p == '_');
}

bool ss_sql_rewrite(struct ss_str query, char **out)
{
	struct ss_str rest = query, table = { "", 0 };
	const char *copied = query.p;
	struct ss_buf b = { 0 };
	*out = NULL;
	if (!ss_str_contains(query, SS_STR("'correlation_id'")) || !has_one_select(query))
		return true;
	bool behind = false; /* FROM: what stands before it gives columns their names */
	for (struct ss_str t; (t = token(&rest)).n;) {
		behind = behind || ss_str_ieq(t, SS_STR("from"));
		if (!behind || !ss_str_ieq(t, SS_STR("stat")) || !is_call(&rest, &table))
			continue;
		ss_buf_str(&b, (struct ss_str){ copied, (size_t)(t.p - copied) });
		ss_buf_str(&b, table);
		ss_buf_lit(&b, ".correlation_id");
		copied = rest.p;
	}
	ss_buf_str(&b, (struct ss_str){ copied, (size_t)(query.p + query.n - copied) });
	ss_buf_char(&b, '\0');
	if (b.no_memory || copied == query.p) {
		bool ok = !b.no_memory;
		ss_buf_free(&b);
		return ok;
	}
	*out = b.p;
	return true;
}
