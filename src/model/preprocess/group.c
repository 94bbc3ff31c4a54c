/*
 * group.c - groups of events that belong to one step, request or run.
 *
 * A group begins at a root: an event that the program marked as one, or that begins an iteration of
 * a TensorFlow loop. Everything below the root in the forest belongs to it, unless an earlier group
 * took it; then the two groups are parent and child.
 */
#include "model/preprocess/group.h"

#include "base/assert.h"
#include "base/bisect.h"
#include "model/host/host.h"

#include <stdlib.h>

bool ss_line_need_groups(struct ss_line *l)
{
	if (l->group)
		return true;
	l->group = malloc(((size_t)l->ev.n + 1) * sizeof(*l->group));
	if (!l->group)
		return false;
	for (uint32_t i = 0; i < l->ev.n; i++)
		l->group[i] = SS_NO_GROUP;
	return true;
}

static bool relate(struct ss_grouping *g, int32_t parent, int32_t child)
{
	uint64_t pair = (uint64_t)(uint32_t)parent << 32 | (uint32_t)child;
	uint32_t at = (uint32_t)g->relations.n, got;
	if (parent == child)
		return true;
	if (at >= g->max_relations)
		return true;
	got = ss_u64map_add(&g->related, pair, at);
	return got != SS_NONE && (got != at || ss_vec_push(&g->relations, pair));
}

/* Put the consumers linked to an event on the list of work. */
static bool follow_links(struct ss_grouping *g, struct ss_forest_line *fl, size_t *at, uint32_t event, int32_t id)
{
	while (*at < fl->out.n && fl->out.v[*at].event < event)
		++*at;
	for (size_t k = *at; k < fl->out.n && fl->out.v[k].event == event; k++) {
		if (fl->out.v[k].link_group == SS_NONE)
			continue;
		struct ss_link_group *b = &g->forest.link_groups[fl->out.v[k].link_group];
		if (b->visited_by == id)
			continue;
		b->visited_by = id;
		for (uint32_t i = 0; i < b->nconsumers; i++)
			if (!ss_vec_push(&g->work, g->forest.consumers[b->first_consumer + i]))
				return false;
	}
	return true;
}

/*
 * Behind the last event below an event that a group begins at or came to. An asynchronous one, and one of a line without nesting,
 * have none below.
 */
static uint32_t subtree_end(const struct ss_forest_line *fl, uint32_t event)
{
	const struct ss_nested *nested = ss_forest_nested(fl, event);
	return nested ? nested->end : event + 1;
}

/* First asynchronous event at or behind `event`, from the `lo`-th on. */
static size_t async_at(const struct ss_forest_line *fl, size_t lo, uint32_t event)
{
	size_t hi = fl->asyncs.n;
	SS_BISECT(lo, hi, mid, fl->asyncs.v[mid] < event);
	return lo;
}

/*
 * The subtree of one event: what is below it has numbers from its own up to subtree_end. Asynchronous events in between are not
 * part of it; what is grouped already is passed over with all that is below it: another group began there or came there by a link.
 */
static bool spread_below(struct ss_grouping *g, struct ss_node n, int32_t id)
{
	struct ss_forest_line *fl = &g->forest.lines[n.line];
	if (!ss_line_need_groups(fl->l))
		return false;
	int32_t *group = fl->l->group;
	uint32_t end = subtree_end(fl, n.event);
	size_t at = ss_event_link_at(fl->out.v, fl->out.n, n.event), async = async_at(fl, 0, n.event + 1);
	ss_assert(end <= fl->l->ev.n);
	for (uint32_t i = n.event, next; i < end; i = next) {
		bool is_async = async < fl->asyncs.n && fl->asyncs.v[async] == i;
		bool grouped = !is_async && group[i] != SS_NO_GROUP;
		next = grouped ? subtree_end(fl, i) : i + 1;
		if (grouped && !relate(g, id, group[i]))
			return false;
		if (grouped)
			async = async_at(fl, async, next);
		async += is_async;
		if (is_async || grouped)
			continue;
		group[i] = id;
		if (!follow_links(g, fl, &at, i, id))
			return false;
	}
	return true;
}

