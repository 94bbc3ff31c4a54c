/*
 * sweep.c - each moment of a unit goes to one claim (exclusive.h), and pauses too short to mean
 * anything go to what follows.
 */
#include "base/safe.h"
#include "model/attribution/build.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

struct sweep {
	struct ss_attr_build *b;
	struct ss_time_sums *sums;
	struct ss_time_piece pending;
	enum ss_time_class before; /* of what came before the pending piece */
	bool any;
};

static bool works(enum ss_time_class c)
{
	return c == SS_TIME_COMPUTE || c == SS_TIME_COLLECTIVE || c == SS_TIME_COPY || c == SS_TIME_CALLBACK;
}

/* A pause of some microseconds is nobody's fault: it belongs to what it leads to. */
static void settle(struct sweep *s, const struct ss_time_piece *next)
{
	struct ss_time_piece *p = &s->pending;
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

static bool account(struct sweep *s)
{
	return s->pending.owner == SS_OWNER_GIVEN || ss_sums_add(s->sums, s->b, &s->pending);
}

static bool piece(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner)
{
	struct sweep *s = ctx;
	struct ss_time_piece next = { begin_ps, end_ps, SS_TIME_UNKNOWN, SS_NONE };
	bool ok = true;
	if (winner) {
		next.owner = winner->owner;
		next.class = next.owner == SS_OWNER_GIVEN ? SS_TIME_COMPUTE : ss_owner_class(s->b, next.owner);
	}
	if (s->any) {
		settle(s, &next);
		ok = account(s);
		s->before = s->pending.class;
	}
	s->pending = next;
	s->any = true;
	return ok;
}

bool ss_attr_sweep(struct ss_attr_build *b, const struct ss_device_claims *d, struct ss_time_sums *sums)
{
	struct sweep s = { .b = b, .sums = sums, .before = SS_TIME_UNKNOWN };
	size_t n = ss_thread_streams(b, NULL);
	struct ss_claims *sources = malloc((n + 2) * sizeof(*sources));
	if (!sources)
		return false;
	ss_thread_streams(b, sources);
	sources[n++] = (struct ss_claims){ .v = b->threads.v, .n = b->threads.n };
	sources[n++] = (struct ss_claims){ .v = d ? d->v.v : NULL, .n = d ? d->v.n : 0 };
	bool ok = ss_sums_begin(sums, b) && ss_exclusive_of(sources, n, b->w->begin_ps, b->w->end_ps, piece, &s) &&
		  (!s.any || account(&s));
	free(sources);
	return ok;
}
