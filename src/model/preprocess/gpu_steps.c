/*
 * gpu_steps.c - steps of a GPU, over all its streams.
 *
 * Not every kernel is linked to a step. One that is not belongs to the step seen last, in the order
 * of time over all streams; a row of events of the same step is one span of the line "Steps".
 */
#include "model/host/time_walk.h"
#include "model/host/derived_line.h"

#include "model/host/host.h"
#include "model/host/stat_projection.h"
#include "model/preprocess/derive.h"
#include "model/preprocess/group.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

static bool any_grouped(const struct ss_plane *p)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		for (uint32_t e = 0; !p->lines[i].derived && e < p->lines[i].ev.n; e++)
			if (ss_event_group(p, &p->lines[i], e) != SS_NO_GROUP)
				return true;
	return false;
}

static bool walk(struct ss_deriver *d, struct ss_time_walk *w, struct ss_nest *steps)
{
	struct ss_line *l;
	uint32_t i, meta = SS_NONE;
	int64_t group = SS_NO_GROUP, named = SS_NO_GROUP;
	while (ss_time_walk_next(w, &l, &i)) {
		int64_t own = ss_event_group(d->p, l, i);
		if (!ss_line_need_groups(l))
			return false;
		if (own != SS_NO_GROUP)
			group = own;
		l->group[i] = (int32_t)group;
		if (group == SS_NO_GROUP)
			continue;
		if (group != named) {
			struct ss_str name = ss_arena_printf(d->arena, "%lld", (long long)group);
			meta = name.p ? ss_deriver_name(d, name, SS_STR("")) : SS_NONE;
			named = group;
		}
		struct ss_nest_item item = { .metas = &meta, .nmetas = 1, .begin_ps = l->ev.begin_ps[i],
					     .end_ps = ss_xevents_end_ps(&l->ev, i), .group = group };
		if (meta == SS_NONE || !ss_nest_add(steps, &item))
			return false;
	}
	return true;
}

/* Steps are shown by the name of their group. */
static bool name_steps(const struct ss_host *h, struct ss_line *l)
{
	struct ss_added added = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		if (l->group && l->group[i] >= 0 && (uint32_t)l->group[i] < h->ngroups)
			ok = ss_added_str(&added, &l->added, i, SS_STAT_STEP_NAME, h->groups[l->group[i]].name);
	ok = ok && ss_added_deliver(&added);
	ss_added_free(&added);
	return ok;
}

/* Behind the lines of the file. */
static bool add_steps_line(struct ss_deriver *d, struct ss_nest *steps)
{
	struct ss_plane *p = d->p;
	struct ss_line *lines = SS_NEW_N(d->arena, struct ss_line, p->nlines + 1);
	if (!lines)
		return false;
	memcpy(lines, p->lines, p->nlines * sizeof(*lines));
	p->lines = lines;
	struct ss_line *l = &lines[p->nlines++];
	*l = (struct ss_line){ .id = ss_derived_line_id(SS_DERIVED_STEPS), .name = SS_STR("Steps"),
			       .display_name = SS_STR(""), .derived = true };
	return ss_nest_to_columns(steps, l) && name_steps(d->h, l);
}

static bool derive_steps(struct ss_deriver *d, struct ss_err *err)
{
	struct ss_nest steps;
	struct ss_time_walk w;
	uint64_t events = 0;
	if (!any_grouped(d->p))
		return true;
	for (uint32_t i = 0; i < d->p->nlines; i++)
		events += d->p->lines[i].ev.n;
	ss_nest_init(&steps, true, events);
	bool ok = ss_time_walk_init(&w, d->p, NULL) && walk(d, &w, &steps) && (!steps.spans.n || add_steps_line(d, &steps));
	ss_time_walk_free(&w);
	ss_nest_free(&steps);
	return ok || ss_fail_mem(err);
}

bool ss_preprocess_gpu_steps(struct ss_host *h, struct ss_err *err)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		struct ss_deriver d = { 0 };
		if (h->planes[i].kind != SS_PLANE_GPU)
			continue;
		bool ok = ss_deriver_init(&d, h, &h->planes[i], &h->arena) || ss_fail_mem(err);
		ok = ok && derive_steps(&d, err);
		ss_deriver_free(&d);
		if (!ok)
			return false;
	}
	return true;
}
