/* graph.c - see graph.h. */
#include "model/cluster/graph.h"

#include "base/bisect.h"

#include <stdlib.h>

#define NEAR_PS INT64_C(300000)
#define MOST_NODES ((size_t)4 << 20)
#define MOST_STREAMS 4096
#define MOST_WAITS 8	/* operations of other streams that one operation waits for */

/* One device's nodes while its edges are made. */
struct lane {
	uint32_t first, n;	/* of nodes; in the order of begin */
	uint32_t *launch;	/* by node: of the part's events */
	uint32_t *stream;
	uint32_t *by_end;	/* nodes by end */
	uint32_t *by_launch;	/* nodes that have one, by it */
	uint32_t nlaunched;
};

/* What an operation waits for on other streams, in all its executions: the program is the same. */
struct waits {
	uint32_t names[MOST_WAITS];
	uint32_t n;
};

struct making {
	struct ss_cluster *c;
	struct ss_graph *g;
	struct lane *lanes;	/* by device */
	uint32_t *first_event;	/* by part: its events' nodes */
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

struct placed {
	struct ss_node n;
	uint32_t launch, stream;
};

static int placed_by_begin(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->n.begin_ps != y->n.begin_ps)
		return x->n.begin_ps < y->n.begin_ps ? -1 : 1;
	if (x->n.end_ps != y->n.end_ps)
		return x->n.end_ps < y->n.end_ps ? -1 : 1;
	return x->n.kind < y->n.kind ? -1 : x->n.kind > y->n.kind;
}

/*
 * Starts and dones of asynchronous collectives are found by their times, which the collective has
 * from them.
 */
static bool mark_async(struct making *m, const struct ss_cluster_device *cd, const struct ss_skel_device *d, struct placed *v,
		       size_t n, const struct ss_skeleton *s)
{
	struct ss_u64map ends = { 0 };
	int64_t least = INT64_MAX;
	bool ok = true;
	for (uint32_t i = 0; ok && i < d->comms.n; i++)
		if (d->comms.v[i].async)
			ok = ss_u64map_put(&ends, (uint64_t)d->comms.v[i].end_ps, i);
	for (uint32_t i = 0; ok && i < n; i++) {
		const struct ss_skel_op *op = &s->ops.v[d->spans.v[v[i].n.member].op];
		uint32_t k = op->cls == SS_SPAN_COMM ? ss_u64map_get(&ends, (uint64_t)v[i].n.end_ps) : SS_NONE;
		if (k != SS_NONE && v[i].n.begin_ps > d->comms.v[k].begin_ps &&
		    m->c->members.v[cd->first_member + k].collective != UINT32_MAX) {
			v[i].n.kind = SS_NODE_DONE;
			v[i].n.waited = d->comms.v[k].waited;
			v[i].n.device = cd->first_member + k;
			int64_t dur = v[i].n.end_ps - v[i].n.begin_ps;
			least = dur < least && !v[i].n.waited ? dur : least;
		}
	}
	for (uint32_t i = 0; ok && i < n; i++) {
		if (v[i].n.kind == SS_NODE_DONE) {
			v[i].n.least_ps = least == INT64_MAX ? 0 : least;
			v[i].n.member = v[i].n.device;
		} else {
			v[i].n.member = UINT32_MAX;
		}
	}
	ss_u64map_free(&ends);
	return ok;
}

/* Which step something ends in. */
static void number_steps(const struct ss_cluster *c, const struct ss_cluster_device *cd, struct placed *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t lo = 0, hi = cd->nsteps;
		SS_BISECT(lo, hi, mid, c->steps.v[cd->first_step + mid].end_ps < v[i].n.end_ps);
		v[i].n.step = lo < cd->nsteps ? (uint32_t)c->steps.v[cd->first_step + lo].num : SS_NONE;
	}
}

