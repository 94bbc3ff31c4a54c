/*
 * timeline_sums.c - what a stretch of time was spent on: sums by name.
 *
 * Of an event that overlaps the stretch the time inside of the stretch counts; the shortest and the
 * longest are of whole durations. Self time is that time without that of events directly inside;
 * the begin of an event may lie far outside the stretch, so a second, longer stretch is walked that
 * covers every counted event.
 */
#include "tools/timeline.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "tools/name_slots.h"

#include <stdlib.h>

struct sums {
	const struct ss_model_trace *mt;
	const struct ss_timeline_sums *q;
	const struct ss_timeline_rows *rows; /* the query's, by track */
	struct ss_strmap names;
	SS_VEC(struct ss_tl_sum) v;	/* by number of the name */
	struct ss_name_slots slots;	/* numbers of sums */
	struct ss_tl_summary *out;
};

/* Which rows of a track count: those between first and last of the query's entries. 256 bits. */
struct row_set {
	uint64_t bits[4];
	bool any;
};

static int by_track(const void *a, const void *b)
{
	const struct ss_timeline_rows *ra = a, *rb = b;
	return SS_CMP(ra->track, rb->track);
}

/* A copy of the query's rows by track. */
static bool sort_rows(struct sums *s, struct ss_arena *arena)
{
	struct ss_timeline_rows *v = SS_NEW_N(arena, struct ss_timeline_rows, s->q->nrows + 1);
	if (!v)
		return false;
	if (s->q->nrows) {
		memcpy(v, s->q->rows, s->q->nrows * sizeof(*v));
		qsort(v, s->q->nrows, sizeof(*v), by_track);
	}
	s->rows = v;
	return true;
}

static size_t first_row_of(const struct sums *s, uint32_t track)
{
	size_t lo = 0, hi = s->q->nrows;
	SS_BISECT(lo, hi, mid, s->rows[mid].track < track);
	return lo;
}

static struct row_set rows_of(const struct sums *s, uint32_t track)
{
	struct row_set set = { .any = !s->q->rows };
	memset(set.bits, set.any ? 0xff : 0, sizeof(set.bits));
	if (set.any)
		return set;
	for (size_t i = first_row_of(s, track); i < s->q->nrows && s->rows[i].track == track; i++)
		for (uint32_t k = s->rows[i].first; k <= s->rows[i].last && k < 256; k++) {
			set.bits[k / 64] |= UINT64_C(1) << (k % 64);
			set.any = true;
		}
	return set;
}

static bool has_row(const struct row_set *set, unsigned row)
{
	return set->bits[row / 64] >> (row % 64) & 1;
}

/* Number of the sum that an event belongs to; SS_NONE when memory is out. */
static uint32_t sum_of(struct sums *s, const struct ss_track *t, uint32_t pos)
{
	uint32_t *slot = ss_name_slot(&s->slots, t, pos);
	if (slot && *slot != SS_NONE)
		return *slot;
	struct ss_str name = ss_track_event_name(t, pos);
	uint32_t k = ss_strmap_add(&s->names, name);
	if (k == SS_NONE || (k == s->v.n && !ss_vec_push(&s->v, (struct ss_tl_sum){ .name = name })))
		return SS_NONE;
	if (slot)
		*slot = k;
	return k;
}

/* What of an event lies inside a stretch. */
static uint64_t inside_ps(const struct ss_trace_range *r, uint64_t begin_ps, uint64_t end_ps)
{
	uint64_t from = begin_ps > r->begin_ps ? begin_ps : r->begin_ps, to = end_ps < r->end_ps ? end_ps : r->end_ps;
	return to > from ? to - from : 0;
}

static void count_event(struct sums *s, struct ss_tl_sum *sum, uint64_t dur_ps, uint64_t part_ps, uint32_t event)
{
	if (sum->count == 0 || dur_ps > sum->max_ps) {
		sum->max_ps = dur_ps;
		sum->event = event;
	}
	if (sum->count == 0 || dur_ps < sum->min_ps)
		sum->min_ps = dur_ps;
	sum->count++;
	sum->total_ps += part_ps;
	sum->self_ps += part_ps;
	s->out->count++;
	s->out->total_ps += part_ps;
	s->out->self_ps += part_ps;
}

/* The last event seen on each row: who is inside whom. */
struct open_event {
	uint64_t end_ps, left_ps;	/* left: of its self time, so that damage cannot make it negative */
	uint32_t sum;			/* SS_NONE: not counted */
};

static void take_from_outer(struct sums *s, struct open_event *outer, uint64_t begin_ps, uint64_t part_ps)
{
	if (outer->sum == SS_NONE || begin_ps >= outer->end_ps)
		return;
	uint64_t part = part_ps < outer->left_ps ? part_ps : outer->left_ps;
	outer->left_ps -= part;
	s->v.v[outer->sum].self_ps -= part;
	s->out->self_ps -= part;
}

