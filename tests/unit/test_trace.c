/*
 * test_trace.c - levels of detail and what is selected by them, held against the definition
 * (docs/tools/trace_viewer.md) written down as plainly as it can be: full stacks, a search from the
 * bottom, every level on its own.
 */
#include "unit/unit.h"

#include "base/arena.h"
#include "model/preprocess/flows.h"
#include "model/timeline/trace_level.h"

#include <stdio.h>

enum { MAX_EVENTS = 4000, TRACKS = 3, LEVELS = 12 };

/* ---- the definition ---- */

struct plain_row {
	uint64_t end[MAX_EVENTS];
	unsigned n;
	bool any_flow;
	uint64_t last_flow_end;
};

struct plain {
	uint64_t res_ps;
	struct plain_row rows[TRACKS];
	uint8_t flows[MAX_EVENTS];	/* 0 unknown, 1 hidden, 2 visible */
};

struct event {
	uint64_t begin_ps, dur_ps;
	uint32_t track, pos;
	int flow;		/* -1: none */
	uint8_t dir;
};

static unsigned depth_of(const struct plain_row *r, uint64_t begin_ps)
{
	unsigned d = 0;

	while (d < r->n && r->end[d] > begin_ps)
		d++;
	return d;
}

static void plain_draw(struct plain_row *r, const struct event *e)
{
	unsigned d = depth_of(r, e->begin_ps);

	r->end[d] = e->begin_ps + e->dur_ps;
	r->n = d + 1;
}

static bool plain_check(struct plain *p, const struct event *e)
{
	struct plain_row *r = &p->rows[e->track];
	unsigned d = depth_of(r, e->begin_ps);
	uint64_t end_ps = e->begin_ps + e->dur_ps;
	bool visible = e->dur_ps >= p->res_ps || d >= r->n || e->begin_ps - r->end[d] >= p->res_ps;

	if (e->flow >= 0) {
		uint8_t *state = &p->flows[e->flow];
		bool first = !*state;

		if (first)
			*state = visible ? 2 : 1;
		if (!visible) {
			if (first)
				*state = !r->any_flow || end_ps - r->last_flow_end >= p->res_ps ? 2 : 1;
			visible = *state == 2;
		}
		if (e->dir == SS_FLOW_IN)
			*state = 0;
		if (visible) {
			r->any_flow = true;
			r->last_flow_end = end_ps;
		}
	}
	if (visible)
		plain_draw(r, e);
	return visible;
}

static void plain_set(struct plain *p, const struct event *e)
{
	struct plain_row *r = &p->rows[e->track];

	if (e->flow >= 0) {
		if (e->dir == SS_FLOW_IN)
			p->flows[e->flow] = 0;
		else if (!p->flows[e->flow])
			p->flows[e->flow] = 2;
		r->any_flow = true;
		r->last_flow_end = e->begin_ps + e->dur_ps;
	}
	plain_draw(r, e);
}

/* ---- random timelines ---- */

struct world {
	struct event ev[MAX_EVENTS * TRACKS];	/* in common order */
	size_t n;
	unsigned level[MAX_EVENTS * TRACKS];
	struct ss_trace tr;
	struct ss_trace_section section;
	struct ss_track tracks[TRACKS];
	struct ss_line lines[TRACKS];
	struct ss_display_line display[TRACKS];
	uint64_t seed;
};

static uint64_t rnd(struct world *w, uint64_t below)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return below ? w->seed % below : 0;
}

static uint64_t rnd_size(struct world *w, unsigned digits)
{
	uint64_t v = 1;

	for (unsigned i = (unsigned)rnd(w, digits + 1); i; i--)
		v *= 10;
	return rnd(w, v + 1);
}

/*
 * Nested, touching, overlapping and equal spans of all sizes; the first `flat` of them one behind
 * the other.
 */
static void fill_track(struct world *w, uint32_t track, unsigned n, unsigned flat)
{
	uint64_t at = 5;

	for (unsigned i = 0; i < n; i++) {
		uint64_t dur_ps = rnd_size(w, 12);

		w->ev[w->n++] = (struct event){ at, dur_ps, track, 0, -1, 0 };
		switch (i < flat ? 1 + rnd(w, 2) : rnd(w, 5)) {
		case 0:
			break;			/* the next begins with this one */
		case 1:
			at += dur_ps;		/* right behind */
			break;
		case 2:
			at += dur_ps + rnd_size(w, 10);
			break;
		default:
			at += rnd(w, dur_ps / 2 + 1);	/* inside */
			break;
		}
	}
}

