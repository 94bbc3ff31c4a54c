/*
 * what_if.c - replay. Nodes are what ran on devices and hosts; each begins when the last of what it
 * depends on has ended, and what it began later than that in the recording is kept with the
 * dependency that bound it.
 */
#include "model/cluster/what_if.h"
#include "base/safe.h"

#include "model/cluster/graph.h"
#include "model/cluster/robust.h"
#include "model/cluster/skeleton_read.h"

#include <math.h>
#include <stdlib.h>

#define SAME_MOMENT_PS INT64_C(1000000)

const char *ss_scenario_name(enum ss_scenario scenario)
{
	static const char *const names[] = { "as_recorded", "free_communication", "perfect_input", "op_twice_as_fast",
					     "host_as_median" };
	return names[scenario];
}

/* The change of a scenario. */
struct changes {
	bool free, no_input;
	double *scale;	    /* of durations, by node of one range; NULL: all as recorded */
	uint32_t first, n;  /* that range, which most_gap is about, too */
	const bool *halved; /* by name: operations that last half as long; NULL: none */
	int64_t *most_lag;  /* of gaps of one host, by the classes of the events around them; INT64_MAX: as recorded */
	uint32_t part_host; /* whose gaps those are */
	int64_t *most_gap;  /* of its devices' gaps before an operation; INT64_MAX: as recorded */
};

/* A node in the replay. */
struct replayed {
	int64_t begin_ps, end_ps;
};

/* An operation of a device, while those of one name and step are compared. */
struct entry {
	uint32_t name, step, device, node; /* step: the low bits of its number, which tell the steps of a run apart */
};

_Static_assert(sizeof(struct entry) <= sizeof(struct replayed), "they take the same room");

/* The arrivals at a collective that are played back. */
struct meeting {
	int64_t last_ps;	/* of those that the replay has come to */
	int64_t recorded_ps;	/* the last, as recorded */
	uint32_t held, come;
};

struct ss_what_if {
	struct ss_cluster *c;
	struct meeting *meetings; /* by collective */
	struct ss_played played;
	struct ss_graph g;
	union {
		struct replayed *at; /* by node */
		struct entry *entries; /* between replays */
	};
};

static int64_t duration(const struct changes *ch, const struct ss_node *n, uint32_t i)
{
	int64_t d = n->end_ps - n->begin_ps;
	if (ch->no_input && (n->kind == SS_NODE_INFEED || (n->kind == SS_NODE_EVENT && n->cls == SS_HOST_INPUT_EVENT)))
		return 0;
	if (ch->halved && n->name != SS_NODE_NO_NAME && ch->halved[n->name])
		return d / 2;
	return ch->scale && i - ch->first < ch->n ? (int64_t)((double)d * ch->scale[i - ch->first]) : d;
}

/*
 * Did the device do nothing between the two for no reason that is recorded? The host was at something
 * else then: it slept, or ran code that leaves no event.
 */
static bool is_device_gap(const struct ss_what_if *w, const struct ss_node *n, const struct ss_node *p, const struct ss_edge *e)
{
	return !ss_node_is_host(n) && !ss_node_is_host(p) && ss_node_host(w->c, n) == ss_node_host(w->c, p) && !e->to_end &&
	       !e->of_begin;
}

/* From the end of a dependency to the node's begin, if that is what bound it. */
static int64_t lag_of(const struct ss_what_if *w, const struct changes *ch, const struct ss_node *n, const struct ss_edge *e)
{
	const struct ss_node *p = &w->g.nodes.v[e->from];
	int64_t lag = n->begin_ps - (e->of_begin ? p->begin_ps : p->end_ps);
	if (ch->most_lag && ss_node_is_host(n) && n->where == ch->part_host) {
		int64_t most = ch->most_lag[ss_lag_class(p, n)];
		lag = lag < most ? lag : most;
	}
	uint32_t at = (uint32_t)(n - w->g.nodes.v) - ch->first;
	if (ch->most_gap && at < ch->n && is_device_gap(w, n, p, e) && lag > ch->most_gap[at])
		lag = ch->most_gap[at];
	return lag;
}

