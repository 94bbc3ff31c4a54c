/*
 * tfdata.c - from events of tf.data to trees of iterator calls, and from each tree to sums by
 * iterator.
 *
 * Only events of interest become nodes: iterators, produce and consume. Nesting is inclusion in
 * time on one thread, so other events may be left out of it. Elements of a well-behaved file are
 * consumed once and the walk is linear; a file in which they are consumed again and again is
 * followed up to a multiple of its nodes.
 */
#include "model/runtime/tfdata.h"

#include "base/vec.h"
#include "model/host/event_type.h"
#include "model/host/host.h"
#include "model/host/partial_read.h"

#include <stdlib.h>

#define MAX_DEPTH 100

enum kind { KIND_ITERATOR, KIND_PRODUCE, KIND_CONSUME };

struct node {
	int64_t begin_ps, end_ps;
	uint32_t first_child, last_child, next; /* SS_NONE: none */
	uint32_t what;		/* iterator: index into iterators; consume: index into hand-overs */
	uint8_t kind;
};

struct pass {
	const struct ss_plane *p;
	struct ss_tfdata *out;
	uint8_t *types;
	struct ss_arena arena;		/* of types */
	SS_VEC(struct node) nodes;
	SS_VEC(struct ss_tfdata_iterator) iterators;
	SS_VEC(struct ss_tfdata_stat) stats;
	SS_VEC(struct ss_tfdata_call) calls;
	SS_VEC(struct ss_tfdata_pipeline) pipelines;
	SS_VEC(uint32_t) produced;	/* by hand-over: the node that produced, SS_NONE */
	SS_VEC(uint32_t) roots;		/* nodes of root calls */
	SS_VEC(uint64_t) device_ids;
	SS_VEC(uint32_t) stack;
	struct ss_u64map iterator_of;	/* id to iterators */
	struct ss_u64map hand_over_of;	/* stage and element to produced */
	struct ss_u64map pipeline_of;	/* root iterator to pipelines */
	uint32_t npipelines[2];		/* of hosts and of devices */
	uint32_t *stat_of;		/* by iterator: its stat in the call in progress */
	uint32_t *stamp;		/* by iterator: the call stat_of belongs to, + 1 */
	uint64_t budget;
};

struct ss_str ss_tfdata_base_name(struct ss_str name)
{
	size_t n = name.n;
	while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
		n--;
	return n && n < name.n && name.p[n - 1] == 'V' ? ss_str_sub(name, 0, n - 1) : name;
}

static bool is_iterator_name(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("Iterator::"));
}

bool ss_host_has_tfdata(const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	for (uint32_t i = 0; p && i < p->x->nevent_meta; i++)
		if (is_iterator_name(p->x->event_meta[i].name))
			return true;
	return false;
}

/* "Iterator::Root::ForeverRepeat[0]::Map" is the iterator "Map", without numbers in brackets. */
static struct ss_str last_part(struct ss_str name)
{
	for (size_t i = name.n; i >= 2; i--)
		if (name.p[i - 1] == ':' && name.p[i - 2] == ':') {
			name = ss_str_sub(name, i, name.n);
			break;
		}
	return ss_str_sub(name, 0, ss_str_chr(name, '['));
}

static bool is_async(struct ss_str name)
{
	static const char *const names[] = { "Prefetch", "ParallelInterleave", "ParallelMap", "ParseExample", "MapAndBatch",
					     "DataService", "LegacyParallelInterleave", "ParallelBatch" };
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_is(ss_tfdata_base_name(name), names[i]))
			return true;
	return false;
}

