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
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

struct root {
	struct ss_node node;
	int64_t level, begin_ps;
};

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
	int64_t number = has_number ? ss_xstat_int(&iter.found) : id;
	if (has_graph || !group->implicit)
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

static bool begin_group(struct ss_grouping *g, struct ss_node root, struct ss_err *err)
{
	return g->groups.n >= INT32_MAX || ss_group_begin(g, root, (int32_t)g->groups.n, err);
}

struct level_search {
	int64_t level;
};

static bool has_level(void *arg, const struct ss_forest *f, struct ss_node n)
{
	return ss_forest_root_level(f, n) == ((struct level_search *)arg)->level;
}

static bool is_grouped(const struct ss_grouping *g, struct ss_node n)
{
	const struct ss_line *l = g->forest.lines[n.line].l;
	return l->group && l->group[n.event] != SS_NO_GROUP;
}

static int cmp(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_level(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	if (x->level != y->level)
		return cmp(y->level, x->level);
	if (x->begin_ps != y->begin_ps)
		return cmp(x->begin_ps, y->begin_ps);
	if (x->node.line != y->node.line)
		return cmp(x->node.line, y->node.line);
	return cmp(x->node.event, y->node.event);
}

struct roots {
	SS_VEC(struct root) all;
};

/* All roots but those of functions that tf.data runs: these are input, not steps. */
static bool collect_roots(const struct ss_forest *f, struct roots *r)
{
	struct ss_captured captured;
	bool ok = ss_forest_captured(f, &captured);
	for (uint32_t i = 0; ok && i < f->nlines; i++) {
		const struct ss_forest_line *fl = &f->lines[i];
		for (size_t k = 0; ok && k < fl->roots.n; k++) {
			uint32_t e = fl->roots.v[k].event;
			struct ss_context c = { 0 };
			if (captured.ids.n)
				ss_context_read_all(fl->reader, fl->l, e, &c);
			if (!ss_context_has(&c, SS_CTX_ID) || !ss_captured_has(&captured, ss_context_int(&c, SS_CTX_ID)))
				ok = ss_vec_push(&r->all, (struct root){ { i, e }, fl->roots.v[k].level,
							  fl->l->ev.begin_ps[e] });
		}
	}
	ss_vec_free(&captured.ids);
	return ok;
}

/* Larger levels first: the innermost kind of root makes the groups, outer kinds take what is left. */
static bool group_roots(struct ss_grouping *g, struct roots *r, struct ss_err *err)
{
	if (!collect_roots(&g->forest, r))
		return ss_fail_mem(err);
	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof(*r->all.v), by_level);
	for (size_t i = 0; i < r->all.n; i++) {
		const struct root *root = &r->all.v[i];
		struct level_search search = { root->level };
		bool nested = false;
		if (is_grouped(g, root->node))
			continue;
		if (!ss_forest_ancestor(&g->forest, root->node, false, has_level, &search, &nested, err) ||
		    (!nested && !begin_group(g, root->node, err)))
			return false;
	}
	return true;
}

static bool make_groups(struct ss_grouping *g, struct ss_err *err)
{
	if (!g->forest.loop_roots.n) {
		struct roots r = { 0 };
		bool ok = group_roots(g, &r, err);
		ss_vec_free(&r.all);
		return ok;
	}
	for (size_t i = 0; i < g->forest.loop_roots.n; i++)
		if (!begin_group(g, g->forest.loop_roots.v[i], err))
			return false;
	return true;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Lists of parents (or children, with the halves of the pairs swapped) of all groups, out of sorted pairs. */
static bool list_relations(struct ss_grouping *g, bool parents)
{
	uint64_t *v = g->relations.v;
	size_t n = g->relations.n;
	int64_t *ids = SS_NEW_N(&g->h->arena, int64_t, n);
	if (!ids)
		return false;
	for (size_t i = 0; parents && i < n; i++)
		v[i] = v[i] << 32 | v[i] >> 32;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++) {
		struct ss_group *group = &g->groups.v[v[i] >> 32];
		ids[i] = (int64_t)(v[i] & UINT32_MAX);
		if (parents && !group->nparents++)
			group->parents = &ids[i];
		else if (!parents && !group->nchildren++)
			group->children = &ids[i];
	}
	return true;
}