static int64_t begin_of(const struct ss_what_if *w, const struct changes *ch, const struct ss_node *n)
{
	int64_t at = INT64_MIN;
	for (uint32_t i = n->first_edge; i < ss_edges_end(&w->g, n); i++) {
		const struct ss_edge *e = &w->g.edges.v[i];
		if (e->to_end)
			continue;
		const struct replayed *p = &w->at[e->from];
		int64_t t = (e->of_begin ? p->begin_ps : p->end_ps) + (e->binds ? lag_of(w, ch, n, e) : 0);
		at = t > at ? t : at;
	}
	return at == INT64_MIN ? n->begin_ps : ss_skel_held(at);
}

/* Nobody says who sends: it is who arrived when the waiting ended. */
static int64_t likely_source(const struct ss_what_if *w, const struct ss_collective *k, const struct ss_member *m, int64_t meets,
			     int64_t own)
{
	const struct ss_cluster *c = w->c;
	int64_t best = INT64_MAX, at = own + meets - m->arrive_ps;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t other = c->order[k->first + i], node = w->g.arrival[other];
		int64_t away = llabs(c->members.v[other].arrive_ps - meets);
		if (away >= best || node == UINT32_MAX || away > SAME_MOMENT_PS)
			continue;
		best = away;
		at = w->at[node].begin_ps + meets - c->members.v[other].arrive_ps;
	}
	return at;
}

/* When a collective that began as the replay has it is complete: at once where nobody is known to have come. */
static int64_t complete(const struct ss_what_if *w, const struct changes *ch, const struct ss_node *n)
{
	const struct ss_cluster *c = w->c;
	const struct ss_member *m = &c->members.v[n->member];
	const struct ss_collective *k = &c->collectives.v[m->collective];
	int64_t last = INT64_MIN;
	if (k->pairs) {
		int64_t own = w->at[w->g.arrival[n->member]].begin_ps, meets = ss_member_meets_ps(c, k, m), source = own;
		uint32_t from = ss_member_source_member(c, k, m);
		if (from != UINT32_MAX && w->g.arrival[from] != UINT32_MAX)
			source = w->at[w->g.arrival[from]].begin_ps;
		else if (meets > m->arrive_ps)
			source = likely_source(w, k, m, meets, own);
		last = own > source ? own : source;
		return last + (ch->free ? 0 : m->end_ps > meets ? m->end_ps - meets : 0);
	}
	const struct meeting *meet = &w->meetings[m->collective];
	last = meet->last_ps;
	if (meet->come < meet->held && meet->recorded_ps > last)
		last = meet->recorded_ps;
	if (last == INT64_MIN)
		last = w->at[n - w->g.nodes.v].begin_ps;
	else if (k->last_ps > meet->recorded_ps) /* who is not played back comes as much later as it did */
		last = ss_safe_sum(last, k->last_ps - meet->recorded_ps);
	return last + (ch->free || k->done_ps < k->last_ps ? 0 : k->done_ps - k->last_ps);
}

/* By what a member ends behind the completion. */
static int64_t behind(const struct ss_what_if *w, const struct ss_node *n)
{
	const struct ss_collective *k = &w->c->collectives.v[w->c->members.v[n->member].collective];
	int64_t done = k->done_ps > k->last_ps ? k->done_ps : k->last_ps;
	return k->pairs ? 0 : n->end_ps - done;
}

static int64_t end_of_wait(const struct ss_what_if *w, const struct ss_node *n, int64_t begin_ps)
{
	int64_t at = INT64_MIN, recorded = INT64_MIN;
	for (uint32_t i = n->first_edge; i < ss_edges_end(&w->g, n); i++) {
		const struct ss_edge *e = &w->g.edges.v[i];
		if (!e->to_end)
			continue;
		at = w->at[e->from].end_ps > at ? w->at[e->from].end_ps : at;
		recorded = w->g.nodes.v[e->from].end_ps > recorded ? w->g.nodes.v[e->from].end_ps : recorded;
	}
	if (at == INT64_MIN)
		return begin_ps + (n->end_ps - n->begin_ps);
	at = ss_safe_sum(at, n->end_ps - recorded);
	return at > begin_ps ? at : begin_ps;
}

