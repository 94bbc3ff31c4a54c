/* graph.c - see graph.h. */
#include "model/cluster/graph_making.h"

#include "base/heap.h"
#include "base/sort.h"

#include <stdlib.h>

static uint32_t name_of(struct ss_graph_making *m, struct ss_str s)
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
	struct ss_graph_making *m;
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

static bool is_joined(const struct ss_graph_making *m, uint32_t member)
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

static bool add_node(struct placing *p, struct ss_graph_lane *l, uint32_t k)
{
	struct ss_graph_making *m = p->m;
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
static void find_starts(const struct placing *p, const struct ss_graph_lane *l)
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

static bool place_nodes(struct placing *p, struct ss_graph_lane *l)
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

static bool add_device(struct ss_graph_making *m, uint32_t device, const struct ss_skeleton *s)
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
static bool has_event(const struct ss_graph_making *m, const struct ss_skel_host_event *e)
{
	return m->played->whole || (e->begin_ps > m->played->all.after_ps && e->begin_ps <= m->played->all.until_ps);
}

static bool add_events(struct ss_graph_making *m, uint32_t part, const struct ss_skeleton *s)
{
	struct ss_graph_events *events = &m->events[part];
	*events = (struct ss_graph_events){ .first = (uint32_t)m->g->nodes.n, .on_cpu = s->on_cpu };
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

static void find_last_of_steps(struct ss_graph_making *m)
{
	for (uint32_t d = 0; d < m->c->devices.n; d++) {
		const struct ss_cluster_device *cd = &m->c->devices.v[d];
		const struct ss_graph_lane *l = &m->lanes[d];
		for (uint32_t i = 0; i < cd->nsteps; i++) {
			uint32_t k = ss_lane_ended_by(m, l, m->c->steps.v[cd->first_step + i].end_ps + 1000);
			m->g->last_of_step[cd->first_step + i] = k ? l->first + l->by_end[k - 1] : UINT32_MAX;
		}
	}
}

static bool add_nodes(struct ss_graph_making *m, struct ss_err *err)
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

static void release_making(struct ss_graph_making *m)
{
	for (size_t d = 0; m->lanes && d < m->c->devices.n; d++) {
		ss_lane_forget_launches(&m->lanes[d]);
		free(m->lanes[d].by_end);
	}
	free(m->lanes);
	free(m->events);
	ss_vec_free(&m->waits);
}

bool ss_graph_build(struct ss_graph *g, struct ss_cluster *c, const struct ss_played *played, struct ss_err *err)
{
	*g = (struct ss_graph){ .order = NULL };
	struct ss_graph_making m = { .c = c, .played = played, .g = g, .lanes = calloc(c->devices.n + 1, sizeof(*m.lanes)),
			    .events = calloc(c->nparts + 1, sizeof(*m.events)) };
	g->arrival = calloc(c->members.n + 1, sizeof(*g->arrival));
	g->last_of_step = calloc(c->steps.n + 1, sizeof(*g->last_of_step));
	g->least_ps = calloc(c->devices.n + 1, sizeof(*g->least_ps));
	bool ok = (m.lanes && m.events && g->arrival && g->last_of_step && g->least_ps) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < c->members.n; i++)
		g->arrival[i] = UINT32_MAX;
	ok = ok && (ss_vec_reserve(&g->nodes, (size_t)played->events) || ss_fail_mem(err)) && add_nodes(&m, err);
	ss_cluster_rest(c);
	ok = ok && (ss_graph_link(&m) || ss_fail_mem(err));
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
