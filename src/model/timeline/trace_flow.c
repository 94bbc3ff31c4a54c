/*
 * trace_flow.c - events of several tracks in time order, and the levels at which whole flows are
 * visible.
 */
#include "model/timeline/trace_level.h"

#include <stdlib.h>

/* Is the event of head a before that of head b? */
static bool before(const struct ss_trace *tr, const struct ss_merge_head *a, const struct ss_merge_head *b)
{
	if (a->begin_ps != b->begin_ps)
		return a->begin_ps < b->begin_ps;
	if (a->dur_ps != b->dur_ps)
		return a->dur_ps > b->dur_ps;
	const struct ss_track *ta = &tr->tracks[a->track], *tb = &tr->tracks[b->track];
	uint32_t da = tr->sections[ta->section].device, db = tr->sections[tb->section].device;
	if (da != db)
		return da < db;
	bool pa = ta->kind != SS_TRACE_SLICES, pb = tb->kind != SS_TRACE_SLICES;
	if (pa != pb)
		return pb;
	/* Tracks of a device are ordered by thread id already. */
	return a->track < b->track;
}

static void sift_down(struct ss_trace_merge *m, size_t i)
{
	struct ss_merge_head h = m->heap[i];
	for (;;) {
		size_t kid = i * 2 + 1;
		if (kid >= m->n)
			break;
		if (kid + 1 < m->n && before(m->tr, &m->heap[kid + 1], &m->heap[kid]))
			kid++;
		if (!before(m->tr, &m->heap[kid], &h))
			break;
		m->heap[i] = m->heap[kid];
		i = kid;
	}
	m->heap[i] = h;
}

static void load_head(const struct ss_trace_merge *m, struct ss_merge_head *h)
{
	const struct ss_track *t = &m->tr->tracks[h->track];
	uint32_t pos = m->pos(m->lists, m->tr, h->track, h->at);
	h->begin_ps = ss_track_begin_ps(t, pos);
	h->dur_ps = ss_track_dur_ps(t, pos);
}

bool ss_merge_init(struct ss_trace_merge *m, const struct ss_trace *tr,
		   uint32_t (*pos)(const void *, const struct ss_trace *, uint32_t, uint32_t), const void *lists)
{
	*m = (struct ss_trace_merge){ .tr = tr, .pos = pos, .lists = lists };
	m->heap = malloc(((size_t)tr->ntracks + 1) * sizeof(*m->heap));
	return m->heap;
}

void ss_merge_add(struct ss_trace_merge *m, uint32_t track, uint32_t first, uint32_t end)
{
	if (first >= end)
		return;
	struct ss_merge_head h = { .track = track, .at = first, .end = end };
	load_head(m, &h);
	size_t i = m->n++;
	while (i && before(m->tr, &h, &m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = h;
}

bool ss_merge_next(struct ss_trace_merge *m, struct ss_merge_head *out)
{
	if (m->n == 0)
		return false;
	struct ss_merge_head *h = &m->heap[0];
	*out = *h;
	if (++h->at < h->end)
		load_head(m, h);
	else
		*h = m->heap[--m->n];
	sift_down(m, 0);
	return true;
}

void ss_merge_free(struct ss_trace_merge *m)
{
	free(m->heap);
	*m = (struct ss_trace_merge){ 0 };
}

/* The pass of ss_trace_flow_levels: one picture per level, rows of it by (level, track). */
struct flow_pass {
	const struct ss_trace *tr;
	struct ss_vis vis[SS_TRACE_LEVELS - 1];
	struct ss_vis_row *rows;
	uint16_t *seen, *shown;	/* per flow, bits by level: decided, and how */
};

static struct ss_vis_row *row_of(struct flow_pass *p, unsigned level, uint32_t track)
{
	return &p->rows[(size_t)level * p->tr->ntracks + track];
}

/* The first decision about a flow at a level stands. */
static void decide(struct flow_pass *p, uint32_t flow, unsigned level, bool visible)
{
	uint16_t bit = (uint16_t)(1u << level);
	if (p->seen[flow] & bit)
		return;
	p->seen[flow] |= bit;
	if (visible)
		p->shown[flow] |= bit;
}

static bool pass_event(struct flow_pass *p, const struct ss_merge_head *h)
{
	const struct ss_track *t = &p->tr->tracks[h->track];
	const struct ss_track_flow *flow = &t->flows[h->at];
	struct ss_vis_event e = { h->begin_ps, h->dur_ps, flow, t->kind != SS_TRACE_SLICES };
	unsigned level = 0;
	bool ok = true;
	for (bool visible = false; level < SS_TRACE_LEVELS - 1 && !visible; level++) {
		visible = ss_vis_check(&p->vis[level], row_of(p, level, h->track), &e, &ok);
		decide(p, flow->flow, level, visible);
	}
	for (; ok && level < SS_TRACE_LEVELS - 1; level++) {
		ok = ss_vis_set(&p->vis[level], row_of(p, level, h->track), &e);
		decide(p, flow->flow, level, true);
	}
	return ok;
}

static uint32_t flow_pos(const void *lists, const struct ss_trace *tr, uint32_t track, uint32_t at)
{
	(void)lists;
	return tr->tracks[track].flows[at].pos;
}

static bool run_pass(struct flow_pass *p)
{
	struct ss_trace_merge m;
	struct ss_merge_head h;
	if (!ss_merge_init(&m, p->tr, flow_pos, NULL))
		return false;
	for (uint32_t i = 0; i < p->tr->ntracks; i++)
		ss_merge_add(&m, i, 0, p->tr->tracks[i].nflows);
	bool ok = true;
	while (ok && ss_merge_next(&m, &h))
		ok = pass_event(p, &h);
	ss_merge_free(&m);
	return ok;
}

bool ss_trace_flow_levels(const struct ss_trace *tr, uint16_t **out, struct ss_err *err)
{
	const size_t levels = SS_TRACE_LEVELS - 1, nflows = tr->nflows;
	*out = NULL;
	if (nflows == 0)
		return true;
	struct flow_pass p = { .tr = tr };
	uint8_t *states = calloc(levels, nflows);
	p.rows = calloc(levels * tr->ntracks, sizeof(*p.rows));
	p.seen = calloc(nflows, sizeof(*p.seen));
	p.shown = calloc(nflows, sizeof(*p.shown));
	bool ok = states && p.rows && p.seen && p.shown;
	for (unsigned i = 0; ok && i < levels; i++)
		p.vis[i] = (struct ss_vis){ ss_trace_res_ps(i), states + i * nflows };
	ok = ok && run_pass(&p);
	for (size_t i = 0; p.rows && i < levels * tr->ntracks; i++)
		ss_vis_row_free(&p.rows[i]);
	free(p.rows);
	free(states);
	free(p.seen);
	if (!ok) {
		free(p.shown);
		return ss_fail_mem(err);
	}
	*out = p.shown;
	return true;
}
