/*
 * forest.c - building the forest: look at every event's links, nest the lines that matter, link them
 * together.
 */
#include "model/preprocess/forest.h"

#include "base/bisect.h"
#include "base/pool.h"
#include "model/host/forget.h"
#include "model/host/host.h"

#include <stdlib.h>

/* Groups of links as wide as this on both sides say nothing: somebody used one id for everything. */
#define WIDE_LINK_GROUP 64u

struct ss_line *ss_tpu_grouping_line(const struct ss_plane *p)
{
	static const struct ss_str names[2][2] = {
		{ SS_STR_INIT("Steps"), SS_STR_INIT("XLA Modules") },
		{ SS_STR_INIT("Sparse Core Steps"), SS_STR_INIT("Sparse Core Modules") },
	};
	if (p->kind != SS_PLANE_TENSOR_CORE && p->kind != SS_PLANE_SPARSE_CORE)
		return NULL;
	const struct ss_str *of = names[p->kind == SS_PLANE_SPARSE_CORE];
	struct ss_line *steps = ss_plane_line(p, of[0]);
	return steps && steps->ev.n ? steps : ss_plane_line(p, of[1]);
}

/* An end of the link that a type and an id name. */
static struct ss_event_link context_link(int64_t type, int64_t id, uint32_t event)
{
	return (struct ss_event_link){ ss_event_link_key(SS_EVENT_LINK_CONTEXT, (uint64_t)type, (uint64_t)id), event, SS_NONE };
}

/* The contribution of an event's stats to its line. `as` is the event that gets the links. */
static bool add_links(struct ss_forest_line *fl, const struct ss_context *c, uint32_t as)
{
	const int64_t *v = c->v;
	return (!ss_context_produces(c) ||
		ss_vec_push(&fl->out, context_link(v[SS_CTX_PRODUCER_TYPE], v[SS_CTX_PRODUCER], as))) &&
	       (!ss_context_consumes(c) ||
		ss_vec_push(&fl->in, context_link(v[SS_CTX_CONSUMER_TYPE], v[SS_CTX_CONSUMER], as)));
}

/* Named ones apart, what has a correlation id is a launch on the host and a kernel elsewhere. */
static bool add_kernel(struct ss_forest_line *fl, const struct ss_context *c, uint32_t i, enum ss_event_type type)
{
	bool launch = type == SS_EV_KERNEL_LAUNCH || (type == SS_EV_UNKNOWN && fl->p->kind == SS_PLANE_HOST_CPU);
	struct ss_event_link link = { ss_event_link_key(SS_EVENT_LINK_KERNEL, 0, (uint64_t)c->v[SS_CTX_CORRELATION]), i, SS_NONE };
	if (launch)
		return ss_vec_push(&fl->out, link);
	fl->has_ops = true;
	return ss_vec_push(&fl->in, link);
}

/* The executor of a step's iteration is the parent of the iterators asked in it. */
static bool add_iteration(struct ss_event_links *links, const struct ss_context *c, uint32_t i)
{
	if (!ss_context_has(c, SS_CTX_ID) || !ss_context_has(c, SS_CTX_ITER))
		return true;
	return ss_vec_push(links, (struct ss_event_link){ ss_event_link_key(SS_EVENT_LINK_ITERATOR, (uint64_t)c->v[SS_CTX_ITER],
							     (uint64_t)c->v[SS_CTX_ID]), i, SS_NONE });
}

static bool add_executor(struct ss_forest_line *fl, const struct ss_context *c, uint32_t i)
{
	if (!ss_context_has(c, SS_CTX_ID) || !ss_context_has(c, SS_CTX_ITER))
		return true;
	return add_iteration(&fl->out, c, i) &&
	       ss_vec_push(&fl->iterations, (struct ss_iteration){ i, ss_context_int(c, SS_CTX_ID),
								   ss_context_int(c, SS_CTX_ITER) });
}

/* The role of an event in the forest, by its type. */
enum forest_role { NO_ROLE, KERNEL, EXECUTOR, ITERATOR, CAPTURED, OP, EAGER };

