/*
 * inference.c - collecting requests and batches.
 *
 * One pass over the host's events gathers, per group, its span, the moments that separate phases,
 * and the typed intervals; a second small one takes device programs. A request is then swept over
 * its own intervals and those of its batches, so that each moment counts for one kind of work.
 *
 * A file can be written so that every one of its groups is the parent of every other; the work of
 * sweeping is therefore bounded by a multiple of the number of events, and what goes beyond it is
 * counted in ncut.
 */
#include "model/runtime/inference.h"

#include "base/assert.h"
#include "base/vec.h"
#include "model/host/event_type.h"
#include "model/host/host.h"
#include "model/host/stat_filter.h"
#include "model/ops/ops_build.h"
#include "model/runtime/serving_edges.h"
#include "model/runtime/tensor_patterns.h"

#include <stdlib.h>

#define NEVER INT64_MAX

/* A moment that several kinds of events may tell; rank 0: none did. */
struct moment {
	int64_t at_ps;
	uint8_t rank;
};

struct span {
	int64_t begin_ps, end_ps;
	uint32_t group;		/* index into facts */
	uint32_t work;		/* enum ss_serve_work */
	uint32_t program;	/* of computing: index into programs, or SS_NONE */
};

/* The facts in the events of one group. A time that is not recorded is NEVER. */
struct facts {
	int64_t id;
	int64_t begin_ps, end_ps;	/* of all its host events */
	struct ss_str model;
	struct moment execute;		/* call of the device */
	struct moment schedule, concat;	/* begin and end of the forming of batches */
	int64_t enqueue_ps;		/* first program enqueued */
	int64_t callbacks_ps;		/* begin of the last callback */
	int64_t compute_ps;		/* end of the last program on the device */
	int64_t batch_begin_ps, batch_end_ps;
	int64_t size, padding, size_after_padding;
	uint8_t model_rank;		/* of the event that named the model */
	bool has_span, is_request, is_batch, is_user_root;
	uint32_t batch;			/* index into batches */
	uint32_t pattern;		/* of its tensors; SS_NONE: none */
	uint64_t pattern_ps;
	uint32_t first_span;		/* into sorted; until then the number of spans */
};

struct transfer {
	int64_t begin_ps;
	uint32_t group;
};

struct pass {
	const struct ss_host *h;
	struct ss_inference *out;
	uint8_t *types;			/* by metadata of /host:CPU */
	bool *is_root;			/* by enum ss_event_type */
	bool may_have_user_roots;
	struct ss_u64map by_id;		/* group id to facts */
	SS_VEC(struct facts) facts;
	SS_VEC(struct span) spans;
	struct span *sorted;		/* by group */
	struct ss_strmap programs;	/* ids of programs */
	struct ss_tensors tensors;
	uint32_t *listed_for;		/* by program: the last batch whose list has it, + 1 */
	struct ss_u64map issued[2];	/* consumer id to transfers, to and from the device */
	SS_VEC(struct transfer) transfers;
	SS_VEC(struct span) done;	/* ends of transfers; `group` is the index in `ids` until they are matched */
	SS_VEC(uint64_t) ids;
	struct ss_serve_edges edges;	/* of the request or batch in the works */
	uint64_t budget;		/* spans that may still be swept */
};

static bool facts_of(struct pass *p, int64_t id, uint32_t *out)
{
	uint32_t i = ss_u64map_get(&p->by_id, (uint64_t)id);
	if (i == SS_NONE) {
		struct facts f = { .id = id, .model = SS_STR(""), .enqueue_ps = NEVER, .callbacks_ps = NEVER,
				   .compute_ps = NEVER, .batch = SS_NONE, .pattern = SS_NONE };
		i = (uint32_t)p->facts.n;
		if (!ss_vec_push(&p->facts, f) || ss_u64map_add(&p->by_id, (uint64_t)id, i) == SS_NONE)
			return false;
	}
	*out = i;
	return true;
}

static void earliest(int64_t *at, int64_t t)
{
	if (*at == NEVER || t < *at)
		*at = t;
}