/* A node begins, which may be somebody's arrival at a collective. */
static void begin_node(struct ss_what_if *w, const struct changes *ch, uint32_t i)
{
	const struct ss_node *n = &w->g.nodes.v[i];
	w->at[i].begin_ps = begin_of(w, ch, n);
	if (ss_node_is_host(n) || n->member == UINT32_MAX || w->g.arrival[n->member] != i)
		return;
	struct meeting *meet = &w->meetings[w->c->members.v[n->member].collective];
	meet->come++;
	meet->last_ps = w->at[i].begin_ps > meet->last_ps ? w->at[i].begin_ps : meet->last_ps;
}

static void replay_node(struct ss_what_if *w, const struct changes *ch, uint32_t i)
{
	const struct ss_node *n = &w->g.nodes.v[i];
	struct replayed *r = &w->at[i];
	int64_t end = r->begin_ps + duration(ch, n, i), done;
	bool waited;
	switch ((enum ss_node_kind)n->kind) {
	case SS_NODE_MEMBER: /* a whole collective: it lasts until all have come */
		end = ss_safe_sum(complete(w, ch, n), behind(w, n));
		break;
	case SS_NODE_DONE:
		waited = w->c->members.v[n->member].waited;
		done = ss_safe_sum(complete(w, ch, n), waited ? behind(w, n) : 0);
		end = waited ? r->begin_ps + w->g.least_ps[n->where] : end;
		end = done > end ? done : end;
		break;
	case SS_NODE_WAIT:
		end = end_of_wait(w, n, r->begin_ps);
		break;
	default:
		break;
	}
	r->end_ps = end > r->begin_ps ? ss_skel_held(end) : r->begin_ps;
}

/* The last end of a step in the replay; INT64_MIN: no device has it. */
static int64_t step_end(const struct ss_what_if *w, int64_t step)
{
	int64_t last = INT64_MIN;
	for (size_t d = 0; d < w->c->devices.n; d++)
		for (uint32_t i = 0; w->played.hosts[w->c->devices.v[d].host] && i < w->c->devices.v[d].nsteps; i++) {
			uint32_t at = w->c->devices.v[d].first_step + i;
			const struct ss_cluster_step *s = &w->c->steps.v[at];
			if (s->num != step)
				continue;
			int64_t end = s->end_ps;
			if (w->g.last_of_step[at] != UINT32_MAX) {
				uint32_t last_node = w->g.last_of_step[at];
				end = ss_safe_sum(end, w->at[last_node].end_ps - w->g.nodes.v[last_node].end_ps);
			}
			last = end > last ? end : last;
		}
	return last;
}

static double replay(struct ss_what_if *w, const struct changes *ch)
{
	const struct ss_graph *g = &w->g;
	for (size_t i = 0; i < g->nodes.n; i++)
		w->at[i] = (struct replayed){ g->nodes.v[i].begin_ps, g->nodes.v[i].end_ps };
	for (size_t i = 0; i < w->c->collectives.n; i++) {
		w->meetings[i].last_ps = INT64_MIN;
		w->meetings[i].come = 0;
	}
	/*
	 * Arrivals at a collective begin before its end: members are opened in one place of the
	 * order and closed in another.
	 */
	for (size_t i = 0; i < g->norder; i++) {
		uint32_t k = g->order[i] & ~SS_ORDER_BEGIN;
		if ((g->order[i] & SS_ORDER_BEGIN) || !ss_node_ends_late(&g->nodes.v[k]))
			begin_node(w, ch, k);
		if (!(g->order[i] & SS_ORDER_BEGIN))
			replay_node(w, ch, k);
	}
	return ((double)step_end(w, w->played.last_step) - (double)step_end(w, w->played.first_step)) /
	       (double)(w->played.nsteps - 1);
}

/* ---- a host as the median ---- */

static bool is_before(const struct entry *x, const struct entry *y)
{
	if (x->name != y->name)
		return x->name < y->name;
	if (x->step != y->step)
		return x->step < y->step;
	return x->device != y->device ? x->device < y->device : x->node < y->node;
}

