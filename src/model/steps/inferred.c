/*
 * inferred.c - the sources of a period on one host, the choice among them, and the steps it makes.
 *
 * Begin-to-begin of calls on a thread says little where the program runs ahead of its device; such
 * calls cover little of the work that they started, and lose against what the device did.
 */
#include "model/steps/inferred.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "model/ops/ops_build.h"

#include <stdlib.h>

/* Among the unmarked recordings, steps with less confidence were mostly wrong. */
#define SURE_STEPS_FRAC 0.5
/* A shorter period than this may be a part of a step: one of many calls. */
#define SHORTEST_STEP_PS UINT64_C(1000000000)

/* The weight of each source, in the order of enum ss_inferred_from. */
static const double weight_of[] = {
	[SS_INFERRED_NOT] = 0,	    [SS_INFERRED_FROM_PROGRAMS] = 1, [SS_INFERRED_FROM_CALLS] = 0.98,
	[SS_INFERRED_FROM_KERNELS] = 0.96,  [SS_INFERRED_FROM_OPS] = 0.94,   [SS_INFERRED_FROM_OUTERMOST] = 0.7,
};

struct ss_str ss_inferred_from_name(enum ss_inferred_from how)
{
	static const struct ss_str names[] = {
		[SS_INFERRED_NOT] = SS_STR_INIT(""),
		[SS_INFERRED_FROM_PROGRAMS] = SS_STR_INIT("programs"),
		[SS_INFERRED_FROM_CALLS] = SS_STR_INIT("calls"),
		[SS_INFERRED_FROM_KERNELS] = SS_STR_INIT("kernels"),
		[SS_INFERRED_FROM_OPS] = SS_STR_INIT("ops"),
		[SS_INFERRED_FROM_OUTERMOST] = SS_STR_INIT("outermost"),
	};
	return names[how];
}

bool ss_steps_are_sure(const struct ss_steps *s)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < s->n; i++)
		sum_ps += s->v[i].dur_ps;
	return s->n && s->inferred.confidence_frac >= SURE_STEPS_FRAC && sum_ps / s->n >= SHORTEST_STEP_PS;
}

struct interval {
	int64_t begin_ps, end_ps;
	uint64_t before_ps; /* summed lengths of those before */
};

struct finder {
	const struct ss_host *h;
	struct ss_busy busy;
	SS_VEC(struct interval) work; /* union of busy */
	uint64_t work_ps;
	SS_VEC(struct ss_occurrence) seq; /* of the source in work */
	struct ss_period best;
	struct ss_inferred inferred; /* the best's */
};

/* ---- work ---- */

static bool is_computing(uint32_t work)
{
	return work == SS_WORK_HOST_COMPUTE || work == SS_WORK_DEVICE_COMPUTE_32 ||
	       work == SS_WORK_DEVICE_COMPUTE_16;
}

/* When something was computed; when anything was done, if nothing was. */
static bool unite(struct finder *f)
{
	bool computing = false;
	ss_busy_unite(&f->busy);
	for (size_t i = 0; i < f->busy.n; i++)
		computing |= is_computing(f->busy.v[i].work);
	for (size_t i = 0; i < f->busy.n; i++) {
		const struct ss_work_span *span = &f->busy.v[i];
		struct interval *last = f->work.n ? &f->work.v[f->work.n - 1] : NULL;
		if (computing && !is_computing(span->work))
			continue;
		if (last && span->begin_ps <= last->end_ps)
			last->end_ps = span->end_ps > last->end_ps ? span->end_ps : last->end_ps;
		else if (!ss_vec_push(&f->work, ((struct interval){ span->begin_ps, span->end_ps, 0 })))
			return false;
	}
	for (size_t i = 0; i < f->work.n; i++) {
		f->work.v[i].before_ps = f->work_ps;
		f->work_ps += (uint64_t)f->work.v[i].end_ps - (uint64_t)f->work.v[i].begin_ps;
	}
	return true;
}

