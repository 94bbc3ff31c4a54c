/* timeline_clocks.c - whose clock a timeline was corrected by how much, and how sure that is. */
#include "model/cluster/aligned.h"

#include "model/model.h"
#include "tools/timeline.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>

struct ss_model *ss_request_clocks(const struct ss_request *q, const struct ss_tool *tool, struct ss_err *err)
{
	struct ss_str clocks = ss_request_param(q, tool, "clocks");
	if (ss_str_is(clocks, "aligned"))
		return ss_model_aligned(q->model, err);
	if (!clocks.n || ss_str_is(clocks, "recorded"))
		return q->model;
	ss_fail(err, SS_EINVAL, "clocks must be recorded or aligned, not '" SS_FMT "'", SS_ARG(clocks));
	return NULL;
}

/* The result of the alignment. */
struct outcome {
	size_t ncorrected, nknown, nunknown;
	const struct ss_cluster_host *most;	/* corrected by most */
	double uncertainty_ps;			/* the largest of those that are known */
};

static struct outcome outcome_of(const struct ss_cluster *c)
{
	struct outcome o = { 0 };
	for (size_t i = 0; i < c->hosts.n; i++) {
		const struct ss_cluster_host *h = &c->hosts.v[i];
		if (h->state == SS_HOST_MISSING)
			continue;
		o.nknown += h->clock.aligned;
		o.nunknown += !h->clock.aligned;
		if (h->clock.aligned && h->clock.uncertainty_ps > o.uncertainty_ps)
			o.uncertainty_ps = h->clock.uncertainty_ps;
		if (!h->clock.applied || (h->clock.offset_ps == 0 && h->clock.drift == 0))
			continue;
		o.ncorrected++;
		if (!o.most || fabs(h->clock.offset_ps) > fabs(o.most->clock.offset_ps))
			o.most = h;
	}
	return o;
}

struct ss_str ss_clocks_words(const struct ss_cluster *c, struct ss_arena *arena)
{
	struct outcome o = outcome_of(c);
	struct ss_str done, rest = SS_STR("");
	if (o.nknown + o.nunknown < 2)
		done = SS_STR("There is one host: no clock is corrected.");
	else if (o.most)
		done = ss_arena_printf(arena, "Clocks are aligned by collectives: %zu of %zu %ss are corrected, '" SS_FMT
				       "' most, by %s (uncertain by %s).", o.ncorrected, o.nknown + o.nunknown, ss_cluster_noun(c),
				       SS_ARG(o.most->name), ss_value_words(SS_UNIT_US, fabs(o.most->clock.offset_ps) * 1e-6).s,
				       ss_value_words(SS_UNIT_US, o.most->clock.uncertainty_ps * 1e-6).s);
	else if (o.nknown > 1)
		done = ss_arena_printf(arena, "No clock is corrected: none is off by more than the uncertainty, which is %s.",
				       ss_value_words(SS_UNIT_US, 2 * o.uncertainty_ps * 1e-6).s);
	else
		done = SS_STR("No clock can be aligned: no collective links the hosts.");
	if (o.nunknown && o.nknown > 1)
		rest = ss_arena_printf(arena,
				       " No collective links %zu of them to the others: these keep their own clocks.", o.nunknown);
	return ss_arena_printf(arena, SS_FMT SS_FMT, SS_ARG(done), SS_ARG(rest));
}

bool ss_timeline_tell_clocks(struct ss_timeline *tl, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_cluster *c = ss_model_cluster(m, err);
	if (!c)
		return false;
	tl->clocks = SS_NEW_N(arena, struct ss_tl_clock, c->hosts.n + 1);
	tl->clock_words = ss_clocks_words(c, arena);
	if (!tl->clocks || !tl->clock_words.p)
		return ss_fail_mem(err);
	const struct ss_clock_map *maps = ss_model_clock_maps(m, err);
	if (!maps)
		return false;
	tl->start_unix_ns = c->start_unix_ns ? c->start_unix_ns - maps[m->nhosts].shift_ps / 1000 : 0;
	for (size_t i = 0; i < c->hosts.n; i++) {
		const struct ss_cluster_host *h = &c->hosts.v[i];
		const struct ss_clock *k = &h->clock;
		if (h->state == SS_HOST_MISSING)
			continue;
		struct ss_tl_clock *to = &tl->clocks[tl->nclocks++];
		to->host = ss_arena_str(arena, h->name);
		to->state = ss_clock_state_name(k->state);
		to->corrected = k->applied;
		to->offset_us = k->aligned ? k->offset_ps * 1e-6 : NAN;
		to->drift_ppm = k->aligned ? k->drift * 1e6 : NAN;
		to->uncertainty_us = k->aligned ? k->uncertainty_ps * 1e-6 : NAN;
		if (!to->host.p)
			return ss_fail_mem(err);
	}
	return true;
}
