/*
 * inferred_work.c - what hosts and devices did, for programs whose events belong to no step.
 *
 * Unlike work_sweep.c this knows no groups: time is shared out among ranges that nobody marked.
 */
#include "model/steps/inferred.h"

#include "base/vec.h"
#include "model/host/opname.h"

#include <stdlib.h>

static bool any_prefix(struct ss_str name, const struct ss_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_starts(name, v[i]))
			return true;
	return false;
}

static bool any_part(struct ss_str name, const struct ss_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_contains(name, v[i]))
			return true;
	return false;
}

/* "cudaLaunchKernel", "cuMemcpyAsync", "hipModuleLaunchKernel". */
static bool is_driver_call(struct ss_str name)
{
	static const struct ss_str drivers[] = { SS_STR_INIT("cuda"), SS_STR_INIT("cu"), SS_STR_INIT("hip") };
	for (size_t i = 0; i < SS_COUNT(drivers); i++)
		if (ss_str_starts(name, drivers[i]) && name.n > drivers[i].n &&
		    name.p[drivers[i].n] >= 'A' && name.p[drivers[i].n] <= 'Z')
			return true;
	return false;
}

/*
 * "EagerExecute" contains "EagerLocalExecute: MatMul", "PjitFunction(f)" an "Execute" of the
 * runtime: the one with the name says what repeats.
 */
enum ss_thread_event ss_thread_event_of(struct ss_str name)
{
	static const struct ss_str nothing[] = {
		SS_STR_INIT("$"),
		SS_STR_INIT("ThreadpoolListener::"),
		SS_STR_INIT("end: "),
	};
	static const struct ss_str calls[] = {
		SS_STR_INIT("PjitFunction("),
		SS_STR_INIT("EagerLocalExecute: __"), /* functions; else single operations */
		SS_STR_INIT("SessionRun"),
		SS_STR_INIT("TfrtSessionRun"),
	};
	static const struct ss_str any_call[] = {
		SS_STR_INIT("Executable::Execute"), SS_STR_INIT("ExecuteReplicated"),
		SS_STR_INIT("PJRT_LoadedExecutable_Execute"), SS_STR_INIT("FunctionRun"),
	};
	static const struct ss_str compile[] = {
		SS_STR_INIT("backend_compile"), SS_STR_INIT("Compiler::Compile"),
		SS_STR_INIT("Client::Compile"), SS_STR_INIT("graph_building"),
	};
	if (!name.n || any_prefix(name, nothing, SS_COUNT(nothing)))
		return SS_THREAD_NOTHING;
	if (is_driver_call(name))
		return SS_THREAD_DRIVER_CALL;
	if (any_prefix(name, calls, SS_COUNT(calls)))
		return SS_THREAD_CALL;
	if (ss_str_starts(name, SS_STR("EagerLocalExecute: ")))
		return SS_THREAD_OP_CALL;
	if (any_part(name, compile, SS_COUNT(compile)))
		return SS_THREAD_COMPILE;
	if (any_part(name, any_call, SS_COUNT(any_call)) || ss_str_starts(name, SS_STR("Eager")))
		return SS_THREAD_ANY_CALL;
	if (ss_str_istarts(name, SS_STR("IteratorGetNext")))
		return SS_THREAD_INPUT;
	struct ss_op_name op = ss_op_name_parse(name);
	if (op.category == SS_OP_MEMCPY_HTOD || ss_op_is_infeed_enqueue(op.type))
		return SS_THREAD_COPY;
	return op.category == SS_OP_TENSORFLOW ? SS_THREAD_OP : SS_THREAD_OTHER;
}

bool ss_thread_kinds_init(struct ss_thread_kinds *t, const struct ss_plane *p)
{
	static const enum ss_stat stats[] = { SS_STAT_HLO_OP };
	*t = (struct ss_thread_kinds){ .p = p, .filter = ss_stat_filter_of(p->x, stats, SS_COUNT(stats)) };
	t->known = calloc((size_t)p->x->nevent_meta + 1, 1);
	return t->known;
}