/* Where no group was found, what the file says. */
static void keep_group_ids(const struct ss_plane *p, struct ss_line *l)
{
	struct ss_xstat s;
	for (uint32_t e = 0; l->group && e < l->ev.n; e++)
		if (l->group[e] == SS_NO_GROUP && ss_xstats_find(ss_line_stats(p, l, e), SS_STAT_GROUP_ID, &s))
			l->group[e] = (int32_t)ss_xstat_int_or_uint(&s);
}

/* The groups move to the host; their ids in files that name group_id for some planes only stay where no group was found. */
static bool deliver(struct ss_grouping *g, struct ss_err *err)
{
	struct ss_host *h = g->h;
	if (g->relations.n && (!list_relations(g, false) || !list_relations(g, true)))
		return ss_fail_mem(err);
	h->groups = SS_NEW_N(&h->arena, struct ss_group, g->groups.n);
	if (!h->groups || !ss_added_deliver(&g->added))
		return ss_fail_mem(err);
	if (g->groups.n)
		memcpy(h->groups, g->groups.v, g->groups.n * sizeof(*h->groups));
	h->ngroups = (uint32_t)g->groups.n;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		struct ss_plane *p = &h->planes[i];
		for (uint32_t j = 0; ss_xplane_has(p->x, SS_STAT_GROUP_ID) && j < p->nlines; j++)
			keep_group_ids(p, &p->lines[j]);
	}
	return true;
}

static void grouping_free(struct ss_grouping *g)
{
	ss_vec_free(&g->groups);
	ss_vec_free(&g->relations);
	ss_u64map_free(&g->related);
	ss_vec_free(&g->work);
	ss_added_free(&g->added);
	ss_forest_free(&g->forest);
}

/* TensorFlow loops written as ops are not understood: XProf groups nothing then, and neither do we. */
static bool has_loop_op(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (uint32_t m = 0; m < h->planes[i].x->nevent_meta; m++)
			switch (ss_event_type_of_name(h->planes[i].x->event_meta[m].name)) {
			case SS_EV_WHILE_OP_EVAL_COND:
			case SS_EV_WHILE_OP_START_BODY:
			case SS_EV_FOR_OP:
			case SS_EV_PARALLEL_FOR_OP:
			case SS_EV_FOREVER_OP:
				return true;
			default:
				break;
			}
	return false;
}

static bool is_tpu(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_str_starts(h->planes[i].name, SS_STR("/device:TPU:")))
			return true;
	return false;
}

/* Is an event of this name a root, or the iteration of a loop; on a TPU, one that links others to it? See context.c, forest.c. */
static bool may_begin_group(struct ss_str name, bool core)
{
	switch (ss_event_type_of_name(name)) {
	case SS_EV_PROCESS_BATCH:
	case SS_EV_ORBAX_PROCESS_BATCH:
	case SS_EV_BATCHING_SESSION_RUN:
	case SS_EV_TRACE_CONTEXT:
	case SS_EV_EXECUTOR_STATE_PROCESS:
		return true;
	case SS_EV_ENQUEUE_REQUEST_LOCKED:
	case SS_EV_DO_ENQUEUE_PROGRAM:
	case SS_EV_KERNEL_LAUNCH:
		return core;
	default:
		return false;
	}
}

bool ss_preprocess_may_group_threads(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		bool core = p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE;
		if (ss_xplane_has(p->x, SS_STAT_ROOT_LEVEL) || (core && ss_xplane_has(p->x, SS_STAT_PRODUCER_ID)))
			return true;
		for (uint32_t m = 0; m < p->x->nevent_meta; m++)
			if (may_begin_group(p->x->event_meta[m].name, core))
				return true;
	}
	return false;
}

bool ss_preprocess_group(struct ss_host *h, struct ss_err *err)
{
	h->groups = NULL;
	h->ngroups = 0;
	if (!ss_add_pool_regions(h, err))
		return false;
	if (has_loop_op(h))
		return true;
	struct ss_grouping g = { .h = h, .passed.h = h };
	bool tpu = is_tpu(h);
	bool ok = ss_forest_build(&g.forest, h, tpu, err);
	g.max_relations = 1u << 16;
	for (uint32_t i = 0; ok && i < g.forest.nlines; i++)
		g.max_relations += g.forest.lines[i].l->ev.n;
	ok = ok && make_groups(&g, err) && ss_group_eager(&g, err) &&
		  (!tpu || ss_group_tpu(&g, err)) && deliver(&g, err);
	ss_forget_rest(&g.passed);
	grouping_free(&g);
	return ok;
}