/* Stages that hand elements over; both ends of a pair have the same number. 0: no such event. */
static unsigned stage_of(enum ss_event_type type, enum kind *kind)
{
	*kind = KIND_PRODUCE;
	switch (type) {
	case SS_EV_PREFETCH_PRODUCE:
		return 1;
	case SS_EV_PARALLEL_INTERLEAVE_PRODUCE:
	case SS_EV_PARALLEL_INTERLEAVE_INITIALIZE_INPUT:
		return 2;
	case SS_EV_PARALLEL_MAP_PRODUCE:
		return 3;
	case SS_EV_MAP_AND_BATCH_PRODUCE:
		return 4;
	case SS_EV_PARSE_EXAMPLE_PRODUCE:
		return 5;
	case SS_EV_PARALLEL_BATCH_PRODUCE:
		return 6;
	default:
		break;
	}
	*kind = KIND_CONSUME;
	switch (type) {
	case SS_EV_PREFETCH_CONSUME:
		return 1;
	case SS_EV_PARALLEL_INTERLEAVE_CONSUME:
		return 2;
	case SS_EV_PARALLEL_MAP_CONSUME:
		return 3;
	case SS_EV_MAP_AND_BATCH_CONSUME:
		return 4;
	case SS_EV_PARSE_EXAMPLE_CONSUME:
		return 5;
	case SS_EV_PARALLEL_BATCH_CONSUME:
		return 6;
	default:
		return 0;
	}
}

static bool is_host(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_HOST_CPU;
}

static bool is_pipeline(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str name = p->x->event_meta[meta].name;
	enum kind kind;
	return is_iterator_name(name) || stage_of(ss_event_type_of_name(name), &kind);
}

static const struct ss_plane *read_lines(struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read pipelines = { .plane = is_host, .event = is_pipeline };
	return ss_host_read_partially(h, SS_HOST_PIPELINES, &pipelines, err);
}

/* Ids come as int64 and as uint64, for one and the same iterator. */
struct ids {
	uint64_t id, parent, element;
	uint64_t parallelism, cpu_budget;
	bool has_id, has_element, is_tuned;
};

static struct ids read_ids(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ids ids = { 0 };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_ID) {
			ids.has_id = true;
			ids.id = (uint64_t)ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_PARENT_ID) {
			ids.parent = (uint64_t)ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_ELEMENT_ID) {
			ids.has_element = true;
			ids.element = (uint64_t)ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_PARALLELISM) {
			ids.parallelism = (uint64_t)ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_CPU_BUDGET) {
			ids.cpu_budget = (uint64_t)ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_AUTOTUNE) {
			ids.is_tuned = ss_str_is(ss_xstat_str(&s), "true");
		}
	}
	return ids;
}

static bool find_iterator(struct pass *p, struct ss_str name, const struct ids *ids, uint32_t *out)
{
	*out = ss_u64map_get(&p->iterator_of, ids->id);
	if (*out != SS_NONE)
		return true;
	struct ss_str rest = ss_str_sub(name, SS_STR("Iterator::").n, name.n);
	struct ss_tfdata_iterator it = { .id = ids->id, .parent_id = ids->parent, .name = last_part(name), .long_name = name };
	it.is_root = !ss_str_contains(rest, SS_STR("::"));
	it.is_async = is_async(it.name);
	it.parallelism = ids->is_tuned ? 0 : ids->parallelism;
	it.cpu_budget = ids->cpu_budget;
	*out = (uint32_t)p->iterators.n;
	return ss_vec_push(&p->iterators, it) && ss_u64map_add(&p->iterator_of, ids->id, *out) != SS_NONE;
}

/* The hand-over of an element at a stage; both its ends come here, in any order. */
static bool find_hand_over(struct pass *p, unsigned stage, uint64_t element, uint32_t *out)
{
	uint64_t key = ss_mix(element, stage);
	*out = ss_u64map_add(&p->hand_over_of, key, (uint32_t)p->produced.n);
	return *out != SS_NONE && (*out < p->produced.n || ss_vec_push(&p->produced, SS_NONE));
}

