/*
 * regex.c - a parser to a tree, a program made of the tree, and a machine that follows all its
 * threads at once.
 */
#include "base/regex.h"

#include "base/bisect.h"
#include "base/vec.h"

#include <stdlib.h>

#define DEPTH_MOST 100 /* of brackets */
#define REPEAT_MOST 1000
#define WORK_MOST 100000 /* of making the program */
#define NO_END UINT32_MAX
#define NONE UINT32_MAX
#define STEPS_BETWEEN 100000 /* two questions whether to go on */

enum kind {
	K_EMPTY,
	K_CHAR,
	K_ANY,
	K_SET,
	K_BEGIN,
	K_END,
	K_EDGE,
	K_NO_EDGE,
	K_GROUP,
	K_CAT,
	K_ALT,
	K_REPEAT
};

struct node {
	enum kind kind;
	uint32_t a;	   /* K_CHAR: code point; K_SET: its number; else the first below */
	uint32_t next;	   /* beside it in a K_CAT or K_ALT */
	uint32_t min, max; /* K_REPEAT; K_GROUP: min is its number */
	bool lazy;
};

enum op {
	O_CHAR,
	O_ANY,
	O_SET,
	O_SPLIT,
	O_JUMP,
	O_SAVE,
	O_BEGIN,
	O_END,
	O_EDGE,
	O_NO_EDGE,
	O_MATCH
};

struct inst {
	enum op op;
	uint32_t x, y; /* O_SPLIT: x is preferred */
};

struct range {
	uint32_t from, to;
};

struct set {
	SS_VEC(struct range) ranges; /* in order and apart, once the set is whole */
	bool negated;
};

struct threads {
	uint32_t *at;	    /* instructions, the preferred first */
	const char **saved; /* SAVES of each */
	uint32_t *where;    /* by instruction: its place in `at`, if that says so */
	uint32_t n;
};

#define SAVES (2 * SS_REGEX_GROUPS)

struct step {		   /* of following empty instructions */
	uint32_t pc, slot; /* pc NONE: put back what was saved in the slot */
	const char *old;
};

struct ss_regex {
	SS_VEC(struct inst) prog;
	SS_VEC(struct set) sets;
	SS_VEC(struct step) steps;
	struct threads now, then;
	uint32_t ngroups;
	bool fold;
};

struct parser {
	struct ss_regex *r;
	SS_VEC(struct node) nodes;
	const char *p, *end, *begin;
	unsigned depth, work;
	struct ss_err *err;
};

/* A letter of UTF-8; a byte that begins none is 0x110000 + byte. */
static uint32_t letter(const char **p, const char *end)
{
	const unsigned char *s = (const unsigned char *)*p;
	size_t left = (size_t)(end - *p);
	unsigned n = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;
	uint32_t c = n == 1 ? s[0] : n ? s[0] & (0xffu >> (n + 1)) : 0;
	bool ok = n && n <= left;
	for (unsigned i = 1; ok && i < n; i++) {
		ok = (s[i] & 0xc0) == 0x80;
		c = c << 6 | (s[i] & 0x3f);
	}
	*p += ok ? n : 1;
	return ok ? c : 0x110000u + s[0];
}