static int in_order(const void *a, const void *b)
{
	const struct event *ea = a, *eb = b;

	if (ea->begin_ps != eb->begin_ps)
		return ea->begin_ps < eb->begin_ps ? -1 : 1;
	if (ea->dur_ps != eb->dur_ps)
		return ea->dur_ps > eb->dur_ps ? -1 : 1;
	if (ea->track != eb->track)
		return ea->track < eb->track ? -1 : 1;
	return ea->pos < eb->pos ? -1 : ea->pos > eb->pos;
}

/* One event in `every` gets a flow; 0: none. */
static void add_flows(struct world *w, unsigned every)
{
	static const uint8_t dirs[] = { SS_FLOW_OUT, SS_FLOW_INOUT, SS_FLOW_IN };
	int next = 0, open[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };

	for (size_t i = 0; every && i < w->n; i++) {
		size_t k = rnd(w, 8);

		if (rnd(w, every))
			continue;
		w->ev[i].dir = open[k] < 0 ? SS_FLOW_OUT : dirs[1 + rnd(w, 2)];
		if (open[k] < 0)
			open[k] = next++;
		w->ev[i].flow = open[k];
		if (w->ev[i].dir == SS_FLOW_IN)
			open[k] = -1;
	}
	w->tr.nflows = (uint32_t)next;
}

static void *filled(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	assert_non_null(p);
	return p;
}

static void to_columns(struct world *w)
{
	for (uint32_t k = 0; k < TRACKS; k++) {
		struct ss_track *t = &w->tracks[k];
		struct ss_xevents *e = &w->lines[k].ev;

		*t = (struct ss_track){ .line = &w->display[k], .kind = SS_TRACE_SLICES, .tid = k };
		e->begin_ps = filled(w->n, sizeof(*e->begin_ps));
		e->dur_ps = filled(w->n, sizeof(*e->dur_ps));
		t->flows = filled(w->n, sizeof(*t->flows));
		t->level = filled(w->n, 1);
		t->block = filled(w->n, 1);
		for (size_t i = 0; i < w->n; i++) {
			struct event *v = &w->ev[i];

			if (v->track != k)
				continue;
			if (v->flow >= 0)
				t->flows[t->nflows++] = (struct ss_track_flow){ t->n, (uint32_t)v->flow, v->dir, 9 };
			v->pos = t->n;
			e->begin_ps[t->n] = (int64_t)v->begin_ps;
			e->dur_ps[t->n++] = v->dur_ps;
		}
		e->n = t->n;
		w->display[k] = (struct ss_display_line){ .n = t->n, .sorted = true, .line = &w->lines[k] };
	}
	w->tr.tracks = w->tracks;
	w->tr.ntracks = TRACKS;
	w->tr.sections = &w->section;
	w->tr.nsections = 1;
}

static struct world *new_world(uint64_t seed, unsigned events, unsigned flow_every)
{
	struct world *w = filled(1, sizeof(*w));

	w->seed = seed * 0x9e3779b97f4a7c15u + 1;
	for (uint32_t k = 0; k < TRACKS; k++)
		fill_track(w, k, events / TRACKS, (unsigned)rnd(w, 3) * events / TRACKS / 2);
	qsort(w->ev, w->n, sizeof(*w->ev), in_order);
	add_flows(w, flow_every);
	to_columns(w);
	return w;
}

static void free_world(struct world *w)
{
	for (uint32_t k = 0; k < TRACKS; k++) {
		free(w->lines[k].ev.begin_ps);
		free(w->lines[k].ev.dur_ps);
		free(w->tracks[k].flows);
		free(w->tracks[k].level);
		free(w->tracks[k].row);
		free(w->tracks[k].block);
	}
	free(w);
}

/* Levels as the definition gives them. */
static void plain_levels(struct world *w)
{
	struct plain *global = filled(LEVELS, sizeof(*global)), *own = filled(LEVELS, sizeof(*own));
	uint8_t (*decided)[LEVELS] = filled(w->tr.nflows, LEVELS);

	for (unsigned l = 0; l < LEVELS; l++)
		global[l].res_ps = own[l].res_ps = ss_trace_res_ps(l);
	for (size_t i = 0; i < w->n; i++) {
		const struct event *e = &w->ev[i];
		bool visible = false;

		for (unsigned l = 0; e->flow >= 0 && l < LEVELS; l++) {
			if (visible)
				plain_set(&global[l], e);
			else
				visible = plain_check(&global[l], e);
			if (!decided[e->flow][l])
				decided[e->flow][l] = visible ? 2 : 1;
		}
	}
	for (size_t i = 0; i < w->n; i++) {
		struct event e = w->ev[i];
		unsigned level = 0;

		if (e.flow >= 0) {
			while (level < LEVELS && decided[e.flow][level] != 2 && e.dur_ps < own[level].res_ps)
				level++;
			e.flow = -1;
			for (unsigned l = level; l < LEVELS; l++)
				plain_set(&own[l], &e);
		} else {
			while (level < LEVELS && !plain_check(&own[level], &e))
				level++;
			for (unsigned l = level + 1; l < LEVELS; l++)
				plain_set(&own[l], &e);
		}
		w->level[i] = level;
	}
	free(global);
	free(own);
	free(decided);
}

