/*
 * custom_call.c - FLOPs and bytes of custom calls, which compilers do not count: from the cost that
 * a kernel's author states, or from the shapes of operands and result.
 */
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_DIMS 16
#define MAX_SHAPES 64
#define MAX_TRIED 10

struct shape {
	double element_bytes;
	uint32_t rank;
	double dims[MAX_DIMS];
};

struct shapes {
	struct shape v[MAX_SHAPES];
	size_t n;
};

static bool has(struct ss_str s, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= s.n; i++)
		if (ss_str_ieq(ss_str_sub(s, i, i + n), ss_str_from(word)))
			return true;
	return false;
}

static bool has_one(struct ss_str s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has(s, words[i]))
			return true;
	return false;
}

bool xcli_is_custom_call(struct ss_str expression, struct ss_str category, struct ss_str name)
{
	return has(category, "custom-call") || has(category, "custom_call") ||
	       has(name, "custom-call") || has(name, "custom_call") ||
	       has(expression, "custom-call") || has(expression, "custom_call");
}

double xcli_type_bytes(struct ss_str type, double otherwise)
{
	static const struct {
		const char *name;
		double bytes;
	} list[] = {
		{ "pred", 1 },	{ "s1", .125 },	 { "u1", .125 }, { "s2", .25 }, { "u2", .25 },
		{ "s4", .5 },	{ "u4", .5 },	 { "s8", 1 },	 { "u8", 1 },	{ "s16", 2 },
		{ "u16", 2 },	{ "f16", 2 },	 { "bf16", 2 },	 { "s32", 4 },	{ "u32", 4 },
		{ "f32", 4 },	{ "s64", 8 },	 { "u64", 8 },	 { "f64", 8 },	{ "c64", 8 },
		{ "c128", 16 }, { "buffer", 0 },
	};
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_ieq(type, ss_str_from(list[i].name)))
			return list[i].bytes;
	if (ss_str_istarts(type, SS_STR("f4")))
		return .5;
	if (ss_str_istarts(type, SS_STR("f6")))
		return .75;
	return ss_str_istarts(type, SS_STR("f8")) ? 1 : otherwise;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "4, 128" up to the bracket at `end`; false: it is no list of dimensions. */
static bool read_dims(struct ss_str s, struct shape *out)
{
	out->rank = 0;
	for (size_t i = 0; i < s.n;) {
		if (s.p[i] == ',' || isspace((unsigned char)s.p[i])) {
			i++;
			continue;
		}
		double v = 0;
		if (!isdigit((unsigned char)s.p[i]))
			return false;
		for (; i < s.n && isdigit((unsigned char)s.p[i]); i++)
			v = v * 10 + (s.p[i] - '0');
		if (out->rank < MAX_DIMS)
			out->dims[out->rank++] = v;
	}
	return s.n > 0;
}

/* All shapes with dimensions that a text names: "bf16[4,128]". */
static void find_shapes(struct ss_str s, struct shapes *list)
{
	list->n = 0;
	for (size_t i = 0; i < s.n && list->n < MAX_SHAPES; i++) {
		size_t from = i, close;
		if (s.p[i] != '[')
			continue;
		while (from > 0 && is_word(s.p[from - 1]))
			from--;
		close = ss_str_chr(ss_str_sub(s, i, s.n), ']');
		struct shape *one = &list->v[list->n];
		if (from == i || !isalpha((unsigned char)s.p[from]) || close == SS_NPOS ||
		    !read_dims(ss_str_sub(s, i + 1, i + close), one))
			continue;
		one->element_bytes = xcli_type_bytes(ss_str_sub(s, from, i), 2);
		list->n += one->rank > 0;
	}
}

static double elements(const struct shape *s, uint32_t rank)
{
	double n = 1;
	for (uint32_t i = 0; i < rank; i++)
		n *= s->dims[i];
	return n;
}

static double shape_bytes(const struct shape *s)
{
	return s->element_bytes * elements(s, s->rank);
}

/* Where the operands begin: the parenthesis behind the opcode. */
static size_t operands_at(struct ss_str rhs)
{
	size_t i = 0, depth = 0;
	if (rhs.n && rhs.p[0] == '(')
		for (; i < rhs.n; i++) {
			depth += rhs.p[i] == '(';
			depth -= rhs.p[i] == ')';
			if (!depth)
				break;
		}
	size_t at = ss_str_chr(ss_str_sub(rhs, i, rhs.n), '(');
	return at == SS_NPOS ? SS_NPOS : i + at;
}