static uint32_t folded(uint32_t c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static uint32_t bad(struct parser *q, const char *why)
{
	ss_fail(q->err, SS_EINVAL, "the regular expression %s (at letter %zu)", why,
		(size_t)(q->p - q->begin) + 1);
	return NONE;
}

static uint32_t add(struct parser *q, struct node n)
{
	n.next = NONE;
	if (q->nodes.n >= 4 * SS_REGEX_MOST)
		return bad(q, "is too long");
	if (!ss_vec_push(&q->nodes, n)) {
		ss_fail_mem(q->err);
		return NONE;
	}
	return (uint32_t)q->nodes.n - 1;
}

static bool add_range(struct set *s, uint32_t from, uint32_t to)
{
	return ss_vec_push(&s->ranges, ((struct range){ from, to }));
}

/* The letters of a class: d, w, s. */
static bool add_class(struct set *s, char c)
{
	if (c == 'd')
		return add_range(s, '0', '9');
	if (c == 's')
		return add_range(s, '\t', '\r') && add_range(s, ' ', ' ');
	return add_range(s, '0', '9') && add_range(s, 'A', 'Z') && add_range(s, '_', '_') &&
	       add_range(s, 'a', 'z');
}

static int by_first(const void *a, const void *b)
{
	uint32_t x = ((const struct range *)a)->from, y = ((const struct range *)b)->from;
	return SS_CMP(x, y);
}

/* In order, those that overlap as one: a letter is then looked up in few steps. */
static void order_ranges(struct set *s)
{
	struct range *v = s->ranges.v;
	size_t n = 0;
	if (s->ranges.n)
		qsort(v, s->ranges.n, sizeof(*v), by_first);
	for (size_t i = 0; i < s->ranges.n; i++)
		if (!n || v[i].from > v[n - 1].to)
			v[n++] = v[i];
		else if (v[i].to > v[n - 1].to)
			v[n - 1].to = v[i].to;
	s->ranges.n = n;
}

static uint32_t add_set(struct parser *q, struct set *s)
{
	order_ranges(s);
	if (ss_vec_push(&q->r->sets, *s))
		return add(q, (struct node){ .kind = K_SET, .a = (uint32_t)q->r->sets.n - 1 });
	ss_vec_free(&s->ranges);
	ss_fail_mem(q->err);
	return NONE;
}

static bool is_class(char c)
{
	return c == 'd' || c == 'w' || c == 's';
}

static uint32_t escape_letter(uint32_t c)
{
	return c == 'n'	  ? '\n'
	       : c == 't' ? '\t'
	       : c == 'r' ? '\r'
	       : c == 'f' ? '\f'
	       : c == 'v' ? '\v'
			  : c;
}

static uint32_t parse_escape(struct parser *q)
{
	struct set s = { .negated = false };
	if (q->p == q->end)
		return bad(q, "ends with a backslash");
	char c = *q->p, low = (char)folded((unsigned char)c);
	if (is_class(low)) {
		q->p++;
		s.negated = c != low;
		if (add_class(&s, low))
			return add_set(q, &s);
		ss_vec_free(&s.ranges);
		ss_fail_mem(q->err);
		return NONE;
	}
	if (c == 'b' || c == 'B') {
		q->p++;
		return add(q, (struct node){ .kind = c == 'b' ? K_EDGE : K_NO_EDGE });
	}
	if (c >= '1' && c <= '9')
		return bad(q, "refers back to a group, which is not supported");
	if (c == 'A' || c == 'z') {
		q->p++;
		return add(q, (struct node){ .kind = c == 'A' ? K_BEGIN : K_END });
	}
	return add(q, (struct node){ .kind = K_CHAR, .a = escape_letter(letter(&q->p, q->end)) });
}

static const struct named_class {
	const char *name;
	struct range ranges[4];
	unsigned n;
} named_classes[] = {
	{ "[:alpha:]", { { 'A', 'Z' }, { 'a', 'z' } }, 2 },
	{ "[:digit:]", { { '0', '9' } }, 1 },
	{ "[:alnum:]", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } }, 3 },
	{ "[:upper:]", { { 'A', 'Z' } }, 1 },
	{ "[:lower:]", { { 'a', 'z' } }, 1 },
	{ "[:space:]", { { '\t', '\r' }, { ' ', ' ' } }, 2 },
	{ "[:blank:]", { { '\t', '\t' }, { ' ', ' ' } }, 2 },
	{ "[:punct:]", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } }, 4 },
	{ "[:xdigit:]", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } }, 3 },
	{ "[:word:]", { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } }, 4 },
	{ "[:print:]", { { ' ', '~' } }, 1 },
	{ "[:cntrl:]", { { 0, 31 }, { 127, 127 } }, 2 },
	{ "[:graph:]", { { '!', '~' } }, 1 },
};

/* 1: there was one; 0: none; -1: memory is out. */
static int parse_named_class(struct parser *q, struct set *s)
{
	struct ss_str rest = { q->p, (size_t)(q->end - q->p) };
	for (size_t i = 0; i < SS_COUNT(named_classes); i++) {
		const struct named_class *c = &named_classes[i];
		if (!ss_str_starts(rest, ss_str_from(c->name)))
			continue;
		for (unsigned k = 0; k < c->n; k++)
			if (!add_range(s, c->ranges[k].from, c->ranges[k].to))
				return -1;
		q->p += strlen(c->name);
		return 1;
	}
	return 0;
}

static uint32_t set_letter(struct parser *q)
{
	uint32_t c = letter(&q->p, q->end);
	return c == '\\' && q->p < q->end ? escape_letter(letter(&q->p, q->end)) : c;
}

