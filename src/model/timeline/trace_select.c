/*
 * trace_select.c - the events to draw in a range at a resolution.
 *
 * Candidates first: from each track the events of the coarse levels in the range, found by walking
 * level bytes. An event of level i is shorter than the resolution of level i-1, so that only so
 * long before the range it need be looked for. Then the rule of visibility at the exact resolution:
 * track by track where nothing has a flow, in common time order where arrows tie tracks together.
 */
#include "model/timeline/trace_level.h"

#include "base/bisect.h"
#include "base/le.h"
#include "base/vec.h"
#include "model/preprocess/flows.h"

#include <stdlib.h>

#define ONES UINT64_C(0x0101010101010101)
#define AHEAD 16u

struct select {
	const struct ss_trace *tr;
	const struct ss_trace_range *range;
	struct ss_trace_hits *out;
	unsigned last_level;
	struct ss_vis_row row;		/* scratch of the track at hand */
	bool any_joined;		/* tracks that must be filtered together */
	uint8_t *joined;		/* per track */
};

/* Bit 8k+7 is set where byte k is at most `level`. */
static inline uint64_t at_most(const uint8_t *bytes, size_t left, unsigned level)
{
	uint64_t w;
	if (left >= 8) {
		memcpy(&w, bytes, 8);
	} else {
		w = ONES * SS_TRACE_HIDDEN;
		memcpy(&w, bytes, left);
	}
	w = ss_le64(w);
	return ~(w + ONES * (0x7f - level)) & ONES * 0x80;
}

static bool room(struct ss_trace_hits *h, size_t more)
{
	return h->n + more <= h->cap || ss_grow((void **)&h->pos, &h->cap, h->n + more, sizeof(*h->pos));
}

/* From a block's begin to that of one with such an event, eight blocks at a time; `to` at most. */
static uint32_t skip_blocks(const struct ss_track *t, uint32_t at, uint32_t to, unsigned level)
{
	const uint64_t step = 8 * SS_TRACE_BLOCK;
	while (at + step <= to) {
		uint64_t m = at_most(t->block + at / SS_TRACE_BLOCK, 8, level);
		if (m)
			return at + (uint32_t)__builtin_ctzll(m) / 8 * SS_TRACE_BLOCK;
		at += (uint32_t)step;
	}
	return at;
}

/* Append the positions in [from, to) whose level is at most `level`. */
static bool scan(struct ss_trace_hits *out, const struct ss_track *t, uint32_t from, uint32_t to, unsigned level)
{
	for (uint32_t at = from; at < to;) {
		uint32_t end = (at / SS_TRACE_BLOCK + 1) * SS_TRACE_BLOCK;
		end = end < to ? end : to;
		if (t->block[at / SS_TRACE_BLOCK] > level) {
			at = skip_blocks(t, end, to, level);
			continue;
		}
		if (!room(out, SS_TRACE_BLOCK))
			return false;
		for (; at < end; at += 8)
			for (uint64_t m = at_most(t->level + at, end - at, level); m; m &= m - 1)
				out->pos[out->n++] = at + (uint32_t)__builtin_ctzll(m) / 8;
		at = end;
	}
	return true;
}

/* As ss_track_lower, within [from, to). */
static uint32_t lower_in(const struct ss_track *t, uint32_t from, uint32_t to, uint64_t ps)
{
	SS_BISECT(from, to, mid, (int64_t)ss_track_begin_ps(t, mid) < (int64_t)ps);
	return from;
}

/* Events that begin before the range and reach into it. */
static bool scan_before(struct select *s, const struct ss_track *t, uint32_t to)
{
	uint64_t begin_ps = s->range->begin_ps;
	struct ss_trace_hits *out = s->out;
	size_t first = out->n, kept = out->n;
	uint32_t from = 0;
	for (unsigned level = 0; level <= s->last_level && from < to; level++) {
		/* Finer levels are shorter than this one's resolution. */
		uint64_t reach = ss_trace_res_ps(level);
		uint32_t end = to;
		if (level < s->last_level)
			end = reach < begin_ps ? lower_in(t, from, to, begin_ps - reach) : from;
		if (!scan(out, t, from, end, level))
			return false;
		from = end;
	}
	for (size_t i = first; i < out->n; i++)
		if (ss_trace_end_ps(ss_track_begin_ps(t, out->pos[i]), ss_track_dur_ps(t, out->pos[i])) >= begin_ps)
			out->pos[kept++] = out->pos[i];
	out->n = kept;
	return true;
}

