/*
 * trace_search.c - events by name. A name is held against the text once per metadata entry; events
 * are then found by their entry's byte.
 */
#include "model/timeline/trace.h"

#include "base/icontains.h"
#include "base/vec.h"

#include <stdlib.h>

static bool matches(struct ss_str name, struct ss_str text, enum ss_match how)
{
	return how == SS_MATCH_PREFIX ? ss_str_starts(name, text) : ss_str_icontains(name, text);
}

/* One byte for each event name of the plane, and one more for events without: does it match? */
static uint8_t *match_names(const struct ss_plane *p, struct ss_str text, enum ss_match how)
{
	uint32_t n = p->x->nevent_meta + p->nsynthetic;
	uint8_t *match = malloc((size_t)n + 1);
	for (uint32_t i = 0; match && i < n; i++)
		match[i] = matches(ss_event_label(p, i), text, how);
	if (match)
		match[n] = matches(SS_STR(""), text, how);
	return match;
}

/* Matches on one track: `match` is by metadata, `named` the next of the track's own names. */
struct cursor {
	const struct ss_track *t;
	const uint8_t *match;
	uint32_t none;
	struct ss_str text;
	enum ss_match how;
};

static bool is_hit(const struct cursor *c, uint32_t pos)
{
	const struct ss_track *t = c->t;
	if (t->level[pos] == SS_TRACE_HIDDEN)
		return false;
	if (t->nnames)
		return matches(ss_track_event_name(t, pos), c->text, c->how);
	uint32_t meta = ss_display_meta(t->line, ss_track_event(t, pos));
	return c->match[meta == SS_NONE ? c->none : meta];
}

/* How many match in [from, to). A table look-up an event where names and order are the line's. */
static uint64_t count(const struct cursor *c, uint32_t from, uint32_t to)
{
	const struct ss_track *t = c->t;
	uint64_t n = 0;
	if (t->order || t->nnames || t->nshown < t->n) {
		for (uint32_t pos = from; pos < to; pos++)
			n += is_hit(c, pos);
		return n;
	}
	const uint8_t *match = c->match;
	for (uint32_t pos = from; pos < to; pos++) {
		uint32_t meta = ss_display_meta(t->line, pos);
		n += match[meta == SS_NONE ? c->none : meta];
	}
	return n;
}

static bool add(struct ss_trace_hits *out, uint32_t pos)
{
	if (out->n == out->cap && !ss_grow((void **)&out->pos, &out->cap, out->n + 1, sizeof(*out->pos)))
		return false;
	out->pos[out->n++] = pos;
	return true;
}

/* Runs `fn` on every track, with the table of its plane's names. */
typedef bool track_fn(void *arg, uint32_t track, const struct cursor *c);

static bool each_track(const struct ss_trace *tr, struct ss_str text, enum ss_match how, track_fn *fn, void *arg)
{
	struct cursor c = { .text = text, .how = how };
	const struct ss_plane *plane = NULL;
	uint8_t *match = NULL;
	bool ok = true;
	for (uint32_t i = 0; ok && i < tr->ntracks; i++) {
		c.t = &tr->tracks[i];
		if (c.t->plane != plane) {
			free(match);
			match = match_names(c.t->plane, text, how);
			plane = c.t->plane;
			c.match = match;
			c.none = plane->x->nevent_meta + plane->nsynthetic;
		}
		ok = match && fn(arg, i, &c);
	}
	free(match);
	return ok;
}

static bool match_track(void *arg, uint32_t track, const struct cursor *c)
{
	struct ss_trace_hits *out = arg;
	out->tracks[track].first = out->n;
	for (uint32_t pos = 0; pos < c->t->n; pos++)
		if (is_hit(c, pos) && !add(out, pos))
			return false;
	out->tracks[track].n = (uint32_t)(out->n - out->tracks[track].first);
	return true;
}

bool ss_trace_match(const struct ss_trace *tr, struct ss_str text, enum ss_match how, struct ss_trace_hits *out,
		    struct ss_err *err)
{
	*out = (struct ss_trace_hits){ .tracks = calloc((size_t)tr->ntracks + 1, sizeof(*out->tracks)) };
	if (out->tracks && each_track(tr, text, how, match_track, out))
		return true;
	ss_trace_hits_free(out);
	return ss_fail_mem(err);
}

struct search {
	const struct ss_trace_find *q;
	struct ss_trace_found *out;
};

/* The first position at or behind the place. */
static uint32_t place_on(const struct ss_track *t, const struct ss_trace_find *q)
{
	uint32_t lo = ss_track_lower(t, q->begin_ps);
	uint32_t hi = q->begin_ps < (uint64_t)INT64_MAX ? ss_track_lower(t, q->begin_ps + 1) : t->n;
	int64_t first = (int64_t)t->first, pos = q->event < first ? 0 : q->event - first;
	return pos <= (int64_t)lo ? lo : pos >= (int64_t)hi ? hi : (uint32_t)pos;
}

static bool find_on_track(void *arg, uint32_t track, const struct cursor *c)
{
	struct search *search = arg;
	struct ss_trace_hits *out = &search->out->hits;
	uint32_t place = place_on(c->t, search->q);
	uint64_t before = count(c, 0, place), after = count(c, place, c->t->n);
	uint64_t near = search->q->backward ? before : after;
	size_t wanted = near < search->q->limit ? (size_t)near : search->q->limit;
	uint32_t pos = place;
	search->out->before += before;
	search->out->total += before + after;
	out->tracks[track].first = out->n;
	out->tracks[track].n = (uint32_t)wanted;
	/* Backward: go to the first of those wanted. */
	for (size_t left = wanted; search->q->backward && left; left -= is_hit(c, pos))
		pos--;
	for (size_t left = wanted; left; pos++) {
		if (!is_hit(c, pos))
			continue;
		if (!add(out, pos))
			return false;
		left--;
	}
	return true;
}

bool ss_trace_find(const struct ss_trace *tr, const struct ss_trace_find *q, struct ss_trace_found *out,
		   struct ss_err *err)
{
	struct search search = { q, out };
	*out = (struct ss_trace_found){ 0 };
	out->hits.tracks = calloc((size_t)tr->ntracks + 1, sizeof(*out->hits.tracks));
	if (out->hits.tracks && each_track(tr, q->text, q->how, find_on_track, &search))
		return true;
	ss_trace_hits_free(&out->hits);
	return ss_fail_mem(err);
}

void ss_trace_hits_free(struct ss_trace_hits *h)
{
	free(h->pos);
	free(h->tracks);
	*h = (struct ss_trace_hits){ 0 };
}