/* Walk a track's events in the wide range, counting those of the narrow one. */
static bool sum_track(struct sums *s, size_t h, const struct ss_track *t, const uint32_t *pos, size_t n,
		      const struct ss_trace_range *narrow, const struct row_set *rows)
{
	struct open_event open[256];
	for (size_t i = 0; i < SS_COUNT(open); i++)
		open[i] = (struct open_event){ .sum = SS_NONE };
	if (!ss_name_slots_use(&s->slots, t->plane))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t begin_ps = ss_track_begin_ps(t, pos[i]), dur_ps = ss_track_dur_ps(t, pos[i]);
		uint64_t end_ps = ss_trace_end_ps(begin_ps, dur_ps), part_ps = inside_ps(narrow, begin_ps, end_ps);
		unsigned row = ss_track_row(t, pos[i]);
		if (row)
			take_from_outer(s, &open[row - 1], begin_ps, part_ps);
		open[row] = (struct open_event){ end_ps, part_ps, SS_NONE };
		if (!has_row(rows, row) || begin_ps > narrow->end_ps || end_ps < narrow->begin_ps)
			continue;
		uint32_t k = sum_of(s, t, pos[i]);
		if (k == SS_NONE)
			return false;
		open[row].sum = k;
		count_event(s, &s->v.v[k], dur_ps, part_ps, s->mt->first_event[h] + t->first + pos[i]);
	}
	return true;
}

/* From the first begin to the last end of what is counted. */
static void widen(const struct ss_trace *tr, const struct ss_trace_hits *hits, struct ss_trace_range *range)
{
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		const struct ss_track_hits *th = &hits->tracks[i];
		for (size_t k = th->first; k < th->first + th->n; k++) {
			uint64_t begin_ps = ss_track_begin_ps(t, hits->pos[k]);
			uint64_t end_ps = ss_trace_end_ps(begin_ps, ss_track_dur_ps(t, hits->pos[k]));
			range->begin_ps = begin_ps < range->begin_ps ? begin_ps : range->begin_ps;
			range->end_ps = end_ps > range->end_ps ? end_ps : range->end_ps;
		}
	}
}

static bool sum_tracks(struct sums *s, size_t h, const struct ss_trace_hits *hits, const struct ss_trace_range *narrow)
{
	const struct ss_trace *tr = s->mt->hosts[h];
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track_hits *th = &hits->tracks[i];
		struct row_set rows = rows_of(s, s->mt->first_track[h] + i);
		if (th->n && !sum_track(s, h, &tr->tracks[i], hits->pos + th->first, th->n, narrow, &rows))
			return false;
	}
	return true;
}

static bool sum_host(struct sums *s, size_t h, struct ss_err *err)
{
	const struct ss_trace *tr = s->mt->hosts[h];
	uint8_t *wanted = calloc((size_t)tr->ntracks + 1, 1);
	if (!wanted)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < tr->ntracks; i++)
		wanted[i] = tr->tracks[i].kind == SS_TRACE_SLICES && rows_of(s, s->mt->first_track[h] + i).any;
	struct ss_trace_range narrow = {
		.begin_ps = ss_trace_own(s->mt, h, s->q->begin_ps), .end_ps = ss_trace_own(s->mt, h, s->q->end_ps),
		.flow_mids = true, .tracks = wanted,
	}, wide = narrow;
	struct ss_trace_hits hits;
	bool ok = ss_trace_select(tr, &narrow, &hits, err);
	if (ok) {
		widen(tr, &hits, &wide);
		ss_trace_hits_free(&hits);
		ok = ss_trace_select(tr, &wide, &hits, err);
	}
	if (ok) {
		ok = sum_tracks(s, h, &hits, &narrow) || ss_fail_mem(err);
		ss_trace_hits_free(&hits);
	}
	free(wanted);
	return ok;
}

static int by_total(const void *a, const void *b)
{
	const struct ss_tl_sum *sa = a, *sb = b;
	return SS_CMP(sb->total_ps, sa->total_ps) ?: ss_str_cmp(sa->name, sb->name);
}

static bool finish(struct sums *s, struct ss_arena *arena)
{
	struct ss_tl_summary *out = s->out;
	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), by_total);
	out->nnames = s->v.n;
	out->nrows = s->v.n < s->q->limit ? s->v.n : s->q->limit;
	out->rows = SS_NEW_N(arena, struct ss_tl_sum, out->nrows + 1);
	if (out->rows && out->nrows)
		memcpy(out->rows, s->v.v, out->nrows * sizeof(*out->rows));
	return out->rows;
}

struct ss_tl_summary *ss_timeline_summary(struct ss_model *m, const struct ss_timeline_sums *q, struct ss_arena *arena,
					  struct ss_err *err)
{
	struct sums s = { .q = q, .mt = ss_model_trace(m, err), .out = SS_NEW(arena, struct ss_tl_summary) };
	bool ok = s.mt && s.out && sort_rows(&s, arena);
	if (s.mt && !ok)
		ss_fail_mem(err);
	for (size_t h = 0; ok && h < s.mt->nhosts; h++)
		if (!ss_trace_is_before(s.mt, h, q->end_ps))
			ok = sum_host(&s, h, err);
	if (ok && !finish(&s, arena))
		ok = ss_fail_mem(err);
	ss_strmap_free(&s.names);
	free(s.slots.v);
	ss_vec_free(&s.v);
	return ok ? s.out : NULL;
}
