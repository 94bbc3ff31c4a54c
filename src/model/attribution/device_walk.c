/* device_walk.c - see device_walk.h. */
#include "model/attribution/device_walk.h"

#include "base/safe.h"
#include "model/attribution/thresholds.h"
#include "model/host/event_order.h"

#include <stdlib.h>

#define BATCH 512

bool ss_device_walk_begin(struct ss_device_walk *out, const struct ss_plane *p, const struct ss_line *l,
			  const struct ss_windows *w, ss_device_event_fn *event, void *arg)
{
	*out = (struct ss_device_walk){
		.p = p, .l = l, .w = w, .event = event, .arg = arg, .n = l->ev.n, .now_ps = INT64_MIN
	};
	if (!l->ev.sorted)
		out->order = ss_events_outer_first(&l->ev, &out->n);
	return (l->ev.sorted || out->order) && ss_vec_reserve(&out->made, out->n < BATCH ? out->n : BATCH + 1);
}

static uint32_t event_at(const struct ss_device_walk *s, size_t at)
{
	return s->order ? s->order[at] : (uint32_t)at;
}

/* Does the pause between a piece and the next one belong to the piece? */
static bool pause_counts(const struct ss_device_walk *s, const struct ss_claim *c, int64_t next_ps)
{
	return c->end_ps < next_ps && s->p->kind == SS_PLANE_TENSOR_CORE && c->rank <= SS_RANK_COLLECTIVE &&
	       ss_safe_between(c->end_ps, next_ps) < SS_TPU_PAUSE_PS;
}

static bool put(struct ss_device_walk *s, int64_t begin_ps, int64_t end_ps, const struct ss_claim *c)
{
	struct ss_claim *last = s->made.n ? &s->made.v[s->made.n - 1] : NULL;
	if (end_ps <= begin_ps)
		return true;
	if (last && pause_counts(s, last, begin_ps))
		last->end_ps = begin_ps;
	return ss_vec_push(&s->made, ((struct ss_claim){ begin_ps, end_ps, c->rank, c->owner }));
}

static bool go_on(struct ss_device_walk *s, int64_t until_ps)
{
	bool ok = true;
	for (; ok && s->open.n && s->open.v[s->open.n - 1].end_ps <= until_ps; s->open.n--) {
		const struct ss_claim *c = &s->open.v[s->open.n - 1];
		ok = put(s, s->now_ps, c->end_ps, c);
		s->now_ps = c->end_ps > s->now_ps ? c->end_ps : s->now_ps;
	}
	if (ok && until_ps > s->now_ps) {
		if (s->open.n)
			ok = put(s, s->now_ps, until_ps, &s->open.v[s->open.n - 1]);
		s->now_ps = until_ps;
	}
	return ok;
}

/* The next event: nested ones need a second look when what they interrupt goes on. */
static bool step(struct ss_device_walk *s)
{
	const struct ss_xevents *e = &s->l->ev;
	uint32_t i = event_at(s, s->next++);
	struct ss_claim c = { .begin_ps = e->begin_ps[i], .end_ps = ss_xevents_end_ps(e, i) };
	if (c.end_ps <= c.begin_ps || c.end_ps <= s->w->begin_ps || c.begin_ps >= s->w->end_ps)
		return true;
	enum ss_device_event event = s->event(s->arg, s->l, i, &c);
	if (event != SS_DEVICE_EVENT_CLAIMS)
		return event == SS_DEVICE_EVENT_PASSES;
	if (s->open.n && !go_on(s, c.begin_ps))
		return false;
	if (!s->open.n && c.begin_ps >= s->now_ps &&
	    (s->next == s->n || e->begin_ps[event_at(s, s->next)] >= c.end_ps)) {
		s->now_ps = c.end_ps;
		return put(s, c.begin_ps, c.end_ps, &c);
	}
	return go_on(s, c.begin_ps) && ss_vec_push(&s->open, c);
}

bool ss_device_walk_more(struct ss_claims *c)
{
	struct ss_device_walk *s = c->arg;
	bool ok = true;
	s->made.n -= s->given;
	if (s->made.n)
		s->made.v[0] = s->made.v[s->given];
	while (ok && s->made.n < BATCH && s->next < s->n)
		ok = step(s);
	if (ok && s->next == s->n && !s->over) {
		ok = go_on(s, INT64_MAX);
		s->over = true;
	}
	c->v = s->made.v;
	c->n = s->given = s->over || !s->made.n ? s->made.n : s->made.n - 1;
	return ok;
}

void ss_device_walk_free(struct ss_device_walk *s)
{
	free(s->order);
	ss_vec_free(&s->open);
	ss_vec_free(&s->made);
}
