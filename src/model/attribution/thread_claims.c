/*
 * thread_claims.c - what the threads of a host claim.
 *
 * A walk over each thread in the order of time with a stack of open events: what an event is
 * depends on what is around it. "shard_args" within a call of a program is the framework's, alone
 * it would be the program's annotation; everything below a compilation is compiling, below a
 * callback the callback.
 *
 * Claims take as much memory as the events. Where one unit asks for them, they are not held: the walks number the owners
 * and count, and begin anew for the sweep, which takes what they claim as a stream.
 */
#include "model/host/event_order.h"
#include "model/host/forget.h"
#include "model/attribution/build.h"
#include "base/bisect.h"
#include "base/safe.h"

#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"

#include <stdlib.h>

struct open_event {
	int64_t end_ps;
	enum ss_time_class class;
	enum ss_claim_rank rank;
	bool claims; /* false: what this thread does here keeps nobody waiting */
	bool op;     /* an operation of an eager framework, or a detail of it */
	bool python; /* a frame of the framework's own Python */
	bool demand; /* within a request for data */
	bool overhead;
	bool small;	  /* within a call that is short as a whole */
	uint32_t call;	  /* path, SS_NONE */
	bool of_frame;	  /* `func` is a frame of JAX: the operation that it starts says more */
	uint32_t func;	  /* metadata of the outermost function or operation around, SS_NONE */
	uint32_t op_meta; /* of the operation */
	uint32_t op_ref;  /* likewise: ss_op_ref_of */
};

#define BATCH 512 /* claims */

/* Outer events before inner ones. */
struct order {
	uint32_t *v; /* NULL: as they stand */
	size_t n;
};

struct walk {
	struct ss_attr_build *b;
	const struct ss_line *line;
	struct order order;
	size_t next;	/* event, in this order */
	uint32_t event; /* that begins */
	size_t gc_end;	/* place of the event that ends a collection of garbage */
	bool starter, data_thread;
	bool again; /* all is numbered and counted: only what is claimed counts */
	bool over;
	SS_VEC(struct open_event) open;
	SS_VEC(int64_t) compiled; /* begins of outermost functions that were compiled, ascending */
	size_t compiled_at;
	SS_VEC(struct ss_claim) made;	/* the last one may grow until the walk is over */
	SS_VEC(struct ss_claim) beyond; /* the ends of its events: claims of other threads */
	int64_t now_ps;
	size_t window_at;
	size_t event_at, claim_at; /* of the idle stretches, those before are over: for the next event, the next claim */
	struct ss_forget passed;
	bool failed;
};

struct ss_thread_walks {
	struct walk *v;
	size_t n;
};

/* ---- moments that count ---- */

/* The first span from `at` on that ends after the moment: it is mostly near. */
static size_t idle_after(const struct ss_attr_build *b, size_t at, int64_t t_ps)
{
	size_t step = 1, lo = at;
	while (lo + step <= b->idle.n && b->idle.v[lo + step - 1].end_ps <= t_ps) {
		lo += step;
		step *= 2;
	}
	size_t hi = lo + step <= b->idle.n ? lo + step - 1 : b->idle.n;
	SS_BISECT(lo, hi, mid, b->idle.v[mid].end_ps <= t_ps);
	return lo;
}

/* Does some device leave a moment of it to threads? Asked for ascending begins. */
static inline bool counts(const struct ss_attr_build *b, size_t *at, int64_t begin_ps, int64_t end_ps)
{
	if (end_ps <= b->w->begin_ps || begin_ps >= b->w->end_ps)
		return false;
	if (!b->has_device)
		return true;
	if (*at >= b->idle.n || b->idle.v[*at].end_ps <= begin_ps)
		*at = idle_after(b, *at, begin_ps);
	return *at < b->idle.n && b->idle.v[*at].begin_ps < end_ps;
}

/* From the first such moment to the last. */
static bool trim(struct walk *w, int64_t *begin_ps, int64_t *end_ps)
{
	if (!counts(w->b, &w->claim_at, *begin_ps, *end_ps))
		return false;
	if (!w->b->has_device)
		return true;
	const struct ss_stretch *v = w->b->idle.v;
	size_t last = idle_after(w->b, w->claim_at, *end_ps);
	if (v[w->claim_at].begin_ps > *begin_ps)
		*begin_ps = v[w->claim_at].begin_ps;
	if (last == w->b->idle.n || v[last].begin_ps >= *end_ps)
		last--;
	if (v[last].end_ps < *end_ps)
		*end_ps = v[last].end_ps;
	return true;
}

