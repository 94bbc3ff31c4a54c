/*
 * timeline_hosts.c - what many hosts add to a timeline: arrows to those who waited at a collective
 * from who came last, and along the critical path.
 *
 * Collectives and paths are known by device and time on the common clock. What is drawn is found
 * from there: the time on the host's own clock, the tracks of the device, and there the event that
 * begins then and has the operation's name.
 */
#include "base/safe.h"
#include "base/bisect.h"
#include "model/cluster/critical_path.h"
#include "model/cluster/comm_op.h"
#include "tools/timeline.h"

#include <math.h>
#include <stdlib.h>

#define MOST_COLLECTIVES 2000u	/* of one answer */
#define MOST_MEMBERS 64u	/* of one collective */
#define MOST_SEGMENTS 20000u
#define SAME_PS 2000		/* times are rounded when clocks are corrected */

struct joining {
	struct ss_timeline *tl;
	const struct ss_model_trace *mt;
	struct ss_cluster *c;
	struct ss_arena *arena;
	uint32_t flow;	/* number of the next flow: behind those of the hosts */
	size_t cap;	/* of tl->arrows */
};

/* The host of the model whose file a device is in. */
static size_t host_of(const struct joining *j, uint32_t device)
{
	return j->c->parts[j->c->devices.v[device].part].number;
}

/* A time on the common clock as the timeline shows the host's events. */
static int64_t shown_ps(const struct joining *j, uint32_t device, int64_t common_ps)
{
	const struct ss_cluster_device *d = &j->c->devices.v[device];
	const struct ss_clock *k = &j->c->hosts.v[d->host].clock;
	double off = 0;
	if (k->applied)
		off = k->offset_ps + k->drift * (double)(common_ps - j->c->middle_ps);
	return ss_clock_shown(&j->mt->clocks[host_of(j, device)], common_ps + llrint(off) - j->c->parts[d->part].zero_ps);
}

/* The number at the end of "/device:TPU:3". */
static int64_t number_of(struct ss_str plane)
{
	size_t colon = ss_str_rchr(plane, ':');
	struct ss_str tail = ss_str_sub(plane, colon == SS_NPOS ? plane.n : colon + 1, plane.n);
	uint64_t v;
	return ss_str_take_u64(&tail, &v) && v <= INT32_MAX ? (int64_t)v : -1;
}

/*
 * Are the device's operations among the tracks of this section? CPUs' are on threads of the host.
 */
static bool shows_device(const struct ss_trace_section *s, int32_t ordinal, bool has_devices)
{
	return has_devices ? s->kind == SS_TRACE_DEVICE && number_of(s->plane->base.name) == ordinal : s->kind == SS_TRACE_HOST;
}

/*
 * Is it the name of the operation, or of one of its kind if it communicates ("async-all-gather" is
 * the whole of one)?
 */
static bool is_named(struct ss_str shown, struct ss_str op, enum ss_comm kind)
{
	if (kind != SS_COMM_NONE)
		ss_str_take(&shown, SS_STR("async-"));
	if (kind != SS_COMM_NONE)
		return ss_str_starts(shown, ss_str_from(ss_comm_name(kind))) || ss_comm_of_kernel(shown) == kind;
	return op.n && ss_str_starts(shown, op);
}

/*
 * The slice of a track that begins then and is called so; SS_NONE. Slices of a track are by begin.
 */
static uint32_t slice_on(const struct joining *j, const struct ss_tl_track *t, int64_t at_ps, struct ss_str op, enum ss_comm kind)
{
	size_t lo = t->first, hi = t->first + t->count;
	SS_BISECT(lo, hi, mid, (int64_t)j->tl->slices[mid].begin_ps < at_ps - SAME_PS);
	for (; lo < t->first + t->count && (int64_t)j->tl->slices[lo].begin_ps <= at_ps + SAME_PS; lo++)
		if (is_named(j->tl->names[j->tl->slices[lo].name], op, kind))
			return (uint32_t)lo;
	return SS_NONE;
}

/* The slice of the answer that begins on a device at a moment; SS_NONE: it is not drawn. */
static uint32_t find_slice(const struct joining *j, uint32_t device, int64_t common_ps, struct ss_str op, enum ss_comm kind)
{
	size_t h = host_of(j, device);
	if (h >= j->mt->nhosts)
		return SS_NONE;
	const struct ss_trace *tr = j->mt->hosts[h];
	int64_t at_ps = shown_ps(j, device, common_ps);
	bool has_devices = false;
	for (uint32_t s = 0; s < tr->nsections; s++)
		has_devices |= tr->sections[s].kind == SS_TRACE_DEVICE && number_of(tr->sections[s].plane->base.name) >= 0;
	for (uint32_t s = 0; s < tr->nsections; s++) {
		const struct ss_trace_section *sec = &tr->sections[s];
		if (!shows_device(sec, j->c->devices.v[device].ordinal, has_devices))
			continue;
		for (uint32_t i = sec->first_track; i < sec->first_track + sec->ntracks; i++) {
			const struct ss_tl_track *t = &j->tl->tracks[j->mt->first_track[h] + i];
			uint32_t slice = t->kind == SS_TL_SLICES ? slice_on(j, t, at_ps, op, kind) : SS_NONE;
			if (slice != SS_NONE)
				return slice;
		}
	}
	return SS_NONE;
}

