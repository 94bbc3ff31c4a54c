/* match.c - see match.h. */
#include "diff/match.h"

#include <math.h>
#include <stdlib.h>

struct ss_str ss_match_name(enum ss_match m)
{
	static const struct ss_str names[] = {
		[SS_MATCH_PATH] = SS_STR_INIT("path"),	     [SS_MATCH_NAME] = SS_STR_INIT("name"),
		[SS_MATCH_GRAPH] = SS_STR_INIT("graph"),     [SS_MATCH_SPLIT] = SS_STR_INIT("split"),
		[SS_MATCH_MERGED] = SS_STR_INIT("merged"),   [SS_MATCH_ADDED] = SS_STR_INIT("added"),
		[SS_MATCH_REMOVED] = SS_STR_INIT("removed"),
	};
	return names[m];
}

/* ---- keys; 0: this operation takes no part ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct ss_str ss_name_stem(struct ss_str name)
{
	for (;;) {
		size_t n = name.n;
		while (n && is_digit(name.p[n - 1]))
			n--;
		if (n < name.n && n > 1 && (name.p[n - 1] == '.' || name.p[n - 1] == '_'))
			name.n = n - 1;
		else if (ss_str_ends(name, SS_STR(".remat")) || ss_str_ends(name, SS_STR(".clone")))
			name.n -= 6;
		else if (n < name.n && (ss_str_ends(ss_str_sub(name, 0, n), SS_STR(".remat"))))
			name.n = n;
		else
			return name;
	}
}

/* Letters and underlines outside of <...>; runs of digits and hexadecimal numbers say nothing. */
uint64_t ss_kernel_key(struct ss_str kernel)
{
	uint64_t h = 1;
	int depth = 0;
	for (size_t i = 0; i < kernel.n; i++) {
		char c = kernel.p[i];
		depth += c == '<' ? 1 : c == '>' && depth ? -1 : 0;
		bool address = c == '0' && i + 1 < kernel.n && kernel.p[i + 1] == 'x';
		if (address)
			for (i += 2; i + 1 < kernel.n &&
				     (is_digit(kernel.p[i + 1]) || (kernel.p[i + 1] >= 'a' && kernel.p[i + 1] <= 'f'));)
				i++;
		else if (!depth && c != '>' && !is_digit(c))
			h = ss_mix(h, (uint64_t)(unsigned char)c + 1);
	}
	return h;
}

static uint64_t hash_without_digits(struct ss_str s)
{
	uint64_t h = 1;
	for (size_t i = 0; i < s.n; i++)
		if (!is_digit(s.p[i]))
			h = ss_mix(h, (uint64_t)(unsigned char)s.p[i] + 1);
	return h;
}

static uint64_t digits_of(struct ss_str s)
{
	uint64_t h = 1;
	for (size_t i = 0; i < s.n; i++)
		if (is_digit(s.p[i]))
			h = ss_mix(h, (uint64_t)(unsigned char)s.p[i] + ((i && is_digit(s.p[i - 1])) ? 1 : 300));
	return h;
}

