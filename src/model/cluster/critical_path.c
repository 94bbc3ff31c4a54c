/* critical_path.c - see critical_path.h. */
#include "model/cluster/critical_path.h"

#include "base/bisect.h"

#include <math.h>
#include <stdlib.h>

#define NEAR_PS INT64_C(300000)	/* times this close are one moment, whatever clocks say */
#define MOST_STILL 64		/* moves that lead no further back: then something is wrong, and the rest is idle */
#define MOST_BYTES ((uint64_t)128 << 20)

const char *ss_path_category_name(enum ss_path_category category)
{
	static const char *const names[] = { "compute", "transfer", "copy", "input", "host", "idle" };
	return names[category];
}

/* Something that ends on a device, or on a thread of the host. */
struct ending {
	int64_t begin_ps, end_ps;
	uint32_t op;		/* of the part */
	uint32_t launch;
	uint32_t member;	/* of the cluster: a collective; UINT32_MAX: none */
	uint32_t thread;
	enum ss_skel_host_class host_class;
};

/* What ends on a device, or on all threads of a part, by end. */
struct track {
	struct ending *v;
	size_t n;
};

struct walking {
	struct ss_cluster *c;
	struct ss_path *p;
	struct track *devices, *parts;
	uint64_t bytes;
	/* Where the walk stands. */
	uint32_t device;
	bool on_host;
	uint32_t thread;
	int64_t t, stop;
};

/* ---- tracks, made when the walk comes by ---- */

static int by_end(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;
	if (x->end_ps != y->end_ps)
		return x->end_ps < y->end_ps ? -1 : 1;
	return x->begin_ps < y->begin_ps ? -1 : x->begin_ps > y->begin_ps;
}

static void forget_tracks(struct walking *w)
{
	for (size_t i = 0; i < w->c->devices.n; i++) {
		free(w->devices[i].v);
		w->devices[i] = (struct track){ .n = 0 };
	}
	for (size_t i = 0; i < w->c->nparts; i++) {
		free(w->parts[i].v);
		w->parts[i] = (struct track){ .n = 0 };
	}
	w->bytes = 0;
}

static bool new_track(struct walking *w, struct track *t, size_t n)
{
	if (w->bytes > MOST_BYTES)
		forget_tracks(w);
	t->v = calloc(n + 1, sizeof(*t->v));
	w->bytes += (n + 1) * sizeof(*t->v);
	return t->v;
}

static const struct track *device_track(struct walking *w, uint32_t device, struct ss_err *err)
{
	struct track *t = &w->devices[device];
	if (t->v)
		return t;
	const struct ss_cluster_device *cd = &w->c->devices.v[device];
	const struct ss_skeleton *s = ss_cluster_part(w->c, cd->part, err);
	if (!s)
		return NULL;
	const struct ss_skel_device *d = ss_cluster_device(s, cd);
	if (!new_track(w, t, d->spans.n + d->comms.n)) {
		ss_fail_mem(err);
		return NULL;
	}
	for (size_t i = 0; i < d->spans.n; i++) {
		const struct ss_skel_span *v = &d->spans.v[i];
		t->v[t->n++] = (struct ending){ .begin_ps = v->begin_ps, .end_ps = v->end_ps, .op = v->op, .launch = v->launch,
						.member = UINT32_MAX };
	}
	for (size_t i = 0; i < d->comms.n; i++) {
		const struct ss_skel_comm *v = &d->comms.v[i];
		t->v[t->n++] = (struct ending){ .begin_ps = v->begin_ps, .end_ps = v->end_ps, .op = v->op, .launch = v->launch,
						.member = cd->first_member + (uint32_t)i };
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_end);
	return t;
}

static const struct track *host_track(struct walking *w, uint32_t part, struct ss_err *err)
{
	struct track *t = &w->parts[part];
	if (t->v)
		return t;
	const struct ss_skeleton *s = ss_cluster_part(w->c, part, err);
	if (!s)
		return NULL;
	if (!new_track(w, t, s->events.n)) {
		ss_fail_mem(err);
		return NULL;
	}
	for (size_t i = 0; i < s->events.n; i++) {
		const struct ss_skel_host_event *e = &s->events.v[i];
		t->v[t->n++] = (struct ending){ .begin_ps = e->begin_ps,
						.end_ps = e->end_ps,
						.member = UINT32_MAX,
						.thread = e->thread,
						.host_class = e->cls };
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_end);
	return t;
}

