/* timeline.c - the answers behind our page's timeline: layout, slices of a window, one event. */
#include "tools/timeline.h"

#include "model/host/host.h"
#include "model/model.h"
#include "model/preprocess/flows.h"
#include "tools/timeline_build.h"

#include <stdlib.h>

/* ---- layout ---- */

/* When the session began: the plane "Task Environment" of the first host says so. */
int64_t ss_timeline_start_unix_ns(const struct ss_model *m)
{
	struct ss_xstat s;
	if (m->nhosts == 0)
		return 0;
	const struct ss_plane *p = ss_host_plane(m->hosts[0], SS_PLANE_TASK_ENV);
	if (p && ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_PROFILE_START_TIME, &s))
		return ss_xstat_int_or_uint(&s);
	/* Lines with absolute times tell it themselves. */
	return m->hosts[0]->x.origin_ns;
}

static bool number_of(const struct ss_xstat *s, double *out)
{
	switch (s->kind) {
	case SS_X_DOUBLE:
		*out = ss_xstat_double(s);
		return *out == *out;
	case SS_X_INT:
		*out = (double)(int64_t)s->u;
		return true;
	case SS_X_UINT:
		*out = (double)s->u;
		return true;
	default:
		return false;
	}
}

static void counter_range(const struct ss_track *t, struct ss_tl_track *out)
{
	struct ss_str name;
	struct ss_xstat value;
	bool any = false;
	double v;
	for (uint32_t pos = 0; pos < t->n; pos++) {
		if (t->level[pos] == SS_TRACE_HIDDEN || !ss_track_value(t, pos, &name, &value) ||
		    !number_of(&value, &v))
			continue;
		out->min = any && out->min < v ? out->min : v;
		out->max = any && out->max > v ? out->max : v;
		any = true;
	}
}

struct ss_timeline *ss_timeline_layout(struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_timeline_build b;
	bool ok = ss_timeline_begin(&b, m, 0, arena, err) && ss_timeline_reserve(&b, 0, err);
	if (!ss_timeline_end(&b) && ok)
		ok = ss_fail_mem(err);
	if (!ok)
		return NULL;
	for (size_t h = 0; h < b.mt->nhosts; h++)
		for (uint32_t i = 0; i < b.mt->hosts[h]->ntracks; i++)
			if (b.mt->hosts[h]->tracks[i].kind == SS_TRACE_COUNTER)
				counter_range(&b.mt->hosts[h]->tracks[i], &b.tl->tracks[b.mt->first_track[h] + i]);
	b.tl->from_ps = b.tl->begin_ps;
	b.tl->to_ps = b.tl->end_ps;
	b.tl->start_unix_ns = ss_timeline_start_unix_ns(m);
	return !m->aligned || ss_timeline_tell_clocks(b.tl, m, arena, err) ? b.tl : NULL;
}

/* ---- slices of a window ---- */

/* One byte a track of the model: wanted. */
static uint8_t *wanted_tracks(const struct ss_timeline_build *b, const struct ss_timeline_request *q)
{
	size_t n = b->tl->ntracks;
	uint8_t *wanted = SS_NEW_N(b->arena, uint8_t, n + 1);
	if (!wanted)
		return NULL;
	for (size_t i = 0; i < q->ntracks; i++)
		if (q->tracks[i] < n)
			wanted[q->tracks[i]] = 1;
	if (!q->tracks)
		memset(wanted, 1, n);
	for (size_t i = 0; i < n; i++)
		b->tl->tracks[i].wanted = wanted[i];
	return wanted;
}

/* The query in a host's own time; false when the range ends before the host's time begins. */
static bool host_range(const struct ss_timeline_build *b, size_t h, const struct ss_timeline_request *q,
		       const uint8_t *wanted, struct ss_trace_range *out)
{
	uint64_t width_ps = q->end_ps - q->begin_ps;
	*out = (struct ss_trace_range){
		.begin_ps = ss_trace_own(b->mt, h, q->begin_ps), .end_ps = ss_trace_own(b->mt, h, q->end_ps),
		.res_ps = q->width_px ? width_ps / q->width_px : 0,
		.flow_mids = true, .tracks = wanted + b->mt->first_track[h],
	};
	return !ss_trace_is_before(b->mt, h, q->end_ps);
}