/* ---- claims ---- */

static void claim(struct walk *w, int64_t begin_ps, int64_t end_ps, enum ss_claim_rank rank, uint32_t owner)
{
	struct ss_claim *last = w->made.n ? &w->made.v[w->made.n - 1] : NULL;
	if (owner == SS_NONE) {
		w->failed = true;
		return;
	}
	if (last && last->owner == owner && last->rank == (uint32_t)rank && last->end_ps == begin_ps) {
		last->end_ps = end_ps;
		return;
	}
	if (!ss_vec_push(&w->made, ((struct ss_claim){ begin_ps, end_ps, (uint32_t)rank, owner })))
		w->failed = true;
}

static uint32_t named(struct walk *w, enum ss_time_class class, uint32_t meta, uint32_t ref, bool overhead)
{
	return ss_named_owner(w->b, class, w->b->host_at, meta, ref, overhead);
}

/*
 * For a reader a copy is work with a name, as it is on a device. SS_NONE: it is none, or memory is
 * out.
 */
static uint32_t copy_owner(struct walk *w, const struct open_event *o)
{
	bool copy = o->class == SS_TIME_COPY && o->call != SS_NONE && w->b->reader;
	return copy ? named(w, SS_TIME_COPY, w->b->calls.v[o->call].meta, SS_NONE, false) : SS_NONE;
}

/* The thread is in `o` from begin to end. */
static void spend(struct walk *w, const struct open_event *o, int64_t begin_ps, int64_t end_ps)
{
	if (!o->claims || !trim(w, &begin_ps, &end_ps))
		return;
	if (o->op) {
		bool computes = !w->b->has_device && ss_safe_between(begin_ps, end_ps) >= SS_SMALL_OP_PS;
		claim(w, begin_ps, end_ps, computes ? SS_RANK_COMPUTE : o->rank,
		      computes ? named(w, SS_TIME_COMPUTE, o->op_meta, o->op_ref, false)
			       : named(w, SS_TIME_LAUNCH, o->func, SS_NONE, false));
	} else if (o->class == SS_TIME_COMPUTE || o->class == SS_TIME_COLLECTIVE) {
		claim(w, begin_ps, end_ps, o->rank, named(w, o->class, o->op_meta, o->op_ref, o->overhead));
	} else if (o->class == SS_TIME_LAUNCH || o->class == SS_TIME_UNKNOWN ||
		   (o->class == SS_TIME_COMPILE && o->func != SS_NONE)) {
		claim(w, begin_ps, end_ps, o->rank, named(w, o->class, o->func, SS_NONE, false));
	} else if (o->class == SS_TIME_COPY && o->call != SS_NONE && w->b->reader) {
		claim(w, begin_ps, end_ps, o->rank, copy_owner(w, o));
	} else {
		claim(w, begin_ps, end_ps, o->rank, o->call == SS_NONE ? SS_NONE : o->call | SS_OWNER_CALL);
	}
}

static void go_on(struct walk *w, int64_t until_ps)
{
	for (; w->open.n && w->open.v[w->open.n - 1].end_ps <= until_ps; w->open.n--) {
		const struct open_event *o = &w->open.v[w->open.n - 1];
		if (o->end_ps > w->now_ps) {
			spend(w, o, w->now_ps, o->end_ps);
			w->now_ps = o->end_ps;
		}
	}
	if (until_ps > w->now_ps) {
		if (w->open.n)
			spend(w, &w->open.v[w->open.n - 1], w->now_ps, until_ps);
		w->now_ps = until_ps;
	}
}

/* ---- what an event is ---- */

static uint32_t call_of(struct walk *w, uint32_t parent, uint32_t meta, enum ss_time_class class)
{
	struct ss_attr_build *b = w->b;
	uint64_t key = ss_mix((uint64_t)parent << 32 | meta, (uint64_t) class + 1);
	uint32_t n = (uint32_t)b->calls.n;
	if (n >= SS_OWNER_CALL)
		return parent;
	uint32_t at = ss_u64map_add(&b->by_call, key, n);
	if (at == n && !ss_vec_push(&b->calls, ((struct ss_call){ parent, meta, class })))
		at = SS_NONE;
	w->failed = w->failed || at == SS_NONE;
	return at;
}

