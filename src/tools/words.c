/* words.c - see words.h. */
#include "tools/words.h"

#include "base/html.h"

struct ss_str ss_plain_words(struct ss_arena *arena, struct ss_str html)
{
	struct ss_buf plain = { 0 };
	if (!html.n)
		return SS_STR("");
	ss_html_plain(&plain, html);
	struct ss_str out = plain.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(arena, ss_buf_get(&plain));
	ss_buf_free(&plain);
	return out;
}

struct ss_str ss_prop_words(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	return p ? ss_plain_words(r->arena, p->text) : SS_STR("");
}

bool ss_say_props(struct ss_result *r, const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ss_result_say(r, ss_prop_words(r, ids[i])))
			return false;
	return true;
}
