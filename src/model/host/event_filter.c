/*
 * event_filter.c - the filter language of event_query.h: read once into steps, evaluated for each
 * event.
 */
#include "model/host/event_query.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_DEPTH 100
#define MAX_STEPS 1000

enum kind { AND, OR, NOT, TEXT, NUMBER };
enum compare { EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, CONTAINS, MATCHES, MATCHES_NOT };
enum field { PLANE, LINE, LINE_ID, EVENT, DURATION, BEGIN, END };

struct ss_event_filter_step {
	uint8_t kind, compare, field;
	struct ss_str text;
	double number;
	struct ss_regex *regex;
};

enum token { T_END, T_OPEN, T_CLOSE, T_AND, T_OR, T_NOT, T_COMPARE, T_WORD, T_VALUE };

struct reader {
	struct ss_event_filter *f;
	struct ss_str s;
	size_t at;
	enum token token;
	struct ss_str text; /* of a word or value */
	enum compare compare;
	unsigned depth;
	struct ss_err *err;
};

static bool wrong(struct reader *r, const char *what)
{
	return ss_fail(r->err, SS_EINVAL, "filter '" SS_FMT "%s': %s at byte %zu", SS_ARG(ss_str_sub(r->s, 0, 60)),
		       r->s.n > 60 ? "..." : "", what, r->at);
}

static bool add(struct reader *r, struct ss_event_filter_step step)
{
	struct ss_event_filter *f = r->f;
	if (f->n == MAX_STEPS)
		return wrong(r, "more than 1000 conditions");
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 16;
		struct ss_event_filter_step *v = realloc(f->steps, cap * sizeof(*v));
		if (!v)
			return ss_fail_mem(r->err);
		f->steps = v;
		f->cap = cap;
	}
	f->steps[f->n++] = step;
	return true;
}

/* --- tokens ------------------------------------------------------------------------------------ */

/* A text between quotes, its backslashes resolved. */
static bool read_quoted(struct reader *r, char quote)
{
	char *to = ss_arena_alloc(&r->f->arena, r->s.n - r->at + 1);
	size_t n = 0;
	if (!to)
		return ss_fail_mem(r->err);
	while (r->at < r->s.n && r->s.p[r->at] != quote) {
		char c = r->s.p[r->at++];
		if (c == '\\' && r->at < r->s.n) {
			c = r->s.p[r->at++];
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
		}
		to[n++] = c;
	}
	if (r->at == r->s.n)
		return wrong(r, "a text without its closing quote");
	r->at++;
	r->token = T_VALUE;
	r->text = (struct ss_str){ to, n };
	return true;
}

static bool read_compare(struct reader *r)
{
	static const struct {
		const char *text;
		enum compare compare;
	} list[] = {
		{ "==", EQUAL },   { "!=", UNEQUAL },  { "=~", MATCHES }, { "!~", MATCHES_NOT },
		{ "<=", AT_MOST }, { ">=", AT_LEAST }, { "=", EQUAL },	  { "<", LESS },
		{ ">", MORE },	   { "~", MATCHES },
	};
	struct ss_str rest = ss_str_sub(r->s, r->at, r->s.n);
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_starts(rest, ss_str_from(list[i].text))) {
			r->at += strlen(list[i].text);
			r->token = T_COMPARE;
			r->compare = list[i].compare;
			return true;
		}
	return false;
}

static void read_word(struct reader *r)
{
	static const struct {
		const char *text;
		enum token token;
	} list[] = { { "AND", T_AND }, { "&&", T_AND },	 { "OR", T_OR },
		     { "||", T_OR },   { "NOT", T_NOT }, { "CONTAINS", T_COMPARE } };
	size_t from = r->at;
	while (r->at < r->s.n && !isspace((unsigned char)r->s.p[r->at]) &&
	       !strchr("()=!<>~\"'", r->s.p[r->at]))
		r->at++;
	r->text = ss_str_sub(r->s, from, r->at);
	r->token = T_WORD;
	r->compare = CONTAINS;
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_ieq(r->text, ss_str_from(list[i].text)))
			r->token = list[i].token;
}