static void latest(int64_t *at, int64_t t)
{
	if (*at == NEVER || t > *at)
		*at = t;
}

/* Stats of an event that matter here, those added by preprocessing included. */
struct event_stats {
	int64_t root_level, size, padding, size_after_padding;
	bool has_root_level, has_consumer, has_padding, has_size_after_padding, has_shape, has_layout;
	uint64_t consumer;
	struct ss_str model, shape, layout;
};

static struct event_stats read_stats(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct event_stats s = { .model = SS_STR(""), .shape = SS_STR(""), .layout = SS_STR("") };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat st;
	while (ss_xstats_next(&it, &st)) {
		switch (st.stat) {
		case SS_STAT_ROOT_LEVEL:
			s.has_root_level = true;
			s.root_level = ss_xstat_int(&st);
			break;
		case SS_STAT_MODEL_ID:
			s.model = ss_xstat_str(&st);
			break;
		case SS_STAT_BATCHING_INPUT_TASK_SIZE:
			s.size = ss_xstat_int(&st);
			break;
		case SS_STAT_PADDING_AMOUNT:
			s.has_padding = true;
			s.padding = ss_xstat_int(&st);
			break;
		case SS_STAT_BATCH_SIZE_AFTER_PADDING:
			s.has_size_after_padding = true;
			s.size_after_padding = ss_xstat_int(&st);
			break;
		case SS_STAT_TENSOR_SHAPES:
			s.has_shape = st.kind == SS_X_STR && st.s.n;
			s.shape = ss_xstat_str(&st);
			break;
		case SS_STAT_TENSOR_LAYOUT:
			s.has_layout = st.kind == SS_X_STR;
			s.layout = ss_xstat_str(&st);
			break;
		case SS_STAT_CONSUMER_ID:
			s.has_consumer = true;
			s.consumer = (uint64_t)ss_xstat_int_or_uint(&st);
			break;
		default:
			break;
		}
	}
	return s;
}

static bool add_span(struct pass *p, uint32_t group, int64_t begin_ps, int64_t end_ps, enum ss_serve_work work)
{
	p->facts.v[group].first_span++;
	return ss_vec_push(&p->spans, ((struct span){ begin_ps, end_ps, group, work, SS_NONE }));
}

/* A transfer is issued at one place and done at another; both name the same id. */
static bool add_issue(struct pass *p, uint32_t group, int64_t begin_ps, const struct event_stats *s, bool to_device)
{
	uint32_t i = (uint32_t)p->transfers.n;
	return !s->has_consumer || (ss_vec_push(&p->transfers, ((struct transfer){ begin_ps, group })) &&
				    ss_u64map_put(&p->issued[!to_device], s->consumer, i));
}

static bool add_done(struct pass *p, int64_t end_ps, const struct event_stats *s, bool to_device)
{
	enum ss_serve_work work = to_device ? SS_SERVE_TO_DEVICE : SS_SERVE_FROM_DEVICE;
	return !s->has_consumer || (ss_vec_push(&p->ids, s->consumer) &&
				    ss_vec_push(&p->done, ((struct span){ 0, end_ps, (uint32_t)(p->ids.n - 1), work, SS_NONE })));
}

static bool match_transfers(struct pass *p)
{
	for (size_t i = 0; i < p->done.n; i++) {
		const struct span *d = &p->done.v[i];
		uint32_t t = ss_u64map_get(&p->issued[d->work == SS_SERVE_FROM_DEVICE], p->ids.v[d->group]);
		if (t != SS_NONE &&
		    !add_span(p, p->transfers.v[t].group, p->transfers.v[t].begin_ps, d->end_ps, (enum ss_serve_work)d->work))
			return false;
	}
	return true;
}

/*
 * Of several models that a group names, the outermost layer's counts; of several of one layer the
 * last.
 */
enum { RANK_SESSION = 1, RANK_TFRT, RANK_SERVING, RANK_USER };

static void take_model(struct facts *f, uint8_t rank, struct ss_str model)
{
	if (!model.n || rank < f->model_rank)
		return;
	f->model = model;
	f->model_rank = rank;
}

