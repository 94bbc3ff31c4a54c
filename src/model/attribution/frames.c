/* frames.c - see frames.h. */
#include "model/attribution/frames.h"

/* "$<file>:<line> <func>" or "$<module> <func>". */
static bool parse_dollar(struct ss_str name, struct ss_frame *out)
{
	struct ss_str s = ss_str_sub(name, 1, name.n);
	size_t space = ss_str_rchr(s, ' ');
	if (space == SS_NPOS)
		return false;
	struct ss_str place = ss_str_sub(s, 0, space);
	size_t colon = ss_str_rchr(place, ':');
	*out = (struct ss_frame){ .file = place, .func = ss_str_sub(s, space + 1, s.n) };
	if (colon != SS_NPOS && ss_str_to_i64(ss_str_sub(place, colon + 1, place.n), &out->line))
		out->file = ss_str_sub(place, 0, colon);
	if (ss_str_is(out->file, "<unknown>"))
		out->file = SS_STR("");
	return out->func.n;
}

/* "<built-in function sleep>", "<built-in method count of list object at 0x7f>", "<method 'sort' of 'list' objects>". */
static bool parse_builtin(struct ss_str name, struct ss_frame *out)
{
	struct ss_str s = name;
	if (!ss_str_take(&s, SS_STR("<built-in function ")) && !ss_str_take(&s, SS_STR("<built-in method ")) &&
	    !ss_str_take(&s, SS_STR("<method ")))
		return false;
	size_t end = 0;
	while (end < s.n && s.p[end] != ' ' && s.p[end] != '>')
		end++;
	s = ss_str_sub(s, 0, end);
	if (s.n > 2 && s.p[0] == '\'')
		s = ss_str_sub(s, 1, s.n - 1);
	*out = (struct ss_frame){ .file = SS_STR(""), .func = s };
	return s.n;
}

/* "main.py(16): fetch_rows". */
static bool parse_paren(struct ss_str name, struct ss_frame *out)
{
	size_t at = ss_str_find(name, SS_STR("): "));
	if (at == SS_NPOS)
		return false;
	struct ss_str place = ss_str_sub(name, 0, at);
	size_t open = ss_str_rchr(place, '(');
	if (open == SS_NPOS || !open || !ss_str_to_i64(ss_str_sub(place, open + 1, place.n), &out->line))
		return false;
	out->file = ss_str_sub(place, 0, open);
	out->func = ss_str_sub(name, at + 3, name.n);
	return out->func.n && (ss_str_contains(out->file, SS_STR(".py")) || out->file.p[0] == '<');
}

bool ss_frame_parse(struct ss_str name, struct ss_frame *out)
{
	*out = (struct ss_frame){ .file = SS_STR("") };
	if (!name.n)
		return false;
	if (name.p[0] == '$')
		return parse_dollar(name, out);
	return name.p[0] == '<' ? parse_builtin(name, out) || parse_paren(name, out) : parse_paren(name, out);
}

/* "main.py" of "/srv/train/main.py". */
static struct ss_str last_part(struct ss_str file)
{
	size_t slash = ss_str_rchr(file, '/');
	return slash == SS_NPOS ? file : ss_str_sub(file, slash + 1, file.n);
}

bool ss_frame_marks_collection(const struct ss_frame *f)
{
	return f->line && ss_str_is(f->func, "_xla_gc_callback");
}

struct ss_str ss_frame_text(struct ss_str name, struct ss_arena *arena)
{
	struct ss_frame f;
	if (!ss_frame_parse(name, &f))
		return ss_arena_str(arena, name);
	if (ss_frame_marks_collection(&f))
		return SS_STR(SS_AUTOMATIC_COLLECTION);
	struct ss_str file = last_part(f.file);
	if (f.line)
		return ss_arena_printf(arena, SS_FMT " (" SS_FMT ":%lld)", SS_ARG(f.func), SS_ARG(file),
				       (long long)f.line);
	return file.n ? ss_arena_printf(arena, SS_FMT "." SS_FMT, SS_ARG(file), SS_ARG(f.func))
		      : ss_arena_str(arena, f.func);
}
