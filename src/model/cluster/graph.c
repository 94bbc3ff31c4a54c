/* graph.c - see graph.h. */
#include "model/cluster/graph.h"

#include "base/bisect.h"
#include "base/heap.h"
#include "base/sort.h"

#include <stdlib.h>

#define NEAR_PS INT64_C(300000)
#define SOON_PS INT64_C(20000000)
#define MOST_STREAMS 4096
#define MOST_WAITS 8	/* operations of other streams that one operation waits for */

/* One device's nodes while its edges are made. */
struct lane {
	uint32_t first, n;	/* of nodes; in the order of begin */
	uint32_t *launch;	/* by node: of the part's events; until the device's edges are made, as streams and by_launch */
	uint32_t *stream;
	uint32_t *by_end;	/* nodes by end */
	uint32_t *by_launch;	/* nodes that have one, by it */
	uint32_t nlaunched;
};

/*
 * The operations on other streams for which an operation waits; they are equal in all its executions,
 * because the program is the same.
 */
struct waits {
	uint32_t names[MOST_WAITS];
	uint32_t n;
};

/* State of the threads of a part. */
struct part_events {
	uint32_t first, n;	/* of nodes */
	uint32_t skipped;	/* of the part's events before those */
	bool on_cpu;
	/* By node: the launch by another thread that it follows; UINT32_MAX: none. While the part's edges are made. */
	uint32_t *follows;
	uint32_t *last_op;	/* the operation that it launched and that ends last; UINT32_MAX: none */
};

struct making {
	struct ss_cluster *c;
	const struct ss_played *played;
	struct ss_graph *g;
	struct lane *lanes;	/* by device */
	struct part_events *events; /* by part */
	SS_VEC(struct waits) waits; /* by name */
};

static uint32_t name_of(struct making *m, struct ss_str s)
{
	uint32_t k = ss_strmap_get(&m->g->names, s);
	if (k != SS_NONE)
		return k;
	s = ss_arena_str(&m->g->arena, s);
	return s.p ? ss_strmap_add(&m->g->names, s) : SS_NONE;
}

/* ---- nodes ---- */

/* The spans of a device, followed by its collectives, while they become nodes. */
struct placing {
	struct making *m;
	const struct ss_cluster_device *cd;
	const struct ss_skel_device *d;
	const struct ss_skeleton *s;
	uint32_t device, nspans;
	uint32_t *done_of;	/* by span: the collective whose done it is; UINT32_MAX */
	uint32_t *order;	/* by begin; asynchronous collectives have no node of their own */
	uint32_t n;
};

static const struct ss_skel_comm *comm_at(const struct placing *p, uint32_t k)
{
	return &p->d->comms.v[k - p->nspans];
}

static int64_t end_at(const struct placing *p, uint32_t k)
{
	return k < p->nspans ? p->d->spans.v[k].end_ps : comm_at(p, k)->end_ps;
}

static bool is_joined(const struct making *m, uint32_t member)
{
	return m->c->members.v[member].collective != UINT32_MAX;
}

static enum ss_node_kind kind_at(const struct placing *p, uint32_t k)
{
	if (k >= p->nspans)
		return is_joined(p->m, p->cd->first_member + k - p->nspans) ? SS_NODE_MEMBER : SS_NODE_OTHER;
	if (p->done_of[k] != UINT32_MAX)
		return SS_NODE_DONE;
	enum ss_span_class cls = p->s->ops.v[p->d->spans.v[k].op].cls;
	return cls == SS_SPAN_COMPUTE ? SS_NODE_COMPUTE : cls == SS_SPAN_INPUT ? SS_NODE_INFEED : SS_NODE_OTHER;
}

static bool placed_before(const void *placing, uint32_t a, uint32_t b)
{
	const struct placing *p = placing;
	int64_t begin_a = a < p->nspans ? p->d->spans.v[a].begin_ps : comm_at(p, a)->begin_ps;
	int64_t begin_b = b < p->nspans ? p->d->spans.v[b].begin_ps : comm_at(p, b)->begin_ps;
	if (begin_a != begin_b)
		return begin_a < begin_b;
	int64_t end_a = end_at(p, a), end_b = end_at(p, b);
	if (end_a != end_b)
		return end_a < end_b;
	enum ss_node_kind kind_a = kind_at(p, a), kind_b = kind_at(p, b);
	return kind_a != kind_b ? kind_a < kind_b : a < b;
}

/*
 * Starts and dones of asynchronous collectives are found by their times, which the collective has
 * from them.
 */