/*
 * Some phases are told by several layers at once. What the highest layer that speaks says counts,
 * and of that the last; the order of the layers is XProf's.
 */
static void take_moment(struct moment *m, uint8_t rank, int64_t t)
{
	if (rank >= m->rank)
		*m = (struct moment){ t, rank };
}

static bool is_user_root(const struct event_stats *s, struct ss_str name)
{
	return s->has_root_level &&
	       (s->root_level == -1 || (s->root_level == 1 && ss_str_starts(name, SS_STR("ModelServerRequest_"))));
}

/* Facts of an event about its group; those from MODEL on come from its stats. */
enum role {
	NOTHING,
	BATCH,		/* when the batch was worked on */
	MERGE,		/* when inputs were put together */
	EXECUTE,	/* when the program was started */
	ENQUEUE,	/* when work was handed to the device */
	CALLBACKS,	/* when its end was heard of */
	TO_DEVICE,	/* a transfer, from begin to end */
	FROM_DEVICE,
	MODEL,		/* which model was asked */
	SCHEDULE,	/* when the request was put into a queue, and its size */
	CONCAT,		/* when inputs were put together, and the padding */
	TENSOR,		/* shape and layout of what was moved */
	ISSUE_TO,	/* a transfer was begun */
	ISSUE_FROM,
	DONE_TO,	/* the transfer with that id has ended */
	DONE_FROM,
};

/* The rank is that of the layer among those that tell the same: the highest counts. */
static const struct {
	uint8_t role, rank;
	const char *tensor;
} roles[SS_EV_COUNT] = {
#define ROLE(event, role, rank, tensor) [SS_EV_##event] = { role, rank, tensor },
#include "model/runtime/serving_roles.def"
#undef ROLE
};

/* Must its stats be read? */
static bool has_event_stats(enum ss_event_type type)
{
	return roles[type].role >= MODEL;
}

static void take_schedule(struct facts *f, uint8_t rank, int64_t begin_ps, const struct event_stats *s)
{
	if (rank >= f->schedule.rank)
		f->size = s->size;
	take_moment(&f->schedule, rank, begin_ps);
}

static void take_concat(struct facts *f, uint8_t rank, int64_t begin_ps, const struct event_stats *s)
{
	take_moment(&f->concat, rank, begin_ps);
	if (s->has_padding && s->has_size_after_padding) {
		f->padding = s->padding;
		f->size_after_padding = s->size_after_padding;
	}
}

/* Fields that need no memory. */
static void take_facts(struct facts *f, enum role role, uint8_t rank, int64_t begin, int64_t end, const struct event_stats *s)
{
	switch (role) {
	case BATCH:
		f->is_batch = true;
		f->batch_begin_ps = begin;
		f->batch_end_ps = end;
		return;
	case MERGE:
		take_moment(&f->concat, rank, begin);
		return;
	case EXECUTE:
		take_moment(&f->execute, rank, begin);
		return;
	case ENQUEUE:
		earliest(&f->enqueue_ps, begin);
		return;
	case CALLBACKS:
		latest(&f->callbacks_ps, begin);
		return;
	case MODEL:
		take_model(f, rank, s->model);
		return;
	case SCHEDULE:
		take_schedule(f, rank, begin, s);
		return;
	case CONCAT:
		take_concat(f, rank, begin, s);
		return;
	default:
		return;
	}
}

static bool take_event(struct pass *p, uint32_t g, enum ss_event_type type, int64_t begin, int64_t end, const struct event_stats *s)
{
	struct facts *f = &p->facts.v[g];
	enum role role = (enum role)roles[type].role;
	f->is_request = f->is_request || p->is_root[type];
	switch (role) {
	case TO_DEVICE:
		return add_span(p, g, begin, end, SS_SERVE_TO_DEVICE);
	case FROM_DEVICE:
		return add_span(p, g, begin, end, SS_SERVE_FROM_DEVICE);
	case TENSOR:
		return !s->has_shape || !s->has_layout ||
		       ss_tensors_add(&p->tensors, g, ss_str_from(roles[type].tensor), s->shape, s->layout,
				      (uint64_t)end - (uint64_t)begin);
	case ISSUE_TO:
	case ISSUE_FROM:
		return add_issue(p, g, begin, s, role == ISSUE_TO);
	case DONE_TO:
	case DONE_FROM:
		return add_done(p, end, s, role == DONE_TO);
	default:
		take_facts(f, role, roles[type].rank, begin, end, s);
		return true;
	}
}