enum ss_thread_event ss_thread_kind(struct ss_thread_kinds *t, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i], at = meta < t->p->x->nevent_meta ? meta : t->p->x->nevent_meta;
	struct ss_xstat s;
	if (t->known[at] != SS_THREAD_UNREAD && at == meta)
		return (enum ss_thread_event)t->known[at];
	enum ss_thread_event kind = ss_thread_event_of(ss_event_name(t->p, meta));
	if (kind == SS_THREAD_OTHER && ss_stat_filter_line(&t->filter, l, i) &&
	    ss_xstats_find(ss_line_stats(t->p, l, i), SS_STAT_HLO_OP, &s))
		kind = SS_THREAD_OP;
	t->known[at] = (uint8_t)kind;
	return kind;
}

void ss_thread_kinds_free(struct ss_thread_kinds *t)
{
	free(t->known);
	*t = (struct ss_thread_kinds){ 0 };
}

bool ss_is_work_line(const struct ss_plane *p, const struct ss_line *l)
{
	return !l->derived && (p->kind == SS_PLANE_GPU || ss_str_is(l->name, "XLA Ops"));
}

bool ss_is_collective(struct ss_str category)
{
	static const struct ss_str collectives[] = {
		SS_STR_INIT("all-reduce"),	   SS_STR_INIT("all-gather"),
		SS_STR_INIT("all-to-all"),	   SS_STR_INIT("reduce-scatter"),
		SS_STR_INIT("collective-permute"), SS_STR_INIT("collective-broadcast"),
	};
	return any_part(category, collectives, SS_COUNT(collectives));
}

/* By HLO category. */
static enum ss_work work_of_category(struct ss_str c)
{
	if (ss_hlo_may_have_inner_ops(c))
		return SS_WORK_UNKNOWN;
	if (ss_str_contains(c, SS_STR("infeed")) || ss_str_starts(c, SS_STR("host recv")))
		return SS_WORK_DEVICE_WAIT_HOST;
	if (ss_str_contains(c, SS_STR("outfeed")) || ss_str_starts(c, SS_STR("host send")))
		return SS_WORK_DEVICE_TO_HOST;
	return ss_is_collective(c) ? SS_WORK_COLLECTIVES : SS_WORK_DEVICE_COMPUTE_32;
}

/* By the name of a kernel or copy. */
static enum ss_work work_of_kernel(struct ss_str name)
{
	switch (ss_op_name_parse(name).category) {
	case SS_OP_MEMCPY_HTOD:
		return SS_WORK_HOST_TO_DEVICE;
	case SS_OP_MEMCPY_DTOH:
		return SS_WORK_DEVICE_TO_HOST;
	case SS_OP_MEMCPY_DTOD:
		return SS_WORK_DEVICE_TO_DEVICE;
	default:
		break;
	}
	if (ss_str_istarts(name, SS_STR("nccl")) || ss_str_istarts(name, SS_STR("rccl")))
		return SS_WORK_COLLECTIVES;
	return ss_str_contains(name, SS_STR("half")) || ss_str_contains(name, SS_STR("fp16"))
		       ? SS_WORK_DEVICE_COMPUTE_16
		       : SS_WORK_DEVICE_COMPUTE_32;
}

enum ss_work ss_device_event_work(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	if (p->kind == SS_PLANE_GPU || meta >= p->x->nevent_meta)
		return work_of_kernel(ss_event_name(p, meta));
	bool known = ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_HLO_CATEGORY, &s);
	return work_of_category(known ? ss_xstat_str(&s) : ss_event_name(p, meta));
}

static struct ss_str hlo_category(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_HLO_CATEGORY, &s) ? ss_xstat_str(&s) : SS_STR("");
}