static bool mark_async(struct placing *p)
{
	const struct ss_skel_device *d = p->d;
	struct ss_u64map ends = { 0 };
	int64_t least = INT64_MAX;
	bool ok = true;
	for (uint32_t i = 0; ok && i < d->comms.n; i++)
		if (d->comms.v[i].async)
			ok = ss_u64map_put(&ends, (uint64_t)d->comms.v[i].end_ps, i);
	for (uint32_t i = 0; ok && i < p->nspans; i++) {
		const struct ss_skel_span *v = &d->spans.v[i];
		uint32_t k = p->s->ops.v[v->op].cls == SS_SPAN_COMM ? ss_u64map_get(&ends, (uint64_t)v->end_ps) : SS_NONE;
		p->done_of[i] = UINT32_MAX;
		if (k == SS_NONE || v->begin_ps <= d->comms.v[k].begin_ps || !is_joined(p->m, p->cd->first_member + k))
			continue;
		p->done_of[i] = k;
		int64_t dur = v->end_ps - v->begin_ps;
		least = dur < least && !d->comms.v[k].waited ? dur : least;
	}
	p->m->g->least_ps[p->device] = least == INT64_MAX ? 0 : least;
	ss_u64map_free(&ends);
	return ok;
}

int64_t ss_node_step(const struct ss_cluster *c, const struct ss_node *n)
{
	const struct ss_cluster_device *cd = &c->devices.v[n->where];
	uint32_t lo = 0, hi = cd->nsteps;
	SS_BISECT(lo, hi, mid, c->steps.v[cd->first_step + mid].end_ps < n->end_ps);
	return lo < cd->nsteps ? c->steps.v[cd->first_step + lo].num : SS_NO_STEP;
}

static bool add_node(struct placing *p, struct lane *l, uint32_t k)
{
	struct making *m = p->m;
	struct ss_node n = { .where = p->device, .kind = kind_at(p, k) & 7u, .member = UINT32_MAX };
	const struct ss_skel_comm *comm = k < p->nspans ? NULL : comm_at(p, k);
	const struct ss_skel_span *span = comm ? NULL : &p->d->spans.v[k];
	uint32_t name = name_of(m, p->s->ops.v[comm ? comm->op : span->op].name);
	n.name = name & SS_NODE_NO_NAME;
	n.begin_ps = comm ? comm->begin_ps : span->begin_ps;
	n.end_ps = comm ? comm->end_ps : span->end_ps;
	l->launch[l->n] = comm ? comm->launch : span->launch;
	l->stream[l->n++] = comm ? comm->stream : span->stream;
	if (n.kind == SS_NODE_MEMBER || n.kind == SS_NODE_DONE)
		n.member = p->cd->first_member + (comm ? k - p->nspans : p->done_of[k]);
	if (n.kind == SS_NODE_MEMBER)
		m->g->arrival[n.member] = (uint32_t)m->g->nodes.n;
	return name < SS_NODE_NO_NAME && ss_vec_push(&m->g->nodes, n);
}

/* An asynchronous collective is arrived at when its start begins. */
static void find_starts(const struct placing *p, const struct lane *l)
{
	struct ss_graph *g = p->m->g;
	for (uint32_t i = 0, at = 0; i < p->d->comms.n; i++) {
		if (!p->d->comms.v[i].async)
			continue;
		while (at < l->n && g->nodes.v[l->first + at].begin_ps < p->d->comms.v[i].begin_ps)
			at++;
		if (at == l->n || g->nodes.v[l->first + at].begin_ps != p->d->comms.v[i].begin_ps)
			continue;
		g->arrival[p->cd->first_member + i] = l->first + at;
		if (g->nodes.v[l->first + at].kind == SS_NODE_OTHER && is_joined(p->m, p->cd->first_member + i))
			g->nodes.v[l->first + at].member = p->cd->first_member + i;
	}
}

static bool place_nodes(struct placing *p, struct lane *l)
{
	bool ok = p->done_of && p->order && mark_async(p);
	for (uint32_t k = 0; ok && k < p->nspans + p->d->comms.n; k++)
		if ((k < p->nspans || !comm_at(p, k)->async) && ss_played_has(p->m->played, p->device, end_at(p, k)))
			p->order[p->n++] = k;
	ok = ok && ss_sort_runs(p->order, p->n, placed_before, p);
	l->first = (uint32_t)p->m->g->nodes.n;
	l->launch = calloc((size_t)p->n + 1, sizeof(*l->launch));
	l->stream = calloc((size_t)p->n + 1, sizeof(*l->stream));
	ok = ok && l->launch && l->stream && ss_vec_reserve(&p->m->g->nodes, p->m->g->nodes.n + p->n);
	for (uint32_t i = 0; ok && i < p->n; i++)
		ok = add_node(p, l, p->order[i]);
	if (ok)
		find_starts(p, l);
	return ok;
}

