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
		     (uint64_t)b->w->n * b->nplanes <= MOST_STEPS_OF_ALL;
	if (steps && !s->steps)
		s->steps = SS_NEW_N(b->arena, struct ss_unit_step, b->w->n);
	s->at = 0;
	s->step = (struct ss_sums_step){ 0 };
	return !steps || s->steps;
}

/* The place of an owner; those that come into being with it own nothing. NULL: no memory. */
#define AT(vec, i) \
	((i) < (vec)->n || (ss_vec_reserve((vec), (size_t)(i) + 1) && \
			    (memset((vec)->v + (vec)->n, 0, ((i) + 1 - (vec)->n) * sizeof(*(vec)->v)), (vec)->n = (i) + 1)) \
		 ? &(vec)->v[i] \
		 : NULL)

/* A device names only what is its own, so that many devices with many names hold each of them once. */
static struct ss_tally *tally_of(struct ss_time_sums *s, const struct ss_attr_build *b, uint32_t owner)
{
	size_t call = owner & ~SS_OWNER_CALL;
	if (owner & SS_OWNER_CALL)
		return AT(&s->calls, call);
	if (owner >= b->first_host_owner)
		return AT(&s->host, (size_t)(owner - b->first_host_owner));
	ss_assert(owner >= s->first);
	return AT(&s->device, (size_t)(owner - s->first));
}

/* A piece within `s->step`. */
static bool give(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p)
{
	const struct ss_sums_step *step = &s->step;
	uint64_t ps = ss_safe_between(p->begin_ps, p->end_ps);
	s->ps[p->class][step->region] += ps;
	if (b->reader) {
		b->reader->piece(b->reader->arg, step->at, p->owner & SS_OWNER_CALL ? SS_NO_OWNER : p->owner, p->class, ps);
		return true;
	}
	if (step->kept)
		step->kept->ps[p->class] += ps;
	if (p->owner == SS_NONE)
		return true;
	struct ss_tally *t = tally_of(s, b, p->owner);
	if (!t)
		return false;
	ss_tally_add(t, step->region, p->begin_ps, p->end_ps);
	return true;
}

/* The step that holds a moment, or the time between two; without steps all time is one. */
static void find_step(struct ss_time_sums *s, const struct ss_windows *w, int64_t t_ps)
{
	while (s->at < w->n && w->v[s->at].end_ps <= t_ps)
		s->at++;
	const struct ss_window *next = s->at < w->n ? &w->v[s->at] : NULL;
	if (next && next->begin_ps <= t_ps)
		s->step = (struct ss_sums_step){ next->begin_ps, next->end_ps, next->outlier ? SS_REGION_OUTLIERS : SS_REGION_STEPS,
						 s->steps ? &s->steps[s->at] : NULL, s->at };
	else
		s->step = (struct ss_sums_step){ t_ps, next ? next->begin_ps : INT64_MAX,
						 w->n ? SS_REGION_BETWEEN : SS_REGION_STEPS, NULL, SIZE_MAX };
}

bool ss_sums_add(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p)
{
	if (p->begin_ps >= s->step.begin_ps && p->end_ps <= s->step.end_ps)
		return give(s, b, p);
	struct ss_time_piece part = *p;
	bool ok = true;
	for (; ok && part.begin_ps < p->end_ps; part.begin_ps = part.end_ps) {
		if (part.begin_ps < s->step.begin_ps || part.begin_ps >= s->step.end_ps)
			find_step(s, b->w, part.begin_ps);
		part.end_ps = p->end_ps < s->step.end_ps ? p->end_ps : s->step.end_ps;
		ok = give(s, b, &part);
	}
	return ok;
}

void ss_sums_free(struct ss_time_sums *s)
{
	ss_vec_free(&s->device);
	ss_vec_free(&s->host);
	ss_vec_free(&s->calls);
}