static bool add_device(struct making *m, uint32_t device, const struct ss_skeleton *s)
{
	const struct ss_cluster_device *cd = &m->c->devices.v[device];
	const struct ss_skel_device *d = ss_cluster_device(s, cd);
	struct lane *l = &m->lanes[device];
	size_t n = 0, most = d->spans.n + d->comms.n;
	struct placed *v = calloc(most + 1, sizeof(*v));
	bool ok = v;
	l->first = (uint32_t)m->g->nodes.n;
	for (uint32_t i = 0; ok && i < d->spans.n; i++) {
		const struct ss_skel_span *p = &d->spans.v[i];
		const struct ss_skel_op *op = &s->ops.v[p->op];
		struct ss_node nd = { .begin_ps = p->begin_ps, .end_ps = p->end_ps, .host = cd->host, .name = name_of(m, op->name),
				      .kind = op->cls == SS_SPAN_COMPUTE ? SS_NODE_COMPUTE : SS_NODE_OTHER, .member = i };
		ok = nd.name != SS_NONE;
		v[n++] = (struct placed){ nd, p->launch, p->stream };
	}
	ok = ok && mark_async(m, cd, d, v, n, s);
	for (uint32_t i = 0; ok && i < d->comms.n; i++) {
		const struct ss_skel_comm *p = &d->comms.v[i];
		uint32_t member = cd->first_member + i;
		if (p->async)
			continue;
		bool joined = m->c->members.v[member].collective != UINT32_MAX;
		struct ss_node nd = { .begin_ps = p->begin_ps,
				      .end_ps = p->end_ps,
				      .host = cd->host,
				      .name = name_of(m, s->ops.v[p->op].name),
				      .kind = joined ? SS_NODE_MEMBER : SS_NODE_OTHER,
				      .member = joined ? member : UINT32_MAX };
		ok = nd.name != SS_NONE;
		v[n++] = (struct placed){ nd, p->launch, p->stream };
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), placed_by_begin);
	if (ok)
		number_steps(m->c, cd, v, n);
	l->launch = calloc(n + 1, sizeof(*l->launch));
	l->stream = calloc(n + 1, sizeof(*l->stream));
	ok = ok && l->launch && l->stream && ss_vec_reserve(&m->g->nodes, m->g->nodes.n + n);
	for (size_t i = 0; ok && i < n; i++) {
		l->launch[l->n] = v[i].launch;
		l->stream[l->n++] = v[i].stream;
		v[i].n.device = device;
		ok = ss_vec_push(&m->g->nodes, v[i].n);
		if (ok && v[i].n.kind == SS_NODE_MEMBER)
			m->g->arrival[v[i].n.member] = (uint32_t)m->g->nodes.n - 1;
	}
	/* An asynchronous collective is arrived at when its start begins. */
	for (uint32_t i = 0, at = 0; ok && i < d->comms.n; i++) {
		if (!d->comms.v[i].async)
			continue;
		while (at < l->n && m->g->nodes.v[l->first + at].begin_ps < d->comms.v[i].begin_ps)
			at++;
		if (at < l->n && m->g->nodes.v[l->first + at].begin_ps == d->comms.v[i].begin_ps)
			m->g->arrival[cd->first_member + i] = l->first + at;
	}
	free(v);
	return ok;
}

static bool add_events(struct making *m, uint32_t part, const struct ss_skeleton *s)
{
	m->first_event[part] = (uint32_t)m->g->nodes.n;
	for (size_t i = 0; i < s->events.n; i++) {
		const struct ss_skel_host_event *e = &s->events.v[i];
		struct ss_node nd = { .begin_ps = e->begin_ps,
				      .end_ps = e->end_ps,
				      .host = m->c->parts[part].host,
				      .device = SS_NONE,
				      .name = SS_NONE,
				      .step = SS_NONE,
				      .member = UINT32_MAX,
				      .cls = (uint8_t)e->cls,
				      .kind = e->cls == SS_HOST_WAIT_EVENT ? SS_NODE_WAIT : SS_NODE_EVENT };
		if (!ss_vec_push(&m->g->nodes, nd))
			return false;
	}
	return true;
}

/* ---- orders within a device ---- */

struct keyed {
	int64_t key;
	uint32_t node;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static bool order_lane(struct making *m, struct lane *l)
{
	struct keyed *v = calloc((size_t)l->n + 1, sizeof(*v));
	l->by_end = calloc((size_t)l->n + 1, sizeof(*l->by_end));
	l->by_launch = calloc((size_t)l->n + 1, sizeof(*l->by_launch));
	bool ok = v && l->by_end && l->by_launch;
	size_t n = 0;
	for (uint32_t i = 0; ok && i < l->n; i++)
		v[i] = (struct keyed){ m->g->nodes.v[l->first + i].end_ps, i };
	if (ok && l->n)
		qsort(v, l->n, sizeof(*v), by_key);
	for (uint32_t i = 0; ok && i < l->n; i++)
		l->by_end[i] = v[i].node;
	for (uint32_t i = 0; ok && i < l->n; i++)
		if (l->launch[i] != SS_NO_LAUNCH)
			v[n++] = (struct keyed){ l->launch[i], i };
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0; i < n; i++)
		l->by_launch[i] = v[i].node;
	l->nlaunched = (uint32_t)n;
	free(v);
	return ok;
}

