/* critical_path.c - see critical_path.h. */
#include "model/cluster/critical_path.h"

#include "base/bisect.h"
#include "base/sort.h"
#include "model/host/part.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#define NEAR_PS INT64_C(300000)	/* times this close are one moment, whatever clocks say */
#define MOST_STILL 64		/* moves that lead no further back: then something is wrong, and the rest is idle */
#define MOST_BYTES ((uint64_t)32 << 20)

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

/*
 * What ends on a device, or on all threads of a part, by end: numbers of the part's spans and
 * collectives, or of its events. Good until another part is looked at.
 */
struct track {
	const uint32_t *order;
	uint32_t n;
	const struct ss_skel_device *device; /* NULL: the host's events */
	const struct ss_skeleton *part;
	uint32_t first_member;
};

struct walking {
	struct ss_cluster *c;
	struct ss_path *p;
	uint32_t **devices, **parts; /* orders of tracks */
	uint32_t **launched;	/* by device and event of its part: the first span that it launched; SS_NONE: none */
	uint64_t bytes;
	/* The position of the walk. */
	uint32_t device;
	bool on_host;
	uint32_t thread;
	int64_t t, stop;
};

/* ---- tracks, made when the walk comes by ---- */

static struct ending ending_of(const struct track *t, uint32_t k)
{
	if (!t->device) {
		const struct ss_skel_host_event *e = &t->part->events.v[k];
		return (struct ending){ .begin_ps = e->begin_ps, .end_ps = e->end_ps, .member = UINT32_MAX, .thread = e->thread,
					.host_class = e->cls };
	}
	if (k < t->device->spans.n) {
		const struct ss_skel_span *v = &t->device->spans.v[k];
		return (struct ending){ .begin_ps = v->begin_ps, .end_ps = v->end_ps, .op = v->op, .launch = v->launch,
					.member = UINT32_MAX };
	}
	k -= (uint32_t)t->device->spans.n;
	const struct ss_skel_comm *v = &t->device->comms.v[k];
	return (struct ending){ .begin_ps = v->begin_ps, .end_ps = v->end_ps, .op = v->op, .launch = v->launch,
				.member = t->first_member + k };
}

static inline struct ending ending_at(const struct track *t, size_t i)
{
	return ending_of(t, t->order[i]);
}

static bool ends_before(const void *track, uint32_t a, uint32_t b)
{
	struct ending x = ending_of(track, a), y = ending_of(track, b);
	if (x.end_ps != y.end_ps)
		return x.end_ps < y.end_ps;
	return x.begin_ps != y.begin_ps ? x.begin_ps < y.begin_ps : a < b;
}

/* All but those of one part, which the walk is looking at. */
static void forget_tracks(struct walking *w, uint32_t keep)
{
	for (size_t i = 0; i < w->c->devices.n; i++) {
		if (w->c->devices.v[i].part == keep)
			continue;
		free(w->devices[i]);
		free(w->launched[i]);
		w->devices[i] = w->launched[i] = NULL;
	}
	for (size_t i = 0; i < w->c->nparts; i++) {
		if (i == keep)
			continue;
		free(w->parts[i]);
		w->parts[i] = NULL;
	}
	w->bytes = 0;
}

static bool order_track(struct walking *w, struct track *t, uint32_t part, uint32_t **order, struct ss_err *err)
{
	if (!*order) {
		if (w->bytes > MOST_BYTES)
			forget_tracks(w, part);
		*order = malloc(((size_t)t->n + 1) * sizeof(**order));
		if (!*order)
			return ss_fail_mem(err);
		w->bytes += ((size_t)t->n + 1) * sizeof(**order);
		for (uint32_t i = 0; i < t->n; i++)
			(*order)[i] = i;
		ss_sort_numbers(*order, t->n, ends_before, t);
	}
	t->order = *order;
	return true;
}

static bool device_track(struct walking *w, uint32_t device, struct track *t, struct ss_err *err)
{
	const struct ss_cluster_device *cd = &w->c->devices.v[device];
	*t = (struct track){ .part = ss_cluster_part(w->c, cd->part, err), .first_member = cd->first_member };
	if (!t->part)
		return false;
	t->device = ss_cluster_device(t->part, cd);
	t->n = (uint32_t)(t->device->spans.n + t->device->comms.n);
	return order_track(w, t, cd->part, &w->devices[device], err);
}