/* The result's shape: of a tuple the part of most dimensions, then most elements. */
static bool result_shape(struct ss_str text, struct shape *out)
{
	struct shapes all;
	find_shapes(text, &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct shape *s = &all.v[i];
		if (!i || s->rank > out->rank ||
		    (s->rank == out->rank && elements(s, s->rank) > elements(out, out->rank)))
			*out = *s;
	}
	return all.n > 0;
}

double xcli_contracted(const double out[2], const double last_a[2], const double last_b[2])
{
	double m = out[0], n = out[1];
	for (int turn = 0; turn < 2; turn++) {
		double in_a = turn ? n : m, in_b = turn ? m : n;
		if ((last_a[0] != in_a && last_a[1] != in_a) ||
		    (last_b[0] != in_b && last_b[1] != in_b))
			continue;
		double ka = last_a[0] == in_a ? last_a[1] : last_a[0];
		double kb = last_b[1] == in_b ? last_b[0] : last_b[1];
		if (ka == kb && ka > 0)
			return ka;
	}
	return 0;
}

static bool product(const struct shape *out, const struct shapes *in, struct xcli_custom_call *c)
{
	size_t n = in->n < MAX_TRIED ? in->n : MAX_TRIED;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++) {
			const struct shape *a = &in->v[i], *b = &in->v[k];
			double length =
				xcli_contracted(&out->dims[out->rank - 2], &a->dims[a->rank - 2],
						&b->dims[b->rank - 2]);
			if (!(length > 0))
				continue;
			c->flops = 2 * elements(out, out->rank) * length;
			c->bytes =
				shape_bytes(out) + shape_bytes(&in->v[i]) + shape_bytes(&in->v[k]);
			return true;
		}
	return false;
}

static bool ends_with(const struct shape *s, double a, double b)
{
	return s->dims[s->rank - 2] == a && s->dims[s->rank - 1] == b;
}

/* Queries of the result's shape, keys and values of one length. */
static bool attention(const struct shape *out, const struct shapes *in, struct xcli_custom_call *c)
{
	size_t n = in->n < MAX_TRIED ? in->n : MAX_TRIED;
	double rows = out->dims[out->rank - 2], depth = out->dims[out->rank - 1];
	for (size_t q = 0; q < n; q++)
		for (size_t k = 0; k < n && ends_with(&in->v[q], rows, depth); k++)
			for (size_t v = 0; v < n; v++) {
				const struct shape *key = &in->v[k], *value = &in->v[v];
				double length = key->dims[key->rank - 2];
				if (k == q || v == q || v == k ||
				    key->dims[key->rank - 1] != depth ||
				    !ends_with(value, length, depth))
					continue;
				c->flops = 4 * elements(out, out->rank) * length;
				c->bytes = shape_bytes(out) + shape_bytes(&in->v[q]) +
					   shape_bytes(key) + shape_bytes(value);
				return true;
			}
	return false;
}

static void derive(struct ss_str expression, struct ss_str name, struct xcli_custom_call *c)
{
	static const char *const hints[] = { "attention", "splash", "flash", "sdpa",   "mha",
					     "gqa",	  "paged",  "qk",    "softmax" };
	size_t eq = ss_str_chr(expression, '='), at;
	struct shapes in;
	struct shape out;
	if (eq == SS_NPOS)
		return;
	struct ss_str rhs = ss_str_sub(expression, eq + 1, expression.n);
	while (rhs.n && isspace((unsigned char)rhs.p[0]))
		rhs = ss_str_sub(rhs, 1, rhs.n);
	if ((at = operands_at(rhs)) == SS_NPOS)
		return;
	bool has_result = result_shape(ss_str_sub(rhs, 0, at), &out);
	find_shapes(ss_str_sub(rhs, at, rhs.n), &in);
	size_t kept = 0;
	for (size_t i = 0; i < in.n; i++)
		if (in.v[i].rank >= 2)
			in.v[kept++] = in.v[i];
	in.n = kept;
	if (!has_result && in.n >= 3)
		out = in.v[--in.n];
	else if (!has_result)
		return;
	if (in.n < 2 || out.rank < 2)
		return;
	bool hinted = has_one(expression, hints, SS_COUNT(hints)) ||
		      has_one(name, hints, SS_COUNT(hints));
	c->derived = c->known =
		product(&out, &in, c) || (hinted && in.n >= 3 && attention(&out, &in, c));
}

