/*
 * ss_trace.c - the recorder: names, threads with buffers of their own, and events.
 *
 * A thread writes events into a buffer of its own, in the order in which they begin, which is the
 * order readers want (parents before children). A scope's record is complete from the start but for
 * its duration, which the end fills in. Nobody else touches the buffer until the session has ended;
 * then stopping copies it, and puts anonymous memory in its place, so that a scope that ends later
 * writes to harmless ground.
 *
 * What was dropped: rdtsc instead of clock_gettime (15 ns less, but neither comparable between
 * sockets nor to other tracers); a ring that keeps the newest (needs the oldest events removed from
 * a file that must stay readable).
 */
#include "joined.h"
#include "record.h"
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGS_MAX 12u
#define RECORD_MAX (EVENT_BYTES + ARGS_MAX * (TEXT_MAX + 32))

/*
 * At a place that is known when the library is loaded: without a call of the loader's at each event. Room for
 * that is scarce in libraries that are loaded late, so it is one pointer, and all else of a thread behind it.
 */
#if defined(__GLIBC__)
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
#else
static __thread struct thread *self;
#endif

/* --- buffers: the lock is held ------------------------------------------------------------------ */

static bool add_line_buffer(struct thread *t)
{
	struct buffer *b = ss_rec_new_buffer(&t->first, t->last);
	if (!b)
		return false;
	if (t->last)
		t->last->used = (uint32_t)(t->tail - t->last->base);
	size_t n = put_line_header(b->base + 8, t->tid, t->name);
	b->events_at = b->used = (uint32_t)(8 + n);
	put_rest(b->base + b->used, b->base + SPOOL_BUFFER);
	store_word(b->base, message_word(XPLANE_LINES, SPOOL_BUFFER - 8));
	t->last = b;
	t->tail = b->base + b->used;
	t->end = b->base + SPOOL_BUFFER;
	return true;
}

static void append(struct thread *t, const unsigned char *record, size_t n)
{
	append_record(t->tail, t->end, record, n);
	__atomic_store_n(&t->tail, t->tail + n, __ATOMIC_RELEASE);
}

/* --- names ------------------------------------------------------------------------------- */

enum { NAME_EVENT = 1, NAME_STAT = 2 };

static bool write_name(unsigned field, uint32_t id, const char *text)
{
	unsigned char record[NAME_MAX_BYTES + 64];
	size_t length = strlen(text), n = put_name(record, field, id, text, length < TEXT_MAX ? length : TEXT_MAX);
	if ((size_t)(ss_rec.names_end - ss_rec.names_tail) < n) {
		struct buffer *last = ss_rec.names;
		while (last && last->next)
			last = last->next;
		struct buffer *b = ss_rec_new_buffer(&ss_rec.names, last);
		if (!b)
			return false;
		b->used = 0;
		ss_rec.names_tail = b->base;
		ss_rec.names_end = b->base + SPOOL_BUFFER;
	}
	append_record(ss_rec.names_tail, ss_rec.names_end, record, n);
	ss_rec.names_tail += n;
	struct buffer *b = ss_rec.names;
	while (b->next)
		b = b->next;
	b->used += (uint32_t)n;
	return true;
}

/* ss_trace_name.id: session << 34 | kinds << 32 | number. */
static uint32_t register_name(struct ss_trace_name *name, unsigned kind, uint64_t session)
{
	pthread_mutex_lock(&ss_rec.lock);
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED);
	if (!ss_rec.running || session != ss_rec.session) {
		pthread_mutex_unlock(&ss_rec.lock);
		return 0;
	}
	if (id >> 34 != session)
		id = session << 34 | ++ss_rec.nnames;
	if (!(id >> 32 & kind) &&
	    write_name(kind == NAME_EVENT ? XPLANE_EVENT_METADATA : XPLANE_STAT_METADATA,
		       (uint32_t)id, name->text))
		id |= (uint64_t)kind << 32;
	bool known = id >> 32 & kind;
	__atomic_store_n(&name->id, id, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ss_rec.lock);
	return known ? (uint32_t)id : 0;
}