static bool parse_set_item(struct parser *q, struct set *s)
{
	int named = parse_named_class(q, s);
	if (named)
		return named > 0 || ss_fail_mem(q->err);
	if (*q->p == '\\' && q->p + 1 < q->end && is_class(q->p[1])) {
		q->p += 2;
		return add_class(s, q->p[-1]) || ss_fail_mem(q->err);
	}
	uint32_t from = set_letter(q), to = from;
	if (q->end - q->p >= 2 && q->p[0] == '-' && q->p[1] != ']') {
		q->p++;
		to = set_letter(q);
	}
	if (to < from)
		return bad(q, "has a range that ends before it begins") != NONE;
	return add_range(s, from, to) || ss_fail_mem(q->err);
}

static uint32_t parse_set(struct parser *q)
{
	struct set s = { .negated = q->p < q->end && *q->p == '^' };
	bool ok = true, first = true;
	q->p += s.negated;
	for (; ok && q->p < q->end && (first || *q->p != ']'); first = false)
		ok = parse_set_item(q, &s);
	if (ok && q->p < q->end) {
		q->p++;
		return add_set(q, &s);
	}
	ss_vec_free(&s.ranges);
	return ok ? bad(q, "has a '[' without its ']'") : NONE;
}

static uint32_t parse_alt(struct parser *q);

static uint32_t parse_group(struct parser *q)
{
	uint32_t number = 0;
	if (q->end - q->p >= 2 && q->p[0] == '?' && q->p[1] == ':')
		q->p += 2;
	else if (q->p < q->end && *q->p == '?')
		return bad(q, "has a '(?' of a kind that is not supported");
	else
		number = ++q->r->ngroups;
	if (++q->depth > DEPTH_MOST)
		return bad(q, "is nested too deep");
	uint32_t inner = parse_alt(q);
	q->depth--;
	if (inner == NONE)
		return NONE;
	if (q->p == q->end || *q->p != ')')
		return bad(q, "has a '(' without its ')'");
	q->p++;
	return number && number < SS_REGEX_GROUPS
		       ? add(q, (struct node){ .kind = K_GROUP, .a = inner, .min = number })
		       : inner;
}

static uint32_t parse_atom(struct parser *q)
{
	switch (*q->p) {
	case '(':
		q->p++;
		return parse_group(q);
	case '[':
		q->p++;
		return parse_set(q);
	case '.':
		q->p++;
		return add(q, (struct node){ .kind = K_ANY });
	case '^':
		q->p++;
		return add(q, (struct node){ .kind = K_BEGIN });
	case '$':
		q->p++;
		return add(q, (struct node){ .kind = K_END });
	case '\\':
		q->p++;
		return parse_escape(q);
	case '*':
	case '+':
	case '?':
		return bad(q, "repeats nothing");
	default:
		return add(q, (struct node){ .kind = K_CHAR, .a = letter(&q->p, q->end) });
	}
}

/* {m}, {m,} or {m,n}; what is none of them stands for itself. */
static bool parse_bounds(struct parser *q, uint32_t *min, uint32_t *max)
{
	struct ss_str s = { q->p + 1, (size_t)(q->end - q->p - 1) };
	uint64_t a, b;
	if (!ss_str_take_u64(&s, &a))
		return false;
	b = a;
	if (ss_str_take(&s, SS_STR(",")) && !ss_str_take_u64(&s, &b))
		b = NO_END;
	if (!ss_str_take(&s, SS_STR("}")))
		return false;
	*min = a > REPEAT_MOST ? REPEAT_MOST + 1 : (uint32_t)a;
	*max = b == NO_END ? NO_END : b > REPEAT_MOST ? REPEAT_MOST + 1 : (uint32_t)b;
	q->p = s.p;
	return true;
}

/* Parse the repetition after an atom. */
static bool parse_suffix(struct parser *q, struct node *rep)
{
	char c = *q->p;
	if (c == '{')
		return parse_bounds(q, &rep->min, &rep->max);
	if (c != '*' && c != '+' && c != '?')
		return false;
	rep->min = c == '+';
	rep->max = c == '?' ? 1 : NO_END;
	q->p++;
	return true;
}

static uint32_t parse_repeat(struct parser *q)
{
	uint32_t atom = parse_atom(q);
	for (unsigned n = 0; atom != NONE && q->p < q->end; n++) {
		struct node rep = { .kind = K_REPEAT, .a = atom };
		if (!parse_suffix(q, &rep))
			break;
		if (rep.min > REPEAT_MOST || (rep.max != NO_END && rep.max > REPEAT_MOST))
			return bad(q, "repeats more than 1000 times");
		if (rep.max < rep.min)
			return bad(q, "has bounds that end before they begin");
		if (n > DEPTH_MOST)
			return bad(q, "is nested too deep");
		rep.lazy = q->p < q->end && *q->p == '?';
		q->p += rep.lazy;
		atom = add(q, rep);
	}
	return atom;
}