/* The value of a member of a flat JSON object, 0 where it has none. */
static double member(struct ss_str object, const char *name)
{
	size_t at = ss_str_find(object, ss_str_from(name));
	double v = 0;
	if (at == SS_NPOS)
		return 0;
	struct ss_str rest = ss_str_sub(object, at + strlen(name), object.n);
	while (rest.n &&
	       (rest.p[0] == ':' || rest.p[0] == '"' || isspace((unsigned char)rest.p[0])))
		rest = ss_str_sub(rest, 1, rest.n);
	size_t n = 0;
	while (n < rest.n && rest.p[n] != ',' && rest.p[n] != '}' && rest.p[n] != '"' &&
	       !isspace((unsigned char)rest.p[n]))
		n++;
	ss_str_to_f64(ss_str_sub(rest, 0, n), &v);
	return v;
}

static bool stated(struct ss_str expression, struct xcli_custom_call *c)
{
	size_t at = ss_str_find(expression, SS_STR("\"cost_estimate\""));
	if (at == SS_NPOS)
		return false;
	struct ss_str rest = ss_str_sub(expression, at, expression.n);
	size_t open = ss_str_chr(rest, '{'), close = ss_str_chr(rest, '}');
	if (open == SS_NPOS || close == SS_NPOS || close < open)
		return false;
	struct ss_str object = ss_str_sub(rest, open, close + 1);
	c->flops = member(object, "\"flops\"") + member(object, "\"transcendentals\"");
	c->bytes = member(object, "\"bytes_accessed\"");
	c->known = c->flops > 0 || c->bytes > 0;
	return c->known;
}

struct xcli_custom_call xcli_custom_call(struct ss_str expression, struct ss_str category,
					 struct ss_str name)
{
	static const char *const notes[] = {
		"analyzelayout", "allocatebuffer", "sharding", "spmd",		 "x64combine",
		"x64split",	 "pinned_host",	   "annotate", "device_barrier",
	};
	struct xcli_custom_call c = { .is_custom =
					      xcli_is_custom_call(expression, category, name) };
	size_t at = ss_str_find(expression, SS_STR("custom_call_target=\""));
	struct ss_str target = SS_STR("");
	if (at != SS_NPOS) {
		target = ss_str_sub(expression, at + strlen("custom_call_target=\""), expression.n);
		size_t quote = ss_str_chr(target, '"');
		target = ss_str_sub(target, 0, quote == SS_NPOS ? target.n : quote);
	}
	if (!c.is_custom)
		return c;
	if (has_one(target, notes, SS_COUNT(notes)) || has_one(name, notes, SS_COUNT(notes)))
		c.known = true;
	else if (!stated(expression, &c))
		derive(expression, name, &c);
	return c;
}

/* --- lists ------------------------------------------------------------------------------------- */

struct ranked {
	double key;
	uint32_t i;
};

static int by_key(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return SS_CMP(y->key, x->key) ?: SS_CMP(x->i, y->i);
}

bool xcli_rank(struct xcli *x, const double *key, size_t n, uint32_t **order)
{
	struct ranked *v = SS_NEW_N(&x->arena, struct ranked, n + 1);
	*order = SS_NEW_N(&x->arena, uint32_t, n + 1);
	if (!v || !*order)
		return xcli_no_memory(x);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct ranked){ key[i] == key[i] ? key[i] : 0, (uint32_t)i };
	qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0; i < n; i++)
		(*order)[i] = v[i].i;
	return true;
}

void xcli_put_counts(struct xv *o, size_t total, size_t returned)
{
	xv_bool(o, "truncated", returned < total);
	xv_u64(o, "total_records", total);
	xv_u64(o, "returned_records", returned);
}

size_t xcli_limited(size_t n, int64_t limit)
{
	return limit > 0 && (uint64_t)limit < n ? (size_t)limit : n;
}