static bool add_device(struct making *m, uint32_t device, const struct ss_skeleton *s)
{
	const struct ss_cluster_device *cd = &m->c->devices.v[device];
	const struct ss_skel_device *d = ss_cluster_device(s, cd);
	struct placing p = { .m = m, .cd = cd, .d = d, .s = s, .device = device, .nspans = (uint32_t)d->spans.n,
			     .done_of = malloc((d->spans.n + 1) * sizeof(*p.done_of)),
			     .order = malloc((d->spans.n + d->comms.n + 1) * sizeof(*p.order)) };
	bool ok = place_nodes(&p, &m->lanes[device]);
	free(p.done_of);
	free(p.order);
	return ok;
}

/* These events are a range, because events are in the order of their begin. */
static bool has_event(const struct making *m, const struct ss_skel_host_event *e)
{
	return m->played->whole || (e->begin_ps > m->played->all.after_ps && e->begin_ps <= m->played->all.until_ps);
}

static bool add_events(struct making *m, uint32_t part, const struct ss_skeleton *s)
{
	struct part_events *events = &m->events[part];
	*events = (struct part_events){ .first = (uint32_t)m->g->nodes.n, .on_cpu = s->on_cpu };
	for (uint32_t i = 0; i < s->events.n; i++) {
		if (!has_event(m, &s->events.v[i]))
			continue;
		events->skipped = events->n ? events->skipped : i;
		const struct ss_skel_host_event *e = &s->events.v[i];
		struct ss_node nd = { .begin_ps = e->begin_ps,
				      .end_ps = e->end_ps,
				      .where = m->c->parts[part].host,
				      .name = SS_NODE_NO_NAME,
				      .thread = e->thread,
				      .cls = e->cls & 3u,
				      .kind = e->cls == SS_HOST_WAIT_EVENT ? SS_NODE_WAIT : SS_NODE_EVENT };
		if (!ss_vec_push(&m->g->nodes, nd))
			return false;
		events->n++;
	}
	return true;
}

/* The node of a launch; UINT32_MAX: it is not played back. */
static uint32_t launch_node(const struct making *m, uint32_t part, uint32_t launch)
{
	const struct part_events *e = &m->events[part];
	bool held = launch != SS_NO_LAUNCH && launch >= e->skipped && launch - e->skipped < e->n;
	return held ? e->first + launch - e->skipped : UINT32_MAX;
}

/* ---- orders within a device ---- */

/* A lane whose numbers are put in order. */
struct ordering {
	const struct ss_node *nodes; /* of the lane */
	const uint32_t *launch;
};

static bool ends_before(const void *ordering, uint32_t a, uint32_t b)
{
	const struct ordering *o = ordering;
	return o->nodes[a].end_ps != o->nodes[b].end_ps ? o->nodes[a].end_ps < o->nodes[b].end_ps : a < b;
}

static bool is_launched_before(const void *ordering, uint32_t a, uint32_t b)
{
	const struct ordering *o = ordering;
	return o->launch[a] != o->launch[b] ? o->launch[a] < o->launch[b] : a < b;
}

static bool order_lane(struct making *m, struct lane *l)
{
	struct ordering o = { l->n ? &m->g->nodes.v[l->first] : NULL, l->launch };
	l->by_end = malloc(((size_t)l->n + 1) * sizeof(*l->by_end));
	l->by_launch = malloc(((size_t)l->n + 1) * sizeof(*l->by_launch));
	if (!l->by_end || !l->by_launch)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		l->by_end[i] = i;
		if (l->launch[i] != SS_NO_LAUNCH)
			l->by_launch[l->nlaunched++] = i;
	}
	return ss_sort_runs(l->by_end, l->n, ends_before, &o) && ss_sort_runs(l->by_launch, l->nlaunched, is_launched_before, &o);
}

/* The edges to its nodes are made; others may still wait for what ends on it. */
static void forget_launches(struct lane *l)
{
	free(l->launch);
	free(l->stream);
	free(l->by_launch);
	l->launch = l->stream = l->by_launch = NULL;
}

/* The number of events of the lane that end at or before a moment. */
static uint32_t ended_by(const struct making *m, const struct lane *l, int64_t at_ps)
{
	uint32_t lo = 0, hi = l->n;
	SS_BISECT(lo, hi, mid, m->g->nodes.v[l->first + l->by_end[mid]].end_ps <= at_ps);
	return lo;
}