/* Links `part` behind *last, or as the first below `list`. */
static void append(struct parser *q, uint32_t list, uint32_t *last, uint32_t part)
{
	if (*last == NONE)
		q->nodes.v[list].a = part;
	else
		q->nodes.v[*last].next = part;
	*last = part;
}

static uint32_t parse_cat(struct parser *q)
{
	uint32_t list = add(q, (struct node){ .kind = K_CAT, .a = NONE }), last = NONE;
	while (list != NONE && q->p < q->end && *q->p != '|' && *q->p != ')') {
		uint32_t part = parse_repeat(q);
		if (part == NONE)
			return NONE;
		append(q, list, &last, part);
	}
	return list;
}

static uint32_t parse_alt(struct parser *q)
{
	uint32_t list = add(q, (struct node){ .kind = K_ALT, .a = NONE }), last = NONE;
	for (bool more = list != NONE; more;) {
		uint32_t part = parse_cat(q);
		if (part == NONE)
			return NONE;
		append(q, list, &last, part);
		more = q->p < q->end && *q->p == '|';
		q->p += more;
	}
	return list;
}

static bool put(struct parser *q, enum op op, uint32_t x, uint32_t y)
{
	if (q->r->prog.n >= SS_REGEX_MOST)
		return bad(q, "is too long") != NONE;
	return ss_vec_push(&q->r->prog, ((struct inst){ op, x, y })) || ss_fail_mem(q->err);
}

static uint32_t here(const struct parser *q)
{
	return (uint32_t)q->r->prog.n;
}

static bool emit(struct parser *q, uint32_t at);

static bool emit_alt(struct parser *q, uint32_t first)
{
	uint32_t ends = NONE; /* jumps to the end, linked by their x */
	for (uint32_t at = first; at != NONE; at = q->nodes.v[at].next) {
		bool last = q->nodes.v[at].next == NONE;
		uint32_t split = here(q);
		if ((!last && !put(q, O_SPLIT, split + 1, 0)) || !emit(q, at))
			return false;
		if (last)
			break;
		if (!put(q, O_JUMP, ends, 0))
			return false;
		ends = here(q) - 1;
		q->r->prog.v[split].y = here(q);
	}
	for (uint32_t next; ends != NONE; ends = next) {
		next = q->r->prog.v[ends].x;
		q->r->prog.v[ends].x = here(q);
	}
	return true;
}

static void set_split(struct parser *q, uint32_t at, uint32_t into, uint32_t past, bool lazy)
{
	q->r->prog.v[at].x = lazy ? past : into;
	q->r->prog.v[at].y = lazy ? into : past;
}

static bool emit_repeat(struct parser *q, const struct node *n)
{
	uint32_t first = here(q);
	for (uint32_t i = 0; i < n->min; i++) {
		first = here(q);
		if (!emit(q, n->a))
			return false;
	}
	if (n->max == NO_END && n->min) { /* the last again and again */
		uint32_t split = here(q);
		if (!put(q, O_SPLIT, 0, 0))
			return false;
		set_split(q, split, first, here(q), n->lazy);
		return true;
	}
	if (n->max == NO_END) {
		uint32_t split = here(q);
		if (!put(q, O_SPLIT, 0, 0) || !emit(q, n->a) || !put(q, O_JUMP, split, 0))
			return false;
		set_split(q, split, split + 1, here(q), n->lazy);
		return true;
	}
	uint32_t begin = here(q);
	for (uint32_t i = n->min; i < n->max; i++)
		if (!put(q, O_SPLIT, NONE, NONE) || !emit(q, n->a))
			return false;
	/* The splits of this level are those that know no way yet: inner ones are done. */
	for (uint32_t i = begin; i < here(q); i++)
		if (q->r->prog.v[i].op == O_SPLIT && q->r->prog.v[i].x == NONE)
			set_split(q, i, i + 1, here(q), n->lazy);
	return true;
}