/* Only the send and the receive say between which slices they are, not what waits for their end. */
static bool names_slices(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_DCN_COLLECTIVE_INFO, &s) ||
	       ss_str_contains(p->x->event_meta[meta].name, SS_STR("_xla_megascale_"));
}

static int64_t program_of(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_PROGRAM_ID, &s) ? ss_xstat_int_or_uint(&s) : 0;
}

bool ss_is_slice_transfer(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str c = meta < p->x->nevent_meta ? hlo_category(p, meta) : SS_STR("");
	if (!ss_str_starts(c, SS_STR("host send")) && !ss_str_starts(c, SS_STR("host recv")))
		return false;
	if (names_slices(p, meta))
		return true;
	if (!ss_str_ends(c, SS_STR("-done")))
		return false;
	/* An end is of a transfer between slices if its program has no other kind. */
	struct ss_str begin = ss_str_sub(c, 0, c.n - strlen("-done"));
	int64_t program = program_of(p, meta);
	bool any = false;
	for (uint32_t i = 0; i < p->x->nevent_meta; i++) {
		if (!ss_str_eq(hlo_category(p, i), begin) || program_of(p, i) != program)
			continue;
		if (!names_slices(p, i))
			return false;
		any = true;
	}
	return any;
}

bool ss_busy_add(struct ss_busy *b, int64_t begin_ps, int64_t end_ps, enum ss_work work)
{
	struct ss_work_span *last = b->n > b->first ? &b->v[b->n - 1] : NULL;
	if (end_ps <= begin_ps)
		return true;
	/* Call stacks are deep and queues are full: most spans touch the one before. */
	if (last && last->work == (uint32_t)work && begin_ps >= last->begin_ps && begin_ps <= last->end_ps) {
		if (end_ps > last->end_ps) {
			b->work_ps[work] += (uint64_t)end_ps - (uint64_t)last->end_ps;
			last->end_ps = end_ps;
		}
		return true;
	}
	b->work_ps[work] += (uint64_t)end_ps - (uint64_t)begin_ps;
	return ss_vec_push(b, ((struct ss_work_span){ begin_ps, end_ps, 0, (uint32_t)work }));
}

/* qsort would take as much memory again. */
#define SORT_ITEM struct ss_work_span
#define SORT_LESS(ctx, a, b) ((void)(ctx), (a)->begin_ps < (b)->begin_ps)
#include "base/introsort_of.h"

void ss_busy_unite(struct ss_busy *b)
{
	struct ss_work_span *last[SS_WORK_COUNT] = { 0 };
	size_t n = 0;
	sort_items(b->v, b->n, NULL);
	for (size_t i = 0; i < b->n; i++) {
		struct ss_work_span span = b->v[i], **own = &last[span.work];
		if (*own && span.begin_ps <= (*own)->end_ps) {
			(*own)->end_ps = span.end_ps > (*own)->end_ps ? span.end_ps : (*own)->end_ps;
			continue;
		}
		b->v[n] = span;
		*own = &b->v[n++];
	}
	b->n = b->first = b->united = n;
	struct ss_work_span *fit = n < b->cap / 2 && n ? realloc(b->v, n * sizeof(*b->v)) : NULL;
	if (fit) {
		b->v = fit;
		b->cap = n;
	}
}

/* So many spans take little memory. */
#define FEW_SPANS 10000

void ss_busy_begin_line(struct ss_busy *b)
{
	if (b->n > 2 * b->united + FEW_SPANS)
		ss_busy_unite(b);
	b->first = b->n;
}

/* Kinds of work, the one that counts last. */
static const uint8_t rank_of[SS_WORK_COUNT] = {
	[SS_WORK_HOST_PREPARE] = 1,	  [SS_WORK_HOST_COMPILE] = 2,
	[SS_WORK_HOST_COMPUTE] = 3,	  [SS_WORK_HOST_TO_DEVICE] = 4,
	[SS_WORK_HOST_WAIT_INPUT] = 5,	  [SS_WORK_COLLECTIVES] = 6,
	[SS_WORK_DEVICE_TO_DEVICE] = 7,	  [SS_WORK_DEVICE_TO_HOST] = 8,
	[SS_WORK_DEVICE_WAIT_HOST] = 9,	  [SS_WORK_DEVICE_COMPUTE_32] = 10,
	[SS_WORK_DEVICE_COMPUTE_16] = 11,
};