static bool spread(struct ss_grouping *g, struct ss_node root, int32_t id)
{
	g->work.n = 0;
	if (!ss_vec_push(&g->work, root))
		return false;
	while (g->work.n)
		if (!spread_below(g, g->work.v[--g->work.n], id))
			return false;
	return true;
}

struct stat_search {
	enum ss_stat stat;
	struct ss_xstat found;
};

static bool has_stat(void *arg, const struct ss_forest *f, struct ss_node n)
{
	struct stat_search *s = arg;
	const struct ss_forest_line *fl = &f->lines[n.line];
	return ss_xplane_has(fl->p->x, s->stat) &&
	       ss_xstats_find(ss_line_stats(fl->p, fl->l, n.event), s->stat, &s->found);
}

/* A stat of the root or its nearest ancestor that has it. */
static bool find_stat(struct ss_grouping *g, struct ss_node root, struct stat_search *s, bool *found, struct ss_err *err)
{
	*found = false;
	for (uint32_t i = 0; i < g->h->nplanes; i++)
		if (ss_xplane_has(g->h->planes[i].x, s->stat))
			return ss_forest_ancestor(&g->forest, root, true, has_stat, s, found, err);
	return true;
}

static bool is_implicit(const struct ss_forest_line *fl, uint32_t event)
{
	switch (ss_event_type_at(fl->reader->types, fl->p, fl->l->ev.meta[event])) {
	case SS_EV_FUNCTION_RUN:
	case SS_EV_SESSION_RUN:
	case SS_EV_RUN_GRAPH:
	case SS_EV_EXECUTOR_STATE_PROCESS:
		return true;
	default:
		return fl->flat;
	}
}

static bool name_group(struct ss_grouping *g, struct ss_node root, struct ss_group *group, int64_t id, struct ss_err *err)
{
	const struct ss_forest_line *fl = &g->forest.lines[root.line];
	struct stat_search graph = { .stat = SS_STAT_GRAPH_TYPE }, iter = { .stat = SS_STAT_ITER_NUM };
	struct ss_str prefix = ss_event_name(fl->p, fl->l->ev.meta[root.event]);
	bool has_graph, has_number;
	group->implicit = is_implicit(fl, root.event);
	ss_forget_near(&g->passed, fl->l, root.event);
	if (!find_stat(g, root, &graph, &has_graph, err) || !find_stat(g, root, &iter, &has_number, err))
		return false;
	if (!has_number) {
		iter.stat = SS_STAT_STEP_NUM;
		if (!find_stat(g, root, &iter, &has_number, err))
			return false;
	}
	if (has_graph)
		prefix = ss_xstat_str(&graph.found);
	struct ss_str in_file = ss_event_name_in_file(fl->p, fl->l->ev.meta[root.event]);
	int64_t number = has_number ? ss_xstat_int_or_uint(&iter.found) : id;
	if (!has_graph && !group->implicit && !ss_str_eq(in_file, prefix))
		group->name = in_file;
	else if (has_graph || !group->implicit)
		group->name = ss_arena_printf(&g->h->arena, SS_FMT " %lld", SS_ARG(prefix), (long long)number);
	else
		group->name = ss_arena_printf(&g->h->arena, "%lld", (long long)number);
	if (!group->name.p)
		return ss_fail_mem(err);
	return group->implicit || ss_added_str(&g->added, &fl->l->added, root.event, SS_STAT_STEP_NAME, group->name) ||
	       ss_fail_mem(err);
}

bool ss_group_begin(struct ss_grouping *g, struct ss_node root, int32_t id, struct ss_err *err)
{
	struct ss_group group = { 0 };
	if (!spread(g, root, id))
		return ss_fail_mem(err);
	if (!name_group(g, root, &group, id, err))
		return false;
	if ((size_t)id < g->groups.n) {
		g->groups.v[id] = group;
		return true;
	}
	return ss_vec_push(&g->groups, group) || ss_fail_mem(err);
}
