/*
 * trace_level.c - assigning levels of detail: the hot loop of building a timeline.
 *
 * By definition each event is held against a stack of its own for every level until one shows it,
 * and is then drawn on all finer ones. Two facts make that cheap:
 * - An event that begins after the top of a level's stack, less than the resolution after it, is
 *   invisible there if it is shorter than the resolution; and the extremes over all coarser levels
 *   tell that of all of them at once.
 * - Beyond the finest level that any event of the track was given so far, every event was visible,
 *   so all those stacks are the same one. It is split only when an event needs a finer level, at
 *   most 11 times a track.
 */
#include "model/timeline/trace_level.h"

#include <stdlib.h>

#define STACKS (SS_TRACE_LEVELS - 1)	/* the last level takes all that is left */

void ss_vis_row_free(struct ss_vis_row *r)
{
	free(r->end);
	*r = (struct ss_vis_row){ 0 };
}

bool ss_vis_grow(struct ss_vis_row *r)
{
	size_t cap = r->cap ? r->cap * 2 : 16;
	uint64_t *end = realloc(r->end, cap * sizeof(*end));
	if (!end)
		return false;
	r->end = end;
	r->cap = cap;
	return true;
}

static bool check_point(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e)
{
	if (r->any_point && e->begin_ps - r->last_point < v->res_ps)
		return false;
	r->any_point = true;
	r->last_point = e->begin_ps;
	return true;
}

/*
 * An event of a flow is shown when an earlier event of the flow was; the first decides by the
 * distance to the last flow event of its row. The subtraction wraps as XProf's does: an end before
 * the last one counts as far away.
 */
static bool check_flow(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e, bool visible)
{
	uint8_t *state = &v->flows[e->flow->flow];
	uint64_t end_ps = ss_trace_end_ps(e->begin_ps, e->dur_ps);
	bool first = *state == 0;
	if (first)
		*state = visible ? 2 : 1;
	if (!visible) {
		if (first)
			*state = !r->any_flow || end_ps - r->last_flow_end >= v->res_ps ? 2 : 1;
		visible = *state == 2;
	}
	if (e->flow->dir == SS_FLOW_IN)
		*state = 0;
	if (visible) {
		r->any_flow = true;
		r->last_flow_end = end_ps;
	}
	return visible;
}

bool ss_vis_check(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e, bool *ok)
{
	if (e->point)
		return check_point(v, r, e);
	bool visible = !ss_vis_settle(r, e->begin_ps) || e->dur_ps >= v->res_ps ||
		       e->begin_ps - r->end[r->n - 1] >= v->res_ps;
	if (e->flow && v->flows)
		visible = check_flow(v, r, e, visible);
	if (visible && !ss_vis_push(r, e->begin_ps, ss_trace_end_ps(e->begin_ps, e->dur_ps)))
		*ok = false;
	return visible;
}

bool ss_vis_set(struct ss_vis *v, struct ss_vis_row *r, const struct ss_vis_event *e)
{
	if (e->point) {
		r->any_point = true;
		r->last_point = e->begin_ps;
		return true;
	}
	uint64_t end_ps = ss_trace_end_ps(e->begin_ps, e->dur_ps);
	if (e->flow && v->flows) {
		uint8_t *state = &v->flows[e->flow->flow];
		if (e->flow->dir == SS_FLOW_IN)
			*state = 0;
		else if (*state == 0)
			*state = 2;
		r->any_flow = true;
		r->last_flow_end = end_ps;
	}
	return ss_vis_push(r, e->begin_ps, end_ps);
}

/* The state of one track: stacks[0 .. tail] differ, those behind tail are as stacks[tail]. */
struct levels {
	uint64_t top[STACKS];	/* topmost entry of each stack; all ones when empty, so that no event is behind it */
	/*
	 * Over this and all coarser levels: the latest top, and the earliest time a resolution
	 * after a top.
	 */
	uint64_t last_top[STACKS], first_gap[STACKS];
	struct ss_vis_row stacks[STACKS];
	unsigned tail;
};

static inline void set_top(struct levels *s, unsigned level, uint64_t top)
{
	uint64_t gap = top + ss_trace_res_ps(level);	/* may wrap: then it is asked more often than needed */
	s->top[level] = top;
	if (level) {
		uint64_t last = s->last_top[level - 1], first = s->first_gap[level - 1];
		top = last > top ? last : top;
		gap = first < gap ? first : gap;
	}
	s->last_top[level] = top;
	s->first_gap[level] = gap;
}

/* After the top of a level changed: what counts for the finer ones. */
static void spread(struct levels *s, unsigned level)
{
	for (unsigned i = level + 1; i <= s->tail; i++)
		set_top(s, i, s->top[i]);
}