static bool host_track(struct walking *w, uint32_t part, struct track *t, struct ss_err *err)
{
	*t = (struct track){ .part = ss_cluster_part(w->c, part, err) };
	if (!t->part)
		return false;
	t->n = (uint32_t)t->part->events.n;
	return order_track(w, t, part, &w->parts[part], err);
}

/* The number of entries that end at or before a moment. */
static size_t ended_by(const struct track *t, int64_t at_ps)
{
	size_t lo = 0, hi = t->n;
	SS_BISECT(lo, hi, mid, ending_at(t, mid).end_ps <= at_ps);
	return lo;
}

/* ---- segments ---- */

/* `end` is where the segment before it began. */
static bool add(struct walking *w, uint32_t where, enum ss_path_category category, struct ss_str op, int64_t begin,
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
	struct ss_path_point s = { begin, k & (SS_PATH_OPS - 1), category & 7u, where };
	return k < SS_PATH_OPS && ss_vec_push(&p->points, s);
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
 * The nearest end to where the walk stands, collectives before the done that waited for them. False:
 * none is near.
 */
static bool nearest(const struct walking *w, const struct track *t, int64_t near, struct ending *best)
{
	int64_t best_away = near + 1;
	for (size_t i = ended_by(t, w->t + near); i-- > 0;) {
		struct ending e = ending_at(t, i);
		int64_t away = llabs(e.end_ps - w->t);
		if (e.end_ps < w->t - near)
			break;
		/* An event without length is not followed. */
		if (e.begin_ps >= w->t || !ends_here(w, &e))
			continue;
		if (away < best_away || (away == best_away && e.member != UINT32_MAX && w->c->members.v[e.member].async)) {
			*best = e;
			best_away = away;
		}
	}
	return best_away <= near;
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
	bool ok = add(w, SS_PATH_NETWORK, SS_PATH_TRANSFER, name, meets, w->t);
	w->t = meets;
	w->device = to;
	return ok;
}

static bool through_operation(struct walking *w, const struct ending *e, const struct ss_skel_op *op)
{
	static const enum ss_path_category categories[] = { [SS_SPAN_COMPUTE] = SS_PATH_COMPUTE,
							    [SS_SPAN_COPY] = SS_PATH_COPY,
							    [SS_SPAN_COMM] = SS_PATH_TRANSFER,
							    [SS_SPAN_COLLECTIVE] = SS_PATH_TRANSFER,
							    [SS_SPAN_INPUT] = SS_PATH_INPUT };
	bool ok = add(w, w->device, categories[op->cls], op->name, e->begin_ps, w->t);
	w->t = e->begin_ps;
	return ok;
}

/*
 * The thread of the launch of what begins where the walk stands, or else of the last host event that
 * ended in the gap. False: there is none.
 */
static bool thread_in_gap(const struct walking *w, const struct track *device, const struct track *host, int64_t gap_begin,
			  int64_t near, uint32_t *thread)
{
	const struct ss_skel_host_event *launch = NULL;
	size_t first = ended_by(device, w->t);
	for (size_t i = first; i < device->n && i < first + 64 && !launch; i++) {
		struct ending e = ending_at(device, i);
		if (llabs(e.begin_ps - w->t) <= near && e.launch != SS_NO_LAUNCH)
			launch = &device->part->events.v[e.launch];
	}
	for (size_t i = ended_by(host, w->t + near); i-- > 0;) {
		struct ending e = ending_at(host, i);
		if (e.end_ps <= gap_begin)
			break;
		*thread = e.thread;
		if (!launch || e.thread == launch->thread)
			return true;
	}
	return false;
}

static bool through_gap(struct walking *w, const struct track *t, int64_t near, struct ss_err *err)
{
	struct track host;
	struct ending last = { .end_ps = w->stop };
	for (size_t before = ended_by(t, w->t - 1); before-- > 0;) {
		struct ending e = ending_at(t, before);
		if (!ends_here(w, &e) || e.begin_ps >= w->t)
			continue;
		last = e;
		break;
	}
	if (!host_track(w, w->c->devices.v[w->device].part, &host, err))
		return false;
	if (thread_in_gap(w, t, &host, last.end_ps, near, &w->thread)) {
		w->on_host = true;
		return true;
	}
	bool ok = add(w, w->device, SS_PATH_IDLE, SS_STR("idle"), last.end_ps, w->t);
	w->t = last.end_ps;
	return ok || ss_fail_mem(err);
}

static bool move_on_device(struct walking *w, struct ss_err *err)
{
	struct track t;
	struct ending at = { .member = UINT32_MAX };
	int64_t near = closeness(w);
	if (!device_track(w, w->device, &t, err))
		return false;
	if (!nearest(w, &t, near, &at))
		return through_gap(w, &t, near, err);
	const struct ss_skel_op *op = &t.part->ops.v[at.op];
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
		struct track t;
		if (!device_track(w, d, &t, err))
			return false;
		size_t n = ended_by(&t, at + near);
		for (size_t i = n; i-- > 0 && i + 2 >= n;) {
			int64_t away = llabs(ending_at(&t, i).end_ps - at);
			if (away < best) {
				best = away;
				*device = d;
			}
		}
	}
	return true;
}