/* Below these everything is theirs. */
static bool swallows(const struct open_event *p)
{
	bool profiler = p && p->class == SS_TIME_UNKNOWN && p->func != SS_NONE;
	return p && (profiler || p->class == SS_TIME_CALLBACK || p->class == SS_TIME_COMPILE ||
		     p->class == SS_TIME_INPUT || p->class == SS_TIME_GC);
}

static void set(struct open_event *o, enum ss_time_class class, enum ss_claim_rank rank)
{
	o->class = class;
	o->rank = rank;
	o->claims = true;
	o->op = o->python = o->overhead = o->of_frame = false;
}

/* The framework's work: with a device, operations on threads are such, too. */
static void set_launch(struct walk *w, struct open_event *o, const struct open_event *p, uint32_t meta, bool waits)
{
	bool frame = ss_str_starts(ss_event_name(w->b->host, meta), SS_STR("$"));
	bool inherits = p && p->func != SS_NONE && (frame || !p->of_frame);
	uint32_t func = inherits ? p->func : meta;
	bool op = p && p->op;
	set(o, SS_TIME_LAUNCH, !w->starter ? SS_RANK_OTHER_CALLS : waits ? SS_RANK_WAITS : SS_RANK_STARTER);
	o->func = func;
	o->of_frame = inherits ? p->of_frame : frame;
	o->op = op;
	o->claims = !w->data_thread;
}

/* Identify the operation for a reader of pieces. */
static void note_op(struct walk *w, struct open_event *o)
{
	w->failed = w->failed || !ss_op_ref_of(w->b, w->b->host, w->line, w->event, &o->op_ref);
}

static void set_op(struct walk *w, struct open_event *o, const struct open_event *p, uint32_t meta,
		   enum ss_host_kind kind)
{
	if (w->b->has_device || o->small) {
		set_launch(w, o, p, meta, false);
		return;
	}
	bool collective = kind == SS_KIND_COLLECTIVE;
	set(o, collective ? SS_TIME_COLLECTIVE : SS_TIME_COMPUTE, collective ? SS_RANK_THREAD_MEETS : SS_RANK_COMPUTE);
	o->op_meta = meta;
	note_op(w, o);
	o->claims = !w->data_thread;
	if (kind == SS_KIND_EXECUTE) {
		o->rank = SS_RANK_OTHERS;
		o->overhead = true;
	}
}

static bool was_compiled(struct walk *w, int64_t begin_ps)
{
	while (w->compiled_at < w->compiled.n && w->compiled.v[w->compiled_at] < begin_ps)
		w->compiled_at++;
	return w->compiled_at < w->compiled.n && w->compiled.v[w->compiled_at] == begin_ps;
}

/*
 * Is the call one of a step? Where windows are not the program's own marks, it may begin before its
 * window.
 */
static bool is_of_steps(struct walk *w, int64_t begin_ps)
{
	const struct ss_windows *windows = w->b->w;
	bool of_recording = begin_ps >= windows->begin_ps && begin_ps < windows->end_ps;
	return of_recording && (!windows->as_marked || ss_window_at(windows, begin_ps, &w->window_at) != SIZE_MAX);
}

static void set_function(struct walk *w, struct open_event *o, const struct open_event *p, uint32_t meta,
			 int64_t begin_ps, uint64_t dur_ps, bool is_op)
{
	bool outermost = !p || p->func == SS_NONE || p->of_frame, counts = (outermost || is_op) && !(p && p->op);
	set_launch(w, o, p, meta, false);
	o->op = is_op;
	o->small = o->small || dur_ps < SS_SMALL_CALL_PS;
	if (outermost && was_compiled(w, begin_ps))
		o->class = SS_TIME_COMPILE;
	if (counts && w->starter && !w->again && is_of_steps(w, begin_ps))
		w->b->starts++;
}

/*
 * A function of the program that an operation calls: a hook of gradients, an operation in Python.
 * PyTorch's own, and the code that torch.compile made, are the operation.
 */
static bool is_called_back(const struct open_event *p, struct ss_str name)
{
	struct ss_frame f;
	return p && p->op && ss_frame_parse(name, &f) && f.line && !ss_str_starts(f.file, SS_STR("torch/")) &&
	       !ss_str_contains(f.file, SS_STR("torchinductor"));
}