/* Hang `node` below the event on the stack that holds it in time. */
static bool add_node(struct pass *p, struct node node)
{
	uint32_t at = (uint32_t)p->nodes.n;
	while (p->stack.n && p->nodes.v[p->stack.v[p->stack.n - 1]].end_ps < node.end_ps)
		p->stack.n--;
	if (!ss_vec_push(&p->nodes, node))
		return false;
	if (p->stack.n) {
		struct node *parent = &p->nodes.v[p->stack.v[p->stack.n - 1]];
		if (parent->last_child == SS_NONE)
			parent->first_child = at;
		else
			p->nodes.v[parent->last_child].next = at;
		parent->last_child = at;
	}
	return ss_vec_push(&p->stack, at);
}

static bool add_iterator(struct pass *p, struct node node, struct ss_str name, const struct ids *ids)
{
	if (!find_iterator(p, name, ids, &node.what))
		return false;
	if (p->iterators.v[node.what].is_root && !ss_vec_push(&p->roots, (uint32_t)p->nodes.n))
		return false;
	return add_node(p, node);
}

static bool take_event(struct pass *p, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	struct ss_str name = ss_event_name(p->p, meta);
	enum kind kind;
	unsigned stage = stage_of(ss_event_type_at(p->types, p->p, meta), &kind);
	if (!stage && !is_iterator_name(name))
		return true;
	struct ids ids = read_ids(p->p, l, i);
	struct node node = { l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), SS_NONE, SS_NONE, SS_NONE, 0, (uint8_t)kind };
	if (!stage) {
		if (ss_str_is(name, "Iterator::Prefetch::Generator") && !ss_vec_push(&p->device_ids, ids.parent))
			return false;
		node.kind = KIND_ITERATOR;
		return !ids.has_id || add_iterator(p, node, name, &ids);
	}
	if (!ids.has_element)
		return true;
	if (!find_hand_over(p, stage, ids.element, &node.what))
		return false;
	if (kind == KIND_PRODUCE)
		p->produced.v[node.what] = (uint32_t)p->nodes.n;
	return add_node(p, node);
}

static bool take_unsorted_line(struct pass *p, const struct ss_line *l)
{
	uint32_t *v = ss_xevents_in_order(&l->ev);
	bool ok = v != NULL;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		ok = take_event(p, l, v[i]);
	free(v);
	return ok;
}

static bool take_line(struct pass *p, const struct ss_line *l)
{
	p->stack.n = 0;
	if (!l->ev.sorted && l->ev.n)
		return take_unsorted_line(p, l);
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (!take_event(p, l, i))
			return false;
	return true;
}

static uint64_t overlap_ps(const struct node *a, const struct node *b)
{
	int64_t begin = a->begin_ps > b->begin_ps ? a->begin_ps : b->begin_ps;
	int64_t end = a->end_ps < b->end_ps ? a->end_ps : b->end_ps;
	return end > begin ? (uint64_t)end - (uint64_t)begin : 0;
}

/*
 * The stat of an iterator in the call in progress (number `call`), added at its first mention; NULL
 * when memory is out.
 */
static struct ss_tfdata_stat *stat_at(struct pass *p, uint32_t iterator, uint32_t call, int64_t begin_ps)
{
	if (p->stamp[iterator] != call + 1) {
		p->stamp[iterator] = call + 1;
		p->stat_of[iterator] = (uint32_t)p->stats.n;
		if (!ss_vec_push(&p->stats, ((struct ss_tfdata_stat){ .iterator = iterator, .begin_ps = begin_ps })))
			return NULL;
	}
	return &p->stats.v[p->stat_of[iterator]];
}

/*
 * Iterator calls below `node`, each given to `walk`: nested ones, and through consume those below
 * the matching produce. `self_ps` loses what overlaps `call`.
 */
static bool walk(struct pass *p, uint32_t node, uint32_t call, bool blocking, unsigned depth);