/* NULL: memory is out. */
static const uint32_t *launched_by(struct walking *w, const struct ss_skeleton *part, const struct ss_skel_device *d)
{
	uint32_t **of = &w->launched[w->device];
	if (*of)
		return *of;
	*of = malloc((part->events.n + 1) * sizeof(**of));
	if (!*of)
		return NULL;
	w->bytes += (part->events.n + 1) * sizeof(**of);
	for (size_t i = 0; i < part->events.n; i++)
		(*of)[i] = SS_NONE;
	for (uint32_t i = 0; i < d->spans.n; i++) {
		uint32_t launch = d->spans.v[i].launch;
		if (launch != SS_NO_LAUNCH && (*of)[launch] == SS_NONE)
			(*of)[launch] = i;
	}
	return *of;
}

/* Events that are looked at for the next launch of a thread, and spans for the one before on a stream. */
#define MOST_LOOKED 4096

/* What the thread of the walk launches next on the walk's device; SS_NONE: nothing. */
static uint32_t next_launched(const struct walking *w, const struct ss_skeleton *part, const uint32_t *launched)
{
	size_t lo = 0, hi = part->events.n;
	SS_BISECT(lo, hi, mid, part->events.v[mid].begin_ps < w->t);
	for (size_t k = lo; k < part->events.n && k - lo < MOST_LOOKED; k++)
		if (part->events.v[k].thread == w->thread && launched[k] != SS_NONE)
			return launched[k];
	return SS_NONE;
}

/*
 * Threads that launch onto one stream take turns (graph_edges.c): to the launch by another thread that the
 * next launch of this one follows. Nothing changes where its own thread did something since, at
 * `own_end_ps`. False: memory is out.
 */
static bool take_turns(struct walking *w, const struct ss_skeleton *part, int64_t own_end_ps)
{
	const struct ss_skel_device *d = ss_cluster_device(part, &w->c->devices.v[w->device]);
	const uint32_t *launched = launched_by(w, part, d);
	uint32_t own = launched ? next_launched(w, part, launched) : SS_NONE;
	for (uint32_t k = own; own != SS_NONE && k-- > 0 && own - k < MOST_LOOKED;) {
		const struct ss_skel_span *v = &d->spans.v[k];
		if (v->stream != d->spans.v[own].stream)
			continue;
		const struct ss_skel_host_event *other = v->launch == SS_NO_LAUNCH ? NULL : &part->events.v[v->launch];
		if (other && other->end_ps <= w->t && other->end_ps > own_end_ps)
			w->thread = other->thread;
		break;
	}
	return launched;
}

/*
 * To the device, where a long call lasted until the copy that it launched was done (graph_edges.c). False:
 * memory is out.
 */