/* Flow events between begin and end of a flow are noise on a TPU core unless asked for. */
static void drop_flow_mids(struct select *s, const struct ss_track *t, size_t first)
{
	struct ss_trace_hits *out = s->out;
	size_t kept = first;
	if (s->range->flow_mids || !t->nflows || !s->tr->sections[t->section].tensor_core)
		return;
	for (size_t i = first; i < out->n; i++) {
		const struct ss_track_flow *f = ss_track_flow(t, out->pos[i]);
		if (!f || f->dir != SS_FLOW_INOUT)
			out->pos[kept++] = out->pos[i];
	}
	out->n = kept;
}

/* As ss_vis_check without points and flows. */
static inline bool check_slice(struct ss_vis_row *r, uint64_t res_ps, uint64_t begin_ps, uint64_t dur_ps, bool *ok)
{
	if (ss_vis_settle(r, begin_ps) && dur_ps < res_ps && begin_ps - r->end[r->n - 1] < res_ps)
		return false;
	*ok = ss_vis_push(r, begin_ps, ss_trace_end_ps(begin_ps, dur_ps));
	return true;
}

static bool filter_slices(struct select *s, const struct ss_track *t, size_t first)
{
	struct ss_trace_hits *out = s->out;
	struct ss_vis_row row = { .end = s->row.end, .cap = s->row.cap };
	uint32_t *pos = out->pos + first, *kept = pos;
	bool ok = true;
	for (size_t n = out->n - first; ok && n; n--, pos++) {
		uint32_t event = ss_track_event(t, *pos);
		if (n > AHEAD)
			ss_display_prefetch(t->line, ss_track_event(t, pos[AHEAD]));
		struct ss_span_times at = ss_display_times(t->line, event);
		*kept = *pos;
		kept += check_slice(&row, s->range->res_ps, (uint64_t)at.begin_ps, at.dur_ps, &ok);
	}
	out->n = (size_t)(kept - out->pos);
	s->row = row;
	return ok;
}

/* The rule of visibility on a track of its own. */
static bool filter_alone(struct select *s, const struct ss_track *t, size_t first)
{
	struct ss_trace_hits *out = s->out;
	struct ss_vis v = { .res_ps = s->range->res_ps };
	size_t kept = first;
	bool ok = true;
	if (t->kind == SS_TRACE_SLICES)
		return filter_slices(s, t, first);
	s->row = (struct ss_vis_row){ .end = s->row.end, .cap = s->row.cap };
	for (size_t i = first; ok && i < out->n; i++) {
		uint32_t pos = out->pos[i];
		struct ss_vis_event e = { .begin_ps = ss_track_begin_ps(t, pos), .dur_ps = ss_track_dur_ps(t, pos), .point = true };
		if (ss_vis_check(&v, &s->row, &e, &ok))
			out->pos[kept++] = pos;
	}
	out->n = kept;
	return ok;
}

/*
 * Was nothing left out? Sure when all events in the range are among the hits, and none before it
 * could be of a finer level and reach into it. Where that would take long to find out, the answer
 * is no.
 */
static bool is_complete(const struct select *s, const struct ss_track *t, uint32_t from, uint32_t to, size_t nhits)
{
	uint32_t hidden = 0, steps = 0;
	if (to - from > nhits * 2 + 64)
		return false;
	for (uint32_t pos = from; pos < to; pos++)
		hidden += t->level[pos] == SS_TRACE_HIDDEN;
	if (nhits + hidden < to - from)
		return false;
	uint64_t reach = ss_trace_res_ps(s->last_level);
	for (uint32_t pos = from; s->last_level + 1 < SS_TRACE_LEVELS && pos-- > 0;) {
		if (ss_track_begin_ps(t, pos) + reach < s->range->begin_ps)
			return true;
		uint64_t end_ps = ss_trace_end_ps(ss_track_begin_ps(t, pos), ss_track_dur_ps(t, pos));
		bool finer = t->level[pos] > s->last_level && t->level[pos] != SS_TRACE_HIDDEN;
		if (++steps > 256 || (finer && end_ps > s->range->begin_ps))
			return false;
	}
	return true;
}

static bool has_flow_among(const struct ss_track *t, const uint32_t *pos, size_t n)
{
	uint32_t k = 0, hi = n ? t->nflows : 0;
	SS_BISECT(k, hi, mid, t->flows[mid].pos < pos[0]);
	return n && k < t->nflows && t->flows[k].pos <= pos[n - 1];
}