static bool walk_below(struct pass *p, uint32_t node, const struct node *caller, uint32_t call, bool blocking, unsigned depth,
		       uint64_t *self_ps)
{
	for (uint32_t c = p->nodes.v[node].first_child; c != SS_NONE; c = p->nodes.v[c].next) {
		const struct node *child = &p->nodes.v[c];
		if (!p->budget || depth >= MAX_DEPTH) {
			p->out->ncut++;
			return true;
		}
		p->budget--;
		if (child->kind == KIND_ITERATOR) {
			uint64_t shared = overlap_ps(caller, child);
			*self_ps = *self_ps > shared ? *self_ps - shared : 0;
			if (!walk(p, c, call, blocking && shared, depth + 1))
				return false;
			continue;
		}
		if (!walk_below(p, c, caller, call, blocking, depth + 1, self_ps))
			return false;
		uint32_t made = child->kind == KIND_CONSUME ? p->produced.v[child->what] : SS_NONE;
		if (made != SS_NONE && !walk_below(p, made, caller, call, blocking, depth + 1, self_ps))
			return false;
	}
	return true;
}

static bool walk(struct pass *p, uint32_t node, uint32_t call, bool blocking, unsigned depth)
{
	struct node caller = p->nodes.v[node];
	uint64_t dur_ps = (uint64_t)caller.end_ps - (uint64_t)caller.begin_ps, self_ps = dur_ps;
	/* Entered before the calls below: the root comes first. */
	if (!stat_at(p, caller.what, call, caller.begin_ps) ||
	    !walk_below(p, node, &caller, call, blocking, depth, &self_ps))
		return false;
	struct ss_tfdata_stat *s = stat_at(p, caller.what, call, caller.begin_ps);
	s->dur_ps += dur_ps;
	s->self_ps += self_ps;
	s->is_blocking = s->is_blocking || blocking;
	s->calls++;
	return true;
}

static void find_bottleneck(const struct pass *p, struct ss_tfdata_call *c)
{
	uint64_t max = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct ss_tfdata_stat *s = &p->stats.v[c->first + i];
		if (s->is_blocking && s->self_ps > max) {
			max = s->self_ps;
			c->bottleneck = c->first + i;
		}
	}
}

static bool add_call(struct pass *p, uint32_t node)
{
	uint32_t number = (uint32_t)p->calls.n;
	struct ss_tfdata_call c = { .first = (uint32_t)p->stats.n, .bottleneck = SS_NONE };
	c.dur_ps = (uint64_t)p->nodes.v[node].end_ps - (uint64_t)p->nodes.v[node].begin_ps;
	if (!walk(p, node, number, true, 0))
		return false;
	c.n = (uint32_t)p->stats.n - c.first;
	find_bottleneck(p, &c);
	return ss_vec_push(&p->calls, c);
}

struct root_call {
	uint64_t dur_ps;
	uint32_t pipeline, node;
};

static int by_pipeline(const void *a, const void *b)
{
	const struct root_call *x = a, *y = b;
	return SS_CMP(x->pipeline, y->pipeline) ?: SS_CMP(y->dur_ps, x->dur_ps) ?: SS_CMP(x->node, y->node);
}

static bool add_pipeline(struct pass *p, uint32_t iterator, uint32_t *out)
{
	*out = ss_u64map_add(&p->pipeline_of, iterator, (uint32_t)p->pipelines.n);
	if (*out == SS_NONE || *out < p->pipelines.n)
		return *out != SS_NONE;
	uint32_t number = p->npipelines[p->iterators.v[iterator].is_device]++;
	return ss_vec_push(&p->pipelines,
			   ((struct ss_tfdata_pipeline){ .iterator = iterator, .number = number, .min_ps = UINT64_MAX }));
}

static void add_latency(struct ss_tfdata_pipeline *line, uint32_t call, uint64_t dur_ps)
{
	if (line->n++ == 0)
		line->first = call;
	line->sum_ps += dur_ps;
	line->min_ps = dur_ps < line->min_ps ? dur_ps : line->min_ps;
	line->max_ps = dur_ps > line->max_ps ? dur_ps : line->max_ps;
	line->slow += dur_ps > SS_TFDATA_SLOW_PS;
}