/* Python, or an annotation: the program's own, unless it is below something else. */
static void set_own(struct walk *w, struct open_event *o, const struct open_event *p, bool has_source, bool frame,
		    struct ss_str name)
{
	bool called = frame && is_called_back(p, name);
	bool own = !p || p->class == SS_TIME_HOST_CODE || (p->python && has_source) || called;
	if (!own)
		return; /* as inherited */
	/* An annotation is put around calls, too: what another thread does meanwhile says more. */
	set(o, SS_TIME_HOST_CODE, !w->starter ? SS_RANK_OTHER_CALLS : frame ? SS_RANK_STARTER : SS_RANK_WAITS);
	o->func = SS_NONE;
	/* Of another thread, what its operations call. */
	o->claims = w->starter || (p && p->claims && (called || p->class == SS_TIME_HOST_CODE));
}

static void set_input(struct walk *w, struct open_event *o, bool demand)
{
	o->demand = o->demand || demand;
	set(o, SS_TIME_INPUT, w->starter ? SS_RANK_STARTER : SS_RANK_OTHERS);
	o->claims = w->starter || o->demand;
}

static void set_copy(struct walk *w, struct open_event *o)
{
	enum ss_claim_rank on_device = w->starter ? SS_RANK_STARTER : SS_RANK_OTHER_CALLS;
	set(o, SS_TIME_COPY, w->b->has_device ? on_device : SS_RANK_COPY);
	o->claims = !w->data_thread;
}

static void set_message(struct walk *w, struct open_event *o, uint32_t meta)
{
	enum ss_claim_rank on_device = w->starter ? SS_RANK_STARTER : SS_RANK_OTHER_CALLS;
	set(o, SS_TIME_COLLECTIVE, w->b->has_device ? on_device : SS_RANK_THREAD_MEETS);
	o->op_meta = meta;
	o->op_ref = SS_NONE;
	o->claims = !w->data_thread;
}

static void set_sync(struct walk *w, struct open_event *o, const struct open_event *p)
{
	/* An operation that waits for the threads that help it is in progress. */
	if (p && (p->class == SS_TIME_COMPUTE || p->class == SS_TIME_COLLECTIVE) && !p->overhead)
		return;
	set(o, SS_TIME_SYNC, SS_RANK_WAITS);
	o->claims = w->starter;
}

static void set_lock(struct walk *w, struct open_event *o, const struct open_event *p)
{
	if (p && p->class == SS_TIME_SYNC)
		return;
	set(o, SS_TIME_LOCK, SS_RANK_STARTER);
	o->claims = w->starter;
}

/* Events that are not of the program count as not recorded, with a name. */
static void set_profiler(struct walk *w, struct open_event *o, uint32_t meta)
{
	set(o, SS_TIME_UNKNOWN, SS_RANK_WAITS);
	o->func = meta;
	o->claims = w->starter;
}

/*
 * A collection of garbage, and an event within one that swallows all in it. False for others, which
 * their kinds decide.
 */
static bool set_collector(const struct walk *w, struct open_event *o, const struct open_event *p, enum ss_host_kind kind)
{
	bool collects = kind == SS_KIND_GC && !(p && p->class == SS_TIME_COMPILE);
	if (collects)
		set(o, SS_TIME_GC, SS_RANK_STARTER);
	else if (!swallows(p) || kind == SS_KIND_SKIP)
		return false;
	o->claims = o->claims && (w->starter || !collects);
	return true;
}

/*
 * The framework's Python that calls the program's own: a layer of PyTorch. JAX's around its
 * operations does not.
 */
static bool is_layer(struct ss_str name)
{
	struct ss_frame f;
	return !ss_str_starts(name, SS_STR("$")) && ss_frame_parse(name, &f);
}

