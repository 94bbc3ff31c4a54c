/* graph_edges.c - what each node of the graph waits for. */
#include "model/cluster/graph_making.h"

#include "base/bisect.h"
#include "base/sort.h"

#include <stdlib.h>

#define NEAR_PS INT64_C(300000)
#define SOON_PS INT64_C(20000000)
#define MOST_STREAMS 4096

/* The node of a launch; UINT32_MAX: it is not played back. */
static uint32_t launch_node(const struct ss_graph_making *m, uint32_t part, uint32_t launch)
{
	const struct ss_graph_events *e = &m->events[part];
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

static bool order_lane(struct ss_graph_making *m, struct ss_graph_lane *l)
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

void ss_lane_forget_launches(struct ss_graph_lane *l)
{
	free(l->launch);
	free(l->stream);
	free(l->by_launch);
	l->launch = l->stream = l->by_launch = NULL;
}

uint32_t ss_lane_ended_by(const struct ss_graph_making *m, const struct ss_graph_lane *l, int64_t at_ps)
{
	uint32_t lo = 0, hi = l->n;
	SS_BISECT(lo, hi, mid, m->g->nodes.v[l->first + l->by_end[mid]].end_ps <= at_ps);
	return lo;
}

/* The last before this one on its stream; UINT32_MAX: none. */
static void before_on_stream(const struct ss_graph_lane *l, uint32_t *before)
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

/* Was `other` launched before `i`, onto another stream? */
static bool is_before(const struct ss_graph_lane *l, uint32_t other, uint32_t i)
{
	return l->stream[other] != l->stream[i] && l->launch[other] != SS_NO_LAUNCH && l->launch[other] < l->launch[i];
}

static bool note_wait(struct ss_graph_making *m, const struct ss_node *n, const struct ss_node *o)
{
	while (m->waits.n <= n->name)
		if (!ss_vec_push(&m->waits, ((struct ss_graph_waits){ .n = 0 })))
			return false;
	struct ss_graph_waits *w = &m->waits.v[n->name];
	bool known = false;
	for (uint32_t q = 0; q < w->n; q++)
		known |= w->names[q] == o->name;
	if (!known && w->n < SS_MOST_WAITS)
		w->names[w->n++] = o->name;
	return true;
}

/*
 * The collective that something waited for which had been launched before its end and then began soon
 * after it: a GPU takes 1 to 5 us to see an event of another stream, some up to 20. UINT32_MAX: none.
 */
static uint32_t collective_before(const struct ss_graph_making *m, const struct ss_graph_lane *l, uint32_t i, int64_t free_ps)
{
	const struct ss_node *n = &m->g->nodes.v[l->first + i];
	uint32_t launch = launch_node(m, m->c->devices.v[n->where].part, l->launch[i]);
	if (launch == UINT32_MAX)
		return UINT32_MAX;
	for (uint32_t k = ss_lane_ended_by(m, l, n->begin_ps); k-- > 0;) {
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
static bool find_waits(struct ss_graph_making *m, const struct ss_graph_lane *l, const uint32_t *before)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->n; i++) {
		const struct ss_node *n = &m->g->nodes.v[l->first + i];
		int64_t free_ps = before[i] == UINT32_MAX ? INT64_MIN : m->g->nodes.v[l->first + before[i]].end_ps;
		if (before[i] == UINT32_MAX || n->begin_ps - free_ps <= NEAR_PS || l->launch[i] == SS_NO_LAUNCH)
			continue;
		bool found = false;
		for (uint32_t k = ss_lane_ended_by(m, l, n->begin_ps + NEAR_PS); ok && k-- > 0;) {
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

static bool add_edge(struct ss_graph_making *m, uint32_t from, bool of_begin, bool to_end)
{
	struct ss_edge e = { .from = from & ((UINT32_C(1) << 29) - 1), .of_begin = of_begin, .to_end = to_end };
	return m->g->edges.n < UINT32_MAX && ss_vec_push(&m->g->edges, e);
}

/* An event that ended after this one began did not delay it, whatever the order. */
static bool held_up(const struct ss_graph_making *m, const struct ss_node *n, uint32_t from)
{
	return m->g->nodes.v[from].end_ps <= n->begin_ps + NEAR_PS;
}

/* Place among those launched of the first that was launched at or behind `launch`. */
static uint32_t launched_before(const struct ss_graph_lane *l, uint32_t launch)
{
	uint32_t lo = 0, hi = l->nlaunched;
	SS_BISECT(lo, hi, mid, l->launch[l->by_launch[mid]] < launch);
	return lo;
}

/* The last execution of an operation on another stream that was launched before. */
static bool add_waits(struct ss_graph_making *m, const struct ss_graph_lane *l, uint32_t i, struct ss_node *n)
{
	if (n->name >= m->waits.n || l->launch[i] == SS_NO_LAUNCH)
		return true;
	const struct ss_graph_waits *w = &m->waits.v[n->name];
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
static bool add_compute_before(struct ss_graph_making *m, const struct ss_graph_lane *l, uint32_t i, struct ss_node *n)
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
static void mark_binding(struct ss_graph_making *m, const struct ss_node *n)
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
static void take_turns(struct ss_graph_making *m, uint32_t part, const struct ss_graph_lane *l, uint32_t i, uint32_t before)
{
	struct ss_graph_events *events = &m->events[part];
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

static void note_last_op(const struct ss_graph_making *m, uint32_t *last, uint32_t op)
{
	if (*last == UINT32_MAX || m->g->nodes.v[*last].end_ps <= m->g->nodes.v[op].end_ps)
		*last = op;
}

static bool link_device(struct ss_graph_making *m, uint32_t device, const uint32_t *before)
{
	struct ss_graph_lane *l = &m->lanes[device];
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

int64_t ss_node_step(const struct ss_cluster *c, const struct ss_node *n)
{
	const struct ss_cluster_device *cd = &c->devices.v[n->where];
	uint32_t lo = 0, hi = cd->nsteps;
	SS_BISECT(lo, hi, mid, c->steps.v[cd->first_step + mid].end_ps < n->end_ps);
	return lo < cd->nsteps ? c->steps.v[cd->first_step + lo].num : SS_NO_STEP;
}

/* Does the device count for a wait of this part: those of the part, or all of its host? */
static bool counts(const struct ss_graph_making *m, uint32_t device, uint32_t part, bool whole_host)
{
	return whole_host || m->c->devices.v[device].part == part;
}

/* The step of what ended just when the wait did; SS_NONE: nothing did. */
static int64_t step_waited_for(struct ss_graph_making *m, uint32_t part, const struct ss_node *n, bool whole_host)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	int64_t best = NEAR_PS + 1;
	int64_t step = SS_NO_STEP;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct ss_graph_lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ss_lane_ended_by(m, l, n->end_ps + NEAR_PS) : 0;
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
static bool link_wait(struct ss_graph_making *m, uint32_t part, struct ss_node *n)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	bool whole_host = false;
	int64_t step = step_waited_for(m, part, n, false);
	if (step == SS_NO_STEP) {
		whole_host = true;
		step = step_waited_for(m, part, n, true);
	}
	for (uint32_t d = h->first_device; step != SS_NO_STEP && d < h->first_device + h->ndevices; d++) {
		const struct ss_graph_lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, whole_host) ? ss_lane_ended_by(m, l, n->end_ps + NEAR_PS) : 0;
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
static bool runs_at(const struct ss_graph_making *m, const struct ss_graph_lane *l, uint32_t ended, int64_t at_ps)
{
	for (uint32_t k = ended; k < l->n && k < ended + SS_MOST_WAITS; k++)
		if (m->g->nodes.v[l->first + l->by_end[k]].begin_ps < at_ps)
			return true;
	return false;
}

/*
 * A launch of a program that CPUs run, whose waits nobody records: where its devices became idle since the
 * event before it, it came behind their last work.
 */
static bool link_launch(struct ss_graph_making *m, uint32_t part, struct ss_node *n, uint32_t before)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[n->where];
	uint32_t last = SS_NONE;
	int64_t at = m->g->nodes.v[before].end_ps;
	for (uint32_t d = h->first_device; d < h->first_device + h->ndevices; d++) {
		const struct ss_graph_lane *l = &m->lanes[d];
		uint32_t k = counts(m, d, part, false) ? ss_lane_ended_by(m, l, n->begin_ps) : 0;
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
static bool link_blocking(struct ss_graph_making *m, struct ss_node *n, uint32_t op)
{
	const struct ss_node *o = &m->g->nodes.v[op];
	if (n->end_ps - n->begin_ps < SS_CALL_BLOCKS_PS || o->begin_ps < n->begin_ps || o->end_ps > n->end_ps + NEAR_PS)
		return true;
	n->kind = SS_NODE_WAIT;
	return add_edge(m, op, false, true);
}

/* Threads in their order; what is inside of another event moves with it. */
static bool link_events(struct ss_graph_making *m, uint32_t part)
{
	const struct ss_graph_events *events = &m->events[part];
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

/* In the order of the nodes, whose edges follow one another: of each part the devices and then the host. */
static bool link_part(struct ss_graph_making *m, uint32_t p, uint32_t *before)
{
	const struct ss_cluster_host *h = &m->c->hosts.v[m->c->parts[p].host];
	struct ss_graph_events *events = &m->events[p];
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
		ss_lane_forget_launches(&m->lanes[d]);
	}
	ok = ok && link_events(m, p);
	free(events->follows);
	free(events->last_op);
	events->follows = events->last_op = NULL;
	return ok;
}

bool ss_graph_link(struct ss_graph_making *m)
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
