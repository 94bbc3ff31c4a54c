/* idle.c - see idle.h. */
#include "model/attribution/idle.h"

#include "base/safe.h"
#include "base/vec.h"
#include "model/attribution/pieces.h"
#include "model/host/host.h"
#include "model/host/plane.h"

#include <stdlib.h>

struct own {
	struct ss_idle out; /* first */
	int64_t now_ps;
	struct ss_idle_gap open; /* that begins at begin_ps; end_ps <= begin_ps: none */
	uint64_t by_class[SS_TIME_COUNT];
	bool no_memory;
};

static bool works(enum ss_time_class c)
{
	return c == SS_TIME_COMPUTE || c == SS_TIME_COLLECTIVE || c == SS_TIME_COPY || c == SS_TIME_CALLBACK;
}

static bool begin(void *arg, const struct ss_pieces *p)
{
	struct own *own = arg;
	own->out.begin_ps = p->about->windows.begin_ps;
	own->out.end_ps = p->about->windows.end_ps;
	own->out.has_starter = p->starter;
	if (p->starter) {
		own->out.starter_id = p->starter->id;
		own->out.starter = p->starter->name;
	}
	own->out.units = calloc(p->nunits + 1, sizeof(*own->out.units));
	return own->out.units;
}

static bool unit(void *arg, const struct ss_pieces *p)
{
	struct own *own = arg;
	own->out.units[own->out.nunits++].device = p->device;
	own->now_ps = own->out.begin_ps;
	own->open = (struct ss_idle_gap){ 0 };
	return true;
}

/* Too many: those that are longer than the mean stay. */
static void thin_out(struct ss_idle_unit *u)
{
	uint64_t sum_ps = 0;
	size_t n = 0;
	for (size_t i = 0; i < u->n; i++)
		sum_ps += ss_safe_between(u->v[i].begin_ps, u->v[i].end_ps) / u->n;
	for (size_t i = 0; i < u->n; i++)
		if (ss_safe_between(u->v[i].begin_ps, u->v[i].end_ps) > sum_ps)
			u->v[n++] = u->v[i];
	/* If all are equal, take the first ones. */
	u->n = n ? n : u->n / 2;
	u->kept_ps = sum_ps + 1;
}

static void close_gap(struct own *own)
{
	struct ss_idle_unit *u = &own->out.units[own->out.nunits - 1];
	struct ss_idle_gap *g = &own->open;
	uint64_t dur_ps = ss_safe_between(g->begin_ps, g->end_ps);
	if (g->end_ps <= g->begin_ps)
		return;
	for (int c = 0; c < SS_TIME_COUNT; c++)
		if (own->by_class[c] > own->by_class[g->class])
			g->class = (enum ss_time_class)c;
	g->class_ps = own->by_class[g->class];
	u->count[g->class]++;
	u->ps[g->class] += dur_ps;
	if (u->n == SS_MOST_GAPS)
		thin_out(u);
	if (dur_ps >= u->kept_ps) {
		if (u->n == u->cap && !ss_grow((void **)&u->v, &u->cap, u->n + 1, sizeof(*u->v)))
			own->no_memory = true;
		else
			u->v[u->n++] = *g;
	}
	*g = (struct ss_idle_gap){ 0 };
}

static void piece(void *arg, size_t step, uint32_t owner, enum ss_time_class class, uint64_t ps)
{
	struct own *own = arg;
	(void)step;
	(void)owner;
	int64_t begin_ps = own->now_ps;
	own->now_ps += (int64_t)ps;
	if (works(class)) {
		close_gap(own);
		return;
	}
	if (own->open.end_ps <= own->open.begin_ps) {
		own->open = (struct ss_idle_gap){ .begin_ps = begin_ps, .class = class };
		memset(own->by_class, 0, sizeof(own->by_class));
	}
	own->open.end_ps = own->now_ps;
	own->by_class[class] += ps;
}

static bool unit_end(void *arg, const struct ss_pieces *p)
{
	struct own *own = arg;
	(void)p;
	close_gap(own);
	return !own->no_memory;
}

static void release(void *data)
{
	struct own *own = data;
	for (size_t i = 0; i < own->out.nunits; i++)
		free(own->out.units[i].v);
	free(own->out.units);
	free(own);
}

static void *build(void *owner, struct ss_err *err)
{
	struct own *own = calloc(1, sizeof(*own));
	if (!own) {
		ss_fail_mem(err);
		return NULL;
	}
	own->out.starter = SS_STR("");
	const struct ss_piece_reader r = { own, begin, unit, piece, unit_end };
	if (ss_host_pieces(owner, &r, err))
		return own;
	release(own);
	return NULL;
}

const struct ss_idle *ss_host_idle(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_IDLE], build, release, h, err);
}