static bool select_track(struct select *s, uint32_t track)
{
	const struct ss_track *t = &s->tr->tracks[track];
	struct ss_trace_hits *out = s->out;
	struct ss_track_hits *th = &out->tracks[track];
	*th = (struct ss_track_hits){ .first = out->n };
	if (s->range->tracks && !s->range->tracks[track])
		return true;
	uint32_t to = s->range->end_ps >= (uint64_t)INT64_MAX ? t->n : ss_track_lower(t, s->range->end_ps + 1);
	uint32_t from = lower_in(t, 0, to, s->range->begin_ps);
	if (!scan_before(s, t, from))
		return false;
	size_t inside = out->n;
	if (!scan(out, t, from, to, s->last_level))
		return false;
	inside = out->n - inside;
	drop_flow_mids(s, t, th->first);
	size_t candidates = out->n - th->first;
	if (candidates == 0) { /* and perhaps no list at all to point into */
		th->complete = is_complete(s, t, from, to, inside);
		return true;
	}
	if (s->range->res_ps && has_flow_among(t, out->pos + th->first, candidates))
		s->joined[track] = s->any_joined = true;
	else if (s->range->res_ps && !filter_alone(s, t, th->first))
		return false;
	th->n = (uint32_t)(out->n - th->first);
	th->complete = th->n == candidates && is_complete(s, t, from, to, inside);
	return true;
}

static uint32_t hit_pos(const void *lists, const struct ss_trace *tr, uint32_t track, uint32_t at)
{
	const struct ss_trace_hits *h = lists;
	(void)tr;
	return h->pos[h->tracks[track].first + at];
}

static bool filter_merged(struct select *s, struct ss_trace_merge *m, struct ss_vis *v, struct ss_vis_row *rows)
{
	struct ss_merge_head h;
	bool ok = true;
	while (ok && ss_merge_next(m, &h)) {
		const struct ss_track *t = &s->tr->tracks[h.track];
		uint32_t *pos = &s->out->pos[s->out->tracks[h.track].first + h.at];
		struct ss_vis_event e = { h.begin_ps, h.dur_ps, ss_track_flow(t, *pos), t->kind != SS_TRACE_SLICES };
		if (!ss_vis_check(v, &rows[h.track], &e, &ok))
			*pos = SS_NONE;
	}
	return ok;
}

/* Tracks with flows: in common time order through one picture. Positions not shown become SS_NONE. */
static bool filter_joined(struct select *s)
{
	const struct ss_trace *tr = s->tr;
	struct ss_vis v = { s->range->res_ps, calloc((size_t)tr->nflows + 1, 1) };
	struct ss_vis_row *rows = calloc((size_t)tr->ntracks + 1, sizeof(*rows));
	struct ss_trace_merge m;
	bool ok = v.flows && rows && ss_merge_init(&m, tr, hit_pos, s->out);
	if (ok) {
		for (uint32_t i = 0; i < tr->ntracks; i++)
			if (s->joined[i])
				ss_merge_add(&m, i, 0, s->out->tracks[i].n);
		ok = filter_merged(s, &m, &v, rows);
		ss_merge_free(&m);
	}
	for (uint32_t i = 0; rows && i < tr->ntracks; i++)
		ss_vis_row_free(&rows[i]);
	free(rows);
	free(v.flows);
	return ok;
}

static void compact(struct select *s)
{
	struct ss_trace_hits *out = s->out;
	size_t kept = 0;
	for (uint32_t i = 0; i < s->tr->ntracks; i++) {
		struct ss_track_hits *th = &out->tracks[i];
		size_t begin = kept;
		for (size_t k = th->first; k < th->first + th->n; k++)
			if (out->pos[k] != SS_NONE)
				out->pos[kept++] = out->pos[k];
		th->complete &= kept - begin == th->n;
		th->first = begin;
		th->n = (uint32_t)(kept - begin);
	}
	out->n = kept;
}

bool ss_trace_select(const struct ss_trace *tr, const struct ss_trace_range *range, struct ss_trace_hits *out,
		     struct ss_err *err)
{
	*out = (struct ss_trace_hits){ 0 };
	struct select s = { .tr = tr, .range = range, .out = out };
	while (s.last_level + 1 < SS_TRACE_LEVELS && range->res_ps < ss_trace_res_ps(s.last_level))
		s.last_level++;
	out->tracks = calloc((size_t)tr->ntracks + 1, sizeof(*out->tracks));
	s.joined = calloc((size_t)tr->ntracks + 1, 1);
	bool ok = out->tracks && s.joined;
	for (uint32_t i = 0; ok && i < tr->ntracks; i++)
		ok = select_track(&s, i);
	if (ok && s.any_joined) {
		ok = filter_joined(&s);
		if (ok)
			compact(&s);
	}
	ss_vis_row_free(&s.row);
	free(s.joined);
	if (ok)
		return true;
	ss_trace_hits_free(out);
	return ss_fail_mem(err);
}
