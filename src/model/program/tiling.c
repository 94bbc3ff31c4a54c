/*
 * tiling.c - tensors and their tiles, out of an instruction's text.
 *
 * A tensor is a word, dimensions in brackets and a layout in braces. Names of operands carry a
 * percent sign or no brackets, so nothing else looks like that before the operands end; attributes
 * do hold shapes and are not read.
 */
#include "model/program/tiling.h"

#include "base/buf.h"

#include <math.h>

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static struct ss_str skip(struct ss_str s, size_t n)
{
	return ss_str_sub(s, n, s.n);
}

/* What stands before `close`, which is passed; false when it never comes. */
static bool until(struct ss_str *s, char close, struct ss_str *out)
{
	size_t n = ss_str_chr(*s, close);
	if (n == SS_NPOS)
		return false;
	*out = ss_str_sub(*s, 0, n);
	*s = skip(*s, n + 1);
	return true;
}

/* Numbers between commas; a bound ("<=128") counts as the number. Returns how many, 0 when they are not numbers. */
static uint32_t number_list(struct ss_str s, uint64_t v[SS_TILED_DIMS])
{
	uint32_t n = 0;
	while (s.n) {
		size_t comma = ss_str_chr(s, ',');
		struct ss_str one = ss_str_sub(s, 0, comma == SS_NPOS ? s.n : comma);
		while (one.n && (one.p[0] == '<' || one.p[0] == '=' || one.p[0] == ' '))
			one = skip(one, 1);
		if (n == SS_TILED_DIMS || !ss_str_to_u64(one, &v[n]))
			return 0;
		n++;
		s = comma == SS_NPOS ? ss_str_sub(s, 0, 0) : skip(s, comma + 1);
	}
	return n;
}

/*
 * The layout: minor to major, then after a colon the tiles. Of nested tiles the first decides what
 * is padded: the others only order the elements inside.
 */
static bool apply_layout(struct ss_str layout, const uint64_t dims[], uint32_t n, struct ss_tiled *out)
{
	uint64_t order[SS_TILED_DIMS], tile[SS_TILED_DIMS];
	size_t colon = ss_str_chr(layout, ':'), at;
	if (number_list(ss_str_sub(layout, 0, colon == SS_NPOS ? layout.n : colon), order) != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (order[i] >= n)
			return false;
		out->size[i] = out->padded[i] = dims[order[i]];
	}
	out->ndims = n;
	struct ss_str rest = colon == SS_NPOS ? SS_STR("") : skip(layout, colon + 1), text;
	at = ss_str_find(rest, SS_STR("T("));
	if (at == SS_NPOS)
		return true;
	rest = skip(rest, at + 2);
	uint32_t ntile = until(&rest, ')', &text) ? number_list(text, tile) : 0;
	for (uint32_t i = 0; i < ntile && i < n; i++) {
		uint64_t t = tile[ntile - 1 - i], over = t ? out->size[i] % t : 0;
		if (over && out->size[i] <= UINT64_MAX - t)
			out->padded[i] += t - over;
	}
	out->has_tile = ntile > 0;
	return true;
}

struct ss_tiling ss_tiling_of(struct ss_str expression)
{
	size_t eq = ss_str_find(expression, SS_STR(" = "));
	struct ss_tiling t = { .rest = eq == SS_NPOS ? SS_STR("") : skip(expression, eq + 3) };
	t.tuple_result = t.rest.n && t.rest.p[0] == '(';
	return t;
}

/* A word with brackets behind it has been passed up to them: is it a tensor? */
static bool take_tensor(struct ss_tiling *t, struct ss_str word, struct ss_tiled *out)
{
	uint64_t dims[SS_TILED_DIMS];
	struct ss_str inside, layout;
	t->rest = skip(t->rest, 1);
	if (!until(&t->rest, ']', &inside))
		return false;
	uint32_t n = number_list(inside, dims);
	*out = (struct ss_tiled){ .type = word, .is_result = !t->in_operands };
	out->number = t->in_operands ? t->noperands++ : t->nresults++;
	if (!n || !t->rest.n || t->rest.p[0] != '{')
		return false;
	t->rest = skip(t->rest, 1);
	return until(&t->rest, '}', &layout) && apply_layout(layout, dims, n, out);
}

bool ss_tiling_next(struct ss_tiling *t, struct ss_tiled *out)
{
	while (t->rest.n) {
		size_t n = 0;
		while (n < t->rest.n && is_word(t->rest.p[n]))
			n++;
		struct ss_str word = ss_str_sub(t->rest, 0, n);
		if (!n && t->rest.p[0] == '%') {	/* a name: brackets do not follow it */
			for (n = 1; n < t->rest.n && is_word(t->rest.p[n]);)
				n++;
			t->rest = skip(t->rest, n);
			continue;
		}
		t->rest = skip(t->rest, n);
		char c = t->rest.n ? t->rest.p[0] : ')';
		if (n && c == '[') {
			if (take_tensor(t, word, out))
				return true;
			continue;
		}
		/* The opcode is the word with a parenthesis behind it. */
		if (c == '(') {
			t->in_operands = t->in_operands || n > 0;
			t->depth++;
		} else if (c == ')' && t->depth && --t->depth == 0 && t->in_operands) {
			t->rest = SS_STR("");
			return false;
		}
		t->rest = skip(t->rest, 1);
	}
	return false;
}

uint64_t ss_tiled_bytes(const struct ss_tiled *t)
{
	uint64_t bits = 0, n = 1;
	size_t i = 0;
	/* f32, bf16, f8e4m3fn: the first number; a pred is a byte. */
	while (i < t->type.n && (t->type.p[i] < '0' || t->type.p[i] > '9'))
		i++;
	for (; i < t->type.n && t->type.p[i] >= '0' && t->type.p[i] <= '9' && bits < 1000; i++)
		bits = 10 * bits + (uint64_t)(t->type.p[i] - '0');
	if (ss_str_is(t->type, "pred"))
		bits = 8;
	for (uint32_t k = 0; k < t->ndims; k++)
		if (__builtin_mul_overflow(n, t->size[k], &n))
			return 0;
	return bits && n <= UINT64_MAX / bits ? (n * bits + 7) / 8 : 0;
}

static double filled(const struct ss_tiled *t)
{
	double size = 1, padded = 1;
	for (uint32_t i = 0; i < t->ndims; i++) {
		size *= (double)t->size[i];
		padded *= (double)t->padded[i];
	}
	return padded > 0 ? size / padded : 1;
}

static void print(struct ss_buf *b, const struct ss_tiling *all, const struct ss_tiled *t)
{
	ss_buf_z(b, b->n ? "; " : "");
	ss_buf_z(b, t->is_result ? "result" : "operand");
	if (!t->is_result || all->tuple_result)
		ss_buf_printf(b, " %u", t->number + 1);
	ss_buf_char(b, ' ');
	ss_buf_str(b, t->type);
	for (uint32_t i = 0; i < t->ndims; i++)
		ss_buf_printf(b, " %llu/%llu", (unsigned long long)t->size[i], (unsigned long long)t->padded[i]);
}

struct ss_str ss_tiling_text(struct ss_str expression, struct ss_arena *arena, double *filled_frac)
{
	struct ss_tiling all = ss_tiling_of(expression);
	struct ss_buf b = { 0 };
	struct ss_tiled t;
	*filled_frac = NAN;
	while (ss_tiling_next(&all, &t)) {
		if (!t.has_tile)
			continue;
		double frac = filled(&t);
		if (!(*filled_frac <= frac))
			*filled_frac = frac;
		print(&b, &all, &t);
	}
	return ss_buf_to_arena(&b, arena);
}
