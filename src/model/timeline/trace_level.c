/*
 * trace_level.c - assigning levels of detail: the hot loop of building a timeline.
 *
 * By definition each event is held against a stack of its own for every level until one shows it,
 * and is then drawn on all finer ones. Where events nest, as nearly everywhere, one stack of open
 * events does for all levels: what differs between them is only from when on a short event is seen
 * again, and mostly one comparison tells that of all coarser levels at once. From an event on that
 * outlasts the one it began in, until all are over, each level has its stack.
 */
#include "model/timeline/trace_level.h"

#include "base/arena.h"
#include "base/assert.h"
#include "model/preprocess/flows.h"

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

/* The first level at which the flow is visible, or the event is long enough. */
static unsigned flow_level(const struct ss_track_flow *flow, const uint16_t *flow_levels, unsigned by_dur)
{
	unsigned shown = (unsigned)flow_levels[flow->flow] | 1u << by_dur;
	return (unsigned)__builtin_ctz(shown);
}

/* ---- events that nest ---- */

#define DEPTH 256u
#define NOTHING UINT64_MAX

/*
 * The event drawn last is what counts on its own level and all finer ones: that need not be written
 * down for each of them until something finer is drawn.
 */
struct nest {
	/*
	 * What the event drawn last began in, outermost first, and the coarsest level of each. The
	 * first is the track, which never ends.
	 */
	uint64_t end_ps[DEPTH];
	uint8_t level[DEPTH];
	unsigned n, max;
	/* The event drawn last. */
	uint64_t last_ps;		/* its end */
	unsigned from;			/* its level; STACKS: on none */
	/*
	 * Of each level before that: the end of what was over last, NOTHING inside an event in which
	 * nothing was yet; and of all levels before one: from when on a short event is seen.
	 */
	uint64_t over_ps[STACKS];
	uint64_t due_ps[STACKS + 1];
};

static void nest_begin(struct nest *s)
{
	s->n = s->max = 0;
	s->last_ps = (uint64_t)INT64_MAX + 1;
	s->from = 0;
	s->due_ps[0] = UINT64_MAX;
}

static inline uint64_t due_after(uint64_t over_ps, unsigned level)
{
	return over_ps == NOTHING ? 0 : over_ps + ss_trace_res_ps(level);
}

/* From `level` on something else will count than what was over last. */
static inline void nest_set(struct nest *s, unsigned level, uint64_t over_ps)
{
	ss_assert(level <= STACKS);
	for (unsigned i = s->from; i < level; i++) {
		uint64_t due_ps = due_after(over_ps, i);
		s->over_ps[i] = over_ps;
		s->due_ps[i + 1] = due_ps < s->due_ps[i] ? due_ps : s->due_ps[i];
	}
	s->from = level;
}

/* To the time of the next event: what was over last from s->from on. */
static inline uint64_t nest_advance(struct nest *s, uint64_t begin_ps)
{
	uint64_t over_ps = s->last_ps;
	if (over_ps > begin_ps) {
		ss_assert(s->n < DEPTH);
		s->end_ps[s->n] = over_ps;
		s->level[s->n++] = (uint8_t)s->from;
		s->max = s->n > s->max ? s->n : s->max;
		return NOTHING;
	}
	ss_assert(s->n && s->end_ps[0] > begin_ps);
	while (s->end_ps[s->n - 1] <= begin_ps) {
		s->n--;
		nest_set(s, s->level[s->n], over_ps);
		over_ps = s->end_ps[s->n];
	}
	return over_ps;
}

/* Does an event end before the one it began in, and has the next one room? */
static inline bool nest_fits(const struct nest *s, uint64_t end_ps)
{
	return s->n < DEPTH && end_ps <= s->end_ps[s->n - 1];
}

/* From when on a short event is seen on this level or a coarser one. */
static inline uint64_t nest_due(const struct nest *s, unsigned level, uint64_t over_ps)
{
	if (level < s->from)
		return s->due_ps[level + 1];
	uint64_t due_ps = due_after(over_ps, level), before_ps = s->due_ps[s->from];
	return due_ps < before_ps ? due_ps : before_ps;
}