static bool select_hosts(struct ss_timeline_build *b, const struct ss_timeline_request *q, struct ss_trace_hits *hits,
			 struct ss_err *err)
{
	const uint8_t *wanted = wanted_tracks(b, q);
	size_t total = 0;
	if (!wanted)
		return ss_fail_mem(err);
	for (size_t h = 0; h < b->mt->nhosts; h++) {
		struct ss_trace_range r;
		if (!host_range(b, h, q, wanted, &r))
			continue;
		if (!ss_trace_select(b->mt->hosts[h], &r, &hits[h], err))
			return false;
		total += hits[h].n;
	}
	return ss_timeline_reserve(b, total, err);
}

static bool add_hosts(struct ss_timeline_build *b, const struct ss_trace_hits *hits, struct ss_err *err)
{
	for (size_t h = 0; h < b->mt->nhosts; h++)
		for (uint32_t i = 0; hits[h].tracks && i < b->mt->hosts[h]->ntracks; i++) {
			const struct ss_track_hits *th = &hits[h].tracks[i];
			/* A host without any hit has no list to point into. */
			const uint32_t *pos = hits[h].pos ? hits[h].pos + th->first : NULL;
			if (!ss_timeline_add(b, h, i, pos, th->n, err))
				return false;
			b->tl->tracks[b->mt->first_track[h] + i].complete = th->complete;
		}
	return true;
}

/* ---- arrows ---- */

struct flow_end {
	uint64_t begin_ps;
	uint32_t id, slice;
	uint8_t dir;
};

static int by_flow(const void *a, const void *b)
{
	const struct flow_end *fa = a, *fb = b;
	return SS_CMP(fa->id, fb->id) ?: SS_CMP(fa->begin_ps, fb->begin_ps) ?: SS_CMP(fa->slice, fb->slice);
}

/*
 * Within a flow, each end is tied to the last begin before it, or to the first one when clocks
 * disagree.
 */
static void tie(struct ss_timeline *tl, const struct flow_end *v, size_t n)
{
	const struct flow_end *out = NULL;
	for (size_t i = 0; i < n && !out; i++)
		out = v[i].dir & SS_TL_FLOW_OUT ? &v[i] : NULL;
	for (size_t i = 0; out && i < n; i++) {
		if ((v[i].dir & SS_TL_FLOW_IN) && out != &v[i])
			tl->arrows[tl->narrows++] = (struct ss_tl_arrow){ v[i].id, out->slice, v[i].slice };
		if (v[i].dir & SS_TL_FLOW_OUT)
			out = &v[i];
	}
}

static bool find_arrows(struct ss_timeline *tl, struct ss_arena *arena)
{
	struct flow_end *v = malloc((tl->nflows + 1) * sizeof(*v));
	tl->arrows = SS_NEW_N(arena, struct ss_tl_arrow, tl->nflows + 1);
	size_t n = 0;
	for (size_t i = 0; v && i < tl->nslices; i++) {
		const struct ss_tl_slice *s = &tl->slices[i];
		if (s->flow != SS_NONE)
			v[n++] = (struct flow_end){ s->begin_ps, tl->flows[s->flow].id, (uint32_t)i,
						    tl->flows[s->flow].dir };
	}
	bool ok = v && tl->arrows;
	if (ok && n)
		qsort(v, n, sizeof(*v), by_flow);
	for (size_t i = 0, end; ok && i < n; i = end) {
		for (end = i + 1; end < n && v[end].id == v[i].id; end++)
			;
		tie(tl, v + i, end - i);
	}
	free(v);
	return ok;
}

static bool add_arrows(struct ss_timeline_build *b, enum ss_timeline_arrows arrows, struct ss_err *err)
{
	if (arrows == SS_ARROWS_PATH)
		return ss_timeline_draw_path(b->tl, b->m, b->mt, b->arena, err);
	struct ss_err why = { 0 };
	if (arrows != SS_ARROWS_FLOWS)
		return true;
	if (!find_arrows(b->tl, b->arena))
		return ss_fail_mem(err);
	/* Hosts that cannot be joined still have flows of their own; the tool collectives says why they cannot. */
	return b->mt->nhosts < 2 || ss_timeline_join_hosts(b->tl, b->m, b->mt, b->arena, &why) || why.code != SS_ENOMEM ||
	       ss_fail_mem(err);
}

/*
 * A tick is at most an eighth of a pixel, so that rounding to it is not seen, and so long that
 * three widths of the window fit 32 bits.
 */
static uint64_t tick_of(const struct ss_timeline_request *q)
{
	uint64_t width_ps = q->end_ps - q->begin_ps, px = q->width_px ? q->width_px : UINT64_C(1) << 26;
	uint64_t tick_ps = width_ps / px / 8;
	return tick_ps ? tick_ps : 1;
}