static inline bool push(struct levels *s, unsigned level, uint64_t begin_ps, uint64_t end_ps)
{
	struct ss_vis_row *r = &s->stacks[level];
	if (!ss_vis_push(r, begin_ps, end_ps))
		return false;
	set_top(s, level, r->end[r->n - 1]);
	return true;
}

/* Give the levels behind tail, up to `to`, their own copy of its stack. */
static bool split(struct levels *s, unsigned to)
{
	const struct ss_vis_row *from = &s->stacks[s->tail];
	for (unsigned i = s->tail + 1; i <= to; i++) {
		struct ss_vis_row *r = &s->stacks[i];
		while (r->cap < from->n)
			if (!ss_vis_grow(r))
				return false;
		if (from->n)
			memcpy(r->end, from->end, from->n * sizeof(*r->end));
		r->n = from->n;
		set_top(s, i, s->top[s->tail]);
	}
	s->tail = to;
	return true;
}

/* The first level whose resolution is not longer than the duration; STACKS when there is none. */
static inline unsigned level_of_dur(uint64_t dur_ps)
{
	/* By the number of bits, a level that may be one too coarse: 10^12 has 40 bits, 10 has 4. */
	static const uint8_t by_bits[65] = {
		12, 12, 12, 12, 11, 11, 11, 10, 10, 10, 9, 9, 9, 9, 8, 8, 8, 7, 7, 7, 6, 6,
		6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0,
	};
	unsigned bits = 64 - (unsigned)__builtin_clzll(dur_ps | 1), level = by_bits[bits];
	return level + (level < STACKS && ss_trace_res_ps(level) > dur_ps);
}

/* Is an event shorter than the resolution visible on this stack? */
static bool short_visible(struct levels *s, unsigned level, uint64_t begin_ps)
{
	struct ss_vis_row *r = &s->stacks[level];
	bool closed = ss_vis_settle(r, begin_ps);
	if (r->n && s->top[level] != r->end[r->n - 1]) {
		set_top(s, level, r->end[r->n - 1]);
		spread(s, level);
	}
	return !closed || begin_ps - s->top[level] >= ss_trace_res_ps(level);
}

/* Is a short event surely invisible at this level and all coarser ones? */
static inline bool surely_hidden(const struct levels *s, unsigned level, uint64_t begin_ps)
{
	return begin_ps >= s->last_top[level] && begin_ps < s->first_gap[level];
}

/*
 * Behind tail the stack is tail's, where the event was just found too close to what is closed at
 * its depth.
 */
static unsigned find_behind_tail(struct levels *s, uint64_t begin_ps, unsigned by_dur)
{
	struct ss_vis_row *r = &s->stacks[s->tail];
	unsigned level = s->tail + 1;
	ss_vis_settle(r, begin_ps);
	uint64_t gap_ps = begin_ps - r->end[r->n - 1];
	while (level < by_dur && gap_ps < ss_trace_res_ps(level))
		level++;
	return level;
}

/*
 * The first level that shows an event without flow: that of its duration, or a coarser one where it
 * has distance. Mostly the former, which one comparison tells; else the coarsest level in doubt is
 * not far.
 */
static inline unsigned find_level(struct levels *s, uint64_t begin_ps, unsigned by_dur)
{
	unsigned end = by_dur <= s->tail ? by_dur : s->tail + 1, level = end;
	while (level && !surely_hidden(s, level - 1, begin_ps))
		level--;
	for (; level < end; level++)
		if (short_visible(s, level, begin_ps))
			return level;
	return end == by_dur ? by_dur : find_behind_tail(s, begin_ps, by_dur);
}

/* The first level at which the flow is visible, or the event is long enough. */
static unsigned flow_level(const struct ss_track_flow *flow, const uint16_t *flow_levels, unsigned by_dur)
{
	unsigned shown = (unsigned)flow_levels[flow->flow] | 1u << by_dur;
	return (unsigned)__builtin_ctz(shown);
}

/* Draw on `level` and all finer ones. */
static inline bool draw(struct levels *s, unsigned level, uint64_t begin_ps, uint64_t end_ps)
{
	if (level == STACKS)
		return true;
	if (level > s->tail && !split(s, level))
		return false;
	for (unsigned i = level; i <= s->tail; i++)
		if (!push(s, i, begin_ps, end_ps))
			return false;
	return true;
}

/*
 * Most tracks of a device are flat: an event begins when the one before has ended. Then every stack
 * has one entry, nothing is ever popped, and all that counts is when the next short event may be
 * seen. The event drawn last is the top of its own level and all finer ones, which need not be
 * written down until a finer event comes.
 */