static uint64_t work_before(const struct finder *f, int64_t at_ps)
{
	size_t lo = 0, hi = f->work.n;
	SS_BISECT(lo, hi, mid, f->work.v[mid].end_ps <= at_ps);
	if (lo == f->work.n)
		return f->work_ps;
	const struct interval *v = &f->work.v[lo];
	return v->before_ps + (v->begin_ps < at_ps ? (uint64_t)at_ps - (uint64_t)v->begin_ps : 0);
}

static double covered_frac(const struct finder *f, const struct ss_period *p)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < p->n; i++)
		sum_ps += work_before(f, p->end_ps[i]) - work_before(f, p->begin_ps[i]);
	return f->work_ps ? (double)sum_ps / (double)f->work_ps : 1;
}

/* ---- choice ---- */

static int by_time(const void *a, const void *b)
{
	const struct ss_occurrence *oa = a, *ob = b;
	return SS_CMP(oa->begin_ps, ob->begin_ps) ?: SS_CMP(ob->end_ps, oa->end_ps) ?: SS_CMP(oa->name, ob->name);
}

/* A line's events are mostly in order, and qsort takes as much memory again. */
static void sort_sequence(struct finder *f)
{
	for (size_t i = 1; i < f->seq.n; i++)
		if (by_time(&f->seq.v[i - 1], &f->seq.v[i]) > 0) {
			qsort(f->seq.v, f->seq.n, sizeof(*f->seq.v), by_time);
			return;
		}
}

/* Search the sequence gathered, and keep its period if it is the surest yet. */
static bool try_sequence(struct finder *f, enum ss_inferred_from how, const struct ss_plane *p,
			 struct ss_str place)
{
	struct ss_period found;
	enum ss_period_by by = how == SS_INFERRED_FROM_KERNELS || how == SS_INFERRED_FROM_OPS ? SS_PERIOD_BY_ORDER
									     : SS_PERIOD_BY_TIME;
	if (f->seq.n < 2) {
		f->seq.n = 0;
		return true;
	}
	sort_sequence(f);
	bool ok = ss_period_find(&found, f->seq.v, f->seq.n, by);
	f->seq.n = 0;
	double n = (double)found.n;
	double confidence = ok && found.n ? weight_of[how] * found.alike_frac * found.regular_frac * n / (n + 1) *
						    covered_frac(f, &found)
				    : 0;
	if (confidence > f->inferred.confidence_frac && found.n <= SS_MAX_INFERRED_STEPS) {
		ss_period_free(&f->best);
		f->best = found;
		f->inferred = (struct ss_inferred){ how, ss_event_name(p, found.name), place, confidence };
	} else {
		ss_period_free(&found);
	}
	return ok;
}

static bool add_occurrence(struct finder *f, const struct ss_line *l, uint32_t i)
{
	return ss_vec_push(&f->seq, ((struct ss_occurrence){ l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i),
							     l->ev.meta[i] }));
}

/* ---- devices ---- */

static bool add_device_line(struct finder *f, const struct ss_plane *p, const struct ss_line *l,
			    uint8_t *known, uint64_t *computed_ps)
{
	ss_busy_begin_line(&f->busy);
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i], at = meta < p->x->nevent_meta ? meta : p->x->nevent_meta;
		if (!known[at])
			known[at] = (uint8_t)(1 + ss_device_event_work(p, meta));
		enum ss_work work = (enum ss_work)(known[at] - 1);
		if (work >= SS_WORK_DEVICE_COMPUTE_32)
			*computed_ps += l->ev.dur_ps[i];
		if (work != SS_WORK_UNKNOWN &&
		    !ss_busy_add(&f->busy, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i), work))
			return false;
	}
	return true;
}

/* The device, and its line, that computed longest. */
struct busiest {
	const struct ss_plane *p;
	const struct ss_line *l;
	uint64_t plane_ps, line_ps;
};

