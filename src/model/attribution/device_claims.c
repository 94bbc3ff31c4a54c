/* device_claims.c - what a device claims: its operations, kernels and copies. */
#include "model/attribution/build.h"

#include "base/safe.h"
#include "model/attribution/precision.h"
#include "model/attribution/thresholds.h"
#include "model/host/opname.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

/* What an event is, by its metadata. */
struct device_kind {
	bool read, claims;
	uint32_t owner;
	enum ss_time_class class;
	enum ss_claim_rank rank;
	enum ss_width width;
	uint64_t name_hash; /* of a collective operation */
};

/* Waiting for a copy that was started before. */
static bool is_copy_wait(struct ss_str category)
{
	static const struct ss_str waits[] = { SS_STR_INIT("copy-done"),  SS_STR_INIT("slice-done"),
					       SS_STR_INIT("host send"),  SS_STR_INIT("host recv"),
					       SS_STR_INIT("async-done"), SS_STR_INIT("update-done") };
	for (size_t i = 0; i < SS_COUNT(waits); i++)
		if (ss_str_contains(category, waits[i]))
			return true;
	return false;
}

static struct ss_str category_of(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	bool known =
		meta < p->x->nevent_meta && ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_HLO_CATEGORY, &s);
	return known ? ss_xstat_str(&s) : SS_STR("");
}

static void set(struct device_kind *k, enum ss_time_class class, enum ss_claim_rank rank)
{
	k->claims = true;
	k->class = class;
	k->rank = rank;
}

static struct device_kind kind_of(const struct ss_plane *p, uint32_t meta)
{
	struct device_kind k = { .read = true };
	struct ss_str category = category_of(p, meta);
	if (p->kind == SS_PLANE_GPU && ss_str_starts(ss_event_name(p, meta), SS_STR("Memcpy"))) {
		set(&k, SS_TIME_COPY, SS_RANK_COPY);
		return k;
	}
	switch (ss_device_event_work(p, meta)) {
	case SS_WORK_UNKNOWN:
		return k;
	case SS_WORK_COLLECTIVES:
		set(&k, SS_TIME_COLLECTIVE, SS_RANK_COLLECTIVE);
		break;
	case SS_WORK_HOST_TO_DEVICE:
	case SS_WORK_DEVICE_TO_HOST:
	case SS_WORK_DEVICE_TO_DEVICE:
		set(&k, SS_TIME_COPY, SS_RANK_COPY);
		break;
	case SS_WORK_DEVICE_WAIT_HOST:
		/* "host recv" is how slices talk to each other, too. */
		set(&k, ss_str_contains(category, SS_STR("infeed")) ? SS_TIME_INPUT : SS_TIME_COPY,
		    SS_RANK_DEVICE_WAITS);
		break;
	default:
		set(&k, SS_TIME_COMPUTE, SS_RANK_COMPUTE);
		if (is_copy_wait(category))
			set(&k, SS_TIME_COPY, SS_RANK_DEVICE_WAITS);
		else if (ss_str_contains(category, SS_STR("barrier")) ||
			 ss_str_contains(category, SS_STR("send-done")) ||
			 ss_str_contains(category, SS_STR("recv-done")))
			set(&k, SS_TIME_COLLECTIVE, SS_RANK_COLLECTIVE);
		if (p->kind == SS_PLANE_GPU)
			k.width = ss_kernel_width(ss_event_name(p, meta));
		break;
	}
	return k;
}

uint64_t ss_meeting_key(int64_t step, uint64_t op_hash)
{
	uint64_t key = ss_mix(op_hash, (uint64_t)step + 1);
	return key ? key : 1;
}

struct pass {
	struct ss_attr_build *b;
	const struct ss_plane *p;
	uint32_t plane;
	struct device_kind *known;
	struct ss_device_claims *out;
	SS_VEC(struct ss_claim) open; /* of the line, innermost last */
	int64_t now_ps;
	size_t first; /* claim of the line */
};

