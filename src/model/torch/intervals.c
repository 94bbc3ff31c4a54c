/* intervals.c - see intervals.h. */
#include "model/torch/intervals.h"

#include "base/bisect.h"
#include "base/order.h"

#include <stdlib.h>

bool ss_intervals_add(struct ss_intervals *s, int64_t begin_ns, int64_t end_ns)
{
	return begin_ns >= end_ns || ss_vec_push(&s->v, ((struct ss_interval){ begin_ns, end_ns }));
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_interval *x = a, *y = b;
	return SS_CMP(x->begin_ns, y->begin_ns);
}

void ss_intervals_unite(struct ss_intervals *s)
{
	struct ss_interval *v = s->v.v;
	size_t n = 0;
	bool sorted = true;
	for (size_t i = 1; sorted && i < s->v.n; i++)
		sorted = v[i - 1].begin_ns <= v[i].begin_ns;
	if (!sorted)
		qsort(v, s->v.n, sizeof(*v), by_begin);
	for (size_t i = 0; i < s->v.n; i++) {
		if (n && v[i].begin_ns <= v[n - 1].end_ns)
			v[n - 1].end_ns = v[i].end_ns > v[n - 1].end_ns ? v[i].end_ns : v[n - 1].end_ns;
		else
			v[n++] = v[i];
	}
	s->v.n = n;
}

int64_t ss_intervals_ns(const struct ss_intervals *s)
{
	int64_t sum = 0;
	for (size_t i = 0; i < s->v.n; i++)
		sum += s->v.v[i].end_ns - s->v.v[i].begin_ns;
	return sum;
}

static int64_t common(const struct ss_interval *a, const struct ss_interval *b)
{
	int64_t from = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
	int64_t to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
	return from < to ? to - from : 0;
}

int64_t ss_intervals_common_ns(const struct ss_intervals *a, const struct ss_intervals *b)
{
	int64_t sum = 0;
	for (size_t i = 0, k = 0; i < a->v.n && k < b->v.n;) {
		sum += common(&a->v.v[i], &b->v.v[k]);
		if (a->v.v[i].end_ns < b->v.v[k].end_ns)
			i++;
		else
			k++;
	}
	return sum;
}

int64_t ss_intervals_within_ns(const struct ss_intervals *s, int64_t begin_ns, int64_t end_ns)
{
	const struct ss_interval one = { begin_ns, end_ns };
	size_t lo = 0, hi = s->v.n;
	int64_t sum = 0;
	SS_BISECT(lo, hi, mid, s->v.v[mid].end_ns <= begin_ns);
	for (; lo < s->v.n && s->v.v[lo].begin_ns < end_ns; lo++)
		sum += common(&s->v.v[lo], &one);
	return sum;
}

void ss_intervals_free(struct ss_intervals *s)
{
	ss_vec_free(&s->v);
}