static bool emit(struct parser *q, uint32_t at)
{
	const struct node n = q->nodes.v[at];
	if (++q->work > WORK_MOST)
		return bad(q, "is too long") != NONE;
	switch (n.kind) {
	case K_EMPTY:
		return true;
	case K_CHAR:
		return put(q, O_CHAR, q->r->fold ? folded(n.a) : n.a, 0);
	case K_ANY:
		return put(q, O_ANY, 0, 0);
	case K_SET:
		return put(q, O_SET, n.a, 0);
	case K_BEGIN:
	case K_END:
	case K_EDGE:
	case K_NO_EDGE:
		return put(q, (enum op)(O_BEGIN + (n.kind - K_BEGIN)), 0, 0);
	case K_GROUP:
		return put(q, O_SAVE, 2 * n.min, 0) && emit(q, n.a) &&
		       put(q, O_SAVE, 2 * n.min + 1, 0);
	case K_CAT:
		for (uint32_t part = n.a; part != NONE; part = q->nodes.v[part].next)
			if (!emit(q, part))
				return false;
		return true;
	case K_ALT:
		return emit_alt(q, n.a);
	case K_REPEAT:
		return emit_repeat(q, &n);
	}
	return false;
}

static bool make_threads(struct threads *t, size_t n)
{
	t->at = malloc(n * sizeof(*t->at));
	t->where = calloc(n, sizeof(*t->where));
	t->saved = calloc(n * SAVES, sizeof(*t->saved));
	return t->at && t->where && t->saved;
}

static bool parse(struct parser *q)
{
	struct ss_str fold = { q->p, (size_t)(q->end - q->p) };
	if (ss_str_take(&fold, SS_STR("(?i)"))) {
		q->r->fold = true;
		q->p += 4;
	}
	uint32_t root = parse_alt(q);
	if (root == NONE)
		return false;
	if (q->p < q->end)
		return bad(q, "has a ')' without its '('") != NONE;
	return emit(q, root) && put(q, O_MATCH, 0, 0);
}

struct ss_regex *ss_regex_new(struct ss_str pattern, struct ss_err *err)
{
	struct ss_regex *r = calloc(1, sizeof(*r));
	struct parser q = {
		.r = r, .p = pattern.p, .end = pattern.p + pattern.n, .begin = pattern.p, .err = err
	};
	bool ok = r ? parse(&q) : ss_fail_mem(err);
	ss_vec_free(&q.nodes);
	if (ok && !(make_threads(&r->now, r->prog.n) && make_threads(&r->then, r->prog.n)))
		ok = ss_fail_mem(err);
	if (ok)
		return r;
	ss_regex_free(r);
	return NULL;
}

static void free_threads(struct threads *t)
{
	free(t->at);
	free(t->where);
	free(t->saved);
}

void ss_regex_free(struct ss_regex *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->sets.n; i++)
		ss_vec_free(&r->sets.v[i].ranges);
	ss_vec_free(&r->sets);
	ss_vec_free(&r->prog);
	ss_vec_free(&r->steps);
	free_threads(&r->now);
	free_threads(&r->then);
	free(r);
}

static bool in_ranges(const struct set *s, uint32_t c)
{
	size_t lo = 0, hi = s->ranges.n;
	SS_BISECT(lo, hi, mid, s->ranges.v[mid].to < c);
	return lo < s->ranges.n && s->ranges.v[lo].from <= c;
}

static bool in_set(const struct ss_regex *r, const struct set *s, uint32_t c)
{
	bool in = in_ranges(s, c);
	if (!in && r->fold && c < 128)
		in = in_ranges(s, folded(c)) || (c >= 'a' && c <= 'z' && in_ranges(s, c - 32));
	return in != s->negated;
}