/* How many end at or before a moment. */
static size_t ended_by(const struct track *t, int64_t at_ps)
{
	size_t lo = 0, hi = t->n;
	SS_BISECT(lo, hi, mid, t->v[mid].end_ps <= at_ps);
	return lo;
}

/* ---- segments ---- */

static bool add(struct walking *w, uint32_t host, int32_t device, enum ss_path_category category, struct ss_str op, int64_t begin,
		int64_t end)
{
	struct ss_path *p = w->p;
	begin = begin > w->stop ? begin : w->stop;
	if (end <= begin)
		return true;
	uint32_t k = ss_strmap_get(&p->names, op);
	if (k == SS_NONE) {
		struct ss_str copy = ss_arena_str(&p->arena, op);
		k = copy.p ? ss_strmap_add(&p->names, copy) : SS_NONE;
	}
	struct ss_path_segment s = { host, device, k & (SS_PATH_OPS - 1), category & 7u, begin, end };
	return k < SS_PATH_OPS && ss_vec_push(&p->segments, s);
}

static int64_t closeness(const struct walking *w)
{
	double u = w->c->hosts.v[w->c->devices.v[w->device].host].clock.uncertainty_ps;
	return isfinite(u) && u > (double)NEAR_PS && u < 1e12 ? (int64_t)u : NEAR_PS;
}

/* ---- one move back ---- */

/*
 * Does a collective end there for this member: was its end waited for? An asynchronous one else
 * ends with its done, which has a span.
 */
static bool ends_here(const struct walking *w, const struct ending *e)
{
	return e->member == UINT32_MAX || w->c->members.v[e->member].waited;
}

/*
 * The nearest end to where the walk stands, collectives before the done that waited for them; NULL:
 * none is near.
 */
static const struct ending *nearest(const struct walking *w, const struct track *t, int64_t near)
{
	const struct ending *best = NULL;
	int64_t best_away = near + 1;
	for (size_t i = ended_by(t, w->t + near); i-- > 0 && t->v[i].end_ps >= w->t - near;) {
		const struct ending *e = &t->v[i];
		int64_t away = llabs(e->end_ps - w->t);
		/* What has no length leads nowhere. */
		if (e->begin_ps >= w->t || !ends_here(w, e))
			continue;
		if (away < best_away || (away == best_away && e->member != UINT32_MAX && w->c->members.v[e->member].async)) {
			best = e;
			best_away = away;
		}
	}
	return best;
}

/* Through a collective: the transfer, and on to who came last, or to the source. */
static bool through_collective(struct walking *w, const struct ending *e, struct ss_str name)
{
	struct ss_cluster *c = w->c;
	const struct ss_member *m = &c->members.v[e->member];
	int64_t meets = m->arrive_ps;
	uint32_t to = w->device;
	if (m->collective != UINT32_MAX) {
		const struct ss_collective *k = &c->collectives.v[m->collective];
		meets = ss_member_meets_ps(c, k, m);
		if (!k->pairs && isfinite(ss_cluster_uncertainty_ps(c, c->devices.v[w->device].host,
								    c->devices.v[c->members.v[k->last].device].host)))
			to = c->members.v[k->last].device;
		else if (k->pairs && meets > m->arrive_ps)
			to = ss_member_source(c, k, m);
		to = to == UINT32_MAX ? w->device : to;
	}
	meets = meets < w->t ? meets : w->t;
	bool ok = add(w, SS_NO_HOST, -1, SS_PATH_TRANSFER, name, meets, w->t);
	w->t = meets;
	w->device = to;
	return ok;
}

static bool through_operation(struct walking *w, const struct ending *e, const struct ss_skel_op *op)
{
	static const enum ss_path_category categories[] = { [SS_SPAN_COMPUTE] = SS_PATH_COMPUTE,
							    [SS_SPAN_COPY] = SS_PATH_COPY,
							    [SS_SPAN_COMM] = SS_PATH_TRANSFER,
							    [SS_SPAN_COLLECTIVE] = SS_PATH_TRANSFER };
	const struct ss_cluster_device *d = &w->c->devices.v[w->device];
	bool ok = add(w, d->host, d->ordinal, categories[op->cls], op->name, e->begin_ps, w->t);
	w->t = e->begin_ps;
	return ok;
}

/*
 * The launch of what begins where the walk stands, or else the last host event that ended in the
 * gap.
 */