static bool add_device(struct finder *f, const struct ss_plane *p, struct busiest *b)
{
	struct busiest own = { .p = p };
	uint8_t *known = calloc((size_t)p->x->nevent_meta + 1, 1);
	bool ok = known;
	for (uint32_t k = 0; ok && k < p->nlines; k++) {
		uint64_t computed_ps = 0;
		if (!ss_is_work_line(p, &p->lines[k]))
			continue;
		ok = add_device_line(f, p, &p->lines[k], known, &computed_ps);
		own.plane_ps += computed_ps;
		if (!own.l || computed_ps > own.line_ps) {
			own.l = &p->lines[k];
			own.line_ps = computed_ps;
		}
	}
	free(known);
	if (!b->p || own.plane_ps > b->plane_ps)
		*b = own;
	return ok;
}

static bool try_line(struct finder *f, enum ss_inferred_from how, const struct ss_plane *p,
		     const struct ss_line *l)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		ok = !l->ev.dur_ps[i] || add_occurrence(f, l, i);
	return ok && try_sequence(f, how, p, p->name);
}

static bool try_device(struct finder *f, const struct busiest *b)
{
	bool ok = true;
	for (uint32_t k = 0; ok && b->p && k < b->p->nlines; k++)
		if (ss_str_is(b->p->lines[k].name, "XLA Modules"))
			ok = try_line(f, SS_INFERRED_FROM_PROGRAMS, b->p, &b->p->lines[k]);
	return ok && (!b->l || try_line(f, SS_INFERRED_FROM_KERNELS, b->p, b->l));
}

/* ---- threads ---- */

struct threads {
	struct finder *f;
	const struct ss_plane *p;
	struct ss_thread_kinds kinds;
	bool has_device;
	struct ss_forget forget;
};

/* On a host with devices its own computing is beside the point. */
static enum ss_work work_of(const struct threads *t, enum ss_thread_event kind)
{
	static const enum ss_work work[] = {
		[SS_THREAD_OP] = SS_WORK_HOST_COMPUTE,	 [SS_THREAD_CALL] = SS_WORK_HOST_PREPARE,
		[SS_THREAD_OP_CALL] = SS_WORK_HOST_PREPARE,
		[SS_THREAD_ANY_CALL] = SS_WORK_HOST_PREPARE, [SS_THREAD_INPUT] = SS_WORK_HOST_WAIT_INPUT,
		[SS_THREAD_COPY] = SS_WORK_HOST_TO_DEVICE, [SS_THREAD_COMPILE] = SS_WORK_HOST_COMPILE,
	};
	bool beside = kind >= SS_THREAD_OP && kind <= SS_THREAD_ANY_CALL;
	return kind <= SS_THREAD_OTHER || (t->has_device && beside) ? SS_WORK_UNKNOWN : work[kind];
}

static bool add_thread(struct threads *t, const struct ss_line *l)
{
	ss_busy_begin_line(&t->f->busy);
	for (uint32_t i = 0; i < l->ev.n; i++) {
		enum ss_work work = work_of(t, ss_thread_kind(&t->kinds, l, i));
		if (work != SS_WORK_UNKNOWN && !ss_busy_add(&t->f->busy, l->ev.begin_ps[i],
							    ss_xevents_end_ps(&l->ev, i), work))
			return false;
		ss_forget_passed(&t->forget, l, i);
	}
	ss_forget_line(&t->forget, l);
	return true;
}

/* Without known work, outermost events count as work. */
static bool add_outermost(struct threads *t, const struct ss_line *l)
{
	bool ok = true;
	ss_busy_begin_line(&t->f->busy);
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		if (ss_thread_kind(&t->kinds, l, i) >= SS_THREAD_OTHER)
			ok = ss_busy_add(&t->f->busy, l->ev.begin_ps[i],
					 ss_xevents_end_ps(&l->ev, i), SS_WORK_HOST_COMPUTE);
	return ok;
}

