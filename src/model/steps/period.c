/* period.c - choosing the anchor, and cutting at it. */
#include "model/steps/period.h"

#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Segments within this share of the median number of spans are alike. */
#define ALIKE_FRAC 0.05
/* An anchor that explains less than this is none: of segments that are alike, and of the sequence. */
#define MIN_ALIKE 0.5
#define MIN_COVER 0.5
/* The name with most time is taken as it is from here on: a step now and then may do more. */
#define ENOUGH_ALIKE 0.8
/* Anchors this near to the best are as good: then the more frequent counts. */
#define AS_GOOD 0.005
/* Fewer repetitions may be chance; they count where there is nothing else. */
#define FEW 3
/* A segment of more than so many periods has a pause at its end. */
#define PAUSE_PERIODS 4

struct name {
	uint32_t id;
	size_t first, n; /* in the list of positions */
	uint64_t time_ps, gap_ps; /* summed: of its spans, and of the silence before them */
	double alike, median;
	bool valid;
};

struct search {
	struct ss_occurrence *v; /* the caller's: filtered, names are indices into names */
	size_t n;
	SS_VEC(struct name) names;
	uint32_t *at; /* positions, by name, ascending */
	uint32_t *scratch;
};

static void release(struct search *s)
{
	free(s->at);
	free(s->scratch);
	ss_vec_free(&s->names);
}

/* Number the names, and drop spans that begin within one of the same name. */
static bool filter(struct search *s, size_t n)
{
	struct ss_occurrence *v = s->v;
	struct ss_u64map ids = { 0 };
	SS_VEC(int64_t) ends = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		uint32_t k = ss_u64map_add(&ids, v[i].name, (uint32_t)s->names.n);
		ok = k != SS_NONE;
		if (ok && k == s->names.n)
			ok = ss_vec_push(&s->names, ((struct name){ .id = v[i].name })) &&
			     ss_vec_push(&ends, INT64_MIN);
		if (!ok || (s->names.v[k].n && v[i].begin_ps < ends.v[k]))
			continue;
		ends.v[k] = v[i].end_ps;
		s->names.v[k].n++;
		s->names.v[k].time_ps += (uint64_t)v[i].end_ps - (uint64_t)v[i].begin_ps;
		v[s->n] = v[i];
		v[s->n++].name = k;
	}
	ss_u64map_free(&ids);
	ss_vec_free(&ends);
	return ok;
}

/* Positions by name, and the silence before each span: nothing was running when it began. */
static void list_positions(struct search *s)
{
	size_t first = 0;
	int64_t end_ps = s->n ? s->v[0].begin_ps : 0;
	for (size_t k = 0; k < s->names.n; k++) {
		s->names.v[k].first = first;
		first += s->names.v[k].n;
		s->names.v[k].n = 0;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct name *name = &s->names.v[s->v[i].name];
		s->at[name->first + name->n++] = (uint32_t)i;
		if (s->v[i].begin_ps > end_ps)
			name->gap_ps += (uint64_t)s->v[i].begin_ps - (uint64_t)end_ps;
		if (s->v[i].end_ps > end_ps)
			end_ps = s->v[i].end_ps;
	}
}

static int by_size(const void *a, const void *b)
{
	uint32_t ua = *(const uint32_t *)a, ub = *(const uint32_t *)b;
	return SS_CMP(ua, ub);
}

/* The similarity of the segments that begin with this name. */
static void judge(struct search *s, struct name *name)
{
	const uint32_t *at = s->at + name->first;
	size_t segments = name->n - 1, alike = 0;
	if (name->n < 2)
		return;
	for (size_t i = 0; i < segments; i++)
		s->scratch[i] = at[i + 1] - at[i];
	qsort(s->scratch, segments, sizeof(*s->scratch), by_size);
	name->median = (double)s->scratch[segments / 2];
	for (size_t i = 0; i < segments; i++) {
		double off = (double)s->scratch[i] - name->median;
		alike += (off < 0 ? -off : off) <= ALIKE_FRAC * name->median;
	}
	name->alike = (double)alike / (double)segments;
	double covered = ((double)(at[segments] - at[0]) + name->median) / (double)s->n;
	name->valid = name->alike >= MIN_ALIKE && covered >= MIN_COVER;
}

/* The name that takes most time, if its segments are alike. */
static struct name *longest(const struct search *s)
{
	struct name *best = NULL;
	for (size_t k = 0; k < s->names.n; k++) {
		struct name *name = &s->names.v[k];
		if (name->n >= 2 && (!best || name->time_ps > best->time_ps))
			best = name;
	}
	return best && best->valid && best->alike >= ENOUGH_ALIKE ? best : NULL;
}

