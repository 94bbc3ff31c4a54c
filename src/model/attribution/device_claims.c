/* device_claims.c - what a device claims: its operations, kernels and copies. */
#include "model/attribution/device_walk.h"

#include "model/attribution/precision.h"
#include "model/host/opname.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

/* What an event is, by its metadata. */
struct device_kind {
	bool read, claims;
	bool counts_more; /* than its time: meetings, widths */
	uint32_t owner;
	enum ss_time_class class;
	enum ss_claim_rank rank;
	enum ss_width width;
	uint64_t name_digest; /* of a collective operation */
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
	if (ss_is_slice_transfer(p, meta)) {
		set(&k, SS_TIME_COLLECTIVE, SS_RANK_COLLECTIVE);
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

struct pass {
	struct ss_attr_build *b;
	const struct ss_plane *p;
	uint32_t plane;
	struct device_kind *known;
	struct ss_device_claims *out;
	size_t window;
};

/* ---- what an event claims ---- */

static bool note_meeting(struct pass *s, const struct device_kind *k, int64_t begin_ps, uint64_t dur_ps)
{
	const struct ss_windows *w = s->b->w;
	size_t step = ss_window_at(w, begin_ps, &s->window);
	if (step == SIZE_MAX || s->out->meetings.n >= SS_MOST_MEETINGS)
		return true;
	uint64_t key = ss_meeting_key(k->name_digest, w->v[step].num);
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

static void read_kind(struct pass *s, struct device_kind *k, uint32_t meta)
{
	*k = kind_of(s->p, meta);
	k->counts_more = k->class == SS_TIME_COLLECTIVE || k->width != SS_WIDTH_UNKNOWN;
	k->name_digest = k->class == SS_TIME_COLLECTIVE ? ss_str_digest(ss_event_name(s->p, meta)) : 0;
	k->owner = k->claims ? ss_named_owner(s->b, k->class, s->plane, meta, SS_NONE, false) : 0;
}

static const struct device_kind *kind_at(struct pass *s, uint32_t meta)
{
	uint32_t n = s->p->x->nevent_meta;
	struct device_kind *k = &s->known[meta < n ? meta : n];
	if (!k->read)
		read_kind(s, k, meta);
	return k;
}

/* Facts about an event besides its time. */
static bool note_more(struct pass *s, const struct device_kind *k, uint32_t meta, int64_t begin_ps, uint64_t dur_ps)
{
	if (!k->counts_more)
		return true;
	note_width(s, k, meta, dur_ps);
	return k->class != SS_TIME_COLLECTIVE || note_meeting(s, k, begin_ps, dur_ps);
}

static void count_event(struct ss_device_claims *out, const struct ss_claim *c, uint64_t dur_ps)
{
	out->first_ps = out->first_ps < c->begin_ps ? out->first_ps : c->begin_ps;
	out->last_ps = out->last_ps > c->end_ps ? out->last_ps : c->end_ps;
	out->ops++;
	out->op_ps += dur_ps;
}

static enum ss_device_event take_event(void *arg, const struct ss_line *l, uint32_t i, struct ss_claim *c)
{
	struct pass *s = arg;
	uint32_t meta = l->ev.meta[i], ref = SS_NONE;
	const struct device_kind *k = kind_at(s, meta);
	if (!k->claims)
		return SS_DEVICE_EVENT_PASSES;
	if (s->b->reader && !ss_op_ref_of(s->b, s->p, l, i, &ref))
		return SS_DEVICE_EVENT_FAILED;
	c->rank = (uint32_t)k->rank;
	c->owner = ref == SS_NONE ? k->owner : ss_named_owner(s->b, k->class, s->plane, meta, ref, false);
	if (c->owner == SS_NONE || !note_more(s, k, meta, c->begin_ps, l->ev.dur_ps[i]))
		return SS_DEVICE_EVENT_FAILED;
	s->b->named.v[c->owner].count++;
	count_event(s->out, c, l->ev.dur_ps[i]);
	return SS_DEVICE_EVENT_CLAIMS;
}

/* ---- who of the device has a moment ---- */

static bool works(const struct ss_claim *c)
{
	return c->rank <= SS_RANK_COLLECTIVE;
}

/* All that works without a pause is one claim. */
static bool add_work(struct ss_device_claims *out, int64_t begin_ps, int64_t end_ps)
{
	struct ss_claim *last = out->v.n ? &out->v.v[out->v.n - 1] : NULL;
	if (!last || last->owner != SS_OWNER_GIVEN || last->end_ps != begin_ps)
		return ss_vec_push(&out->v, ((struct ss_claim){ begin_ps, end_ps, SS_RANK_COMPUTE, SS_OWNER_GIVEN }));
	last->end_ps = end_ps;
	return true;
}

static bool take_piece(void *arg, int64_t begin_ps, int64_t end_ps, const struct ss_claim *c)
{
	struct pass *s = arg;
	struct ss_device_claims *out = s->out;
	if (!c)
		return true;
	if (s->b->reader || !works(c))
		return ss_vec_push(&out->v, ((struct ss_claim){ begin_ps, end_ps, c->rank, c->owner }));
	if (!add_work(out, begin_ps, end_ps))
		return false;
	const struct ss_time_piece p = { begin_ps, end_ps, s->b->named.v[c->owner].class, c->owner };
	return ss_sums_add(&out->sums, s->b, &p);
}

/* ---- all lines ---- */

static bool divide(struct pass *s)
{
	const struct ss_windows *w = s->b->w;
	struct ss_claims *sources = calloc((size_t)s->p->nlines + 1, sizeof(*sources));
	struct ss_device_walk *walks = calloc((size_t)s->p->nlines + 1, sizeof(*walks));
	size_t n = 0;
	bool ok = sources && walks;
	for (uint32_t k = 0; ok && k < s->p->nlines; k++) {
		if (!ss_is_work_line(s->p, &s->p->lines[k]))
			continue;
		ok = ss_device_walk_begin(&walks[n], s->p, &s->p->lines[k], w, take_event, s);
		sources[n] = (struct ss_claims){ .more = ss_device_walk_more, .arg = &walks[n] };
		n++;
	}
	ok = ok && ss_sums_begin(&s->out->sums, s->b);
	ok = ok && ss_exclusive_of(sources, n, w->begin_ps, w->end_ps, take_piece, s);
	for (size_t i = 0; i < n; i++)
		ss_device_walk_free(&walks[i]);
	free(walks);
	free(sources);
	return ok;
}

/* ---- when a device is idle ---- */

#define SORT_ITEM struct ss_stretch
#define SORT_LESS(ctx, a, b) ((void)(ctx), (a)->begin_ps < (b)->begin_ps)
#include "base/introsort_of.h"

/* In the order of time, those that touch or overlap as one. */
static void unite(struct ss_stretch *v, size_t *n)
{
	size_t k = 0;
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
	int64_t from_ps = b->w->begin_ps;
	bool ok = true;
	for (size_t i = 0; ok && i < d->v.n; i++) {
		const struct ss_claim *c = &d->v.v[i];
		if (!works(c))
			continue;
		if (c->begin_ps > from_ps)
			ok = ss_vec_push(&b->idle, ((struct ss_stretch){ from_ps, c->begin_ps }));
		from_ps = c->end_ps;
	}
	return ok && (from_ps >= b->w->end_ps || ss_vec_push(&b->idle, ((struct ss_stretch){ from_ps, b->w->end_ps })));
}

/* ---- all ---- */

static bool claim_device(struct ss_attr_build *b, uint32_t plane, struct ss_device_claims *out)
{
	struct pass s = { .b = b, .p = &b->planes[plane], .plane = plane, .out = out, .window = SIZE_MAX };
	s.known = calloc((size_t)s.p->x->nevent_meta + 1, sizeof(*s.known));
	out->sums.first = (uint32_t)s.b->named.n;
	out->first_ps = INT64_MAX;
	out->last_ps = INT64_MIN;
	bool ok = s.known && divide(&s) && add_idle(b, out);
	if (!out->ops)
		out->first_ps = out->last_ps = 0;
	free(s.known);
	return ok;
}

bool ss_claim_devices(struct ss_attr_build *b)
{
	size_t ndevices = 0;
	b->devices = calloc((size_t)b->nplanes + 1, sizeof(*b->devices));
	for (uint32_t i = 0; b->devices && i < b->nplanes; i++) {
		if (!ss_is_unit(b, i))
			continue;
		if (!claim_device(b, i, &b->devices[i]))
			return false;
		ndevices++;
	}
	if (ndevices > 1)
		unite(b->idle.v, &b->idle.n);
	return b->devices;
}

void ss_device_claims_free(struct ss_device_claims *d)
{
	ss_vec_free(&d->v);
	ss_vec_free(&d->meetings);
	ss_sums_free(&d->sums);
}