struct flat {
	uint64_t top[STACKS];	/* below `level`: end of what was drawn last; all ones: nothing yet */
	/*
	 * The same levels; over this and all coarser ones: the earliest begin that is the resolution
	 * behind the top.
	 */
	uint64_t first_gap[STACKS];
	unsigned level;		/* of the event drawn last; STACKS: on none */
	uint64_t end_ps;	/* of the event drawn last */
	uint64_t last_end;	/* of all events so far */
	unsigned tail;		/* finest level that was given */
};

static inline bool is_flat_event(const struct flat *f, uint64_t begin_ps, uint64_t end_ps)
{
	return begin_ps >= f->last_end && end_ps <= (uint64_t)INT64_MAX;
}

static inline uint64_t flat_gap(const struct flat *f, unsigned level)
{
	if (level < f->level)
		return f->first_gap[level];
	uint64_t before = f->level ? f->first_gap[f->level - 1] : UINT64_MAX, own = f->end_ps + ss_trace_res_ps(level);
	return own < before ? own : before;
}

static inline unsigned flat_find_level(const struct flat *f, uint64_t begin_ps, unsigned by_dur)
{
	unsigned level = by_dur;
	while (level && begin_ps >= flat_gap(f, level - 1))
		level--;
	return level;
}

/* Write down what is on the levels up to `to`. */
static inline void flat_settle(struct flat *f, unsigned to)
{
	while (f->level < to) {
		f->first_gap[f->level] = flat_gap(f, f->level);
		f->top[f->level++] = f->end_ps;
	}
}

static inline void flat_draw(struct flat *f, unsigned level, uint64_t end_ps)
{
	flat_settle(f, level);
	f->last_end = end_ps;
	f->level = level;
	f->end_ps = end_ps;
	if (level < STACKS && level > f->tail)
		f->tail = level;
}

/* Go on with stacks, from the first event on that begins inside another one. */
static bool unflatten(struct levels *s, struct flat *f)
{
	flat_settle(f, STACKS);
	for (unsigned i = 0; i <= f->tail; i++) {
		struct ss_vis_row *r = &s->stacks[i];
		if (!ss_vis_grow(r))
			return false;
		r->end[0] = f->top[i];
		r->n = f->top[i] != UINT64_MAX;
		set_top(s, i, f->top[i]);
	}
	s->tail = f->tail;
	return true;
}

/*
 * Rows for drawing: the first row that is free. For nested events that is the nesting depth; events
 * that overlap without nesting get rows of their own, so that nothing is drawn over. 256 rows, of
 * which the last takes the rest.
 */
struct rows {
	uint64_t end[256];
	unsigned n, most;
	bool crossed;		/* an event outlasted the one it began in: ends need not descend any more */
};

/* A free row between taken ones; n when there is none. */
static unsigned find_hole(struct rows *r, uint64_t begin_ps)
{
	unsigned at = 0;
	while (at < r->n && r->end[at] > begin_ps)
		at++;
	return at;
}

static inline unsigned take_row(struct rows *r, uint64_t begin_ps, uint64_t end_ps)
{
	while (r->n && r->end[r->n - 1] <= begin_ps)
		r->n--;
	unsigned at = r->n;
	if (at == 0)
		r->crossed = false;
	else if (r->crossed)
		at = find_hole(r, begin_ps);
	else
		r->crossed = end_ps > r->end[at - 1];
	if (at > 255)
		at = 255;
	r->end[at] = end_ps;
	if (at >= r->n)
		r->n = at + 1;
	if (r->n > r->most)
		r->most = r->n;
	return at;
}

static void fill_blocks(struct ss_track *t)
{
	for (uint32_t i = 0; i < t->n; i += SS_TRACE_BLOCK) {
		uint32_t end = t->n - i < SS_TRACE_BLOCK ? t->n : i + SS_TRACE_BLOCK;
		uint8_t least = SS_TRACE_HIDDEN;
		for (uint32_t k = i; k < end; k++)
			least = t->level[k] < least ? t->level[k] : least;
		t->block[i / SS_TRACE_BLOCK] = least;
	}
}

/* What a pass over a track finds besides levels. */
struct found {
	uint64_t begin_ps, end_ps;
	uint32_t nshown, nrows;
};

/*
 * Counters and asynchronous events: visible when the last drawn one of the track is at least the
 * resolution ago.
 */
static void point_levels(struct ss_track *t, const uint16_t *flow_levels, struct found *f)
{
	uint64_t last[STACKS] = { 0 };
	const struct ss_track_flow *flow = t->flows, *flows_end = t->nflows ? flow + t->nflows : flow;
	for (uint32_t pos = 0; pos < t->n; pos++) {
		uint64_t begin_ps = ss_track_begin_ps(t, pos), dur_ps = ss_track_dur_ps(t, pos);
		uint64_t end_ps = ss_trace_end_ps(begin_ps, dur_ps);
		unsigned level = 0;
		if (flow != flows_end && flow->pos == pos)
			level = flow_level(flow++, flow_levels, level_of_dur(dur_ps));
		else if (t->level[pos] == SS_TRACE_HIDDEN)
			continue;
		else
			while (f->nshown && level < STACKS && begin_ps - last[level] < ss_trace_res_ps(level))
				level++;
		for (unsigned i = level; i < STACKS; i++)
			last[i] = begin_ps;
		t->level[pos] = (uint8_t)level;
		if (f->nshown++ == 0)
			f->begin_ps = begin_ps;
		f->end_ps = end_ps > f->end_ps ? end_ps : f->end_ps;
	}
}