static bool add_calls(struct pass *p)
{
	struct root_call *v = malloc((p->roots.n + 1) * sizeof(*v));
	bool ok = v != NULL;
	for (size_t i = 0; ok && i < p->roots.n; i++) {
		const struct node *n = &p->nodes.v[p->roots.v[i]];
		v[i] = (struct root_call){ (uint64_t)n->end_ps - (uint64_t)n->begin_ps, 0, p->roots.v[i] };
		ok = add_pipeline(p, n->what, &v[i].pipeline);
	}
	if (ok)
		qsort(v, p->roots.n, sizeof(*v), by_pipeline);
	for (size_t i = 0; ok && i < p->roots.n; i++) {
		ok = add_call(p, v[i].node);
		add_latency(&p->pipelines.v[v[i].pipeline], (uint32_t)i, v[i].dur_ps);
	}
	free(v);
	return ok;
}

static bool mark_devices(struct pass *p)
{
	p->stat_of = calloc(p->iterators.n + 1, sizeof(*p->stat_of));
	p->stamp = calloc(p->iterators.n + 1, sizeof(*p->stamp));
	for (size_t i = 0; i < p->device_ids.n; i++) {
		uint32_t it = ss_u64map_get(&p->iterator_of, p->device_ids.v[i]);
		if (it != SS_NONE)
			p->iterators.v[it].is_device = true;
	}
	return p->stat_of && p->stamp;
}

static void hand_out(struct pass *p)
{
	struct ss_tfdata *out = p->out;
	out->iterators = p->iterators.v;
	out->niterators = p->iterators.n;
	out->stats = p->stats.v;
	out->nstats = p->stats.n;
	out->calls = p->calls.v;
	out->ncalls = p->calls.n;
	out->pipelines = p->pipelines.v;
	out->npipelines = p->pipelines.n;
}

static bool read_calls(struct ss_tfdata *out, struct ss_host *h, struct ss_err *err)
{
	const struct ss_plane *first = ss_host_plane(h, SS_PLANE_HOST_CPU), *planes;
	struct pass p = { .out = out };
	*out = (struct ss_tfdata){ 0 };
	if (!first || !ss_host_has_tfdata(h))
		return true;
	if (!(planes = read_lines(h, err)))
		return false;
	p.p = &planes[first - h->planes];
	p.types = ss_plane_event_types(p.p->x, &p.arena);
	bool ok = p.types != NULL;
	for (uint32_t i = 0; ok && i < p.p->nlines; i++)
		ok = take_line(&p, &p.p->lines[i]);
	p.budget = 16 * (uint64_t)p.nodes.n + 1000;
	ok = ok && mark_devices(&p) && add_calls(&p);
	hand_out(&p);
	ss_arena_release(&p.arena);
	ss_vec_free(&p.nodes);
	ss_vec_free(&p.produced);
	ss_vec_free(&p.roots);
	ss_vec_free(&p.device_ids);
	ss_vec_free(&p.stack);
	ss_u64map_free(&p.iterator_of);
	ss_u64map_free(&p.hand_over_of);
	ss_u64map_free(&p.pipeline_of);
	free(p.stat_of);
	free(p.stamp);
	return ok || ss_fail_mem(err);
}

static void release(void *data)
{
	struct ss_tfdata *t = data;
	free(t->iterators);
	free(t->stats);
	free(t->calls);
	free(t->pipelines);
	free(t);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_tfdata *t = calloc(1, sizeof(*t));
	if (!t) {
		ss_fail_mem(err);
		return NULL;
	}
	if (read_calls(t, owner, err))
		return t;
	release(t);
	return NULL;
}

const struct ss_tfdata *ss_host_tfdata(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_TFDATA], build, release, h, err);
}