/* In place: there are as many as nodes. */
#define SORT_ITEM struct entry
#define SORT_LESS(ctx, a, b) ((void)(ctx), is_before((a), (b)))
#include "base/introsort_of.h"

/* `others` has a place for each device. */
typedef void group_fn(const struct ss_what_if *w, const struct entry *v, size_t n, double *others, struct changes *ch);

/* Work of devices, or only their compute, by name and step. */
static bool each_group(struct ss_what_if *w, bool computes, group_fn *group, struct changes *ch)
{
	struct entry *v = w->entries;
	double *others = calloc(w->c->devices.n + 1, sizeof(*others));
	size_t n = 0;
	for (uint32_t i = 0; others && i < w->g.nodes.n; i++) {
		const struct ss_node *nd = &w->g.nodes.v[i];
		if (computes ? nd->kind == SS_NODE_COMPUTE : !ss_node_is_host(nd))
			v[n++] = (struct entry){ nd->name, (uint32_t)(uint64_t)ss_node_step(w->c, nd), nd->where, i };
	}
	sort_items(v, n, NULL);
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i + 1; to < n && v[to].name == v[i].name && v[to].step == v[i].step;)
			to++;
		group(w, &v[i], to - i, others, ch);
	}
	free(others);
	return others;
}

/* The mean duration of the operations from `i` on that are of one device; `to` is behind the last of them. */
static double device_mean(const struct ss_what_if *w, const struct entry *v, size_t n, size_t i, size_t *to)
{
	double sum = 0;
	for (*to = i; *to < n && v[*to].device == v[i].device; ++*to)
		sum += (double)(w->g.nodes.v[v[*to].node].end_ps - w->g.nodes.v[v[*to].node].begin_ps);
	return sum / (double)(*to - i);
}

/*
 * Operations of one name and step: each device's mean, the median of those of other hosts, and the
 * host's scaled down to it. Of two hosts a median of both would be half way.
 */
static void scale_group(const struct ss_what_if *w, const struct entry *v, size_t n, double *means, struct changes *ch)
{
	size_t nd = 0;
	for (size_t i = 0, to; i < n; i = to) {
		double mean = device_mean(w, v, n, i, &to);
		if (w->c->devices.v[v[i].device].host != ch->part_host)
			means[nd++] = mean;
	}
	if (!nd)
		return;
	double middle = ss_median(means, nd);
	for (size_t i = 0, to; i < n; i = to) {
		double own = device_mean(w, v, n, i, &to);
		for (size_t k = i; k < to && own > middle; k++)
			if (w->c->devices.v[v[k].device].host == ch->part_host)
				ch->scale[v[k].node - ch->first] = middle / own;
	}
}

/* The gap before a device's operation, where an operation of its host bounds it; NAN: something else does. */
static double gap_before(const struct ss_what_if *w, uint32_t node)
{
	const struct ss_node *n = &w->g.nodes.v[node];
	for (uint32_t i = n->first_edge; i < ss_edges_end(&w->g, n); i++) {
		const struct ss_edge *e = &w->g.edges.v[i];
		const struct ss_node *p = &w->g.nodes.v[e->from];
		if (e->binds)
			return is_device_gap(w, n, p, e) ? (double)(n->begin_ps - p->end_ps) : NAN;
	}
	return NAN;
}

/* Of the operations of one name and step: the host's gaps before them are the median of the others' at most. */
static void cap_group(const struct ss_what_if *w, const struct entry *v, size_t n, double *others, struct changes *ch)
{
	size_t no = 0;
	for (size_t i = 0, to; i < n; i = to) {
		double sum = 0;
		size_t gaps = 0;
		for (to = i; to < n && v[to].device == v[i].device; to++) {
			double gap = gap_before(w, v[to].node);
			sum += isnan(gap) ? 0 : gap;
			gaps += isnan(gap) ? 0 : 1;
		}
		if (gaps && w->c->devices.v[v[i].device].host != ch->part_host)
			others[no++] = sum / (double)gaps;
	}
	if (!no)
		return;
	double middle = ss_median(others, no);
	for (size_t i = 0; i < n; i++)
		if (w->c->devices.v[v[i].device].host == ch->part_host)
			ch->most_gap[v[i].node - ch->first] = middle > 0 ? (int64_t)middle : 0;
}