/* Use names that occur at least so often. */
static struct name *max_alike(const struct search *s, size_t min)
{
	double alike = 0;
	struct name *best = NULL;
	for (size_t k = 0; k < s->names.n; k++)
		if (s->names.v[k].valid && s->names.v[k].n >= min && s->names.v[k].alike > alike)
			alike = s->names.v[k].alike;
	for (size_t k = 0; k < s->names.n; k++) {
		struct name *name = &s->names.v[k];
		if (name->valid && name->n >= min && name->alike >= alike - AS_GOOD &&
		    (!best || name->n > best->n))
			best = name;
	}
	return best;
}

/* Names that occur as often cut the same steps elsewhere: steps begin after the longest silence. */
static const struct name *first_of_step(const struct search *s, const struct name *anchor)
{
	const struct name *best = anchor;
	for (size_t k = 0; k < s->names.n; k++) {
		const struct name *name = &s->names.v[k];
		if (name->valid && name->n == anchor->n && name->alike >= anchor->alike - AS_GOOD &&
		    name->gap_ps > best->gap_ps)
			best = name;
	}
	return best;
}

static uint64_t length(const struct ss_period *p, size_t i)
{
	return (uint64_t)p->end_ps[i] - (uint64_t)p->begin_ps[i];
}

/* `v` is room for p->n numbers. */
static uint64_t median_length(const struct ss_period *p, uint64_t *v)
{
	for (size_t i = 0; i < p->n; i++)
		v[i] = length(p, i);
	qsort(v, p->n, sizeof(*v), ss_cmp_u64);
	return v[p->n / 2];
}

static void set_regularity(struct ss_period *p, uint64_t median_ps, uint64_t *v)
{
	for (size_t i = 0; i < p->n; i++)
		v[i] = length(p, i) > median_ps ? length(p, i) - median_ps : median_ps - length(p, i);
	qsort(v, p->n, sizeof(*v), ss_cmp_u64);
	double off = median_ps ? (double)v[p->n / 2] / (double)median_ps : 1;
	p->regular_frac = 1 / (1 + off);
}

/* When the spans from `from` on, before `to`, were done. */
static int64_t done_ps(const struct search *s, size_t from, size_t to)
{
	int64_t end_ps = s->v[from].end_ps;
	for (size_t i = from; i < to && i < s->n; i++)
		if (s->v[i].end_ps > end_ps)
			end_ps = s->v[i].end_ps;
	return end_ps;
}

static bool cut(struct ss_period *out, const struct search *s, const struct name *name)
{
	const uint32_t *at = s->at + name->first;
	uint64_t *v = malloc(name->n * sizeof(*v));
	out->begin_ps = malloc(name->n * sizeof(*out->begin_ps));
	out->end_ps = malloc(name->n * sizeof(*out->end_ps));
	if (!v || !out->begin_ps || !out->end_ps) {
		free(v);
		return false;
	}
	out->name = name->id;
	out->alike_frac = name->alike;
	out->n = name->n;
	for (size_t i = 0; i < name->n; i++) {
		out->begin_ps[i] = s->v[at[i]].begin_ps;
		out->end_ps[i] = i + 1 < name->n ? s->v[at[i + 1]].begin_ps
						 : done_ps(s, at[i], at[i] + (size_t)name->median);
	}
	uint64_t median_ps = median_length(out, v);
	for (size_t i = 0; i + 1 < name->n; i++)
		if (length(out, i) / PAUSE_PERIODS >= median_ps) {
			int64_t end_ps = done_ps(s, at[i], at[i + 1]);
			out->end_ps[i] = end_ps < out->end_ps[i] ? end_ps : out->end_ps[i];
		}
	set_regularity(out, median_length(out, v), v);
	free(v);
	return true;
}

bool ss_period_find(struct ss_period *out, struct ss_occurrence *v, size_t n, enum ss_period_by by)
{
	struct search s = { .v = v };
	*out = (struct ss_period){ 0 };
	s.at = malloc((n + 1) * sizeof(*s.at));
	s.scratch = malloc((n + 1) * sizeof(*s.scratch));
	bool ok = n < UINT32_MAX && s.at && s.scratch && filter(&s, n);
	if (ok) {
		list_positions(&s);
		for (size_t k = 0; k < s.names.n; k++)
			judge(&s, &s.names.v[k]);
		struct name *anchor = by == SS_PERIOD_BY_TIME ? longest(&s) : NULL;
		anchor = anchor ? anchor : max_alike(&s, FEW);
		anchor = anchor ? anchor : max_alike(&s, 2);
		if (anchor)
			ok = cut(out, &s, first_of_step(&s, anchor));
	}
	release(&s);
	return ok;
}

void ss_period_free(struct ss_period *p)
{
	free(p->begin_ps);
	free(p->end_ps);
	*p = (struct ss_period){ 0 };
}
