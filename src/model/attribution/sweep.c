/*
 * sweep.c - each moment of a unit goes to one claim (exclusive.h), pauses too short to mean
 * anything go to what follows, and the sums.
 */
#include "base/bisect.h"
#include "base/safe.h"
#include "model/attribution/build.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

struct piece {
	int64_t begin_ps, end_ps;
	enum ss_time_class class;
	uint32_t owner; /* SS_NONE: nobody */
};

struct sweep {
	struct ss_attr_build *b;
	struct ss_time_unit *out;
	struct piece pending;
	enum ss_time_class before; /* of what came before the pending piece */
	bool any;
	size_t at; /* windows before it are over */
};

size_t ss_window_at(const struct ss_windows *w, int64_t t_ps, size_t *at)
{
	size_t lo = 0, hi = w->n;
	if (*at < w->n && w->v[*at].begin_ps <= t_ps && t_ps < w->v[*at].end_ps)
		return *at;
	SS_BISECT(lo, hi, mid, w->v[mid].end_ps <= t_ps);
	*at = lo;
	return lo < w->n && w->v[lo].begin_ps <= t_ps ? lo : SIZE_MAX;
}

static void give(struct sweep *s, const struct piece *p, int64_t begin_ps, int64_t end_ps, enum ss_time_region region,
		 size_t step)
{
	uint64_t ps = ss_safe_between(begin_ps, end_ps);
	s->out->ps[p->class][region] += ps;
	if (s->b->reader) {
		s->b->reader->piece(s->b->reader->arg, step,
				    p->owner & SS_OWNER_CALL ? SS_NO_OWNER : p->owner, p->class, ps);
		return;
	}
	if (step != SIZE_MAX && s->out->steps)
		s->out->steps[step].ps[p->class] += ps;
	if (p->owner == SS_NONE)
		return;
	struct ss_tally *t =
		p->owner & SS_OWNER_CALL ? &s->b->call_tally[p->owner & ~SS_OWNER_CALL] : &s->b->named_tally[p->owner];
	t->ps[region] += ps;
	if (ps > ss_safe_between(t->begin_ps, t->end_ps)) {
		t->begin_ps = begin_ps;
		t->end_ps = end_ps;
	}
}

/* Cut the piece at the bounds of steps. */
static void account(struct sweep *s, const struct piece *p)
{
	const struct ss_windows *w = s->b->w;
	int64_t from_ps = p->begin_ps;
	if (!w->n) {
		give(s, p, p->begin_ps, p->end_ps, SS_REGION_STEPS, SIZE_MAX);
		return;
	}
	while (from_ps < p->end_ps) {
		while (s->at < w->n && w->v[s->at].end_ps <= from_ps)
			s->at++;
		bool inside = s->at < w->n && w->v[s->at].begin_ps <= from_ps;
		int64_t to_ps = s->at == w->n ? p->end_ps : inside ? w->v[s->at].end_ps : w->v[s->at].begin_ps;
		to_ps = to_ps < p->end_ps ? to_ps : p->end_ps;
		give(s, p, from_ps, to_ps,
		     !inside		   ? SS_REGION_BETWEEN
		     : w->v[s->at].outlier ? SS_REGION_OUTLIERS
					   : SS_REGION_STEPS,
		     inside ? s->at : SIZE_MAX);
		from_ps = to_ps;
	}
}

static bool works(enum ss_time_class c)
{
	return c == SS_TIME_COMPUTE || c == SS_TIME_COLLECTIVE || c == SS_TIME_COPY || c == SS_TIME_CALLBACK;
}

/* A pause of some microseconds is nobody's fault: it belongs to what it leads to. */
static void settle(struct sweep *s, const struct piece *next)
{
	struct piece *p = &s->pending;
	uint64_t dur_ps = ss_safe_between(p->begin_ps, p->end_ps);
	bool pause = (p->class == SS_TIME_UNKNOWN || p->class == SS_TIME_SYNC) && dur_ps < SS_SHORT_PAUSE_PS && next;
	bool started = pause && (s->before == SS_TIME_LAUNCH || next->class == SS_TIME_LAUNCH);
	if (pause && s->b->has_device) {
		/*
		 * Between kernels it is the start of one if the host is seen starting it, or if it
		 * is no longer than that.
		 */
		if (started || (s->b->is_gpu && works(next->class) && dur_ps < SS_KERNEL_START_PS)) {
			p->owner = next->class == SS_TIME_LAUNCH ? next->owner : SS_NONE;
			p->class = SS_TIME_LAUNCH;
		}
	} else if (pause && next->class == SS_TIME_LAUNCH) {
		p->class = SS_TIME_LAUNCH;
		p->owner = next->owner;
	} else if (pause && works(next->class)) {
		p->class = started && next->class == SS_TIME_COMPUTE && p->class == SS_TIME_UNKNOWN ? SS_TIME_LAUNCH
												    : next->class;
		p->owner = SS_NONE;
	} else if (p->class == SS_TIME_HOST_CODE && dur_ps < SS_SHORT_PYTHON_PS && next &&
		   s->before == SS_TIME_LAUNCH && (next->class == SS_TIME_LAUNCH || next->class == SS_TIME_COMPUTE)) {
		p->class = SS_TIME_LAUNCH;
		p->owner = SS_NONE;
	}
}

static bool piece(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner)
{
	struct sweep *s = ctx;
	struct piece next = { begin_ps, end_ps, SS_TIME_UNKNOWN, SS_NONE };
	if (winner) {
		next.owner = winner->owner;
		next.class = ss_owner_class(s->b, winner->owner);
	}
	if (s->any) {
		settle(s, &next);
		account(s, &s->pending);
		s->before = s->pending.class;
	}
	s->pending = next;
	s->any = true;
	return true;
}

bool ss_attr_sweep(struct ss_attr_build *b, const struct ss_claim *claims, size_t n, struct ss_time_unit *out)
{
	struct sweep s = { .b = b, .out = out, .before = SS_TIME_UNKNOWN };
	b->call_tally = b->reader ? NULL : calloc(b->calls.n + 1, sizeof(*b->call_tally));
	b->named_tally = b->reader ? NULL : calloc(b->named.n + 1, sizeof(*b->named_tally));
	bool ok = b->reader || (b->call_tally && b->named_tally);
	if (ok && !b->reader && b->w->n && b->w->n <= SS_MOST_KEPT_STEPS)
		ok = (out->steps = SS_NEW_N(b->arena, struct ss_unit_step, b->w->n)) != NULL;
	ok = ok && ss_exclusive(claims, n, b->w->begin_ps, b->w->end_ps, piece, &s);
	if (ok && s.any)
		account(&s, &s.pending);
	out->window_ps = ss_safe_between(b->w->begin_ps, b->w->end_ps);
	return ok;
}