static bool next(struct reader *r)
{
	while (r->at < r->s.n && isspace((unsigned char)r->s.p[r->at]))
		r->at++;
	if (r->at == r->s.n) {
		r->token = T_END;
		return true;
	}
	char c = r->s.p[r->at];
	if (c == '\0')
		return wrong(r, "a zero byte");
	if (c == '(' || c == ')') {
		r->at++;
		r->token = c == '(' ? T_OPEN : T_CLOSE;
		return true;
	}
	if (c == '"' || c == '\'') {
		r->at++;
		return read_quoted(r, c);
	}
	if (read_compare(r))
		return true;
	if (c == '!') {
		r->at++;
		r->token = T_NOT;
		return true;
	}
	read_word(r);
	return true;
}

/* --- conditions -------------------------------------------------------------------------------- */

struct field_name {
	const char *name;
	enum field field;
	double unit_ps; /* of a number; 0: it is a text */
};

static const struct field_name *find_field(struct ss_str name)
{
	static const struct field_name list[] = {
		{ "plane", PLANE, 0 },
		{ "line", LINE, 0 },
		{ "line_name", LINE, 0 },
		{ "line_id", LINE_ID, 0 },
		{ "event", EVENT, 0 },
		{ "name", EVENT, 0 },
		{ "duration", DURATION, 1 },
		{ "duration_ps", DURATION, 1 },
		{ "duration_ns", DURATION, 1e3 },
		{ "duration_us", DURATION, 1e6 },
		{ "duration_ms", DURATION, 1e9 },
		{ "offset_ps", BEGIN, 1 },
		{ "start_ps", BEGIN, 1 },
		{ "end_ps", END, 1 },
	};
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_ieq(name, ss_str_from(list[i].name)))
			return &list[i];
	return NULL;
}

/* "1.5us" in picoseconds; without a unit in the field's. */
static bool read_number(struct ss_str s, double unit_ps, double *out)
{
	static const struct {
		const char *unit;
		double ps;
	} units[] = { { "ps", 1 }, { "ns", 1e3 }, { "us", 1e6 }, { "ms", 1e9 }, { "s", 1e12 } };
	for (size_t i = 0; i < SS_COUNT(units); i++)
		if (ss_str_ends(s, ss_str_from(units[i].unit))) {
			s.n -= strlen(units[i].unit);
			unit_ps = units[i].ps;
			break;
		}
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	if (!s.n || isalpha((unsigned char)s.p[s.n - 1]) || !ss_str_to_f64(s, out))
		return false;
	*out *= unit_ps;
	return true;
}

static bool add_condition(struct reader *r, struct ss_str name, enum compare compare,
			  struct ss_str value)
{
	const struct field_name *f = find_field(name);
	struct ss_event_filter_step step = { .compare = (uint8_t)compare, .text = value };
	if (!f)
		return ss_fail(r->err, SS_EINVAL,
			       "filter: there is no field '" SS_FMT
			       "': use plane, line, event, duration_ps, duration_ns, duration_us, "
			       "duration_ms, offset_ps, start_ps or end_ps",
			       SS_ARG(ss_str_sub(name, 0, 100)));
	step.kind = f->unit_ps > 0 ? NUMBER : TEXT;
	step.field = (uint8_t)f->field;
	bool ordered = compare >= LESS && compare <= AT_LEAST, worded = compare >= CONTAINS;
	if (step.kind == NUMBER ? worded : ordered)
		return wrong(r, step.kind == NUMBER ? "a number compared as a text"
						    : "a text compared as a number");
	if (step.kind == NUMBER && !read_number(value, f->unit_ps, &step.number))
		return wrong(r, "a value that is not a number; its unit may be ps, ns, us, ms or s");
	if ((compare == MATCHES || compare == MATCHES_NOT) &&
	    !(step.regex = ss_regex_new(value, r->err)))
		return false;
	if (add(r, step))
		return true;
	ss_regex_free(step.regex);
	return false;
}

static bool read_or(struct reader *r);

static bool read_atom(struct reader *r)
{
	if (r->token == T_OPEN) {
		if (++r->depth > MAX_DEPTH)
			return wrong(r, "parentheses nest too deep");
		if (!next(r) || !read_or(r))
			return false;
		r->depth--;
		return r->token == T_CLOSE ? next(r) : wrong(r, "a '(' without its ')'");
	}
	struct ss_str name = r->text;
	if (r->token != T_WORD)
		return wrong(r, r->token == T_END ? "the filter ends where a field is expected"
						  : "a field's name is expected");
	if (!next(r))
		return false;
	enum compare compare = r->compare;
	if (r->token != T_COMPARE)
		return wrong(r, "a comparison is expected");
	if (!next(r))
		return false;
	if (r->token != T_WORD && r->token != T_VALUE)
		return wrong(r, "a value is expected");
	return add_condition(r, name, compare, r->text) && next(r);
}

