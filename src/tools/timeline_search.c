/* timeline_search.c - matches of a text, nearest to a place, in common order of begin and number. */
#include "tools/timeline.h"

#include "model/model.h"
#include "tools/timeline_build.h"

#include <stdlib.h>

/* One track's matches on their way into the common order. */
struct stream {
	size_t host;
	uint32_t track;
	const uint32_t *pos;
	uint32_t n, at;		/* at: from the front, or how many are left when going backward */
};

struct search {
	struct ss_timeline_build *b;
	struct ss_trace_found *found;	/* per host */
	struct stream *streams;
	size_t nstreams;
	bool backward;
};

/* The place in the host's own time and numbers. */
static struct ss_trace_find host_query(const struct ss_timeline_build *b, size_t h, const struct ss_timeline_search *q,
				       uint64_t begin_ps, int64_t event)
{
	uint64_t own_ps = ss_trace_own(b->mt, h, begin_ps);
	return (struct ss_trace_find){
		.text = q->text, .how = SS_MATCH_WITHIN, .limit = q->limit, .backward = q->where == SS_SEARCH_BEFORE,
		.begin_ps = own_ps,
		/* Only where it is the very moment do numbers decide. */
		.event = ss_trace_shown(b->mt, h, own_ps) == begin_ps ? event - (int64_t)b->mt->first_event[h] : INT64_MIN,
	};
}

/* Begin and number that the query's place stands for: what is at or behind them follows. */
static bool place_of(const struct ss_timeline_build *b, const struct ss_timeline_search *q, uint64_t *begin_ps,
		     int64_t *event, struct ss_err *err)
{
	size_t h = 0;
	*begin_ps = q->where == SS_SEARCH_FROM ? q->from_ps : 0;
	*event = INT64_MIN / 2;
	if (q->where == SS_SEARCH_FIRST || q->where == SS_SEARCH_FROM)
		return true;
	while (h < b->mt->nhosts && q->event >= b->mt->first_event[h + 1])
		h++;
	if (h == b->mt->nhosts)
		return ss_fail(err, SS_ENOTFOUND, "there is no event %llu", (unsigned long long)q->event);
	const struct ss_trace *tr = b->mt->hosts[h];
	uint64_t own = q->event - b->mt->first_event[h];
	const struct ss_track *t = &tr->tracks[ss_trace_track_of(tr, own)];
	*begin_ps = ss_trace_shown(b->mt, h, ss_track_begin_ps(t, (uint32_t)own - t->first));
	*event = (int64_t)q->event + (q->where == SS_SEARCH_AFTER);
	return true;
}

static uint32_t next_pos(const struct search *s, const struct stream *st)
{
	return s->backward ? st->pos[st->at - 1] : st->pos[st->at];
}

/* Of two streams, whose next match comes first (or, backward, last)? */
static bool comes_first(const struct search *s, const struct stream *a, const struct stream *b)
{
	const struct ss_model_trace *mt = s->b->mt;
	const struct ss_track *ta = &mt->hosts[a->host]->tracks[a->track], *tb = &mt->hosts[b->host]->tracks[b->track];
	uint32_t pa = next_pos(s, a), pb = next_pos(s, b);
	uint64_t ba = ss_trace_shown(mt, a->host, ss_track_begin_ps(ta, pa));
	uint64_t bb = ss_trace_shown(mt, b->host, ss_track_begin_ps(tb, pb));
	if (ba != bb)
		return (ba < bb) != s->backward;
	uint64_t na = (uint64_t)mt->first_event[a->host] + ta->first + pa;
	uint64_t nb = (uint64_t)mt->first_event[b->host] + tb->first + pb;
	return (na < nb) != s->backward;
}

static bool is_left(const struct search *s, const struct stream *st)
{
	return s->backward ? st->at > 0 : st->at < st->n;
}

