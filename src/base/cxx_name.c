/*
 * cxx_name.c - a name is read as text, not as C++: brackets are counted, and what is odd is shown as it is. Depth and
 * length of what is written are bounded, so a hostile name costs no more than its length.
 */
#include "base/cxx_name.h"

#include <string.h>

#define MOST_BYTES 96
#define MOST_DEPTH 3
#define MOST_ARGS 2 /* shown of the template arguments of one name */
#define ELLIPSIS "\xe2\x80\xa6"

/* Types of elements by the last part of their C++ name. */
static const char *const types[][2] = {
	{ "float", "FP32" },	   { "double", "FP64" },	{ "BFloat16", "BF16" },	   { "bfloat16_t", "BF16" },
	{ "__nv_bfloat16", "BF16" }, { "bf16", "BF16" },	{ "hip_bfloat16", "BF16" }, { "Half", "FP16" },
	{ "half_t", "FP16" },	   { "__half", "FP16" },	{ "half", "FP16" },	   { "tfloat32_t", "TF32" },
	{ "Float8_e4m3fn", "FP8" }, { "Float8_e5m2", "FP8" },	{ "float_e4m3_t", "FP8" }, { "float_e5m2_t", "FP8" },
	{ "__nv_fp8_e4m3", "FP8" }, { "__nv_fp8_e5m2", "FP8" }, { "signed char", "INT8" }, { "unsigned char", "UINT8" },
	{ "int8_t", "INT8" },	   { "uint8_t", "UINT8" },
};

/* Arguments that tell nothing about what a kernel does. */
static const char *const plain[] = { "int", "long", "unsigned int", "unsigned long", "short", "bool", "true", "false",
				     "char", "void", "long long", "unsigned long long", "unsigned short" };

struct writer {
	char text[MOST_BYTES];
	size_t n;
	bool full;
};

static void put(struct writer *w, struct ss_str s)
{
	/* Room for the mark of what is left out, and for the brackets that close. */
	size_t room = MOST_BYTES - sizeof(ELLIPSIS) - MOST_DEPTH;
	if (w->full || !s.n)
		return;
	if (w->n + s.n > room) {
		s.n = w->n < room ? room - w->n : 0; /* brackets that close may have gone past it */
		while (s.n && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
		w->full = true;
	}
	memcpy(w->text + w->n, s.p, s.n);
	w->n += s.n;
	if (w->full) {
		memcpy(w->text + w->n, ELLIPSIS, strlen(ELLIPSIS));
		w->n += strlen(ELLIPSIS);
	}
}

/* Opens a bracket; false: there is no room for it, and nothing to close. */
static bool put_open(struct writer *w)
{
	put(w, SS_STR("<"));
	return !w->full;
}

/* Open brackets are closed, also after the mark: put() leaves room for them. */
static void put_close(struct writer *w, bool opened)
{
	if (opened && w->n < MOST_BYTES)
		w->text[w->n++] = '>';
}

static struct ss_str trim(struct ss_str s)
{
	while (s.n && s.p[0] == ' ')
		s = ss_str_sub(s, 1, s.n);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '*' || s.p[s.n - 1] == '&'))
		s.n--;
	return s;
}

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '{' || c == '[';
}

static bool closes(char c)
{
	return c == '>' || c == ')' || c == '}' || c == ']';
}

/* The end of the part of s that begins at `at` and stops at `stop` outside of brackets. */
static size_t until(struct ss_str s, size_t at, char stop)
{
	size_t depth = 0;
	for (; at < s.n; at++) {
		if (!depth && s.p[at] == stop)
			return at;
		depth += opens(s.p[at]);
		depth -= depth && closes(s.p[at]);
	}
	return s.n;
}

/* Is this part of a name one that names nothing? */
static bool anonymous(struct ss_str part)
{
	return ss_str_starts(part, SS_STR("{lambda")) || ss_str_starts(part, SS_STR("operator()")) ||
	       ss_str_starts(part, SS_STR("(anonymous")) || ss_str_starts(part, SS_STR("<unnamed>")) ||
	       ss_str_starts(part, SS_STR("_FUN")) || !part.n;
}

/* The last part of a::b<c>::d(e) that names something, with its template arguments and without its parameters. */
static struct ss_str last_part(struct ss_str s)
{
	struct ss_str best = s;
	bool found = false;
	for (size_t at = 0; at < s.n;) {
		size_t end = until(s, at, ':');
		struct ss_str part = trim(ss_str_sub(s, at, end));
		if (!anonymous(part) && !(found && ss_str_eq(part, SS_STR("type")))) {
			best = part;
			found = true;
		}
		at = end + 1 + (end + 1 < s.n && s.p[end + 1] == ':');
	}
	/* "kernel<...>(parameters) const": the parameters go. */
	best.n = until(best, 0, '(');
	return trim(best);
}

static bool tells_nothing(struct ss_str arg)
{
	if (!arg.n || (arg.p[0] >= '0' && arg.p[0] <= '9') || arg.p[0] == '-' || arg.p[0] == '(')
		return true;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (ss_str_eq(arg, ss_str_from(plain[i])))
			return true;
	return false;
}

static void put_name(struct writer *w, struct ss_str s, unsigned depth);

