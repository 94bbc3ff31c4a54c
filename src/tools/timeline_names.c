/*
 * timeline_names.c - search as a list: the names that match, how long their events take, and when
 * they run.
 */
#include "tools/timeline.h"

#include "base/icontains.h"
#include "base/regex.h"
#include "base/vec.h"
#include "tools/name_slots.h"

#include <stdlib.h>

/*
 * Durations counted by their leading 11 bits: those below 1024 one by one, then 1024 counts for
 * each power of two.
 */
#define FINE_BITS 10u
#define FINE (1u << FINE_BITS)
#define OCTAVES (64u - FINE_BITS + 1u)

struct durations {
	uint32_t *octave[OCTAVES];
};

struct entry {
	struct ss_tl_name sum;
	bool matches;
	uint32_t row;	/* among those told; SS_NONE */
};

struct names {
	const struct ss_model_trace *mt;
	const struct ss_timeline_names_query *q;
	struct ss_regex *regex;
	bool stopped;		/* memory was out for it */
	uint8_t *wanted;	/* by track of the model; NULL: all */
	struct ss_strmap by_name;
	SS_VEC(struct entry) v;
	struct ss_name_slots slots; /* numbers of entries */
	struct durations *durations; /* by row */
	struct ss_tl_names *out;
};

static bool name_matches(struct names *s, struct ss_str name)
{
	enum ss_regex_found found;
	switch (s->q->how) {
	case SS_NAMES_EXACT:
		return ss_str_eq(name, s->q->text);
	case SS_NAMES_REGEX:
		found = ss_regex_search(s->regex, name, NULL, 0, NULL, NULL);
		s->stopped = s->stopped || found == SS_REGEX_STOPPED;
		return found == SS_REGEX_YES;
	default:
		return ss_str_icontains(name, s->q->text);
	}
}

/* ---- which name an event has ---- */

/* NULL when memory is out. */
static struct entry *entry_of(struct names *s, const struct ss_track *t, uint32_t pos)
{
	uint32_t *slot = ss_name_slot(&s->slots, t, pos);
	if (slot && *slot != SS_NONE)
		return &s->v.v[*slot];
	struct ss_str name = ss_track_event_name(t, pos);
	uint32_t k = ss_strmap_add(&s->by_name, name);
	if (k == SS_NONE)
		return NULL;
	if (k == s->v.n && !ss_vec_push(&s->v, (struct entry){ { .name = name }, name_matches(s, name), SS_NONE }))
		return NULL;
	if (s->stopped)
		return NULL;
	if (slot)
		*slot = k;
	return &s->v.v[k];
}

/* ---- walks ---- */

typedef bool event_fn(struct names *s, struct entry *e, uint64_t begin_ps, uint64_t dur_ps, uint32_t event);

static bool walk_track(struct names *s, size_t h, const struct ss_track *t, event_fn *fn)
{
	uint32_t from = ss_track_lower(t, ss_trace_own(s->mt, h, s->q->begin_ps));
	if (!ss_name_slots_use(&s->slots, t->plane))
		return false;
	for (uint32_t pos = from; pos < t->n; pos++) {
		uint64_t begin_ps = ss_trace_shown(s->mt, h, ss_track_begin_ps(t, pos));
		if (begin_ps > s->q->end_ps)
			break;
		if (t->level[pos] == SS_TRACE_HIDDEN)
			continue;
		struct entry *e = entry_of(s, t, pos);
		if (!e || (e->matches && !fn(s, e, begin_ps, ss_track_dur_ps(t, pos), s->mt->first_event[h] + t->first + pos)))
			return false;
	}
	return true;
}

static bool walk(struct names *s, event_fn *fn)
{
	for (size_t h = 0; h < s->mt->nhosts; h++)
		for (uint32_t i = 0; i < s->mt->hosts[h]->ntracks; i++) {
			const struct ss_track *t = &s->mt->hosts[h]->tracks[i];
			bool wanted = !s->wanted || s->wanted[s->mt->first_track[h] + i];
			if (wanted && t->kind != SS_TRACE_COUNTER && !walk_track(s, h, t, fn))
				return false;
		}
	return true;
}

static bool add_up(struct names *s, struct entry *e, uint64_t begin_ps, uint64_t dur_ps, uint32_t event)
{
	struct ss_tl_name *n = &e->sum;
	(void)begin_ps;
	if (!n->count || dur_ps > n->max_ps) {
		n->max_ps = dur_ps;
		n->event = event;
	}
	if (!n->count || dur_ps < n->min_ps)
		n->min_ps = dur_ps;
	n->count++;
	n->total_ps = ss_trace_end_ps(n->total_ps, dur_ps);
	s->out->count++;
	return true;
}

/* ---- how long, and when ---- */

static bool count_duration(struct durations *d, uint64_t dur_ps)
{
	unsigned octave = 0;
	while (dur_ps >> octave >= 2 * FINE)
		octave++;
	/* Octave 0 has what is below 1024, octave k what has FINE_BITS + k bits. */
	unsigned at = dur_ps < FINE ? 0 : octave + 1;
	uint32_t **counts = &d->octave[at];
	if (!*counts)
		*counts = calloc(FINE, sizeof(**counts));
	if (*counts)
		(*counts)[at ? (dur_ps >> octave) - FINE : dur_ps]++;
	return *counts;
}