/* The first level that shows the event: that of its duration, or a coarser one where it has distance. */
static inline unsigned nest_level(const struct nest *s, uint64_t begin_ps, uint64_t over_ps, unsigned by_dur)
{
	unsigned level = by_dur;
	while (level && begin_ps >= nest_due(s, level - 1, over_ps))
		level--;
	return level;
}

/* ---- events that do not ---- */

/* The first level that shows the event, each by its own stack. */
static unsigned stacks_level(struct ss_vis_row *stacks, uint64_t begin_ps, unsigned by_dur)
{
	for (unsigned i = 0; i < by_dur; i++) {
		struct ss_vis_row *r = &stacks[i];
		if (!ss_vis_settle(r, begin_ps) || begin_ps - r->end[r->n - 1] >= ss_trace_res_ps(i))
			return i;
	}
	return by_dur;
}

static bool stacks_draw(struct ss_vis_row *stacks, unsigned level, uint64_t begin_ps, uint64_t end_ps)
{
	for (unsigned i = level; i < STACKS; i++)
		if (!ss_vis_push(&stacks[i], begin_ps, end_ps))
			return false;
	return true;
}

static bool append(struct ss_vis_row *r, uint64_t end_ps)
{
	if (r->n == r->cap && !ss_vis_grow(r))
		return false;
	r->end[r->n++] = end_ps;
	return true;
}

/* To stacks: open events, and at their depth the one that was over last. */
static bool spill(struct nest *s, struct ss_vis_row *stacks, uint64_t over_ps)
{
	nest_set(s, STACKS, over_ps);
	for (unsigned i = 0; i < STACKS; i++) {
		stacks[i].n = 0;
		for (unsigned k = 1; k < s->n; k++)
			if (s->level[k] <= i && !append(&stacks[i], s->end_ps[k]))
				return false;
		if (s->over_ps[i] != NOTHING && !append(&stacks[i], s->over_ps[i]))
			return false;
	}
	return true;
}

/* And back, once nothing is open. */
static void gather(struct nest *s, struct ss_vis_row *stacks, uint64_t begin_ps)
{
	s->n = 1;
	s->from = 0;
	s->last_ps = 0;
	for (unsigned i = 0; i < STACKS; i++)
		nest_set(s, i + 1, ss_vis_settle(&stacks[i], begin_ps) ? stacks[i].end[0] : NOTHING);
}

/*
 * Rows for drawing: the first row that is free. For nested events that is the nesting depth; events
 * that overlap without nesting get rows of their own, so that nothing is drawn over. 256 rows, of
 * which the last takes the rest.
 */
struct rows {
	uint64_t end[256];
	unsigned n, max;
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
	if (r->n > r->max)
		r->max = r->n;
	return at;
}

/* The least of so many levels; inline, so that whole blocks are a loop of a known length. */
static inline uint8_t min_level(const uint8_t *level, uint32_t n)
{
	uint8_t min = SS_TRACE_HIDDEN;
	for (uint32_t i = 0; i < n; i++)
		min = level[i] < min ? level[i] : min;
	return min;
}

static void fill_blocks(struct ss_track *t)
{
	uint32_t i = 0;
	for (; t->n - i >= SS_TRACE_BLOCK; i += SS_TRACE_BLOCK)
		t->block[i / SS_TRACE_BLOCK] = min_level(t->level + i, SS_TRACE_BLOCK);
	if (i < t->n)
		t->block[i / SS_TRACE_BLOCK] = min_level(t->level + i, t->n - i);
}

/* The results of a pass over a track besides levels. */
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
	struct nest nest;
	struct ss_vis_row stacks[STACKS];
	struct rows rows;
	bool nests;
	uint64_t last_end;		/* of all events so far, where they do not nest */
	const uint16_t *flow_levels;
};

struct place {
	unsigned level, row;
};

