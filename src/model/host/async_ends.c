/* async_ends.c - see async_ends.h. */
#include "model/host/async_ends.h"
#include "model/host/host.h"

#include "base/safe.h"
#include "model/host/forget.h"

#include <stdlib.h>

static bool is_end(struct ss_str name, bool operations)
{
	return ss_str_ends(name, SS_STR("::Await")) || (operations && ss_str_starts(name, SS_STR("end: ")));
}

static bool id_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, enum ss_stat stat, uint64_t *id)
{
	struct ss_xstat s;
	bool known = ss_xstats_find(ss_line_stats(p, l, i), stat, &s);
	*id = known ? (uint64_t)ss_xstat_int_or_uint(&s) : 0;
	return known;
}

/* ---- what a thread ran before it reported an end ---- */

enum role { ROLE_NONE, ROLE_END, ROLE_SUCCESSOR };

#define REPORT_PS UINT64_C(100000000) /* to report an end takes some microseconds */

/* The last of the events that run what waited, on one thread; events in the order of their begins. */
struct successor {
	int64_t begin_ps, end_ps;
	bool known;
};

/* An event that begins once the successor is over, and is no end, belongs to another task. */
static void pass(struct successor *s, const struct ss_xevents *e, uint32_t i, enum role role)
{
	if (role == ROLE_SUCCESSOR && !(s->known && e->begin_ps[i] < s->end_ps))
		*s = (struct successor){ e->begin_ps[i], ss_xevents_end_ps(e, i), true };
	else if (role == ROLE_NONE && e->begin_ps[i] >= s->end_ps)
		s->known = false;
}

static int64_t successor_before(const struct successor *s, int64_t t_ps)
{
	bool just_over = s->known && s->end_ps <= t_ps && ss_safe_between(s->end_ps, t_ps) <= REPORT_PS;
	return just_over ? s->begin_ps : INT64_MAX;
}

/* ---- reading ---- */

static bool add(struct ss_async_ends *a, uint64_t id, struct ss_async_end end)
{
	uint32_t at = ss_u64map_add(&a->by_id, id, (uint32_t)a->v.n);
	return at != SS_NONE && (at != a->v.n || ss_vec_push(&a->v, end));
}

static bool read_line(struct ss_async_ends *a, struct ss_forget *passed, const struct ss_plane *p, const struct ss_line *l,
		      const uint8_t *roles)
{
	struct successor s = { .known = false };
	uint64_t id;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		enum role role = l->ev.meta[i] < p->x->nevent_meta ? (enum role)roles[l->ev.meta[i]] : ROLE_NONE;
		if (l->ev.sorted)
			pass(&s, &l->ev, i, role);
		if (role == ROLE_END && id_of(p, l, i, SS_STAT_CONSUMER_ID, &id) &&
		    !add(a, id, (struct ss_async_end){ ss_xevents_end_ps(&l->ev, i), successor_before(&s, l->ev.begin_ps[i]) }))
			return false;
		ss_forget_passed(passed, l, i);
	}
	ss_forget_line(passed, l);
	return true;
}

bool ss_async_ends_read(struct ss_async_ends *a, const struct ss_host *h, const struct ss_plane *p, bool operations)
{
	uint8_t *roles = calloc((size_t)p->x->nevent_meta + 1, 1);
	struct ss_forget passed = { .h = h };
	bool any = false, ok = roles;
	for (uint32_t i = 0; ok && i < p->x->nevent_meta; i++) {
		struct ss_str name = p->x->event_meta[i].name;
		roles[i] = is_end(name, operations)			    ? ROLE_END
			   : ss_str_is(name, "ThunkExecutor::Execute") ? ROLE_SUCCESSOR
									    : ROLE_NONE;
		any = any || roles[i] == ROLE_END;
	}
	for (uint32_t k = 0; ok && any && k < p->nlines; k++)
		if (!p->lines[k].derived)
			ok = read_line(a, &passed, p, &p->lines[k], roles);
	ss_forget_rest(&passed);
	free(roles);
	return ok;
}

int64_t ss_async_end(const struct ss_async_ends *a, const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	int64_t end_ps = ss_xevents_end_ps(&l->ev, i);
	uint64_t id;
	if (!a->v.n || !id_of(p, l, i, SS_STAT_PRODUCER_ID, &id))
		return end_ps;
	uint32_t at = ss_u64map_get(&a->by_id, id);
	if (at == SS_NONE)
		return end_ps;
	const struct ss_async_end *e = &a->v.v[at];
	int64_t over_ps = e->successor_ps >= end_ps && e->successor_ps < e->end_ps ? e->successor_ps : e->end_ps;
	return over_ps > end_ps ? over_ps : end_ps;
}

void ss_async_ends_free(struct ss_async_ends *a)
{
	ss_u64map_free(&a->by_id);
	ss_vec_free(&a->v);
}