static bool put(struct pass *s, int64_t begin_ps, int64_t end_ps, const struct ss_claim *c)
{
	struct ss_claim *last = s->out->v.n > s->first ? &s->out->v.v[s->out->v.n - 1] : NULL;
	if (end_ps <= begin_ps)
		return true;
	if (last && s->p->kind == SS_PLANE_TENSOR_CORE && last->rank <= SS_RANK_COLLECTIVE && last->end_ps < begin_ps &&
	    ss_safe_between(last->end_ps, begin_ps) < SS_TPU_PAUSE_PS)
		last->end_ps = begin_ps;
	return ss_vec_push(&s->out->v, ((struct ss_claim){ begin_ps, end_ps, c->rank, c->owner }));
}

static bool go_on(struct pass *s, int64_t until_ps)
{
	bool ok = true;
	for (; ok && s->open.n && s->open.v[s->open.n - 1].end_ps <= until_ps; s->open.n--) {
		const struct ss_claim *c = &s->open.v[s->open.n - 1];
		ok = put(s, s->now_ps, c->end_ps, c);
		s->now_ps = c->end_ps > s->now_ps ? c->end_ps : s->now_ps;
	}
	if (ok && until_ps > s->now_ps) {
		if (s->open.n)
			ok = put(s, s->now_ps, until_ps, &s->open.v[s->open.n - 1]);
		s->now_ps = until_ps;
	}
	return ok;
}

static bool note_meeting(struct pass *s, const struct device_kind *k, int64_t begin_ps, uint64_t dur_ps, size_t *at)
{
	const struct ss_windows *w = s->b->w;
	size_t step = ss_window_at(w, begin_ps, at);
	if (step == SIZE_MAX || s->out->meetings.n >= SS_MOST_MEETINGS)
		return true;
	uint64_t key = ss_meeting_key(w->v[step].num, k->name_hash);
	return ss_vec_push(&s->out->meetings, ((struct ss_meeting){ key, dur_ps }));
}

static void note_width(struct pass *s, const struct device_kind *k, uint32_t meta, uint64_t dur_ps)
{
	struct ss_precision *p = &s->b->out->precision;
	if (k->width == SS_WIDTH_NARROW)
		p->narrow_ps += dur_ps;
	if (k->width != SS_WIDTH_WIDE)
		return;
	p->wide_ps += dur_ps;
	struct ss_str name = ss_event_name(s->p, meta);
	if (!p->wide_kernel.n)
		p->wide_kernel = name;
}

static bool add_event(struct pass *s, const struct ss_line *l, uint32_t i, size_t *at)
{
	const struct ss_windows *w = s->b->w;
	uint32_t meta = l->ev.meta[i], slot = meta < s->p->x->nevent_meta ? meta : s->p->x->nevent_meta;
	int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
	if (end_ps <= begin_ps || end_ps <= w->begin_ps || begin_ps >= w->end_ps)
		return true;
	struct device_kind *k = &s->known[slot];
	if (!k->read) {
		*k = kind_of(s->p, meta);
		k->name_hash = k->class == SS_TIME_COLLECTIVE ? ss_str_hash(ss_event_name(s->p, meta)) : 0;
		k->owner = k->claims ? ss_named_owner(s->b, k->class, s->plane, meta, SS_NONE, false) : 0;
	}
	if (!k->claims)
		return true;
	uint32_t owner = k->owner, ref;
	if (!ss_op_ref_of(s->b, s->p, l, i, &ref))
		return false;
	if (ref != SS_NONE)
		owner = ss_named_owner(s->b, k->class, s->plane, meta, ref, false);
	s->out->first_ps = s->out->ops && s->out->first_ps < begin_ps ? s->out->first_ps : begin_ps;
	s->out->last_ps = s->out->ops && s->out->last_ps > end_ps ? s->out->last_ps : end_ps;
	s->out->ops++;
	s->out->op_ps += l->ev.dur_ps[i];
	note_width(s, k, meta, l->ev.dur_ps[i]);
	if (owner == SS_NONE)
		return false;
	s->b->named.v[owner].count++;
	if ((k->class == SS_TIME_COLLECTIVE && !note_meeting(s, k, begin_ps, l->ev.dur_ps[i], at)))
		return false;
	/* In the order of time: nested ones need no second look. Else the claims sort it out. */
	if (!l->ev.sorted)
		return put(s, begin_ps, end_ps, &(struct ss_claim){ 0, 0, (uint32_t)k->rank, owner });
	if (!go_on(s, begin_ps))
		return false;
	if (!s->open.n && (i + 1 == l->ev.n || l->ev.begin_ps[i + 1] >= end_ps)) {
		s->now_ps = end_ps;
		return put(s, begin_ps, end_ps, &(struct ss_claim){ 0, 0, (uint32_t)k->rank, owner });
	}
	return ss_vec_push(&s->open, ((struct ss_claim){ begin_ps, end_ps, (uint32_t)k->rank, owner }));
}