static bool take_line(struct pass *p, const struct ss_plane *cpu, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t group = ss_event_group(cpu, l, i);
		uint32_t g;
		if (group < 0)
			continue;
		if (!facts_of(p, group, &g))
			return false;
		struct facts *f = &p->facts.v[g];
		int64_t begin = l->ev.begin_ps[i], end = ss_xevents_end_ps(&l->ev, i);
		enum ss_event_type type = ss_event_type_at(p->types, cpu, l->ev.meta[i]);
		struct event_stats s = { .model = SS_STR(""), .shape = SS_STR(""), .layout = SS_STR("") };
		/* A begin of 0 is one that was not set. */
		if (!f->begin_ps || begin < f->begin_ps)
			f->begin_ps = begin;
		if (!f->has_span || end > f->end_ps)
			f->end_ps = end;
		f->has_span = true;
		if (has_event_stats(type) || p->may_have_user_roots)
			s = read_stats(cpu, l, i);
		if (is_user_root(&s, ss_event_name(cpu, l->ev.meta[i]))) {
			f->is_request = f->is_user_root = true;
			take_model(f, RANK_USER, s.model);
		}
		if (!take_event(p, g, type, begin, end, &s))
			return false;
	}
	return true;
}

/* "jit_f(17)" ran program 17; an id is a number. */
static struct ss_str program_id(struct ss_str name)
{
	size_t open = ss_str_rchr(name, '('), close = ss_str_rchr(name, ')');
	uint64_t number;
	if (open == SS_NPOS || close == SS_NPOS || close < open)
		return SS_STR("");
	struct ss_str id = ss_str_sub(name, open + 1, close);
	return ss_str_to_u64(id, &number) ? id : SS_STR("");
}

/* Programs that ran on TensorCores for a group. */
static bool take_modules(struct pass *p, const struct ss_plane *core, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t group = ss_event_group(core, l, i);
		uint32_t g;
		if (group < 0)
			continue;
		if (!facts_of(p, group, &g) ||
		    !add_span(p, g, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), SS_SERVE_COMPUTE))
			return false;
		latest(&p->facts.v[g].compute_ps, ss_xevents_end_ps(&l->ev, i));
		struct ss_str id = program_id(ss_event_name(core, l->ev.meta[i]));
		uint32_t *program = &p->spans.v[p->spans.n - 1].program;
		if (id.n && (*program = ss_strmap_add(&p->programs, id)) == SS_NONE)
			return false;
	}
	return true;
}

static bool take_device(struct pass *p)
{
	for (uint32_t i = 0; i < p->h->nplanes; i++) {
		const struct ss_plane *core = &p->h->planes[i];
		const struct ss_line *l = ss_plane_line(core, SS_STR("XLA Modules"));
		if (core->kind == SS_PLANE_TENSOR_CORE && l && !take_modules(p, core, l))
			return false;
	}
	return true;
}

/*
 * Has any event the mark of a user's root? Step markers have the same stat with another value, and
 * no serving profile is needed for those: looked at first, as the pass over all events costs much
 * more.
 */
static bool any_user_root(const struct ss_host *h, const struct ss_plane *cpu)
{
	static const enum ss_stat level = SS_STAT_ROOT_LEVEL;
	struct ss_stat_filter filter = ss_stat_filter_of(cpu->x, &level, 1);
	struct ss_forget f = { .h = h };
	bool found = false;
	for (uint32_t i = 0; i < cpu->nlines && !found; i++) {
		const struct ss_line *l = &cpu->lines[i];
		if (!ss_stat_filter_in(&filter, l))
			continue;
		for (uint32_t k = 0; k < l->ev.n && !found; k++) {
			ss_forget_passed(&f, l, k);
			if (!ss_stat_filter_line(&filter, l, k))
				continue;
			struct event_stats s = read_stats(cpu, l, k);
			found = is_user_root(&s, ss_event_name(cpu, l->ev.meta[k]));
		}
		ss_forget_line(&f, l);
	}
	ss_forget_rest(&f);
	return found;
}