/* Fill `o` for the event that begins here within `p`; `o` is a copy of `p` at first. */
static void classify(struct walk *w, struct open_event *o, const struct open_event *p, enum ss_host_kind kind,
		     uint32_t meta, int64_t begin_ps, uint64_t dur_ps)
{
	struct ss_frame f;
	if (set_collector(w, o, p, kind))
		return;
	switch (kind) {
	case SS_KIND_OP:
	case SS_KIND_COLLECTIVE:
	case SS_KIND_EXECUTE:
		set_op(w, o, p, meta, kind);
		break;
	case SS_KIND_CALLBACK:
		set(o, SS_TIME_CALLBACK, SS_RANK_CALLBACK);
		o->claims = !w->data_thread;
		break;
	case SS_KIND_EAGER_OP:
		set_function(w, o, p, meta, begin_ps, dur_ps, true);
		o->op_meta = meta;
		break;
	case SS_KIND_FUNCTION:
		set_function(w, o, p, meta, begin_ps, dur_ps, false);
		break;
	case SS_KIND_LAUNCH:
	case SS_KIND_WAIT:
		set_launch(w, o, p, meta, kind == SS_KIND_WAIT);
		o->python = is_layer(ss_event_name(w->b->host, meta));
		break;
	case SS_KIND_COMPILE:
		set(o, SS_TIME_COMPILE, w->starter ? SS_RANK_STARTER : SS_RANK_OTHERS);
		break;
	case SS_KIND_DEMAND:
	case SS_KIND_INPUT:
		set_input(w, o, kind == SS_KIND_DEMAND);
		break;
	case SS_KIND_COPY:
		set_copy(w, o);
		break;
	case SS_KIND_MESSAGE:
		set_message(w, o, meta);
		break;
	case SS_KIND_SYNC:
		set_sync(w, o, p);
		break;
	case SS_KIND_LOCK:
		set_lock(w, o, p);
		break;
	case SS_KIND_PROFILER:
		set_profiler(w, o, meta);
		break;
	case SS_KIND_PYTHON:
		set_own(w, o, p, ss_frame_parse(ss_event_name(w->b->host, meta), &f) && f.line, true,
			ss_event_name(w->b->host, meta));
		break;
	case SS_KIND_OTHER:
		set_own(w, o, p, true, false, SS_STR(""));
		break;
	case SS_KIND_GC:
	case SS_KIND_GC_MARK:
	case SS_KIND_SKIP:
	case SS_KIND_UNREAD:
		break;
	}
}

static bool is_path(enum ss_time_class c)
{
	return c != SS_TIME_COMPUTE && c != SS_TIME_COLLECTIVE && c != SS_TIME_LAUNCH && c != SS_TIME_UNKNOWN;
}

static bool within(const struct walk *w, int64_t begin_ps, int64_t end_ps)
{
	return end_ps > w->b->w->begin_ps && begin_ps < w->b->w->end_ps;
}

static void count_for_reader(struct walk *w, const struct open_event *o)
{
	uint32_t owner = o->class == SS_TIME_COPY ? copy_owner(w, o)
				: named(w, o->op ? SS_TIME_COMPUTE : o->class, o->op_meta, o->op_ref, o->overhead);
	w->failed = w->failed || owner == SS_NONE;
	if (owner != SS_NONE)
		w->b->named.v[owner].count++;
}

static void count_op(struct walk *w, const struct open_event *o, uint32_t i, enum ss_host_kind kind, bool nested)
{
	const struct ss_xevents *e = &w->line->ev;
	int64_t begin_ps = e->begin_ps[i], end_ps = ss_xevents_end_ps(e, i);
	bool op = kind == SS_KIND_OP || kind == SS_KIND_COLLECTIVE || kind == SS_KIND_EAGER_OP;
	if (!o->claims || !within(w, begin_ps, end_ps))
		return;
	bool copies = kind == SS_KIND_COPY && o->call != SS_NONE && w->b->calls.v[o->call].meta == e->meta[i];
	if (w->b->reader && (copies || (op && !w->b->has_device)))
		count_for_reader(w, o);
	if (nested)
		return;
	if (op) {
		w->b->ops++;
		w->b->op_ps += e->dur_ps[i];
	}
	/*
	 * Operators of c10d start a collective and return: how long they take says nothing of who
	 * waits.
	 */
	struct ss_str name = ss_event_name(w->b->host, e->meta[i]);
	if (kind == SS_KIND_COLLECTIVE && !w->b->has_device && !w->b->no_groups && !ss_str_starts(name, SS_STR("c10d::")) &&
	    w->b->meetings.n < SS_MOST_MEETINGS) {
		size_t at = SIZE_MAX, step = ss_window_at(w->b->w, begin_ps, &at);
		uint64_t key = step == SIZE_MAX ? 0 : ss_meeting_key(ss_str_digest(name), w->b->w->v[step].num);
		if (key && !ss_vec_push(&w->b->meetings, ((struct ss_meeting){ key, e->dur_ps[i] })))
			w->failed = true;
	}
}