/* Nodes from the first of a host to its last. */
static void find_range(const struct ss_what_if *w, struct changes *ch)
{
	for (uint32_t i = 0; i < w->g.nodes.n; i++) {
		if (ss_node_host(w->c, &w->g.nodes.v[i]) != ch->part_host)
			continue;
		ch->first = ch->n ? ch->first : i;
		ch->n = i + 1 - ch->first;
	}
}

/* Sums over a host's events of a class, and over its gaps. */
struct usual {
	double event_ps[3], gap_ps[SS_LAG_CLASSES];
	uint64_t events[3], gaps[SS_LAG_CLASSES];
};

static void sum_hosts(const struct ss_what_if *w, struct usual *of_host)
{
	for (size_t i = 0; i < w->g.nodes.n; i++) {
		const struct ss_node *n = &w->g.nodes.v[i];
		if (!ss_node_is_host(n))
			continue;
		struct usual *u = &of_host[n->where];
		if (n->kind == SS_NODE_EVENT) {
			u->event_ps[n->cls] += (double)(n->end_ps - n->begin_ps);
			u->events[n->cls]++;
		}
		for (uint32_t e = n->first_edge; e < ss_edges_end(&w->g, n); e++) {
			const struct ss_edge *ed = &w->g.edges.v[e];
			const struct ss_node *p = &w->g.nodes.v[ed->from];
			if (!ed->binds || ed->of_begin)
				continue;
			u->gap_ps[ss_lag_class(p, n)] += (double)(n->begin_ps - p->end_ps);
			u->gaps[ss_lag_class(p, n)]++;
		}
	}
}

/* The median over the other hosts of their means; NAN: nobody has such. */
static double median_host(const struct ss_what_if *w, const struct usual *of_host, uint32_t host, unsigned cls, bool gaps,
			  double *scratch)
{
	size_t n = 0;
	for (size_t h = 0; h < w->c->hosts.n; h++) {
		const struct usual *u = &of_host[h];
		uint64_t count = gaps ? u->gaps[cls] : u->events[cls];
		if (count && h != host)
			scratch[n++] = (gaps ? u->gap_ps[cls] : u->event_ps[cls]) / (double)count;
	}
	return ss_median(scratch, n);
}

/* The host's events last as long as the median of the others' means at most. */
static void cap_events(const struct ss_what_if *w, const struct usual *of_host, double *scratch, struct changes *ch)
{
	for (unsigned cls = SS_HOST_INPUT_EVENT; cls <= SS_HOST_LAUNCH_EVENT; cls++) {
		double middle = median_host(w, of_host, ch->part_host, cls, false, scratch);
		for (uint32_t i = 0; i < ch->n; i++) {
			const struct ss_node *n = &w->g.nodes.v[ch->first + i];
			double d = (double)(n->end_ps - n->begin_ps);
			if (n->kind == SS_NODE_EVENT && n->where == ch->part_host && n->cls == cls && d > middle)
				ch->scale[i] = middle / d;
		}
	}
}

static bool replay_as_median(struct ss_what_if *w, uint32_t host, double *ps)
{
	int64_t lags[SS_LAG_CLASSES];
	struct changes ch = { .most_lag = lags, .part_host = host };
	find_range(w, &ch);
	ch.scale = calloc((size_t)ch.n + 1, sizeof(*ch.scale));
	ch.most_gap = malloc(((size_t)ch.n + 1) * sizeof(*ch.most_gap));
	double *scratch = calloc(w->c->hosts.n + 1, sizeof(*scratch));
	struct usual *of_host = calloc(w->c->hosts.n + 1, sizeof(*of_host));
	bool ok = ch.scale && ch.most_gap && scratch && of_host;
	for (uint32_t i = 0; ok && i < ch.n; i++) {
		ch.scale[i] = 1;
		ch.most_gap[i] = INT64_MAX;
	}
	if (ok)
		sum_hosts(w, of_host);
	ok = ok && each_group(w, true, scale_group, &ch) && each_group(w, false, cap_group, &ch);
	for (unsigned cls = 0; ok && cls < SS_LAG_CLASSES; cls++) {
		double m = median_host(w, of_host, host, cls, true, scratch);
		lags[cls] = isnan(m) || m < 0 ? INT64_MAX : (int64_t)m;
	}
	if (ok) {
		cap_events(w, of_host, scratch, &ch);
		*ps = replay(w, &ch);
	}
	free(ch.most_gap);
	free(ch.scale);
	free(scratch);
	free(of_host);
	return ok;
}