static const uint8_t roles[SS_EV_COUNT] = {
	[SS_EV_UNKNOWN] = KERNEL,
	[SS_EV_KERNEL_LAUNCH] = KERNEL,
	[SS_EV_KERNEL_EXECUTE] = KERNEL,
	[SS_EV_EXECUTOR_STATE_PROCESS] = EXECUTOR,
	[SS_EV_ITERATOR_GET_NEXT] = ITERATOR,
	[SS_EV_ITERATOR_GET_NEXT_AS_OPTIONAL] = ITERATOR,
	[SS_EV_CAPTURED_FUNCTION_RUN] = CAPTURED,
	[SS_EV_CAPTURED_FUNCTION_RUN_ASYNC] = CAPTURED,
	[SS_EV_CAPTURED_FUNCTION_RUN_INSTANTIATED] = CAPTURED,
	[SS_EV_CAPTURED_FUNCTION_RUN_BORROWED] = CAPTURED,
	[SS_EV_TF_OP_RUN] = OP,
	[SS_EV_EAGER_EXECUTE] = EAGER,
};

static bool add_role(struct ss_forest_line *fl, const struct ss_context *c, uint32_t i, enum ss_event_type type)
{
	switch ((enum forest_role)roles[type]) {
	case KERNEL:
		return !ss_context_has(c, SS_CTX_CORRELATION) || add_kernel(fl, c, i, type);
	case EXECUTOR:
		return add_executor(fl, c, i);
	case ITERATOR:
		return add_iteration(&fl->in, c, i);
	case CAPTURED:
		return !ss_context_has(c, SS_CTX_ID) || ss_vec_push(&fl->captured, ss_context_int(c, SS_CTX_ID));
	case OP:
		fl->has_ops = true;
		return true;
	case EAGER:
		fl->has_eager = true;
		return true;
	case NO_ROLE:
		return true;
	}
	return true;
}

/*
 * Roots and asynchronous events. Steps and programs of a TPU begin groups of their own where nobody
 * else does; they are no roots.
 */
static bool add_marks(struct ss_forest_line *fl, const struct ss_context *c, uint32_t i)
{
	if (fl->flat)
		return true;
	if (ss_context_has(c, SS_CTX_ROOT_LEVEL) && c->v[SS_CTX_ROOT_LEVEL] != 0 &&
	    !ss_vec_push(&fl->roots, ((struct ss_root){ i, c->v[SS_CTX_ROOT_LEVEL] })))
		return false;
	return !ss_context_has(c, SS_CTX_ASYNC) || !c->v[SS_CTX_ASYNC] || ss_vec_push(&fl->asyncs, i);
}

static bool add_event(struct ss_forest_line *fl, const struct ss_context *c, uint32_t i)
{
	enum ss_event_type type = ss_event_type_at(fl->reader->types, fl->p, fl->l->ev.meta[i]);
	return add_role(fl, c, i, type) && add_marks(fl, c, i) && add_links(fl, c, i);
}

/* Events that are neither of a kind with a meaning nor have stats that could matter need not be read. */
static bool line_matters(const struct ss_forest_line *fl)
{
	if (fl->reader->common.any || (fl->reader->all.any && ss_line_is_tpu_modules(fl->p, fl->l)))
		return true;
	for (uint32_t i = 0; i < fl->p->x->nevent_meta; i++)
		if (fl->reader->types[i] != SS_EV_UNKNOWN)
			return true;
	return false;
}

static bool scan_line(void *arg, size_t index, struct ss_err *err)
{
	struct ss_forest *f = arg;
	struct ss_forest_line *fl = &f->lines[index];
	struct ss_context c;
	bool module = ss_line_is_tpu_modules(fl->p, fl->l);
	struct ss_forget passed = { .h = f->h };
	if (!line_matters(fl))
		return true;
	for (uint32_t i = 0; i < fl->l->ev.n; i++) {
		ss_context_read(fl->reader, fl->l, i, module, &c);
		if (!add_event(fl, &c, i))
			return ss_fail_mem(err);
		ss_forget_passed(&passed, fl->l, i);
	}
	ss_forget_line(&passed, fl->l);
	ss_forget_rest(&passed);
	return true;
}

static bool nest_line(void *arg, size_t index, struct ss_err *err)
{
	struct ss_forest *f = arg;
	struct ss_forest_line *fl = &f->lines[index];
	bool linked = fl->out.n || fl->in.n || fl->roots.n ||
		      (f->has_eager && fl->has_ops);
	return fl->flat || !linked || ss_forest_nest(fl) || ss_fail_mem(err);
}

/*
 * The stats of a TPU's other lines count for the step or program around them, if there is one;
 * looking forward only: what ended when the event begins, or before, is passed.
 */