/* Work of other threads for an operation that this thread has started. */
static void go_beyond(struct walk *w, const struct open_event *o, enum ss_host_kind kind, uint32_t i)
{
	int64_t begin_ps = ss_xevents_end_ps(&w->line->ev, i), end_ps;
	bool op = kind == SS_KIND_OP || kind == SS_KIND_COLLECTIVE;
	if (!op || !o->claims || w->b->has_device)
		return;
	end_ps = ss_async_end(&w->b->ends, w->b->host, w->line, i);
	enum ss_claim_rank rank = o->rank == SS_RANK_COMPUTE ? SS_RANK_GOES_ON : o->rank;
	if (end_ps > begin_ps &&
	    !ss_vec_push(&w->beyond, ((struct ss_claim){ begin_ps, end_ps, (uint32_t)rank,
							 named(w, o->class, o->op_meta, o->op_ref, o->overhead) })))
		w->failed = true;
}

static uint32_t event_at(const struct order *o, size_t at)
{
	return o->v ? o->v[at] : (uint32_t)at;
}

/*
 * A call that Python makes before and behind each collection of garbage: the first lasts until the
 * second begins, *end_ps, and is the collection. Else it is a frame.
 */
static enum ss_host_kind kind_of_mark(struct walk *w, uint32_t i, int64_t *end_ps)
{
	const struct ss_xevents *e = &w->line->ev;
	size_t at = w->next;
	if (w->gc_end + 1 == w->next)
		return SS_KIND_PYTHON;
	while (at < w->order.n && e->meta[event_at(&w->order, at)] != e->meta[i])
		at++;
	if (at == w->order.n)
		return SS_KIND_PYTHON;
	w->gc_end = at;
	*end_ps = e->begin_ps[event_at(&w->order, at)];
	return SS_KIND_GC;
}

static void begin_event(struct walk *w, uint32_t i)
{
	const struct ss_xevents *e = &w->line->ev;
	enum ss_host_kind kind = ss_host_kinds_of(&w->b->kinds, w->line, i);
	if (kind == SS_KIND_SKIP)
		return;
	go_on(w, e->begin_ps[i]);
	const struct open_event *p = w->open.n ? &w->open.v[w->open.n - 1] : NULL;
	int64_t collected_ps = 0;
	if (kind == SS_KIND_GC_MARK) {
		if (p && p->class == SS_TIME_GC)
			return; /* gc.collect() is no automatic one */
		kind = kind_of_mark(w, i, &collected_ps);
	}
	struct open_event o = {
		.class = SS_TIME_UNKNOWN, .call = SS_NONE, .func = SS_NONE, .op_meta = SS_NONE, .op_ref = SS_NONE
	};
	if (p)
		o = *p;
	w->event = i;
	classify(w, &o, p, kind, e->meta[i], e->begin_ps[i], e->dur_ps[i]);
	bool nested = p && p->op;
	/*
	 * An event that outlasts the one it began in ends with it here: what follows is the outer
	 * one's caller's.
	 */
	o.end_ps = kind == SS_KIND_SYNC ? ss_async_end(&w->b->ends, w->b->host, w->line, i) : ss_xevents_end_ps(e, i);
	o.end_ps = collected_ps ? collected_ps : o.end_ps;
	if (p && p->end_ps < o.end_ps)
		o.end_ps = p->end_ps;
	if (o.claims && is_path(o.class) && within(w, e->begin_ps[i], o.end_ps))
		o.call = call_of(w, o.call, e->meta[i], o.class);
	if (!w->again) {
		count_op(w, &o, i, kind, nested);
		go_beyond(w, &o, kind, i);
	}
	w->failed = w->failed || !ss_vec_push(&w->open, o);
}

/* ---- which calls needed compiling ---- */

static bool order_events(struct order *o, const struct ss_line *l)
{
	*o = (struct order){ .n = l->ev.n };
	if (!l->ev.sorted)
		o->v = ss_events_outer_first(&l->ev, &o->n);
	return l->ev.sorted || o->v;
}