static const struct ending *event_in_gap(struct walking *w, const struct track *device, const struct track *host, int64_t gap_begin,
					 int64_t near, const struct ss_skeleton *s)
{
	const struct ss_skel_host_event *launch = NULL;
	for (size_t i = ended_by(device, w->t); i < device->n && i < ended_by(device, w->t) + 64 && !launch; i++)
		if (llabs(device->v[i].begin_ps - w->t) <= near && device->v[i].launch != SS_NO_LAUNCH)
			launch = &s->events.v[device->v[i].launch];
	for (size_t i = ended_by(host, w->t + near); i-- > 0 && host->v[i].end_ps > gap_begin;)
		if (!launch || host->v[i].thread == launch->thread)
			return &host->v[i];
	return NULL;
}

static bool through_gap(struct walking *w, const struct track *t, int64_t near, struct ss_err *err)
{
	const struct ss_cluster_device *d = &w->c->devices.v[w->device];
	size_t before = ended_by(t, w->t - 1);
	while (before && (!ends_here(w, &t->v[before - 1]) || t->v[before - 1].begin_ps >= w->t))
		before--;
	int64_t begin = before ? t->v[before - 1].end_ps : w->stop;
	const struct track *host = host_track(w, d->part, err);
	const struct ss_skeleton *s = host ? ss_cluster_part(w->c, d->part, err) : NULL;
	if (!s)
		return false;
	/* Tracks may have been let go of to make room. */
	t = device_track(w, w->device, err);
	host = t ? host_track(w, d->part, err) : NULL;
	if (!host)
		return false;
	const struct ending *e = event_in_gap(w, t, host, begin, near, s);
	if (e) {
		w->on_host = true;
		w->thread = e->thread;
		return true;
	}
	bool ok = add(w, d->host, d->ordinal, SS_PATH_IDLE, SS_STR("idle"), begin, w->t);
	w->t = begin;
	return ok || ss_fail_mem(err);
}

static bool move_on_device(struct walking *w, struct ss_err *err)
{
	const struct track *t = device_track(w, w->device, err);
	int64_t near = closeness(w);
	if (!t)
		return false;
	const struct ending *e = nearest(w, t, near);
	if (!e)
		return through_gap(w, t, near, err);
	struct ending at = *e;
	const struct ss_skeleton *s = ss_cluster_part(w->c, w->c->devices.v[w->device].part, err);
	if (!s)
		return false;
	const struct ss_skel_op *op = &s->ops.v[at.op];
	bool ok = at.member != UINT32_MAX ? through_collective(w, &at, op->name) : through_operation(w, &at, op);
	return ok || ss_fail_mem(err);
}

/*
 * The device of this host whose work ended nearest to the end of a wait; UINT32_MAX: none is near.
 */
static bool waited_for(struct walking *w, int64_t at, int64_t near, uint32_t *device, struct ss_err *err)
{
	uint32_t part = w->c->devices.v[w->device].part;
	const struct ss_cluster_host *h = &w->c->hosts.v[w->c->devices.v[w->device].host];
	int64_t best = near + 1;
	*device = UINT32_MAX;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		if (w->c->devices.v[d].part != part)
			continue;
		const struct track *t = device_track(w, d, err);
		if (!t)
			return false;
		size_t n = ended_by(t, at + near);
		if (n && llabs(t->v[n - 1].end_ps - at) < best) {
			best = llabs(t->v[n - 1].end_ps - at);
			*device = d;
		}
		if (n > 1 && llabs(t->v[n - 2].end_ps - at) < best) {
			best = llabs(t->v[n - 2].end_ps - at);
			*device = d;
		}
	}
	return true;
}

static bool move_on_host(struct walking *w, struct ss_err *err)
{
	const struct ss_cluster_device *d = &w->c->devices.v[w->device];
	const struct track *t = host_track(w, d->part, err);
	int64_t near = closeness(w);
	if (!t)
		return false;
	const struct ending *e = NULL;
	for (size_t i = ended_by(t, w->t + near); i-- > 0 && !e;)
		if (t->v[i].thread == w->thread && t->v[i].begin_ps < w->t)
			e = &t->v[i];
	if (!e) {
		int64_t until = w->t;
		w->t = w->stop;
		return add(w, d->host, -1, SS_PATH_HOST, SS_STR("host"), w->stop, until) || ss_fail_mem(err);
	}
	struct ending at = *e;
	if (at.end_ps < w->t && !add(w, d->host, -1, SS_PATH_HOST, SS_STR("host"), at.end_ps, w->t))
		return ss_fail_mem(err);
	w->t = at.end_ps < w->t ? at.end_ps : w->t;
	if (w->t <= w->stop)
		return true;
	if (at.host_class == SS_HOST_WAIT_EVENT) {
		uint32_t device;
		if (!waited_for(w, at.end_ps, near, &device, err))
			return false;
		if (device != UINT32_MAX) {
			w->device = device;
			w->on_host = false;
			return true;
		}
	}
	bool input = at.host_class == SS_HOST_INPUT_EVENT;
	struct ss_str op = input ? SS_STR("input") : at.host_class == SS_HOST_LAUNCH_EVENT ? SS_STR("launch") : SS_STR("host");
	bool ok = add(w, d->host, -1, input ? SS_PATH_INPUT : SS_PATH_HOST, op, at.begin_ps, w->t);
	w->t = at.begin_ps;
	return ok || ss_fail_mem(err);
}