static bool try_kind(struct threads *t, const struct ss_line *l, enum ss_thread_event kind)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		if (ss_thread_kind(&t->kinds, l, i) == kind && l->ev.dur_ps[i])
			ok = add_occurrence(t->f, l, i);
	return ok && try_sequence(t->f, SS_INFERRED_FROM_CALLS, t->p, l->name);
}

/* A call for each operation starts that, and no step. */
static bool try_calls(struct threads *t, const struct ss_line *l)
{
	size_t n[SS_THREAD_COMPILE + 1] = { 0 };
	for (uint32_t i = 0; i < l->ev.n; i++)
		n[ss_thread_kind(&t->kinds, l, i)]++;
	if (n[SS_THREAD_CALL] && !try_kind(t, l, SS_THREAD_CALL))
		return false;
	if (n[SS_THREAD_OP_CALL] && !try_kind(t, l, SS_THREAD_OP_CALL))
		return false;
	if (n[SS_THREAD_CALL] || n[SS_THREAD_OP_CALL] || (n[SS_THREAD_OP] && 2 * n[SS_THREAD_ANY_CALL] > n[SS_THREAD_OP]))
		return true;
	return !n[SS_THREAD_ANY_CALL] || try_kind(t, l, SS_THREAD_ANY_CALL);
}

/* Threads of input pipelines run ahead of the program. */
static bool gather_ops(struct threads *t, const struct ss_line *l)
{
	bool ok = true;
	if (ss_str_starts(l->name, SS_STR("tf_data")))
		return true;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		if (ss_thread_kind(&t->kinds, l, i) == SS_THREAD_OP && l->ev.dur_ps[i])
			ok = add_occurrence(t->f, l, i);
	return ok;
}

/* Files need not be in order of time: then what lies inside of what is not known, and all count. */
static bool gather_outermost(struct threads *t, const struct ss_line *l)
{
	int64_t end_ps = INT64_MIN;
	bool ok = true;
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		int64_t own_end_ps = ss_xevents_end_ps(&l->ev, i);
		if (ss_thread_kind(&t->kinds, l, i) < SS_THREAD_OTHER || !l->ev.dur_ps[i] ||
		    (l->ev.sorted && own_end_ps <= end_ps))
			continue;
		end_ps = own_end_ps;
		ok = add_occurrence(t->f, l, i);
	}
	return ok;
}

static bool try_outermost(struct threads *t, const struct ss_line *l)
{
	return gather_outermost(t, l) && try_sequence(t->f, SS_INFERRED_FROM_OUTERMOST, t->p, l->name);
}

typedef bool line_fn(struct threads *t, const struct ss_line *l);

static bool each_line(struct threads *t, line_fn *fn)
{
	bool ok = true;
	for (uint32_t k = 0; ok && k < t->p->nlines; k++)
		if (!t->p->lines[k].derived)
			ok = fn(t, &t->p->lines[k]);
	return ok;
}

static bool threads_init(struct threads *t, struct finder *f, bool has_device)
{
	*t = (struct threads){ .f = f, .p = ss_host_plane(f->h, SS_PLANE_HOST_CPU),
			       .has_device = has_device, .forget.h = f->h };
	return !t->p || ss_thread_kinds_init(&t->kinds, t->p);
}

static bool try_threads(struct threads *t)
{
	static const struct ss_str all = SS_STR_INIT("all threads");
	if (!each_line(t, try_calls) || !each_line(t, try_outermost))
		return false;
	if (!t->has_device &&
	    (!each_line(t, gather_ops) || !try_sequence(t->f, SS_INFERRED_FROM_OPS, t->p, all)))
		return false;
	/* A server answers each request on another thread. */
	return t->f->inferred.how != SS_INFERRED_NOT ||
	       (each_line(t, gather_outermost) && try_sequence(t->f, SS_INFERRED_FROM_OUTERMOST, t->p, all));
}

/* ---- steps ---- */