static bool find_compiled(struct walk *w, const struct order *o)
{
	struct ss_forget passed = { .h = w->b->h };
	const struct ss_xevents *e = &w->line->ev;
	int64_t begin_ps = 0, end_ps = INT64_MIN;
	bool marked = false;
	for (size_t k = 0; k < o->n; k++) {
		uint32_t i = event_at(o, k);
		ss_forget_passed(&passed, w->line, i);
		if (!e->dur_ps[i])
			continue;
		enum ss_host_kind kind = ss_host_kinds_of(&w->b->kinds, w->line, i);
		bool inside = e->begin_ps[i] < end_ps;
		if (kind == SS_KIND_FUNCTION && !inside) {
			begin_ps = e->begin_ps[i];
			end_ps = ss_safe_end(begin_ps, e->dur_ps[i]);
			marked = false;
		} else if (kind == SS_KIND_COMPILE && inside && !marked) {
			marked = true;
			if (!ss_vec_push(&w->compiled, begin_ps))
				return false;
		}
	}
	ss_forget_line(&passed, w->line);
	ss_forget_rest(&passed);
	return true;
}

/* ---- a walk, so many claims at a time ---- */

static bool begin_walk(struct walk *w, struct ss_attr_build *b, const struct ss_line *l)
{
	*w = (struct walk){ .b = b, .line = l, .starter = l == b->starter, .now_ps = INT64_MIN, .passed.h = b->h,
			     .gc_end = SIZE_MAX - 1 };
	w->data_thread = ss_str_starts(l->name, SS_STR("tf_data_")) && !w->starter;
	return order_events(&w->order, l) && (!b->kinds.any_compile || find_compiled(w, &w->order)) &&
	       ss_vec_reserve(&w->made, w->order.n < BATCH ? w->order.n : BATCH + 1);
}

/* The same claims once more. */
static void begin_again(struct walk *w)
{
	w->again = true;
	w->over = false;
	w->gc_end = SIZE_MAX - 1;
	w->next = w->open.n = w->made.n = w->compiled_at = w->event_at = w->claim_at = 0;
	w->now_ps = INT64_MIN;
	w->passed = (struct ss_forget){ .h = w->b->h };
}

static void end_walk(struct walk *w)
{
	free(w->order.v);
	ss_vec_free(&w->open);
	ss_vec_free(&w->compiled);
	ss_vec_free(&w->made);
	ss_vec_free(&w->beyond);
}

/*
 * To the next event to examine: other threads than the starter are not examined while all devices
 * work.
 */
static void skip_events(struct walk *w)
{
	const struct ss_xevents e = w->line->ev;
	size_t at = w->event_at, next = w->next;
	for (; next < w->order.n; next++) {
		uint32_t i = event_at(&w->order, next);
		if (e.dur_ps[i] && (w->starter || counts(w->b, &at, e.begin_ps[i], ss_xevents_end_ps(&e, i))))
			break;
		ss_forget_passed(&w->passed, w->line, i);
	}
	w->event_at = at;
	w->next = next;
}

/* Until there are more claims than a batch, or to its end. */
static bool walk_on(struct walk *w)
{
	for (skip_events(w); !w->failed && w->made.n <= BATCH && w->next < w->order.n; skip_events(w)) {
		uint32_t i = event_at(&w->order, w->next++);
		begin_event(w, i);
		ss_forget_passed(&w->passed, w->line, i);
	}
	if (w->next == w->order.n && !w->over && !w->failed) {
		go_on(w, INT64_MAX);
		ss_forget_line(&w->passed, w->line);
		ss_forget_rest(&w->passed);
		w->over = true;
	}
	return !w->failed;
}

/* The finished claims, which no longer change. */
static size_t settled(const struct walk *w)
{
	return w->made.n - (!w->over && w->made.n);
}

/* The first `n` were used. */
static void drop_claims(struct walk *w, size_t n)
{
	if (n && n < w->made.n)
		memmove(w->made.v, w->made.v + n, (w->made.n - n) * sizeof(*w->made.v));
	w->made.n -= n;
}

static bool hold(struct ss_attr_build *b, const struct ss_claim *v, size_t n)
{
	if (!ss_vec_reserve(&b->threads, b->threads.n + n))
		return false;
	if (n)
		memcpy(b->threads.v + b->threads.n, v, n * sizeof(*v));
	b->threads.n += n;
	return true;
}

/*
 * Number, count, and hold what it claims, or only what other threads do for it, which is not in
 * order.
 */