/* ---- steps ---- */

struct step_end {
	int64_t step, end_ps;
	uint32_t device;
};

static int by_step(const void *a, const void *b)
{
	const struct step_end *x = a, *y = b;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->end_ps != y->end_ps)
		return x->end_ps > y->end_ps ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

static bool walk_step(struct walking *w, const struct step_end *last, int64_t stop, struct ss_err *err)
{
	struct ss_path_step st = { .step = last->step, .begin_ps = stop, .end_ps = last->end_ps, .first = w->p->segments.n };
	unsigned still = 0;
	w->device = last->device;
	w->t = last->end_ps;
	w->stop = stop;
	w->on_host = false;
	while (w->t > stop) {
		int64_t before = w->t;
		if (!(w->on_host ? move_on_host(w, err) : move_on_device(w, err)))
			return false;
		still = w->t < before ? 0 : still + 1;
		if (still < MOST_STILL)
			continue;
		const struct ss_cluster_device *d = &w->c->devices.v[w->device];
		if (!add(w, d->host, d->ordinal, SS_PATH_IDLE, SS_STR("idle"), stop, w->t))
			return ss_fail_mem(err);
		break;
	}
	st.n = w->p->segments.n - st.first;
	return ss_vec_push(&w->p->steps, st) || ss_fail_mem(err);
}

/* The last end of each step, over all devices. */
static size_t last_ends(const struct ss_cluster *c, struct step_end *v)
{
	size_t n = 0, kept = 0;
	for (uint32_t d = 0; d < c->devices.n; d++)
		for (uint32_t i = 0; i < c->devices.v[d].nsteps; i++) {
			const struct ss_cluster_step *s = &c->steps.v[c->devices.v[d].first_step + i];
			v[n++] = (struct step_end){ s->num, s->end_ps, d };
		}
	if (n)
		qsort(v, n, sizeof(*v), by_step);
	for (size_t i = 0; i < n; i++)
		if (!i || v[i].step != v[i - 1].step)
			v[kept++] = v[i];
	return kept;
}

static bool find_paths(struct ss_path *p, struct ss_cluster *c, struct ss_err *err)
{
	struct walking w = { .c = c, .p = p, .devices = calloc(c->devices.n + 1, sizeof(*w.devices)),
			     .parts = calloc(c->nparts + 1, sizeof(*w.parts)) };
	struct step_end *ends = calloc(c->steps.n + 1, sizeof(*ends));
	bool ok = (w.devices && w.parts && ends) || ss_fail_mem(err);
	size_t n = ok ? last_ends(c, ends) : 0;
	for (size_t i = 1; ok && i < n; i++)
		if (ss_cluster_follows(c, ends[i].step, ends[i - 1].step) && ends[i].end_ps > ends[i - 1].end_ps)
			ok = walk_step(&w, &ends[i], ends[i - 1].end_ps, err);
	if (w.devices && w.parts)
		forget_tracks(&w);
	free(w.devices);
	free(w.parts);
	free(ends);
	return ok;
}

static void release(void *data)
{
	struct ss_path *p = data;
	ss_vec_free(&p->steps);
	ss_vec_free(&p->segments);
	ss_strmap_free(&p->names);
	ss_arena_release(&p->arena);
	free(p);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_cluster *c = ss_model_cluster(owner, err);
	struct ss_path *p = c ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		if (c)
			ss_fail_mem(err);
		return NULL;
	}
	ss_cluster_lock(c);
	bool ok = find_paths(p, c, err);
	ss_cluster_unlock(c);
	if (ok)
		return p;
	release(p);
	return NULL;
}

const struct ss_path *ss_model_path(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_PATH], build, release, m, err);
}