/* Which types of events are roots of requests: the outermost layer that the profile shows. */
static bool find_roots(struct pass *p, const struct ss_plane *cpu)
{
	static const enum ss_event_type layers[][2] = {
		{ SS_EV_BATCHING_SESSION_RUN, SS_EV_BATCHING_SESSION_RUN },
		{ SS_EV_TFRT_MODEL_RUN, SS_EV_TFRT_MODEL_RUN },
		{ SS_EV_SERVING_MODEL_RUN, SS_EV_SERVING_MODEL_RUN },
		{ SS_EV_SESSION_RUN, SS_EV_RUN_GRAPH },
	};
	bool seen[SS_EV_COUNT] = { false };
	for (uint32_t i = 0; i < cpu->nlines; i++)
		for (uint32_t k = 0; cpu->lines[i].src && k < cpu->lines[i].ev.n; k++)
			seen[ss_event_type_at(p->types, cpu, cpu->lines[i].ev.meta[k])] = true;
	p->may_have_user_roots = any_user_root(p->h, cpu);
	for (size_t i = 0; i < SS_COUNT(layers); i++) {
		if (!seen[layers[i][0]] && !seen[layers[i][1]])
			continue;
		p->is_root[layers[i][0]] = p->is_root[layers[i][1]] = true;
		return true;
	}
	return p->may_have_user_roots || seen[SS_EV_PROCESS_BATCH] || seen[SS_EV_ORBAX_PROCESS_BATCH];
}

bool ss_host_may_have_requests(const struct ss_host *h)
{
	static const enum ss_event_type roots[] = { SS_EV_BATCHING_SESSION_RUN, SS_EV_TFRT_MODEL_RUN, SS_EV_SERVING_MODEL_RUN,
						    SS_EV_SESSION_RUN, SS_EV_RUN_GRAPH, SS_EV_PROCESS_BATCH,
						    SS_EV_ORBAX_PROCESS_BATCH };
	const struct ss_plane *cpu = ss_host_plane(h, SS_PLANE_HOST_CPU);
	struct ss_arena arena = { 0 };
	bool any = cpu && ss_xplane_has(cpu->x, SS_STAT_ROOT_LEVEL);
	const uint8_t *types = cpu && !any ? ss_plane_event_types(cpu->x, &arena) : NULL;
	for (uint32_t i = 0; types && i < cpu->x->nevent_meta && !any; i++)
		for (size_t k = 0; k < SS_COUNT(roots); k++)
			any = any || types[i] == roots[k];
	/* Without memory to tell, it may: reading them fails then, with a reason. */
	any = any || (cpu && !types);
	ss_arena_release(&arena);
	return any;
}

/* Counting sort: first_span becomes the begin of the group's spans in `sorted`. */
static bool sort_spans(struct pass *p)
{
	uint32_t at = 0;
	p->sorted = malloc((p->spans.n + 1) * sizeof(*p->sorted));
	if (!p->sorted)
		return false;
	for (size_t g = 0; g < p->facts.n; g++) {
		uint32_t n = p->facts.v[g].first_span;
		p->facts.v[g].first_span = at;
		at += n;
	}
	ss_assert(at == p->spans.n);
	for (size_t i = 0; i < p->spans.n; i++)
		p->sorted[p->facts.v[p->spans.v[i].group].first_span++] = p->spans.v[i];
	/* Now each stands at its end, which is the next one's begin. */
	for (size_t g = p->facts.n; g-- > 1;)
		p->facts.v[g].first_span = p->facts.v[g - 1].first_span;
	if (p->facts.n)
		p->facts.v[0].first_span = 0;
	return true;
}

static uint32_t end_span(const struct pass *p, uint32_t g)
{
	return g + 1 < p->facts.n ? p->facts.v[g + 1].first_span : (uint32_t)p->spans.n;
}