/* The last before this one on its stream; UINT32_MAX: none. */
static void before_on_stream(const struct lane *l, uint32_t *before)
{
	uint32_t last[MOST_STREAMS];
	for (uint32_t i = 0; i < MOST_STREAMS; i++)
		last[i] = UINT32_MAX;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t s = l->stream[i] % MOST_STREAMS;
		before[i] = last[s];
		last[s] = i;
	}
}

/* ---- waiting across streams ---- */

/* Was it launched before another one that its thread launched later? */
static bool is_before(const struct lane *l, uint32_t other, uint32_t i)
{
	return l->stream[other] != l->stream[i] && l->launch[other] != SS_NO_LAUNCH && l->launch[other] < l->launch[i];
}

static bool note_wait(struct making *m, const struct ss_node *n, const struct ss_node *o)
{
	while (m->waits.n <= n->name)
		if (!ss_vec_push(&m->waits, ((struct waits){ .n = 0 })))
			return false;
	struct waits *w = &m->waits.v[n->name];
	bool known = false;
	for (uint32_t q = 0; q < w->n; q++)
		known |= w->names[q] == o->name;
	if (!known && w->n < MOST_WAITS)
		w->names[w->n++] = o->name;
	return true;
}

/*
 * The collective that something waited for which had been launched before its end and then began soon
 * after it: a GPU takes 1 to 5 us to see an event of another stream, some up to 20. UINT32_MAX: none.
 */
static uint32_t collective_before(const struct making *m, const struct lane *l, uint32_t i, int64_t free_ps)
{
	const struct ss_node *n = &m->g->nodes.v[l->first + i];
	uint32_t launch = launch_node(m, m->c->devices.v[n->where].part, l->launch[i]);
	if (launch == UINT32_MAX)
		return UINT32_MAX;
	for (uint32_t k = ended_by(m, l, n->begin_ps); k-- > 0;) {
		uint32_t other = l->by_end[k];
		const struct ss_node *o = &m->g->nodes.v[l->first + other];
		int64_t late_ps = n->begin_ps - o->end_ps;
		if (late_ps > SOON_PS || n->begin_ps - free_ps < 10 * late_ps || m->g->nodes.v[launch].end_ps > o->end_ps)
			break;
		if (o->kind == SS_NODE_MEMBER && is_before(l, other, i))
			return other;
	}
	return UINT32_MAX;
}

/*
 * An operation that begins, after a gap on its own stream, just when something on another stream
 * ends, waits for that: in all its executions.
 */
static bool find_waits(struct making *m, const struct lane *l, const uint32_t *before)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->n; i++) {
		const struct ss_node *n = &m->g->nodes.v[l->first + i];
		int64_t free_ps = before[i] == UINT32_MAX ? INT64_MIN : m->g->nodes.v[l->first + before[i]].end_ps;
		if (before[i] == UINT32_MAX || n->begin_ps - free_ps <= NEAR_PS || l->launch[i] == SS_NO_LAUNCH)
			continue;
		bool found = false;
		for (uint32_t k = ended_by(m, l, n->begin_ps + NEAR_PS); ok && k-- > 0;) {
			uint32_t other = l->by_end[k];
			const struct ss_node *o = &m->g->nodes.v[l->first + other];
			if (o->end_ps < n->begin_ps - NEAR_PS)
				break;
			if (o->begin_ps >= n->begin_ps || !is_before(l, other, i))
				continue;
			found = true;
			ok = note_wait(m, n, o);
		}
		uint32_t other = found ? UINT32_MAX : collective_before(m, l, i, free_ps);
		ok = ok && (other == UINT32_MAX || note_wait(m, n, &m->g->nodes.v[l->first + other]));
	}
	return ok;
}

/* ---- edges ---- */

static bool add_edge(struct making *m, uint32_t from, bool of_begin, bool to_end)
{
	struct ss_edge e = { .from = from & ((UINT32_C(1) << 29) - 1), .of_begin = of_begin, .to_end = to_end };
	return m->g->edges.n < UINT32_MAX && ss_vec_push(&m->g->edges, e);
}

/* An event that ended after this one began did not delay it, whatever the order. */
static bool held_up(const struct making *m, const struct ss_node *n, uint32_t from)
{
	return m->g->nodes.v[from].end_ps <= n->begin_ps + NEAR_PS;
}

/* Place among those launched of the first that was launched at or behind `launch`. */
static uint32_t launched_before(const struct lane *l, uint32_t launch)
{
	uint32_t lo = 0, hi = l->nlaunched;
	SS_BISECT(lo, hi, mid, l->launch[l->by_launch[mid]] < launch);
	return lo;
}

