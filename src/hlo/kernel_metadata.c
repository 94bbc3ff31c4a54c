/* kernel_metadata.c - finding JSON within the text of an instruction. */
#include "hlo/kernel_metadata.h"

#include "wire/json.h"

/* The attribute `name`, behind its '='; empty if there is none. It stands first or behind a comma. */
static struct ss_str attribute(struct ss_str text, struct ss_str name)
{
	for (size_t from = 0; from < text.n;) {
		struct ss_str rest = ss_str_sub(text, from, text.n);
		size_t at = ss_str_find(rest, name);
		if (at == SS_NPOS)
			break;
		size_t end = from + at + name.n;
		char before = from + at ? text.p[from + at - 1] : ',';
		if ((before == ',' || before == ' ' || before == '{') && end < text.n && text.p[end] == '=')
			return ss_str_sub(text, end + 1, text.n);
		from = end;
	}
	return SS_STR("");
}

/* The value of a JSON text, blanks outside of strings left out; empty if it is none. */
static struct ss_str squeezed(struct ss_str json, struct ss_arena *arena)
{
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	bool quoted = false;
	size_t n = 0;
	while (ss_jsonr_next(&r, &t))
		;
	char *p = ss_arena_alloc(arena, json.n + 1);
	if (!p)
		return (struct ss_str){ NULL, 0 };
	for (size_t i = 0; !r.bad && r.done && i < json.n; i++) {
		char c = json.p[i];
		if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
			continue;
		p[n++] = c;
		if (quoted && c == '\\' && i + 1 < json.n)
			p[n++] = json.p[++i];
		else if (c == '"')
			quoted = !quoted;
	}
	p[n] = '\0';
	return (struct ss_str){ p, n };
}

struct ss_str ss_hlo_kernel_metadata(struct ss_str text, struct ss_arena *arena)
{
	if (!ss_str_contains(text, SS_STR("kernel_metadata={")) || !ss_str_contains(text, SS_STR("custom_call_target=")))
		return SS_STR("");
	struct ss_str object = attribute(attribute(text, SS_STR("frontend_attributes")), SS_STR("kernel_metadata"));
	struct ss_jsonr r = ss_jsonr_of(object);
	struct ss_jtok t;
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT)
		return SS_STR("");
	while (ss_jsonr_next(&r, &t) && t.kind == SS_J_KEY) {
		bool wanted = ss_jtok_is(&t, "xprof_metadata");
		if (!ss_jsonr_next(&r, &t))
			break;
		const char *begin = r.at - 1;
		if (wanted && t.kind == SS_J_STRING) {
			struct ss_str json = ss_jtok_str(&t, arena);
			return json.p ? squeezed(json, arena) : json;
		}
		if (!ss_jsonr_skip(&r, &t))
			break;
		if (wanted && t.kind == SS_J_OBJECT)
			return squeezed((struct ss_str){ begin, (size_t)(r.at - begin) }, arena);
	}
	return SS_STR("");
}