static bool credit(struct ss_forest_line *fl, const struct ss_line *l, bool module)
{
	const struct ss_xevents *g = &fl->l->ev;
	struct ss_context c;
	uint32_t at = 0;
	for (uint32_t i = 0; i < l->ev.n && at < g->n; i++) {
		int64_t begin = l->ev.begin_ps[i], end = ss_xevents_end_ps(&l->ev, i);
		while (at < g->n && ss_xevents_end_ps(g, at) <= begin)
			at++;
		if (at == g->n || !(g->begin_ps[at] <= begin && end <= ss_xevents_end_ps(g, at)))
			continue;
		ss_context_read(fl->reader, l, i, module, &c);
		if (!add_links(fl, &c, at))
			return false;
	}
	return true;
}

static bool credit_lines(struct ss_forest_line *fl)
{
	const struct ss_xplane *x = fl->p->x;
	bool may_link = ss_xplane_has(x, SS_STAT_PRODUCER_ID) || ss_xplane_has(x, SS_STAT_CONSUMER_ID);
	for (uint32_t i = 0; i < fl->p->nlines; i++) {
		const struct ss_line *l = &fl->p->lines[i];
		bool module = ss_line_is_tpu_modules(fl->p, l);
		if (l != fl->l && (may_link || module) && !credit(fl, l, module))
			return false;
	}
	return true;
}

static int by_event(const void *a, const void *b)
{
	const struct ss_event_link *x = a, *y = b;
	/* In the order of their kinds, so that the parents of a node come in that order. */
	return SS_CMP(x->event, y->event) ?: SS_CMP(x->key, y->key);
}

static void sort_links(struct ss_event_link *links, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (by_event(&links[i - 1], &links[i]) > 0) {
			qsort(links, n, sizeof(*links), by_event);
			return;
		}
}

/* Find the link groups that have both producers and consumers and count their members. */
struct bundling {
	struct ss_forest *f;
	struct ss_u64map by_key;
	SS_VEC(struct ss_link_group) link_groups;
};

static bool count_producers(struct bundling *b, struct ss_forest_line *fl)
{
	for (size_t k = 0; k < fl->out.n; k++) {
		struct ss_event_link *t = &fl->out.v[k];
		t->link_group = ss_u64map_add(&b->by_key, t->key, (uint32_t)b->link_groups.n);
		if (t->link_group == SS_NONE)
			return false;
		if (t->link_group == b->link_groups.n && !ss_vec_push(&b->link_groups, (struct ss_link_group){ .visited_by = -1 }))
			return false;
		b->link_groups.v[t->link_group].nproducers++;
	}
	return true;
}

static void count_consumers(struct bundling *b, struct ss_forest_line *fl)
{
	for (size_t k = 0; k < fl->in.n; k++) {
		struct ss_event_link *t = &fl->in.v[k];
		t->link_group = ss_u64map_get(&b->by_key, t->key);
		if (t->link_group != SS_NONE)
			b->link_groups.v[t->link_group].nconsumers++;
	}
}

static bool worthless(const struct ss_link_group *b, enum ss_event_link_kind kind)
{
	return b->nconsumers == 0 ||
	       (kind == SS_EVENT_LINK_CONTEXT && b->nproducers >= WIDE_LINK_GROUP && b->nconsumers >= WIDE_LINK_GROUP);
}

/* Drop the links of worthless link groups and lay out the members. */
static void lay_out(struct bundling *b, uint32_t *nproducers, uint32_t *nconsumers)
{
	*nproducers = *nconsumers = 0;
	for (uint32_t i = 0; i < b->f->nlines; i++) {
		struct ss_forest_line *fl = &b->f->lines[i];
		for (size_t k = 0; k < fl->out.n; k++)
			if (worthless(&b->link_groups.v[fl->out.v[k].link_group], ss_event_link_kind_of(fl->out.v[k].key)))
				fl->out.v[k].link_group = SS_NONE;
		for (size_t k = 0; k < fl->in.n; k++)
			if (fl->in.v[k].link_group != SS_NONE &&
			    worthless(&b->link_groups.v[fl->in.v[k].link_group], ss_event_link_kind_of(fl->in.v[k].key)))
				fl->in.v[k].link_group = SS_NONE;
	}
	for (size_t k = 0; k < b->link_groups.n; k++) {
		struct ss_link_group *x = &b->link_groups.v[k];
		x->first_producer = *nproducers;
		x->first_consumer = *nconsumers;
		*nproducers += x->nproducers;
		*nconsumers += x->nconsumers;
		x->nproducers = x->nconsumers = 0;
	}
}