static bool walk_first(struct walk *w, bool held)
{
	bool ok = true;
	while (ok && !w->over) {
		ok = walk_on(w) && (!held || hold(w->b, w->made.v, settled(w)));
		w->b->any_claim = w->b->any_claim || w->made.n;
		drop_claims(w, settled(w));
	}
	for (size_t i = 0; ok && i < w->beyond.n; i++)
		ok = w->beyond.v[i].owner != SS_NONE;
	w->b->any_claim = w->b->any_claim || w->beyond.n;
	return ok && hold(w->b, w->beyond.v, w->beyond.n);
}

static bool more_claims(struct ss_claims *c)
{
	struct walk *w = c->arg;
	drop_claims(w, c->n);
	bool ok = walk_on(w);
	c->v = w->made.v;
	c->n = settled(w);
	return ok;
}

size_t ss_thread_streams(const struct ss_attr_build *b, struct ss_claims *out)
{
	size_t n = b->walks ? b->walks->n : 0;
	for (size_t i = 0; out && i < n; i++) {
		begin_again(&b->walks->v[i]);
		out[i] = (struct ss_claims){ .more = more_claims, .arg = &b->walks->v[i] };
	}
	return n;
}

void ss_thread_walks_free(struct ss_attr_build *b)
{
	for (size_t i = 0; b->walks && i < b->walks->n; i++)
		end_walk(&b->walks->v[i]);
	if (b->walks)
		free(b->walks->v);
	free(b->walks);
	b->walks = NULL;
}

/* ---- the thread that starts programs ---- */

struct votes {
	uint64_t calls, launches, python;
};

static bool beats(const struct votes *a, const struct votes *b)
{
	if (a->calls != b->calls)
		return a->calls > b->calls;
	return a->launches != b->launches ? a->launches > b->launches : a->python > b->python;
}

static struct votes votes_of(struct ss_attr_build *b, const struct ss_line *l)
{
	struct ss_forget passed = { .h = b->h };
	uint64_t n[SS_KIND_COUNT] = { 0 };
	for (uint32_t i = 0; i < l->ev.n; i++) {
		n[ss_host_kinds_of(&b->kinds, l, i)]++;
		ss_forget_passed(&passed, l, i);
	}
	ss_forget_line(&passed, l);
	ss_forget_rest(&passed);
	return (struct votes){ .calls = n[SS_KIND_FUNCTION],
			       .launches = n[SS_KIND_LAUNCH] + n[SS_KIND_EAGER_OP] + n[SS_KIND_WAIT],
			       .python = n[SS_KIND_PYTHON] };
}

static void choose_starter(struct ss_attr_build *b)
{
	struct votes best = { 0 };
	for (uint32_t k = 0; k < b->host->nlines; k++) {
		const struct ss_line *l = &b->host->lines[k];
		if (l->derived)
			continue;
		struct votes v = votes_of(b, l);
		b->out->has_python = b->out->has_python || v.python > 3;
		if (beats(&v, &best)) {
			best = v;
			b->starter = l;
		}
	}
	if (b->w->line)
		b->starter = b->w->line;
}

static bool is_walked(const struct ss_line *l)
{
	return !l->derived && l->ev.n;
}

/* Room for a walk of each thread, which stays until the sweep. */
static bool make_walks(struct ss_attr_build *b)
{
	b->walks = calloc(1, sizeof(*b->walks));
	if (b->walks)
		b->walks->v = calloc((size_t)b->host->nlines + 1, sizeof(*b->walks->v));
	return b->walks && b->walks->v;
}

static bool walk_line(struct ss_attr_build *b, const struct ss_line *l)
{
	struct walk own, *w = b->walks ? &b->walks->v[b->walks->n++] : &own;
	bool ok = begin_walk(w, b, l) && walk_first(w, !b->walks);
	if (!b->walks)
		end_walk(w);
	return ok;
}

bool ss_claim_threads(struct ss_attr_build *b, bool once)
{
	if (!b->host)
		return true;
	choose_starter(b);
	if (!ss_async_ends_read(&b->ends, b->h, b->host, !b->has_device) || (once && !make_walks(b)))
		return false;
	for (uint32_t k = 0; k < b->host->nlines; k++)
		if (is_walked(&b->host->lines[k]) && !walk_line(b, &b->host->lines[k]))
			return false;
	return true;
}