/* The last execution of an operation on another stream that was launched before. */
static bool add_waits(struct making *m, const struct lane *l, uint32_t i, struct ss_node *n)
{
	if (n->name >= m->waits.n || l->launch[i] == SS_NO_LAUNCH)
		return true;
	const struct waits *w = &m->waits.v[n->name];
	uint32_t from = launched_before(l, l->launch[i]);
	for (uint32_t q = 0; q < w->n; q++) {
		uint32_t looked = 0;
		for (uint32_t k = from; k-- > 0 && looked++ < 4096;) {
			uint32_t other = l->by_launch[k];
			if (m->g->nodes.v[l->first + other].name != w->names[q] || l->stream[other] == l->stream[i])
				continue;
			/* One that was still running is another of this name. */
			if (!held_up(m, n, l->first + other))
				continue;
			if (!add_edge(m, l->first + other, false, false))
				return false;
			break;
		}
	}
	return true;
}

/*
 * A collective's kernel waits for the last operation that was launched before it, on whatever
 * stream.
 */
static bool add_compute_before(struct making *m, const struct lane *l, uint32_t i, struct ss_node *n)
{
	if (n->kind != SS_NODE_MEMBER || l->launch[i] == SS_NO_LAUNCH)
		return true;
	uint32_t from = launched_before(l, l->launch[i]), looked = 0;
	for (uint32_t k = from; k-- > 0 && looked++ < 4096;) {
		uint32_t other = l->by_launch[k];
		if (m->g->nodes.v[l->first + other].kind != SS_NODE_COMPUTE || l->stream[other] == l->stream[i])
			continue;
		return !held_up(m, n, l->first + other) || add_edge(m, l->first + other, false, false);
	}
	return true;
}

/* Among the edges to the begin of the current node, the one whose source ended last determines the begin. */
static void mark_binding(struct making *m, const struct ss_node *n)
{
	uint32_t best = UINT32_MAX;
	int64_t at = INT64_MIN;
	for (uint32_t i = n->first_edge; i < m->g->edges.n; i++) {
		const struct ss_edge *e = &m->g->edges.v[i];
		const struct ss_node *p = &m->g->nodes.v[e->from];
		int64_t t = e->of_begin ? p->begin_ps : p->end_ps;
		if (!e->to_end && (best == UINT32_MAX || t > at)) {
			best = i;
			at = t;
		}
	}
	if (best != UINT32_MAX)
		m->g->edges.v[best].binds = true;
}

/*
 * Threads that launch onto one stream take turns, as PyTorch's main thread and the one of its
 * backward pass: what a thread does up to a launch comes behind the launch by another thread of what
 * is before it on the stream.
 */
static void take_turns(struct making *m, uint32_t part, const struct lane *l, uint32_t i, uint32_t before)
{
	struct part_events *events = &m->events[part];
	uint32_t own = launch_node(m, part, l->launch[i]), other = launch_node(m, part, l->launch[before]);
	if (own == UINT32_MAX || other == UINT32_MAX)
		return;
	const struct ss_node *nodes = m->g->nodes.v;
	uint32_t thread = nodes[own].thread, first = own, looked = 0;
	int64_t end_ps = nodes[other].end_ps;
	if (nodes[other].thread == thread || end_ps > nodes[own].begin_ps)
		return;
	for (uint32_t k = own; k-- > events->first && nodes[k].begin_ps >= end_ps && looked++ < 4096;)
		first = nodes[k].thread == thread ? k : first;
	events->follows[first - events->first] = other;
}

static void note_last_op(const struct making *m, uint32_t *last, uint32_t op)
{
	if (*last == UINT32_MAX || m->g->nodes.v[*last].end_ps <= m->g->nodes.v[op].end_ps)
		*last = op;
}

static bool link_device(struct making *m, uint32_t device, const uint32_t *before)
{
	struct lane *l = &m->lanes[device];
	uint32_t part = m->c->devices.v[device].part;
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->n; i++) {
		struct ss_node *n = &m->g->nodes.v[l->first + i];
		n->first_edge = (uint32_t)m->g->edges.n;
		if (before[i] != UINT32_MAX)
			ok = add_edge(m, l->first + before[i], !held_up(m, n, l->first + before[i]), false);
		if (before[i] != UINT32_MAX)
			take_turns(m, part, l, i, before[i]);
		uint32_t launch = launch_node(m, part, l->launch[i]);
		if (launch != UINT32_MAX)
			note_last_op(m, &m->events[part].last_op[launch - m->events[part].first], l->first + i);
		/* A copy from memory that is not pinned begins within the call. */
		if (ok && launch != UINT32_MAX && m->g->nodes.v[launch].begin_ps <= n->begin_ps &&
		    (!i || l->launch[i] != l->launch[i - 1]))
			ok = add_edge(m, launch, !held_up(m, n, launch), false);
		ok = ok && add_waits(m, l, i, n) && add_compute_before(m, l, i, n);
		if (ok)
			mark_binding(m, n);
	}
	return ok;
}