/* If one id is launched several times, the last launch counts, and the others lose their link. */
static void only_last(struct ss_forest *f, const struct ss_link_group *b, struct ss_node kept)
{
	const struct ss_node old = f->producers[b->first_producer];
	struct ss_forest_line *fl = &f->lines[old.line];
	uint32_t link_group = (uint32_t)(b - f->link_groups);
	for (size_t k = ss_event_link_at(fl->out.v, fl->out.n, old.event); k < fl->out.n && fl->out.v[k].event == old.event; k++)
		if (fl->out.v[k].link_group == link_group)
			fl->out.v[k].link_group = SS_NONE;
	f->producers[b->first_producer] = kept;
}

static void fill_link_groups(struct ss_forest *f)
{
	for (uint32_t i = 0; i < f->nlines; i++) {
		struct ss_forest_line *fl = &f->lines[i];
		for (size_t k = 0; k < fl->out.n; k++) {
			struct ss_event_link *t = &fl->out.v[k];
			struct ss_node node = { i, t->event };
			if (t->link_group == SS_NONE)
				continue;
			struct ss_link_group *b = &f->link_groups[t->link_group];
			if (b->nproducers && ss_event_link_kind_of(t->key) != SS_EVENT_LINK_CONTEXT)
				only_last(f, b, node);
			else
				f->producers[b->first_producer + b->nproducers++] = node;
		}
		for (size_t k = 0; k < fl->in.n; k++) {
			struct ss_event_link *t = &fl->in.v[k];
			if (t->link_group == SS_NONE)
				continue;
			struct ss_link_group *b = &f->link_groups[t->link_group];
			f->consumers[b->first_consumer + b->nconsumers++] = (struct ss_node){ i, t->event };
		}
	}
}

static bool link_group(struct ss_forest *f)
{
	struct bundling b = { .f = f };
	uint32_t nproducers, nconsumers;
	bool ok = true;
	size_t n = 0;
	for (uint32_t i = 0; i < f->nlines; i++) {
		sort_links(f->lines[i].out.v, f->lines[i].out.n);
		sort_links(f->lines[i].in.v, f->lines[i].in.n);
		n += f->lines[i].out.n;
	}
	ok = ss_u64map_reserve(&b.by_key, n);
	for (uint32_t i = 0; ok && i < f->nlines; i++)
		ok = count_producers(&b, &f->lines[i]);
	for (uint32_t i = 0; ok && i < f->nlines; i++)
		count_consumers(&b, &f->lines[i]);
	ss_u64map_free(&b.by_key);
	f->link_groups = b.link_groups.v;
	if (!ok)
		return false;
	lay_out(&b, &nproducers, &nconsumers);
	f->producers = malloc(((size_t)nproducers + 1) * sizeof(*f->producers));
	f->consumers = malloc(((size_t)nconsumers + 1) * sizeof(*f->consumers));
	if (!f->producers || !f->consumers)
		return false;
	fill_link_groups(f);
	return true;
}

static bool collect_lines(struct ss_forest *f)
{
	struct ss_host *h = f->h;
	size_t n = 0;
	for (uint32_t i = 0; i < h->nplanes; i++)
		n += h->planes[i].nlines;
	f->readers = SS_NEW_N(&f->arena, struct ss_context_reader, h->nplanes);
	f->lines = SS_NEW_N(&f->arena, struct ss_forest_line, n);
	if (!f->readers || !f->lines)
		return false;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		struct ss_plane *p = &h->planes[i];
		bool core = f->tpu && (p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE);
		struct ss_line *grouping = core ? ss_tpu_grouping_line(p) : NULL;
		if (!ss_context_reader_init(&f->readers[i], p, UINT64_MAX, &f->arena))
			return false;
		for (uint32_t j = 0; j < p->nlines; j++)
			if (!core || &p->lines[j] == grouping)
				f->lines[f->nlines++] = (struct ss_forest_line){
					.p = p, .l = &p->lines[j], .reader = &f->readers[i], .flat = core };
	}
	return true;
}

static bool link_lines(struct ss_forest *f)
{
	for (uint32_t i = 0; i < f->nlines; i++) {
		struct ss_forest_line *fl = &f->lines[i];
		if (fl->flat && !credit_lines(fl))
			return false;
	}
	return ss_forest_link_loops(f) && link_group(f);
}