static void assign_levels(struct world *w)
{
	uint16_t *flow_levels;

	assert_ok(ss_trace_flow_levels(&w->tr, &flow_levels, &err));
	for (uint32_t k = 0; k < TRACKS; k++) {
		uint64_t begin_ps, end_ps;

		assert_true(ss_track_levels(&w->tracks[k], flow_levels, &begin_ps, &end_ps));
		assert_int_equal(w->tracks[k].nshown, w->tracks[k].n);
	}
	free(flow_levels);
}

static void levels_follow_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world *w = new_world(seed, seed % 2 ? 900 : 60, seed % 3 ? (unsigned)(seed % 7) : 0);

		plain_levels(w);
		assign_levels(w);
		for (size_t i = 0; i < w->n; i++) {
			const struct event *e = &w->ev[i];

			if (w->tracks[e->track].level[e->pos] != w->level[i])
				fail_msg("seed %llu event %zu: level %u, by definition %u", (unsigned long long)seed, i,
					 w->tracks[e->track].level[e->pos], w->level[i]);
		}
		free_world(w);
	}
}

/* What the definition draws of a range; bits by event. */
static size_t plain_select(const struct world *w, const struct ss_trace_range *range, uint8_t *drawn)
{
	struct plain *p = filled(1, sizeof(*p));
	unsigned last = 0;
	size_t n = 0;

	p->res_ps = range->res_ps;
	while (last < LEVELS && range->res_ps < ss_trace_res_ps(last))
		last++;
	for (size_t i = 0; i < w->n; i++) {
		const struct event *e = &w->ev[i];

		drawn[i] = 0;
		if (w->level[i] > last || e->begin_ps > range->end_ps || e->begin_ps + e->dur_ps < range->begin_ps)
			continue;
		drawn[i] = range->res_ps == 0 || plain_check(p, e);
		n += drawn[i];
	}
	free(p);
	return n;
}

static bool was_selected(const struct ss_trace_hits *h, const struct event *e)
{
	const struct ss_track_hits *th = &h->tracks[e->track];

	for (size_t i = th->first; i < th->first + th->n; i++)
		if (h->pos[i] == e->pos)
			return true;
	return false;
}

/* A track is called complete only if nothing of it was left out. */
static void check_complete(const struct world *w, const struct ss_trace_range *range, const struct ss_trace_hits *h)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct event *e = &w->ev[i];

		if (h->tracks[e->track].complete && e->begin_ps <= range->end_ps &&
		    e->begin_ps + e->dur_ps > range->begin_ps)
			assert_true(was_selected(h, e));
	}
}

static void ranges_follow_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world *w = new_world(seed, 900, seed % 2 ? 6 : 0);
		uint8_t *drawn = filled(w->n, 1);
		uint64_t last_ps = w->ev[w->n - 1].begin_ps;
		struct ss_trace_range r = { .begin_ps = rnd(w, last_ps), .flow_mids = true };
		struct ss_trace_hits hits;

		r.end_ps = r.begin_ps + (seed % 5 ? rnd(w, last_ps / (1 + rnd(w, 100))) : 0);
		r.res_ps = seed % 4 ? rnd_size(w, 11) : 0;
		plain_levels(w);
		assign_levels(w);
		size_t n = plain_select(w, &r, drawn);
		assert_ok(ss_trace_select(&w->tr, &r, &hits, &err));
		assert_int_equal(hits.n, n);
		for (size_t i = 0; i < w->n; i++)
			assert_int_equal(was_selected(&hits, &w->ev[i]), drawn[i]);
		check_complete(w, &r, &hits);
		ss_trace_hits_free(&hits);
		free(drawn);
		free_world(w);
	}
}