/* How many of the lane end at or before a moment. */
static uint32_t ended_by(const struct making *m, const struct lane *l, int64_t at_ps)
{
	uint32_t lo = 0, hi = l->n;
	SS_BISECT(lo, hi, mid, m->g->nodes.v[l->first + l->by_end[mid]].end_ps <= at_ps);
	return lo;
}

/* The last before this one on its stream; UINT32_MAX: none. */
static bool before_on_stream(const struct lane *l, uint32_t *before)
{
	uint32_t last[MOST_STREAMS];
	for (uint32_t i = 0; i < MOST_STREAMS; i++)
		last[i] = UINT32_MAX;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t s = l->stream[i] % MOST_STREAMS;
		before[i] = last[s];
		last[s] = i;
	}
	return true;
}

/* ---- waiting across streams ---- */

/*
 * An operation that begins, after a gap on its own stream, just when something on another stream
 * ends, waits for that: in all its executions.
 */
static bool find_waits(struct making *m, const struct lane *l, const uint32_t *before)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ss_node *n = &m->g->nodes.v[l->first + i];
		int64_t free_ps = before[i] == UINT32_MAX ? INT64_MIN : m->g->nodes.v[l->first + before[i]].end_ps;
		if (before[i] == UINT32_MAX || n->begin_ps - free_ps <= NEAR_PS || l->launch[i] == SS_NO_LAUNCH)
			continue;
		for (uint32_t k = ended_by(m, l, n->begin_ps + NEAR_PS); k-- > 0;) {
			uint32_t other = l->by_end[k];
			const struct ss_node *o = &m->g->nodes.v[l->first + other];
			if (o->end_ps < n->begin_ps - NEAR_PS)
				break;
			if (l->stream[other] == l->stream[i] || o->begin_ps >= n->begin_ps || l->launch[other] == SS_NO_LAUNCH ||
			    l->launch[other] >= l->launch[i])
				continue;
			while (m->waits.n <= n->name)
				if (!ss_vec_push(&m->waits, ((struct waits){ .n = 0 })))
					return false;
			struct waits *w = &m->waits.v[n->name];
			bool known = false;
			for (uint32_t q = 0; q < w->n; q++)
				known |= w->names[q] == o->name;
			if (!known && w->n < MOST_WAITS)
				w->names[w->n++] = o->name;
		}
	}
	return true;
}

/* ---- edges ---- */

static bool add_edge(struct making *m, struct ss_node *to, uint32_t from, bool of_begin, bool to_end)
{
	if (!ss_vec_push(&m->g->edges, ((struct ss_edge){ from, of_begin, to_end, false })))
		return false;
	to->nedges++;
	return true;
}

/* What ended later than this began did not hold it up, whatever the order says. */
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
			if (!add_edge(m, n, l->first + other, false, false))
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
		return !held_up(m, n, l->first + other) || add_edge(m, n, l->first + other, false, false);
	}
	return true;
}