/* Does the device count for a wait of this part: those of the part, or all of its host? */
static bool counts(const struct making *m, uint32_t device, uint32_t part, bool whole_host)
{
	return whole_host || m->c->devices.v[device].part == part;
}

/* The step of what ended just when the wait did; SS_NONE: nothing did. */
static int64_t step_waited_for(struct making *m, uint32_t part, const struct ss_node *n, bool whole_host)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	int64_t best = NEAR_PS + 1;
	int64_t step = SS_NO_STEP;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ended_by(m, l, n->end_ps + NEAR_PS) : 0;
		const struct ss_node *o = k ? &m->g->nodes.v[l->first + l->by_end[k - 1]] : NULL;
		if (!o || llabs(o->end_ps - n->end_ps) >= best)
			continue;
		best = llabs(o->end_ps - n->end_ps);
		step = ss_node_step(m->c, o);
	}
	return step;
}

/*
 * A wait of the host for its devices: whose work ended with it, and what the others did in the same
 * step. Processes of one host can wait for each other: where nothing of its own ended with it, and
 * something of another did, it waits for that.
 */
static bool link_wait(struct making *m, uint32_t part, struct ss_node *n)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	bool whole_host = false;
	int64_t step = step_waited_for(m, part, n, false);
	if (step == SS_NO_STEP) {
		whole_host = true;
		step = step_waited_for(m, part, n, true);
	}
	for (uint32_t d = h->first_device; step != SS_NO_STEP && d < h->first_device + h->ndevices; d++) {
		const struct lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ended_by(m, l, n->end_ps + NEAR_PS) : 0;
		while (k && ss_node_step(m->c, &m->g->nodes.v[l->first + l->by_end[k - 1]]) != step && k > 1 &&
		       m->g->nodes.v[l->first + l->by_end[k - 1]].end_ps > n->begin_ps)
			k--;
		if (k && ss_node_step(m->c, &m->g->nodes.v[l->first + l->by_end[k - 1]]) == step &&
		    !add_edge(m, l->first + l->by_end[k - 1], false, true))
			return false;
	}
	return true;
}

/* Does anything of the lane run at a moment, of what ends next? */
static bool runs_at(const struct making *m, const struct lane *l, uint32_t ended, int64_t at_ps)
{
	for (uint32_t k = ended; k < l->n && k < ended + MOST_WAITS; k++)
		if (m->g->nodes.v[l->first + l->by_end[k]].begin_ps < at_ps)
			return true;
	return false;
}

/*
 * A launch of a program that CPUs run, whose waits nobody records: where its devices became idle since the
 * event before it, it came behind their last work.
 */
static bool link_launch(struct making *m, uint32_t part, struct ss_node *n, uint32_t before)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	uint32_t last = SS_NONE;
	int64_t at = m->g->nodes.v[before].end_ps;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, false) ? ended_by(m, l, n->begin_ps) : 0;
		const struct ss_node *o = k ? &m->g->nodes.v[l->first + l->by_end[k - 1]] : NULL;
		if (!o)
			continue;
		if (runs_at(m, l, k, n->begin_ps))
			return true;
		if (o->end_ps > at) {
			last = l->first + l->by_end[k - 1];
			at = o->end_ps;
		}
	}
	return last == SS_NONE || add_edge(m, last, false, false);
}

/* A copy to memory that is not pinned: the call lasts until it is done, and with it all before it on its stream. */
static bool link_blocking(struct making *m, struct ss_node *n, uint32_t op)
{
	const struct ss_node *o = &m->g->nodes.v[op];
	if (n->end_ps - n->begin_ps < SS_CALL_BLOCKS_PS || o->begin_ps < n->begin_ps || o->end_ps > n->end_ps + NEAR_PS)
		return true;
	n->kind = SS_NODE_WAIT;
	return add_edge(m, op, false, true);
}