/* Number of a name in this session, 0 if there is no room for it. */
static inline uint32_t name_id(struct ss_trace_name *name, unsigned kind, uint64_t session)
{
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED);
	if (id >> 34 == session && id >> 32 & kind)
		return (uint32_t)id;
	return register_name(name, kind, session);
}

/* The lock is held. Programs may have names by the million, with numbers in them. */
static bool grow_interned(void)
{
	size_t slots = ss_rec.interned_slots ? ss_rec.interned_slots * 2 : 1024;
	struct interned **grown = calloc(slots, sizeof(struct interned *));
	if (!grown)
		return ss_rec.interned_slots > 0; /* longer chains will do */
	for (size_t i = 0; i < ss_rec.interned_slots; i++)
		for (struct interned *e = ss_rec.interned[i], *next; e; e = next) {
			next = e->next;
			e->next = grown[e->hash & (slots - 1)];
			grown[e->hash & (slots - 1)] = e;
		}
	free(ss_rec.interned);
	ss_rec.interned = grown;
	ss_rec.interned_slots = slots;
	return true;
}

static struct interned *intern(const char *text, uint64_t hash)
{
	if (ss_rec.ninterned >= ss_rec.interned_slots && !grow_interned())
		return NULL;
	struct interned **slot = &ss_rec.interned[hash & (ss_rec.interned_slots - 1)];
	for (struct interned *e = *slot; e; e = e->next)
		if (e->hash == hash && strcmp(e->name.text, text) == 0)
			return e;
	struct interned *made = calloc(1, sizeof(*made));
	char *copy = strdup(text);
	if (!made || !copy) {
		free(made);
		free(copy);
		return NULL;
	}
	made->name.text = copy;
	made->hash = hash;
	made->next = *slot;
	ss_rec.ninterned++;
	return *slot = made;
}

struct ss_trace_name *ss_trace_intern(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	hash ^= hash >> 32;
	pthread_mutex_lock(&ss_rec.lock);
	struct interned *found = intern(text, hash);
	pthread_mutex_unlock(&ss_rec.lock);
	return found ? &found->name : NULL;
}

/* --- threads ----------------------------------------------------------------------------- */

/* A thread that ends leaves its buffers to the session, if there is one. */
void ss_rec_thread_gone(void *arg)
{
	struct thread *t = arg;
	self = NULL;
	pthread_mutex_lock(&ss_rec.lock);
	t->gone = true;
	if (!ss_rec.running)
		ss_rec_sweep_threads();
	pthread_mutex_unlock(&ss_rec.lock);
}

static void system_thread_name(char *out, size_t n)
{
	if (pthread_getname_np(pthread_self(), out, n) != 0 || !out[0])
		snprintf(out, n, "thread");
}

void ss_rec_forget_self(void)
{
	self = NULL;
}

static struct thread *new_thread(void)
{
	struct thread *t = ss_rec_prepare() ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	t->tid = (int64_t)syscall(SYS_gettid);
	t->start_ps = now_ps() + (UINT64_C(1) << 62); /* no scope is its own yet */
	system_thread_name(t->name, sizeof(t->name));
	pthread_mutex_lock(&ss_rec.lock);
	t->next = ss_rec.threads;
	ss_rec.threads = t;
	pthread_mutex_unlock(&ss_rec.lock);
	pthread_setspecific(ss_rec.key, t);
	self = t;
	return t;
}

void *ss_rec_mine(enum thread_memory which, size_t bytes)
{
	struct thread *t = self ? self : new_thread();
	if (t && !t->memory[which])
		t->memory[which] = calloc(1, bytes);
	return t ? t->memory[which] : NULL;
}

/*
 * The buffers of a session that is over go when their thread comes to the next one. Scopes that are open still
 * will write their ends: into a buffer where the stop found one, or into the last.
 */
static void leave_session(struct thread *t)
{
	for (struct buffer *b = t->first, *next; b; b = next) {
		next = b->next;
		b->next = NULL;
		if (t->open && (b->open || b == t->last)) {
			b->next = t->parked;
			t->parked = b;
		} else {
			ss_rec_free_buffers(b);
		}
	}
	t->first = t->last = NULL;
	t->tail = t->end = NULL;
}