/* Of the edges to the begin the one whose other side ended last is what bound it. */
static void mark_binding(struct making *m, struct ss_node *n)
{
	uint32_t best = UINT32_MAX;
	int64_t at = INT64_MIN;
	for (uint32_t i = n->first_edge; i < n->first_edge + n->nedges; i++) {
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

static bool link_device(struct making *m, uint32_t device, const uint32_t *before)
{
	struct lane *l = &m->lanes[device];
	uint32_t events = m->first_event[m->c->devices.v[device].part];
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->n; i++) {
		struct ss_node *n = &m->g->nodes.v[l->first + i];
		n->first_edge = (uint32_t)m->g->edges.n;
		if (before[i] != UINT32_MAX)
			ok = add_edge(m, n, l->first + before[i], !held_up(m, n, l->first + before[i]), false);
		if (ok && l->launch[i] != SS_NO_LAUNCH && held_up(m, n, events + l->launch[i]) &&
		    (!i || l->launch[i] != l->launch[i - 1]))
			ok = add_edge(m, n, events + l->launch[i], false, false);
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
static uint32_t step_waited_for(struct making *m, uint32_t part, const struct ss_node *n, bool whole_host)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->host];
	int64_t best = NEAR_PS + 1;
	uint32_t step = SS_NONE;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ended_by(m, l, n->end_ps + NEAR_PS) : 0;
		const struct ss_node *o = k ? &m->g->nodes.v[l->first + l->by_end[k - 1]] : NULL;
		if (!o || llabs(o->end_ps - n->end_ps) >= best)
			continue;
		best = llabs(o->end_ps - n->end_ps);
		step = o->step;
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
	const struct ss_cluster_host *h = &m->c->hosts.v[n->host];
	bool whole_host = false;
	uint32_t step = step_waited_for(m, part, n, false);
	if (step == SS_NONE) {
		whole_host = true;
		step = step_waited_for(m, part, n, true);
	}
	for (uint32_t d = h->first_device; step != SS_NONE && d < h->first_device + h->ndevices; d++) {
		const struct lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ended_by(m, l, n->end_ps + NEAR_PS) : 0;
		while (k && m->g->nodes.v[l->first + l->by_end[k - 1]].step != step && k > 1 &&
		       m->g->nodes.v[l->first + l->by_end[k - 1]].end_ps > n->begin_ps)
			k--;
		if (k && m->g->nodes.v[l->first + l->by_end[k - 1]].step == step &&
		    !add_edge(m, n, l->first + l->by_end[k - 1], false, true))
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
	const struct ss_cluster_host *h = &m->c->hosts.v[n->host];
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
	return last == SS_NONE || add_edge(m, n, last, false, false);
}

/* Threads in their order; what is inside of another event moves with it. */
static bool link_events(struct making *m, uint32_t part, const struct ss_skeleton *s)
{
	uint32_t first = m->first_event[part];
	uint32_t threads = 0;
	for (size_t i = 0; i < s->events.n; i++)
		threads = s->events.v[i].thread >= threads && s->events.v[i].thread < MOST_NODES ? s->events.v[i].thread + 1
												 : threads;
	uint32_t *last = calloc((size_t)threads + 1, sizeof(*last));
	bool ok = last;
	for (uint32_t i = 0; ok && i <= threads; i++)
		last[i] = UINT32_MAX;
	for (uint32_t i = 0; ok && i < s->events.n; i++) {
		struct ss_node *n = &m->g->nodes.v[first + i];
		uint32_t *before = &last[s->events.v[i].thread < threads ? s->events.v[i].thread : threads];
		n->first_edge = (uint32_t)m->g->edges.n;
		if (*before != UINT32_MAX)
			ok = add_edge(m, n, *before, !held_up(m, n, *before), false);
		if (ok && n->kind == SS_NODE_WAIT)
			ok = link_wait(m, part, n);
		else if (ok && s->on_cpu && s->events.v[i].cls == SS_HOST_LAUNCH_EVENT && *before != UINT32_MAX)
			ok = link_launch(m, part, n, *before);
		if (ok)
			mark_binding(m, n);
		if (*before == UINT32_MAX || m->g->nodes.v[*before].end_ps <= n->end_ps)
			*before = first + i;
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
		for (uint32_t e = n->first_edge; e < n->first_edge + n->nedges; e++) {
			const struct ss_edge *ed = &g->edges.v[e];
			int64_t at = ed->to_end ? n->end_ps : n->begin_ps;
			if (!ed->of_begin && at < key[ed->from])
				key[ed->from] = at;
		}
	}
}

/* Ends that depend on others' ends come where they end; everything else where it begins. */
static bool order_nodes(struct making *m)
{
	struct ss_graph *g = m->g;
	size_t n = 0;
	struct keyed *v = calloc(2 * g->nodes.n + 1, sizeof(*v));
	int64_t *end_key = calloc(g->nodes.n + 1, sizeof(*end_key));
	g->order = calloc(2 * g->nodes.n + 1, sizeof(*g->order));
	if (!v || !end_key || !g->order) {
		free(v);
		free(end_key);
		return false;
	}
	find_end_keys(g, end_key);
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const struct ss_node *nd = &g->nodes.v[i];
		bool late = nd->kind == SS_NODE_MEMBER || nd->kind == SS_NODE_DONE || nd->kind == SS_NODE_WAIT;
		/* At one moment ends come before begins. */
		if (late)
			v[n++] = (struct keyed){ nd->begin_ps, i | SS_ORDER_BEGIN };
		v[n++] = (struct keyed){ late ? end_key[i] : nd->begin_ps, i };
	}
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0; i < n; i++)
		g->order[i] = v[i].node;
	for (size_t i = n; i < 2 * g->nodes.n + 1; i++)
		g->order[i] = UINT32_MAX;
	free(v);
	free(end_key);
	return true;
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

static bool check_size(const struct ss_cluster *c, size_t nodes, struct ss_err *err)
{
	return nodes <= MOST_NODES || ss_fail(err, SS_EINVAL,
					      "the recordings of %zu hosts hold more than %zu events, too many to be played "
					      "again: "
					      "choose fewer hosts",
					      c->hosts.n, MOST_NODES);
}

static bool add_nodes(struct making *m, struct ss_err *err)
{
	struct ss_cluster *c = m->c;
	for (uint32_t p = 0; p < c->nparts; p++) {
		if (c->parts[p].host == SS_NO_HOST)
			continue;
		const struct ss_skeleton *s = ss_cluster_part(c, p, err);
		if (!s)
			return false;
		const struct ss_cluster_host *h = &c->hosts.v[c->parts[p].host];
		for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++)
			if (c->devices.v[d].part == p && !(add_device(m, d, s) && order_lane(m, &m->lanes[d])))
				return ss_fail_mem(err);
		if (!add_events(m, p, s))
			return ss_fail_mem(err);
		if (!check_size(c, m->g->nodes.n, err))
			return false;
	}
	return true;
}