static bool add_arrow(struct joining *j, uint32_t from, uint32_t to)
{
	struct ss_timeline *tl = j->tl;
	if (tl->narrows == j->cap) {
		size_t cap = j->cap * 2 + 64;
		struct ss_tl_arrow *v = SS_NEW_N(j->arena, struct ss_tl_arrow, cap);
		if (!v)
			return false;
		if (tl->narrows)
			memcpy(v, tl->arrows, tl->narrows * sizeof(*v));
		tl->arrows = v;
		j->cap = cap;
	}
	tl->arrows[tl->narrows++] = (struct ss_tl_arrow){ j->flow, from, to };
	return true;
}

static bool start(struct joining *j, struct ss_timeline *tl, struct ss_model *m, const struct ss_model_trace *mt,
		  struct ss_arena *arena, struct ss_err *err)
{
	*j = (struct joining){ .tl = tl, .mt = mt, .c = ss_model_cluster(m, err), .arena = arena,
			       .flow = mt->first_flow[mt->nhosts], .cap = tl->narrows };
	return j->c;
}

/* ---- collectives ---- */

/* Member by member from its source; else from who came last, if the clocks tell. */
static uint32_t waited_for(const struct joining *j, const struct ss_collective *k, uint32_t member)
{
	if (k->pairs)
		return ss_member_source_member(j->c, k, &j->c->members.v[member]);
	return k->is_clear && k->n == k->expected ? k->last : UINT32_MAX;
}

static uint32_t slice_of(const struct joining *j, const struct ss_collective *k, uint32_t member)
{
	const struct ss_member *m = &j->c->members.v[member];
	const struct ss_cluster_op *op = &j->c->ops.v[k->op];
	return find_slice(j, m->device, m->arrive_ps, op->name, op->kind);
}

static bool add_collective(struct joining *j, const struct ss_collective *k)
{
	uint32_t known = UINT32_MAX, from = SS_NONE;
	for (uint32_t i = 0; i < k->n && i < MOST_MEMBERS; i++) {
		uint32_t member = j->c->order[k->first + i], source = waited_for(j, k, member);
		if (source == UINT32_MAX || source == member)
			continue;
		if (source != known) {
			from = slice_of(j, k, source);
			known = source;
		}
		uint32_t to = from == SS_NONE ? SS_NONE : slice_of(j, k, member);
		if (to != SS_NONE && !add_arrow(j, from, to))
			return false;
	}
	j->flow++;
	return true;
}

bool ss_timeline_join_hosts(struct ss_timeline *tl, struct ss_model *m, const struct ss_model_trace *mt, struct ss_arena *arena,
			    struct ss_err *err)
{
	struct joining j;
	size_t n = 0;
	if (!start(&j, tl, m, mt, arena, err))
		return false;
	for (size_t i = 0; i < j.c->collectives.n && n < MOST_COLLECTIVES; i++) {
		const struct ss_collective *k = &j.c->collectives.v[i];
		uint32_t device = j.c->members.v[k->last].device;
		if (k->n < 2 || shown_ps(&j, device, k->last_ps) > (int64_t)tl->to_ps ||
		    shown_ps(&j, device, k->done_ps) < (int64_t)tl->from_ps)
			continue;
		n++;
		if (!add_collective(&j, k))
			return ss_fail_mem(err);
	}
	return true;
}

/* ---- the critical path ---- */

static uint32_t device_of(const struct joining *j, uint32_t host, int32_t ordinal)
{
	const struct ss_cluster_host *h = host < j->c->hosts.n ? &j->c->hosts.v[host] : NULL;
	for (uint32_t d = 0; h && d < h->ndevices; d++)
		if (j->c->devices.v[h->first_device + d].ordinal == ordinal)
			return h->first_device + d;
	return SS_NONE;
}

/* From the step's end back: arrows go the other way. What no track shows is passed over. */
static bool draw_step(struct joining *j, const struct ss_path *p, const struct ss_path_step *st, size_t *left)
{
	uint32_t after = SS_NONE;
	for (size_t k = 0; k < st->n && *left; k++) {
		struct ss_path_segment s = ss_path_segment(j->c, p, st, k);
		uint32_t device = s.device < 0 ? SS_NONE : device_of(j, s.host, s.device);
		if (device == SS_NONE || (s.category != SS_PATH_COMPUTE && s.category != SS_PATH_COPY))
			continue;
		--*left;
		uint32_t slice = find_slice(j, device, s.begin_ps, ss_path_op(p, &s), SS_COMM_NONE);
		if (slice == SS_NONE)
			continue;
		if (after != SS_NONE && !add_arrow(j, slice, after))
			return false;
		after = slice;
	}
	j->flow++;
	return true;
}

bool ss_timeline_draw_path(struct ss_timeline *tl, struct ss_model *m, const struct ss_model_trace *mt, struct ss_arena *arena,
			   struct ss_err *err)
{
	struct joining j;
	const struct ss_path *p = ss_model_path(m, err);
	size_t left = MOST_SEGMENTS;
	if (!p || !start(&j, tl, m, mt, arena, err))
		return false;
	for (size_t i = 0; i < p->steps.n; i++) {
		const struct ss_path_step *st = &p->steps.v[i];
		struct ss_path_segment end = st->n ? ss_path_segment(j.c, p, st, 0) : (struct ss_path_segment){ .device = -1 };
		uint32_t last = st->n ? device_of(&j, end.host, end.device) : SS_NONE;
		if (last != SS_NONE && (shown_ps(&j, last, st->begin_ps) > (int64_t)tl->to_ps ||
					shown_ps(&j, last, st->end_ps) < (int64_t)tl->from_ps))
			continue;
		if (!draw_step(&j, p, st, &left))
			return ss_fail_mem(err);
	}
	return true;
}