/* Make room for n bytes in the thread's buffer of this session; false: count the event as dropped. */
static bool make_room(struct thread *t, uint64_t session, size_t n)
{
	pthread_mutex_lock(&ss_rec.lock);
	bool ok = ss_rec.running && ss_rec.session == session && n <= SPOOL_BUFFER / 2;
	if (ok && t->session != session) {
		leave_session(t);
		t->session = session;
		t->named = session << 34 | (uint64_t)NAME_EVENT << 32;
		t->start_ps = ss_rec.start_ps;
		t->deposit = wire_deposits();
		t->dropped = t->open = 0;
	}
	if (ok && (size_t)(t->end - t->tail) < n)
		ok = add_line_buffer(t);
	if (!ok)
		t->dropped++;
	pthread_mutex_unlock(&ss_rec.lock);
	return ok;
}

/* --- events ------------------------------------------------------------------------------ */

/* 0 if the key found no room. */
static size_t put_arg(unsigned char *p, const struct ss_trace_arg *arg, uint64_t session)
{
	uint32_t key = name_id(arg->key, NAME_STAT, session);
	return key ? put_stat(p, key, arg) : 0;
}

/* The event's duration, which is open; NULL: no room. */
static unsigned char *record(struct thread *t, uint64_t session, uint32_t id, uint64_t at_ps, const struct ss_trace_arg *args,
			     size_t nargs)
{
	unsigned char buf[RECORD_MAX];
	size_t n = EVENT_BYTES;
	for (size_t i = 0; i < nargs && i < ARGS_MAX; i++)
		n += put_arg(buf + n, &args[i], session);
	if (__builtin_expect(t->session != session || (size_t)(t->end - t->tail) < n, 0) && !make_room(t, session, n))
		return NULL;
	put_event(buf, id, at_ps - t->start_ps, OPEN_DURATION, n - EVENT_BYTES);
	unsigned char *at = t->tail;
	append(t, buf, n);
	return event_at(at).duration;
}