/* Threads in their order; what is inside of another event moves with it. */
static bool link_events(struct making *m, uint32_t part)
{
	const struct part_events *events = &m->events[part];
	uint32_t threads = 0;
	for (uint32_t i = 0; i < events->n; i++) {
		uint32_t thread = m->g->nodes.v[events->first + i].thread;
		threads = thread >= threads && thread < SS_PLAYED_MOST ? thread + 1 : threads;
	}
	uint32_t *last = calloc((size_t)threads + 1, sizeof(*last));
	bool ok = last;
	for (uint32_t i = 0; ok && i <= threads; i++)
		last[i] = UINT32_MAX;
	for (uint32_t i = 0; ok && i < events->n; i++) {
		struct ss_node *n = &m->g->nodes.v[events->first + i];
		uint32_t *before = &last[n->thread < threads ? n->thread : threads];
		n->first_edge = (uint32_t)m->g->edges.n;
		if (*before != UINT32_MAX)
			ok = add_edge(m, *before, !held_up(m, n, *before), false);
		uint32_t other = events->follows[i];
		/* Its own thread has done nothing since. */
		if (ok && other != UINT32_MAX &&
		    (*before == UINT32_MAX || m->g->nodes.v[*before].end_ps <= m->g->nodes.v[other].end_ps))
			ok = add_edge(m, other, false, false);
		if (ok && n->kind == SS_NODE_WAIT)
			ok = link_wait(m, part, n);
		else if (ok && !events->on_cpu && events->last_op[i] != UINT32_MAX)
			ok = link_blocking(m, n, events->last_op[i]);
		else if (ok && events->on_cpu && n->cls == SS_HOST_LAUNCH_EVENT && *before != UINT32_MAX)
			ok = link_launch(m, part, n, *before);
		if (ok)
			mark_binding(m, n);
		if (*before == UINT32_MAX || m->g->nodes.v[*before].end_ps <= n->end_ps)
			*before = events->first + i;
	}
	free(last);
	return ok;
}

/* ---- the whole ---- */

/* Times are rounded: what ends a nanosecond behind the begin of what waited for it comes before that all the same. */
static void find_end_keys(const struct ss_graph *g, int64_t *key)
{
	for (size_t i = 0; i < g->nodes.n; i++)
		key[i] = g->nodes.v[i].end_ps;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct ss_node *n = &g->nodes.v[i];
		for (uint32_t e = n->first_edge; e < ss_edges_end(g, n); e++) {
			const struct ss_edge *ed = &g->edges.v[e];
			int64_t at = ed->to_end ? n->end_ps : n->begin_ps;
			if (!ed->of_begin && at < key[ed->from])
				key[ed->from] = at;
		}
	}
}

struct keyed {
	const struct ss_node *nodes;
	const int64_t *end_key;
};

/* Ends that depend on others' ends come where they end; everything else where it begins. */
static int64_t key_of(const struct keyed *k, uint32_t entry)
{
	return !(entry & SS_ORDER_BEGIN) && ss_node_ends_late(&k->nodes[entry]) ? k->end_key[entry]
									: k->nodes[entry & ~SS_ORDER_BEGIN].begin_ps;
}

/* At one moment ends come before begins. */
static bool computed_before(const void *keyed, uint32_t a, uint32_t b)
{
	int64_t x = key_of(keyed, a), y = key_of(keyed, b);
	return x != y ? x < y : a < b;
}

static bool order_nodes(struct ss_graph *g)
{
	size_t late = 0;
	for (size_t i = 0; i < g->nodes.n; i++)
		late += ss_node_ends_late(&g->nodes.v[i]);
	int64_t *end_key = malloc((g->nodes.n + 1) * sizeof(*end_key));
	g->order = malloc((g->nodes.n + late + 1) * sizeof(*g->order));
	bool ok = end_key && g->order;
	if (ok)
		find_end_keys(g, end_key);
	/* The begins are sorted within each device; the late ends after them are nearly sorted. */
	for (uint32_t i = 0; ok && i < g->nodes.n; i++)
		g->order[g->norder++] = ss_node_ends_late(&g->nodes.v[i]) ? i | SS_ORDER_BEGIN : i;
	for (uint32_t i = 0; ok && i < g->nodes.n; i++)
		if (ss_node_ends_late(&g->nodes.v[i]))
			g->order[g->norder++] = i;
	struct keyed k = { g->nodes.v, end_key };
	ok = ok && ss_sort_runs(g->order, g->norder, computed_before, &k);
	free(end_key);
	return ok;
}

static void find_last_of_steps(struct making *m)
{
	for (uint32_t d = 0; d < m->c->devices.n; d++) {
		const struct ss_cluster_device *cd = &m->c->devices.v[d];
		const struct lane *l = &m->lanes[d];
		for (uint32_t i = 0; i < cd->nsteps; i++) {
			uint32_t k = ended_by(m, l, m->c->steps.v[cd->first_step + i].end_ps + 1000);
			m->g->last_of_step[cd->first_step + i] = k ? l->first + l->by_end[k - 1] : UINT32_MAX;
		}
	}
}