bool ss_forest_build(struct ss_forest *f, struct ss_host *h, bool tpu, struct ss_err *err)
{
	*f = (struct ss_forest){ .h = h, .tpu = tpu };
	if (!collect_lines(f))
		return ss_fail_mem(err);
	if (!ss_parallel(f->nlines, h->threads, scan_line, f, err))
		return false;
	f->budget = 1 << 24;
	for (uint32_t i = 0; i < f->nlines; i++) {
		f->has_roots |= f->lines[i].roots.n || f->lines[i].iterations.n || (f->lines[i].flat && f->lines[i].l->ev.n);
		f->has_eager |= f->lines[i].has_eager;
		f->budget += (uint64_t)f->lines[i].l->ev.n * 16;
	}
	/* Nobody to begin a group (the steps of a TPU may), nobody to be eager: who is below whom does not matter. */
	if (!f->has_roots && !f->has_eager)
		return true;
	if (!ss_parallel(f->nlines, h->threads, nest_line, f, err))
		return false;
	return link_lines(f) || ss_fail_mem(err);
}

void ss_forest_free(struct ss_forest *f)
{
	for (uint32_t i = 0; i < f->nlines; i++) {
		struct ss_forest_line *fl = &f->lines[i];
		ss_vec_free(&fl->nested);
		ss_vec_free(&fl->out);
		ss_vec_free(&fl->in);
		ss_vec_free(&fl->roots);
		ss_vec_free(&fl->iterations);
		ss_vec_free(&fl->asyncs);
		ss_vec_free(&fl->captured);
	}
	free(f->link_groups);
	free(f->producers);
	free(f->consumers);
	ss_vec_free(&f->loop_roots);
	ss_arena_release(&f->arena);
	*f = (struct ss_forest){ 0 };
}

int64_t ss_forest_root_level(const struct ss_forest *f, struct ss_node n)
{
	const struct ss_forest_line *fl = &f->lines[n.line];
	size_t lo = 0, hi = fl->roots.n;
	SS_BISECT(lo, hi, mid, fl->roots.v[mid].event < n.event);
	return lo < fl->roots.n && fl->roots.v[lo].event == n.event ? fl->roots.v[lo].level : 0;
}

/* Breadth first over parents; what was seen is remembered, for links may run in circles. */
struct climb {
	SS_VEC(struct ss_node) queue;
	struct ss_u64map seen;
};

static uint64_t key_of(struct ss_node n)
{
	return (uint64_t)n.line << 32 | n.event;
}

static bool climb_add(struct climb *c, struct ss_node n)
{
	uint32_t at = (uint32_t)c->queue.n, got = ss_u64map_add(&c->seen, key_of(n), at);
	return got != SS_NONE && (got != at || ss_vec_push(&c->queue, n));
}

static bool climb_parents(struct climb *c, struct ss_forest *f, struct ss_node n)
{
	const struct ss_forest_line *fl = &f->lines[n.line];
	const struct ss_nested *nested = ss_forest_nested(fl, n.event);
	if (nested && nested->parent != SS_NONE && !climb_add(c, (struct ss_node){ n.line, nested->parent }))
		return false;
	for (size_t k = ss_event_link_at(fl->in.v, fl->in.n, n.event); k < fl->in.n && fl->in.v[k].event == n.event; k++) {
		if (!f->link_groups || fl->in.v[k].link_group == SS_NONE)
			continue;
		const struct ss_link_group *b = &f->link_groups[fl->in.v[k].link_group];
		for (uint32_t i = 0; i < b->nproducers; i++) {
			f->budget -= f->budget > 0;
			if (f->budget && !climb_add(c, f->producers[b->first_producer + i]))
				return false;
		}
	}
	return true;
}

bool ss_forest_ancestor(struct ss_forest *f, struct ss_node from, bool include_self, ss_forest_visit_fn *visit, void *arg,
			bool *found, struct ss_err *err)
{
	struct climb c = { 0 };
	/* Without itself: a node that is linked to itself is its own ancestor, one that is so by a longer way is not. */
	bool ok = include_self ? climb_add(&c, from)
			       : climb_parents(&c, f, from) && ss_u64map_add(&c.seen, key_of(from), SS_NONE - 1) != SS_NONE;
	*found = false;
	for (size_t i = 0; ok && !*found && i < c.queue.n && f->budget; i++, f->budget--) {
		*found = visit(arg, f, c.queue.v[i]);
		if (!*found)
			ok = climb_parents(&c, f, c.queue.v[i]);
	}
	ss_vec_free(&c.queue);
	ss_u64map_free(&c.seen);
	return ok || ss_fail_mem(err);
}