/* Scopes that are open tell the stop that it has to look for them. */
static inline void count_open(struct thread *t, uint64_t change)
{
	__atomic_store_n(&t->open, t->open + change, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) struct ss_trace_scope begin_slowly(struct ss_trace_name *name, const struct ss_trace_arg *args,
								    size_t nargs)
{
	const struct recorder_table *other = ss_rec_other();
	if (other)
		return other->begin(name, args, nargs);
	struct ss_trace_scope scope = { NULL, 0 };
	uint64_t session = __atomic_load_n(&ss_rec.session, __ATOMIC_ACQUIRE);
	struct thread *t = self ? self : new_thread();
	uint32_t id = t ? name_id(name, NAME_EVENT, session) : 0;
	if (!id) {
		if (t)
			t->dropped++;
		return scope;
	}
	scope.begin_ps = now_ps();
	scope.record = record(t, session, id, scope.begin_ps, args, nargs);
	if (scope.record)
		count_open(t, 1);
	return scope;
}

/*
 * The buffer was touched by another core: fetch what the events after next will be written to. Compilers
 * know the instruction that fetches for writing only if they are told so.
 */
static inline void prefetch_to_write(const unsigned char *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/*
 * The common event: no stats, a name that is known, room in the buffer, less than 20 hours from the start.
 * What stands behind the clock's reading is what an event costs: reading it waits for all that is before.
 */
struct ss_trace_scope ss_trace_begin_now(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	struct thread *t = self;
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED) & ~((uint64_t)NAME_STAT << 32);
	if (__builtin_expect(nargs || !t || t->session != ss_rec_session() || id - t->named >= 1u << SHORT_ID_BITS ||
				     (size_t)(t->end - t->tail) < SHORT_EVENT_BYTES, 0))
		return begin_slowly(name, args, nargs);
	count_open(t, 1);
	uint64_t begin_ps = now_ps(), offset_ps = begin_ps - t->start_ps;
	unsigned char *at = t->tail;
	if (__builtin_expect(offset_ps > VARINT8_MAX, 0))
		return (struct ss_trace_scope){ record(t, t->session, (uint32_t)id, begin_ps, NULL, 0), begin_ps };
	prefetch_to_write(at + 512);
	if (t->deposit)
		append_short_event(at, t->end, (uint32_t)id, offset_ps, true);
	else
		append_short_event(at, t->end, (uint32_t)id, offset_ps, false);
	__atomic_store_n(&t->tail, at + SHORT_EVENT_BYTES, __ATOMIC_RELEASE);
	return (struct ss_trace_scope){ at + 16, begin_ps };
}

/* A scope that began before the thread's session is of one that is over: nobody reads its end. */
void ss_trace_end_now(struct ss_trace_scope scope)
{
	const struct thread *t = self;
	uint64_t ps = now_ps() - scope.begin_ps;
	if (__builtin_expect(t && (int64_t)(scope.begin_ps - t->start_ps) >= 0, 1)) {
		store_word(scope.record, duration_word(ps, t->deposit));
		count_open(self, UINT64_MAX);
	} else if (ss_rec_other()) {
		ss_rec_other()->end(scope);
	}
}

static void instant_at(struct thread *t, uint64_t session, struct ss_trace_name *name,
		       const struct ss_trace_arg *args, size_t nargs)
{
	uint32_t id = name_id(name, NAME_EVENT, session);
	unsigned char *at = id ? record(t, session, id, now_ps(), args, nargs) : NULL;
	if (at)
		store_word(at, duration_word(0, false));
	else if (!id)
		t->dropped++;
}

void ss_trace_instant(int level, struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	if (!ss_trace_on(level))
		return;
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->instant(level, name, args, nargs);
		return;
	}
	struct thread *t = self ? self : new_thread();
	if (t)
		instant_at(t, __atomic_load_n(&ss_rec.session, __ATOMIC_ACQUIRE), name, args, nargs);
}

struct ss_trace_scope ss_trace_step_begin(struct ss_trace_name *name, int64_t number)
{
	static struct ss_trace_name root = { "_r", 0 }, step_num = { "step_num", 0 };
	const struct ss_trace_arg args[] = {
		{ &root, SS_TRACE_INT, { .i = 1 } },
		{ &step_num, SS_TRACE_INT, { .i = number } },
	};
	return ss_trace_begin(SS_TRACE_CRITICAL, name, args, 2);
}

/* Flows use the "generic" context type, 0. */
void ss_trace_produce(struct ss_trace_name *name, uint64_t id)
{
	static struct ss_trace_name type = { "_pt", 0 }, key = { "_p", 0 };
	const struct ss_trace_arg args[] = {
		{ &type, SS_TRACE_INT, { .i = 0 } },
		{ &key, SS_TRACE_UINT, { .u = id } },
	};
	ss_trace_instant(SS_TRACE_CRITICAL, name, args, 2);
}

struct ss_trace_scope ss_trace_consume_begin(struct ss_trace_name *name, uint64_t id)
{
	static struct ss_trace_name type = { "_ct", 0 }, key = { "_c", 0 };
	const struct ss_trace_arg args[] = {
		{ &type, SS_TRACE_INT, { .i = 0 } },
		{ &key, SS_TRACE_UINT, { .u = id } },
	};
	return ss_trace_begin(SS_TRACE_CRITICAL, name, args, 2);
}

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned char *ss_rec_shared_event(enum shared_line line, struct ss_trace_name *name, uint64_t begin_ns,
				   const struct ss_trace_arg *args, size_t nargs)
{
	uint64_t session = ss_rec_session();
	struct thread *t = &ss_rec.shared[line];
	pthread_mutex_lock(&shared_lock);
	uint32_t id = name_id(name, NAME_EVENT, session);
	if (begin_ns == 0)	/* in the lock, so that events stand in the order of their times */
		begin_ns = now_ns(CLOCK_MONOTONIC);
	if (begin_ns < ss_rec.start_ns)
		begin_ns = ss_rec.start_ns;
	unsigned char *at = id ? record(t, session, id, begin_ns * 1000, args, nargs) : NULL;
	if (!id)
		t->dropped++;
	pthread_mutex_unlock(&shared_lock);
	return at;
}