static bool leave_blocking(struct walking *w, const struct ss_skeleton *part, uint32_t event, int64_t near)
{
	const struct ss_skel_device *d = ss_cluster_device(part, &w->c->devices.v[w->device]);
	const struct ss_skel_host_event *e = &part->events.v[event];
	if (part->on_cpu || e->cls != SS_HOST_LAUNCH_EVENT || e->end_ps - e->begin_ps < SS_CALL_BLOCKS_PS)
		return true;
	const uint32_t *launched = launched_by(w, part, d);
	const struct ss_skel_span *v = launched && launched[event] != SS_NONE ? &d->spans.v[launched[event]] : NULL;
	if (!v || v->begin_ps < e->begin_ps || v->end_ps > e->end_ps + near || v->end_ps > w->t)
		return launched;
	w->on_host = false;
	uint32_t host = SS_PATH_ON_HOST | w->c->devices.v[w->device].host;
	int64_t until = w->t;
	w->t = v->end_ps;
	return add(w, host, SS_PATH_HOST, SS_STR("launch"), v->end_ps, until);
}

static bool move_on_host(struct walking *w, struct ss_err *err)
{
	const struct ss_cluster_device *d = &w->c->devices.v[w->device];
	uint32_t host = SS_PATH_ON_HOST | d->host;
	int64_t near = closeness(w);
	struct track t;
	struct ending at = { 0 };
	bool found = false, others = false;
	uint32_t event = 0;
	if (!host_track(w, d->part, &t, err))
		return false;
	for (size_t i = ended_by(&t, w->t + near); i-- > 0 && !found;) {
		at = ending_at(&t, i);
		event = t.order[i];
		found = at.thread == w->thread && at.begin_ps < w->t;
		others |= at.thread != w->thread && at.host_class == SS_HOST_LAUNCH_EVENT;
	}
	uint32_t thread = w->thread;
	if (others && !take_turns(w, t.part, found ? at.end_ps : w->stop))
		return ss_fail_mem(err);
	if (w->thread != thread)
		return true;
	if (!found) {
		int64_t until = w->t;
		w->t = w->stop;
		return add(w, host, SS_PATH_HOST, SS_STR("host"), w->stop, until) || ss_fail_mem(err);
	}
	if (at.end_ps < w->t && !add(w, host, SS_PATH_HOST, SS_STR("host"), at.end_ps, w->t))
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
	if (!leave_blocking(w, t.part, event, near))
		return ss_fail_mem(err);
	if (!w->on_host)
		return true;
	bool input = at.host_class == SS_HOST_INPUT_EVENT;
	struct ss_str op = input ? SS_STR("input") : at.host_class == SS_HOST_LAUNCH_EVENT ? SS_STR("launch") : SS_STR("host");
	bool ok = add(w, host, input ? SS_PATH_INPUT : SS_PATH_HOST, op, at.begin_ps, w->t);
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
	return SS_CMP(x->step, y->step) ?: SS_CMP(y->end_ps, x->end_ps) ?: SS_CMP(x->device, y->device);
}

static bool walk_step(struct walking *w, const struct step_end *last, int64_t stop, struct ss_err *err)
{
	struct ss_path_step st = { .step = last->step, .begin_ps = stop, .end_ps = last->end_ps, .first = w->p->points.n };
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
		if (!add(w, w->device, SS_PATH_IDLE, SS_STR("idle"), stop, w->t))
			return ss_fail_mem(err);
		break;
	}
	st.n = w->p->points.n - st.first;
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
			     .parts = calloc(c->nparts + 1, sizeof(*w.parts)),
			     .launched = calloc(c->devices.n + 1, sizeof(*w.launched)) };
	struct step_end *ends = calloc(c->steps.n + 1, sizeof(*ends));
	bool ok = (w.devices && w.parts && w.launched && ends) || ss_fail_mem(err);
	size_t n = ok ? last_ends(c, ends) : 0;
	for (size_t i = 1; ok && i < n; i++)
		if (ss_cluster_follows(c, ends[i].step, ends[i - 1].step) && ends[i].end_ps > ends[i - 1].end_ps)
			ok = walk_step(&w, &ends[i], ends[i - 1].end_ps, err);
	if (w.devices && w.parts && w.launched)
		forget_tracks(&w, UINT32_MAX);
	free(w.devices);
	free(w.parts);
	free(w.launched);
	free(ends);
	ss_cluster_rest(c);
	return ok;
}

static void release(void *data)
{
	struct ss_path *p = data;
	ss_vec_free(&p->steps);
	ss_vec_free(&p->points);
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