static bool add_nodes(struct making *m, struct ss_err *err)
{
	struct ss_cluster *c = m->c;
	for (uint32_t p = 0; p < c->nparts; p++) {
		if (c->parts[p].host == SS_NO_HOST || !m->played->hosts[c->parts[p].host])
			continue;
		const struct ss_skeleton *s = ss_cluster_part_once(c, p, err);
		if (!s)
			return false;
		const struct ss_cluster_host *h = &c->hosts.v[c->parts[p].host];
		for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++)
			if (c->devices.v[d].part == p && !add_device(m, d, s))
				return ss_fail_mem(err);
		if (!add_events(m, p, s))
			return ss_fail_mem(err);
	}
	return true;
}

/* In the order of the nodes, whose edges follow one another: of each part the devices and then the host. */
static bool link_part(struct making *m, uint32_t p, uint32_t *before)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[m->c->parts[p].host];
	struct part_events *events = &m->events[p];
	events->follows = malloc(((size_t)events->n + 1) * sizeof(*events->follows));
	events->last_op = malloc(((size_t)events->n + 1) * sizeof(*events->last_op));
	bool ok = events->follows && events->last_op;
	for (uint32_t i = 0; ok && i < events->n; i++)
		events->follows[i] = events->last_op[i] = UINT32_MAX;
	for (uint32_t d = h->first_device; ok && d < h->first_device + h->ndevices; d++) {
		if (m->c->devices.v[d].part != p)
			continue;
		before_on_stream(&m->lanes[d], before);
		ok = link_device(m, d, before);
		forget_launches(&m->lanes[d]);
	}
	ok = ok && link_events(m, p);
	free(events->follows);
	free(events->last_op);
	events->follows = events->last_op = NULL;
	return ok;
}

static bool link_nodes(struct making *m)
{
	const struct ss_cluster *c = m->c;
	size_t most = 0;
	for (size_t d = 0; d < c->devices.n; d++)
		most = m->lanes[d].n > most ? m->lanes[d].n : most;
	uint32_t *before = calloc(most + 1, sizeof(*before));
	bool ok = before;
	for (uint32_t d = 0; ok && d < c->devices.n; d++) {
		before_on_stream(&m->lanes[d], before);
		ok = order_lane(m, &m->lanes[d]) && find_waits(m, &m->lanes[d], before);
	}
	for (uint32_t p = 0; ok && p < c->nparts; p++)
		ok = c->parts[p].host == SS_NO_HOST || !m->played->hosts[c->parts[p].host] || link_part(m, p, before);
	free(before);
	return ok;
}

static void release_making(struct making *m)
{
	for (size_t d = 0; m->lanes && d < m->c->devices.n; d++) {
		forget_launches(&m->lanes[d]);
		free(m->lanes[d].by_end);
	}
	free(m->lanes);
	free(m->events);
	ss_vec_free(&m->waits);
}

bool ss_graph_build(struct ss_graph *g, struct ss_cluster *c, const struct ss_played *played, struct ss_err *err)
{
	*g = (struct ss_graph){ .order = NULL };
	struct making m = { .c = c, .played = played, .g = g, .lanes = calloc(c->devices.n + 1, sizeof(*m.lanes)),
			    .events = calloc(c->nparts + 1, sizeof(*m.events)) };
	g->arrival = calloc(c->members.n + 1, sizeof(*g->arrival));
	g->last_of_step = calloc(c->steps.n + 1, sizeof(*g->last_of_step));
	g->least_ps = calloc(c->devices.n + 1, sizeof(*g->least_ps));
	bool ok = (m.lanes && m.events && g->arrival && g->last_of_step && g->least_ps) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < c->members.n; i++)
		g->arrival[i] = UINT32_MAX;
	ok = ok && (ss_vec_reserve(&g->nodes, (size_t)played->events) || ss_fail_mem(err)) && add_nodes(&m, err);
	ss_cluster_rest(c);
	ok = ok && (link_nodes(&m) || ss_fail_mem(err));
	if (ok)
		find_last_of_steps(&m);
	release_making(&m);
	ss_heap_trim(); /* as much as a third of the graph, in small pieces */
	return ok && (order_nodes(g) || ss_fail_mem(err));
}

void ss_graph_free(struct ss_graph *g)
{
	ss_vec_free(&g->nodes);
	ss_vec_free(&g->edges);
	free(g->order);
	free(g->arrival);
	free(g->last_of_step);
	free(g->least_ps);
	ss_strmap_free(&g->names);
	ss_arena_release(&g->arena);
}