void ss_rec_shared_end(unsigned char *duration, uint64_t duration_ns, uint64_t session)
{
	pthread_mutex_lock(&ss_rec.lock);
	if (duration && ss_rec.running && session == ss_rec.session)
		store_word(duration, duration_word(duration_ns * 1000, false));
	pthread_mutex_unlock(&ss_rec.lock);
}

void ss_trace_counter(struct ss_trace_name *name, double value)
{
	static struct ss_trace_name key = { "value", 0 };
	const struct ss_trace_arg arg = { &key, SS_TRACE_DOUBLE, { .d = value } };
	if (!ss_trace_on(SS_TRACE_CRITICAL))
		return;
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->counter(name, value);
		return;
	}
	uint64_t session = ss_rec_session();
	unsigned char *at = ss_rec_shared_event(SHARED_COUNTERS, name, 0, &arg, 1);
	ss_rec_shared_end(at, 0, session);
}

static void memory_event(bool freed, const struct ss_trace_memory *m, uint64_t shared_at_ns)
{
	static struct ss_trace_name names[] = { { "MemoryAllocation", 0 }, { "MemoryDeallocation", 0 } };
	static struct ss_trace_name keys[] = {
		{ "allocator_name", 0 }, { "addr", 0 }, { "requested_bytes", 0 },
		{ "allocation_bytes", 0 }, { "bytes_reserved", 0 }, { "bytes_allocated", 0 },
		{ "bytes_available", 0 }, { "peak_bytes_in_use", 0 }, { "fragmentation", 0 },
		{ "tf_op", 0 },
	};
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_TEXT, { .text = m->allocator } },
		{ &keys[1], SS_TRACE_INT, { .i = (int64_t)m->address } },
		{ &keys[2], SS_TRACE_INT, { .i = (int64_t)m->requested_bytes } },
		{ &keys[3], SS_TRACE_INT, { .i = (int64_t)m->allocation_bytes } },
		{ &keys[4], SS_TRACE_INT, { .i = (int64_t)m->bytes_reserved } },
		{ &keys[5], SS_TRACE_INT, { .i = (int64_t)m->bytes_allocated } },
		{ &keys[6], SS_TRACE_INT, { .i = (int64_t)m->bytes_available } },
		{ &keys[7], SS_TRACE_INT, { .i = (int64_t)m->peak_bytes_in_use } },
		{ &keys[8], SS_TRACE_DOUBLE, { .d = m->fragmentation } },
		{ &keys[9], SS_TRACE_TEXT, { .text = m->op } },
	};
	size_t nargs = m->op ? 10 : 9;
	if (!shared_at_ns) {
		ss_trace_instant(SS_TRACE_CRITICAL, &names[freed], args, nargs);
		return;
	}
	uint64_t session = ss_rec_session();
	unsigned char *at = ss_rec_shared_event(SHARED_DEVICE_MEMORY, &names[freed], shared_at_ns, args, nargs);
	ss_rec_shared_end(at, 0, session);
}

void ss_rec_device_memory(bool freed, const struct ss_trace_memory *m, uint64_t at_ns)
{
	if (ss_trace_on(SS_TRACE_CRITICAL))
		memory_event(freed, m, at_ns);
}

void ss_trace_allocation(const struct ss_trace_memory *m)
{
	memory_event(false, m, 0);
}

void ss_trace_deallocation(const struct ss_trace_memory *m)
{
	memory_event(true, m, 0);
}

void ss_trace_thread_name(const char *name)
{
	ss_rec_find_other();
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->thread_name(name);
		return;
	}
	struct thread *t = self ? self : new_thread();
	if (t) {
		pthread_mutex_lock(&ss_rec.lock);
		snprintf(t->name, sizeof(t->name), "%s", name);
		pthread_mutex_unlock(&ss_rec.lock);
	}
}
