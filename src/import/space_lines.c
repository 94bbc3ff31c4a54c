/* space_lines.c - see space_lines.h. */
#include "import/space_lines.h"

#include "base/bisect.h"

#include <stdlib.h>

static bool before(const struct ss_so_record *a, const struct ss_so_record *b)
{
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns;
	if (a->begin_sub_ps != b->begin_sub_ps)
		return a->begin_sub_ps < b->begin_sub_ps;
	return a->dur_ps > b->dur_ps;
}

/* The first of n ascending records that comes after `r`. */
static size_t first_after(const struct ss_so_record *v, size_t n, const struct ss_so_record *r)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, !before(r, &v[mid]));
	return lo;
}

/*
 * Traces are ascending but for a few events, such as ranges that are written when they end: only
 * what stands wrong is moved, and only so much of `tmp` is touched.
 */
static void merge_sort(struct ss_so_record *v, struct ss_so_record *tmp, size_t n)
{
	if (n < 2)
		return;
	size_t half = n / 2, j = half, k = 0;
	merge_sort(v, tmp, half);
	merge_sort(v + half, tmp, n - half);
	if (!before(&v[half], &v[half - 1]))
		return;
	size_t from = first_after(v, half, &v[half]), i = from;
	while (i < half && j < n)
		tmp[k++] = before(&v[j], &v[i]) ? v[j++] : v[i++];
	while (i < half)
		tmp[k++] = v[i++];
	memcpy(v + from, tmp, k * sizeof(*v));
}

static bool sort_line(struct ss_so_line *l)
{
	size_t n = l->events.n, i = 1;
	while (i < n && !before(&l->events.v[i], &l->events.v[i - 1]))
		i++;
	if (i >= n)
		return true;
	struct ss_so_record *tmp = malloc(n * sizeof(*tmp));
	if (tmp)
		merge_sort(l->events.v, tmp, n);
	free(tmp);
	return tmp != NULL;
}

static int by_end(const void *a, const void *b)
{
	const struct ss_so_time *x = a, *y = b;
	return SS_CMP(x->ns, y->ns) ?: SS_CMP(x->ps, y->ps);
}

struct begun {
	struct ss_so_record *r;
	uint32_t number;	/* in the file */
	bool ended;
};

static int by_begin(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;
	return SS_CMP(x->r->begin_ns, y->r->begin_ns) ?: SS_CMP(x->r->begin_sub_ps, y->r->begin_sub_ps) ?:
	       SS_CMP(x->number, y->number);
}

/*
 * A writer need not keep the order of time: ends that came before their begins are matched with
 * what is still open, the innermost first. False when memory is out.
 */
static bool match_ends(struct ss_space_out *o, struct ss_so_line *l)
{
	size_t n = 0, at = 0, depth = 0;
	struct begun *v = calloc(l->open.n + 1, sizeof(*v));
	uint32_t *stack = calloc(l->open.n + 1, sizeof(*stack));
	for (size_t i = 0; v && i < l->open.n; i++)
		if (l->open.v[i] != SS_NONE)
			v[n++] = (struct begun){ &l->events.v[l->open.v[i]], l->open.v[i], false };
	if (v && stack) {
		qsort(v, n, sizeof(*v), by_begin);
		qsort(l->ends.v, l->ends.n, sizeof(*l->ends.v), by_end);
	}
	for (size_t i = 0; v && stack && i < l->ends.n; i++) {
		while (at < n && ss_so_begins_by(v[at].r, l->ends.v[i]))
			stack[depth++] = (uint32_t)at++;
		if (!depth) {
			o->unmatched++;
			continue;
		}
		struct begun *b = &v[stack[--depth]];
		b->r->dur_ps = ss_so_between_ps(b->r, l->ends.v[i]);
		b->ended = true;
	}
	l->open.n = 0;
	for (size_t i = 0; v && i < n; i++)
		if (!v[i].ended)
			l->open.v[l->open.n++] = v[i].number;
	bool ok = v && stack;
	free(v);
	free(stack);
	ss_vec_free(&l->ends);
	return ok;
}

/* An event that begins and never ends lasts as long as its line. */
static bool end_open(struct ss_space_out *o, struct ss_so_line *l)
{
	if (l->ends.n && !match_ends(o, l))
		return false;
	int64_t last_ns = INT64_MIN;
	for (size_t i = 0; l->open.n && i < l->events.n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		uint64_t dur_ns = r->dur_ps / 1000;
		int64_t end = dur_ns > (uint64_t)(INT64_MAX - (r->begin_ns > 0 ? r->begin_ns : 0)) ?
				      INT64_MAX : r->begin_ns + (int64_t)dur_ns;
		last_ns = end > last_ns ? end : last_ns;
	}
	for (size_t i = 0; i < l->open.n; i++) {
		uint32_t e = l->open.v[i];
		if (e == SS_NONE || last_ns <= l->events.v[e].begin_ns)
			continue;
		uint64_t ns = (uint64_t)last_ns - (uint64_t)l->events.v[e].begin_ns;
		l->events.v[e].dur_ps = ns > (uint64_t)SS_SO_FAR_NS ? 0 : ns * 1000;
	}
	ss_vec_free(&l->open);
	return true;
}

bool ss_so_line_settle(struct ss_space_out *o, struct ss_so_line *l)
{
	return end_open(o, l) && sort_line(l);
}