/* ---- the others ---- */

/* "fusion_200_kernel" is meant for "fusion_200_kernel(float*)", too. */
static bool is_op(struct ss_str name, struct ss_str op)
{
	return op.n && ss_str_starts(name, op) && (name.n == op.n || name.p[op.n] == '(' || name.p[op.n] == '<');
}

bool ss_what_if_has_op(const struct ss_what_if *w, struct ss_str op)
{
	for (size_t i = 0; i < w->g.names.n; i++)
		if (is_op(w->g.names.keys[i], op))
			return true;
	return false;
}

static bool replay_faster(struct ss_what_if *w, struct ss_str op, double *ps)
{
	bool *halved = calloc((size_t)w->g.names.n + 1, sizeof(*halved));
	struct changes ch = { .halved = halved };
	for (size_t i = 0; halved && i < w->g.names.n; i++)
		halved[i] = is_op(w->g.names.keys[i], op);
	if (halved)
		*ps = replay(w, &ch);
	free(halved);
	return halved;
}

bool ss_what_if_step_us(struct ss_what_if *w, enum ss_scenario scenario, struct ss_str op, uint32_t host, double *us)
{
	struct changes ch = { .free = scenario == SS_FREE_COMMUNICATION, .no_input = scenario == SS_PERFECT_INPUT };
	double ps = NAN;
	bool ok = true;
	if (w->played.nsteps > 1) {
		if (scenario == SS_OP_TWICE_AS_FAST)
			ok = replay_faster(w, op, &ps);
		else if (scenario == SS_HOST_AS_MEDIAN)
			ok = replay_as_median(w, host, &ps);
		else
			ps = replay(w, &ch);
	}
	*us = ps * 1e-6;
	return ok;
}

double ss_what_if_now_us(const struct ss_what_if *w)
{
	return w->played.now_ps * 1e-6;
}

static bool find_meetings(struct ss_what_if *w)
{
	const struct ss_cluster *c = w->c;
	w->meetings = calloc(c->collectives.n + 1, sizeof(*w->meetings));
	for (size_t i = 0; w->meetings && i < c->collectives.n; i++)
		w->meetings[i].recorded_ps = INT64_MIN;
	for (size_t i = 0; w->meetings && i < c->members.n; i++) {
		const struct ss_member *m = &c->members.v[i];
		if (m->collective == UINT32_MAX || w->g.arrival[i] == UINT32_MAX)
			continue;
		struct meeting *meet = &w->meetings[m->collective];
		meet->held++;
		meet->recorded_ps = m->arrive_ps > meet->recorded_ps ? m->arrive_ps : meet->recorded_ps;
	}
	return w->meetings;
}

const struct ss_played *ss_what_if_played(const struct ss_what_if *w)
{
	return &w->played;
}

struct ss_what_if *ss_what_if_of(struct ss_cluster *c, uint64_t most, uint32_t host, struct ss_err *err)
{
	struct ss_what_if *w = calloc(1, sizeof(*w));
	if (!w) {
		ss_fail_mem(err);
		return NULL;
	}
	w->c = c;
	if (ss_played_choose(&w->played, c, most, host, err) && ss_graph_build(&w->g, c, &w->played, err) &&
	    ((find_meetings(w) && (w->at = malloc((w->g.nodes.n + 1) * sizeof(*w->at)))) || ss_fail_mem(err)))
		return w;
	ss_what_if_free(w);
	return NULL;
}

void ss_what_if_free(struct ss_what_if *w)
{
	if (!w)
		return;
	ss_played_free(&w->played);
	ss_graph_free(&w->g);
	free(w->meetings);
	free(w->at);
	free(w);
}