static bool add_group_edges(struct pass *p, uint32_t g)
{
	uint32_t from = p->facts.v[g].first_span, to = end_span(p, g);
	if (to - from > p->budget) {
		p->out->ncut += to - from;
		return true;
	}
	p->budget -= to - from;
	for (uint32_t i = from; i < to; i++)
		if (!ss_serve_edges_add(&p->edges, p->sorted[i].begin_ps, p->sorted[i].end_ps, p->sorted[i].work))
			return false;
	return true;
}

/* The facts of a request together with its batches. */
static void join(struct facts *to, const struct facts *f)
{
	if (f->execute.rank)
		take_moment(&to->execute, f->execute.rank, f->execute.at_ps);
	if (f->concat.rank)
		take_moment(&to->concat, f->concat.rank, f->concat.at_ps);
	if (f->enqueue_ps != NEVER)
		earliest(&to->enqueue_ps, f->enqueue_ps);
	if (f->callbacks_ps != NEVER)
		latest(&to->callbacks_ps, f->callbacks_ps);
	if (f->compute_ps != NEVER)
		latest(&to->compute_ps, f->compute_ps);
}

/* The phases that lie between moments rather than in events. */
static bool add_phases(struct pass *p, const struct facts *f, const struct ss_inference_request *r)
{
	bool ok = true;
	if (f->execute.rank)
		ok = ss_serve_edges_add(&p->edges, r->begin_ps, f->execute.at_ps, SS_SERVE_PREPROCESS);
	if (ok && f->execute.rank && f->enqueue_ps != NEVER)
		ok = ss_serve_edges_add(&p->edges, f->execute.at_ps, f->enqueue_ps, SS_SERVE_RUNTIME);
	int64_t last = f->callbacks_ps != NEVER ? f->callbacks_ps : f->compute_ps;
	if (ok && last != NEVER)
		ok = ss_serve_edges_add(&p->edges, last, r->end_ps, SS_SERVE_POSTPROCESS);
	if (ok && f->schedule.rank && f->concat.rank)
		ok = ss_serve_edges_add(&p->edges, f->schedule.at_ps, f->concat.at_ps, SS_SERVE_BATCHING);
	return ok;
}

static const struct ss_group *group_of(const struct pass *p, int64_t id)
{
	ss_assert(id >= 0); /* take_line and take_modules pass over events without a group */
	return id < p->h->ngroups ? &p->h->groups[id] : NULL;
}

/* The facts of a request in the groups below it. */
struct below {
	struct facts all;	/* the request's own and theirs */
	struct ss_str model;	/* of the first that names one */
	bool mixed;		/* they name several */
};

static void take_batch(struct pass *p, const struct facts *b, struct ss_inference_request *r)
{
	if (r->nbatches++ == 0 && b->batch_begin_ps > r->begin_ps)
		r->delay_ps = (int64_t)((uint64_t)b->batch_begin_ps - (uint64_t)r->begin_ps);
	if (b->batch_end_ps > r->end_ps)
		r->end_ps = b->batch_end_ps;
	p->out->related[p->out->nrelated++] = b->batch;
}

static bool take_below(struct pass *p, uint32_t g, struct below *below, struct ss_inference_request *r)
{
	const struct facts *b = &p->facts.v[g];
	join(&below->all, b);
	if (b->model.n && !below->model.n)
		below->model = b->model;
	below->mixed = below->mixed || (b->model.n && !ss_str_eq(below->model, b->model));
	if (b->is_batch)
		take_batch(p, b, r);
	return add_group_edges(p, g);
}