/* The middle of what is counted together with the event of that rank, from 1. */
static uint64_t quantile_ps(const struct durations *d, uint64_t rank)
{
	for (unsigned at = 0; at < OCTAVES; at++)
		for (unsigned i = 0; d->octave[at] && i < FINE; i++) {
			uint64_t n = d->octave[at][i], wide = at ? UINT64_C(1) << (at - 1) : 1;
			if (rank <= n)
				return at ? (FINE + i) * wide + wide / 2 : i;
			rank -= n;
		}
	return 0;
}

static bool take(struct names *s, struct entry *e, uint64_t begin_ps, uint64_t dur_ps, uint32_t event)
{
	const struct ss_tl_names *out = s->out;
	(void)event;
	if (e->row == SS_NONE)
		return true;
	uint64_t wide_ps = (out->end_ps - out->begin_ps) / SS_TL_WHEN_BINS + 1;
	uint64_t bin = begin_ps > out->begin_ps ? (begin_ps - out->begin_ps) / wide_ps : 0;
	out->rows[e->row].when[bin < SS_TL_WHEN_BINS ? bin : SS_TL_WHEN_BINS - 1]++;
	return count_duration(&s->durations[e->row], dur_ps);
}

static uint64_t clamp_ps(uint64_t v, const struct ss_tl_name *n)
{
	return v < n->min_ps ? n->min_ps : v > n->max_ps ? n->max_ps : v;
}

/* ---- the list ---- */

static int by_total(const void *a, const void *b)
{
	const struct ss_tl_name *na = a, *nb = b;
	return SS_CMP(nb->total_ps, na->total_ps) ?: ss_str_cmp(na->name, nb->name);
}

static bool choose_rows(struct names *s, struct ss_arena *arena)
{
	struct ss_tl_names *out = s->out;
	out->rows = SS_NEW_N(arena, struct ss_tl_name, s->v.n + 1);
	if (!out->rows)
		return false;
	for (size_t i = 0; i < s->v.n; i++)
		if (s->v.v[i].sum.count)
			out->rows[out->nnames++] = s->v.v[i].sum;
	if (out->nnames)
		qsort(out->rows, out->nnames, sizeof(*out->rows), by_total);
	out->nrows = out->nnames < s->q->limit ? out->nnames : s->q->limit;
	s->durations = calloc(out->nrows + 1, sizeof(*s->durations));
	for (size_t i = 0; s->durations && i < out->nrows; i++) {
		out->rows[i].when = SS_NEW_N(arena, uint32_t, SS_TL_WHEN_BINS);
		if (!out->rows[i].when)
			return false;
		s->v.v[ss_strmap_get(&s->by_name, out->rows[i].name)].row = (uint32_t)i;
	}
	return s->durations;
}

static bool choose_tracks(struct names *s, struct ss_arena *arena)
{
	size_t n = s->mt->first_track[s->mt->nhosts];
	if (!s->q->tracks)
		return true;
	s->wanted = SS_NEW_N(arena, uint8_t, n + 1);
	for (size_t i = 0; s->wanted && i < s->q->ntracks; i++)
		if (s->q->tracks[i] < n)
			s->wanted[s->q->tracks[i]] = 1;
	return s->wanted;
}

static bool list(struct names *s, struct ss_arena *arena)
{
	struct ss_tl_names *out = s->out;
	out->begin_ps = s->q->begin_ps > s->mt->begin_ps ? s->q->begin_ps : s->mt->begin_ps;
	out->end_ps = s->q->end_ps < s->mt->end_ps ? s->q->end_ps : s->mt->end_ps;
	out->end_ps = out->end_ps > out->begin_ps ? out->end_ps : out->begin_ps;
	if (!choose_tracks(s, arena) || !walk(s, add_up) || !choose_rows(s, arena) || (out->nrows && !walk(s, take)))
		return false;
	for (size_t i = 0; i < out->nrows; i++) {
		struct ss_tl_name *n = &out->rows[i];
		n->p50_ps = clamp_ps(quantile_ps(&s->durations[i], (n->count + 1) / 2), n);
		n->p99_ps = clamp_ps(quantile_ps(&s->durations[i], n->count - n->count / 100), n);
	}
	return true;
}

static void release(struct names *s)
{
	for (size_t i = 0; s->durations && i < s->out->nrows; i++)
		for (unsigned k = 0; k < OCTAVES; k++)
			free(s->durations[i].octave[k]);
	free(s->durations);
	free(s->slots.v);
	ss_vec_free(&s->v);
	ss_strmap_free(&s->by_name);
	ss_regex_free(s->regex);
}

struct ss_tl_names *ss_timeline_names(struct ss_model *m, const struct ss_timeline_names_query *q, struct ss_arena *arena,
				      struct ss_err *err)
{
	struct names s = { .q = q };
	if (q->limit > 200) {
		ss_fail(err, SS_EINVAL, "the parameter 'limit' must be at most 200");
		return NULL;
	}
	if (q->how == SS_NAMES_REGEX && !(s.regex = ss_regex_new(q->text, err)))
		return NULL;
	s.mt = ss_model_trace(m, err);
	bool ok = s.mt && ((s.out = SS_NEW(arena, struct ss_tl_names)) || ss_fail_mem(err));
	if (ok && !list(&s, arena))
		ok = ss_fail_mem(err);
	release(&s);
	return ok ? s.out : NULL;
}