struct ss_timeline *ss_timeline_slices(struct ss_model *m, const struct ss_timeline_request *q, struct ss_arena *arena,
				       struct ss_err *err)
{
	if (q->begin_ps > q->end_ps || q->end_ps > (uint64_t)INT64_MAX / 4 || q->width_px > 1u << 20) {
		ss_fail(err, SS_EINVAL, "begin_ps, end_ps and width_px do not make a window");
		return NULL;
	}
	struct ss_timeline_build b;
	struct ss_trace_hits *hits = calloc(m->nhosts + 1, sizeof(*hits));
	if (!hits) {
		ss_fail_mem(err);
		return NULL;
	}
	const unsigned fill = SS_TL_EACH_NAME_ONCE | (q->arrows == SS_ARROWS_FLOWS ? SS_TL_FLOWS : 0);
	bool ok = ss_timeline_begin(&b, m, fill, arena, err) && select_hosts(&b, q, hits, err) &&
		  add_hosts(&b, hits, err);
	for (size_t h = 0; h < m->nhosts; h++)
		ss_trace_hits_free(&hits[h]);
	free(hits);
	if (!ss_timeline_end(&b) && ok)
		ok = ss_fail_mem(err);
	if (!ok)
		return NULL;
	b.tl->from_ps = q->begin_ps;
	b.tl->to_ps = q->end_ps;
	b.tl->tick_ps = tick_of(q);
	return add_arrows(&b, q->arrows, err) ? b.tl : NULL;
}

/* ---- one event ---- */

/* Duration without that of the events directly inside. */
static uint64_t self_ps(const struct ss_track *t, uint32_t pos)
{
	uint64_t dur_ps = ss_track_dur_ps(t, pos), left = dur_ps;
	uint64_t end_ps = ss_trace_end_ps(ss_track_begin_ps(t, pos), dur_ps);
	unsigned inside = ss_track_row(t, pos) + 1u;
	for (uint32_t i = pos + 1; i < t->n && ss_track_begin_ps(t, i) < end_ps; i++)
		if (ss_track_row(t, i) == inside && t->level[i] != SS_TRACE_HIDDEN) {
			uint64_t own = ss_track_dur_ps(t, i);
			left -= own < left ? own : left;
		}
	return left;
}

/* The other events of its flow, at most this many. */
#define LINKED_EVENTS 100u

static bool add_linked(struct ss_timeline_build *b, size_t h, const struct ss_track_flow *own, uint32_t track,
		     uint32_t pos, struct ss_err *err)
{
	const struct ss_trace *tr = b->mt->hosts[h];
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		for (uint32_t k = 0; k < t->nflows && b->tl->nslices <= LINKED_EVENTS; k++) {
			if (t->flows[k].flow != own->flow || (i == track && t->flows[k].pos == pos))
				continue;
			/* Two begins, or two ends, of a flow are not tied to each other. */
			if ((t->flows[k].dir | own->dir) == SS_FLOW_INOUT &&
			    !ss_timeline_add(b, h, i, &t->flows[k].pos, 1, err))
				return false;
		}
	}
	return true;
}

static bool add_event(struct ss_timeline_build *b, uint64_t event, struct ss_err *err)
{
	size_t h = 0;
	while (h < b->mt->nhosts && event >= b->mt->first_event[h + 1])
		h++;
	if (h == b->mt->nhosts)
		return ss_fail(err, SS_ENOTFOUND, "there is no event %llu; this selection has %u",
			       (unsigned long long)event, b->mt->first_event[h]);
	const struct ss_trace *tr = b->mt->hosts[h];
	uint64_t own = event - b->mt->first_event[h];
	uint32_t track = ss_trace_track_of(tr, own);
	const struct ss_track *t = &tr->tracks[track];
	uint32_t pos = (uint32_t)own - t->first;
	if (!ss_timeline_reserve(b, LINKED_EVENTS + 1, err) || !ss_timeline_add(b, h, track, &pos, 1, err))
		return false;
	b->tl->self_ps = self_ps(t, pos);
	b->fill &= ~(unsigned)SS_TL_ARGS;
	const struct ss_track_flow *f = ss_track_flow(t, pos);
	return !f || add_linked(b, h, f, track, pos, err);
}

struct ss_timeline *ss_timeline_event(struct ss_model *m, uint64_t event, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_timeline_build b;
	bool ok = ss_timeline_begin(&b, m, SS_TL_ARGS | SS_TL_FLOWS | SS_TL_GROUPS, arena, err) && add_event(&b, event, err);
	if (!ss_timeline_end(&b) && ok)
		ok = ss_fail_mem(err);
	return ok ? b.tl : NULL;
}
