/*
 * thread_claims.c - what the threads of a host claim.
 *
 * A walk over each thread in the order of time with a stack of open events: what an event is
 * depends on what is around it (thread_event.c).
 *
 * Claims take as much memory as the events. Where one unit asks for them, they are not held: the walks number the owners
 * and count, and begin anew for the sweep, which takes what they claim as a stream.
 */
#include "model/attribution/thread_walk.h"

#include "base/bisect.h"
#include "base/safe.h"
#include "model/attribution/thresholds.h"
#include "model/host/event_order.h"

#include <stdlib.h>

#define BATCH 512 /* claims */

struct ss_thread_walks {
	struct ss_thread_walk *v;
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
static bool trim(struct ss_thread_walk *w, int64_t *begin_ps, int64_t *end_ps)
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

static void claim(struct ss_thread_walk *w, int64_t begin_ps, int64_t end_ps, enum ss_claim_rank rank, uint32_t owner)
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

static uint32_t named(struct ss_thread_walk *w, enum ss_time_class class, uint32_t meta, uint32_t ref, bool overhead)
{
	return ss_named_owner(w->b, class, w->b->host_at, meta, ref, overhead);
}

/*
 * For a reader a copy is work with a name, as it is on a device. SS_NONE: it is none, or memory is
 * out.
 */
static uint32_t copy_owner(struct ss_thread_walk *w, const struct ss_open_event *o)
{
	bool copy = o->class == SS_TIME_COPY && o->call != SS_NONE && w->b->reader;
	return copy ? named(w, SS_TIME_COPY, w->b->calls.v[o->call].meta, SS_NONE, false) : SS_NONE;
}

/* The thread is in `o` from begin to end. */
static void spend(struct ss_thread_walk *w, const struct ss_open_event *o, int64_t begin_ps, int64_t end_ps)
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

static void go_on(struct ss_thread_walk *w, int64_t until_ps)
{
	for (; w->open.n && w->open.v[w->open.n - 1].end_ps <= until_ps; w->open.n--) {
		const struct ss_open_event *o = &w->open.v[w->open.n - 1];
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

/* ---- an event begins ---- */

static uint32_t call_of(struct ss_thread_walk *w, uint32_t parent, uint32_t meta, enum ss_time_class class)
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

static bool is_path(enum ss_time_class c)
{
	return c != SS_TIME_COMPUTE && c != SS_TIME_COLLECTIVE && c != SS_TIME_LAUNCH && c != SS_TIME_UNKNOWN;
}

static bool within(const struct ss_thread_walk *w, int64_t begin_ps, int64_t end_ps)
{
	return end_ps > w->b->w->begin_ps && begin_ps < w->b->w->end_ps;
}

static void count_for_reader(struct ss_thread_walk *w, const struct ss_open_event *o)
{
	uint32_t owner = o->class == SS_TIME_COPY ? copy_owner(w, o)
				: named(w, o->op ? SS_TIME_COMPUTE : o->class, o->op_meta, o->op_ref, o->overhead);
	w->failed = w->failed || owner == SS_NONE;
	if (owner != SS_NONE)
		w->b->named.v[owner].count++;
}

static void count_op(struct ss_thread_walk *w, const struct ss_open_event *o, uint32_t i, enum ss_host_kind kind, bool nested)
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
static void go_beyond(struct ss_thread_walk *w, const struct ss_open_event *o, enum ss_host_kind kind, uint32_t i)
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

static uint32_t event_at(const struct ss_event_order *o, size_t at)
{
	return o->v ? o->v[at] : (uint32_t)at;
}

/*
 * A call that Python makes before and behind each collection of garbage: the first lasts until the
 * second begins, *end_ps, and is the collection. Else it is a frame.
 */
static enum ss_host_kind kind_of_mark(struct ss_thread_walk *w, uint32_t i, int64_t *end_ps)
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

static void begin_event(struct ss_thread_walk *w, uint32_t i)
{
	const struct ss_xevents *e = &w->line->ev;
	enum ss_host_kind kind = ss_host_kinds_of(&w->b->kinds, w->line, i);
	if (kind == SS_KIND_SKIP)
		return;
	go_on(w, e->begin_ps[i]);
	const struct ss_open_event *p = w->open.n ? &w->open.v[w->open.n - 1] : NULL;
	int64_t collected_ps = 0;
	if (kind == SS_KIND_GC_MARK) {
		if (p && p->class == SS_TIME_GC)
			return; /* gc.collect() is no automatic one */
		kind = kind_of_mark(w, i, &collected_ps);
	}
	struct ss_open_event o = {
		.class = SS_TIME_UNKNOWN, .call = SS_NONE, .func = SS_NONE, .op_meta = SS_NONE, .op_ref = SS_NONE
	};
	if (p)
		o = *p;
	w->event = i;
	ss_classify_event(w, &o, p, kind, e->meta[i], e->begin_ps[i], e->dur_ps[i]);
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

static bool order_events(struct ss_event_order *o, const struct ss_line *l)
{
	*o = (struct ss_event_order){ .n = l->ev.n };
	if (!l->ev.sorted)
		o->v = ss_events_outer_first(&l->ev, &o->n);
	return l->ev.sorted || o->v;
}

static bool find_compiled(struct ss_thread_walk *w, const struct ss_event_order *o)
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

static bool begin_walk(struct ss_thread_walk *w, struct ss_attr_build *b, const struct ss_line *l)
{
	*w = (struct ss_thread_walk){ .b = b, .line = l, .starter = l == b->starter, .now_ps = INT64_MIN, .passed.h = b->h,
			     .gc_end = SIZE_MAX - 1 };
	w->data_thread = ss_str_starts(l->name, SS_STR("tf_data_")) && !w->starter;
	return order_events(&w->order, l) && (!b->kinds.any_compile || find_compiled(w, &w->order)) &&
	       ss_vec_reserve(&w->made, w->order.n < BATCH ? w->order.n : BATCH + 1);
}

/* The same claims once more. */
static void begin_again(struct ss_thread_walk *w)
{
	w->again = true;
	w->over = false;
	w->gc_end = SIZE_MAX - 1;
	w->next = w->open.n = w->made.n = w->compiled_at = w->event_at = w->claim_at = 0;
	w->now_ps = INT64_MIN;
	w->passed = (struct ss_forget){ .h = w->b->h };
}

static void end_walk(struct ss_thread_walk *w)
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
static void skip_events(struct ss_thread_walk *w)
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
static bool walk_on(struct ss_thread_walk *w)
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
static size_t settled(const struct ss_thread_walk *w)
{
	return w->made.n - (!w->over && w->made.n);
}

/* The first `n` were used. */
static void drop_claims(struct ss_thread_walk *w, size_t n)
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
static bool walk_first(struct ss_thread_walk *w, bool held)
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
	struct ss_thread_walk *w = c->arg;
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
	struct ss_thread_walk own, *w = b->walks ? &b->walks->v[b->walks->n++] : &own;
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