static bool search(struct finder *f, struct ss_err *err)
{
	struct busiest b = { 0 };
	struct threads t;
	bool ok = true, has_device = ss_host_hardware(f->h) != SS_HW_CPU_ONLY;
	for (uint32_t i = 0; ok && i < f->h->nplanes; i++) {
		const struct ss_plane *p = &f->h->planes[i];
		if (p->kind == SS_PLANE_GPU || p->kind == SS_PLANE_TENSOR_CORE)
			ok = add_device(f, p, &b);
	}
	ok = ok && threads_init(&t, f, has_device);
	if (!ok)
		return ss_fail_mem(err);
	if (t.p)
		ok = each_line(&t, add_thread) && (f->busy.n || each_line(&t, add_outermost));
	ok = ok && unite(f) && try_device(f, &b) && (!t.p || try_threads(&t));
	ss_forget_rest(&t.forget);
	ss_thread_kinds_free(&t.kinds);
	return ok || ss_fail_mem(err);
}

static void add_step(struct ss_host_steps *out, size_t i, const struct ss_period *p)
{
	uint64_t *work_ps = out->work_ps + i * SS_WORK_COUNT, sum_ps = 0;
	uint64_t dur_ps = (uint64_t)p->end_ps[i] - (uint64_t)p->begin_ps[i];
	for (size_t k = 1; k < SS_WORK_COUNT; k++)
		sum_ps += work_ps[k];
	work_ps[SS_WORK_UNKNOWN] = dur_ps - sum_ps;
	out->cores[i] = (struct ss_step_core){ .kind = SS_STEP_BY_WORK, .core_id = 1,
					       .begin_ps = p->begin_ps[i], .dur_ps = dur_ps,
					       .work_ps = work_ps };
	out->steps.v[i] = (struct ss_step){ .num = (int64_t)i, .name = SS_STR(""),
					    .begin_ps = p->begin_ps[i], .dur_ps = dur_ps,
					    .cores = &out->cores[i], .ncores = 1 };
}

/*
 * Nobody knows where the last repetition ends: what would have begun the next one is not there. It
 * is a step only where there are few others.
 */
static bool make_steps(struct ss_host_steps *out, struct finder *f)
{
	struct ss_period *p = &f->best;
	p->n -= p->n >= 3;
	out->steps.v = malloc((p->n + 1) * sizeof(*out->steps.v));
	out->cores = malloc((p->n + 1) * sizeof(*out->cores));
	out->work_ps = calloc(p->n + 1, SS_WORK_COUNT * sizeof(*out->work_ps));
	if (!out->steps.v || !out->cores || !out->work_ps ||
	    !ss_busy_share(&f->busy, p->begin_ps, p->end_ps, p->n, out->work_ps))
		return false;
	for (; out->steps.n < p->n; out->steps.n++)
		add_step(out, out->steps.n, p);
	/* Names of kernels say how precisely they compute; instructions of a TPU do not. */
	if (ss_host_hardware(f->h) == SS_HW_GPU) {
		out->steps.compute_16bit_ps = f->busy.work_ps[SS_WORK_DEVICE_COMPUTE_16];
		out->steps.compute_32bit_ps = f->busy.work_ps[SS_WORK_DEVICE_COMPUTE_32];
	}
	out->steps.inferred = f->inferred;
	return true;
}

/*
 * Spans from which on a block is a mapping of its own in every heap (base/heap.h): only what is used
 * of it takes memory, and one that grows leaves nothing behind.
 */
#define ROOM_FOR_SPANS ((size_t)1 << 18)

bool ss_steps_infer(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err)
{
	struct finder f = { .h = h, .inferred = { .name = SS_STR(""), .place = SS_STR("") } };
	bool ok = (ss_vec_reserve(&f.busy, ROOM_FOR_SPANS) || ss_fail_mem(err)) && search(&f, err);
	if (ok)
		ok = make_steps(out, &f) || ss_fail_mem(err);
	free(f.busy.v);
	ss_vec_free(&f.work);
	ss_vec_free(&f.seq);
	ss_period_free(&f.best);
	return ok;
}