enum { RANKS = 12 };

struct open_end {
	int64_t at_ps;
	uint8_t rank;
};

/* Spans that have begun: a heap, the one that ends first is v[0]; and how many of each rank. */
struct open_spans {
	SS_VEC(struct open_end) ends;
	int64_t n[RANKS];
};

static bool open_span(struct open_spans *o, const struct ss_work_span *span)
{
	struct open_end end = { span->end_ps, rank_of[span->work] };
	size_t at = o->ends.n;
	if (!ss_vec_push(&o->ends, end))
		return false;
	for (; at && o->ends.v[(at - 1) / 2].at_ps > end.at_ps; at = (at - 1) / 2)
		o->ends.v[at] = o->ends.v[(at - 1) / 2];
	o->ends.v[at] = end;
	o->n[end.rank]++;
	return true;
}

static void close_first(struct open_spans *o)
{
	struct open_end *v = o->ends.v, last = v[--o->ends.n];
	o->n[v[0].rank]--;
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < o->ends.n; at = child) {
		child += child + 1 < o->ends.n && v[child + 1].at_ps < v[child].at_ps;
		if (last.at_ps <= v[child].at_ps)
			break;
		v[at] = v[child];
	}
	v[at] = last;
}

static uint32_t highest(const int64_t open[RANKS])
{
	uint32_t rank = RANKS - 1;
	while (rank && !open[rank])
		rank--;
	return rank;
}

struct ranges {
	const int64_t *begin_ps, *end_ps;
	size_t n, at; /* ranges before `at` are over */
	uint64_t *work_ps;
};

/* Time from `from` to `to` went to one kind of work. Called in the order of time. */
static void share(struct ranges *r, int64_t from_ps, int64_t to_ps, uint32_t work)
{
	while (r->at < r->n && r->end_ps[r->at] <= from_ps)
		r->at++;
	for (size_t i = r->at; i < r->n && r->begin_ps[i] < to_ps; i++) {
		int64_t begin_ps = from_ps > r->begin_ps[i] ? from_ps : r->begin_ps[i];
		int64_t end_ps = to_ps < r->end_ps[i] ? to_ps : r->end_ps[i];
		if (end_ps > begin_ps)
			r->work_ps[i * SS_WORK_COUNT + work] += (uint64_t)end_ps - (uint64_t)begin_ps;
	}
}

bool ss_busy_share(const struct ss_busy *b, const int64_t *begin_ps, const int64_t *end_ps, size_t n,
		   uint64_t *work_ps)
{
	uint32_t work_of[RANKS] = { 0 };
	struct open_spans open = { .n = { 0 } };
	struct ranges r = { begin_ps, end_ps, n, 0, work_ps };
	int64_t now_ps = b->n ? b->v[0].begin_ps : 0;
	bool ok = true;
	for (uint32_t k = 0; k < SS_WORK_COUNT; k++)
		work_of[rank_of[k]] = k;
	for (size_t i = 0; ok && (i < b->n || open.ends.n);) {
		bool ends = open.ends.n && (i == b->n || open.ends.v[0].at_ps <= b->v[i].begin_ps);
		int64_t next_ps = ends ? open.ends.v[0].at_ps : b->v[i].begin_ps;
		uint32_t rank = highest(open.n);
		if (rank && next_ps > now_ps)
			share(&r, now_ps, next_ps, work_of[rank]);
		now_ps = next_ps;
		if (ends)
			close_first(&open);
		else
			ok = open_span(&open, &b->v[i++]);
	}
	ss_vec_free(&open.ends);
	return ok;
}