static struct ss_str tail(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

static struct ss_str scope(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? SS_STR("") : ss_str_sub(path, 0, slash);
}

static uint64_t opcode_key(const struct ss_diff_op *o)
{
	return ss_mix(ss_str_hash(o->opcode), (uint64_t)o->component + 1);
}

static uint64_t stem_key(const struct ss_diff_op *o)
{
	return o->kernel.n && ss_str_eq(o->kernel, o->name) ? ss_kernel_key(o->kernel) : ss_str_hash(ss_name_stem(o->name));
}

static uint64_t by_path_all(const struct ss_diff_op *o)
{
	uint64_t h =
		ss_mix(ss_mix(ss_str_hash(o->path), opcode_key(o)), ss_mix(ss_str_hash(o->shape), ss_str_hash(o->module)));
	return o->path.n ? ss_mix(h, stem_key(o)) : 0;
}

static uint64_t by_path_shape(const struct ss_diff_op *o)
{
	return o->path.n ? ss_mix(ss_mix(ss_str_hash(o->path), opcode_key(o)), ss_str_hash(o->shape)) : 0;
}

static uint64_t by_path(const struct ss_diff_op *o)
{
	return o->path.n ? ss_mix(ss_str_hash(o->path), opcode_key(o)) : 0;
}

static uint64_t by_name(const struct ss_diff_op *o)
{
	return ss_mix(ss_mix(stem_key(o), opcode_key(o)), ss_str_hash(o->shape));
}

static uint64_t by_name_alone(const struct ss_diff_op *o)
{
	return o->path.n ? 0 : by_name(o);
}

static uint64_t by_source_alone(const struct ss_diff_op *o)
{
	if (!o->path.n || !o->source.n)
		return 0;
	uint64_t h = ss_mix(ss_mix(ss_str_hash(tail(o->path)), opcode_key(o)), ss_str_hash(o->shape));
	return ss_mix(h, ss_str_hash(o->source));
}

static uint64_t by_source(const struct ss_diff_op *o)
{
	uint64_t h = by_source_alone(o);
	return h ? ss_mix(h, digits_of(o->path)) : 0;
}

static uint64_t by_digits(const struct ss_diff_op *o)
{
	uint64_t h = ss_mix(ss_mix(ss_str_hash(tail(o->path)), opcode_key(o)), ss_str_hash(o->shape));
	return o->path.n ? ss_mix(h, digits_of(o->path)) : 0;
}

static uint64_t by_graph(const struct ss_diff_op *o)
{
	return o->graph ? ss_mix(o->graph, opcode_key(o)) : 0;
}

static uint64_t by_kernel(const struct ss_diff_op *o)
{
	return o->kernel.n ? ss_mix(ss_mix(ss_kernel_key(o->kernel), hash_without_digits(o->path)), opcode_key(o)) : 0;
}

/* ---- a level ---- */

struct candidate {
	uint64_t key;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return SS_CMP(x->key, y->key) ?: SS_CMP(x->at, y->at);
}

struct match {
	struct ss_matching *out;
	const struct ss_diff_side *base, *new;
	struct candidate *bv, *nv;
};

static size_t list(const struct ss_diff_side *s, const uint32_t *row, uint64_t (*key)(const struct ss_diff_op *),
		   struct candidate *v)
{
	size_t n = 0;
	for (size_t i = 0; i < s->ops.n; i++) {
		uint64_t k = row[i] == SS_NONE ? key(s->ops.v[i].op) : 0;
		if (k)
			v[n++] = (struct candidate){ k, (uint32_t)i };
	}
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	return n;
}

static void pair(struct match *m, uint32_t b, uint32_t n, enum ss_match how)
{
	m->out->base_row[b] = m->out->new_row[n] = (uint32_t)m->out->rows;
	m->out->how[m->out->rows++] = how;
}

static size_t end_of_group(const struct candidate *v, size_t at, size_t n)
{
	size_t end = at;
	while (end < n && v[end].key == v[at].key)
		end++;
	return end;
}

static void level(struct match *m, uint64_t (*key)(const struct ss_diff_op *), enum ss_match how, bool equal_numbers)
{
	size_t nb = list(m->base, m->out->base_row, key, m->bv), nn = list(m->new, m->out->new_row, key, m->nv);
	size_t i = 0, k = 0;
	while (i < nb && k < nn) {
		size_t bend = end_of_group(m->bv, i, nb), nend = end_of_group(m->nv, k, nn);
		if (m->bv[i].key < m->nv[k].key) {
			i = bend;
		} else if (m->bv[i].key > m->nv[k].key) {
			k = nend;
		} else {
			bool all = !equal_numbers || bend - i == nend - k;
			for (; all && i < bend && k < nend; i++, k++)
				pair(m, m->bv[i].at, m->nv[k].at, how);
			i = bend;
			k = nend;
		}
	}
}

/* ---- neighbours ---- */

/* Unmatched operations from `at` on. */
static size_t run_of(const uint32_t *row, size_t at, size_t n)
{
	size_t end = at;
	while (end < n && row[end] == SS_NONE)
		end++;
	return end;
}

static bool same_opcodes(const struct match *m, size_t b, size_t n, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct ss_diff_op *x = m->base->ops.v[b + i].op, *y = m->new->ops.v[n + i].op;
		if (!x->opcode.n || !ss_str_eq(x->opcode, y->opcode) || x->component != y->component)
			return false;
	}
	return true;
}