static bool make_request(struct pass *p, const struct facts *f, struct ss_inference_request *r)
{
	const struct ss_group *group = group_of(p, f->id);
	struct below below = { .all = *f, .model = SS_STR("") };
	bool batched = p->is_root[SS_EV_BATCHING_SESSION_RUN] && f->model_rank != RANK_USER;
	*r = (struct ss_inference_request){ .id = f->id, .model = batched ? SS_STR("") : f->model, .begin_ps = f->begin_ps,
				  .end_ps = f->end_ps, .size = f->size, .pattern = f->pattern, .pattern_ps = f->pattern_ps,
				  .of_some_model = f->is_user_root || (batched && !(group && group->nchildren)),
				  .first_batch = p->out->nrelated };
	if (!add_group_edges(p, (uint32_t)(f - p->facts.v)))
		return false;
	for (uint32_t i = 0; group && i < group->nchildren; i++) {
		uint32_t c = ss_u64map_get(&p->by_id, (uint64_t)group->children[i]);
		if (c != SS_NONE && !take_below(p, c, &below, r))
			return false;
	}
	if (!r->model.n && !(f->is_user_root && below.mixed))
		r->model = below.model;
	if (!add_phases(p, &below.all, r))
		return false;
	ss_serve_edges_sum(&p->edges, r->work_ps);
	return true;
}

static void list_programs(struct pass *p, const struct facts *f, struct ss_batch *b)
{
	struct ss_inference *out = p->out;
	ss_assert(f->is_batch && p->sorted);
	b->first_program = out->nprograms;
	for (uint32_t i = f->first_span; i < end_span(p, (uint32_t)(f - p->facts.v)); i++) {
		uint32_t program = p->sorted[i].program;
		if (program == SS_NONE || p->listed_for[program] == f->batch + 1)
			continue;
		p->listed_for[program] = f->batch + 1;
		out->programs[out->nprograms++] = p->programs.keys[program];
	}
	b->nprograms = out->nprograms - b->first_program;
}

static bool make_batch(struct pass *p, const struct facts *f, struct ss_batch *b)
{
	const struct ss_group *group = group_of(p, f->id);
	uint64_t work_ps[SS_SERVE_WORK_COUNT] = { 0 };
	*b = (struct ss_batch){ .id = f->id, .model = f->model, .begin_ps = f->batch_begin_ps, .end_ps = f->batch_end_ps,
				.padding = f->padding, .size_after_padding = f->size_after_padding,
				.pattern = f->pattern, .pattern_ps = f->pattern_ps };
	list_programs(p, f, b);
	int64_t first = NEVER;
	for (uint32_t i = 0; group && i < group->nparents; i++) {
		uint32_t r = ss_u64map_get(&p->by_id, (uint64_t)group->parents[i]);
		if (r != SS_NONE && p->facts.v[r].has_span)
			earliest(&first, p->facts.v[r].begin_ps);
	}
	b->delay_ps = first < b->begin_ps ? (int64_t)((uint64_t)b->begin_ps - (uint64_t)first) : 0;
	if (!add_group_edges(p, (uint32_t)(f - p->facts.v)))
		return false;
	ss_serve_edges_sum(&p->edges, work_ps);
	b->compute_ps = work_ps[SS_SERVE_COMPUTE];
	return true;
}

/* A batch that does not say which model it ran is of its requests' model. */
static void name_batches(struct ss_inference *out)
{
	for (uint32_t i = 0; i < out->nrequests; i++) {
		const struct ss_inference_request *r = &out->requests[i];
		for (uint32_t k = 0; k < r->nbatches; k++) {
			struct ss_batch *b = &out->batches[out->related[r->first_batch + k]];
			if (!b->model.n)
				b->model = r->model;
		}
	}
}

static int by_id(const void *a, const void *b)
{
	const struct facts *x = *(const struct facts *const *)a, *y = *(const struct facts *const *)b;
	return SS_CMP(x->id, y->id);
}

/* Groups in the order of their ids; NULL when memory is out. */
static struct facts **ordered(struct pass *p)
{
	struct facts **order = malloc((p->facts.n + 1) * sizeof(struct facts *));
	for (size_t i = 0; order && i < p->facts.n; i++)
		order[i] = &p->facts.v[i];
	if (order)
		qsort(order, p->facts.n, sizeof(*order), by_id);
	return order;
}

static void take_pattern(void *arg, uint32_t group, uint32_t pattern, uint64_t dur_ps)
{
	struct facts *f = &((struct pass *)arg)->facts.v[group];
	f->pattern = pattern;
	f->pattern_ps = dur_ps;
}