static bool claim_device(struct ss_attr_build *b, uint32_t plane, struct ss_device_claims *out)
{
	struct pass s = { .b = b, .p = &b->h->planes[plane], .plane = plane, .out = out };
	s.known = calloc((size_t)s.p->x->nevent_meta + 1, sizeof(*s.known));
	bool ok = s.known;
	for (uint32_t k = 0; ok && k < s.p->nlines; k++) {
		const struct ss_line *l = &s.p->lines[k];
		size_t at = SIZE_MAX;
		s.now_ps = INT64_MIN;
		s.open.n = 0;
		s.first = out->v.n;
		for (uint32_t i = 0; ok && ss_is_work_line(s.p, l) && i < l->ev.n; i++)
			ok = add_event(&s, l, i, &at);
		ok = ok && go_on(&s, INT64_MAX);
	}
	free(s.known);
	ss_vec_free(&s.open);
	return ok;
}

/* ---- when a device is idle ---- */

#define SORT_ITEM struct ss_stretch
#define SORT_LESS(ctx, a, b) ((void)(ctx), (a)->begin_ps < (b)->begin_ps)
#include "base/introsort_of.h"

/* In the order of time, those that touch or overlap as one. */
static void unite(struct ss_stretch *v, size_t *n)
{
	bool sorted = true;
	size_t k = 0;
	for (size_t i = 1; i < *n && sorted; i++)
		sorted = v[i].begin_ps >= v[i - 1].begin_ps;
	if (!sorted)
		sort_items(v, *n, NULL);
	for (size_t i = 1; i < *n; i++)
		if (v[i].begin_ps > v[k].end_ps)
			v[++k] = v[i];
		else if (v[i].end_ps > v[k].end_ps)
			v[k].end_ps = v[i].end_ps;
	*n = *n ? k + 1 : 0;
}

/* The moments of the window at which the device neither computes nor communicates. */
static bool add_idle(struct ss_attr_build *b, const struct ss_device_claims *d)
{
	SS_VEC(struct ss_stretch) busy = { 0 };
	int64_t from_ps = b->w->begin_ps;
	bool ok = true;
	for (size_t i = 0; ok && i < d->v.n; i++) {
		const struct ss_claim *c = &d->v.v[i];
		struct ss_stretch *last = busy.n ? &busy.v[busy.n - 1] : NULL;
		if (c->rank > SS_RANK_COLLECTIVE)
			continue;
		if (last && c->begin_ps == last->end_ps)
			last->end_ps = c->end_ps;
		else
			ok = ss_vec_push(&busy, ((struct ss_stretch){ c->begin_ps, c->end_ps }));
	}
	unite(busy.v, &busy.n);
	for (size_t i = 0; ok && i < busy.n; i++) {
		if (busy.v[i].begin_ps > from_ps)
			ok = ss_vec_push(&b->idle, ((struct ss_stretch){ from_ps, busy.v[i].begin_ps }));
		from_ps = busy.v[i].end_ps;
	}
	ok = ok && (from_ps >= b->w->end_ps || ss_vec_push(&b->idle, ((struct ss_stretch){ from_ps, b->w->end_ps })));
	ss_vec_free(&busy);
	return ok;
}

bool ss_claim_devices(struct ss_attr_build *b)
{
	b->devices = calloc((size_t)b->h->nplanes + 1, sizeof(*b->devices));
	for (uint32_t i = 0; b->devices && i < b->h->nplanes; i++)
		if (ss_is_attributed_device(&b->h->planes[i]) &&
		    (!claim_device(b, i, &b->devices[i]) || !add_idle(b, &b->devices[i])))
			return false;
	unite(b->idle.v, &b->idle.n);
	return b->devices;
}