static bool begin_stacks(struct pass *p, uint64_t over_ps)
{
	if (!spill(&p->nest, p->stacks, over_ps))
		return false;
	p->rows.n = p->nest.n - 1;
	memcpy(p->rows.end, p->nest.end_ps + 1, p->rows.n * sizeof(*p->rows.end));
	p->rows.crossed = false;
	p->last_end = p->rows.n ? p->rows.end[0] : 0;
	p->nests = false;
	return true;
}

static bool place_on_stacks(struct pass *p, const struct ss_track_flow *flow, uint64_t begin_ps, uint64_t dur_ps,
			    uint64_t end_ps, struct place *out)
{
	unsigned by_dur = level_of_dur(dur_ps);
	p->last_end = end_ps > p->last_end ? end_ps : p->last_end;
	out->level = flow ? flow_level(flow, p->flow_levels, by_dur) : stacks_level(p->stacks, begin_ps, by_dur);
	out->row = take_row(&p->rows, begin_ps, end_ps);
	return stacks_draw(p->stacks, out->level, begin_ps, end_ps);
}

static inline bool place_event(struct pass *p, const struct ss_track_flow *flow, uint64_t begin_ps, uint64_t dur_ps,
			       struct place *out)
{
	struct nest *s = &p->nest;
	uint64_t end_ps = ss_trace_end_ps(begin_ps, dur_ps), over_ps = 0;
	if (!p->nests && begin_ps >= p->last_end) {
		gather(s, p->stacks, begin_ps);
		p->nests = true;
	}
	if (p->nests) {
		over_ps = nest_advance(s, begin_ps);
		if (!nest_fits(s, end_ps) && !begin_stacks(p, over_ps))
			return false;
	}
	if (!p->nests)
		return place_on_stacks(p, flow, begin_ps, dur_ps, end_ps, out);
	unsigned by_dur = level_of_dur(dur_ps);
	out->level = flow ? flow_level(flow, p->flow_levels, by_dur) : nest_level(s, begin_ps, over_ps, by_dur);
	ss_assert(s->n && s->n <= DEPTH);
	out->row = s->n - 1;
	nest_set(s, out->level, over_ps);
	s->last_ps = end_ps;
	return true;
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

/*
 * Levels are read only if some are hidden: memory that is read before it is written is mapped
 * twice.
 */
static bool slice_levels(struct ss_track *t, struct pass *p, struct found *f)
{
	const struct ss_track_flow *flow = t->flows, *flows_end = t->nflows ? flow + t->nflows : flow;
	uint8_t *levels = t->level;
	struct ss_display_run run;
	run.first = run.n = 0;
	for (uint32_t pos = 0, n = t->n; pos < n; pos++) {
		const struct ss_track_flow *own = flow != flows_end && flow->pos == pos ? flow++ : NULL;
		if (t->hides && levels[pos] == SS_TRACE_HIDDEN)
			continue;
		uint32_t i = ss_track_event(t, pos);
		if (i - run.first >= run.n)
			ss_display_run(t->line, i, t->order, &run);
		uint64_t begin_ps = (uint64_t)run.begin_ps[i - run.first], dur_ps = run.dur_ps[i - run.first];
		uint64_t end_ps = ss_trace_end_ps(begin_ps, dur_ps);
		struct place place;
		if (!place_event(p, own, begin_ps, dur_ps, &place) || !set_row(t, pos, place.row))
			return false;
		levels[pos] = (uint8_t)place.level;
		if (f->nshown++ == 0)
			f->begin_ps = begin_ps;
		f->end_ps = end_ps > f->end_ps ? end_ps : f->end_ps;
	}
	f->nrows = p->nest.max > p->rows.max ? p->nest.max : p->rows.max;
	return true;
}

/* Open events and rows are large and need no clearing. */
static void begin_pass(struct pass *p, const uint16_t *flow_levels)
{
	nest_begin(&p->nest);
	memset(p->stacks, 0, sizeof(p->stacks));
	p->rows.n = p->rows.max = 0;
	p->rows.crossed = false;
	p->nests = true;
	p->last_end = 0;
	p->flow_levels = flow_levels;
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
			ss_vis_row_free(&p.stacks[i]);
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