static bool find_patterns(struct pass *p)
{
	struct ss_inference *out = p->out;
	if (!ss_tensors_join(&p->tensors, take_pattern, p))
		return false;
	out->npatterns = p->tensors.patterns.n;
	out->ncut += p->tensors.ncut;
	out->patterns = SS_NEW_N(&out->arena, struct ss_str, (size_t)out->npatterns + 1);
	for (uint32_t i = 0; out->patterns && i < out->npatterns; i++)
		out->patterns[i] = p->tensors.patterns.keys[i];
	return out->patterns;
}

static bool make_all(struct pass *p, struct facts **order)
{
	struct ss_inference *out = p->out;
	size_t nrequests = 0, nbatches = 0, nrelated = 0;
	for (size_t i = 0; i < p->facts.n; i++) {
		const struct ss_group *g = group_of(p, order[i]->id);
		if (order[i]->is_batch)
			order[i]->batch = (uint32_t)nbatches++;
		else if (order[i]->is_request && order[i]->has_span)
			nrequests++, nrelated += g ? g->nchildren : 0;
	}
	out->requests = SS_NEW_N(&out->arena, struct ss_inference_request, nrequests + 1);
	out->batches = SS_NEW_N(&out->arena, struct ss_batch, nbatches + 1);
	out->related = SS_NEW_N(&out->arena, uint32_t, nrelated + 1);
	/* At most one program for each span on a device. */
	out->programs = SS_NEW_N(&out->arena, struct ss_str, p->spans.n + 1);
	p->listed_for = calloc((size_t)p->programs.n + 1, sizeof(*p->listed_for));
	if (!out->requests || !out->batches || !out->related || !out->programs || !p->listed_for || !sort_spans(p))
		return false;
	for (size_t i = 0; i < p->facts.n; i++)
		if (order[i]->is_batch && !make_batch(p, order[i], &out->batches[out->nbatches++]))
			return false;
	for (size_t i = 0; i < p->facts.n; i++)
		if (!order[i]->is_batch && order[i]->is_request && order[i]->has_span &&
		    !make_request(p, order[i], &out->requests[out->nrequests++]))
			return false;
	name_batches(out);
	return true;
}

static bool collect(struct pass *p, const struct ss_plane *cpu)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < cpu->nlines; i++)
		ok = !cpu->lines[i].src || take_line(p, cpu, &cpu->lines[i]);
	ok = ok && find_patterns(p) && match_transfers(p) && take_device(p);
	struct facts **order = ok ? ordered(p) : NULL;
	ok = order && make_all(p, order);
	free(order);
	return ok;
}

bool ss_inference_read(struct ss_inference *out, const struct ss_host *h, struct ss_err *err)
{
	const struct ss_plane *cpu = ss_host_plane(h, SS_PLANE_HOST_CPU);
	bool is_root[SS_EV_COUNT] = { false };
	struct pass p = { .h = h, .out = out, .is_root = is_root, .budget = 16 * h->nevents + 1000000 };
	*out = (struct ss_inference){ 0 };
	if (!cpu)
		return true;
	p.tensors = (struct ss_tensors){ .arena = &out->arena, .room = 64 * h->nevents + 65536 };
	p.types = ss_plane_event_types(cpu->x, &out->arena);
	bool ok = p.types != NULL;
	if (ok && find_roots(&p, cpu))
		ok = collect(&p, cpu);
	ss_u64map_free(&p.by_id);
	ss_strmap_free(&p.programs);
	ss_tensors_free(&p.tensors);
	free(p.listed_for);
	ss_u64map_free(&p.issued[0]);
	ss_u64map_free(&p.issued[1]);
	ss_vec_free(&p.facts);
	ss_vec_free(&p.spans);
	ss_vec_free(&p.transfers);
	ss_vec_free(&p.done);
	ss_vec_free(&p.ids);
	ss_vec_free(&p.edges.v);
	free(p.sorted);
	return ok || ss_fail_mem(err);
}

void ss_inference_release(struct ss_inference *inf)
{
	ss_arena_release(&inf->arena);
	*inf = (struct ss_inference){ 0 };
}