/* A run of unmatched operations between two pairs that are neighbours on both sides. */
static void fill_gaps(struct match *m, const uint32_t *new_at)
{
	struct ss_matching *o = m->out;
	size_t nb = m->base->ops.n, nn = m->new->ops.n;
	for (size_t i = 0; i < nb; i++) {
		if (o->base_row[i] != SS_NONE)
			continue;
		size_t end = run_of(o->base_row, i, nb), from = i ? (size_t)new_at[o->base_row[i - 1]] + 1 : 0;
		size_t to = from <= nn ? run_of(o->new_row, from, nn) : from;
		bool closed = end == nb ? to == nn : to < nn && o->base_row[end] == o->new_row[to];
		if (closed && end - i == to - from && same_opcodes(m, i, from, end - i))
			for (size_t k = 0; k < end - i; k++)
				pair(m, (uint32_t)(i + k), (uint32_t)(from + k), SS_MATCH_GRAPH);
		i = end;
	}
}

/* ---- one became several ---- */

static size_t components_of(struct ss_str path)
{
	size_t n = path.n > 0;
	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* The scope of one is that of the other, or holds it; the whole program is no scope. */
static bool share_scope(const struct ss_diff_op *a, const struct ss_diff_op *b)
{
	struct ss_str x = scope(a->path), y = scope(b->path);
	if (y.n < x.n) {
		struct ss_str t = x;
		x = y;
		y = t;
	}
	return a->component == b->component && components_of(x) >= 2 && ss_str_starts(y, x) &&
	       (y.n == x.n || y.p[x.n] == '/');
}

/*
 * The matched operation next to `at` that belongs with it, SS_NONE; `was`: the rows before anything
 * joined.
 */
static uint32_t row_beside(const struct ss_diff_side *s, const uint32_t *was, size_t at)
{
	size_t i = at, k = at + 1;
	while (i > 0 && was[i - 1] == SS_NONE)
		i--;
	while (k < s->ops.n && was[k] == SS_NONE)
		k++;
	if (i > 0 && share_scope(s->ops.v[i - 1].op, s->ops.v[at].op))
		return was[i - 1];
	return k < s->ops.n && share_scope(s->ops.v[k].op, s->ops.v[at].op) ? was[k] : SS_NONE;
}

/* The other side's operation whose fusion holds this path. */
static uint32_t row_inside(const struct ss_u64map *inner, const uint32_t *other_row, const struct ss_diff_op *o)
{
	uint32_t at = o->path.n ? ss_u64map_get(inner, ss_str_hash(o->path)) : SS_NONE;
	return at == SS_NONE ? SS_NONE : other_row[at];
}

static bool list_inner(struct ss_u64map *inner, const struct ss_diff_side *s)
{
	for (size_t i = 0; i < s->ops.n; i++)
		for (size_t k = 0; k < s->ops.v[i].op->ninner; k++)
			if (ss_u64map_add(inner, s->ops.v[i].op->inner[k], (uint32_t)i) == SS_NONE)
				return false;
	return true;
}

static bool join(struct match *m, const struct ss_diff_side *s, uint32_t *row, const struct ss_diff_side *other,
		 const uint32_t *other_row, enum ss_match how)
{
	struct ss_u64map inner = { 0 };
	uint32_t *was = malloc((s->ops.n + 1) * sizeof(*was));
	bool ok = was && list_inner(&inner, other);
	if (ok && s->ops.n)
		memcpy(was, row, s->ops.n * sizeof(*was));
	for (size_t i = 0; ok && i < s->ops.n; i++) {
		if (row[i] != SS_NONE)
			continue;
		row[i] = row_inside(&inner, other_row, s->ops.v[i].op);
		row[i] = row[i] == SS_NONE ? row_beside(s, was, i) : row[i];
		if (row[i] != SS_NONE)
			m->out->how[row[i]] = how;
	}
	ss_u64map_free(&inner);
	free(was);
	return ok;
}

/* ---- all ---- */

static void add_rest(struct ss_matching *m, const struct ss_diff_side *s, uint32_t *row, enum ss_match how)
{
	for (size_t i = 0; i < s->ops.n; i++)
		if (row[i] == SS_NONE) {
			row[i] = (uint32_t)m->rows;
			m->how[m->rows++] = how;
		}
}

/* The rows of one side's operations that have no number yet. */
static void number_side(const uint32_t *row, size_t n, uint32_t *number, uint32_t *next)
{
	for (size_t i = 0; i < n; i++)
		if (number[row[i]] == SS_NONE)
			number[row[i]] = (*next)++;
}

/*
 * Numbers the rows by first execution: base's, then those of new alone. Pairs were found in the order of their keys, which
 * are hashes of a seed that each process draws: nothing shown may depend on it.
 */
static bool number_rows(struct ss_matching *m, size_t nb, size_t nn)
{
	uint32_t *number = malloc((m->rows + 1) * sizeof(*number)), next = 0;
	enum ss_match *how = malloc((nb + nn + 1) * sizeof(*how));
	if (!number || !how) {
		free(number);
		free(how);
		return false;
	}
	memset(number, 0xff, m->rows * sizeof(*number));
	number_side(m->base_row, nb, number, &next);
	number_side(m->new_row, nn, number, &next);
	for (size_t i = 0; i < m->rows; i++)
		how[number[i]] = m->how[i];
	for (size_t i = 0; i < nb; i++)
		m->base_row[i] = number[m->base_row[i]];
	for (size_t i = 0; i < nn; i++)
		m->new_row[i] = number[m->new_row[i]];
	free(number);
	free(m->how);
	m->how = how;
	return true;
}

static double matched_frac(const struct ss_matching *m, const struct ss_diff_side *s, const uint32_t *row)
{
	double all = 0, matched = 0;
	for (size_t i = 0; i < s->ops.n; i++) {
		bool alone = m->how[row[i]] == SS_MATCH_ADDED || m->how[row[i]] == SS_MATCH_REMOVED;
		all += s->ops.v[i].us;
		matched += alone ? 0 : s->ops.v[i].us;
	}
	return all > 0 ? fmin(matched / all, 1) : NAN;
}

static void pair_all(struct match *m)
{
	level(m, by_path_all, SS_MATCH_PATH, false);
	level(m, by_path_shape, SS_MATCH_PATH, false);
	level(m, by_path, SS_MATCH_PATH, false);
	level(m, by_name_alone, SS_MATCH_NAME, true);
	level(m, by_source, SS_MATCH_GRAPH, false);
	level(m, by_source_alone, SS_MATCH_GRAPH, true);
	level(m, by_digits, SS_MATCH_GRAPH, true);
	level(m, by_graph, SS_MATCH_GRAPH, false);
	level(m, by_kernel, SS_MATCH_NAME, true);
	level(m, by_name, SS_MATCH_NAME, true);
}

static bool match_neighbours(struct match *m)
{
	uint32_t *new_at = malloc((m->new->ops.n + m->base->ops.n + 1) * sizeof(*new_at));
	if (!new_at)
		return false;
	for (size_t i = 0; i < m->new->ops.n; i++)
		if (m->out->new_row[i] != SS_NONE)
			new_at[m->out->new_row[i]] = (uint32_t)i;
	fill_gaps(m, new_at);
	free(new_at);
	return true;
}

bool ss_match_ops(struct ss_matching *out, const struct ss_diff_side *base, const struct ss_diff_side *new)
{
	struct match m = { .out = out, .base = base, .new = new };
	size_t nb = base->ops.n, nn = new->ops.n;
	*out = (struct ss_matching){ .base_row = malloc((nb + 1) * sizeof(uint32_t)),
				     .new_row = malloc((nn + 1) * sizeof(uint32_t)),
				     .how = malloc((nb + nn + 1) * sizeof(enum ss_match)) };
	m.bv = malloc((nb + 1) * sizeof(*m.bv));
	m.nv = malloc((nn + 1) * sizeof(*m.nv));
	bool ok = out->base_row && out->new_row && out->how && m.bv && m.nv;
	if (ok) {
		memset(out->base_row, 0xff, nb * sizeof(uint32_t));
		memset(out->new_row, 0xff, nn * sizeof(uint32_t));
		pair_all(&m);
		ok = match_neighbours(&m) && join(&m, new, out->new_row, base, out->base_row, SS_MATCH_SPLIT) &&
		     join(&m, base, out->base_row, new, out->new_row, SS_MATCH_MERGED);
	}
	free(m.bv);
	free(m.nv);
	if (!ok)
		return false;
	add_rest(out, base, out->base_row, SS_MATCH_REMOVED);
	add_rest(out, new, out->new_row, SS_MATCH_ADDED);
	if (!number_rows(out, nb, nn))
		return false;
	out->matched_base_frac = matched_frac(out, base, out->base_row);
	out->matched_new_frac = matched_frac(out, new, out->new_row);
	return true;
}

void ss_matching_free(struct ss_matching *m)
{
	free(m->base_row);
	free(m->new_row);
	free(m->how);
	*m = (struct ss_matching){ 0 };
}