static bool read_not(struct reader *r)
{
	if (r->token != T_NOT)
		return read_atom(r);
	if (++r->depth > MAX_DEPTH)
		return wrong(r, "NOT is repeated too often");
	bool ok = next(r) && read_not(r) && add(r, (struct ss_event_filter_step){ .kind = NOT });
	r->depth--;
	return ok;
}

static bool read_and(struct reader *r)
{
	if (!read_not(r))
		return false;
	while (r->token == T_AND)
		if (!next(r) || !read_not(r) ||
		    !add(r, (struct ss_event_filter_step){ .kind = AND }))
			return false;
	return true;
}

static bool read_or(struct reader *r)
{
	if (!read_and(r))
		return false;
	while (r->token == T_OR)
		if (!next(r) || !read_and(r) ||
		    !add(r, (struct ss_event_filter_step){ .kind = OR }))
			return false;
	return true;
}

bool ss_event_filter_compile(struct ss_event_filter *f, struct ss_str text, struct ss_err *err)
{
	struct reader r = { .f = f, .s = text, .err = err };
	*f = (struct ss_event_filter){ .n = 0 };
	bool ok = next(&r);
	if (ok && r.token == T_END)
		return true;
	ok = ok && read_or(&r);
	if (ok && r.token != T_END)
		ok = wrong(&r, "AND, OR or the end is expected (a unit stands right behind its number: 5us)");
	if (!ok)
		ss_event_filter_free(f);
	return ok;
}

void ss_event_filter_free(struct ss_event_filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		ss_regex_free(f->steps[i].regex);
	free(f->steps);
	ss_arena_release(&f->arena);
	*f = (struct ss_event_filter){ .n = 0 };
}

/* --- evaluation -------------------------------------------------------------------------------- */

static bool holds_text(struct ss_event_filter *f, struct ss_event_filter_step *s, struct ss_str v)
{
	enum ss_regex_found found;
	switch (s->compare) {
	case EQUAL:
		return ss_str_eq(v, s->text);
	case UNEQUAL:
		return !ss_str_eq(v, s->text);
	case CONTAINS:
		return ss_str_contains(v, s->text);
	default:
		found = ss_regex_search(s->regex, v, NULL, 0, NULL, NULL);
		f->no_memory |= found == SS_REGEX_STOPPED;
		return (found == SS_REGEX_YES) == (s->compare == MATCHES);
	}
}

static bool holds_number(const struct ss_event_filter_step *s, double v)
{
	switch (s->compare) {
	case EQUAL:
		return v == s->number;
	case UNEQUAL:
		return v != s->number;
	case LESS:
		return v < s->number;
	case AT_MOST:
		return v <= s->number;
	case MORE:
		return v > s->number;
	default:
		return v >= s->number;
	}
}

static bool holds(struct ss_event_filter *f, struct ss_event_filter_step *s, const struct ss_event_record *e)
{
	switch (s->field) {
	case PLANE:
		return holds_text(f, s, e->plane);
	case LINE:
		return holds_text(f, s, e->line.n ? e->line : e->line_id);
	case LINE_ID:
		return holds_text(f, s, e->line_id.n ? e->line_id : e->line);
	case EVENT:
		return holds_text(f, s, e->event);
	case DURATION:
		return holds_number(s, e->dur_ps);
	case BEGIN:
		return holds_number(s, e->begin_ps);
	default:
		return holds_number(s, e->begin_ps + e->dur_ps);
	}
}

bool ss_event_filter_passes(struct ss_event_filter *f, const struct ss_event_record *e)
{
	bool stack[MAX_STEPS + 1];
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		struct ss_event_filter_step *s = &f->steps[i];
		if (s->kind == NOT) {
			stack[n - 1] = !stack[n - 1];
		} else if (s->kind == AND || s->kind == OR) {
			n--;
			stack[n - 1] = s->kind == AND ? stack[n - 1] && stack[n]
						      : stack[n - 1] || stack[n];
		} else {
			stack[n++] = holds(f, s, e);
		}
	}
	return !n || stack[0];
}
