/* sums.c - see build.h: pieces of time, summed. */
#include "base/bisect.h"
#include "base/safe.h"
#include "model/attribution/build.h"

#include <stdlib.h>

size_t ss_window_at(const struct ss_windows *w, int64_t t_ps, size_t *at)
{
	size_t lo = 0, hi = w->n;
	if (*at < w->n && w->v[*at].begin_ps <= t_ps && t_ps < w->v[*at].end_ps)
		return *at;
	SS_BISECT(lo, hi, mid, w->v[mid].end_ps <= t_ps);
	*at = lo;
	return lo < w->n && w->v[lo].begin_ps <= t_ps ? lo : SIZE_MAX;
}

/* The limit for all units of a host together: 200 MB. */
#define MOST_STEPS_OF_ALL (UINT64_C(1) << 21)

bool ss_sums_begin(struct ss_time_sums *s, struct ss_attr_build *b)
{
	bool steps = !b->reader && b->w->n && b->w->n <= SS_MOST_KEPT_STEPS &&
		     (uint64_t)b->w->n * b->h->nplanes <= MOST_STEPS_OF_ALL;
	if (steps && !s->steps)
		s->steps = SS_NEW_N(b->arena, struct ss_unit_step, b->w->n);
	s->at = 0;
	return !steps || s->steps;
}

/* The place of an owner; those that come into being with it own nothing. NULL: no memory. */
#define AT(vec, i) \
	((i) < (vec)->n || (ss_vec_reserve((vec), (size_t)(i) + 1) && \
			    (memset((vec)->v + (vec)->n, 0, ((i) + 1 - (vec)->n) * sizeof(*(vec)->v)), (vec)->n = (i) + 1)) \
		 ? &(vec)->v[i] \
		 : NULL)

struct ss_tally *ss_sums_of_device(struct ss_time_sums *s, uint32_t owner)
{
	ss_assert(owner >= s->first);
	return AT(&s->device, (size_t)(owner - s->first));
}

/* A device names only what is its own, so that many devices with many names hold each of them once. */
static struct ss_tally *tally_of(struct ss_time_sums *s, const struct ss_attr_build *b, uint32_t owner)
{
	size_t call = owner & ~SS_OWNER_CALL;
	if (owner & SS_OWNER_CALL)
		return AT(&s->calls, call);
	if (owner >= b->first_host_owner)
		return AT(&s->host, (size_t)(owner - b->first_host_owner));
	return ss_sums_of_device(s, owner);
}

static bool give(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p,
		 enum ss_time_region region, size_t step)
{
	uint64_t ps = ss_safe_between(p->begin_ps, p->end_ps);
	s->ps[p->class][region] += ps;
	if (b->reader) {
		b->reader->piece(b->reader->arg, step, p->owner & SS_OWNER_CALL ? SS_NO_OWNER : p->owner, p->class, ps);
		return true;
	}
	if (step != SIZE_MAX && s->steps)
		s->steps[step].ps[p->class] += ps;
	if (p->owner == SS_NONE)
		return true;
	struct ss_tally *t = tally_of(s, b, p->owner);
	if (!t)
		return false;
	ss_tally_add(t, region, p->begin_ps, p->end_ps);
	return true;
}

static enum ss_time_region region_of(const struct ss_window *w)
{
	return !w ? SS_REGION_BETWEEN : w->outlier ? SS_REGION_OUTLIERS : SS_REGION_STEPS;
}

bool ss_sums_step_at(const struct ss_time_sums *s, const struct ss_windows *w, int64_t t_ps, struct ss_sums_step *out)
{
	size_t i = s->at;
	while (i < w->n && w->v[i].end_ps <= t_ps)
		i++;
	*out = (struct ss_sums_step){ w->begin_ps, w->end_ps, SS_REGION_STEPS, NULL, i };
	if (i < w->n) {
		out->begin_ps = w->v[i].begin_ps;
		out->end_ps = w->v[i].end_ps;
		out->region = region_of(&w->v[i]);
		out->kept = s->steps ? &s->steps[i] : NULL;
	}
	return (!w->n || i < w->n) && out->begin_ps <= t_ps && t_ps < out->end_ps;
}

/* Cut at the bounds of steps. */
static bool add_parts(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p)
{
	const struct ss_windows *w = b->w;
	struct ss_time_piece part = *p;
	bool ok = true;
	for (; ok && part.begin_ps < p->end_ps; part.begin_ps = part.end_ps) {
		while (s->at < w->n && w->v[s->at].end_ps <= part.begin_ps)
			s->at++;
		const struct ss_window *next = s->at < w->n ? &w->v[s->at] : NULL;
		bool inside = next && next->begin_ps <= part.begin_ps;
		int64_t to_ps = !next ? p->end_ps : inside ? next->end_ps : next->begin_ps;
		part.end_ps = to_ps < p->end_ps ? to_ps : p->end_ps;
		ok = give(s, b, &part, region_of(inside ? next : NULL), inside ? s->at : SIZE_MAX);
	}
	return ok;
}

bool ss_sums_add(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p)
{
	const struct ss_windows *w = b->w;
	if (!w->n)
		return give(s, b, p, SS_REGION_STEPS, SIZE_MAX);
	const struct ss_window *at = s->at < w->n ? &w->v[s->at] : NULL;
	if (at && at->begin_ps <= p->begin_ps && p->end_ps <= at->end_ps)
		return give(s, b, p, region_of(at), s->at);
	return add_parts(s, b, p);
}

void ss_sums_free(struct ss_time_sums *s)
{
	ss_vec_free(&s->device);
	ss_vec_free(&s->host);
	ss_vec_free(&s->calls);
}
