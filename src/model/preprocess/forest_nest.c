/*
 * forest_nest.c - which events of a line lie around others.
 *
 * Only events that a group can come to are kept: those with links, roots, and what is around them. In a
 * recording of Python's calls with a mark a step, that is the marks.
 */
#include "base/bisect.h"
#include "model/preprocess/forest.h"

#include <stdlib.h>

static bool includes(const struct ss_xevents *e, uint32_t outer, uint32_t inner)
{
	return e->begin_ps[outer] <= e->begin_ps[inner] && ss_xevents_end_ps(e, inner) <= ss_xevents_end_ps(e, outer);
}

static void close_last(struct ss_nest_walk *w, uint32_t before)
{
	const struct ss_open_event *o = &w->open.v[--w->open.n];
	if (o->kept != SS_NONE)
		w->line->nested.v[o->kept].end = before;
}

enum ss_nest_entered ss_nest_walk_enter(struct ss_nest_walk *w, uint32_t i)
{
	const struct ss_forest_line *fl = w->line;
	if (w->async < fl->asyncs.n && fl->asyncs.v[w->async] == i) {
		w->async++;
		return SS_NEST_ASYNC;
	}
	while (w->open.n && !includes(&fl->l->ev, w->open.v[w->open.n - 1].event, i))
		close_last(w, i);
	return ss_vec_push(&w->open, (struct ss_open_event){ i, SS_NONE }) ? SS_NEST_ENTERED : SS_NEST_NO_MEMORY;
}

/*
 * Keep what is open. What is around a kept event is kept already, and what is not kept yet begins behind all that is: the
 * nested events are in their order.
 */
static bool keep_open(struct ss_nest_walk *w)
{
	struct ss_forest_line *fl = w->line;
	size_t k = w->open.n;
	while (k && w->open.v[k - 1].kept == SS_NONE)
		k--;
	for (; k < w->open.n; k++) {
		struct ss_open_event *o = &w->open.v[k];
		o->kept = (uint32_t)fl->nested.n;
		if (!ss_vec_push(&fl->nested, (struct ss_nested){ o->event, k ? w->open.v[k - 1].event : SS_NONE, fl->l->ev.n }))
			return false;
	}
	return true;
}

/* The rest of the events with links and of the roots of a line, in the order of the events. */
struct keys {
	const struct ss_forest_line *line;
	size_t out, in, root;
};

static bool keys_left(const struct keys *k)
{
	return k->out < k->line->out.n || k->in < k->line->in.n || k->root < k->line->roots.n;
}

static bool pass_key(struct keys *k, uint32_t i)
{
	const struct ss_forest_line *fl = k->line;
	bool key = false;
	for (; k->out < fl->out.n && fl->out.v[k->out].event == i; k->out++)
		key = true;
	for (; k->in < fl->in.n && fl->in.v[k->in].event == i; k->in++)
		key = true;
	for (; k->root < fl->roots.n && fl->roots.v[k->root].event == i; k->root++)
		key = true;
	return key;
}

static bool ends_are_due(const struct ss_nest_walk *w)
{
	return w->open.n && w->open.v[0].kept != SS_NONE;
}

bool ss_forest_nest(struct ss_forest_line *fl)
{
	struct ss_nest_walk w = { .line = fl };
	struct keys keys = { .line = fl };
	bool ok = true;
	fl->is_nested = true;
	for (uint32_t i = 0; ok && i < fl->l->ev.n && (keys_left(&keys) || ends_are_due(&w)); i++) {
		enum ss_nest_entered entered = ss_nest_walk_enter(&w, i);
		bool key = pass_key(&keys, i);
		ok = entered != SS_NEST_NO_MEMORY && (!key || entered == SS_NEST_ASYNC || keep_open(&w));
	}
	ss_vec_free(&w.open);
	return ok;
}

const struct ss_nested *ss_forest_nested(const struct ss_forest_line *fl, uint32_t event)
{
	size_t lo = 0, hi = fl->nested.n;
	SS_BISECT(lo, hi, mid, fl->nested.v[mid].event < event);
	return lo < fl->nested.n && fl->nested.v[lo].event == event ? &fl->nested.v[lo] : NULL;
}