/* A pass over a track's events: level and row of each. */
struct pass {
	struct levels stacks;
	struct flat flat;
	bool is_flat;
	struct rows rows;
	const uint16_t *flow_levels;
};

static inline bool place_event(struct pass *p, const struct ss_track_flow *flow, uint64_t begin_ps, uint64_t dur_ps,
			       uint64_t end_ps, unsigned *level)
{
	unsigned by_dur = level_of_dur(dur_ps);
	if (p->is_flat && !is_flat_event(&p->flat, begin_ps, end_ps)) {
		if (!unflatten(&p->stacks, &p->flat))
			return false;
		p->is_flat = false;
		p->rows.end[0] = p->flat.last_end;
		p->rows.n = p->rows.most = 1;
	}
	if (p->is_flat) {
		*level = flow ? flow_level(flow, p->flow_levels, by_dur) : flat_find_level(&p->flat, begin_ps, by_dur);
		flat_draw(&p->flat, *level, end_ps);
		return true;
	}
	*level = flow ? flow_level(flow, p->flow_levels, by_dur) : find_level(&p->stacks, begin_ps, by_dur);
	return draw(&p->stacks, *level, begin_ps, end_ps);
}

static inline bool set_row(struct ss_track *t, uint32_t pos, unsigned row)
{
	if (row == 0)
		return true;
	if (!t->row && !(t->row = calloc(t->n, 1)))
		return false;
	t->row[pos] = (uint8_t)row;
	return true;
}

static bool slice_levels(struct ss_track *t, struct pass *p, struct found *f)
{
	const struct ss_track_flow *flow = t->flows, *flows_end = t->nflows ? flow + t->nflows : flow;
	uint8_t *levels = t->level;
	for (uint32_t pos = 0, n = t->n; pos < n; pos++) {
		const struct ss_track_flow *own = flow != flows_end && flow->pos == pos ? flow++ : NULL;
		if (levels[pos] == SS_TRACE_HIDDEN)
			continue;
		uint32_t i = ss_track_event(t, pos);
		uint64_t begin_ps = (uint64_t)ss_line_begin_ps(t->line, i), dur_ps = ss_line_dur_ps(t->line, i);
		uint64_t end_ps = ss_trace_end_ps(begin_ps, dur_ps);
		unsigned level;
		if (!place_event(p, own, begin_ps, dur_ps, end_ps, &level))
			return false;
		levels[pos] = (uint8_t)level;
		if (!p->is_flat && !set_row(t, pos, take_row(&p->rows, begin_ps, end_ps)))
			return false;
		if (f->nshown++ == 0)
			f->begin_ps = begin_ps;
		f->end_ps = end_ps > f->end_ps ? end_ps : f->end_ps;
	}
	f->nrows = p->rows.most;
	return true;
}

/* Rows are large and need no clearing. */
static void begin_pass(struct pass *p, const uint16_t *flow_levels)
{
	p->stacks = (struct levels){ .tail = 0 };
	p->flat = (struct flat){ .level = STACKS };
	p->is_flat = true;
	p->flow_levels = flow_levels;
	p->rows.n = p->rows.most = 0;
	p->rows.crossed = false;
	for (unsigned i = 0; i < STACKS; i++) {
		set_top(&p->stacks, i, UINT64_MAX);
		p->flat.top[i] = UINT64_MAX;
		p->flat.first_gap[i] = 0;
	}
}

bool ss_track_levels(struct ss_track *t, const uint16_t *flow_levels, uint64_t *begin_ps, uint64_t *end_ps)
{
	struct found f = { .nrows = 1 };
	bool ok = true;
	if (t->kind == SS_TRACE_SLICES) {
		struct pass p;
		begin_pass(&p, flow_levels);
		ok = slice_levels(t, &p, &f);
		for (unsigned i = 0; i < STACKS; i++)
			ss_vis_row_free(&p.stacks.stacks[i]);
	} else {
		point_levels(t, flow_levels, &f);
	}
	if (!ok)
		return false;
	fill_blocks(t);
	t->nshown = f.nshown;
	t->nrows = f.nrows ? f.nrows : 1;
	*begin_ps = f.nshown ? f.begin_ps : UINT64_MAX;
	*end_ps = f.end_ps;
	return true;
}