static bool link_nodes(struct making *m, struct ss_err *err)
{
	struct ss_cluster *c = m->c;
	size_t most = 0;
	for (size_t d = 0; d < c->devices.n; d++)
		most = m->lanes[d].n > most ? m->lanes[d].n : most;
	uint32_t *before = calloc(most + 1, sizeof(*before));
	bool ok = before || ss_fail_mem(err);
	for (uint32_t d = 0; ok && d < c->devices.n; d++)
		ok = (before_on_stream(&m->lanes[d], before) && find_waits(m, &m->lanes[d], before)) || ss_fail_mem(err);
	for (uint32_t d = 0; ok && d < c->devices.n; d++)
		ok = (before_on_stream(&m->lanes[d], before) && link_device(m, d, before)) || ss_fail_mem(err);
	for (uint32_t p = 0; ok && p < c->nparts; p++) {
		if (c->parts[p].host == SS_NO_HOST)
			continue;
		const struct ss_skeleton *s = ss_cluster_part(c, p, err);
		ok = s && (link_events(m, p, s) || ss_fail_mem(err));
	}
	free(before);
	return ok;
}

bool ss_graph_build(struct ss_graph *g, struct ss_cluster *c, struct ss_err *err)
{
	*g = (struct ss_graph){ .order = NULL };
	struct making m = { .c = c, .g = g, .lanes = calloc(c->devices.n + 1, sizeof(*m.lanes)),
			    .first_event = calloc(c->nparts + 1, sizeof(*m.first_event)) };
	g->arrival = calloc(c->members.n + 1, sizeof(*g->arrival));
	g->last_of_step = calloc(c->steps.n + 1, sizeof(*g->last_of_step));
	bool ok = (m.lanes && m.first_event && g->arrival && g->last_of_step) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < c->members.n; i++)
		g->arrival[i] = UINT32_MAX;
	ok = ok && add_nodes(&m, err) && link_nodes(&m, err) && (order_nodes(&m) || ss_fail_mem(err));
	if (ok)
		find_last_of_steps(&m);
	for (size_t d = 0; m.lanes && d < c->devices.n; d++) {
		free(m.lanes[d].launch);
		free(m.lanes[d].stream);
		free(m.lanes[d].by_end);
		free(m.lanes[d].by_launch);
	}
	free(m.lanes);
	free(m.first_event);
	ss_vec_free(&m.waits);
	return ok;
}

void ss_graph_free(struct ss_graph *g)
{
	ss_vec_free(&g->nodes);
	ss_vec_free(&g->edges);
	free(g->order);
	free(g->arrival);
	free(g->last_of_step);
	ss_strmap_free(&g->names);
	ss_arena_release(&g->arena);
}
