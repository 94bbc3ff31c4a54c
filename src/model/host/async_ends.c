/* async_ends.c - see async_ends.h. */
#include "model/host/async_ends.h"

#include "base/safe.h"
#include "model/host/forget.h"
#include "model/host/stat_filter.h"

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

enum role { ROLE_UNREAD, ROLE_NONE, ROLE_END, ROLE_SUCCESSOR, ROLE_OPERATION };

#define REPORT_PS UINT64_C(100000000) /* to report an end, or to begin the next operation, takes some microseconds */

/* The last of the events that run what waited, on one thread; events in the order of their begins. */
struct successor {
	int64_t begin_ps, end_ps;
	bool known, of_operations;
};

/* An event that begins once the successor is over, and is no end, belongs to another task. */
static void pass(struct successor *s, const struct ss_xevents *e, uint32_t i, enum role role)
{
	int64_t begin_ps = e->begin_ps[i], end_ps = ss_xevents_end_ps(e, i);
	bool inside = s->known && begin_ps < s->end_ps;
	bool next = s->known && s->of_operations && !inside && ss_safe_between(s->end_ps, begin_ps) <= REPORT_PS;
	if (role == ROLE_OPERATION && next)
		s->end_ps = end_ps;
	else if ((role == ROLE_SUCCESSOR || role == ROLE_OPERATION) && !inside)
		*s = (struct successor){ begin_ps, end_ps, true, role == ROLE_OPERATION };
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

/* A first event of the name tells whether it is an operation. */
static enum role role_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, const struct ss_stat_filter *hlo_op,
			 uint8_t *roles)
{
	uint32_t meta = l->ev.meta[i];
	struct ss_xstat s;
	if (meta >= p->x->nevent_meta)
		return ROLE_NONE;
	if (roles[meta] == ROLE_UNREAD)
		roles[meta] = ss_stat_filter_line(hlo_op, l, i) && ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_HLO_OP, &s)
				      ? ROLE_OPERATION
				      : ROLE_NONE;
	return (enum role)roles[meta];
}

static bool read_line(struct ss_async_ends *a, struct ss_forget *passed, const struct ss_plane *p, const struct ss_line *l,
		      const struct ss_stat_filter *hlo_op, uint8_t *roles)
{
	struct successor s = { .known = false };
	uint64_t id;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		enum role role = role_of(p, l, i, hlo_op, roles);
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
	static const enum ss_stat stats[] = { SS_STAT_HLO_OP };
	struct ss_stat_filter hlo_op = ss_stat_filter_of(p->x, stats, SS_COUNT(stats));
	uint8_t *roles = calloc((size_t)p->x->nevent_meta + 1, 1);
	struct ss_forget passed = { .h = h };
	bool any = false, ok = roles;
	for (uint32_t i = 0; ok && i < p->x->nevent_meta; i++) {
		struct ss_str name = p->x->event_meta[i].name;
		roles[i] = is_end(name, operations)			    ? ROLE_END
			   : ss_str_is(name, "ThunkExecutor::Execute") ? ROLE_SUCCESSOR
			   : operations				    ? ROLE_UNREAD
									    : ROLE_NONE;
		any = any || roles[i] == ROLE_END;
	}
	for (uint32_t k = 0; ok && any && k < p->nlines; k++)
		if (!p->lines[k].derived)
			ok = read_line(a, &passed, p, &p->lines[k], &hlo_op, roles);
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