static bool is_word(const char *p, const char *from, const char *to)
{
	unsigned char c = p >= from && p < to ? (unsigned char)*p : 0;
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* Does an empty instruction let pass at this place? */
static bool passes(enum op op, const char *p, struct ss_str text)
{
	const char *end = text.p + text.n;
	if (op == O_BEGIN)
		return p == text.p;
	if (op == O_END)
		return p == end;
	return (is_word(p - 1, text.p, end) != is_word(p, text.p, end)) == (op == O_EDGE);
}

static bool push(struct ss_regex *r, uint32_t pc, uint32_t slot, const char *old)
{
	return ss_vec_push(&r->steps, ((struct step){ pc, slot, old }));
}

/*
 * Follow what takes no letter from `pc` on; `saved` is as it was in the end. False: memory is out.
 */
static bool follow(struct ss_regex *r, struct threads *t, uint32_t first, const char *p,
		   struct ss_str text, const char **saved)
{
	r->steps.n = 0;
	bool ok = push(r, first, 0, NULL);
	while (ok && r->steps.n) {
		struct step s = r->steps.v[--r->steps.n];
		if (s.pc == NONE) {
			saved[s.slot] = s.old;
			continue;
		}
		uint32_t at = t->where[s.pc];
		if (at < t->n && t->at[at] == s.pc)
			continue;
		t->where[s.pc] = t->n;
		t->at[t->n] = s.pc;
		memcpy(&t->saved[(size_t)t->n * SAVES], saved, SAVES * sizeof(*saved));
		t->n++;
		const struct inst *in = &r->prog.v[s.pc];
		if (in->op == O_JUMP)
			ok = push(r, in->x, 0, NULL);
		else if (in->op == O_SPLIT)
			ok = push(r, in->y, 0, NULL) && push(r, in->x, 0, NULL);
		else if (in->op == O_SAVE) {
			ok = push(r, NONE, in->x, saved[in->x]) && push(r, s.pc + 1, 0, NULL);
			saved[in->x] = p;
		} else if (in->op >= O_BEGIN && in->op <= O_NO_EDGE && passes(in->op, p, text))
			ok = push(r, s.pc + 1, 0, NULL);
	}
	return ok;
}

static bool takes(const struct ss_regex *r, const struct inst *in, uint32_t c)
{
	switch (in->op) {
	case O_CHAR:
		return in->x == (r->fold ? folded(c) : c);
	case O_ANY:
		return true;
	case O_SET:
		return in_set(r, &r->sets.v[in->x], c);
	default:
		return false;
	}
}

/* One letter: from r->now to r->then. The best match so far goes to `best`. */
static bool step(struct ss_regex *r, const char *p, const char *next, uint32_t c,
		 struct ss_str text, const char **best, bool *found)
{
	r->then.n = 0;
	for (uint32_t i = 0; i < r->now.n; i++) {
		uint32_t pc = r->now.at[i];
		const char **saved = &r->now.saved[(size_t)i * SAVES];
		if (r->prog.v[pc].op == O_MATCH) {
			memcpy(best, saved, SAVES * sizeof(*best));
			best[1] = p;
			*found = true;
			return true; /* what is left is less preferred */
		}
		if (next && takes(r, &r->prog.v[pc], c) &&
		    !follow(r, &r->then, pc + 1, next, text, saved))
			return false;
	}
	return true;
}

/* Find the next possible begin of a match by its required first letter. */
static const char *skip(const struct ss_regex *r, const char *p, const char *end)
{
	const struct inst *in = &r->prog.v[0];
	if (r->fold || in->op != O_CHAR || in->x >= 128 || p == end)
		return p;
	const char *at = memchr(p, (int)in->x, (size_t)(end - p));
	return at ? at : end;
}

uint32_t ss_regex_ngroups(const struct ss_regex *r)
{
	return r->ngroups;
}

enum ss_regex_found ss_regex_search(struct ss_regex *r, struct ss_str text, struct ss_str *groups,
				    size_t ngroups, bool (*go_on)(void *arg), void *arg)
{
	text.p = text.n ? text.p : "";
	const char *best[SAVES] = { NULL }, *none[SAVES] = { NULL }, *end = text.p + text.n;
	bool found = false;
	uint64_t steps = 0;
	r->now.n = 0;
	for (const char *p = text.p;;) {
		if (!found && !r->now.n)
			p = skip(r, p, end);
		none[0] = p;
		if (!found && !follow(r, &r->now, 0, p, text, none))
			return SS_REGEX_STOPPED;
		const char *next = p;
		uint32_t c = p < end ? letter(&next, end) : 0;
		steps += r->now.n + 1;
		if (steps > STEPS_BETWEEN && go_on) {
			steps = 0;
			if (!go_on(arg))
				return SS_REGEX_STOPPED;
		}
		if (!step(r, p, p < end ? next : NULL, c, text, best, &found))
			return SS_REGEX_STOPPED;
		struct threads t = r->now;
		r->now = r->then;
		r->then = t;
		if (p == end || (found && (!r->now.n || !ngroups)))
			break;
		p = next;
	}
	for (size_t i = 0; i < ngroups; i++) {
		bool has = found && i < SS_REGEX_GROUPS && best[2 * i] && best[2 * i + 1];
		groups[i] = has ? (struct ss_str){ best[2 * i],
						   (size_t)(best[2 * i + 1] - best[2 * i]) }
				: (struct ss_str){ NULL, 0 };
	}
	return found ? SS_REGEX_YES : SS_REGEX_NO;
}
