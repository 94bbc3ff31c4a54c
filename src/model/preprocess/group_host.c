/* group_host.c - the groups of a host, see group.h. */
#include "model/preprocess/group.h"

#include "model/host/host.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

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
	return SS_CMP(a, b);
}

struct root {
	struct ss_node node;
	int64_t level, begin_ps;
};

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
	qsort(v, n, sizeof(*v), ss_cmp_u64);
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

/* Groups of each event instead of runs, if there are events without. */
static bool spread_out(struct ss_line *l)
{
	bool any = false;
	for (uint32_t k = 0; k < l->nruns; k++)
		any |= l->runs[k].group == SS_NO_GROUP;
	if (!any)
		return true;
	if (!ss_line_need_groups(l))
		return false;
	for (uint32_t k = 0; k < l->nruns; k++)
		for (uint32_t i = l->runs[k].first, end = k + 1 < l->nruns ? l->runs[k + 1].first : l->ev.n; i < end; i++)
			l->group[i] = l->runs[k].group;
	free(l->runs);
	l->runs = NULL;
	l->nruns = 0;
	return true;
}

/* If no group was found, use the group in the file. */
static bool keep_group_ids(const struct ss_plane *p, struct ss_line *l)
{
	struct ss_xstat s;
	if (!spread_out(l))
		return false;
	for (uint32_t e = 0; l->group && e < l->ev.n; e++)
		if (l->group[e] == SS_NO_GROUP && ss_xstats_find(ss_line_stats(p, l, e), SS_STAT_GROUP_ID, &s))
			l->group[e] = (int32_t)ss_xstat_int_or_uint(&s);
	return true;
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
			if (!keep_group_ids(p, &p->lines[j]))
				return ss_fail_mem(err);
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