/* The template arguments within the brackets: the first that tell something, no type of elements twice. */
static void put_args(struct writer *w, struct ss_str args, unsigned depth)
{
	struct ss_str shown[MOST_ARGS];
	size_t n = 0, left_out = 0;
	for (size_t at = 0; at < args.n;) {
		size_t end = until(args, at, ',');
		struct ss_str arg = trim(ss_str_sub(args, at, end));
		bool known = tells_nothing(arg);
		for (size_t i = 0; i < n && !known; i++)
			known = ss_str_eq(shown[i], arg);
		if (!known && n < MOST_ARGS)
			shown[n++] = arg;
		else if (!known)
			left_out++;
		at = end + 1;
	}
	if (!n)
		return;
	bool opened = put_open(w);
	for (size_t i = 0; i < n; i++) {
		put(w, i ? SS_STR(", ") : SS_STR(""));
		put_name(w, shown[i], depth + 1);
	}
	put(w, left_out ? SS_STR(", " ELLIPSIS) : SS_STR(""));
	put_close(w, opened);
}

static void put_name(struct writer *w, struct ss_str s, unsigned depth)
{
	struct ss_str part = last_part(s);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (ss_str_eq(part, ss_str_from(types[i][0]))) {
			put(w, ss_str_from(types[i][1]));
			return;
		}
	size_t open = ss_str_chr(part, '<');
	if (open == SS_NPOS || !open || part.p[part.n - 1] != '>') {
		put(w, part);
		return;
	}
	put(w, ss_str_sub(part, 0, open));
	if (depth < MOST_DEPTH)
		put_args(w, ss_str_sub(part, open + 1, part.n - 1), depth);
}

/* "void f<x>(y)": what stands before the last blank outside of brackets and before the parameters is the return type. */
static struct ss_str without_return_type(struct ss_str s)
{
	for (;;) {
		size_t blank = until(s, 0, ' '), parameters = until(s, 0, '(');
		if (blank >= s.n || (blank > parameters && parameters > 0))
			return s;
		struct ss_str rest = trim(ss_str_sub(s, blank, s.n));
		if (!rest.n || ss_str_starts(rest, SS_STR("[clone")) || ss_str_starts(rest, SS_STR("const")))
			return ss_str_sub(s, 0, blank);
		s = rest;
	}
}

/* An identifier with its length before it, as mangled names have them; n 0: there is none. */
static struct ss_str take_identifier(struct ss_str *s)
{
	size_t n = 0, digits = 0;
	while (digits < s->n && digits < 4 && s->p[digits] >= '0' && s->p[digits] <= '9')
		n = n * 10 + (size_t)(s->p[digits++] - '0');
	if (!digits || !n || n > s->n - digits)
		return SS_STR("");
	struct ss_str name = ss_str_sub(*s, digits, digits + n);
	*s = ss_str_sub(*s, digits + n, s->n);
	return name;
}

/* The last identifier of a nested name, "N" already taken; substitutions ("S_", "S3_") are passed over. */
static struct ss_str take_nested(struct ss_str *s)
{
	struct ss_str last = SS_STR("");
	for (;;) {
		if (s->n > 1 && s->p[0] == 'S') {
			size_t end = ss_str_chr(*s, '_');
			if (end == SS_NPOS || end > 3)
				return last;
			*s = ss_str_sub(*s, end + 1, s->n);
			continue;
		}
		struct ss_str next = take_identifier(s);
		if (!next.n)
			return last;
		last = ss_str_starts(next, SS_STR("_GLOBAL__N")) ? last : next;
	}
}

/* _Z [N] names [I arguments ...]: the last name, and the first argument's. */
static bool put_mangled(struct writer *w, struct ss_str s)
{
	s = ss_str_sub(s, 2, s.n);
	if (s.n && s.p[0] == 'N')
		s = ss_str_sub(s, 1, s.n);
	struct ss_str name = take_nested(&s);
	if (!name.n)
		return false;
	put(w, name);
	if (!s.n || s.p[0] != 'I')
		return true;
	s = ss_str_sub(s, 1, s.n);
	if (s.n && s.p[0] == 'N')
		s = ss_str_sub(s, 1, s.n);
	struct ss_str arg = s.n && s.p[0] == 'f' ? SS_STR("float") : s.n && s.p[0] == 'd' ? SS_STR("double") : take_nested(&s);
	if (arg.n) {
		bool opened = put_open(w);
		put_name(w, arg, MOST_DEPTH);
		put(w, SS_STR(", " ELLIPSIS));
		put_close(w, opened);
	}
	return true;
}

/* Tensile: "..._MT256x224x64_" ends what a reader can use; what follows is tuning. */
static struct ss_str tensile_head(struct ss_str s)
{
	size_t tile = ss_str_find(s, SS_STR("_MT"));
	if (tile == SS_NPOS)
		return s;
	size_t end = tile + 1;
	while (end < s.n && s.p[end] != '_')
		end++;
	return ss_str_sub(s, 0, end);
}

/* A function or a template; "Memcpy HtoD (Pageable -> Device)" is neither. */
static bool looks_like_cxx(struct ss_str s)
{
	size_t parameters = ss_str_chr(s, '(');
	return ss_str_chr(s, '<') != SS_NPOS || ss_str_find(s, SS_STR("::")) != SS_NPOS ||
	       (parameters != SS_NPOS && parameters > 0 && s.p[parameters - 1] != ' ');
}

struct ss_str ss_cxx_short_name(struct ss_str name, struct ss_arena *arena)
{
	struct writer w = { .n = 0 };
	struct ss_str s = trim(name);
	if (ss_str_starts(s, SS_STR("Cijk_")))
		put(&w, tensile_head(s));
	else if (looks_like_cxx(s))
		put_name(&w, without_return_type(s), 0);
	else if (!ss_str_starts(s, SS_STR("_Z")) || !put_mangled(&w, s))
		return name;
	if (!w.n || w.n >= name.n)
		return name;
	struct ss_str copy = ss_arena_str(arena, (struct ss_str){ w.text, w.n });
	return copy.p ? copy : name;
}