/* Nested events lie one row deeper than what they are in, and nothing is drawn over anything else. */
static void rows_do_not_overlap(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world *w = new_world(seed, 900, 0);

		assign_levels(w);
		for (uint32_t k = 0; k < TRACKS; k++) {
			const struct ss_track *t = &w->tracks[k];
			uint64_t end[256] = { 0 };

			for (uint32_t pos = 0; pos < t->n; pos++) {
				unsigned row = ss_track_row(t, pos);

				assert_true(row < t->nrows);
				if (row == 255)
					continue;
				assert_true(end[row] <= ss_track_begin_ps(t, pos));
				end[row] = ss_track_begin_ps(t, pos) + ss_track_dur_ps(t, pos);
			}
		}
		free_world(w);
	}
}

/* A pyramid of events that end together, deeper than rows can say. */
static void deep_nesting_is_bounded(void **state)
{
	struct world *w = filled(1, sizeof(*w));
	uint64_t begin_ps, end_ps;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		w->ev[w->n++] = (struct event){ i * 1000, 3000000 - i * 2000, 0, 0, -1, 0 };
	to_columns(w);
	assert_true(ss_track_levels(&w->tracks[0], NULL, &begin_ps, &end_ps));
	assert_int_equal(begin_ps, 0);
	assert_int_equal(end_ps, 3000000);
	assert_int_equal(ss_track_row(&w->tracks[0], 0), 0);
	assert_int_equal(ss_track_row(&w->tracks[0], 254), 254);
	assert_int_equal(ss_track_row(&w->tracks[0], 999), 255);
	assert_int_equal(w->tracks[0].nrows, 256);
	free_world(w);
}

/* Ends at the edge of 64 bits saturate and are found. */
static void far_ends_saturate(void **state)
{
	struct world *w = filled(1, sizeof(*w));
	struct ss_trace_range r = { .begin_ps = (uint64_t)INT64_MAX - 5, .end_ps = (uint64_t)INT64_MAX };
	struct ss_trace_hits hits;

	(void)state;
	w->ev[w->n++] = (struct event){ 10, (uint64_t)INT64_MAX, 0, 0, -1, 0 };
	w->ev[w->n++] = (struct event){ (uint64_t)INT64_MAX - 1, (uint64_t)INT64_MAX, 0, 0, -1, 0 };
	w->ev[w->n++] = (struct event){ (uint64_t)INT64_MAX, 0, 1, 0, -1, 0 };
	to_columns(w);
	assign_levels(w);
	assert_ok(ss_trace_select(&w->tr, &r, &hits, &err));
	assert_int_equal(hits.n, 3);
	ss_trace_hits_free(&hits);
	free_world(w);
}

/* Points of counters: the first, then each that is a resolution away from the last drawn. */
static void points_keep_their_distance(void **state)
{
	static const uint64_t at[] = { 0, 5, 10, 1000, 1001, 1000000, UINT64_C(2000000000000) };
	static const uint8_t want[] = { 0, 12, 11, 9, 12, 6, 0 };
	struct world *w = filled(1, sizeof(*w));
	uint64_t begin_ps, end_ps;

	(void)state;
	for (size_t i = 0; i < SS_COUNT(at); i++)
		w->ev[w->n++] = (struct event){ at[i], 0, 0, 0, -1, 0 };
	to_columns(w);
	w->tracks[0].kind = SS_TRACE_COUNTER;
	assert_true(ss_track_levels(&w->tracks[0], NULL, &begin_ps, &end_ps));
	assert_memory_equal(w->tracks[0].level, want, sizeof(want));
	free_world(w);
}

static uint32_t same(const void *lists, const struct ss_trace *tr, uint32_t track, uint32_t at)
{
	(void)lists;
	(void)tr;
	(void)track;
	return at;
}

static void tracks_merge_in_time_order(void **state)
{
	struct world *w = new_world(9, 300, 0);
	struct ss_trace_merge m;
	struct ss_merge_head h;
	size_t n = 0;

	(void)state;
	assert_true(ss_merge_init(&m, &w->tr, same, NULL));
	for (uint32_t k = 0; k < TRACKS; k++)
		ss_merge_add(&m, k, 0, w->tracks[k].n);
	for (; ss_merge_next(&m, &h); n++) {
		assert_int_equal(h.track, w->ev[n].track);
		assert_int_equal(h.at, w->ev[n].pos);
	}
	assert_int_equal(n, w->n);
	ss_merge_free(&m);
	free_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_follow_the_definition),
		cmocka_unit_test(ranges_follow_the_definition),
		cmocka_unit_test(rows_do_not_overlap),
		cmocka_unit_test(deep_nesting_is_bounded),
		cmocka_unit_test(far_ends_saturate),
		cmocka_unit_test(points_keep_their_distance),
		cmocka_unit_test(tracks_merge_in_time_order),
	};

	return RUN_TESTS(tests);
}