static bool list_streams(struct search *s)
{
	const struct ss_model_trace *mt = s->b->mt;
	s->streams = calloc(s->b->tl->ntracks + 1, sizeof(*s->streams));
	for (size_t h = 0; s->streams && h < mt->nhosts; h++)
		for (uint32_t i = 0; i < mt->hosts[h]->ntracks; i++) {
			const struct ss_track_hits *th = &s->found[h].hits.tracks[i];
			if (th->n)
				s->streams[s->nstreams++] = (struct stream){
					h, i, s->found[h].hits.pos + th->first, th->n, s->backward ? th->n : 0,
				};
		}
	return s->streams;
}

static void sift_down(struct search *s, size_t i)
{
	struct stream own = s->streams[i];
	for (size_t kid; (kid = i * 2 + 1) < s->nstreams; i = kid) {
		if (kid + 1 < s->nstreams && comes_first(s, &s->streams[kid + 1], &s->streams[kid]))
			kid++;
		if (!comes_first(s, &s->streams[kid], &own))
			break;
		s->streams[i] = s->streams[kid];
	}
	s->streams[i] = own;
}

/* Take the nearest `limit` matches of all streams: a heap of them. */
static bool take(struct search *s, size_t limit, struct ss_err *err)
{
	for (size_t i = s->nstreams / 2; i-- > 0;)
		sift_down(s, i);
	while (s->nstreams && s->b->tl->nslices < limit) {
		struct stream *best = &s->streams[0];
		uint32_t pos = next_pos(s, best);
		if (!ss_timeline_add(s->b, best->host, best->track, &pos, 1, err))
			return false;
		best->at = s->backward ? best->at - 1 : best->at + 1;
		if (!is_left(s, best))
			*best = s->streams[--s->nstreams];
		if (s->nstreams)
			sift_down(s, 0);
	}
	return true;
}

static void reverse(struct ss_timeline *tl)
{
	for (size_t i = 0, k = tl->nslices; i + 1 < k; i++) {
		struct ss_tl_slice tmp = tl->slices[i];
		tl->slices[i] = tl->slices[--k];
		tl->slices[k] = tmp;
	}
}

static bool run(struct search *s, const struct ss_timeline_search *q, struct ss_err *err)
{
	struct ss_timeline *tl = s->b->tl;
	uint64_t begin_ps, before = 0;
	int64_t event;
	if (!place_of(s->b, q, &begin_ps, &event, err))
		return false;
	for (size_t h = 0; h < s->b->mt->nhosts; h++) {
		struct ss_trace_find find = host_query(s->b, h, q, begin_ps, event);
		if (!ss_trace_find(s->b->mt->hosts[h], &find, &s->found[h], err))
			return false;
		tl->nfound += s->found[h].total;
		before += s->found[h].before;
	}
	size_t limit = q->limit < tl->nfound ? q->limit : (size_t)tl->nfound;
	if (!list_streams(s))
		return ss_fail_mem(err);
	if (!ss_timeline_reserve(s->b, limit, err) || !take(s, limit, err))
		return false;
	if (s->backward)
		reverse(tl);
	tl->rank = s->backward ? before - tl->nslices : before;
	return true;
}

struct ss_timeline *ss_timeline_search(struct ss_model *m, const struct ss_timeline_search *q, struct ss_arena *arena,
				       struct ss_err *err)
{
	struct ss_timeline_build b;
	struct search s = { .b = &b, .backward = q->where == SS_SEARCH_BEFORE };
	if (q->limit > 10000) {
		ss_fail(err, SS_EINVAL, "the parameter 'limit' must be at most 10000");
		return NULL;
	}
	bool ok = ss_timeline_begin(&b, m, 0, arena, err);
	s.found = calloc(m->nhosts + 1, sizeof(*s.found));
	if (ok && !s.found)
		ok = ss_fail_mem(err);
	if (ok && q->text.n)
		ok = run(&s, q, err);
	for (size_t h = 0; s.found && h < m->nhosts; h++)
		ss_trace_hits_free(&s.found[h].hits);
	free(s.found);
	free(s.streams);
	if (!ss_timeline_end(&b) && ok)
		ok = ss_fail_mem(err);
	return ok ? b.tl : NULL;
}
